/* The stored digests of `fovea selftest`, computed from the contract: none of them rests on the library's word. */
#include "contract.h"
#include "support/check.h"
#include "support/rules.h"
#include "tools/fovea/selftest_problems.h"

#include <inttypes.h>
#include <string.h>

/* What contract_row() hands to sees(). */
struct row_rules {
  const fovea_problem *problem;
  struct entry entry;
  int64_t row;
};

static int sees(const void *context, int64_t key) {
  const struct row_rules *rules = context;
  return row_sees(rules->problem, &rules->entry, rules->row, key);
}

static int64_t at(const fovea_strides *strides, int64_t batch, int64_t head, int64_t row) {
  return batch * strides->batch + head * strides->head + row * strides->row;
}

/* O and LSE of one row, into the problem's own tensors. */
static void answer_row(const selftest_data *data, const struct row_rules *rules, int64_t head) {
  const fovea_problem *problem = rules->problem;
  const struct entry *entry = &rules->entry;
  const int64_t kv_head = head / (problem->heads / problem->kv_heads), row = entry->q_first + rules->row;
  const struct contract_row contract = {
      .q = data->q + at(&problem->q_strides, entry->q_batch, head, row),
      .k = data->k + at(&problem->k_strides, entry->kv_batch, kv_head, entry->kv_first),
      .v = data->v + at(&problem->v_strides, entry->kv_batch, kv_head, entry->kv_first),
      .k_stride = problem->k_strides.row,
      .v_stride = problem->v_strides.row,
      .qk_dim = problem->qk_dim,
      .v_dim = problem->v_dim,
      .positions = entry->kv_len,
      .scale = problem->scale,
      .sees = sees,
      .rules = rules,
  };
  contract_row(&contract, data->o + at(&problem->o_strides, entry->q_batch, head, row),
               data->lse + at(&problem->lse_strides, entry->q_batch, head, row));
}

static uint64_t contract_digest(const selftest_problem *description) {
  selftest_data data;
  assert_true(selftest_prepare(description, &data));
  for (int64_t batch = 0; batch < data.problem.batch; batch++) {
    struct row_rules rules = {.problem = &data.problem, .entry = problem_entry(&data.problem, batch)};
    for (int64_t head = 0; head < data.problem.heads; head++)
      for (rules.row = 0; rules.row < rules.entry.rows; rules.row++) answer_row(&data, &rules, head);
  }
  const uint64_t digest = selftest_digest(&data);
  selftest_release(&data);
  return digest;
}

static void test_stored_digests_are_the_contract(void **state) {
  (void)state;
  int wrong = 0;
  for (int i = 0; i < selftest_problem_count; i++) {
    const uint64_t digest = contract_digest(&selftest_problems[i]);
    if (digest == selftest_digests[i]) continue;
    wrong++;
    print_error("%s: the contract gives %016" PRIx64 ", stored is %016" PRIx64 "\n", selftest_problems[i].name,
                digest, selftest_digests[i]);
  }
  assert_int_equal(wrong, 0);
}

/* Two problems with one digest would be one problem, or a digest that sees nothing. */
static void test_problems_differ(void **state) {
  (void)state;
  for (int i = 0; i < selftest_problem_count; i++)
    for (int j = 0; j < i; j++) {
      assert_string_not_equal(selftest_problems[i].name, selftest_problems[j].name);
      assert_true(selftest_digests[i] != selftest_digests[j]);
    }
}

static void test_digest_sees_every_bit(void **state) {
  (void)state;
  selftest_data data;
  assert_true(selftest_prepare(&selftest_problems[0], &data));
  const int64_t rows = data.problem.heads * data.problem.q_len, count = rows * data.problem.v_dim;
  const uint64_t untouched = selftest_digest(&data);
  for (int64_t i = 0; i < count + rows; i++) {
    float *number = i < count ? data.o + i : data.lse + (i - count);
    for (int bit = 0; bit < 32; bit++) {
      const uint32_t flipped = (uint32_t)1 << bit, zero = 0;
      memcpy(number, &flipped, sizeof flipped);
      assert_true(selftest_digest(&data) != untouched);
      memcpy(number, &zero, sizeof zero);
    }
  }
  assert_true(selftest_digest(&data) == untouched);
  selftest_release(&data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stored_digests_are_the_contract),
      cmocka_unit_test(test_problems_differ),
      cmocka_unit_test(test_digest_sees_every_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
