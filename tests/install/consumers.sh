#!/bin/bash
# Installs a build into a folder and uses it from there: by find_package, by pkg-config, by add_subdirectory.
#   consumers.sh <build directory> <folder for the results>
set -e -u -o pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 out=$2

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
prefix=$out/prefix
cmake --install "$build" --prefix "$prefix"

build_and_test() { # project
  cmake -G Ninja -S "$source_dir/$1" -B "$out/$1" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_INSTALL_PREFIX="$out/$1/prefix"
  cmake --build "$out/$1"
  ctest --test-dir "$out/$1" --output-on-failure
}

build_and_test find_package
build_and_test add_subdirectory
cmake --install "$out/add_subdirectory"
installed=$(cd "$out/add_subdirectory/prefix" && find . -type f)
if [ "$installed" != ./bin/sub_fovea_static ]; then
  echo "the subproject installed something: $installed"
  exit 1
fi

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name fovea.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir fovea)
# shellcheck disable=SC2046
cc -o "$out/shared" "$source_dir/consumer.c" $(pkg-config --cflags --libs fovea)
LD_LIBRARY_PATH=$libdir "$out/shared"
# shellcheck disable=SC2046
cc -o "$out/static" "$source_dir/consumer.c" $(pkg-config --cflags fovea) "$libdir/libfovea.a" \
  $(pkg-config --libs-only-l --static fovea | sed 's/-lfovea//')
"$out/static"
