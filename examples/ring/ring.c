/* Ring attention (Liu et al., 2023), with the blocks of "zigzag" ring attention: rows stay, keys and values travel
 * around the ring of ranks, and each rank makes states of its rows over the keys that it holds at the time. Cut at ends
 * of spans, the states merge to the bits of one process, in whatever order keys arrive. */
#include "ring.h"

#include <fovea/cache.h>
#include <fovea/state.h>

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop(const char *why) {
  fprintf(stderr, "ring: %s\n", why);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static void check(fovea_status status, const fovea_error *error) {
  if (status != FOVEA_OK) stop(error->text);
}

static float *allocate(int64_t floats) {
  float *numbers = malloc((size_t)(floats + 1) * sizeof(float));
  if (!numbers) stop("no memory");
  return numbers;
}

static int64_t length(fovea_range range) {
  return range.end - range.begin;
}

static int64_t begin_of(const ring_layout *ring, int64_t block) {
  int64_t pieces = (ring->keys + ring->cut - 1) / ring->cut; /* block b begins at piece pieces * b / blocks */
  int64_t begin = pieces * block / (2 * ring->ranks) * ring->cut;
  return begin < ring->keys ? begin : ring->keys;
}

fovea_range ring_block(const ring_layout *ring, int rank, int side) {
  int block = side ? 2 * ring->ranks - 1 - rank : rank;
  return (fovea_range){begin_of(ring, block), begin_of(ring, block + 1)};
}

int64_t ring_kv_floats(const ring_layout *ring, fovea_range block) {
  return 2 * ring->kv_heads * ring->dim * length(block);
}

static int64_t rank_floats(const ring_layout *ring, int rank) {
  return ring_kv_floats(ring, ring_block(ring, rank, 0)) + ring_kv_floats(ring, ring_block(ring, rank, 1));
}

/* The states of a block of rows over ranges of keys, ascending. Ranges that meet are merged at once. The ring brings
 * neighbours of blocks that were there: three ranges and a new one are the most that are ever apart. */
struct chain {
  int count;
  fovea_state states[4];
};

static fovea_state new_state(const ring_layout *ring, int64_t rows, int64_t begin, int64_t end) {
  fovea_state state;
  float *numbers = allocate(ring->heads * rows * fovea_state_numbers(ring->dim, begin, end));
  fovea_state_init(&state, 1, ring->heads, rows, ring->dim, begin, end, numbers);
  return state;
}

static void add(const ring_layout *ring, struct chain *chain, fovea_state state) {
  fovea_error error;
  fovea_state *states = chain->states;
  int at = chain->count++, i = 0;
  for (; at > 0 && states[at - 1].keys.begin > state.keys.begin; at--) states[at] = states[at - 1];
  states[at] = state;
  while (i + 1 < chain->count) {
    fovea_state left = states[i], right = states[i + 1];
    if (left.keys.end != right.keys.begin) {
      i++;
      continue;
    }
    states[i] = new_state(ring, left.rows, left.keys.begin, right.keys.end);
    check(fovea_state_merge(&left, &right, &states[i], NULL, &error), &error);
    free(left.numbers);
    free(right.numbers);
    chain->count--;
    memmove(&states[i + 1], &states[i + 2], (size_t)(chain->count - i - 1) * sizeof *states);
  }
}

static fovea_problem causal_problem(const ring_layout *ring, fovea_range rows) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, ring->heads, ring->kv_heads, length(rows), ring->keys, ring->dim, ring->dim);
  problem.causal = 1;
  problem.offset = rows.begin;
  return problem;
}

/* The state of rows over the keys of one block. */
static fovea_state attend(const ring_layout *ring, fovea_range rows, const float *q, fovea_range keys, float *kv) {
  fovea_error error;
  fovea_tensors tensors;
  fovea_segment segment;
  fovea_problem problem = causal_problem(ring, rows);
  fovea_state state = new_state(ring, length(rows), keys.begin, keys.end);
  float *v = kv + ring_kv_floats(ring, keys) / 2;
  fovea_segment_init(&segment, keys.begin, length(keys), ring->dim, ring->dim, FOVEA_F32, kv, v);
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  problem.cache.segmented = problem.state = 1;
  problem.keys = keys;
  fovea_tensors_init(&tensors, q, NULL, NULL, NULL, NULL);
  tensors.cache.sequences = &sequence;
  tensors.state = &state;
  check(fovea_attend(&problem, &tensors, NULL, &error), &error);
  return state;
}

static void finish(const ring_layout *ring, fovea_range rows, const fovea_state *state, float *o, float *lse) {
  fovea_error error;
  fovea_tensors tensors;
  fovea_problem problem = causal_problem(ring, rows);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, o, lse);
  tensors.state = state;
  check(fovea_state_finish(&problem, &tensors, NULL, &error), &error);
}

/* Attends to the keys of a rank that came as `kv`. Many an MPI moves messages only within its own calls: hence
 * MPI_Testall() after each block. Returns the number of pairs. */
static int64_t attend_to_part(const ring_layout *ring, const ring_tensors *tensors, int owner, float *kv,
                              struct chain chains[2], MPI_Request requests[2]) {
  int64_t pairs = 0;
  int complete;
  for (int key_side = 0; key_side < 2; key_side++) {
    fovea_range keys = ring_block(ring, owner, key_side);
    for (int side = 0; side < 2; side++) {
      fovea_range rows = ring_block(ring, ring->rank, side);
      if (!length(rows) || !length(keys) || keys.begin > rows.begin) continue; /* no row sees a key */
      add(ring, &chains[side], attend(ring, rows, tensors->q[side], keys, kv));
      MPI_Testall(2, requests, &complete, MPI_STATUSES_IGNORE);
      pairs += keys.begin < rows.begin ? length(rows) * length(keys) : length(rows) * (length(rows) + 1) / 2;
    }
    kv += ring_kv_floats(ring, keys);
  }
  return pairs;
}

ring_work ring_attend(const ring_layout *ring, const ring_tensors *tensors) {
  ring_work work = {0, 0};
  struct chain chains[2] = {{.count = 0}, {.count = 0}};
  int ranks = ring->ranks, before = (ring->rank + ranks - 1) % ranks, after = (ring->rank + 1) % ranks;
  int64_t largest = 0;
  for (int rank = 0; rank < ranks; rank++)
    if (largest < rank_floats(ring, rank)) largest = rank_floats(ring, rank);
  if (largest > INT_MAX) stop("a rank has more floats of K and V than a message of MPI");
  float *buffers[2] = {allocate(largest), allocate(largest)}, *here = tensors->kv;
  for (int step = 0; step < ranks; step++) {
    int owner = (ring->rank - step + ranks) % ranks, next = (owner - 1 + ranks) % ranks;
    int64_t sent = step + 1 < ranks ? rank_floats(ring, owner) : 0, received = rank_floats(ring, next);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (step + 1 < ranks) {
      MPI_Irecv(buffers[step % 2], (int)received, MPI_FLOAT, before, step, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(here, (int)sent, MPI_FLOAT, after, step, MPI_COMM_WORLD, &requests[1]);
    }
    work.pairs += attend_to_part(ring, tensors, owner, here, chains, requests);
    work.bytes += sent * (int64_t)sizeof(float);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    here = buffers[step % 2];
  }
  for (int side = 0; side < 2; side++) {
    fovea_range rows = ring_block(ring, ring->rank, side);
    if (length(rows)) finish(ring, rows, &chains[side].states[0], tensors->o[side], tensors->lse[side]);
    if (length(rows)) free(chains[side].states[0].numbers);
  }
  free(buffers[0]);
  free(buffers[1]);
  return work;
}
