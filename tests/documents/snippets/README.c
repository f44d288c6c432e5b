#include "around.h"

int main(void) {
  enum { rows = 40, dim = 32 };
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error = {.text = ""};
  float *o = numbers_of(rows * dim);
  fovea_problem_init(&problem, 1, 1, 1, rows, rows, dim, dim);
  fovea_tensors_init(&tensors, numbers_of(rows * dim), numbers_of(rows * dim), numbers_of(rows * dim), o, NULL);
  /* snippet 3 */
  worked(fovea_attend(&problem, &tensors, NULL, &error), error.text, __LINE__);
  computed(o, rows * dim);
  return 0;
}
