/* The table of an instruction set. Included at the end of bodies.h or of a table of pairs, and once more for each
 * other table of the same functions.
 *
 *   FOVEA_TABLE             the suffix of the table's symbol; FOVEA_ISA if it is not defined
 *   FOVEA_SET               the name of the instruction set; FOVEA_ISA if it is not defined
 *   FOVEA_BASE              if the table only adds pairs (pairs.h) or a mode (int8.h): the set whose operations it
 *                           shares
 *   FOVEA_BLOCK_TILES       row tiles that share one pass over the keys
 *   FOVEA_DECODE_ROWS       tiles of up to this many rows are decoded (decode.h)
 *   FOVEA_VALUE_FETCH_ROWS  as in value.h
 *   FOVEA_PANEL_ALWAYS      1 if row tiles are so narrow that a copy of V pays for any layout */

#include "../kernels.h"
#include "panel.h"
#include "tile.h"

#ifndef FOVEA_BASE
#define FOVEA_OPERATION FOVEA_NAME
#else /* operations of another translation unit */
#define FOVEA_OPERATION(op) FOVEA_JOIN(op, FOVEA_BASE)

void FOVEA_OPERATION(load_rows)(const fovea_load_args *args);
void FOVEA_OPERATION(widen)(const fovea_widen_args *args);
void FOVEA_OPERATION(score)(const fovea_score_args *args);
void FOVEA_OPERATION(scan_mask)(const fovea_mask_tile *mask, int vectors, fovea_mask_pieces *pieces);
void FOVEA_OPERATION(adjust)(const fovea_adjust_args *args);
void FOVEA_OPERATION(keep_scores)(const fovea_keep_args *args);
void FOVEA_OPERATION(column_add)(const fovea_column_args *args);
void FOVEA_OPERATION(column_fold)(float *sums, float *total);
void FOVEA_OPERATION(column_add_tile)(const fovea_column_tile_args *args);
void FOVEA_OPERATION(column_fold_tile)(float *sums, float *total);
void FOVEA_OPERATION(top_filter)(const fovea_top_filter_args *args);
void FOVEA_OPERATION(top_select)(fovea_top_list *list, int k);
void FOVEA_OPERATION(top_finish)(const fovea_top_finish_args *args);
void FOVEA_OPERATION(spread)(const fovea_spread_args *args);
int FOVEA_OPERATION(softmax)(const fovea_softmax_args *args);
int FOVEA_OPERATION(normalise)(const fovea_softmax_args *args);
void FOVEA_OPERATION(shaw_sums)(const fovea_shaw_sums_args *args);
void FOVEA_OPERATION(pack_values)(const fovea_pack_args *args);
void FOVEA_OPERATION(value)(const fovea_value_args *args);
void FOVEA_OPERATION(value_careful)(const fovea_value_args *args);
int FOVEA_OPERATION(all_finite)(const float *values, int64_t stride, int64_t rows, int64_t dim);
void FOVEA_OPERATION(merge)(const fovea_merge_args *args);
void FOVEA_OPERATION(store)(const fovea_store_args *args);
void FOVEA_OPERATION(rotate)(const fovea_rotate_args *args);
void FOVEA_OPERATION(convert)(const fovea_convert_args *args);
void FOVEA_OPERATION(decode_score)(const fovea_decode_score_args *args);
void FOVEA_OPERATION(decode_adjust)(const fovea_decode_adjust_args *args);
int FOVEA_OPERATION(decode_softmax)(const fovea_decode_softmax_args *args);
int FOVEA_OPERATION(decode_normalise)(const fovea_decode_softmax_args *args);
void FOVEA_OPERATION(decode_spread)(const fovea_spread_args *args);
void FOVEA_OPERATION(decode_value)(const fovea_decode_value_args *args);
void FOVEA_OPERATION(widen_panel)(const fovea_widen_panel_args *args);
void FOVEA_OPERATION(widen_codes)(const fovea_widen_codes_args *args);
void FOVEA_OPERATION(narrow_codes)(const fovea_narrow_args *args);
void FOVEA_OPERATION(hadamard)(const fovea_hadamard_args *args);
void FOVEA_OPERATION(gather)(const fovea_gather_args *args);
#ifndef INT8_INSTRUCTION
extern const fovea_arithmetic FOVEA_OPERATION(int8);
#endif
#ifndef FOVEA_PAIR_INSTRUCTION
extern const fovea_arithmetic FOVEA_OPERATION(bf16);
#endif
#endif

#ifndef FOVEA_TABLE
#define FOVEA_TABLE FOVEA_ISA
#endif
#ifndef FOVEA_SET
#define FOVEA_SET FOVEA_ISA
#endif
#define TABLE_LEAST(a, b) ((a) < (b) ? (a) : (b))
#define FOVEA_TEXT_(x)    #x
#define FOVEA_TEXT(x)     FOVEA_TEXT_(x)

const fovea_kernels FOVEA_JOIN(kernels, FOVEA_TABLE) = {
    .name = FOVEA_TEXT(FOVEA_SET),
    .lanes = LANES,
    .row_tile = ROW_TILE,
    .block_tiles = FOVEA_BLOCK_TILES,
    .value_fetch_rows = FOVEA_VALUE_FETCH_ROWS,
    .panel_dims = FOVEA_PANEL_DIMS,
    .panel_always = FOVEA_PANEL_ALWAYS,
#ifdef FOVEA_PAIR_TYPE
    .pair_type = FOVEA_PAIR_TYPE,
    .pairs_hold = FOVEA_NAME(pairs_hold),
    .load_pairs = FOVEA_NAME(load_pairs),
    .pairs_safe = FOVEA_NAME(pairs_safe),
    .score_pairs = FOVEA_NAME(score_pairs),
#endif
    .load_rows = FOVEA_OPERATION(load_rows),
    .widen = FOVEA_OPERATION(widen),
    .score = FOVEA_OPERATION(score),
    .scan_mask = FOVEA_OPERATION(scan_mask),
    .adjust = FOVEA_OPERATION(adjust),
    .keep_scores = FOVEA_OPERATION(keep_scores),
    .column_add = FOVEA_OPERATION(column_add),
    .column_fold = FOVEA_OPERATION(column_fold),
    .column_add_tile = FOVEA_OPERATION(column_add_tile),
    .column_fold_tile = FOVEA_OPERATION(column_fold_tile),
    .top_filter = FOVEA_OPERATION(top_filter),
    .top_select = FOVEA_OPERATION(top_select),
    .top_finish = FOVEA_OPERATION(top_finish),
    .spread = FOVEA_OPERATION(spread),
    .softmax = FOVEA_OPERATION(softmax),
    .normalise = FOVEA_OPERATION(normalise),
    .shaw_sums = FOVEA_OPERATION(shaw_sums),
    .pack_values = FOVEA_OPERATION(pack_values),
    .value = FOVEA_OPERATION(value),
    .value_careful = FOVEA_OPERATION(value_careful),
    .all_finite = FOVEA_OPERATION(all_finite),
    .merge = FOVEA_OPERATION(merge),
    .store = FOVEA_OPERATION(store),
    .rotate = FOVEA_OPERATION(rotate),
    .convert = FOVEA_OPERATION(convert),
    .decode_rows = TABLE_LEAST(ROW_TILE, FOVEA_DECODE_ROWS),
    .decode_panel_rows = TABLE_LEAST(ROW_TILE, FOVEA_DECODE_ROWS_LIMIT),
    .decode_score = FOVEA_OPERATION(decode_score),
    .decode_adjust = FOVEA_OPERATION(decode_adjust),
    .decode_softmax = FOVEA_OPERATION(decode_softmax),
    .decode_normalise = FOVEA_OPERATION(decode_normalise),
    .decode_spread = FOVEA_OPERATION(decode_spread),
    .decode_value = FOVEA_OPERATION(decode_value),
    .widen_panel = FOVEA_OPERATION(widen_panel),
    .widen_codes = FOVEA_OPERATION(widen_codes),
    .narrow_codes = FOVEA_OPERATION(narrow_codes),
    .hadamard = FOVEA_OPERATION(hadamard),
    .gather = FOVEA_OPERATION(gather),
#ifdef INT8_INSTRUCTION
    .int8 = &FOVEA_NAME(int8),
#else
    .int8 = &FOVEA_OPERATION(int8),
#endif
#ifdef FOVEA_PAIR_INSTRUCTION
    .bf16 = &FOVEA_NAME(bf16),
#else
    .bf16 = &FOVEA_OPERATION(bf16),
#endif
};
