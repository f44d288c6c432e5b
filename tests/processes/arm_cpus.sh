#!/bin/bash
# 64-bit ARM CPUs of other years, by qemu: which kernels int8 mode gets, and the bits of modes.
#   arm_cpus.sh <build directory> [<models at once>]
set -e -u -o pipefail
export build=$1 registry
registry=$(dirname "$0")/../../arch/registry.h

# qemu's models, and the features (arch/features.h) that each lacks of those that tables of NEON need.
models=(
  "max"
  "neoverse-n1  FOVEA_CPU_NEON_I8MM"
  "cortex-a53   FOVEA_CPU_NEON_I8MM|FOVEA_CPU_NEON_DOT"
)

table_without() { # features: the first table of NEON that needs none of them
  sed -n 's/^  TABLE(neon, [A-Z0-9_]*, \([a-z0-9]*\), [a-z0-9_]*, \([^,]*\), .*/neon\/\1 \2/p' "$registry" |
    grep -v -E "${1:-nothing}" | head -n 1 | cut -d " " -f 1
}

on_cpu() { # model, program and arguments
  local model=$1
  shift
  QEMU_CPU=$model qemu-aarch64 -L /usr/aarch64-linux-gnu "$@"
}

check_model() { # model, the features that it lacks
  set -e -u -o pipefail
  local model=$1 wanted meant log
  wanted=$(table_without "${2-}")
  meant=$(on_cpu "$model" "$build/fovea" info | awk '/^ *neon\/.*what its set means/ { print $1 }')
  if [ "$meant" != "$wanted" ]; then
    echo "$model: neon means $meant, not $wanted"
    exit 1
  fi
  if [ "$model" = max ]; then # all tests ran on it
    echo "$model: $meant"
    return
  fi
  # Every table that this CPU can run has given all digests on the CPU `max`. Here are those that it means by default.
  if ! log=$(FOVEA_TEST_SLOW=1 on_cpu "$model" "$build/tests/modes/test_modes" 2>&1); then
    echo "$model: $log"
    exit 1
  fi
  echo "$model: $meant"
}

export -f on_cpu table_without check_model
printf '%s\n' "${models[@]}" | xargs -P "${2:-1}" -L 1 bash -c 'check_model "$@"' _
