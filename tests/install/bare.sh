#!/bin/bash
# The sources and nothing else: one call of the compiler, without a flag that this project would add, gives the stored
# digests. For aarch64 the program runs through qemu.
#   bare.sh "<compiler and options>" <folder for the program>
set -e -u -o pipefail
compiler=$1 program=$2/$(tr -c 'a-z0-9\n' _ <<<"$1")

mkdir -p "$2"
# shellcheck disable=SC2086
$compiler -Iinclude -I. -o "$program" src/*.c arch/*/*.c tools/fovea/*.c -lm
emulator=""
if [[ $compiler == *aarch64* ]]; then emulator="qemu-aarch64 -L /usr/aarch64-linux-gnu"; fi
$emulator "$program" selftest | sed "s/^/$compiler: /"
