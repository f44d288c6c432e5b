/* The stored digests of the rotary embeddings of `fovea selftest`, computed from the contract. */
#include "contract_rotary.h"
#include "support/check.h"
#include "support/types.h"
#include "tools/fovea/selftest_problems.h"
#include "tools/fovea/selftest_rotary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static float number_at(const void *tensor, fovea_type type, int64_t i) {
  if (type == FOVEA_F32) return ((const float *)tensor)[i];
  return from_bits(widened(type, ((const uint16_t *)tensor)[i]));
}

static void store_at(void *tensor, fovea_type type, int64_t i, float number) {
  if (type == FOVEA_F32)
    ((float *)tensor)[i] = number;
  else
    ((uint16_t *)tensor)[i] = rounded(type, number);
}

/* Rotates one row. `from` and `to` are the numbers of its first elements. */
static void answer_row(const selftest_rotary_run *run, const struct fraction *turns, int64_t row, int64_t from) {
  const fovea_rotary *rotary = &run->rotary;
  const fovea_rotation *rotation = &run->rotation;
  const int64_t pairs = rotary->dims / 2, batch = row / rotation->rows;
  const int64_t position =
      rotation->positions ? rotation->positions[row] : rotation->first_position + row - batch * rotation->rows;
  for (int64_t i = 0; i < pairs; i++) {
    const int64_t x = from + (rotary->layout == FOVEA_ROTARY_HALVES ? i : 2 * i);
    const int64_t y = rotary->layout == FOVEA_ROTARY_HALVES ? x + pairs : x + 1;
    float cosine, sine, rotated_x = number_at(rotation->from, rotation->from_type, x),
                        rotated_y = number_at(rotation->from, rotation->from_type, y);
    if (rotary->cosines) {
      cosine = rotary->cosines[position * pairs + i];
      sine = rotary->sines[position * pairs + i];
    } else {
      contract_angle(turns[i], position, &cosine, &sine);
    }
    contract_rotate_pair(&rotated_x, &rotated_y, cosine, sine);
    store_at(rotation->to, rotation->to_type, x, rotated_x);
    store_at(rotation->to, rotation->to_type, y, rotated_y);
  }
  for (int64_t d = from + rotary->dims; d < from + rotation->dim; d++)
    store_at(rotation->to, rotation->to_type, d, number_at(rotation->from, rotation->from_type, d));
}

static uint64_t contract_digest(const selftest_rotary *description) {
  selftest_rotary_run run;
  assert_true(selftest_prepare_rotary(description, &run));
  const fovea_rotation *rotation = &run.rotation;
  struct fraction *turns = calloc((size_t)run.rotary.dims, sizeof *turns);
  assert_non_null(turns);
  if (!run.rotary.cosines) contract_turns(run.rotary.base, run.rotary.frequencies, run.rotary.dims / 2, turns);
  for (int64_t batch = 0; batch < rotation->batch; batch++)
    for (int64_t head = 0; head < rotation->heads; head++)
      for (int64_t row = 0; row < rotation->rows; row++)
        answer_row(&run, turns, batch * rotation->rows + row,
                   ((batch * rotation->heads + head) * rotation->rows + row) * rotation->dim);
  const uint64_t digest = selftest_rotary_digest(&run);
  free(turns);
  selftest_release_rotary(&run);
  return digest;
}

static void test_stored_digests_are_the_contract(void **state) {
  (void)state;
  int wrong = 0;
  for (int i = 0; i < selftest_rotary_count; i++) {
    const uint64_t digest = contract_digest(&selftest_rotaries[i]);
    if (digest == selftest_rotary_digests[i]) continue;
    wrong++;
    print_error("%s: the contract gives %016" PRIx64 ", stored is %016" PRIx64 "\n", selftest_rotaries[i].name,
                digest, selftest_rotary_digests[i]);
  }
  assert_int_equal(wrong, 0);
}

static void test_digests_differ(void **state) {
  (void)state;
  for (int i = 0; i < selftest_rotary_count; i++)
    for (int j = 0; j < i; j++) {
      assert_string_not_equal(selftest_rotaries[i].name, selftest_rotaries[j].name);
      assert_true(selftest_rotary_digests[i] != selftest_rotary_digests[j]);
    }
}

/* Like in test_digests.c: lines here are never edited, only followed by others. */
static void test_final_digests_stand(void **state) {
  (void)state;
  static const struct {
    int count;
    uint64_t together;
  } finals[] = {{19, UINT64_C(0xf678ed51c2802f81)}};
  for (size_t i = 0; i < sizeof finals / sizeof finals[0]; i++) {
    uint64_t together = 0;
    assert_true(selftest_rotary_count >= finals[i].count);
    for (int j = 0; j < finals[i].count; j++) {
      together = (together ^ selftest_rotary_digests[j]) * UINT64_C(0x9e3779b97f4a7c15);
      together ^= together >> 32;
    }
    if (together != finals[i].together)
      fail_msg("one of the first %d digests, which are final, was changed: together they give %016" PRIx64,
               finals[i].count, together);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stored_digests_are_the_contract),
      cmocka_unit_test(test_final_digests_stand),
      cmocka_unit_test(test_digests_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
