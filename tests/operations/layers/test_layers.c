/* Compares every primitive of the vector layers with its line in arch/README.md, over random and edge lanes.
 * Operands end at inaccessible pages, so that no byte beyond them is read or written. */
#include "layer.h"

#include "../operation.h"

enum { LIMIT = 16 }; /* the most lanes of a layer */

static const struct {
  const char *isa;
  const struct layer *layer;
} layers[] = {
#define LAYER(name, architecture, needs, prefers, type, lacks)                                                     \
  FOVEA_GENERAL_##type(FOVEA_FOR_##architecture({#name, &fovea_layer_##name##_layer}, ))
    FOVEA_INSTRUCTION_SETS(LAYER)
#undef LAYER
};

typedef void layer_trial(const char *isa, const struct layer *layer, struct generator *generator);

/* For each layer of a table that runs here. */
static void try_layers(layer_trial *trial, int trials) {
  for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
    for (const fovea_kernels *const *table = whole_tables(); *table != NULL; table++) {
      struct generator generator = {7};
      if (strcmp((*table)->name, layers[i].isa) != 0) continue;
      assert_int_equal((*table)->lanes, layers[i].layer->lanes);
      for (int j = 0; j < trials; j++) {
        places_begin(&generator);
        trial(layers[i].isa, layers[i].layer, &generator);
      }
    }
}

/* ---- Lane by lane -------------------------------------------------------------------------------------------- */

typedef float definition(float a, float b, float c);

static float define_load(float a, float b, float c) {
  return (void)b, (void)c, a;
}
static float define_add(float a, float b, float c) {
  return (void)c, a + b;
}
static float define_sub(float a, float b, float c) {
  return (void)c, a - b;
}
static float define_mul(float a, float b, float c) {
  return (void)c, a * b;
}
static float define_div(float a, float b, float c) {
  return (void)c, a / b;
}
static float define_fma(float a, float b, float c) {
  return fmaf(a, b, c);
}
static float define_fnma(float a, float b, float c) {
  return fmaf(-a, b, c);
}
/* neither a nor b is NaN */
static float define_max(float a, float b, float c) {
  return (void)c, isnan(b) ? NAN : a > b ? a : b;
}
static float define_min(float a, float b, float c) {
  return (void)c, isnan(a) ? NAN : isnan(b) || b < a ? b : a;
}
static float define_abs(float a, float b, float c) {
  return (void)b, (void)c, from_bits(bits_of(a) & 0x7fffffffu);
}
static float define_sqrt(float a, float b, float c) {
  return (void)b, (void)c, sqrtf(a);
}
static float define_copysign(float a, float b, float c) {
  return (void)c, from_bits((bits_of(a) & 0x7fffffffu) | (bits_of(b) & 0x80000000u));
}
static float define_flip(float a, float b, float c) {
  return (void)c, from_bits(bits_of(a) ^ (bits_of(b) & 0x80000000u));
}
static float define_less(float a, float b, float c) {
  return (void)c, a < b ? 1.0f : 0.0f;
}
static float define_equal(float a, float b, float c) {
  return (void)c, a == b ? 1.0f : 0.0f;
}
static float define_is_nan(float a, float b, float c) {
  return (void)b, (void)c, isnan(a) ? 1.0f : 0.0f;
}
static float define_or(float a, float b, float c) {
  return (void)c, a != 0.0f || b != 0.0f ? 1.0f : 0.0f;
}
static float define_and(float a, float b, float c) {
  return (void)c, a != 0.0f && b != 0.0f ? 1.0f : 0.0f;
}
static float define_not(float a, float b, float c) {
  return (void)b, (void)c, a != 0.0f ? 0.0f : 1.0f;
}
static float define_select(float a, float b, float c) {
  return a != 0.0f ? b : c;
}
static float define_exponent(float a, float b, float c) {
  return (void)b, (void)c, from_bits(bits_of(a) << 23);
}
static float define_fraction(float a, float b, float c) {
  return (void)b, (void)c, a - rintf(a);
}

enum { NOT_NAN_A = 1, NOT_NAN_B = 2, WITHOUT_SIGN_A = 4, MANY_ZEROS = 8, EXACT = 16, EITHER_ZERO = 32, SMALL = 64 };

/* A primitive, its name, and the function that it is compared with. */
struct lanewise {
  const char *name;
  layer_unary *unary;
  layer_binary *binary;
  layer_ternary *ternary;
  definition *define;
  int flags;
};

static float lane_number(struct generator *generator, int flags, int operand) {
  float x = random_number(generator, generator_below(generator, 2) ? ANY : ORDINARY);
  if ((flags & MANY_ZEROS) && generator_below(generator, 2)) x = generator_below(generator, 2) ? 0.0f : -0.0f;
  if (operand == 0 && (flags & WITHOUT_SIGN_A)) x = from_bits(bits_of(x) & 0x7fffffffu);
  if ((flags & SMALL) && fabsf(x) > 0x1p20f) x = isnan(x) ? x : generator_uniform(generator) * 1000.0f;
  if (isnan(x) && ((operand == 0 && (flags & NOT_NAN_A)) || (operand == 1 && (flags & NOT_NAN_B)))) x = -2.0f;
  return x;
}

static void check_lanewise(const char *isa, int lanes, struct generator *generator, const struct lanewise *tried) {
  float *operands[3], *to;
  places_begin(generator);
  for (int i = 0; i < 3; i++) {
    operands[i] = place_floats(lanes, ORDINARY);
    for (int lane = 0; lane < lanes; lane++) operands[i][lane] = lane_number(generator, tried->flags, i);
    if (i > 0 && generator_below(generator, 8) == 0)
      memcpy(operands[i], operands[0], (size_t)lanes * 4 * !(tried->flags & (NOT_NAN_A | NOT_NAN_B)));
  }
  to = tried->flags & EXACT ? place_exact_output(FOVEA_F32, lanes) : place_output(lanes);
  places_watch();
  if (tried->unary != NULL) tried->unary(operands[0], to);
  if (tried->binary != NULL) tried->binary(operands[0], operands[1], to);
  if (tried->ternary != NULL) tried->ternary(operands[0], operands[1], operands[2], to);
  float *expected = shadow_of(to);
  for (int lane = 0; lane < lanes; lane++)
    expected[lane] = tried->define(operands[0][lane], operands[1][lane], operands[2][lane]);
  if (tried->flags & EITHER_ZERO) shadow_takes_zeros(to, lanes);
  places_check(isa, "vec_%s", tried->name);
}

static void try_lanewise(const char *isa, const struct layer *layer, struct generator *generator) {
  const struct lanewise all[] = {
      {"load", layer->load, NULL, NULL, define_load, EXACT},
      {"abs", layer->abs, NULL, NULL, define_abs, EXACT},
      {"sqrt", layer->sqrt, NULL, NULL, define_sqrt, 0},
      {"is_nan", layer->is_nan, NULL, NULL, define_is_nan, EXACT},
      {"mask_not", layer->mask_not, NULL, NULL, define_not, EXACT | MANY_ZEROS},
      {"exponent_from_low_bits", layer->exponent_from_low_bits, NULL, NULL, define_exponent, EXACT},
      {"add", NULL, layer->add, NULL, define_add, 0},
      {"sub", NULL, layer->sub, NULL, define_sub, 0},
      {"mul", NULL, layer->mul, NULL, define_mul, 0},
      {"div", NULL, layer->div, NULL, define_div, 0},
      {"max", NULL, layer->max, NULL, define_max, NOT_NAN_B | EITHER_ZERO},
      {"min", NULL, layer->min, NULL, define_min, NOT_NAN_A | EITHER_ZERO},
      {"copysign", NULL, layer->copysign, NULL, define_copysign, WITHOUT_SIGN_A | EXACT},
      {"flip", NULL, layer->flip, NULL, define_flip, EXACT},
      {"less", NULL, layer->less, NULL, define_less, EXACT},
      {"equal", NULL, layer->equal, NULL, define_equal, EXACT | MANY_ZEROS},
      {"mask_or", NULL, layer->mask_or, NULL, define_or, EXACT | MANY_ZEROS},
      {"mask_and", NULL, layer->mask_and, NULL, define_and, EXACT | MANY_ZEROS},
      {"fma", NULL, NULL, layer->fma, define_fma, 0},
      {"fnma", NULL, NULL, layer->fnma, define_fnma, 0},
      {"select", NULL, NULL, layer->select, define_select, EXACT | MANY_ZEROS},
      {"fraction", layer->fraction, NULL, NULL, define_fraction, SMALL | EITHER_ZERO},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (all[i].unary != NULL || all[i].binary != NULL || all[i].ternary != NULL)
      check_lanewise(isa, layer->lanes, generator, &all[i]);
}

static void test_lanewise(void **state) {
  (void)state;
  try_layers(try_lanewise, USUAL_OR_LONG(300, 10000));
}

/* Sums a little beside the middle between two floats, by less than double can tell: c, a multiple of twice 2^k, and
 * 2^k (1 +- 2^-46). Only numbers below FLT_MIN have a middle at 2^-150. */
static void try_middles(const char *isa, const struct layer *layer, struct generator *generator) {
  static const float factors[][2] = {{8384513.0f, 8392705.0f}, {8388609.0f, 8388607.0f}}; /* 2^46 + 1, 2^46 - 1 */
  float *a = place_floats(layer->lanes, ORDINARY), *b = place_floats(layer->lanes, ORDINARY);
  float *c = place_floats(layer->lanes, ORDINARY), *to = place_output(layer->lanes);
  for (int lane = 0; lane < layer->lanes; lane++) {
    const int subnormal = generator_below(generator, 2) == 0;
    const int k = subnormal ? -150 : (int)generator_below(generator, 240) - 149, half = k / 2;
    const float multiple = (float)((subnormal ? 1 << 8 : 1 << 23) + generator_below(generator, 1 << 22));
    const float *pair = factors[generator_below(generator, 2)];
    a[lane] = ldexpf(generator_below(generator, 2) ? pair[0] : -pair[0], half - 23);
    b[lane] = ldexpf(pair[1], k - half - 23);
    c[lane] = ldexpf(generator_below(generator, 2) ? multiple : -multiple, k + 1);
  }
  places_watch();
  layer->fma(a, b, c, to);
  for (int lane = 0; lane < layer->lanes; lane++) ((float *)shadow_of(to))[lane] = fmaf(a[lane], b[lane], c[lane]);
  places_check(isa, "vec_fma beside a middle");
}

static void test_middles(void **state) {
  (void)state;
  try_layers(try_middles, USUAL_OR_LONG(300, 3000));
}

/* ---- Loads and stores ---------------------------------------------------------------------------------------- */

static void try_some(const char *isa, const struct layer *layer, struct generator *generator) {
  const int count = (int)generator_below(generator, layer->lanes + 1);
  const float *from = place_elements(FOVEA_F32, count, ANY), *all = place_elements(FOVEA_F32, layer->lanes, ANY);
  float *loaded = place_exact_output(FOVEA_F32, layer->lanes), *stored = place_exact_output(FOVEA_F32, count);
  float *same = place_exact_output(FOVEA_F32, layer->lanes);
  const float x = random_number(generator, ANY);
  places_watch();
  layer->load_first(from, count, loaded);
  layer->store_first(stored, all, count);
  layer->set1(x, same);
  memset(shadow_of(loaded), 0, (size_t)layer->lanes * 4);
  if (count > 0) memcpy(shadow_of(loaded), from, (size_t)count * 4);
  if (count > 0) memcpy(shadow_of(stored), all, (size_t)count * 4);
  for (int lane = 0; lane < layer->lanes; lane++) memcpy((float *)shadow_of(same) + lane, &x, sizeof x);
  places_check(isa, "vec_load_first and vec_store_first of %d, vec_set1", count);
}

static void try_halves(const char *isa, const struct layer *layer, struct generator *generator) {
  const int lanes = layer->lanes;
  const uint16_t *halves = place_elements(FOVEA_BF16, 2 * lanes, ANY), *half = halves + lanes;
  float *a = place_floats(lanes, ANY);
  float *f16 = place_output(lanes), *bf16 = place_exact_output(FOVEA_F32, lanes);
  float *pairs = place_exact_output(FOVEA_F32, lanes), *first = place_exact_output(FOVEA_F32, lanes);
  float *second = place_exact_output(FOVEA_F32, lanes);
  uint16_t *to_f16 = place_exact_output(FOVEA_F16, lanes), *to_bf16 = place_exact_output(FOVEA_BF16, lanes);
  for (int lane = 0; lane < lanes; lane++) {
    if (generator_below(generator, 2)) a[lane] = ldexpf(a[lane], (int)generator_below(generator, 30) - 25);
    if (isnan(a[lane])) a[lane] = from_bits(0x7fc00000);
  }
  places_watch();
  layer->load_f16(half, f16);
  layer->load_bf16(half, bf16);
  layer->load_pairs(halves, pairs);
  layer->split_bf16(pairs, first, second);
  layer->store_f16(to_f16, a);
  layer->store_bf16(to_bf16, a);
  for (int lane = 0; lane < lanes; lane++) {
    ((float *)shadow_of(f16))[lane] = from_bits(widened(FOVEA_F16, half[lane]));
    ((float *)shadow_of(bf16))[lane] = from_bits(widened(FOVEA_BF16, half[lane]));
    ((uint32_t *)shadow_of(pairs))[lane] = halves[2 * lane] | (uint32_t)halves[2 * lane + 1] << 16;
    ((uint32_t *)shadow_of(first))[lane] = (uint32_t)halves[2 * lane] << 16;
    ((uint32_t *)shadow_of(second))[lane] = (uint32_t)halves[2 * lane + 1] << 16;
    const uint16_t sign = (uint16_t)(bits_of(a[lane]) >> 16 & 0x8000u); /* rounded() never returns -0 */
    const uint16_t as_f16 = rounded(FOVEA_F16, a[lane]), as_bf16 = rounded(FOVEA_BF16, a[lane]);
    ((uint16_t *)shadow_of(to_f16))[lane] = as_f16 == 0 ? sign : as_f16;
    ((uint16_t *)shadow_of(to_bf16))[lane] = as_bf16 == 0 ? sign : as_bf16;
  }
  places_check(isa, "loads and stores of f16, bf16 and pairs");
}

static void try_masks(const char *isa, const struct layer *layer, struct generator *generator) {
  const int lanes = layer->lanes, shift = lanes < 8 ? (int)generator_below(generator, 8 / lanes) * lanes : 0;
  unsigned char *bytes = place_bytes(lanes), *bits = place_bytes((lanes + 7) / 8);
  int32_t *to, *from = place_limits(generator, lanes, 30, &to);
  const int32_t key = (int32_t)generator_below(generator, 60) - 10;
  float *of_bytes = place_exact_output(FOVEA_F32, lanes), *of_bits = place_exact_output(FOVEA_F32, lanes);
  float *seen = place_exact_output(FOVEA_F32, lanes), *some = place_floats(lanes, ORDINARY);
  const int only = (int)generator_below(generator, lanes + 1);
  for (int lane = 0; lane < lanes; lane++) {
    if (generator_below(generator, 2)) bytes[lane] = 0;
    some[lane] = lane == only ? 1.0f : 0.0f;
  }
  places_watch();
  layer->load_bool(bytes, of_bytes);
  layer->load_bits(bits, shift, of_bits);
  layer->seen(key, from, to, seen);
  assert_int_equal(layer->mask_any(some) != 0, only < lanes);
  for (int lane = 0; lane < lanes; lane++) {
    ((float *)shadow_of(of_bytes))[lane] = bytes[lane] != 0 ? 0.0f : -INFINITY;
    ((float *)shadow_of(of_bits))[lane] = bits[(shift + lane) / 8] >> (shift + lane) % 8 & 1 ? 0.0f : -INFINITY;
    ((float *)shadow_of(seen))[lane] = from[lane] <= key && key < to[lane] ? 1.0f : 0.0f;
  }
  places_check(isa, "vec_load_bool, vec_load_bits with shift %d, vec_seen of key %d", shift, (int)key);
}

/* fp8 by its definition: sign, exponent, mantissa. */
static float fp8(int code, int fraction, int bias) {
  const int exponent = (code & 0x7f) >> fraction, mantissa = code & ((1 << fraction) - 1), top = 0x7f >> fraction;
  const float sign = code & 0x80 ? -1.0f : 1.0f;
  if (fraction == 3 ? (code & 0x7f) == 0x7f : exponent == top && mantissa != 0) return from_bits(0x7fc00000);
  if (fraction == 2 && exponent == top) return sign * INFINITY;
  if (exponent == 0) return sign * ldexpf((float)mantissa, 1 - bias - fraction);
  return sign * ldexpf((float)(mantissa | 1 << fraction), exponent - bias - fraction);
}

static void try_bytes(const char *isa, const struct layer *layer, struct generator *generator) {
  const int lanes = layer->lanes, first = lanes == 1 ? (int)generator_below(generator, 2) : 0;
  const unsigned char *bytes = place_bytes(lanes), *pairs = place_bytes((lanes + 1) / 2);
  float *s8 = place_exact_output(FOVEA_F32, lanes), *u8 = place_exact_output(FOVEA_F32, lanes);
  float *e4m3 = place_output(lanes), *e5m2 = place_output(lanes);
  float *low = place_exact_output(FOVEA_F32, lanes), *high = place_exact_output(FOVEA_F32, lanes);
  float *u4 = place_exact_output(FOVEA_F32, lanes);
  places_watch();
  layer->load_s8((const int8_t *)bytes, s8);
  layer->load_u8(bytes, u8);
  layer->load_e4m3(bytes, e4m3);
  layer->load_e5m2(bytes, e5m2);
  layer->load_low_u4(bytes, low);
  layer->load_high_u4(bytes, high);
  layer->load_u4(pairs, first, u4);
  for (int lane = 0; lane < lanes; lane++) {
    const int code = bytes[lane], dim = first + lane;
    ((float *)shadow_of(s8))[lane] = (float)(code < 128 ? code : code - 256);
    ((float *)shadow_of(u8))[lane] = (float)code;
    ((float *)shadow_of(e4m3))[lane] = fp8(code, 3, 7);
    ((float *)shadow_of(e5m2))[lane] = fp8(code, 2, 15);
    ((float *)shadow_of(low))[lane] = (float)(code % 16);
    ((float *)shadow_of(high))[lane] = (float)(code / 16);
    ((float *)shadow_of(u4))[lane] = (float)(dim % 2 ? pairs[dim / 2] / 16 : pairs[dim / 2] % 16);
  }
  places_check(isa, "loads of codes");
}

static void try_fp8_halves(const char *isa, const struct layer *layer, struct generator *generator) {
  (void)generator;
  const int count = 2 * layer->lanes;
  const unsigned char *bytes = place_bytes(count);
  float *e4m3 = place_output(count), *e5m2 = place_output(count);
  places_watch();
  layer->halves(bytes, e4m3, e5m2);
  for (int i = 0; i < count; i++) {
    ((float *)shadow_of(e4m3))[i] = fp8(bytes[i], 3, 7) / 256;
    ((float *)shadow_of(e5m2))[i] = fp8(bytes[i], 2, 15);
  }
  places_check(isa, "fp8 as f16");
}

static void try_words(const char *isa, const struct layer *layer, struct generator *generator) {
  const int lanes = layer->lanes;
  const void **rows = place_pointers(lanes);
  float *words = place_exact_output(FOVEA_F32, 4 * lanes), *u4 = place_exact_output(FOVEA_F32, 8 * lanes);
  float *signed_bytes = place_exact_output(FOVEA_F32, 4 * lanes);
  float *numbers[4];
  const unsigned char *one[16];
  const int64_t at = 3 * generator_below(generator, 4);
  const unsigned char *bytes = place_bytes(lanes * (16 + at));
  for (int i = 0; i < lanes; i++) rows[i] = one[i] = bytes + (lanes - 1 - i) * (16 + at);
  for (int kind = 0; kind < 4; kind++)
    numbers[kind] = kind < 2 ? place_exact_output(FOVEA_F32, 4 * lanes) : place_output(4 * lanes);
  places_watch();
  layer->load_words(rows, at, words);
  layer->word_bytes(words, numbers[0], numbers[1], numbers[2], numbers[3]);
  layer->word_signed(words, signed_bytes);
  layer->word_u4(words, u4);
  for (int lane = 0; lane < lanes; lane++) {
    for (int i = 0; i < 4; i++)
      memcpy((float *)shadow_of(words) + i * lanes + lane, one[lane] + at + 4 * i, sizeof(float));
    for (int i = 0; i < 4; i++) {
      const int code = one[lane][at + i], place = i * lanes + lane;
      ((float *)shadow_of(numbers[0]))[place] = (float)(code < 128 ? code : code - 256) * 0x1p24f;
      ((float *)shadow_of(signed_bytes))[place] = (float)(code < 128 ? code : code - 256);
      ((float *)shadow_of(numbers[1]))[place] = (float)code;
      ((float *)shadow_of(numbers[2]))[place] = fp8(code, 3, 7) / 256;
      ((float *)shadow_of(numbers[3]))[place] = fp8(code, 2, 15);
      ((float *)shadow_of(u4))[2 * i * lanes + lane] = (float)(code % 16);
      ((float *)shadow_of(u4))[(2 * i + 1) * lanes + lane] = (float)(code / 16);
    }
  }
  places_check(isa, "words of codes, at byte %d", (int)at);
}

static void try_word_values(const char *isa, const struct layer *layer, struct generator *generator) {
  const int lanes = layer->lanes;
  const unsigned char *bytes = place_bytes(4 * lanes);
  const int8_t *table = (const int8_t *)place_bytes(16);
  float *lower = place_exact_output(FOVEA_F32, lanes), *upper = place_exact_output(FOVEA_F32, lanes);
  (void)generator;
  if (layer->word_values == NULL) return;
  places_watch();
  layer->word_values((const float *)(const void *)bytes, table, lower, upper);
  for (int i = 0; i < 4 * lanes; i++) {
    ((int8_t *)shadow_of(lower))[i] = table[bytes[i] % 16];
    ((int8_t *)shadow_of(upper))[i] = table[bytes[i] / 16];
  }
  places_check(isa, "bytes of a table");
}

static void try_look_ups(const char *isa, const struct layer *layer, struct generator *generator) {
  const int lanes = layer->lanes;
  const unsigned char *bytes = place_bytes(lanes), *pairs = place_bytes(lanes / 2);
  const float *table = place_floats(16, ORDINARY), *words = (const float *)(const void *)place_bytes(4 * lanes);
  float *low = place_exact_output(FOVEA_F32, lanes), *high = place_exact_output(FOVEA_F32, lanes);
  float *u4 = place_exact_output(FOVEA_F32, lanes), *of_words = place_exact_output(FOVEA_F32, 8 * lanes);
  (void)generator;
  if (layer->look_up == NULL) return;
  places_watch();
  layer->look_up(table, bytes, low, high);
  layer->look_up_u4(table, pairs, u4);
  layer->look_up_words(table, words, of_words);
  for (int lane = 0; lane < lanes; lane++) {
    const unsigned char *word = (const unsigned char *)(words + lane);
    ((float *)shadow_of(low))[lane] = table[bytes[lane] % 16];
    ((float *)shadow_of(high))[lane] = table[bytes[lane] / 16];
    ((float *)shadow_of(u4))[lane] = table[lane % 2 ? pairs[lane / 2] / 16 : pairs[lane / 2] % 16];
    for (int i = 0; i < 8; i++)
      ((float *)shadow_of(of_words))[i * lanes + lane] = table[i % 2 ? word[i / 2] / 16 : word[i / 2] % 16];
  }
  places_check(isa, "numbers of a table");
}

static void test_codes(void **state) {
  (void)state;
  try_layers(try_bytes, USUAL_OR_LONG(300, 10000));
  try_layers(try_fp8_halves, USUAL_OR_LONG(300, 10000));
  try_layers(try_words, USUAL_OR_LONG(300, 10000));
  try_layers(try_word_values, USUAL_OR_LONG(300, 10000));
  try_layers(try_look_ups, USUAL_OR_LONG(300, 10000));
}

static void test_memory(void **state) {
  (void)state;
  try_layers(try_some, USUAL_OR_LONG(200, 5000));
  try_layers(try_halves, USUAL_OR_LONG(300, 10000));
  try_layers(try_masks, USUAL_OR_LONG(300, 10000));
}

/* ---- The rest ------------------------------------------------------------------------------------------------ */

static void try_lane(const char *isa, const struct layer *layer, struct generator *generator) {
  const float *a = place_floats(layer->lanes, ANY), *four = place_floats(4, ANY);
  const float *c = place_floats(layer->lanes, ANY);
  float *to[4];
  for (int i = 0; i < 4; i++) to[i] = place_output(layer->lanes);
  (void)generator;
  places_watch();
  for (int i = 0; i < 4; i++) {
    layer->fma_lane(a, four, i, c, to[i]);
    for (int lane = 0; lane < layer->lanes; lane++)
      ((float *)shadow_of(to[i]))[lane] = fmaf(a[lane], four[i], c[lane]);
  }
  places_check(isa, "vec_fma_lane");
}

/* Normal positive numbers: z from 0x1.6a09e6p-1 to just below 0x1.6a09e6p+0. */
static void try_split_power(const char *isa, const struct layer *layer, struct generator *generator) {
  float *a = place_floats(layer->lanes, ORDINARY);
  float *z = place_exact_output(FOVEA_F32, layer->lanes), *e = place_exact_output(FOVEA_F32, layer->lanes);
  for (int lane = 0; lane < layer->lanes; lane++) {
    a[lane] = from_bits(0x00800000u + (uint32_t)generator_below(generator, 0x7f800000 - 0x00800000));
    if (generator_below(generator, 4) == 0)
      a[lane] = from_bits(0x3f3504f3u + (uint32_t)generator_below(generator, 3) - 1);
  }
  places_watch();
  layer->split_power(a, z, e);
  for (int lane = 0; lane < layer->lanes; lane++) {
    int exponent;
    const float half = frexpf(a[lane], &exponent);
    const int low = half < 0x1.6a09e6p-1f;
    ((float *)shadow_of(z))[lane] = low ? 2.0f * half : half;
    ((float *)shadow_of(e))[lane] = (float)(exponent - low);
  }
  places_check(isa, "vec_split_power");
}

/* Every float chooses one of sixteen. */
static void try_pick(const char *isa, const struct layer *layer, struct generator *generator) {
  const float *table = place_elements(FOVEA_F32, 16, ANY);
  float *a = place_floats(layer->lanes, ANY), *to = place_exact_output(FOVEA_F32, layer->lanes);
  for (int lane = 0; lane < layer->lanes; lane++) a[lane] = random_number(generator, ANY);
  places_watch();
  layer->pick(table, a, to);
  for (int lane = 0; lane < layer->lanes; lane++)
    memcpy((float *)shadow_of(to) + lane, table + (bits_of(a[lane]) >> 21) % 16, sizeof *table);
  places_check(isa, "vec_quarter, vec_pick");
}

static void try_transpose(const char *isa, const struct layer *layer, struct generator *generator) {
  const int lanes = layer->lanes;
  (void)generator;
  float *square = place_elements(FOVEA_F32, lanes * lanes, ANY);
  float before[LIMIT * LIMIT];
  places_watch();
  memcpy(before, square, (size_t)(lanes * lanes) * 4);
  layer->transpose(square);
  float *expected = shadow_of(square);
  for (int i = 0; i < lanes; i++)
    for (int j = 0; j < lanes; j++) memcpy(&expected[i * lanes + j], &before[j * lanes + i], sizeof *before);
  places_check(isa, "vec_transpose");
}

/* Both forms of scaling: below the limit the result is 0; NaN stays NaN. */
static void try_scaling(const char *isa, const struct layer *layer, struct generator *generator) {
  const int lanes = layer->lanes;
  float *x = place_floats(lanes, ANY), *a = place_floats(lanes, ORDINARY), *r = place_floats(lanes, ORDINARY);
  float *to = layer->zero_if_less ? place_exact_output(FOVEA_F32, lanes) : place_output(lanes);
  for (int lane = 0; lane < lanes; lane++) {
    if (generator_below(generator, 2)) x[lane] = -126.0f + (float)(generator_below(generator, 3) - 1) * 0x1p-17f;
    r[lane] = (float)(generator_below(generator, 127) - 126);
    a[lane] = isnan(x[lane]) ? NAN : 1.0f + a[lane] * 0.5f;
  }
  places_watch();
  if (layer->zero_if_less) layer->zero_if_less(x, -126.0f, a, to);
  if (layer->scalef_unless_less) layer->scalef_unless_less(x, -126.0f, a, r, to);
  for (int lane = 0; lane < lanes; lane++) {
    const float scaled = layer->zero_if_less ? a[lane] : ldexpf(a[lane], (int)r[lane]);
    ((float *)shadow_of(to))[lane] = x[lane] < -126.0f ? 0.0f : scaled;
  }
  places_check(isa, "the scaling of 2^x");
}

/* k[i] has rows r and r + 4, r = i / 4 * 8 + i % 4; transposed, k[i] has element i of all rows. */
static void try_transpose_halves(const char *isa, const struct layer *layer, struct generator *generator) {
  const int lanes = layer->lanes, half = lanes / 2;
  (void)generator;
  if (layer->transpose_halves == NULL) return;
  float *low = place_elements(FOVEA_F32, half, ANY), *high = place_elements(FOVEA_F32, half, ANY);
  uint16_t *low_f16 = place_elements(FOVEA_F16, half, ANY), *high_f16 = place_elements(FOVEA_F16, half, ANY);
  float *both = place_exact_output(FOVEA_F32, lanes), *both_f16 = place_output(lanes);
  float *square = place_elements(FOVEA_F32, half * lanes, ANY), before[LIMIT * LIMIT];
  memcpy(before, square, (size_t)(half * lanes) * 4);
  places_watch();
  layer->load_halves(low, high, both);
  layer->load_halves_f16(low_f16, high_f16, both_f16);
  layer->transpose_halves(square);
  memcpy(shadow_of(both), low, (size_t)half * 4);
  memcpy((float *)shadow_of(both) + half, high, (size_t)half * 4);
  for (int i = 0; i < half; i++) {
    ((float *)shadow_of(both_f16))[i] = from_bits(widened(FOVEA_F16, low_f16[i]));
    ((float *)shadow_of(both_f16))[half + i] = from_bits(widened(FOVEA_F16, high_f16[i]));
    for (int part = 0; part < 2; part++) {
      const int row = i / 4 * 8 + i % 4 + 4 * part;
      for (int d = 0; d < half; d++)
        memcpy((float *)shadow_of(square) + d * lanes + row, &before[i * lanes + part * half + d], sizeof *before);
    }
  }
  places_check(isa, "vec_load_halves, vec_load_halves_f16, vec_transpose_halves");
}

static void test_rest(void **state) {
  (void)state;
  try_layers(try_lane, USUAL_OR_LONG(200, 5000));
  try_layers(try_split_power, USUAL_OR_LONG(300, 10000));
  try_layers(try_pick, USUAL_OR_LONG(300, 10000));
  try_layers(try_transpose, USUAL_OR_LONG(20, 300));
  try_layers(try_scaling, USUAL_OR_LONG(300, 10000));
  try_layers(try_transpose_halves, USUAL_OR_LONG(50, 1000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lanewise), cmocka_unit_test(test_middles), cmocka_unit_test(test_memory),
      cmocka_unit_test(test_codes),    cmocka_unit_test(test_rest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
