#include "panels.h"

#include "../../arch/formats.h"

#include <fovea/cache.h>

/* The place of a dim of a key in a panel, in elements. */
static inline int64_t place_of(const int together, int64_t key, int64_t dim) {
  return (dim / together * FOVEA_PANEL_ROWS + key) * together + dim % together;
}

#define WHOLE(with, type, name, element, bits, ...)                                                                \
  _Static_assert(sizeof(element) * 8 == (bits), "elements of panels are taken one by one");
FOVEA_FORMATS(WHOLE, )

#define READ(with, type, name, element, bits, together, ...)                                                       \
  case type:                                                                                                       \
    for (int64_t i = 0; i < count; i++)                                                                            \
      ((element *)elements)[i] = ((const element *)panel)[place_of(together, key, first + i)];                     \
    break;
void fovea_panel_read(const void *panel, fovea_type type, int64_t key, int64_t first, int64_t count,
                      void *elements) {
  switch (type) {
  default:
    FOVEA_FORMATS(READ, )
  }
}

/* Dims after the last that lie together with it are zero. */
#define WRITE(with, type, name, element, bits, together, ...)                                                      \
  case type:                                                                                                       \
    for (int64_t i = 0; i < count; i++)                                                                            \
      ((element *)panel)[place_of(together, key, first + i)] = ((const element *)elements)[i];                     \
    for (int64_t i = dim; first + count == dim && i % (together) != 0; i++)                                        \
      ((element *)panel)[place_of(together, key, i)] = 0;                                                          \
    break;
void fovea_panel_write(void *panel, fovea_type type, int64_t key, int64_t first, int64_t count, int64_t dim,
                       const void *elements) {
  switch (type) {
  default:
    FOVEA_FORMATS(WRITE, )
  }
}
