/* Counts of runs and plans. The number of computed pairs must be what the kernels are called for, counted there,
 * score by score. The number of visible pairs must be what the rules, in words, and the mask let rows see. */
#include "../arch/args/decode.h"
#include "src/plan/plan.h"
#include "support/caches.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/single_task.h"

#include <stdlib.h>
#include <string.h>

/* The table that is counted, and how many scores it was called for. Runs use one thread. */
static const fovea_kernels *counted;
static int64_t scores;

static void count_score(const fovea_score_args *args) {
  scores += (int64_t)args->key_count * args->vectors.count * counted->lanes;
  counted->score(args);
}

static void count_score_pairs(const fovea_score_args *args) {
  scores += (int64_t)args->key_count * args->vectors.count * counted->lanes;
  counted->score_pairs(args);
}

static void count_decode_score(const fovea_decode_score_args *args) {
  scores += (int64_t)args->row_count * args->key_count;
  counted->decode_score(args);
}

/* Runs the plan with a table that counts its calls. */
static int64_t scores_computed(fovea_plan *plan, const fovea_tensors *tensors) {
  fovea_kernels table = *plan->kernels;
  counted = plan->kernels;
  scores = 0;
  table.score = count_score;
  if (table.score_pairs != NULL) table.score_pairs = count_score_pairs;
  table.decode_score = count_decode_score;
  plan->kernels = &table;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 1;
  assert_int_equal(fovea_plan_run(plan, tensors, &execution, NULL), FOVEA_OK);
  plan->kernels = counted;
  return scores;
}

static fovea_counts counts_of_run(const fovea_plan *plan, const fovea_tensors *tensors) {
  _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char memory[RUN_ROOM];
  const size_t size = fovea_plan_scratch_size(plan, 1);
  void *block = malloc(size + FOVEA_SCRATCH_ALIGNMENT);
  assert_non_null(block);
  void *scratch = (char *)block + FOVEA_SCRATCH_ALIGNMENT - (uintptr_t)block % FOVEA_SCRATCH_ALIGNMENT;
  fovea_run *run;
  fovea_counts counts;
  assert_int_equal(fovea_run_bind(plan, tensors, 1, scratch, size, memory, sizeof memory, &run, NULL), FOVEA_OK);
  assert_int_equal(fovea_run_counts(run, &counts), FOVEA_OK);
  free(block);
  return counts;
}

static int64_t pairs_visible(const struct trial *trial) {
  const fovea_problem *p = &trial->problem;
  int64_t pairs = 0;
  for (int64_t b = 0; b < p->batch; b++) {
    const struct entry entry = problem_entry(p, b);
    for (int64_t head = 0; head < p->heads; head++)
      for (int64_t row = 0; row < entry.q_len; row++)
        for (int64_t key = 0; key < entry.kv_len; key++) pairs += trial_sees(trial, b, head, row, key) != 0;
  }
  return pairs;
}

static void check_counts(const struct trial *trial, const char *isa, const fovea_problem *problem,
                         const fovea_tensors *tensors, int panels) {
  fovea_problem named = *problem;
  fovea_plan *plan;
  fovea_error error;
  if (fovea_plan_create(&named, on_isa(isa), &plan, &error) != FOVEA_OK) fail_msg("%s", error.text);
  const fovea_counts of_run = counts_of_run(plan, tensors);
  const int64_t computed = scores_computed(plan, tensors), seen = pairs_visible(trial);
  fovea_counts of_plan;
  assert_int_equal(fovea_plan_counts(plan, &of_plan), FOVEA_OK);
  fovea_plan_destroy(plan);
  char text[DESCRIPTION_SIZE];
  problem_describe(problem, text, sizeof text);
  if (of_run.pairs_computed != computed || of_run.pairs_visible != seen)
    fail_msg("%s: %lld computed, the run says %lld; %lld seen, the run says %lld; %s", isa, (long long)computed,
             (long long)of_run.pairs_computed, (long long)seen, (long long)of_run.pairs_visible, text);
  if (problem->mask.type != FOVEA_MASK_NONE || panels) return;
  assert_int_equal(of_plan.pairs_computed, computed);
  assert_int_equal(of_plan.pairs_visible, seen);
}

/* On tensors, and on caches of every kind. */
static void check_problem(const fovea_problem *problem, uint64_t seed, struct generator *generator) {
  struct trial trial = trial_create(problem, seed);
  const fovea_tensors tensors = trial_tensors(&trial);
  for (const char *const *isa = usable_isas_for(problem); *isa != NULL; isa++)
    check_counts(&trial, *isa, problem, &tensors, 0);
  for (int kind = 0; kind < CACHE_KINDS && problem->cu_seqlens_kv == NULL; kind++) {
    struct cache cache = cache_create(&trial, (enum cache_kind)kind, 0, NULL, generator);
    fovea_problem segmented = *problem;
    fovea_tensors cached = tensors;
    segmented.cache.segmented = 1;
    cached.k = cached.v = NULL;
    cached.cache.sequences = cache.sequences;
    for (const char *const *isa = whole_isas_for(problem); *isa != NULL; isa++)
      check_counts(&trial, *isa, &segmented, &cached, kind != CACHE_CONTIGUOUS);
    cache_destroy(&cache);
  }
  trial_destroy(&trial);
}

static void test_random_problems(void **state) {
  (void)state;
  struct generator generator = {77};
  for (int i = 0; i < USUAL_OR_LONG(8, 40); i++) {
    struct listed_problem listed;
    problem_random(&listed, &generator, USUAL_OR_LONG(INT64_C(200000), INT64_C(3000000)));
    if (i % 2) problem_random_features(&listed.problem, &generator);
    if (i % 3 && listed.problem.scores.kind) {
      fovea_problem *p = &listed.problem;
      p->scores.heads.begin = generator_below(&generator, p->heads);
      p->scores.rows.end = generator_below(&generator, p->q_len + 1);
      p->scores.keys = (fovea_range){generator_below(&generator, 2) * p->kv_len / 3, FOVEA_UNLIMITED};
      if (p->cu_seqlens_kv) p->scores.keys.begin = 0;
    }
    check_problem(&listed.problem, (uint64_t)i, &generator);
  }
}

/* From three rows to more than any table decodes, with keys in rows and in panels, so that both limits are crossed. */
static void test_few_rows(void **state) {
  (void)state;
  struct generator generator = {78};
  for (int64_t rows = 1; rows <= 20; rows += USUAL_OR_LONG(4, 1)) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 3, 1, rows, 300, 16, 16);
    problem.causal = 1;
    check_problem(&problem, (uint64_t)rows, &generator);
  }
}

/* Work enough that keys are split into parts. */
static void test_parts(void **state) {
  (void)state;
  struct generator generator = {79};
  for (int64_t rows = 1; rows <= 12; rows += 11) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, rows, USUAL_OR_LONG(4500, 9000), 64, 64);
    check_problem(&problem, (uint64_t)rows, &generator);
  }
}

static void test_errors(void **state) {
  (void)state;
  fovea_counts counts;
  assert_int_equal(fovea_run_counts(NULL, &counts), FOVEA_ERROR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_problems),
      cmocka_unit_test(test_few_rows),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
