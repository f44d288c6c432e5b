/* The textbook formula in float64, and how far an f32 result may be from it. */
#ifndef FOVEA_TESTS_REFERENCE_H
#define FOVEA_TESTS_REFERENCE_H

#include "trial.h"

/* Promised relative to u = 2^-24, times 2 + A, where A is the largest sum of |scale * q_d * k_d| over the
 * dimensions of a seen key and of what a mask adds to it, and |sink| at least: for inputs of random sign, and for
 * coherent or constant ones. */
#define BOUND_RANDOM   16.0
#define BOUND_COHERENT 48.0

/* Asserts for some rows of a trial that ran (at most `budget` products) that every component of O is within
 * bound * u * (2 + A) * sum of weight * |v| and half a unit of its type, and LSE within bound * u * (2 + A) + 2 u
 * |LSE|. Returns the largest multiple of u * (2 + A) that was met in O. */
double assert_accuracy(const struct trial *trial, double bound, int64_t budget);

#endif
