/* Read it from the bottom: row, node, block, score. All arithmetic is f32, round to nearest even; build with
 * -ffp-contract=off. */
#include "contract_modes.h"

#include "../contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOG2E 0x1.71547652b82fep+0 /* double */
#define A     0x1.ffa37cp+2f       /* log2(255) */

enum { PIECE = 128, BLOCK = 128, SPAN = 16 * BLOCK, GROUP = 32 };

float contract_log2(float x);
float contract_tanh(float x);
float contract_exp2(float x);

struct state {
  float m, l;
  float *o; /* NULL: no state */
};

static void *room(int64_t count, size_t size) {
  void *memory = calloc((size_t)count + 1, size);
  if (memory == NULL) abort();
  return memory;
}

float contract_mode_exp2(float x) {
  const float n = rintf(x), f = x - n;
  float p = fmaf(0x1.c2a392p-5f, f, 0x1.f00c5ap-3f);
  p = fmaf(p, f, 0x1.62f5f6p-1f);
  p = fmaf(p, f, 1.0f);
  return ldexpf(p, (int)n);
}

float contract_mode_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (isnan(x)) return x;
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
  memcpy(&x, &bits, sizeof x);
  return fabsf(x) < 0x1p-56f ? 0.0f : x;
}

float contract_mode_quantise(const float *x, int64_t count, int8_t *codes) {
  float a = 0;
  for (int64_t i = 0; i < count; i++) codes[i] = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(x[i])) return NAN;
    if (fabsf(x[i]) > a) a = fabsf(x[i]);
  }
  if (a < 0x1p-80f) return 0;
  const float t = 127.0f / a;
  for (int64_t i = 0; i < count; i++) codes[i] = (int8_t)rintf(x[i] * t);
  return a / 127.0f;
}

/* ---- Products ------------------------------------------------------------------------------------------------ */

static float dot_exact(const float *a, const float *b, int64_t count) {
  float sum = 0;
  for (int64_t start = 0; start < count; start += PIECE) {
    const int64_t end = start + PIECE < count ? start + PIECE : count;
    float r = 0;
    for (int64_t d = start; d < end; d += 2) {
      if (d + 1 < end) r = fmaf(a[d + 1], b[d + 1], r);
      r = fmaf(a[d], b[d], r);
    }
    sum = start == 0 ? r : sum + r;
  }
  return sum;
}

/* As TDPBF16PS: in each group of 32, chains of even and of odd elements. */
float contract_mode_dot_bf16(const float *a, const float *b, int64_t count) {
  float r = 0;
  for (int64_t start = 0; start < count; start += GROUP) {
    float chain[2] = {0, 0};
    for (int64_t i = start; i < start + GROUP && i < count; i++)
      chain[i % 2] = fmaf(contract_mode_bf16(a[i]), contract_mode_bf16(b[i]), chain[i % 2]);
    r = r + (chain[0] + chain[1]);
  }
  return r;
}

/* ---- Scores -------------------------------------------------------------------------------------------------- */

/* What is known of a row before its keys: codes and their scale. */
struct query {
  int8_t *codes;
  float scale;
  float moved; /* what key_centre takes from every score */
};

static struct query quantise_query(const struct contract_mode_row *row) {
  struct query query = {room(row->qk_dim, 1), 0, 0};
  float *q = room(row->qk_dim, sizeof *q);
  for (int64_t d = 0; d < row->qk_dim; d++)
    q[d] = row->key_scale == NULL ? row->q[d] : row->q[d] * row->key_scale[d];
  query.scale = contract_mode_quantise(q, row->qk_dim, query.codes);
  if (row->key_centre != NULL)
    query.moved = dot_exact(q, row->key_centre, row->qk_dim) * (float)(row->scale * LOG2E);
  free(q);
  return query;
}

static int is_stored(const int8_t *codes, const unsigned char *stored, int64_t j) {
  return codes != NULL && (stored == NULL || stored[j]);
}

/* Codes of a key's or value's row: as they are stored, or made. Returns the scale. */
static float row_codes(const float *x, int64_t dim, const float *centre, const int8_t *stored, const float *scales,
                       int64_t j, int8_t *codes) {
  if (stored != NULL) {
    memcpy(codes, stored + j * dim, (size_t)dim);
    return fabsf(scales[j]) < 0x1p120f ? scales[j] : NAN;
  }
  float *moved = room(dim, sizeof *moved);
  for (int64_t d = 0; d < dim; d++) moved[d] = centre == NULL ? x[d] : x[d] - centre[d];
  const float scale = contract_mode_quantise(moved, dim, codes);
  free(moved);
  return scale;
}

/* Step 2 of exact mode, with another product and, of int8, another factor. */
static float score(const struct contract_mode_row *row, const struct query *query, int64_t j) {
  const float *k = row->k + j * row->k_stride;
  float r = 0, c = (float)(row->softcap == 0 ? row->scale * LOG2E : row->scale / row->softcap);
  if (row->scores == MODE_EXACT) r = dot_exact(row->q, k, row->qk_dim);
  if (row->scores == MODE_BF16) r = contract_mode_dot_bf16(row->q, k, row->qk_dim);
  if (row->scores == MODE_INT8) {
    int8_t *codes = room(row->qk_dim, 1);
    int32_t sum = 0;
    const int8_t *stored = is_stored(row->k_codes, row->k_stored, j) ? row->k_codes : NULL;
    const float scale = row_codes(k, row->qk_dim, row->key_centre, stored, row->k_scales, j, codes);
    for (int64_t d = 0; d < row->qk_dim; d++) sum += (int32_t)query->codes[d] * codes[d];
    r = (float)sum * scale;
    c = query->scale * c;
    free(codes);
  }
  float s = row->softcap == 0 ? r * c : (float)(row->softcap * LOG2E) * contract_tanh(r * c);
  for (int i = 0; i < row->term_count; i++) s = fmaf(row->terms[i][j], (float)LOG2E, s);
  return s;
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

/* A block: its keys from `first` on, and what its rows are. */
struct block {
  int64_t first, end;
  int seen[BLOCK];
  float s[BLOCK];           /* int8: with g added */
  float g[BLOCK], h[BLOCK]; /* int8: of the values' scales */
  int8_t *codes;            /* int8: [BLOCK][v_dim] */
};

static float weight_of(enum contract_mode values, float x) {
  if (isnan(x)) return x;
  if (values == MODE_EXACT) return contract_exp2(x);
  return x < (values == MODE_BF16 ? -56.0f : -126.0f) ? 0.0f : contract_mode_exp2(x);
}

static void open_values(const struct contract_mode_row *row, struct block *block) {
  block->codes = room(BLOCK * row->v_dim, 1);
  for (int i = 0; i < BLOCK; i++) {
    const int64_t j = block->first + i;
    if (!block->seen[i] || row->values != MODE_INT8) continue;
    /* A negative scale has no logarithm, so such a row is quantised. */
    const int stored = is_stored(row->v_codes, row->v_stored, j) && !(row->v_scales[j] < 0);
    const float scale = row_codes(row->v + j * row->v_stride, row->v_dim, NULL, stored ? row->v_codes : NULL,
                                  row->v_scales, j, block->codes + i * row->v_dim);
    const float w = scale > 0x1p-87f || isnan(scale) ? scale : 0x1p-87f;
    block->g[i] = isnan(w) ? w : contract_log2(w);
    block->h[i] = isnan(w) ? 1.0f : 1.0f / w;
  }
}

static void multiply(const struct contract_mode_row *row, const struct block *block, const float *p, float *o) {
  for (int64_t d = 0; d < row->v_dim; d++) {
    float values[BLOCK] = {0}, sum = 0;
    int64_t total = 0;
    int none = 0;
    for (int i = 0; i < BLOCK; i++) {
      if (!block->seen[i]) continue;
      values[i] = row->v[(block->first + i) * row->v_stride + d];
      if (row->values == MODE_EXACT) sum = fmaf(p[i], values[i], sum);
      none |= isnan(p[i]);
      if (row->values == MODE_INT8 && !isnan(p[i]))
        total += (int64_t)fminf(255.0f, rintf(p[i])) * block->codes[i * row->v_dim + d];
    }
    if (row->values == MODE_EXACT) o[d] = sum;
    if (row->values == MODE_BF16) o[d] = contract_mode_dot_bf16(p, values, BLOCK);
    if (row->values == MODE_INT8) o[d] = none ? NAN : (float)total;
  }
}

/* ---- States -------------------------------------------------------------------------------------------------- */

static struct state block_state(const struct contract_mode_row *row, const struct query *query, int64_t first,
                                int64_t limit) {
  struct block block = {.first = first, .end = first + BLOCK < limit ? first + BLOCK : limit};
  struct state state = {-INFINITY, 0, NULL};
  float p[BLOCK] = {0}, l[16] = {0};
  int any_nan = 0;
  for (int64_t j = first; j < block.end; j++) block.seen[j - first] = row->sees(row->rules, j);
  open_values(row, &block);
  for (int i = 0; i < BLOCK; i++) {
    if (!block.seen[i]) continue;
    block.s[i] = score(row, query, first + i);
    if (row->values == MODE_INT8 && block.s[i] != -INFINITY) block.s[i] = block.s[i] + block.g[i];
    any_nan |= isnan(block.s[i]);
    if (block.s[i] > state.m) state.m = block.s[i];
  }
  if (state.m != -INFINITY || any_nan) {
    if (state.m == 0.0f) state.m = 0.0f;
    if (row->values == MODE_INT8) state.m = state.m - A;
    const float reference = state.m == -INFINITY ? 0.0f : state.m;
    state.o = room(row->v_dim, sizeof *state.o);
    for (int i = 0; i < BLOCK; i++) {
      if (!block.seen[i]) continue;
      p[i] = weight_of(row->values, block.s[i] - reference);
      l[i % 16] = row->values == MODE_INT8 ? fmaf(p[i], block.h[i], l[i % 16]) : l[i % 16] + p[i];
    }
    multiply(row, &block, p, state.o);
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; i++) l[i] += l[i + half];
    state.l = l[0];
  }
  free(block.codes);
  return state;
}

static struct state merge(const struct contract_mode_row *row, struct state left, struct state right) {
  if (left.o == NULL) return right;
  if (right.o == NULL) return left;
  const float m = left.m > right.m ? left.m : right.m, reference = m == -INFINITY ? 0.0f : m;
  const float a = contract_exp2(left.m - reference), b = contract_exp2(right.m - reference);
  for (int64_t d = 0; d < row->v_dim; d++) left.o[d] = fmaf(right.o[d], b, left.o[d] * a);
  free(right.o);
  return (struct state){m, fmaf(right.l, b, left.l * a), left.o};
}

/* What channel numbers do to the state of a span, or of a part of a span that ends as a state of its own. */
static struct state finish_span(const struct contract_mode_row *row, const struct query *query,
                                struct state state) {
  if (state.o == NULL) return state;
  const int centred = row->scores == MODE_INT8 && row->key_centre != NULL;
  const int lost = centred && !isfinite(state.m + query->moved);
  if (centred && !lost) state.m = state.m + query->moved;
  if (lost) state.l = NAN;
  for (int64_t d = 0; d < row->v_dim; d++) {
    if (lost) state.o[d] = NAN;
    if (row->values == MODE_INT8 && row->value_scale != NULL) state.o[d] = state.o[d] * row->value_scale[d];
  }
  return state;
}

static struct state node(const struct contract_mode_row *row, const struct query *query, int64_t first,
                         int64_t length) {
  struct state state = {-INFINITY, 0, NULL};
  const int64_t end = first + length < row->positions ? first + length : row->positions;
  const int64_t step = length > SPAN ? length / 2 : BLOCK;
  for (int64_t start = first; start < end; start += step)
    state = merge(row, state, length > SPAN ? node(row, query, start, step) : block_state(row, query, start, end));
  return length > SPAN ? state : finish_span(row, query, state);
}

static float canonical(float x) {
  return isnan(x) ? NAN : x == 0.0f ? 0.0f : x;
}

void contract_mode_row(const struct contract_mode_row *row, float *out, float *lse) {
  struct query query = row->scores == MODE_INT8 ? quantise_query(row) : (struct query){NULL, 0, 0};
  int64_t length = SPAN;
  while (length < row->positions) length *= 2;
  struct state state = node(row, &query, 0, length);
  if (state.o == NULL) state.o = room(row->v_dim, sizeof *state.o);
  if (row->sink != NULL)
    state = merge(row, state, (struct state){*row->sink * (float)LOG2E, 1, room(row->v_dim, sizeof *state.o)});
  for (int64_t d = 0; d < row->v_dim; d++) {
    out[d] = canonical(state.l == 0.0f ? 0.0f : state.o[d] * (1.0f / state.l));
  }
  *lse = state.l == 0.0f ? -INFINITY : canonical(0x1.62e43p-1f * (state.m + contract_log2(state.l)));
  free(state.o);
  free(query.codes);
}
