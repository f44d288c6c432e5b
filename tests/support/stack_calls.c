#include "stack_calls.h"

#include "check.h"
#include "memory.h"
#include "painted.h"

#include <fovea/explain.h>
#include <stdio.h>

/* All that calls need, so that nothing of it lies on the painted stack. */
struct calls {
  fovea_problem problem;
  const fovea_tensors *tensors;
  fovea_execution execution;
  fovea_plan *plan;
  fovea_run *run;
  void *plan_memory, *run_memory, *scratch;
  size_t plan_size, run_size, scratch_size;
  fovea_explanation explanation;
  fovea_counts counts;
  fovea_status status;
  fovea_error error;
};

static void attend(void *context) {
  struct calls *c = context;
  c->status = fovea_attend(&c->problem, c->tensors, &c->execution, &c->error);
}

static void plan(void *context) {
  struct calls *c = context;
  c->status = fovea_plan_create_in(&c->problem, &c->execution, c->plan_memory, c->plan_size, &c->plan, &c->error);
  if (c->status) return;
  c->status = fovea_plan_counts(c->plan, &c->counts);
  if (!c->status) c->status = fovea_plan_explain(c->plan, &c->explanation, &c->error);
}

static void run_plan(void *context) {
  struct calls *c = context;
  c->status = fovea_plan_run(c->plan, c->tensors, &c->execution, &c->error);
}

static void bind(void *context) {
  struct calls *c = context;
  c->status = fovea_run_bind(c->plan, c->tensors, 1, c->scratch, c->scratch_size, c->run_memory, c->run_size,
                             &c->run, &c->error);
}

static void run_tasks(void *context) {
  struct calls *c = context;
  for (int phase = 0; phase < fovea_plan_phases(c->plan); phase++) {
    for (int64_t task = 0; task < fovea_plan_tasks(c->plan, phase) && !c->status; task++)
      c->status = fovea_run_task(c->run, phase, task, 0, &c->error);
  }
}

static void count(void *context) {
  struct calls *c = context;
  c->status = fovea_run_counts(c->run, &c->counts);
}

static void check(const char *name, const char *call, struct calls *c, void (*act)(void *context)) {
  char text[512];
  snprintf(text, sizeof text, "%s, %s, %s", name, c->execution.isa != NULL ? c->execution.isa : "the best", call);
  c->status = FOVEA_OK;
  assert_small_stack(text, act, c);
  if (c->status != FOVEA_OK) fail_msg("%s: %s", text, c->error.text);
}

void assert_small_stacks(const char *name, const fovea_problem *problem, const fovea_tensors *tensors,
                         const char *isa) {
  struct calls c = {.problem = *problem, .tensors = tensors};
  fovea_execution_init(&c.execution);
  c.execution.isa = isa;
  c.execution.threads = 1;
  attend(&c); /* the linker's work is done then */
  c.plan_size = fovea_plan_size(problem->batch);
  c.plan_memory = memory_allocate(c.plan_size);
  check(name, "one call", &c, attend);
  fovea_explanation_init(&c.explanation);
  check(name, "a plan", &c, plan);
  c.scratch_size = fovea_plan_scratch_size(c.plan, 1);
  c.scratch = memory_allocate(c.scratch_size);
  c.run_size = fovea_run_size(c.plan);
  c.run_memory = memory_allocate(c.run_size);
  c.execution.scratch = c.scratch;
  c.execution.scratch_size = c.scratch_size;
  check(name, "a run", &c, run_plan);
  check(name, "binding", &c, bind);
  check(name, "tasks", &c, run_tasks);
  check(name, "counts", &c, count);
  memory_free(c.scratch);
  memory_free(c.run_memory);
  memory_free(c.plan_memory);
}
