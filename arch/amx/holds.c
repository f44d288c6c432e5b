/* Whether AMX computes what its manual says. The contract of bf16 rests on it, so whoever allows AMX looks first.
 */
#include "../targets.h"
#if defined(FOVEA_ARCH_X86_64) && defined(__linux__)
#define FOVEA_ISA amx
#define FOVEA_TARGET                                                                                               \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,avx2,fma,f16c,amx-tile,amx-bf16")))
#include "../avx512/vector.h"
#include "amx.h"
#include "tiles.h"

#include <string.h>

typedef struct words {
  uint32_t word[TILE][TILE_PAIRS];
} words;

/* Exponents from -spread to spread - 1; every fifth element is the opposite of the one before the last, so that
 * sums cancel. */
static void fill(words *to, int spread, uint32_t *seed) {
  uint32_t elements[2] = {0, 0};
  for (int i = 0; i < TILE * TILE_PAIRS; i++) {
    for (int j = 0; j < 2; j++) {
      *seed = *seed * 1664525u + 1013904223u;
      const uint32_t exponent = 127u - (uint32_t)spread + (*seed >> 12) % (2u * (uint32_t)spread);
      const uint32_t made = (*seed & 0x80000000u) >> 16 | exponent << 7 | (*seed >> 4 & 0x7f);
      elements[j] = *seed >> 24 & 7 ? made : elements[j] ^ 0x8000;
    }
    to->word[i / TILE_PAIRS][i % TILE_PAIRS] = elements[0] | elements[1] << 16;
  }
}

static float element(uint32_t word, int odd) {
  const uint32_t bits = odd ? word & 0xffff0000u : word << 16;
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* Two chains from +0, their sum, and the sum over two groups. */
FOVEA_KERNEL static float expected(const words *a, const words *b, int row, int column) {
  float sum = 0;
  for (int g = 0; g < 2; g++) {
    float chain[2] = {0, 0};
    for (int p = 0; p < TILE_PAIRS; p++)
      for (int odd = 0; odd < 2; odd++)
        chain[odd] =
            __builtin_fmaf(element(a[g].word[row][p], odd), element(b[g].word[p][column], odd), chain[odd]);
    sum += chain[0] + chain[1];
  }
  return sum;
}

FOVEA_KERNEL int fovea_bf16_holds_amx(void) {
  enum { TURNS = 24 };
  words a[2], b[2];
  tile_room room;
  uint32_t seed = 1;
  int holds = 1;
  tiles_begin();
  for (int turn = 0; turn < TURNS && holds; turn++) {
    for (int g = 0; g < 2; g++) fill(&a[g], 1 + 2 * turn, &seed), fill(&b[g], 1 + 2 * turn, &seed);
    tiles_see_memory(a);
    tiles_see_memory(b);
    _tile_zero(0);
    for (int g = 0; g < 2; g++) {
      _tile_loadd(4, a[g].word, 64);
      _tile_loadd(5, b[g].word, 64);
      _tile_dpbf16ps(0, 4, 5);
    }
    _tile_stored(0, room.sums, 64);
    for (int i = 0; i < TILE * TILE; i++) {
      const float wanted = expected(a, b, i / TILE, i % TILE);
      holds &= memcmp(&room.sums[i], &wanted, sizeof wanted) == 0;
    }
  }
  _tile_release();
  return holds;
}
#endif
