/* Vectors of attention in modes. */
#include "modes/contract_modes.h"
#include "support/generator.h"
#include "vectors.h"

#include <math.h>
#include <stdlib.h>

/* One head; every row sees the keys up to its own, at row + offset. */
struct mode_case {
  const char *name;
  enum contract_mode scores, values;
  int64_t rows, keys, qk_dim, v_dim, offset;
  double softcap;
  int sink, term, channels;
  void (*plant)(float *q, float *k, float *v, const struct mode_case *c);
};

static int sees(const void *last, int64_t position) {
  return position <= *(const int64_t *)last;
}

/* Numbers that are not finite, of a key in the middle; a row of V without a number that counts; large ratios. */
static void plant_special(float *q, float *k, float *v, const struct mode_case *c) {
  (void)q;
  for (int64_t d = 0; d < c->v_dim; d++) v[1 * c->v_dim + d] *= 0x1p-100f;
  for (int64_t d = 0; d < c->v_dim; d++) v[2 * c->v_dim + d] *= 0x1p+20f;
  for (int64_t d = 0; d < c->qk_dim; d++) k[3 * c->qk_dim + d] *= 0x1p-60f;
  v[5 * c->v_dim + 1] = INFINITY;
  k[6 * c->qk_dim] = NAN;
}

static float *random_numbers(struct generator *generator, int64_t count) {
  float *numbers = malloc((size_t)(count + 1) * sizeof *numbers);
  if (numbers == NULL) abort();
  for (int64_t i = 0; i < count; i++) numbers[i] = 2 * generator_uniform(generator);
  return numbers;
}

static const char *const words[] = {"exact", "bf16", "int8"};

static void write_case(const struct mode_case *c) {
  struct generator generator = {(uint64_t)(c->scores * 100 + c->values * 10 + c->keys)};
  float *q = random_numbers(&generator, c->rows * c->qk_dim), *k = random_numbers(&generator, c->keys * c->qk_dim);
  float *v = random_numbers(&generator, c->keys * c->v_dim), *out = random_numbers(&generator, c->rows * c->v_dim);
  float *lse = random_numbers(&generator, c->rows), *bias = random_numbers(&generator, c->rows * c->keys);
  float *centre = random_numbers(&generator, c->qk_dim), *scale = random_numbers(&generator, c->qk_dim);
  float *value_scale = random_numbers(&generator, c->v_dim), sink = 0.75f;
  const int centred = c->channels && c->scores == MODE_INT8, scaled = c->channels && c->values == MODE_INT8;
  if (c->plant) c->plant(q, k, v, c);
  for (int64_t i = 0; i < c->rows; i++) {
    const int64_t last = i + c->offset;
    const float *const terms[] = {bias + i * c->keys};
    const struct contract_mode_row row = {.scores = c->scores,
                                          .values = c->values,
                                          .q = q + i * c->qk_dim,
                                          .k = k,
                                          .v = v,
                                          .k_stride = c->qk_dim,
                                          .v_stride = c->v_dim,
                                          .qk_dim = c->qk_dim,
                                          .v_dim = c->v_dim,
                                          .positions = c->keys,
                                          .scale = 0.3,
                                          .softcap = c->softcap,
                                          .terms = terms,
                                          .term_count = c->term,
                                          .sink = c->sink ? &sink : NULL,
                                          .sees = sees,
                                          .rules = &last,
                                          .key_centre = centred ? centre : NULL,
                                          .key_scale = centred ? scale : NULL,
                                          .value_scale = scaled ? value_scale : NULL};
    contract_mode_row(&row, out + i * c->v_dim, lse + i);
  }
  vector_begin(c->name, "mode", "16");
  vector_word("scores", words[c->scores]);
  vector_word("values", words[c->values]);
  vector_double("scale", 0.3);
  vector_integer("causal", 1);
  vector_integer("offset", c->offset);
  if (c->softcap != 0) vector_double("softcap", c->softcap);
  vector_numbers(INPUT, "q", FOVEA_F32, q, c->rows, c->qk_dim);
  vector_numbers(INPUT, "k", FOVEA_F32, k, c->keys, c->qk_dim);
  vector_numbers(INPUT, "v", FOVEA_F32, v, c->keys, c->v_dim);
  if (c->term) vector_numbers(INPUT, "mask", FOVEA_F32, bias, c->rows, c->keys);
  if (c->sink) vector_numbers(INPUT, "sink", FOVEA_F32, &sink, 1, 0);
  if (centred) vector_numbers(INPUT, "key_centre", FOVEA_F32, centre, c->qk_dim, 0);
  if (centred) vector_numbers(INPUT, "key_scale", FOVEA_F32, scale, c->qk_dim, 0);
  if (scaled) vector_numbers(INPUT, "value_scale", FOVEA_F32, value_scale, c->v_dim, 0);
  vector_numbers(EXPECTED, "out", FOVEA_F32, out, c->rows, c->v_dim);
  vector_numbers(EXPECTED, "lse", FOVEA_F32, lse, c->rows, 0);
  vector_end();
  void *const all[] = {q, k, v, out, lse, bias, centre, scale, value_scale};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

void write_modes(void) {
  static const struct mode_case cases[] = {
      {"bf16_bf16", MODE_BF16, MODE_BF16, 3, 140, 40, 3, 137, .sink = 0},
      {"bf16_exact", MODE_BF16, MODE_EXACT, 3, 20, 5, 3, 17, .softcap = 2, .sink = 1},
      {"exact_bf16", MODE_EXACT, MODE_BF16, 3, 20, 5, 3, 17, .term = 1},
      {"bf16_int8", MODE_BF16, MODE_INT8, 3, 20, 5, 3, 17, .channels = 1},
      {"int8_int8", MODE_INT8, MODE_INT8, 3, 140, 40, 3, 137, .sink = 1},
      {"int8_exact", MODE_INT8, MODE_EXACT, 3, 20, 5, 3, 17, .softcap = 2, .term = 1},
      {"int8_bf16", MODE_INT8, MODE_BF16, 3, 2100, 4, 1, 2096, .channels = 1},
      {"exact_int8", MODE_EXACT, MODE_INT8, 3, 20, 5, 3, 17, .sink = 1},
      {"int8_channels", MODE_INT8, MODE_INT8, 3, 20, 5, 3, 17, .channels = 1},
      {"bf16_special", MODE_BF16, MODE_BF16, 8, 8, 4, 3, 0, .plant = plant_special},
      {"int8_special", MODE_INT8, MODE_INT8, 8, 8, 4, 3, 0, .plant = plant_special},
      {"int8_values_special", MODE_EXACT, MODE_INT8, 8, 8, 4, 3, 0, .plant = plant_special},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) write_case(&cases[i]);
}
