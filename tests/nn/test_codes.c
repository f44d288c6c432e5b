/* Quantised weights: packed from the bytes of each format, a layer has the bits of the existing f32 layer with the
 * numbers that contract_codes.c reads from these bytes. These numbers are those of gguf and ml_dtypes (codes.inc). What is refused,
 * and that nothing is written then. */
#include "nn/contract_codes.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/trial.h"

#include <fovea/weights.h>

#include <stdlib.h>
#include <string.h>

enum { FORMATS = FOVEA_NN_FORMAT_E4M3 + 1 };

static int has_words(fovea_nn_format format) {
  return format == FOVEA_NN_FORMAT_GPTQ || format == FOVEA_NN_FORMAT_AWQ;
}

/* ---- Weights ---------------------------------------------------------------------------------------------------- */

/* Sizes of a layer, and of what shares a scale, if the format leaves that to the caller. */
struct coded_size {
  int64_t in, out, group, group_outs;
};

/* Codes with all that belongs to them, between guard pages; what they become; and their numbers. */
struct coded {
  fovea_nn_codes codes;
  struct guarded data, scales, zeros, g_idx, packed;
  float *numbers;
};

static struct guarded random_bytes(int64_t size, struct generator *generator) {
  struct guarded memory = guarded_create((size_t)size, GUARD_AT_END);
  for (int64_t i = 0; i < size; i++) memory.data[i] = (unsigned char)generator_bits(generator);
  return memory;
}

/* An f16 that is finite and positive; if it may be special, any. */
static void draw_half(uint8_t *to, int special, struct generator *generator) {
  const uint64_t bits = generator_bits(generator);
  to[0] = (uint8_t)bits;
  to[1] = special && bits >> 32 & 1 ? (uint8_t)(bits >> 8) : (uint8_t)(0x24 + (bits >> 8) % 16);
}

/* Scales of e4m3 are finite, or any. Only the first output may have NaN among its codes: a row has NaN, or has not. */
static void draw_fp8(struct coded *coded, int special, struct generator *generator) {
  const fovea_type type = coded->codes.scale_type;
  const size_t bytes = type == FOVEA_F32 ? 4 : 2;
  for (size_t i = special ? (size_t)coded->codes.in : 0; i < coded->data.size; i++)
    if ((coded->data.data[i] & 0x7f) == 0x7f) coded->data.data[i] ^= 1;
  for (size_t i = 0; i < coded->scales.size; i += bytes) {
    uint8_t *top = coded->scales.data + i + bytes - 1;
    if (!special || generator_below(generator, 2))
      *top = (uint8_t)((*top & 0x80) + (type == FOVEA_F16 ? 0x28 : 0x3c) + *top % 4);
  }
}

/* Where the numbers of blocks are. */
static void draw_numbers(struct coded *coded, int special, struct generator *generator) {
  static const struct {
    int bytes, first, count;
  } halves[] = {{34, 0, 1},  {18, 0, 1},  {20, 0, 2},    {22, 0, 1}, {24, 0, 2},
                {144, 0, 2}, {176, 0, 2}, {210, 208, 1}, {18, 0, 1}};
  const fovea_nn_format format = coded->codes.format;
  for (size_t i = 0; has_words(format) && i < coded->scales.size; i += 2)
    draw_half(coded->scales.data + i, 0, generator);
  if (format == FOVEA_NN_FORMAT_E4M3) draw_fp8(coded, special, generator);
  for (size_t i = 0; format == FOVEA_NN_FORMAT_MXFP4 && !special && i < coded->data.size; i += 17)
    coded->data.data[i] = (uint8_t)(120 + coded->data.data[i] % 16);
  if (format >= FOVEA_NN_FORMAT_MXFP4) return;
  for (size_t i = 0; i < coded->data.size; i += (size_t)halves[format].bytes)
    for (int j = 0; j < halves[format].count; j++)
      draw_half(coded->data.data + i + halves[format].first + 2 * j, special, generator);
}

/* Each dim has a group of its own. */
static void draw_groups(struct coded *coded, int64_t groups, struct generator *generator) {
  coded->g_idx = random_bytes(coded->codes.in * 4, generator);
  for (int64_t d = 0; d < coded->codes.in; d++) {
    const int32_t group = (int32_t)generator_below(generator, groups);
    memcpy(coded->g_idx.data + 4 * d, &group, sizeof group);
  }
  coded->codes.g_idx = coded->g_idx.data;
}

static void pack(struct coded *coded, int threads) {
  size_t size = 0;
  fovea_error error;
  if (fovea_nn_codes_size(&coded->codes, &size, &error) != FOVEA_OK) fail_msg("%s", error.text);
  coded->packed = guarded_create(size, GUARD_AT_END);
  if (fovea_nn_pack_codes(&coded->codes, coded->packed.data, with_threads(threads), &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  assert_true(guarded_slack_intact(&coded->packed));
  guarded_make_read_only(&coded->packed);
}

static struct coded coded_create(fovea_nn_format format, struct coded_size size, int special,
                                 struct generator *generator) {
  const int64_t in = size.in, out = size.out, groups = size.group ? (in + size.group - 1) / size.group : 0;
  struct coded coded = {.data = random_bytes(contract_codes_bytes(format, in, out), generator)};
  fovea_nn_codes_init(&coded.codes, format, in, out, coded.data.data);
  if (has_words(format)) {
    coded.scales = random_bytes(groups * out * 2, generator);
    coded.zeros = random_bytes(groups * (out / 8) * 4, generator);
    coded.codes.group = size.group;
    coded.codes.scales = coded.scales.data;
    coded.codes.zeros = coded.zeros.data;
    coded.codes.zeros_less_one = format == FOVEA_NN_FORMAT_GPTQ && generator_below(generator, 2);
  }
  if (format == FOVEA_NN_FORMAT_GPTQ && generator_below(generator, 2)) draw_groups(&coded, groups, generator);
  if (format == FOVEA_NN_FORMAT_E4M3) {
    const int64_t rows = (out + size.group_outs - 1) / size.group_outs;
    coded.codes.group = size.group;
    coded.codes.group_outs = size.group_outs;
    coded.codes.scale_type = (fovea_type)generator_below(generator, 3);
    coded.scales = random_bytes(groups * rows * (coded.codes.scale_type == FOVEA_F32 ? 4 : 2), generator);
    coded.codes.scales = coded.scales.data;
  }
  draw_numbers(&coded, special, generator);
  pack(&coded, 1);
  coded.numbers = malloc((size_t)(in * out) * sizeof *coded.numbers);
  assert_non_null(coded.numbers);
  for (int64_t i = 0; i < in * out; i++) coded.numbers[i] = contract_codes_number(&coded.codes, i / in, i % in);
  return coded;
}

static void coded_destroy(struct coded *coded) {
  guarded_destroy(&coded->data);
  guarded_destroy(&coded->packed);
  if (coded->codes.scales) guarded_destroy(&coded->scales);
  if (coded->codes.zeros) guarded_destroy(&coded->zeros);
  if (coded->codes.g_idx) guarded_destroy(&coded->g_idx);
  free(coded->numbers);
}

static uint32_t bits_of_number(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return number != number ? 0x7fc00000u : bits;
}

/* ---- Formats ---------------------------------------------------------------------------------------------------- */

/* What gguf and ml_dtypes read from the same bytes, bit for bit. */
static void test_published(void **state) {
  static const struct {
    fovea_nn_format format;
    uint8_t bytes[288];
    uint32_t numbers[256];
  } published[] = {
#include "codes.inc"
  };
  (void)state;
  for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
    fovea_nn_codes codes;
    fovea_nn_codes_init(&codes, published[i].format, 256, 1, published[i].bytes);
    if (published[i].format == FOVEA_NN_FORMAT_E4M3) { /* the scale lies after the codes */
      codes.group = 256, codes.group_outs = 1;
      codes.scales = published[i].bytes + 256;
    }
    for (int64_t d = 0; d < 256; d++)
      assert_int_equal(bits_of_number(contract_codes_number(&codes, 0, d)), published[i].numbers[d]);
  }
}

/* Sizes that no piece, panel or group of panels divides, if the format allows it. */
static int sizes_of(fovea_nn_format format, struct coded_size sizes[6]) {
  static const struct coded_size blocks[] = {
      {32, 1, 0, 0}, {160, 17, 0, 0}, {416, 100, 0, 0}, {128, 64, 0, 0}, {96, 200, 0, 0}};
  static const struct coded_size large[] = {{256, 1, 0, 0}, {512, 70, 0, 0}, {768, 33, 0, 0}};
  static const struct coded_size words[] = {{8, 8, 8, 0},      {40, 72, 16, 0},   {136, 104, 128, 0},
                                            {200, 64, 200, 0}, {264, 136, 64, 0}, {320, 24, 32, 0}};
  /* One scale; one for each output; blocks of 128 x 128, of few rows, of one row; outputs before and after a block. */
  static const struct coded_size fp8[] = {{1, 1, 1, 1},         {130, 33, 130, 33}, {261, 100, 261, 1},
                                          {300, 200, 128, 128}, {70, 40, 128, 128}, {142, 65, 32, 7}};
  const int is_large = format >= FOVEA_NN_FORMAT_Q4_K && format <= FOVEA_NN_FORMAT_Q6_K;
  if (format == FOVEA_NN_FORMAT_E4M3) return memcpy(sizes, fp8, sizeof fp8), 6;
  if (has_words(format)) return memcpy(sizes, words, sizeof words), 6;
  if (is_large) return memcpy(sizes, large, sizeof large), 3;
  return memcpy(sizes, blocks, sizeof blocks), 5;
}

/* Where each number lies, and that bytes do not depend on threads. */
static void test_packed(void **state) {
  struct generator generator = {31};
  (void)state;
  for (int format = 0; format < FORMATS; format++) {
    struct coded_size sizes[6];
    const int count = sizes_of((fovea_nn_format)format, sizes);
    for (int i = 0; i < count; i++) {
      const int64_t in = sizes[i].in, out = sizes[i].out;
      struct coded coded = coded_create((fovea_nn_format)format, sizes[i], 0, &generator);
      for (int64_t j = 0; j < in * out; j++) {
        const float got = contract_codes_packed(coded.packed.data, j / in, j % in);
        if (bits_of_number(got) != bits_of_number(coded.numbers[j]))
          fail_msg("format %d, output %d, dim %d: %a, should be %a", format, (int)(j / in), (int)(j % in),
                   (double)got, (double)coded.numbers[j]);
      }
      struct guarded once = coded.packed;
      pack(&coded, 3);
      assert_memory_equal(coded.packed.data, once.data, once.size);
      guarded_destroy(&once);
      coded_destroy(&coded);
    }
  }
}

/* A g_idx that is in order gives the bytes that there are without it, and zeros after them. */
static void test_groups_in_order(void **state) {
  struct generator generator = {36};
  (void)state;
  for (int64_t group = 16; group <= 128; group *= 2) {
    struct coded coded = coded_create(FOVEA_NN_FORMAT_GPTQ, (struct coded_size){264, 40, group, 0}, 0, &generator);
    const struct guarded first = coded.packed;
    int32_t groups[264];
    size_t size = 0;
    for (int d = 0; d < 264; d++) groups[d] = (int32_t)(d / group);
    if (coded.codes.g_idx) guarded_destroy(&coded.g_idx);
    coded.codes.g_idx = NULL;
    assert_int_equal(fovea_nn_codes_size(&coded.codes, &size, NULL), FOVEA_OK);
    pack(&coded, 1);
    const struct guarded without = coded.packed;
    coded.codes.g_idx = groups;
    pack(&coded, 1);
    assert_int_equal(coded.packed.size, size + 264 / 16 * 64 + 64);
    assert_memory_equal(coded.packed.data, without.data, size);
    for (size_t i = size; i < coded.packed.size; i++) assert_int_equal(coded.packed.data[i], 0);
    struct guarded others[] = {first, without};
    for (int i = 0; i < 2; i++) guarded_destroy(&others[i]);
    coded.codes.g_idx = NULL;
    coded_destroy(&coded);
  }
}

/* ---- Layers ----------------------------------------------------------------------------------------------------- */

struct coded_rows {
  int64_t rows;
  fovea_type x_type;
  int special, padding, with_bias;
};

/* A layer of quantised weights beside the layer of their numbers. */
static void check_layer(const struct coded *coded, const struct coded_rows *c, struct generator *generator) {
  const int64_t in = coded->codes.in, out = coded->codes.out;
  struct matrix x = matrix_create(c->rows, in, in + c->padding, c->x_type, c->special, generator);
  struct matrix y = matrix_create(c->rows, out, out + c->padding, FOVEA_F32, 0, generator);
  struct matrix bias = matrix_create(1, out, out, FOVEA_F32, 0, generator);
  float *expected = malloc((size_t)(c->rows * out) * sizeof *expected);
  fovea_nn_linear plain, quantised;
  fovea_nn_linear_rows rows;
  fovea_error error;
  assert_non_null(expected);
  fovea_nn_linear_init(&plain, in, out, coded->numbers);
  fovea_nn_linear_init(&quantised, in, out, coded->packed.data);
  quantised.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  if (c->with_bias) plain.bias = quantised.bias = (const float *)(const void *)bias.memory.data;
  plain.activation = quantised.activation = c->with_bias ? FOVEA_NN_ACTIVATION_GELU : FOVEA_NN_ACTIVATION_NONE;
  for (const char *const *isa = usable_isas(); *isa; isa++) {
    fovea_nn_linear_rows_init(&rows, &plain, c->rows, x.memory.data, expected);
    rows.x_type = c->x_type;
    rows.x_stride = x.stride;
    if (fovea_nn_linear_run(&plain, &rows, on_isa(*isa), &error) != FOVEA_OK) fail_msg("%s", error.text);
    rows.y = y.memory.data;
    rows.y_stride = y.stride;
    for (int threads = 1; threads <= 3; threads += 2) {
      matrix_spoil(&y);
      if (fovea_nn_linear_run(&quantised, &rows, execution_of(*isa, threads), &error) != FOVEA_OK)
        fail_msg("%s", error.text);
      assert_matrix(&y, expected);
    }
  }
  free(expected);
  matrix_destroy(&x);
  matrix_destroy(&y);
  matrix_destroy(&bias);
}

/* Each format: few rows, a tile, several tiles. */
static void test_layers(void **state) {
  static const int64_t rows[] = {1, 2, 3, 4, 5, 16, 40};
  struct generator generator = {32};
  (void)state;
  for (int format = 0; format < FORMATS; format++) {
    struct coded_size sizes[6];
    const int count = sizes_of((fovea_nn_format)format, sizes);
    for (int i = 0; i < count; i++) {
      struct coded coded = coded_create((fovea_nn_format)format, sizes[i], 0, &generator);
      for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++) {
        const struct coded_rows c = {.rows = rows[j],
                                     .x_type = (fovea_type)generator_below(&generator, 3),
                                     .padding = (int)generator_below(&generator, 3),
                                     .with_bias = (int)generator_below(&generator, 2)};
        check_layer(&coded, &c, &generator);
      }
      coded_destroy(&coded);
    }
  }
}

/* Scales and rows that are zero, subnormal, infinite or NaN. */
static void test_special(void **state) {
  struct generator generator = {33};
  (void)state;
  for (int format = 0; format < FORMATS; format++) {
    struct coded coded = coded_create((fovea_nn_format)format, (struct coded_size){256, 40, 32, 16}, 1, &generator);
    for (int64_t rows = 1; rows <= 9; rows += 4) {
      const struct coded_rows c = {.rows = rows, .special = 20};
      check_layer(&coded, &c, &generator);
    }
    coded_destroy(&coded);
  }
}

/* Many outputs, so that tasks of few rows have several groups and there are several tasks; register tiles of many
 * rows; two pieces and a part. */
static void test_wide(void **state) {
  struct generator generator = {34};
  (void)state;
  static const fovea_nn_format formats[] = {FOVEA_NN_FORMAT_Q8_0, FOVEA_NN_FORMAT_IQ4_NL, FOVEA_NN_FORMAT_Q5_1,
                                            FOVEA_NN_FORMAT_E4M3, FOVEA_NN_FORMAT_GPTQ};
  for (int i = 0; i < 5; i++) {
    const struct coded_size size = {288, i == 4 ? 3304 : 3301, i < 3 ? 0 : 128, i < 3 ? 0 : 128};
    struct coded coded = coded_create(formats[i], size, 0, &generator);
    for (int64_t rows = 1; rows <= 33; rows += 16) {
      const struct coded_rows c = {.rows = rows};
      check_layer(&coded, &c, &generator);
    }
    coded_destroy(&coded);
  }
}

/* A layer of attention: its projections, in its scratch. Its output may not lie over quantised weights. */
static void test_attention(void **state) {
  enum { DIM = 64, LENGTH = 20 };
  struct generator generator = {35};
  struct coded coded[4];
  fovea_nn_linear layers[2][4];
  fovea_nn_attention attention[2];
  fovea_problem problem;
  fovea_error error;
  static float x[LENGTH * DIM], y[2][LENGTH * DIM];
  (void)state;
  for (int i = 0; i < LENGTH * DIM; i++) x[i] = generator_uniform(&generator);
  for (int i = 0; i < 4; i++) {
    coded[i] = coded_create(FOVEA_NN_FORMAT_Q4_1, (struct coded_size){DIM, DIM, 0, 0}, 0, &generator);
    fovea_nn_linear_init(&layers[0][i], DIM, DIM, coded[i].numbers);
    fovea_nn_linear_init(&layers[1][i], DIM, DIM, coded[i].packed.data);
    layers[1][i].layout = FOVEA_NN_WEIGHTS_QUANTISED;
  }
  fovea_problem_init(&problem, 1, 4, 4, LENGTH, LENGTH, DIM / 4, DIM / 4);
  for (int kind = 0; kind < 2; kind++) {
    fovea_nn_linear *l = layers[kind];
    fovea_nn_attention_tensors tensors;
    fovea_nn_attention_init(&attention[kind], &l[0], &l[1], &l[2], &l[3]);
    fovea_nn_attention_tensors_init(&tensors, x, y[kind]);
    if (fovea_nn_attention_run(&attention[kind], &problem, &tensors, NULL, &error) != FOVEA_OK)
      fail_msg("%s", error.text);
  }
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  fovea_nn_attention_tensors over;
  fovea_nn_attention_tensors_init(&over, x, coded[3].packed.data + coded[3].packed.size - 64);
  assert_int_equal(fovea_nn_attention_run(&attention[1], &problem, &over, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "y shares memory with");
  for (int i = 0; i < 4; i++) coded_destroy(&coded[i]);
}

/* ---- What is refused -------------------------------------------------------------------------------------------- */

static void assert_refused(const fovea_nn_codes *codes, void *weights, fovea_status expected, const char *text) {
  static unsigned char before[4096];
  fovea_error error;
  memcpy(before, weights ? weights : before, weights ? sizeof before : 0);
  assert_int_equal(fovea_nn_pack_codes(codes, weights, NULL, &error), expected);
  assert_error_says(&error, text);
  if (weights) assert_memory_equal(weights, before, sizeof before);
}

static void test_refused_codes(void **state) {
  _Alignas(64) static unsigned char data[4096], weights[4096 + 64];
  fovea_nn_codes codes;
  size_t size = 7;
  fovea_error error;
  (void)state;
  fovea_nn_codes_init(&codes, FOVEA_NN_FORMAT_Q8_0, 64, 16, data);
  const fovea_nn_codes good = codes;
#define REFUSED(field, value, status, text)                                                                        \
  codes = good, codes.field = (value), assert_refused(&codes, weights, status, text)
  REFUSED(in, 65, FOVEA_ERROR_ARGUMENT, "codes.in is 65; of this format it must be a multiple of 32");
  REFUSED(in, 0, FOVEA_ERROR_ARGUMENT, "codes.in is 0");
  REFUSED(out, -1, FOVEA_ERROR_ARGUMENT, "codes.out is -1");
  REFUSED(out, INT64_C(1) << 60, FOVEA_ERROR_ARGUMENT, "codes.out is");
  REFUSED(format, (fovea_nn_format)FORMATS, FOVEA_ERROR_ARGUMENT, "codes.format is 13");
  REFUSED(format, FOVEA_NN_FORMAT_Q6_K, FOVEA_ERROR_ARGUMENT,
          "codes.in is 64; of this format it must be a multiple of 256");
  REFUSED(data, NULL, FOVEA_ERROR_ARGUMENT, "codes.data is NULL");
  REFUSED(data, weights + 64, FOVEA_ERROR_ARGUMENT, "weights shares memory with codes.data");
  REFUSED(group, 32, FOVEA_ERROR_UNUSED, "codes.group is set and would not be used");
  REFUSED(scales, data, FOVEA_ERROR_UNUSED, "codes.scales is set and would not be used");
  REFUSED(zeros, data, FOVEA_ERROR_UNUSED, "codes.zeros is set and would not be used");
  REFUSED(zeros_less_one, 1, FOVEA_ERROR_UNUSED, "codes.zeros_less_one is set and would not be used");
  REFUSED(g_idx, data, FOVEA_ERROR_UNUSED, "codes.g_idx is set and would not be used");
  REFUSED(group_outs, 1, FOVEA_ERROR_UNUSED, "codes.group_outs is set and would not be used");
  REFUSED(scale_type, FOVEA_F16, FOVEA_ERROR_UNUSED, "codes.scale_type is set and would not be used");
  REFUSED(struct_size, sizeof codes - 1, FOVEA_ERROR_ARGUMENT, "codes.struct_size is");
  codes = good;
  assert_refused(&codes, NULL, FOVEA_ERROR_ARGUMENT, "weights is NULL");
  assert_refused(&codes, weights + 32, FOVEA_ERROR_ARGUMENT, "weights is 32 bytes off");
  assert_int_equal(fovea_nn_codes_size(&codes, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "size is NULL");
  codes.in = 33;
  assert_int_equal(fovea_nn_codes_size(&codes, &size, &error), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(size, 0);
}

static void test_refused_words(void **state) {
  _Alignas(64) static unsigned char data[4096], weights[4096 + 64];
  int32_t groups[64] = {0};
  fovea_nn_codes codes;
  (void)state;
  fovea_nn_codes_init(&codes, FOVEA_NN_FORMAT_GPTQ, 64, 16, data);
  codes.group = 32;
  codes.scales = codes.zeros = data;
  const fovea_nn_codes good = codes;
  REFUSED(in, 60, FOVEA_ERROR_ARGUMENT, "codes.in is 60; of this format it must be a multiple of 8");
  REFUSED(out, 12, FOVEA_ERROR_ARGUMENT, "codes.out is 12; of this format it must be a multiple of 8");
  REFUSED(group, 0, FOVEA_ERROR_ARGUMENT, "codes.group is 0; it must be 16, 32, 64, 128, or in, which is 64");
  REFUSED(group, 48, FOVEA_ERROR_ARGUMENT, "codes.group is 48");
  REFUSED(group, -1, FOVEA_ERROR_ARGUMENT, "codes.group is -1");
  REFUSED(scales, NULL, FOVEA_ERROR_ARGUMENT, "codes.scales is NULL");
  REFUSED(zeros, NULL, FOVEA_ERROR_ARGUMENT, "codes.zeros is NULL");
  REFUSED(zeros, weights, FOVEA_ERROR_ARGUMENT, "weights shares memory with codes.zeros");
  REFUSED(zeros_less_one, 2, FOVEA_ERROR_ARGUMENT, "codes.zeros_less_one is 2");
  REFUSED(group_outs, 128, FOVEA_ERROR_UNUSED, "codes.group_outs is set and would not be used");
  REFUSED(scale_type, FOVEA_BF16, FOVEA_ERROR_UNUSED, "codes.scale_type is set and would not be used");
  REFUSED(g_idx, weights + 4, FOVEA_ERROR_ARGUMENT, "weights shares memory with codes.g_idx");
  groups[5] = 2;
  REFUSED(g_idx, groups, FOVEA_ERROR_ARGUMENT, "codes.g_idx[5] is 2; it must be 0 to 1");
  groups[5] = -1;
  REFUSED(g_idx, groups, FOVEA_ERROR_ARGUMENT, "codes.g_idx[5] is -1; it must be 0 to 1");
  codes = good, codes.format = FOVEA_NN_FORMAT_AWQ, codes.g_idx = groups;
  assert_refused(&codes, weights, FOVEA_ERROR_UNUSED, "codes.g_idx is set and would not be used");
  codes = good, codes.format = FOVEA_NN_FORMAT_AWQ, codes.zeros_less_one = 1;
  assert_refused(&codes, weights, FOVEA_ERROR_UNUSED, "codes.zeros_less_one is set and would not be used");
}

/* Scattered groups have no int8 mode, and groups that are not there are refused also in packed weights. */
static void test_refused_groups(void **state) {
  _Alignas(64) static unsigned char data[4096], weights[4096];
  static const float x[64];
  int32_t groups[64] = {0, 1};
  float y[8];
  fovea_nn_codes codes;
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_error error;
  (void)state;
  fovea_nn_codes_init(&codes, FOVEA_NN_FORMAT_GPTQ, 64, 8, data);
  codes.group = 32;
  codes.scales = codes.zeros = data;
  codes.g_idx = groups;
  assert_int_equal(fovea_nn_pack_codes(&codes, weights, NULL, NULL), FOVEA_OK);
  fovea_nn_linear_init(&linear, 64, 8, weights);
  linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  fovea_nn_linear_rows_init(&rows, &linear, 1, x, y);
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, &error), FOVEA_OK);
  linear.mode = FOVEA_MODE_INT8;
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "linear.mode is FOVEA_MODE_INT8, which takes groups of dims in their order");
  linear.mode = FOVEA_MODE_EXACT;
  weights[64 + 4 * 63] = 2;
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "linear.weights have dim 63 in group 2; they have 2 groups");
}

/* int8 mode multiplies integers. */
static void test_refused_fp8(void **state) {
  _Alignas(64) static unsigned char data[4096], weights[4096 + 64];
  static const float x[60];
  float y = 7;
  fovea_nn_codes codes;
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_error error;
  (void)state;
  fovea_nn_codes_init(&codes, FOVEA_NN_FORMAT_E4M3, 60, 1, data);
  codes.group = codes.group_outs = 128;
  codes.scales = data;
  const fovea_nn_codes good = codes;
  REFUSED(group, 0, FOVEA_ERROR_ARGUMENT, "codes.group is 0; it must be 16, 32, 64, 128, or in, which is 60");
  REFUSED(group_outs, 0, FOVEA_ERROR_ARGUMENT, "codes.group_outs is 0");
  REFUSED(scale_type, (fovea_type)3, FOVEA_ERROR_ARGUMENT, "codes.scale_type is 3");
  REFUSED(scales, NULL, FOVEA_ERROR_ARGUMENT, "codes.scales is NULL");
  REFUSED(scales, weights + 60, FOVEA_ERROR_ARGUMENT, "weights shares memory with codes.scales");
  REFUSED(zeros, data, FOVEA_ERROR_UNUSED, "codes.zeros is set and would not be used");
  REFUSED(zeros_less_one, 1, FOVEA_ERROR_UNUSED, "codes.zeros_less_one is set and would not be used");
  assert_int_equal(fovea_nn_pack_codes(&good, weights, NULL, NULL), FOVEA_OK);
  fovea_nn_linear_init(&linear, 60, 1, weights);
  linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  linear.mode = FOVEA_MODE_INT8;
  fovea_nn_linear_rows_init(&rows, &linear, 1, x, &y);
  assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "linear.mode is FOVEA_MODE_INT8, which takes codes of integers");
  assert_true(y == 7);
}

static void assert_layer_refused(const fovea_nn_linear *linear, void *y, fovea_status expected, const char *text) {
  static const float x[64];
  fovea_nn_linear_rows rows;
  fovea_error error;
  fovea_nn_linear_rows_init(&rows, linear, 1, x, y);
  assert_int_equal(fovea_nn_linear_run(linear, &rows, NULL, &error), expected);
  assert_error_says(&error, text);
}

static void test_refused_layers(void **state) {
  _Alignas(64) static unsigned char data[4096], weights[4096];
  static float y[16];
  fovea_nn_codes codes;
  fovea_nn_linear linear;
  fovea_error error;
  (void)state;
  fovea_nn_codes_init(&codes, FOVEA_NN_FORMAT_Q8_0, 64, 16, data);
  assert_int_equal(fovea_nn_pack_codes(&codes, weights, NULL, NULL), FOVEA_OK);
  fovea_nn_linear_init(&linear, 64, 16, weights);
  linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  const fovea_nn_linear good = linear;
#define LAYER_REFUSED(field, value, status, text)                                                                  \
  linear = good, linear.field = (value), assert_layer_refused(&linear, y, status, text)
  LAYER_REFUSED(in, 32, FOVEA_ERROR_ARGUMENT, "linear.in is 32, and weights were packed for 64");
  LAYER_REFUSED(out, 15, FOVEA_ERROR_ARGUMENT, "linear.out is 15, and weights were packed for 16");
  LAYER_REFUSED(weights, NULL, FOVEA_ERROR_ARGUMENT, "linear.weights is NULL");
  LAYER_REFUSED(weights, weights + 4, FOVEA_ERROR_ARGUMENT, "linear.weights is 4 bytes off");
  LAYER_REFUSED(weights, data, FOVEA_ERROR_ARGUMENT, "linear.weights do not begin with the header");
  LAYER_REFUSED(weight_type, FOVEA_F16, FOVEA_ERROR_UNUSED, "linear.weight_type is 1 and would not be used");
  LAYER_REFUSED(weight_stride, 64, FOVEA_ERROR_UNUSED, "linear.weight_stride is 64 and would not be used");
  LAYER_REFUSED(layout, (fovea_nn_layout)3, FOVEA_ERROR_ARGUMENT, "linear.layout is 3");
  linear = good;
  assert_layer_refused(&linear, weights + 1024, FOVEA_ERROR_ARGUMENT, "y shares memory with weights");
  assert_int_equal(fovea_nn_pack(&linear, y, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "linear.layout is FOVEA_NN_WEIGHTS_QUANTISED");
  /* Fields of the header: bits, group, has_offsets, is_e4m3, is_scattered. */
  static const struct {
    int at;
    unsigned char value;
    const char *text;
  } headers[] = {{4, 5, "linear.weights hold codes of 5 bits"},
                 {24, 33, "linear.weights have a scale for each 33 dims"},
                 {28, 2, "linear.has_offsets of weights is 2"},
                 {48, 2, "linear.is_e4m3 of weights is 2"},
                 {52, 1, "linear.is_scattered of weights is 1"}};
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    const unsigned char before = weights[headers[i].at];
    weights[headers[i].at] = headers[i].value;
    assert_layer_refused(&linear, y, FOVEA_ERROR_ARGUMENT, headers[i].text);
    weights[headers[i].at] = before;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_published),
      cmocka_unit_test(test_packed),
      cmocka_unit_test(test_layers),
      cmocka_unit_test(test_special),
      cmocka_unit_test(test_wide),
      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_refused_codes),
      cmocka_unit_test(test_refused_words),
      cmocka_unit_test(test_refused_fp8),
      cmocka_unit_test(test_refused_groups),
      cmocka_unit_test(test_groups_in_order),
      cmocka_unit_test(test_refused_layers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
