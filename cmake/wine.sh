#!/bin/bash
# Runs a Windows program, with the compiler's libraries at hand and a Windows of its own below build/, which has neither
# a screen nor downloads.
#   wine.sh <program> <argument>...
compiler=x86_64-w64-mingw32-gcc-posix
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
libraries="Z:$root/build/mingw-sysroot/usr/bin;"
for library in libgomp-1.dll libwinpthread-1.dll libgcc_s_seh-1.dll; do
  libraries+="Z:$(dirname "$(realpath "$($compiler -print-file-name=$library)")");"
done
export WINEPATH="$libraries${WINEPATH:-}"
export WINEPREFIX=${WINEPREFIX:-$root/build/mingw-wine} WINEDEBUG=${WINEDEBUG:--all}
export WINEARCH=win64 WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe="
unset DISPLAY
mkdir -p "$WINEPREFIX"

# wine 8 ends one program in 4,000 before it has begun (as often one that only says hello): status 1 and not a word.
# No program of ours fails without a word, so such a one is begun again.
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
for _ in 1 2 3; do
  wine "$@" >"$said/output" 2>"$said/errors"
  status=$?
  if [ $status -ne 1 ] || [ -s "$said/output" ] || [ -s "$said/errors" ]; then break; fi
done
cat "$said/output"
cat "$said/errors" >&2
exit "$status"
