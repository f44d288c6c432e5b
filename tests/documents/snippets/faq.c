#include "around.h"

enum { batch = 2, heads = 4, kv_heads = 2, longest = 6, dim = 128, step = 1, rows = 40, qk_dim = 8, v_dim = 12 };

static void padded_batches(void) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  const int64_t lengths[batch] = {6, 4}, pad[batch] = {0, 2};
  float *o = numbers_of(batch * heads * longest * dim);
  fovea_tensors_init(&tensors, numbers_of(batch * heads * longest * dim),
                     numbers_of(batch * kv_heads * longest * dim), numbers_of(batch * kv_heads * longest * dim), o,
                     NULL);
  /* snippet 1 */
  worked(fovea_attend(&problem, &tensors, NULL, &error), error.text, __LINE__);
  computed(o, batch * heads * longest * dim);
  /* snippet 2 */
  fovea_segment segments[batch];
  fovea_sequence sequences[batch];
  for (int b = 0; b < batch; b++) {
    fovea_segment_init(&segments[b], 0, longest + step, dim, dim, FOVEA_F32,
                       numbers_of(kv_heads * (longest + step) * dim),
                       numbers_of(kv_heads * (longest + step) * dim));
    sequences[b] = fovea_sequence_of(&segments[b], 1);
  }
  tensors.k = tensors.v = NULL;
  tensors.cache.sequences = sequences;
  worked(fovea_attend(&problem, &tensors, NULL, &error), error.text, __LINE__);
  computed(o, batch * heads * dim);
}

static void shaw(void) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error = {.text = ""};
  const float *keys_of_distances = numbers_of(33 * qk_dim), *values_of_distances = numbers_of(33 * v_dim);
  float *o = numbers_of(heads * rows * v_dim);
  fovea_problem_init(&problem, 1, heads, heads, rows, rows, qk_dim, v_dim);
  fovea_tensors_init(&tensors, numbers_of(heads * rows * qk_dim), numbers_of(heads * rows * qk_dim),
                     numbers_of(heads * rows * v_dim), o, NULL);
  /* snippet 3 */
  worked(fovea_attend(&problem, &tensors, NULL, &error), error.text, __LINE__);
  computed(o, heads * rows * v_dim);
}

static void scaled_rotary(void) {
  fovea_problem problem;
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  fovea_problem_init(&problem, 1, heads, heads, rows, rows, 128, 128);
  fovea_problem_resolve(&problem, NULL);
  const double scale = problem.scale;
  /* snippet 4 */
  need(problem.scale == scale, "Llama 3 has a factor on scores");
  float *q = numbers_of(heads * rows * 128);
  fovea_rotation rotation;
  fovea_rotation_init(&rotation, 1, heads, rows, 128, q, q);
  worked(fovea_rotary_apply(&rotary, &rotation, NULL, &error), error.text, __LINE__);
  computed(q, heads * rows * 128);
}

int main(void) {
  padded_batches();
  shaw();
  scaled_rotary();
  return 0;
}
