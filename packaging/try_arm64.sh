#!/bin/bash
# Runs under qemu what packages for arm64 hold: the command, and a program that is compiled with the installed headers
# and library.
#   try_arm64.sh <folder that they are unpacked in> [selftest]
set -e -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
installed=$1/usr
libraries=$installed/lib/aarch64-linux-gnu
run() { qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$libraries" "$@"; }

run "$installed/bin/fovea" info
PKG_CONFIG_PATH=$libraries/pkgconfig
export PKG_CONFIG_PATH
program=$1/embed
# shellcheck disable=SC2046
aarch64-linux-gnu-gcc -o "$program" "$root/examples/embed/embed.c" $(pkg-config --cflags --libs fovea)
# shellcheck disable=SC2016
[ "$(run "$program")" = "$(sed -n 's/^It prints `\(.*\)` on every machine.*/\1/p' "$root/README.md")" ]
if [ "${2:-}" = selftest ]; then run "$installed/bin/fovea" selftest; fi
