/* The contract of fast modes: with both halves exact it is the contract of exact mode; other pairs of modes keep to
 * the bounds of their study against float64. */
#include "contract_modes.h"

#include "contract.h"
#include "support/check.h"
#include "support/generator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 64, KEYS = 700 };

struct scene {
  float q[DIM], k[KEYS * DIM], v[KEYS * DIM], term[KEYS], sink;
  int64_t first, last; /* visible keys */
};

static int sees(const void *rules, int64_t position) {
  const struct scene *scene = rules;
  return position >= scene->first && position <= scene->last;
}

static float normal(struct generator *generator) {
  float sum = 0;
  for (int i = 0; i < 12; i++) sum += generator_uniform(generator);
  return sum / 2; /* of 12 numbers between -1 and 1: deviation 1 */
}

/* Scores of deviation `sigma`. */
static void fill(struct scene *scene, float sigma, struct generator *generator) {
  for (int d = 0; d < DIM; d++) scene->q[d] = sigma * normal(generator);
  for (int i = 0; i < KEYS * DIM; i++) scene->k[i] = normal(generator), scene->v[i] = normal(generator);
  for (int j = 0; j < KEYS; j++) scene->term[j] = -0.01f * (float)(KEYS - 1 - j);
  scene->sink = 0.5f;
  scene->first = 5, scene->last = KEYS - 9;
}

static struct contract_mode_row row_of(const struct scene *scene, enum contract_mode scores,
                                       enum contract_mode values, const float *const *terms) {
  return (struct contract_mode_row){.scores = scores,
                                    .values = values,
                                    .q = scene->q,
                                    .k = scene->k,
                                    .v = scene->v,
                                    .k_stride = DIM,
                                    .v_stride = DIM,
                                    .qk_dim = DIM,
                                    .v_dim = DIM,
                                    .positions = KEYS,
                                    .scale = 0.125,
                                    .terms = terms,
                                    .term_count = terms != NULL,
                                    .sees = sees,
                                    .rules = scene};
}

static void test_exact(void **state) {
  (void)state;
  static struct scene scene;
  struct generator generator = {1};
  for (int i = 0; i < 8; i++) {
    float outs[2][DIM], lse[2];
    const float *const terms[] = {scene.term};
    fill(&scene, 1 + (float)i, &generator);
    struct contract_mode_row row = row_of(&scene, MODE_EXACT, MODE_EXACT, i & 1 ? terms : NULL);
    row.softcap = i & 2 ? 20 : 0;
    row.sink = i & 4 ? &scene.sink : NULL;
    const struct contract_row exact = {.q = row.q,
                                       .k = row.k,
                                       .v = row.v,
                                       .k_stride = DIM,
                                       .v_stride = DIM,
                                       .qk_dim = DIM,
                                       .v_dim = DIM,
                                       .positions = KEYS,
                                       .scale = row.scale,
                                       .softcap = row.softcap,
                                       .terms = row.terms,
                                       .term_count = row.term_count,
                                       .sink = row.sink,
                                       .sees = sees,
                                       .rules = &scene};
    contract_mode_row(&row, outs[0], &lse[0]);
    contract_row(&exact, outs[1], &lse[1]);
    assert_memory_equal(outs[0], outs[1], sizeof outs[0]);
    assert_memory_equal(&lse[0], &lse[1], sizeof lse[0]);
  }
}

/* Attention in double. */
static double reference(const struct scene *scene, int with_term, double *out) {
  double largest = -INFINITY, sum = 0, scores[KEYS] = {0};
  for (int64_t j = scene->first; j <= scene->last; j++) {
    scores[j] = with_term ? scene->term[j] : 0;
    for (int d = 0; d < DIM; d++) scores[j] += 0.125 * scene->q[d] * scene->k[j * DIM + d];
    if (scores[j] > largest) largest = scores[j];
  }
  for (int d = 0; d < DIM; d++) out[d] = 0;
  for (int64_t j = scene->first; j <= scene->last; j++) {
    const double p = exp(scores[j] - largest);
    sum += p;
    for (int d = 0; d < DIM; d++) out[d] += p * scene->v[j * DIM + d];
  }
  for (int d = 0; d < DIM; d++) out[d] /= sum;
  return largest + (sum > 0 ? log(sum) : 0);
}

/* The error of all outputs as a part of their root mean square, and the largest error of the LSE. */
static double error_of(enum contract_mode scores, enum contract_mode values, float sigma, double *lse_error) {
  static struct scene scene;
  struct generator generator = {2};
  double squares = 0, errors = 0;
  *lse_error = 0;
  for (int i = 0; i < 6; i++) {
    float out[DIM], lse;
    double wanted[DIM];
    const float *const terms[] = {scene.term};
    fill(&scene, sigma, &generator);
    const struct contract_mode_row row = row_of(&scene, scores, values, i & 1 ? terms : NULL);
    const double wanted_lse = reference(&scene, i & 1, wanted);
    contract_mode_row(&row, out, &lse);
    if (fabs((double)lse - wanted_lse) > *lse_error) *lse_error = fabs((double)lse - wanted_lse);
    for (int d = 0; d < DIM; d++) {
      squares += wanted[d] * wanted[d];
      errors += ((double)out[d] - wanted[d]) * ((double)out[d] - wanted[d]);
    }
  }
  return sqrt(errors / squares);
}

static void test_errors(void **state) {
  (void)state;
  static const double most[3][3] = {{5e-7, 3e-3, 1e-2}, {4e-3, 4e-3, 1.1e-2}, {1e-2, 1e-2, 1.3e-2}};
  for (int scores = 0; scores < 3; scores++)
    for (int values = 0; values < 3; values++)
      for (int sigma = 1; sigma <= 2; sigma++) {
        double lse_error;
        const double error =
            error_of((enum contract_mode)scores, (enum contract_mode)values, (float)sigma, &lse_error);
        if (error > most[scores][values] * sigma || lse_error > 0.02)
          fail_msg("scores %d, values %d, sigma %d: error %g, of the LSE %g", scores, values, sigma, error,
                   lse_error);
      }
}

/* 2^x of modes: within 1.02e-4, never above 1 for x <= 0; from point to point not below the one before by more than
 * an ulp. */
static void test_exp2(void **state) {
  (void)state;
  float before = 0;
  assert_true(contract_mode_exp2(0) == 1.0f);
  for (int i = 0; i <= 1000000; i++) {
    const float x = -126.0f * (1 - (float)i * 1e-6f), e = contract_mode_exp2(x);
    assert_true(fabs((double)e / exp2((double)x) - 1) < 1.02e-4 && e <= 1.0f);
    assert_true(e >= before * (1 - 0x1p-23f));
    before = e;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_exp2),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
