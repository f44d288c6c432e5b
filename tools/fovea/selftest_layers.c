/* The table of layers. */
#include "selftest_layers.h"

/* clang-format off */
#define F16  FOVEA_F16
#define BF16 FOVEA_BF16
#define RELU FOVEA_NN_ACTIVATION_RELU
#define IN_BF16 .mode = FOVEA_MODE_BF16, .weights = BF16, .packed = true
#define IN_INT8 .mode = FOVEA_MODE_INT8
#define CODES(name) .kind = SELFTEST_CODES, .format = FOVEA_NN_FORMAT_##name

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
    {"linear_tiles", 300, 200, 61, .packed = false},
    {"linear_tiles_panels", 257, 130, 43, .packed = true, .bias = true, .residual = true},
    {"linear_tiles_f16", 129, 200, 30, .weights = F16, .x = F16, .y = BF16, .bias = true, .activation = RELU},
    {"linear_strange", 300, 200, 30, .strange = 2000},
    {"linear_bf16_mode", 300, 70, 1, IN_BF16},
    {"linear_bf16_mode_rows", 129, 33, 7, IN_BF16, .x = BF16, .y = BF16},
    {"linear_bf16_mode_tiles", 517, 150, 61, IN_BF16, .strange = 4000},
    {"linear_bf16_mode_all", 384, 70, 35, IN_BF16, .x = F16, .bias = true, .gate = true, .residual = true,
     .activation = RELU},
    {"linear_int8_mode", 300, 70, 1, IN_INT8, .kind = SELFTEST_QUANTISED},
    {"linear_int8_mode_rows", 129, 33, 7, IN_INT8, .kind = SELFTEST_QUANTISED, .x = BF16, .y = BF16},
    {"linear_int8_mode_tiles", 517, 150, 61, IN_INT8, .kind = SELFTEST_QUANTISED, .strange = 4000},
    {"linear_int8_mode_all", 384, 70, 35, IN_INT8, .kind = SELFTEST_QUANTISED, .weights = BF16, .x = F16, .bias = true,
     .gate = true, .residual = true, .activation = RELU},
    {"linear_q8_0", 288, 70, 1, CODES(Q8_0)},
    {"linear_q8_0_tiles", 288, 200, 30, CODES(Q8_0), .x = BF16, .bias = true},
    {"linear_q4_0", 416, 70, 3, CODES(Q4_0)},
    {"linear_q4_1", 96, 33, 9, CODES(Q4_1), .strange = 300},
    {"linear_q5_0", 160, 17, 4, CODES(Q5_0)},
    {"linear_q5_1", 160, 33, 5, CODES(Q5_1)},
    {"linear_q4_k", 512, 70, 2, CODES(Q4_K)},
    {"linear_q4_k_tiles", 256, 130, 20, CODES(Q4_K), .residual = true},
    {"linear_q5_k", 256, 33, 5, CODES(Q5_K)},
    {"linear_q6_k", 256, 33, 5, CODES(Q6_K)},
    {"linear_iq4_nl", 160, 33, 5, CODES(IQ4_NL)},
    {"linear_mxfp4", 288, 70, 3, CODES(MXFP4)},
    {"linear_mxfp4_tiles", 160, 200, 20, CODES(MXFP4), .activation = RELU},
    {"linear_gptq", 264, 72, 3, CODES(GPTQ), .group = 128, .zeros_less_one = true},
    {"linear_gptq_tiles", 200, 136, 20, CODES(GPTQ), .group = 200},
    {"linear_awq", 264, 72, 5, CODES(AWQ), .group = 64},
    {"linear_gptq_scattered", 264, 72, 3, CODES(GPTQ), .group = 32, .scattered = true},
    {"linear_gptq_scattered_tiles", 200, 136, 20, CODES(GPTQ), .group = 64, .scattered = true, .zeros_less_one = true},
    {"linear_e4m3", 300, 70, 3, CODES(E4M3), .group = 128, .group_outs = 128},
    {"linear_e4m3_bf16_scales", 257, 33, 5, CODES(E4M3), .group = 257, .group_outs = 1, .scales = BF16},
    {"linear_e4m3_tiles", 256, 130, 20, CODES(E4M3), .group = 256, .group_outs = 130, .scales = F16},
    {"linear_int8_q8_0", 288, 70, 1, IN_INT8, CODES(Q8_0)},
    {"linear_int8_q8_0_tiles", 160, 100, 40, IN_INT8, CODES(Q8_0), .strange = 3000},
    {"linear_int8_q4_0", 416, 70, 5, IN_INT8, CODES(Q4_0), .x = BF16},
    {"linear_int8_q4_k", 512, 70, 1, IN_INT8, CODES(Q4_K)},
    {"linear_int8_q4_k_tiles", 256, 100, 40, IN_INT8, CODES(Q4_K), .bias = true},
    {"linear_int8_q6_k", 256, 33, 20, IN_INT8, CODES(Q6_K)},
    {"linear_int8_iq4_nl", 160, 33, 20, IN_INT8, CODES(IQ4_NL), .y = F16},
    {"linear_int8_mxfp4", 288, 70, 20, IN_INT8, CODES(MXFP4)},
    {"linear_int8_gptq", 264, 104, 40, IN_INT8, CODES(GPTQ), .group = 128, .zeros_less_one = true},
    {"linear_int8_gptq_one_group", 200, 72, 20, IN_INT8, CODES(GPTQ), .group = 200, .residual = true},
    {"linear_bf16_mode_small", 150, 50, 7, IN_BF16, .gain = 0x1p-56f},
    {"linear_bf16_mode_small_tiles", 150, 70, 40, IN_BF16, .gain = 0x1p-56f},
};
/* clang-format on */

const int selftest_layer_count = (int)(sizeof selftest_layers / sizeof selftest_layers[0]);

const uint64_t selftest_layer_digests[sizeof selftest_layers / sizeof selftest_layers[0]] = {
#include "selftest_layer_digests.inc"
};
