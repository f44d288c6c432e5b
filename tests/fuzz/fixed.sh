#!/bin/bash
# Runs a target on varied copies of its corpus, the same ones on every machine:
#   fixed.sh <folder of the build> <target> <count>
# An input that breaks something is written to <folder>/found_<target>_*, and shown as base64.
set -e -u -o pipefail
folder=$1 target=$2 count=$3

python3 -B tests/fuzz/vary.py "$target" "$folder/inputs/$target" "$count"
tests/fuzz/corpus.py extract "$target" "$folder/inputs/$target"
# Busy machines let a process wait for minutes.
"$folder/tests/fuzz/fuzz_$target" -runs=0 -rss_limit_mb=1024 -timeout=300 -max_len=256 -print_final_stats=1 \
  -artifact_prefix="$folder/found_${target}_" "$folder/inputs/$target" 2>&1 |
  sed -e "s/^/$target: /"
