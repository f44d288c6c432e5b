/* Products of codes in portable C, byte by byte. shared/nn/products.h says what each function does. */
#ifndef FOVEA_ARCH_SCALAR_NN_PRODUCTS_LAYER_H
#define FOVEA_ARCH_SCALAR_NN_PRODUCTS_LAYER_H

#include "../vector.h"

#include <string.h>

#define INT8_WORD_BYTES 4
#define INT8_OFFSET     0

#define FOVEA_NN_INT8_VECTORS     16
#define FOVEA_NN_INT8_TILE_ROWS   2
#define FOVEA_NN_INT8_ROW_STEP    2
#define FOVEA_NN_INT8_TILES(TILE) TILE(2)

typedef int32_t int8_sum;
typedef const int8_t *int8_weights;
typedef const int8_t *int8_scalars;

FOVEA_INLINE int8_sum int8_set1(int32_t x) {
  return x;
}
FOVEA_INLINE int8_sum int8_load(const int32_t *p) {
  return *p;
}
FOVEA_INLINE void int8_store(int32_t *p, int8_sum sum) {
  *p = sum;
}
FOVEA_INLINE int8_sum int8_plus(int8_sum a, int8_sum b) {
  return a + b;
}
FOVEA_INLINE vec int8_float(int8_sum sum) {
  return (float)sum;
}
FOVEA_INLINE void int8_pack(const uint8_t *codes, void *to) {
  memcpy(to, codes, INT8_WORD_BYTES);
}
FOVEA_INLINE int8_weights int8_place(const void *p) {
  return p;
}
FOVEA_INLINE int8_scalars int8_spread(const void *p) {
  return p;
}
FOVEA_INLINE int8_sum int8_add(int8_sum sum, int8_weights w, int8_scalars x) {
  return sum + w[0] * x[0] + w[1] * x[1] + w[2] * x[2] + w[3] * x[3];
}

typedef struct int8_values {
  int8_t value[4];
} int8_values;
typedef const int8_t *int8_table;

FOVEA_INLINE int8_values int8_values_at(const void *p) {
  int8_values values;
  memcpy(values.value, p, sizeof values.value);
  return values;
}
FOVEA_INLINE int8_table int8_table_of(const int8_t *values) {
  return values;
}
FOVEA_INLINE void int8_look_up(const void *p, int8_table table, int8_values to[2]) {
  const uint8_t *codes = p;
  for (int i = 0; i < 4; i++) {
    to[0].value[i] = table[codes[i] & 15];
    to[1].value[i] = table[codes[i] >> 4];
  }
}

#define INT8_ROW_OFFSET 0
FOVEA_INLINE int8_sum int8_row_add(int8_sum sum, int8_values w, const void *x) {
  return int8_add(sum, w.value, x);
}

#endif
