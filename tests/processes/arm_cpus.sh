#!/bin/bash
# 64-bit ARM CPUs of other years, by qemu: which kernels int8 mode gets, its bits, and all digests.
#   arm_cpus.sh <build directory> [<models at once>]
set -e -u -o pipefail
export build=$1

# qemu's models, and the table that "neon" stands for: with SMMLA, with SDOT only, or with neither.
models=(
  "max          neon/i8mm"
  "neoverse-n1  neon/dot"
  "cortex-a53   neon/words"
)

on_cpu() { # model, program and arguments
  local model=$1
  shift
  QEMU_CPU=$model qemu-aarch64 -L /usr/aarch64-linux-gnu "$@"
}

check_model() { # model, the expected table
  set -e -u -o pipefail
  local model=$1 meant test log
  meant=$(on_cpu "$model" "$build/fovea" info | awk '/what its set means/ { print $1 }')
  if [ "$meant" != "$2" ]; then
    echo "$model: neon means $meant, not $2"
    exit 1
  fi
  if [ "$model" = max ]; then # all tests ran on it
    echo "$model: $meant"
    return
  fi
  for test in modes int8_special; do
    if ! log=$(FOVEA_TEST_EMULATED=1 on_cpu "$model" "$build/tests/modes/test_$test" 2>&1); then
      echo "$model: $log"
      exit 1
    fi
  done
  log=$(on_cpu "$model" "$build/fovea" selftest)
  echo "$model: $meant; $log"
}

export -f on_cpu check_model
printf '%s\n' "${models[@]}" | xargs -P "${2:-1}" -L 1 bash -c 'check_model "$@"' _
