#include "around.h"

enum { heads = 4, kv_heads = 2, q_rows = 1, dim = 128, capacity = 320, length = 40, count = 4, table_length = 2 };
enum { old = 32, segment_limit = 2 };

int main(void) {
  fovea_status status = FOVEA_OK;
  fovea_error error = {.text = ""};
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_rotary rotary;
  const int32_t table[table_length] = {3, 1};
  fovea_segment segments[segment_limit];
  float *q = numbers_of(heads * dim), *o = numbers_of(heads * dim);
  void *k = malloc(kv_heads * capacity * dim * 2), *v = malloc(kv_heads * capacity * dim * 2);
  void *new_k = numbers_of(kv_heads * 256 * dim), *new_v = numbers_of(kv_heads * 256 * dim);
  float *sinks_k = numbers_of(16 * dim), *sinks_v = numbers_of(16 * dim);
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, dim);
  fovea_problem_init(&problem, 1, heads, kv_heads, q_rows, length + 1, dim, dim);
  fovea_tensors_init(&tensors, q, NULL, NULL, o, NULL);
  /* snippet 1 */
  computed(o, heads * dim);
  /* snippet 2 */
  rows.first_position = 0;
  worked(fovea_append(&rows, &rotary, NULL, &error), error.text, __LINE__);
  worked(fovea_format_init(&format, FOVEA_FORMAT_Q8_0, &error), error.text, __LINE__);
  sequence = fovea_sequence_of(&segment, 1);
  /* snippet 3 */
  { /* one kv head: the segments name no other */
    fovea_problem one;
    float *all = numbers_of(heads * dim);
    fovea_problem_init(&one, 1, heads, 1, 1, 16 + old + 256, dim, dim);
    one.cache.segmented = 1;
    fovea_tensors of_parts;
    fovea_tensors_init(&of_parts, q, NULL, NULL, all, NULL);
    of_parts.cache.sequences = &whole;
    memset(new_k, 0, 256 * dim * 2); /* as f16 */
    memset(new_v, 0, 256 * dim * 2);
    worked(fovea_attend(&one, &of_parts, NULL, &error), error.text, __LINE__);
    computed(all, heads * dim);
  }
  rows.first_position = length;
  new_k = numbers_of(kv_heads * dim), new_v = numbers_of(kv_heads * dim);
  rows.k = new_k, rows.v = new_v;
  /* snippet 4 */
  computed(o, heads * dim);
  return 0;
}
