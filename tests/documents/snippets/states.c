#include "around.h"

#include <fovea/state.h>

enum { batch = 2, heads = 3, rows = 5, keys = 9000, qk_dim = 8, v_dim = 12 };

int main(void) {
  const int64_t outputs = batch * heads * rows;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error = {.text = ""};
  float *q = numbers_of(outputs * qk_dim), *k = numbers_of(batch * heads * keys * qk_dim);
  float *v = numbers_of(batch * heads * keys * v_dim);
  fovea_problem_init(&problem, batch, heads, heads, rows, keys, qk_dim, v_dim);
  fovea_tensors_init(&tensors, q, k, v, NULL, NULL);
  {
    /* snippet 1 */
    computed(numbers, outputs * fovea_state_numbers(v_dim, 4096, 6144));
  }
  problem.keys.begin = 6144;
  problem.keys.end = keys;
  problem.state = 0;
  float *their_o = numbers_of(outputs * v_dim), *their_lse = numbers_of(outputs), *o = numbers_of(outputs * v_dim);
  fovea_tensors_init(&tensors, q, k, v, their_o, their_lse);
  worked(fovea_attend(&problem, &tensors, NULL, &error), error.text, __LINE__);

  fovea_state state;
  fovea_state_init(&state, batch, heads, rows, v_dim, 6144, keys,
                   numbers_of(outputs * fovea_state_numbers(v_dim, 6144, keys)));
  fovea_tensors_init(&tensors, NULL, NULL, NULL, NULL, NULL);
  /* snippet 2 */
  tensors.o = o;
  tensors.lse = NULL;
  worked(fovea_state_finish(&problem, &tensors, NULL, &error), error.text, __LINE__);
  for (int64_t i = 0; i < outputs * v_dim; i++)
    need(fabsf(o[i] - their_o[i]) < 1e-5f, "a state has another output");
  return 0;
}
