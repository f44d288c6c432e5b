/* The stored digests of `fovea selftest`, computed from the contract: none of them relies on the library. */
#include "contract.h"
#include "support/check.h"
#include "support/masks.h"
#include "support/rules.h"
#include "support/types.h"
#include "tools/fovea/selftest_problems.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A problem with its tensors as f32, in the same order, and memory for one row's biases and output. */
struct question {
  const selftest_data *data;
  float *q, *k, *v, *bias, *out;
  struct mask mask;
};

/* The rules that contract_row() passes to sees(). */
struct row_rules {
  const struct question *question;
  struct entry entry;
  int64_t batch, head, row;
};

static float bias_of(const struct row_rules *rules, int64_t key) {
  const struct mask *mask = &rules->question->mask;
  if (mask->type == FOVEA_MASK_NONE) return 0.0f;
  const int64_t keys = rules->question->data->problem.mask_keys;
  if (keys != FOVEA_UNLIMITED && key >= keys) return -INFINITY;
  return mask_get(mask, rules->batch, rules->head, rules->row, key);
}

static int sees(const void *context, int64_t key) {
  const struct row_rules *rules = context;
  return row_sees(&rules->question->data->problem, &rules->entry, rules->row, key) &&
         bias_of(rules, key) != -INFINITY;
}

static int64_t at(const fovea_strides *strides, int64_t batch, int64_t head, int64_t row) {
  return batch * strides->batch + head * strides->head + row * strides->row;
}

static enum contract_scores score_kind(fovea_score_output output) {
  return output == FOVEA_SCORES_RAW      ? CONTRACT_RAW
         : output == FOVEA_SCORES_CAPPED ? CONTRACT_CAPPED
                                         : CONTRACT_BIASED;
}

static void store_output(const selftest_data *data, int64_t index, float number) {
  const fovea_type type = data->problem.o_type;
  if (type == FOVEA_F32)
    ((float *)data->o)[index] = number;
  else
    ((uint16_t *)data->o)[index] = rounded(type, number);
}

/* Writes a row of scores: also for keys that the entry does not have, if others have them. */
static void answer_scores(const struct contract_row *contract, const fovea_problem *problem, float *scores) {
  const int weights = problem->score_output == FOVEA_SCORES_WEIGHTS;
  for (int64_t j = contract->positions; j < problem_score_keys(problem); j++)
    scores[j] = weights ? 0.0f : -INFINITY;
  if (weights)
    contract_row_weights(contract, scores);
  else
    contract_row_scores(contract, score_kind(problem->score_output), scores);
}

/* Writes O, LSE and scores of one row to the problem's own tensors. */
static void answer_row(const struct row_rules *rules) {
  static const float zero = 0.0f;
  const struct question *question = rules->question;
  const selftest_data *data = question->data;
  const fovea_problem *problem = &data->problem;
  const struct entry *entry = &rules->entry;
  const int64_t head = rules->head, kv_head = head / (problem->heads / problem->kv_heads);
  const int64_t row = entry->q_first + rules->row;
  const int additive = mask_is_additive(problem->mask_type);
  for (int64_t j = 0; additive && j < entry->kv_len; j++) question->bias[j] = bias_of(rules, j);
  const struct contract_row contract = {
      .q = question->q + at(&problem->q_strides, entry->q_batch, head, row),
      .k = question->k + at(&problem->k_strides, entry->kv_batch, kv_head, entry->kv_first),
      .v = question->v + at(&problem->v_strides, entry->kv_batch, kv_head, entry->kv_first),
      .k_stride = problem->k_strides.row,
      .v_stride = problem->v_strides.row,
      .qk_dim = problem->qk_dim,
      .v_dim = problem->v_dim,
      .positions = entry->kv_len,
      .scale = problem->scale,
      .softcap = problem->softcap,
      .bias = additive ? question->bias : NULL,
      .sink = problem->sink == FOVEA_SINK_PER_HEAD ? data->sinks + head
              : problem->sink == FOVEA_SINK_ZERO   ? &zero
                                                   : NULL,
      .sees = sees,
      .rules = rules,
  };
  contract_row(&contract, question->out, data->lse + at(&problem->lse_strides, entry->q_batch, head, row));
  const int64_t first = at(&problem->o_strides, entry->q_batch, head, row);
  for (int64_t d = 0; d < problem->v_dim; d++) store_output(data, first + d, question->out[d]);
  if (data->scores == NULL) return;
  answer_scores(&contract, problem, data->scores + at(&problem->score_strides, entry->q_batch, head, row));
}

static float *numbers_of(const void *tensor, fovea_type type, int64_t count) {
  float *numbers = malloc((size_t)count * sizeof *numbers);
  assert_non_null(numbers);
  if (type == FOVEA_F32)
    memcpy(numbers, tensor, (size_t)count * sizeof *numbers);
  else
    numbers_load(type, tensor, numbers, count);
  return numbers;
}

static uint64_t contract_digest(const selftest_problem *description) {
  selftest_data data;
  assert_true(selftest_prepare(description, &data));
  const fovea_problem *problem = &data.problem;
  const int64_t q_rows = problem_q_batches(problem) * problem->heads * problem->q_len;
  const int64_t kv_rows = problem_kv_batches(problem) * problem->kv_heads * problem->kv_len;
  struct question question = {
      .data = &data,
      .q = numbers_of(data.q, problem->q_type, q_rows * problem->qk_dim),
      .k = numbers_of(data.k, problem->k_type, kv_rows * problem->qk_dim),
      .v = numbers_of(data.v, problem->v_type, kv_rows * problem->v_dim),
      .bias = malloc((size_t)(problem->kv_len + problem->v_dim) * sizeof(float)),
      .mask = {.type = problem->mask_type, .strides = problem->mask_strides, .data = data.mask},
  };
  assert_non_null(question.bias);
  question.out = question.bias + problem->kv_len;
  for (int64_t batch = 0; batch < problem->batch; batch++) {
    struct row_rules rules = {.question = &question, .entry = problem_entry(problem, batch), .batch = batch};
    for (rules.head = 0; rules.head < problem->heads; rules.head++)
      for (rules.row = 0; rules.row < rules.entry.rows; rules.row++) answer_row(&rules);
  }
  const uint64_t digest = selftest_digest(&data);
  free(question.q);
  free(question.k);
  free(question.v);
  free(question.bias);
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

/* If two problems had one digest, they would be the same problem, or the digest would ignore something. */
static void test_problems_differ(void **state) {
  (void)state;
  for (int i = 0; i < selftest_problem_count; i++)
    for (int j = 0; j < i; j++) {
      assert_string_not_equal(selftest_problems[i].name, selftest_problems[j].name);
      assert_true(selftest_digests[i] != selftest_digests[j]);
    }
}

/* The digests are final: a new print of the table must not change one, nor may a changed contract. Problems may be
 * added behind these. So lines here are never edited, only followed by others. */
static const struct {
  int count;         /* the number of digests, counted from the first */
  uint64_t together; /* the digest of these digests */
} finals[] = {
    {70, UINT64_C(0xa333516bfd83f56b)},
    {232, UINT64_C(0x72e0d5fd80c785ad)},
    {250, UINT64_C(0x7b540b6c87857fee)},
};

static void test_final_digests_stand(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof finals / sizeof finals[0]; i++) {
    uint64_t together = 0;
    assert_true(selftest_problem_count >= finals[i].count);
    for (int j = 0; j < finals[i].count; j++) {
      together = (together ^ selftest_digests[j]) * UINT64_C(0x9e3779b97f4a7c15);
      together ^= together >> 32;
    }
    if (together == finals[i].together) continue;
    fail_msg(
        "one of the first %d digests, which are final, was changed or put between: together they give %016" PRIx64,
        finals[i].count, together);
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
    see_every_bit_of(&data, data.scores, (size_t)(rows * data.problem.kv_len) * sizeof(float));
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
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stored_digests_are_the_contract), cmocka_unit_test(test_final_digests_stand),
      cmocka_unit_test(test_final_functions_stand),           cmocka_unit_test(test_problems_differ),
      cmocka_unit_test(test_digest_sees_every_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
