#!/bin/bash
# Each object of the library uses the instructions of its own directory and no newer ones (x86-64).
#   isa.sh <objdump> <object>...
set -e -u -o pipefail
objdump=$1
shift
status=0

fail() { # object, what is wrong, lines that show it
  echo "$1: $2"
  head -n 3 <<<"$3"
  status=1
}

# Operands that only AVX-512 has: 512-bit registers, registers 16 to 31, mask registers.
avx512='%zmm|%[xy]mm(1[6-9]|2[0-9]|3[01])|%k[0-7]'
# Anything of AVX: VEX and EVEX instructions start with v. (verr and verw do not occur in user code.)
avx='%ymm|^ *[0-9a-f]+:[[:space:]]+v'

for object in "$@"; do
  case $object in
    */arch/avx512/*) continue ;;
    */arch/avx2/*) forbidden=$avx512 ;;
    *) forbidden="$avx512|$avx" ;;
  esac
  lines=$($objdump -d --no-show-raw-insn "$object" | grep -E "$forbidden" || true)
  [ -z "$lines" ] || fail "$object" "has instructions that its directory may not use" "$lines"
done
exit $status
