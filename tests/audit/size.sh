#!/bin/bash
# What the shared library and the objects of each group take in memory, without symbols and padding, held to the limits of
# a list. Where it is too much: which objects do.
#   size.sh <objdump> <architecture> <shared library>[:<line of the list>] <object>...
set -e -u -o pipefail
objdump=$1 architecture=$2 library=$3
shift 3
limits=$(dirname "${BASH_SOURCE[0]}")/sizes.txt
status=0

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

limit_of() { # group
  local columns=(group x86_64 aarch64) i
  for i in 1 2; do
    if [ "${columns[i]}" = "$architecture" ]; then awk -v group="$1" -v i=$((i + 1)) '$1 == group { print $i }' "$limits"; fi
  done
}

# The group of an object: kernels by the first word of their names, if it is one of the list; other kernels are the core,
# and other C is src, or nn.
group_of() { # object
  local file=${1##*/} set
  case $1 in
    */nn_objects.dir/nn/* | */fovea_nn_objects.dir/nn/*) echo nn ;;
    */src/*) echo src ;;
    *)
      set=${file%%_*}
      if [[ $1 == */nn/variants_* ]]; then set=variants; elif [[ $1 == */nn/* ]]; then set=nn; fi
      if [ -n "$(limit_of "$set")" ]; then echo "$set"; else echo core; fi
      ;;
  esac
}

check() { # name, bytes, objects
  local limit
  limit=$(limit_of "$1")
  echo "$1: $2 bytes of $limit"
  if [ "$2" -eq 0 ] || [ "$2" -gt "$limit" ]; then
    status=1
    sort -n <<<"${3:-}"
  fi
}

name=${library##*/}
name=${name%%.*}
if [[ $library == *:* ]]; then name=${library##*:} library=${library%:*}; fi
check "$name" "$(loaded_bytes "$library")"
declare -A bytes objects
for object in "$@"; do
  group=$(group_of "$object") size=$(loaded_bytes "$object")
  bytes[$group]=$((${bytes[$group]:-0} + size))
  objects[$group]+="$size $object"$'\n'
done
for group in "${!bytes[@]}"; do check "$group" "${bytes[$group]}" "${objects[$group]}"; done
exit $status
