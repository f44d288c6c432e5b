#include "around.h"

enum { heads = 2, rows = 40, qk_dim = 8, v_dim = 12 };

int main(void) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error = {.text = ""};
  const float *keys_of_distances = numbers_of(33 * qk_dim), *values_of_distances = numbers_of(33 * v_dim);
  float *o = numbers_of(heads * rows * v_dim);
  fovea_problem_init(&problem, 1, heads, heads, rows, rows, qk_dim, v_dim);
  fovea_tensors_init(&tensors, numbers_of(heads * rows * qk_dim), numbers_of(heads * rows * qk_dim),
                     numbers_of(heads * rows * v_dim), o, NULL);
  /* snippet 1 */
  worked(fovea_attend(&problem, &tensors, NULL, &error), error.text, __LINE__);
  computed(o, heads * rows * v_dim);
  return 0;
}
