#include "attend_mask.h"
#include "inputs.h"

#include <string.h>

enum { BATCH, HEADS, ROWS, KEYS, AXES };

static const char *const axis_names[AXES] = {"batch elements", "heads", "rows", "keys"};

static bool check_length(const char *path, int axis, int64_t length, int64_t wanted, failure *why) {
  const long long has = length, needed = wanted;
  if (length == 1 || length == wanted || (axis == KEYS && length > 1 && length < wanted)) return true;
  if (axis == KEYS && wanted > 0)
    return fail(why, "%s: the mask has %lld keys; 1 to %lld are needed", path, has, needed);
  return fail(why, "%s: the mask has %lld %s; %lld, or 1 for all of them, is needed", path, has, axis_names[axis],
              needed);
}

bool load_mask(const char *path, npy_array *mask, fovea_problem *problem, failure *why) {
  const unsigned types = NPY_SET(NPY_BOOL) | NPY_SET(NPY_F32) | NPY_SET(NPY_F16);
  const int64_t begin = problem->mask.begin, keys = problem->kv_len;
  const int64_t wanted[AXES] = {problem->batch, problem->heads, problem->q_len, begin < keys ? keys - begin : 0};
  int64_t lengths[AXES];
  if (begin < 0 || begin > keys)
    return fail(why, "--mask-begin: the mask begins at key %lld; 0 to %lld is needed", (long long)begin,
                (long long)keys);
  if (!input_load(path, types, mask, why)) return false;
  if (mask->rank > AXES)
    return fail(why, "%s: the mask has %d axes; at most (batch, heads, rows, keys) are needed", path, mask->rank);
  for (int axis = 0; axis < AXES; axis++) {
    const int missing = AXES - mask->rank;
    lengths[axis] = axis < missing ? 1 : mask->shape[axis - missing];
    if (!check_length(path, axis, lengths[axis], wanted[axis], why)) return false;
  }

  problem->mask.type = mask->type == NPY_BOOL  ? FOVEA_MASK_BOOL
                       : mask->type == NPY_F16 ? FOVEA_MASK_F16
                                               : FOVEA_MASK_F32;
  problem->mask.strides =
      fovea_mask_layout(problem->mask.type, lengths[BATCH], lengths[HEADS], lengths[ROWS], lengths[KEYS]);
  if (lengths[KEYS] != 1) problem->mask.keys = lengths[KEYS];
  return true;
}

bool load_sinks(const char *path, npy_array *sinks, fovea_problem *problem, failure *why) {
  if (strcmp(path, "zero") == 0) {
    problem->sink = FOVEA_SINK_ZERO;
    return true;
  }
  if (!input_load(path, NPY_SET(NPY_F32), sinks, why)) return false;
  if (sinks->rank != 1)
    return fail(why, "%s: has %d axes; one number for each query head is needed", path, sinks->rank);
  if (sinks->count != problem->heads)
    return fail(why, "%s: has %lld numbers; one for each query head is needed, %lld", path, (long long)sinks->count,
                (long long)problem->heads);
  problem->sink = FOVEA_SINK_PER_HEAD;
  return true;
}
