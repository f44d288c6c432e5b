/* Vectors of quantised weights: codes, scales and offsets of every format, packed as the formats say, and read by the
 * contract program. */
#include "modes/contract_modes.h"
#include "nn/contract_codes.h"
#include "nn/contract_nn.h"
#include "support/generator.h"
#include "vectors.h"

#include <math.h>
#include <string.h>

enum { OUT = 8, IN = 256, ROWS = 3, GROUPS = 16 };

/* `at`: where the codes of a block begin. */
static const struct format {
  const char *name;
  fovea_nn_format format;
  int64_t in, out, group;
  int bits, at;
} formats[] = {
    {"q8_0", FOVEA_NN_FORMAT_Q8_0, 64, 3, 32, 8, 2},       {"q4_0", FOVEA_NN_FORMAT_Q4_0, 64, 3, 32, 4, 2},
    {"q4_1", FOVEA_NN_FORMAT_Q4_1, 64, 3, 32, 4, 4},       {"q5_0", FOVEA_NN_FORMAT_Q5_0, 64, 3, 32, 5, 6},
    {"q5_1", FOVEA_NN_FORMAT_Q5_1, 64, 3, 32, 5, 8},       {"q4_K", FOVEA_NN_FORMAT_Q4_K, 256, 2, 32, 4, 16},
    {"q5_K", FOVEA_NN_FORMAT_Q5_K, 256, 2, 32, 5, 48},     {"q6_K", FOVEA_NN_FORMAT_Q6_K, 256, 2, 16, 6, 0},
    {"iq4_nl", FOVEA_NN_FORMAT_IQ4_NL, 64, 3, 32, 4, 2},   {"mxfp4", FOVEA_NN_FORMAT_MXFP4, 64, 3, 32, 4, 1},
    {"gptq", FOVEA_NN_FORMAT_GPTQ, 64, 8, 16, 4, 0},       {"awq", FOVEA_NN_FORMAT_AWQ, 64, 8, 16, 4, 0},
    {"gptq_g_idx", FOVEA_NN_FORMAT_GPTQ, 64, 8, 16, 4, 0}, {"e4m3", FOVEA_NN_FORMAT_E4M3, 64, 3, 32, 8, 0},
};

/* What a vector holds; unused arrays are zeros. */
struct weights {
  const struct format *format;
  uint8_t codes[OUT * IN];
  uint16_t halves[OUT * GROUPS]; /* f16: d, of GPTQ and AWQ scales */
  uint16_t minimum_halves[OUT * GROUPS];
  uint8_t scales[OUT * GROUPS], minima[OUT * GROUPS]; /* integers; of MXFP4 exponents; of GPTQ and AWQ zeros */
  float numbers[OUT * GROUPS];                        /* scales of E4M3 */
  int32_t g_idx[IN];
  uint8_t data[OUT * IN * 2], stored_scales[OUT * GROUPS * 2], stored_zeros[OUT * GROUPS];
};

static int is_of_zeros(const struct format *f) {
  return f->format == FOVEA_NN_FORMAT_GPTQ || f->format == FOVEA_NN_FORMAT_AWQ;
}

static int has_small_scales(const struct format *f) {
  return f->in == 256;
}

static uint16_t random_half(struct generator *generator) {
  return (uint16_t)(0x2c00 | generator_below(generator, 1024) | generator_below(generator, 2) << 15);
}

static void draw(struct weights *w, struct generator *generator) {
  const struct format *f = w->format;
  for (int64_t i = 0; i < f->out * f->in; i++)
    w->codes[i] = (uint8_t)generator_below(generator, INT64_C(1) << f->bits);
  for (int i = 0; i < OUT * GROUPS; i++) {
    w->halves[i] = random_half(generator);
    w->minimum_halves[i] = random_half(generator);
    w->scales[i] = (uint8_t)generator_below(generator, f->format == FOVEA_NN_FORMAT_Q6_K ? 256 : 64);
    if (f->format == FOVEA_NN_FORMAT_MXFP4) w->scales[i] = (uint8_t)(122 + generator_below(generator, 8));
    w->minima[i] = (uint8_t)(is_of_zeros(f) ? 1 + generator_below(generator, 16) : generator_below(generator, 64));
    w->numbers[i] = generator_uniform(generator);
  }
  for (int i = 0; i < f->in; i++) w->g_idx[i] = (int32_t)generator_below(generator, f->in / f->group);
}

static void put_half(uint8_t *bytes, uint16_t half) {
  bytes[0] = (uint8_t)half;
  bytes[1] = (uint8_t)(half >> 8);
}

/* A block of 32 dims. */
static void pack_block(const struct weights *w, const uint8_t *codes, int64_t group, uint8_t *block) {
  const struct format *f = w->format;
  if (f->format == FOVEA_NN_FORMAT_MXFP4)
    block[0] = w->scales[group];
  else
    put_half(block, w->halves[group]);
  if (f->format == FOVEA_NN_FORMAT_Q4_1 || f->format == FOVEA_NN_FORMAT_Q5_1)
    put_half(block + 2, w->minimum_halves[group]);
  for (int i = 0; i < 32; i++) {
    if (f->bits == 8) {
      block[f->at + i] = codes[i];
      continue;
    }
    block[f->at + i % 16] |= (uint8_t)((codes[i] & 15) << (i < 16 ? 0 : 4));
    if (f->bits == 5) block[f->at - 4 + i / 8] |= (uint8_t)(codes[i] >> 4 << i % 8);
  }
}

/* 256 dims of q4_K or q5_K. */
static void pack_minima(const struct weights *w, const uint8_t *codes, int64_t out, uint8_t *block) {
  const struct format *f = w->format;
  const uint8_t *scales = w->scales + out * 8, *minima = w->minima + out * 8;
  put_half(block, w->halves[out]);
  put_half(block + 2, w->minimum_halves[out]);
  for (int j = 0; j < 4; j++) {
    block[4 + j] = (uint8_t)(scales[j] | scales[j + 4] >> 4 << 6);
    block[8 + j] = (uint8_t)(minima[j] | minima[j + 4] >> 4 << 6);
    block[12 + j] = (uint8_t)((scales[j + 4] & 15) | (minima[j + 4] & 15) << 4);
  }
  for (int i = 0; i < 256; i++) {
    block[f->at + i / 64 * 32 + i % 32] |= (uint8_t)((codes[i] & 15) << (i / 32 % 2 * 4));
    if (f->bits == 5) block[16 + i % 32] |= (uint8_t)(codes[i] >> 4 << i / 32);
  }
}

/* 256 dims of q6_K. */
static void pack_sixes(const struct weights *w, const uint8_t *codes, int64_t out, uint8_t *block) {
  for (int i = 0; i < 256; i++) {
    const int half = i / 128, quarter = i % 128 / 32, l = i % 32;
    block[half * 64 + quarter % 2 * 32 + l] |= (uint8_t)((codes[i] & 15) << (quarter < 2 ? 0 : 4));
    block[128 + half * 32 + l] |= (uint8_t)(codes[i] >> 4 << 2 * quarter);
  }
  memcpy(block + 192, w->scales + out * 16, 16);
  put_half(block + 208, w->halves[out]);
}

/* Four bits of a word. */
static void put_code(uint8_t *words, int64_t word, int64_t place, int code) {
  words[word * 4 + place / 2] |= (uint8_t)(code << place % 2 * 4);
}

static void pack_words(struct weights *w) {
  static const int places[] = {0, 4, 1, 5, 2, 6, 3, 7};
  const struct format *f = w->format;
  const int64_t groups = f->in / f->group;
  const int is_awq = f->format == FOVEA_NN_FORMAT_AWQ;
  for (int64_t out = 0; out < f->out; out++) {
    const int64_t place = is_awq ? places[out % 8] : out % 8;
    for (int64_t d = 0; d < f->in; d++) {
      if (is_awq)
        put_code(w->data, d * (f->out / 8) + out / 8, place, w->codes[out * f->in + d]);
      else
        put_code(w->data, d / 8 * f->out + out, d % 8, w->codes[out * f->in + d]);
    }
    for (int64_t g = 0; g < groups; g++) {
      const int zero = w->minima[out * groups + g];
      put_half(w->stored_scales + 2 * (g * f->out + out), w->halves[out * groups + g]);
      put_code(w->stored_zeros, g * (f->out / 8) + out / 8, place, zero - 1);
    }
  }
}

static void pack(struct weights *w) {
  const struct format *f = w->format;
  if (is_of_zeros(f)) {
    pack_words(w);
    return;
  }
  if (f->format == FOVEA_NN_FORMAT_E4M3) {
    memcpy(w->data, w->codes, (size_t)(f->out * f->in));
    return;
  }
  const int64_t dims = has_small_scales(f) ? 256 : 32, bytes = contract_codes_bytes(f->format, dims, 1);
  for (int64_t b = 0; b < f->out * f->in / dims; b++) {
    uint8_t *block = w->data + b * bytes;
    if (f->format == FOVEA_NN_FORMAT_Q6_K)
      pack_sixes(w, w->codes + b * dims, b, block);
    else if (has_small_scales(f))
      pack_minima(w, w->codes + b * dims, b, block);
    else
      pack_block(w, w->codes + b * dims, b, block);
  }
}

static fovea_nn_codes codes_of(const struct weights *w) {
  const struct format *f = w->format;
  fovea_nn_codes codes = {.format = f->format, .in = f->in, .out = f->out, .data = w->data};
  if (is_of_zeros(f)) codes.scales = w->stored_scales, codes.zeros = w->stored_zeros, codes.zeros_less_one = 1;
  if (f->format == FOVEA_NN_FORMAT_E4M3)
    codes.scales = w->numbers, codes.group_outs = 1, codes.scale_type = FOVEA_F32;
  if (is_of_zeros(f) || f->format == FOVEA_NN_FORMAT_E4M3) codes.group = f->group;
  if (strcmp(f->name, "gptq_g_idx") == 0) codes.g_idx = w->g_idx;
  return codes;
}

static void write_inputs(const struct weights *w) {
  const struct format *f = w->format;
  const int64_t groups = f->in / f->group;
  const enum array_type bytes = f->format == FOVEA_NN_FORMAT_Q8_0 ? ARRAY_I8 : ARRAY_U8;
  vector_array(INPUT, "codes", bytes, w->codes, f->out, f->in);
  if (f->format == FOVEA_NN_FORMAT_E4M3)
    vector_numbers(INPUT, "scales", FOVEA_F32, w->numbers, f->out, groups);
  else if (f->format == FOVEA_NN_FORMAT_MXFP4)
    vector_array(INPUT, "exponents", ARRAY_U8, w->scales, f->out, groups);
  else if (!has_small_scales(f))
    vector_array(INPUT, "scales", ARRAY_F16, w->halves, f->out, groups);
  else {
    vector_array(INPUT, "d", ARRAY_F16, w->halves, f->out, 1);
    vector_array(INPUT, "scales", f->format == FOVEA_NN_FORMAT_Q6_K ? ARRAY_I8 : ARRAY_U8, w->scales, f->out,
                 groups);
  }
  if (f->format == FOVEA_NN_FORMAT_Q4_1 || f->format == FOVEA_NN_FORMAT_Q5_1)
    vector_array(INPUT, "offsets", ARRAY_F16, w->minimum_halves, f->out, groups);
  if (f->format == FOVEA_NN_FORMAT_Q4_K || f->format == FOVEA_NN_FORMAT_Q5_K) {
    vector_array(INPUT, "dmin", ARRAY_F16, w->minimum_halves, f->out, 1);
    vector_array(INPUT, "minima", ARRAY_U8, w->minima, f->out, groups);
  }
  if (is_of_zeros(f)) vector_array(INPUT, "zeros", ARRAY_U8, w->minima, f->out, groups);
}

static void fill_rows(float *x, int64_t in, uint64_t seed) {
  struct generator generator = {seed};
  for (int64_t i = 0; i < ROWS * in; i++) x[i] = 2 * generator_uniform(&generator);
}

static void begin(char *name, const struct weights *w, const char *mode, const char *clauses) {
  vector_begin(strcat(name, w->format->name), "linear", clauses);
  vector_word("mode", mode);
  vector_word("activation", "none");
  vector_word("format", strcmp(w->format->name, "gptq_g_idx") == 0 ? "gptq" : w->format->name);
  write_inputs(w);
}

static void write_exact(const struct weights *w) {
  const struct format *f = w->format;
  const fovea_nn_codes codes = codes_of(w);
  static float x[ROWS * IN], numbers[OUT * IN];
  float y[OUT];
  char name[64] = "weights_";
  fill_rows(x, f->in, 7);
  for (int64_t i = 0; i < f->out * f->in; i++) numbers[i] = contract_codes_number(&codes, i / f->in, i % f->in);
  for (int64_t i = 0; i < f->out; i++) y[i] = contract_nn_dot(x, numbers + i * f->in, f->in);
  begin(name, w, "exact", "L1");
  if (codes.g_idx) {
    int64_t groups[IN];
    for (int64_t d = 0; d < f->in; d++) groups[d] = w->g_idx[d];
    vector_array(INPUT, "g_idx", ARRAY_I64, groups, f->in, 0);
  }
  vector_numbers(INPUT, "x", FOVEA_F32, x, 1, f->in);
  vector_numbers(EXPECTED, "w", FOVEA_F32, numbers, f->out, f->in);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, 1, f->out);
  vector_end();
}

/* r of int8 mode, of a row's codes. */
static float int8_product(const fovea_nn_codes *codes, const int8_t *row, int64_t out) {
  const int64_t group = contract_codes_group(codes);
  float r = 0;
  for (int64_t first = 0; first < codes->in; first += group) {
    const struct contract_code one = contract_codes_code(codes, out, first);
    int64_t products = 0, sum = 0;
    for (int64_t d = first; d < first + group; d++) {
      products += row[d] * (int64_t)contract_codes_code(codes, out, d).value;
      sum += row[d];
    }
    r = fmaf((float)products, one.scale, r);
    if (one.has_offset) r = fmaf((float)sum, one.offset, r);
  }
  return r;
}

static void write_int8(const struct weights *w) {
  const struct format *f = w->format;
  const fovea_nn_codes codes = codes_of(w);
  static float x[ROWS * IN];
  float y[ROWS * OUT];
  char name[64] = "linear_int8_";
  fill_rows(x, f->in, 8);
  for (int64_t d = 0; d < f->in; d++) x[f->in + d] = ldexpf(x[f->in + d], -90); /* no codes */
  x[2 * f->in + 3] = INFINITY;
  for (int64_t row = 0; row < ROWS; row++) {
    int8_t quantised[IN];
    const float scale = contract_mode_quantise(x + row * f->in, f->in, quantised);
    for (int64_t out = 0; out < f->out; out++) y[row * f->out + out] = int8_product(&codes, quantised, out) * scale;
  }
  begin(name, w, "int8", "L1 16");
  vector_numbers(INPUT, "x", FOVEA_F32, x, ROWS, f->in);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, ROWS, f->out);
  vector_end();
}

static void make(struct weights *w, size_t format) {
  struct generator generator = {700 + format};
  memset(w, 0, sizeof *w);
  w->format = &formats[format];
  draw(w, &generator);
  pack(w);
}

void write_weights(void) {
  static struct weights w;
  for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
    make(&w, f);
    write_exact(&w);
  }
}

void write_int8_layers(void) {
  static const size_t some[] = {0, 2, 5, 7, 9, 10};
  static struct weights w;
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    make(&w, some[i]);
    write_int8(&w);
  }
}
