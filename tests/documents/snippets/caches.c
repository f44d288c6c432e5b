#include "around.h"

enum { batch = 3, kv_heads = 8, dim = 128 };

int main(void) {
  fovea_error error = {.text = ""};
  fovea_status status = FOVEA_OK;
  fovea_rotary rotary;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, dim);
  /* snippet 1 */
  { /* the last position of the last page */
    const int64_t page = pages.count - 1;
    const fovea_sequence *sequences;
    fovea_segment segment;
    fovea_sequence sequence;
    const int32_t table[1] = {(int32_t)page};
    status = fovea_cache_paged(&pages, table, 1, 0, 16, &segment, 1, &sequence, &error);
    worked(status, error.text, __LINE__);
    sequences = &sequence;
    fovea_new_rows rows;
    fovea_new_rows_init(&rows, 1, kv_heads, 1, dim, dim, numbers_of(kv_heads * dim), numbers_of(kv_heads * dim),
                        sequences);
    rows.first_position = 15;
    worked(fovea_append(&rows, &rotary, NULL, &error), error.text, __LINE__);
  }
  /* snippet 2 */
  const int64_t lengths[batch] = {3, 0, 15};
  const float *k = numbers_of(batch * kv_heads * dim), *v = numbers_of(batch * kv_heads * dim);
  fovea_segment segments[batch];
  fovea_sequence sequences[batch];
  for (int b = 0; b < batch; b++) {
    const int32_t table[1] = {61 + b};
    status = fovea_cache_paged(&pages, table, 1, 0, 16, &segments[b], 1, &sequences[b], &error);
    worked(status, error.text, __LINE__);
  }
  /* snippet 3 */
  rows.layer = pages.layers - 1;
  worked(fovea_append(&rows, &rotary, NULL, &error), error.text, __LINE__);
  return 0;
}
