/* Ranges of positions. */
#ifndef FOVEA_SRC_BASE_INTERVAL_H
#define FOVEA_SRC_BASE_INTERVAL_H

#include <stdint.h>

static inline int64_t fovea_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t fovea_most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Positions begin to end - 1; empty if end <= begin. */
typedef struct fovea_interval {
  int64_t begin, end;
} fovea_interval;

/* The positions in both intervals; {0, 0} if there are none. */
static inline fovea_interval fovea_intersect(fovea_interval a, fovea_interval b) {
  fovea_interval keys = {fovea_most(a.begin, b.begin), fovea_least(a.end, b.end)};
  return keys.begin < keys.end ? keys : (fovea_interval){0, 0};
}

#endif
