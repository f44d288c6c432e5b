#!/bin/bash
# Fovea beside its peers: compare.sh <libfovea.so> [options of measure.py]
# Installs what requirements.txt names into build/peers, measures, and leaves run.json, the tables (run.md) and the plot
# (run.svg) in build/peers/results.

set -e -o pipefail
library=$(realpath "$1")
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
place=$here/../../build/peers
[ -x "$place/bin/python" ] || python3 -m venv "$place"
place=$(cd "$place" && pwd)
if ! cmp -s "$here/requirements.txt" "$place/installed.txt"; then
  echo "Installing the peers in build/peers" >&2
  "$place/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$place/installed.txt"
fi
results=$place/results
mkdir -p "$results"
"$place/bin/python" "$here/measure.py" --library "$library" --out "$results/run.json" "$@"
"$place/bin/python" "$here/report.py" "$results/run.json" --plot "$results/run.svg" | tee "$results/run.md"
