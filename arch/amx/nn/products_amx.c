/* Layers in int8 mode by AMX: TDPBSSD multiplies rows of sixteen words by panels where they lie, whose rows are words of
 * sixteen outputs. The sums of up to two tiles of rows by two panels stay in their registers for all dims of a group. */
#include "../../targets.h"
#if defined(FOVEA_ARCH_X86_64_AMX) && FOVEA_BUILDS_INT8
#include "../amx.h"

#include "../../avx512/nn/products_sums.h"
#include "fetched.h"

#define INT8_WORD_BYTES       4
#define INT8_OFFSET           0
#define INT8_CHUNK            TILE_WORDS
#define FOVEA_NN_INT8_VECTORS 2

FOVEA_INLINE void int8_pack(const uint8_t *codes, void *to) {
  memcpy(to, codes, INT8_WORD_BYTES);
}

#include "../../shared/nn/products_close.h"
#include "../../shared/nn/products_codes.h"

enum { TILE_BYTES = TILE * TILE_WORDS * INT8_WORD_BYTES };
_Static_assert(FOVEA_NN_PANEL == TILE && INT8_CHUNK * INT8_WORD_OUTS == TILE_BYTES,
               "sixteen words of a panel are a tile");

FOVEA_KERNEL static void prepare(const fovea_nn_prepare_args *args) {
  if (int8_is_copied(&args->of)) int8_copy_panels(args);
}

/* ---- Products ------------------------------------------------------------------------------------------------- */

/* Sixteen words: tiles of x lie one after the other. The number of tiles is a constant. */
FOVEA_INLINE void amx_chunk(const int tiles, const char *x, const char *words, int64_t panel_stride) {
  _tile_loadd(4, x, 64);
  _tile_loadd(6, words, 64);
  _tile_dpbssd(0, 4, 6);
  _tile_loadd(7, words + panel_stride, 64);
  _tile_dpbssd(1, 4, 7);
  if (tiles < 2) return;
  _tile_loadd(5, x + TILE_BYTES, 64);
  _tile_dpbssd(2, 5, 6);
  _tile_dpbssd(3, 5, 7);
}

/* Sums of a tile of rows and of a panel, as rows of INT8_OUTS. */
#define AMX_PLACE(sums, tile, panel) ((sums) + (tile)*TILE * INT8_OUTS + (panel)*FOVEA_NN_PANEL)
#define AMX_LOAD(number, place)      _tile_loadd(number, place, INT8_OUTS * 4)
#define AMX_STORE(number, place)     _tile_stored(number, place, INT8_OUTS * 4)
#define AMX_MOVE(move, tiles, sums)                                                                                \
  do {                                                                                                             \
    move(0, AMX_PLACE(sums, 0, 0));                                                                                \
    move(1, AMX_PLACE(sums, 0, 1));                                                                                \
    if ((tiles) > 1) {                                                                                             \
      move(2, AMX_PLACE(sums, 1, 0));                                                                              \
      move(3, AMX_PLACE(sums, 1, 1));                                                                              \
    }                                                                                                              \
  } while (0)

FOVEA_INLINE void amx_begin_sums(void) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

/* Sums of a group that lie in rows of INT8_OUTS; they may be the sums of the call themselves. */
FOVEA_NOINLINE void amx_close(const fovea_nn_products_args *args, const int8_group *at, const int32_t *integers) {
  const int64_t to_offsets = (int64_t)int8_groups(&args->of) * FOVEA_NN_PANEL;
  FOVEA_UNROLL
  for (int v = 0; v < FOVEA_NN_INT8_VECTORS; v++) {
    const float *scales = int8_scales(&args->of, at->piece, at->g, v);
    const vec scale = vec_load(scales), offset = args->of.has_offsets ? vec_load(scales + to_offsets) : scale;
    FOVEA_NO_UNROLL
    for (int n = 0; n < args->rows; n++) {
      float *sums = args->sums + n * INT8_OUTS + v * LANES;
      const vec sum = int8_float(int8_load(integers + n * INT8_OUTS + v * LANES));
      vec_store(sums, int8_closed(args, at, n, sum, scale, offset, sums));
    }
  }
}

/* All dims are one group. With `fetches`, the lines of results come meanwhile. */
FOVEA_INLINE void amx_whole(const int tiles, const int fetches, const fovea_nn_products_args *args) {
  const int8_words words = int8_words_of(&args->of, args->words);
  const int chunks = int8_group_words(&args->of, 0) / INT8_CHUNK;
  const char *x = args->x;
  row_fetch results = {0};
  if (fetches) results = begin_fetch(args->y, (int64_t)args->of.pieces * chunks);
  tiles_see_memory(args->sums);
  if (args->begun)
    AMX_MOVE(AMX_LOAD, tiles, args->sums);
  else
    amx_begin_sums();
  FOVEA_NO_UNROLL
  for (int piece = 0; piece < args->of.pieces; piece++) {
    const char *at = words.first + piece * words.piece_stride;
    FOVEA_NO_UNROLL
    for (int i = 0; i < chunks; i++, x += tiles * TILE_BYTES, at += TILE_BYTES) {
      amx_chunk(tiles, x, at, words.panel_stride);
      if (fetches) fetch_some(&results);
    }
  }
  AMX_MOVE(AMX_STORE, tiles, args->sums);
  tiles_see_memory(args->sums);
  const int8_group all = {.first = 1, .last = 1};
  if (args->ends) amx_close(args, &all, (const int32_t *)(const void *)args->sums);
}

/* Groups of whole chunks. */
FOVEA_INLINE void int8_grouped(const int tiles, const fovea_nn_products_args *args) {
  const int8_words words = int8_words_of(&args->of, args->words);
  const int groups = int8_groups(&args->of);
  const char *x = args->x;
  tile_room room;
  int8_group at = {0};
  tiles_see_memory(x);
  FOVEA_NO_UNROLL
  for (; at.piece < args->of.pieces; at.piece++) {
    const char *w = words.first + at.piece * words.piece_stride;
    FOVEA_NO_UNROLL
    for (at.g = 0; at.g < groups; at.g++, at.group++) {
      const int chunks = int8_group_words(&args->of, at.g) / INT8_CHUNK;
      at.first = !args->begun && at.group == 0;
      at.last = args->ends && at.piece + 1 == args->of.pieces && at.g + 1 == groups;
      amx_begin_sums();
      FOVEA_NO_UNROLL
      for (int i = 0; i < chunks; i++, x += tiles * TILE_BYTES, w += TILE_BYTES)
        amx_chunk(tiles, x, w, words.panel_stride);
      AMX_MOVE(AMX_STORE, tiles, room.sums);
      tiles_see_memory(room.sums);
      amx_close(args, &at, (const int32_t *)(const void *)room.sums);
    }
  }
}

FOVEA_KERNEL static void products(const fovea_nn_products_args *args) {
  const int one = args->rows == TILE;
  tiles_see_memory(args->words);
  if (args->of.group > 0)
    one ? int8_grouped(1, args) : int8_grouped(2, args);
  else
    one ? amx_whole(1, 0, args) : amx_whole(2, 0, args);
}

FOVEA_KERNEL static void products_far(const fovea_nn_products_args *args) {
  if (args->of.group > 0 || args->rows == TILE) {
    products(args);
    return;
  }
  tiles_see_memory(args->words);
  amx_whole(2, 1, args);
}

const fovea_nn_int8_kernels fovea_nn_int8_amx = {
    .word_bytes = INT8_WORD_BYTES,
    .word_step = INT8_CHUNK,
    .row_step = TILE,
    .tile_rows = 2 * TILE,
    .least = TILE,
    .tile_outs = INT8_OUTS,
    .begin = amx_begin,
    .end = amx_end,
    .measure = FOVEA_SHARED(nn_measure),
    .codes = INT8_CODES_NAME,
    .prepare = prepare,
    .products = products,
    .products_far = products_far,
};
#endif
