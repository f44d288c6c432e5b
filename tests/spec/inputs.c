#include "inputs.h"

#include "support/generator.h"
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 8192 };

static struct {
  struct generator generator;
  float numbers[NUMBERS];
  int64_t used;
} sequence;

void inputs_begin(uint64_t seed) {
  sequence.generator.state = seed;
  sequence.used = 0;
}

float *drawn(int64_t count) {
  float *numbers = sequence.numbers + sequence.used;
  sequence.used += count;
  if (sequence.used > NUMBERS) abort();
  for (int64_t i = 0; i < count; i++) numbers[i] = generator_uniform(&sequence.generator);
  return numbers;
}

float *drawn_f16(int64_t count) {
  float *numbers = drawn(count);
  for (int64_t i = 0; i < count; i++) numbers[i] = rounded_number(FOVEA_F16, numbers[i]);
  return numbers;
}

float *input(const char *prefix, const char *name, int64_t rows, int64_t columns) {
  char whole[64];
  float *numbers = drawn(rows * (columns == 0 ? 1 : columns));
  snprintf(whole, sizeof whole, "%s%s", prefix, name);
  vector_numbers(INPUT, whole, FOVEA_F32, numbers, rows, columns);
  return numbers;
}
