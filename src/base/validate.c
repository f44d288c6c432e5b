#include "validate.h"

#include "error.h"

#include <string.h>

fovea_status fovea_validate_bounds(const char *of, const fovea_bounded *numbers, size_t count, fovea_error *error) {
  for (size_t i = 0; i < count; i++) {
    const fovea_bounded *number = &numbers[i];
    if (number->value >= number->least && number->value <= number->most) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s%s%s is %jd; it must be from %jd to %jd", of ? of : "",
                      of ? "." : "", number->name, number->value, number->least, number->most);
  }
  return FOVEA_OK;
}

fovea_status fovea_validate_cumulative(const char *name, const int32_t *list, int64_t batch, int64_t rows,
                                       const char *rows_name, fovea_error *error) {
  if (!list) return FOVEA_OK;
  if (list[0] < 0)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s[0] is %jd; it must be 0 or more", name, (int64_t)list[0]);
  for (int64_t i = 1; i <= batch; i++) {
    if (list[i] < list[i - 1]) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s[%jd] is %jd; it must not be less than the one before, %jd",
                        name, i, (int64_t)list[i], (int64_t)list[i - 1]);
    }
  }
  if (list[batch] > rows) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s[%jd] is %jd; it must be at most %s, which is %jd", name,
                      batch, (int64_t)list[batch], rows_name, rows);
  }
  return FOVEA_OK;
}

/* Before "strides": the group of a tensor whose strides are a field of it, else NULL. The numbers of a state have the
 * state's, which the caller names. */
static const char *strides_of(const char *name) {
  static const char groups[][2][12] = {
      {"mask", "mask."}, {"scores", "scores."}, {"numbers", ""}, {"top.keys", "top."}, {"top.scores", "top."}};
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
    if (strcmp(groups[i][0], name) == 0) return groups[i][1];
  return NULL;
}

fovea_status fovea_validate_strides(const fovea_shape *shape, int is_output, fovea_reach *reach,
                                    fovea_error *error) {
  static const char axes[][8] = {"batch", "head", "row"};
  int64_t low, high, least;
  int axis;
  *reach = (fovea_reach){shape->name, 0, 0, shape->bits < 8 ? 1 : shape->bits / 8};
  if (fovea_shape_is_empty(shape)) return FOVEA_OK;
  const int fits = fovea_shape_range(shape, &low, &high);
  if (!fits || (is_output && !fovea_shape_is_apart(shape, &axis, &least))) {
    const char *const group = strides_of(shape->name), *const name = group ? group : shape->name;
    const char *const joint = group ? "" : "_";
    if (!fits) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                        "%s%sstrides %jd, %jd, %jd: the elements reach further than 2^57 from the first", name,
                        joint, shape->stride[0], shape->stride[1], shape->stride[2]);
    }
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "%s%sstrides.%s is %jd; elements share memory unless its size is at least %jd", name, joint,
                      axes[axis], shape->stride[axis], least);
  }
  reach->begin = low * shape->bits / 8; /* rows of bits begin at whole bytes */
  reach->end = high * shape->bits / 8 + reach->alignment;
  return FOVEA_OK;
}

fovea_status fovea_validate_pointer(const fovea_reach *reach, const void *pointer, fovea_error *error) {
  if (reach->begin == reach->end) return FOVEA_OK;
  if (!pointer) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", reach->name);
  if ((uintptr_t)pointer % (uintptr_t)reach->alignment != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd bytes off an address that is a multiple of %jd",
                      reach->name, (int64_t)((uintptr_t)pointer % (uintptr_t)reach->alignment),
                      (int64_t)reach->alignment);
  }
  return FOVEA_OK;
}

/* The bytes that two ranges share. */
static uintptr_t overlap(const fovea_reach *a, const void *a_pointer, const fovea_reach *b, const void *b_pointer) {
  uintptr_t a_begin = (uintptr_t)a_pointer + (uintptr_t)a->begin, a_end = (uintptr_t)a_pointer + (uintptr_t)a->end;
  uintptr_t b_begin = (uintptr_t)b_pointer + (uintptr_t)b->begin, b_end = (uintptr_t)b_pointer + (uintptr_t)b->end;
  uintptr_t begin = a_begin > b_begin ? a_begin : b_begin, end = a_end < b_end ? a_end : b_end;
  return a->begin < a->end && b->begin < b->end && begin < end ? end - begin : 0;
}

fovea_status fovea_validate_apart(const fovea_reach *output, const void *output_pointer, const fovea_reach *other,
                                  const void *other_pointer, fovea_error *error) {
  uintptr_t shared = overlap(output, output_pointer, other, other_pointer);
  if (shared == 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s shares memory with %s: they overlap by %ju bytes",
                    output->name, other->name, (uint64_t)shared);
}

fovea_status fovea_validate_memory(const char *what, const void *memory, size_t size, size_t needed,
                                   fovea_error *error) {
  if (!memory) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "memory is NULL");
  if ((uintptr_t)memory % FOVEA_SCRATCH_ALIGNMENT != 0) {
    return fovea_fail(error, FOVEA_ERROR_SPACE, "memory is %jd bytes off an address that is a multiple of %jd",
                      (int64_t)((uintptr_t)memory % FOVEA_SCRATCH_ALIGNMENT), (int64_t)FOVEA_SCRATCH_ALIGNMENT);
  }
  if (size >= needed) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_SPACE, "size is %ju bytes; the %s needs %ju", (uint64_t)size, what,
                    (uint64_t)needed);
}

fovea_status fovea_validate_scratch(const void *scratch, size_t size, size_t needed, fovea_error *error) {
  if (!scratch) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "scratch is NULL");
  if ((uintptr_t)scratch % FOVEA_SCRATCH_ALIGNMENT != 0) {
    return fovea_fail(error, FOVEA_ERROR_SPACE, "scratch is %jd bytes off an address that is a multiple of %jd",
                      (int64_t)((uintptr_t)scratch % FOVEA_SCRATCH_ALIGNMENT), (int64_t)FOVEA_SCRATCH_ALIGNMENT);
  }
  if (size < needed) {
    return fovea_fail(error, FOVEA_ERROR_SPACE, "scratch_size is %ju bytes; %ju are needed", (uint64_t)size,
                      (uint64_t)needed);
  }
  return FOVEA_OK;
}
