/* Any problem at all: planned, asked about, and run if possible. No call may crash, or read or write a byte
 * outside. A call that fails leaves the outputs alone, and every way to run a plan gives the same bits. */
#include "description.h"
#include "expect.h"
#include "features.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/memory.h"
#include "support/single_task.h"
#include "tensors.h"
#include "wild.h"

#include <stddef.h>
#include <string.h>

enum { BUDGET = 2000000, ROWS_COUNTED = 1 << 14 };

/* What all calls for one input share. */
struct subject {
  const fovea_problem *given; /* in memory of its own */
  fovea_problem problem;      /* the same */
  fovea_plan *plan;
  struct tensors tensors;
  int with_lse;
  uint64_t inputs, outputs; /* digests of the right bytes */
  uint64_t rows;            /* of the outputs, without the bytes between their rows */
};

/* A problem as a program may hand it in: compiled with other fields, or full of nonsense. */
static fovea_problem *given_problem(const fovea_problem *problem, struct bytes *bytes) {
  size_t size = sizeof *problem;
  if (bytes_one_in(bytes, 16)) size = (size_t)wild_number(bytes);
  if (bytes_one_in(bytes, 16)) size = offsetof(fovea_problem, q_type) + 8 * (size_t)bytes_below(bytes, 12);
  const size_t there = size == sizeof *problem ? size : sizeof size; /* refused before anything else is read */
  fovea_problem *given = malloc(there);
  if (given == NULL) abort();
  memcpy(given, problem, there);
  memcpy(given, &size, sizeof size);
  return given;
}

/* If a problem has no plan, it has no run either, whatever the tensors are. */
static void expect_refusal(const fovea_problem *given, const char *isa, fovea_status status) {
  float outputs[2] = {1.0f, 2.0f};
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, NULL, NULL, NULL, &outputs[0], &outputs[1]);
  fovea_error error;
  EXPECT(fovea_attend(given, &tensors, on_isa(isa), &error) == status);
  expect_failure(status, &error);
  EXPECT(outputs[0] == 1.0f && outputs[1] == 2.0f);
}

/* The plain call, without tensors. */
static void call_plainly(const fovea_problem *p) {
  const fovea_status status = fovea_attention(NULL, NULL, NULL, NULL, p->batch, p->heads, p->kv_heads, p->q_len,
                                              p->kv_len, p->qk_dim, p->causal);
  EXPECT(status != FOVEA_OK || p->q_len == 0); /* without rows no tensor is used */
}

/* Facts about a plan that hold for any problem. */
static void question(const struct subject *subject, struct bytes *bytes) {
  const fovea_problem *problem = &subject->problem;
  const fovea_plan *plan = subject->plan;
  const int phases = fovea_plan_phases(plan);
  const int workers = 1 + (int)(bytes_number(bytes) & (INT32_MAX - 1));
  EXPECT(phases >= 1 && fovea_plan_isa(plan)[0] != 0);
  for (int phase = -1; phase <= phases; phase++) {
    const int64_t tasks = fovea_plan_tasks(plan, phase);
    EXPECT(tasks >= 0 && (tasks == 0 || (phase >= 0 && phase < phases)));
  }
  EXPECT(fovea_plan_scratch_size(plan, 0) == 0);
  EXPECT(fovea_plan_scratch_size(plan, 1) >= sizeof(float) * (size_t)(problem->qk_dim + problem->v_dim));
  /* Each further worker adds the same, up to the largest size. */
  const size_t one = fovea_plan_scratch_size(plan, 1), each = fovea_plan_scratch_size(plan, 2) - one;
  const size_t shared = fovea_plan_scratch_size(plan, workers);
  EXPECT(shared == SIZE_MAX || (shared - one == (size_t)(workers - 1) * each));
  if (problem->q_len > ROWS_COUNTED || problem->batch * problem->heads * problem->q_len > ROWS_COUNTED) return;
  fovea_counts counts;
  EXPECT(fovea_plan_counts(plan, &counts) == FOVEA_OK);
  EXPECT(counts.pairs_visible >= 0 && counts.pairs_computed >= counts.pairs_visible);
}

static void expect_result(const struct subject *subject) {
  EXPECT(tensors_output_digest(&subject->tensors) == subject->outputs);
  EXPECT(tensors_input_digest(&subject->tensors) == subject->inputs);
  tensors_reset(&subject->tensors);
}

static void run_at_once(struct subject *subject) {
  const fovea_tensors call = tensors_for_call(&subject->tensors, &subject->problem, subject->with_lse);
  EXPECT(fovea_attend(subject->given, &call, NULL, NULL) == FOVEA_OK);
  EXPECT(tensors_are_written(&subject->tensors, &subject->problem, subject->with_lse));
  subject->outputs = tensors_output_digest(&subject->tensors);
  subject->rows = tensors_rows_digest(&subject->tensors, &subject->problem, &call);
  tensors_reset(&subject->tensors);
}

/* Runs the plan by a caller's loop, in any order, with any number of workers. */
static void run_plan(const struct subject *subject, struct bytes *bytes) {
  const fovea_tensors call = tensors_for_call(&subject->tensors, &subject->problem, subject->with_lse);
  struct executor executor = {(enum task_order)bytes_below(bytes, TASK_ORDERS), 0};
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = (int)bytes_below(bytes, 9);
  if (bytes_one_in(bytes, 2)) {
    execution.parallel_for = serial_for;
    execution.parallel_context = &executor;
  }
  if (bytes_one_in(bytes, 2)) {
    execution.scratch_size = fovea_plan_scratch_size(subject->plan, execution.threads > 0 ? execution.threads : 64);
    execution.scratch = memory_allocate(execution.scratch_size);
  }
  EXPECT(fovea_plan_run(subject->plan, &call, &execution, NULL) == FOVEA_OK);
  memory_free(execution.scratch);
  expect_result(subject);
}

static void run_tasks(const struct subject *subject, struct bytes *bytes) {
  const fovea_tensors call = tensors_for_call(&subject->tensors, &subject->problem, subject->with_lse);
  const enum task_order order = (enum task_order)bytes_below(bytes, TASK_ORDERS);
  const int workers = 1 + (int)bytes_below(bytes, 5);
  const size_t size = fovea_plan_scratch_size(subject->plan, workers);
  void *scratch = memory_allocate(size);
  for (int phase = 0; phase < fovea_plan_phases(subject->plan); phase++) {
    const int64_t tasks = fovea_plan_tasks(subject->plan, phase);
    for (int64_t step = 0; step < tasks; step++)
      EXPECT(single_task(subject->plan, &call, phase, task_at(order, tasks, step), (int)(step % workers), workers,
                         scratch, size, NULL) == FOVEA_OK);
  }
  memory_free(scratch);
  expect_result(subject);
}

/* Moves a pointer, maybe to nowhere, which C's pointer arithmetic does not allow. */
static void *moved(const void *pointer, int64_t bytes) {
  const uintptr_t address = (uintptr_t)pointer + (uintptr_t)bytes;
  void *result;
  memcpy(&result, &address, sizeof result);
  return result;
}

/* Moves an output to some place within another tensor. Does not move it if that tensor is too small, or if not all
 * of it is read. */
static void *moved_into(const struct region *output, const struct region *other, void *unmoved,
                        struct bytes *bytes) {
  const int64_t place = bytes_below(bytes, 65536);
  if (output == other || output->size == 0 || output->size > other->size) return unmoved;
  if (other->first_row > 0 || other->end_row < other->extent[2]) return unmoved;
  const unsigned char *first = other->block + place % (int64_t)(other->size - output->size + 1);
  return moved(output->data, (int64_t)((uintptr_t)first - (uintptr_t)output->block));
}

/* Changes sizes or keys of a state, or moves it into memory that something else uses. */
static void spoil_state(fovea_state *state, const struct region *regions, const struct region *other,
                        struct bytes *bytes) {
  static const struct field fields[] = {
      {FIELD_LONG, offsetof(fovea_state, batch)},         {FIELD_LONG, offsetof(fovea_state, heads)},
      {FIELD_LONG, offsetof(fovea_state, rows)},          {FIELD_LONG, offsetof(fovea_state, dim)},
      {FIELD_LONG, offsetof(fovea_state, keys.begin)},    {FIELD_LONG, offsetof(fovea_state, keys.end)},
      {FIELD_LONG, offsetof(fovea_state, strides.batch)}, {FIELD_LONG, offsetof(fovea_state, strides.head)},
      {FIELD_LONG, offsetof(fovea_state, strides.row)},
  };
  const int64_t choice = bytes_below(bytes, 4);
  if (choice == 0) wild_edit(state, fields, sizeof fields / sizeof fields[0] - 3, bytes);
  if (choice == 1) state->numbers = moved_into(&regions[TENSOR_STATE], other, state->numbers, bytes);
  if (choice == 2) state->numbers = bytes_below(bytes, 2) ? NULL : moved(state->numbers, 2);
  if (choice == 3) state->strides.row = bytes_below(bytes, state->dim + 2); /* row states share memory */
}

/* Spoils one of the pointers. */
static void spoil(fovea_tensors *call, fovea_state *state, const struct region *regions, struct bytes *bytes) {
  const void **const inputs[] = {&call->q, &call->k, &call->v, &call->mask};
  const struct region *other = &regions[bytes_below(bytes, call->lse != NULL ? TENSOR_STATE : TENSOR_LSE)];
  switch (bytes_below(bytes, 10)) {
  case 0:
    *inputs[bytes_below(bytes, 4)] = NULL;
    return;
  case 1:
    call->o = NULL;
    return;
  case 2:
    call->sink = NULL;
    return;
  case 3:
    call->o = moved(call->o, 1); /* aligned for no type */
    return;
  case 4:
    call->lse = moved(call->lse, 1 + bytes_below(bytes, 3));
    return;
  case 5:
    call->o = moved_into(&regions[TENSOR_O], other, call->o, bytes);
    return;
  case 6:
    if (call->lse != NULL) call->lse = moved_into(&regions[TENSOR_LSE], other, call->lse, bytes);
    return;
  case 7:
    call->state = NULL;
    return;
  case 8:
    *state = (fovea_state){.struct_size = sizeof *state}; /* refused if the problem has another result */
    if (call->state != NULL) {
      *state = *call->state;
      spoil_state(state, regions, other, bytes);
    }
    call->state = state;
    return;
  default:
    call->struct_size = (size_t)bytes_below(bytes, (int64_t)offsetof(fovea_tensors, mask));
  }
}

/* The call must be refused and change nothing; or, if there is nothing to read or to write, it must be right. */
static void expect_refused_or_right(const struct subject *subject, fovea_status status, const fovea_error *error) {
  if (status == FOVEA_OK) {
    expect_result(subject);
    return;
  }
  expect_failure(status, error);
  EXPECT(tensors_are_untouched(&subject->tensors));
  EXPECT(tensors_input_digest(&subject->tensors) == subject->inputs);
}

/* Whether an output was moved between the rows of another tensor, or into rows that are never read. There it must
 * be right. */
static int is_elsewhere(const fovea_tensors *call, const fovea_tensors *given) {
  return call->o != given->o || call->lse != given->lse ||
         (call->state != NULL && given->state != NULL && call->state->numbers != given->state->numbers);
}

static void run_on_spoiled_tensors(struct subject *subject, struct bytes *bytes) {
  const fovea_tensors given = tensors_for_call(&subject->tensors, &subject->problem, subject->with_lse);
  fovea_tensors call = given;
  fovea_error error;
  fovea_state state;
  spoil(&call, &state, subject->tensors.regions, bytes);
  const int elsewhere = is_elsewhere(&call, &given);
  if (elsewhere) tensors_open(&subject->tensors); /* bytes between rows may be written */
  const fovea_status status = fovea_plan_run(subject->plan, &call, NULL, &error);
  if (status == FOVEA_OK && elsewhere)
    EXPECT(tensors_rows_digest(&subject->tensors, &subject->problem, &call) == subject->rows);
  if (elsewhere) tensors_close(&subject->tensors);
  if (status == FOVEA_OK && elsewhere) {
    tensors_reset(&subject->tensors);
    subject->inputs = tensors_input_digest(&subject->tensors);
    return;
  }
  expect_refused_or_right(subject, status, &error);
}

static void release_nothing(void *context, void *memory) {
  (void)context, (void)memory;
}

static void run_with_spoiled_execution(const struct subject *subject, struct bytes *bytes) {
  const fovea_tensors call = tensors_for_call(&subject->tensors, &subject->problem, subject->with_lse);
  const size_t size = fovea_plan_scratch_size(subject->plan, 1);
  unsigned char *scratch = memory_allocate(size);
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch = scratch;
  execution.scratch_size = size;
  const int64_t choice = bytes_below(bytes, 7);
  if (choice == 0) execution.threads = -1 - (int)bytes_below(bytes, 8);
  if (choice == 1) execution.scratch_size = (size_t)bytes_number(bytes) % size;
  if (choice == 2) execution.scratch = scratch + 1 + bytes_below(bytes, FOVEA_SCRATCH_ALIGNMENT - 1);
  if (choice == 3) execution.struct_size = (size_t)wild_number(bytes);
  if (choice == 4) execution.isa = bytes_one_in(bytes, 2) ? "scalar" : "abacus";
  if (choice == 5) execution.allocator.context = scratch;
  if (choice == 6) execution.allocator.release = release_nothing;
  fovea_error error;
  const fovea_status status = fovea_plan_run(subject->plan, &call, &execution, &error);
  memory_free(scratch);
  expect_refused_or_right(subject, status, &error);
}

/* Runs a task with a phase, task or worker that may not exist. */
static void run_any_task(const struct subject *subject, struct bytes *bytes) {
  const fovea_tensors call = tensors_for_call(&subject->tensors, &subject->problem, subject->with_lse);
  const size_t size = fovea_plan_scratch_size(subject->plan, 2);
  void *scratch = memory_allocate(size);
  const int phase = bytes_one_in(bytes, 4) ? (int)wild_number(bytes) : 0;
  const int64_t task = wild_number(bytes);
  const int worker = (int)wild_number(bytes), workers = bytes_one_in(bytes, 2) ? 2 : (int)wild_number(bytes);
  fovea_error error;
  const fovea_status status =
      single_task(subject->plan, &call, phase, task, worker, workers, scratch, size, &error);
  memory_free(scratch);
  if (status == FOVEA_OK)
    tensors_reset(&subject->tensors);
  else
    expect_refused_or_right(subject, status, &error);
}

static void run(struct subject *subject, struct bytes *bytes) {
  const fovea_problem *p = &subject->problem;
  const double products = (double)p->batch * (double)p->heads * (double)p->q_len * ((double)p->kv_len + 1.0) *
                          ((double)p->qk_dim + (double)p->v_dim);
  if (products > BUDGET || fovea_plan_scratch_size(subject->plan, 8) > REGION_BYTES * 4) return;
  if (!tensors_create(&subject->tensors, p, bytes)) return;
  subject->with_lse = bytes_below(bytes, 2) == 0 && p->normaliser.kind == FOVEA_NORMALISER_SOFTMAX;
  subject->inputs = tensors_input_digest(&subject->tensors);
  run_at_once(subject);
  run_plan(subject, bytes);
  run_tasks(subject, bytes);
  run_on_spoiled_tensors(subject, bytes);
  run_with_spoiled_execution(subject, bytes);
  run_any_task(subject, bytes);
  tensors_destroy(&subject->tensors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes bytes = {data, size};
  struct description description;
  const int64_t choice = bytes_below(&bytes, 256); /* the lowest bit chose before there were features */
  const enum description_kind kind = choice % 2 == 1 ? DESCRIBE_SOUND : DESCRIBE_WILD;
  description_create(&description, &bytes, kind, BUDGET);
  if (choice >= 128) description_add_features(&description, &bytes, kind);
  if (bytes_one_in(&bytes, 4)) description.problem.state = 1;
  fovea_problem *given = given_problem(&description.problem, &bytes);
  struct subject subject = {.given = given};
  fovea_error error;
  const fovea_status status = fovea_plan_create(given, on_isa(description.isa), &subject.plan, &error);
  if (status != FOVEA_OK) {
    EXPECT(subject.plan == NULL);
    expect_failure(status, &error);
    expect_refusal(given, description.isa, status);
  } else {
    subject.problem = *given;
    question(&subject, &bytes);
    run(&subject, &bytes);
  }
  call_plainly(&description.problem);
  fovea_plan_destroy(subject.plan);
  free(given);
  description_destroy(&description);
  return 0;
}
