/* The textbook formula in float64, and how much an f32 result may differ from it. */
#ifndef FOVEA_TESTS_REFERENCE_H
#define FOVEA_TESTS_REFERENCE_H

#include "trial.h"

/* The bounds that are promised, in u = 2^-24 times 2 + A. A is the largest sum of |scale * q_d * k_d| over the
 * dimensions of a visible key, plus what a mask adds to it, and at least |sink|. One bound is for inputs of random
 * sign, one for coherent or constant inputs. */
#define BOUND_RANDOM   16.0
#define BOUND_COHERENT 48.0

/* Asserts, for some rows of a trial that ran (at most `budget` products), that every component of O is within bound
 * * u * (2 + A) * sum of weight * |v| plus half a unit of its type, and LSE within bound * u * (2 + A) + 2 u |LSE|.
 * A mode adds what its roundings to bf16 and its weights may add: for inputs of bf16, 2^-8 + 2 * 1.014e-4 times the
 * sum of weight * |v|. Returns the largest error of O in u * (2 + A), beyond what a mode adds. */
double assert_accuracy(const struct trial *trial, double bound, int64_t budget);

#endif
