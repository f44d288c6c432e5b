/* Vectors of angles: rotary embedding, and sinusoidal positions. */
#include "contract_rotary.h"
#include "nn/contract_rows.h"
#include "support/generator.h"
#include "vectors.h"

enum { ROWS = 9, MOST = 64 };

static const int64_t positions[ROWS] = {0, 1, -1, 2, 77, 4095, 131072, -100003, (int64_t)1 << 40};

/* Rows of `pairs` pairs: x in the first half of a row, y in the second. */
static void write_rotary(const char *name, double base, const double *frequencies, int64_t pairs) {
  struct fraction turns[MOST];
  float x[ROWS * MOST], y[ROWS * MOST], cosine[ROWS * MOST], sine[ROWS * MOST];
  struct generator generator = {(uint64_t)pairs};
  contract_turns(base, frequencies, pairs, turns);
  for (int64_t i = 0; i < ROWS * 2 * pairs; i++) y[i] = x[i] = generator_uniform(&generator);
  for (int64_t row = 0; row < ROWS; row++)
    for (int64_t i = 0; i < pairs; i++) {
      const int64_t at = row * pairs + i;
      float *first = y + row * 2 * pairs + i;
      contract_angle(turns[i], positions[row], &cosine[at], &sine[at]);
      contract_rotate_pair(first, first + pairs, cosine[at], sine[at]);
    }
  vector_begin(name, "rotary", "12");
  if (frequencies == NULL) vector_double("base", base);
  if (frequencies != NULL) vector_array(INPUT, "frequencies", ARRAY_F64, frequencies, pairs, 0);
  vector_array(INPUT, "positions", ARRAY_I64, positions, ROWS, 0);
  vector_numbers(INPUT, "x", FOVEA_F32, x, ROWS, 2 * pairs);
  vector_numbers(EXPECTED, "cosine", FOVEA_F32, cosine, ROWS, pairs);
  vector_numbers(EXPECTED, "sine", FOVEA_F32, sine, ROWS, pairs);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, ROWS, 2 * pairs);
  vector_end();
}

static void write_sinusoids(const char *name, int64_t dim, double base, fovea_nn_wave_exponent exponent,
                            fovea_nn_wave_layout layout) {
  struct fraction turns[MOST];
  float y[ROWS * MOST];
  contract_waves(dim, base, exponent, turns);
  for (int64_t row = 0; row < ROWS; row++)
    contract_sinusoids(dim, layout, exponent, turns, positions[row], y + row * dim);
  vector_begin(name, "sinusoids", "L5");
  vector_integer("dim", dim);
  vector_double("base", base);
  vector_integer("to_base", exponent != FOVEA_NN_WAVES_BY_DIM);
  vector_integer("interleaved", layout == FOVEA_NN_WAVES_INTERLEAVED);
  vector_array(INPUT, "positions", ARRAY_I64, positions, ROWS, 0);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, ROWS, dim);
  vector_end();
}

void write_rotary_vectors(void) {
  static const double frequencies[] = {1, -0.3, 0x1p-60, 12345.678, 0};
  write_rotary("rotary_10000", 10000, NULL, 16);
  write_rotary("rotary_500000", 500000, NULL, 5);
  write_rotary("rotary_small_base", 1.25, NULL, 3);
  write_rotary("rotary_base_1", 1, NULL, 2);
  write_rotary("rotary_frequencies", 0, frequencies, 5);
  write_sinusoids("sinusoids", 10, 10000, FOVEA_NN_WAVES_BY_DIM, FOVEA_NN_WAVES_INTERLEAVED);
  write_sinusoids("sinusoids_odd", 7, 10000, FOVEA_NN_WAVES_BY_DIM, FOVEA_NN_WAVES_IN_HALVES);
  write_sinusoids("sinusoids_to_base", 9, 10000, FOVEA_NN_WAVES_TO_BASE, FOVEA_NN_WAVES_IN_HALVES);
}
