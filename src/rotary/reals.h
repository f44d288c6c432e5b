/* Doubles that are the same on every machine: each result is rounded once, whatever a compiler would contract, and
 * logarithms and powers are made of the integers of angle.h. */
#ifndef FOVEA_SRC_ROTARY_REALS_H
#define FOVEA_SRC_ROTARY_REALS_H

#include "../../arch/groups.h"
#include "fraction.h"

/* Volatile, so that no product is contracted with a sum. */
static inline double fovea_real_times(double a, double b) {
  const volatile double result = a * b;
  return result;
}
static inline double fovea_real_over(double a, double b) {
  const volatile double result = a / b;
  return result;
}
static inline double fovea_real_plus(double a, double b) {
  const volatile double result = a + b;
  return result;
}

/* A fraction, cut off after its first 63 bits and rounded. */
double fovea_real_of(fovea_fraction x);

/* The natural logarithm of a normal positive number, within 2 units of its last place or 2^-52. */
double fovea_real_log(double x);

/* x^(1 + 1 / m), for a finite x of at least 1 and m from 1. */
double fovea_real_power(double x, int64_t m);

#endif
