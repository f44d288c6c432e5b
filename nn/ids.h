/* Lists of whole numbers of the caller's: ids of table rows, positions. */
#ifndef FOVEA_NN_IDS_H
#define FOVEA_NN_IDS_H

#include "matrix.h"

#include <fovea/embedding.h>

typedef struct fovea_nn_ids {
  const char *name;
  const void *data;
  fovea_nn_id_type type;
  int64_t count;
} fovea_nn_ids;

static inline int64_t fovea_nn_id_at(const fovea_nn_ids *ids, int64_t i) {
  return ids->type == FOVEA_NN_INT32 ? ((const int32_t *)ids->data)[i] : ((const int64_t *)ids->data)[i];
}

/* Checks the pointer, and that an output shares no byte with the list. */
fovea_status fovea_nn_check_ids(const fovea_nn_ids *ids, const fovea_nn_matrix *output, fovea_error *error);

/* Checks that each id is from `least` to `most`. `of` says what has these limits. */
fovea_status fovea_nn_check_id_range(const fovea_nn_ids *ids, int64_t least, int64_t most, const char *of,
                                     fovea_error *error);

#endif
