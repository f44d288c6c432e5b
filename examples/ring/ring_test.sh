#!/bin/bash
# Runs the ring on 1, 2, 3 and 8 ranks: each has the bits of one process, and all have one digest. Cuts that are no ends
# of spans are the planted fault that the program must see.
#   ring_test.sh <program> <mpiexec> <its options, the last for the number of ranks>
set -e -u -o pipefail
program=$1
launch=("${@:2}")

# More ranks than CPUs, and root in a container. Versions of Open MPI know some of the names; other MPIs need none.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers may forbid what the default needs
export OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1
export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS} # MPI's own

ring() { # ranks, arguments of the program
  "${launch[@]}" "$1" "$program" "${@:2}"
}

fail() {
  echo "$1" >&2
  exit 1
}

# 5 spans: at 8 ranks most blocks are empty, at 1 rank a block has several. The last span is not full.
digests=
for ranks in 1 2 3 8; do
  out=$(ring "$ranks" 9000) || fail "$ranks ranks: $out"
  echo "$out"
  [[ $out == "ranks $ranks, keys 9000"*"the bits of one process" ]] || fail "$ranks ranks: no answer"
  digests+=$(grep -o 'digest [0-9a-f]*' <<<"$out")$'\n'
done
[ "$(sort -u <<<"${digests%$'\n'}" | wc -l)" = 1 ] || fail "the digests differ"

if out=$(ring 3 9000 1000 2>/dev/null); then fail "cuts within spans were not seen"; fi
[[ $out == *"NOT THE BITS of one process"* ]] || fail "cuts within spans: $out"
if out=$(ring 2 0 2>&1); then fail "no keys were accepted"; fi
[[ $out == *"usage: fovea_ring"* ]] || fail "$out"
