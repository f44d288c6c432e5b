/* AMX: products of tiles. A tile has 16 rows of 64 bytes: of sums 16 x 16 f32, of operands 16 pairs of bf16 a row.
 * Tiles 0 to 3 are sums; 4 to 7 are operands. Included after the vector layer of AVX-512. */
#ifndef FOVEA_ARCH_AMX_TILES_H
#define FOVEA_ARCH_AMX_TILES_H

#include <stdint.h>

enum { TILE = 16, TILE_PAIRS = 16, TILE_ITEMS = 32 };

/* What LDTILECFG reads: Intel's manual, volume 1, section 18.3. */
typedef struct tile_config {
  _Alignas(64) uint8_t palette;
  uint8_t start, zero[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} tile_config;

/* gcc's loads of tiles and of their configuration do not say that they read memory. */
FOVEA_INLINE void tiles_see_memory(const void *address) {
  __asm__ volatile("" : : "r"(address) : "memory");
}

FOVEA_INLINE void tiles_begin(void) {
  tile_config config = {.palette = 1};
  for (int i = 0; i < 8; i++) config.row_bytes[i] = 64, config.rows[i] = TILE;
  tiles_see_memory(&config);
  _tile_loadconfig(&config);
}

/* Operands, counted in words of two elements: tile (i, g) of A begins at a + i * a_tile + g * TILE_PAIRS, its rows are
 * a_row apart; tile (g, j) of B begins at b + g * b_group + j * TILE, its rows are b_row apart. */
typedef struct tile_operands {
  const uint32_t *a, *b;
  int64_t a_row, a_tile, b_row, b_group;
  int groups;
} tile_operands;

typedef struct tile_sums {
  _Alignas(64) float sum[4][TILE][TILE];
} tile_sums;

FOVEA_INLINE void tiles_clear(void) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

FOVEA_INLINE void tiles_keep(tile_sums *sums) {
  _tile_stored(0, sums->sum[0], 64);
  _tile_stored(1, sums->sum[1], 64);
  _tile_stored(2, sums->sum[2], 64);
  _tile_stored(3, sums->sum[3], 64);
}

/* What the vector units do beside products: rows `begin` to `end` - 1 of the tiles of sums that were kept before. It is
 * written between the products, since a core looks ahead by less than the products of a step. */
typedef void tile_work(const void *data, int begin, int end);

/* One group of each shape. Products of one sum are four apart, which covers their latency of 52 cycles. */
FOVEA_INLINE void tiles_group_1x4(const tile_operands *x, int g, int columns) {
  const uint32_t *b = x->b + g * x->b_group;
  _tile_loadd(4, x->a + g * TILE_PAIRS, x->a_row * 4);
  _tile_loadd(5, b, x->b_row * 4);
  _tile_dpbf16ps(0, 4, 5);
  _tile_loadd(6, b + TILE, x->b_row * 4);
  _tile_dpbf16ps(1, 4, 6);
  _tile_loadd(7, b + 2 * TILE, x->b_row * 4);
  _tile_dpbf16ps(2, 4, 7);
  if (columns < 4) return;
  _tile_loadd(5, b + 3 * TILE, x->b_row * 4);
  _tile_dpbf16ps(3, 4, 5);
}

FOVEA_INLINE void tiles_group_2x2(const tile_operands *x, int g) {
  const uint32_t *a = x->a + g * TILE_PAIRS, *b = x->b + g * x->b_group;
  _tile_loadd(4, a, x->a_row * 4);
  _tile_loadd(6, b, x->b_row * 4);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, b + TILE, x->b_row * 4);
  _tile_dpbf16ps(1, 4, 7);
  _tile_loadd(5, a + x->a_tile, x->a_row * 4);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

FOVEA_INLINE void tiles_group_4x1(const tile_operands *x, int g) {
  const uint32_t *a = x->a + g * TILE_PAIRS, *b = x->b + g * x->b_group;
  _tile_loadd(7, b, x->b_row * 4);
  _tile_loadd(4, a, x->a_row * 4);
  _tile_dpbf16ps(0, 4, 7);
  _tile_loadd(5, a + x->a_tile, x->a_row * 4);
  _tile_dpbf16ps(1, 5, 7);
  _tile_loadd(6, a + 2 * x->a_tile, x->a_row * 4);
  _tile_dpbf16ps(2, 6, 7);
  _tile_loadd(4, a + 3 * x->a_tile, x->a_row * 4);
  _tile_dpbf16ps(3, 4, 7);
}

/* Tiles of A that are multiplied at once beside `columns` tiles of B. */
FOVEA_INLINE int tiles_of_a(int columns) {
  return columns == 1 ? 4 : columns == 2 ? 2 : 1;
}

/* The sums of tiles_of_a(columns) tiles of A with `columns` tiles of B: sum i * columns + j. */
FOVEA_INLINE void tiles_multiply(const tile_operands *x, const int columns, tile_work *meanwhile, const void *data) {
  tiles_see_memory(x->a);
  tiles_clear();
  FOVEA_NO_UNROLL
  for (int g = 0; g < x->groups; g++) {
    if (columns > 2)
      tiles_group_1x4(x, g, columns);
    else if (columns == 2)
      tiles_group_2x2(x, g);
    else
      tiles_group_4x1(x, g);
    meanwhile(data, TILE * g / x->groups, TILE * (g + 1) / x->groups);
  }
}

#endif
