#!/bin/bash
# Tests the bare sources: a compiler without a flag of this project must give the stored digests. Programs for other
# architectures run through qemu, for Windows through wine. ccache, if it is there, keeps the objects.
#   bare.sh "<compiler and options>" <folder for the program>
#   bare.sh "<compiler> warnings" <folder>    only looks for warnings
set -e -u -o pipefail
compiler=${1% warnings} program=$2/$(tr -c 'a-z0-9\n' _ <<<"$1")
if [[ $compiler == *mingw* ]]; then program+=.exe; fi
objects=$program.objects
mkdir -p "$objects"

compile() { # file, object, more options
  # shellcheck disable=SC2046,SC2086
  $(command -v ccache) $compiler -Iinclude -I. -c -o "$2" "${@:3}" "$1"
}

# Without optimisation gcc warns of other things, and in some projects warnings are errors. Once for each system: on
# another than this one only the files that depend on it.
if [[ $1 == *" warnings" ]]; then
  files=(src/system/*.c arch/*/*.c arch/*/nn/*.c)
  if [[ $compiler == gcc* ]]; then files=(src/*/*.c nn/*.c nn/*/*.c arch/*/*.c arch/*/nn/*.c); fi
  for file in "${files[@]}"; do
    compile "$file" "$objects/${file//\//_}.o" -O0 -Wall -Wextra -Werror
  done
  exit
fi
linked=()
for file in src/*/*.c nn/*.c nn/*/*.c arch/*/*.c arch/*/nn/*.c tools/fovea/*.c; do
  object=$objects/${file//\//_}.o
  compile "$file" "$object"
  linked+=("$object")
  # Float arithmetic outside kernels has no product that a compiler could fuse with a sum (src/README.md).
  [[ $compiler == *-ffp-contract=fast* ]] || continue
  case $file in
    src/cache/* | src/rotary/* | src/run/* | src/state/* | src/feature/score_terms.c | nn/variants/linformer.c | nn/variants/performer.c)
      if objdump -d "$object" | grep -m 3 -E '[[:space:]]vfn?m(add|sub)'; then
        echo "$compiler: $file has a product that is fused with a sum"
        exit 1
      fi
      ;;
  esac
done
# shellcheck disable=SC2086
$compiler -o "$program" "${linked[@]}" -lm
case $compiler in
  *aarch64*) emulator="qemu-aarch64 -L /usr/aarch64-linux-gnu" ;;
  *arm*) emulator="qemu-arm -L /usr/arm-linux-gnueabihf" ;;
  *riscv64*) emulator="qemu-riscv64 -L /usr/riscv64-linux-gnu" ;;
  *mingw*) emulator=cmake/wine.sh ;;
  *) emulator="" ;;
esac
$emulator "$program" selftest | sed "s|^|$compiler: |"
