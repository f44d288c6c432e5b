/* The gates of GRU and LSTM cells, from both products. docs/numerics.md, clause L11. Part of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_GATES_H
#define FOVEA_ARCH_SHARED_NN_GATES_H

#include "../../nn_kernels.h"
#include "../tanh.h"
#include "elements.h"
#include "functions.h"

/* 1 / (1 + e^-x) by SiLU's divisor. NaN stays. */
FOVEA_INLINE vec vec_logistic(vec x) {
  const vec minus = vec_min(vec_set1(110.0f), vec_sub(vec_set1(0.0f), vec_min(vec_set1(32.0f), x)));
  const vec w = vec_sub(vec_set1(0.0f), minus);
  vec sum;
  vec_one_and_exp(&w, 1, &sum);
  return vec_mul(vec_div(vec_set1(1.0f), sum), vec_set1(0x1p-32f));
}

/* Up to LANES numbers of both products for a gate. */
typedef struct gate_sums {
  vec x, h;
} gate_sums;

FOVEA_INLINE gate_sums load_gate(const fovea_nn_gates_args *args, int64_t row, int64_t d, int count,
                                 const int gate) {
  const int64_t at = gate * args->dim + d;
  return (gate_sums){load_number(&args->x, row, at, count), load_number(&args->h, row, at, count)};
}

FOVEA_INLINE vec logistic_gate(gate_sums gate) {
  return vec_logistic(vec_add(gate.x, gate.h));
}

FOVEA_KERNEL void FOVEA_NAME(nn_gru)(const fovea_nn_gates_args *args) {
  for (int64_t row = 0; row < args->rows; row++) {
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const int count = vector_count(d, args->dim);
      const vec r = logistic_gate(load_gate(args, row, d, count, 0));
      const vec z = logistic_gate(load_gate(args, row, d, count, 1));
      const gate_sums last = load_gate(args, row, d, count, 2);
      vec n = vec_fma(r, last.h, last.x);
      vec_tanh_together(&n, 1);
      const vec state = load_number(&args->state, row, d, count);
      store_result(&args->y, row, d, count, vec_fma(z, vec_sub(state, n), n));
    }
  }
}

FOVEA_KERNEL void FOVEA_NAME(nn_lstm)(const fovea_nn_gates_args *args) {
  for (int64_t row = 0; row < args->rows; row++) {
    FOVEA_NO_UNROLL
    for (int64_t d = 0; d < args->dim; d += LANES) {
      const int count = vector_count(d, args->dim);
      const vec i = logistic_gate(load_gate(args, row, d, count, 0));
      const vec f = logistic_gate(load_gate(args, row, d, count, 1));
      const gate_sums third = load_gate(args, row, d, count, 2);
      vec g = vec_add(third.x, third.h);
      vec_tanh_together(&g, 1);
      const vec o = logistic_gate(load_gate(args, row, d, count, 3));
      vec cell = vec_fma(f, load_number(&args->state, row, d, count), vec_mul(i, g));
      store_result(&args->cell, row, d, count, cell);
      vec_tanh_together(&cell, 1);
      store_result(&args->y, row, d, count, vec_mul(o, cell));
    }
  }
}

#endif
