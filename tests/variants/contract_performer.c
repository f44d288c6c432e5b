#include "contract_performer.h"

#include "nn/contract_functions.h"
#include "nn/contract_nn.h"
#include "nn/contract_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float *numbers_of(int64_t count) {
  float *numbers = calloc((size_t)count + 1, sizeof *numbers);
  if (!numbers) abort();
  return numbers;
}

/* ---- Projections ------------------------------------------------------------------------------------------- */

static double contract_logarithm(double x) {
  int power;
  double z = frexp(x, &power);
  if (z < 0x1.6a09e667f3bcdp-1) z = 2 * z, power--;
  const double s = (z - 1) / (z + 1);
  const volatile double square = s * s;
  volatile double sum = 1.0 / 23;
  for (int odd = 21; odd > 0; odd -= 2) {
    const volatile double product = sum * square;
    sum = product + 1.0 / odd;
  }
  const volatile double fraction = 2 * s * sum, whole = power * 0x1.62e42fefa39efp-1;
  return fraction + whole;
}

void contract_gaussian_pair(uint64_t seed, uint64_t stream, uint64_t index, double pair[2]) {
  uint64_t words[4];
  for (uint64_t i = 0; i < 4; i++) words[i] = contract_random(seed, stream, 4 * index + i);
  const uint64_t chance = words[0] * 0x100000000u + words[1];
  const uint64_t high = chance >> 12;
  const double uniform = (double)high * 0x1p-52 + 0x1p-53;
  const struct fraction turn = {{(uint32_t)words[2], (uint32_t)words[3], 0x80000000u, 0}};
  const double radius = sqrt(-2 * contract_logarithm(uniform));
  float cosine, sine;
  contract_angle(turn, 1, &cosine, &sine);
  pair[0] = radius * (double)cosine;
  pair[1] = radius * (double)sine;
}

static void gaussian_vector(const fovea_nn_random_features *r, int64_t number, double *to) {
  const int64_t pairs = (r->dim + 1) / 2;
  for (int64_t d = 0; d < r->dim; d++) {
    double pair[2];
    contract_gaussian_pair(r->seed, r->stream, (uint64_t)(number * pairs + d / 2), pair);
    to[d] = pair[d & 1];
  }
}

static double product(const double *a, const double *b, int64_t dim) {
  volatile double sum = 0;
  for (int64_t d = 0; d < dim; d++) {
    const volatile double one = a[d] * b[d];
    sum += one;
  }
  return sum;
}

void contract_random_features(const fovea_nn_random_features *r, float *projection) {
  const int64_t dim = r->dim;
  double *unit = malloc((size_t)(r->features * dim) * sizeof *unit), *other = malloc((size_t)dim * sizeof *other);
  if (!unit || !other) abort();
  for (int64_t i = 0; i < r->features; i++) {
    double *row = unit + i * dim;
    gaussian_vector(r, 2 * i, row);
    for (int64_t j = i / dim * dim, taken = 0; r->orthogonal && taken < 2 * (i % dim); taken++) {
      const double *before = unit + (j + taken % (i % dim)) * dim, part = product(row, before, dim);
      for (int64_t d = 0; d < dim; d++) {
        const volatile double taken_out = part * before[d];
        row[d] -= taken_out;
      }
    }
    gaussian_vector(r, 2 * i + 1, other);
    const int constant = r->norms == FOVEA_NN_NORMS_CONSTANT;
    const double norm = constant ? sqrt((double)dim) : sqrt(product(other, other, dim));
    const double inverse = 1 / sqrt(product(row, row, dim));
    for (int64_t d = 0; d < dim; d++) {
      if (r->orthogonal) row[d] *= inverse;
      if (r->orthogonal)
        projection[i * dim + d] = (float)(row[d] * norm);
      else
        projection[i * dim + d] = (float)(constant ? row[d] * (inverse * norm) : row[d]);
    }
  }
  free(unit);
  free(other);
}

/* ---- Features ---------------------------------------------------------------------------------------------- */

static float fold(float *sums) {
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; i++) sums[i] += sums[i + half];
  return sums[0];
}

static float finite_or_0(float maximum) {
  return maximum == -INFINITY ? 0 : maximum;
}

void contract_performer_features(const fovea_nn_performer *p, const float *x, int64_t rows, int keys, float *phi) {
  const double given = p->scale == FOVEA_DEFAULT_NUMBER ? 1 / sqrt((double)p->dim) : p->scale;
  const int64_t stride = p->projection_stride == FOVEA_CONTIGUOUS ? p->dim : p->projection_stride;
  const float scale = (float)sqrt(given), eps = (float)p->eps, ratio = (float)(1 / sqrt((double)p->features));
  const int64_t m = p->features, dim = p->dim;
  const int stabilised = p->stabiliser == FOVEA_NN_STABILISER_MAX;
  float *scaled = numbers_of(rows * dim), all = -INFINITY;
  for (int64_t i = 0; i < rows * dim; i++) scaled[i] = x[i] * scale;
  for (int64_t i = 0; i < rows * m; i++) {
    phi[i] = contract_nn_dot(scaled + i / m * dim, p->projection + i % m * stride, dim);
    if (phi[i] > all) all = phi[i];
  }
  for (int64_t row = 0; row < rows; row++) {
    float sums[16] = {0}, most = -INFINITY;
    for (int64_t d = 0; d < dim; d++)
      sums[d & 15] = fmaf(scaled[row * dim + d], scaled[row * dim + d], sums[d & 15]);
    const float half = 0.5f * fold(sums);
    float *to = phi + row * m;
    for (int64_t f = 0; f < m; f++) most = to[f] > most ? to[f] : most;
    const float c = stabilised ? finite_or_0(keys ? all : most) : 0;
    for (int64_t f = 0; f < m; f++) {
      const float shifted = to[f] - c, exponent = shifted - half;
      if (p->kernel == FOVEA_NN_PERFORMER_RELU)
        to[f] = contract_nn_relu(to[f]) + eps;
      else
        to[f] = (contract_exp(exponent) + eps) * ratio;
    }
  }
  free(scaled);
}

/* ---- Attention --------------------------------------------------------------------------------------------- */

/* Sums over keys: (m, v_dim), then m sums of features. */
static void add(float *node, const float *right, int64_t numbers) {
  for (int64_t i = 0; i < numbers; i++) node[i] += right[i];
}

/* Keys begin to end - 1 of a span: a column at a time. */
static void sum_span(const float *phi, const float *v, int64_t begin, int64_t end, int64_t m, int64_t v_dim,
                     float *node) {
  float *feature = numbers_of(end - begin), *column = numbers_of(end - begin);
  for (int64_t f = 0; f < m; f++) {
    for (int64_t j = begin; j < end; j++) feature[j - begin] = phi[j * m + f];
    for (int64_t d = 0; d < v_dim; d++) {
      for (int64_t j = begin; j < end; j++) column[j - begin] = v[j * v_dim + d];
      node[f * v_dim + d] = contract_nn_dot(feature, column, end - begin);
    }
    for (int64_t block = 0; block < end - begin; block += 128) {
      float sums[16] = {0};
      for (int64_t j = block; j < end - begin && j < block + 128; j++) sums[j & 15] += feature[j];
      const float sum = fold(sums);
      node[m * v_dim + f] = block == 0 ? sum : node[m * v_dim + f] + sum;
    }
  }
  free(feature);
  free(column);
}

/* The node over `count` spans from `first` on, `count` a power of two, as far as there are keys. */
static void sum_node(const float *phi, const float *v, int64_t keys, int64_t first, int64_t count, int64_t m,
                     int64_t v_dim, float *node) {
  const int64_t begin = first * 2048, middle = begin + count / 2 * 2048;
  if (count == 1) {
    sum_span(phi, v, begin, keys < begin + 2048 ? keys : begin + 2048, m, v_dim, node);
    return;
  }
  sum_node(phi, v, keys, first, count / 2, m, v_dim, node);
  if (middle >= keys) return;
  float *right = numbers_of(m * (v_dim + 1));
  sum_node(phi, v, keys, first + count / 2, count / 2, m, v_dim, right);
  add(node, right, m * (v_dim + 1));
  free(right);
}

static void write_row(const float *phi, const float *sums, int64_t m, int64_t v_dim, float *o) {
  float below[16] = {0}, *column = numbers_of(m);
  for (int64_t f = 0; f < m; f++) below[f & 15] = fmaf(phi[f], sums[m * v_dim + f], below[f & 15]);
  const float denominator = fold(below), inverse = 1 / denominator;
  for (int64_t d = 0; d < v_dim; d++) {
    for (int64_t f = 0; f < m; f++) column[f] = sums[f * v_dim + d];
    o[d] = denominator < 0x1p-126f ? 0 : contract_nn_dot(phi, column, m) * inverse;
  }
  free(column);
}

static void take_key(const float *phi, const float *v, int64_t m, int64_t v_dim, float *sums) {
  for (int64_t f = 0; f < m; f++) {
    for (int64_t d = 0; d < v_dim; d++) sums[f * v_dim + d] = fmaf(phi[f], v[d], sums[f * v_dim + d]);
    sums[m * v_dim + f] += phi[f];
  }
}

void contract_performer(const fovea_nn_performer *p, const float *q, int64_t q_len, const float *k, const float *v,
                        int64_t kv_len, int64_t v_dim, float *state, float *o) {
  const int64_t m = p->features, numbers = m * (v_dim + 1);
  float *phi_q = numbers_of(q_len * m), *phi_k = numbers_of(kv_len * m), *sums = numbers_of(numbers);
  int64_t spans = 1;
  contract_performer_features(p, q, q_len, 0, phi_q);
  contract_performer_features(p, k, kv_len, 1, phi_k);
  while (spans * 2048 < kv_len) spans *= 2;
  if (!p->causal && kv_len > 0) sum_node(phi_k, v, kv_len, 0, spans, m, v_dim, sums);
  if (state) memcpy(sums, state, (size_t)numbers * sizeof *sums);
  for (int64_t i = 0; i < q_len; i++) {
    if (p->causal && i < kv_len) take_key(phi_k + i * m, v + i * v_dim, m, v_dim, sums);
    write_row(phi_q + i * m, sums, m, v_dim, o + i * v_dim);
  }
  for (int64_t i = 0; state && i < numbers; i++) {
    const float number = sums[i] + 0.0f; /* -0 becomes +0 */
    state[i] = isnan(number) ? NAN : number;
  }
  free(phi_q);
  free(phi_k);
  free(sums);
}
