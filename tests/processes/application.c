/* A program with parallel regions of its own uses Fovea, linked or opened at run time, while the library has
 * another OpenMP runtime than the program. Exits with 0 if both work, and if many threads give the bits of one.
 *
 *   application            Fovea is linked
 *   application <library>  Fovea is opened, used, closed and opened again
 */
#define _GNU_SOURCE
#include <fovea/fovea.h>

#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEADS = 4, ROWS = 200, DIM = 64, SIZE = HEADS * ROWS * DIM, TEAM = 4, REPEATS = 20 };

static float q[SIZE], k[SIZE], v[SIZE], expected[SIZE];
static float actual[TEAM][SIZE];

/* The functions of the library that are used. */
static struct {
  void (*problem_init)(fovea_problem *, size_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
  void (*tensors_init)(fovea_tensors *, size_t, const void *, const void *, const void *, void *, float *);
  void (*execution_init)(fovea_execution *, size_t);
  fovea_status (*attend)(const fovea_problem *, const fovea_tensors *, const fovea_execution *, fovea_error *);
} fovea;

static void require(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  exit(1);
}

/* dlsym() returns a pointer to an object; POSIX allows to copy it to a pointer to a function. */
static void find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  require(symbol != NULL, name);
  memcpy(function, &symbol, sizeof symbol);
}

static void find_all(void *library) {
  find(library, "fovea_problem_init_sized", &fovea.problem_init);
  find(library, "fovea_tensors_init_sized", &fovea.tensors_init);
  find(library, "fovea_execution_init_sized", &fovea.execution_init);
  find(library, "fovea_attend", &fovea.attend);
}

static int attend(float *o, int threads) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;
  fovea.problem_init(&problem, sizeof problem, 1, HEADS, HEADS, ROWS, ROWS, DIM, DIM);
  fovea.tensors_init(&tensors, sizeof tensors, q, k, v, o, NULL);
  fovea.execution_init(&execution, sizeof execution);
  problem.causal = 1;
  execution.threads = threads;
  memset(o, 0xff, sizeof expected);
  return fovea.attend(&problem, &tensors, &execution, NULL) == FOVEA_OK &&
         memcmp(o, expected, sizeof expected) == 0;
}

/* The program's own team gives every number once. */
static int own_team_works(void) {
  int met[TEAM] = {0}, threads = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : threads)
  {
    met[omp_get_thread_num()]++;
    threads = 1;
  }
  for (int i = 0; i < TEAM; i++) threads -= met[i] == 1;
  return threads == 0;
}

static int calls_in_own_team_work(void) {
  int good = 0;
#pragma omp parallel for num_threads(TEAM) schedule(static, 1) reduction(+ : good)
  for (int i = 0; i < TEAM; i++) good += attend(actual[i], i);
  return good == TEAM;
}

static int child_works(void) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(!(attend(actual[0], 0) && attend(actual[0], TEAM)));
  }
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void use(void) {
  for (int i = 0; i < REPEATS; i++) {
    require(attend(actual[0], TEAM), "four threads have the bits of one");
    require(attend(actual[0], 0), "the default has the bits of one");
    require(own_team_works(), "the program's own team works");
  }
  require(calls_in_own_team_work(), "calls from the program's own team have the bits of one");
  require(child_works(), "calls in the child of a fork have the bits of one");
}

static void expect_from_one_thread(void) {
  memset(expected, 0, sizeof expected);
  attend(actual[0], 1);
  memcpy(expected, actual[0], sizeof expected);
  require(expected[SIZE - 1] > 0.0f, "one thread gives an answer");
}

int main(int argc, char **argv) {
  for (int i = 0; i < SIZE; i++) {
    q[i] = (float)(i * 37 % 101 - 50) / 25;
    k[i] = (float)(i * 53 % 89 - 44) / 25;
    v[i] = (float)(i % 10 + 1);
  }
  require(own_team_works(), "the program's own team works");
  for (int round = 0; round < (argc > 1 ? 2 : 1); round++) {
    void *library = dlopen(argc > 1 ? argv[1] : NULL, RTLD_NOW | RTLD_LOCAL);
    require(library != NULL, "the library can be opened");
    find_all(library);
    expect_from_one_thread();
    use();
    dlclose(library);
    require(own_team_works(), "the program's own team works without the library");
  }
  return 0;
}
