/* What an instruction set supplies: one constant table of operations on a tile, with its tile sizes and the CPU
 * features it needs. src/ decides which keys a tile meets; the table's functions compute.
 *
 * A row tile is `row_tile` query rows, the rows in the lanes of vectors of `lanes` rows each. Everything about a
 * tile is kept row-innermost, x[item][row]: queries [dim][row], scores and weights [key][row], outputs [dim][row],
 * maxima [row]. Keys and values are read where the caller has them. All arrays of a tile are aligned to 64 bytes.
 *
 * The arithmetic of every operation is fixed to the bit by docs/numerics.md; tile sizes cannot be seen in results.
 */
#ifndef FOVEA_ARCH_KERNELS_H
#define FOVEA_ARCH_KERNELS_H

#include "../include/fovea/fovea.h"
#include "registry.h"

#include <stdint.h>

/* Keys of one block: the unit of the online softmax, aligned to position 0. */
#define FOVEA_BLOCK_KEYS 128
/* Blocks of one span, within which states merge in ascending order. */
#define FOVEA_SPAN_BLOCKS 16
/* The qk dim is summed in pieces of this many, each in one chain. */
#define FOVEA_DOT_PIECE 128
/* The weights of a block are summed in so many sums, one for each position modulo this, which then halve. */
#define FOVEA_WEIGHT_SUMS 16

/* log2 e, as a double for constants that are computed once; as f32 for what is added to scores. */
#define FOVEA_LOG2E 0x1.71547652b82fep+0

/* Vectors that a segment of a tile covers. */
typedef struct fovea_vector_range {
  int first, count;
} fovea_vector_range;

/* Turns rows, of queries or of outputs, into a tile: tile[d][row] = rows[row][d]. The last vector is filled up with
 * zeros. */
typedef struct fovea_load_args {
  const void *const *rows; /* row_count pointers, each to dim elements */
  fovea_type type;
  int row_count;
  int64_t dim;
  float *tile;
} fovea_load_args;

/* Copies rows as f32, one after the other: to[row * to_stride + d] = rows[row * row_stride + d]. The rest of a
 * row's last vector is written, too: to_stride is at least dim rounded up to 16. */
typedef struct fovea_widen_args {
  const void *rows;
  fovea_type type;
  int64_t row_stride;
  int64_t row_count;
  int64_t dim;
  float *to;
  int64_t to_stride;
} fovea_widen_args;

typedef struct fovea_fetch_row {
  const char *row;
  int64_t bytes;
} fovea_fetch_row;

/* scores[key][row] = fl(q.k * c) and maxima[row] = max(maxima[row], score) for key_count keys of one block. With
 * seen_from, a score outside seen_from[row] <= key < seen_to[row] becomes -Inf and is left out of the maximum. */
typedef struct fovea_score_args {
  const float *queries;
  const void *keys; /* the first key's row: f32, for score_pairs() the table's pair_type */
  int64_t key_stride;
  int64_t dim;
  int key_count;
  float c; /* scale * log2(e) */
  float *scores;
  float *maxima;
  fovea_vector_range vectors;
  const int32_t *seen_from; /* counted from the first key; NULL: every row sees every key */
  const int32_t *seen_to;
  /* Rows of the caller's memory that are going to be needed: they are asked for into the L2 cache, evenly over the
   * keys of this call, while the products keep the CPU busy. */
  const fovea_fetch_row *prefetch;
  int prefetch_count;
} fovea_score_args;

/* A mask tensor where a tile's rows meet one block. */
typedef struct fovea_mask_tile {
  const void *const *rows; /* one pointer for every lane of the vectors, to the element of the block's first key */
  fovea_mask_type type;
  int repeats;   /* 1: the first element of a row stands for all its keys */
  int key_count; /* elements that may be read of every row */
} fovea_mask_tile;

/* Keys that a mask is summed up over, a multiple of LANES. */
#define FOVEA_MASK_PIECE 16

/* What a mask says to the rows of one vector. Bit p stands for the keys from p * FOVEA_MASK_PIECE on. */
typedef struct fovea_mask_pieces {
  uint8_t seen;  /* some row may see some of the keys */
  uint8_t plain; /* every row sees all of the keys, and nothing is added */
} fovea_mask_pieces;

/* The terms of a problem's scores, made once by src/plan/terms.c. A further term is a field here, a line there, and
 * one of shared/terms.h. */
typedef struct fovea_score_terms {
  float c;      /* products are multiplied by it: scale * log2(e); with a softcap, scale / softcap */
  int adjusted; /* 1: adjust() has something to do even without a mask, as told below */
  int capped;   /* 1: scores become cap * tanh(score) first */
  float cap;    /* softcap * log2(e) */
} fovea_score_terms;

/* What is done to scores after the products: the softcap, the mask tensor, and hiding what is not seen. */
typedef struct fovea_adjust_args {
  float *scores; /* the first key's row of the tile, as score() leaves it without seen_from */
  const fovea_score_terms *terms;
  int key; /* the first key's place in the block */
  int key_count;
  fovea_vector_range vectors;
  const fovea_mask_tile *mask; /* NULL: there is none, or it changes nothing here */
  const int32_t *seen_from;    /* as in fovea_score_args */
  const int32_t *seen_to;
  float *maxima; /* as in fovea_score_args */
} fovea_adjust_args;

/* Turns the scores of one block into weights 2^(score - maximum) in place, sums them, and merges the sums into the
 * running maximum and sum of the rows. A vector's keys are key_begin[vector] to key_end[vector] - 1 of the block.
 */
typedef struct fovea_softmax_args {
  float *scores;    /* the block's first key */
  float *maxima;    /* of the block; returned with -0 as +0 */
  float *row_max;   /* running maximum m */
  float *row_sum;   /* running sum l */
  float *block_sum; /* returned: l of this block alone */
  float *old_part;  /* returned: what the accumulated output is multiplied by */
  float *new_part;  /* returned: what the block's output is multiplied by */
  int first;        /* 1: no state yet; row_max and row_sum are set, old_part and new_part not */
  fovea_vector_range vectors;
  const int *key_begin;
  const int *key_end;
} fovea_softmax_args;

/* Where a value chain starts and ends when a block is worked through in segments. */
enum {
  FOVEA_VALUE_START = 1,  /* the chain starts from zero; else from partial */
  FOVEA_VALUE_ASSIGN = 2, /* the chain's end is the output */
  FOVEA_VALUE_MERGE = 4   /* the chain's end is merged into the output; neither flag: it is kept in partial */
};

/* Chains weights[key][row] * values[key][d] over key_count keys, ascending. */
typedef struct fovea_value_args {
  const float *weights; /* the first key's row of the tile */
  const float *values;  /* the first key's row */
  int64_t value_stride;
  const float *panel; /* the first key in what pack_values() made of the block; NULL: there is none */
  int64_t dim;
  int key_count;
  int flags;
  float *partial;
  float *output;
  const float *old_part;
  const float *new_part;
  fovea_vector_range vectors;
  /* For the careful variant only, as in fovea_score_args: a key that a row does not see is left out of its chain
   * instead of being given weight 0, and so is every key of a row whose block has no state. */
  const int32_t *seen_from;
  const int32_t *seen_to;
  const fovea_mask_tile *mask; /* likewise; NULL: there is none, or it hides nothing here */
  int key;                     /* the first key's place in the block */
  const float *maxima;         /* of the block */
  const float *block_sum;
  /* As in fovea_score_args, for up to value_fetch_rows rows, and not for the careful variant. */
  const fovea_fetch_row *prefetch;
  int prefetch_count;
} fovea_value_args;

/* Copies the values of one block's keys to where the value tile reads them one after the other:
 * panel[dim / panel_dims][key][dim % panel_dims], with room for FOVEA_BLOCK_KEYS keys. */
typedef struct fovea_pack_args {
  const float *values; /* the first key's row */
  int64_t value_stride;
  int64_t dim;
  int key_count;
  float *panel; /* the first key */
} fovea_pack_args;

/* The state of a tile's rows over some keys: maximum, sum and unnormalised output. */
typedef struct fovea_tile_state {
  float *row_max;
  float *row_sum;
  float *output; /* [dim][row] */
} fovea_tile_state;

/* left = merge(left, right). */
typedef struct fovea_merge_args {
  fovea_tile_state left, right;
  int64_t dim;
  int vectors;
} fovea_merge_args;

/* Merges the rows' sinks into a tile's state, normalises it and writes its rows out. Unnormalised, the outputs are
 * written as they are but for NaN and -0, which become the one NaN and +0 of results. */
typedef struct fovea_store_args {
  fovea_tile_state state;
  int64_t dim;
  int row_count;
  void *const *rows; /* row_count pointers, each to dim elements */
  fovea_type type;
  float *const *lse;  /* row_count pointers to one element each, or NULL */
  const float *sinks; /* [row], in units of log2; NULL: none */
  int unnormalised;   /* 1: state.row_max and row_sum are not read; lse and sinks are NULL */
} fovea_store_args;

/* Pairs of one call: cosines and sines of that many are kept at once. */
#define FOVEA_ROTATE_PAIRS 64

/* Rotates pairs of elements (x, y) of a row into (x c - y s, y c + x s). `from` and `to` are the first pair's first
 * elements, and may be the same where the types are. */
typedef struct fovea_rotate_args {
  const void *from;
  void *to;
  fovea_type from_type, to_type;
  int64_t partner; /* from an element to the other of its pair; 1: pairs follow each other, two by two */
  int pair_count;  /* up to FOVEA_ROTATE_PAIRS */
  const float *cosines, *sines; /* FOVEA_ROTATE_PAIRS numbers each, those beyond pair_count not used */
} fovea_rotate_args;

/* Converts neighbouring elements from any type to any other, as results are written. */
typedef struct fovea_convert_args {
  const void *from;
  void *to;
  fovea_type from_type, to_type;
  int64_t count;
} fovea_convert_args;
/* ---- Few rows: keys in the lanes.
 *
 * Decoding has too few rows to fill vectors. Scores and weights are x[row][FOVEA_BLOCK_KEYS], outputs x[row][dim]
 * here; keys and values are found by one pointer each, so that any cache looks the same. Pointers are given for
 * whole groups of FOVEA_PANEL_ROWS keys: those beyond the keys wanted point at any row that may be read, and what
 * comes of them is hidden afterwards. */

/* Most rows that any table takes this way. */
#define FOVEA_DECODE_ROWS_LIMIT 16

/* scores[row][key] = fl(q.k * c) for key_count keys, rounded up to whole vectors. */
typedef struct fovea_decode_score_args {
  const float *queries; /* [row][query_stride]; four floats beyond the dim may be read */
  int64_t query_stride;
  int row_count;
  const void *const *keys; /* one pointer a key; in a panel each is FOVEA_PANEL_ROWS keys' distance between dims */
  const void *const *prefetch; /* rows that will be needed next and are asked for; the same ones: none */
  int panels;                  /* 1: the keys lie in panels */
  fovea_type type;
  int64_t dim;
  int key_count;
  float c;
  float *scores; /* the first key's */
} fovea_decode_score_args;

/* Softcap, mask tensor, and -Inf for the keys that a row does not see, padding included. */
typedef struct fovea_decode_adjust_args {
  float *scores; /* the block's first key */
  int row_count;
  int key_begin, key_end; /* keys of the block whose scores were computed, whole vectors */
  const fovea_score_terms *terms;
  const fovea_mask_tile *mask; /* NULL: there is none */
  const int32_t *seen_from;    /* one a row, counted from the block's first key */
  const int32_t *seen_to;
} fovea_decode_adjust_args;

/* As fovea_softmax_args: scores become weights, and their sums join the running state. Arrays of rows have
 * FOVEA_DECODE_ROWS_LIMIT elements. */
typedef struct fovea_decode_softmax_args {
  float *scores; /* the block's first key */
  int row_count;
  int key_begin, key_end; /* whole vectors */
  float *block_max;       /* returned, likewise block_sum */
  float *block_sum;
  float *row_max;
  float *row_sum;
  float *old_part;
  float *new_part;
  int first;
} fovea_decode_softmax_args;

/* As fovea_value_args: chains weights[row][key] * values[key][dim] over key_count keys, ascending. */
typedef struct fovea_decode_value_args {
  const float *weights; /* the first key's */
  int row_count;
  const void *const *values; /* one pointer a key */
  const void *const *prefetch;
  fovea_type type;
  int64_t dim;
  int key_count;
  int flags;             /* FOVEA_VALUE_* */
  float *partial;        /* [row][output_stride] */
  float *output;         /* [row][output_stride] */
  int64_t output_stride; /* a multiple of 16, at least the dim */
  const float *old_part;
  const float *new_part;
} fovea_decode_value_args;

/* Copies keys of one panel as f32 rows: to[(key - first) * to_stride + d]. */
typedef struct fovea_widen_panel_args {
  const void *panel;
  fovea_type type;
  int first, row_count; /* keys of the panel */
  int64_t dim;
  float *to;
  int64_t to_stride;
} fovea_widen_panel_args;

typedef struct fovea_kernels {
  const char *name;     /* of the instruction set */
  int lanes;            /* rows of one vector */
  int row_tile;         /* rows of one tile, a multiple of lanes */
  int block_tiles;      /* row tiles that share one pass over the keys */
  int value_fetch_rows; /* value() asks for rows ahead as well beside up to so many: the products of more take long
                         * enough for all that score() asks for to come */
  int panel_dims;       /* dims that lie together in a panel of values */
  int panel_always; /* 1: a panel pays wherever enough tiles share it; 0: only where rows crowd the cache's sets */

  /* Products of half types without widening, with the bits that f32 gives. FOVEA_F32: the table has none, and what
   * stands below is NULL. The instructions are used only where pairs_hold() finds them to give those bits. */
  fovea_type pair_type;
  int (*pairs_hold)(void);
  /* load_rows() as pairs of dims, tile[d / 2][row], each half of an element's size, an odd last dim beside a
   * zero. Returns 0 when some element is not for score_pairs(); the tile then takes the other path. */
  int (*load_pairs)(const fovea_load_args *args);
  /* Whether the elements of rows are for score_pairs(): `to` is not used. */
  int (*pairs_safe)(const fovea_widen_args *args);
  void (*score_pairs)(const fovea_score_args *args);

  void (*load_rows)(const fovea_load_args *args);
  void (*widen)(const fovea_widen_args *args);
  void (*score)(const fovea_score_args *args);
  /* Sums a mask up for the first `vectors` vectors of a tile. */
  void (*scan_mask)(const fovea_mask_tile *mask, int vectors, fovea_mask_pieces *pieces);
  void (*adjust)(const fovea_adjust_args *args);
  /* Returns 1 when some row of the vectors has no state in this block (it saw nothing, or only -Inf). */
  int (*softmax)(const fovea_softmax_args *args);
  void (*pack_values)(const fovea_pack_args *args);
  void (*value)(const fovea_value_args *args);
  void (*value_careful)(const fovea_value_args *args);
  int (*all_finite)(const float *values, int64_t stride, int64_t rows, int64_t dim);
  void (*merge)(const fovea_merge_args *args);
  void (*store)(const fovea_store_args *args);
  void (*rotate)(const fovea_rotate_args *args);
  void (*convert)(const fovea_convert_args *args);

  int decode_rows;       /* up to this many rows are faster with keys in the lanes */
  int decode_panel_rows; /* likewise, with keys that lie in panels */
  void (*decode_score)(const fovea_decode_score_args *args);
  void (*decode_adjust)(const fovea_decode_adjust_args *args);
  /* Returns 1 when some row has no state in this block. */
  int (*decode_softmax)(const fovea_decode_softmax_args *args);
  void (*decode_value)(const fovea_decode_value_args *args);
  void (*widen_panel)(const fovea_widen_panel_args *args);
} fovea_kernels;

/* fovea_kernels_<name> of every instruction set; those of other architectures are nowhere defined. */
#define FOVEA_DECLARE_TABLE(name, architecture, needs, prefers, type, lacks)                                       \
  extern const fovea_kernels fovea_kernels_##name;
FOVEA_INSTRUCTION_SETS(FOVEA_DECLARE_TABLE)
#undef FOVEA_DECLARE_TABLE
/* Likewise of the sets' further tables. */
#define FOVEA_DECLARE_TABLE(set, architecture, tiles, symbol, prefers)                                             \
  extern const fovea_kernels fovea_kernels_##symbol;
FOVEA_TILE_TABLES(FOVEA_DECLARE_TABLE)
#undef FOVEA_DECLARE_TABLE

/* Largest row_tile of any table: lets src/ keep per-row arrays of a tile in fixed size. */
#define FOVEA_ROW_TILE_LIMIT 64
/* Most vectors of a tile, FOVEA_TILE_VECTORS of any table. */
#define FOVEA_VECTORS_LIMIT 4

#endif
