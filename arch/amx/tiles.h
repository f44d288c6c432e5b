/* AMX: products of tiles. A tile has 16 rows of 64 bytes: of sums 16 x 16 f32 or int32, of operands 16 words of two
 * bf16 or four bytes a row. Tiles 0 to 3 are sums; 4 to 7 are operands. Included after the vector layer of AVX-512.
 */
#ifndef FOVEA_ARCH_AMX_TILES_H
#define FOVEA_ARCH_AMX_TILES_H

#include <stdint.h>

enum { TILE = 16, TILE_WORDS = 16 };

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

/* Operands, counted in words: tile (i, g) of A begins at a + i * a_tile + g * TILE_WORDS, its rows
 * are a_row apart; tile (g, j) of B begins at b + g * b_group + j * TILE, its rows are b_row apart. */
typedef struct tile_operands {
  const uint32_t *a, *b;
  int64_t a_row, a_tile, b_row, b_group;
  int groups;
} tile_operands;

/* What is multiplied: pairs of bf16; signed bytes; signed bytes of A, unsigned ones of B. */
typedef enum tile_kind { TILE_BF16, TILE_S8, TILE_S8_U8 } tile_kind;

/* A macro, since the numbers of tiles must be constants even without optimisation. */
#define TILE_PRODUCT(kind, sums, a, b)                                                                             \
  do {                                                                                                             \
    if ((kind) == TILE_BF16)                                                                                       \
      _tile_dpbf16ps(sums, a, b);                                                                                  \
    else if ((kind) == TILE_S8)                                                                                    \
      _tile_dpbssd(sums, a, b);                                                                                    \
    else                                                                                                           \
      _tile_dpbsud(sums, a, b);                                                                                    \
  } while (0)

/* Where the sums of a step lie: sum (i, j) begins at sums + i * a + j * b, its rows are `row` apart. */
typedef struct tile_home {
  float *sums;
  int64_t row, a, b;
} tile_home;

/* A home of its own for the sums of a step. */
typedef struct tile_room {
  _Alignas(64) float sums[4 * TILE * TILE];
} tile_room;

FOVEA_INLINE tile_home tiles_in_room(tile_room *room, int columns) {
  return (tile_home){room->sums, TILE, columns * TILE * TILE, TILE * TILE};
}

#define TILE_KEEP(tile, home, i, j)                                                                                \
  _tile_stored(tile, (home)->sums + (i) * (home)->a + (j) * (home)->b, (home)->row * 4)

/* Keeps a sum and begins a new one, if there is one to keep. */
#define TILE_RENEW(tile, home, i, j)                                                                               \
  do {                                                                                                             \
    if (home) {                                                                                                    \
      TILE_KEEP(tile, home, i, j);                                                                                 \
      _tile_zero(tile);                                                                                            \
    }                                                                                                              \
  } while (0)

FOVEA_INLINE void tiles_keep(const tile_home *home, const int columns) {
  TILE_KEEP(0, home, 0, 0);
  if (columns > 2) {
    TILE_KEEP(1, home, 0, 1);
    TILE_KEEP(2, home, 0, 2);
    if (columns > 3) TILE_KEEP(3, home, 0, 3);
  } else if (columns == 2) {
    TILE_KEEP(1, home, 0, 1);
    TILE_KEEP(2, home, 1, 0);
    TILE_KEEP(3, home, 1, 1);
  } else {
    TILE_KEEP(1, home, 1, 0);
    TILE_KEEP(2, home, 2, 0);
    TILE_KEEP(3, home, 3, 0);
  }
}

/* One group of each shape. Products of one sum are four apart, which covers their latency of 52 cycles. If `before`
 * is set, each sum of the step before is kept there when its turn comes: kept together, they would hold up the
 * first products for about 80 cycles (measured, Xeon with AMX: 425 -> 343 cycles a step of four groups, 226 -> 153
 * of two). */
FOVEA_INLINE void tiles_group_1x4(const tile_operands *x, const tile_kind kind, int g, int columns,
                                  const tile_home *before) {
  const uint32_t *b = x->b + g * x->b_group;
  _tile_loadd(4, x->a + g * TILE_WORDS, x->a_row * 4);
  _tile_loadd(5, b, x->b_row * 4);
  TILE_RENEW(0, before, 0, 0);
  TILE_PRODUCT(kind, 0, 4, 5);
  _tile_loadd(6, b + TILE, x->b_row * 4);
  TILE_RENEW(1, before, 0, 1);
  TILE_PRODUCT(kind, 1, 4, 6);
  _tile_loadd(7, b + 2 * TILE, x->b_row * 4);
  TILE_RENEW(2, before, 0, 2);
  TILE_PRODUCT(kind, 2, 4, 7);
  if (columns < 4) return;
  _tile_loadd(5, b + 3 * TILE, x->b_row * 4);
  TILE_RENEW(3, before, 0, 3);
  TILE_PRODUCT(kind, 3, 4, 5);
}

FOVEA_INLINE void tiles_group_2x2(const tile_operands *x, const tile_kind kind, int g, const tile_home *before) {
  const uint32_t *a = x->a + g * TILE_WORDS, *b = x->b + g * x->b_group;
  _tile_loadd(4, a, x->a_row * 4);
  _tile_loadd(6, b, x->b_row * 4);
  TILE_RENEW(0, before, 0, 0);
  TILE_PRODUCT(kind, 0, 4, 6);
  _tile_loadd(7, b + TILE, x->b_row * 4);
  TILE_RENEW(1, before, 0, 1);
  TILE_PRODUCT(kind, 1, 4, 7);
  _tile_loadd(5, a + x->a_tile, x->a_row * 4);
  TILE_RENEW(2, before, 1, 0);
  TILE_PRODUCT(kind, 2, 5, 6);
  TILE_RENEW(3, before, 1, 1);
  TILE_PRODUCT(kind, 3, 5, 7);
}

FOVEA_INLINE void tiles_group_4x1(const tile_operands *x, const tile_kind kind, int g, const tile_home *before) {
  const uint32_t *a = x->a + g * TILE_WORDS, *b = x->b + g * x->b_group;
  _tile_loadd(7, b, x->b_row * 4);
  _tile_loadd(4, a, x->a_row * 4);
  TILE_RENEW(0, before, 0, 0);
  TILE_PRODUCT(kind, 0, 4, 7);
  _tile_loadd(5, a + x->a_tile, x->a_row * 4);
  TILE_RENEW(1, before, 1, 0);
  TILE_PRODUCT(kind, 1, 5, 7);
  _tile_loadd(6, a + 2 * x->a_tile, x->a_row * 4);
  TILE_RENEW(2, before, 2, 0);
  TILE_PRODUCT(kind, 2, 6, 7);
  _tile_loadd(4, a + 3 * x->a_tile, x->a_row * 4);
  TILE_RENEW(3, before, 3, 0);
  TILE_PRODUCT(kind, 3, 4, 7);
}

FOVEA_INLINE void tiles_group(const tile_operands *x, const tile_kind kind, int g, const int columns,
                              const tile_home *before) {
  if (columns > 2)
    tiles_group_1x4(x, kind, g, columns, before);
  else if (columns == 2)
    tiles_group_2x2(x, kind, g, before);
  else
    tiles_group_4x1(x, kind, g, before);
}

/* Tiles of A that are multiplied at once beside `columns` tiles of B. */
FOVEA_INLINE int tiles_of_a(int columns) {
  return columns == 1 ? 4 : columns == 2 ? 2 : 1;
}

/* What the vector units do beside products: rows `begin` to `end` - 1 of the sums of the step before. It is written
 * between the products, since a core looks ahead by less than the products of a step. It hides loads and latencies
 * only: products and operations on 512 bits take turns (measured, Xeon with AMX: 8 products of bytes 35 ns, 256
 * multiplications 35 ns, both 69 ns; 256 additions of integers beside the products cost nothing). */
typedef void tile_work(const void *data, int begin, int end);

/* The sums of tiles_of_a(columns) tiles of A with `columns` tiles of B, sum i * columns + j, stay in the tiles.
 * The sums of the step before go to `before`. */
FOVEA_INLINE void tiles_multiply(const tile_operands *x, const tile_kind kind, const int columns,
                                 const tile_home *before, tile_work *meanwhile, const void *data) {
  tiles_see_memory(x->a);
  tiles_group(x, kind, 0, columns, before);
  meanwhile(data, 0, TILE / x->groups);
  FOVEA_NO_UNROLL
  for (int g = 1; g < x->groups; g++) {
    tiles_group(x, kind, g, columns, NULL);
    meanwhile(data, TILE * g / x->groups, TILE * (g + 1) / x->groups);
  }
}

#endif
