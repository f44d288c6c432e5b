/* Signals: a handler that computes attention while a run is interrupted, storms of signals, and the small stacks
 * that handlers and threads may have. */
#define _GNU_SOURCE
#include "support/check.h"
#include "support/executors.h"
#include "support/modes.h"
#include "support/trial.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

/* What the header says a call uses. In debug builds, without optimisation or with sanitizers, functions need more.
 */
#ifdef NDEBUG
enum { CALL_STACK = FOVEA_STACK_SIZE };
#else
enum { CALL_STACK = 512 * 1024 };
#endif
/* What a system needs beside: its own data on the stack of a thread; the frame of a signal, if it does not say. */
enum { THREAD_STACK = 16 * 1024, SIGNAL_STACK = 16 * 1024 };

static int modes; /* of all problems here; see modes.h */

static size_t signal_stack(void) {
#ifdef _SC_MINSIGSTKSZ
  const long frame = sysconf(_SC_MINSIGSTKSZ);
  if (frame > 0) return (size_t)frame;
#endif
  return SIGNAL_STACK;
}

/* Uses all that a call may use on its stack: masks, softcap, sinks, values that are not finite. */
static fovea_problem deep_problem(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 4, 2, 70, 300, 40, 24);
  problem.q_type = problem.k_type = problem.v_type = FOVEA_BF16;
  problem_set_modes(&problem, modes);
  problem.causal = 1;
  problem.softcap = 3.0;
  problem.sink = FOVEA_SINK_PER_HEAD;
  problem.mask.type = FOVEA_MASK_BITS;
  problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BITS, 2, 4, 70, 300);
  return problem;
}

/* What the handler computes, with a plan, scratch and tensors that were made before. */
static struct {
  fovea_plan *plan;
  void *scratch;
  fovea_execution execution;
  fovea_tensors tensors;
  struct trial expected, actual;
  atomic_flag busy; /* two threads may handle signals of the process at once */
  atomic_int calls, failures;
} inner;

/* Attends by name, or, as a handler may, by the plan that was made. O and LSE are f32, and are compared where they
 * lie. */
static int attend_inner(const char *isa) {
  const struct tensor *o = &inner.actual.o, *lse = &inner.actual.lse;
  memset(o->memory.data, 0xff, o->memory.size);
  memset(lse->memory.data, 0xff, lse->memory.size);
  memset(inner.scratch, 0xff, inner.execution.scratch_size);
  fovea_status status;
  if (isa == NULL) {
    status = fovea_plan_run(inner.plan, &inner.tensors, &inner.execution, NULL);
  } else {
    fovea_problem problem = inner.actual.problem;
    fovea_execution execution = inner.execution;
    execution.isa = isa;
    execution.scratch = NULL; /* kernels need different amounts of scratch */
    execution.scratch_size = 0;
    status = fovea_attend(&problem, &inner.tensors, &execution, NULL);
  }
  return status == FOVEA_OK && memcmp(o->memory.data, inner.expected.o.memory.data, o->memory.size) == 0 &&
         memcmp(lse->memory.data, inner.expected.lse.memory.data, lse->memory.size) == 0;
}

static void attend_in_handler(int signal) {
  const int before = errno;
  if (atomic_flag_test_and_set(&inner.busy)) return;
  errno = signal;
  if (!attend_inner(NULL) || errno != signal) atomic_fetch_add(&inner.failures, 1);
  atomic_fetch_add(&inner.calls, 1);
  atomic_flag_clear(&inner.busy);
  errno = before;
}

static int set_up(void **state) {
  (void)state;
  const fovea_problem problem = deep_problem();
  inner.expected = trial_create(&problem, 1);
  inner.actual = trial_create(&problem, 1);
  trial_run(&inner.expected, NULL, NULL);
  assert_contract(&inner.expected, 100000);
  assert_int_equal(fovea_plan_create(&problem, NULL, &inner.plan, NULL), FOVEA_OK);
  fovea_execution_init(&inner.execution);
  inner.execution.threads = 1;
  inner.execution.scratch_size = fovea_plan_scratch_size(inner.plan, 1);
  inner.execution.scratch_size += -inner.execution.scratch_size % FOVEA_SCRATCH_ALIGNMENT;
  inner.scratch = aligned_alloc(FOVEA_SCRATCH_ALIGNMENT, inner.execution.scratch_size);
  assert_non_null(inner.scratch);
  inner.execution.scratch = inner.scratch;
  inner.tensors = trial_tensors(&inner.actual);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  /* A thread may still handle a signal that was sent before. From now on its handler does nothing. */
  while (atomic_flag_test_and_set(&inner.busy)) continue;
  trial_destroy(&inner.expected);
  trial_destroy(&inner.actual);
  fovea_plan_destroy(inner.plan);
  free(inner.scratch);
  return 0;
}

static void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  assert_int_equal(sigaction(signal, &action, NULL), 0);
}

/* Runs a large problem, on this thread, on the library's threads and on a caller's, until the handler has run
 * `wanted` times during each. */
static void run_while_interrupted(int wanted) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 4, 2, 100, 500, 64, 64);
  problem_set_modes(&problem, modes);
  problem.causal = 1;
  struct trial expected = trial_create(&problem, 2), actual = trial_create(&problem, 2);
  struct executor executor = {.order = TASKS_FORWARDS};
  fovea_execution executions[3];
  for (int i = 0; i < 3; i++) fovea_execution_init(&executions[i]);
  executions[0].threads = 1;
  executions[1].threads = 4;
  executions[2].threads = 4;
  executions[2].parallel_for = threads_for;
  executions[2].parallel_context = &executor;
  trial_run(&expected, "scalar", NULL);
  assert_contract(&expected, 100000);
  for (int i = 0; i < 3; i++) {
    const int before = atomic_load(&inner.calls);
    do {
      trial_run(&actual, NULL, &executions[i]);
      assert_same_outputs(&actual, &expected);
    } while (atomic_load(&inner.calls) < before + wanted);
  }
  assert_int_equal(atomic_load(&inner.failures), 0);
  trial_destroy(&expected);
  trial_destroy(&actual);
}

/* Sends signals to one thread, each after the one before was handled. */
struct sender {
  pthread_t thread, target;
  atomic_int stop;
};

static void *send_signals(void *context) {
  struct sender *sender = context;
  for (int sent = atomic_load(&inner.calls); !atomic_load(&sender->stop);) {
    if (atomic_load(&inner.calls) < sent) continue;
    sent = atomic_load(&inner.calls) + 1;
    pthread_kill(sender->target, SIGUSR1);
  }
  return NULL;
}

static void test_handler_that_attends(void **state) {
  (void)state;
  stack_t small = {.ss_size = CALL_STACK + signal_stack()};
  stack_t none = {.ss_flags = SS_DISABLE};
  small.ss_sp = malloc(small.ss_size);
  assert_non_null(small.ss_sp);
  assert_int_equal(sigaltstack(&small, NULL), 0);
  handle(SIGUSR1, attend_in_handler, SA_ONSTACK | SA_RESTART);
  struct sender sender = {.target = pthread_self()};
  assert_int_equal(pthread_create(&sender.thread, NULL, send_signals, &sender), 0);
  run_while_interrupted(USUAL_OR_LONG(20, 100));
  atomic_store(&sender.stop, 1);
  pthread_join(sender.thread, NULL);
  handle(SIGUSR1, SIG_IGN, 0);
  assert_int_equal(sigaltstack(&none, NULL), 0);
  free(small.ss_sp);
}

/* SIGALRM for any thread of the process, without SA_RESTART. */
static void test_storm(void **state) {
  (void)state;
  handle(SIGALRM, attend_in_handler, 0);
  const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
  assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
  run_while_interrupted(USUAL_OR_LONG(20, 100));
  assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
  handle(SIGALRM, SIG_IGN, 0);
}

/* Runs on a thread with a small stack. Returns what failed. */
static void *call_on_small_stack(void *unused) {
  const char *const *isas = usable_isas();
  for (int i = 0; isas[i] != NULL; i++)
    if (!attend_inner(isas[i])) return &inner;
  return attend_inner(NULL) ? unused : &inner;
}

static void test_small_stack(void **state) {
  (void)state;
  pthread_t thread;
  pthread_attr_t attributes;
  void *failed;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, CALL_STACK + THREAD_STACK), 0);
  assert_int_equal(pthread_create(&thread, &attributes, call_on_small_stack, NULL), 0);
  assert_int_equal(pthread_join(thread, &failed), 0);
  assert_null(failed);
  pthread_attr_destroy(&attributes);
}

/* With an argument: bf16 or int8 mode, with AMX, whose tiles are in signal frames then. */
int main(int argc, char **argv) {
  fovea_error error;
  modes = argc <= 1 ? 0 : strcmp(argv[1], "int8") == 0 ? INT8_BOTH : BF16_BOTH;
  if (modes && fovea_allow_amx(&error) != FOVEA_OK) print_message("AMX is not tried: %s\n", error.text);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_stack),
      cmocka_unit_test(test_handler_that_attends),
      cmocka_unit_test(test_storm),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
