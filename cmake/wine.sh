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
exec wine "$@"
