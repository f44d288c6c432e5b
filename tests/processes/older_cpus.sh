#!/bin/bash
# x86 CPUs of other years, by qemu: which kernel is chosen, and that its results are right; all digests on one that has
# no vector instructions beyond SSE.
#   older_cpus.sh <build directory> [<models at once>]
set -e -u -o pipefail
export build=$1

# qemu's models and what they have too little for, and the kernel that is left.
models=(
  "Westmere                    scalar digests" # first, since it takes longest
  "Nehalem                     scalar"
  "SandyBridge                 scalar"
  "IvyBridge                   scalar"
  "Denverton                   scalar"
  "Haswell,xsave=off           scalar"
  "Haswell,avx2=off            scalar"
  "Haswell,fma=off             scalar"
  "Haswell,f16c=off            scalar"
  "Haswell                     avx2"
  "Skylake-Server,avx512f=off  avx2"
  "EPYC-Rome                   avx2"
)

on_cpu() { # model, program and arguments; without qemu's warnings of what it does not emulate
  local model=$1
  shift
  qemu-x86_64 -cpu "$model" "$@" 2> >(grep -v "TCG doesn't support requested feature" >&2)
}

check_model() { # model, the expected kernel, "digests" if they are compared, too
  set -e -u -o pipefail
  local model=$1 chosen log
  chosen=$(on_cpu "$model" "$build/fovea" info | awk '/^instruction set / { print $3 }')
  if [ "$chosen" != "$2" ]; then
    echo "$model: $chosen is chosen, not $2"
    exit 1
  fi
  if ! log=$(on_cpu "$model" "$build/tests/processes/test_cpu" here 2>&1); then
    echo "$model: $log"
    exit 1
  fi
  echo "$model: $chosen"
  if [ "${3:-}" = digests ]; then
    log=$(on_cpu "$model" "$build/fovea" selftest)
    echo "$model, $log"
  fi
}

export -f on_cpu check_model
printf '%s\n' "${models[@]}" | xargs -P "${2:-1}" -L 1 bash -c 'check_model "$@"' _
