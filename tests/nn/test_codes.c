/* Quantised weights: what gguf and ml_dtypes read from bytes (codes.inc), where each number lies when they are packed, and
 * what is refused: then nothing is written. */
#include "nn/contract_codes.h"
#include "nn/drawn_codes.h"
#include "support/check.h"
#include "support/error_says.h"

#include <string.h>

static uint32_t bits_of_number(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return number != number ? 0x7fc00000u : bits;
}

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

/* Where each number lies, and that bytes do not depend on threads. */
static void test_packed(void **state) {
  struct generator generator = {31};
  (void)state;
  for (int format = 0; format < FORMATS; format++) {
    struct coded_size sizes[6];
    const int count = coded_sizes_of((fovea_nn_format)format, sizes);
    for (int i = 0; i < count; i++) {
      const int64_t in = sizes[i].in, out = sizes[i].out;
      struct drawn_codes coded = drawn_codes_create((fovea_nn_format)format, sizes[i], 0, &generator);
      for (int64_t j = 0; j < in * out; j++) {
        const float got = contract_codes_packed(coded.packed.data, j / in, j % in);
        if (bits_of_number(got) != bits_of_number(coded.numbers[j]))
          fail_msg("format %d, output %d, dim %d: %a, should be %a", format, (int)(j / in), (int)(j % in),
                   (double)got, (double)coded.numbers[j]);
      }
      struct guarded once = coded.packed;
      drawn_codes_pack(&coded, 3);
      assert_memory_equal(coded.packed.data, once.data, once.size);
      guarded_destroy(&once);
      drawn_codes_destroy(&coded);
    }
  }
}

/* A g_idx that is in order gives the bytes that there are without it, and zeros after them. */
static void test_groups_in_order(void **state) {
  struct generator generator = {36};
  (void)state;
  for (int64_t group = 16; group <= 128; group *= 2) {
    struct drawn_codes coded =
        drawn_codes_create(FOVEA_NN_FORMAT_GPTQ, (struct coded_size){264, 40, group, 0}, 0, &generator);
    const struct guarded first = coded.packed;
    int32_t groups[264];
    size_t size = 0;
    for (int d = 0; d < 264; d++) groups[d] = (int32_t)(d / group);
    if (coded.codes.g_idx) guarded_destroy(&coded.g_idx);
    coded.codes.g_idx = NULL;
    assert_int_equal(fovea_nn_codes_size(&coded.codes, &size, NULL), FOVEA_OK);
    drawn_codes_pack(&coded, 1);
    const struct guarded without = coded.packed;
    coded.codes.g_idx = groups;
    drawn_codes_pack(&coded, 1);
    assert_int_equal(coded.packed.size, size + 264 / 16 * 64 + 64);
    assert_memory_equal(coded.packed.data, without.data, size);
    for (size_t i = size; i < coded.packed.size; i++) assert_int_equal(coded.packed.data[i], 0);
    struct guarded others[] = {first, without};
    for (int i = 0; i < 2; i++) guarded_destroy(&others[i]);
    coded.codes.g_idx = NULL;
    drawn_codes_destroy(&coded);
  }
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

static void test_refused_fp8(void **state) {
  _Alignas(64) static unsigned char data[4096], weights[4096 + 64];
  fovea_nn_codes codes;
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
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_published),       cmocka_unit_test(test_packed),
      cmocka_unit_test(test_groups_in_order), cmocka_unit_test(test_refused_codes),
      cmocka_unit_test(test_refused_words),   cmocka_unit_test(test_refused_fp8),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
