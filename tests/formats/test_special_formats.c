/* Codes and scales with special values: rows have the bits that f32 tensors with these numbers give, and keys that
 * no row sees change nothing. */
#include "narrow.h"

#include "support/caches.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4, KV_HEADS = 2, KEYS = 90 };

/* A segment with formats of both sides, and the trial of its numbers. */
struct scene {
  fovea_format formats[2];
  struct narrow sides[2];
  fovea_segment segment;
};

static void fill(const struct scene *scene, struct trial *trial) {
  for (int values = 0; values < 2; values++)
    for (int64_t head = 0; head < KV_HEADS; head++)
      for (int64_t row = 0; row < scene->segment.rows; row++) {
        float *to = tensor_row(values ? &trial->v : &trial->k, 0, head, row);
        for (int64_t d = 0; d < scene->sides[values].dim; d++)
          to[d] = narrow_element(&scene->sides[values], &scene->segment, values, head, row, d);
      }
}

static void run_all(struct trial *trial, const struct trial *expected, const struct scene *scene) {
  const fovea_sequence sequence = fovea_sequence_of(&scene->segment, 1);
  for (const char *const *isa = usable_isas_for(&trial->problem); *isa != NULL; isa++) {
    trial_run_cached(trial, *isa, &sequence, NULL);
    assert_same_outputs(trial, expected);
  }
}

static void make_scene(struct scene *scene, fovea_format_name name, fovea_type scale_type, int64_t dim, int centred,
                       struct generator *generator) {
  memset(scene, 0, sizeof *scene);
  scene->segment.rows = KEYS;
  for (int values = 0; values < 2; values++) {
    scene->formats[values] = narrow_format(name);
    if (!scene->formats[values].sums) scene->formats[values].scale_type = scale_type;
    narrow_make(&scene->sides[values], &scene->formats[values], KV_HEADS, dim, centred, &scene->segment, values,
                generator);
  }
}

static void end_scene(struct scene *scene) {
  for (int values = 0; values < 2; values++) narrow_destroy(&scene->sides[values]);
}

/* Bits that are special as a scale, a zero or a minimum of that type. */
static uint32_t special_number(fovea_type type, int number) {
  static const uint32_t f32[] = {0,          0x80000000, 0x7fc00000, 0xffffffff, 0x7f800001, 0x7f800000,
                                 0xff800000, 1,          0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff};
  static const uint32_t f16[] = {0,      0x8000, 0x7e00, 0xffff, 0x7c01, 0x7c00,
                                 0xfc00, 1,      0x83ff, 0x0400, 0x7bff, 0xfbff};
  static const uint32_t bf16[] = {0,      0x8000, 0x7fc0, 0xffff, 0x7f81, 0x7f80,
                                  0xff80, 1,      0x807f, 0x0080, 0x7f7f, 0xff7f};
  return type == FOVEA_F32 ? f32[number] : type == FOVEA_F16 ? f16[number] : bf16[number];
}
enum { SPECIAL = 12 };

/* Makes one scale (or zero) that an element of a row has special. */
static void spoil_number(struct scene *scene, int values, int zero, int64_t head, int64_t row, int64_t d,
                         int special) {
  const struct narrow *side = &scene->sides[values];
  const uint32_t bits = special_number(side->format.scale_type, special);
  unsigned char *at = narrow_number(side, &scene->segment, values, head, row, d, zero);
  const uint16_t half = (uint16_t)bits;
  memcpy(at, side->format.scale_type == FOVEA_F32 ? (const void *)&bits : (const void *)&half,
         side->format.scale_type == FOVEA_F32 ? 4 : 2);
}

/* The scale belongs to a key if bit 0 of `sides` is set, to a value if bit 1 is. */
static void try_scale(fovea_format_name name, fovea_type type, int special, int sides, int64_t queries,
                      struct generator *generator) {
  struct scene scene;
  fovea_problem problem;
  const int64_t dim = 32 * (1 + special % 3);
  make_scene(&scene, name, type, dim, special % 4 == 0, generator);
  const int zeros = scene.formats[0].formula != FOVEA_FORMULA_SCALE;
  /* Numbers below 1, whose products with the largest scale are finite. */
  for (int values = 0; values < 2 && name == FOVEA_FORMAT_E4M3; values++)
    for (size_t at = 0; at < scene.sides[values].codes.size; at++)
      ((unsigned char *)scene.sides[values].codes.data)[at] &= 0xaf;
  for (int values = 0; values < 2; values++)
    if (sides >> values & 1)
      spoil_number(&scene, values, zeros ? (int)generator_below(generator, 2) : 0,
                   generator_below(generator, KV_HEADS), generator_below(generator, KEYS),
                   generator_below(generator, dim), special);
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, queries, KEYS, dim, dim);
  problem.causal = 1;
  struct trial expected = trial_create(&problem, (uint64_t)name);
  fill(&scene, &expected);
  trial_run(&expected, "scalar", NULL);
  struct trial trial = trial_sharing_inputs(&expected);
  run_all(&trial, &expected, &scene);
  trial_destroy(&trial);
  trial_destroy(&expected);
  end_scene(&scene);
}

/* Every preset, every special number in a scale or zero of a key or value, with scales of every type. */
static void test_scales(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int name = 0; name < NARROW_FORMATS; name++)
    for (int special = USUAL_OR_LONG(name % 2, 0); special < SPECIAL; special += USUAL_OR_LONG(2, 1))
      try_scale((fovea_format_name)name, (fovea_type)((name + special) % 3), special,
                special % 3 == 2 ? 3 : 2 - special % 3, special / 2 % 2 ? 1 : 40, &generator);
}

/* Decoding multiplies the scales of these formats by a power of two, unless a product is not exact. */
static void test_folded_scales(void **state) {
  (void)state;
  struct generator generator = {3};
  for (int special = 0; special < SPECIAL; special++)
    for (int i = 0; i < 6; i++)
      try_scale(i % 2 ? FOVEA_FORMAT_E4M3 : FOVEA_FORMAT_I8_ROWS, i % 3 ? FOVEA_F32 : FOVEA_BF16, special,
                1 + i / 3, 1, &generator);
}

/* Every code of fp8, also NaN and infinities, and codes of every format with their extremes. */
static void test_codes(void **state) {
  (void)state;
  struct generator generator = {2};
  for (int i = 0; i < 4 * 16; i++) {
    struct scene scene;
    fovea_problem problem;
    const fovea_format_name name = i % 2 ? FOVEA_FORMAT_E4M3 : FOVEA_FORMAT_E5M2;
    make_scene(&scene, name, FOVEA_F32, 64, 0, &generator);
    for (int values = 0; values < 2; values++) {
      unsigned char *codes = scene.sides[values].codes.data;
      const size_t size = scene.sides[values].codes.size;
      /* All codes here and there; or one that is no number. */
      for (size_t at = 0; at < 256 && i < 4; at++)
        codes[(size_t)generator_below(&generator, (int64_t)size)] = (unsigned char)at;
      static const unsigned char none[] = {0x7f, 0xff, 0x7c, 0xfc, 0x7d, 0xfe, 0x80, 0x00};
      codes[(size_t)generator_below(&generator, (int64_t)size)] = none[i / 2 % 8];
    }
    fovea_problem_init(&problem, 1, HEADS, KV_HEADS, i % 3 ? 1 : 33, KEYS, 64, 64);
    problem.causal = 1;
    struct trial expected = trial_create(&problem, (uint64_t)i);
    fill(&scene, &expected);
    trial_run(&expected, "scalar", NULL);
    struct trial trial = trial_sharing_inputs(&expected);
    run_all(&trial, &expected, &scene);
    trial_destroy(&trial);
    trial_destroy(&expected);
    end_scene(&scene);
  }
}

/* Rows that see a value of NaN are NaN there, and no other is: counted by hand, with one head and a NaN scale. */
static void test_nan_rows(void **state) {
  (void)state;
  enum { NAN_KEY = 40, DIM = 32 };
  struct generator generator = {3};
  for (int values = 0; values < 2; values++) {
    struct scene scene;
    fovea_problem problem;
    make_scene(&scene, FOVEA_FORMAT_Q8_0, FOVEA_F16, DIM, 0, &generator);
    spoil_number(&scene, values, 0, 1, NAN_KEY, 5, 2);
    fovea_problem_init(&problem, 1, HEADS, KV_HEADS, KEYS, KEYS, DIM, DIM);
    problem.causal = 1;
    struct trial trial = trial_create(&problem, 3);
    const fovea_sequence sequence = fovea_sequence_of(&scene.segment, 1);
    for (const char *const *isa = usable_isas_for(&trial.problem); *isa != NULL; isa++) {
      trial_run_cached(&trial, *isa, &sequence, NULL);
      for (int64_t head = 0; head < HEADS; head++)
        for (int64_t row = 0; row < KEYS; row++)
          for (int64_t d = 0; d < DIM; d++)
            assert_int_equal(isnan(tensor_row(&trial.o, 0, head, row)[d]) != 0, head >= 2 && row >= NAN_KEY);
    }
    trial_destroy(&trial);
    end_scene(&scene);
  }
}

/* Copies to elements: a NaN of a code or scale, of any sign, and a product that has none, become the one NaN. */
static void test_copies_of_nan(void **state) {
  (void)state;
  static const unsigned char codes[2][6] = {{0x7f, 0xff, 0x38, 0xb8, 0, 0x80}, {0x7d, 0xff, 0x3c, 0xbc, 0, 0x80}};
  static const uint32_t scales[] = {0x3f800000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc12345u};
  static const uint32_t nans[] = {0x7fc00000u, 0x7e00u, 0x7fc0u};
  for (int i = 0; i < 2 * 5 * 3; i++) {
    const fovea_format format = narrow_format(i % 2 ? FOVEA_FORMAT_E5M2 : FOVEA_FORMAT_E4M3);
    const uint32_t bits = scales[i / 2 % 5];
    const float scale = from_bits(bits);
    const fovea_type type = (fovea_type)(i / 10);
    unsigned char row[16] = {0};
    float copies[2][16];
    fovea_error error;
    memcpy(row, codes[i % 2], 6);
    const fovea_code_scales one = {.scales = (void *)&scale};
    const fovea_segment from = {.rows = 1,
                                .k = row,
                                .v = row,
                                .k_row = 16,
                                .v_row = 16,
                                .k_format = &format,
                                .v_format = &format,
                                .k_scales = one,
                                .v_scales = one};
    const fovea_segment to = {
        .rows = 1, .k = copies[0], .v = copies[1], .k_row = 16, .v_row = 16, .k_type = type, .v_type = type};
    const fovea_sequence sequences[] = {fovea_sequence_of(&from, 1), fovea_sequence_of(&to, 1)};
    if (fovea_sequence_copy(&sequences[0], &sequences[1], 1, 1, 16, 16, 0, 1, NULL, &error))
      fail_msg("%s", error.text);
    for (int d = 0; d < 16; d++) {
      const int zero = d >= 4, none = d < 2 || (bits & 0x7fffffffu) > 0x7f800000u;
      const int is_nan = none || (zero && (bits & 0x7fffffffu) == 0x7f800000u);
      for (int side = 0; side < 2; side++) {
        uint32_t got = 0;
        memcpy(&got, (const char *)copies[side] + d * (type == FOVEA_F32 ? 4 : 2), type == FOVEA_F32 ? 4 : 2);
        if (is_nan) assert_int_equal(got, nans[type]);
        if (!is_nan && zero) assert_int_equal(got & 0x7fff, 0);
      }
    }
  }
}

/* Keys after the length, before a window and under a mask have any codes and scales: all bytes of their rows. */
static void test_hidden_keys(void **state) {
  (void)state;
  static const int names[] = {FOVEA_FORMAT_I8_ROWS, FOVEA_FORMAT_Q8_0,           FOVEA_FORMAT_Q4_1,
                              FOVEA_FORMAT_Q5_0,    FOVEA_FORMAT_OPENVINO_U4,    FOVEA_FORMAT_E4M3,
                              FOVEA_FORMAT_E5M2,    FOVEA_FORMAT_KIVI_V2,        FOVEA_FORMAT_IQ4_NL,
                              FOVEA_FORMAT_Q8_KV,   FOVEA_FORMAT_VLLM_E4M3_KEYS, FOVEA_FORMAT_VLLM_BF16_VALUES};
  struct generator generator = {4};
  for (int i = 0; i < 3 * 12; i++) {
    struct scene scene;
    fovea_problem problem;
    const int64_t rows = i % 2 ? 1 : 24;
    make_scene(&scene, (fovea_format_name)names[i / 3], FOVEA_F16, 64, 0, &generator);
    fovea_problem_init(&problem, 1, HEADS, KV_HEADS, rows, KEYS, 64, 64);
    if (i % 3 == 1) {
      problem.causal = 1;
      problem.window_left = 20;
    } else if (i % 3 == 2) {
      problem.mask.type = FOVEA_MASK_BOOL;
      problem.mask.strides = (fovea_mask_strides){0, 0, 0, 1};
    }
    int64_t length = KEYS - 10;
    if (i % 3 == 0) problem.kv_lens = &length;
    struct trial expected = trial_create(&problem, (uint64_t)i);
    fill(&scene, &expected);
    trial_run(&expected, "scalar", NULL);
    struct trial trial = trial_sharing_inputs(&expected);
    run_all(&trial, &expected, &scene);
    for (int64_t key = 0; key < KEYS; key++) {
      int seen = 0;
      for (int64_t row = 0; row < rows; row++) seen |= trial_sees(&expected, 0, 0, row, key);
      if (seen) continue;
      for (int values = 0; values < 2; values++)
        narrow_spoil_row(&scene.sides[values], &scene.segment, values, key, 0xff);
    }
    run_all(&trial, &expected, &scene);
    trial_destroy(&trial);
    trial_destroy(&expected);
    end_scene(&scene);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scales),   cmocka_unit_test(test_folded_scales), cmocka_unit_test(test_codes),
      cmocka_unit_test(test_nan_rows), cmocka_unit_test(test_copies_of_nan), cmocka_unit_test(test_hidden_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
