#!/bin/bash
# Fuzzes one target, from the kept corpus on:
#   fuzz.sh <target> <seconds> <folder of the build> [seed [inputs]]
# Inputs that reach something new are added to <folder>/corpus/<target>. What breaks something is written to
# <folder>/found_<target>_*, and shown as base64.
set -e -u -o pipefail
target=$1 seconds=$2 folder=$3 seed=${4:-0} inputs=${5:--1} # 0: any; -1: as many as there is time for
found=$folder/corpus/$target

mkdir -p "$found"
tests/fuzz/corpus.py extract "$target" "$found"
# Busy machines let a process wait for minutes, and inputs of more bytes than that hold nothing that is looked at.
"$folder/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -seed="$seed" -runs="$inputs" -rss_limit_mb=1024 \
  -timeout=300 -max_len=256 -len_control=0 -reload=0 -print_final_stats=1 -artifact_prefix="$folder/found_${target}_" \
  "$found" 2>&1 | sed -e '/\t\(NEW\|REDUCE\|RELOAD\) /d' -e '/ # Uses: /d' -e "s/^/$target: /"
