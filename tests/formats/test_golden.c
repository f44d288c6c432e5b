/* The plain models of quantised caches against bytes and numbers that the formats' own projects made (golden/), and,
 * where no golden file can be, against rows that a person can follow. */
#include "contract_formats.h"
#include "golden_file.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct preset {
  const char *file;
  enum contract_preset preset;
  int cases;
} presets[] = {
    {"q8_kv", CONTRACT_Q8_KV, 12},
    {"q8_0", CONTRACT_Q8_0, 12},
    {"q8_0_cpu", CONTRACT_Q8_0_CPU, 12},
    {"q4_0", CONTRACT_Q4_0, 12},
    {"q4_1", CONTRACT_Q4_1, 12},
    {"q5_0", CONTRACT_Q5_0, 12},
    {"q5_1", CONTRACT_Q5_1, 12},
    {"iq4_nl", CONTRACT_IQ4_NL, 13},
    {"openvino_u8", CONTRACT_OPENVINO_U8, 12},
    {"openvino_u8_32", CONTRACT_OPENVINO_U8, 3},
    {"openvino_u4", CONTRACT_OPENVINO_U4, 12},
    {"openvino_i8", CONTRACT_OPENVINO_I8, 12},
    {"openvino_u8_channel", CONTRACT_OPENVINO_U8_CHANNEL, 3},
    {"openvino_u4_channel", CONTRACT_OPENVINO_U4_CHANNEL, 3},
    {"onnxruntime_s8", CONTRACT_ORT_S8, 5},
    {"onnxruntime_s8_channel", CONTRACT_ORT_S8_CHANNEL, 5},
    {"onnxruntime_u4", CONTRACT_ORT_U4, 5},
    {"onnxruntime_u4_channel", CONTRACT_ORT_U4_CHANNEL, 5},
    {"e4m3", CONTRACT_E4M3, 4},
    {"e5m2", CONTRACT_E5M2, 4},
    {"vllm_e4m3", CONTRACT_VLLM_E4M3_KEYS, 1},
    {"vllm_e5m2", CONTRACT_VLLM_E5M2_KEYS, 1},
};

/* Read back through attention over one key: 0 + 1 * x, so a zero has lost its sign. */
static bool output_of_attention(enum contract_preset preset) {
  return preset >= CONTRACT_OPENVINO_U8 && preset <= CONTRACT_ORT_U4_CHANNEL;
}

static void assert_floats(const struct golden_case *golden, const char *file, const float *got,
                          const float *expected, int64_t count, bool signed_zeros) {
  for (int64_t i = 0; i < count; i++) {
    if (bits_of(got[i]) == bits_of(expected[i])) continue;
    if (!signed_zeros && got[i] == 0.0f && expected[i] == 0.0f) continue;
    fail_msg("%s, %.*s: number %d is %a, should be %a", file, (int)golden->name.length, golden->name.data, (int)i,
             (double)got[i], (double)expected[i]);
  }
}

static void check_output(const struct preset *p, const struct contract_format *format, struct contract_cache *cache,
                         const struct golden_case *golden) {
  float *expected = NULL;
  const int64_t count = format->keys * format->dim;
  assert_int_equal(golden_floats(golden->output, &expected), count);
  float *got = malloc((size_t)count * sizeof *got);
  assert_non_null(got);
  for (int64_t i = 0; i < count; i++) got[i] = contract_element(format, cache, i / format->dim, i % format->dim);
  assert_floats(golden, p->file, got, expected, count, !output_of_attention(p->preset));
  free(got);
  free(expected);
}

/* Takes differences out of the bytes that come from the CPU, not from the rule. */
static void settle(const struct contract_format *format, uint8_t *bytes) {
  const int64_t dim = format->dim;
  if (format->preset == CONTRACT_IQ4_NL) {
    for (int64_t g = 0; g < dim / 32; g++) {
      uint8_t *group = bytes + 18 * g;
      if ((group[1] & 0x7c) == 0x7c && (group[1] & 3) + group[0] != 0)
        contract_store_f16(group, from_bits(0x7fc00000));
    }
  }
  /* The sign of a zero that is 0 depends on the width of the vectors. */
  if (format->preset == CONTRACT_OPENVINO_U8 || format->preset == CONTRACT_OPENVINO_U4) {
    const int64_t own = format->group ? format->group : dim;
    for (int64_t g = 0; g < dim / own; g++) {
      uint8_t *zero = bytes + g * (8 + (format->preset == CONTRACT_OPENVINO_U8 ? own : own / 2)) + 4;
      if (contract_load_f32(zero) == 0.0f) contract_store_f32(zero, 0.0f);
    }
  }
  if (format->preset == CONTRACT_OPENVINO_U8_CHANNEL || format->preset == CONTRACT_OPENVINO_U4_CHANNEL) {
    for (int64_t d = 0; d < dim; d++) {
      uint8_t *zero = bytes + 4 * (dim + d);
      if (contract_load_f32(zero) == 0.0f) contract_store_f32(zero, 0.0f);
    }
  }
}

static void check_bytes(const struct preset *p, const struct contract_format *format, struct contract_cache *cache,
                        const struct golden_case *golden, uint8_t *expected) {
  float *input = NULL;
  const int64_t count = golden_floats(golden->input, &input);
  struct contract_format written = *format; /* a page may hold fewer keys */
  written.keys = count / format->dim;
  assert_true(count % format->dim == 0 && written.keys > 0 && written.keys <= format->keys);
  const int64_t size = contract_codes_size(format);
  struct contract_cache got = {calloc(1, (size_t)size), cache->scales, NULL};
  assert_non_null(got.codes);
  if (written.keys < format->keys) assert_true(contract_codes_size(&written) < size);
  contract_quantise(&written, input, &got);
  settle(format, expected);
  settle(format, got.codes);
  for (int64_t i = 0; i < size; i++)
    if (got.codes[i] != expected[i])
      fail_msg("%s, %.*s: byte %d is %02x, should be %02x", p->file, (int)golden->name.length, golden->name.data,
               (int)i, got.codes[i], expected[i]);
  free(got.codes);
  free(input);
}

/* One of a page's two sides: keys, and for vLLM values. */
static void check_side(const struct preset *p, const struct contract_format *format,
                       const struct golden_case *golden, struct golden_text stored, uint8_t *scales) {
  struct contract_cache cache = {NULL, scales, NULL};
  assert_int_equal(golden_bytes(stored, &cache.codes), contract_codes_size(format));
  if (golden->output.data) check_output(p, format, &cache, golden);
  if (golden->input.data) check_bytes(p, format, &cache, golden, cache.codes);
  free(cache.codes);
}

static void check_file(const struct preset *p, const char *directory) {
  struct golden_file file;
  struct golden_case golden;
  if (!golden_open(&file, directory, p->file)) fail_msg("no file %s/%s.txt", directory, p->file);
  struct contract_format format = {p->preset, golden_number(file.dim), golden_number(file.keys),
                                   golden_number(file.group), FOVEA_F32};
  assert_true(golden_is(file.preset, p->file) && format.dim > 0 && format.keys > 0);
  int cases = 0;
  for (; golden_next(&file, &golden); cases++) {
    uint8_t *scales = NULL;
    if (golden.scales.data) assert_true(golden_bytes(golden.scales, &scales) > 0);
    check_side(p, &format, &golden, golden.bytes, scales);
    if (golden.values.data) { /* vLLM: the preset of values follows the preset of keys, and so do the scales */
      struct contract_format values = format;
      values.preset = (enum contract_preset)(format.preset + 1);
      check_side(p, &values, &golden, golden.values, scales + 4);
    }
    free(scales);
  }
  assert_int_equal(cases, p->cases);
  golden_close(&file);
}

static void test_files(void **state) {
  (void)state;
  const char *directory = getenv("FOVEA_GOLDEN_DIR");
  for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
    check_file(&presets[i], directory ? directory : FOVEA_GOLDEN_DIRECTORY);
}

/* The library's own rule of rows, number by number. */
static void test_rows(void **state) {
  (void)state;
  struct contract_format format = {CONTRACT_I8_ROWS, 8, 1, 0, FOVEA_F32};
  uint8_t codes[8], scale[4];
  struct contract_cache cache = {codes, scale, NULL};
  const float ties[8] = {127, -127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -0.0f};
  const uint8_t expected[8] = {127, 0x81, 0, 2, 2, 0, 0xfe, 0};
  contract_quantise(&format, ties, &cache);
  assert_memory_equal(codes, expected, 8);
  assert_true(contract_load_f32(scale) == 1.0f);
  assert_true(contract_element(&format, &cache, 0, 6) == -2.0f);

  const float small[8] = {0x1.fffffep-101f, 0, 0, 0, 0, 0, 0, 0},
              least[8] = {0x1p-100f, -0x1p-101f, 0, 0, 0, 0, 0, 0};
  const uint8_t none[8] = {0};
  contract_quantise(&format, small, &cache);
  assert_memory_equal(codes, none, 8);
  assert_true(contract_load_f32(scale) == 0.0f);
  contract_quantise(&format, least, &cache);
  assert_true(codes[0] == 127 && codes[1] == 0xc0); /* -63.5 goes to -64, which is even */
  assert_true(contract_load_f32(scale) == 0x1p-100f / 127.0f);

  const uint32_t strange[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffffffffu};
  for (int i = 0; i < 8; i++) {
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    x[i] = from_bits(strange[i % 4]);
    contract_quantise(&format, x, &cache);
    assert_memory_equal(codes, none, 8);
    assert_true(bits_of(contract_load_f32(scale)) == 0x7fc00000u);
  }
}

/* A scale in f16 is rounded after the codes are made from the f32 scale. */
static void test_half_scales(void **state) {
  (void)state;
  struct contract_format format = {CONTRACT_I8_ROWS, 4, 1, 0, FOVEA_F16};
  uint8_t codes[4], scale[2];
  struct contract_cache cache = {codes, scale, NULL};
  const float x[4] = {1e-6f, -1e-6f, 0.5e-6f, 0}; /* the scale, 7.9e-9, is 0 in f16 */
  contract_quantise(&format, x, &cache);
  assert_true(codes[0] == 127 && codes[1] == 0x81 && codes[2] == 64 && scale[0] == 0 && scale[1] == 0);
  const float large[4] = {1e7f, 0, 0, -1e7f}; /* 78740 is beyond f16 */
  contract_quantise(&format, large, &cache);
  assert_true(codes[0] == 127 && codes[3] == 0x81 && scale[0] == 0 && scale[1] == 0x7c);
}

/* KIVI: codes along keys or dims in little-endian words, the first in the lowest bits. */
static void test_kivi(void **state) {
  (void)state;
  uint8_t codes[512], scales[64], zeros[64];
  float x[32 * 32];
  struct contract_cache cache = {codes, scales, zeros};
  for (int key = 0; key < 32; key++)
    for (int d = 0; d < 32; d++) x[key * 32 + d] = (float)((key + d) % 4) + 8.0f;
  const enum contract_preset kinds[] = {CONTRACT_KIVI_K2, CONTRACT_KIVI_V2};
  for (int i = 0; i < 2; i++) {
    const struct contract_format format = {kinds[i], 32, 32, 0, FOVEA_F16};
    contract_quantise(&format, x, &cache);
    for (int w = 0; w < 4; w++) assert_true(codes[w] == 0xe4 && codes[4 + w] == (i == 0 ? 0x39 : 0xe4));
    for (int n = 0; n < 32 * 32; n++) assert_true(contract_element(&format, &cache, n / 32, n % 32) == x[n]);
  }
  for (int n = 0; n < 32 * 32; n++) {
    const int pair = n % 32 / 2;
    x[n] = (float)pair * 0.25f - 1.0f;
  }
  const struct contract_format format = {CONTRACT_KIVI_V4, 32, 32, 0, FOVEA_F16};
  contract_quantise(&format, x, &cache);
  assert_true(codes[0] == 0x00 && codes[1] == 0x11 && codes[15] == 0xff && codes[16] == 0x00);
  for (int n = 0; n < 32 * 32; n++) assert_true(contract_element(&format, &cache, n / 32, n % 32) == x[n]);
  for (int n = 0; n < 32 * 32; n++) x[n] = 3.0f; /* a scale of 0 */
  contract_quantise(&format, x, &cache);
  assert_true(codes[0] == 0 && contract_element(&format, &cache, 5, 5) == 3.0f);
}

/* Beyond the largest number: it, or none. */
static void test_largest_fp8(void **state) {
  (void)state;
  assert_true(contract_e4m3_code(448.0f, false) == 0x7e && contract_e4m3_code(464.0f, false) == 0x7e);
  assert_true(contract_e4m3_code(0x1.d00002p+8f, false) == 0x7f &&
              contract_e4m3_code(0x1.d00002p+8f, true) == 0x7e);
  assert_true(contract_e4m3_code(-1e30f, true) == 0xfe && contract_e4m3_code(-1e30f, false) == 0xff);
  assert_true(contract_e5m2_code(57344.0f, false) == 0x7b && contract_e5m2_code(61440.0f, false) == 0x7c);
  assert_true(contract_e5m2_code(61440.0f, true) == 0x7b &&
              contract_e5m2_code(from_bits(0xff800000), true) == 0xfb);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_files), cmocka_unit_test(test_rows),        cmocka_unit_test(test_half_scales),
      cmocka_unit_test(test_kivi),  cmocka_unit_test(test_largest_fp8),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
