#include "nn/coded_weights.h"

#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 128, PANEL = 16 };

static int64_t parts(int64_t count, int64_t most) {
  return (count + most - 1) / most;
}

/* Of one panel of a piece of so many dims: scales of an output, words of an output. */
static int64_t groups_of(int64_t dims, int group) {
  return group ? parts(dims, group) : 1;
}
static int64_t words_of(int64_t dims, int bits) {
  return bits == 8 ? parts(dims, 4) : parts(dims, 8);
}
static int64_t panel_bytes(int64_t dims, int bits, int group, int has_offsets) {
  return (groups_of(dims, group) * (has_offsets ? 2 : 1) + words_of(dims, bits)) * PANEL * 4;
}

size_t coded_weights_size(int64_t in, int64_t out, int bits, int group, int has_offsets) {
  int64_t bytes = 64;
  for (int64_t d = 0; d < in; d += PIECE)
    bytes += parts(out, PANEL) * panel_bytes(in - d < PIECE ? in - d : PIECE, bits, group, has_offsets);
  return (size_t)bytes;
}

static void put(unsigned char *to, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(number >> 8 * i);
}

static void put_float(unsigned char *to, float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  put(to, bits, 4);
}

/* The code whose value it is. */
static unsigned code_of(const int8_t values[16], int8_t value) {
  unsigned code = 0;
  while (values[code] != value) code++;
  return code;
}

static void write_output(unsigned char *panel, const struct coded_weights *w, const int8_t values[16],
                         int64_t piece, int64_t o) {
  const int64_t dims = w->in - piece < PIECE ? w->in - piece : PIECE, groups = groups_of(dims, w->group);
  const int64_t first = w->group ? piece / w->group : 0, lane = o % PANEL;
  unsigned char *words = panel + groups * (w->has_offsets ? 2 : 1) * PANEL * 4;
  for (int64_t g = 0; g < groups; g++) {
    put_float(panel + (g * PANEL + lane) * 4, w->scales[o * w->groups + first + g]);
    if (w->has_offsets) put_float(panel + ((groups + g) * PANEL + lane) * 4, w->offsets[o * w->groups + first + g]);
  }
  for (int64_t d = 0; d < dims; d++) {
    const int8_t value = w->codes[o * w->in + piece + d];
    if (w->bits == 8) {
      words[(d / 4 * PANEL + lane) * 4 + d % 4] = (unsigned char)value;
    } else {
      const unsigned shift = d % 8 < 4 ? 0 : 4;
      unsigned char *byte = words + (d / 8 * PANEL + lane) * 4 + d % 4;
      *byte = (unsigned char)((*byte & ~(15u << shift)) | code_of(values, value) << shift);
    }
  }
}

void coded_weights_write(unsigned char *to, const struct coded_weights *w, const int8_t values[16]) {
  unsigned char *at = to + 64;
  const unsigned char none = w->bits == 8 ? 0 : (unsigned char)(17 * code_of(values, 0));
  memset(to, 0, 64);
  put(to, 0x31515646, 4);
  put(to + 4, (uint64_t)w->bits, 4);
  put(to + 8, (uint64_t)w->in, 8);
  put(to + 16, (uint64_t)w->out, 8);
  put(to + 24, (uint64_t)w->group, 4);
  put(to + 28, (uint64_t)w->has_offsets, 4);
  for (int i = 0; i < 16 && w->bits == 4; i++) to[32 + i] = (unsigned char)values[i];
  for (int64_t piece = 0; piece < w->in; piece += PIECE) {
    const int64_t dims = w->in - piece < PIECE ? w->in - piece : PIECE;
    const int64_t bytes = panel_bytes(dims, w->bits, w->group, w->has_offsets);
    const int64_t numbers = groups_of(dims, w->group) * (w->has_offsets ? 2 : 1) * PANEL * 4;
    for (int64_t panel = 0; panel < w->out; panel += PANEL, at += bytes) {
      memset(at, 0, (size_t)numbers);
      memset(at + numbers, none, (size_t)(bytes - numbers));
      for (int64_t o = panel; o < panel + PANEL && o < w->out; o++) write_output(at, w, values, piece, o);
    }
  }
}

static float number_of(struct generator *generator) {
  return generator_below(generator, 16) == 0 ? 0.0f : generator_uniform(generator);
}

struct coded_weights coded_weights_create(int64_t in, int64_t out, int bits, int group, int has_offsets,
                                          int extreme, struct generator *generator) {
  static const int8_t tables[2][16] = {{-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7},
                                       {-128, -104, -83, -65, -49, -35, -22, -10, 0, 13, 25, 38, 53, 69, 89, 127}};
  const int8_t *values = tables[generator_below(generator, 2)];
  struct coded_weights w = {.in = in, .out = out, .bits = bits, .group = group, .has_offsets = has_offsets};
  w.groups = groups_of(in, group);
  w.codes = malloc((size_t)(in * out));
  w.scales = malloc((size_t)(out * w.groups) * sizeof(float));
  w.offsets = malloc((size_t)(out * w.groups) * sizeof(float));
  assert_true(w.codes && w.scales && w.offsets);
  for (int64_t i = 0; i < in * out; i++) {
    const int code = (int)generator_below(generator, 256);
    w.codes[i] = bits == 8 ? (int8_t)(extreme ? -128 : code - 128) : values[extreme ? 0 : code % 16];
  }
  for (int64_t i = 0; i < out * w.groups; i++) {
    w.scales[i] = number_of(generator);
    w.offsets[i] = number_of(generator);
  }
  w.memory = guarded_create(coded_weights_size(in, out, bits, group, has_offsets), GUARD_AT_END);
  coded_weights_write(w.memory.data, &w, values);
  guarded_make_read_only(&w.memory);
  return w;
}

void coded_weights_destroy(struct coded_weights *weights) {
  guarded_destroy(&weights->memory);
  free(weights->codes);
  free(weights->scales);
  free(weights->offsets);
}

void coded_row(const float *row, int64_t dim, int8_t *codes, float *scale) {
  float largest = 0;
  int lost = 0;
  for (int64_t d = 0; d < dim; d++) {
    lost |= !isfinite(row[d]);
    if (fabsf(row[d]) > largest) largest = fabsf(row[d]);
  }
  for (int64_t d = 0; d < dim; d++) codes[d] = 0;
  *scale = lost ? NAN : 0;
  if (lost || largest < 0x1p-80f) return;
  const float factor = 127.0f / largest;
  *scale = largest / 127.0f;
  for (int64_t d = 0; d < dim; d++) {
    const float product = row[d] * factor;
    codes[d] = (int8_t)lrintf(product);
  }
}
