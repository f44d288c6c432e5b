/* The table of layers. */
#include "selftest_layers.h"

/* clang-format off */
#define F16  FOVEA_F16
#define BF16 FOVEA_BF16
#define RELU FOVEA_NN_ACTIVATION_RELU
/* clang-format on */

/* Names are followed by inputs, outputs and rows. */
const selftest_layer selftest_layers[] = {
    {"linear_one", 1, 1, 1, .packed = false},
    {"linear_row", 300, 70, 1, .packed = false},
    {"linear_rows", 300, 70, 13, .packed = false},
    {"linear_panels", 300, 70, 13, .packed = true},
    {"linear_many_rows", 128, 64, 200, .packed = false},
    {"linear_pieces", 1000, 33, 5, .packed = true},
    {"linear_bias", 77, 40, 9, .bias = true},
    {"linear_relu", 77, 40, 9, .bias = true, .activation = RELU},
    {"linear_gate", 77, 40, 9, .gate = true},
    {"linear_residual", 77, 40, 9, .bias = true, .residual = true},
    {"linear_all", 150, 90, 20, .packed = true, .bias = true, .gate = true, .residual = true, .activation = RELU},
    {"linear_f16", 150, 50, 7, .weights = F16, .x = F16, .y = F16},
    {"linear_bf16", 150, 50, 7, .weights = BF16, .x = BF16, .y = BF16},
    {"linear_bf16_weights", 151, 50, 7, .weights = BF16, .packed = true},
    {"linear_f16_weights", 151, 50, 7, .weights = F16, .packed = true},
    {"linear_f16_to_bf16", 150, 50, 7, .x = F16, .y = BF16},
};

const int selftest_layer_count = (int)(sizeof selftest_layers / sizeof selftest_layers[0]);

const uint64_t selftest_layer_digests[sizeof selftest_layers / sizeof selftest_layers[0]] = {
#include "selftest_layer_digests.inc"
};
