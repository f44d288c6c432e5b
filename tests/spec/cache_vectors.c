/* Vectors of quantised caches: numbers that are written to a cache and read again, and attention over such numbers. */
#include "contract.h"
#include "formats/contract_formats.h"
#include "formats/nearest.h"
#include "support/generator.h"
#include "vectors.h"

#include <math.h>
#include <stdlib.h>

enum { KEYS = 32, DIM = 64, BYTES = 1 << 14 };

static const struct {
  const char *name;
  enum contract_preset preset;
  fovea_type scale_type;
  float fixed; /* a scale that is given; 0: none */
} formats[] = {
    {"i8_f32", CONTRACT_I8_ROWS, FOVEA_F32, 0},
    {"i8_f16", CONTRACT_I8_ROWS, FOVEA_F16, 0},
    {"q8_kv", CONTRACT_Q8_KV, FOVEA_F32, 0},
    {"q8_0", CONTRACT_Q8_0, FOVEA_F16, 0},
    {"q4_0", CONTRACT_Q4_0, FOVEA_F16, 0},
    {"q4_1", CONTRACT_Q4_1, FOVEA_F16, 0},
    {"q5_0", CONTRACT_Q5_0, FOVEA_F16, 0},
    {"q5_1", CONTRACT_Q5_1, FOVEA_F16, 0},
    {"iq4_nl", CONTRACT_IQ4_NL, FOVEA_F16, 0},
    {"openvino_u8", CONTRACT_OPENVINO_U8, FOVEA_F32, 0},
    {"openvino_u4", CONTRACT_OPENVINO_U4, FOVEA_F32, 0},
    {"openvino_i8", CONTRACT_OPENVINO_I8, FOVEA_F32, 0},
    {"openvino_u8_channel", CONTRACT_OPENVINO_U8_CHANNEL, FOVEA_F32, 0},
    {"ort_s8", CONTRACT_ORT_S8, FOVEA_F32, 0.01f},
    {"ort_u4", CONTRACT_ORT_U4, FOVEA_F32, 0.2f},
    {"e4m3", CONTRACT_E4M3, FOVEA_F32, 1},
    {"e5m2", CONTRACT_E5M2, FOVEA_F32, 1},
    {"kivi_k4", CONTRACT_KIVI_K4, FOVEA_F16, 0},
    {"kivi_k2", CONTRACT_KIVI_K2, FOVEA_F16, 0},
    {"kivi_v4", CONTRACT_KIVI_V4, FOVEA_F16, 0},
};

static void read_written(size_t f, const float *x, float *y) {
  static uint8_t codes[BYTES], scales[BYTES], zeros[BYTES];
  const struct contract_format format = {formats[f].preset, DIM, KEYS, 32, formats[f].scale_type};
  struct contract_cache cache = {codes, scales, zeros};
  if (contract_codes_size(&format) > BYTES) abort();
  if (formats[f].fixed != 0) contract_store_f32(scales, formats[f].fixed);
  contract_quantise(&format, x, &cache);
  for (int64_t i = 0; i < KEYS * DIM; i++) y[i] = contract_element(&format, &cache, i / DIM, i % DIM);
}

static int sees_all(const void *rules, int64_t position) {
  (void)rules;
  return position >= 0;
}

/* One query over keys and values of q8_0. */
static void write_attention_over(const float *x, const float *y) {
  float out[DIM], lse;
  const struct contract_row row = {.q = x,
                                   .k = y,
                                   .v = y,
                                   .k_stride = DIM,
                                   .v_stride = DIM,
                                   .qk_dim = DIM,
                                   .v_dim = DIM,
                                   .positions = KEYS,
                                   .scale = 0.125,
                                   .sees = sees_all};
  contract_row(&row, out, &lse);
  vector_numbers(EXPECTED, "out", FOVEA_F32, out, 1, DIM);
  vector_numbers(EXPECTED, "lse", FOVEA_F32, &lse, 1, 0);
}

/* Random numbers; in each third row twice as large, and so on; one row of equal numbers. */
static void fill(float *x, uint64_t seed) {
  struct generator generator = {seed};
  for (int64_t i = 0; i < KEYS * DIM; i++) {
    const float number = generator_uniform(&generator), half = (float)generator_below(&generator, 509) - 254;
    x[i] = rounded_number(FOVEA_F16, ldexpf(number, (int)(i / DIM % 3)));
    if (i / DIM % 8 == 3) x[i] = (i % 32 == 0 ? 254 : half) * 0x1p-7f; /* codes of 8 bits have ties */
    if (i / DIM == 4) x[i] = 0.3125f;
  }
}

/* NEAREST in groups of 32, with zeros or minima, read by section 15. */
static void write_nearest(const char *name, fovea_code code, fovea_formula formula, const float *x) {
  static float y[KEYS * DIM];
  const fovea_format format = {.code = code, .formula = formula, .scale_type = FOVEA_F32};
  for (int64_t i = 0; i < KEYS * DIM; i++) {
    const struct nearest_group group = nearest_measure(&format, x + i / 32 * 32, 32);
    const float number = (float)nearest_code(&format, &group, x[i]), above = number - group.zero;
    y[i] = formula == FOVEA_FORMULA_ZERO ? above * group.scale : fmaf(number, group.scale, group.zero);
  }
  char vector[64] = "cache_";
  vector_begin(strcat(vector, name), "cache", "14 15");
  vector_word("format", name);
  vector_numbers(INPUT, "x", FOVEA_F16, x, KEYS, DIM);
  vector_numbers(EXPECTED, "numbers", FOVEA_F32, y, KEYS, DIM);
  vector_end();
}

void write_caches(void) {
  static float x[KEYS * DIM], y[KEYS * DIM];
  for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
    char name[64] = "cache_";
    fill(x, f);
    read_written(f, x, y);
    vector_begin(strcat(name, formats[f].name), "cache", "14 15");
    vector_word("format", formats[f].name);
    if (formats[f].fixed != 0) vector_double("fixed_scale", (double)formats[f].fixed);
    vector_numbers(INPUT, "x", FOVEA_F16, x, KEYS, DIM);
    vector_numbers(EXPECTED, "numbers", FOVEA_F32, y, KEYS, DIM);
    if (formats[f].preset == CONTRACT_Q8_0) write_attention_over(x, y);
    vector_end();
  }
  fill(x, 100);
  write_nearest("nearest_minimum", FOVEA_CODE_U8, FOVEA_FORMULA_MINIMUM, x);
  write_nearest("nearest_zero", FOVEA_CODE_U4, FOVEA_FORMULA_ZERO, x);
}
