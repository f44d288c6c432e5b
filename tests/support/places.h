/* Arguments of one operation. Each array lies against an inaccessible page and has a shadow, a copy in other
 * memory. The operation works on the arrays, the test's own definition on their shadows. Both must agree in every
 * byte, also in bytes that must not be written. A trial: places_begin(), arrays placed and filled, places_watch(),
 * the operation, its definition on the shadows, places_check(). Everything here fails the running cmocka test. */
#ifndef FOVEA_TESTS_PLACES_H
#define FOVEA_TESTS_PLACES_H

#include "check.h"
#include "generator.h"
#include "types.h"

#include <math.h>

/* Kinds of floats. */
enum numbers {
  ORDINARY, /* from -1 to 1 */
  FINITE,   /* of any exponent, zeros of both signs, subnormals */
  ANY       /* also infinities and quiet NaNs */
};

/* Forgets the arrays of the trial before. The generator chooses all numbers, and which end of an array touches its
 * page. */
void places_begin(struct generator *generator);

float random_number(struct generator *generator, enum numbers numbers);
enum numbers random_numbers(struct generator *generator);

/* Inputs, and states that are inputs and outputs: floats. Any NaN equals any other. */
float *place_floats(int64_t count, enum numbers numbers);
/* Elements of any type, compared bit by bit. Halves of kind ANY may have any bits. */
void *place_elements(fovea_type type, int64_t count, enum numbers numbers);
const void **place_pointers(int64_t count);
int32_t *place_integers(int64_t count);
unsigned char *place_bytes(int64_t count);

/* Outputs, filled so that writes show: floats, of which any NaN equals any other, and elements compared bit by bit.
 */
float *place_output(int64_t count);
void *place_exact_output(fovea_type type, int64_t count);

/* Copies the arrays to their shadows. */
void places_watch(void);

/* The same element in the shadow of its array. */
void *shadow_of(const void *element);
/* Ignores these bytes: an operation may leave anything there. */
void shadow_ignores(const void *from, int64_t bytes);
/* Takes zeros of either sign as equal there. */
void shadow_takes_zeros(const float *from, int64_t count);

/* Compares all arrays with their shadows, and checks the bytes around them. The text names the arguments. */
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
