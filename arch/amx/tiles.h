/* AMX: products of tiles. A tile has 16 rows of 64 bytes. The caller has been permitted to use AMX (on Linux
 * arch_prctl(ARCH_REQ_XCOMP_PERM, 18)). To be compiled with -mamx-tile -mamx-bf16 -mamx-int8. */
#ifndef FOVEA_ARCH_AMX_TILES_H
#define FOVEA_ARCH_AMX_TILES_H

#include <immintrin.h>
#include <stdint.h>

/* What LDTILECFG reads: Intel's manual, volume 1, section 18.3. */
typedef struct fovea_tile_config {
  _Alignas(64) uint8_t palette;
  uint8_t start, zero[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} fovea_tile_config;

/* Tile 0 is 16 x 16 sums; tile 1 has 16 rows of `groups` groups of four bytes; tile 2 has `groups` rows, of which
 * each has a group of four bytes for each of 16 columns. */
static inline void fovea_tiles_begin(int groups) {
  fovea_tile_config config = {.palette = 1};
  for (int i = 0; i < 3; i++) config.row_bytes[i] = 64, config.rows[i] = 16;
  config.row_bytes[1] = (uint16_t)(4 * groups);
  config.rows[2] = (uint8_t)groups;
  _tile_loadconfig(&config);
}

static inline void fovea_tiles_end(void) {
  _tile_release();
}

/* sums += a * b: pairs of bf16 in the groups. */
static inline void fovea_tiles_bf16(float sums[16][16], uint16_t a[16][32], uint16_t b[16][32]) {
  _tile_loadd(0, sums, 64);
  _tile_loadd(1, a, 64);
  _tile_loadd(2, b, 64);
  _tile_dpbf16ps(0, 1, 2);
  _tile_stored(0, sums, 64);
}

/* sums += a * b: four bytes in the groups, of int8 or, of a, uint8. */
static inline void fovea_tiles_s8(int32_t sums[16][16], int8_t a[16][64], int8_t b[16][64]) {
  _tile_loadd(0, sums, 64);
  _tile_loadd(1, a, 64);
  _tile_loadd(2, b, 64);
  _tile_dpbssd(0, 1, 2);
  _tile_stored(0, sums, 64);
}
static inline void fovea_tiles_u8(int32_t sums[16][16], uint8_t a[16][64], int8_t b[16][64]) {
  _tile_loadd(0, sums, 64);
  _tile_loadd(1, a, 64);
  _tile_loadd(2, b, 64);
  _tile_dpbusd(0, 1, 2);
  _tile_stored(0, sums, 64);
}

#endif
