/* The table of `fovea selftest`: normalisers other than the softmax, and outputs beside O and LSE. */
#include "selftest_problems.h"

/* clang-format off */
#define LIST(...)       (const int64_t[]){__VA_ARGS__}
#define CUMULATIVE(...) (const int32_t[]){__VA_ARGS__}
#define PART(...)       (const fovea_range[]){__VA_ARGS__}
#define F32             FOVEA_F32
#define F16             FOVEA_F16
#define BF16            FOVEA_BF16
#define RELU            FOVEA_NORMALISER_RELU
#define RELU_SQUARED    FOVEA_NORMALISER_RELU_SQUARED
#define SIGMOID         FOVEA_NORMALISER_SIGMOID
/* clang-format on */

static const fovea_rule causal = {.kind = FOVEA_RULE_CAUSAL},
                        near = {.kind = FOVEA_RULE_WINDOW, .before = 20, .after = 3, .step = 1},
                        first = {.kind = FOVEA_RULE_GLOBAL, .numbers = LIST(0, 40), .count = 2},
                        sparse = {.kind = FOVEA_RULE_OR, .left = &near, .right = &first};
static const fovea_position_term alibi = {FOVEA_POSITION_ALIBI, .head = 1},
                                 t5 = {FOVEA_POSITION_T5, .head = 1, .place = 4, .buckets = 16,
                                       .max_distance = 100};

static const selftest_problem problems[] = {
    /* Every normaliser and divisor. */
    {"relu_of_scores", .shape = {1, 2, 1, 40, 150, 16, 24}, .features = {.normaliser = RELU}},
    {"relu_by_keys", .shape = {1, 2, 1, 70, 150, 16, 24}, .causal = true,
     .features = {.normaliser = RELU, .divisor = FOVEA_DIVISOR_KEYS}},
    {"relu_by_sum", .shape = {2, 4, 2, 1, 500, 64, 64}, .types = {BF16, BF16, BF16, BF16},
     .features = {.normaliser = RELU, .divisor = FOVEA_DIVISOR_SUM}},
    {"relu_by_number", .shape = {1, 1, 1, 20, 2500, 16, 16},
     .features = {.normaliser = RELU, .divisor = FOVEA_DIVISOR_CONSTANT, .divisor_value = 37.5}},
    {"relu_squared", .shape = {1, 4, 2, 40, 150, 33, 16}, .types = {F16, F16, F16, F16}, .gain = 0x1p-2f,
     .features = {.normaliser = RELU_SQUARED}},
    {"relu_squared_by_keys", .shape = {1, 2, 2, 60, 140, 16, 16},
     .mask = {FOVEA_MASK_BOOL, SELFTEST_HOLES, 1, 2, 60, 140},
     .features = {.normaliser = RELU_SQUARED, .divisor = FOVEA_DIVISOR_KEYS}},
    {"relu_squared_by_sum", .shape = {1, 2, 2, 60, 140, 16, 16}, .softcap = 2.0,
     .mask = {FOVEA_MASK_F32, SELFTEST_HOLES, 1, 1, 60, 130},
     .features = {.normaliser = RELU_SQUARED, .divisor = FOVEA_DIVISOR_SUM}},
    {"relu_squared_by_number", .shape = {1, 4, 4, 1, 2100, 16, 16},
     .features = {.normaliser = RELU_SQUARED, .divisor = FOVEA_DIVISOR_CONSTANT, .divisor_value = 0x1p-70}},
    {"sigmoid_of_scores", .shape = {1, 2, 1, 40, 150, 16, 24}, .gain = 8.0f,
     .features = {.normaliser = SIGMOID, .sigmoid_bias = -5.0}},
    {"sigmoid_by_keys", .shape = {2, 2, 1, 70, 150, 16, 24}, .causal = true, .q_lens = LIST(70, 33),
     .kv_lens = LIST(150, 40),
     .features = {.normaliser = SIGMOID, .divisor = FOVEA_DIVISOR_KEYS, .sigmoid_bias = 0.375}},
    {"sigmoid_by_sum", .shape = {2, 8, 2, 1, 300, 65, 33}, .types = {F16, F16, F16, F32},
     .features = {.normaliser = SIGMOID, .divisor = FOVEA_DIVISOR_SUM}},
    {"sigmoid_by_number", .shape = {1, 2, 2, 37, 4200, 16, 8}, .scores = FOVEA_SCORES_WEIGHTS,
     .features =
         {.normaliser = SIGMOID, .divisor = FOVEA_DIVISOR_CONSTANT, .divisor_value = 8.0, .sigmoid_bias = -8.0}},
    {"relu_of_strange_mask", .shape = {1, 2, 2, 40, 150, 16, 16},
     .mask = {FOVEA_MASK_F32, SELFTEST_STRANGE, 1, 2, 40, 150}, .scores = FOVEA_SCORES_WEIGHTS,
     .features = {.normaliser = RELU, .divisor = FOVEA_DIVISOR_SUM}},
    {"sigmoid_of_strange_mask", .shape = {1, 2, 2, 40, 150, 16, 16},
     .mask = {FOVEA_MASK_BF16, SELFTEST_STRANGE, 1, 2, 40, 150}, .scores = FOVEA_SCORES_BIASED,
     .features = {.normaliser = SIGMOID}},
    {"relu_of_garbage", .shape = {1, 2, 2, 50, 180, 16, 16}, .content = {SELFTEST_GARBAGE, 150, 153},
     .causal = true, .features = {.normaliser = RELU, .divisor = FOVEA_DIVISOR_KEYS}},
    {"relu_with_terms", .shape = {1, 4, 2, 60, 90, 16, 16}, .softcap = 3.0,
     .mask = {FOVEA_MASK_F16, SELFTEST_HOLES, 1, 1, 60, 90}, .scores = FOVEA_SCORES_BIASED,
     .features = {.rule = &sparse,
                  .terms = &t5,
                  .term_count = 1,
                  .scales = FOVEA_SCALES_BOTH,
                  .normaliser = RELU,
                  .divisor = FOVEA_DIVISOR_SUM}},
    {"sigmoid_with_terms_decode", .shape = {2, 4, 1, 1, 300, 64, 64}, .types = {BF16, BF16, BF16, BF16},
     .features = {.terms = &alibi,
                  .term_count = 1,
                  .term_gain = 0x1p-5f,
                  .scales = FOVEA_SCALES_PER_HEAD,
                  .normaliser = SIGMOID,
                  .sigmoid_bias = -1.5}},
    {"sigmoid_of_pattern", .shape = {1, 4, 2, 60, 120, 16, 16}, .scores = FOVEA_SCORES_WEIGHTS,
     .features = {.rule = &sparse, .normaliser = SIGMOID, .divisor = FOVEA_DIVISOR_KEYS}},

    /* Outputs one by one, over tiles, decoding, spans, batch elements. */
    {"max_logits", .shape = {2, 4, 2, 70, 150, 16, 16}, .gain = 2.0f, .causal = true,
     .features = {.max_logits = true}},
    {"max_logits_decode", .shape = {2, 4, 2, 1, 700, 64, 64}, .softcap = 3.0, .sink = FOVEA_SINK_PER_HEAD,
     .features = {.max_logits = true}},
    {"entropy", .shape = {1, 4, 2, 70, 150, 16, 16}, .causal = true, .sink = FOVEA_SINK_PER_HEAD,
     .features = {.entropy = true}},
    {"entropy_over_spans", .shape = {1, 2, 1, 5, 4300, 16, 16}, .types = {F16, F16, F16, F16},
     .features = {.entropy = true}},
    {"entropy_sharp", .shape = {1, 2, 2, 40, 150, 32, 16}, .gain = 0x1p+6f, .features = {.entropy = true}},
    {"top.keys", .shape = {1, 4, 2, 60, 150, 16, 16}, .causal = true, .features = {.top_k = 5}},
    {"top_keys_of_zeros", .shape = {1, 2, 1, 19, 40, 16, 16}, .content = {SELFTEST_ZEROS, 0, 0},
     .features = {.top_k = 50}},
    {"top_keys_decode", .shape = {2, 8, 2, 1, 2500, 33, 16}, .types = {BF16, BF16, BF16, BF16},
     .kv_lens = LIST(2500, 2049), .features = {.top_k = 64}},
    {"top_keys_of_garbage", .shape = {1, 2, 2, 50, 180, 16, 16}, .content = {SELFTEST_GARBAGE, 150, 153},
     .causal = true, .features = {.top_k = 9}},
    {"column_sums", .shape = {1, 4, 2, 150, 200, 16, 16}, .causal = true, .features = {.column_sums = true}},
    {"column_sums_of_last_rows", .shape = {2, 4, 2, 150, 200, 16, 16}, .causal = true, .sink = FOVEA_SINK_ZERO,
     .features = {.column_sums = true, .column_rows = PART({118, 150})}},
    {"column_sums_over_spans", .shape = {1, 2, 1, 20, 2500, 16, 16}, .types = {F16, F16, F16, F16},
     .features = {.column_sums = true}},
    {"part_of_weights", .shape = {2, 4, 2, 70, 150, 16, 16}, .causal = true, .scores = FOVEA_SCORES_WEIGHTS,
     .features = {.score_part = PART({1, 3}, {60, 70}, {100, 150})}},
    {"part_of_biased", .shape = {1, 4, 2, 40, 300, 16, 16}, .mask = {FOVEA_MASK_F32, SELFTEST_HOLES, 1, 1, 40, 300},
     .softcap = 2.0, .scores = FOVEA_SCORES_BIASED, .features = {.score_part = PART({3, 4}, {3, 37}, {120, 270})}},

    /* All at once. */
    {"outputs_together", .shape = {2, 4, 2, 70, 150, 24, 16}, .types = {F16, F16, F16, F16}, .causal = true,
     .q_lens = LIST(70, 33), .kv_lens = LIST(150, 77), .mask = {FOVEA_MASK_F32, SELFTEST_HOLES, 2, 1, 70, 140},
     .softcap = 4.0, .sink = FOVEA_SINK_PER_HEAD, .scores = FOVEA_SCORES_WEIGHTS,
     .features = {.terms = &alibi,
                  .term_count = 1,
                  .term_gain = 0x1p-5f,
                  .scales = FOVEA_SCALES_BOTH,
                  .max_logits = true,
                  .entropy = true,
                  .column_sums = true,
                  .top_k = 7}},
    {"outputs_of_pattern", .shape = {1, 4, 2, 90, 120, 16, 16}, .sink = FOVEA_SINK_ZERO, .scores = FOVEA_SCORES_RAW,
     .features = {.rule = &sparse, .max_logits = true, .entropy = true, .column_sums = true, .top_k = 30}},
    {"outputs_packed", .shape = {4, 4, 2, 118, 391, 16, 16}, .cu_seqlens_q = CUMULATIVE(0, 17, 17, 80, 118),
     .cu_seqlens_kv = CUMULATIVE(0, 140, 150, 300, 391), .scores = FOVEA_SCORES_CAPPED,
     .features = {.rule = &causal,
                  .terms = &t5,
                  .term_count = 1,
                  .max_logits = true,
                  .entropy = true,
                  .column_sums = true,
                  .top_k = 3}},
    {"outputs_of_strange_mask", .shape = {1, 2, 2, 40, 150, 16, 16},
     .mask = {FOVEA_MASK_F32, SELFTEST_STRANGE, 1, 2, 40, 150}, .sink = FOVEA_SINK_ZERO,
     .features = {.max_logits = true, .entropy = true, .column_sums = true, .top_k = 20}},
};

enum { COUNT = sizeof problems / sizeof problems[0] };

static const uint64_t digests[COUNT] = {
#include "selftest_output_digests.inc"
};

const selftest_table selftest_output_table = {"--print-outputs", problems, COUNT, digests};
