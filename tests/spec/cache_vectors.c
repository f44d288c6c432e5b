/* Vectors of quantised caches: numbers that are written to a cache and read again, and attention over such numbers. */
#include "contract.h"
#include "contract_rotary.h"
#include "formats/contract_formats.h"
#include "formats/contract_hadamard.h"
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

static void read_written(size_t f, const float *x, float *y, int64_t keys, int64_t dim) {
  static uint8_t codes[BYTES], scales[BYTES], zeros[BYTES];
  const struct contract_format format = {formats[f].preset, dim, keys, 32, formats[f].scale_type};
  struct contract_cache cache = {codes, scales, zeros};
  if (contract_codes_size(&format) > BYTES) abort();
  if (formats[f].fixed != 0) contract_store_f32(scales, formats[f].fixed);
  contract_quantise(&format, x, &cache);
  for (int64_t i = 0; i < keys * dim; i++) y[i] = contract_element(&format, &cache, i / dim, i % dim);
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
    read_written(f, x, y, KEYS, DIM);
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

static size_t format_of(enum contract_preset preset) {
  size_t f = 0;
  while (formats[f].preset != preset) f++;
  return f;
}

static void fill_few(float *x, int64_t count, uint64_t seed) {
  struct generator generator = {seed};
  for (int64_t i = 0; i < count; i++) x[i] = rounded_number(FOVEA_F16, 2 * generator_uniform(&generator));
}

/* ---- Keys that move ------------------------------------------------------------------------------------------ */

static void write_moved(const char *vector, enum contract_preset preset, int64_t block, int64_t by) {
  enum { ROWS = 4, WIDTH = 32, PAIRS = WIDTH / 2 };
  const size_t f = format_of(preset);
  float x[ROWS * WIDTH], numbers[ROWS * WIDTH], moved[ROWS * WIDTH];
  struct fraction turns[PAIRS];
  fill_few(x, ROWS * WIDTH, 200 + (uint64_t)block);
  read_written(f, x, numbers, ROWS, WIDTH);
  contract_turns(10000, NULL, PAIRS, turns);
  for (int64_t row = 0; row < ROWS; row++) {
    float *key = numbers + row * WIDTH;
    contract_hadamard(key, WIDTH, block);
    for (int64_t i = 0; i < PAIRS; i++) {
      float cosine, sine;
      contract_angle(turns[i], by, &cosine, &sine);
      contract_rotate_pair(key + i, key + PAIRS + i, cosine, sine);
    }
    contract_hadamard(key, WIDTH, block);
  }
  read_written(f, numbers, moved, ROWS, WIDTH);
  vector_begin(vector, "moved", "12 14 15");
  vector_word("format", formats[f].name);
  vector_double("base", 10000);
  vector_integer("rotate_by", by);
  vector_integer("hadamard", block);
  vector_numbers(INPUT, "x", FOVEA_F16, x, ROWS, WIDTH);
  vector_numbers(EXPECTED, "numbers", FOVEA_F32, moved, ROWS, WIDTH);
  vector_end();
}

void write_moved_keys(void) {
  write_moved("moved_q8_0", CONTRACT_Q8_0, 1, -37);
  write_moved("moved_i8_f32", CONTRACT_I8_ROWS, 1, 4095);
  write_moved("moved_hadamard", CONTRACT_Q8_0, 16, 5);
}

/* ---- Hadamard rotation, centres ------------------------------------------------------------------------------ */

static void write_rotation(const char *vector, int64_t block) {
  enum { ROWS = 3, WIDTH = 32 };
  float x[ROWS * WIDTH], y[ROWS * WIDTH];
  struct generator generator = {(uint64_t)block};
  for (int i = 0; i < ROWS * WIDTH; i++) x[i] = generator_uniform(&generator);
  x[WIDTH] = INFINITY;
  x[2 * WIDTH - 1] = NAN;
  for (int i = 0; i < WIDTH; i++) x[2 * WIDTH + i] = i % 2 == 0 ? -0.5f : 0.5f; /* sums of 0 */
  for (int i = 0; i < ROWS * WIDTH; i++) y[i] = x[i];
  for (int row = 0; row < ROWS; row++) contract_hadamard(y + row * WIDTH, WIDTH, block);
  vector_begin(vector, "hadamard", "14");
  vector_integer("block", block);
  vector_numbers(INPUT, "x", FOVEA_F32, x, ROWS, WIDTH);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, ROWS, WIDTH);
  vector_end();
}

void write_hadamard(void) {
  write_rotation("hadamard_2", 2);
  write_rotation("hadamard_16", 16);
  write_rotation("hadamard_32", 32);
}

/* NEAREST with codes s8, a scale a row, of numbers less a centre. */
void write_centres(void) {
  enum { ROWS = 4, WIDTH = 24 };
  const fovea_format format = {.code = FOVEA_CODE_S8, .formula = FOVEA_FORMULA_SCALE, .scale_type = FOVEA_F32};
  float x[ROWS * WIDTH], less[ROWS * WIDTH], centre[WIDTH], y[ROWS * WIDTH];
  fill_few(x, ROWS * WIDTH, 301);
  fill_few(centre, WIDTH, 302);
  for (int d = 0; d < WIDTH; d++) x[d] = centre[d]; /* nothing is left of the first row */
  for (int i = 0; i < ROWS * WIDTH; i++) {
    centre[i % WIDTH] = i < WIDTH ? centre[i] + (i % 3 == 0 ? 0x1p-20f : 0) : centre[i % WIDTH];
    less[i] = x[i] - centre[i % WIDTH];
  }
  for (int i = 0; i < ROWS * WIDTH; i++) {
    const struct nearest_group group = nearest_measure(&format, less + i / WIDTH * WIDTH, WIDTH);
    y[i] = fmaf((float)(int8_t)nearest_code(&format, &group, less[i]), group.scale, centre[i % WIDTH]);
  }
  vector_begin("cache_centre", "cache", "14 15");
  vector_word("format", "i8_f32");
  vector_numbers(INPUT, "x", FOVEA_F16, x, ROWS, WIDTH);
  vector_numbers(INPUT, "centre", FOVEA_F32, centre, WIDTH, 0);
  vector_numbers(EXPECTED, "numbers", FOVEA_F32, y, ROWS, WIDTH);
  vector_end();
}

/* ---- Numbers that are not finite ------------------------------------------------------------------------------- */

enum { FEW = 4, WIDE = 64 };

/* One in a group of 32 of three rows; one that f16 makes infinite. */
static void fill_not_finite(float *x, int64_t width, uint64_t seed) {
  fill_few(x, FEW * WIDE, seed);
  x[3] = NAN;
  x[width + 5] = INFINITY;
  x[2 * width + width - 1] = -INFINITY;
  x[3 * width + 1] = 70000;
}

static void begin_not_finite(const char *format, const float *x, int64_t rows, int64_t dim) {
  char vector[64] = "cache_not_finite_";
  vector_begin(strcat(vector, format), "cache", "14 15");
  vector_word("format", format);
  vector_numbers(INPUT, "x", FOVEA_F32, x, rows, dim);
}

/* A group with such a number has the scale NaN, so all of its numbers are NaN. The contract programs of ggml's and
 * KIVI's formats get the other groups alone, since they say what these projects do. */
static void write_group_not_finite(enum contract_preset preset, int of_keys) {
  const size_t f = format_of(preset);
  const int64_t keys = of_keys ? 32 : FEW, dim = of_keys ? 8 : WIDE;
  float x[FEW * WIDE], finite[FEW * WIDE], y[FEW * WIDE];
  int lost[FEW * WIDE] = {0};
  fill_not_finite(x, dim, 400 + f);
  for (int64_t i = 0; i < keys * dim; i++) {
    const int is_finite = isfinite(of_keys ? rounded_number(FOVEA_F16, x[i]) : x[i]);
    finite[i] = is_finite ? x[i] : 0;
    if (!is_finite) lost[of_keys ? i % dim : preset == CONTRACT_I8_ROWS ? i / dim : i / 32] = 1;
  }
  read_written(f, finite, y, keys, dim);
  for (int64_t i = 0; i < keys * dim; i++)
    if (lost[of_keys ? i % dim : preset == CONTRACT_I8_ROWS ? i / dim : i / 32]) y[i] = NAN;
  begin_not_finite(formats[f].name, x, keys, dim);
  vector_numbers(EXPECTED, "numbers", FOVEA_F32, y, keys, dim);
  vector_end();
}

/* A scale of the caller: codes are made of what there is. */
static void write_fixed_not_finite(const char *name, fovea_code code, enum contract_preset preset, float scale) {
  const fovea_format format = {.code = code, .formula = FOVEA_FORMULA_SCALE, .scale_type = FOVEA_F32};
  const struct contract_format read = {.preset = preset, .dim = WIDE, .keys = FEW};
  const struct nearest_group group = nearest_fixed(scale, 0);
  float x[FEW * WIDE], y[FEW * WIDE];
  uint8_t codes[FEW * WIDE], scales[4];
  struct contract_cache cache = {codes, scales, NULL};
  contract_store_f32(scales, scale);
  fill_not_finite(x, WIDE, 500 + (uint64_t)code);
  for (int i = 0; i < FEW * WIDE; i++) codes[i] = (uint8_t)nearest_code(&format, &group, x[i]);
  for (int i = 0; i < FEW * WIDE; i++) y[i] = contract_element(&read, &cache, i / WIDE, i % WIDE);
  begin_not_finite(name, x, FEW, WIDE);
  vector_double("fixed_scale", (double)scale);
  vector_numbers(EXPECTED, "numbers", FOVEA_F32, y, FEW, WIDE);
  vector_end();
}

static void write_ort_not_finite(void) {
  const size_t f = format_of(CONTRACT_ORT_S8);
  float x[FEW * WIDE], y[FEW * WIDE];
  fill_not_finite(x, WIDE, 600);
  read_written(f, x, y, FEW, WIDE);
  begin_not_finite(formats[f].name, x, FEW, WIDE);
  vector_double("fixed_scale", (double)formats[f].fixed);
  vector_numbers(EXPECTED, "numbers", FOVEA_F32, y, FEW, WIDE);
  vector_end();
}

void write_caches_not_finite(void) {
  write_group_not_finite(CONTRACT_I8_ROWS, 0);
  write_group_not_finite(CONTRACT_Q8_0, 0);
  write_group_not_finite(CONTRACT_IQ4_NL, 0);
  write_group_not_finite(CONTRACT_KIVI_K4, 1);
  write_ort_not_finite();
  write_fixed_not_finite("fixed_i8", FOVEA_CODE_S8, CONTRACT_ORT_S8, 0.03f);
  write_fixed_not_finite("e4m3", FOVEA_CODE_E4M3, CONTRACT_E4M3, 0.25f);
  write_fixed_not_finite("e5m2", FOVEA_CODE_E5M2, CONTRACT_E5M2, 0.3f);
}

/* Numbers that f16 does not hold, which KIVI rounds first. */
void write_kivi_of_f32(void) {
  const size_t f = format_of(CONTRACT_KIVI_K4);
  enum { KIVI_KEYS = 32, KIVI_DIM = 4 };
  float x[KIVI_KEYS * KIVI_DIM], y[KIVI_KEYS * KIVI_DIM];
  struct generator generator = {601};
  for (int i = 0; i < KIVI_KEYS * KIVI_DIM; i++) x[i] = 3 * generator_uniform(&generator);
  read_written(f, x, y, KIVI_KEYS, KIVI_DIM);
  vector_begin("cache_kivi_of_f32", "cache", "14 15");
  vector_word("format", formats[f].name);
  vector_numbers(INPUT, "x", FOVEA_F32, x, KIVI_KEYS, KIVI_DIM);
  vector_numbers(EXPECTED, "numbers", FOVEA_F32, y, KIVI_KEYS, KIVI_DIM);
  vector_end();
}
