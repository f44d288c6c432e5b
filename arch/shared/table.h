/* The table of one instruction set. Included once by arch/<isa>/table.c, after the vector layer and tiles.h.
 *
 *   FOVEA_FEATURES      FOVEA_CPU_* bits without which the table must not run
 *   FOVEA_BLOCK_TILES   row tiles that share one pass over the keys
 *   FOVEA_PANEL_ALWAYS  1 where a row tile is so narrow that a copy of V pays for any layout */

#include "../kernels.h"
#include "panel.h"

void FOVEA_NAME(load_queries)(const fovea_load_args *args);
void FOVEA_NAME(widen)(const fovea_widen_args *args);
void FOVEA_NAME(score)(const fovea_score_args *args);
void FOVEA_NAME(scan_mask)(const fovea_mask_tile *mask, int vectors, fovea_mask_pieces *pieces);
void FOVEA_NAME(adjust)(const fovea_adjust_args *args);
int FOVEA_NAME(softmax)(const fovea_softmax_args *args);
void FOVEA_NAME(pack_values)(const fovea_pack_args *args);
void FOVEA_NAME(value)(const fovea_value_args *args);
void FOVEA_NAME(value_careful)(const fovea_value_args *args);
int FOVEA_NAME(all_finite)(const float *values, int64_t stride, int64_t rows, int64_t dim);
void FOVEA_NAME(merge)(const fovea_merge_args *args);
void FOVEA_NAME(store)(const fovea_store_args *args);

#define FOVEA_TEXT_(x) #x
#define FOVEA_TEXT(x)  FOVEA_TEXT_(x)

const fovea_kernels FOVEA_NAME(kernels) = {
    .name = FOVEA_TEXT(FOVEA_ISA),
    .features = FOVEA_FEATURES,
    .lanes = LANES,
    .row_tile = FOVEA_TILE_VECTORS * LANES,
    .block_tiles = FOVEA_BLOCK_TILES,
    .panel_dims = FOVEA_PANEL_DIMS,
    .panel_always = FOVEA_PANEL_ALWAYS,
    .load_queries = FOVEA_NAME(load_queries),
    .widen = FOVEA_NAME(widen),
    .score = FOVEA_NAME(score),
    .scan_mask = FOVEA_NAME(scan_mask),
    .adjust = FOVEA_NAME(adjust),
    .softmax = FOVEA_NAME(softmax),
    .pack_values = FOVEA_NAME(pack_values),
    .value = FOVEA_NAME(value),
    .value_careful = FOVEA_NAME(value_careful),
    .all_finite = FOVEA_NAME(all_finite),
    .merge = FOVEA_NAME(merge),
    .store = FOVEA_NAME(store),
};
