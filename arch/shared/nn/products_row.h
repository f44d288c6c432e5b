/* One row of x by quantised weights, in int8 mode. Weights are read once, panel after panel of a piece, as they lie;
 * codes of 4 bits become values in registers. Where bytes are multiplied as unsigned by signed ones, the values are the
 * unsigned ones, not the codes of x: what the offset adds to a sum is then the offset times the sum of the row's codes,
 * one number for all outputs, and no weights are read to find it. Part of products.h. */
#ifndef FOVEA_ARCH_SHARED_NN_PRODUCTS_ROW_H
#define FOVEA_ARCH_SHARED_NN_PRODUCTS_ROW_H

#include "products_weights.h"

enum { ROW_VECTORS = FOVEA_NN_PANEL / LANES };

typedef struct int8_row {
  int8_sum sum[ROW_VECTORS];
  const char *ahead; /* the line that prefetching goes on from */
} int8_row;

/* Prefetches lines a little ahead, as many as are read, line after line: so the CPU sees a stream, and runs ahead of it
 * by itself. What is read goes back and forth between numbers of groups and words, which no CPU takes for a stream. */
enum { ROW_LINE = 64, ROW_AHEAD = 4 * ROW_LINE };
FOVEA_INLINE const char *int8_row_prefetch(const int lines, const char *at) {
  FOVEA_UNROLL
  for (int i = 0; i < lines; i++) __builtin_prefetch(at + ROW_AHEAD + i * ROW_LINE, 0, 3);
  return at + lines * ROW_LINE;
}

/* Where sums of a group begin. */
FOVEA_INLINE void int8_row_begin(float x_sum, int8_row *row) {
#if INT8_ROW_OFFSET
  const int8_sum start = int8_set1((int32_t)(x_sum * -(float)INT8_ROW_OFFSET)); /* exact: below 2^31 */
#else
  const int8_sum start = int8_set1(0);
  (void)x_sum;
#endif
  FOVEA_UNROLL
  for (int v = 0; v < ROW_VECTORS; v++) row->sum[v] = start;
}

/* Two neighbouring words of LANES outputs, the second of 8 bits `second` bytes after the first. */
FOVEA_INLINE void int8_row_values(const int bits, const char *p, int second, int8_table table, int8_values w[2]) {
  if (bits == 4) {
    int8_look_up(p, table, w);
    return;
  }
  w[0] = int8_values_at(p);
  w[1] = int8_values_at(p + second);
#if INT8_ROW_OFFSET
  w[0] = int8_offset(w[0]);
  w[1] = int8_offset(w[1]);
#endif
}

/* Adds the products of `count` words, of 4 bits an even number: by two sums, so that half as many products wait for
 * each other. */
FOVEA_INLINE void int8_row_multiply(const int bits, const char *words, const char *x, int count, int8_table table,
                                    int8_row *row) {
  enum { STEP = LANES * FOVEA_NN_WORD_CODES };
  int8_row other;
  int8_row_begin(0.0f, &other);
  FOVEA_NO_UNROLL
  for (; count > 1; count -= 2, x += 2 * FOVEA_NN_WORD_CODES) {
    row->ahead = int8_row_prefetch(bits == 4 ? 1 : 2, row->ahead);
    FOVEA_UNROLL
    for (int v = 0; v < ROW_VECTORS; v++) {
      int8_values w[2];
      int8_row_values(bits, words + v * STEP, INT8_WORD_OUTS, table, w);
      row->sum[v] = int8_row_add(row->sum[v], w[0], x);
      other.sum[v] = int8_row_add(other.sum[v], w[1], x + FOVEA_NN_WORD_CODES);
    }
    words += bits == 4 ? INT8_WORD_OUTS : 2 * INT8_WORD_OUTS;
  }
  FOVEA_UNROLL
  for (int v = 0; v < ROW_VECTORS; v++) {
    if (count > 0) {
      int8_values w[2];
      int8_row_values(8, words + v * STEP, 0, table, w);
      row->sum[v] = int8_row_add(row->sum[v], w[0], x);
    }
    row->sum[v] = int8_plus(row->sum[v], other.sum[v]);
  }
}

FOVEA_INLINE int8_table int8_row_table(const fovea_nn_quantised_args *of) {
  int8_table table = int8_table_of(of->values);
#if INT8_ROW_OFFSET
  table = int8_offset(table);
#endif
  return table;
}

/* Words of group `g` of a piece as they are multiplied: of 4 bits with those after the last dim. */
FOVEA_INLINE int int8_row_words(const int bits, const fovea_nn_quantised_args *of, int g) {
  const int size = of->group > 0 ? of->group : FOVEA_DOT_PIECE, rest = of->dims - g * size;
  const int dims = rest < size ? rest : size;
  return bits == 4 ? (dims + 7) / 8 * 2 : (dims + 3) / 4;
}

/* Numbers of a panel's outputs after a group. */
FOVEA_INLINE void int8_row_close(const fovea_nn_row_products_args *args, int g, const float *scales,
                                 const int8_row *row, vec *r) {
  const int64_t to_offsets = (int64_t)int8_groups(&args->of) * FOVEA_NN_PANEL;
  FOVEA_UNROLL
  for (int v = 0; v < ROW_VECTORS; v++) {
    r[v] = vec_fma(int8_float(row->sum[v]), vec_load(scales + v * LANES), r[v]);
    if (args->of.has_offsets)
      r[v] = vec_fma(vec_set1(args->x_sums[g]), vec_load(scales + to_offsets + v * LANES), r[v]);
  }
}

FOVEA_INLINE void int8_row_store(const fovea_nn_row_products_args *args, const vec *r, float *sums) {
  FOVEA_UNROLL
  for (int v = 0; v < ROW_VECTORS; v++)
    vec_store(sums + v * LANES, args->ends ? vec_mul(r[v], vec_set1(args->x_scale)) : r[v]);
}

/* If all dims are one group: adds the sums of the pieces before, and leaves them where it found them. Returns 0 after the
 * last piece, when the group is complete. */
FOVEA_INLINE int int8_row_waits(const fovea_nn_row_products_args *args, int8_row *row, float *sums) {
  int32_t *integers = (int32_t *)(void *)sums;
  FOVEA_UNROLL
  for (int v = 0; v < ROW_VECTORS; v++) {
    if (args->begun) row->sum[v] = int8_plus(row->sum[v], int8_load(integers + v * LANES));
    int8_store(integers + v * LANES, row->sum[v]);
  }
  return !args->ends;
}

FOVEA_INLINE void int8_row_panel(const int bits, const fovea_nn_row_products_args *args, const char *panel,
                                 int8_table table, float *sums) {
  const int groups = int8_groups(&args->of), is_whole = args->of.group == 0;
  const float *scales = (const float *)(const void *)panel;
  const char *x = args->x, *words = panel + int8_scale_bytes(&args->of);
  int8_row row = {.ahead = panel};
  vec r[ROW_VECTORS];
  FOVEA_UNROLL
  for (int v = 0; v < ROW_VECTORS; v++)
    r[v] = args->begun && !is_whole ? vec_load(sums + v * LANES) : vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (int g = 0; g < groups; g++, scales += FOVEA_NN_PANEL) {
    const int count = int8_row_words(bits, &args->of, g);
    row.ahead = int8_row_prefetch(1, row.ahead);
    if (args->of.has_offsets) row.ahead = int8_row_prefetch(1, row.ahead);
    int8_row_begin(is_whole && args->begun ? 0.0f : args->x_sums[g], &row);
    int8_row_multiply(bits, words, x, count, table, &row);
    if (is_whole && int8_row_waits(args, &row, sums)) return;
    int8_row_close(args, g, scales, &row, r);
    x += count * FOVEA_NN_WORD_CODES;
    words += count * INT8_WORD_OUTS * bits / 8;
  }
  int8_row_store(args, r, sums);
}

FOVEA_INLINE void int8_row_panels(const int bits, const fovea_nn_row_products_args *args) {
  const int8_table table = int8_row_table(&args->of);
  const char *panel = args->of.weights;
  float *sums = args->sums;
  FOVEA_NO_UNROLL
  for (int i = 0; i < args->panels; i++, panel += args->of.panel_stride, sums += FOVEA_NN_PANEL)
    int8_row_panel(bits, args, panel, table, sums);
}

FOVEA_KERNEL void FOVEA_NAME(nn_row_products)(const fovea_nn_row_products_args *args) {
  if (args->of.bits == 4)
    int8_row_panels(4, args);
  else
    int8_row_panels(8, args);
}

#endif
