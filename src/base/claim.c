#include "claim.h"

#include "../../arch/formats.h"

/* Sorts the axes by step, the smaller first, and joins runs that follow each other. */
static void normalise(fovea_claim *claim) {
  if (claim->step[0] > claim->step[1]) {
    int64_t count = claim->count[0], step = claim->step[0];
    claim->count[0] = claim->count[1], claim->step[0] = claim->step[1];
    claim->count[1] = count, claim->step[1] = step;
  }
  for (int axis = 0; axis < 2; axis++) {
    if (claim->step[axis] != claim->run) continue;
    claim->run *= claim->count[axis];
    claim->count[axis] = 1, claim->step[axis] = 0;
  }
}

fovea_claim fovea_claim_rows(const void *pointer, int bits, int64_t heads, int64_t head_step, int64_t rows,
                             int64_t row_step, int64_t dim) {
  fovea_claim claim = {.segment = -1};
  if (rows == 0 || heads == 0) return claim;
  claim.begin = (uintptr_t)pointer;
  claim.run = fovea_bytes_of_bits(bits, dim);
  claim.count[0] = rows, claim.step[0] = rows > 1 ? fovea_bytes_of_bits(bits, row_step) : 0;
  claim.count[1] = heads, claim.step[1] = heads > 1 ? fovea_bytes_of_bits(bits, head_step) : 0;
  for (int axis = 0; axis < 2; axis++) {
    if (claim.step[axis] >= 0) continue;
    claim.begin += (uintptr_t)(claim.step[axis] * (claim.count[axis] - 1));
    claim.step[axis] = -claim.step[axis];
  }
  normalise(&claim);
  claim.end = claim.begin +
              (uintptr_t)((claim.count[0] - 1) * claim.step[0] + (claim.count[1] - 1) * claim.step[1] + claim.run);
  return claim;
}

/* The bytes from the first to the last run along the first axis. */
static int64_t inner_extent(const fovea_claim *claim) {
  return (claim->count[0] - 1) * claim->step[0] + claim->run;
}

int fovea_claim_is_apart(const fovea_claim *claim) {
  if (claim->count[0] > 1 && claim->step[0] < claim->run) return 0;
  return claim->count[1] == 1 || claim->step[1] >= inner_extent(claim);
}

/* The first i, at least `least`, with i * step above `low`. */
static int64_t first_above(int64_t least, int64_t step, int64_t low) {
  if (step == 0 || low < least * step) return least;
  int64_t i = low / step + (low % step >= 0);
  return i > least ? i : least;
}

/* Whether two rows of runs that begin `distance` bytes apart overlap. */
static int runs_overlap(const fovea_claim *a, const fovea_claim *b, int64_t distance) {
  /* A run of b overlaps the first run of a if it lies more than low and less than high after the first run of b.
   */
  int64_t low = -distance - b->run, high = a->run - distance;
  if (a->step[0] == b->step[0]) {
    int64_t i = first_above(-(a->count[0] - 1), a->step[0], low);
    return i < b->count[0] && low < i * a->step[0] && i * a->step[0] < high;
  }
  if (b->count[0] < a->count[0]) return runs_overlap(b, a, -distance);
  for (int64_t i = 0; i < a->count[0]; i++, low += a->step[0], high += a->step[0]) {
    int64_t j = first_above(0, b->step[0], low);
    if (j < b->count[0] && low < j * b->step[0] && j * b->step[0] < high) return 1;
  }
  return 0;
}

int fovea_claims_overlap(const fovea_claim *a, const fovea_claim *b) {
  if (a->end <= b->begin || b->end <= a->begin || a->run == 0 || b->run == 0) return 0;
  if (b->count[1] < a->count[1]) return fovea_claims_overlap(b, a);
  int64_t distance = (int64_t)b->begin - (int64_t)a->begin, a_extent = inner_extent(a), b_extent = inner_extent(b);
  for (int64_t i = 0; i < a->count[1]; i++, distance -= a->step[1]) {
    for (int64_t j = first_above(0, b->step[1], -distance - b_extent);
         j < b->count[1] && j * b->step[1] < a_extent - distance; j++) {
      if (runs_overlap(a, b, distance + j * b->step[1])) return 1;
    }
  }
  return 0;
}
