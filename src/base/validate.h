/* Every check of what a caller hands in. Nothing below these functions checks again. */
#ifndef FOVEA_SRC_BASE_VALIDATE_H
#define FOVEA_SRC_BASE_VALIDATE_H

#include "../../arch/formats.h"
#include "shapes.h"

#include <fovea/fovea.h>

/* Largest size of a length, window or offset: sums of a few never overflow. */
#define FOVEA_LENGTH_LIMIT (INT64_C(1) << 48)
/* Largest dimension: the scratch of a worker, less than 2^18 bytes for each, fits in 64 bits. */
#define FOVEA_DIM_LIMIT (INT64_C(1) << 40)

/* A number that a caller hands in, and what it may be. */
typedef struct fovea_bounded {
  const char *name;
  int64_t value, least, most;
} fovea_bounded;

/* A type of elements: any format there is. */
static inline fovea_bounded fovea_bounded_type(const char *name, fovea_type type) {
  return (fovea_bounded){name, (int)type, 0, FOVEA_TYPES - 1};
}

/* `of` is what the caller calls the struct that the numbers stand in; NULL where their names alone will do. */
fovea_status fovea_validate_bounds(const char *of, const fovea_bounded *numbers, size_t count, fovea_status status,
                                   fovea_error *error);

/* A list of cumulative lengths, `batch` + 1 of them, or NULL: from 0 to `rows`, which the caller calls rows_name,
 * and never decreasing. */
fovea_status fovea_validate_cumulative(const char *name, const int32_t *list, int64_t batch, int64_t rows,
                                       const char *rows_name, fovea_error *error);

/* The strides of one tensor, which keep its elements apart where it is an output; and what its pointer is to be
 * checked for. */
fovea_status fovea_validate_strides(const fovea_shape *shape, int is_output, fovea_reach *reach,
                                    fovea_error *error);
fovea_status fovea_validate_pointer(const fovea_reach *reach, const void *pointer, fovea_error *error);
/* That the range of an output shares no byte with that of another tensor. */
fovea_status fovea_validate_apart(const fovea_reach *output, const void *output_pointer, const fovea_reach *other,
                                  const void *other_pointer, fovea_error *error);

/* Memory of the caller's that a plan or a run (`what`) is to lie in, of which `needed` bytes are needed. */
fovea_status fovea_validate_memory(const char *what, const void *memory, size_t size, size_t needed,
                                   fovea_error *error);
fovea_status fovea_validate_scratch(const void *scratch, size_t size, size_t needed, fovea_error *error);

#endif
