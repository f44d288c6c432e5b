/* Position terms and scales of rows, evaluated for one tile and one block. Numbers are copied from the caller's
 * tables to scratch, where kernels find what they add to each score; only what a table and a block hold is ever
 * there. */
#ifndef FOVEA_SRC_RUN_POSITIONS_H
#define FOVEA_SRC_RUN_POSITIONS_H

#include "task.h"

/* The terms of a tile in one block. It points into itself and must not be copied. */
typedef struct fovea_position_block {
  int present; /* 0: rows have no terms of their own; only `hides` is set */
  int hides;   /* a term may hide a key: it adds -Inf */
  fovea_interval keys;
  fovea_tile_terms terms;
  float scales[FOVEA_ROW_TILE_LIMIT];
  float slopes[FOVEA_POSITION_TERMS_LIMIT][FOVEA_ROW_TILE_LIMIT];
  /* What terms and mask hide, for values that are not finite. */
  fovea_mask_tile hidden;
  const void *hidden_rows[FOVEA_ROW_TILE_LIMIT];
} fovea_position_block;

/* Evaluates the terms for the keys `keys` of the block at `base`, counted from its first. */
void fovea_read_positions(const fovea_row_terms *terms, const fovea_tile *t, int64_t base, fovea_interval keys,
                          fovea_position_block *block);

/* Sets the rows' scales, for scores of these terms. */
void fovea_read_scales(const fovea_row_terms *tables, const fovea_tile *t, const fovea_score_terms *terms,
                       fovea_position_block *block);

/* Whether a term adds -Inf to a score, so that the row does not see the key. */
int fovea_positions_hide(const fovea_score_layout *layout, const fovea_position_block *block, int row, int key);

/* Whether a row of the tile sees a key of the block by all that hides keys. */
int fovea_row_sees_with(const fovea_tile *t, const fovea_visible_block *visible, const fovea_position_block *block,
                        int row, int key);

/* Hides keys again: a term that follows the one that hides a key, or the mask, may have made NaN of its -Inf. The
 * maxima need nothing: they pass over NaN. */
void fovea_hide_again(const fovea_tile *t, const fovea_visible_block *visible, const fovea_position_block *block);

/* Sets `hidden`: -Inf where a term or the mask hides a key from a row, else 0. */
void fovea_hide_by_positions(const fovea_row_terms *terms, const fovea_tile *t, const fovea_visible_block *visible,
                             fovea_position_block *block);

#endif
