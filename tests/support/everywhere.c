#include "everywhere.h"

#include "check.h"
#include "painted.h"
#include "trial.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT_BYTES = 1 << 20 };
static _Alignas(64) unsigned char results[RESULT_BYTES], expected[RESULT_BYTES];
static size_t results_used, expected_used;

static const struct environment *current; /* NULL: the usual one */
static uint64_t current_control;
static atomic_int strangers;
const char *everywhere_isa;

void *everywhere_room(size_t bytes) {
  void *place = results + results_used;
  results_used += (bytes + 63) / 64 * 64;
  if (results_used > RESULT_BYTES) abort();
  return place;
}

void everywhere_keep(fovea_status status) {
  memcpy(everywhere_room(sizeof status), &status, sizeof status);
}

void everywhere_look(void) {
  if (environment_control() != current_control) atomic_fetch_add(&strangers, 1);
}

void everywhere_enter(void) {
  if (current != NULL) environment_enter(current);
}

void everywhere_look_at_flags(void) {
  if (current != NULL && !environment_has_flags()) atomic_fetch_add(&strangers, 1);
}

struct member {
  pthread_t thread;
  int worker;
  int64_t tasks;
  fovea_task_function run;
  void *job;
};
static atomic_llong next_task;
static int on_this_thread; /* 1: loops run their tasks on the caller's stack */

static void *work(void *context) {
  const struct member *member = context;
  everywhere_enter();
  for (int64_t task = 0; (task = atomic_fetch_add(&next_task, 1)) < member->tasks;) {
    member->run(member->job, task, member->worker);
    everywhere_look();
  }
  everywhere_look_at_flags();
  return NULL;
}

void everywhere_loop(void *context, int64_t tasks, int workers, fovea_task_function run, void *job) {
  struct member members[EVERYWHERE_THREADS];
  (void)context;
  everywhere_look();
  if (workers > EVERYWHERE_THREADS) abort();
  for (int64_t task = 0; on_this_thread && task < tasks; task++) run(job, task, (int)(task % workers));
  if (on_this_thread) return;
  atomic_store(&next_task, 0);
  for (int i = 0; i < workers; i++) {
    members[i] = (struct member){.worker = i, .tasks = tasks, .run = run, .job = job};
    if (pthread_create(&members[i].thread, NULL, work, &members[i]) != 0) abort();
  }
  for (int i = 0; i < workers; i++) pthread_join(members[i].thread, NULL);
}

/* What was not given out is 0. */
static void clear_results(void) {
  memset(results, 0, results_used);
  results_used = 0;
}

static void keep_results(void) {
  memcpy(expected, results, results_used);
  expected_used = results_used;
}

static int are_expected(void) {
  return results_used == expected_used && memcmp(results, expected, results_used) == 0;
}

static void act_in(const struct environment *environment, void (*act)(void)) {
  const char *name = environment != NULL ? environment->name : "usual";
  clear_results();
  current = environment;
  current_control = environment != NULL ? environment_enter(environment) : environment_control();
  act();
  const uint64_t control = environment_control();
  const int flags = environment == NULL || environment_has_flags();
  environment_leave();
  if (control != current_control) fail_msg("%s: the caller's environment is another one after the call", name);
  if (!flags) fail_msg("%s: flags of the caller's are lost", name);
  if (atomic_exchange(&strangers, 0) > 0) fail_msg("%s: a callback or a thread was in another environment", name);
  if (environment == NULL) keep_results();
  if (!are_expected())
    fail_msg("%s: other results (%s)", name, everywhere_isa != NULL ? everywhere_isa : "the best");
}

struct act {
  void (*act)(void);
};

static void act_alone(void *context) {
  ((const struct act *)context)->act();
}

/* Once more, with tasks and all, on a painted stack. */
static void act_on_small_stack(void (*act)(void)) {
  struct act alone = {act};
  clear_results();
  on_this_thread = 1;
  assert_small_stack(everywhere_isa != NULL ? everywhere_isa : "the best", act_alone, &alone);
  on_this_thread = 0;
  if (!are_expected()) fail_msg("%s", "other results on a small stack");
}

void assert_same_everywhere(void (*act)(void)) {
  act_in(NULL, act);
  if (STACKS_ARE_MEASURED) act_on_small_stack(act);
  for (const struct environment *next = environment_list; next->name != NULL; next++) act_in(next, act);
}

static void assert_same_on(const char *const *isas, void (*act)(void)) {
  for (const char *const *isa = isas; *isa != NULL; isa++) {
    everywhere_isa = *isa;
    assert_same_everywhere(act);
  }
  everywhere_isa = NULL;
}

void assert_same_everywhere_on_isas(void (*act)(void)) {
  assert_same_on(usable_isas(), act);
}

void assert_exact_everywhere_on_isas(void (*act)(void)) {
  assert_same_on(usable_isas_for(NULL), act);
}

void fill_numbers(float *numbers, int count, float size, struct generator *generator) {
  for (int i = 0; i < count; i++) numbers[i] = generator_uniform(generator) * size;
}

void fill_values(float *numbers, int count, struct generator *generator) {
  fill_numbers(numbers, count, 1, generator);
  for (int i = 1; i < count; i += 2) {
    const uint32_t bits = (uint32_t)(generator_bits(generator) & 0x800007ffu);
    memcpy(&numbers[i], &bits, sizeof bits);
  }
}
