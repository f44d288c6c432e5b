/* Numbers from 0 to less than 1: an integer X of 128 bits stands for X / 2^128. Sums wrap around, like angles in
 * turns. Integers give the same bits on every machine and with all flags. */
#ifndef FOVEA_SRC_ROTARY_FRACTION_H
#define FOVEA_SRC_ROTARY_FRACTION_H

#include "../../arch/strict_math.h"

#include <stdint.h>

typedef struct fovea_fraction {
  uint64_t high, low;
} fovea_fraction;

/* a * b, by halves of 32 bits, for compilers without integers of 128 bits. */
static inline fovea_fraction fovea_product_of_halves(uint64_t a, uint64_t b) {
  uint64_t a_high = a >> 32, a_low = a & 0xffffffff, b_high = b >> 32, b_low = b & 0xffffffff;
  uint64_t low = a_low * b_low, middle = a_high * b_low + (low >> 32);
  uint64_t other = a_low * b_high + (middle & 0xffffffff);
  return (fovea_fraction){a_high * b_high + (middle >> 32) + (other >> 32), other << 32 | (low & 0xffffffff)};
}

/* a * b, all 128 bits. */
static inline fovea_fraction fovea_product(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
  __extension__ typedef unsigned __int128 wide;
  wide product = (wide)a * b;
  return (fovea_fraction){(uint64_t)(product >> 64), (uint64_t)product};
#else
  return fovea_product_of_halves(a, b);
#endif
}

/* floor(a b / 2^64) */
static inline uint64_t fovea_product_high(uint64_t a, uint64_t b) {
  return fovea_product(a, b).high;
}

static inline fovea_fraction fovea_fraction_add(fovea_fraction a, fovea_fraction b) {
  uint64_t low = a.low + b.low;
  return (fovea_fraction){a.high + b.high + (low < a.low), low};
}

static inline fovea_fraction fovea_fraction_subtract(fovea_fraction a, fovea_fraction b) {
  return (fovea_fraction){a.high - b.high - (a.low < b.low), a.low - b.low};
}

static inline fovea_fraction fovea_fraction_negate(fovea_fraction a) {
  return fovea_fraction_subtract((fovea_fraction){0, 0}, a);
}

/* Shift by 0 to 127 bits. */
static inline fovea_fraction fovea_fraction_shift_left(fovea_fraction a, int bits) {
  if (bits >= 64) return (fovea_fraction){a.low << (bits - 64), 0};
  if (bits == 0) return a;
  return (fovea_fraction){a.high << bits | a.low >> (64 - bits), a.low << bits};
}
static inline fovea_fraction fovea_fraction_shift_right(fovea_fraction a, int bits) {
  if (bits >= 64) return (fovea_fraction){0, a.high >> (bits - 64)};
  if (bits == 0) return a;
  return (fovea_fraction){a.high >> bits, a.low >> bits | a.high << (64 - bits)};
}

/* floor(A B / 2^128) */
static inline fovea_fraction fovea_fraction_multiply(fovea_fraction a, fovea_fraction b) {
  fovea_fraction top = fovea_product(a.high, b.high);
  fovea_fraction left = fovea_product(a.high, b.low), right = fovea_product(a.low, b.high);
  fovea_fraction middle = fovea_fraction_add((fovea_fraction){0, left.low}, (fovea_fraction){0, right.low});
  middle = fovea_fraction_add(middle, (fovea_fraction){0, fovea_product(a.low, b.low).high});
  top = fovea_fraction_add(top, (fovea_fraction){0, left.high});
  top = fovea_fraction_add(top, (fovea_fraction){0, right.high});
  return fovea_fraction_add(top, (fovea_fraction){0, middle.high});
}

/* The fractional part of A times an integer. */
static inline fovea_fraction fovea_fraction_times(fovea_fraction a, uint64_t times) {
  fovea_fraction product = fovea_product(a.low, times);
  return (fovea_fraction){product.high + a.high * times, product.low};
}

/* The fractional part of (whole + A) / divisor, rounded down; whole < divisor < 2^32. */
static inline fovea_fraction fovea_fraction_divide(uint64_t whole, fovea_fraction a, uint64_t divisor) {
  uint64_t words[4] = {a.high >> 32, a.high & 0xffffffff, a.low >> 32, a.low & 0xffffffff}, rest = whole;
  for (int i = 0; i < 4; i++) {
    rest = rest << 32 | words[i];
    words[i] = rest / divisor;
    rest %= divisor;
  }
  return (fovea_fraction){words[0] << 32 | words[1], words[2] << 32 | words[3]};
}

#endif
