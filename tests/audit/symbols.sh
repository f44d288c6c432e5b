#!/bin/bash
# What the static library defines and what it asks for.
#   symbols.sh <nm> <libfovea.a>
# Every symbol that the linker sees starts with fovea_; none is weak or common, which could be exchanged for another
# program's; nothing runs before main; and nothing is called beyond the lists below.
set -e -u -o pipefail
nm=$1 library=$2
status=0

fail() {
  echo "$1"
  status=1
}

# Any file may call these: compilers call the first four by themselves.
allowed_everywhere="memcpy memset memmove memcmp _GLOBAL_OFFSET_TABLE_ __stack_chk_fail"
# Further functions, by file: one line for each file that needs the system. fmaf and the like are what a scalar file
# becomes on a CPU without the instruction.
allowed_for() { # object
  case $1 in
    scalar_*) echo "fmaf rintf nearbyintf" ;;
    memory.c.o) echo "malloc free aligned_alloc posix_memalign" ;;
    schedule.c.o) echo "omp_* GOMP_* __kmpc_* getpid" ;;
    cpu*.c.o | environment.c.o) echo "getauxval getenv getpid sched_getaffinity __sched_cpucount fopen fclose fgets sysconf" ;;
    *) echo "" ;;
  esac
}

defined=$($nm --defined-only --extern-only --format=posix "$library" | awk 'NF >= 2 { print $1, $2 }')
while read -r symbol type; do
  [[ -z $symbol ]] && continue
  [[ $symbol == fovea_* ]] || fail "$symbol ($type): does not start with fovea_"
  [[ $type == [TDRBS] ]] || fail "$symbol ($type): is weak or common"
done <<<"$defined"

object=""
while read -r line; do
  if [[ $line == *\[*\]: ]]; then
    object=${line##*\[}
    object=${object%\]:}
  elif [[ $line == *" U"* ]]; then
    symbol=${line%% *}
    [[ $symbol == fovea_* || " $allowed_everywhere " == *" $symbol "* ]] && continue
    found=no
    set -f
    for pattern in $(allowed_for "$object"); do
      # shellcheck disable=SC2053
      [[ $symbol == $pattern ]] && found=yes
    done
    set +f
    [ $found = yes ] || fail "$object calls $symbol, which $0 does not allow"
  fi
done < <($nm --undefined-only --format=posix "$library")

exit $status
