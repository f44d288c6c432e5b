/* The operands of a tile and a block with rows in the lanes: queries, keys and values in the form in which they are
 * multiplied, read where the caller has them or copied to scratch. Nothing here changes results. */
#ifndef FOVEA_SRC_RUN_OPERANDS_H
#define FOVEA_SRC_RUN_OPERANDS_H

#include "fetch.h"

/* Queries and keys in a form that both have, and the product for it. */
typedef struct fovea_score_operands {
  void (*score)(const fovea_score_args *args);
  const float *queries;
  const char *keys;              /* the block's first */
  int64_t key_stride, key_bytes; /* 0: the block's keys are one operand of another arithmetic */
} fovea_score_operands;

struct fovea_operand_maker;

/* How the scores' half of a problem takes queries and keys: in exact mode, or by an arithmetic. */
typedef struct fovea_score_half {
  /* Makes operands of queries that were converted to f32. */
  void (*load_queries)(const struct fovea_operand_maker *maker, fovea_tile *t);
  /* Sets where the block's keys are read: `run` holds the first key that the task meets. */
  void (*place_keys)(const struct fovea_operand_maker *maker, const fovea_row_run *run, fovea_block_rows *block,
                     fovea_fetch_list *fetch);
  /* The operands of queries and keys in f32. */
  fovea_score_operands (*operands)(const struct fovea_operand_maker *maker, const fovea_block_rows *block,
                                   const fovea_tile *t);
} fovea_score_half;

/* The same for the values' half. */
typedef struct fovea_value_half {
  void (*place_values)(const struct fovea_operand_maker *maker, const fovea_row_run *run, fovea_block_rows *block,
                       fovea_fetch_list *fetch);
} fovea_value_half;

/* What makes operands of the rows of a task. */
typedef struct fovea_operand_maker {
  const fovea_plan *plan;
  const fovea_row_source *keys, *values;
  const fovea_channel_scales *channels;
  const fovea_row_scales *scales;
  const fovea_block_memory *memory;
  const fovea_score_half *score_half;
  const fovea_value_half *value_half;
} fovea_operand_maker;

extern const fovea_score_half fovea_exact_scores;
extern const fovea_value_half fovea_exact_values;

/* Loads the queries of a tile: as pairs if the plan has them and every element is for them, else as f32. */
void fovea_load_tile_queries(const fovea_operand_maker *maker, fovea_tile *t);

/* Loads them as f32, too. */
void fovea_widen_queries(const fovea_operand_maker *maker, fovea_tile *t);

/* The operands of a tile and a block. The first tile of a block also sets where its keys and values are read: where
 * they lie, or in scratch if they are not f32 or lie badly and enough tiles share the copy. Queries and keys are
 * converted to f32 if they have no common form. */
fovea_score_operands fovea_operands_of(const fovea_operand_maker *maker, fovea_block_rows *block, fovea_tile *t,
                                       fovea_fetch *fetch);

/* Whether the values of the block's keys that the task meets hold neither NaN nor Inf. Looked at once a block. */
int fovea_values_are_finite(const fovea_plan *plan, fovea_block_rows *block);

#endif
