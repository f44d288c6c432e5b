#!/bin/bash
# Runs a Windows program with the compiler's libraries, in a Windows of its own below build/, which has no screen and
# downloads nothing.
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

# wine 8 ends one program in 4,000 before it begins, with status 1 and no output; a program that only prints hello as
# often. No program of this project fails without output, so such a program is started again. More rarely a program
# that has done everything never ends: its only thread waits for wine's server. No program here takes two minutes.
#
# Debian's server ends as soon as no program runs. One that starts just then finds it and cannot connect, or loses it,
# which wine says with status 1. So a server that is begun here waits for a minute, and such a program is started again.
wineserver --persistent=60 </dev/null >/dev/null 2>&1
lost_server='^wine client error|^wine: a wine server seems to be running'
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
for _ in 1 2 3 4; do
  timeout --kill-after=5 120 wine "$@" >"$said/output" 2>"$said/errors"
  status=$?
  if [ $status -eq 124 ] || [ $status -eq 137 ]; then continue; fi
  if grep -qE "$lost_server" "$said/errors"; then continue; fi
  if [ $status -ne 1 ] || [ -s "$said/output" ] || [ -s "$said/errors" ]; then break; fi
done
cat "$said/output"
cat "$said/errors" >&2
exit "$status"
