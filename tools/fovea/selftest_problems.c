/* The table of `fovea selftest`. It is meant to catch a kernel that rounds otherwise, reads what it may not, or
 * loses a tail; sizes are small, so that an emulator gets through it in seconds. */
#include "selftest_problems.h"

/* clang-format off */
#define LIST(...)       (const int64_t[]){__VA_ARGS__}
#define CUMULATIVE(...) (const int32_t[]){__VA_ARGS__}
/* clang-format on */

/* Shapes are batch, heads, kv_heads, q_len, kv_len, qk_dim, v_dim; contents a kind and the special keys. */
const selftest_problem selftest_problems[] = {
    /* One key and other small things: a row that sees one key returns its value. */
    {"one_key", .shape = {1, 2, 2, 3, 1, 8, 8}},
    {"one_of_everything", .shape = {1, 1, 1, 1, 1, 1, 1}},
    {"one_dim", .shape = {2, 3, 1, 5, 20, 1, 1}},
    {"three_keys", .shape = {1, 1, 1, 2, 3, 3, 5}},

    /* Tails of rows, keys and dims, on both sides of every vector length. */
    {"sixteen", .shape = {1, 1, 1, 16, 16, 16, 16}},
    {"fifteen", .shape = {1, 2, 2, 15, 15, 15, 15}},
    {"seventeen", .shape = {1, 2, 2, 17, 17, 17, 17}},
    {"thirty_one", .shape = {1, 1, 1, 31, 33, 33, 31}},
    {"thirty_three", .shape = {1, 1, 1, 33, 31, 31, 33}},
    {"sixty_three", .shape = {1, 1, 1, 63, 65, 65, 63}},
    {"sixty_five", .shape = {1, 1, 1, 65, 63, 63, 65}},
    {"dims_2_and_7", .shape = {1, 1, 1, 9, 40, 2, 7}},
    {"dims_9_and_2", .shape = {1, 1, 1, 10, 41, 9, 2}},
    {"dims_48_and_80", .shape = {1, 1, 1, 21, 77, 48, 80}},
    {"dims_96", .shape = {1, 1, 1, 19, 150, 96, 96}},
    {"dim_of_one_piece", .shape = {1, 1, 1, 35, 200, 128, 128}},
    {"dim_of_a_piece_and_one", .shape = {1, 1, 1, 10, 140, 129, 64}},
    {"dim_of_two_pieces_less_one", .shape = {1, 1, 1, 6, 90, 255, 96}},
    {"dim_of_two_pieces", .shape = {1, 1, 1, 12, 130, 256, 256}},
    {"dim_of_four_pieces_odd", .shape = {1, 1, 1, 3, 50, 389, 7}},
    {"short_keys_long_values", .shape = {1, 2, 2, 11, 70, 12, 200}},

    /* Blocks of 128 keys, spans of 2,048. */
    {"block_less_one", .shape = {1, 1, 1, 9, 127, 24, 40}},
    {"block", .shape = {1, 1, 1, 20, 128, 32, 32}},
    {"block_and_one", .shape = {1, 2, 2, 13, 129, 48, 48}},
    {"blocks", .shape = {1, 2, 1, 24, 640, 64, 64}},
    {"span", .shape = {1, 1, 1, 2, 2048, 16, 16}},
    {"span_and_one", .shape = {1, 1, 1, 3, 2049, 16, 16}},
    {"three_spans_and_more", .shape = {1, 2, 1, 5, 6921, 16, 24}},
    {"rows_over_spans", .shape = {1, 1, 1, 37, 2500, 16, 16}},
    {"many_rows", .shape = {1, 4, 2, 150, 260, 32, 32}},
    {"decode", .shape = {2, 4, 4, 1, 700, 64, 64}},
    {"decode_grouped", .shape = {1, 8, 2, 1, 1000, 64, 64}},
    {"decode_of_some_rows", .shape = {1, 6, 2, 4, 333, 40, 72}},

    /* Rules. */
    {"causal", .shape = {1, 2, 2, 100, 100, 32, 32}, .causal = true},
    {"causal_many_rows", .shape = {1, 4, 1, 300, 300, 16, 16}, .causal = true},
    {"causal_with_past", .shape = {1, 1, 1, 61, 389, 64, 64}, .causal = true},
    {"causal_more_rows_than_keys", .shape = {1, 1, 1, 50, 20, 16, 16}, .causal = true},
    {"causal_top_left", .shape = {1, 1, 1, 40, 90, 16, 16}, .causal = true, .has_offset = true, .offset = 0},
    {"causal_negative_offset", .shape = {1, 1, 1, 40, 90, 16, 16}, .causal = true, .has_offset = true,
     .offset = -7},
    {"causal_over_spans", .shape = {1, 2, 1, 6, 4200, 8, 8}, .causal = true, .transposed = true},
    {"window_of_own_key", .shape = {1, 1, 1, 70, 70, 16, 16}, .has_window = true},
    {"window_left", .shape = {1, 2, 2, 150, 150, 32, 32}, .causal = true, .has_window = true, .window_left = 20},
    {"window_both", .shape = {1, 2, 1, 90, 300, 16, 24}, .has_window = true, .window_left = 30, .window_right = 5},
    {"window_right", .shape = {1, 1, 1, 50, 60, 16, 16}, .has_window = true, .window_left = -1, .window_right = 3},
    {"window_over_a_span", .shape = {1, 1, 1, 90, 4300, 16, 16}, .has_window = true, .window_left = 150,
     .window_right = 40, .has_offset = true, .offset = 2000},
    {"chunks", .shape = {1, 1, 1, 200, 200, 16, 16}, .chunk_size = 16, .chunk_left = 32, .chunk_right = 8},
    {"chunks_all_before", .shape = {1, 1, 1, 90, 170, 16, 16}, .chunk_size = 40, .chunk_left = -1},
    {"chunks_before_the_start", .shape = {1, 1, 1, 60, 50, 16, 16}, .chunk_size = 7, .chunk_left = 3,
     .chunk_right = 2, .has_offset = true, .offset = -20},
    {"rules_together", .shape = {2, 4, 2, 70, 200, 24, 16}, .causal = true, .has_window = true, .window_left = 60,
     .window_right = 9, .chunk_size = 10, .chunk_left = 50, .offsets = LIST(130, 77), .q_lens = LIST(70, 33),
     .kv_lens = LIST(200, 131), .transposed = true},

    /* Batches of different lengths. */
    {"lengths", .shape = {4, 2, 1, 20, 140, 16, 16}, .q_lens = LIST(20, 7, 0, 19),
     .kv_lens = LIST(140, 129, 60, 0)},
    {"offsets", .shape = {3, 1, 1, 30, 60, 16, 16}, .causal = true, .offsets = LIST(30, 0, -10)},
    {"packed", .shape = {4, 4, 2, 118, 391, 16, 16}, .cu_seqlens_q = CUMULATIVE(0, 17, 17, 80, 118),
     .cu_seqlens_kv = CUMULATIVE(0, 140, 150, 300, 391)},
    {"packed_causal", .shape = {3, 2, 2, 120, 120, 32, 32}, .causal = true,
     .cu_seqlens_q = CUMULATIVE(0, 41, 42, 120), .cu_seqlens_kv = CUMULATIVE(0, 41, 42, 120), .transposed = true},

    /* Scores: sharp, flat, negative scale. */
    {"sharp", .shape = {1, 1, 1, 30, 200, 32, 32}, .gain = 0x1p+6f},
    {"flat", .shape = {1, 1, 1, 20, 200, 32, 32}, .gain = 0x1p-12f},
    {"negative_scale", .shape = {1, 1, 1, 20, 90, 32, 32}, .scale = -0.375},
    {"constant", .shape = {1, 1, 1, 9, 900, 64, 16}, .content = {SELFTEST_CONSTANT, 0, 0}},

    /* Special values. */
    {"garbage_after_the_end", .shape = {2, 2, 1, 21, 150, 24, 24}, .content = {SELFTEST_GARBAGE, 77, 150},
     .kv_lens = LIST(77, 5)},
    {"garbage_outside_the_window", .shape = {1, 1, 1, 40, 200, 16, 16}, .content = {SELFTEST_GARBAGE, 0, 141},
     .has_window = true, .window_left = 19, .window_right = -1},
    {"garbage_some_rows_see", .shape = {1, 2, 2, 50, 180, 16, 16}, .content = {SELFTEST_GARBAGE, 150, 153},
     .causal = true},
    {"nothing_but_garbage", .shape = {1, 1, 1, 20, 30, 16, 16}, .content = {SELFTEST_GARBAGE, 0, 30}},
    {"block_of_garbage", .shape = {1, 1, 1, 60, 300, 8, 8}, .content = {SELFTEST_GARBAGE, 256, 300},
     .causal = true},
    {"minus_infinity", .shape = {1, 2, 2, 20, 150, 16, 16}, .content = {SELFTEST_MINUS_INFINITY, 30, 140}},
    {"minus_infinity_block", .shape = {1, 1, 1, 20, 300, 16, 16}, .content = {SELFTEST_MINUS_INFINITY, 128, 256}},
    {"minus_infinity_everywhere", .shape = {1, 1, 1, 20, 140, 16, 16},
     .content = {SELFTEST_MINUS_INFINITY, 0, 140}},
    {"plus_infinity_some_rows_see", .shape = {1, 1, 1, 40, 140, 16, 16},
     .content = {SELFTEST_PLUS_INFINITY, 120, 121}, .causal = true},
    {"strange_values", .shape = {1, 2, 2, 30, 150, 16, 24}, .content = {SELFTEST_STRANGE_VALUES, 130, 134},
     .causal = true},
    {"strange_values_of_weight_0", .shape = {1, 1, 1, 17, 150, 16, 16}, .content = {SELFTEST_STRANGE_VALUES, 3, 5},
     .gain = 0x1p+7f},
    {"zeros", .shape = {1, 1, 1, 17, 40, 16, 16}, .content = {SELFTEST_ZEROS, 0, 0}},
    {"subnormal", .shape = {1, 1, 1, 17, 140, 16, 16}, .content = {SELFTEST_SUBNORMAL, 0, 0}},
};

const int selftest_problem_count = (int)(sizeof selftest_problems / sizeof selftest_problems[0]);

const uint64_t selftest_digests[sizeof selftest_problems / sizeof selftest_problems[0]] = {
#include "selftest_digests.inc"
};
