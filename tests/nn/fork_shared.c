/* The shared libraries in the child of a fork(), which has none of its parent's threads: fovea_nn knows that,
 * though the parent has only called Fovea. */
#define _GNU_SOURCE
#include <fovea/nn.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds after which SIGALRM ends a child that waits for threads. */
enum { PATIENCE = 120, LENGTH = 512, DIM = 64, ROWS = 256, OUT = 256 };

static float x[2 * LENGTH * DIM], weights[OUT * DIM], y[2][ROWS * OUT];

/* Lets this process have a team of threads. */
static int attend(void) {
  static float o[2 * LENGTH * DIM];
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;
  fovea_problem_init(&problem, 2, 1, 1, LENGTH, LENGTH, DIM, DIM);
  fovea_tensors_init(&tensors, x, x, x, o, NULL);
  fovea_execution_init(&execution);
  execution.threads = 2;
  return fovea_attend(&problem, &tensors, &execution, NULL) == FOVEA_OK;
}

static int multiply(int threads, float *to) {
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_execution execution;
  fovea_nn_linear_init(&linear, DIM, OUT, weights);
  fovea_nn_linear_rows_init(&rows, &linear, ROWS, x, to);
  fovea_execution_init(&execution);
  execution.threads = threads;
  return fovea_nn_linear_run(&linear, &rows, &execution, NULL) == FOVEA_OK;
}

int main(void) {
  int status = 1;
  for (int i = 0; i < 2 * LENGTH * DIM; i++) x[i] = (float)(i % 13) - 6;
  for (int i = 0; i < OUT * DIM; i++) weights[i] = (float)(i % 7) - 3;
  if (!attend()) return 2;
  const pid_t process = fork();
  if (process < 0) return 3;
  if (process == 0) {
    alarm(PATIENCE);
    _exit(!multiply(1, y[0]) || !multiply(2, y[1]) || memcmp(y[0], y[1], sizeof y[0]) != 0);
  }
  if (waitpid(process, &status, 0) != process) return 4;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}
