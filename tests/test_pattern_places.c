/* Patterns wherever rows and keys may lie: batches of any kind, caches, masks, states, parts of keys, threads,
 * chunks of a prompt. Each has the bits of a mask tensor of the same meaning. */
#include "support/caches.h"
#include "support/check.h"
#include "support/executors.h"
#include "support/patterns.h"
#include "support/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A problem, the patterns of its entries, and what they mean. */
struct scene {
  struct listed_problem listed;
  struct made_rules made;
  struct rule_table rules;
  const fovea_pattern *patterns[LISTED_ENTRIES];
  fovea_pattern *own[LISTED_ENTRIES]; /* to be destroyed */
  int64_t mask_begins[LISTED_ENTRIES];
};

/* The rows and keys that all entries of a problem have, as a pattern counts them. */
struct range {
  int64_t first_row, rows, keys;
  int by_row;
};

static struct range range_of(const fovea_problem *problem, struct generator *generator) {
  int64_t first = INT64_MAX, end = 0, most = 1, keys = 1;
  for (int64_t b = 0; b < problem->batch; b++) {
    const struct entry entry = problem_entry(problem, b);
    if (entry.q_len > most) most = entry.q_len;
    if (entry.kv_len > keys) keys = entry.kv_len;
    if (entry.offset < first) first = entry.offset;
    if (entry.offset + entry.q_len > end) end = entry.offset + entry.q_len;
  }
  keys += generator_below(generator, 3) ? 0 : generator_below(generator, 200);
  if (first < 0 || generator_below(generator, 3) == 0)
    return (struct range){0, most + generator_below(generator, 40), keys, 1};
  const int64_t earlier = generator_below(generator, first + 1);
  return (struct range){first - earlier, end - first + earlier + (end == first), keys, 0};
}

static fovea_pattern *create_pattern(const struct range *range, const fovea_rule *const *rules, int64_t heads) {
  fovea_pattern *pattern;
  fovea_error error;
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, NULL, range->rows, range->keys);
  options.rules = rules;
  options.heads = heads;
  options.first_row = range->first_row;
  options.by_row = range->by_row;
  if (fovea_pattern_create(&options, &pattern, &error) != FOVEA_OK) fail_msg("%s", error.text);
  return pattern;
}

/* The pattern of some entries: one rule, or one for each kv head or query head. */
static void add_pattern(struct scene *scene, struct generator *generator, const struct range *range, int64_t first,
                        int64_t entries) {
  const fovea_problem *problem = &scene->listed.problem;
  const int64_t counts[] = {1, problem->kv_heads, problem->heads}, heads = counts[generator_below(generator, 3)];
  const int depth = heads > 4 ? 0 : (int)generator_below(generator, 3);
  const fovea_rule *rules[TABLE_HEADS];
  for (int64_t h = 0; h < heads; h++)
    rules[h] = rule_random_joined(&scene->made, generator, depth, range->first_row, range->rows, range->keys);
  scene->own[first] = create_pattern(range, rules, heads);
  for (int64_t b = first; b < first + entries; b++) {
    scene->patterns[b] = scene->own[first];
    for (int64_t h = 0; h < problem->heads; h++)
      scene->rules.of[b][h] = rules[heads == problem->heads ? h : heads == 1 ? 0 : h * heads / problem->heads];
  }
}

/* Gives the problem one pattern, or one for each entry, some of them none. */
static void add_patterns(struct scene *scene, struct generator *generator) {
  fovea_problem *problem = &scene->listed.problem;
  const struct range range = range_of(problem, generator);
  scene->rules.by_row = range.by_row;
  if (generator_below(generator, 2)) {
    add_pattern(scene, generator, &range, 0, problem->batch);
    problem->pattern = scene->own[0];
    return;
  }
  for (int64_t b = 0; b < problem->batch; b++)
    if (generator_below(generator, 4)) add_pattern(scene, generator, &range, b, 1);
  problem->patterns = scene->patterns;
}

/* Masks from other keys on: the first keys of each entry, or of all. */
static void set_mask_begins(struct scene *scene, struct generator *generator) {
  fovea_problem *problem = &scene->listed.problem;
  if (problem->mask_type == FOVEA_MASK_NONE || generator_below(generator, 2)) return;
  problem->mask_begin = 0;
  problem->mask_keys =
      generator_below(generator, 2) ? FOVEA_UNLIMITED : generator_below(generator, problem->kv_len);
  for (int64_t b = 0; b < problem->batch; b++)
    scene->mask_begins[b] = generator_below(generator, problem_entry(problem, b).kv_len + 1);
  problem->mask_begins = scene->mask_begins;
  problem->mask_strides = fovea_mask_layout(problem->mask_type, problem->batch, problem->heads,
                                            problem_mask_rows(problem), problem_mask_keys(problem));
}

static void scene_begin(struct scene *scene, struct generator *generator, uint64_t seed) {
  memset(scene, 0, sizeof *scene);
  problem_random(&scene->listed, generator, IF_QUICK(INT64_C(100000), INT64_C(1000000)));
  fovea_problem *problem = &scene->listed.problem;
  problem_random_features(problem, generator);
  if (seed % 2) problem->mask_type = (fovea_mask_type)(seed / 2 % 6); /* every type */
  if (problem->mask_type == FOVEA_MASK_NONE) {
    problem->mask_begin = 0;
    problem->mask_keys = FOVEA_UNLIMITED;
  } else {
    problem->mask_strides = fovea_mask_layout(problem->mask_type, problem->batch, problem->heads,
                                              problem_mask_rows(problem), problem_mask_keys(problem));
  }
  set_mask_begins(scene, generator);
  /* A key before the mask's first has no bias; a mask of all keys adds 0 to it, which -0 shows in scores. */
  if (problem->mask_type != FOVEA_MASK_NONE) problem->score_output = FOVEA_SCORES_NONE;
  if (generator_below(generator, 4) == 0) problem->keys_begin = generator_below(generator, problem->kv_len + 1);
  if (generator_below(generator, 4) == 0)
    problem->keys_end = problem->keys_begin + generator_below(generator, problem->kv_len - problem->keys_begin + 1);
  add_patterns(scene, generator);
}

static void scene_end(struct scene *scene) {
  for (int b = 0; b < LISTED_ENTRIES; b++) fovea_pattern_destroy(scene->own[b]);
  rules_free(&scene->made);
}

/* Every kind of cache, each on one instruction set. */
static void check_caches(struct trial *patterned, const struct trial *masked, struct generator *generator) {
  const char *const *isas = usable_isas();
  int count = 0;
  while (isas[count] != NULL) count++;
  for (int kind = 0; kind < CACHE_KINDS; kind++) {
    struct cache cache = cache_create(patterned, (enum cache_kind)kind, 0, NULL, generator);
    trial_run_cached(patterned, isas[generator_below(generator, count)], cache.sequences, NULL);
    assert_same_outputs(patterned, masked);
    cache_destroy(&cache);
  }
}

static void check_threads(struct trial *patterned, const struct trial *masked) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 3;
  execution.parallel_for = threads_for;
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {.order = (enum task_order)order};
    execution.parallel_context = &executor;
    trial_run(patterned, NULL, &execution);
    assert_same_outputs(patterned, masked);
  }
}

static void test_any_place(void **state) {
  (void)state;
  static struct scene scene;
  for (uint64_t seed = 0; seed < IF_QUICK(12, 120); seed++) {
    struct generator generator = {seed};
    scene_begin(&scene, &generator, seed);
    struct trial patterned = trial_create(&scene.listed.problem, seed);
    struct trial masked = masked_trial(&patterned, seed, &scene.rules);
    const char *const *isas = usable_isas();
    fovea_execution execution;
    fovea_execution_init(&execution);
    execution.threads = 1;
    trial_run(&masked, NULL, &execution);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&patterned, isas[isa], &execution);
      assert_same_outputs(&patterned, &masked);
      assert_true(trial_gaps_untouched(&patterned));
    }
    check_threads(&patterned, &masked);
    if (scene.listed.problem.cu_seqlens_kv == NULL) check_caches(&patterned, &masked, &generator);
    trial_destroy(&masked);
    trial_destroy(&patterned);
    scene_end(&scene);
  }
}

/* ---- Few rows and many keys */

/* A problem of few rows that has parts of keys, with a pattern of random rules for it. */
static void few_rows(struct scene *scene, struct generator *generator, int64_t keys) {
  memset(scene, 0, sizeof *scene);
  fovea_problem *problem = &scene->listed.problem;
  fovea_problem_init(problem, 1, 1 + generator_below(generator, 4), 1, 1 + generator_below(generator, 4), keys, 64,
                     48);
  problem->causal = (int)generator_below(generator, 2);
  if (generator_below(generator, 3) == 0) {
    problem->mask_type = (fovea_mask_type)(1 + generator_below(generator, 5));
    problem->mask_strides =
        fovea_mask_layout(problem->mask_type, 1, problem->heads, problem->q_len, problem->kv_len);
  }
  add_patterns(scene, generator);
}

static void test_parts(void **state) {
  (void)state;
  static const int64_t lengths[] = {1700, 2049, 4200, 9001, 17000};
  static struct scene scene;
  for (uint64_t seed = 0; seed < IF_QUICK(5, 40); seed++) {
    struct generator generator = {seed};
    few_rows(&scene, &generator, lengths[seed % IF_QUICK(3, 5)]);
    struct trial patterned = trial_create(&scene.listed.problem, seed);
    struct trial masked = masked_trial(&patterned, seed, &scene.rules);
    const char *const *isas = usable_isas();
    fovea_execution execution;
    fovea_execution_init(&execution);
    execution.threads = 1;
    trial_run(&masked, NULL, &execution);
    for (int isa = 0; isas[isa] != NULL; isa++) {
      trial_run(&patterned, isas[isa], &execution);
      assert_same_outputs(&patterned, &masked);
    }
    check_threads(&patterned, &masked);
    trial_destroy(&masked);
    trial_destroy(&patterned);
    scene_end(&scene);
  }
}

/* ---- States */

struct made {
  fovea_state state;
  float *numbers;
  size_t size;
};

static struct made made_create(const fovea_problem *problem, int64_t begin, int64_t end) {
  struct made made;
  const int64_t rows = problem->batch * problem->heads * problem->q_len;
  made.size = (size_t)(rows * fovea_state_numbers(problem->v_dim, begin, end)) * sizeof(float);
  made.numbers = malloc(made.size);
  assert_non_null(made.numbers);
  fovea_state_init(&made.state, problem->batch, problem->heads, problem->q_len, problem->v_dim, begin, end,
                   made.numbers);
  return made;
}

static struct made run_state(const struct trial *trial, int64_t begin, int64_t end) {
  struct made made = made_create(&trial->problem, begin, end);
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  fovea_error error;
  problem.isa = NULL;
  problem.to_state = 1;
  problem.keys_begin = begin;
  problem.keys_end = end;
  tensors.o = tensors.lse = NULL;
  tensors.state = &made.state;
  if (fovea_attend(&problem, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  return made;
}

static void assert_same_states(const struct made *left, const struct made *right) {
  assert_int_equal(left->size, right->size);
  assert_memory_equal(left->numbers, right->numbers, left->size);
}

/* States of a pattern are those of the mask; cut at the end of a span, merged and finished they are one run. */
static void test_states(void **state) {
  (void)state;
  static struct scene scene;
  enum { CUT = 2048 };
  for (uint64_t seed = 0; seed < IF_QUICK(4, 24); seed++) {
    struct generator generator = {seed};
    const int64_t keys = CUT + 1 + generator_below(&generator, 2500), at = generator_below(&generator, keys);
    few_rows(&scene, &generator, keys);
    struct trial patterned = trial_create(&scene.listed.problem, seed);
    struct trial masked = masked_trial(&patterned, seed, &scene.rules);
    trial_run(&masked, NULL, NULL);
    struct made left = run_state(&patterned, 0, CUT), right = run_state(&patterned, CUT, keys);
    struct made mask_left = run_state(&masked, 0, CUT), mask_right = run_state(&masked, CUT, keys);
    struct made part = run_state(&patterned, at, keys), mask_part = run_state(&masked, at, keys);
    assert_same_states(&left, &mask_left);
    assert_same_states(&right, &mask_right);
    assert_same_states(&part, &mask_part);
    struct made merged = made_create(&patterned.problem, 0, keys);
    assert_int_equal(fovea_state_merge(&left.state, &right.state, &merged.state, NULL, NULL), FOVEA_OK);
    fovea_tensors tensors = trial_tensors(&patterned);
    tensors.state = &merged.state;
    fovea_error error;
    trial_clear(&patterned);
    if (fovea_state_finish(&patterned.problem, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    trial_load(&patterned);
    assert_same_outputs(&patterned, &masked);
    struct made *const all[] = {&left, &right, &mask_left, &mask_right, &part, &mask_part, &merged};
    for (int i = 0; i < 7; i++) free(all[i]->numbers);
    trial_destroy(&masked);
    trial_destroy(&patterned);
    scene_end(&scene);
  }
}

/* ---- One pattern for a prompt, its chunks, and steps of decoding */

enum { LENGTH = 300, HEADS = 4, KV_HEADS = 2, DIM = 24 };

/* Chunks of some rows of one trial, each a call of its own: it sees the keys up to its last row. */
struct chunks {
  const struct trial *whole;
  const float *q, *k, *v;
  float *o, *lse;
  int64_t rows; /* of a chunk */
  fovea_status status[LENGTH];
};

static void run_chunk(void *job, int64_t task, int worker) {
  struct chunks *chunks = job;
  const int64_t first = task * chunks->rows;
  const int64_t rows = first + chunks->rows > LENGTH ? LENGTH - first : chunks->rows;
  const fovea_problem *whole = &chunks->whole->problem;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;
  (void)worker;
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, rows, first + rows, DIM, DIM);
  fovea_execution_init(&execution);
  execution.threads = 1;
  problem.causal = 1;
  problem.q_strides = whole->q_strides;
  problem.k_strides = whole->k_strides;
  problem.v_strides = whole->v_strides;
  problem.o_strides = whole->o_strides;
  problem.lse_strides = whole->lse_strides;
  problem.pattern = whole->pattern;
  fovea_tensors_init(&tensors, chunks->q + first * DIM, chunks->k, chunks->v, chunks->o + first * DIM,
                     chunks->lse + first);
  chunks->status[task] = fovea_attend(&problem, &tensors, &execution, NULL);
}

static void check_chunks(const struct trial *whole, int64_t rows) {
  struct trial split = trial_sharing_inputs(whole);
  const fovea_tensors tensors = trial_tensors(&split);
  struct executor executor = {.order = TASKS_SHUFFLED};
  static struct chunks chunks;
  chunks = (struct chunks){whole, tensors.q, tensors.k, tensors.v, tensors.o, tensors.lse, rows, {FOVEA_OK}};
  const int64_t count = (LENGTH + rows - 1) / rows;
  threads_for(&executor, count, 3, run_chunk, &chunks);
  for (int64_t i = 0; i < count; i++) assert_int_equal(chunks.status[i], FOVEA_OK);
  assert_same_outputs(&split, whole);
  trial_destroy(&split);
}

/* Threads share the pattern, which was made once for the whole sequence. */
static void test_chunks(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 3, 17, 64, 150};
  for (uint64_t seed = 0; seed < IF_QUICK(4, 30); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    const fovea_rule *rule = rule_random_joined(&made, &generator, 2, 0, LENGTH, LENGTH);
    fovea_pattern *pattern = pattern_of(rule, 0, LENGTH, LENGTH, 0);
    fovea_problem problem;
    fovea_problem_init(&problem, 1, HEADS, KV_HEADS, LENGTH, LENGTH, DIM, DIM);
    problem.causal = 1;
    problem.pattern = pattern;
    struct trial whole = trial_create(&problem, seed);
    const struct rule_table rules = same_rules(rule, 0);
    struct trial masked = masked_trial(&whole, seed, &rules);
    trial_run(&masked, NULL, NULL);
    trial_run(&whole, NULL, NULL);
    assert_same_outputs(&whole, &masked);
    for (int i = 0; i < 5; i++) check_chunks(&whole, rows[i]);
    trial_destroy(&masked);
    trial_destroy(&whole);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
}

/* ---- Keys that a pattern hides */

enum { HIDDEN_ROWS = 90, HIDDEN_KEYS = 420 };

/* Keys and values that `row` does not see become NaN and infinite. Rows that see none of them keep their bits. */
static void check_hidden(const fovea_problem *problem, const struct trial *clean, const fovea_rule *rule,
                         int64_t row, uint64_t seed) {
  static const uint32_t wild[] = {0x7fc00000, 0xff800000, 0x7f800000, 0xff800123};
  struct trial changed = trial_create(problem, seed);
  const char *const *isas = usable_isas();
  for (int64_t key = 0; key < HIDDEN_KEYS; key++)
    for (int64_t d = 0; d < DIM && !rule_sees(rule, row, key); d++)
      for (int64_t h = 0; h < KV_HEADS; h++) {
        tensor_row(&changed.k, 0, h, key)[d] = from_bits(wild[(key + d) % 4]);
        tensor_row(&changed.v, 0, h, key)[d] = from_bits(wild[(key + d + 1) % 4]);
      }
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 1;
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&changed, isas[isa], &execution);
    for (int64_t i = 0; i < HIDDEN_ROWS; i++) {
      const struct part at = {0, 0, i};
      int64_t key = 0;
      while (key < HIDDEN_KEYS && (rule_sees(rule, row, key) || !rule_sees(rule, i, key))) key++;
      if (key == HIDDEN_KEYS) assert_same_part(&changed, at, clean, at, 1, HEADS, 1);
    }
  }
  trial_destroy(&changed);
}

static void test_hidden_keys(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < IF_QUICK(12, 72); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    const fovea_rule_kind kind = (fovea_rule_kind)(1 + seed % FOVEA_RULE_NEIGHBOURHOOD);
    const fovea_rule *rule = rule_random(&made, &generator, kind, 0, HIDDEN_ROWS, HIDDEN_KEYS);
    if (seed % 5 == 0) rule = rule_keep(&made, fovea_rule_not(rule));
    fovea_pattern *pattern = pattern_of(rule, 0, HIDDEN_ROWS, HIDDEN_KEYS, 1);
    fovea_problem problem;
    fovea_problem_init(&problem, 1, HEADS, KV_HEADS, HIDDEN_ROWS, HIDDEN_KEYS, DIM, DIM);
    problem.pattern = pattern;
    struct trial clean = trial_create(&problem, seed);
    trial_run(&clean, NULL, NULL);
    for (int i = 0; i < 3; i++)
      check_hidden(&problem, &clean, rule, generator_below(&generator, HIDDEN_ROWS), seed);
    trial_destroy(&clean);
    fovea_pattern_destroy(pattern);
    rules_free(&made);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_any_place), cmocka_unit_test(test_parts),       cmocka_unit_test(test_states),
      cmocka_unit_test(test_chunks),    cmocka_unit_test(test_hidden_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
