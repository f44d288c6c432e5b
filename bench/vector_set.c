/* The loops of one instruction set, by its vector layer, and 2^x of their own. CMake compiles this file once for
 * each, with VECTOR_LAYER and TILES as the paths of its vector.h and tiles.h. */
#include TILES
#include VECTOR_LAYER

#include "vector_kernels.h"

#include <string.h>

/* Twelve of 16 registers, 24 of 32: six for each vector of rows in a tile of two or four, four where it has three.
 */
#define FMA_CHAINS ((FOVEA_TILE_VECTORS == 3 ? 4 : 6) * FOVEA_TILE_VECTORS)

static FOVEA_KERNEL float lane_sum(vec a) {
  float lanes[LANES], sum = 0.0f;
  vec_store(lanes, a);
  for (int i = 0; i < LANES; i++) sum += lanes[i];
  return sum;
}

/* The accumulators stay in registers only if the loops over them are unrolled. */
static FOVEA_KERNEL float fma_loop(int64_t turns) {
  volatile float factors[2] = {1e-3f, 1e-4f}; /* unknown to the compiler */
  const vec x = vec_set1(factors[0]), y = vec_set1(factors[1]);
  vec chains[FMA_CHAINS];
  _Pragma("GCC unroll 24") for (int i = 0; i < FMA_CHAINS; i++) chains[i] = vec_set1((float)i);
  for (int64_t turn = 0; turn < turns; turn++)
    _Pragma("GCC unroll 24") for (int i = 0; i < FMA_CHAINS; i++) chains[i] = vec_fma(x, y, chains[i]);
  _Pragma("GCC unroll 24") for (int i = 1; i < FMA_CHAINS; i++) chains[0] = vec_add(chains[0], chains[i]);
  return lane_sum(chains[0]);
}

static FOVEA_KERNEL float read_sum(const float *floats, size_t count) {
  enum { chains_count = 8 };
  vec chains[chains_count];
  size_t i = 0;
  _Pragma("GCC unroll 8") for (int j = 0; j < chains_count; j++) chains[j] = vec_set1(0.0f);
  for (; i + chains_count * LANES <= count; i += chains_count * LANES)
    _Pragma("GCC unroll 8") for (int j = 0; j < chains_count; j++) chains[j] =
        vec_add(chains[j], vec_load(floats + i + (size_t)j * LANES));
  _Pragma("GCC unroll 8") for (int j = 1; j < chains_count; j++) chains[0] = vec_add(chains[0], chains[j]);
  float sum = lane_sum(chains[0]);
  for (; i < count; i++) sum += floats[i];
  return sum;
}

static FOVEA_KERNEL void copy(float *to, const float *from, size_t count) {
  enum { vectors = 8 };
  size_t i = 0;
  for (; i + vectors * LANES <= count; i += vectors * LANES)
    _Pragma("GCC unroll 8") for (size_t j = 0; j < vectors; j++)
        vec_store(to + i + j * LANES, vec_load(from + i + j * LANES));
  memcpy(to + i, from + i, (count - i) * sizeof *to);
}

/* 2^part for -0.5 <= part <= 0.5, relative error 1.1e-7; nothing is cheaper at that accuracy. */
FOVEA_INLINE vec power_of_part(vec part) {
  vec power = vec_set1(0x1.5bba14p-10f);
  power = vec_fma(power, part, vec_set1(0x1.3cea88p-7f));
  power = vec_fma(power, part, vec_set1(0x1.c6b752p-5f));
  power = vec_fma(power, part, vec_set1(0x1.ebf9bcp-3f));
  power = vec_fma(power, part, vec_set1(0x1.62e42ap-1f));
  return vec_fma(power, part, vec_set1(1.0f));
}

/* 2^x for x <= 0: scores are in log2 units. Weights below 2^-127 do not count beside the largest, which is 1. */
FOVEA_INLINE vec power_of_2(vec x) {
  const vec lowest = vec_set1(-127.0f);
#ifdef FOVEA_VECTOR_HAS_SCALEF
  const vec part = vec_fraction(x);
  return vec_scalef_unless_less(x, lowest, power_of_part(part), vec_sub(x, part));
#else
  const vec shift = vec_set1(0x1.8p23f + 127.0f); /* beside it, the low bits of a float are an integer */
  x = vec_max(x, lowest);
  const vec exponent = vec_add(x, shift);
  return vec_mul(power_of_part(vec_sub(x, vec_sub(exponent, shift))), vec_exponent_from_low_bits(exponent));
#endif
}

static FOVEA_KERNEL float row_max(const float *scores, size_t count) {
  enum { chains_count = 4 };
  const float lowest = -3.0e38f;
  vec chains[chains_count];
  size_t i = 0;
  _Pragma("GCC unroll 4") for (int j = 0; j < chains_count; j++) chains[j] = vec_set1(lowest);
  for (; i + chains_count * LANES <= count; i += chains_count * LANES)
    _Pragma("GCC unroll 4") for (int j = 0; j < chains_count; j++) chains[j] =
        vec_max(chains[j], vec_load(scores + i + (size_t)j * LANES));
  float lanes[LANES], max = lowest;
  vec_store(lanes, vec_max(vec_max(chains[0], chains[1]), vec_max(chains[2], chains[3])));
  for (int j = 0; j < LANES; j++) max = lanes[j] > max ? lanes[j] : max;
  for (; i < count; i++) max = scores[i] > max ? scores[i] : max;
  return max;
}

static FOVEA_KERNEL float softmax_row(float *scores, size_t count) {
  enum { chains_count = 4 };
  const vec max = vec_set1(row_max(scores, count));
  vec sums[chains_count];
  size_t i = 0;
  _Pragma("GCC unroll 4") for (int j = 0; j < chains_count; j++) sums[j] = vec_set1(0.0f);
  for (; i + chains_count * LANES <= count; i += chains_count * LANES)
    _Pragma("GCC unroll 4") for (int j = 0; j < chains_count; j++) {
      const vec power = power_of_2(vec_sub(vec_load(scores + i + (size_t)j * LANES), max));
      vec_store(scores + i + (size_t)j * LANES, power);
      sums[j] = vec_add(sums[j], power);
    }
  for (; i < count; i += LANES) {
    const size_t left = count - i < LANES ? count - i : LANES;
    float lanes[LANES];
    for (size_t j = 0; j < LANES; j++) lanes[j] = j < left ? scores[i + j] : -3.0e38f;
    const vec power = power_of_2(vec_sub(vec_load(lanes), max));
    vec_store(lanes, power);
    memcpy(scores + i, lanes, left * sizeof *lanes);
    sums[0] = vec_add(sums[0], power);
  }
  return lane_sum(vec_add(vec_add(sums[0], sums[1]), vec_add(sums[2], sums[3])));
}

#define TEXT_(x)      #x
#define TEXT(x)       TEXT_(x)
#define KERNELS_(isa) vector_kernels_##isa
#define KERNELS(isa)  KERNELS_(isa)

extern const vector_kernels KERNELS(FOVEA_ISA);

const vector_kernels KERNELS(FOVEA_ISA) = {
    .isa = TEXT(FOVEA_ISA),
    .flops = 2 * LANES * FMA_CHAINS,
    .fma_loop = fma_loop,
    .read_sum = read_sum,
    .copy = copy,
    .softmax_row = softmax_row,
};
