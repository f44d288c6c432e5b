/* The border between src/ and the instruction sets. Each set supplies a constant table of operations on tiles and
 * its tile sizes. src/ decides which keys a tile meets; the functions of the table compute.
 *
 * A row tile is `row_tile` query rows. They lie in the lanes of vectors of `lanes` rows. The row is the innermost
 * index of every array of a tile, x[item][row]: queries [dim][row], scores and weights [key][row], outputs
 * [dim][row], maxima [row]. All these arrays are aligned to 64 bytes. Keys and values are read in the caller's
 * memory.
 *
 * docs/numerics.md fixes the arithmetic of every operation to the bit. Tile sizes do not change results. */
#ifndef FOVEA_ARCH_KERNELS_H
#define FOVEA_ARCH_KERNELS_H

#include "../include/fovea/fovea.h"
#include "arithmetic.h"
#include "codes.h"
#include "groups.h"
#include "narrow.h"
#include "registry.h"
#include "strict_math.h"

#include <fovea/terms.h>
#include <stdint.h>

/* Keys of a block, the unit of the online softmax. Blocks are aligned to position 0. */
#define FOVEA_BLOCK_KEYS 128
/* Blocks of a span. Within a span, states merge in ascending order. */
#define FOVEA_SPAN_BLOCKS 16
/* Dims of a piece of a dot product. Each piece is summed in one chain. */
#define FOVEA_DOT_PIECE 128
/* Sums of the weights of a block, one for each position modulo this number. Then halves are added to halves. */
#define FOVEA_WEIGHT_SUMS 16

/* log2 e: a double for constants that are computed once, f32 for mask elements that are added to scores. */
#define FOVEA_LOG2E 0x1.71547652b82fep+0

/* The vectors of a tile that a slice covers. */
typedef struct fovea_vector_range {
  int first, count;
} fovea_vector_range;

/* Transposes rows of queries or of outputs into a tile: tile[d][row] = rows[row][d]. Lanes of the last vector that
 * have no row become zeros. */
typedef struct fovea_load_args {
  const void *const *rows; /* row_count pointers, each to dim elements */
  fovea_type type;
  int row_count;
  int64_t dim;
  float *tile;
} fovea_load_args;

/* Copies rows as f32: to[row * to_stride + d] = rows[row * row_stride + d]. Whole vectors are written, so to_stride
 * is at least dim rounded up to 16. */
typedef struct fovea_widen_args {
  const void *rows;
  fovea_type type;
  int64_t row_stride;
  int64_t row_count;
  int64_t dim;
  float *to;
  int64_t to_stride;
} fovea_widen_args;

/* A row to prefetch. */
typedef struct fovea_fetch_row {
  const char *row;
  int64_t bytes;
} fovea_fetch_row;

/* scores[key][row] = fl(q.k * c) and maxima[row] = max(maxima[row], score) for key_count keys of one block. If
 * seen_from is set, scores outside seen_from[row] <= key < seen_to[row] become -Inf, and maxima ignore them. */
typedef struct fovea_score_args {
  const float *queries;
  const void *keys; /* the first key's row: f32, or for score_pairs() of the table's pair_type */
  int key;          /* the first key's place in the block; only an arithmetic reads it and `rows` */
  int rows;         /* of the tile, at least 1; they need not fill its vectors */
  int64_t key_stride;
  int64_t dim;
  int key_count;
  float c;                 /* scale * log2(e) */
  const float *row_scales; /* of each row, in place of c, or NULL; only an arithmetic with scales_rows reads it */
  float *scores;
  float *maxima;
  fovea_vector_range vectors;
  const float *key_logs; /* added to what the maxima are taken of, not to scores; NULL: nothing. Only an arithmetic
                            with scales_rows reads it */
  const int32_t *seen_from; /* counted from the first key; NULL: every row sees every key */
  const int32_t *seen_to;
  /* Rows to prefetch into L2, evenly over the keys of this call: the products hide the prefetches. */
  const fovea_fetch_row *prefetch;
  int prefetch_count;
} fovea_score_args;

/* The elements of a mask tensor for the rows of a tile and the keys of one block. */
typedef struct fovea_mask_tile {
  const void *const *rows; /* one pointer for each lane of the vectors, to the element of the block's first key */
  fovea_mask_type type;
  int repeats;   /* 1: the first element of a row stands for all its keys */
  int key_count; /* elements of each row that may be read */
} fovea_mask_tile;

/* Keys of a piece of a mask, a multiple of LANES. */
#define FOVEA_MASK_PIECE 16

/* What a mask does to the rows of one vector. Bit p stands for the piece from key p * FOVEA_MASK_PIECE on. */
typedef struct fovea_mask_pieces {
  uint8_t seen;  /* some row may see some key of the piece */
  uint8_t plain; /* every row sees every key of the piece, and nothing is added to scores */
} fovea_mask_pieces;

/* The terms of a problem's scores. src/feature/score_terms.c makes them once. A new term is a field here, a line
 * there, and a line of shared/terms.h. */
typedef struct fovea_score_terms {
  /* Products are multiplied by it: scale * log2(e); with a softcap, scale / softcap; 1: rows have scales, or
   * adjust() multiplies by `factor`. */
  float c;
  int adjusted; /* 1: a field below is set, so adjust() has work to do even without a mask */
  int capped;   /* 1: scores become cap * tanh(score) first */
  float cap;    /* softcap * log2(e) */
  float unit;   /* numbers of masks and position terms are multiplied by it: log2(e); 0: they only hide */
  int leaky;    /* 1: products that are not above 0 are multiplied by `slope` first, then all by `factor` */
  float slope;
  float factor; /* what c would be without it */
} fovea_score_terms;

/* What a position term adds to scores in a block, in natural units: a number, or the number times the row's slope.
 * With rows in the lanes, numbers[key * step + row]; in decoding, numbers[row * step + key]; the key is counted
 * from the block's first. */
typedef struct fovea_position_tile {
  const float *numbers;
  int64_t step;
  const float *slopes; /* [row]; NULL: none */
} fovea_position_tile;

/* What Shaw's keys add to products in a block. With rows in the lanes, a key of the block is at place first + key,
 * but not before 0 nor after `last`, and adds numbers[place * step + row]; in decoding, numbers[row * step +
 * key]. */
typedef struct fovea_shaw_numbers {
  const float *numbers; /* NULL: none */
  int64_t step;
  int first, last;
} fovea_shaw_numbers;

/* The terms that differ from row to row, for the rows of a tile and one block. */
typedef struct fovea_tile_terms {
  const float *scales;     /* [row]; products are multiplied by them first; NULL: score() has multiplied by c */
  fovea_shaw_numbers shaw; /* added before; only with scales */
  int count;
  fovea_position_tile positions[FOVEA_POSITION_TERMS_LIMIT];
} fovea_tile_terms;

/* Applies an activation, scales of rows, softcap, position terms and the mask tensor to scores, and hides keys that
 * a row does not see. */
typedef struct fovea_adjust_args {
  float *scores; /* the first key's row of the tile, as score() leaves it without seen_from */
  const fovea_score_terms *terms;
  const fovea_tile_terms *tile_terms; /* NULL: none */
  int key;                            /* the first key's place in the block */
  int key_count;
  fovea_vector_range vectors;
  const fovea_mask_tile *mask; /* NULL: there is none, or it changes nothing here */
  const int32_t *seen_from;    /* as in fovea_score_args */
  const int32_t *seen_to;
  float *maxima; /* as in fovea_score_args */
} fovea_adjust_args;

/* Copies the scores of keys key_begin to key_end - 1 of the block to the caller's rows, transposed. A vector has
 * the scores of keys seen_begin[vector] to seen_end[vector] - 1; other keys get -Inf. */
typedef struct fovea_keep_args {
  const float *scores; /* the block's first key */
  float *const *rows;  /* row_count pointers to the number of key_begin; NULL: the row is not wanted */
  int row_count;
  int key_begin, key_end;
  const int *seen_begin, *seen_end;
} fovea_keep_args;

/* How scores, in natural units, become weights without the softmax: shared/normalise.h. */
typedef struct fovea_weighting {
  fovea_normaliser normaliser; /* FOVEA_NORMALISER_SOFTMAX: this is not used */
  float bias;                  /* of the sigmoid */
} fovea_weighting;
/* Candidates for the keys with the largest scores of a row, in the order of positions: the keys so far whose score
 * is above the threshold, or NaN. Above a threshold other than -Inf there are at least as many as are wanted. There
 * is room for FOVEA_TOP_ROOM(k) candidates. */
typedef struct fovea_top_list {
  float *scores;
  int32_t *keys;
  int count;
  float threshold;
} fovea_top_list;

/* With this many candidates a list is shortened, to k and about an eighth more. Then there is room for a block, and
 * for a vector after it. */
#define FOVEA_TOP_MOST(k) ((k) + ((k) < 64 ? 128 : (k) > 512 ? 1024 : 2 * (k)))
#define FOVEA_TOP_ROOM(k) ((FOVEA_TOP_MOST(k) + FOVEA_BLOCK_KEYS + 47) / 16 * 16)
/* To sort a list takes room for it twice, with an eighth more than k and the last vector. */
#define FOVEA_TOP_SORTED(k) (2 * ((k) + (k) / 8 + 32))

/* Adds the keys of a block to the lists of rows. */
typedef struct fovea_top_filter_args {
  const float *scores; /* [row][row_stride] */
  int64_t row_stride;
  int row_count;
  int key_count;       /* up to FOVEA_BLOCK_KEYS; the rows have whole vectors, with -Inf after the last key */
  int32_t first;       /* position of the first key */
  const int32_t *keys; /* of one row: positions of all keys; NULL: they follow the first */
  fovea_top_list *lists;
  int k;
} fovea_top_filter_args;

/* Writes k positions in descending order of scores, and scores in natural units; -1 and -Inf where there are
 * fewer. */
typedef struct fovea_top_finish_args {
  fovea_top_list *list;
  int k;
  uint64_t *order; /* FOVEA_TOP_SORTED(k) numbers of scratch */
  int32_t *keys;
  float *scores; /* NULL: not wanted */
} fovea_top_finish_args;

/* Replaces the scores of one block by weights 2^(score - maximum), sums the weights, and merges maximum and sum
 * into the running ones of each row. Vector v has the keys key_begin[v] to key_end[v] - 1 of the block. */
typedef struct fovea_softmax_args {
  float *scores; /* the block's first key */
  float factor;  /* above 0: scores and maxima are multiplied by it first; only an arithmetic with has_factor reads
                    it */
  const float *values; /* operands of the block's values; only an arithmetic reads them */
  int64_t v_dim;
  int folded;       /* 1: the maxima have what softmax() adds to scores; only an arithmetic with logs reads it */
  float *maxima;    /* of the block; each -0 is replaced by +0 */
  float *row_max;   /* running maximum m */
  float *row_sum;   /* running sum l */
  float *block_sum; /* returned: l of this block alone */
  float *old_part;  /* returned: the factor of the accumulated output */
  float *new_part;  /* returned: the factor of the block's output */
  int first;        /* 1: there is no state yet; sets row_max and row_sum, but not old_part and new_part */
  fovea_vector_range vectors;
  const int *key_begin;
  const int *key_end;
  const fovea_weighting *weighting; /* for normalise() only, where maxima of states are 0 */
} fovea_softmax_args;

/* Sums the weights of a block's keys by their distance d from the row's own key, for Shaw's values: sums[i][row]
 * are the sums of distance first + i, where the lowest and the highest distance have all keys beyond them, too, in
 * ascending order. Every key has one of the distances. Zeros have either sign. Vector v has the keys key_begin[v]
 * to key_end[v] - 1 of the block. */
typedef struct fovea_shaw_sums_args {
  const float *weights; /* the block's first key */
  fovea_vector_range vectors;
  const int *key_begin;
  const int *key_end;
  const int32_t *own; /* [row]: the own key, counted from the block's first key */
  int distance;       /* d is from -distance to distance, at least 1 */
  int first, count;
  float *sums;
} fovea_shaw_sums_args;

/* Where the value chain of a slice starts and ends. */
enum {
  FOVEA_VALUE_START = 1,  /* the chain starts from zero; without the flag, from partial */
  FOVEA_VALUE_ASSIGN = 2, /* the chain's sum becomes the output */
  FOVEA_VALUE_MERGE = 4   /* the chain's sum is merged into the output; neither flag: it goes to partial */
};

/* For each dim d and row, adds weights[key][row] * values[key][d] to one chain, for key_count keys in ascending
 * order. */
typedef struct fovea_value_args {
  const float *weights; /* the first key's row of the tile */
  const float *values;  /* the first key's row */
  int64_t value_stride;
  const float *panel; /* the first key in the copy of pack_values(); NULL: there is no copy */
  int64_t dim;
  int key_count;
  int flags;
  float *partial;
  float *output;
  const float *old_part;
  const float *new_part;
  fovea_vector_range vectors;
  /* For value_careful() only, which is NaN-safe. The limits are as in fovea_score_args. The chain of a row skips a
   * key that the row does not see, instead of giving it weight 0. If a row has no state in the block, its chain skips
   * every key. */
  const int32_t *seen_from;
  const int32_t *seen_to;
  const fovea_mask_tile *mask; /* for the same purpose; NULL: there is none, or it hides nothing here */
  int key;                     /* the first key's place in the block */
  int rows;                    /* as in fovea_score_args */
  const float *maxima;         /* of the block */
  const float *block_sum;
  /* As in fovea_score_args. value_careful() ignores them; so does value() in exact mode if the vectors have more
   * than value_fetch_rows rows. */
  const fovea_fetch_row *prefetch;
  int prefetch_count;
} fovea_value_args;

/* Copies the values of one block into panels, in the order in which the value tile reads them:
 * panel[dim / panel_dims][key][dim % panel_dims], with room for FOVEA_BLOCK_KEYS keys. */
typedef struct fovea_pack_args {
  const float *values; /* the first key's row */
  int64_t value_stride;
  int64_t dim;
  int key_count;
  float *panel; /* the first key */
} fovea_pack_args;

/* The state of a tile's rows over some keys: maximum, sum, and output not yet divided by the sum. */
typedef struct fovea_tile_state {
  float *row_max;
  float *row_sum;
  float *output;     /* [dim][row] */
  float *row_spread; /* the sum e of the entropy (docs/numerics.md, step 11); NULL: not wanted */
} fovea_tile_state;

/* Merges the sums e of a block's scores into the sums of the rows, before softmax() or decode_softmax(): the scores
 * are not weights yet, and row_max and row_sum are of the keys before the block. */
typedef struct fovea_spread_args {
  const float *scores; /* as in fovea_softmax_args, or in fovea_decode_softmax_args */
  const float *maxima; /* of the block; not used in decoding */
  const float *row_max;
  const float *row_sum;
  float *row_spread;
  int first; /* as in fovea_softmax_args */
  fovea_vector_range vectors;
  const int *key_begin; /* [vector]; in decoding of all rows */
  const int *key_end;
  int row_count; /* in decoding */
} fovea_spread_args;

/* left = merge(left, right). */
typedef struct fovea_merge_args {
  fovea_tile_state left, right;
  int64_t dim;
  int vectors;
} fovea_merge_args;

/* Merges the rows' sinks into the state of a tile, divides the output by the sum, and writes the rows. If
 * `unnormalised` is set, writes the output undivided; only NaN and -0 change, to the one NaN and +0 of results. */
typedef struct fovea_store_args {
  fovea_tile_state state;
  int64_t row_stride; /* 0: the output is a tile's; else rows as in decoding, this many floats apart */
  int64_t dim;
  int row_count;
  void *const *rows; /* row_count pointers, each to dim elements */
  fovea_type type;
  float *const *lse;     /* row_count pointers to one element each, or NULL */
  float *const *entropy; /* as lse; if it is set, state.row_spread is */
  const float *sinks;    /* [row], in units of log2; NULL: none */
  /* [row], or NULL: what the scores of a row are measured from in its weights, and 1 / sum. */
  float *references, *inverses;
  /* row_count pointers to score_count scores of the row, which become weights of the values; NULL: none, also of a
   * single row. */
  float *const *scores;
  int64_t score_count;
  int unnormalised; /* 1: state.row_max and state.row_sum are not read; lse and sinks are NULL */
  /* Of another normaliser than the softmax: what outputs and scores are divided by, [row]; 0 gives 0 times an
   * output. The sums of the state are not read, lse and sinks are NULL. */
  const float *divisors;            /* NULL: the softmax */
  const fovea_weighting *weighting; /* with divisors and scores */
} fovea_store_args;

/* Adds the weights of a row to sums of keys, key_count keys in whole vectors. */
typedef struct fovea_column_args {
  const float *scores; /* in units of log2 */
  int key_count;
  float reference, inverse;
  float *sums;
} fovea_column_args;

/* The same for one vector of rows of a tile, whose sums lie key by key. */
typedef struct fovea_column_tile_args {
  const float *scores; /* of key 0 and the vector */
  int key_begin, key_end;
  const float *references, *inverses; /* one for each lane */
  const float *counted;               /* one for each lane: 0 if the lane is left out */
  float *sums;                        /* of key 0: [key][FOVEA_WEIGHT_SUMS], from the first row's sum on */
} fovea_column_tile_args;

/* Most pairs of one call: a piece of a rotary embedding. */
#define FOVEA_ROTATE_PAIRS 64

/* Rotates pairs of elements (x, y) of a row to (x c - y s, y c + x s). `from` and `to` point to the first element
 * of the first pair. They may be equal if the types are equal. */
typedef struct fovea_rotate_args {
  const void *from;
  void *to;
  fovea_type from_type, to_type;
  int64_t partner;              /* elements from x to y; 1: pairs lie one after the other */
  int pair_count;               /* up to FOVEA_ROTATE_PAIRS */
  const float *cosines, *sines; /* FOVEA_ROTATE_PAIRS numbers each; numbers from pair_count on are not used */
} fovea_rotate_args;

/* Converts consecutive elements from any type to any other, with the rounding, NaN and zeros of results. */
typedef struct fovea_convert_args {
  const void *from;
  void *to;
  fovea_type from_type, to_type;
  int64_t count;
} fovea_convert_args;

/* ---- Decoding.
 *
 * A tile that is decoded has too few rows to fill vectors, so keys lie in the lanes. Scores and weights are
 * x[row][FOVEA_BLOCK_KEYS], outputs x[row][dim]. Each key and each value has a pointer of its own, so all kinds of
 * cache look the same. Pointers are given for a multiple of FOVEA_PANEL_ROWS keys. Pointers beyond the wanted keys
 * point at any row that may be read, and decode_adjust() hides their scores. */

/* Most rows of a tile that any table decodes. */
#define FOVEA_DECODE_ROWS_LIMIT 16

/* Floats of the scales of a block's values in int8: logarithms, reciprocals, marks, and one for all. */
#define FOVEA_DECODE_SCALES (3 * FOVEA_BLOCK_KEYS + 1)

/* scores[row][key] = fl(q.k * c) for key_count keys, rounded up to whole vectors. */
typedef struct fovea_decode_score_args {
  const float *queries; /* [row][query_stride]; four floats beyond the dim are readable */
  int64_t query_stride;
  int row_count;
  const void *const *keys; /* one pointer a key: its first dim. In panels, dims are FOVEA_PANEL_ROWS keys apart; in
                            * int8 words of four dims */
  const void *const *prefetch; /* one pointer a key: rows to prefetch. Equal to keys: none */
  int panels;                  /* 1: the keys lie in panels */
  fovea_coded_keys coded;      /* keys with a format: `type` is not used; in panels, pointers lead to words */
  fovea_type type;
  int64_t dim;
  int key_count;
  float c;
  /* In int8: of each row, of each key from the first on, and in place of c, of each row, or NULL. */
  const float *query_scales, *query_starts, *key_scales, *row_scales;
  float *scores; /* the first key's */
} fovea_decode_score_args;

/* As fovea_adjust_args: applies all terms, and sets the scores of keys that a row does not see to -Inf. The keys of
 * padding pointers are not visible. */
typedef struct fovea_decode_adjust_args {
  float *scores; /* the block's first key */
  int row_count;
  int key_begin, key_end; /* keys of the block whose scores were computed; whole vectors */
  const fovea_score_terms *terms;
  const fovea_tile_terms *tile_terms; /* NULL: none */
  const fovea_mask_tile *mask;        /* NULL: there is none */
  const int32_t *seen_from;           /* one for each row, counted from the block's first key */
  const int32_t *seen_to;
} fovea_decode_adjust_args;

/* As fovea_softmax_args. Arrays of one number for each row have FOVEA_DECODE_ROWS_LIMIT elements. */
typedef struct fovea_decode_softmax_args {
  float *scores; /* the block's first key */
  int row_count;
  int key_begin, key_end; /* whole vectors */
  float *block_max;       /* returned */
  float *block_sum;       /* returned */
  float *row_max;
  float *row_sum;
  float *old_part;
  float *new_part;
  int first;
  const fovea_weighting *weighting; /* for decode_normalise() only */
  const float *value_scales;        /* in int8: of the block's values, by load_scales() */
} fovea_decode_softmax_args;

/* As fovea_value_args: adds weights[row][key] * values[key][dim], for key_count keys in ascending order. */
typedef struct fovea_decode_value_args {
  const float *weights; /* the first key's */
  int row_count;
  const void *const *values;   /* one pointer a key */
  const void *const *prefetch; /* as in fovea_decode_score_args */
  fovea_coded_keys coded;      /* as in fovea_decode_score_args */
  fovea_type type;
  int64_t dim;
  int key_count;
  int flags;             /* FOVEA_VALUE_* */
  float *partial;        /* [row][output_stride] */
  float *output;         /* [row][output_stride] */
  int64_t output_stride; /* a multiple of 16, at least the dim */
  const float *old_part;
  const float *new_part;
  const float *block_sum; /* in int8 */
} fovea_decode_value_args;

/* The most states of a row that wait to be merged: one for each level of the tree, and the current block's. */
#define FOVEA_GATHER_DEPTH 24

/* The states of one row that wait, the last one above the others. */
typedef struct fovea_gather_stack {
  int depth;
  float maxima[FOVEA_GATHER_DEPTH], sums[FOVEA_GATHER_DEPTH];
  float *outputs[FOVEA_GATHER_DEPTH]; /* [dim], rounded up to a multiple of 16 */
  int64_t spans[FOVEA_GATHER_DEPTH];  /* the last span of each */
  int heights[FOVEA_GATHER_DEPTH];    /* of the node in which it will merge with the one before it */
} fovea_gather_stack;

/* Takes one row through more of its keys, in ascending order: up to FOVEA_BLOCK_KEYS of them, and all that it sees
 * of a block. `last`: merges all that waits into the first state of the stack then. */
typedef struct fovea_gather_args {
  const float *scores; /* one for each key */
  const int32_t *keys; /* positions */
  const void *const *values;
  fovea_type type;
  int64_t dim;
  int key_count;
  int last;
  fovea_gather_stack *stack;
} fovea_gather_args;

/* Copies keys of one panel to f32 rows: to[(key - first) * to_stride + d]. */
typedef struct fovea_widen_panel_args {
  const void *panel;
  fovea_type type;
  int first, row_count; /* the first key in the panel, and how many */
  int64_t dim;
  float *to;
  int64_t to_stride;
} fovea_widen_panel_args;

typedef struct fovea_kernels {
  const char *name;     /* of the instruction set */
  int lanes;            /* rows of one vector */
  int row_tile;         /* rows of one tile, a multiple of lanes */
  int block_tiles;      /* row tiles that share one pass over the keys */
  int value_fetch_rows; /* value() prefetches for tiles of up to this many rows. The products of larger tiles take
                         * so long that the prefetches of score() are enough */
  int panel_dims;       /* dims that lie together in a panel of values */
  int panel_always;     /* 1: panels pay if enough tiles share them; 0: only if rows also crowd the cache's sets */

  /* Products of pairs of a half type, without conversion and with the bits of f32. FOVEA_F32: the table has none,
   * and the four functions below are NULL. */
  fovea_type pair_type;
  /* Returns 1 if the instructions give the bits of f32 on this CPU; else the table must not be used. */
  int (*pairs_hold)(void);
  /* As load_rows(), but in pairs of dims, tile[d / 2][row], arranged for score_pairs(). An odd last dim is paired
   * with a zero. Returns 0 if some element is not safe for score_pairs(); the tile then takes score(). */
  int (*load_pairs)(const fovea_load_args *args);
  /* Returns 1 if all elements of the rows are safe for score_pairs(). `to` is not used. */
  int (*pairs_safe)(const fovea_widen_args *args);
  void (*score_pairs)(const fovea_score_args *args);

  void (*load_rows)(const fovea_load_args *args);
  void (*widen)(const fovea_widen_args *args);
  void (*score)(const fovea_score_args *args);
  /* Sets pieces[v] for the first `vectors` vectors of a tile. */
  void (*scan_mask)(const fovea_mask_tile *mask, int vectors, fovea_mask_pieces *pieces);
  void (*adjust)(const fovea_adjust_args *args);
  void (*keep_scores)(const fovea_keep_args *args);
  void (*column_add)(const fovea_column_args *args);
  /* Adds sixteen sums of FOVEA_BLOCK_KEYS keys to `total`, and makes them 0. */
  void (*column_fold)(float *sums, float *total);
  void (*column_add_tile)(const fovea_column_tile_args *args);
  /* The same as column_fold() for sums that lie key by key. */
  void (*column_fold_tile)(float *sums, float *total);
  void (*top_filter)(const fovea_top_filter_args *args);
  /* Shortens the list to at most k candidates. */
  void (*top_select)(fovea_top_list *list, int k);
  void (*top_finish)(const fovea_top_finish_args *args);
  void (*spread)(const fovea_spread_args *args);
  /* Returns 1 if some row of the vectors has no state in this block: it sees no key, or all its scores are -Inf. */
  int (*softmax)(const fovea_softmax_args *args);
  int (*normalise)(const fovea_softmax_args *args); /* instead, for any other normaliser */
  void (*shaw_sums)(const fovea_shaw_sums_args *args);
  void (*pack_values)(const fovea_pack_args *args);
  void (*value)(const fovea_value_args *args);
  void (*value_careful)(const fovea_value_args *args);
  int (*all_finite)(const float *values, int64_t stride, int64_t rows, int64_t dim);
  void (*merge)(const fovea_merge_args *args);
  void (*store)(const fovea_store_args *args);
  void (*rotate)(const fovea_rotate_args *args);
  void (*convert)(const fovea_convert_args *args);

  int decode_rows;       /* tiles of up to this many rows are faster if they are decoded */
  int decode_panel_rows; /* the same if keys lie in panels */
  void (*decode_score)(const fovea_decode_score_args *args);
  void (*decode_adjust)(const fovea_decode_adjust_args *args);
  /* Returns 1 if some row has no state in this block. */
  int (*decode_softmax)(const fovea_decode_softmax_args *args);
  int (*decode_normalise)(const fovea_decode_softmax_args *args);
  void (*decode_spread)(const fovea_spread_args *args);
  void (*decode_value)(const fovea_decode_value_args *args);
  void (*widen_panel)(const fovea_widen_panel_args *args);
  void (*widen_codes)(const fovea_widen_codes_args *args);
  void (*narrow_codes)(const fovea_narrow_args *args);
  void (*hadamard)(const fovea_hadamard_args *args);
  void (*gather)(const fovea_gather_args *args);
  const fovea_arithmetic *bf16, *int8; /* of the modes */
} fovea_kernels;

/* Declares fovea_kernels_<name> for every instruction set. The build defines only the tables of its
 * architecture. */
#define FOVEA_DECLARE_TABLE(name, architecture, needs, prefers, type, lacks)                                       \
  extern const fovea_kernels fovea_kernels_##name;
FOVEA_INSTRUCTION_SETS(FOVEA_DECLARE_TABLE)
#undef FOVEA_DECLARE_TABLE
/* The same for the other tables of the sets. */
#define FOVEA_DECLARE_TABLE(set, architecture, tiles, symbol, needs, prefers)                                      \
  extern const fovea_kernels fovea_kernels_##symbol;
FOVEA_TILE_TABLES(FOVEA_DECLARE_TABLE)
#undef FOVEA_DECLARE_TABLE
/* And fovea_extension_<name>. */
#define FOVEA_DECLARE_EXTENSION(name, architecture, needs, int8_needs, set)                                        \
  extern const fovea_extension fovea_extension_##name;
FOVEA_EXTENSIONS(FOVEA_DECLARE_EXTENSION)
#undef FOVEA_DECLARE_EXTENSION

/* The largest row_tile of all tables. In src/, arrays with a number for each row of a tile have this size. */
#define FOVEA_ROW_TILE_LIMIT 64

/* The most row tiles of a task. */
#define FOVEA_TASK_TILES_LIMIT 16
/* The most vectors of a tile, FOVEA_TILE_VECTORS, of all tables. */
#define FOVEA_CHANNELS_LIMIT 4

#endif
