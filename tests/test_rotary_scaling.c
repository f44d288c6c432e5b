/* Scaled rotary embeddings against the figures of transformers, which tests/rotary_scaling.py prints; tables and
 * axes; what is refused. */
#include "contract_rotary.h"
#include "contract_scaling.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/generator.h"

#include <fovea/rotary_scaling.h>

#include <math.h>
#include <string.h>

enum { MOST_PAIRS = 128, LONGROPE_PAIRS = 48 };

/* The lists of the script's LongRoPE. */
static double short_factors[LONGROPE_PAIRS], long_factors[LONGROPE_PAIRS];

static const struct figures {
  const char *name;
  fovea_scaling_rule rule;
  fovea_rotary_scaling fields; /* as the script sets them */
  double attention_factor;
  double exact[MOST_PAIRS]; /* by transformers' lines in double */
  float single[MOST_PAIRS]; /* as they are, in f32 */
} figures[] = {
#define SCALED_FREQUENCIES
#include "rotary_scaling.inc"
#undef SCALED_FREQUENCIES
};

static fovea_rotary_scaling scaling_of(const struct figures *f) {
  fovea_rotary_scaling scaling;
  fovea_rotary_scaling_init(&scaling, f->rule, f->fields.dims);
  scaling.base = f->fields.base;
  scaling.factor = f->fields.factor;
  scaling.trained_length = f->fields.trained_length;
  scaling.length = f->fields.length;
  scaling.exact_pairs = f->fields.exact_pairs;
  scaling.mscale = f->fields.mscale;
  scaling.mscale_all_dim = f->fields.mscale_all_dim;
  scaling.attention_factor = f->fields.attention_factor;
  scaling.rotated_dims = f->fields.rotated_dims;
  if (f->rule == FOVEA_SCALING_LONGROPE) scaling.short_factors = short_factors, scaling.long_factors = long_factors;
  return scaling;
}

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < LONGROPE_PAIRS; i++) {
    short_factors[i] = 1.0 + 0.05 * i;
    long_factors[i] = 1.0 + 1.3 * i;
  }
  return 0;
}

/* The bits are those of section 12. */
static void assert_contract(const char *name, const fovea_rotary_scaling *scaling, const double *frequencies,
                            double factor) {
  double expected[MOST_PAIRS], expected_factor;
  contract_scaling(scaling, expected, &expected_factor);
  if (memcmp(&factor, &expected_factor, sizeof factor) != 0)
    fail_msg("%s: factor %a, not %a", name, factor, expected_factor);
  for (int64_t i = 0; i < scaling->dims / 2; i++)
    if (memcmp(&frequencies[i], &expected[i], sizeof *expected) != 0)
      fail_msg("%s, pair %d: %a, not %a", name, (int)i, frequencies[i], expected[i]);
}

/* Doubles of both sides are within some roundings of each other. Numbers of f32 have its roundings, and
 * transformers' powers. */
static void test_transformers(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
    const struct figures *f = &figures[i];
    const fovea_rotary_scaling scaling = scaling_of(f);
    double frequencies[MOST_PAIRS + 1], factor;
    fovea_error error;
    frequencies[f->fields.dims / 2] = -7; /* after the last */
    if (fovea_rotary_frequencies(&scaling, frequencies, &factor, &error) != FOVEA_OK)
      fail_msg("%s: %s", f->name, error.text);
    assert_contract(f->name, &scaling, frequencies, factor);
    if (!(fabs(factor - f->attention_factor) <= 0x1p-51)) fail_msg("%s: factor %a", f->name, factor);
    for (int64_t pair = 0; pair < f->fields.dims / 2; pair++) {
      const double exact = f->exact[pair], single = (double)f->single[pair];
      if (!(fabs(frequencies[pair] - exact) <= 0x1p-50 * exact &&
            fabs(frequencies[pair] - single) <= 0x1p-21 * single))
        fail_msg("%s, pair %d: %a, not %a or %a", f->name, (int)pair, frequencies[pair], exact, single);
    }
    assert_true(frequencies[f->fields.dims / 2] == -7);
  }
}

/* NTK has no function in transformers: its base is base s^(d / (d - 2)), as bloc97 wrote it. */
static void test_ntk(void **state) {
  (void)state;
  for (int dims = 4; dims <= 256; dims += 28) {
    fovea_rotary_scaling scaling;
    double frequencies[MOST_PAIRS], factor;
    fovea_rotary_scaling_init(&scaling, FOVEA_SCALING_NTK, dims);
    scaling.factor = 1.0 + dims * 0.11;
    assert_int_equal(fovea_rotary_frequencies(&scaling, frequencies, &factor, NULL), FOVEA_OK);
    assert_true(factor == 1);
    const double base = 10000.0 * pow(scaling.factor, dims / (dims - 2.0));
    assert_contract("NTK", &scaling, frequencies, factor);
    for (int i = 0; i < dims / 2; i++) {
      const double expected = pow(base, -2.0 * i / dims);
      assert_true(fabs(frequencies[i] - expected) <= 0x1p-47 * expected);
    }
  }
}

/* Random fields of every rule, also such that YaRN's pairs lie before the first or after the last one. */
static void test_random_fields(void **state) {
  (void)state;
  struct generator generator = {12};
  for (int i = 0; i < 4000; i++) {
    fovea_rotary_scaling s;
    double frequencies[MOST_PAIRS], factor;
    fovea_error error;
    const fovea_scaling_rule rule = (fovea_scaling_rule)(i % 8);
    fovea_rotary_scaling_init(&s, rule, 4 + 2 * generator_below(&generator, LONGROPE_PAIRS - 1));
    s.base = exp(1 + 14 * fabs((double)generator_uniform(&generator)));
    if (rule != FOVEA_SCALING_NONE) s.factor = 1 + 40 * fabs((double)generator_uniform(&generator));
    if (rule >= FOVEA_SCALING_DYNAMIC_NTK && rule <= FOVEA_SCALING_LONGROPE)
      s.trained_length = 2 + generator_below(&generator, INT64_C(1) << generator_below(&generator, 40));
    if (rule == FOVEA_SCALING_DYNAMIC_NTK || rule == FOVEA_SCALING_LONGROPE)
      s.length = 1 + generator_below(&generator, 2 * s.trained_length);
    if (rule == FOVEA_SCALING_LONGROPE) s.short_factors = short_factors, s.long_factors = long_factors;
    if (rule == FOVEA_SCALING_PROPORTIONAL) s.rotated_dims = 2 * generator_below(&generator, s.dims / 2 + 1);
    if (rule == FOVEA_SCALING_YARN) s.exact_pairs = i % 3 == 0;
    if (rule == FOVEA_SCALING_YARN && i % 5 == 0) s.mscale = 0.7, s.mscale_all_dim = 1.3;
    if (fovea_rotary_frequencies(&s, frequencies, &factor, &error) != FOVEA_OK) fail_msg("%d: %s", i, error.text);
    assert_contract("random fields", &s, frequencies, factor);
  }
}

/* Without scaling, and by a factor of 1, rotating by frequencies has the bits of rotating by the base. */
static void test_plain(void **state) {
  (void)state;
  enum { DIM = 128 };
  static const fovea_scaling_rule rules[] = {FOVEA_SCALING_NONE, FOVEA_SCALING_LINEAR, FOVEA_SCALING_NTK};
  float rows[2][DIM];
  for (int i = 0; i < 3; i++)
    for (int64_t position = 0; position < 4000; position += 39) {
      fovea_rotary_scaling scaling;
      double frequencies[MOST_PAIRS], factor;
      fovea_rotary_scaling_init(&scaling, rules[i], DIM);
      assert_int_equal(fovea_rotary_frequencies(&scaling, frequencies, &factor, NULL), FOVEA_OK);
      assert_true(factor == 1);
      for (int side = 0; side < 2; side++) {
        fovea_rotary rotary;
        fovea_rotation rotation;
        for (int d = 0; d < DIM; d++) rows[side][d] = (float)(d % 17 - 8);
        fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, DIM);
        if (side) rotary.frequencies = frequencies;
        fovea_rotation_init(&rotation, 1, 1, 1, DIM, rows[side], rows[side]);
        rotation.first_position = position;
        assert_int_equal(fovea_rotary_apply(&rotary, &rotation, NULL, NULL), FOVEA_OK);
      }
      for (int d = 0; d < DIM; d++) assert_true(fabsf(rows[0][d] - rows[1][d]) <= 0x1p-20f);
    }
}

/* Cosines and sines of the contract, times the factor; rotating by tables of the factor 1 has the bits of rotating.
 */
static void test_tables(void **state) {
  (void)state;
  enum { PAIRS = 70, ROWS = 9 };
  static struct fraction turns[PAIRS];
  static float cosines[ROWS * PAIRS + 1], sines[ROWS * PAIRS + 1];
  double frequencies[PAIRS];
  for (int i = 0; i < PAIRS; i++) frequencies[i] = 1.0 / (1 + i);
  for (int given = 0; given < 2; given++)
    for (int scaled = 0; scaled < 2; scaled++) {
      const double factor = scaled ? 1.0 / 3 : 1;
      fovea_rotary rotary;
      fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, 2 * PAIRS);
      if (given) rotary.frequencies = frequencies;
      contract_turns(10000.0, rotary.frequencies, PAIRS, turns);
      cosines[ROWS * PAIRS] = sines[ROWS * PAIRS] = -7;
      assert_int_equal(fovea_rotary_tables(&rotary, factor, ROWS, cosines, sines, NULL), FOVEA_OK);
      for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < PAIRS; i++) {
          float cosine, sine;
          contract_angle(turns[i], row, &cosine, &sine);
          cosine *= (float)factor, sine *= (float)factor;
          assert_memory_equal(&cosines[row * PAIRS + i], &cosine, sizeof cosine);
          assert_memory_equal(&sines[row * PAIRS + i], &sine, sizeof sine);
        }
      assert_true(cosines[ROWS * PAIRS] == -7 && sines[ROWS * PAIRS] == -7);
    }
}

static void test_sections(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fovea_section_layout layout;
    int64_t sections[3], pairs;
    unsigned char axes[64];
  } models[] = {
#define SECTION_AXES
#include "rotary_scaling.inc"
#undef SECTION_AXES
  };
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    unsigned char axes[65] = {[64] = 9};
    assert_int_equal(fovea_rotary_sections(models[i].layout, models[i].sections, 3, models[i].pairs, axes, NULL),
                     FOVEA_OK);
    assert_memory_equal(axes, models[i].axes, 64);
    assert_int_equal(axes[64], 9);
  }
}

#define SCALING_REFUSED(rule, change, status, word)                                                                \
  do {                                                                                                             \
    fovea_rotary_scaling scaling;                                                                                  \
    fovea_error error;                                                                                             \
    fovea_rotary_scaling_init(&scaling, FOVEA_SCALING_##rule, 2 * LONGROPE_PAIRS);                                 \
    if (FOVEA_SCALING_##rule == FOVEA_SCALING_LONGROPE)                                                            \
      scaling.short_factors = short_factors, scaling.long_factors = long_factors;                                  \
    if (FOVEA_SCALING_##rule >= FOVEA_SCALING_DYNAMIC_NTK && FOVEA_SCALING_##rule <= FOVEA_SCALING_LONGROPE)       \
      scaling.trained_length = 4096;                                                                               \
    scaling.factor = FOVEA_SCALING_##rule == FOVEA_SCALING_NONE ? 1 : 2;                                           \
    assert_int_equal(fovea_rotary_frequencies(&scaling, frequencies, &factor, NULL), FOVEA_OK);                    \
    memset(frequencies, 0x3a, sizeof frequencies);                                                                 \
    factor = -7;                                                                                                   \
    change;                                                                                                        \
    const fovea_status actual = fovea_rotary_frequencies(&scaling, frequencies, &factor, &error);                  \
    if (actual != (status)) fail_msg("%d, not %d: %s", (int)actual, (int)(status), error.text);                    \
    assert_error_says(&error, word);                                                                               \
    assert_true(factor == -7);                                                                                     \
    for (size_t i = 0; i < sizeof frequencies; i++) assert_int_equal(((unsigned char *)frequencies)[i], 0x3a);     \
  } while (0)

static void test_refused_scalings(void **state) {
  (void)state;
  static double frequencies[2 * LONGROPE_PAIRS];
  double factor;
  fovea_rotary_scaling plain;
  fovea_error error;
  assert_int_equal(fovea_rotary_frequencies(NULL, frequencies, &factor, NULL), FOVEA_ERROR_ARGUMENT);
  fovea_rotary_scaling_init(&plain, FOVEA_SCALING_NONE, 8);
  assert_int_equal(fovea_rotary_frequencies(&plain, NULL, &factor, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "frequencies is NULL");
  assert_int_equal(fovea_rotary_frequencies(&plain, frequencies, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "attention_factor is NULL");
  SCALING_REFUSED(NONE, scaling.struct_size = 0, FOVEA_ERROR_ARGUMENT,
                  "scaling.struct_size: fovea_rotary_scaling_init");
  SCALING_REFUSED(NONE, scaling.rule = (fovea_scaling_rule)8, FOVEA_ERROR_ARGUMENT, "rule is 8");
  SCALING_REFUSED(NONE, scaling.dims = 7, FOVEA_ERROR_ARGUMENT, "dims is 7");
  SCALING_REFUSED(NONE, scaling.dims = 0, FOVEA_ERROR_ARGUMENT, "dims is 0");
  SCALING_REFUSED(NTK, scaling.dims = 2, FOVEA_ERROR_ARGUMENT, "dims: at least 4");
  SCALING_REFUSED(NONE, scaling.base = 0.5, FOVEA_ERROR_ARGUMENT, "base is 0.5");
  SCALING_REFUSED(NONE, scaling.base = (double)NAN, FOVEA_ERROR_ARGUMENT, "base is nan");
  SCALING_REFUSED(YARN, scaling.base = 1, FOVEA_ERROR_ARGUMENT, "base: more than 1");
  SCALING_REFUSED(LINEAR, scaling.factor = 0.5, FOVEA_ERROR_ARGUMENT, "factor is 0.5");
  SCALING_REFUSED(LINEAR, scaling.factor = (double)INFINITY, FOVEA_ERROR_ARGUMENT, "factor is inf");
  SCALING_REFUSED(NTK, scaling.base = 1e308; scaling.factor = 1e10, FOVEA_ERROR_ARGUMENT, "base: infinite");
  SCALING_REFUSED(LLAMA3, scaling.trained_length = 1, FOVEA_ERROR_ARGUMENT, "trained_length is 1");
  SCALING_REFUSED(DYNAMIC_NTK, scaling.length = -1, FOVEA_ERROR_ARGUMENT, "length is -1");
  SCALING_REFUSED(LLAMA3, scaling.slow_turns = 4, FOVEA_ERROR_ARGUMENT, "fast_turns: more than slow_turns");
  SCALING_REFUSED(LLAMA3, scaling.fast_turns = (double)NAN, FOVEA_ERROR_ARGUMENT, "fast_turns is nan");
  SCALING_REFUSED(YARN, scaling.slow_turns = (double)INFINITY, FOVEA_ERROR_ARGUMENT, "slow_turns is inf");
  SCALING_REFUSED(YARN, scaling.slow_turns = 0, FOVEA_ERROR_ARGUMENT, "slow_turns is 0");
  SCALING_REFUSED(YARN, scaling.exact_pairs = 2, FOVEA_ERROR_ARGUMENT, "exact_pairs is 2");
  SCALING_REFUSED(YARN, scaling.attention_factor = -1, FOVEA_ERROR_ARGUMENT, "attention_factor is -1");
  SCALING_REFUSED(YARN, scaling.mscale = (double)INFINITY;
                  scaling.mscale_all_dim = 1, FOVEA_ERROR_ARGUMENT, "mscale is inf");
  SCALING_REFUSED(YARN, scaling.mscale = 1;
                  scaling.mscale_all_dim = (double)NAN, FOVEA_ERROR_ARGUMENT, "mscale_all_dim is nan");
  SCALING_REFUSED(YARN, scaling.mscale = 1, FOVEA_ERROR_UNUSED, "mscale is set");
  SCALING_REFUSED(YARN, scaling.mscale = scaling.mscale_all_dim = 1;
                  scaling.attention_factor = 1, FOVEA_ERROR_UNUSED, "mscale: attention_factor is 1");
  SCALING_REFUSED(LONGROPE, scaling.long_factors = NULL, FOVEA_ERROR_ARGUMENT, "long_factors is NULL");
  SCALING_REFUSED(LONGROPE, scaling.short_factors = (const double *)(const void *)((const char *)short_factors + 4),
                  FOVEA_ERROR_ARGUMENT, "short_factors is not at a multiple of");
  SCALING_REFUSED(LONGROPE, static const double zeros[LONGROPE_PAIRS];
                  scaling.short_factors = zeros, FOVEA_ERROR_ARGUMENT, "short_factors[0] is 0");
  SCALING_REFUSED(PROPORTIONAL, scaling.rotated_dims = 98, FOVEA_ERROR_ARGUMENT, "rotated_dims is 98");
  SCALING_REFUSED(NONE, scaling.factor = 2, FOVEA_ERROR_UNUSED, "factor is set");
  SCALING_REFUSED(LINEAR, scaling.trained_length = 2048, FOVEA_ERROR_UNUSED, "trained_length");
  SCALING_REFUSED(LLAMA3, scaling.length = 9000, FOVEA_ERROR_UNUSED, "length");
  SCALING_REFUSED(NTK, scaling.slow_turns = 1, FOVEA_ERROR_UNUSED, "slow_turns");
  SCALING_REFUSED(LINEAR, scaling.attention_factor = 1, FOVEA_ERROR_UNUSED, "attention_factor");
  SCALING_REFUSED(YARN, scaling.short_factors = short_factors, FOVEA_ERROR_UNUSED, "short_factors");
  SCALING_REFUSED(LINEAR, scaling.rotated_dims = 8, FOVEA_ERROR_UNUSED, "rotated_dims");
  assert_int_equal(fovea_rotary_frequencies(&plain, frequencies, frequencies + 3, &error), FOVEA_ERROR_ARGUMENT);
}

static void test_refused_tables(void **state) {
  (void)state;
  static float cosines[64], sines[64];
  static const int64_t good[] = {2, 1, 1}, more[] = {2, 2, 1}, fewer[] = {1, 1, 1}, minus[] = {5, -1, 0},
                       none[] = {0, 4, 0};
  unsigned char axes[4];
  double frequencies[4] = {1, 1, 1, 1};
  fovea_rotary rotary;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, 8);
  assert_int_equal(fovea_rotary_tables(&rotary, 1, 16, cosines, sines, NULL), FOVEA_OK);
  assert_int_equal(fovea_rotary_tables(NULL, 1, 16, cosines, sines, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_tables(&rotary, 1, 16, NULL, sines, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_tables(&rotary, 1, 0, NULL, NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_rotary_tables(&rotary, 1, -1, cosines, sines, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_tables(&rotary, 0, 16, cosines, sines, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_tables(&rotary, 1e300, 16, cosines, sines, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_tables(&rotary, 1, 16, cosines, cosines + 63, NULL), FOVEA_ERROR_ARGUMENT);
  rotary.frequencies = frequencies;
  assert_int_equal(fovea_rotary_tables(&rotary, 1, 1, (float *)(void *)frequencies, sines, NULL),
                   FOVEA_ERROR_ARGUMENT);
  rotary.frequencies = NULL;
  rotary.cosines = rotary.sines = cosines;
  rotary.table_rows = 4;
  assert_int_equal(fovea_rotary_tables(&rotary, 1, 4, sines, sines + 32, NULL), FOVEA_ERROR_ARGUMENT);

  assert_int_equal(fovea_rotary_sections(FOVEA_SECTIONS_IN_ROW, good, 3, 4, axes, NULL), FOVEA_OK);
  assert_int_equal(fovea_rotary_sections(FOVEA_SECTIONS_IN_ROW, NULL, 3, 4, axes, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_sections(FOVEA_SECTIONS_IN_ROW, good, 3, 4, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_sections((fovea_section_layout)2, good, 3, 4, axes, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_sections(FOVEA_SECTIONS_IN_ROW, good, 5, 4, axes, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_sections(FOVEA_SECTIONS_IN_ROW, more, 3, 4, axes, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_sections(FOVEA_SECTIONS_IN_ROW, fewer, 3, 4, axes, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_sections(FOVEA_SECTIONS_IN_ROW, minus, 3, 4, axes, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_rotary_sections(FOVEA_SECTIONS_IN_ROW, none, 3, 4, axes, NULL), FOVEA_OK);
  assert_int_equal(fovea_rotary_sections(FOVEA_SECTIONS_INTERLEAVED, none, 3, 4, axes, NULL), FOVEA_ERROR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_transformers),     cmocka_unit_test(test_ntk),
      cmocka_unit_test(test_random_fields),    cmocka_unit_test(test_plain),
      cmocka_unit_test(test_tables),           cmocka_unit_test(test_sections),
      cmocka_unit_test(test_refused_scalings), cmocka_unit_test(test_refused_tables),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
