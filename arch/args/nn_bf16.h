/* Linear layers in bf16 mode (docs/numerics.md, L1): what their kernels take, and their tables. */
#ifndef FOVEA_ARCH_ARGS_NN_BF16_H
#define FOVEA_ARCH_ARGS_NN_BF16_H

#include "../nn_kernels.h"

/* Dims of a group: a chain of its even dims and one of its odd dims. */
#define FOVEA_NN_BF16_GROUP 32

/* Sums and packed rows have memory for whole steps of rows. */
#define FOVEA_NN_BF16_ROWS 32

/* Packs rows of x as operands: rounded to bf16, 0 below 2^-56, and zeros up to whole groups. */
typedef struct fovea_nn_bf16_pack_args {
  const void *x; /* f32, or bf16 for pack_bf16() */
  int64_t x_stride;
  int rows, dims;
  char *to;
  int64_t to_stride; /* bytes from row to row */
} fovea_nn_bf16_pack_args;

/* Panels of weights of bf16, in pieces of FOVEA_DOT_PIECE dims as fovea_nn_layout says. */
typedef struct fovea_nn_bf16_panels {
  const uint16_t *weights; /* the first piece of panel 0 */
  int64_t dims;            /* of all pieces */
  int64_t piece_stride;    /* elements from piece to piece */
  int64_t first;           /* the first panel. Panels of a piece are FOVEA_NN_PANEL elements for each dim apart, an
                              even number of dims */
  int panels;              /* up to FOVEA_NN_PANELS */
} fovea_nn_bf16_panels;

/* sums[row][out] = sum of the groups, or, if `begun`, sums + each group in turn. */
typedef struct fovea_nn_bf16_tile_args {
  fovea_nn_bf16_panels panels;
  const char *x;    /* packed */
  int64_t x_stride; /* bytes from row to row */
  int rows, begun;
  float *sums;       /* rows of FOVEA_NN_OUTS */
  const char *ahead; /* what is read next, `lines` for each group of dims; kernels may leave it alone */
  int lines;
  const fovea_nn_fetched *y; /* results that the sums become; NULL: near ones. Kernels may leave it alone */
} fovea_nn_bf16_tile_args;

struct fovea_nn_bf16_kernels {
  int x_bytes;                       /* of a packed number */
  int dims;                          /* whole pieces, */
  int panels;                        /* and panels that stay in the first-level cache while rows pass */
  int least;                         /* rows: fewer are faster with the kernels of the set */
  void (*begin)(void), (*end)(void); /* of a task; NULL: nothing */
  void (*pack)(const fovea_nn_bf16_pack_args *args);
  void (*pack_bf16)(
      const fovea_nn_bf16_pack_args *args);          /* the same of rows of bf16; NULL: they are widened first */
  void (*tile)(const fovea_nn_bf16_tile_args *args); /* weights are 0 or at least 2^-56 in magnitude */
  int (*safe)(
      const fovea_nn_bf16_panels *panels); /* whether they are; NULL: tile() takes what clear() has copied */
  void (*clear)(const fovea_nn_bf16_panels *panels, uint16_t *to); /* copies them, and 0 for those that are not */
};

extern const fovea_nn_bf16_kernels fovea_nn_bf16_amx, fovea_nn_bf16_avx512_bf16, fovea_nn_bf16_neon_bf16;
/* Of every set, for weights in panels (fovea_nn_bf16_kernels). */
#define FOVEA_NN_DECLARE(name, architecture, needs, prefers, type, lacks)                                          \
  FOVEA_GENERAL_##type(int fovea_nn_bf16_safe_##name(const fovea_nn_bf16_panels *panels);                          \
                       void fovea_nn_bf16_clear_##name(const fovea_nn_bf16_panels *panels, uint16_t *to);)
FOVEA_INSTRUCTION_SETS(FOVEA_NN_DECLARE)
#undef FOVEA_NN_DECLARE

#endif
