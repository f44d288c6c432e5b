/* The table of rotary embeddings. */
#include "selftest_rotary.h"

/* clang-format off */
#define LIST(...) (const double[]){__VA_ARGS__}
#define EVEN      FOVEA_ROTARY_INTERLEAVED
#define HALVES    FOVEA_ROTARY_HALVES
#define F16       FOVEA_F16
#define BF16      FOVEA_BF16
/* clang-format on */

/* Layouts are followed by batch, heads, rows, dims and dim. */
const selftest_rotary selftest_rotaries[] = {
    {"rotary_interleaved", EVEN, 2, 3, 20, 64, 64, .first = 0},
    {"rotary_halves", HALVES, 2, 3, 20, 64, 64, .first = 0},
    {"rotary_one_pair", HALVES, 1, 1, 7, 2, 2, .first = 5},
    {"rotary_partial", EVEN, 1, 2, 9, 22, 37, .first = 100},
    {"rotary_partial_halves", HALVES, 1, 2, 9, 22, 37, .first = 100},
    {"rotary_wide", HALVES, 1, 2, 5, 300, 301, .first = 4000},
    {"rotary_f16", HALVES, 1, 2, 9, 30, 37, .first = 100, .from = F16, .to = F16},
    {"rotary_bf16", EVEN, 1, 2, 9, 30, 37, .first = 100, .from = BF16, .to = BF16},
    {"rotary_to_f16", EVEN, 1, 2, 9, 30, 37, .first = 100, .to = F16},
    {"rotary_f16_to_bf16", HALVES, 1, 2, 9, 30, 37, .first = 100, .from = F16, .to = BF16},
    {"rotary_bf16_to_f32", HALVES, 1, 2, 9, 30, 37, .first = 100, .from = BF16},
    {"rotary_base_500000", HALVES, 1, 1, 9, 128, 128, .first = 1000000, .base = 500000.0},
    {"rotary_base_1_5", EVEN, 1, 1, 9, 80, 80, .first = 1000000, .base = 1.5},
    {"rotary_base_1e300", EVEN, 1, 1, 9, 80, 80, .first = 1000000, .base = 1e300},
    {"rotary_negative", HALVES, 1, 1, 20, 64, 64, .first = -1000007},
    {"rotary_far", HALVES, 1, 1, 1025, 64, 64, .first = -INT64_C(1099511627776), .step = 2147483648, .base = 1e6},
    {"rotary_frequencies", EVEN, 1, 1, 50, 12, 12, .first = -25, .step = 999999937,
     .frequencies = LIST(1.0, -1.0, 0.0, 0x1p-30, 0x1.921fb54442d18p+1, 4294967296.0)},
    {"rotary_tables", HALVES, 2, 2, 6, 36, 40, .first = 0, .tables = true},
    /* Embeddings that show the last bit of a cosine. */
    {"rotary_many_positions", EVEN, 1, 1, 4000, 128, 128, .first = 0, .step = 257},
};

const int selftest_rotary_count = (int)(sizeof selftest_rotaries / sizeof selftest_rotaries[0]);

const uint64_t selftest_rotary_digests[sizeof selftest_rotaries / sizeof selftest_rotaries[0]] = {
#include "selftest_rotary_digests.inc"
};
