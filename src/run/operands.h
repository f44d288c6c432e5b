/* The operands of a tile and a block: queries, keys and values in the form in which they are multiplied, read where
 * the caller has them or copied to scratch. Nothing here can be seen in results. */
#ifndef FOVEA_SRC_RUN_OPERANDS_H
#define FOVEA_SRC_RUN_OPERANDS_H

#include "fetch.h"
#include "rows.h"

/* Loads the queries of a tile: as pairs if the plan has them and every element is for them, else as f32. */
void fovea_load_queries(fovea_task_context *context, fovea_tile *t);

/* Loads them as f32, too. */
void fovea_widen_queries(const fovea_task_context *context, fovea_tile *t);

/* Queries and keys in a form that both have, and the product for it. */
typedef struct fovea_score_operands {
  void (*score)(const fovea_score_args *args);
  const float *queries;
  const char *keys;              /* the block's first */
  int64_t key_stride, key_bytes; /* 0: the block's keys are one operand of another arithmetic */
} fovea_score_operands;

/* Those of the tile and the block at work. The first tile of a block also sets where its keys and values are read:
 * where they lie, or in scratch if they are not f32 or lie badly and enough tiles share the copy. Queries and keys
 * are widened if they have no common form. */
fovea_score_operands fovea_operands_of(fovea_task_context *context, fovea_tile *t, fovea_fetch *fetch);

/* Whether the values of the block's keys that the task meets hold neither NaN nor Inf. Looked at once a block. */
int fovea_block_is_finite(fovea_task_context *context);

/* Sets context->block.values, if another arithmetic has read the values as they lie. */
void fovea_widen_values(fovea_task_context *context);

/* The keys of the block at `base` that the task meets, counted from the block's first. */
fovea_interval fovea_met_keys(const fovea_task_context *context, int64_t base);

/* Copies those as f32, fovea_copied_stride() apart, the block's first key at `to`. */
void fovea_widen_rows(const fovea_task_context *context, fovea_find_run *find, int64_t dim, int64_t base,
                      float *to);

#endif
