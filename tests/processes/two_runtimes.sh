#!/bin/bash
# Two runtimes of OpenMP in one process: programs of gcc and of clang, each with the library of gcc and of clang,
# linked (shared, static) and opened at run time.
#   two_runtimes.sh <build directory by gcc> <build directory by clang> <folder for the programs>
set -e -u -o pipefail
source=$(dirname "${BASH_SOURCE[0]}")/application.c
gcc_build=$(realpath "$1") clang_build=$(realpath "$2")
mkdir -p "$3"
out=$(realpath "$3")

built_by() { # compiler
  if [ "$1" = gcc ]; then echo "$gcc_build"; else echo "$clang_build"; fi
}

runtime_of() { # compiler
  ldd "$(built_by "$1")/libfovea.so" | awk '$1 ~ /^lib(gomp|omp)/ { print $3 }'
}

check() { # what, program and arguments
  local what=$1
  shift
  if ! "$@"; then
    echo "FAIL: $what"
    exit 1
  fi
  echo "$what: ok"
}

for program in gcc clang; do
  object=$out/$program.o opener=$out/$program.open
  "$program" -O2 -Wall -Wextra -Werror -fopenmp -Iinclude -c -o "$object" "$source"
  "$program" -fopenmp -rdynamic -o "$opener" "$object"
  for library in gcc clang; do
    build=$(built_by $library) shared=$out/$program.shared.$library static=$out/$program.static.$library
    "$program" -fopenmp -o "$shared" "$object" -L"$build" -Wl,--no-as-needed -lfovea -Wl,-rpath,"$build"
    # By name the program's own runtime comes first, and answers for whatever both of them define.
    "$program" -rdynamic -o "$static" "$object" -Wl,--whole-archive "$build/libfovea.a" -Wl,--no-whole-archive \
      "$(runtime_of $program)" "$(runtime_of $library)" -lm
    check "$program's program, $library's library linked" "$shared"
    check "$program's program, $library's static library" "$static"
    check "$program's program, $library's library opened" "$opener" "$build/libfovea.so"
  done
done
