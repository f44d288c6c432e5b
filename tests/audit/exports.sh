#!/bin/bash
# The shared library exports the functions that the header marks with FOVEA_API, and nothing else.
#   exports.sh <nm> <libfovea.so> <fovea.h>
set -e -u -o pipefail
nm=$1 library=$2 header=$3

declared=$(grep -v '^#' "$header" | tr '\n' ' ' | grep -o 'FOVEA_API [^(;]*(' | grep -o 'fovea_[a-z0-9_]*($' | tr -d '(' | sort)
exported=$($nm --dynamic --defined-only --format=posix "$library" | awk '{ print $1 }' | sort)
diff <(echo "$declared") <(echo "$exported") || {
  echo "< declared only, > exported only"
  exit 1
}
