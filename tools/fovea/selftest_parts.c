/* The table of parts of models. */
#include "selftest_parts.h"

/* clang-format off */
#define F16    FOVEA_F16
#define BF16   FOVEA_BF16
#define HALVES FOVEA_NN_WAVES_IN_HALVES
#define TO_BASE FOVEA_NN_WAVES_TO_BASE

/* Names and kinds are followed by rows and dims, shapes as in selftest_shape. */
const selftest_part selftest_parts[] = {
    {"relu_to_bf16", SELFTEST_ACTIVATION, 5, 61, .y = BF16, .strange = 5, .activation = FOVEA_NN_ACTIVATION_RELU},
    {"gelu", SELFTEST_ACTIVATION, 20, 131, .gain = 8, .strange = 9, .activation = FOVEA_NN_ACTIVATION_GELU},
    {"gelu_f16", SELFTEST_ACTIVATION, 7, 40, .x = F16, .y = F16, .gain = 4, .activation = FOVEA_NN_ACTIVATION_GELU},
    {"gelu_tanh", SELFTEST_ACTIVATION, 20, 131, .gain = 8, .strange = 9, .activation = FOVEA_NN_ACTIVATION_GELU_TANH},
    {"gelu_tanh_bf16", SELFTEST_ACTIVATION, 7, 40, .x = BF16, .gain = 2, .activation = FOVEA_NN_ACTIVATION_GELU_TANH},
    {"silu", SELFTEST_ACTIVATION, 20, 131, .gain = 64, .strange = 9, .activation = FOVEA_NN_ACTIVATION_SILU},
    {"silu_bf16_to_f16", SELFTEST_ACTIVATION, 7, 40, .x = BF16, .y = F16, .gain = 4, .activation = FOVEA_NN_ACTIVATION_SILU},
    {"softmax", SELFTEST_SOFTMAX, 9, 301, .gain = 4},
    {"softmax_one", SELFTEST_SOFTMAX, 3, 1, .strange = 2},
    {"softmax_strange", SELFTEST_SOFTMAX, 40, 37, .x = BF16, .y = F16, .strange = 40},
    {"layer_norm", SELFTEST_NORM, 7, 77, .gamma = true, .beta = true},
    {"layer_norm_strange", SELFTEST_NORM, 40, 19, .x = F16, .y = BF16, .gamma = true, .strange = 30},
    {"layer_norm_sum", SELFTEST_NORM, 7, 131, .x = BF16, .other = F16, .beta = true, .residual = true},
    {"rms_norm", SELFTEST_NORM, 7, 300, .norm = FOVEA_NN_RMS_NORM, .gamma = true},
    {"rms_norm_sum", SELFTEST_NORM, 9, 30, .y = F16, .other = BF16, .strange = 50, .norm = FOVEA_NN_RMS_NORM,
     .gamma = true, .residual = true},
    {"sinusoids", SELFTEST_SINUSOIDS, 20, 64, .first = 0},
    {"sinusoids_odd", SELFTEST_SINUSOIDS, 9, 77, .layout = HALVES, .base = 500000, .first = -1000003},
    {"sinusoids_to_base", SELFTEST_SINUSOIDS, 9, 76, .layout = HALVES, .exponent = TO_BASE, .first = 4990},
    {"sinusoids_to_base_odd", SELFTEST_SINUSOIDS, 5, 131, .x = F16, .y = BF16, .strange = 20, .residual = true,
     .exponent = TO_BASE, .base = 1.5, .first = INT64_C(1099511627000)},
    {"buckets_both_ways", SELFTEST_BUCKETS, 701, 1, .first = -350, .bidirectional = true, .buckets = 32,
     .max_distance = 128},
    {"buckets_one_way", SELFTEST_BUCKETS, 601, 1, .first = -500, .buckets = 33, .max_distance = 1000},
    {"embedding", SELFTEST_EMBEDDING, 20, 51, .strange = 9},
    {"embedding_three", SELFTEST_EMBEDDING, 20, 67, .x = F16, .y = BF16, .other = BF16, .residual = true, .first = 3},
    {"dropout", SELFTEST_DROPOUT, 13, 77, .strange = 9, .first = INT64_C(1) << 40, .p = 0.1f},
    {"dropout_half", SELFTEST_DROPOUT, 9, 50, .x = BF16, .y = F16, .p = 0.5f},
    {"multi_head_self", SELFTEST_MULTI_HEAD, .dim = 37, .shape = {2, 6, 3, 19, 19, 10, 12}, .causal = true,
     .rotary = true, .first = 100, .residual = true},
    {"multi_head_cross", SELFTEST_MULTI_HEAD, .dim = 40, .x = F16, .y = BF16, .other = BF16,
     .shape = {3, 4, 2, 5, 150, 16, 9}, .bias_kv = true},
    {"multi_head_strange", SELFTEST_MULTI_HEAD, .dim = 21, .other = F16, .strange = 300,
     .shape = {1, 3, 3, 40, 40, 7, 7}, .causal = true},
    {"block_encoder", SELFTEST_BLOCK, .dim = 24, .activation = FOVEA_NN_ACTIVATION_GELU, .shape = {2, 3, 3, 11, 11, 8, 8}},
    {"block_decoder", SELFTEST_BLOCK, .dim = 30, .other = BF16, .activation = FOVEA_NN_ACTIVATION_RELU,
     .shape = {2, 3, 3, 9, 13, 10, 10}, .causal = true, .cross = true},
    {"block_norm_first", SELFTEST_BLOCK, .dim = 33, .other = F16, .activation = FOVEA_NN_ACTIVATION_SILU,
     .norm = FOVEA_NN_RMS_NORM, .shape = {1, 4, 2, 17, 7, 9, 5}, .causal = true, .cross = true, .gate = true,
     .norm_first = true},
    {"additive", SELFTEST_ADDITIVE, .dim = 50, .y = F16, .other = BF16, .shape = {2, 1, 1, 9, 300, 1, 13}, .in = 19},
    {"additive_projected", SELFTEST_ADDITIVE, .dim = 21, .strange = 60, .shape = {1, 1, 1, 20, 70, 1, 8}},
    {"gru", SELFTEST_GRU, 5, 35, .in = 22},
    {"gru_projected", SELFTEST_GRU, 9, 20, .x = F16, .y = BF16, .other = F16, .gain = 16, .strange = 20},
    {"lstm", SELFTEST_LSTM, 5, 35, .in = 22},
    {"lstm_projected", SELFTEST_LSTM, 9, 20, .x = BF16, .y = F16, .other = BF16, .gain = 16, .strange = 20},
};
/* clang-format on */

const int selftest_part_count = (int)(sizeof selftest_parts / sizeof selftest_parts[0]);

const uint64_t selftest_part_digests[sizeof selftest_parts / sizeof selftest_parts[0]] = {
#include "selftest_part_digests.inc"
};
