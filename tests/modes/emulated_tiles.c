/* After the pseudocode of Intel's manual, volume 2; test_tiles.c compares it and CPUs with the same formulas. */
#include "emulated_tiles.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The instruction that __builtin_fmaf() becomes. */
#define WITH_FMA __attribute__((target("avx2,fma")))

enum { TILE_COUNT = 8, ROWS = 16, ROW_BYTES = 64, WORDS = 16 };

/* What LDTILECFG reads: volume 1, section 18.3. */
struct config {
  uint8_t palette, start, zero[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

struct tile {
  int rows, words; /* words of four bytes in a row */
  union {
    uint32_t word[ROWS][WORDS];
    float number[ROWS][WORDS];
    unsigned char byte[ROWS][ROW_BYTES];
  } at;
};

static _Thread_local struct {
  int configured;
  struct tile tile[TILE_COUNT];
} state;

static atomic_llong products;

long long emulated_products(void) {
  return atomic_load(&products);
}

static void must(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "emulated tiles: %s\n", what);
  abort();
}

static struct tile *tile_of(int number) {
  must(state.configured, "no configuration");
  must(number >= 0 && number < TILE_COUNT && state.tile[number].rows > 0, "no such tile");
  return &state.tile[number];
}

/* ---- Configuration, loads and stores ------------------------------------------------------------------------- */

void emulated_loadconfig(const void *config) {
  static const struct config none;
  struct config wanted;
  memcpy(&wanted, config, sizeof wanted);
  must(wanted.palette == 1 && wanted.start == 0, "another palette, or a row to start from");
  must(memcmp(wanted.zero, none.zero, sizeof none.zero) == 0, "reserved bytes that are not 0");
  memset(&state, 0, sizeof state);
  state.configured = 1;
  for (int i = 0; i < 16; i++) {
    const int rows = wanted.rows[i], bytes = wanted.row_bytes[i];
    must(i < TILE_COUNT || (rows == 0 && bytes == 0), "more than eight tiles");
    must(rows <= ROWS && bytes <= ROW_BYTES && (rows == 0) == (bytes == 0), "a size that no tile has");
    must(bytes % 4 == 0, "a row with a part of a word");
    if (i < TILE_COUNT) state.tile[i].rows = rows, state.tile[i].words = bytes / 4;
  }
}

void emulated_release(void) {
  memset(&state, 0, sizeof state);
}

void emulated_zero(int number) {
  struct tile *tile = tile_of(number);
  memset(&tile->at, 0, sizeof tile->at);
}

void emulated_loadd(int number, const void *from, ptrdiff_t stride) {
  struct tile *tile = tile_of(number);
  memset(&tile->at, 0, sizeof tile->at);
  for (int i = 0; i < tile->rows; i++)
    memcpy(tile->at.word[i], (const char *)from + i * stride, (size_t)tile->words * 4);
}

void emulated_stored(int number, void *to, ptrdiff_t stride) {
  const struct tile *tile = tile_of(number);
  for (int i = 0; i < tile->rows; i++) memcpy((char *)to + i * stride, tile->at.word[i], (size_t)tile->words * 4);
}

/* ---- Products ------------------------------------------------------------------------------------------------ */

/* Sums of M x N, a of M x K, b of K x N words. */
static struct tile *begin_product(int sums, int a, int b) {
  struct tile *c = tile_of(sums);
  const struct tile *left = tile_of(a), *right = tile_of(b);
  must(sums != a && sums != b && a != b, "a product of a tile with itself");
  must(c->rows == left->rows && c->words == right->words && left->words == right->rows, "sizes that do not fit");
  atomic_fetch_add_explicit(&products, 1, memory_order_relaxed);
  return c;
}

/* Subnormals are zeros as operands and as results, whatever MXCSR says. */
static inline float flushed(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7f800000u) == 0) bits &= 0x80000000u;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline float element(uint32_t word, int odd) {
  const uint32_t bits = odd ? word & 0xffff0000u : word << 16;
  float number;
  memcpy(&number, &bits, sizeof number);
  return flushed(number);
}

/* A chain of the even elements and one of the odd ones, each from +0, in the order of the words. */
WITH_FMA void emulated_dpbf16ps(int sums, int a, int b) {
  struct tile *c = begin_product(sums, a, b);
  const struct tile *left = &state.tile[a], *right = &state.tile[b];
  float numbers[2][WORDS][WORDS];
  for (int k = 0; k < right->rows; k++)
    for (int n = 0; n < WORDS; n++)
      for (int odd = 0; odd < 2; odd++) numbers[odd][k][n] = element(right->at.word[k][n], odd);
  for (int m = 0; m < c->rows; m++) {
    float chain[2][WORDS] = {{0}};
    for (int k = 0; k < left->words; k++)
      for (int odd = 0; odd < 2; odd++) {
        const float x = element(left->at.word[m][k], odd);
        for (int n = 0; n < WORDS; n++)
          chain[odd][n] = flushed(__builtin_fmaf(x, numbers[odd][k][n], chain[odd][n]));
      }
    for (int n = 0; n < c->words; n++) {
      const float sum = flushed(chain[0][n] + chain[1][n]);
      c->at.number[m][n] = flushed(flushed(c->at.number[m][n]) + sum);
    }
  }
}

static inline int32_t byte_of(unsigned char byte, int is_signed) {
  return is_signed ? (int32_t)(byte ^ 0x80) - 0x80 : (int32_t)byte;
}

/* Sums that have no room wrap. */
static inline void multiply_bytes(int sums, int a, int b, const int a_signed, const int b_signed) {
  struct tile *c = begin_product(sums, a, b);
  const struct tile *left = &state.tile[a], *right = &state.tile[b];
  for (int m = 0; m < c->rows; m++)
    for (int k = 0; k < left->words; k++)
      for (int n = 0; n < c->words; n++)
        for (int i = 0; i < 4; i++) {
          const int32_t x = byte_of(left->at.byte[m][4 * k + i], a_signed);
          c->at.word[m][n] += (uint32_t)(x * byte_of(right->at.byte[k][4 * n + i], b_signed));
        }
}

void emulated_dpbssd(int sums, int a, int b) {
  multiply_bytes(sums, a, b, 1, 1);
}
void emulated_dpbsud(int sums, int a, int b) {
  multiply_bytes(sums, a, b, 1, 0);
}
void emulated_dpbusd(int sums, int a, int b) {
  multiply_bytes(sums, a, b, 0, 1);
}
