/* Rotations by the Walsh-Hadamard matrix against its steps in plain C, on every instruction set, alone and of rows that
 * are appended. */
#include "contract_hadamard.h"
#include "stores.h"

#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/trial.h"
#include "support/types.h"

#include <fovea/cache.h>
#include <math.h>

static void test_hadamard(void **state) {
  (void)state;
  struct generator generator = {9};
  static float x[3][4096], y[3][4096], expected[3][4096];
  static uint16_t halves[3][4096];
  for (int i = 0; i < 60; i++) {
    const int64_t block = INT64_C(2) << i % 12,
                  dim = block * (1 + generator_below(&generator, 4096 / block > 5 ? 5 : 4096 / block));
    const fovea_type type = (fovea_type)(i % 3);
    for (int row = 0; row < 3; row++) {
      for (int64_t d = 0; d < dim; d++) expected[row][d] = x[row][d] = generator_uniform(&generator);
      if (i == 7 && row == 1) expected[row][1] = x[row][1] = INFINITY;
      contract_hadamard(expected[row], dim, block);
    }
    for (const char *const *isa = usable_isas_for(NULL); *isa != NULL; isa++) {
      fovea_hadamard call;
      fovea_error error;
      fovea_hadamard_init(&call, 1, 1, 3, dim, block, x, type == FOVEA_F32 ? (void *)y : halves);
      call.from_strides.row = call.to_strides.row = 4096;
      call.to_type = type;
      if (fovea_hadamard_apply(&call, on_isa(*isa), &error)) fail_msg("%s", error.text);
      for (int row = 0; row < 3; row++)
        for (int64_t d = 0; d < dim; d++) {
          const float number = rounded_number(type, expected[row][d]);
          const uint32_t got = type == FOVEA_F32 ? bits_of(y[row][d]) : widened(type, halves[row][d]);
          if (got != bits_of(number))
            fail_msg("%s, block %d, dim %d: %a, not %a", *isa, (int)block, (int)d, (double)from_bits(got),
                     (double)number);
        }
    }
  }
  for (int64_t d = 0; d < 128; d++) y[0][d] = x[0][d] = generator_uniform(&generator);
  fovea_hadamard call; /* in place, twice: where it began */
  fovea_hadamard_init(&call, 1, 1, 1, 128, 128, y[0], y[0]);
  for (int i = 0; i < 2; i++) assert_int_equal(fovea_hadamard_apply(&call, NULL, NULL), FOVEA_OK);
  fovea_error error;
  fovea_hadamard bad = call;
  bad.dim = 8192;
  assert_int_equal(fovea_hadamard_apply(&bad, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "block: the dim is 8192, and must be at most 4096");
  bad = call;
  bad.batch = bad.rows = INT64_C(1) << 40;
  assert_int_equal(fovea_hadamard_apply(&bad, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "batch: times rows");
  for (int64_t d = 0; d < 128; d++) assert_true(fabsf(y[0][d] - x[0][d]) < 1e-6f);
}

/* Rows of elements that have no format, rotated as they are appended. */
static void test_rotated_elements(void **state) {
  (void)state;
  enum { QK = 12, V = 8, COUNT = 5 };
  struct generator generator = {12};
  static float k[HEADS * COUNT][QK], v[HEADS * COUNT][V], to_k[HEADS * COUNT][QK], to_v[HEADS * COUNT][V];
  fovea_segment segment;
  fovea_new_rows rows;
  fovea_segment_init(&segment, 0, COUNT, QK, V, FOVEA_F32, to_k, to_v);
  segment.k_head = COUNT * QK, segment.v_head = COUNT * V;
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  for (int i = 0; i < HEADS * COUNT; i++) {
    for (int d = 0; d < QK; d++) k[i][d] = generator_uniform(&generator);
    for (int d = 0; d < V; d++) v[i][d] = generator_uniform(&generator);
  }
  fovea_new_rows_init(&rows, 1, HEADS, COUNT, QK, V, k, v, &sequence);
  rows.k_hadamard = 4, rows.v_hadamard = 8;
  assert_int_equal(fovea_append(&rows, NULL, NULL, NULL), FOVEA_OK);
  for (int i = 0; i < HEADS * COUNT; i++) {
    contract_hadamard(k[i], QK, 4);
    contract_hadamard(v[i], V, 8);
  }
  assert_memory_equal(to_k, k, sizeof k);
  assert_memory_equal(to_v, v, sizeof v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hadamard),
      cmocka_unit_test(test_rotated_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
