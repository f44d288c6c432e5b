/* Checks of what a caller hands in. Later steps do not check again. */
#ifndef FOVEA_SRC_BASE_VALIDATE_H
#define FOVEA_SRC_BASE_VALIDATE_H

#include "../../arch/formats.h"
#include "shapes.h"

#include <fovea/fovea.h>

/* The largest length, window or offset: sums of a few never overflow. */
#define FOVEA_LENGTH_LIMIT (INT64_C(1) << 48)
/* The largest dimension. A worker's scratch is less than 2^18 bytes for each dim, so its size fits in 64 bits. */
#define FOVEA_DIM_LIMIT (INT64_C(1) << 40)

/* A number of the caller's with its limits. */
typedef struct fovea_bounded {
  const char *name;
  int64_t value, least, most;
} fovea_bounded;

/* A type of elements, which must be one of the formats. */
static inline fovea_bounded fovea_bounded_type(const char *name, fovea_type type) {
  return (fovea_bounded){name, (int)type, 0, FOVEA_TYPES - 1};
}

/* Checks that each number is within its limits. `of` is the caller's name of the struct that has the numbers; NULL:
 * the text gives their own names only. */
fovea_status fovea_validate_bounds(const char *of, const fovea_bounded *numbers, size_t count, fovea_error *error);

/* Checks a list of `batch` + 1 cumulative lengths, or NULL: they start at 0 or more, never decrease, and end at
 * `rows` or less. rows_name is the caller's name of `rows`. */
fovea_status fovea_validate_cumulative(const char *name, const int32_t *list, int64_t batch, int64_t rows,
                                       const char *rows_name, fovea_error *error);

/* Checks the strides of a tensor, and that the elements of an output share no memory. Sets the reach that the
 * tensor's pointer is to be checked for. */
fovea_status fovea_validate_strides(const fovea_shape *shape, int is_output, fovea_reach *reach,
                                    fovea_error *error);
fovea_status fovea_validate_pointer(const fovea_reach *reach, const void *pointer, fovea_error *error);
/* Checks that the range of an output shares no byte with the range of another tensor. */
fovea_status fovea_validate_apart(const fovea_reach *output, const void *output_pointer, const fovea_reach *other,
                                  const void *other_pointer, fovea_error *error);

/* Checks memory of the caller's for a plan or a run (`what`), which needs `needed` bytes. */
fovea_status fovea_validate_memory(const char *what, const void *memory, size_t size, size_t needed,
                                   fovea_error *error);
fovea_status fovea_validate_scratch(const void *scratch, size_t size, size_t needed, fovea_error *error);

#endif
