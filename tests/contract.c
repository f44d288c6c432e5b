/* The numeric contract, row by row. All arithmetic is f32, round to nearest even; build with -ffp-contract=off, so
 * that fmaf() is the only fused operation. Read it from the bottom: row, node, block, score. */
#include "contract.h"

#include <math.h>
#include <stdlib.h>

#define LOG2E 0x1.71547652b82fep+0 /* double */

enum { PIECE = 128, BLOCK = 128, SPAN = 16 * BLOCK };

/* The state of a row over a range of keys: the weights, relative to the score m, sum to l, the weighted values to
 * o. */
struct state {
  float m, l, e;
  float *o; /* v_dim numbers from calloc(); NULL: no state */
};

static float *zeros(int64_t count) {
  float *numbers = calloc((size_t)count, sizeof *numbers);
  if (numbers == NULL) abort();
  return numbers;
}

static float horner(const float *coefficients, int count, float x) {
  float p = coefficients[0];
  for (int i = 1; i < count; i++) p = fmaf(p, x, coefficients[i]);
  return p;
}

float contract_exp2(float x) {
  static const float coefficients[] = {
      0x1.41fbbep-13f, 0x1.5f3e54p-10f, 0x1.3b2d4cp-7f, 0x1.c6aee8p-5f, 0x1.ebfbdcp-3f, 0x1.62e43p-1f, 1.0f};
  if (x < -126.0f) return 0.0f;
  if (isnan(x)) return x;
  return ldexpf(horner(coefficients, 7, x - rintf(x)), (int)rintf(x));
}

float contract_log2(float x) {
  static const float coefficients[] = {-0x1.47b5d6p-4f, 0x1.4f02eep-3f, -0x1.8bda8ap-3f, 0x1.abb508p-3f,
                                       -0x1.eb16eap-3f, 0x1.2739aep-2f, -0x1.7156c8p-2f, 0x1.ec7208p-2f,
                                       -0x1.715476p-1f, 0x1.715476p+0f};
  int exponent;
  const float z = frexpf(x, &exponent); /* in [1/2, 1); wanted: in [sqrt(1/2), sqrt(2)) */
  const int low = z < 0x1.6a09e6p-1f;
  const float t = (low ? 2.0f * z : z) - 1.0f;
  return fmaf(t, horner(coefficients, 10, t), (float)(exponent - low));
}

/* With e = exp(-2 |x|), computed as s * exp(-2 f): (1 - e) / (1 + e), by a reciprocal and one correction. */
float contract_tanh(float x) {
  static const float coefficients[] = {-0x1.6731cep-4f, 0x1.123d16p-2f,  -0x1.555dc4p-1f,
                                       0x1.55548cp+0f,  -0x1.fffff4p+0f, 2.0f};
  if (isnan(x)) return x;
  const float a = fminf(fabsf(x), 10.0f), n = fmaf(a, 0x1.715476p+1f, 0x1.8p23f) - 0x1.8p23f;
  const float f = fmaf(n, -0x1.62e43p-2f, a), s = ldexpf(1.0f, -(int)n), q = horner(coefficients, 6, f);
  const float y = fmaf(s * f, q, 1.0f - s), e = fmaf(-(s * f), q, s);
  float r = fmaf(fmaf(0x1.4afd64p-2f, y, 0x1.4afd78p-3f), y, 0x1.0295fap-1f);
  r *= fmaf(-(1.0f + e), r, 0x1.0001acp+1f);
  const float t = y * r;
  return copysignf(fmaf(fmaf(-t, e, y - t), r, t), x);
}

/* With e = exp(-|x|) = 2^-k 2^(t - k): 1 / (1 + e), or e / (1 + e). e2, d2 and rest are what was rounded away. */
float contract_weight_sigmoid(float x) {
  if (isnan(x)) return x;
  const float a = fminf(fabsf(x), 110.0f), t = a * -(float)LOG2E;
  const float t2 = fmaf(a, -0x1.4ae0cp-26f, fmaf(a, -(float)LOG2E, -t));
  const int k = t < -64.0f ? 64 : 0;
  const float power = ldexpf(1.0f, -k), e = contract_exp2(t + (float)k), e2 = e * (t2 * 0x1.62e43p-1f);
  const float b = e * power, d = 1.0f + b, d2 = fmaf(e2, power, (1.0f - d) + b), inverse = 1.0f / d;
  const float n = x < 0.0f ? e : 1.0f, n2 = x < 0.0f ? e2 : 0.0f, y = n * inverse;
  const float rest = fmaf(-y, d2, fmaf(-y, d, n)) + n2;
  return fmaf(rest, inverse, y) * (x < 0.0f ? power : 1.0f);
}

/* Step 1. The chain takes the dimensions of a piece in the order 1, 0, 3, 2, ...; an odd last dimension stands
 * alone. */
static float dot(const struct contract_row *row, const float *k) {
  float sum = 0.0f;
  for (int64_t start = 0; start < row->qk_dim; start += PIECE) {
    const int64_t end = start + PIECE < row->qk_dim ? start + PIECE : row->qk_dim;
    float r = 0.0f;
    for (int64_t d = start; d < end; d += 2) {
      if (d + 1 < end) r = fmaf(row->q[d + 1], k[d + 1], r);
      r = fmaf(row->q[d], k[d], r);
    }
    sum = start == 0 ? r : sum + r;
  }
  return sum;
}

/* The number of the vector for a key, in Shaw's tables. */
static int64_t distance(const struct contract_row *row, int64_t position) {
  const int64_t d = position - row->own, k = row->shaw_distance;
  return (d < -k ? -k : d > k ? k : d) + k;
}

static float product(const struct contract_row *row, int64_t position) {
  const float r = dot(row, row->k + position * row->k_stride);
  return row->shaw_keys == NULL ? r : r + dot(row, row->shaw_keys + distance(row, position) * row->qk_dim);
}

/* r of step 2. */
static float active(const struct contract_row *row, int64_t position) {
  const float r = product(row, position);
  return row->leaky == 0 || r > 0.0f ? r : r * (float)row->slope;
}

/* "Normalisers other than softmax": a score in natural units. */
static float natural_score(const struct contract_row *row, int64_t position) {
  const float r = active(row, position);
  float s = row->softcap == 0.0 ? r * (float)row->scale
                                : (float)row->softcap * contract_tanh(r * (float)(row->scale / row->softcap));
  for (int i = 0; i < row->term_count; i++) s += row->terms[i][position];
  const int64_t b = position - row->bias_begin;
  return row->bias == NULL || b < 0 ? s : s + row->bias[b];
}

/* Step 2. */
static float score(const struct contract_row *row, int64_t position) {
  if (row->normaliser != CONTRACT_SOFTMAX) return natural_score(row, position);
  const float sum = active(row, position);
  float s = row->softcap == 0.0
                ? sum * (float)(row->scale * LOG2E)
                : (float)(row->softcap * LOG2E) * contract_tanh(sum * (float)(row->scale / row->softcap));
  for (int i = 0; i < row->term_count; i++) s = fmaf(row->terms[i][position], (float)LOG2E, s);
  const int64_t b = position - row->bias_begin;
  return row->bias == NULL || b < 0 ? s : fmaf(row->bias[b], (float)LOG2E, s);
}

float contract_weight(enum contract_normaliser normaliser, float bias, float s) {
  const float positive = s < 0.0f ? 0.0f : s;
  return normaliser == CONTRACT_RELU           ? positive
         : normaliser == CONTRACT_RELU_SQUARED ? positive * positive
                                               : contract_weight_sigmoid(s + bias);
}

/* The weight of a score, relative to m if it is the softmax's. */
static float weight(const struct contract_row *row, float s, float m) {
  if (row->normaliser == CONTRACT_SOFTMAX) return contract_exp2(s - (m == -INFINITY ? 0.0f : m));
  return contract_weight(row->normaliser, (float)row->sigmoid_bias, s);
}

/* Step 3, Shaw's values: the weights of a block's keys at each distance, times the vector of the distance. */
static void add_shaw_values(const struct contract_row *row, int64_t first, int64_t end, const int *seen,
                            const float *weights, float *o) {
  for (int64_t x = 0; x <= 2 * row->shaw_distance; x++) {
    float p = 0.0f;
    int any = 0;
    for (int64_t j = first; j < end; j++) {
      if (!seen[j - first] || distance(row, j) != x) continue;
      p += weights[j - first];
      any = 1;
    }
    for (int64_t d = 0; any && d < row->v_dim; d++) o[d] = fmaf(p, row->shaw_values[x * row->v_dim + d], o[d]);
  }
}

/* Step 3: the block that begins at `first`. Keys from `limit` on are left out. */
static struct state block(const struct contract_row *row, int64_t first, int64_t limit) {
  const int64_t end = first + BLOCK < limit ? first + BLOCK : limit;
  float s[BLOCK], weights[BLOCK], l[16] = {0.0f}, e[16] = {0.0f};
  int seen[BLOCK], any_nan = 0;
  struct state state = {-INFINITY, 0.0f, 0.0f, NULL};
  for (int64_t j = first; j < end; j++) {
    seen[j - first] = row->sees(row->rules, j);
    if (!seen[j - first]) continue;
    s[j - first] = score(row, j);
    any_nan |= isnan(s[j - first]);
    if (s[j - first] > state.m) state.m = s[j - first];
  }
  if (state.m == -INFINITY && !any_nan) return state;
  if (state.m == 0.0f || row->normaliser != CONTRACT_SOFTMAX) state.m = 0.0f; /* -0 becomes +0 */
  state.o = zeros(row->v_dim);
  const float reference = state.m == -INFINITY ? 0.0f : state.m;
  for (int64_t j = first; j < end; j++) {
    if (!seen[j - first]) continue;
    const float p = weight(row, s[j - first], state.m);
    weights[j - first] = p;
    l[j % 16] += p;
    if (p != 0.0f) e[j % 16] = fmaf(p, s[j - first] - reference, e[j % 16]);
    for (int64_t d = 0; d < row->v_dim; d++) state.o[d] = fmaf(p, row->v[j * row->v_stride + d], state.o[d]);
  }
  if (row->shaw_values != NULL) add_shaw_values(row, first, end, seen, weights, state.o);
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; i++) l[i] += l[i + half], e[i] += e[i + half];
  state.l = l[0];
  state.e = e[0];
  return state;
}

/* Step 4. A state that does not exist is passed over, never merged. */
static struct state merge(const struct contract_row *row, struct state left, struct state right) {
  const int64_t v_dim = row->v_dim;
  if (left.o == NULL) return right;
  if (right.o == NULL) return left;
  if (row->normaliser != CONTRACT_SOFTMAX) {
    for (int64_t d = 0; d < v_dim; d++) left.o[d] += right.o[d];
    free(right.o);
    return (struct state){0.0f, left.l + right.l, 0.0f, left.o};
  }
  const float m = left.m > right.m ? left.m : right.m, reference = m == -INFINITY ? 0.0f : m;
  const float a = contract_exp2(left.m - reference), b = contract_exp2(right.m - reference);
  for (int64_t d = 0; d < v_dim; d++) left.o[d] = fmaf(right.o[d], b, left.o[d] * a);
  free(right.o);
  const float e1 = fmaf(left.l, a == 0.0f ? 0.0f : left.m - reference, left.e);
  const float e2 = fmaf(right.l, b == 0.0f ? 0.0f : right.m - reference, right.e);
  return (struct state){m, fmaf(right.l, b, left.l * a), fmaf(e2, b, e1 * a), left.o};
}

/* The node of `length` keys from `first` on: a span merges its blocks in ascending order, a larger node its two
 * halves. */
static struct state node(const struct contract_row *row, int64_t first, int64_t length) {
  struct state state = {-INFINITY, 0.0f, 0.0f, NULL};
  const int64_t end = first + length < row->positions ? first + length : row->positions;
  const int64_t step = length > SPAN ? length / 2 : BLOCK;
  for (int64_t start = first; start < end; start += step)
    state = merge(row, state, length > SPAN ? node(row, start, step) : block(row, start, end));
  return state;
}

/* The number that is stored: zero as +0, every NaN as the one quiet NaN. */
static float canonical(float x) {
  return isnan(x) ? NAN : x == 0.0f ? 0.0f : x;
}

/* The root. A row without a state has a state of zeros. */
static struct state root(const struct contract_row *row) {
  int64_t length = SPAN;
  while (length < row->positions) length *= 2;
  struct state state = node(row, 0, length);
  if (state.o == NULL) state.o = zeros(row->v_dim);
  return state;
}

/* Step 5. */
static struct state whole(const struct contract_row *row) {
  struct state state = root(row);
  if (row->sink == NULL) return state;
  return merge(row, state, (struct state){*row->sink * (float)LOG2E, 1.0f, 0.0f, zeros(row->v_dim)});
}

/* What the row's numbers are divided by. */
static float divisor_of(const struct contract_row *row, float l) {
  int64_t seen = 0;
  if (row->normaliser == CONTRACT_SOFTMAX || row->divisor == CONTRACT_SUM) return l;
  for (int64_t j = 0; j < row->positions && row->divisor == CONTRACT_KEYS; j++)
    seen += row->sees(row->rules, j) != 0;
  return row->divisor == CONTRACT_KEYS    ? (float)seen
         : row->divisor == CONTRACT_VALUE ? (float)row->divisor_value
                                          : 1.0f;
}

/* A small divisor of another normaliser than the softmax is 2^64 times as large, and so is the number. */
static float divided(const struct contract_row *row, float number, float divisor) {
  const int small = row->normaliser != CONTRACT_SOFTMAX && divisor < 0x1p-64f;
  const float power = small ? 0x1p64f : 1.0f;
  return divisor == 0.0f ? 0.0f : canonical((number * power) * (1.0f / (divisor * power)));
}

/* Step 6. */
void contract_row(const struct contract_row *row, float *out, float *lse) {
  struct state state = whole(row);
  const float divisor = divisor_of(row, state.l);
  for (int64_t d = 0; d < row->v_dim; d++) out[d] = divided(row, state.o[d], divisor);
  if (row->normaliser == CONTRACT_SOFTMAX)
    *lse = state.l == 0.0f ? -INFINITY : canonical(0x1.62e43p-1f * (state.m + contract_log2(state.l)));
  free(state.o);
}

/* Step 7. */
void contract_row_weights(const struct contract_row *row, float *weights) {
  struct state state = whole(row);
  const float divisor = divisor_of(row, state.l);
  for (int64_t j = 0; j < row->positions; j++) {
    const float s = row->sees(row->rules, j) ? score(row, j) : -INFINITY;
    weights[j] = s == -INFINITY ? 0.0f : divided(row, weight(row, s, state.m), divisor);
  }
  free(state.o);
}

void contract_node(const struct contract_row *row, int64_t first, int64_t length, float *o, float *m, float *l) {
  const struct state state = node(row, first, length);
  for (int64_t d = 0; d < row->v_dim; d++) o[d] = state.o == NULL ? 0.0f : canonical(state.o[d]);
  *m = canonical(state.m);
  *l = canonical(state.l);
  free(state.o);
}

/* Step 12. */
void contract_add_columns(const float *weights, int64_t count, int64_t i, int ends, float *sixteen, float *sums) {
  for (int64_t j = 0; j < count; j++) {
    float *sum = sixteen + 16 * j;
    sum[i % 16] += weights[j];
    if ((i + 1) % 128 != 0 && !ends) continue;
    for (int half = 8; half > 0; half /= 2)
      for (int k = 0; k < half; k++) sum[k] += sum[k + half];
    sums[j] = canonical(sums[j] + sum[0]);
    for (int k = 0; k < 16; k++) sum[k] = 0.0f;
  }
}

/* Step 11. */
float contract_row_entropy(const struct contract_row *row) {
  struct state state = whole(row);
  free(state.o);
  if (state.l == 0.0f) return 0.0f;
  return canonical(0x1.62e43p-1f * (contract_log2(state.l) - state.e * (1.0f / state.l)));
}

/* Step 9, of one row. */
float contract_row_max(const struct contract_row *row) {
  struct state state = root(row);
  free(state.o);
  return isnan(state.l) ? NAN : canonical(0x1.62e43p-1f * state.m);
}

/* Step 10: each key in turn is the first of those that are left. */
void contract_row_top(const struct contract_row *row, int64_t count, int64_t *keys, float *scores) {
  float *s = zeros(row->positions + 1);
  for (int64_t j = 0; j < row->positions; j++) s[j] = row->sees(row->rules, j) ? score(row, j) : -INFINITY;
  for (int64_t n = 0; n < count; n++) {
    int64_t first = -1;
    for (int64_t j = 0; j < row->positions; j++)
      if (s[j] != -INFINITY && (first < 0 || s[j] > s[first] || (isnan(s[j]) && !isnan(s[first])))) first = j;
    keys[n] = first;
    scores[n] = first < 0 ? -INFINITY : canonical(0x1.62e43p-1f * s[first]);
    if (first >= 0) s[first] = -INFINITY;
  }
  free(s);
}

/* Step 8. */
void contract_row_scores(const struct contract_row *row, enum contract_scores kind, float *scores) {
  for (int64_t j = 0; j < row->positions; j++) {
    const float r = kind == CONTRACT_RAW ? product(row, j) : active(row, j);
    const int64_t b = j - row->bias_begin;
    float s = row->softcap == 0.0 || kind == CONTRACT_RAW
                  ? r * (float)row->scale
                  : (float)row->softcap * contract_tanh(r * (float)(row->scale / row->softcap));
    for (int i = 0; kind == CONTRACT_BIASED && i < row->term_count; i++) s += row->terms[i][j];
    if (kind == CONTRACT_BIASED && row->bias != NULL && b >= 0) s += row->bias[b];
    scores[j] = row->sees(row->rules, j) ? canonical(s) : -INFINITY;
  }
}
