/* The table of `fovea selftest`: patterns, every rule alone and some joined, over tiles, decoding and spans. */
#include "selftest_problems.h"

/* clang-format off */
#define LIST(...)       (const int64_t[]){__VA_ARGS__}
#define CUMULATIVE(...) (const int32_t[]){__VA_ARGS__}
#define RULE(...)       (&(const fovea_rule){__VA_ARGS__})
#define AND(a, b)       RULE(.kind = FOVEA_RULE_AND, .left = (a), .right = (b))
#define OR(a, b)        RULE(.kind = FOVEA_RULE_OR, .left = (a), .right = (b))
#define NOT(a)          RULE(.kind = FOVEA_RULE_NOT, .left = (a))
#define RULES(...)      (const fovea_rule *const[]){__VA_ARGS__}
#define F32             FOVEA_F32
#define F16             FOVEA_F16
#define BF16            FOVEA_BF16
/* clang-format on */

static const fovea_rule causal = {.kind = FOVEA_RULE_CAUSAL},
                        near = {.kind = FOVEA_RULE_WINDOW, .before = 20, .after = 3, .step = 1},
                        far = {.kind = FOVEA_RULE_WINDOW, .before = FOVEA_UNLIMITED, .after = 30, .step = 7},
                        chunks = {.kind = FOVEA_RULE_CHUNKS, .step = 24, .before = 24, .after = 5},
                        prefix = {.kind = FOVEA_RULE_KEYS, .begin = 0, .end = 21},
                        rows = {.kind = FOVEA_RULE_ROWS, .begin = 30, .end = 45},
                        every = {.kind = FOVEA_RULE_EVERY, .step = 10, .begin = 7, .end = 9};

static const int64_t key_documents[50] = {0, 0, 0, 0, 0, 1, 1, 1, -1, 2, 2, 2, 2, 2, 2, 2, 2,
                                          0, 0, 3, 3, 3, 3, 3, 3, 3,  3, 3, 3, 3, 3, 1, 1, 1,
                                          1, 1, 4, 4, 4, 4, 4, 4, 4,  4, 4, 4, 4, 4, 4, 4},
                     row_documents[50] = {0,  0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2,
                                          -1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 9, 1, 1, 4,
                                          4,  4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
static const fovea_rule documents = {.kind = FOVEA_RULE_DOCUMENTS, .numbers = key_documents, .count = 50},
                        translation = {.kind = FOVEA_RULE_DOCUMENTS,
                                       .numbers = key_documents,
                                       .row_numbers = row_documents,
                                       .count = 50};

static const fovea_rule global = {.kind = FOVEA_RULE_GLOBAL, .numbers = LIST(0, 1, 63, 40, 1), .count = 5},
                        first = {.kind = FOVEA_RULE_GLOBAL, .numbers = LIST(0, 1300, 2400), .count = 3};

/* Sparse blocks, some of them twice, one row of blocks empty. */
static const fovea_rule blocks = {.kind = FOVEA_RULE_BLOCKS,
                                  .block_rows = 16,
                                  .block_keys = 32,
                                  .count = 6,
                                  .starts = LIST(0, 2, 4, 4, 7, 8, 10),
                                  .numbers = LIST(0, 3, 1, 1, 2, 0, 4, 5, 4, 0)};
static const fovea_rule large_blocks = {.kind = FOVEA_RULE_BLOCKS,
                                        .block_rows = 64,
                                        .block_keys = 64,
                                        .count = 3,
                                        .starts = LIST(0, 2, 3, 6),
                                        .numbers = LIST(0, 2, 1, 2, 0, 3)};

/* A graph of 20 nodes, with a hub, an edge twice, a node without edges, and -1, which is none. */
static const int64_t graph_starts[] = {0,  3,  5,  5,  9,  11, 12, 13, 16, 18, 20,
                                       22, 23, 25, 26, 28, 30, 31, 33, 34, 36},
                     graph_keys[] = {0, 7,  19, 3, 1, 4, 3,  3, 18, 7, 4, 5, 6, 0,  7,  13, 8, -1,
                                     9, 11, 7,  2, 7, 1, 12, 7, 14, 7, 0, 7, 7, 17, 16, 7,  7, 10};
static const fovea_rule graph = {
    .kind = FOVEA_RULE_EDGES, .count = 20, .starts = graph_starts, .numbers = graph_keys};
static const fovea_rule chosen = {.kind = FOVEA_RULE_EDGES,
                                  .count = 4,
                                  .step = 6,
                                  .numbers = LIST(2400, 3, 1000, 2047, 2048, 17, 5, 5, 700, 128, 127, 2499, -1, -1,
                                                  9, 8, 2046, 1, 2, 2200, 300, 299, 64, 31)};
static const fovea_rule other_chosen = {
    .kind = FOVEA_RULE_EDGES,
    .count = 4,
    .step = 4,
    .numbers = LIST(1, 2, 3, 4, 2100, 2101, 2102, 2103, 900, 17, 1500, 0, 2499, 2498, 50, 51)};

static const fovea_rule drafts = {
    .kind = FOVEA_RULE_TREE, .begin = 90, .count = 12, .numbers = LIST(-1, 0, 0, 1, 1, 9, 2, -1, 7, 0, 5, 8)};

static const fovea_rule
    line = {.kind = FOVEA_RULE_NEIGHBOURHOOD, .axes = 1, .axis = {{90, 9, 4, 0}}},
    causal_line = {.kind = FOVEA_RULE_NEIGHBOURHOOD, .axes = 1, .axis = {{90, 6, 3, 1}}},
    image = {.kind = FOVEA_RULE_NEIGHBOURHOOD, .axes = 2, .axis = {{9, 5, 1, 0}, {13, 7, 1, 0}}},
    dilated_image = {.kind = FOVEA_RULE_NEIGHBOURHOOD, .axes = 2, .axis = {{9, 4, 2, 0}, {13, 3, 4, 1}}},
    volume = {.kind = FOVEA_RULE_NEIGHBOURHOOD, .axes = 3, .axis = {{3, 2, 1, 1}, {5, 3, 1, 0}, {6, 3, 2, 0}}};

static const selftest_problem problems[] = {
    {"pattern_causal", .shape = {1, 2, 1, 70, 150, 16, 24}, .features = {.rule = &causal}},
    {"pattern_window", .shape = {2, 4, 2, 90, 200, 16, 16}, .features = {.rule = &near}},
    {"pattern_dilated", .shape = {1, 2, 2, 90, 200, 33, 16}, .features = {.rule = &far}},
    {"pattern_chunks", .shape = {1, 2, 1, 100, 130, 16, 16}, .features = {.rule = &chunks}},
    {"pattern_prefix", .shape = {1, 2, 1, 80, 80, 16, 16}, .features = {.rule = OR(&causal, &prefix)}},
    {"pattern_rows", .shape = {1, 1, 1, 60, 60, 16, 16}, .features = {.rule = &rows}},
    {"pattern_every", .shape = {1, 2, 2, 40, 170, 16, 16}, .features = {.rule = &every}},
    {"pattern_documents", .shape = {1, 2, 1, 50, 50, 16, 16}, .features = {.rule = &documents}},
    {"pattern_documents_of_rows_and_keys", .shape = {1, 2, 1, 50, 60, 16, 16}, .has_offset = true,
     .features = {.rule = &translation}},
    {"pattern_global", .shape = {1, 4, 2, 100, 100, 16, 16}, .causal = true,
     .features = {.rule = OR(&near, &global)}},
    {"pattern_blocks", .shape = {1, 2, 1, 100, 180, 32, 16}, .has_offset = true, .features = {.rule = &blocks}},
    {"pattern_large_blocks", .shape = {1, 2, 1, 170, 250, 16, 16}, .has_offset = true,
     .features = {.rule = &large_blocks}},
    {"pattern_graph", .shape = {1, 2, 2, 20, 20, 24, 16}, .features = {.rule = &graph, .by_row = true}},
    {"pattern_graph_and_others", .shape = {2, 2, 1, 20, 20, 24, 16}, .types = {F16, F16, F16, F16},
     .features = {.rule = OR(&graph, AND(&near, NOT(&every)))}},
    {"pattern_chosen_keys", .shape = {1, 4, 2, 4, 2500, 65, 33},
     .features = {.rules = RULES(&chosen, &other_chosen), .rule_heads = 2, .by_row = true}},
    {"pattern_chosen_keys_bf16", .shape = {1, 2, 2, 4, 2500, 64, 64}, .types = {BF16, BF16, BF16, BF16},
     .features = {.rules = RULES(&other_chosen, OR(&chosen, &first)), .rule_heads = 2, .by_row = true}},
    {"pattern_tree", .shape = {1, 4, 2, 12, 102, 32, 16}, .features = {.rule = &drafts}},
    {"pattern_tree_and_window", .shape = {1, 4, 1, 12, 102, 32, 16}, .types = {BF16, BF16, BF16, BF16},
     .features = {.rule = AND(&drafts, NOT(&far))}},
    {"pattern_line", .shape = {1, 2, 1, 90, 90, 16, 16}, .features = {.rule = &line}},
    {"pattern_causal_line", .shape = {1, 2, 1, 90, 90, 16, 16}, .features = {.rule = &causal_line}},
    {"pattern_image", .shape = {1, 2, 1, 117, 117, 16, 16}, .features = {.rule = &image}},
    {"pattern_dilated_image", .shape = {2, 2, 2, 117, 117, 24, 16}, .features = {.rule = &dilated_image}},
    {"pattern_volume", .shape = {1, 2, 1, 90, 90, 16, 16}, .features = {.rule = &volume}},
    {"pattern_of_each_head", .shape = {1, 4, 2, 70, 100, 16, 16},
     .features = {.rules = RULES(&causal, &near, NOT(&far), &every), .rule_heads = 4}},
    {"pattern_decode", .shape = {2, 4, 2, 1, 300, 64, 64}, .features = {.rule = OR(&near, &prefix)}},
    {"pattern_over_spans", .shape = {1, 2, 1, 20, 4200, 16, 16}, .features = {.rule = OR(&near, &first)}},
    {"pattern_and_rules_together", .shape = {2, 4, 2, 70, 200, 24, 16}, .types = {F16, BF16, F16, F16},
     .causal = true, .has_window = true, .window_left = 90, .window_right = -1, .offsets = LIST(130, 77),
     .q_lens = LIST(70, 33), .kv_lens = LIST(200, 131), .transposed = true,
     .mask = {FOVEA_MASK_F16, SELFTEST_HOLES, 2, 4, 70, 190}, .softcap = 3.0, .sink = FOVEA_SINK_PER_HEAD,
     .scores = FOVEA_SCORES_WEIGHTS, .features = {.rule = OR(&every, OR(&near, &global))}},
    {"pattern_packed", .shape = {3, 2, 2, 120, 150, 16, 16}, .cu_seqlens_q = CUMULATIVE(0, 41, 42, 120),
     .cu_seqlens_kv = CUMULATIVE(0, 41, 72, 150), .features = {.rule = OR(&near, &every), .by_row = true}},
    {"pattern_of_garbage", .shape = {1, 2, 2, 60, 100, 16, 16}, .content = {SELFTEST_GARBAGE, 40, 44},
     .features = {.rule = NOT(OR(&near, &global))}},
};

enum { COUNT = sizeof problems / sizeof problems[0] };

static const uint64_t digests[COUNT] = {
#include "selftest_pattern_digests.inc"
};

const selftest_table selftest_pattern_table = {"--print-patterns", problems, COUNT, digests};
