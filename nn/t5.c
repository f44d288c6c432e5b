/* T5's buckets of relative positions, as functions of the library. */
#include "../arch/float_state.h"
#include "../src/base/buckets.h"
#include "../src/base/validate.h"

#include <fovea/embedding.h>
#include <fovea/nn.h>

int64_t fovea_nn_t5_bucket(int64_t relative, int bidirectional, int64_t buckets, int64_t max_distance) {
  if (fovea_check_bucket_rule(NULL, bidirectional, buckets, max_distance, NULL)) return -1;
  const fovea_bucket_rule rule = fovea_make_bucket_rule(bidirectional, buckets, max_distance);
  const fovea_float_state caller = fovea_float_begin();
  const int64_t bucket = fovea_bucket_of(&rule, relative);
  fovea_float_end(caller);
  return bucket;
}

fovea_status fovea_nn_t5_buckets(int64_t first, int64_t count, int bidirectional, int64_t buckets,
                                 int64_t max_distance, int64_t *to, fovea_error *error) {
  const fovea_bounded bounds[] = {{"count", count, 0, FOVEA_LENGTH_LIMIT},
                                  {"first", first, -FOVEA_LENGTH_LIMIT, FOVEA_LENGTH_LIMIT}};
  fovea_status status = fovea_check_bucket_rule(NULL, bidirectional, buckets, max_distance, error);
  if (!status) status = fovea_validate_bounds(NULL, bounds, 2, error);
  if (status) return status;
  const fovea_reach reach = {"to", 0, count * (int64_t)sizeof *to, _Alignof(int64_t)};
  status = fovea_validate_pointer(&reach, to, error);
  if (status) return status;
  const fovea_bucket_rule rule = fovea_make_bucket_rule(bidirectional, buckets, max_distance);
  const fovea_float_state caller = fovea_float_begin(); /* borders are compared in double, too */
  for (int64_t i = 0; i < count; i++) to[i] = fovea_bucket_of(&rule, first + i);
  fovea_float_end(caller);
  return FOVEA_OK;
}
