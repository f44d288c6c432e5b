/* Tables of cosines and sines, and the axes of M-RoPE's sections. */
#include "../../arch/float_state.h"
#include "../base/caller.h"
#include "../base/error.h"
#include "../base/groups.h"
#include "../base/validate.h"
#include "rotary.h"
#include "validate_rotary.h"

#include <fovea/rotary_scaling.h>

#include <string.h>

#if FOVEA_BUILDS_SCALING

#define ROWS_LIMIT (INT64_C(1) << 40)

static fovea_status check_factor(double factor, fovea_error *error) {
  const float rounded = (float)factor;
  if (factor > 0 && rounded > 0 && rounded - rounded == 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "factor is %g; as a float it must be finite and more than 0",
                    factor);
}

/* What is written lies apart from what is read. */
static fovea_status check_memory(const fovea_rotary *rotary, int64_t rows, const float *cosines, const float *sines,
                                 fovea_error *error) {
  const int64_t bytes = rows * (rotary->dims / 2) * (int64_t)sizeof(float);
  const fovea_reach to[] = {{"cosines", 0, bytes, _Alignof(float)}, {"sines", 0, bytes, _Alignof(float)}};
  const float *const tables[] = {cosines, sines};
  fovea_read_array read[FOVEA_ROTARY_ARRAYS];
  fovea_status status = fovea_validate_rotary_arrays(rotary, read, error);
  for (int i = 0; i < 2 && !status; i++) status = fovea_validate_pointer(&to[i], tables[i], error);
  if (!status) status = fovea_validate_apart(&to[0], cosines, &to[1], sines, error);
  for (int i = 0; i < 2 * FOVEA_ROTARY_ARRAYS && !status; i++) {
    const fovea_read_array *array = &read[i / 2];
    status = fovea_validate_apart(&to[i % 2], tables[i % 2], &array->reach, array->pointer, error);
  }
  return status;
}

/* One piece of the pairs, at all positions. */
static void write_piece(const fovea_rotary_piece *piece, float factor, int64_t rows, float *cosines, float *sines) {
  const int64_t pairs = piece->rotary->dims / 2;
  for (int64_t row = 0; row < rows; row++) {
    const fovea_rotary_position position = fovea_plain_position(row);
    fovea_rotary_angles angles;
    fovea_rotary_at(piece, &position, &angles);
    for (int i = 0; i < piece->count; i++) {
      cosines[row * pairs + piece->first + i] = angles.cosines[i] * factor;
      sines[row * pairs + piece->first + i] = angles.sines[i] * factor;
    }
  }
}

static fovea_status write_tables(const fovea_rotary *rotary, double factor, int64_t rows, float *cosines,
                                 float *sines, fovea_error *error) {
  const fovea_bounded count = {"rows", rows, 0, ROWS_LIMIT};
  fovea_rotary_piece piece;
  fovea_status status = fovea_validate_rotary(rotary, rotary->dims, error);
  if (!status && rotary->cosines)
    status = fovea_fail(error, FOVEA_ERROR_ARGUMENT, "rotary has tables: give the base or the frequencies");
  if (!status) status = fovea_validate_bounds(NULL, &count, 1, error);
  if (!status) status = check_factor(factor, error);
  if (!status) status = check_memory(rotary, rows, cosines, sines, error);
  if (status) return status;
  fovea_rotary_begin(&piece, rotary, NULL);
  do {
    write_piece(&piece, (float)factor, rows, cosines, sines);
  } while (fovea_rotary_next(&piece));
  return FOVEA_OK;
}

fovea_status fovea_rotary_tables(const fovea_rotary *given, double factor, int64_t rows, float *cosines,
                                 float *sines, fovea_error *error) {
  fovea_rotary rotary;
  fovea_status status = fovea_read_rotary(given, &rotary, error);
  if (status) return status;
  fovea_float_state caller = fovea_float_begin();
  status = write_tables(&rotary, factor, rows, cosines, sines, error);
  fovea_float_end(caller);
  return status;
}

/* ---- Sections ------------------------------------------------------------------------------------------------ */

static fovea_status check_sections(fovea_section_layout layout, const int64_t *sections, int64_t axes,
                                   int64_t pairs, fovea_error *error) {
  const fovea_bounded bounds = {"axes", axes, 1, FOVEA_ROTARY_AXES};
  const fovea_bounded kind = {"layout", (int)layout, 0, FOVEA_SECTIONS_INTERLEAVED};
  int64_t left = pairs;
  fovea_status status = fovea_validate_bounds(NULL, &bounds, 1, error);
  if (!status) status = fovea_validate_bounds(NULL, &kind, 1, error);
  for (int64_t axis = 0; axis < axes && !status; axis++) {
    if (sections[axis] < 0 || sections[axis] > left)
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "sections[%jd] is %jd; %jd of %jd pairs are left for it", axis,
                        sections[axis], left, pairs);
    left -= sections[axis];
    /* Pair axes * (sections[axis] - 1) + axis is the last of an axis that has turns. */
    if (layout == FOVEA_SECTIONS_INTERLEAVED && axis > 0 && sections[axis] > 0 &&
        axes * (sections[axis] - 1) + axis >= pairs)
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                        "sections[%jd] is %jd; interleaved, an axis gets every %jd of %jd pairs, which are fewer",
                        axis, sections[axis], axes, pairs);
  }
  if (status || left == 0) return status;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "sections have %jd pairs in all; there are %jd", pairs - left,
                    pairs);
}

fovea_status fovea_rotary_sections(fovea_section_layout layout, const int64_t *sections, int64_t axes,
                                   int64_t pairs, unsigned char *pair_axes, fovea_error *error) {
  if (!sections || !pair_axes)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", sections ? "pair_axes" : "sections");
  const fovea_status status = check_sections(layout, sections, axes, pairs, error);
  if (status) return status;
  int64_t pair = 0;
  for (int64_t axis = 0; axis < axes && layout == FOVEA_SECTIONS_IN_ROW; axis++) {
    memset(pair_axes + pair, (int)axis, (size_t)sections[axis]);
    pair += sections[axis];
  }
  for (; pair < pairs; pair++) {
    const int64_t axis = pair % axes;
    pair_axes[pair] = (unsigned char)(pair < axes * sections[axis] ? axis : 0);
  }
  return FOVEA_OK;
}
#else
fovea_status fovea_rotary_tables(const fovea_rotary *rotary, double factor, int64_t rows, float *cosines,
                                 float *sines, fovea_error *error) {
  (void)rotary, (void)factor, (void)rows, (void)cosines, (void)sines;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_SCALING, error);
}

fovea_status fovea_rotary_sections(fovea_section_layout layout, const int64_t *sections, int64_t axes,
                                   int64_t pairs, unsigned char *pair_axes, fovea_error *error) {
  (void)layout, (void)sections, (void)axes, (void)pairs, (void)pair_axes;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_SCALING, error);
}
#endif
