#include "panels.h"

/* Where a dim of a key lies, in elements. */
static int64_t place_of(fovea_type type, int64_t key, int64_t dim) {
  if (type == FOVEA_BF16) return (dim / 2 * FOVEA_PANEL_ROWS + key) * 2 + dim % 2;
  return dim * FOVEA_PANEL_ROWS + key;
}

void fovea_panel_read(const void *panel, fovea_type type, int64_t key, int64_t first, int64_t count,
                      void *elements) {
  if (type == FOVEA_F32) {
    const float *from = (const float *)panel + place_of(type, key, first);
    for (int64_t i = 0; i < count; i++) ((float *)elements)[i] = from[i * FOVEA_PANEL_ROWS];
  } else if (type == FOVEA_F16) {
    const uint16_t *from = (const uint16_t *)panel + place_of(type, key, first);
    for (int64_t i = 0; i < count; i++) ((uint16_t *)elements)[i] = from[i * FOVEA_PANEL_ROWS];
  } else {
    for (int64_t i = 0; i < count; i++)
      ((uint16_t *)elements)[i] = ((const uint16_t *)panel)[place_of(FOVEA_BF16, key, first + i)];
  }
}

void fovea_panel_write(void *panel, fovea_type type, int64_t key, int64_t first, int64_t count, int64_t dim,
                       const void *elements) {
  if (type == FOVEA_F32) {
    float *to = (float *)panel + place_of(type, key, first);
    for (int64_t i = 0; i < count; i++) to[i * FOVEA_PANEL_ROWS] = ((const float *)elements)[i];
  } else if (type == FOVEA_F16) {
    uint16_t *to = (uint16_t *)panel + place_of(type, key, first);
    for (int64_t i = 0; i < count; i++) to[i * FOVEA_PANEL_ROWS] = ((const uint16_t *)elements)[i];
  } else {
    uint16_t *to = panel;
    for (int64_t i = 0; i < count; i++) to[place_of(FOVEA_BF16, key, first + i)] = ((const uint16_t *)elements)[i];
    if (dim % 2 == 1 && first + count == dim) to[place_of(FOVEA_BF16, key, dim)] = 0;
  }
}
