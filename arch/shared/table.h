/* The table of an instruction set. Included after the bodies of the core, or of a table of pairs or of a mode, and
 * once more for each other table of the same functions. Operations of a group lie in the group's translation unit;
 * pointers of a group that is not in the build are NULL.
 *
 *   FOVEA_TABLE             the suffix of the table's symbol; FOVEA_ISA if it is not defined
 *   FOVEA_SET               the name of the instruction set; FOVEA_ISA if it is not defined
 *   FOVEA_BASE              if the table only adds pairs (pairs.h) or a mode (int8.h): the set that it adds to
 *   FOVEA_BLOCK_TILES       row tiles that share one pass over the keys
 *   FOVEA_DECODE_ROWS       tiles of up to this many rows are decoded (decode.h)
 *   FOVEA_VALUE_FETCH_ROWS  as in value.h
 *   FOVEA_PACE              multiply-adds of a microsecond (fovea_kernels)
 *   FOVEA_PANEL_TILES       how many tiles must share a copy of V for it to pay for any layout; 0: no number does */

#include "../kernels.h"
#include "panel.h"
#include "tile.h"

#ifndef FOVEA_BASE
#define FOVEA_OPERATION FOVEA_NAME
#else
#define FOVEA_OPERATION(op) FOVEA_JOIN(op, FOVEA_BASE)
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

/* The operations, each with its group. */
/* clang-format off */
#define FOVEA_OPERATIONS(OPERATION) \
  OPERATION(CORE, void, load_rows, const fovea_load_args *args) \
  OPERATION(CORE, void, widen, const fovea_widen_args *args) \
  OPERATION(CORE, void, score, const fovea_score_args *args) \
  OPERATION(CORE, void, scan_mask, const fovea_mask_tile *mask, int vectors, fovea_mask_pieces *pieces) \
  OPERATION(CORE, void, adjust, const fovea_adjust_args *args) \
  OPERATION(CORE, int, softmax, const fovea_softmax_args *args) \
  OPERATION(CORE, void, pack_values, const fovea_pack_args *args) \
  OPERATION(CORE, void, value, const fovea_value_args *args) \
  OPERATION(CORE, void, value_careful, const fovea_value_args *args) \
  OPERATION(CORE, int, all_finite, const float *values, int64_t stride, int64_t rows, int64_t dim) \
  OPERATION(CORE, void, merge, const fovea_merge_args *args) \
  OPERATION(CORE, void, store, const fovea_store_args *args) \
  OPERATION(CORE, void, rotate, const fovea_rotate_args *args) \
  OPERATION(CORE, void, convert, const fovea_convert_args *args) \
  OPERATION(CORE, void, widen_panel, const fovea_widen_panel_args *args) \
  OPERATION(DECODE, void, decode_score, const fovea_decode_score_args *args) \
  OPERATION(DECODE, void, decode_adjust, const fovea_decode_adjust_args *args) \
  OPERATION(DECODE, int, decode_softmax, const fovea_decode_softmax_args *args) \
  OPERATION(DECODE, void, decode_value, const fovea_decode_value_args *args) \
  OPERATION(FORMATS, void, widen_codes, const fovea_widen_codes_args *args) \
  OPERATION(FORMATS, void, narrow_codes, const fovea_narrow_args *args) \
  OPERATION(FORMATS, void, hadamard, const fovea_hadamard_args *args) \
  OPERATION(LISTS, void, gather, const fovea_gather_args *args) \
  OPERATION(OUTPUTS, void, keep_scores, const fovea_keep_args *args) \
  OPERATION(OUTPUTS, void, column_add, const fovea_column_args *args) \
  OPERATION(OUTPUTS, void, column_fold, float *sums, float *total) \
  OPERATION(OUTPUTS, void, column_add_tile, const fovea_column_tile_args *args) \
  OPERATION(OUTPUTS, void, column_fold_tile, float *sums, float *total) \
  OPERATION(OUTPUTS, void, top_filter, const fovea_top_filter_args *args) \
  OPERATION(OUTPUTS, void, top_select, fovea_top_list *list, int k) \
  OPERATION(OUTPUTS, void, top_finish, const fovea_top_finish_args *args) \
  OPERATION(OUTPUTS, void, spread, const fovea_spread_args *args) \
  OPERATION(OUTPUTS, void, decode_spread, const fovea_spread_args *args) \
  OPERATION(TERMS, int, normalise, const fovea_softmax_args *args) \
  OPERATION(TERMS, void, shaw_sums, const fovea_shaw_sums_args *args) \
  OPERATION(TERMS, int, decode_normalise, const fovea_decode_softmax_args *args)
/* clang-format on */

/* Declares the functions of other translation units: gcc warns of a declaration after a definition with attributes
 * of its own. */
#ifdef FOVEA_BASE
#define TABLE_DECLARE_CORE(...) __VA_ARGS__
#else
#define TABLE_DECLARE_CORE(...)
#endif
#ifdef FOVEA_ONE_UNIT
#define TABLE_DECLARE_OTHER(...)
#else
#define TABLE_DECLARE_OTHER(...) __VA_ARGS__
#endif
#define TABLE_DECLARE_DECODE(...)           TABLE_DECLARE_OTHER(__VA_ARGS__)
#define TABLE_DECLARE_FORMATS(...)          TABLE_DECLARE_OTHER(__VA_ARGS__)
#define TABLE_DECLARE_LISTS(...)            TABLE_DECLARE_OTHER(__VA_ARGS__)
#define TABLE_DECLARE_OUTPUTS(...)          TABLE_DECLARE_OTHER(__VA_ARGS__)
#define TABLE_DECLARE_TERMS(...)            TABLE_DECLARE_OTHER(__VA_ARGS__)
#define TABLE_DECLARE(GROUP, type, op, ...) TABLE_DECLARE_##GROUP(type FOVEA_OPERATION(op)(__VA_ARGS__);)
FOVEA_OPERATIONS(TABLE_DECLARE)

/* A table with instructions of its own for a mode has the mode's arithmetic, too. */
#ifdef INT8_INSTRUCTION
#define TABLE_INT8 FOVEA_NAME(int8)
#else
#define TABLE_INT8 FOVEA_OPERATION(int8)
#endif
#ifdef FOVEA_PAIR_INSTRUCTION
#define TABLE_BF16 FOVEA_NAME(bf16)
#else
#define TABLE_BF16 FOVEA_OPERATION(bf16)
#endif
extern const fovea_arithmetic TABLE_INT8, TABLE_BF16;

#define TABLE_FILL(GROUP, type, op, ...) FOVEA_WITH(GROUP, .op = FOVEA_OPERATION(op), )

const fovea_kernels FOVEA_JOIN(kernels, FOVEA_TABLE) = {
    .name = FOVEA_TEXT(FOVEA_SET),
    .lanes = LANES,
    .pace = FOVEA_PACE,
    .row_tile = ROW_TILE,
    .block_tiles = FOVEA_BLOCK_TILES,
    .value_fetch_rows = FOVEA_VALUE_FETCH_ROWS,
    .panel_dims = FOVEA_PANEL_DIMS,
    .panel_tiles = FOVEA_PANEL_TILES,
#ifdef FOVEA_PAIR_TYPE
    .pair_type = FOVEA_PAIR_TYPE,
    .pairs_hold = FOVEA_NAME(pairs_hold),
    .load_pairs = FOVEA_NAME(load_pairs),
    .pairs_safe = FOVEA_NAME(pairs_safe),
    .score_pairs = FOVEA_NAME(score_pairs),
#endif
    /* clang-format off */
    FOVEA_WITH(DECODE, .decode_rows = TABLE_LEAST(ROW_TILE, FOVEA_DECODE_ROWS), )
    FOVEA_WITH(DECODE, .decode_panel_rows = TABLE_LEAST(ROW_TILE, FOVEA_DECODE_ROWS_LIMIT), )
    FOVEA_WITH(INT8, .int8 = &TABLE_INT8, )
    FOVEA_WITH(BF16, .bf16 = &TABLE_BF16, )
    FOVEA_OPERATIONS(TABLE_FILL)
    /* clang-format on */
};
#undef TABLE_FILL
