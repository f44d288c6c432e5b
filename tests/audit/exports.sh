#!/bin/bash
# The shared library exports the functions that its headers mark with FOVEA_API, and nothing else; they are the
# functions of the kept list.
#   exports.sh <nm> <libfovea.so, or the import library of a DLL> <exports.txt> <header>...
set -e -u -o pipefail
export LC_ALL=C
nm=$1 library=$2 list=$3
shift 3
status=0

compare() { # what the two are, names, names
  diff <(echo "$2") <(echo "$3") || {
    echo "$1"
    status=1
  }
}

declared=$(cat "$@" | grep -v '^#' | tr '\n' ' ' | grep -oE 'FOVEA(_NN)?_API [^(;]*\(' | grep -o 'fovea_[a-z0-9_]*($' | tr -d '(' | sort)
if [[ $library == *.dll.a ]]; then
  exported=$($nm --defined-only --format=posix "$library" | sed -n 's/^__imp_\([^ ]*\) .*/\1/p' | sort)
else
  exported=$($nm --dynamic --defined-only --format=posix "$library" | awk '{ print $1 }' | sort)
fi
listed=$(grep -v '^#' "$list" | sort)
compare "< declared only, > exported only" "$declared" "$exported"
compare "< listed only, > exported only; a new function goes into $list" "$listed" "$exported"
exit $status
