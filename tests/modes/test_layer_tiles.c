/* Tiles of linear layers in bf16 mode on AMX, by emulated tiles, against contract_modes.c: rows, panels and dims that
 * are not whole, products in two parts, weights that are too small. */
#include "emulated_tiles.h"
#include "modes/contract_modes.h"
#include "support/check.h"
#include "support/generator.h"

#include "arch/args/nn_bf16.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 32, OUTS = FOVEA_NN_OUTS, PIECE = FOVEA_DOT_PIECE, MOST_DIMS = 400 };

struct problem {
  int64_t in, out;
  float x[ROWS * MOST_DIMS], weights[OUTS * MOST_DIMS]; /* rows of `in` */
  uint16_t *panels;
  char *packed;
  int64_t packed_stride;
};

/* Around 1, or around 2^-56, where numbers begin to be 0. */
static float bf16_number(int is_small, struct generator *generator) {
  const uint32_t bits = (uint32_t)((is_small ? 0x2300 : 0x3e80) + generator_below(generator, 256)) << 16;
  float number;
  memcpy(&number, &bits, sizeof number);
  return generator_below(generator, 2) ? number : -number;
}

static void pack_weights(struct problem *p) {
  uint16_t *rows = malloc((size_t)(p->in * p->out) * sizeof *rows);
  fovea_nn_linear linear;
  assert_non_null(rows);
  for (int64_t i = 0; i < p->in * p->out; i++) {
    uint32_t bits;
    memcpy(&bits, &p->weights[i], sizeof bits);
    rows[i] = (uint16_t)(bits >> 16);
  }
  fovea_nn_linear_init(&linear, p->in, p->out, rows);
  linear.weight_type = FOVEA_BF16;
  p->panels = malloc((size_t)fovea_nn_panel_elements(p->in, p->out, FOVEA_BF16) * sizeof *p->panels);
  assert_non_null(p->panels);
  assert_int_equal(fovea_nn_pack(&linear, p->panels, NULL, NULL), FOVEA_OK);
  free(rows);
}

/* Outputs `smallness`, and each third after it, have small weights; 3: none have. */
static void problem_create(struct problem *p, int smallness, struct generator *generator) {
  const fovea_nn_bf16_kernels *amx = &fovea_nn_bf16_amx;
  for (int64_t i = 0; i < ROWS * p->in; i++)
    p->x[i] = generator_uniform(generator) * (i / p->in % 3 ? 1 : 0x1p-56f);
  for (int64_t i = 0; i < p->out * p->in; i++) p->weights[i] = bf16_number(i / p->in % 3 == smallness, generator);
  pack_weights(p);
  p->packed_stride = (p->in + 31) / 32 * 64;
  p->packed = malloc((size_t)(ROWS * p->packed_stride));
  assert_non_null(p->packed);
  const fovea_nn_bf16_pack_args pack = {p->x, p->in, ROWS, (int)p->in, p->packed, p->packed_stride};
  amx->pack(&pack);
}

static void problem_destroy(struct problem *p) {
  free(p->panels);
  free(p->packed);
}

/* Dims from `dim` on. Weights that are too small are cleared. */
static void multiply(const struct problem *p, int64_t dim, int64_t dims, int rows, float *sums) {
  const fovea_nn_bf16_kernels *amx = &fovea_nn_bf16_amx;
  const int64_t outs = (p->out + 15) / 16 * 16;
  uint16_t cleared[OUTS * (MOST_DIMS + 1)];
  fovea_nn_bf16_tile_args args = {
      .panels = {p->panels + dim * outs, dims, PIECE * outs, 0, (int)(outs / 16)},
      .x = p->packed + dim * 2,
      .x_stride = p->packed_stride,
      .rows = rows,
      .begun = dim > 0,
      .sums = sums,
  };
  if (!amx->safe(&args.panels)) {
    amx->clear(&args.panels, cleared);
    args.panels.weights = cleared;
    assert_true(amx->safe(&args.panels));
  }
  amx->tile(&args);
}

static void check_sums(const struct problem *p, int rows, const float *sums) {
  for (int row = 0; row < rows; row++)
    for (int64_t out = 0; out < p->out; out++) {
      const float wanted = contract_mode_dot_bf16(p->x + row * p->in, p->weights + out * p->in, p->in);
      assert_memory_equal(&sums[row * OUTS + out], &wanted, sizeof wanted);
    }
}

static void test_tiles(void **state) {
  static struct problem p;
  static float sums[ROWS * OUTS];
  struct generator generator = {51};
  (void)state;
  fovea_nn_bf16_amx.begin();
  for (int i = 0; i < 60; i++) {
    const int rows = 1 + (int)generator_below(&generator, ROWS);
    p.in = 1 + generator_below(&generator, MOST_DIMS);
    p.out = 1 + generator_below(&generator, OUTS);
    problem_create(&p, i % 4, &generator);
    multiply(&p, 0, p.in, rows, sums);
    check_sums(&p, rows, sums);
    const int64_t first = p.in > PIECE ? PIECE : p.in;
    multiply(&p, 0, first, rows, sums);
    if (first < p.in) multiply(&p, first, p.in - first, rows, sums);
    check_sums(&p, rows, sums);
    problem_destroy(&p);
  }
  fovea_nn_bf16_amx.end();
  assert_true(emulated_products() > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
