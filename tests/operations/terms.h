/* Terms that differ from row to row: scales and position terms. */
#ifndef FOVEA_TESTS_OPERATIONS_TERMS_H
#define FOVEA_TESTS_OPERATIONS_TERMS_H

#include "masks.h"
#include "operation.h"

/* Places scales, perhaps with Shaw's numbers, or none, and one or two position terms for `rows` rows, of the layout
 * of decoding or of tiles. */
static inline fovea_tile_terms place_terms(struct generator *generator, int rows, int decoded) {
  fovea_tile_terms terms = {.count = 1 + (int)generator_below(generator, 2)};
  if (generator_below(generator, 2)) terms.scales = place_floats(rows, FINITE);
  if (terms.scales != NULL && generator_below(generator, 2)) {
    const int last = random_size(generator, 0, 200);
    terms.shaw.step = decoded ? FOVEA_BLOCK_KEYS : rows + generator_below(generator, 3);
    terms.shaw.first = (int)generator_below(generator, 500) - 300;
    terms.shaw.last = last;
    terms.shaw.numbers = place_floats(decoded ? rows * FOVEA_BLOCK_KEYS : last * terms.shaw.step + rows, FINITE);
  }
  for (int i = 0; i < terms.count; i++) {
    fovea_position_tile *position = &terms.positions[i];
    const int64_t step = decoded ? FOVEA_BLOCK_KEYS : 1 + generator_below(generator, rows);
    const int backwards = !decoded && generator_below(generator, 2);
    const int64_t last = (decoded ? rows : FOVEA_BLOCK_KEYS) - 1;
    float *numbers = place_floats(last * step + (decoded ? FOVEA_BLOCK_KEYS : rows), random_numbers(generator));
    numbers[generator_below(generator, last * step + 1)] = -INFINITY;
    position->numbers = numbers + (backwards ? last * step : 0);
    position->step = backwards ? -step : step;
    if (generator_below(generator, 2)) position->slopes = place_floats(rows, random_numbers(generator));
  }
  return terms;
}

/* Sometimes adds LeakyReLU. */
static inline void add_leaky(fovea_score_terms *terms, struct generator *generator) {
  if (generator_below(generator, 3)) return;
  terms->leaky = terms->adjusted = 1;
  terms->slope = fabsf(generator_uniform(generator));
  terms->factor = generator_uniform(generator) * 3.0f;
}

static inline float leaky_score(const fovea_score_terms *terms, float score) {
  if (!terms->leaky) return score;
  return (score > 0.0f ? score : score * terms->slope) * terms->factor;
}

static inline float scaled_score(const fovea_tile_terms *terms, int decoded, int row, int key, float score) {
  if (terms == NULL || terms->scales == NULL) return score;
  const fovea_shaw_numbers *shaw = &terms->shaw;
  const int place = shaw->first + key, near = place < 0 ? 0 : place > shaw->last ? shaw->last : place;
  if (shaw->numbers != NULL) score += shaw->numbers[decoded ? row * shaw->step + key : near * shaw->step + row];
  return score * terms->scales[row];
}

static inline float placed_score(const fovea_tile_terms *terms, int decoded, int row, int key, float score,
                                 float unit) {
  for (int i = 0; terms != NULL && i < terms->count; i++) {
    const fovea_position_tile *position = &terms->positions[i];
    float number = position->numbers[decoded ? row * position->step + key : key * position->step + row];
    if (position->slopes != NULL) number = position->slopes[row] * number;
    score = biased_score(score, number, unit);
  }
  return score;
}

#endif
