/* Arguments of one operation: each array lies against an inaccessible page and has a shadow, a copy in other
 * memory. The operation works on the arrays, the test's own definition of it on their shadows, and both must agree
 * in every byte: in what is not to be written as well.
 *
 * A trial: places_begin(), arrays placed and filled, places_watch(), the operation, its definition on the shadows,
 * places_check(). Everything here fails the running cmocka test. */
#ifndef FOVEA_TESTS_PLACES_H
#define FOVEA_TESTS_PLACES_H

#include "check.h"
#include "generator.h"
#include "types.h"

#include <math.h>

/* What a float may be. */
enum numbers {
  ORDINARY, /* from -1 to 1 */
  FINITE,   /* of any exponent, zeros of both signs, subnormals */
  ANY       /* infinities and quiet NaNs, too */
};

/* Forgets the arrays of the trial before. Which end of an array touches its page, and all numbers, come from the
 * generator. */
void places_begin(struct generator *generator);

float random_number(struct generator *generator, enum numbers numbers);
enum numbers random_numbers(struct generator *generator);

/* Inputs, and states that are inputs and outputs. An array of floats: any NaN equals any other. */
float *place_floats(int64_t count, enum numbers numbers);
/* Of any type, compared bit by bit. Halves of ANY kind are any bits. */
void *place_elements(fovea_type type, int64_t count, enum numbers numbers);
const void **place_pointers(int64_t count);
int32_t *place_integers(int64_t count);
unsigned char *place_bytes(int64_t count);

/* Outputs, which hold a filling so far: floats, of which any NaN equals any other, and elements bit by bit. */
float *place_output(int64_t count);
void *place_exact_output(fovea_type type, int64_t count);

/* Takes the shadows. */
void places_watch(void);

/* The same element in the shadow of its array. */
void *shadow_of(const void *element);
/* What an operation may leave there as it likes. */
void shadow_ignores(const void *from, int64_t bytes);
/* Zeros of either sign are as good there. */
void shadow_takes_zeros(const float *from, int64_t count);

/* Compares all arrays with their shadows, and looks at what lies around them. The text names the arguments. */
void places_check(const char *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An element of any type as f32. */
static inline float element(fovea_type type, const void *elements, int64_t i) {
  if (type == FOVEA_F32) return ((const float *)elements)[i];
  return from_bits(widened(type, ((const uint16_t *)elements)[i]));
}

static inline const void *element_at(fovea_type type, const void *elements, int64_t i) {
  return (const char *)elements + (size_t)i * type_size(type);
}

#endif
