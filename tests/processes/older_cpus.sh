#!/bin/bash
# x86 CPUs of other years, by qemu: which kernel is chosen, and that its results are right; all digests on one that has
# no vector instructions beyond SSE.
#   older_cpus.sh <build directory>
set -e -u -o pipefail
build=$1

# qemu's models and what they have too little for, and the kernel that is left.
models=(
  "Nehalem                     scalar"
  "Westmere                    scalar"
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

for line in "${models[@]}"; do
  read -r model expected <<<"$line"
  chosen=$(on_cpu "$model" "$build/fovea" info | awk '/^instruction set / { print $3 }')
  if [ "$chosen" != "$expected" ]; then
    echo "$model: $chosen is chosen, not $expected"
    exit 1
  fi
  if ! log=$(on_cpu "$model" "$build/tests/test_cpu" here 2>&1); then
    echo "$model: $log"
    exit 1
  fi
  echo "$model: $chosen"
done
echo "Westmere, $(on_cpu Westmere "$build/fovea" selftest)"
