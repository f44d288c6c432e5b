/* Random small problems, of any rules, patterns, types, masks, terms, normalisers, outputs and layout, with any
 * numbers, run by any number of workers. The library must give the bits of tests/contract.c, or of
 * tests/modes/contract_modes.c. */
#define _XOPEN_SOURCE 700 /* putenv */
#include "description.h"
#include "expect.h"
#include "features.h"
#include "support/executors.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/scenes.h"
#include "support/trial.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Products of a problem, and products spent on comparing its rows. */
enum { BUDGET = 2000000, COMPARED = 250000 };

/* Numbers at which arithmetic takes another path. */
static float any_number(struct bytes *bytes) {
  static const float numbers[] = {NAN,    INFINITY, -INFINITY, 0.0f,   -0.0f,    1.0f,     -1.0f,     100.0f,
                                  -88.0f, 65504.0f, -1e30f,    1e-41f, 0x1p-24f, 0x1p-50f, 0x1p-126f, FLT_MAX};
  return numbers[bytes_below(bytes, (int64_t)(sizeof numbers / sizeof numbers[0]))];
}

/* Writes such numbers at one place, or from there to the end of the row. */
static void poke(const struct tensor *tensor, struct bytes *bytes) {
  if (bytes_one_in(bytes, 2) || tensor->batch * tensor->heads * tensor->rows == 0) return;
  for (int64_t pokes = bytes_below(bytes, 4); pokes >= 0; pokes--) {
    const float number = rounded_number(tensor->type, any_number(bytes));
    const int64_t batch = bytes_below(bytes, tensor->batch), head = bytes_below(bytes, tensor->heads);
    float *row = tensor_row(tensor, batch, head, bytes_below(bytes, tensor->rows));
    const int64_t place = bytes_below(bytes, tensor->dim),
                  length = bytes_one_in(bytes, 4) ? tensor->dim - place : 1;
    for (int64_t d = place; d < place + length; d++) row[d] = number;
  }
}

static void poke_mask(struct mask *mask, struct bytes *bytes) {
  if (bytes_one_in(bytes, 2) || mask->batch * mask->heads * mask->rows * mask->keys == 0) return;
  for (int64_t pokes = bytes_below(bytes, 4); pokes >= 0; pokes--) {
    const float number = any_number(bytes);
    const int64_t batch = bytes_below(bytes, mask->batch), head = bytes_below(bytes, mask->heads);
    const int64_t row = bytes_below(bytes, mask->rows), key = bytes_below(bytes, mask->keys);
    mask_set(mask, batch, head, row, key, number);
  }
}

static void poke_all(struct trial *trial, struct bytes *bytes) {
  const struct tensor *const tensors[] = {&trial->q, &trial->k, &trial->v, &trial->sinks};
  for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) poke(tensors[i], bytes);
  poke_mask(&trial->mask, bytes);
  for (int64_t i = 0; i < trial->problem.terms.count; i++) poke(&trial->terms[i], bytes);
}

/* Whether a term may be out of range: a grid, whose cells are the problem's keys, or T5's buckets, whose distances are
 * drawn apart from their number. */
static int may_exclude(const fovea_problem *problem, int64_t term) {
  if (term < 0 || term >= problem->terms.count) return 0;
  const fovea_position_kind kind = problem->terms.list[term].kind;
  return kind == FOVEA_POSITION_GRID || kind == FOVEA_POSITION_T5;
}

/* Whether the problem has what the headers exclude with this field: of two settings the other, a term that may be
 * out of range, or an own key that is not set. */
static int is_excluded(const fovea_problem *problem, const char *field) {
  if (strncmp(field, "terms.list[", 11) == 0) return may_exclude(problem, field[11] - '0');
  if (strcmp(field, "normaliser.divisor") == 0)
    return problem->normaliser.divisor == FOVEA_DIVISOR_KEYS && problem->terms.count > 0;
  if (strcmp(field, "activation.kind") == 0) return (problem->shaw.kind & FOVEA_SHAW_KEYS) != 0;
  if (strcmp(field, "offset") == 0) return problem->offset == FOVEA_OFFSET_BOTTOM_RIGHT && problem->offsets == NULL;
  return 0;
}

/* Settings that exclude each other have no plan. */
static int is_refused(const fovea_problem *problem) {
  fovea_plan *plan;
  fovea_error error;
  const fovea_status status = fovea_plan_create(problem, NULL, &plan, &error);
  fovea_plan_destroy(plan);
  if (status == FOVEA_OK) return 0;
  expect_failure(status, &error);
  EXPECT(status == FOVEA_ERROR_UNUSED || (status == FOVEA_ERROR_ARGUMENT && is_excluded(problem, error.field)));
  return 1;
}

static const char *any_isa(struct bytes *bytes) {
  const char *const *names = usable_isas();
  int64_t count = 0;
  while (names[count] != NULL) count++;
  const int64_t choice = bytes_below(bytes, 2 * count);
  return choice < count ? names[choice] : NULL;
}

static void compare(const fovea_problem *problem, const struct rule_table *rules, struct bytes *bytes) {
  struct trial trial = trial_create_at(problem, (uint64_t)bytes_below(bytes, 65536),
                                       bytes_one_in(bytes, 2) ? GUARD_AT_START : GUARD_AT_END);
  trial.rules = rules;
  struct executor executor = {(enum task_order)bytes_below(bytes, TASK_ORDERS), 0};
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = (int)bytes_below(bytes, 6);
  execution.parallel_for = serial_for;
  execution.parallel_context = &executor;
  poke_all(&trial, bytes);
  trial_run(&trial, any_isa(bytes), &execution);
  assert_contract(&trial, COMPARED);
  EXPECT(trial_gaps_untouched(&trial));
  trial_destroy(&trial);
}

/* Chooses the problem as the other tests do. */
static void compare_random(struct bytes *bytes) {
  struct generator generator = {(uint64_t)bytes_number(bytes)};
  struct listed_problem listed;
  problem_random(&listed, &generator, BUDGET);
  problem_random_features(&listed.problem, &generator);
  problem_random_layout(&listed.problem, &generator);
  problem_random_modes(&listed.problem, &generator, 4);
  compare(&listed.problem, NULL, bytes);
}

static void compare_combination(struct bytes *bytes) {
  static struct scene scene;
  struct generator generator = {(uint64_t)bytes_number(bytes)};
  scene_combine(&scene, &generator, BUDGET / 4);
  if (!is_refused(&scene.listed.problem)) compare(&scene.listed.problem, &scene.rules, bytes);
  scene_end(&scene);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes bytes = {data, size};
  static char abort_setting[] = "CMOCKA_TEST_ABORT=1";
  putenv(abort_setting); /* a failure must end the program, since no cmocka test is running */
  static int amx_asked;  /* once */
  if (!amx_asked++) fovea_allow_amx(NULL);
  const int64_t kind = bytes_below(&bytes, 256); /* the lowest three bits chose before there were features */
  if (kind % 8 == 7) {
    (kind < 128 ? compare_random : compare_combination)(&bytes);
    return 0;
  }
  struct description description;
  description_create(&description, &bytes, DESCRIBE_SOUND, BUDGET);
  if (kind >= 128) description_add_features(&description, &bytes, DESCRIBE_SOUND);
  if (kind < 128 || !is_refused(&description.problem)) compare(&description.problem, NULL, &bytes);
  description_destroy(&description);
  return 0;
}
