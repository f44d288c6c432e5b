/* Linear layers in int8 mode (docs/numerics.md, L1): what their kernels take, and their tables. */
#ifndef FOVEA_ARCH_ARGS_NN_INT8_H
#define FOVEA_ARCH_ARGS_NN_INT8_H

#include "../nn_kernels.h"

/* Rows of a quantised panel of weights: words of four codes for each output (nn/quantised.h). */
enum { FOVEA_NN_WORD_CODES = 4 };

/* The scales of rows, and the factors for their codes (docs/numerics.md, section 16). */
typedef struct fovea_nn_measure_args {
  fovea_nn_rows x;
  int rows;
  int64_t dim;
  float *scales, *factors;
} fovea_nn_measure_args;

/* Codes of dims of rows: [word of four dims][row]. Dims and rows that do not exist have codes of 0. */
typedef struct fovea_nn_codes_args {
  fovea_nn_rows x; /* the first of these dims of the first row */
  int rows;        /* that exist */
  int tile_rows;   /* of `to`, scales and sums */
  int64_t dims;
  const float *scales, *factors; /* of measure() */
  int plain; /* words of four bytes; else fovea_nn_int8_kernels.word_bytes bytes, as products() reads them */
  void *to;
  int group;   /* dims of a sum; 0: all */
  float *sums; /* [group][row]: the sums of the codes; NULL: not wanted */
  int begun;   /* adds to sums */
} fovea_nn_codes_args;

/* Quantised weights of one tile of outputs: some pieces of as many dims each. */
typedef struct fovea_nn_quantised_args {
  int bits, group, has_offsets;       /* of the header */
  const int8_t *values;               /* of the header */
  const char *weights;                /* the first piece of the first panel */
  int64_t panel_stride, piece_stride; /* bytes; 0 from panel to panel: there is one */
  int pieces, dims;                   /* up to FOVEA_DOT_PIECE dims of a piece */
} fovea_nn_quantised_args;

/* Makes what products() needs beside the weights. */
typedef struct fovea_nn_prepare_args {
  fovea_nn_quantised_args of;
  void *words;     /* copies of 8 bits: [piece][panel][word][output] */
  int32_t *starts; /* [group of all pieces][output]: where sums begin */
} fovea_nn_prepare_args;

/* sums[row][out] = the sums over groups of codes' products, each times its scale, or, if `begun`, sums + these;
 * after the last piece times the row's scale. If all dims are one group, sums are int32 until then. */
typedef struct fovea_nn_products_args {
  fovea_nn_quantised_args of;
  const void *words;     /* as prepare() made them, if it did */
  const int32_t *starts; /* as prepare() made them */
  int rows;              /* steps of rows, up to fovea_nn_int8_kernels.tile_rows */
  const void *x;         /* codes */
  const float *x_sums;   /* with offsets: [group of all pieces][row] */
  const float *x_scales;
  int begun, ends;
  float *sums;               /* rows of fovea_nn_int8_kernels.tile_outs */
  const fovea_nn_fetched *y; /* results that the sums become, of products_far() */
} fovea_nn_products_args;

/* The same for one row of x, of some panels of one piece; the weights are not prepared. `sums` lie panel after panel. If
 * all dims are one group, they are int32 until the last piece ends. */
typedef struct fovea_nn_row_products_args {
  fovea_nn_quantised_args of;
  int panels;
  const void *x;       /* plain words of the piece, with a word of zeros after those of 4 bits */
  const float *x_sums; /* [group of the piece], or of all dims */
  float x_scale;
  int begun, ends;
  float *sums;
} fovea_nn_row_products_args;

struct fovea_nn_int8_kernels {
  int word_bytes; /* of four codes of x */
  int word_step;  /* words of x are whole steps; pieces of weights that are not are copied by prepare() */
  int row_step;   /* rows of products() are whole steps */
  int tile_rows;  /* the most rows of products() */
  int least;      /* rows: fewer are faster with the kernels of the set */
  int tile_outs;  /* outputs of products(): whole panels, up to FOVEA_NN_OUTS */
  void (*begin)(void), (*end)(void); /* of a task; NULL: nothing */
  void (*measure)(const fovea_nn_measure_args *args);
  void (*codes)(const fovea_nn_codes_args *args);
  void (*prepare)(const fovea_nn_prepare_args *args);
  void (*products)(const fovea_nn_products_args *args);
  void (*products_far)(const fovea_nn_products_args *args); /* the same, and fetches y meanwhile; NULL: none does */
  void (*row)(const fovea_nn_row_products_args *args);      /* NULL: one row is multiplied by products() */
};

/* The most of any instruction set that serves without scratch. */
#define FOVEA_NN_INT8_ROWS       12
#define FOVEA_NN_INT8_OUTS       (2 * FOVEA_NN_PANEL)
#define FOVEA_NN_INT8_WORD_BYTES 8

extern const fovea_nn_int8_kernels fovea_nn_int8_avx512_vnni, fovea_nn_int8_avx2_vnni, fovea_nn_int8_neon_dot;
extern const fovea_nn_int8_kernels fovea_nn_int8_neon_i8mm, fovea_nn_int8_amx;

#endif
