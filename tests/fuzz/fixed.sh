#!/bin/bash
# Runs a target on its kept inputs and on varied copies of them, the same ones on every machine:
#   fixed.sh <folder of the build> <target> <count of copies>
# An input that breaks something is shown as hex.
set -u -o pipefail
folder=$1 target=$2 count=$3 inputs=$1/varied/$2.hex log=$1/varied/$2.log

mkdir -p "$folder/varied"
python3 -B tests/fuzz/vary.py "$target" "$count" | cat "tests/fuzz/corpus/$target.hex" - >"$inputs"
if ! timeout 1200 "$folder/tests/fuzz/fuzz_$target" "$inputs" >"$log" 2>&1; then
  last=$(grep -o "^$inputs: [0-9]*" "$log" | tail -n 1)
  grep -v "^$inputs: " "$log" | tail -n 40 | sed "s/^/$target: /"
  echo "$target: input $(sed -n "${last##* }p" "$inputs")"
  exit 1
fi
sed -n "s/^\([0-9]* inputs\)$/$target: \1/p" "$log"
