/* Quantised weights for linear layers in int8 mode, as nn/quantised.h says that they lie: where their parts are, and
 * codes of 4 bits as codes of 8 bits. Part of products.h. */
#ifndef FOVEA_ARCH_SHARED_NN_PRODUCTS_WEIGHTS_H
#define FOVEA_ARCH_SHARED_NN_PRODUCTS_WEIGHTS_H

#include "../../args/nn_int8.h"

#include <string.h>

/* Words of a row of x that lie side by side. */
#ifndef INT8_CHUNK
#define INT8_CHUNK 1
#endif

enum {
  INT8_OUTS = FOVEA_NN_INT8_VECTORS * LANES,
  INT8_PANELS = INT8_OUTS / FOVEA_NN_PANEL,
  INT8_WORD_OUTS = FOVEA_NN_PANEL * FOVEA_NN_WORD_CODES, /* bytes of a word of all outputs of a panel */
};
_Static_assert(INT8_OUTS % FOVEA_NN_PANEL == 0 && INT8_OUTS <= FOVEA_NN_INT8_OUTS, "tiles are whole panels");

FOVEA_INLINE int int8_groups(const fovea_nn_quantised_args *of) {
  return of->group > 0 ? (of->dims + of->group - 1) / of->group : 1;
}

/* Words of four codes of group `g` of a piece, in whole chunks. */
FOVEA_INLINE int int8_group_words(const fovea_nn_quantised_args *of, int g) {
  enum { CODES = INT8_CHUNK * FOVEA_NN_WORD_CODES };
  const int size = of->group > 0 ? of->group : FOVEA_DOT_PIECE, rest = of->dims - g * size;
  return ((rest < size ? rest : size) + CODES - 1) / CODES * INT8_CHUNK;
}

/* Words of four codes of a piece as they lie in memory; as products() reads them, copies are whole chunks. */
FOVEA_INLINE int int8_stored_words(const fovea_nn_quantised_args *of) {
  return of->bits == 8 ? (of->dims + 3) / 4 : (of->dims + 7) / 8 * 2;
}
FOVEA_INLINE int int8_read_words(const fovea_nn_quantised_args *of) {
  return (int8_stored_words(of) + INT8_CHUNK - 1) / INT8_CHUNK * INT8_CHUNK;
}

/* Whether products() reads copies. */
FOVEA_INLINE int int8_is_copied(const fovea_nn_quantised_args *of) {
#ifdef INT8_ROW_PAIRS
  if (of->dims > 0) return 1; /* zipped */
#endif
  return of->bits == 4 || int8_stored_words(of) % INT8_CHUNK != 0;
}

/* Scales of a vector of outputs; its offsets lie FOVEA_NN_PANEL times the groups after them. */
FOVEA_INLINE const float *int8_scales(const fovea_nn_quantised_args *of, int piece, int g, int v) {
  const char *panel = of->weights + piece * of->piece_stride + v * LANES / FOVEA_NN_PANEL * of->panel_stride;
  return (const float *)(const void *)panel + g * FOVEA_NN_PANEL + v * LANES % FOVEA_NN_PANEL;
}

/* Where words of 8 bits lie. */
typedef struct int8_words {
  const char *first;
  int64_t panel_stride, piece_stride;
} int8_words;

/* Bytes of the scales and offsets of a panel. */
FOVEA_INLINE int64_t int8_scale_bytes(const fovea_nn_quantised_args *of) {
  return (int64_t)int8_groups(of) * (1 + of->has_offsets) * FOVEA_NN_PANEL * (int)sizeof(float);
}

FOVEA_INLINE int8_words int8_words_of(const fovea_nn_quantised_args *of, const void *prepared) {
  const int64_t panel = (int64_t)int8_read_words(of) * INT8_WORD_OUTS;
  if (int8_is_copied(of)) return (int8_words){prepared, panel, INT8_PANELS * panel};
  return (int8_words){of->weights + int8_scale_bytes(of), of->panel_stride, of->piece_stride};
}

/* Codes of 4 bits of all outputs of a panel as words of 8 bits. Plain loops over bytes, which compilers do with
 * shuffles; a layer may have a function of its own. */
#ifndef INT8_WIDEN
FOVEA_INLINE void int8_widen(const uint8_t *from, const int8_t *values, uint8_t *to) {
  for (int i = 0; i < INT8_WORD_OUTS; i++) {
    to[i] = (uint8_t)values[from[i] & 15];
    to[INT8_WORD_OUTS + i] = (uint8_t)values[from[i] >> 4];
  }
}
#endif

FOVEA_INLINE void int8_copy_words(const fovea_nn_quantised_args *of, const uint8_t *from, uint8_t *to) {
  const int stored = int8_stored_words(of), rest = int8_read_words(of) - stored;
  if (of->bits == 8) {
    memcpy(to, from, (size_t)stored * INT8_WORD_OUTS);
  } else {
    for (int i = 0; i < stored; i += 2)
      int8_widen(from + i / 2 * INT8_WORD_OUTS, of->values, to + i * INT8_WORD_OUTS);
  }
  memset(to + stored * INT8_WORD_OUTS, 0, (size_t)rest * INT8_WORD_OUTS);
#ifdef INT8_ROW_PAIRS
  for (int i = 0; i < stored + rest; i += INT8_CHUNK) int8_zip(to + i * INT8_WORD_OUTS);
#endif
}

/* All pieces of all panels. */
FOVEA_INLINE void int8_copy_panels(const fovea_nn_prepare_args *args) {
  const fovea_nn_quantised_args *of = &args->of;
  uint8_t *to = args->words;
  for (int piece = 0; piece < of->pieces; piece++) {
    for (int panel = 0; panel < INT8_PANELS; panel++, to += int8_read_words(of) * INT8_WORD_OUTS) {
      const char *from = of->weights + piece * of->piece_stride + panel * of->panel_stride;
      int8_copy_words(of, (const uint8_t *)(const void *)(from + int8_scale_bytes(of)), to);
    }
  }
}

#endif
