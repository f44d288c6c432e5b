/* What products of AMX's tiles compute, bit for bit: the dot16 of bf16 mode (docs/numerics.md, section 16) is
 * Intel's pseudocode of TDPBF16PS. Runs where the CPU has AMX and the system permits it, and says so if it does
 * not. Compiled with -mamx-tile -mamx-bf16 -mamx-int8, or with EMULATED_TILES, which tests the tiles of
 * emulated_tiles.c. */
#define _GNU_SOURCE /* syscall */
#include "support/check.h"
#include "support/generator.h"
#include "support/types.h"

#include <cpuid.h>
#include <immintrin.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef EMULATED_TILES
#include "emulated_tiles.h"
#endif

enum { TURNS = 4000, PERMIT = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */

/* ---- A product of tiles, of 16 rows of 64 bytes each --------------------------------------------------------- */

/* What LDTILECFG reads: Intel's manual, volume 1, section 18.3. */
struct tile_config {
  _Alignas(64) uint8_t palette;
  uint8_t start, zero[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

/* Tile 0 is 16 x 16 sums; tile 1 has 16 rows of `groups` groups of four bytes; tile 2 has `groups` rows, of which
 * each has a group of four bytes for each of 16 columns. */
static void tiles_begin(int groups) {
  struct tile_config config = {.palette = 1};
  for (int i = 0; i < 3; i++) config.row_bytes[i] = 64, config.rows[i] = 16;
  config.row_bytes[1] = (uint16_t)(4 * groups);
  config.rows[2] = (uint8_t)groups;
  _tile_loadconfig(&config);
}

static void tiles_end(void) {
  _tile_release();
}

/* sums += a * b: pairs of bf16 in the groups. */
static void tiles_bf16(float sums[16][16], uint16_t a[16][32], uint16_t b[16][32]) {
  _tile_loadd(0, sums, 64);
  _tile_loadd(1, a, 64);
  _tile_loadd(2, b, 64);
  _tile_dpbf16ps(0, 1, 2);
  _tile_stored(0, sums, 64);
}

/* sums += a * b: four bytes in the groups, of int8 or, of a or of b, uint8. */
static void tiles_s8(int32_t sums[16][16], int8_t a[16][64], int8_t b[16][64]) {
  _tile_loadd(0, sums, 64);
  _tile_loadd(1, a, 64);
  _tile_loadd(2, b, 64);
  _tile_dpbssd(0, 1, 2);
  _tile_stored(0, sums, 64);
}
static void tiles_u8(int32_t sums[16][16], uint8_t a[16][64], int8_t b[16][64]) {
  _tile_loadd(0, sums, 64);
  _tile_loadd(1, a, 64);
  _tile_loadd(2, b, 64);
  _tile_dpbusd(0, 1, 2);
  _tile_stored(0, sums, 64);
}
static void tiles_s8_u8(int32_t sums[16][16], int8_t a[16][64], uint8_t b[16][64]) {
  _tile_loadd(0, sums, 64);
  _tile_loadd(1, a, 64);
  _tile_loadd(2, b, 64);
  _tile_dpbsud(0, 1, 2);
  _tile_stored(0, sums, 64);
}

/* ---- Tests --------------------------------------------------------------------------------------------------- */

/* AMX-BF16, AMX-TILE and AMX-INT8, and the system's permission. */
static int permitted(void) {
#ifdef EMULATED_TILES
  return __builtin_cpu_supports("fma") != 0;
#else
  const unsigned wanted = 1u << 22 | 1u << 24 | 1u << 25;
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (edx & wanted) != wanted) return 0;
  return syscall(SYS_arch_prctl, PERMIT, TILE_DATA) == 0;
#endif
}

/* Exponents from -spread to spread - 1. */
static uint16_t element(int spread, struct generator *generator) {
  const int64_t exponent = 127 - spread + generator_below(generator, 2 * spread);
  if (generator_below(generator, 61) == 0) return 0;
  return (uint16_t)(generator_below(generator, 2) << 15 | exponent << 7 | generator_below(generator, 128));
}

/* Sums that cancel: opposites of elements before, and repeated rows. */
static void fill(uint16_t a[16][32], uint16_t b[16][32], float c[16][16], int spread, struct generator *generator) {
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 32; j++) {
      a[i][j] = element(spread, generator);
      b[i][j] = element(spread, generator);
      if (j > 1 && generator_below(generator, 5) == 0) a[i][j] = a[i][j - 2] ^ 0x8000;
      if (i > 0 && generator_below(generator, 5) == 0) b[i][j] = b[i - 1][j];
    }
  const int zero = generator_below(generator, 3) == 0;
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++)
      c[i][j] = zero ? 0 : ldexpf(generator_uniform(generator), (int)generator_below(generator, 9) - 4);
}

/* Two chains from +0, their sum, added to the sum before. */
static float expected(const uint16_t *a, uint16_t b[16][32], int column, int groups, float c) {
  float even = 0, odd = 0;
  for (int p = 0; p < groups; p++) {
    even = fmaf(from_bits((uint32_t)a[2 * p] << 16), from_bits((uint32_t)b[p][2 * column] << 16), even);
    odd = fmaf(from_bits((uint32_t)a[2 * p + 1] << 16), from_bits((uint32_t)b[p][2 * column + 1] << 16), odd);
  }
  const float sum = even + odd;
  return c + sum;
}

static void test_bf16(void **state) {
  (void)state;
  static _Alignas(64) uint16_t a[16][32], b[16][32];
  static _Alignas(64) float before[16][16], after[16][16];
  struct generator generator = {1};
  for (int turn = 0; turn < TURNS; turn++) {
    const int groups = 1 + turn % 16;
    fill(a, b, before, 1 + turn % 50, &generator); /* 2^-50 and larger: nothing is flushed */
    memcpy(after, before, sizeof after);
    tiles_begin(groups);
    tiles_bf16(after, a, b);
    tiles_end();
    for (int i = 0; i < 16; i++)
      for (int j = 0; j < 16; j++) {
        const float wanted = expected(a[i], b, j, groups, before[i][j]);
        if (bits_of(after[i][j]) != bits_of(wanted))
          fail_msg("turn %d, %d pairs: %a, should be %a", turn, groups, (double)after[i][j], (double)wanted);
      }
  }
}

static void test_bytes(void **state) {
  (void)state;
  static _Alignas(64) int8_t a[16][64], b[16][64];
  static _Alignas(64) uint8_t u[16][64];
  static _Alignas(64) int32_t sums[3][16][16];
  struct generator generator = {2};
  for (int turn = 0; turn < TURNS / 4; turn++) {
    const int groups = 1 + turn % 16;
    for (int i = 0; i < 16; i++)
      for (int j = 0; j < 64; j++) {
        a[i][j] = (int8_t)generator_bits(&generator);
        b[i][j] = (int8_t)generator_bits(&generator);
        u[i][j] = (uint8_t)generator_bits(&generator);
      }
    memset(sums, 0, sizeof sums);
    tiles_begin(groups);
    tiles_s8(sums[0], a, b);
    tiles_u8(sums[1], u, b);
    tiles_s8_u8(sums[2], a, u);
    tiles_end();
    for (int i = 0; i < 16; i++)
      for (int j = 0; j < 16; j++) {
        int32_t wanted[3] = {0, 0, 0};
        for (int p = 0; p < 4 * groups; p++) {
          wanted[0] += a[i][p] * b[p / 4][4 * j + p % 4];
          wanted[1] += u[i][p] * b[p / 4][4 * j + p % 4];
          wanted[2] += a[i][p] * u[p / 4][4 * j + p % 4];
        }
        assert_int_equal(sums[0][i][j], wanted[0]);
        assert_int_equal(sums[1][i][j], wanted[1]);
        assert_int_equal(sums[2][i][j], wanted[2]);
      }
  }
}

int main(void) {
  if (!permitted()) {
    puts("skipped: this CPU or system has no AMX");
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bf16), cmocka_unit_test(test_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
