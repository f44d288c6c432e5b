/* Included once per instruction set by vector_kernels.c, which defines the names in capitals. No include guard. */

static TARGET float ISA(lane_sum)(vec a) {
  float lanes[LANES], sum = 0.0f;
  STORE(lanes, a);
  for (int i = 0; i < LANES; i++) sum += lanes[i];
  return sum;
}

/* The accumulators stay in registers only when the loops over them are unrolled. */
static TARGET float ISA(fma_loop)(int64_t turns) {
  volatile float factors[2] = {1e-3f, 1e-4f}; /* unknown to the compiler */
  const vec x = SET1(factors[0]), y = SET1(factors[1]);
  vec chains[FMA_CHAINS];
  _Pragma("GCC unroll 24") for (int i = 0; i < FMA_CHAINS; i++) chains[i] = SET1((float)i);
  for (int64_t turn = 0; turn < turns; turn++)
    _Pragma("GCC unroll 24") for (int i = 0; i < FMA_CHAINS; i++) chains[i] = FMA(x, y, chains[i]);
  _Pragma("GCC unroll 24") for (int i = 1; i < FMA_CHAINS; i++) chains[0] = ADD(chains[0], chains[i]);
  return ISA(lane_sum)(chains[0]);
}

static TARGET float ISA(read_sum)(const float *floats, size_t count) {
  enum { chains_count = 8 };
  vec chains[chains_count];
  size_t i = 0;
  _Pragma("GCC unroll 8") for (int j = 0; j < chains_count; j++) chains[j] = SET1(0.0f);
  for (; i + chains_count * LANES <= count; i += chains_count * LANES)
    _Pragma("GCC unroll 8") for (int j = 0; j < chains_count; j++) chains[j] =
        ADD(chains[j], LOAD(floats + i + (size_t)j * LANES));
  _Pragma("GCC unroll 8") for (int j = 1; j < chains_count; j++) chains[0] = ADD(chains[0], chains[j]);
  float sum = ISA(lane_sum)(chains[0]);
  for (; i < count; i++) sum += floats[i];
  return sum;
}

/* 2^x for x <= 0, relative error 1.1e-7; the scores come in log2 units, so nothing is cheaper at that accuracy. */
static inline TARGET vec ISA(power_of_2)(vec x) {
  x = MAX(x, SET1(-127.0f)); /* less is nothing beside the largest, which is 1 */
  const vec whole = NEAREST(x), part = SUB(x, whole);
  vec power = SET1(0x1.5bba14p-10f);
  power = FMA(power, part, SET1(0x1.3cea88p-7f));
  power = FMA(power, part, SET1(0x1.c6b752p-5f));
  power = FMA(power, part, SET1(0x1.ebf9bcp-3f));
  power = FMA(power, part, SET1(0x1.62e42ap-1f));
  power = FMA(power, part, SET1(1.0f));
  return TIMES_2_TO(power, whole);
}

static TARGET float ISA(row_max)(const float *scores, size_t count) {
  enum { chains_count = 4 };
  const float lowest = -3.0e38f;
  vec chains[chains_count];
  size_t i = 0;
  _Pragma("GCC unroll 4") for (int j = 0; j < chains_count; j++) chains[j] = SET1(lowest);
  for (; i + chains_count * LANES <= count; i += chains_count * LANES)
    _Pragma("GCC unroll 4") for (int j = 0; j < chains_count; j++) chains[j] =
        MAX(chains[j], LOAD(scores + i + (size_t)j * LANES));
  float lanes[LANES], max = lowest;
  STORE(lanes, MAX(MAX(chains[0], chains[1]), MAX(chains[2], chains[3])));
  for (int j = 0; j < LANES; j++) max = lanes[j] > max ? lanes[j] : max;
  for (; i < count; i++) max = scores[i] > max ? scores[i] : max;
  return max;
}

static TARGET float ISA(softmax_row)(float *scores, size_t count) {
  enum { chains_count = 4 };
  const vec max = SET1(ISA(row_max)(scores, count));
  vec sums[chains_count];
  size_t i = 0;
  _Pragma("GCC unroll 4") for (int j = 0; j < chains_count; j++) sums[j] = SET1(0.0f);
  for (; i + chains_count * LANES <= count; i += chains_count * LANES)
    _Pragma("GCC unroll 4") for (int j = 0; j < chains_count; j++) {
      const vec power = ISA(power_of_2)(SUB(LOAD(scores + i + (size_t)j * LANES), max));
      STORE(scores + i + (size_t)j * LANES, power);
      sums[j] = ADD(sums[j], power);
    }
  for (; i < count; i += LANES) {
    const size_t left = count - i < LANES ? count - i : LANES;
    float lanes[LANES];
    for (size_t j = 0; j < LANES; j++) lanes[j] = j < left ? scores[i + j] : -3.0e38f;
    const vec power = ISA(power_of_2)(SUB(LOAD(lanes), max));
    STORE(lanes, power);
    memcpy(scores + i, lanes, left * sizeof *lanes);
    sums[0] = ADD(sums[0], power);
  }
  return ISA(lane_sum)(ADD(ADD(sums[0], sums[1]), ADD(sums[2], sums[3])));
}

static const vector_kernels ISA(kernels) = {
    .isa = ISA_NAME,
    .flops = 2 * LANES * FMA_CHAINS,
    .fma_loop = ISA(fma_loop),
    .read_sum = ISA(read_sum),
    .softmax_row = ISA(softmax_row),
};

#undef ISA_NAME
#undef ISA
#undef TARGET
#undef LANES
#undef FMA_CHAINS
#undef vec
#undef LOAD
#undef STORE
#undef SET1
#undef ADD
#undef SUB
#undef MAX
#undef FMA
#undef NEAREST
#undef TIMES_2_TO
