/* The recurrence of linear attention, token by token, for a tile of the columns of one head's state. Columns lie in
 * the lanes. docs/numerics.md, clause L14. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_RECURRENCE_H
#define FOVEA_ARCH_SHARED_NN_RECURRENCE_H

#include "../../nn_kernels.h"
#include "../fetch.h"

/* Dims of one chain of a sum over dims. */
#define RECURRENCE_PIECE FOVEA_DOT_PIECE

/* Vectors of columns that are computed together: sums over dims are chains, which wait less beside others. */
#define STATE_VECTORS 4
/* The same where tokens are taken together. */
#define BLOCK_VECTORS (LANES >= 8 ? 2 : 4)
/* Tokens that are taken together. Then the state is loaded and stored once for all of them. */
#define BLOCK_TOKENS (LANES >= 16 ? 4 : 2)
/* The most queries of a token that are taken together. */
#define READS_LIMIT 4
/* The fewest vectors of columns that are computed together: the vectors of a step. */
#define STEP_IS_LESS (FOVEA_NN_STATE_STEP / LANES < STATE_VECTORS)
#define STEP_VECTORS (STEP_IS_LESS ? FOVEA_NN_STATE_STEP / LANES : STATE_VECTORS)

FOVEA_INLINE int64_t piece_end(int64_t piece, int64_t dim) {
  return dim - piece < RECURRENCE_PIECE ? dim : piece + RECURRENCE_PIECE;
}

/* Dims between prefetches. */
#define FETCH_DIMS 16

/* What is prefetched during the passes over the state, and how many lines for each FETCH_DIMS dims. */
typedef struct steady_fetch {
  row_fetch rows;
  int64_t lines;
} steady_fetch;

FOVEA_INLINE steady_fetch fetch_in_passes(const fovea_nn_recurrence_args *a, int64_t passes) {
  const int64_t times = passes * ((a->dim + FETCH_DIMS - 1) / FETCH_DIMS);
  return (steady_fetch){fetch_rows(a->fetch, a->fetch_count), times > 0 ? a->fetch_lines / times + 1 : 0};
}

FOVEA_INLINE int64_t fetch_end(int64_t d, int64_t end) {
  return end - d < FETCH_DIMS ? end : d + FETCH_DIMS;
}

/* Puts the sums of a piece of dims where the sums of earlier pieces are added up. */
FOVEA_INLINE void add_piece(float *sums, const vec *piece, int64_t first, const int vectors) {
  FOVEA_UNROLL
  for (int c = 0; c < vectors; c++) {
    float *to = sums + c * LANES;
    vec_store(to, first == 0 ? piece[c] : vec_add(vec_load(to), piece[c]));
  }
}

/* Several tokens with one query each, where v is what is added to the state: dim by dim, the state stays in
 * registers for all of them. `vectors`, `tokens` and `keeps` are constants. */
FOVEA_INLINE void recurrence_block(const fovea_nn_recurrence_args *a, int first, int column, const int tokens,
                                   const int vectors, const int keeps, steady_fetch *fetch) {
  const int64_t stride = a->stride, state_stride = a->state_stride, dim = a->dim;
  const float *q = a->q + first * stride, *k = a->k + first * stride, *keep = keeps ? a->keep + first * stride : k;
  float *state = a->state + column;
  vec v[BLOCK_TOKENS][BLOCK_VECTORS];
  FOVEA_UNROLL
  for (int t = 0; t < tokens; t++) {
    FOVEA_UNROLL
    for (int c = 0; c < vectors; c++) v[t][c] = vec_load(a->v + (first + t) * a->v_stride + column + c * LANES);
  }
  FOVEA_NO_UNROLL
  for (int64_t piece = 0; piece < dim; piece += RECURRENCE_PIECE) {
    const int64_t end = piece_end(piece, dim);
    vec o[BLOCK_TOKENS][BLOCK_VECTORS];
    FOVEA_UNROLL
    for (int t = 0; t < tokens; t++) {
      FOVEA_UNROLL
      for (int c = 0; c < vectors; c++) o[t][c] = vec_set1(0.0f);
    }
    FOVEA_NO_UNROLL
    for (int64_t from = piece; from < end; from = fetch_end(from, end)) {
      fetch_lines(fetch->lines, &fetch->rows);
      FOVEA_NO_UNROLL
      for (int64_t d = from; d < fetch_end(from, end); d++) {
        vec s[BLOCK_VECTORS];
        FOVEA_UNROLL
        for (int c = 0; c < vectors; c++) s[c] = vec_load(state + c * LANES);
        FOVEA_UNROLL
        for (int t = 0; t < tokens; t++) {
          const vec key = vec_set1(k[t * stride + d]), query = vec_set1(q[t * stride + d]);
          if (keeps) {
            const vec kept = vec_set1(keep[t * stride + d]);
            FOVEA_UNROLL
            for (int c = 0; c < vectors; c++) s[c] = vec_mul(s[c], kept);
          }
          FOVEA_UNROLL
          for (int c = 0; c < vectors; c++) s[c] = vec_fma(key, v[t][c], s[c]);
          FOVEA_UNROLL
          for (int c = 0; c < vectors; c++) o[t][c] = vec_fma(query, s[c], o[t][c]);
        }
        FOVEA_UNROLL
        for (int c = 0; c < vectors; c++) vec_store(state + c * LANES, s[c]);
        state += state_stride;
      }
    }
    FOVEA_UNROLL
    for (int t = 0; t < tokens; t++) add_piece(a->o + (first + t) * a->o_stride + column, o[t], piece, vectors);
  }
}

/* One number for each dim, or 1 for all: a product with 1 changes no bit. */
typedef struct kept_row {
  const float *row;
  int64_t step;
} kept_row;

FOVEA_INLINE kept_row kept_of(const fovea_nn_recurrence_args *a, int token) {
  static const float one = 1.0f;
  return a->keep ? (kept_row){a->keep + token * a->stride, 1} : (kept_row){&one, 0};
}

/* One token: the state, if `updates`, and `reads` of its queries, from `read` on. All but the position are
 * constants. */
FOVEA_INLINE void recurrence_step(const fovea_nn_recurrence_args *a, int token, int column, const vec *v,
                                  kept_row kept, int read, const int updates, const int vectors, const int reads) {
  const int64_t stride = a->stride, state_stride = a->state_stride, dim = a->dim;
  const float *q = a->q + ((int64_t)token * a->reads + read) * stride, *k = a->k + token * stride;
  float *state = a->state + column;
  FOVEA_NO_UNROLL
  for (int64_t piece = 0; piece < dim; piece += RECURRENCE_PIECE) {
    const int64_t end = piece_end(piece, dim);
    vec o[READS_LIMIT][STATE_VECTORS];
    FOVEA_UNROLL
    for (int r = 0; r < reads; r++) {
      FOVEA_UNROLL
      for (int c = 0; c < vectors; c++) o[r][c] = vec_set1(0.0f);
    }
    FOVEA_NO_UNROLL
    for (int64_t d = piece; d < end; d++) {
      vec s[STATE_VECTORS];
      FOVEA_UNROLL
      for (int c = 0; c < vectors; c++) s[c] = vec_load(state + c * LANES);
      if (updates) {
        const vec keep = vec_set1(*kept.row), key = vec_set1(k[d]);
        kept.row += kept.step;
        FOVEA_UNROLL
        for (int c = 0; c < vectors; c++) {
          s[c] = vec_fma(key, v[c], vec_mul(s[c], keep));
          vec_store(state + c * LANES, s[c]);
        }
      }
      FOVEA_UNROLL
      for (int r = 0; r < reads; r++) {
        const vec query = vec_set1(q[r * stride + d]);
        FOVEA_UNROLL
        for (int c = 0; c < vectors; c++) o[r][c] = vec_fma(query, s[c], o[r][c]);
      }
      state += state_stride;
    }
    FOVEA_UNROLL
    for (int r = 0; r < reads; r++) {
      add_piece(a->o + ((int64_t)token * a->reads + read + r) * a->o_stride + column, o[r], piece, vectors);
    }
  }
}

/* The token's update with its first queries, and then the other queries. `vectors` is a constant. */
FOVEA_INLINE void recurrence_token(const fovea_nn_recurrence_args *a, int token, int column, const vec *v,
                                   kept_row kept, const int vectors) {
  int read = a->reads >= READS_LIMIT ? READS_LIMIT : 1;
  if (read == READS_LIMIT) {
    recurrence_step(a, token, column, v, kept, 0, 1, vectors, READS_LIMIT);
  } else {
    recurrence_step(a, token, column, v, kept, 0, 1, vectors, 1);
  }
  FOVEA_NO_UNROLL
  for (; read + READS_LIMIT <= a->reads; read += READS_LIMIT) {
    recurrence_step(a, token, column, v, kept, read, 0, vectors, READS_LIMIT);
  }
  FOVEA_NO_UNROLL
  for (; read < a->reads; read++) recurrence_step(a, token, column, v, kept, read, 0, vectors, 1);
}

/* Calls for both numbers of vectors, since inlining would make a copy for each rule. */
FOVEA_SHORT FOVEA_NOINLINE void recurrence_token_of_most(const fovea_nn_recurrence_args *a, int token, int column,
                                                         const vec *v, kept_row kept) {
  recurrence_token(a, token, column, v, kept, STATE_VECTORS);
}
#if STEP_IS_LESS
FOVEA_SHORT FOVEA_NOINLINE void recurrence_token_of_step(const fovea_nn_recurrence_args *a, int token, int column,
                                                         const vec *v, kept_row kept) {
  recurrence_token(a, token, column, v, kept, STEP_VECTORS);
}
#else
#define recurrence_token_of_step recurrence_token_of_most
#endif

FOVEA_INLINE void call_token(const fovea_nn_recurrence_args *a, int token, int column, const vec *v, kept_row kept,
                             const int vectors) {
  if (vectors == STATE_VECTORS) {
    recurrence_token_of_most(a, token, column, v, kept);
  } else {
    recurrence_token_of_step(a, token, column, v, kept);
  }
}

/* v, of some columns of a token. */
FOVEA_INLINE void load_values(const fovea_nn_recurrence_args *a, int token, int column, const int vectors, vec *v) {
  FOVEA_UNROLL
  for (int c = 0; c < vectors; c++) v[c] = vec_load(a->v + token * a->v_stride + column + c * LANES);
}

/* What the delta rule adds to the state, from r, what the state has for the token's key. */
FOVEA_INLINE void delta_of(const fovea_nn_recurrence_args *a, int token, int column, const vec *r,
                           const int vectors, vec *v) {
  const vec beta = vec_set1(a->beta ? a->beta[token] : 1.0f);
  load_values(a, token, column, vectors, v);
  FOVEA_UNROLL
  for (int c = 0; c < vectors; c++) v[c] = vec_mul(beta, vec_sub(v[c], r[c]));
}

/* r of a piece of dims and of the pieces before it. */
FOVEA_INLINE void add_sums(vec *r, const vec *piece, int64_t first, const int vectors) {
  FOVEA_UNROLL
  for (int c = 0; c < vectors; c++) r[c] = first == 0 ? piece[c] : vec_add(r[c], piece[c]);
}

/* Lets the state decay for a token, and sets r, what it then has for the token's key. */
FOVEA_INLINE void recall(const fovea_nn_recurrence_args *a, int token, int column, const int vectors, vec *r) {
  const int64_t state_stride = a->state_stride, dim = a->dim;
  const float *k = a->k + token * a->stride;
  float *state = a->state + column;
  kept_row kept = kept_of(a, token);
  FOVEA_UNROLL
  for (int c = 0; c < vectors; c++) r[c] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int64_t piece = 0; piece < dim; piece += RECURRENCE_PIECE) {
    const int64_t end = piece_end(piece, dim);
    vec sum[STATE_VECTORS];
    FOVEA_UNROLL
    for (int c = 0; c < vectors; c++) sum[c] = vec_set1(0.0f);
    FOVEA_NO_UNROLL
    for (int64_t d = piece; d < end; d++) {
      const vec keep = vec_set1(*kept.row), key = vec_set1(k[d]);
      kept.row += kept.step;
      FOVEA_UNROLL
      for (int c = 0; c < vectors; c++) {
        const vec s = vec_mul(vec_load(state + c * LANES), keep);
        vec_store(state + c * LANES, s);
        sum[c] = vec_fma(key, s, sum[c]);
      }
      state += state_stride;
    }
    add_sums(r, sum, piece, vectors);
  }
}

/* The update of a token that recall() prepared, and recall() for the next token, in one pass over the state. The
 * token has one query. `vectors` and `keeps` are constants. */
FOVEA_INLINE void update_and_recall(const fovea_nn_recurrence_args *a, int token, int column, const vec *v,
                                    const int vectors, const int keeps, vec *r, steady_fetch *fetch) {
  const int64_t stride = a->stride, state_stride = a->state_stride, dim = a->dim;
  const float *q = a->q + token * stride, *k = a->k + token * stride, *next = k + stride;
  const float *keep = keeps ? a->keep + (token + 1) * stride : k;
  float *state = a->state + column;
  FOVEA_NO_UNROLL
  for (int64_t piece = 0; piece < dim; piece += RECURRENCE_PIECE) {
    const int64_t end = piece_end(piece, dim);
    vec o[STATE_VECTORS], sum[STATE_VECTORS];
    FOVEA_UNROLL
    for (int c = 0; c < vectors; c++) o[c] = sum[c] = vec_set1(0.0f);
    FOVEA_NO_UNROLL
    for (int64_t from = piece; from < end; from = fetch_end(from, end)) {
      fetch_lines(fetch->lines, &fetch->rows);
      FOVEA_NO_UNROLL
      for (int64_t d = from; d < fetch_end(from, end); d++) {
        const vec key = vec_set1(k[d]), query = vec_set1(q[d]), next_key = vec_set1(next[d]);
        vec s[STATE_VECTORS];
        FOVEA_UNROLL
        for (int c = 0; c < vectors; c++) s[c] = vec_fma(key, v[c], vec_load(state + c * LANES));
        FOVEA_UNROLL
        for (int c = 0; c < vectors; c++) o[c] = vec_fma(query, s[c], o[c]);
        if (keeps) {
          const vec kept = vec_set1(keep[d]);
          FOVEA_UNROLL
          for (int c = 0; c < vectors; c++) s[c] = vec_mul(s[c], kept);
        }
        FOVEA_UNROLL
        for (int c = 0; c < vectors; c++) vec_store(state + c * LANES, s[c]);
        FOVEA_UNROLL
        for (int c = 0; c < vectors; c++) sum[c] = vec_fma(next_key, s[c], sum[c]);
        state += state_stride;
      }
    }
    add_piece(a->o + token * a->o_stride + column, o, piece, vectors);
    add_sums(r, sum, piece, vectors);
  }
}

/* All tokens for some columns. `vectors` and `keeps` are constants. */
FOVEA_INLINE void delta_columns(const fovea_nn_recurrence_args *a, int column, const int vectors, const int keeps,
                                steady_fetch *fetch) {
  static const float one = 1.0f;
  vec r[STATE_VECTORS], v[STATE_VECTORS];
  FOVEA_UNROLL
  for (int c = 0; c < vectors; c++) r[c] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int t = 0; t < a->tokens; t++) {
    if (t == 0 || a->reads > 1) recall(a, t, column, vectors, r);
    delta_of(a, t, column, r, vectors, v);
    if (t + 1 < a->tokens && a->reads == 1) {
      update_and_recall(a, t, column, v, vectors, keeps, r, fetch);
    } else {
      call_token(a, t, column, v, (kept_row){&one, 0}, vectors);
    }
  }
}

/* Tokens from `first` on, one by one. `vectors` is a constant. */
FOVEA_INLINE void token_columns(const fovea_nn_recurrence_args *a, int first, int column, const int vectors) {
  FOVEA_NO_UNROLL
  for (int t = first; t < a->tokens; t++) {
    vec v[STATE_VECTORS];
    load_values(a, t, column, vectors, v);
    call_token(a, t, column, v, kept_of(a, t), vectors);
  }
}

/* Blocks of tokens for some columns. `vectors` and `keeps` are constants. */
FOVEA_INLINE void block_columns(const fovea_nn_recurrence_args *a, int blocks, int column, const int vectors,
                                const int keeps, steady_fetch *fetch) {
  FOVEA_NO_UNROLL
  for (int b = 0; b < blocks; b++) {
    recurrence_block(a, b * BLOCK_TOKENS, column, BLOCK_TOKENS, vectors, keeps, fetch);
  }
}

/* Makes `call` with `vectors` in place of the vectors, for groups of columns. */
#define COLUMN_GROUPS(most, least, call)                                                                           \
  {                                                                                                                \
    int column = 0;                                                                                                \
    FOVEA_NO_UNROLL                                                                                                \
    for (; column + (most)*LANES <= a->columns; column += (most)*LANES) {                                          \
      const int vectors = (most);                                                                                  \
      call;                                                                                                        \
    }                                                                                                              \
    if ((most) > (least)) {                                                                                        \
      FOVEA_NO_UNROLL                                                                                              \
      for (; column < a->columns; column += (least)*LANES) {                                                       \
        const int vectors = (least);                                                                               \
        call;                                                                                                      \
      }                                                                                                            \
    }                                                                                                              \
  }

/* `keeps` is a constant. */
FOVEA_INLINE void recurrence_of_delta(const fovea_nn_recurrence_args *a, const int keeps) {
  steady_fetch fetch = fetch_in_passes(a, (int64_t)a->tokens * (a->columns / (STATE_VECTORS * LANES)));
  COLUMN_GROUPS(STATE_VECTORS, STEP_VECTORS, delta_columns(a, column, vectors, keeps, &fetch))
}

FOVEA_INLINE void recurrence_in_blocks(const fovea_nn_recurrence_args *a, int blocks, const int keeps) {
  steady_fetch fetch = fetch_in_passes(a, (int64_t)blocks * (a->columns / (BLOCK_VECTORS * LANES)));
  COLUMN_GROUPS(BLOCK_VECTORS, STEP_VECTORS < BLOCK_VECTORS ? STEP_VECTORS : BLOCK_VECTORS,
                block_columns(a, blocks, column, vectors, keeps, &fetch))
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_recurrence)(const fovea_nn_recurrence_args *a) {
  const int blocks = a->delta || a->reads > 1 ? 0 : a->tokens / BLOCK_TOKENS;
  if (a->delta) {
    if (a->keep) {
      recurrence_of_delta(a, 1);
    } else {
      recurrence_of_delta(a, 0);
    }
    return;
  }
  if (a->keep) {
    recurrence_in_blocks(a, blocks, 1);
  } else {
    recurrence_in_blocks(a, blocks, 0);
  }
  if (blocks * BLOCK_TOKENS == a->tokens) return;
  COLUMN_GROUPS(STATE_VECTORS, STEP_VECTORS, token_columns(a, blocks * BLOCK_TOKENS, column, vectors))
}

#endif
