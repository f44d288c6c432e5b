/* Copies rows of one cache to another. */
#include "../../arch/float_state.h"
#include "../base/error.h"
#include "../base/validate.h"
#include "../system/dispatch.h"
#include "cached_rows.h"
#include "claims.h"

typedef struct copy_call {
  const fovea_sequence *sequences[2]; /* from, to */
  int64_t layers;
  int64_t begin, end;
} copy_call;

static fovea_claimed_rows claimed_rows(const void *call, int64_t index) {
  const copy_call *copy = call;
  int64_t side = index % 2;
  return (fovea_claimed_rows){copy->sequences[side], copy->begin, copy->end, side == 1, side, index / 2};
}

static fovea_status check_sizes(const fovea_segment_shape *shape, const copy_call *copy, fovea_error *error) {
  const fovea_bounded sizes[] = {
      {"layers", copy->layers, 1, FOVEA_LENGTH_LIMIT}, {"kv_heads", shape->kv_heads, 1, FOVEA_LENGTH_LIMIT},
      {"qk_dim", shape->qk_dim, 1, FOVEA_DIM_LIMIT},   {"v_dim", shape->v_dim, 1, FOVEA_DIM_LIMIT},
      {"begin", copy->begin, 0, FOVEA_LENGTH_LIMIT},   {"end", copy->end, copy->begin, FOVEA_LENGTH_LIMIT}};
  return fovea_validate_bounds(NULL, sizes, sizeof sizes / sizeof sizes[0], FOVEA_ERROR_SIZE, error);
}

static void copy_side(const copy_call *copy, int values, int64_t layer, int64_t kv_heads, int64_t dim) {
  const fovea_kernels *kernels = fovea_dispatch_default(FOVEA_F32);
  const fovea_segment *segment[2];
  for (int i = 0; i < 2; i++) {
    segment[i] = fovea_find_segment(copy->sequences[i], copy->begin);
  }
  for (int64_t position = copy->begin; position < copy->end; position++) {
    for (int i = 0; i < 2; i++) {
      if (position == segment[i]->first + segment[i]->rows)
        segment[i] = fovea_segment_after(copy->sequences[i], segment[i]);
    }
    for (int64_t head = 0; head < kv_heads; head++) {
      const fovea_cached_row from = fovea_find_cached_row(segment[0], values, dim, layer, head, position);
      const fovea_cached_row to = fovea_find_cached_row(segment[1], values, dim, layer, head, position);
      fovea_copy_cached_row(kernels, &from, &to);
    }
  }
}

fovea_status fovea_sequence_copy(const fovea_sequence *from, const fovea_sequence *to, int64_t layers,
                                 int64_t kv_heads, int64_t qk_dim, int64_t v_dim, int64_t begin, int64_t end,
                                 fovea_error *error) {
  const copy_call copy = {{from, to}, layers, begin, end};
  const fovea_claims claims = {.shape = {kv_heads, qk_dim, v_dim, layers - 1}, /* all must have the last layer */
                               .sequence_count = 2 * layers,
                               .call = &copy,
                               .sequence = claimed_rows};
  if (!from || !to) return fovea_fail(error, FOVEA_ERROR_NULL, "%s is NULL", from ? "to" : "from");
  fovea_status status = check_sizes(&claims.shape, &copy, error);
  if (!status) status = fovea_check_sequence(from, &claims.shape, 0, begin, end, error);
  if (!status) status = fovea_check_sequence(to, &claims.shape, 1, begin, end, error);
  if (!status) status = fovea_check_claims(&claims, error);
  if (status || begin == end) return status;
  fovea_float_state caller = fovea_float_begin();
  for (int64_t layer = 0; layer < layers; layer++) {
    copy_side(&copy, 0, layer, kv_heads, qk_dim);
    copy_side(&copy, 1, layer, kv_heads, v_dim);
  }
  fovea_float_end(caller);
  return FOVEA_OK;
}
