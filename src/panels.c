#include "panels.h"

/* Where a dim of a key lies, in elements. */
static int64_t place_of(fovea_type type, int64_t key, int64_t dim) {
  if (type == FOVEA_BF16) return (dim / 2 * FOVEA_PANEL_ROWS + key) * 2 + dim % 2;
  return dim * FOVEA_PANEL_ROWS + key;
}

void fovea_panel_read(const void *panel, fovea_type type, int64_t key, int64_t first, int64_t count,
                      void *elements) {
  for (int64_t i = 0; i < count; i++) {
    int64_t place = place_of(type, key, first + i);
    if (type == FOVEA_F32) {
      ((float *)elements)[i] = ((const float *)panel)[place];
    } else {
      ((uint16_t *)elements)[i] = ((const uint16_t *)panel)[place];
    }
  }
}

void fovea_panel_write(void *panel, fovea_type type, int64_t key, int64_t first, int64_t count, int64_t dim,
                       const void *elements) {
  for (int64_t i = 0; i < count; i++) {
    int64_t place = place_of(type, key, first + i);
    if (type == FOVEA_F32) {
      ((float *)panel)[place] = ((const float *)elements)[i];
    } else {
      ((uint16_t *)panel)[place] = ((const uint16_t *)elements)[i];
    }
  }
  if (type == FOVEA_BF16 && dim % 2 == 1 && first + count == dim) ((uint16_t *)panel)[place_of(type, key, dim)] = 0;
}
