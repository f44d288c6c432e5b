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

#include "args/core.h"
#include "arithmetic.h"
#include "codes.h"
#include "groups.h"
#include "narrow.h"
#include "registry.h"
#include "strict_math.h"

#include <stdint.h>

/* The arguments of the groups, in args/<group>.h: who calls a group or has its bodies includes them, so that a change
 * of one group compiles that group again, and not all others. Arguments of formats: codes.h and narrow.h; of modes:
 * arithmetic.h. */
typedef struct fovea_decode_score_args fovea_decode_score_args;
typedef struct fovea_decode_adjust_args fovea_decode_adjust_args;
typedef struct fovea_decode_softmax_args fovea_decode_softmax_args;
typedef struct fovea_decode_value_args fovea_decode_value_args;
typedef struct fovea_gather_args fovea_gather_args;
typedef struct fovea_keep_args fovea_keep_args;
typedef struct fovea_top_filter_args fovea_top_filter_args;
typedef struct fovea_top_finish_args fovea_top_finish_args;
typedef struct fovea_spread_args fovea_spread_args;
typedef struct fovea_column_args fovea_column_args;
typedef struct fovea_column_tile_args fovea_column_tile_args;
typedef struct fovea_top_list fovea_top_list;
typedef struct fovea_shaw_sums_args fovea_shaw_sums_args;

typedef struct fovea_kernels {
  const char *name;     /* of the instruction set */
  int lanes;            /* rows of one vector */
  int pace;             /* multiply-adds of a thread in a microsecond, which say what work is worth more threads */
  int row_tile;         /* rows of one tile, a multiple of lanes */
  int block_tiles;      /* row tiles that share one pass over the keys */
  int value_fetch_rows; /* value() prefetches for tiles of up to this many rows. The products of larger tiles take
                         * so long that the prefetches of score() are enough */
  int panel_dims;       /* dims that lie together in a panel of values */
  int panel_tiles;      /* panels pay if so many tiles share them; 0: only if rows also crowd the cache's sets */

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
