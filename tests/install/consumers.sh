#!/bin/bash
# Uses Fovea as other projects do, in every way that README.md names: an installed build by find_package and by
# pkg-config, a folder of the tree, the bare sources. Each time examples/embed must print what README.md says. Every
# public header is used alone, in C and C++, with the installed libraries.
#   consumers.sh <build directory> <folder for the results> [one]
# With "one" only by find_package, for one program, and by pkg-config; all in C, since a new machine may have no C++.
set -e -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$1 out=$2 ways=${3:-all}

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
prefix=$out/prefix
# shellcheck disable=SC2016
answer=$(sed -n 's/^It prints `\(.*\)` on every machine.*/\1/p' "$root/README.md")

fail() {
  echo "$1" >&2
  exit 1
}

same() { # what it is, expected, found
  [ "$2" = "$3" ] || fail "$1: expected $2, found $3"
}

run_embed() { # the command that runs it
  same "$*" "$answer" "$("$@")"
}

build_project() { # folder, name, more options
  cmake -G Ninja -S "$root/$1" -B "$out/$2" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_INSTALL_PREFIX="$out/$2/prefix" \
    "${@:3}"
  cmake --build "$out/$2"
}

first_block() { # of C, of a page
  awk '/^```$/ { inside = 0 } inside { print } /^```c$/ { inside = ++count == 1 }' "$root/$1"
}

# The examples must be the programs in the pages, and short.
programs_of_pages() {
  diff <(first_block docs/getting-started.md) "$root/examples/first/first.c" ||
    fail "examples/first/first.c is not the first program in docs/getting-started.md"
  diff <(first_block README.md) "$root/examples/embed/embed.c" ||
    fail "examples/embed/embed.c is not the program in README.md"
  [ "$(wc -l <"$root/examples/embed/embed.c")" -le 30 ] || fail "examples/embed/embed.c has more than 30 lines"
}

# Which versions find_package() may ask for: docs/stability.md.
found_by() { # package, the version that is asked for, whether the installed one is taken
  local file
  file=$(find "$prefix" -name "$1-config-version.cmake")
  same "whether $1 $2 is found" "$3" \
    "$(cmake -DFILE="$file" -DWANTED="$2" -P "$root/tests/install/compatible.cmake" 2>&1)"
}

# All versions must be the version of the header.
versions() {
  local name number version
  number=$(sed -n 's/^#define FOVEA_VERSION_[A-Z]* \([0-9]*\)$/\1/p' "$root/include/fovea/fovea.h" | paste -s -d .)
  for version in $(pkg-config --modversion fovea fovea_nn); do
    same "version of the pkg-config file" "$number" "$version"
  done
  same "name of the shared library" "libfovea.so.$number" "$(basename "$(readlink -f "$libdir/libfovea.so")")"
  for name in fovea fovea_nn; do
    same "SONAME of $name" "$(sed -n "s/^library $name: //p" "$root/tests/audit/abi.txt")" \
      "$(objdump -p "$libdir/lib$name.so" | awk '$1 == "SONAME" { print $2 }')"
    found_by "$name" "$number" yes
    found_by "$name" "${number%.*}" yes
    found_by "$name" "${number%.*}.999" no
    found_by "$name" 0.0.9 no
    found_by "$name" 999.0 no
  done
  grep -rqxF "set(PACKAGE_VERSION \"$number\")" --include=fovea-config-version.cmake "$prefix" ||
    fail "version of the CMake package is not $number"
  "$prefix/bin/fovea" info | grep "$number" >/dev/null || fail "fovea info does not say $number"
}

one_program() {
  build_project examples/embed embed
  run_embed "$out/embed/embed"
}

by_find_package() {
  one_program
  build_project tests/install/find_package find_package -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON \
    -DHEADER_PROGRAMS="$out/headers"
  ctest --test-dir "$out/find_package" --output-on-failure
  cmake --install "$out/find_package"
  "$out/find_package/prefix/bin/c_fovea"
  build_project examples/own_threads own_threads
  "$out/own_threads/own_threads"
}

# Every public header is installed, and what it declares is in the library of its package.
headers_by_pkg_config() {
  local source package compiler
  same "installed headers" "$(cd "$root/include/fovea" && ls)" "$(cd "$prefix/include/fovea" && ls)"
  for source in "$out"/headers/*/*.c*; do
    if [[ $ways == one && $source == *.cc ]]; then continue; fi
    package=$(basename "$(dirname "$source")")
    compiler="cc -std=c99"
    if [[ $source == *.cc ]]; then compiler="c++ -std=c++11"; fi
    # shellcheck disable=SC2046
    $compiler -Wall -Wextra -pedantic-errors -Werror -o "$source.program" "$source" \
      $(pkg-config --cflags --libs "$package") -Wl,-rpath,"$libdir"
    "$source.program" || fail "$source does not find all functions"
  done
}

by_pkg_config() {
  # shellcheck disable=SC2046
  cc -o "$out/shared" "$root/examples/embed/embed.c" $(pkg-config --cflags --libs fovea)
  run_embed env LD_LIBRARY_PATH="$libdir" "$out/shared"
  # shellcheck disable=SC2046
  cc -o "$out/with_path" "$root/examples/embed/embed.c" $(pkg-config --cflags --libs fovea) \
    -Wl,-rpath,"$(pkg-config --variable=libdir fovea)"
  run_embed "$out/with_path"
  # shellcheck disable=SC2046
  cc -o "$out/static" "$root/examples/embed/embed.c" $(pkg-config --cflags fovea) "$libdir/libfovea.a" \
    $(pkg-config --libs-only-l --static fovea | sed 's/-lfovea//')
  run_embed "$out/static"
  # shellcheck disable=SC2046
  cc -o "$out/nn" "$root/tests/install/consumer_nn.c" $(pkg-config --cflags --libs fovea_nn) -Wl,-rpath,"$libdir"
  "$out/nn"
  # shellcheck disable=SC2046
  cc -o "$out/nn_static" "$root/tests/install/consumer_nn.c" $(pkg-config --cflags fovea_nn) "$libdir/libfovea_nn.a" \
    "$libdir/libfovea.a" $(pkg-config --libs-only-l --static fovea_nn | sed 's/-lfovea_nn//; s/-lfovea//')
  "$out/nn_static"
}

# What the parent's flags would change they change in every file, and the programs attend: the core is enough.
by_add_subdirectory() {
  local installed
  build_project tests/install/add_subdirectory add_subdirectory -DFOVEA_PRESET=core
  ctest --test-dir "$out/add_subdirectory" --output-on-failure
  run_embed "$out/add_subdirectory/embed"
  cmake --install "$out/add_subdirectory"
  installed=$(cd "$out/add_subdirectory/prefix" && find . -type f)
  same "what the subproject installed" ./bin/sub_fovea_static "$installed"
  build_project tests/install/add_subdirectory add_subdirectory -DFOVEA_NN=ON # what is built stays
  ctest --test-dir "$out/add_subdirectory" --output-on-failure
}

# With this flag gcc links a file that flushes subnormals to zero in the whole program.
by_fast_math() {
  # shellcheck disable=SC2046
  cc -O2 -ffast-math -o "$out/fast_math" "$root/tests/install/fast_math.c" $(pkg-config --cflags --libs fovea)
  LD_LIBRARY_PATH=$libdir "$out/fast_math"
  # shellcheck disable=SC2046
  cc -O2 -ffast-math -o "$out/fast_embed" "$root/examples/embed/embed.c" $(pkg-config --cflags --libs fovea)
  run_embed env LD_LIBRARY_PATH="$libdir" "$out/fast_embed"
}

# Compiles only the folders that a project copies, with threads, file by file. tests/install/bare.sh compiles all groups
# by one call of the compiler, without threads, and checks their digests.
by_sources() {
  local options=(-O2 -DFOVEA_CORE -Iinclude -I. -fopenmp -DFOVEA_OPENMP)
  mkdir "$out/vendored"
  cp -r "$root/include" "$root/src" "$root/arch" "$root/examples/embed/embed.c" "$out/vendored"
  (
    cd "$out/vendored"
    printf '%s\n' arch/*/*.c src/*/*.c embed.c | xargs -P "$(nproc)" -n 4 cc "${options[@]}" -c
    cc -fopenmp -o embed ./*.o -lm
  )
  run_embed "$out/vendored/embed"
  FOVEA_ISA=scalar run_embed "$out/vendored/embed"
}

# The preset must install no programs, and look for nothing but a compiler. The core is enough to see that.
by_preset_library() {
  local needed prefix=$out/library/prefix
  cmake -S "$root" --preset library -B "$out/library" -DCMAKE_INSTALL_PREFIX="$prefix" -DFOVEA_PRESET=core
  needed=$(grep -iE '(benchmark|blas|cmocka|pkg_?config|python|clang_format)[^=]*=' "$out/library/CMakeCache.txt" || true)
  same "what the preset library looked for" "" "$(grep -v '^FOVEA_BUILD_BENCH' <<<"$needed" || true)"
  cmake --build "$out/library"
  cmake --install "$out/library"
  same "programs that the preset library installs" "" "$(find "$prefix" -path '*/bin/*')"
  cmake -G Ninja -S "$root/examples/embed" -B "$out/library_embed" -DCMAKE_PREFIX_PATH="$prefix"
  cmake --build "$out/library_embed"
  run_embed "$out/library_embed/embed"
}

licence() {
  cmp "$root/LICENSE" "$prefix/share/doc/fovea/LICENSE" || fail "the licence is not installed"
}

# Uninstalling must leave only what is not Fovea's.
uninstalled() {
  touch "$prefix/include/other.h"
  cmake --build "$build" --target uninstall
  same "what uninstalling leaves" ./include/other.h "$(cd "$prefix" && find . ! -type d)"
  same "folders that uninstalling leaves" "" "$(find "$prefix" -name fovea)"
}

programs_of_pages
cmake --install "$build" --prefix "$prefix"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name fovea.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir fovea)
versions
licence
"$root/tests/install/headers.sh" "$root" "$out/headers"
headers_by_pkg_config
if [ "$ways" = one ]; then
  one_program
else
  by_find_package
  by_fast_math
  by_add_subdirectory
  by_sources
  by_preset_library
fi
by_pkg_config
uninstalled
