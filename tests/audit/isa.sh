#!/bin/bash
# Each object of the library uses the instructions that its set's line in the registry needs, and no newer ones (x86-64).
#   isa.sh <objdump> <arch/registry.h> <object>...
set -e -u -o pipefail
objdump=$1 registry=$2
shift 2
status=0

fail() { # object, what is wrong, lines that show it
  echo "$1: $2"
  head -n 3 <<<"$3"
  status=1
}

# What only sets with one of these features may use: the features, and a pattern of instructions. A set with registers of
# a new kind needs a line.
owned=(
  # Operands that only AVX-512 has: 512-bit registers, registers 16 to 31, mask registers.
  'FOVEA_CPU_AVX512 %zmm|%[xy]mm(1[6-9]|2[0-9]|3[01])|%k[0-7]'
  # Anything of AVX: VEX and EVEX instructions start with v. (verr and verw do not occur in user code.)
  'FOVEA_CPU_AVX512|FOVEA_CPU_AVX2 %ymm|^ *[0-9a-f]+:[[:space:]]+v'
)

# Of a set or an extension, or of a table with a directory of its own, which needs what its set does, too.
needs_of_line() { # directory
  local of
  sed -n "s/^  \\(SET\\|EXTENSION\\)($1, [A-Z0-9_]*, \\([^,)]*\\)[,)].*/\\2/p" "$registry"
  of=$(sed -n "s/^  TABLE(\\([a-z0-9_]*\\), [A-Z0-9_]*, [a-z0-9]*, $1, .*/\\1/p" "$registry")
  [ -z "$of" ] || [ "$of" = "$1" ] || needs_of_line "$of"
}

needs_of() { # object; the FOVEA_CPU_* bits of its set, nothing for an object of src/
  local set=${1##*/arch/}
  [[ $1 != */arch/* ]] || needs_of_line "${set%%/*}" | grep .
}

for object in "$@"; do
  needs=$(needs_of "$object") || fail "$object" "has a directory that is not in the registry" ""
  forbidden=""
  for line in "${owned[@]}"; do
    grep -q -w -E "${line%% *}" <<<"$needs" || forbidden+=${forbidden:+|}${line#* }
  done
  [ -n "$forbidden" ] || continue
  lines=$($objdump -d --no-show-raw-insn "$object" | grep -E "$forbidden" || true)
  [ -z "$lines" ] || fail "$object" "has instructions that its directory may not use" "$lines"
done
exit $status
