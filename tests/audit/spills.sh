#!/bin/bash
# The loops that do the work keep their vectors in registers. Every innermost loop with eight or more operations on
# vectors of floats is looked at, in the objects of every instruction set but portable C; a loop within it that only
# prefetches does not count. For each eight operations one use of a vector on the stack is let pass. Functions that
# need more, or are held to less, are in spills.txt, by compiler, each with the number that is kept and why; without a
# line for this version of the compiler, only products are held to the rule, as of fovea_nn (the compiler `nn`).
#   spills.sh <objdump> <compiler and version> <object>...    SPILLS_SHOW=1 prints every loop that uses the stack
set -e -u -o pipefail
objdump=$1 compiler=${2%%.*}
shift 2
limits=$(dirname "${BASH_SOURCE[0]}")/spills.txt
status=0 looked_at=0

for object in "$@"; do
  case $object in
    */arch/scalar/* | */arch/amx/*) continue ;; # AMX multiplies in tiles
    */arch/*) ;;
    *) continue ;;
  esac
  isa=${object##*/arch/}
  group=$(basename "${object%%.c.o*}") # arch/<set>/<group>_<set>.c
  if [[ $group == *_"${isa%%/*}" ]]; then group=${group%_"${isa%%/*}"}; else group=""; fi
  looked_at=$((looked_at + 1))
  $objdump -d --no-show-raw-insn "$object" | awk -v isa="${isa%%/*}" -v group="$group" -v compiler="$compiler" -v limits="$limits" \
    -v of_nn="$([ "$compiler" = nn ] && echo 1 || echo 0)" -v show="${SPILLS_SHOW:-0}" -f "${BASH_SOURCE[0]%.sh}.awk" || status=1
done
if [ $looked_at = 0 ]; then
  echo "no object was looked at"
  exit 1
fi
exit $status
