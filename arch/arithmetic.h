/* The arithmetic of a mode (docs/numerics.md, section 16): forms of operands, and the products and weights of a
 * block in these forms. Every instruction set has one for each mode; src/system/arithmetic.c replaces it where the
 * CPU has better instructions. Operands and weights are read by their own arithmetic only. */
#ifndef FOVEA_ARCH_ARITHMETIC_H
#define FOVEA_ARCH_ARITHMETIC_H

#include <stdint.h>

struct fovea_fetch_row;
struct fovea_score_args;
struct fovea_softmax_args;
struct fovea_value_args;
struct fovea_decode_score_args;
struct fovea_decode_softmax_args;
struct fovea_decode_value_args;

/* Rows that become operands. */
typedef struct fovea_operand_args {
  const void *rows; /* queries: [dim][row of the tile]; keys and values: the row of the block's first key */
  int bf16;         /* of keys and values: 1: rows are bf16; 0: all rows are f32 */
  int64_t stride;   /* elements from key to key */
  int64_t dim;
  int first, end; /* of keys and values: which of the block there are. Other values are 0 as operands */
  /* Of keys and values, in place of rows: codes of int8, the block's first key at `codes`, and a scale for each key
   * of the block. NULL: there are none. */
  const int8_t *codes;
  int64_t code_stride; /* bytes from key to key */
  const float *scales;
  float *to;
  const struct fovea_fetch_row *prefetch; /* evenly over the rows; see loads_fetch */
  int prefetch_count;
} fovea_operand_args;

/* Floats of operands: of a tile's queries, of a block's keys and values, and of a block's rows as codes. */
typedef struct fovea_operand_sizes {
  int64_t queries, keys, values, codes;
} fovea_operand_sizes;

/* Codes of the rows of a tile that is decoded: each has its own scale. */
typedef struct fovea_query_codes_args {
  const float *rows;
  int64_t stride; /* floats from row to row, of rows and, as bytes of four, of codes */
  int row_count;
  int64_t dim;
  float *codes;           /* whole vectors */
  float *scales, *starts; /* [row] */
} fovea_query_codes_args;

/* Decoding in int8: keys lie in the lanes, and rows of K and V are codes, as they lie or made of numbers. */
typedef struct fovea_decoding {
  int rows; /* tiles of up to this many rows are decoded */
  void (*load_queries)(const fovea_query_codes_args *args);
  /* What softmax() needs of the scales of a block's values: FOVEA_DECODE_SCALES floats, of which the first
   * FOVEA_BLOCK_KEYS are the scales before. */
  void (*load_scales)(float *scales);
  void (*score)(const struct fovea_decode_score_args *args);
  int (*softmax)(const struct fovea_decode_softmax_args *args);
  void (*value)(const struct fovea_decode_value_args *args);
} fovea_decoding;

typedef struct fovea_arithmetic {
  const char *name;               /* of its instructions */
  const fovea_decoding *decoding; /* NULL: the task's tables decode, or short tiles use the layout of full tiles */
  int has_factor; /* 1: softmax() multiplies scores by a factor first, so that score() need not touch them */
  /* 1: load_keys() and load_values() prefetch, in a task's first block and for tiles of up to loads_fetch_rows
   * rows, and score() and value() elsewhere; 0: only score() and value() do. */
  int loads_fetch, loads_fetch_rows;
  int scales_rows; /* 1: score() multiplies by scales of the rows of its own, and knows row_scales */
  /* Called around the operations of a task; NULL: nothing is to be done. */
  void (*begin)(void);
  void (*end)(void);
  fovea_operand_sizes (*sizes)(int64_t qk_dim, int64_t v_dim);
  void (*load_queries)(const fovea_operand_args *args);
  void (*load_keys)(const fovea_operand_args *args);
  /* Returns 0 if outputs are to be computed again where rows see NaN and Inf, which became 0. */
  int (*load_values)(const fovea_operand_args *args);
  /* Writes rows as codes and scales, [key], as the loads read them; NULL: they do not. Whole vectors are written,
   * so code_stride is a multiple of 16. */
  void (*make_codes)(const fovea_operand_args *args, int8_t *codes, float *scales);
  /* What softmax() adds to the scores of a block's keys, in the operands of its values; NULL: nothing. score() can
   * add it to what it takes the maxima of. */
  const float *(*logs)(const float *values, int64_t v_dim);
  /* As fovea_kernels.score(), but `keys` are the operands of the whole block, and `key` is the first. */
  void (*score)(const struct fovea_score_args *args);
  /* As fovea_kernels.softmax(); weights lie in the place of the scores. The weights of the block's other keys are
   * 0. */
  int (*softmax)(const struct fovea_softmax_args *args);
  /* The weight of a key of the block for a row of the tile. */
  float (*weight)(const float *weights, int key, int row);
  /* As fovea_kernels.value(), but `weights` and `values` are of the whole block. The rows see no keys before `key`,
   * and none from `key + key_count` on. Sums take whole groups of keys: weights of 0 add +0 to a sum, and no sum is
   * -0. Knows no partial sums. */
  void (*value)(const struct fovea_value_args *args);
} fovea_arithmetic;

/* Instructions for modes beside the tables of a set: a line of FOVEA_EXTENSIONS (registry.h). */
typedef struct fovea_extension {
  const fovea_arithmetic *bf16, *int8; /* NULL: this build leaves the mode out */
  /* Return 1 if what this CPU multiplies is what its manual says. */
  int (*bf16_holds)(void), (*int8_holds)(void);
} fovea_extension;

/* One output of a block in which a visible value is not finite. */
typedef struct fovea_lost_args {
  const float *weights; /* of all keys of the block */
  const float *values;  /* the dim of the block's first key */
  int64_t value_stride;
  const unsigned char *seen; /* 1: the row sees the key; no other weight or value is read */
  int merges;                /* 1: into what was there before */
  float before, old_part, new_part;
} fovea_lost_args;

/* Logs of values (logs()) where there are none: zeros of a block, and of as many keys after it as an arithmetic of int8
 * may read. */
enum { FOVEA_INT8_NO_LOGS = 128 + 16 };
extern const float fovea_int8_no_logs[FOVEA_INT8_NO_LOGS];

float fovea_bf16_lost(const fovea_lost_args *args);

#endif
