#!/bin/bash
# Writes programs that use one public header each, as C and as C++: they include nothing else of Fovea, and link every
# function that the header declares.
#   headers.sh <root of the project> <folder>
# They are <folder>/<package>/<header>.c and .cc; the package is what such a program asks for: fovea, or fovea_nn if the
# header declares something of it.
set -e -u -o pipefail
root=$1 out=$2

program() { # header, names of functions
  printf '#include <fovea/%s>\n' "$1"
  printf 'typedef void (*fovea_function)(void);\n'
  printf 'int main(void) {\n  const fovea_function all[] = {0'
  if [ $# -gt 1 ]; then printf ', (fovea_function)%s' "${@:2}"; fi
  printf '};\n  unsigned missing = 0;\n  for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) missing += !all[i];\n'
  printf '  return missing == 1 ? 0 : 1;\n}\n'
}

for header in "$root"/include/fovea/*.h; do
  mapfile -t functions < <(grep -v '^#' "$header" | tr '\n' ' ' | grep -oE 'FOVEA(_NN)?_API [^(;]*\(' |
    grep -o 'fovea_[a-z0-9_]*($' | tr -d '(')
  package=fovea
  if [[ " ${functions[*]}" == *" fovea_nn_"* ]]; then package=fovea_nn; fi
  mkdir -p "$out/$package"
  name=$(basename "$header" .h)
  program "$name.h" "${functions[@]}" | tee "$out/$package/$name.c" >"$out/$package/$name.cc"
done
grep -q fovea_attend "$out/fovea/fovea.c" && grep -q fovea_nn_linear_run "$out/fovea_nn/nn.c"
