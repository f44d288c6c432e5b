#!/bin/bash
# On 64-bit Windows the stack is aligned to 16 bytes, which gcc does not respect for wider vectors (GCC bug 54412): no move
# of such a vector to or from memory may ask for alignment, and the macros of arch/shared/compiler.h that see to it are
# there whatever the compiler at hand does.
#   moves.sh <nm> <objdump> <object>...
set -e -u -o pipefail
nm=$1 objdump=$2
shift 2
status=0

for object in "$@"; do
  [[ $object == */arch/* ]] || continue
  $nm "$object" | grep -i ' t [^.]' >/dev/null || continue # empty: for another architecture, or left out
  if ! $nm "$object" | grep ' fovea_unaligned_moves$' >/dev/null; then
    echo "$object is compiled without the macros"
    status=1
  fi
  lines=$($objdump -d --no-show-raw-insn "$object" |
    grep -E '[[:space:]]vmov(aps|apd|dqa|dqa32|dqa64|ntps) .*(%[yz]mm.*\(|\(.*%[yz]mm)' || true)
  if [ -n "$lines" ]; then
    echo "$object moves vectors to memory that has to be aligned:"
    head -n 3 <<<"$lines"
    status=1
  fi
done
exit $status
