/* Performer attention: a call that was checked, and the parts of its work. */
#ifndef FOVEA_NN_VARIANTS_PERFORMER_H
#define FOVEA_NN_VARIANTS_PERFORMER_H

#include "../../arch/nn_kernels.h"
#include "../layer_scratch.h"

#include <fovea/performer.h>

/* Rows whose features are computed together, and features of keys that lie in a cache together. */
enum { FOVEA_NN_MAP_ROWS = FOVEA_BLOCK_KEYS, FOVEA_NN_KEY_FEATURES = 96 };

/* How rows become features. */
typedef struct fovea_nn_feature_map {
  const fovea_nn_kernels *kernels;
  const float *projection;
  int64_t stride, dim, features;
  int64_t row_stride;     /* of a row in scratch, of `dim` numbers: whole vectors */
  int64_t feature_stride; /* of a row of `features` numbers; rows apart lie in different sets of a cache */
  int64_t pieces, groups; /* of the dims, and of the features: FOVEA_DOT_PIECE and FOVEA_NN_OUTS each */
  int relu, stabilised;
  float scale, eps, ratio;
  const float *panels; /* the projection in panels: [group][piece][panel] */
} fovea_nn_feature_map;

/* A call, read and checked. */
typedef struct fovea_nn_performer_call {
  fovea_nn_performer performer;
  fovea_nn_performer_tensors tensors;
  fovea_nn_performer_rows rows;
  fovea_execution execution;
  fovea_nn_feature_map map;
} fovea_nn_performer_call;

fovea_status fovea_nn_check_performer(const fovea_nn_performer *performer,
                                      const fovea_nn_performer_tensors *tensors, const fovea_execution *execution,
                                      fovea_nn_performer_call *call, fovea_error *error);
fovea_status fovea_nn_check_performer_rows(const fovea_nn_performer *performer, const fovea_nn_performer_rows *rows,
                                           const fovea_execution *execution, fovea_nn_performer_call *call,
                                           fovea_error *error);

/* ---- Features (features.c) ---------------------------------------------------------------------------------- */

/* Rows of a tensor. */
typedef struct fovea_nn_source {
  const void *rows;
  fovea_type type;
  int64_t stride;
} fovea_nn_source;

/* Scratch of a worker for the features of some rows. Sizes are in floats. */
typedef struct fovea_nn_map_memory {
  float *x;        /* (FOVEA_NN_MAP_ROWS, row_stride) */
  float *halves;   /* FOVEA_NN_MAP_ROWS, also maxima */
  float *maxima;   /* of the rows; before features of keys are computed, the maximum of all keys */
  float *products; /* (FOVEA_NN_MAP_ROWS, FOVEA_NN_OUTS); if stabilised, one for every group */
  float *panels;   /* of keys: [group of keys][piece][panel] */
} fovea_nn_map_memory;

/* Reserves this memory, with or without panels of keys, and lays it out in floats from `memory` on. */
uint64_t fovea_nn_map_numbers(const fovea_nn_feature_map *map, int with_panels);
fovea_nn_map_memory fovea_nn_map_memory_at(const fovea_nn_feature_map *map, float *memory);

/* Floats of the projection in panels; makes the panels of one group. */
uint64_t fovea_nn_map_panel_numbers(const fovea_nn_feature_map *map);
void fovea_nn_map_pack(const fovea_nn_feature_map *map, int64_t group, float *panels);

/* The largest product of up to FOVEA_NN_MAP_ROWS rows with the projection; -Inf if there is none but NaN. */
float fovea_nn_map_maximum(const fovea_nn_feature_map *map, const fovea_nn_source *source, int rows,
                           const fovea_nn_map_memory *memory);

/* Features of up to FOVEA_NN_MAP_ROWS rows, as rows: y[row][feature]. With a stabiliser each row has its own, or,
 * if key_maximum is not NULL, that number. */
void fovea_nn_map_rows(const fovea_nn_feature_map *map, const fovea_nn_source *source, int rows,
                       const float *key_maximum, const fovea_nn_map_memory *memory, float *y);

/* Features of up to FOVEA_BLOCK_KEYS keys, as columns: fovea_nn_map_keys() reads the keys, and then
 * fovea_nn_map_columns() makes y[feature][FOVEA_BLOCK_KEYS] of up to FOVEA_NN_KEY_FEATURES features. */
void fovea_nn_map_keys(const fovea_nn_feature_map *map, const fovea_nn_source *source, int keys, float maximum,
                       const fovea_nn_map_memory *memory);
void fovea_nn_map_columns(const fovea_nn_feature_map *map, int keys, int64_t first, int count,
                          const fovea_nn_map_memory *memory, float *y);

/* Copies up to FOVEA_BLOCK_KEYS values into panels [panel][key][column]; columns that do not exist are zeros. */
void fovea_nn_performer_values(const fovea_nn_kernels *kernels, const fovea_nn_source *source, int keys,
                               int64_t first_column, int64_t columns, float *panels);

/* ---- Sums --------------------------------------------------------------------------------------------------- */

/* Keys that a batch element has. */
static inline int64_t fovea_nn_performer_keys(const fovea_nn_performer_tensors *t, int64_t entry) {
  return t->kv_lens ? t->kv_lens[entry] : t->kv_len;
}

static inline int64_t fovea_nn_ceil(int64_t size, int64_t step) {
  return size / step + (size % step > 0);
}

/* Runs a causal call (performer_causal.c). A worker's memory is `worker_numbers` floats. */
typedef struct fovea_nn_causal {
  const fovea_nn_performer_call *call;
  float *memory;
  uint64_t worker_numbers;
  int64_t columns; /* of a task: a multiple of FOVEA_NN_PANEL, or all */
} fovea_nn_causal;

/* Columns of v that a task takes, so that there is a task for each worker. */
int64_t fovea_nn_causal_columns(const fovea_nn_performer_call *call, int workers);
uint64_t fovea_nn_causal_numbers(const fovea_nn_performer_call *call, int64_t columns);
int64_t fovea_nn_causal_tasks(const fovea_nn_causal *causal);
/* `data` is a fovea_nn_causal. */
void fovea_nn_causal_task(const void *data, int64_t number, int worker);

#endif
