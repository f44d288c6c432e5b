/* Ring attention beside one process: every rank makes its part of made-up tensors and runs the ring; rank 0 collects
 * O and LSE, computes them alone, and compares every byte.
 *
 *   mpirun -n RANKS fovea_ring [KEYS [CUT]]
 *
 * Exits with 1 if the bits differ, with 2 if an argument is wrong. */
#include "ring.h"

#include <fovea/state.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4, KV_HEADS = 2, DIM = 64, MAX_KEYS = 1000000 }; /* counts of floats fit MPI's int */

static float *allocate(int64_t floats) {
  float *numbers = malloc((size_t)(floats + 1) * sizeof(float));
  if (!numbers) {
    fputs("ring: no memory\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  return numbers;
}

/* Writes the rows of tensor 'q', 'k' or 'v': numbers from -2 to 2 that depend on head, position and dim alone.
 * Returns the end. */
static float *fill(float *to, char tensor, int heads, fovea_range rows) {
  for (int head = 0; head < heads; head++)
    for (int64_t i = rows.begin * DIM; i < rows.end * DIM; i++) {
      uint64_t x = ((uint64_t)(tensor * HEADS + head) << 32 | (uint64_t)i) * UINT64_C(0x9e3779b97f4a7c15);
      x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
      *to++ = (float)(x >> 40) / 4194304.0f - 2.0f;
    }
  return to;
}

/* O and LSE of all rows, collected by rank 0: a block's rows go to their places in each head. */
static void collect(const ring_layout *ring, const ring_tensors *tensors, float *o, float *lse) {
  MPI_Request sends[4];
  for (int side = 0; side < 2; side++) {
    fovea_range rows = ring_block(ring, ring->rank, side);
    int count = HEADS * (int)(rows.end - rows.begin);
    MPI_Isend(tensors->o[side], count * DIM, MPI_FLOAT, 0, side, MPI_COMM_WORLD, &sends[side]);
    MPI_Isend(tensors->lse[side], count, MPI_FLOAT, 0, 2 + side, MPI_COMM_WORLD, &sends[2 + side]);
  }
  for (int message = 0; ring->rank == 0 && message < 4 * ring->ranks; message++) {
    int rank = message / 4, side = message % 2, dim = message % 4 < 2 ? DIM : 1;
    fovea_range rows = ring_block(ring, rank, side);
    MPI_Datatype places;
    MPI_Type_vector(HEADS, (int)(rows.end - rows.begin) * dim, (int)ring->keys * dim, MPI_FLOAT, &places);
    MPI_Type_commit(&places);
    MPI_Recv((dim == DIM ? o : lse) + rows.begin * dim, 1, places, rank, message % 4, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Type_free(&places);
  }
  MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
}

/* O (HEADS, keys, DIM), then LSE (HEADS, keys), by one call in one process. */
static void attend_alone(const ring_layout *ring, float *o) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_range all = {0, ring->keys};
  float *q = allocate((HEADS + 2 * KV_HEADS) * ring->keys * DIM);
  float *k = fill(q, 'q', HEADS, all), *v = fill(k, 'k', KV_HEADS, all);
  fill(v, 'v', KV_HEADS, all);
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, ring->keys, ring->keys, DIM, DIM);
  problem.causal = 1;
  fovea_tensors_init(&tensors, q, k, v, o, o + HEADS * ring->keys * DIM);
  if (fovea_attend(&problem, &tensors, NULL, &error) != FOVEA_OK) {
    fprintf(stderr, "ring: %s\n", error.text);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  free(q);
}

static uint64_t digest_of(const float *numbers, int64_t count) {
  uint64_t digest = 0;
  for (int64_t i = 0; i < count; i++) {
    uint32_t word;
    memcpy(&word, &numbers[i], sizeof word);
    digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    digest ^= digest >> 32;
  }
  return digest;
}

/* Whether all ranks together have the bits of rank 0 alone. */
static int compare(const ring_layout *ring, const ring_tensors *tensors) {
  int same = 1;
  int64_t count = HEADS * ring->keys * (DIM + 1);
  float *together = ring->rank == 0 ? allocate(count) : NULL, *alone = ring->rank == 0 ? allocate(count) : NULL;
  collect(ring, tensors, together, together ? together + HEADS * ring->keys * DIM : NULL);
  if (together && alone) {
    attend_alone(ring, alone);
    same = memcmp(together, alone, (size_t)count * sizeof(float)) == 0;
    printf("digest %016llx, %s of one process\n", (unsigned long long)digest_of(together, count),
           same ? "the bits" : "NOT THE BITS");
  }
  free(together);
  free(alone);
  MPI_Bcast(&same, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return same;
}

/* What the ranks did, as rank 0 prints it. */
static void print_work(const ring_layout *ring, const ring_work *work) {
  int64_t mine[4] = {work->pairs, work->bytes, -work->pairs, -work->bytes}, most[4];
  MPI_Reduce(mine, most, 4, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
  if (ring->rank) return;
  printf("ranks %d, keys %lld\n", ring->ranks, (long long)ring->keys);
  printf("pairs of a rank and head %lld to %lld, bytes sent by a rank %lld to %lld\n", (long long)-most[2],
         (long long)most[0], (long long)-most[3], (long long)most[1]);
}

/* A number from 1 to MAX_KEYS, or 0. */
static int64_t number(const char *text) {
  char *end;
  long value = strtol(text, &end, 10);
  return *text && !*end && value >= 1 && value <= MAX_KEYS ? value : 0;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  ring_layout ring = {.heads = HEADS, .kv_heads = KV_HEADS, .dim = DIM};
  MPI_Comm_size(MPI_COMM_WORLD, &ring.ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &ring.rank);
  ring.keys = argc > 1 ? number(argv[1]) : 16 * FOVEA_SPAN_KEYS;
  ring.cut = argc > 2 ? number(argv[2]) : FOVEA_SPAN_KEYS;
  if (argc > 3 || !ring.keys || !ring.cut) {
    if (!ring.rank) fprintf(stderr, "usage: fovea_ring [KEYS [CUT]], each from 1 to %d\n", MAX_KEYS);
    MPI_Finalize();
    return 2;
  }
  ring_tensors tensors;
  fovea_range low = ring_block(&ring, ring.rank, 0), high = ring_block(&ring, ring.rank, 1);
  int64_t rows = low.end - low.begin + high.end - high.begin;
  float *q = allocate(HEADS * rows * DIM), *o = allocate(HEADS * rows * (DIM + 1));
  float *kv = allocate(2 * KV_HEADS * rows * DIM);
  int64_t low_rows = HEADS * (low.end - low.begin);
  tensors.q[0] = q;
  tensors.q[1] = fill(q, 'q', HEADS, low);
  fill(q + low_rows * DIM, 'q', HEADS, high);
  tensors.kv = kv;
  fill(fill(fill(fill(kv, 'k', KV_HEADS, low), 'v', KV_HEADS, low), 'k', KV_HEADS, high), 'v', KV_HEADS, high);
  tensors.o[0] = o;
  tensors.o[1] = o + low_rows * DIM;
  tensors.lse[0] = o + HEADS * rows * DIM;
  tensors.lse[1] = tensors.lse[0] + low_rows;

  ring_work work = ring_attend(&ring, &tensors);
  print_work(&ring, &work);
  int same = compare(&ring, &tensors);
  free(q);
  free(kv);
  free(o);
  MPI_Finalize();
  return same ? 0 : 1;
}
