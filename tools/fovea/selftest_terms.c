/* The table of `fovea selftest`: position terms and scales, over tiles, decoding and spans. */
#include "selftest_problems.h"

/* clang-format off */
#define LIST(...)       (const int64_t[]){__VA_ARGS__}
#define CUMULATIVE(...) (const int32_t[]){__VA_ARGS__}
#define TERM(...)       .terms = (const fovea_position_term[]){{__VA_ARGS__}}, .term_count = 1
#define F32             FOVEA_F32
#define F16             FOVEA_F16
#define BF16            FOVEA_BF16
/* clang-format on */

/* Strides are of contiguous numbers: slopes (heads), a relative table (heads, places), others (places, heads). Some
 * have numbers for each batch element. */
static const fovea_position_term alibi_of_4 = {FOVEA_POSITION_ALIBI, .head = 1},
                                 alibi_of_entries = {FOVEA_POSITION_ALIBI_SYMMETRIC, .batch = 4, .head = 1},
                                 relative = {FOVEA_POSITION_RELATIVE, .head = 61, .place = 1, .before = 50,
                                             .after = 10},
                                 t5_of_2 = {FOVEA_POSITION_T5, .head = 1,           .place = 2,
                                            .buckets = 32,     .max_distance = 128, .bidirectional = 1},
                                 t5_of_4 = {FOVEA_POSITION_T5, .head = 1, .place = 4, .buckets = 16,
                                            .max_distance = 100},
                                 swin = {FOVEA_POSITION_GRID, .head = 1,   .place = 2,
                                         .depth = 1,          .height = 7, .width = 9};

/* Few keys here and there: rows that are gathered. */
static const fovea_rule edges = {.kind = FOVEA_RULE_EDGES,
                                 .count = 6,
                                 .starts = LIST(0, 3, 3, 8, 9, 13, 20),
                                 .numbers =
                                     LIST(5, 300, 699, /**/ 0, 1, 2, 640, 127, /**/ 128, /**/ 255, 256, 511, 512,
                                          /**/ 10, 20, 20, 330, 340, -1, 600)};

static const selftest_problem problems[] = {
    {"alibi", .shape = {1, 4, 2, 70, 150, 16, 24}, .causal = true,
     .features = {.terms = &alibi_of_4, .term_count = 1, .term_gain = 0x1p-5f}},
    {"alibi_symmetric_of_entries", .shape = {2, 4, 2, 60, 170, 16, 16},
     .features = {.terms = &alibi_of_entries, .term_count = 1, .term_gain = 0x1p-5f}},
    {"alibi_decode", .shape = {2, 4, 1, 1, 700, 64, 64}, .types = {F16, F16, F16, F16}, .kv_lens = LIST(700, 513),
     .features = {.terms = &alibi_of_4, .term_count = 1, .term_gain = 0x1p-7f}},
    {"alibi_over_spans", .shape = {1, 4, 2, 5, 4300, 16, 16},
     .features = {.terms = &alibi_of_4, .term_count = 1, .term_gain = 0x1p-9f}},
    {"relative", .shape = {1, 2, 2, 80, 140, 16, 16}, .features = {.terms = &relative, .term_count = 1}},
    {"relative_decode", .shape = {1, 4, 2, 2, 333, 33, 16}, .types = {BF16, BF16, BF16, BF16},
     .features = {.terms = &relative, .term_count = 1}},
    {"relative_of_one_place", .shape = {2, 2, 1, 20, 40, 16, 16},
     .features = {TERM(FOVEA_POSITION_RELATIVE, .batch = 2, .head = 1, .place = 1)}},
    {"t5_bidirectional", .shape = {1, 2, 1, 130, 300, 16, 16}, .scale = 1.0, .gain = 0x1p-1f,
     .features = {.terms = &t5_of_2, .term_count = 1}},
    {"t5_causal", .shape = {1, 4, 2, 90, 90, 16, 16}, .causal = true,
     .features = {.terms = &t5_of_4, .term_count = 1}},
    {"t5_decode", .shape = {1, 4, 4, 1, 2100, 16, 16}, .features = {.terms = &t5_of_4, .term_count = 1}},
    {"t5_few_buckets", .shape = {1, 1, 1, 40, 40, 8, 8},
     .features = {TERM(FOVEA_POSITION_T5, .head = 1, .place = 1, .buckets = 4, .max_distance = 7,
                       .bidirectional = 1)}},
    {"swin", .shape = {3, 2, 2, 63, 63, 16, 16}, .features = {.terms = &swin, .term_count = 1}},
    {"grid_of_volumes", .shape = {1, 2, 1, 60, 60, 24, 16}, .types = {F16, F16, F16, F32},
     .features = {TERM(FOVEA_POSITION_GRID, .head = 1, .place = 2, .depth = 3, .height = 4, .width = 5)}},
    {"grid_repeated_for_heads", .shape = {1, 4, 1, 20, 60, 16, 16}, .causal = true,
     .features = {TERM(FOVEA_POSITION_GRID, .place = 1, .depth = 1, .height = 4, .width = 15)}},
    {"terms_together", .shape = {2, 2, 1, 50, 63, 16, 16}, .mask = {FOVEA_MASK_F32, SELFTEST_HOLES, 2, 1, 50, 60},
     .softcap = 2.0, .sink = FOVEA_SINK_PER_HEAD, .scores = FOVEA_SCORES_BIASED,
     .features = {.terms =
                      (const fovea_position_term[]){
                          {FOVEA_POSITION_ALIBI, .head = 1},
                          {FOVEA_POSITION_RELATIVE, .head = 16, .place = 1, .before = 15},
                          {FOVEA_POSITION_T5, .head = 1, .place = 2, .buckets = 8, .max_distance = 40},
                          {FOVEA_POSITION_GRID, .head = 1, .place = 2, .depth = 1, .height = 7, .width = 9}},
                  .term_count = 4,
                  .term_gain = 0x1p-3f}},
    {"terms_packed", .shape = {3, 4, 2, 120, 150, 16, 16}, .causal = true,
     .cu_seqlens_q = CUMULATIVE(0, 41, 42, 120), .cu_seqlens_kv = CUMULATIVE(0, 41, 72, 150),
     .features = {.terms = &t5_of_4, .term_count = 1}},
    {"terms_of_strange_size", .shape = {1, 4, 2, 40, 90, 16, 16},
     .features = {.terms = &alibi_of_4, .term_count = 1, .term_gain = 0x1p+121f}},
    {"scales_of_heads", .shape = {1, 8, 2, 40, 130, 16, 16}, .features = {.scales = FOVEA_SCALES_PER_HEAD}},
    {"scales_of_rows", .shape = {2, 2, 1, 70, 90, 16, 16}, .causal = true,
     .features = {.scales = FOVEA_SCALES_PER_ROW}},
    {"scales_of_heads_and_rows", .shape = {2, 4, 2, 40, 130, 129, 16}, .types = {BF16, BF16, BF16, BF16},
     .features = {.scales = FOVEA_SCALES_BOTH}},
    {"scales_decode", .shape = {2, 8, 2, 1, 500, 64, 64}, .sink = FOVEA_SINK_ZERO,
     .features = {.scales = FOVEA_SCALES_BOTH}},
    {"scales_softcap_and_terms", .shape = {1, 4, 2, 60, 110, 16, 16}, .softcap = 1.5, .scores = FOVEA_SCORES_CAPPED,
     .features = {.terms = &alibi_of_4, .term_count = 1, .term_gain = 0x1p-5f, .scales = FOVEA_SCALES_BOTH}},
    {"scales_packed", .shape = {3, 4, 2, 120, 150, 16, 16}, .cu_seqlens_q = CUMULATIVE(0, 41, 42, 120),
     .cu_seqlens_kv = CUMULATIVE(0, 41, 72, 150), .features = {.scales = FOVEA_SCALES_PER_ROW}},
    {"leaky_relu", .shape = {1, 4, 2, 70, 150, 20, 16}, .causal = true, .softcap = 2.0,
     .features = {.leaky = true, .leaky_slope = 0.2}},
    {"leaky_relu_decode", .shape = {2, 8, 2, 1, 500, 64, 64}, .types = {F16, F16, F16, F16},
     .features = {.leaky = true, .leaky_slope = 0.01}},
    {"leaky_relu_over_edges", .shape = {1, 2, 1, 40, 700, 24, 20}, .has_offset = true,
     .scores = FOVEA_SCORES_WEIGHTS, .features = {.rule = &edges, .by_row = true, .leaky = true}},
    {"edges_alone", .shape = {1, 2, 1, 40, 700, 24, 20}, .has_offset = true, .scores = FOVEA_SCORES_WEIGHTS,
     .features = {.rule = &edges, .by_row = true}},
    {"shaw", .shape = {1, 4, 2, 70, 150, 20, 24}, .features = {.shaw = FOVEA_SHAW_BOTH, .shaw_distance = 16}},
    {"shaw_of_heads", .shape = {2, 4, 2, 60, 90, 16, 16}, .causal = true, .types = {BF16, BF16, BF16, BF16},
     .features = {.shaw = FOVEA_SHAW_BOTH, .shaw_distance = 5, .shaw_of_heads = true}},
    {"shaw_keys_decode", .shape = {2, 4, 1, 1, 700, 64, 64}, .kv_lens = LIST(700, 513),
     .features = {.shaw = FOVEA_SHAW_KEYS, .shaw_distance = 300}},
    {"shaw_values_over_spans", .shape = {1, 4, 2, 5, 4300, 16, 16},
     .features = {.shaw = FOVEA_SHAW_VALUES, .shaw_distance = 40}},
    {"shaw_and_terms", .shape = {1, 4, 2, 60, 110, 16, 16}, .softcap = 1.5, .sink = FOVEA_SINK_PER_HEAD,
     .scores = FOVEA_SCORES_BIASED,
     .features = {.terms = &alibi_of_4,
                  .term_count = 1,
                  .term_gain = 0x1p-5f,
                  .scales = FOVEA_SCALES_BOTH,
                  .shaw = FOVEA_SHAW_BOTH,
                  .shaw_distance = 7}},
};

enum { COUNT = sizeof problems / sizeof problems[0] };

static const uint64_t digests[COUNT] = {
#include "selftest_term_digests.inc"
};

const selftest_table selftest_term_table = {"--print-terms", problems, COUNT, digests};
