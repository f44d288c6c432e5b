#!/bin/bash
# What the objects of the library define and what they ask for.
#   symbols.sh <nm> <object>...
# Every symbol that the linker sees starts with fovea_; none is weak or common, which could be exchanged for another
# program's; and no function is called beyond the lists below: no output, no end of the process, memory from one file.
set -e -u -o pipefail
nm=$1
shift
status=0

# Any file may call these. Compilers call the first six (clang makes bcmp of memcmp; strcpy copies constants), and those that start with __, by themselves.
allowed_everywhere="memcpy memset memmove memcmp bcmp strcpy strcmp strncpy _GLOBAL_OFFSET_TABLE_ __stack_chk_* __aarch64_* __aeabi_* __c[lt]z?i2 ___chkstk_ms"
# Further functions, for files that need the system or, on a CPU without the instruction, the mathematical library.
allowed_in() { # object
  case $1 in
    */arch/scalar/*) echo "fmaf rintf nearbyintf sqrtf" ;;
    */src/base/memory.c.o*) echo "malloc free" ;;
    */src/system/schedule.c.o*) echo "omp_* GOMP_* __kmpc_*" ;;
    */src/system/process.c.o*) echo "getenv" ;;
    */src/system/cgroup.c.o* | */nn/choose_table.c.o*) echo "strlen strcspn strncmp" ;;
    */src/system/platform_linux.c.o) echo "getauxval sched_getaffinity __sched_cpucount sysconf open read close syscall __errno_location" ;;
    */src/system/platform_posix.c.o) echo "getpid sched_yield pthread_self clock_gettime __clock_gettime64" ;;
    */src/system/platform_windows.c.obj) echo "__imp_GetCurrentProcess __imp_GetProcessAffinityMask __imp_GetActiveProcessorCount __imp_GetCurrentThreadId __imp_SwitchToThread __imp_QueryPerformanceCounter __imp_QueryPerformanceFrequency" ;;
  esac
}

fail() {
  echo "$1"
  status=1
}

may_call() { # symbol, and patterns of what the object may call
  local pattern symbol=${1#__isoc23_} # names that newer C libraries and _FORTIFY_SOURCE give to the same functions
  if [[ $symbol == __*_chk ]]; then symbol=${symbol:2:-4}; fi
  set -f
  for pattern in fovea_* $2; do
    # shellcheck disable=SC2053
    [[ $symbol == $pattern ]] && return 0
  done
  return 1
}

# Prints lines of an object, a symbol and its type. One nm reads all objects, since to start it takes longer than to read.
symbols_of() { # options, objects
  $nm --print-file-name --format=posix "$@" | sed 's/: / /'
}

while read -r object symbol type _; do
  [[ ${symbol#.refptr.} == fovea_* ]] || fail "$object defines $symbol, which does not start with fovea_"
  [[ $type == [TDRBS] ]] || fail "$object defines $symbol as weak or common ($type)"
done < <(symbols_of --defined-only --extern-only "$@")

object_before=""
while read -r object symbol _; do
  if [ "$object" != "$object_before" ]; then
    allowed="$allowed_everywhere $(allowed_in "$object")"
    object_before=$object
  fi
  may_call "$symbol" "$allowed" || fail "$object calls $symbol, which $0 does not allow"
done < <(symbols_of --undefined-only "$@")
exit $status
