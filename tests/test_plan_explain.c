/* What explanations of plans say of ways, sets, bytes, bounds and tasks, and what is refused. */
#include "arch/registry.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/explanation.h"
#include "support/patterns.h"

#include <fovea/state.h>

#include <stdlib.h>
#include <string.h>

/* How rows are run, and the texts. */
static void test_ways(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_plan *plan;
  fovea_problem_init(&problem, 1, 1, 1, 1, 1000, 64, 64);
  fovea_problem_resolve(&problem, NULL);
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
  fovea_explanation is = explain(plan);
  if (is.rows_decoded) assert_non_null(strstr(is.rows_reason, "few"));
  assert_int_equal(is.workers, 1);
  fovea_plan_destroy(plan);

  fovea_problem_init(&problem, 1, 4, 4, 1000, 1000, 64, 64);
  fovea_problem_resolve(&problem, NULL);
  assert_int_equal(fovea_plan_create(&problem, on_isa("scalar"), &plan, NULL), FOVEA_OK);
  is = explain(plan);
  assert_int_equal(is.rows_tiled, 4000);
  assert_string_equal(is.isa, "scalar");
  assert_string_equal(is.table, "scalar");
  assert_string_equal(is.isa_reason, "the execution names it");
  assert_int_equal(is.pairs_visible, 4000000);
  assert_int_equal(is.tasks, fovea_plan_tasks(plan, 0));
  fovea_plan_destroy(plan);

  fovea_problem_init(&problem, 1, 1, 1, 1, 100000, 64, 64);
  fovea_problem_resolve(&problem, NULL);
  problem.state = 1;
  assert_int_equal(fovea_plan_create(&problem, on_isa("scalar"), &plan, NULL), FOVEA_OK);
  is = explain(plan);
  assert_non_null(strstr(is.parts_reason, "nodes"));
  assert_int_equal(is.parts, fovea_plan_tasks(plan, 0));
  assert_true(is.bytes_written == 4.0 * (double)fovea_state_numbers(64, 0, 100000));
  fovea_plan_destroy(plan);
}

static int has_amx(fovea_mode scores, fovea_mode values, const char *isa) {
  fovea_problem problem;
  fovea_plan *plan;
  fovea_error error;
  fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
  fovea_problem_resolve(&problem, NULL);
  problem.modes.score = scores;
  problem.modes.value = values;
  if (fovea_plan_create(&problem, on_isa(isa), &plan, &error) != FOVEA_OK) fail_msg("%s", error.text);
  const int amx = strcmp(explain(plan).products, "AMX") == 0;
  fovea_plan_destroy(plan);
  return amx;
}

/* AMX is for bf16 only, after it is allowed, without a name, beside the sets whose tiles it shares. */
static void test_amx(void **state) {
  (void)state;
  const fovea_mode exact = FOVEA_MODE_EXACT, bf16 = FOVEA_MODE_BF16;
  fovea_library_info info;
  fovea_library_info_init(&info);
  assert_int_equal(fovea_info(&info), FOVEA_OK);
  assert_int_equal(has_amx(bf16, bf16, NULL), 0);
  const int allowed = fovea_allow_amx(NULL) == FOVEA_OK;
#define SHARE(name, architecture, needs, int8_needs, set) #set
  const int shared = info.environment[0] == '\0' && strcmp(info.isa, FOVEA_EXTENSIONS(SHARE)) == 0;
#undef SHARE
  for (int halves = 0; halves < 4; halves++) {
    const fovea_mode scores = halves & 1 ? bf16 : exact, values = halves & 2 ? bf16 : exact;
    assert_int_equal(has_amx(scores, values, NULL), allowed && shared && halves > 0);
    assert_int_equal(has_amx(scores, values, info.isa), 0);
    assert_int_equal(has_amx(scores, values, "scalar"), 0);
  }
}

static void test_gathered(void **state) {
  (void)state;
  enum { ROWS = 500 };
  int64_t starts[ROWS + 1], keys[ROWS];
  for (int i = 0; i <= ROWS; i++) starts[i] = i;
  for (int i = 0; i < ROWS; i++) keys[i] = i * 7919 % ROWS;
  const fovea_rule rule = fovea_rule_edges(0, ROWS, starts, keys);
  fovea_pattern *pattern = pattern_of(&rule, 0, ROWS, ROWS, 0);
  fovea_problem problem;
  fovea_plan *plan;
  fovea_problem_init(&problem, 1, 2, 1, ROWS, ROWS, 16, 16);
  fovea_problem_resolve(&problem, NULL);
  problem.pattern = pattern;
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
  fovea_explanation is = explain(plan);
  assert_int_equal(is.rows_gathered, 2 * ROWS);
  assert_int_equal(is.pairs_visible, 2 * ROWS);
  assert_non_null(strstr(is.rows_reason, "few keys"));
  fovea_plan_destroy(plan);
  problem.entropy = 1; /* the loop over lists does not know it */
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
  is = explain(plan);
  assert_int_equal(is.rows_gathered, 0);
  assert_int_equal(is.pairs_visible, 2 * ROWS);
  assert_non_null(strstr(is.rows_reason, "not known to the loop"));
  fovea_plan_destroy(plan);
  fovea_pattern_destroy(pattern);
}

static void test_bytes(void **state) {
  (void)state;
  fovea_problem p;
  fovea_plan *plan;
  fovea_problem_init(&p, 2, 4, 2, 10, 30, 16, 24);
  fovea_problem_resolve(&p, NULL);
  p.k_type = FOVEA_F16;
  p.o_type = FOVEA_BF16;
  p.mask.type = FOVEA_MASK_BOOL;
  p.mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, 1, 1, 10, 30);
  p.scores.kind = FOVEA_SCORES_WEIGHTS;
  assert_int_equal(fovea_plan_create(&p, NULL, &plan, NULL), FOVEA_OK);
  fovea_explanation is = explain(plan);
  assert_true(is.bytes_read == 2 * 4 * 10 * 16 * 4 + 2 * 2 * 30 * 16 * 2 + 2 * 2 * 30 * 24 * 4 + 10 * 30);
  assert_true(is.bytes_written == 2 * 4 * 10 * 24 * 2 + 2 * 4 * 10 * 30 * 4);
  fovea_plan_destroy(plan);

  fovea_problem_init(&p, 2, 4, 2, 10, 30, 16, 24);
  fovea_problem_resolve(&p, NULL);
  p.window_left = 3; /* keys 17 to 29 */
  p.k_strides.batch = 0;
  assert_int_equal(fovea_plan_create(&p, NULL, &plan, NULL), FOVEA_OK);
  is = explain(plan);
  assert_true(is.bytes_read == 4 * (2 * 4 * 10 * 16 + 2 * 13 * 16 + 2 * 2 * 13 * 24));
  fovea_plan_destroy(plan);

  fovea_problem_init(&p, 1, 4, 2, 10, 30, 16, 24);
  fovea_problem_resolve(&p, NULL);
  p.cache.segmented = 1;
  assert_int_equal(fovea_plan_create(&p, NULL, &plan, NULL), FOVEA_OK);
  is = explain(plan);
  assert_true(is.bytes_read == 4 * 4 * 10 * 16 && is.cached_elements == 2 * 30 * (16 + 24));
  fovea_plan_destroy(plan);
}

static void test_bounds(void **state) {
  (void)state;
  fovea_problem p;
  fovea_plan *plan;
  fovea_explanation is;
  fovea_problem_init(&p, 1, 1, 1, 100, 100, 32, 32);
  fovea_problem_resolve(&p, NULL);
  assert_int_equal(fovea_plan_create(&p, NULL, &plan, NULL), FOVEA_OK);
  is = explain(plan);
  assert_true(is.compute_seconds == 0 && is.memory_seconds == 0);
  is.flops_per_second = 1e9;
  is.bytes_per_second = 1e6;
  assert_int_equal(fovea_plan_explain(plan, &is, NULL), FOVEA_OK);
  assert_true(is.compute_seconds == 128.0 * 10000 / 1e9);
  assert_true(is.memory_seconds == 4.0 * 100 * 32 * 4 / 1e6);
  fovea_plan_destroy(plan);
  /* Sizes whose counts overflow. */
  fovea_problem_init(&p, 1, 1 << 20, 1, 1, INT64_C(1) << 46, 1, 1);
  fovea_problem_resolve(&p, NULL);
  memset(&p.k_strides, 0, sizeof p.k_strides);
  memset(&p.v_strides, 0, sizeof p.v_strides);
  assert_int_equal(fovea_plan_create(&p, NULL, &plan, NULL), FOVEA_OK);
  is = explain(plan);
  assert_true(is.pairs_visible == INT64_MAX && is.pairs == INT64_MAX && is.flops > 1e300);
  fovea_plan_destroy(plan);
}

/* How often tasks of a phase have each (element, head, row, key), in bytes. */
static unsigned char *count_tasks(const fovea_plan *plan, const fovea_problem *p, int phase, const char *work,
                                  int has_engine) {
  unsigned char *counts = calloc((size_t)(p->batch * p->heads * p->q_len * p->kv_len), 1);
  assert_non_null(counts);
  for (int64_t task = 0; task < fovea_plan_tasks(plan, phase); task++) {
    fovea_task_explanation is;
    fovea_error error;
    fovea_task_explanation_init(&is);
    if (fovea_plan_explain_task(plan, phase, task, &is, &error) != FOVEA_OK) fail_msg("%s", error.text);
    assert_string_equal(is.work, work);
    assert_int_equal(is.engine[0] != '\0', has_engine);
    assert_true(is.element >= 0 && is.element < p->batch && is.heads > 0 && is.rows > 0 && is.keys >= 0);
    assert_true(is.first_head >= 0 && is.first_head + is.heads <= p->heads);
    assert_true(is.first_row >= 0 && is.first_row + is.rows <= p->q_len);
    assert_true(is.first_key >= 0 && is.first_key + is.keys <= p->kv_len);
    for (int64_t head = is.first_head; head < is.first_head + is.heads; head++)
      for (int64_t row = is.first_row; row < is.first_row + is.rows; row++)
        for (int64_t key = is.first_key; key < is.first_key + is.keys; key++)
          counts[((is.element * p->heads + head) * p->q_len + row) * p->kv_len + key]++;
  }
  return counts;
}

/* Tasks of a phase have each key of each row and head once; `shared`: rows between two tasks may be in both. */
static void check_tasks(const fovea_plan *plan, const fovea_problem *p, int phase, const char *work, int has_engine,
                        int shared) {
  unsigned char *counts = count_tasks(plan, p, phase, work, has_engine);
  for (int64_t element = 0; element < p->batch; element++) {
    const struct entry entry = problem_entry(p, element);
    for (int64_t head = 0; head < p->heads; head++)
      for (int64_t row = 0; row < p->q_len; row++)
        for (int64_t key = 0; key < p->kv_len; key++) {
          const int count = counts[((element * p->heads + head) * p->q_len + row) * p->kv_len + key];
          const int there = row < entry.q_len && key < entry.kv_len;
          if (count < there || count > (shared ? 2 * there : there))
            fail_msg("%s: %d tasks of phase %d have element %d, head %d, row %d, key %d", work, count, phase,
                     (int)element, (int)head, (int)row, (int)key);
        }
  }
  free(counts);
}

static void test_tasks(void **state) {
  (void)state;
  fovea_problem p;
  fovea_plan *plan;
  for (int64_t group = 1; group <= 3; group += 2)
    for (int64_t rows = 1; rows <= 301; rows += 100) {
      fovea_problem_init(&p, 2, 2 * group, 2, rows, 700, 8, 8);
      p.causal = 1;
      p.max_logits = p.column_sums.wanted = 1;
      fovea_problem_resolve(&p, NULL);
      assert_int_equal(fovea_plan_create(&p, NULL, &plan, NULL), FOVEA_OK);
      assert_int_equal(fovea_plan_phases(plan), 3);
      check_tasks(plan, &p, 0, "attention", 1, group > 1);
      check_tasks(plan, &p, 1, "column sums", 1, 0);
      check_tasks(plan, &p, 2, "max logits", 0, 0);
      fovea_plan_destroy(plan);
    }
  fovea_task_explanation is;
  fovea_problem_init(&p, 1, 1, 1, 1, 100000, 64, 64);
  fovea_problem_resolve(&p, NULL);
  assert_int_equal(fovea_plan_create(&p, NULL, &plan, NULL), FOVEA_OK);
  if (fovea_plan_phases(plan) == 2) { /* keys are split if there is more than one CPU */
    check_tasks(plan, &p, 0, "attention", 1, 0);
    check_tasks(plan, &p, 1, "merge", 0, 0);
  }
  fovea_task_explanation_init(&is);
  assert_int_equal(fovea_plan_explain_task(plan, 0, 0, &is, NULL), FOVEA_OK);
  assert_string_equal(is.engine, "decoded");
  fovea_plan_destroy(plan);
}

static void test_task_refusals(void **state) {
  (void)state;
  fovea_problem p;
  fovea_plan *plan;
  fovea_error error;
  fovea_task_explanation is, before;
  memset(&is, 0x5a, sizeof is);
  fovea_task_explanation_init(&is);
  before = is;
  fovea_problem_init(&p, 1, 2, 2, 3, 4, 8, 8);
  fovea_problem_resolve(&p, NULL);
  assert_int_equal(fovea_plan_create(&p, NULL, &plan, NULL), FOVEA_OK);
  const struct {
    const fovea_plan *plan;
    int phase;
    int64_t task;
    fovea_task_explanation *to;
    const char *text;
  } cases[] = {{NULL, 0, 0, &is, "plan is NULL"},
               {plan, 0, 0, NULL, "explanation is NULL"},
               {plan, -1, 0, &is, "phase is -1; it must be from 0 to 0"},
               {plan, 1, 0, &is, "phase is 1"},
               {plan, 0, -1, &is, "task is -1"},
               {plan, 0, 2, &is, "task is 2; it must be from 0 to 1"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(fovea_plan_explain_task(cases[i].plan, cases[i].phase, cases[i].task, cases[i].to, &error),
                     FOVEA_ERROR_ARGUMENT);
    assert_error_says(&error, cases[i].text);
    assert_int_equal(fovea_plan_explain_task(cases[i].plan, cases[i].phase, cases[i].task, cases[i].to, NULL),
                     FOVEA_ERROR_ARGUMENT);
  }
  assert_memory_equal(&is, &before, sizeof is);
  fovea_plan_destroy(plan);
}

static void refuse(const fovea_plan *plan, fovea_explanation given, fovea_status status, const char *text) {
  fovea_error error;
  const fovea_explanation before = given;
  assert_int_equal(fovea_plan_explain(plan, &given, &error), status);
  assert_error_says(&error, text);
  assert_memory_equal(&given, &before, sizeof before);
}

static void test_refusals(void **state) {
  (void)state;
  fovea_problem p;
  fovea_plan *plan;
  fovea_explanation good, bad;
  fovea_error error;
  uint64_t words[2];
  fovea_problem_init(&p, 2, 3, 1, 4, 5, 8, 8);
  fovea_problem_resolve(&p, NULL);
  assert_int_equal(fovea_plan_create(&p, NULL, &plan, NULL), FOVEA_OK);
  fovea_explanation_init(&good);
  refuse(NULL, good, FOVEA_ERROR_ARGUMENT, "plan is NULL");
  assert_int_equal(fovea_plan_explain(plan, NULL, &error), FOVEA_ERROR_ARGUMENT);
  bad = good;
  bad.struct_size = 8;
  refuse(plan, bad, FOVEA_ERROR_ARGUMENT, "explanation.struct_size is 8");
  bad.struct_size = sizeof bad + 8;
  refuse(plan, bad, FOVEA_ERROR_ARGUMENT, "explanation.struct_size");
  bad = good;
  bad.threads = -1;
  refuse(plan, bad, FOVEA_ERROR_ARGUMENT, "threads is -1");
  bad = good;
  bad.flops_per_second = -1;
  refuse(plan, bad, FOVEA_ERROR_ARGUMENT, "flops_per_second is -1");
  bad = good;
  bad.bytes_per_second = (double)__builtin_inff();
  refuse(plan, bad, FOVEA_ERROR_ARGUMENT, "bytes_per_second");

  static const struct {
    int64_t entry, head, row, first, words;
    const char *text;
  } wrong[] = {{-1, 0, 0, 0, 1, "element is -1"}, {2, 0, 0, 0, 1, "element is 2; it must be from 0 to 1"},
               {0, 3, 0, 0, 1, "head is 3"},      {0, 0, 4, 0, 1, "row is 4; the sequence has 4 rows"},
               {0, 0, -1, 0, 1, "row is -1"},     {0, 0, 0, 5, 1, "first_key is 5"},
               {0, 0, 0, -64, 1, "first_key"},    {0, 0, 0, 0, -1, "words is -1"}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_int_equal(fovea_plan_row_keys(plan, wrong[i].entry, wrong[i].head, wrong[i].row, wrong[i].first,
                                         wrong[i].words, words, &error),
                     FOVEA_ERROR_ARGUMENT);
    assert_error_says(&error, wrong[i].text);
  }
  assert_int_equal(fovea_plan_row_keys(NULL, 0, 0, 0, 0, 1, words, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_plan_row_keys(plan, 0, 0, 0, 0, 1, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_plan_row_keys(plan, 0, 0, 0, 64, 2, words, NULL), FOVEA_OK);
  assert_true(words[0] == 0 && words[1] == 0);
  fovea_plan_destroy(plan);
}

/* What computes a half does not depend on the other half's mode: of codes every set that has pairs of bf16 has
 * several tables. */
static const char *products(fovea_mode scores, fovea_mode values, int of_values, char *text, size_t size) {
  fovea_problem problem;
  fovea_plan *plan;
  fovea_error error;
  fovea_problem_init(&problem, 1, 1, 1, 100, 100, 32, 32);
  fovea_problem_resolve(&problem, NULL);
  problem.modes.score = scores;
  problem.modes.value = values;
  if (fovea_plan_create(&problem, NULL, &plan, &error) != FOVEA_OK) fail_msg("%s", error.text);
  const fovea_explanation explanation = explain(plan);
  const char *name = of_values ? explanation.value_products : explanation.products;
  assert_true(strlen(name) < size);
  strcpy(text, name);
  fovea_plan_destroy(plan);
  return text;
}

static void test_products_of_halves(void **state) {
  (void)state;
  char alone[64], beside[64];
  products(FOVEA_MODE_INT8, FOVEA_MODE_INT8, 0, alone, sizeof alone);
  assert_string_equal(products(FOVEA_MODE_INT8, FOVEA_MODE_BF16, 0, beside, sizeof beside), alone);
  assert_string_equal(products(FOVEA_MODE_BF16, FOVEA_MODE_INT8, 1, beside, sizeof beside), alone);
  products(FOVEA_MODE_BF16, FOVEA_MODE_BF16, 0, alone, sizeof alone);
  assert_string_equal(products(FOVEA_MODE_BF16, FOVEA_MODE_INT8, 0, beside, sizeof beside), alone);
  assert_string_equal(products(FOVEA_MODE_INT8, FOVEA_MODE_BF16, 1, beside, sizeof beside), alone);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ways),  cmocka_unit_test(test_amx),           cmocka_unit_test(test_gathered),
      cmocka_unit_test(test_bytes), cmocka_unit_test(test_bounds),        cmocka_unit_test(test_products_of_halves),
      cmocka_unit_test(test_tasks), cmocka_unit_test(test_task_refusals), cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
