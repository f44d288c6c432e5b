/* Quantised weights: one block of memory that says itself what it holds, the same for every instruction set. After the
 * header follow [piece of FOVEA_DOT_PIECE dims][panel of FOVEA_NN_PANEL outputs], the last piece with the dims that are
 * left over. Each panel is
 *
 *   float    scales[groups of the piece][16]
 *   float    offsets[groups of the piece][16]   if there are offsets
 *   uint32_t codes[words of the piece][16]
 *
 * A word holds the codes of neighbouring dims of one output, little-endian. 8 bits: dims 4i to 4i + 3, one a byte. 4
 * bits: dims 8i + j in the lower half of byte j, dims 8i + 4 + j in its upper half. Codes of e4m3 take as many bytes, but
 * the sixteen outputs of a dim lie side by side, codes[dims][16], since they become numbers by way of 16 bits. Dims and
 * outputs that do not exist have codes whose value is 0, or scales and offsets of 0.
 *
 * If the dims of a group are scattered, panels have codes only, and between the header and the first of them lie
 *
 *   uint32_t groups[in]                       the group of each dim, with zeros up to a multiple of 64 bytes
 *   [panel]: float scales[groups][16], float offsets[groups][16]
 *
 * The number of a weight is fl(value * scale), or with offsets fma(value, scale, offset). The value of 8 bits is the
 * signed byte, or the number of e4m3; the value of 4 bits is values[code]. */
#ifndef FOVEA_NN_QUANTISED_H
#define FOVEA_NN_QUANTISED_H

#include "panels.h"

#include <string.h>

#define FOVEA_NN_QUANTISED_MAGIC 0x31515646u /* "FVQ1" */
enum { FOVEA_NN_QUANTISED_ALIGNMENT = 64 };

typedef struct fovea_nn_quantised_header {
  uint32_t magic;
  uint32_t bits;   /* 4 or 8 */
  int64_t in, out; /* of the layer */
  uint32_t group;  /* dims that share a scale: 16, 32, 64, 128; 0: all dims of an output */
  uint32_t has_offsets;
  int8_t values[16];     /* of 4 bits: the value of each code; of 8 bits: zeros */
  uint32_t is_e4m3;      /* 1: codes are e4m3, of 8 bits without offsets */
  uint32_t is_scattered; /* 1: dims of a group are anywhere, of 4 bits with offsets */
  uint8_t zeros[8];
} fovea_nn_quantised_header;

_Static_assert(sizeof(fovea_nn_quantised_header) == FOVEA_NN_QUANTISED_ALIGNMENT, "panels are aligned");

/* The header of weights that were checked. */
static inline fovea_nn_quantised_header fovea_nn_quantised_header_of(const void *weights) {
  fovea_nn_quantised_header header;
  memcpy(&header, weights, sizeof header);
  return header;
}

/* Dims of the piece that begins at `dim`. */
static inline int64_t fovea_nn_quantised_dims(const fovea_nn_quantised_header *header, int64_t dim) {
  return header->in - dim < FOVEA_DOT_PIECE ? header->in - dim : FOVEA_DOT_PIECE;
}

/* Scales of each output in a piece of so many dims. */
static inline int64_t fovea_nn_quantised_groups(const fovea_nn_quantised_header *header, int64_t dims) {
  return header->group == 0 ? 1 : (dims + header->group - 1) / header->group;
}

/* Scales and offsets of each output in a panel of so many dims. */
static inline int64_t fovea_nn_quantised_numbers(const fovea_nn_quantised_header *header, int64_t dims) {
  return header->is_scattered ? 0 : fovea_nn_quantised_groups(header, dims) * (header->has_offsets ? 2 : 1);
}

/* Words of each output in a piece of so many dims. */
static inline int64_t fovea_nn_quantised_words(const fovea_nn_quantised_header *header, int64_t dims) {
  const int64_t codes = 32 / header->bits;
  return (dims + codes - 1) / codes;
}

/* Bytes of a panel of a piece of so many dims. */
static inline int64_t fovea_nn_quantised_panel_bytes(const fovea_nn_quantised_header *header, int64_t dims) {
  const int64_t rows = fovea_nn_quantised_numbers(header, dims) + fovea_nn_quantised_words(header, dims);
  return rows * FOVEA_NN_PANEL * (int64_t)sizeof(float);
}

/* Of scattered groups: bytes of the scales and offsets of a panel, and the byte at which those of the panel of output
 * `out`, its first, begin. */
static inline int64_t fovea_nn_scattered_bytes(const fovea_nn_quantised_header *header) {
  return fovea_nn_quantised_groups(header, header->in) * 2 * FOVEA_NN_PANEL * (int64_t)sizeof(float);
}
static inline int64_t fovea_nn_scattered_place(const fovea_nn_quantised_header *header, int64_t out) {
  const int64_t groups = fovea_nn_padded(header->in * (int64_t)sizeof(uint32_t), FOVEA_NN_QUANTISED_ALIGNMENT);
  return (int64_t)sizeof *header + groups + out / FOVEA_NN_PANEL * fovea_nn_scattered_bytes(header);
}

/* The byte at which the panel of output `out`, its first, begins in the piece from `dim` on. */
static inline int64_t fovea_nn_quantised_place(const fovea_nn_quantised_header *header, int64_t dim, int64_t out) {
  const int64_t panels = fovea_nn_padded(header->out, FOVEA_NN_PANEL) / FOVEA_NN_PANEL;
  const int64_t whole = fovea_nn_quantised_panel_bytes(header, FOVEA_DOT_PIECE);
  const int64_t bytes = fovea_nn_quantised_panel_bytes(header, fovea_nn_quantised_dims(header, dim));
  const int64_t first =
      header->is_scattered ? fovea_nn_scattered_place(header, panels * FOVEA_NN_PANEL) : (int64_t)sizeof *header;
  return first + dim / FOVEA_DOT_PIECE * panels * whole + out / FOVEA_NN_PANEL * bytes;
}

/* Bytes of all. Neither size is below 1, and fovea_nn_panel_elements() knows the layer. */
static inline int64_t fovea_nn_quantised_bytes(const fovea_nn_quantised_header *header) {
  const int64_t last = (header->in - 1) / FOVEA_DOT_PIECE * FOVEA_DOT_PIECE;
  return fovea_nn_quantised_place(header, last, fovea_nn_padded(header->out, FOVEA_NN_PANEL));
}

/* `panels` panels of the quantised weights of a layer that was checked: output `out`, the first of a panel, from dim
 * `dim` on, where a piece begins. */
fovea_nn_coded_panels fovea_nn_coded_panels_of(const fovea_nn_linear *linear, int64_t dim, int64_t out, int panels);

/* Checks that quantised weights may lie there. */
fovea_status fovea_nn_check_quantised_place(const void *weights, fovea_error *error);
/* Checks memory that is said to hold the quantised weights of a layer of `in` and `out`. */
fovea_status fovea_nn_check_quantised(const void *weights, int64_t in, int64_t out, fovea_error *error);

#endif
