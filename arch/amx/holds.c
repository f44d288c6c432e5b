/* AMX as an extension in the registry, and whether it computes what its manual says. The contract of modes rests on
 * that, so whoever allows AMX looks first. */
#include "../targets.h"
#if defined(FOVEA_ARCH_X86_64_AMX) && (FOVEA_BUILDS_BF16 || FOVEA_BUILDS_INT8)
#include "amx.h"

#include <string.h>

typedef struct words {
  uint32_t word[TILE][TILE_WORDS];
} words;

/* Exponents from -spread to spread - 1; about every eighth element is the negative of the element two before it, so
 * that sums cancel. */
static void fill(words *to, int spread, uint32_t *seed) {
  uint32_t elements[2] = {0, 0};
  for (int i = 0; i < TILE * TILE_WORDS; i++) {
    for (int j = 0; j < 2; j++) {
      *seed = *seed * 1664525u + 1013904223u;
      const uint32_t exponent = 127u - (uint32_t)spread + (*seed >> 12) % (2u * (uint32_t)spread);
      const uint32_t made = (*seed & 0x80000000u) >> 16 | exponent << 7 | (*seed >> 4 & 0x7f);
      elements[j] = *seed >> 24 & 7 ? made : elements[j] ^ 0x8000;
    }
    to->word[i / TILE_WORDS][i % TILE_WORDS] = elements[0] | elements[1] << 16;
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
    for (int p = 0; p < TILE_WORDS; p++)
      for (int odd = 0; odd < 2; odd++)
        chain[odd] =
            __builtin_fmaf(element(a[g].word[row][p], odd), element(b[g].word[p][column], odd), chain[odd]);
    sum += chain[0] + chain[1];
  }
  return sum;
}

/* Products of bf16 are two chains, of even and of odd elements. */
FOVEA_KERNEL static int bf16_holds(void) {
  enum { TURNS = 24 };
  words a[2], b[2];
  tile_room room;
  uint32_t seed = 1;
  int holds = 1;
  amx_begin();
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
  amx_end();
  return holds;
}

static uint32_t next(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed ^ *seed >> 16;
}

static int32_t byte_of(uint32_t word, int i, int is_signed) {
  const int32_t byte = (int32_t)(word >> 8 * i & 0xff);
  return is_signed && byte > 127 ? byte - 256 : byte;
}

/* The products of one sum, with bytes of B that are signed, or not. */
static int32_t integer(const words *a, const words *b, int row, int column, int is_signed) {
  int32_t sum = 0;
  for (int p = 0; p < TILE_WORDS; p++)
    for (int i = 0; i < 4; i++) sum += byte_of(a->word[row][p], i, 1) * byte_of(b->word[p][column], i, is_signed);
  return sum;
}

/* Sums of products of bytes are the integers themselves. */
FOVEA_KERNEL static int int8_holds(void) {
  enum { TURNS = 4 };
  words a, b;
  tile_room signed_room, unsigned_room;
  uint32_t seed = 1;
  int holds = 1;
  amx_begin();
  for (int turn = 0; turn < TURNS && holds; turn++) {
    for (int i = 0; i < TILE * TILE_WORDS; i++) {
      a.word[i / TILE_WORDS][i % TILE_WORDS] = turn ? next(&seed) : 0x80808080u; /* the largest sums, too */
      b.word[i / TILE_WORDS][i % TILE_WORDS] = turn ? next(&seed) : i % 2 ? 0xffffffffu : 0x80808080u;
    }
    tiles_see_memory(&a);
    tiles_see_memory(&b);
    _tile_zero(0);
    _tile_zero(1);
    _tile_loadd(4, a.word, 64);
    _tile_loadd(5, b.word, 64);
    TILE_PRODUCT(TILE_S8, 0, 4, 5);
    TILE_PRODUCT(TILE_S8_U8, 1, 4, 5);
    _tile_stored(0, signed_room.sums, 64);
    _tile_stored(1, unsigned_room.sums, 64);
    for (int i = 0; i < TILE * TILE; i++) {
      const int32_t of_signed = integer(&a, &b, i / TILE, i % TILE, 1);
      const int32_t of_unsigned = integer(&a, &b, i / TILE, i % TILE, 0);
      holds &= memcmp(&signed_room.sums[i], &of_signed, sizeof of_signed) == 0;
      holds &= memcmp(&unsigned_room.sums[i], &of_unsigned, sizeof of_unsigned) == 0;
    }
  }
  amx_end();
  return holds;
}

/* clang-format off */
const fovea_extension fovea_extension_amx = {
    FOVEA_WITH(BF16, .bf16 = &fovea_bf16_amx, )
    FOVEA_WITH(INT8, .int8 = &fovea_int8_amx, )
    .bf16_holds = bf16_holds,
    .int8_holds = int8_holds,
};
/* clang-format on */
#endif
