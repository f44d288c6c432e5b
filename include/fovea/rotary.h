/* Rotary position embedding, and rotations that make keys and values easier to quantise. */
#ifndef FOVEA_ROTARY_H
#define FOVEA_ROTARY_H

#include <fovea/fovea.h>

#ifdef __cplusplus
extern "C" {
#endif

/* RoPE of Su et al. (RoFormer, 2021): the first `dims` elements of a row are pairs (x, y), and pair i of the row
 * at position p becomes (x cos a - y sin a, y cos a + x sin a) with a = p * base^(-2 i / dims). The elements after
 * the first `dims` are not rotated. Cosines and sines are computed from the exact angle and rounded to f32, at
 * every position from -2^40 to 2^40; docs/numerics.md states the arithmetic. The bits are the same on every
 * instruction set. Calls may run at the same time if no two write the same rows. */

/* The most axes that the positions of a rotary embedding have. */
#define FOVEA_ROTARY_AXES 4

/* Which elements make pair i. */
typedef enum fovea_rotary_layout {
  FOVEA_ROTARY_INTERLEAVED = 0, /* 2 i and 2 i + 1: GPT-J, Llama's own checkpoints */
  FOVEA_ROTARY_HALVES = 1       /* i and i + dims / 2: GPT-NeoX, Hugging Face's Llama */
} fovea_rotary_layout;

/* A rotary embedding. Prepare it with fovea_rotary_init(), then change what differs from the defaults. The arrays
 * belong to the caller; calls read them while they run. */
typedef struct fovea_rotary {
  size_t struct_size;         /* set by fovea_rotary_init() */
  fovea_rotary_layout layout; /* which elements make a pair */
  int64_t dims;               /* even, from 0 to the rows' dim; at most 2^20 */

  double base; /* finite, at least 1; default 10000. Keep the default with frequencies or tables */

  /* In place of base: the angle of each pair from one position to the next, dims / 2 numbers in radians, each from
   * -2^32 to 2^32. To scale positions, scale the frequencies. Negative frequencies rotate back. Default NULL. */
  const double *frequencies;

  /* In place of base and frequencies; set both, or neither (default NULL). Row p of a table holds the cosines
   * (sines) of position p, from 0 to table_rows - 1: dims / 2 numbers from element p * table_stride on. */
  const float *cosines, *sines;
  int64_t table_rows, table_stride; /* default, and without tables: 0, and FOVEA_CONTIGUOUS, dims / 2 */

  /* Positions of several numbers: M-RoPE of Qwen2-VL has a time, a height and a width for each row. pair_axes[i],
   * of dims / 2 numbers from 0 to axes - 1, says which number of its row's position pair i rotates by;
   * fovea_rotary_sections() fills it (fovea/rotary_scaling.h). Lists of positions then have `axes` numbers for
   * each row; a row whose position is one number, as for text, has it on every axis. At most FOVEA_ROTARY_AXES.
   * Default 1 and NULL. */
  int64_t axes;
  const unsigned char *pair_axes;
} fovea_rotary;

/* Sets layout and dims, and the other fields to their defaults. Callers in C use fovea_rotary_init(). */
FOVEA_API void fovea_rotary_init_sized(fovea_rotary *rotary, size_t struct_size, fovea_rotary_layout layout,
                                       int64_t dims);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_rotary_init(fovea_rotary *rotary, fovea_rotary_layout layout, int64_t dims) {
  fovea_rotary_init_sized(rotary, sizeof *rotary, layout, dims);
}

/* What one call rotates: a tensor (batch, heads, rows, dim), into another or in place. Prepare it with
 * fovea_rotation_init(). Sizes are at least 1, rows at least 0. */
typedef struct fovea_rotation {
  size_t struct_size; /* set by fovea_rotation_init() */
  int64_t batch, heads, rows, dim;
  const void *from; /* the element with all indices 0 */
  void *to;         /* either `from`, with its type and strides, or memory that the call does not read */
  fovea_strides from_strides, to_strides; /* default: FOVEA_CONTIGUOUS */
  fovea_type from_type, to_type;          /* default FOVEA_F32; to 16 bits, f32 results are rounded once */

  /* Row i of sequence b is at position first_position + i, or first_positions[b] + i (`batch` int64), or
   * positions[b * rows + i] (`batch` * `rows` int64; if the embedding has several axes, so many for each axis, one
   * axis after the other). Positions are from -2^40 to 2^40. Set at most one of the three; default 0 and NULL. */
  int64_t first_position;
  const int64_t *first_positions;
  const int64_t *positions;

  /* Packed batches: sequence b is rows cu_seqlens[b] to cu_seqlens[b + 1] - 1 of one tensor (1, heads, rows, dim).
   * cu_seqlens has `batch` + 1 numbers from 0 to rows, which never decrease. Batch strides are then not used, and
   * `positions` has `rows` numbers for each axis, one for each row of the tensor. Rows that belong to no sequence
   * are not written. Default NULL. */
  const int32_t *cu_seqlens;
} fovea_rotation;

/* Sets these six fields, and the others to their defaults. Callers in C use fovea_rotation_init(). */
FOVEA_API void fovea_rotation_init_sized(fovea_rotation *rotation, size_t struct_size, int64_t batch, int64_t heads,
                                         int64_t rows, int64_t dim, const void *from, void *to);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_rotation_init(fovea_rotation *rotation, int64_t batch, int64_t heads, int64_t rows,
                                       int64_t dim, const void *from, void *to) {
  fovea_rotation_init_sized(rotation, sizeof *rotation, batch, heads, rows, dim, from, to);
}

/* Rotates the rows. A row's angles are computed once for all heads. Elements that are not rotated are copied bit
 * for bit, or, if the types differ, converted and rounded once. Runs as row-wise calls do (fovea_execution). */
FOVEA_API fovea_status fovea_rotary_apply(const fovea_rotary *rotary, const fovea_rotation *rotation,
                                          const fovea_execution *execution, fovea_error *error);

/* What one call rotates by the normalised Walsh-Hadamard matrix, in blocks of `block` dims: a tensor (batch,
 * heads, rows, dim), into another or in place. It is for queries, if fovea_append() rotated the keys so, and for
 * outputs, if it rotated the values: the matrix is its own inverse. Prepare it with fovea_hadamard_init(). Cost:
 * log2(block) additions an element. */
typedef struct fovea_hadamard {
  size_t struct_size;                     /* set by fovea_hadamard_init() */
  int64_t batch, heads, rows, dim;        /* at least 1, rows at least 0; dim at most 4096 */
  int64_t block;                          /* a power of 2 from 2 to 4096 that divides dim */
  const void *from;                       /* the element with all indices 0 */
  void *to;                               /* either `from`, with its type and strides, or memory that is not read */
  fovea_strides from_strides, to_strides; /* default: FOVEA_CONTIGUOUS */
  fovea_type from_type, to_type;          /* default FOVEA_F32; to 16 bits, f32 results are rounded once */
} fovea_hadamard;

/* Sets these seven fields, and the others to their defaults. Callers in C use fovea_hadamard_init(). */
FOVEA_API void fovea_hadamard_init_sized(fovea_hadamard *hadamard, size_t struct_size, int64_t batch, int64_t heads,
                                         int64_t rows, int64_t dim, int64_t block, const void *from, void *to);

/* Passes the size of the struct that this program was compiled with. */
static inline void fovea_hadamard_init(fovea_hadamard *hadamard, int64_t batch, int64_t heads, int64_t rows,
                                       int64_t dim, int64_t block, const void *from, void *to) {
  fovea_hadamard_init_sized(hadamard, sizeof *hadamard, batch, heads, rows, dim, block, from, to);
}

/* Rotates the rows (docs/numerics.md, section 14). Runs as row-wise calls do (fovea_execution). */
FOVEA_API fovea_status fovea_hadamard_apply(const fovea_hadamard *hadamard, const fovea_execution *execution,
                                            fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
