/* Sizes that the initialisers of public structs use. */
#include "../../arch/formats.h"
#include "nodes.h"
#include "validate.h"

#include <fovea/cache.h>

int64_t fovea_panel_elements(int64_t qk_dim, fovea_type type) {
  /* Unsigned: sizes that make no sense must not be undefined behaviour. They are checked later. */
  uint64_t together = (uint64_t)fovea_dims_together(type);
  uint64_t dims = ((uint64_t)qk_dim + together - 1) & ~(together - 1);
  return (int64_t)(FOVEA_PANEL_ROWS * dims);
}

int64_t fovea_state_numbers(int64_t dim, int64_t keys_begin, int64_t keys_end) {
  if (dim < 1 || dim > FOVEA_DIM_LIMIT || keys_begin < 0 || keys_end < keys_begin || keys_end > FOVEA_LENGTH_LIMIT)
    return 0;
  return fovea_node_count(fovea_spans_of(keys_begin, keys_end)) * fovea_row_state_numbers(dim);
}
