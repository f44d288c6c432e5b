/* What the kernels of the core take: sizes that all kernels share, and the arguments of exact attention in tiles, of
 * rotary positions and of conversions. kernels.h says how tiles lie. */
#ifndef FOVEA_ARCH_ARGS_CORE_H
#define FOVEA_ARCH_ARGS_CORE_H

#include "../../include/fovea/fovea.h"

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

/* The most rows of a tile that any table decodes. */
#define FOVEA_DECODE_ROWS_LIMIT 16

/* Floats of the scales of a block's values in int8: logarithms, reciprocals, marks, and one for all. */
#define FOVEA_DECODE_SCALES (3 * FOVEA_BLOCK_KEYS + 1)

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

/* How scores, in natural units, become weights without the softmax: shared/normalise.h. */
typedef struct fovea_weighting {
  fovea_normaliser normaliser; /* FOVEA_NORMALISER_SOFTMAX: this is not used */
  float bias;                  /* of the sigmoid */
} fovea_weighting;

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

/* Copies keys of one panel to f32 rows: to[(key - first) * to_stride + d]. */
typedef struct fovea_widen_panel_args {
  const void *panel;
  fovea_type type;
  int first, row_count; /* the first key in the panel, and how many */
  int64_t dim;
  float *to;
  int64_t to_stride;
} fovea_widen_panel_args;

#endif
