/* The numeric contract, row by row. All arithmetic is f32, round to nearest even; build with -ffp-contract=off, so
 * that fmaf() is the only fused operation. Read it from the bottom: row, node, span, block, score. */
#include "contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 128, BLOCK = 128, SPAN = 16 * BLOCK };

/* What a row knows of a range of keys: relative to the score m, the weights sum to l, the weighted values to o. */
struct state {
  float m, l;
  float *o; /* NULL: no state. v_dim numbers from malloc */
};

float contract_exp2(float x) {
  static const float coefficients[6] = {0x1.41fbbep-13f, 0x1.5f3e54p-10f, 0x1.3b2d4cp-7f,
                                        0x1.c6aee8p-5f,  0x1.ebfbdcp-3f,  0x1.62e43p-1f};
  if (x < -126.0f) return 0.0f;
  if (isnan(x)) return x;
  const float r = rintf(x), f = x - r;
  float p = coefficients[0];
  for (int i = 1; i < 6; i++) p = fmaf(p, f, coefficients[i]);
  return ldexpf(fmaf(p, f, 1.0f), (int)r);
}

float contract_log2(float x) {
  static const float coefficients[10] = {-0x1.47b5d6p-4f, 0x1.4f02eep-3f, -0x1.8bda8ap-3f, 0x1.abb508p-3f,
                                         -0x1.eb16eap-3f, 0x1.2739aep-2f, -0x1.7156c8p-2f, 0x1.ec7208p-2f,
                                         -0x1.715476p-1f, 0x1.715476p+0f};
  int exponent;
  float z = frexpf(x, &exponent); /* in [1/2, 1); wanted: in [sqrt(1/2), sqrt(2)) */
  if (z < 0x1.6a09e6p-1f) {
    z *= 2.0f;
    exponent--;
  }
  const float t = z - 1.0f;
  float p = coefficients[0];
  for (int i = 1; i < 10; i++) p = fmaf(p, t, coefficients[i]);
  return fmaf(t, p, (float)exponent);
}

/* Rules 1 and 2. The chain takes the dimensions of a piece in the order 1, 0, 3, 2, ..., an odd last one alone. */
static float score(const struct contract_row *row, int64_t position) {
  const float *k = row->k + position * row->k_stride;
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
  const float c = (float)(row->scale * 0x1.71547652b82fep+0);
  return sum * c;
}

/* Rule 3: the keys first to end - 1, all of one block. */
static struct state block(const struct contract_row *row, int64_t first, int64_t end) {
  float s[BLOCK], l[16] = {0.0f};
  int seen[BLOCK], any_nan = 0;
  struct state state = {-INFINITY, 0.0f, NULL};
  for (int64_t j = first; j < end; j++) {
    seen[j - first] = row->sees(row->rules, j);
    if (!seen[j - first]) continue;
    s[j - first] = score(row, j);
    any_nan |= isnan(s[j - first]);
    if (s[j - first] > state.m) state.m = s[j - first];
  }
  if (state.m == -INFINITY && !any_nan) return state;
  if (state.m == 0.0f) state.m = 0.0f; /* -0 as +0 */

  state.o = calloc((size_t)row->v_dim, sizeof(float));
  if (state.o == NULL) abort();
  const float reference = state.m == -INFINITY ? 0.0f : state.m;
  for (int64_t j = first; j < end; j++) {
    if (!seen[j - first]) continue;
    const float p = contract_exp2(s[j - first] - reference);
    const float *v = row->v + j * row->v_stride;
    l[j % 16] += p;
    for (int64_t d = 0; d < row->v_dim; d++) state.o[d] = fmaf(p, v[d], state.o[d]);
  }
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; i++) l[i] += l[i + half];
  state.l = l[0];
  return state;
}

/* Rule 4. A state that is not there is passed over, never merged. */
static struct state merge(struct state left, struct state right, int64_t v_dim) {
  if (left.o == NULL) return right;
  if (right.o == NULL) return left;
  const float m = left.m > right.m ? left.m : right.m;
  const float a = contract_exp2(left.m - m), b = contract_exp2(right.m - m);
  left.m = m;
  left.l = fmaf(right.l, b, left.l * a);
  for (int64_t d = 0; d < v_dim; d++) left.o[d] = fmaf(right.o[d], b, left.o[d] * a);
  free(right.o);
  return left;
}

/* The blocks of a span, in ascending order. */
static struct state span(const struct contract_row *row, int64_t first) {
  struct state state = {-INFINITY, 0.0f, NULL};
  for (int64_t start = first; start < first + SPAN && start < row->positions; start += BLOCK) {
    const int64_t end = start + BLOCK < row->positions ? start + BLOCK : row->positions;
    state = merge(state, block(row, start, end), row->v_dim);
  }
  return state;
}

/* The binary tree over spans: the node that covers `length` keys (a power of two of spans) from `first`. */
static struct state node(const struct contract_row *row, int64_t first, int64_t length) {
  if (length == SPAN || first >= row->positions) return span(row, first);
  const struct state left = node(row, first, length / 2);
  return merge(left, node(row, first + length / 2, length / 2), row->v_dim);
}

/* What is stored: zero as +0, every NaN as the one quiet NaN. */
static float canonical(float x) {
  const uint32_t quiet_nan = 0x7fc00000;
  if (isnan(x)) memcpy(&x, &quiet_nan, sizeof x);
  return x == 0.0f ? 0.0f : x;
}

/* Rule 5. */
void contract_row(const struct contract_row *row, float *out, float *lse) {
  int64_t length = SPAN;
  while (length < row->positions) length *= 2;
  const struct state state = node(row, 0, length);
  const float reciprocal = 1.0f / state.l;
  for (int64_t d = 0; d < row->v_dim; d++) out[d] = state.o == NULL ? 0.0f : canonical(state.o[d] * reciprocal);
  const float log2_sum = state.m + contract_log2(state.l);
  *lse = state.o == NULL ? -INFINITY : canonical(0x1.62e43p-1f * log2_sum);
  free(state.o);
}
