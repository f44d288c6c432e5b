/* How fast this CPU multiplies bf16 in pairs (VDPBF16PS). Scores of bf16 are faster than scores of f32 by that. */
#include "machine.h"

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { chain_count = 24 };

static volatile float sink;

__attribute__((target("avx512f,avx512bw,avx512bf16"))) static float dot_loop(int64_t turns) {
  volatile short factors[2] = {0x3a83, 0x38d1}; /* about 1e-3 and 1e-4 */
  const __m512bh x = (__m512bh)_mm512_set1_epi16(factors[0]), y = (__m512bh)_mm512_set1_epi16(factors[1]);
  __m512 chains[chain_count];
  float lanes[16];
  _Pragma("GCC unroll 24") for (int i = 0; i < chain_count; i++) chains[i] = _mm512_set1_ps((float)i);
  for (int64_t turn = 0; turn < turns; turn++)
    _Pragma("GCC unroll 24") for (int i = 0; i < chain_count; i++) chains[i] = _mm512_dpbf16_ps(chains[i], x, y);
  _Pragma("GCC unroll 24") for (int i = 1; i < chain_count; i++) chains[0] = _mm512_add_ps(chains[0], chains[i]);
  _mm512_storeu_ps(lanes, chains[0]);
  return lanes[0];
}

static double dot_rate(double seconds) {
  const int64_t turns_at_once = 50000;
  int64_t turns = 0;
  const double start = machine_now();
  double now = start;
  while (now - start < seconds) {
    sink = dot_loop(turns_at_once);
    turns += turns_at_once;
    now = machine_now();
  }
  return (double)turns * 2.0 * 32.0 * chain_count / (now - start);
}

/* Measured once: which benchmarks there are depends on it. */
double machine_bf16_over_fma(void) {
  const double slice = 0.01;
  static double ratio = -1.0;
  double best_dot = 0.0, best_fma = 0.0;
  if (ratio >= 0.0) return ratio;
  if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw")) return 0.0;
  for (int round = 0; round < 5; round++) {
    const double fma = machine_fma_peak("avx512", 1, slice), dot = dot_rate(slice);
    if (fma > best_fma) best_fma = fma;
    if (dot > best_dot) best_dot = dot;
  }
  ratio = best_fma > 0.0 ? best_dot / best_fma : 0.0;
  return ratio;
}
#else
double machine_bf16_over_fma(void) {
  return 0.0;
}
#endif
