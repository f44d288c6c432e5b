#!/bin/bash
# What the shared library takes in memory, without symbols and padding. Where it is too much: which objects do.
#   size.sh <objdump> <libfovea.so> <bytes that are allowed> <object>...
set -e -u -o pipefail
objdump=$1 library=$2 allowed=$3
shift 3

loaded_bytes() { # file
  $objdump -h "$1" | awk '
    function hex(text, i, value) {
      for (i = 1; i <= length(text); i++) value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
      return value
    }
    $1 ~ /^[0-9]+$/ { size = hex($3) }
    /CONTENTS, ALLOC, LOAD/ { sum += size }
    END { print sum + 0 }'
}

bytes=$(loaded_bytes "$library")
echo "$library: $bytes bytes of $allowed"
if [ "$bytes" -eq 0 ] || [ "$bytes" -gt "$allowed" ]; then
  for object in "$@"; do echo "$(loaded_bytes "$object") $object"; done | sort -n
  exit 1
fi
