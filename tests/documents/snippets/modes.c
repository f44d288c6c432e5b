#include "around.h"

enum { heads = 2, rows = 40, dim = 32 };

static void attend(const fovea_problem *problem, fovea_tensors *tensors) {
  fovea_error error = {.text = ""};
  memset(tensors->o, 0, heads * rows * dim * sizeof(float));
  worked(fovea_attend(problem, tensors, NULL, &error), error.text, __LINE__);
  computed(tensors->o, heads * rows * dim);
}

int main(void) {
  const int64_t count = heads * rows * dim;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error = {.text = ""};
  float *centre = numbers_of(heads * dim), *scale = numbers_of(heads * dim);
  for (int i = 0; i < heads * dim; i++) scale[i] = 1 + (float)(i % 3);
  fovea_problem_init(&problem, 1, heads, heads, rows, rows, dim, dim);
  fovea_tensors_init(&tensors, numbers_of(count), numbers_of(count), numbers_of(count), numbers_of(count), NULL);
  /* snippet 1 */
  attend(&problem, &tensors);
  /* snippet 2 */
  attend(&problem, &tensors);
  /* snippet 3 */
  attend(&problem, &tensors);
  return 0;
}
