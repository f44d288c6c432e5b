#include "stores.h"

#include "contract_hadamard.h"

#include "support/check.h"
#include "support/execution.h"
#include "support/types.h"

#include <fovea/format.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void store_make(struct store *store, const fovea_format *k, const fovea_format *v, int64_t qk_dim, int64_t v_dim,
                int64_t rows, int centred, struct generator *generator) {
  memset(store, 0, sizeof *store);
  store->segment.first = 16 * generator_below(generator, 3);
  store->segment.rows = rows;
  if (fovea_format_panel_bytes(k, qk_dim, NULL) > 0 && generator_below(generator, 2))
    store->segment.k_layout = FOVEA_KEYS_IN_PANELS;
  narrow_make(&store->sides[0], k, HEADS, qk_dim, centred, &store->segment, 0, generator);
  narrow_make(&store->sides[1], v, HEADS, v_dim, centred, &store->segment, 1, generator);
}

void store_destroy(struct store *store) {
  narrow_destroy(&store->sides[0]);
  narrow_destroy(&store->sides[1]);
}

static unsigned char *copied(const struct guarded *memory) {
  unsigned char *bytes = malloc(memory->size + 1);
  assert_non_null(bytes);
  if (memory->size > 0) memcpy(bytes, memory->data, memory->size);
  return bytes;
}

struct side_bytes side_save(const struct narrow *n) {
  return (struct side_bytes){copied(&n->codes), copied(&n->scales), copied(&n->zeros)};
}

void side_forget(struct side_bytes *bytes) {
  free(bytes->codes);
  free(bytes->scales);
  free(bytes->zeros);
}

void side_fill(struct narrow *n, int byte) {
  memset(n->codes.data, byte, n->codes.size);
  if (n->format.key_group == 0) return;
  if (n->scales.size > 0) memset(n->scales.data, byte, n->scales.size);
  if (n->zeros.size > 0) memset(n->zeros.data, byte, n->zeros.size);
}

int side_is(const struct narrow *n, const struct side_bytes *bytes) {
  return memcmp(n->codes.data, bytes->codes, n->codes.size) == 0 &&
         (n->scales.size == 0 || memcmp(n->scales.data, bytes->scales, n->scales.size) == 0) &&
         (n->zeros.size == 0 || memcmp(n->zeros.data, bytes->zeros, n->zeros.size) == 0);
}

/* Numbers of any kind; rarely one that is not finite. */
static float any_number(struct generator *generator, int kind) {
  const float x = generator_uniform(generator);
  switch (kind) {
  case 0:
    return generator_below(generator, 400) ? x : generator_below(generator, 2) ? INFINITY : NAN;
  case 1:
    return ldexpf(x, -98 - (int)generator_below(generator, 6));
  case 2:
    return generator_below(generator, 3) ? 0.0f : -0.0f;
  case 3:
    return (float)generator_below(generator, 64) * 0.25f - 8.0f;
  case 4:
    return ldexpf(x, -130);
  case 5:
    return ldexpf(x, 120);
  case 6:
    return generator_below(generator, 10) ? x : 30 * x;
  default:
    return x + 0.7f;
  }
}

int same_number(float a, float b) {
  return a == b || (a != a && b != b);
}

/* What the rows are in f32: as appended to an f32 cache, but for zeros, whose signs stay if nothing is rotated. */
static void make_rows(struct new_rows *n) {
  const int64_t dims[2] = {n->rows.qk_dim, n->rows.v_dim}, count = n->rows.rows;
  fovea_error error;
  fovea_segment segment = {.first = n->rows.first_position, .rows = count, .k = n->made[0], .v = n->made[1]};
  segment.k_head = count * dims[0], segment.v_head = count * dims[1], segment.k_row = dims[0],
  segment.v_row = dims[1];
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  fovea_new_rows rows = n->rows;
  rows.sequences = &sequence;
  rows.k_hadamard = rows.v_hadamard = 0;
  if (fovea_append(&rows, n->rotated ? &n->rotary : NULL, NULL, &error)) fail_msg("%s", error.text);
  for (int side = 0; side < 2; side++) {
    const int64_t all = HEADS * count * dims[side], rotated = side == 0 && n->rotated ? n->rotary.dims : 0;
    for (int64_t i = 0; i < all; i++)
      if (i % dims[side] >= rotated) n->made[side][i] = n->numbers[side][i];
    for (int64_t i = 0; i < HEADS * count; i++)
      contract_hadamard(n->made[side] + i * dims[side], dims[side], side ? n->rows.v_hadamard : n->rows.k_hadamard);
  }
}

static int64_t any_block(int64_t dim, struct generator *generator) {
  int64_t block = INT64_C(1) << generator_below(generator, 9);
  while (dim % block != 0) block /= 2;
  return block < 2 || generator_below(generator, 2) ? 0 : block;
}

void rows_make(struct new_rows *n, int64_t qk_dim, int64_t v_dim, int64_t first, int64_t count, int rotate,
               struct generator *generator) {
  memset(n, 0, sizeof *n);
  fovea_new_rows_init(&n->rows, 1, HEADS, count, qk_dim, v_dim, NULL, NULL, NULL);
  n->rows.first_position = first;
  n->rows.k_type = (fovea_type)generator_below(generator, 3);
  n->rows.v_type = (fovea_type)generator_below(generator, 3);
  for (int side = 0; side < 2; side++) {
    const int64_t dim = side ? v_dim : qk_dim, all = HEADS * count * dim;
    const fovea_type type = side ? n->rows.v_type : n->rows.k_type;
    const int kind = (int)generator_below(generator, 12);
    n->numbers[side] = malloc((size_t)all * sizeof(float));
    n->made[side] = malloc((size_t)all * sizeof(float));
    n->halves[side] = malloc((size_t)all * sizeof(uint16_t));
    assert_true(n->numbers[side] && n->made[side] && n->halves[side]);
    for (int64_t i = 0; i < all; i++) {
      const float x = any_number(generator, kind < 8 ? kind : (int)(i / 13 % 8));
      n->numbers[side][i] = type == FOVEA_F32 ? x : rounded_number(type, x);
    }
    if (type != FOVEA_F32) numbers_store(type, n->halves[side], n->numbers[side], all);
    *(side ? &n->rows.v : &n->rows.k) = type == FOVEA_F32 ? (void *)n->numbers[side] : n->halves[side];
  }
  if (rotate) {
    n->rows.k_hadamard = any_block(qk_dim, generator);
    n->rows.v_hadamard = any_block(v_dim, generator);
    n->rotated = qk_dim >= 2 && generator_below(generator, 3) > 0;
    const int64_t dims = 2 * (1 + generator_below(generator, qk_dim / 2 + (qk_dim < 2)));
    fovea_rotary_init(&n->rotary, (fovea_rotary_layout)generator_below(generator, 2),
                      generator_below(generator, 2) ? qk_dim / 2 * 2 : dims);
  }
  make_rows(n);
}

void rows_destroy(struct new_rows *n) {
  for (int side = 0; side < 2; side++) {
    free(n->numbers[side]);
    free(n->made[side]);
    free(n->halves[side]);
  }
}

void store_append(struct store *store, struct new_rows *n, const char *isa, const fovea_execution *execution) {
  fovea_error error;
  const fovea_sequence sequence = fovea_sequence_of(&store->segment, 1);
  n->rows.sequences = &sequence;
  fovea_execution on_set = *on_isa(isa);
  if (execution) on_set = *execution;
  on_set.isa = isa;
  if (fovea_append(&n->rows, n->rotated ? &n->rotary : NULL, &on_set, &error)) fail_msg("%s", error.text);
}
