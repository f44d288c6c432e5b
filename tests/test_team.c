/* A team of threads: each task of each job runs once; jobs do not wait for threads that do not come; those who sleep are
 * woken; calls within a team give the bits that they give alone; and what counts as a thread that does not run. */
#include "src/system/account.h"
#include "src/system/platform.h"
#include "src/system/schedule.h"
#include "src/system/team.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/executors.h"
#include "support/trial.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { HELPERS = 3, JOBS = 300, MOST_TASKS = 97 };

/* ---- Jobs ----------------------------------------------------------------------------------------------------- */

struct record {
  int workers;
  atomic_int runs[MOST_TASKS], busy[HELPERS + 1], wrong;
};

static void count_task(void *job, int64_t task, int worker) {
  struct record *record = job;
  if (worker < 0 || worker >= record->workers || atomic_fetch_add(&record->busy[worker], 1) != 0)
    atomic_fetch_add(&record->wrong, 1);
  atomic_fetch_add(&record->runs[task], 1);
  if (worker >= 0 && worker <= HELPERS) atomic_fetch_sub(&record->busy[worker], 1);
}

struct helper {
  fovea_team *team;
  int worker;
  pthread_t thread;
};

static void *help(void *argument) {
  const struct helper *helper = argument;
  fovea_team_help(helper->team, helper->worker);
  return NULL;
}

static void begin_helpers(fovea_team *team, struct helper helpers[HELPERS]) {
  for (int i = 0; i < HELPERS; i++) {
    helpers[i] = (struct helper){.team = team, .worker = i + 1};
    assert_int_equal(pthread_create(&helpers[i].thread, NULL, help, &helpers[i]), 0);
  }
}

static void end_helpers(fovea_team *team, struct helper helpers[HELPERS]) {
  fovea_team_end(team);
  for (int i = 0; i < HELPERS; i++) assert_int_equal(pthread_join(helpers[i].thread, NULL), 0);
}

static void share_jobs(fovea_team *team) {
  for (int i = 0; i < JOBS; i++) {
    const int tasks = i * 31 % (MOST_TASKS + 1);
    struct record record = {.workers = 1 + i % (HELPERS + 1)};
    fovea_team_share(team, tasks, record.workers, count_task, &record);
    assert_int_equal(atomic_load(&record.wrong), 0);
    for (int t = 0; t < MOST_TASKS; t++) assert_int_equal(atomic_load(&record.runs[t]), t < tasks);
  }
}

static void test_jobs(void **state) {
  (void)state;
  fovea_team team;
  struct helper helpers[HELPERS];
  fovea_team_begin(&team);
  begin_helpers(&team, helpers);
  share_jobs(&team);
  end_helpers(&team, helpers);
}

/* A thread that the system does not run: all helpers come after the last job. */
static void test_helpers_that_come_late(void **state) {
  (void)state;
  fovea_team team;
  struct helper helpers[HELPERS];
  fovea_team_begin(&team);
  share_jobs(&team);
  begin_helpers(&team, helpers);
  end_helpers(&team, helpers);
}

/* A job for fewer workers than there are: a helper that comes during its first task finds none, and sleeps. */
struct lonely {
  fovea_team *team;
  struct helper helper;
  atomic_int others;
};

static void wait_for_helper(void *job, int64_t task, int worker) {
  struct lonely *lonely = job;
  if (worker != 0) atomic_fetch_add(&lonely->others, 1);
  if (task > 0) return;
  pthread_create(&lonely->helper.thread, NULL, help, &lonely->helper);
  while (!atomic_load(&lonely->team->sleepers)) sched_yield();
}

static void test_fewer_workers(void **state) {
  (void)state;
  fovea_team team;
  struct lonely lonely = {.team = &team, .helper = {.team = &team, .worker = 2}};
  fovea_team_begin(&team);
  fovea_team_share(&team, 3, 2, wait_for_helper, &lonely);
  assert_int_equal(atomic_load(&lonely.others), 0);
  fovea_team_end(&team);
  assert_int_equal(pthread_join(lonely.helper.thread, NULL), 0);
}

/* ---- Sleep ---------------------------------------------------------------------------------------------------- */

struct meeting {
  fovea_team *team;
  atomic_int helped, leader_slept;
};

/* The helper's task ends after the leader has gone to sleep; the leader's begins after the helper has one. */
static void meet(void *job, int64_t task, int worker) {
  struct meeting *meeting = job;
  (void)task;
  if (worker == 0) {
    while (!atomic_load(&meeting->helped)) sched_yield();
    return;
  }
  atomic_store(&meeting->helped, 1);
  while (!atomic_load(&meeting->team->leader_sleeps)) sched_yield();
  atomic_store(&meeting->leader_slept, 1);
}

static void test_sleepers_are_woken(void **state) {
  (void)state;
  fovea_team team;
  struct helper helper = {.team = &team, .worker = 1};
  fovea_team_begin(&team);
  assert_int_equal(pthread_create(&helper.thread, NULL, help, &helper), 0);
  for (int i = 0; i < 20; i++) {
    struct meeting meeting = {.team = &team};
    while (!atomic_load(&team.sleepers)) sched_yield();
    fovea_team_share(&team, 2, 2, meet, &meeting);
    assert_int_equal(atomic_load(&meeting.leader_slept), 1);
  }
  while (!atomic_load(&team.sleepers)) sched_yield();
  fovea_team_end(&team);
  assert_int_equal(pthread_join(helper.thread, NULL), 0);
}

/* ---- Threads that do not run ---------------------------------------------------------------------------------- */

enum { MS = 1000000 };

static void test_what_is_lost(void **state) {
  (void)state;
  assert_int_equal(fovea_team_lost(3 * MS, MS / 100), 3 * MS);
  assert_int_equal(fovea_team_lost(3 * MS, MS), 3 * MS);
  assert_int_equal(fovea_team_lost(3 * MS, 2 * MS), 0);   /* as long as tasks take */
  assert_int_equal(fovea_team_lost(MS / 3, MS / 100), 0); /* as long as a thread takes to wake */
}

static void pass_time(void *job, int64_t task, int worker) {
  const int64_t start = fovea_platform_nanoseconds();
  (void)job, (void)task, (void)worker;
  while (fovea_platform_nanoseconds() < start + MS / 10) continue;
}

/* While the leader is by itself, as a caller of fovea_team_run() may be between two calls, nobody helps. */
static void test_what_helps(void **state) {
  (void)state;
  fovea_team team;
  int64_t most = 0;
  fovea_team_begin(&team);
  assert_int_equal(team.helped, 0);
  for (int workers = 1; workers <= 4; workers++) {
    pass_time(NULL, 0, 0);
    const int64_t start = fovea_platform_nanoseconds(), before = team.helped;
    fovea_team_share(&team, 3, workers, pass_time, NULL);
    most += (fovea_platform_nanoseconds() - start) * (workers - 1);
    assert_true(team.helped <= most);
    assert_true(team.helped >= before + 3 * (workers - 1) * (int64_t)MS / 10);
  }
}

/* What a call that loses 3 ms and in which others help for 1 ms costs: how long calls then stay on the calling thread. */
static int64_t alone_after_loss(fovea_account *account, int64_t now) {
  fovea_account_settle(account, now, MS, 3 * MS);
  const int64_t until = fovea_account_alone_until(account);
  fovea_account_open(account);
  return until ? until - now : 0;
}

static void test_account(void **state) {
  (void)state;
  fovea_account account = FOVEA_ACCOUNT_INITIALISER;
  int64_t now = 1000 * (int64_t)MS;
  /* A team earns half a millisecond. The account holds 4: the first loss is paid, the second is not. */
  assert_int_equal(alone_after_loss(&account, now), 0);
  assert_int_equal(alone_after_loss(&account, now), 16 * MS);
  /* From then on each loss is 2.5 ms more than there is. The time doubles, up to a limit. */
  now += 17 * MS;
  assert_int_equal(alone_after_loss(&account, now), 32 * 5 * MS / 2);
  assert_int_equal(alone_after_loss(&account, now += 81 * MS), 64 * 5 * MS / 2);
  assert_int_equal(alone_after_loss(&account, now += 161 * MS), 250 * MS);
  assert_int_equal(alone_after_loss(&account, now += 251 * MS), 250 * MS);
  /* Later it begins again. */
  assert_int_equal(alone_after_loss(&account, now += 501 * (int64_t)MS), 40 * MS);
  /* Teams that lose nothing fill the account again; a team of many threads earns more than it loses. */
  for (int i = 0; i < 20; i++) fovea_account_settle(&account, now, MS, 0);
  assert_int_equal(alone_after_loss(&account, now += 1000 * (int64_t)MS), 0);
  for (int i = 0; i < 20; i++) fovea_account_settle(&account, now, 16 * MS, 3 * MS);
  assert_int_equal(fovea_account_alone_until(&account), 0);
}

/* ---- Calls ---------------------------------------------------------------------------------------------------- */

/* Large enough for a team, with keys that are split, so that a run has two phases. */
enum { HEADS = 2, ROWS = 4, KEYS = 8192, DIM = 64, SIZE = HEADS * ROWS * DIM * (int)sizeof(float) };

struct calls {
  struct trial *trial;
  const fovea_plan *plan;
  pthread_t caller;
  int times, has_parallel_for;
  fovea_status status;
};

/* Several runs of attention, whose last one counts. */
static void attend(void *data, const fovea_execution *execution) {
  struct calls *calls = data;
  const fovea_tensors tensors = trial_tensors(calls->trial);
  assert_true(pthread_equal(pthread_self(), calls->caller));
  calls->times++;
  calls->has_parallel_for = execution->parallel_for != NULL;
  for (int i = 0; i < 5 && calls->status == FOVEA_OK; i++)
    calls->status = fovea_plan_run(calls->plan, &tensors, execution, NULL);
}

static struct calls attend_in_team(struct trial *trial, const fovea_plan *plan, double work,
                                   const fovea_execution *execution) {
  struct calls calls = {.trial = trial, .plan = plan, .caller = pthread_self()};
  fovea_error error;
  memset(tensor_pointer(&trial->o), 0xff, SIZE);
  if (fovea_team_run(attend, &calls, work, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_int_equal(calls.times, 1);
  assert_int_equal(calls.status, FOVEA_OK);
  return calls;
}

static void test_calls(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_plan *plan;
  fovea_execution execution;
  char expected[SIZE];
  fovea_problem_init(&problem, 1, HEADS, 1, ROWS, KEYS, DIM, DIM);
  struct trial trial = trial_create(&problem, 1);
  void *o = tensor_pointer(&trial.o);
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
  fovea_execution_init(&execution);
  execution.threads = 1;
  assert_false(attend_in_team(&trial, plan, 1e12, &execution).has_parallel_for);
  memcpy(expected, o, SIZE);
  for (execution.threads = 2; execution.threads <= 4; execution.threads++) {
    attend_in_team(&trial, plan, 1e12, &execution);
    assert_memory_equal(o, expected, SIZE);
  }
  assert_false(attend_in_team(&trial, plan, 1000.0, &execution).has_parallel_for); /* too little work */
  attend_in_team(&trial, plan, 1e12, NULL);
  assert_memory_equal(o, expected, SIZE);
  struct executor executor = {TASKS_BACKWARDS, 0};
  execution.parallel_for = serial_for;
  execution.parallel_context = &executor;
  attend_in_team(&trial, plan, 1e12, &execution);
  assert_memory_equal(o, expected, SIZE);
  assert_true(executor.calls >= 5);
  fovea_plan_destroy(plan);
  trial_destroy(&trial);
}

static void test_errors(void **state) {
  (void)state;
  fovea_execution execution;
  struct calls calls = {0};
  fovea_error error;
  assert_int_equal(fovea_team_run(NULL, &calls, 1e12, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "run is NULL");
  fovea_execution_init(&execution);
  execution.threads = -1;
  assert_int_equal(fovea_team_run(attend, &calls, 1e12, &execution, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "threads is -1");
  assert_int_equal(calls.times, 0);
}

/* ThreadSanitizer understands POSIX threads, and not OpenMP's. */
int main(int argc, char **argv) {
  const struct CMUnitTest posix[] = {
      cmocka_unit_test(test_jobs),          cmocka_unit_test(test_helpers_that_come_late),
      cmocka_unit_test(test_fewer_workers), cmocka_unit_test(test_sleepers_are_woken),
      cmocka_unit_test(test_what_is_lost),  cmocka_unit_test(test_what_helps),
      cmocka_unit_test(test_account),       cmocka_unit_test(test_errors),
  };
  const struct CMUnitTest own[] = {cmocka_unit_test(test_calls)};
  int failures = 0;
  if (argc < 2 || strcmp(argv[1], "posix") == 0) failures += cmocka_run_group_tests(posix, NULL, NULL);
  if (argc < 2 || strcmp(argv[1], "own") == 0) failures += cmocka_run_group_tests(own, NULL, NULL);
  return failures;
}
