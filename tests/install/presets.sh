#!/bin/bash
# Builds that leave something out (docs/building.md): the presets, single groups, sets. What is there must give the stored
# digests, what is not is refused with the name of its switch, and the core is small.
#   presets.sh <folder for the builds>
set -e -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=$1
mkdir -p "$out"

# The shared libraries and the command.
build() { # name, options of CMake
  cmake -G Ninja -S "$root" -B "$out/$1" -DCMAKE_BUILD_TYPE=Release -DFOVEA_WERROR=ON -DFOVEA_BUILD_TESTS=OFF \
    -DFOVEA_BUILD_BENCH=OFF -DFOVEA_BUILD_EXAMPLES=OFF "${@:2}"
  cmake --build "$out/$1" --target fovea_command fovea_shared fovea_nn_shared
}

try() { # name, groups that it is to lack
  cc -I"$root/include" -o "$out/$1/groups" "$root"/tests/install/groups{,_nn}.c "$out/$1"/libfovea{,_nn}.so \
    -Wl,-rpath,"$out/$1"
  "$out/$1/groups" "${@:2}"
  "$out/$1/fovea" selftest | sed "s|^|$1: |"
}

# Two at a time: a compiler that is given all sources uses one CPU.
running=()
aside() { # command
  if [ ${#running[@]} -ge 2 ]; then
    wait "${running[0]}"
    running=("${running[@]:1}")
  fi
  "$@" &
  running+=($!)
}
finish() {
  local process
  for process in "${running[@]}"; do wait "$process"; done
}

# Without optimisation nothing but the preprocessor leaves code out: every function that is called is there.
bare() { # name, groups that it is to lack; then definitions
  local groups=$2
  # shellcheck disable=SC2086
  (cd "$root" && cc -O0 "${@:3}" -Iinclude -I. -o "$out/$1" tests/install/groups{,_nn}.c \
    src/*/*.c nn/*.c nn/*/*.c arch/*/*.c arch/*/nn/*.c -lm)
  # shellcheck disable=SC2086
  "$out/$1" $groups
}

build core -DFOVEA_PRESET=core
try core formats lists outputs terms bf16 int8 states explain scaling
if [ "$(uname -m)" = x86_64 ] && cc --version | grep -q Free; then
  "$root/tests/audit/size.sh" objdump x86_64 "$out/core/libfovea.so:preset_core"
fi
build inference -DFOVEA_PRESET=inference -DFOVEA_ISAS=avx2,neon
try inference lists outputs terms
build no_decode -DFOVEA_WITHOUT_DECODE=ON -DFOVEA_ISAS=avx2,neon
try no_decode decode lists
if "$out/no_decode/fovea" info | grep -E '^avx512 +yes'; then
  echo "FOVEA_ISAS does not leave out avx512"
  exit 1
fi
for group in formats bf16 int8; do
  aside bare "no_$group" "$group" "-DFOVEA_WITHOUT_${group^^}" -DFOVEA_WITHOUT_AVX512
done
# Groups that few kernels have, or none: portable C shows what is called.
for group in lists outputs terms states explain scaling; do
  aside bare "no_$group" "$group" "-DFOVEA_WITHOUT_${group^^}" -DFOVEA_WITHOUT_{AVX512,AVX2,NEON}
done
aside bare bare_core "formats lists outputs terms bf16 int8 states explain scaling" -DFOVEA_CORE
finish
