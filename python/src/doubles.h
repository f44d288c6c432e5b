/* Elementary functions with one answer, for operators of PyTorch that fovea_nn does not have. All steps are of
 * double, each rounded once, and none is fused, so that every compiler and CPU has the same bits; their error is below
 * 1e-13 of the result, so that its float is within 0.5000001 units in the last place. The file that includes this is
 * compiled without contraction. Loops over these functions are vectorised: they choose, and never branch. */
#ifndef FOVEA_PYTHON_DOUBLES_H
#define FOVEA_PYTHON_DOUBLES_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace fovea_python {

constexpr double log2e = 0x1.71547652b82fep+0;
constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45; /* the first has 42 bits */
constexpr double to_integer = 0x1.8p+52; /* added and taken away again, it rounds to the nearest integer */
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

inline uint64_t bits_of(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline double of_bits(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/* e^x = scale (1 + less_one), |x| at most 700; NaN gives NaN in less_one. By e^f = sum of f^k / k!, |f| at most
 * ln(2) / 2. */
struct exponential {
  double scale, less_one;

  explicit exponential(double x) {
    double h = x * log2e + to_integer, n = h - to_integer;
    double f = (x - n * ln2_high) - n * ln2_low;
    double sum = 1.0 / 479001600;
    sum = sum * f + 1.0 / 39916800;
    sum = sum * f + 1.0 / 3628800;
    sum = sum * f + 1.0 / 362880;
    sum = sum * f + 1.0 / 40320;
    sum = sum * f + 1.0 / 5040;
    sum = sum * f + 1.0 / 720;
    sum = sum * f + 1.0 / 120;
    sum = sum * f + 1.0 / 24;
    sum = sum * f + 1.0 / 6;
    sum = sum * f + 0.5;
    sum = sum * f + 1;
    less_one = sum * f;
    scale = of_bits((bits_of(h) + 1023) << 52);
  }
};

/* Results beyond float are beyond it here, too: of x above 200 or below -200 those of 200 and -200. */
inline double exp_of(double x) {
  x = x < -200 ? -200 : x;
  exponential e(x > 200 ? 200 : x);
  return e.scale + e.scale * e.less_one;
}

inline double sigmoid_of(double x) {
  return 1 / (1 + exp_of(-x));
}

/* 1 - 2 / (e^2|x| + 1), by e^2|x| - 1, which does not cancel. */
inline double tanh_of(double x) {
  double twice = 2 * std::fabs(x);
  exponential e(twice > 60 ? 60 : twice);
  double less_one = e.scale * e.less_one + (e.scale - 1);
  return std::copysign(less_one / (less_one + 2), x);
}

/* x = 2^e z, z from sqrt(1/2) to sqrt(2); ln(z) = 2 (t + t^3 / 3 + ...), t = (z - 1) / (z + 1). Of a positive
 * normal x. */
inline double log_of_normal(double x) {
  uint64_t above = bits_of(x) - 0x3fe6a09e667f3bcd;
  double e = static_cast<double>(static_cast<int64_t>(above) >> 52);
  double z = of_bits(bits_of(x) - (above & 0xfff0000000000000));
  double t = (z - 1) / (z + 1), square = t * t, sum = 1.0 / 19;
  sum = sum * square + 1.0 / 17;
  sum = sum * square + 1.0 / 15;
  sum = sum * square + 1.0 / 13;
  sum = sum * square + 1.0 / 11;
  sum = sum * square + 1.0 / 9;
  sum = sum * square + 1.0 / 7;
  sum = sum * square + 1.0 / 5;
  sum = sum * square + 1.0 / 3;
  sum = sum * square + 1;
  return e * ln2_high + (2 * t * sum + e * ln2_low);
}

/* Of any float: each is normal as a double. */
inline double log_of(double x) {
  double found = x < infinity ? log_of_normal(x) : x;
  found = x == 0 ? -infinity : found;
  return x < 0 ? nan : found;
}

/* Sine, or of one quarter more the cosine. |x| is at most 2^20, so that products with the first parts of pi / 2, which
 * have 33 bits, are exact. NaN gives NaN. */
template <int quarter> inline double sine_of(double x) {
  double h = x * 0x1.45f306dc9c883p-1 + to_integer, n = h - to_integer;
  double f = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69, square = f * f;
  double odd = -1.0 / 1307674368000, even = 1.0 / 20922789888000;
  odd = odd * square + 1.0 / 6227020800;
  odd = odd * square - 1.0 / 39916800;
  odd = odd * square + 1.0 / 362880;
  odd = odd * square - 1.0 / 5040;
  odd = odd * square + 1.0 / 120;
  odd = odd * square - 1.0 / 6;
  odd = f * (1 + square * odd);
  even = even * square - 1.0 / 87178291200;
  even = even * square + 1.0 / 479001600;
  even = even * square - 1.0 / 3628800;
  even = even * square + 1.0 / 40320;
  even = even * square - 1.0 / 720;
  even = even * square + 1.0 / 24;
  even = even * square - 0.5;
  even = even * square + 1;
  uint64_t turn = bits_of(h) + quarter; /* quarters of a turn, modulo 4 in the last bits */
  double found = turn & 1 ? even : odd;
  return of_bits(bits_of(found) ^ (turn & 2) << 62);
}

} // namespace fovea_python

#endif
