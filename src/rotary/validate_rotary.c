#include "validate_rotary.h"
#include "../base/error.h"
#include "../base/types.h"
#include "../base/unused.h"
#include "../base/validate.h"
#include "angle.h"

#define DIMS_LIMIT     (INT64_C(1) << 20)
#define POSITION_LIMIT (INT64_C(1) << 40)

static fovea_status check_frequencies(const fovea_rotary *rotary, fovea_error *error) {
  const double limit = FOVEA_FREQUENCY_LIMIT;
  if ((uintptr_t)rotary->frequencies % _Alignof(double) != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "frequencies are not at a multiple of %jd bytes",
                      (int64_t) _Alignof(double));
  }
  for (int64_t i = 0; i < rotary->dims / 2; i++) {
    if (!(rotary->frequencies[i] >= -limit && rotary->frequencies[i] <= limit)) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "frequencies[%jd] is %g; it must be from -2^32 to 2^32", i,
                        rotary->frequencies[i]);
    }
  }
  return FOVEA_OK;
}

static fovea_status check_tables(const fovea_rotary *rotary, fovea_error *error) {
  if (!rotary->cosines || !rotary->sines) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL; tables are given both or neither",
                      rotary->cosines ? "sines" : "cosines");
  }
  if (rotary->frequencies) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "frequencies are given together with cosines and sines");
  }
  if (rotary->table_rows < 0 || rotary->table_rows > FOVEA_LENGTH_LIMIT) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "table_rows is %jd; it must be from 0 to %jd",
                      rotary->table_rows, FOVEA_LENGTH_LIMIT);
  }
  if (rotary->table_stride < rotary->dims / 2) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "table_stride is %jd; it must be at least dims / 2, which is %jd", rotary->table_stride,
                      rotary->dims / 2);
  }
  return FOVEA_OK;
}

static fovea_status check_axes(const fovea_rotary *rotary, fovea_error *error) {
  const fovea_bounded axes = {"axes", rotary->axes, 1, FOVEA_ROTARY_AXES};
  fovea_status status = fovea_validate_bounds(NULL, &axes, 1, error);
  if (!status) status = fovea_refuse_unused_axes(rotary, error);
  if (status || rotary->axes == 1) return status;
  if (!rotary->pair_axes) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "pair_axes is NULL while axes is %jd: it says by which each pair rotates", rotary->axes);
  }
  for (int64_t i = 0; i < rotary->dims / 2; i++) {
    if (rotary->pair_axes[i] < rotary->axes) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "pair_axes[%jd] is %jd; it must be less than axes, which is %jd",
                      i, (int64_t)rotary->pair_axes[i], rotary->axes);
  }
  return FOVEA_OK;
}

fovea_status fovea_validate_rotary(const fovea_rotary *rotary, int64_t dim, fovea_error *error) {
  const fovea_bounded layout = {"layout", (int)rotary->layout, 0, FOVEA_ROTARY_HALVES};
  fovea_status status = fovea_validate_bounds(NULL, &layout, 1, error);
  if (status) return status;
  if (rotary->dims < 0 || rotary->dims > dim || rotary->dims > DIMS_LIMIT || rotary->dims % 2 != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "dims is %jd; it must be even and from 0 to %jd", rotary->dims,
                      dim < DIMS_LIMIT ? dim : DIMS_LIMIT);
  }
  status = check_axes(rotary, error);
  if (status) return status;
  if (rotary->cosines || rotary->sines) {
    status = check_tables(rotary, error);
    return status ? status : fovea_refuse_unused_angles(rotary, error);
  }
  status = fovea_refuse_unused_angles(rotary, error);
  if (status) return status;
  if (rotary->frequencies) return check_frequencies(rotary, error);
  if (!(rotary->base >= 1) || rotary->base - rotary->base != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "base is %g; it must be finite and at least 1", rotary->base);
  }
  return FOVEA_OK;
}

fovea_status fovea_validate_position(const fovea_rotary *rotary, const char *name, int64_t index, int64_t batch,
                                     int64_t row, int64_t position, fovea_error *error) {
  const int64_t least = rotary->cosines ? 0 : -POSITION_LIMIT;
  const int64_t most = rotary->cosines ? rotary->table_rows - 1 : POSITION_LIMIT;
  if (position >= least && position <= most) return FOVEA_OK;
  const char *const why = rotary->cosines ? ", which the tables have" : "";
  if (index < 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "%s puts row %jd of batch element %jd at position %jd; it must be from %jd to %jd%s", name,
                      row, batch, position, least, most, why);
  }
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "%s[%jd] puts row %jd of batch element %jd at position %jd; it must be from %jd to %jd%s", name,
                    index, row, batch, position, least, most, why);
}

fovea_status fovea_validate_positions(const fovea_rotary *rotary, const char *name, int64_t batch, int64_t rows,
                                      const int64_t *list, int64_t count, int64_t first, fovea_error *error) {
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t axis = 0; axis < rotary->axes; axis++) {
      const int64_t index = axis * count + first + row;
      const fovea_status status = fovea_validate_position(rotary, name, index, batch, row, list[index], error);
      if (status) return status;
    }
  }
  return FOVEA_OK;
}

static fovea_status check_positions(const fovea_rotary *rotary, const fovea_rotation *rotation,
                                    fovea_error *error) {
  fovea_status status = FOVEA_OK;
  if (rotation->rows == 0) return FOVEA_OK;
  const int64_t listed = rotation->cu_seqlens ? rotation->rows : rotation->batch * rotation->rows;
  for (int64_t batch = 0; batch < rotation->batch && !status; batch++) {
    const int64_t rows = fovea_rotation_rows(rotation, batch);
    const int64_t before = rotation->cu_seqlens ? rotation->cu_seqlens[batch] : batch * rows;
    if (rotation->positions)
      status =
          fovea_validate_positions(rotary, "positions", batch, rows, rotation->positions, listed, before, error);
    if (rotation->positions || rows == 0) continue;
    int64_t first = rotation->first_positions ? rotation->first_positions[batch] : rotation->first_position;
    const char *name = rotation->first_positions ? "first_positions" : "first_position";
    const int64_t index = rotation->first_positions ? batch : -1;
    status = fovea_validate_position(rotary, name, index, batch, 0, first, error);
    if (!status) status = fovea_validate_position(rotary, name, index, batch, rows - 1, first + rows - 1, error);
  }
  return status;
}

fovea_status fovea_validate_row_count(int64_t batch, int64_t rows, fovea_error *error) {
  int64_t all;
  if (!__builtin_mul_overflow(batch, rows, &all) && all <= FOVEA_LENGTH_LIMIT) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "batch %jd times rows %jd is more than %jd", batch, rows,
                    FOVEA_LENGTH_LIMIT);
}

static fovea_status check_sizes(const fovea_rotation *rotation, fovea_error *error) {
  const fovea_bounded sizes[] = {{"batch", rotation->batch, 1, FOVEA_LENGTH_LIMIT},
                                 {"heads", rotation->heads, 1, FOVEA_LENGTH_LIMIT},
                                 {"rows", rotation->rows, 0, FOVEA_LENGTH_LIMIT},
                                 {"dim", rotation->dim, 1, FOVEA_DIM_LIMIT}};
  fovea_status status = fovea_validate_bounds(NULL, sizes, sizeof sizes / sizeof sizes[0], error);
  return status ? status : fovea_validate_row_count(rotation->batch, rotation->rows, error);
}

/* Integers of 64 bits may be aligned to 32 bits, as on i386. */
static fovea_read_array array_of(const char *name, const void *pointer, int64_t count, int size, int alignment) {
  return (fovea_read_array){pointer, {name, 0, pointer ? count * size : 0, alignment}};
}

fovea_read_array fovea_position_array(const fovea_rotary *rotary, const char *name, const int64_t *list,
                                      int64_t count) {
  return array_of(name, list, rotary->axes * count, sizeof(int64_t), _Alignof(int64_t));
}

/* Elements from the first to the last of a table; -1 if they reach too far. */
static int64_t table_count(const fovea_rotary *rotary) {
  int64_t count;
  if (!rotary->cosines || rotary->table_rows == 0) return 0;
  if (__builtin_mul_overflow(rotary->table_rows - 1, rotary->table_stride, &count)) return -1;
  return count > INT64_C(1) << 57 ? -1 : count + rotary->dims / 2;
}

fovea_status fovea_validate_rotary_arrays(const fovea_rotary *rotary, fovea_read_array arrays[FOVEA_ROTARY_ARRAYS],
                                          fovea_error *error) {
  if (table_count(rotary) < 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "table_stride is %jd: the rows reach further than 2^57 elements",
                      rotary->table_stride);
  }
  arrays[0] = array_of("cosines", rotary->cosines, table_count(rotary), sizeof(float), _Alignof(float));
  arrays[1] = array_of("sines", rotary->sines, table_count(rotary), sizeof(float), _Alignof(float));
  arrays[2] = array_of("frequencies", rotary->frequencies, rotary->dims / 2, sizeof(double), _Alignof(double));
  arrays[3] = array_of("pair_axes", rotary->pair_axes, rotary->dims / 2, 1, 1);
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < FOVEA_ROTARY_ARRAYS && !status; i++) {
    status = fovea_validate_pointer(&arrays[i].reach, arrays[i].pointer, error);
  }
  return status;
}

static fovea_status check_memory(const fovea_rotary *rotary, const fovea_rotation *rotation, fovea_error *error) {
  const fovea_rotation *r = rotation;
  const int64_t batch = r->cu_seqlens ? 1 : r->batch;
  const fovea_shape from =
      fovea_make_shape("from", batch, r->heads, r->rows, r->dim, r->from_strides, fovea_type_bits(r->from_type));
  const fovea_shape to =
      fovea_make_shape("to", batch, r->heads, r->rows, r->dim, r->to_strides, fovea_type_bits(r->to_type));
  fovea_reach from_reach, to_reach;
  fovea_status status = fovea_validate_strides(&from, 0, &from_reach, error);
  if (!status) status = fovea_validate_strides(&to, 1, &to_reach, error);
  if (!status) status = fovea_validate_pointer(&from_reach, r->from, error);
  if (!status) status = fovea_validate_pointer(&to_reach, r->to, error);
  fovea_read_array read[FOVEA_ROTARY_ARRAYS + 3] = {{NULL, {NULL, 0, 0, 1}}};
  if (!status) status = fovea_validate_rotary_arrays(rotary, read, error);
  if (status) return status;
  read[FOVEA_ROTARY_ARRAYS] =
      array_of("first_positions", r->first_positions, r->batch, sizeof(int64_t), _Alignof(int64_t));
  read[FOVEA_ROTARY_ARRAYS + 1] = fovea_position_array(rotary, "positions", r->positions, batch * r->rows);
  read[FOVEA_ROTARY_ARRAYS + 2] =
      array_of("cu_seqlens", r->cu_seqlens, r->batch + 1, sizeof(int32_t), _Alignof(int32_t));
  for (size_t i = 0; i < sizeof read / sizeof read[0] && !status; i++) {
    status = fovea_validate_pointer(&read[i].reach, read[i].pointer, error);
    if (!status) status = fovea_validate_apart(&to_reach, r->to, &read[i].reach, read[i].pointer, error);
  }
  int in_place = r->from == r->to && r->from_type == r->to_type;
  for (int axis = 0; axis < 3; axis++) in_place = in_place && from.stride[axis] == to.stride[axis];
  if (!status && !in_place) status = fovea_validate_apart(&to_reach, r->to, &from_reach, r->from, error);
  return status;
}

fovea_status fovea_validate_rotation(const fovea_rotary *rotary, const fovea_rotation *rotation,
                                     fovea_error *error) {
  const fovea_bounded types[] = {fovea_bounded_type("from_type", rotation->from_type),
                                 fovea_bounded_type("to_type", rotation->to_type)};
  fovea_status status = check_sizes(rotation, error);
  if (!status) status = fovea_validate_bounds(NULL, types, sizeof types / sizeof types[0], error);
  if (!status) {
    status = fovea_validate_cumulative("cu_seqlens", rotation->cu_seqlens, rotation->batch, rotation->rows, "rows",
                                       error);
  }
  if (!status) status = fovea_validate_rotary(rotary, rotation->dim, error);
  if (!status) status = fovea_refuse_unused_positions(rotation, error);
  if (!status) status = check_memory(rotary, rotation, error);
  if (!status) status = check_positions(rotary, rotation, error);
  return status;
}
