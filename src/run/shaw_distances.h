/* What Shaw's keys and values share: distances, tables of heads, scratch. */
#ifndef FOVEA_SRC_RUN_SHAW_DISTANCES_H
#define FOVEA_SRC_RUN_SHAW_DISTANCES_H

#include "../feature/shaw.h"
#include "task.h"

/* Farther than any shaw.distance: where own keys are beyond it, how far does not matter. */
enum { FOVEA_SHAW_FAR = 1 << 24 };

static inline int64_t fovea_clip(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

/* A lane's row. Lanes of padding follow the last row. */
static inline fovea_row_place fovea_lane_place(const fovea_tile *t, int lane) {
  return t->places[lane < t->rows.count ? lane : t->rows.count - 1];
}

/* The position of its own key. */
static inline int64_t fovea_own_of(const fovea_row_terms *terms, const fovea_tile *t, int lane) {
  return fovea_lane_place(t, lane).row + terms->by->entry->offset;
}

/* Distances `first` to `last`, from -shaw_distance to shaw.distance. */
typedef struct fovea_distances {
  int64_t first, last;
} fovea_distances;

/* The distances of keys at the positions `keys` from rows whose own keys are at first_own to last_own. */
static inline fovea_distances fovea_distances_of(const fovea_problem *problem, fovea_interval keys,
                                                 int64_t first_own, int64_t last_own) {
  const int64_t k = problem->shaw.distance;
  return (fovea_distances){fovea_clip(keys.begin - last_own, -k, k), fovea_clip(keys.end - 1 - first_own, -k, k)};
}

/* How many tables the rows of a kv head have, and the query head of each. */
static inline int64_t fovea_shaw_tables(const fovea_plan *plan) {
  return plan->problem.shaw.heads == 1 ? 1 : plan->group;
}
static inline int64_t fovea_shaw_head(const fovea_row_terms *terms, int64_t table) {
  return terms->by->kv_head * terms->by->group + table;
}

static inline int fovea_has_shaw_table(const fovea_row_terms *terms, const fovea_tile *t, int lane, int64_t table) {
  return fovea_shaw_tables(terms->plan) == 1 || fovea_lane_place(t, lane).head == fovea_shaw_head(terms, table);
}

/* The vector of a distance in the table of a query head. */
static inline const float *fovea_shaw_vector(const fovea_problem *problem, const float *table, int64_t dim,
                                             int64_t head, int64_t distance) {
  const int64_t first = problem->shaw.heads == 1 ? 0 : head * fovea_shaw_vectors(problem);
  return table + (first + problem->shaw.distance + distance) * dim;
}

/* The arrays of a block. */
enum {
  FOVEA_SHAW_SUMS,         /* of weights, by distances: [distance][row]; in decoding [row][FOVEA_BLOCK_KEYS] */
  FOVEA_SHAW_SUMS_OF_HEAD, /* with zeros for the rows of other heads */
  FOVEA_SHAW_HIDDEN,       /* [row][FOVEA_BLOCK_KEYS]: distances at which a row sees no key */
  FOVEA_SHAW_NUMBERS = FOVEA_SHAW_SUMS_OF_HEAD /* in decoding: what is added to products */
};

/* What keys add to the products of a tile's rows, by distances, shaw_keys.h. */
static inline float *fovea_shaw_products(const fovea_row_terms *terms, const fovea_tile *t) {
  return fovea_tile_array(terms->plan, &t->memory, FOVEA_SCRATCH_SHAW);
}

static inline float *fovea_shaw_array(const fovea_row_terms *terms, int array) {
  return terms->shaw_room + (uint64_t)array * fovea_shaw_floats((uint64_t)terms->plan->kernels->row_tile);
}

#endif
