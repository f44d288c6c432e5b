/* Vectors of variants of attention. */
#include "contract.h"
#include "nn/contract_functions.h"
#include "nn/contract_nn.h"
#include "nn/contract_norm.h"
#include "support/generator.h"
#include "variants/contract_sums.h"
#include "vectors.h"

#include <math.h>

static void fill(struct generator *generator, float *numbers, int64_t count) {
  for (int64_t i = 0; i < count; i++) numbers[i] = 2 * generator_uniform(generator);
}

/* ---- Selected keys ---------------------------------------------------------------------------------------------- */

enum { INDEX_HEADS = 2, INDEX_DIM = 3, INDEX_ROWS = 5, INDEX_KEYS = 9, LISTED = 4 };

/* NaN before all; then the larger one; then the one at the lower position. */
static int comes_before(const float *scores, int64_t a, int64_t b) {
  const int a_is_nan = scores[a] != scores[a], b_is_nan = scores[b] != scores[b];
  if (a_is_nan != b_is_nan) return a_is_nan;
  if (!a_is_nan && scores[a] != scores[b]) return scores[a] > scores[b];
  return a < b;
}

static void list_keys(const float *scores, int64_t end, int64_t *keys) {
  int64_t listed = 0;
  for (int64_t i = 0; i < LISTED; i++) keys[i] = -1;
  while (listed < LISTED) {
    int64_t best = -1;
    for (int64_t j = 0; j < end; j++) {
      int is_listed = scores[j] == -INFINITY;
      for (int64_t i = 0; i < listed; i++) is_listed |= keys[i] == j;
      if (!is_listed && (best < 0 || comes_before(scores, j, best))) best = j;
    }
    if (best < 0) return;
    keys[listed++] = best;
  }
}

/* Causal rows. Some keys are equal, one has NaN; a weight of 0 meets an infinite product; a row has -Inf. */
void write_selection(void) {
  float q[INDEX_ROWS * INDEX_HEADS * INDEX_DIM], k[INDEX_KEYS * INDEX_DIM], weights[INDEX_ROWS * INDEX_HEADS];
  int64_t keys[INDEX_ROWS * LISTED];
  const int64_t offset = 4;
  struct generator generator = {81};
  fill(&generator, q, INDEX_ROWS * INDEX_HEADS * INDEX_DIM);
  fill(&generator, k, INDEX_KEYS * INDEX_DIM);
  fill(&generator, weights, INDEX_ROWS * INDEX_HEADS);
  for (int d = 0; d < INDEX_DIM; d++) k[3 * INDEX_DIM + d] = k[1 * INDEX_DIM + d];
  k[6 * INDEX_DIM] = NAN;
  weights[2] = weights[3] = 0;
  k[4 * INDEX_DIM] = INFINITY;
  for (int64_t i = 0; i < INDEX_ROWS; i++) {
    float scores[INDEX_KEYS];
    for (int64_t j = 0; j < INDEX_KEYS; j++) {
      scores[j] = 0;
      for (int64_t h = 0; h < INDEX_HEADS; h++) {
        const float r = contract_nn_dot(q + (i * INDEX_HEADS + h) * INDEX_DIM, k + j * INDEX_DIM, INDEX_DIM);
        scores[j] = fmaf(weights[i * INDEX_HEADS + h], contract_nn_relu(r), scores[j]);
      }
    }
    list_keys(scores, i + offset + 1 < INDEX_KEYS ? i + offset + 1 : INDEX_KEYS, keys + i * LISTED);
  }
  vector_begin("selection", "selection", "L18 L1 3");
  vector_integer("heads", INDEX_HEADS);
  vector_integer("offset", offset);
  vector_integer("top_k", LISTED);
  vector_numbers(INPUT, "q", FOVEA_F32, q, INDEX_ROWS, INDEX_HEADS * INDEX_DIM);
  vector_numbers(INPUT, "k", FOVEA_F32, k, INDEX_KEYS, INDEX_DIM);
  vector_numbers(INPUT, "weights", FOVEA_F32, weights, INDEX_ROWS, INDEX_HEADS);
  vector_array(EXPECTED, "keys", ARRAY_I64, keys, INDEX_ROWS, LISTED);
  vector_end();
}

/* ---- Linformer -------------------------------------------------------------------------------------------------- */

static int sees_all(const void *rules, int64_t position) {
  (void)rules;
  return position >= 0;
}

/* Rows over projected keys and values. Numbers are f16. */
static void write_projected(const char *name, int64_t positions, int64_t projected, int64_t dim) {
  enum { ROWS = 2, MOST = 4096 };
  static float e[MOST], f[MOST], k[MOST], v[MOST];
  float *const inputs[] = {e, f, k, v};
  float q[MOST], keys[MOST], values[MOST], out[MOST], lse[ROWS];
  struct generator generator = {(uint64_t)positions};
  fill(&generator, q, ROWS * dim);
  for (int i = 0; i < 4; i++) {
    const int64_t count = positions * (i < 2 ? projected : dim);
    fill(&generator, inputs[i], count);
    for (int64_t j = 0; j < count; j++) inputs[i][j] = rounded_number(FOVEA_F16, inputs[i][j]);
  }
  for (int64_t j = 0; j < projected; j++)
    for (int64_t d = 0; d < dim; d++) {
      keys[j * dim + d] = contract_sum(e + j, projected, k + d, dim, positions);
      values[j * dim + d] = contract_sum(f + j, projected, v + d, dim, positions);
    }
  for (int64_t i = 0; i < ROWS; i++) {
    const struct contract_row row = {.q = q + i * dim,
                                     .k = keys,
                                     .v = values,
                                     .k_stride = dim,
                                     .v_stride = dim,
                                     .qk_dim = dim,
                                     .v_dim = dim,
                                     .positions = projected,
                                     .scale = 0.03,
                                     .sees = sees_all};
    contract_row(&row, out + i * dim, lse + i);
  }
  vector_begin(name, "linformer", "L19 3");
  vector_double("scale", 0.03);
  vector_integer("offset", 0);
  vector_numbers(INPUT, "q", FOVEA_F32, q, ROWS, dim);
  vector_numbers(INPUT, "k", FOVEA_F16, k, positions, dim);
  vector_numbers(INPUT, "v", FOVEA_F16, v, positions, dim);
  vector_numbers(INPUT, "e", FOVEA_F16, e, positions, projected);
  vector_numbers(INPUT, "f", FOVEA_F16, f, positions, projected);
  vector_numbers(EXPECTED, "out", FOVEA_F32, out, ROWS, dim);
  vector_numbers(EXPECTED, "lse", FOVEA_F32, lse, ROWS, 0);
  vector_end();
}

void write_linformer(void) {
  write_projected("linformer", 300, 3, 2);
  write_projected("linformer_spans", 2200, 1, 1);
}

/* ---- Differential attention ------------------------------------------------------------------------------------- */

void write_differential(void) {
  enum { ROWS = 3, DIM = 5, VECTOR = 4 };
  float first[ROWS * DIM], second[ROWS * DIM], gamma[DIM], vectors[4][VECTOR], y[ROWS * DIM];
  static const char *const names[] = {"q1", "k1", "q2", "k2"};
  const float initial = (float)0.8;
  struct generator generator = {91};
  fill(&generator, first, ROWS * DIM);
  fill(&generator, second, ROWS * DIM);
  fill(&generator, gamma, DIM);
  fill(&generator, vectors[0], 4 * VECTOR);
  const float one = contract_exp(contract_nn_dot(vectors[0], vectors[1], VECTOR));
  const float two = contract_exp(contract_nn_dot(vectors[2], vectors[3], VECTOR)), difference = one - two;
  const float lambda = difference + initial, rest = 1 - initial;
  for (int64_t i = 0; i < ROWS; i++) {
    float x[DIM];
    for (int64_t d = 0; d < DIM; d++) x[d] = fmaf(-lambda, second[i * DIM + d], first[i * DIM + d]);
    contract_norm(FOVEA_NN_RMS_NORM, x, DIM, (float)1e-5, gamma, NULL, y + i * DIM);
    for (int64_t d = 0; d < DIM; d++) y[i * DIM + d] = y[i * DIM + d] * rest;
  }
  vector_begin("differential", "differential", "L21 L3 L2");
  vector_word("kind", "rms_norm");
  vector_double("eps", 1e-5);
  vector_double("lambda_init", 0.8);
  vector_numbers(INPUT, "o1", FOVEA_F32, first, ROWS, DIM);
  vector_numbers(INPUT, "o2", FOVEA_F32, second, ROWS, DIM);
  vector_numbers(INPUT, "gamma", FOVEA_F32, gamma, DIM, 0);
  for (int i = 0; i < 4; i++) vector_numbers(INPUT, names[i], FOVEA_F32, vectors[i], VECTOR, 0);
  vector_numbers(EXPECTED, "lambda", FOVEA_F32, &lambda, 1, 0);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, ROWS, DIM);
  vector_end();
}
