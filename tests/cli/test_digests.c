/* The stored digests of `fovea selftest`, computed from the contract: none of them relies on the library. */
#include "answer.h"
#include "contract.h"
#include "modes/contract_modes.h"
#include "support/check.h"
#include "support/types.h"

#include <inttypes.h>

static uint64_t contract_digest(const selftest_problem *description) {
  selftest_data data;
  assert_true(selftest_prepare(description, &data));
  answer_by_contract(&data);
  const uint64_t digest = selftest_digest(&data);
  selftest_release(&data);
  return digest;
}

static void test_stored_digests_are_the_contract(void **state) {
  (void)state;
  int wrong = 0;
  for (int t = 0; t < SELFTEST_TABLES; t++)
    for (int i = 0; i < selftest_tables[t]->count; i++) {
      const selftest_problem *problem = &selftest_tables[t]->problems[i];
      const uint64_t digest = contract_digest(problem), stored = selftest_tables[t]->digests[i];
      if (digest == stored) continue;
      wrong++;
      print_error("%s: the contract gives %016" PRIx64 ", stored is %016" PRIx64 "\n", problem->name, digest,
                  stored);
    }
  assert_int_equal(wrong, 0);
}

/* If two problems had one digest, they would be the same problem, or the digest would ignore something. */
static void test_problems_differ(void **state) {
  (void)state;
  const selftest_problem *problems[512] = {NULL};
  uint64_t digests[512] = {0};
  int count = 0;
  for (int t = 0; t < SELFTEST_TABLES; t++)
    for (int i = 0; i < selftest_tables[t]->count; i++) {
      assert_true(count < 512);
      problems[count] = &selftest_tables[t]->problems[i];
      digests[count++] = selftest_tables[t]->digests[i];
    }
  for (int i = 0; i < count; i++)
    for (int j = 0; j < i; j++) {
      assert_string_not_equal(problems[i]->name, problems[j]->name);
      assert_true(digests[i] != digests[j]);
    }
}

/* The digests are final: a new print of the table must not change one, nor may a changed contract. Problems may be
 * added after these. So lines here are never edited, only followed by others. */
static const struct {
  const selftest_table *table;
  int count;         /* the number of digests, counted from the first of the table */
  uint64_t together; /* the digest of these digests */
} finals[] = {
    {&selftest_basic_table, 70, UINT64_C(0xa333516bfd83f56b)},
    {&selftest_basic_table, 232, UINT64_C(0x72e0d5fd80c785ad)},
    {&selftest_basic_table, 250, UINT64_C(0x7b540b6c87857fee)},
    {&selftest_pattern_table, 29, UINT64_C(0x76a5e6a29a490d72)},
    {&selftest_term_table, 23, UINT64_C(0x2bf0d1b0f640d6ce)},
    {&selftest_term_table, 32, UINT64_C(0x0d9863a8a1f5425c)},
    {&selftest_output_table, 36, UINT64_C(0x34d1b96c59c275c2)},
    {&selftest_mode_table, 51, UINT64_C(0x634d265a360433d3)},
    {&selftest_mode_table, 111, UINT64_C(0x98b08428e5c2765a)},
    {&selftest_mode_table, 116, UINT64_C(0x8bfea9f3d890551e)},
};

static void test_final_digests_stand(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof finals / sizeof finals[0]; i++) {
    uint64_t together = 0;
    assert_true(finals[i].table->count >= finals[i].count);
    for (int j = 0; j < finals[i].count; j++) {
      together = (together ^ finals[i].table->digests[j]) * UINT64_C(0x9e3779b97f4a7c15);
      together ^= together >> 32;
    }
    if (together == finals[i].together) continue;
    fail_msg("one of the first %d digests of %s, which are final, was changed or put between: together they give "
             "%016" PRIx64,
             finals[i].count, finals[i].table->option, together);
  }
}

/* A digest of the contract's functions at every `step`-th float of a range. Few problems would notice the last bit
 * of a coefficient. tests/test_functions.c compares kernels with the contract's functions. */
static uint64_t sweep(float (*function)(float), float first, float last, uint32_t step) {
  uint64_t together = 0;
  for (uint32_t bits = bits_of(first); bits <= bits_of(last); bits += step) {
    together = (together ^ bits_of(function(from_bits(bits)))) * UINT64_C(0x9e3779b97f4a7c15);
    together ^= together >> 32;
  }
  return together;
}

static void test_final_functions_stand(void **state) {
  (void)state;
  /* Two ranges in which the first coefficient matters most. */
  assert_int_equal(sweep(contract_exp2, -0x1p-25f, -126.0f, 61), UINT64_C(0xf0399025fed80150));
  assert_int_equal(sweep(contract_exp2, -0.4f, -0.6f, 1), UINT64_C(0x5eaecbef9a995db9));
  assert_int_equal(sweep(contract_log2, 1.0f, 0x1p26f, 61), UINT64_C(0xced5a1dba68f3806));
  assert_int_equal(sweep(contract_tanh, 0x1p-16f, 10.5f, 61), UINT64_C(0xb315a8b0c696da29));
  assert_int_equal(sweep(contract_tanh, 0.15f, 0.2f, 1), UINT64_C(0xa2725e8255cb0abb));
  assert_int_equal(sweep(contract_mode_exp2, -0x1p-25f, -126.0f, 61), UINT64_C(0xecd8486a1ba0b8fa));
  assert_int_equal(sweep(contract_mode_exp2, -0.4f, -0.6f, 1), UINT64_C(0xb3e584f118203229));
}

/* Whether the digest sees every bit of these bytes, in a tensor that nobody else has changed. */
static void see_every_bit_of(const selftest_data *data, void *tensor, size_t size) {
  unsigned char *bytes = tensor;
  const uint64_t untouched = selftest_digest(data);
  for (size_t i = 0; i < size; i++) {
    const unsigned char byte = bytes[i];
    for (int bit = 0; bit < 8; bit++) {
      bytes[i] = (unsigned char)(byte ^ 1 << bit);
      assert_true(selftest_digest(data) != untouched);
    }
    bytes[i] = byte;
  }
  assert_true(selftest_digest(data) == untouched);
}

static void see_every_bit(const selftest_problem *description) {
  selftest_data data;
  assert_true(selftest_prepare(description, &data));
  const int64_t rows = data.problem.heads * data.problem.q_len;
  const size_t o_size = (size_t)(rows * data.problem.v_dim) * type_size(data.problem.o_type);
  see_every_bit_of(&data, data.o, o_size);
  see_every_bit_of(&data, data.lse, (size_t)rows * sizeof(float));
  assert_int_equal(data.scores != NULL, description->scores != FOVEA_SCORES_NONE);
  if (data.scores != NULL)
    see_every_bit_of(&data, data.scores,
                     (size_t)(data.score_count ? data.score_count : rows * data.problem.kv_len) * sizeof(float));
  const selftest_extras *extras = &data.extras;
  see_every_bit_of(&data, extras->max_logits, (size_t)extras->max_logit_count * sizeof(float));
  see_every_bit_of(&data, extras->entropy, (size_t)extras->entropy_count * sizeof(float));
  see_every_bit_of(&data, extras->top_keys, (size_t)extras->top_count * sizeof(int64_t));
  see_every_bit_of(&data, extras->top_scores, (size_t)extras->top_count * sizeof(float));
  see_every_bit_of(&data, extras->column_sums, (size_t)extras->column_count * sizeof(float));
  selftest_release(&data);
}

static void test_digest_sees_every_bit(void **state) {
  (void)state;
  for (fovea_type type = FOVEA_F32; type <= FOVEA_BF16; type++) {
    const selftest_problem description = {"bits", .shape = {1, 2, 2, 3, 1, 8, 8}, .types = {.o = type}};
    see_every_bit(&description);
  }
  const selftest_problem scores = {"bits", .shape = {1, 2, 2, 3, 5, 8, 8}, .scores = FOVEA_SCORES_RAW};
  see_every_bit(&scores);
  const fovea_range part[] = {{1, 2}, {1, 3}, {2, 4}};
  const selftest_problem outputs = {
      "bits", .shape = {1, 2, 2, 3, 5, 8, 8}, .scores = FOVEA_SCORES_RAW,
      .features = {.score_part = part, .max_logits = true, .entropy = true, .column_sums = true, .top_k = 2}};
  see_every_bit(&outputs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stored_digests_are_the_contract), cmocka_unit_test(test_final_digests_stand),
      cmocka_unit_test(test_final_functions_stand),           cmocka_unit_test(test_problems_differ),
      cmocka_unit_test(test_digest_sees_every_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
