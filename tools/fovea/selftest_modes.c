/* The table of `fovea selftest`: scores, values or both in bf16 or int8. Sizes are on both sides of what modes have
 * of their own: groups of 32 dims and keys in bf16, of 2, 4 or 8 codes in int8; tiles of 16 rows; weights and
 * numbers that are too small. */
#include "selftest_problems.h"

/* clang-format off */
#define LIST(...)       (const int64_t[]){__VA_ARGS__}
#define CUMULATIVE(...) (const int32_t[]){__VA_ARGS__}
#define F32             FOVEA_F32
#define F16             FOVEA_F16
#define BF16            FOVEA_BF16
#define BOTH            .score_mode = FOVEA_MODE_BF16, .value_mode = FOVEA_MODE_BF16
#define ONLY_SCORES     .score_mode = FOVEA_MODE_BF16
#define ONLY_VALUES     .value_mode = FOVEA_MODE_BF16
#define CODES           .score_mode = FOVEA_MODE_INT8, .value_mode = FOVEA_MODE_INT8
#define CODES_BF16      .score_mode = FOVEA_MODE_INT8, .value_mode = FOVEA_MODE_BF16
#define BF16_CODES      .score_mode = FOVEA_MODE_BF16, .value_mode = FOVEA_MODE_INT8
#define SCORES_IN_CODES .score_mode = FOVEA_MODE_INT8
#define VALUES_IN_CODES .value_mode = FOVEA_MODE_INT8
#define VECTORS(centre, of_keys, of_values)                                                                        \
  .key_centre = FOVEA_CHANNELS_##centre, .key_scale = FOVEA_CHANNELS_##of_keys,                                      \
  .value_scale = FOVEA_CHANNELS_##of_values
/* clang-format on */

static const fovea_rule near = {.kind = FOVEA_RULE_WINDOW, .before = 20, .after = 3, .step = 1},
                        first = {.kind = FOVEA_RULE_GLOBAL, .numbers = LIST(0, 40), .count = 2},
                        sparse = {.kind = FOVEA_RULE_OR, .left = &near, .right = &first};
static const fovea_position_term alibi = {FOVEA_POSITION_ALIBI, .head = 1},
                                 t5 = {FOVEA_POSITION_T5, .head = 1, .place = 4, .buckets = 16,
                                       .max_distance = 100};

static const selftest_problem problems[] = {
    {"bf16_mode_one_of_everything", .shape = {1, 1, 1, 1, 1, 1, 1}, .features = {BOTH}},
    {"bf16_mode_group_less_one", .shape = {1, 2, 2, 15, 31, 31, 31}, .features = {BOTH}},
    {"bf16_mode_group", .shape = {1, 2, 1, 16, 32, 32, 32}, .features = {BOTH}},
    {"bf16_mode_group_and_one", .shape = {1, 2, 2, 17, 33, 33, 33}, .features = {BOTH}},
    {"bf16_mode_odd_dims", .shape = {1, 2, 1, 40, 150, 77, 19}, .features = {BOTH}},
    {"bf16_mode_dims_64", .shape = {1, 2, 2, 70, 200, 64, 64}, .features = {BOTH}},
    {"bf16_mode_dims_128", .shape = {1, 2, 1, 35, 260, 128, 128}, .features = {BOTH}},
    {"bf16_mode_long_dims", .shape = {1, 1, 1, 20, 130, 300, 257}, .features = {BOTH}},
    {"bf16_mode_block_less_one", .shape = {1, 1, 1, 9, 127, 24, 40}, .features = {BOTH}},
    {"bf16_mode_block_and_one", .shape = {1, 2, 2, 33, 129, 48, 48}, .features = {BOTH}},
    {"bf16_mode_over_spans", .shape = {1, 2, 1, 37, 4200, 16, 16}, .features = {BOTH}},
    {"bf16_mode_many_rows", .shape = {1, 4, 2, 150, 260, 32, 32}, .features = {BOTH}},
    {"bf16_mode_decode", .shape = {2, 4, 4, 1, 700, 64, 64}, .features = {BOTH}},
    {"bf16_mode_decode_grouped", .shape = {1, 16, 2, 1, 1000, 64, 64}, .features = {BOTH}},
    {"bf16_mode_decode_of_some_rows", .shape = {1, 6, 2, 4, 333, 40, 72}, .features = {BOTH}},
    {"bf16_mode_scores", .shape = {1, 4, 2, 70, 260, 64, 48}, .features = {ONLY_SCORES}},
    {"bf16_mode_scores_causal", .shape = {1, 2, 2, 150, 150, 33, 20}, .causal = true, .features = {ONLY_SCORES}},
    {"bf16_mode_scores_decode", .shape = {2, 8, 2, 1, 500, 128, 128}, .features = {ONLY_SCORES}},
    {"bf16_mode_values", .shape = {1, 4, 2, 70, 260, 64, 48}, .features = {ONLY_VALUES}},
    {"bf16_mode_values_causal", .shape = {1, 2, 2, 150, 150, 33, 20}, .causal = true, .features = {ONLY_VALUES}},
    {"bf16_mode_values_decode", .shape = {2, 8, 2, 1, 500, 128, 128}, .features = {ONLY_VALUES}},

    /* Rules, batches. */
    {"bf16_mode_causal", .shape = {1, 4, 1, 300, 300, 64, 64}, .causal = true, .features = {BOTH}},
    {"bf16_mode_causal_with_past", .shape = {1, 1, 1, 61, 389, 64, 64}, .causal = true, .features = {BOTH}},
    {"bf16_mode_window", .shape = {1, 2, 2, 150, 150, 32, 32}, .causal = true, .has_window = true,
     .window_left = 20, .features = {BOTH}},
    {"bf16_mode_chunks", .shape = {1, 1, 1, 200, 200, 16, 16}, .chunk_size = 16, .chunk_left = 32, .chunk_right = 8,
     .features = {BOTH}},
    {"bf16_mode_pattern", .shape = {1, 4, 2, 90, 120, 16, 16}, .features = {.rule = &sparse, BOTH}},
    {"bf16_mode_lengths", .shape = {4, 2, 1, 20, 140, 16, 16}, .q_lens = LIST(20, 7, 0, 19),
     .kv_lens = LIST(140, 129, 60, 0), .features = {BOTH}},
    {"bf16_mode_packed", .shape = {4, 4, 2, 118, 391, 16, 16}, .cu_seqlens_q = CUMULATIVE(0, 17, 17, 80, 118),
     .cu_seqlens_kv = CUMULATIVE(0, 140, 150, 300, 391), .features = {BOTH}},
    {"bf16_mode_transposed", .shape = {2, 4, 2, 50, 100, 40, 24}, .causal = true, .transposed = true,
     .features = {BOTH}},

    /* Types: what is bf16 already stays, the others are rounded. */
    {"bf16_mode_of_bf16", .shape = {1, 4, 2, 40, 150, 64, 64}, .types = {BF16, BF16, BF16, BF16},
     .features = {BOTH}},
    {"bf16_mode_of_f16", .shape = {1, 4, 2, 40, 150, 64, 64}, .types = {F16, F16, F16, F16}, .features = {BOTH}},
    {"bf16_mode_of_mixed", .shape = {1, 2, 1, 40, 150, 33, 31}, .types = {F32, BF16, F16, BF16},
     .features = {BOTH}},
    {"bf16_mode_scores_of_bf16_decode", .shape = {1, 8, 2, 1, 700, 128, 128}, .types = {BF16, BF16, BF16, BF16},
     .features = {ONLY_SCORES}},

    /* Scores: sharp ones have weights below 2^-56; terms, masks, softcap, sinks. */
    {"bf16_mode_sharp", .shape = {1, 1, 1, 30, 200, 32, 32}, .gain = 0x1p+6f, .features = {BOTH}},
    {"bf16_mode_flat", .shape = {1, 1, 1, 20, 200, 32, 32}, .gain = 0x1p-12f, .features = {BOTH}},
    {"bf16_mode_softcap", .shape = {1, 2, 2, 40, 150, 32, 32}, .softcap = 2.0, .features = {BOTH}},
    {"bf16_mode_sinks", .shape = {1, 8, 2, 20, 150, 16, 16}, .sink = FOVEA_SINK_PER_HEAD, .strange_sinks = true,
     .features = {BOTH}},
    {"bf16_mode_scales", .shape = {1, 4, 2, 40, 150, 16, 16}, .features = {.scales = FOVEA_SCALES_BOTH, BOTH}},
    {"bf16_mode_mask_holes", .shape = {1, 2, 2, 60, 140, 16, 16},
     .mask = {FOVEA_MASK_BOOL, SELFTEST_HOLES, 1, 2, 60, 140}, .features = {BOTH}},
    {"bf16_mode_mask_added", .shape = {1, 2, 2, 60, 140, 16, 16},
     .mask = {FOVEA_MASK_F32, SELFTEST_HOLES, 1, 1, 60, 130}, .softcap = 3.0, .features = {BOTH}},
    {"bf16_mode_mask_decode", .shape = {1, 8, 2, 1, 300, 64, 64},
     .mask = {FOVEA_MASK_BF16, SELFTEST_HOLES, 1, 1, 1, 300}, .features = {BOTH}},
    {"bf16_mode_terms", .shape = {1, 4, 2, 60, 90, 16, 16}, .mask = {FOVEA_MASK_F16, SELFTEST_HOLES, 1, 1, 60, 90},
     .features = {.terms = &t5, .term_count = 1, BOTH}},
    {"bf16_mode_alibi_decode", .shape = {2, 4, 1, 1, 300, 64, 64},
     .features = {.terms = &alibi, .term_count = 1, .term_gain = 0x1p-5f, BOTH}},

    /* Numbers below 2^-56 count as zero; keys that are not finite. */
    {"bf16_mode_tiny_values", .shape = {1, 2, 1, 30, 140, 16, 16}, .value_gain = 0x1p-56f, .features = {BOTH}},
    {"bf16_mode_subnormal", .shape = {1, 1, 1, 17, 140, 16, 16}, .content = {SELFTEST_SUBNORMAL, 0, 0},
     .features = {BOTH}},
    {"bf16_mode_zeros", .shape = {1, 3, 1, 11, 37, 16, 16}, .content = {SELFTEST_ZEROS, 0, 0}, .features = {BOTH}},
    {"bf16_mode_minus_infinity", .shape = {1, 2, 2, 20, 150, 16, 16}, .content = {SELFTEST_MINUS_INFINITY, 30, 140},
     .features = {BOTH}},
    {"bf16_mode_garbage_after_the_end", .shape = {2, 2, 1, 21, 150, 24, 24}, .content = {SELFTEST_GARBAGE, 77, 150},
     .kv_lens = LIST(77, 5), .features = {BOTH}},
    {"bf16_mode_strange_mask", .shape = {1, 2, 2, 40, 150, 16, 16},
     .mask = {FOVEA_MASK_F32, SELFTEST_STRANGE, 1, 2, 40, 150}, .sink = FOVEA_SINK_ZERO, .features = {BOTH}},

    /* A value that is not finite reaches only the rows that see its key. */
    {"bf16_mode_garbage_some_rows_see", .shape = {1, 2, 2, 50, 180, 16, 16},
     .content = {SELFTEST_GARBAGE, 150, 153}, .causal = true, .features = {BOTH}},
    {"bf16_mode_strange_values", .shape = {1, 2, 2, 30, 150, 16, 24},
     .content = {SELFTEST_STRANGE_VALUES, 130, 134}, .causal = true, .features = {BOTH}},

    /* The same with codes, and codes beside bf16 and exact. */
    {"int8_mode_one_of_everything", .shape = {1, 1, 1, 1, 1, 1, 1}, .features = {CODES}},
    {"int8_mode_group_less_one", .shape = {1, 2, 2, 15, 31, 7, 7}, .features = {CODES}},
    {"int8_mode_group", .shape = {1, 2, 1, 16, 32, 8, 8}, .features = {CODES}},
    {"int8_mode_group_and_one", .shape = {1, 2, 2, 17, 33, 9, 9}, .features = {CODES}},
    {"int8_mode_odd_dims", .shape = {1, 2, 1, 40, 150, 77, 19}, .features = {CODES}},
    {"int8_mode_dims_64", .shape = {1, 2, 2, 70, 200, 64, 64}, .features = {CODES}},
    {"int8_mode_dims_128", .shape = {1, 2, 1, 35, 260, 128, 128}, .features = {CODES}},
    {"int8_mode_most_dims", .shape = {1, 1, 1, 17, 130, 1032, 257}, .features = {CODES}},
    {"int8_mode_block_less_one", .shape = {1, 1, 1, 9, 127, 24, 40}, .features = {CODES}},
    {"int8_mode_block_and_one", .shape = {1, 2, 2, 33, 129, 48, 48}, .features = {CODES}},
    {"int8_mode_over_spans", .shape = {1, 2, 1, 37, 4200, 16, 16}, .features = {CODES}},
    {"int8_mode_many_rows", .shape = {1, 4, 2, 150, 260, 32, 32}, .features = {CODES}},
    {"int8_mode_decode", .shape = {2, 4, 4, 1, 700, 64, 64}, .features = {CODES}},
    {"int8_mode_decode_grouped", .shape = {1, 16, 2, 1, 1000, 64, 64}, .features = {CODES}},
    {"int8_mode_decode_of_some_rows", .shape = {1, 6, 2, 4, 333, 40, 72}, .features = {CODES}},
    {"int8_mode_scores", .shape = {1, 4, 2, 70, 260, 64, 48}, .features = {SCORES_IN_CODES}},
    {"int8_mode_scores_causal", .shape = {1, 2, 2, 150, 150, 33, 20}, .causal = true,
     .features = {SCORES_IN_CODES}},
    {"int8_mode_scores_decode", .shape = {2, 8, 2, 1, 500, 128, 128}, .features = {SCORES_IN_CODES}},
    {"int8_mode_values", .shape = {1, 4, 2, 70, 260, 64, 48}, .features = {VALUES_IN_CODES}},
    {"int8_mode_values_causal", .shape = {1, 2, 2, 150, 150, 33, 20}, .causal = true,
     .features = {VALUES_IN_CODES}},
    {"int8_mode_values_decode", .shape = {2, 8, 2, 1, 500, 128, 128}, .features = {VALUES_IN_CODES}},
    {"int8_mode_scores_bf16_values", .shape = {1, 4, 2, 70, 260, 64, 48}, .features = {CODES_BF16}},
    {"int8_mode_scores_bf16_values_causal", .shape = {1, 2, 2, 150, 150, 33, 20}, .causal = true,
     .features = {CODES_BF16}},
    {"int8_mode_scores_bf16_values_decode", .shape = {2, 8, 2, 1, 500, 128, 128}, .features = {CODES_BF16}},
    {"int8_mode_values_bf16_scores", .shape = {1, 4, 2, 70, 260, 64, 48}, .features = {BF16_CODES}},
    {"int8_mode_values_bf16_scores_causal", .shape = {1, 2, 2, 150, 150, 33, 20}, .causal = true,
     .features = {BF16_CODES}},
    {"int8_mode_values_bf16_scores_decode", .shape = {2, 8, 2, 1, 500, 128, 128}, .features = {BF16_CODES}},

    /* Rules, batches. */
    {"int8_mode_causal", .shape = {1, 4, 1, 300, 300, 64, 64}, .causal = true, .features = {CODES}},
    {"int8_mode_causal_with_past", .shape = {1, 1, 1, 61, 389, 64, 64}, .causal = true, .features = {CODES}},
    {"int8_mode_window", .shape = {1, 2, 2, 150, 150, 32, 32}, .causal = true, .has_window = true,
     .window_left = 20, .features = {CODES}},
    {"int8_mode_chunks", .shape = {1, 1, 1, 200, 200, 16, 16}, .chunk_size = 16, .chunk_left = 32, .chunk_right = 8,
     .features = {CODES_BF16}},
    {"int8_mode_pattern", .shape = {1, 4, 2, 90, 120, 16, 16}, .features = {.rule = &sparse, CODES}},
    {"int8_mode_lengths", .shape = {4, 2, 1, 20, 140, 16, 16}, .q_lens = LIST(20, 7, 0, 19),
     .kv_lens = LIST(140, 129, 60, 0), .features = {CODES}},
    {"int8_mode_packed", .shape = {4, 4, 2, 118, 391, 16, 16}, .cu_seqlens_q = CUMULATIVE(0, 17, 17, 80, 118),
     .cu_seqlens_kv = CUMULATIVE(0, 140, 150, 300, 391), .features = {CODES}},
    {"int8_mode_transposed", .shape = {2, 4, 2, 50, 100, 40, 24}, .causal = true, .transposed = true,
     .features = {CODES}},

    /* Types. */
    {"int8_mode_of_bf16", .shape = {1, 4, 2, 40, 150, 64, 64}, .types = {BF16, BF16, BF16, BF16},
     .features = {CODES}},
    {"int8_mode_of_f16", .shape = {1, 4, 2, 40, 150, 64, 64}, .types = {F16, F16, F16, F16}, .features = {CODES}},
    {"int8_mode_of_mixed", .shape = {1, 2, 1, 40, 150, 33, 31}, .types = {F32, BF16, F16, BF16},
     .features = {CODES}},
    {"int8_mode_scores_of_bf16_decode", .shape = {1, 8, 2, 1, 700, 128, 128}, .types = {BF16, BF16, BF16, BF16},
     .features = {CODES_BF16}},

    /* Scores: sharp ones have weights that are 0, the sharpest some that 255 bounds; terms, masks, softcap, sinks.
     */
    {"int8_mode_sharp", .shape = {1, 1, 1, 30, 200, 32, 32}, .gain = 0x1p+6f, .features = {CODES}},
    {"int8_mode_sharpest", .shape = {1, 1, 1, 30, 200, 32, 32}, .gain = 0x1p+18f, .features = {CODES}},
    {"int8_mode_flat", .shape = {1, 1, 1, 20, 200, 32, 32}, .gain = 0x1p-12f, .features = {CODES}},
    {"int8_mode_softcap", .shape = {1, 2, 2, 40, 150, 32, 32}, .softcap = 2.0, .features = {CODES}},
    {"int8_mode_sinks", .shape = {1, 8, 2, 20, 150, 16, 16}, .sink = FOVEA_SINK_PER_HEAD, .strange_sinks = true,
     .features = {CODES}},
    {"int8_mode_scales", .shape = {1, 4, 2, 40, 150, 16, 16}, .features = {.scales = FOVEA_SCALES_BOTH, CODES}},
    {"int8_mode_mask_holes", .shape = {1, 2, 2, 60, 140, 16, 16},
     .mask = {FOVEA_MASK_BOOL, SELFTEST_HOLES, 1, 2, 60, 140}, .features = {CODES}},
    {"int8_mode_mask_added", .shape = {1, 2, 2, 60, 140, 16, 16},
     .mask = {FOVEA_MASK_F32, SELFTEST_HOLES, 1, 1, 60, 130}, .softcap = 3.0, .features = {CODES}},
    {"int8_mode_mask_decode", .shape = {1, 8, 2, 1, 300, 64, 64},
     .mask = {FOVEA_MASK_BF16, SELFTEST_HOLES, 1, 1, 1, 300}, .features = {CODES}},
    {"int8_mode_terms", .shape = {1, 4, 2, 60, 90, 16, 16}, .mask = {FOVEA_MASK_F16, SELFTEST_HOLES, 1, 1, 60, 90},
     .features = {.terms = &t5, .term_count = 1, CODES}},
    {"int8_mode_alibi_decode", .shape = {2, 4, 1, 1, 300, 64, 64},
     .features = {.terms = &alibi, .term_count = 1, .term_gain = 0x1p-5f, CODES}},

    /* Values of many magnitudes; rows without codes. */
    {"int8_mode_tiny_values", .shape = {1, 2, 1, 30, 140, 16, 16}, .value_gain = 0x1p-56f, .features = {CODES}},
    {"int8_mode_large_values", .shape = {1, 2, 1, 30, 140, 16, 16}, .value_gain = 0x1p+120f, .features = {CODES}},
    {"int8_mode_subnormal", .shape = {1, 1, 1, 17, 140, 16, 16}, .content = {SELFTEST_SUBNORMAL, 0, 0},
     .features = {CODES}},
    {"int8_mode_zeros", .shape = {1, 3, 1, 11, 37, 16, 16}, .content = {SELFTEST_ZEROS, 0, 0}, .features = {CODES}},
    {"int8_mode_minus_infinity", .shape = {1, 2, 2, 20, 150, 16, 16}, .content = {SELFTEST_MINUS_INFINITY, 30, 140},
     .features = {BF16_CODES}},
    {"int8_mode_garbage_after_the_end", .shape = {2, 2, 1, 21, 150, 24, 24}, .content = {SELFTEST_GARBAGE, 77, 150},
     .kv_lens = LIST(77, 5), .features = {CODES}},
    {"int8_mode_strange_mask", .shape = {1, 2, 2, 40, 150, 16, 16},
     .mask = {FOVEA_MASK_F32, SELFTEST_STRANGE, 1, 2, 40, 150}, .sink = FOVEA_SINK_ZERO, .features = {CODES}},
    {"int8_mode_garbage_some_rows_see", .shape = {1, 2, 2, 50, 180, 16, 16},
     .content = {SELFTEST_GARBAGE, 150, 153}, .causal = true, .features = {CODES}},
    {"int8_mode_strange_values", .shape = {1, 2, 2, 30, 150, 16, 24},
     .content = {SELFTEST_STRANGE_VALUES, 130, 134}, .causal = true, .features = {VALUES_IN_CODES}},
    {"int8_mode_smallest_values", .shape = {1, 2, 1, 30, 140, 16, 2}, .value_gain = 0x1p-81f, .features = {CODES}},

    /* Channel numbers that the caller fixes. */
    {"int8_mode_vectors", .shape = {2, 4, 2, 70, 150, 33, 20}, .causal = true,
     .features = {CODES, VECTORS(PER_HEAD, PER_HEAD, PER_HEAD)}},
    {"int8_mode_vectors_decode", .shape = {2, 8, 2, 1, 700, 128, 64}, .types = {BF16, BF16, BF16, BF16},
     .features = {CODES, VECTORS(PER_HEAD, PER_HEAD, SHARED)}},
    {"int8_mode_vectors_over_spans", .shape = {1, 4, 2, 5, 4300, 16, 24}, .sink = FOVEA_SINK_PER_HEAD,
     .features = {CODES, VECTORS(SHARED, PER_HEAD, PER_HEAD)}},
    {"int8_mode_centre", .shape = {1, 2, 2, 40, 150, 160, 16}, .sink = FOVEA_SINK_ZERO,
     .features = {CODES_BF16, .scales = FOVEA_SCALES_BOTH, VECTORS(PER_HEAD, NONE, NONE)}},
    {"int8_mode_scales_of_channels", .shape = {1, 2, 2, 40, 150, 24, 16}, .softcap = 3.0,
     .features = {CODES, VECTORS(NONE, PER_HEAD, SHARED)}},
};

enum { COUNT = sizeof problems / sizeof problems[0] };

static const uint64_t digests[COUNT] = {
#include "selftest_mode_digests.inc"
};

const selftest_table selftest_mode_table = {"--print-modes", problems, COUNT, digests};
