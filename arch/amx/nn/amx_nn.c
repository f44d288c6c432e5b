/* Linear layers in bf16 mode by AMX: TDPBF16PS multiplies rows of words of two dims by panels where they lie, whose
 * rows are such words of sixteen outputs. The sums of two tiles of rows by two panels, or of one by four, stay in
 * their registers from the first dim of a call to the last. */
#include "../../targets.h"
#if defined(FOVEA_ARCH_X86_64_AMX) && FOVEA_BUILDS_BF16
#include "../../args/nn_bf16.h"
#include "../amx.h"

#include "../../shared/bf16_number.h"
#include "fetched.h"

#include <string.h>

enum {
  LINE = 64, /* bytes of a cache line */
  GROUP = FOVEA_NN_BF16_GROUP,
  PANEL_WORDS = FOVEA_NN_PANEL, /* of a pair of dims of a panel */
  GROUP_WORDS = GROUP / 2 * PANEL_WORDS
};
_Static_assert(FOVEA_NN_BF16_ROWS % (2 * TILE) == 0, "tiles write whole steps of rows");
_Static_assert(FOVEA_NN_PANEL == TILE && GROUP == 2 * TILE_WORDS, "a group of a panel is a tile");

/* ---- Rows of x -------------------------------------------------------------------------------------------------- */

FOVEA_KERNEL static void pack(const fovea_nn_bf16_pack_args *args) {
  for (int row = 0; row < args->rows; row++) {
    const float *x = (const float *)args->x + row * args->x_stride;
    uint16_t *to = (uint16_t *)(void *)(args->to + row * args->to_stride);
    FOVEA_NO_UNROLL
    for (int d = 0; d < args->dims; d += GROUP) {
      for (int i = 0; i < GROUP; i += LANES)
        vec_store_bf16(to + d + i, bf16_number(amx_load_some(x + d + i, args->dims - d - i)));
    }
  }
}

/* As bf16_number(): small numbers are 0, and there is one NaN. */
FOVEA_INLINE __m512i bf16_codes(__m512i codes) {
  const __m512i size = _mm512_and_si512(codes, _mm512_set1_epi16(0x7fff));
  const __mmask32 kept = _mm512_cmpge_epu16_mask(size, _mm512_set1_epi16((127 - 56) << 7));
  const __mmask32 is_nan = _mm512_cmpgt_epu16_mask(size, _mm512_set1_epi16(0x7f80));
  return _mm512_mask_mov_epi16(_mm512_maskz_mov_epi16(kept, codes), is_nan, _mm512_set1_epi16(0x7fc0));
}

FOVEA_KERNEL static void pack_bf16(const fovea_nn_bf16_pack_args *args) {
  for (int row = 0; row < args->rows; row++) {
    const uint16_t *x = (const uint16_t *)args->x + row * args->x_stride;
    char *to = args->to + row * args->to_stride;
    FOVEA_NO_UNROLL
    for (int d = 0; d < args->dims; d += GROUP, to += LINE) {
      const int rest = args->dims - d;
      const __mmask32 some = rest < GROUP ? (__mmask32)((UINT32_C(1) << rest) - 1) : UINT32_MAX;
      _mm512_storeu_si512(to, bf16_codes(_mm512_maskz_loadu_epi16(some, x + d)));
    }
  }
}

/* ---- Products --------------------------------------------------------------------------------------------------- */

/* What a step multiplies: words of rows, and of panels. */
typedef struct layer_step {
  const uint32_t *x, *weights;
  int64_t x_row, panel; /* words from row to row, and from panel to panel */
} layer_step;

/* One group of one tile of rows and up to four panels, or of two tiles and up to two. The numbers of tiles are
 * constants. */
FOVEA_INLINE void one_by_four(const layer_step *s, const int panels) {
  _tile_loadd(4, s->x, s->x_row * 4);
  _tile_loadd(5, s->weights, 64);
  _tile_dpbf16ps(0, 4, 5);
  if (panels < 2) return;
  _tile_loadd(6, s->weights + s->panel, 64);
  _tile_dpbf16ps(1, 4, 6);
  if (panels < 3) return;
  _tile_loadd(7, s->weights + 2 * s->panel, 64);
  _tile_dpbf16ps(2, 4, 7);
  if (panels < 4) return;
  _tile_loadd(5, s->weights + 3 * s->panel, 64);
  _tile_dpbf16ps(3, 4, 5);
}

FOVEA_INLINE void two_by_two(const layer_step *s, const int panels) {
  _tile_loadd(4, s->x, s->x_row * 4);
  _tile_loadd(6, s->weights, 64);
  _tile_dpbf16ps(0, 4, 6);
  if (panels > 1) {
    _tile_loadd(7, s->weights + s->panel, 64);
    _tile_dpbf16ps(1, 4, 7);
  }
  _tile_loadd(5, s->x + TILE * s->x_row, s->x_row * 4);
  _tile_dpbf16ps(2, 5, 6);
  if (panels > 1) _tile_dpbf16ps(3, 5, 7);
}

/* The last words of panels, and zeros up to a group. */
typedef struct last_group {
  _Alignas(64) uint32_t words[FOVEA_NN_PANELS][GROUP_WORDS];
} last_group;

static void copy_last(const layer_step *s, int panels, int pairs, last_group *last) {
  for (int i = 0; i < panels; i++) {
    memset(last->words[i], 0, sizeof last->words[i]);
    memcpy(last->words[i], s->weights + i * s->panel, (size_t)pairs * PANEL_WORDS * sizeof(uint32_t));
  }
}

/* All dims of `panels` panels from panel `first` of the call on. */
FOVEA_INLINE void all_dims(const fovea_nn_bf16_tile_args *args, int first, const int tiles, const int panels) {
  const fovea_nn_bf16_panels *p = &args->panels;
  const uint32_t *weights = (const uint32_t *)(const void *)p->weights;
  const char *ahead = args->ahead;
  const int fetches = tiles == 2 && panels == 2; /* smaller tiles are few */
  row_fetch results = begin_fetch(fetches ? args->y : NULL, p->dims / GROUP);
  layer_step s = {.x = (const uint32_t *)(const void *)args->x, .x_row = args->x_stride / 4};
  FOVEA_NO_UNROLL
  for (int64_t dim = 0; dim < p->dims; dim += FOVEA_DOT_PIECE, weights += p->piece_stride / 2) {
    const int64_t rest = p->dims - dim;
    int pairs = (int)((rest < FOVEA_DOT_PIECE ? rest : FOVEA_DOT_PIECE) + 1) / 2;
    s.panel = (int64_t)pairs * PANEL_WORDS;
    s.weights = weights + (p->first + first) * s.panel;
    tiles_see_memory(s.weights);
    FOVEA_NO_UNROLL
    for (; pairs >= GROUP / 2; pairs -= GROUP / 2, s.x += GROUP / 2, s.weights += GROUP_WORDS) {
      if (tiles == 1)
        one_by_four(&s, panels);
      else
        two_by_two(&s, panels);
      for (int i = 0; i < args->lines; i++, ahead += LINE) __builtin_prefetch(ahead, 0, 2);
      if (fetches) fetch_some(&results);
    }
    if (pairs == 0) continue;
    last_group last;
    copy_last(&s, panels, pairs, &last);
    const layer_step rest_step = {s.x, last.words[0], s.x_row, GROUP_WORDS};
    tiles_see_memory(&last);
    if (tiles == 1)
      one_by_four(&rest_step, panels);
    else
      two_by_two(&rest_step, panels);
  }
}

#define SUMS(args, i, j) ((args)->sums + (i)*TILE * FOVEA_NN_OUTS + (j)*FOVEA_NN_PANEL)
#define MOVE(move, args, first, tiles, panels)                                                                     \
  do {                                                                                                             \
    move(0, SUMS(args, 0, first));                                                                                 \
    if ((tiles) == 1) {                                                                                            \
      if ((panels) > 1) move(1, SUMS(args, 0, (first) + 1));                                                       \
      if ((panels) > 2) move(2, SUMS(args, 0, (first) + 2));                                                       \
      if ((panels) > 3) move(3, SUMS(args, 0, (first) + 3));                                                       \
    } else {                                                                                                       \
      if ((panels) > 1) move(1, SUMS(args, 0, (first) + 1));                                                       \
      move(2, SUMS(args, 1, first));                                                                               \
      if ((panels) > 1) move(3, SUMS(args, 1, (first) + 1));                                                       \
    }                                                                                                              \
  } while (0)
#define LOAD(tile, place)  _tile_loadd(tile, place, FOVEA_NN_OUTS * 4)
#define STORE(tile, place) _tile_stored(tile, place, FOVEA_NN_OUTS * 4)

FOVEA_INLINE void multiply_tiles(const fovea_nn_bf16_tile_args *args, int first, const int tiles,
                                 const int panels) {
  if (args->begun) {
    tiles_see_memory(args->sums);
    MOVE(LOAD, args, first, tiles, panels);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  all_dims(args, first, tiles, panels);
  MOVE(STORE, args, first, tiles, panels);
}

FOVEA_KERNEL static void multiply(const fovea_nn_bf16_tile_args *args) {
  const int panels = args->panels.panels;
  tiles_see_memory(args->x);
  if (args->rows > TILE) {
    int first = 0;
    for (; first + 2 <= panels; first += 2) multiply_tiles(args, first, 2, 2);
    if (first < panels) multiply_tiles(args, first, 2, 1);
  } else if (panels == 4) {
    multiply_tiles(args, 0, 1, 4);
  } else {
    for (int first = 0; first < panels; first++) multiply_tiles(args, first, 1, 1);
  }
}

/* ---- Small weights ---------------------------------------------------------------------------------------------- */

FOVEA_INLINE int64_t panel_dims(const fovea_nn_bf16_panels *p, int64_t dim) {
  return (p->dims - dim < FOVEA_DOT_PIECE ? p->dims - dim : FOVEA_DOT_PIECE) + 1;
}

FOVEA_KERNEL static int safe(const fovea_nn_bf16_panels *p) {
  const __m512i sign = _mm512_set1_epi16(0x7fff), one = _mm512_set1_epi16(1);
  const __m512i least = _mm512_set1_epi16(((127 - 56) << 7) - 1);
  __mmask32 small = 0;
  for (int64_t dim = 0; dim < p->dims; dim += FOVEA_DOT_PIECE) {
    const int64_t panel = panel_dims(p, dim) / 2 * 2 * FOVEA_NN_PANEL;
    const uint16_t *weights = p->weights + dim / FOVEA_DOT_PIECE * p->piece_stride + p->first * panel;
    FOVEA_NO_UNROLL
    for (int64_t i = 0; i < panel * p->panels; i += 2 * LANES) { /* zeros less 1 are the largest */
      const __m512i size = _mm512_and_si512(_mm512_loadu_si512(weights + i), sign);
      small |= _mm512_cmplt_epu16_mask(_mm512_sub_epi16(size, one), least);
    }
  }
  return small == 0;
}

const fovea_nn_bf16_kernels fovea_nn_bf16_amx = {
    .x_bytes = sizeof(uint16_t),
    .dims = 4 * FOVEA_DOT_PIECE,
    .panels = 2,
    .least = TILE / 2,
    .begin = amx_begin,
    .end = amx_end,
    .pack = pack,
    .pack_bf16 = pack_bf16,
    .tile = multiply,
    .safe = safe,
    .clear = fovea_nn_bf16_clear_avx512,
};
#endif
