#!/bin/bash
# Compiles the demonstration with a C compiler, and with nothing else, and runs it.
#   demo.sh [<compilations at once>]
# Of the library it takes the core (docs/building.md), which has every instruction set's kernels of exact attention. What
# has not changed since the last time is not compiled again.
set -e -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export out=build/demo
sources=(arch/*/*.c src/*/*.c tools/fovea/{npy,system}.c examples/sentence/{captured,output,sentence}.c)
changed=() objects=()
mkdir -p "$out"

compile() { # source, object; status 255 lets xargs begin no other
  cc -O3 -DFOVEA_CORE -Iinclude -I. -c -o "$2.new" "$1" && mv "$2.new" "$2" && echo "$1" || exit 255
}
export -f compile

# Reads a line for each compiled file. Where a terminal shows it, a line counts them.
show_progress() { # number of files
  local done=0
  [ -t 1 ] || echo "compiling $1 files"
  while read -r _; do
    done=$((done + 1))
    if [ -t 1 ]; then printf '\rcompiling %d of %d files' $done "$1"; fi
  done
  if [ -t 1 ]; then printf '\r%40s\r' ""; fi
}

newest=examples/sentence/demo.sh # of all that any file may include, and of this script
while read -r file; do
  if [ "$file" -nt "$newest" ]; then newest=$file; fi
done < <(find include src arch tools/fovea examples/sentence -name '*.h' -o -name '*.inc')
for source in "${sources[@]}"; do
  object=$out/${source//\//_}.o
  objects+=("$object")
  if [ ! "$object" -nt "$source" ] || [ ! "$object" -nt "$newest" ]; then changed+=("$source $object"); fi
done
if [ ${#changed[@]} -gt 0 ]; then
  rm -f "$out/sentence"
  # shellcheck disable=SC2016
  printf '%s\n' "${changed[@]}" | xargs -P "${1:-1}" -L 1 bash -c 'compile "$@"' _ | show_progress ${#changed[@]}
fi
if [ ! -e "$out/sentence" ]; then cc -o "$out/sentence" "${objects[@]}" -lm; fi
"$out/sentence"
echo
echo "Next, the program of README.md, with the library compiled into it:"
echo "  cc -O3 -DFOVEA_CORE -Iinclude -I. examples/embed/embed.c src/*/*.c arch/*/*.c -lm -o embed && ./embed"
