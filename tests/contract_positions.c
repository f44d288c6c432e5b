/* The numeric contract of position terms: what each adds to a score, as a function of two positions. */
#include "contract.h"

#include <math.h>

float contract_alibi(float slope, int64_t d, int symmetric) {
  return symmetric ? slope * -fabsf((float)d) : slope * (float)d;
}

int64_t contract_relative_place(int64_t d, int64_t before, int64_t after) {
  return (d < -before ? -before : d > after ? after : d) + before;
}

/* (r / exact)^wide >= (max / exact)^k, by logarithms: both sides are equal, or differ by far more than their
 * errors, for the sizes of tests. */
int64_t contract_bucket(int64_t d, int64_t buckets, int64_t max_distance, int bidirectional) {
  const int64_t direction = bidirectional ? buckets / 2 : buckets, exact = direction / 2, wide = direction - exact;
  const int64_t first = d > 0 && bidirectional ? direction : 0, distance = d < 0 ? -d : d;
  if (d > 0 && !bidirectional) return 0;
  if (distance < exact) return first + distance;
  if (distance >= max_distance) return first + direction - 1;
  const double k = (double)wide * log((double)distance / (double)exact) / log((double)max_distance / (double)exact);
  return first + exact + (int64_t)floor(k + 1e-9);
}

int64_t contract_grid_place(const int64_t extent[3], int64_t own, int64_t key) {
  int64_t place = 0, step = 1;
  for (int axis = 2; axis >= 0; axis--) {
    place += (own % extent[axis] - key % extent[axis] + extent[axis] - 1) * step;
    step *= 2 * extent[axis] - 1;
    own /= extent[axis];
    key /= extent[axis];
  }
  return place;
}
