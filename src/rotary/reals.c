#include "reals.h"

#include "angle.h"

#include <string.h>

#if FOVEA_BUILDS_SCALING

/* 2^e, for a normal result. */
static double power_of_2(int e) {
  const uint64_t bits = (uint64_t)(e + 1023) << 52;
  double result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

double fovea_real_of(fovea_fraction x) {
  if ((x.high | x.low) == 0) return 0;
  const int zeros = x.high ? __builtin_clzll(x.high) : 64 + __builtin_clzll(x.low);
  const uint64_t leading = fovea_fraction_shift_left(x, zeros).high;
  return fovea_real_times((double)(int64_t)(leading >> 1), power_of_2(-63 - zeros));
}

double fovea_real_log(double x) {
  static const double ln2 = 0x1.62e42fefa39efp-1;
  const int below = x < 1;
  fovea_fraction part;
  const uint64_t whole = fovea_angle_log2(below ? fovea_real_over(1, x) : x, &part);
  const double log = fovea_real_times(fovea_real_plus((double)(int64_t)whole, fovea_real_of(part)), ln2);
  return below ? -log : log;
}

double fovea_real_power(double x, int64_t m) {
  return fovea_real_over(x, fovea_real_of(fovea_angle_ratio(x, m)));
}
#endif
