/* Appending and copying to any format: codes and scales by a plain model, on every instruction set, for any
 * threads; no bit beside them is written. */
#include "codes.h"
#include "narrow.h"
#include "nearest.h"

#include "arch/codes.h"

#include "support/caches.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"
#include "support/types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, ROWS = 80, DIM_LIMIT = 320 };

/* A segment, both of whose sides have formats, and what its memory was. */
struct side_bytes {
  unsigned char *codes, *scales, *zeros;
};
struct store {
  fovea_segment segment;
  struct narrow sides[2];
};

static void store_make(struct store *store, const fovea_format *k, const fovea_format *v, int64_t qk_dim,
                       int64_t v_dim, int64_t rows, int centred, struct generator *generator) {
  memset(store, 0, sizeof *store);
  store->segment.first = 16 * generator_below(generator, 3);
  store->segment.rows = rows;
  if (fovea_format_panel_bytes(k, qk_dim, NULL) > 0 && generator_below(generator, 2))
    store->segment.k_layout = FOVEA_KEYS_IN_PANELS;
  narrow_make(&store->sides[0], k, HEADS, qk_dim, centred, &store->segment, 0, generator);
  narrow_make(&store->sides[1], v, HEADS, v_dim, centred, &store->segment, 1, generator);
}

static void store_destroy(struct store *store) {
  narrow_destroy(&store->sides[0]);
  narrow_destroy(&store->sides[1]);
}

static unsigned char *copied(const struct guarded *memory) {
  unsigned char *bytes = malloc(memory->size + 1);
  assert_non_null(bytes);
  if (memory->size > 0) memcpy(bytes, memory->data, memory->size);
  return bytes;
}

static struct side_bytes side_save(const struct narrow *n) {
  return (struct side_bytes){copied(&n->codes), copied(&n->scales), copied(&n->zeros)};
}

static void side_forget(struct side_bytes *bytes) {
  free(bytes->codes);
  free(bytes->scales);
  free(bytes->zeros);
}

/* Every byte that may be written becomes `byte`; scales that are the caller's stay. */
static void side_fill(struct narrow *n, int byte) {
  memset(n->codes.data, byte, n->codes.size);
  if (n->format.key_group == 0) return;
  if (n->scales.size > 0) memset(n->scales.data, byte, n->scales.size);
  if (n->zeros.size > 0) memset(n->zeros.data, byte, n->zeros.size);
}

static int side_is(const struct narrow *n, const struct side_bytes *bytes) {
  return memcmp(n->codes.data, bytes->codes, n->codes.size) == 0 &&
         (n->scales.size == 0 || memcmp(n->scales.data, bytes->scales, n->scales.size) == 0) &&
         (n->zeros.size == 0 || memcmp(n->zeros.data, bytes->zeros, n->zeros.size) == 0);
}

static int64_t equal_bits(const struct guarded *memory, const unsigned char *other) {
  int64_t count = 0;
  for (size_t i = 0; i < memory->size; i++) {
    for (int bit = 0; bit < 8; bit++) count += ((memory->data[i] ^ other[i]) >> bit & 1) == 0;
  }
  return count;
}

/* ---- What is expected ---------------------------------------------------------------------------------------- */

static int64_t keys_at_once(const fovea_format *f) {
  const int64_t word = code_of(f).along ? 32 / code_of(f).bits : 1;
  return f->key_group > word ? f->key_group : word;
}

/* Bits that writing `rows` rows changes, for one head. */
static int64_t bits_written(const struct narrow *n, int64_t rows, int panels) {
  const fovea_format *f = &n->format;
  const int64_t row = n->dim * code_of(f).bits, groups = n->dim / (f->group ? f->group : n->dim);
  const int64_t number = f->scale_type == FOVEA_F32 ? 32 : 16;
  const int whole = panels ? 32 : 8;
  int64_t bits = rows * (code_of(f).along ? row : (row + whole - 1) / whole * whole);
  if (f->key_group == 0) return bits;
  bits += ((rows - 1) / f->key_group + 1) * groups * number * (f->formula == FOVEA_FORMULA_SCALE ? 1 : 2);
  return bits + (f->sums ? rows * groups * 32 : 0);
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

static int same_number(float a, float b) {
  return a == b || (a != a && b != b);
}

/* Codes and scales of rows begin to end - 1 by the plain model; x[head][row - begin][dim]. */
static void assert_nearest(const struct store *store, int values, int64_t begin, int64_t end, const float *x) {
  const struct narrow *n = &store->sides[values];
  const fovea_format *f = &n->format;
  const fovea_code_scales *s = values ? &store->segment.v_scales : &store->segment.k_scales;
  const int64_t group = f->group ? f->group : n->dim, keys = f->key_group ? f->key_group : 1;
  float *numbers = malloc((size_t)((end - begin) * n->dim) * sizeof *numbers);
  assert_non_null(numbers);
  for (int64_t head = 0; head < HEADS; head++)
    for (int64_t row = begin; row < end; row += keys)
      for (int64_t d = 0; d < n->dim; d += group) {
        const float *centre = s->centre ? s->centre + head * n->dim : NULL;
        const int64_t last = row + keys < end ? row + keys : end;
        int64_t count = 0;
        for (int64_t r = row; r < last; r++)
          for (int64_t i = d; i < d + group; i++) {
            const float number = x[(head * (end - begin) + r - begin) * n->dim + i];
            numbers[count++] = centre ? number - centre[i] : number;
          }
        const float scale = narrow_scale(n, &store->segment, values, head, row, d, 0);
        const float zero =
            f->formula == FOVEA_FORMULA_SCALE ? 0 : narrow_scale(n, &store->segment, values, head, row, d, 1);
        const struct nearest_group expected =
            f->key_group ? nearest_measure(f, numbers, count) : nearest_fixed(scale, zero);
        if (!same_number(scale, expected.scale) || (f->formula && !same_number(zero, expected.zero)))
          fail_msg("row %d, dim %d: scale %a, zero %a; should be %a, %a", (int)row, (int)d, (double)scale,
                   (double)zero, (double)expected.scale, (double)expected.zero);
        count = 0;
        for (int64_t r = row; r < last; r++)
          for (int64_t i = d; i < d + group; i++) {
            const int code = narrow_code(n, &store->segment, values, head, r, i);
            const int wanted = nearest_code(f, &expected, numbers[count++]);
            if (code != wanted)
              fail_msg("code %d, formula %d, place %d, group %d, keys %d: row %d, dim %d: %d, should be %d for %a",
                       (int)f->code, (int)f->formula, (int)f->place, (int)f->group, (int)f->key_group, (int)r,
                       (int)i, code, wanted, (double)numbers[count - 1]);
          }
      }
  free(numbers);
}

/* ---- Appending ----------------------------------------------------------------------------------------------- */

/* New rows of both sides, of any type, and what they are as f32 when they become codes. */
struct new_rows {
  fovea_new_rows rows;
  fovea_rotary rotary;
  int rotated;
  float *numbers[2], *made[2];
  uint16_t *halves[2];
};

/* The normalised Walsh-Hadamard matrix, step by step. */
static void hadamard(float *x, int64_t dim, int64_t block) {
  for (int64_t h = 1; h < block; h *= 2)
    for (int64_t i = 0; i < dim; i++) {
      if (i & h) continue;
      const float u = x[i], v = x[i + h];
      x[i] = u + v;
      x[i + h] = u - v;
    }
  int powers = 0;
  while (INT64_C(1) << powers < block) powers++;
  const float factor = ldexpf(powers % 2 ? 0x1.6a09e6p-1f : 1.0f, -(powers / 2));
  for (int64_t i = 0; i < dim && block > 0; i++) x[i] = x[i] * factor + 0.0f;
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
      hadamard(n->made[side] + i * dims[side], dims[side], side ? n->rows.v_hadamard : n->rows.k_hadamard);
  }
}

static int64_t any_block(int64_t dim, struct generator *generator) {
  int64_t block = INT64_C(1) << generator_below(generator, 9);
  while (dim % block != 0) block /= 2;
  return block < 2 || generator_below(generator, 2) ? 0 : block;
}

static void rows_make(struct new_rows *n, int64_t qk_dim, int64_t v_dim, int64_t first, int64_t count, int rotate,
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

static void rows_destroy(struct new_rows *n) {
  for (int side = 0; side < 2; side++) {
    free(n->numbers[side]);
    free(n->made[side]);
    free(n->halves[side]);
  }
}

static void append(struct store *store, struct new_rows *n, const char *isa, const fovea_execution *execution) {
  fovea_error error;
  const fovea_sequence sequence = fovea_sequence_of(&store->segment, 1);
  n->rows.sequences = &sequence;
  fovea_execution on_set = *on_isa(isa);
  if (execution) on_set = *execution;
  on_set.isa = isa;
  if (fovea_append(&n->rows, n->rotated ? &n->rotary : NULL, &on_set, &error)) fail_msg("%s", error.text);
}

/* Appends into memory of zeros and of ones: what differs has not been written. Then with every instruction set, and
 * with tasks in any order. */
static void check_append(struct store *store, struct new_rows *n) {
  struct side_bytes zeros[2], ones[2];
  struct executor executor = {.order = TASKS_SHUFFLED};
  fovea_execution shuffled;
  fovea_execution_init(&shuffled);
  shuffled.threads = 3, shuffled.parallel_for = serial_for, shuffled.parallel_context = &executor;
  for (int side = 0; side < 2; side++) side_fill(&store->sides[side], 0xff);
  append(store, n, "scalar", NULL);
  for (int side = 0; side < 2; side++) {
    ones[side] = side_save(&store->sides[side]);
    side_fill(&store->sides[side], 0);
  }
  append(store, n, "scalar", NULL);
  const int64_t begin = n->rows.first_position - store->segment.first, end = begin + n->rows.rows;
  for (int side = 0; side < 2; side++) {
    const struct narrow *s = &store->sides[side];
    zeros[side] = side_save(s);
    int64_t written = equal_bits(&s->codes, ones[side].codes);
    if (s->format.key_group != 0)
      written += equal_bits(&s->scales, ones[side].scales) + equal_bits(&s->zeros, ones[side].zeros);
    assert_int_equal(written, HEADS * bits_written(s, n->rows.rows,
                                                   side == 0 && store->segment.k_layout == FOVEA_KEYS_IN_PANELS));
    if (s->format.quantiser == FOVEA_QUANTISE_NEAREST) assert_nearest(store, side, begin, end, n->made[side]);
  }
  for (const char *const *isa = usable_isas_for(NULL); *isa != NULL; isa++) {
    for (int side = 0; side < 2; side++) side_fill(&store->sides[side], 0);
    append(store, n, *isa, &shuffled);
    for (int side = 0; side < 2; side++) {
      if (!side_is(&store->sides[side], &zeros[side])) fail_msg("%s: other bytes", *isa);
      assert_true(guarded_slack_intact(&store->sides[side].codes));
    }
  }
  for (int side = 0; side < 2; side++) {
    side_forget(&zeros[side]);
    side_forget(&ones[side]);
  }
}

/* Rows of a segment that are whole groups of both sides. */
static void any_rows(const struct store *store, int64_t *begin, int64_t *end, struct generator *generator) {
  const int64_t a = keys_at_once(&store->sides[0].format), b = keys_at_once(&store->sides[1].format);
  int64_t unit = a; /* the least common multiple */
  while (unit % b != 0) unit += a;
  const int64_t rows = store->segment.rows, units = (rows - 1) / unit + 1;
  const int64_t first = generator_below(generator, units);
  *begin = first * unit;
  *end = (first + 1 + generator_below(generator, units - first)) * unit;
  if (*end > rows) *end = rows;
}

static fovea_format any_format(int64_t dim, struct generator *generator) {
  static const int64_t groups[] = {0, 1, 2, 8, 24, 32, 48}, key_groups[] = {0, 1, 1, 3, 16, 32};
  static const int8_t table[16] = {-128, -100, -70, -30, -11, -5, -1, 2, 3, 9, 20, 40, 50, 70, 90, 127};
  fovea_format format;
  do {
    format = (fovea_format){.struct_size = sizeof format};
    format.code = (fovea_code)generator_below(generator, FOVEA_CODE_COUNT);
    format.formula = (fovea_formula)generator_below(generator, 3);
    format.place = (fovea_scale_place)generator_below(generator, 3);
    format.scale_type = (fovea_type)generator_below(generator, 3);
    format.group = groups[generator_below(generator, 7)];
    format.key_group = key_groups[generator_below(generator, 6)];
    if (generator_below(generator, 3) == 0) format.bias = (int)generator_below(generator, 129);
    if (generator_below(generator, 8) == 0) format.table = table;
    if (generator_below(generator, 8) == 0) format.sums = 1;
    if (generator_below(generator, 3) == 0) narrow_any_order(&format, generator);
  } while (fovea_format_bytes(&format, dim, NULL) == 0);
  return format;
}

/* Any formats, for rows of seven numbers of dims. */
static void check_formats(const int64_t dims[7], int count, int64_t most_rows, uint64_t seed) {
  struct generator generator = {seed};
  for (int i = 0; i < count; i++) {
    const int64_t qk_dim = dims[generator_below(&generator, 7)], v_dim = dims[generator_below(&generator, 7)];
    const fovea_format k = any_format(qk_dim, &generator), v = any_format(v_dim, &generator);
    struct store store;
    struct new_rows rows;
    int64_t begin, end;
    store_make(&store, &k, &v, qk_dim, v_dim, 1 + generator_below(&generator, most_rows), i % 3 == 0, &generator);
    any_rows(&store, &begin, &end, &generator);
    rows_make(&rows, qk_dim, v_dim, store.segment.first + begin, end - begin, i % 2, &generator);
    check_append(&store, &rows);
    rows_destroy(&rows);
    store_destroy(&store);
  }
}

static void test_descriptors(void **state) {
  static const int64_t dims[] = {48, 96, 7, 64, 256, 1, 288};
  (void)state;
  check_formats(dims, USUAL_OR_LONG(60, 700), ROWS, 5);
}

/* Groups of more dims than become codes together, and more angles than are kept. */
static void test_wide_rows(void **state) {
  static const int64_t dims[] = {4096, 4096, 2304, 1040, 1072, 3001, 4000};
  (void)state;
  check_formats(dims, USUAL_OR_LONG(60, 200), 6, 6);
}

/* Presets of both sides, with rotations and other types: all instruction sets agree, and nothing else is written.
 */
static void test_presets(void **state) {
  (void)state;
  struct generator generator = {6};
  for (int name = 0; name < NARROW_FORMATS; name++)
    for (int i = 0; i < 3; i++) {
      const fovea_format k = narrow_format((fovea_format_name)name);
      const fovea_format v = narrow_format((fovea_format_name)((name + 7 * i) % NARROW_FORMATS));
      struct store store;
      struct new_rows rows;
      int64_t begin, end;
      store_make(&store, &k, &v, 32 * (i + 1), 32 * (name % 4 + 1), 70 + name, 0, &generator);
      any_rows(&store, &begin, &end, &generator);
      rows_make(&rows, 32 * (i + 1), 32 * (name % 4 + 1), store.segment.first + begin, end - begin, 1, &generator);
      check_append(&store, &rows);
      rows_destroy(&rows);
      store_destroy(&store);
    }
}

/* ---- Copying ------------------------------------------------------------------------------------------------- */

static void copy(const struct store *from, const struct store *to, int64_t begin, int64_t end) {
  fovea_error error;
  const fovea_sequence a = fovea_sequence_of(&from->segment, 1), b = fovea_sequence_of(&to->segment, 1);
  if (fovea_sequence_copy(&a, &b, 1, HEADS, from->sides[0].dim, from->sides[1].dim, begin, end, NULL, &error))
    fail_msg("%s", error.text);
}

/* What a copy is: the numbers appended, or, of one format, the same codes and scales. */
static void check_copy(const struct store *from, struct store *to, int same) {
  const int64_t first = to->segment.first, count = to->segment.rows;
  struct new_rows rows = {.rotated = 0};
  struct side_bytes copied_bytes[2];
  fovea_new_rows_init(&rows.rows, 1, HEADS, count, to->sides[0].dim, to->sides[1].dim, NULL, NULL, NULL);
  rows.rows.first_position = first;
  for (int side = 0; side < 2; side++) side_fill(&to->sides[side], 0x5a);
  copy(from, to, first, first + count);
  for (int side = 0; side < 2; side++) {
    const struct narrow *n = &to->sides[side], *source = &from->sides[side];
    copied_bytes[side] = side_save(n);
    float *x = rows.made[side] = malloc((size_t)(HEADS * count * n->dim) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < HEADS * count * n->dim; i++) {
      const int64_t head = i / n->dim / count, row = first + i / n->dim % count - from->segment.first,
                    d = i % n->dim;
      const int64_t to_row = i / n->dim % count;
      x[i] = narrow_element(source, &from->segment, side, head, row, d);
      if (!same) continue;
      assert_int_equal(narrow_code(n, &to->segment, side, head, to_row, d),
                       narrow_code(source, &from->segment, side, head, row, d));
      for (int which = 0; which < (n->format.formula ? 2 : 1); which++)
        assert_int_equal(bits_of(narrow_scale(n, &to->segment, side, head, to_row, d, which)),
                         bits_of(narrow_scale(source, &from->segment, side, head, row, d, which)));
    }
    *(side ? &rows.rows.v : &rows.rows.k) = x;
    side_fill(&to->sides[side], 0x5a);
  }
  append(to, &rows, NULL, NULL);
  for (int side = 0; side < 2 && !same; side++)
    if (!side_is(&to->sides[side], &copied_bytes[side]))
      fail_msg("side %d: a copy is not what its numbers are appended as", side);
  for (int side = 0; side < 2; side++) side_forget(&copied_bytes[side]);
  rows_destroy(&rows);
}

static void test_copies(void **state) {
  (void)state;
  struct generator generator = {7};
  for (int a = 0; a < NARROW_FORMATS; a++)
    for (int b = 0; b < NARROW_FORMATS; b++) {
      const fovea_format from_format = narrow_format((fovea_format_name)a),
                         to_format = narrow_format((fovea_format_name)b);
      /* These two differ only in where scales lie. */
      const int alike = (a == FOVEA_FORMAT_I8_ROWS && b == FOVEA_FORMAT_OPENVINO_I8) ||
                        (b == FOVEA_FORMAT_I8_ROWS && a == FOVEA_FORMAT_OPENVINO_I8);
      const int same = alike || (a == b && from_format.key_group != 0);
      struct store from, to;
      store_make(&from, &from_format, &from_format, 64, 32, 64, 0, &generator);
      store_make(&to, &to_format, &to_format, 64, 32, 32, 0, &generator);
      from.segment.first = 96, to.segment.first = 96 + (same ? 32 : 16);
      check_copy(&from, &to, same);
      store_destroy(&from);
      store_destroy(&to);
    }
}

/* From codes to elements of any type and layout, and from them to codes. */
static void test_elements(void **state) {
  (void)state;
  struct generator generator = {8};
  for (int name = 0; name < NARROW_FORMATS; name++)
    for (int type = 0; type < 3; type++) {
      enum { DIM = 64, COUNT = 32 };
      static uint32_t memory[2][HEADS * COUNT * DIM];
      static float x[2][HEADS * COUNT * DIM];
      const fovea_format format = narrow_format((fovea_format_name)name);
      struct store store;
      store_make(&store, &format, &format, DIM, DIM, COUNT, name % 2, &generator);
      store.segment.first = 32;
      fovea_segment plain = {.first = 32, .rows = COUNT, .k = memory[0], .v = memory[1]};
      plain.k_type = plain.v_type = (fovea_type)type;
      plain.k_head = plain.v_head = COUNT * DIM, plain.k_row = plain.v_row = DIM;
      if (name % 3 == 0) plain.k_layout = FOVEA_KEYS_IN_PANELS, plain.k_row = 16 * DIM;
      const fovea_sequence coded = fovea_sequence_of(&store.segment, 1), plains = fovea_sequence_of(&plain, 1);
      fovea_error error;
      if (fovea_sequence_copy(&coded, &plains, 1, HEADS, DIM, DIM, 32, 32 + COUNT, NULL, &error))
        fail_msg("%s", error.text);
      for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < HEADS * COUNT * DIM; i++) {
          const int64_t head = i / DIM / COUNT, row = i / DIM % COUNT, d = i % DIM;
          const float number = rounded_number(
              (fovea_type)type, narrow_element(&store.sides[side], &store.segment, side, head, row, d));
          const int64_t place = segment_place(&plain, side, head, 32 + row, d);
          const uint16_t *halves = (const uint16_t *)memory[side];
          x[side][i] =
              type == 0 ? from_bits(memory[side][place]) : from_bits(widened((fovea_type)type, halves[place]));
          if (!same_number(x[side][i], number))
            fail_msg("%s: %a, not %a", fovea_format_text((fovea_format_name)name), (double)x[side][i],
                     (double)number);
        }
      struct new_rows rows = {.rotated = 0};
      struct side_bytes bytes[2];
      for (int side = 0; side < 2; side++) side_fill(&store.sides[side], 0);
      if (fovea_sequence_copy(&plains, &coded, 1, HEADS, DIM, DIM, 32, 32 + COUNT, NULL, &error))
        fail_msg("%s", error.text);
      for (int side = 0; side < 2; side++) {
        bytes[side] = side_save(&store.sides[side]);
        side_fill(&store.sides[side], 0);
      }
      fovea_new_rows_init(&rows.rows, 1, HEADS, COUNT, DIM, DIM, x[0], x[1], NULL);
      rows.rows.first_position = 32;
      append(&store, &rows, NULL, NULL);
      for (int side = 0; side < 2; side++) {
        assert_true(side_is(&store.sides[side], &bytes[side]));
        side_forget(&bytes[side]);
      }
      store_destroy(&store);
    }
}

/* ---- Hadamard ------------------------------------------------------------------------------------------------ */

static void test_hadamard(void **state) {
  (void)state;
  struct generator generator = {9};
  static float x[3][4096], y[3][4096], expected[3][4096];
  static uint16_t halves[3][4096];
  for (int i = 0; i < 60; i++) {
    const int64_t block = INT64_C(2) << i % 12,
                  dim = block * (1 + generator_below(&generator, 4096 / block > 5 ? 5 : 4096 / block));
    const fovea_type type = (fovea_type)(i % 3);
    for (int row = 0; row < 3; row++) {
      for (int64_t d = 0; d < dim; d++) expected[row][d] = x[row][d] = generator_uniform(&generator);
      if (i == 7 && row == 1) expected[row][1] = x[row][1] = INFINITY;
      hadamard(expected[row], dim, block);
    }
    for (const char *const *isa = usable_isas_for(NULL); *isa != NULL; isa++) {
      fovea_hadamard call;
      fovea_error error;
      fovea_hadamard_init(&call, 1, 1, 3, dim, block, x, type == FOVEA_F32 ? (void *)y : halves);
      call.from_strides.row = call.to_strides.row = 4096;
      call.to_type = type;
      if (fovea_hadamard_apply(&call, on_isa(*isa), &error)) fail_msg("%s", error.text);
      for (int row = 0; row < 3; row++)
        for (int64_t d = 0; d < dim; d++) {
          const float number = rounded_number(type, expected[row][d]);
          const uint32_t got = type == FOVEA_F32 ? bits_of(y[row][d]) : widened(type, halves[row][d]);
          if (got != bits_of(number))
            fail_msg("%s, block %d, dim %d: %a, not %a", *isa, (int)block, (int)d, (double)from_bits(got),
                     (double)number);
        }
    }
  }
  for (int64_t d = 0; d < 128; d++) y[0][d] = x[0][d] = generator_uniform(&generator);
  fovea_hadamard call; /* in place, twice: where it began */
  fovea_hadamard_init(&call, 1, 1, 1, 128, 128, y[0], y[0]);
  for (int i = 0; i < 2; i++) assert_int_equal(fovea_hadamard_apply(&call, NULL, NULL), FOVEA_OK);
  fovea_error error;
  fovea_hadamard bad = call;
  bad.dim = 8192;
  assert_int_equal(fovea_hadamard_apply(&bad, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "block: the dim is 8192, and must be at most 4096");
  bad = call;
  bad.batch = bad.rows = INT64_C(1) << 40;
  assert_int_equal(fovea_hadamard_apply(&bad, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "batch: times rows");
  for (int64_t d = 0; d < 128; d++) assert_true(fabsf(y[0][d] - x[0][d]) < 1e-6f);
}

/* ---- Refusals ------------------------------------------------------------------------------------------------ */

static void assert_append_says(struct store *store, struct new_rows *n, fovea_status status, const char *words) {
  fovea_error error;
  const fovea_sequence sequence = fovea_sequence_of(&store->segment, 1);
  struct side_bytes before[2] = {side_save(&store->sides[0]), side_save(&store->sides[1])};
  n->rows.sequences = &sequence;
  assert_int_equal(fovea_append(&n->rows, NULL, NULL, &error), status);
  assert_error_says(&error, words);
  for (int side = 0; side < 2; side++) {
    assert_true(side_is(&store->sides[side], &before[side]));
    side_forget(&before[side]);
  }
}

/* Rows of elements that have no format, rotated as they are appended. */
static void test_rotated_elements(void **state) {
  (void)state;
  enum { QK = 12, V = 8, COUNT = 5 };
  struct generator generator = {12};
  static float k[HEADS * COUNT][QK], v[HEADS * COUNT][V], to_k[HEADS * COUNT][QK], to_v[HEADS * COUNT][V];
  fovea_segment segment;
  fovea_new_rows rows;
  fovea_segment_init(&segment, 0, COUNT, QK, V, FOVEA_F32, to_k, to_v);
  segment.k_head = COUNT * QK, segment.v_head = COUNT * V;
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  for (int i = 0; i < HEADS * COUNT; i++) {
    for (int d = 0; d < QK; d++) k[i][d] = generator_uniform(&generator);
    for (int d = 0; d < V; d++) v[i][d] = generator_uniform(&generator);
  }
  fovea_new_rows_init(&rows, 1, HEADS, COUNT, QK, V, k, v, &sequence);
  rows.k_hadamard = 4, rows.v_hadamard = 8;
  assert_int_equal(fovea_append(&rows, NULL, NULL, NULL), FOVEA_OK);
  for (int i = 0; i < HEADS * COUNT; i++) {
    hadamard(k[i], QK, 4);
    hadamard(v[i], V, 8);
  }
  assert_memory_equal(to_k, k, sizeof k);
  assert_memory_equal(to_v, v, sizeof v);
}

static void test_refusals(void **state) {
  (void)state;
  struct generator generator = {10};
  static const int8_t unsorted[16] = {0, 3, 1};
  const fovea_format by_keys = narrow_format(FOVEA_FORMAT_KIVI_K4), q8 = narrow_format(FOVEA_FORMAT_Q8_0);
  struct store store;
  struct new_rows rows;
  store_make(&store, &q8, &by_keys, 64, 64, 80, 0, &generator);
  rows_make(&rows, 64, 64, store.segment.first + 32, 32, 0, &generator);
  rows.rows.rows = 31;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT,
                     "sequences[0].segments[0].v is written in groups of 32 keys from position 16 on");
  rows.rows.rows = 32, rows.rows.first_position++;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT, "v is written in groups of 32 keys");
  rows.rows.first_position--, rows.rows.k_hadamard = 48;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT, "k_hadamard is 48");
  rows.rows.k_hadamard = 128;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT, "k_hadamard: divides the dim, which is 64");
  rows.rows.k_hadamard = 0;
  store.sides[0].format.quantiser = (fovea_quantiser)6;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT,
                     "sequences[0].segments[0].k_format.quantiser: format.quantiser is 6");
  store.sides[0].format.quantiser = FOVEA_QUANTISE_KIVI;
  assert_append_says(&store, &rows, FOVEA_ERROR_UNUSED,
                     "sequences[0].segments[0].k_format.quantiser: format.quantiser is 4");
  store.sides[0].format = narrow_format(FOVEA_FORMAT_IQ4_NL);
  store.sides[0].format.table = unsorted;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT, "k_format.table does not ascend");
  store.sides[0].format = q8;
  append(&store, &rows, NULL, NULL); /* 16 keys are left for a last group */
  rows.rows.first_position += 32, rows.rows.rows = 16;
  append(&store, &rows, NULL, NULL);
  static float wide[8192], narrow[8], scales[1];
  static int8_t codes[8192];
  const fovea_format i8 = narrow_format(FOVEA_FORMAT_I8_ROWS);
  fovea_segment segment;
  fovea_new_rows wide_rows;
  fovea_error error;
  fovea_segment_init(&segment, 0, 1, 8192, 8, FOVEA_F32, codes, narrow);
  segment.k_format = &i8;
  segment.k_scales.scales = scales;
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  fovea_new_rows_init(&wide_rows, 1, 1, 1, 8192, 8, wide, wide, &sequence);
  assert_int_equal(fovea_append(&wide_rows, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "sequences[0].segments[0].k: qk_dim is 8192, and must be at most 4096");
  rows.rows.k = rows.rows.v = store.sides[1].scales.data;
  assert_append_says(&store, &rows, FOVEA_ERROR_ARGUMENT, "sequences[0].segments[0].v: share memory");
  rows_destroy(&rows);
  store_destroy(&store);
}

/* Rows become the same bytes beside a row that is not finite as alone. */
static void test_neighbours(void **state) {
  (void)state;
  enum { DIM = 32 };
  static float rows[2][DIM], values[2][DIM];
  unsigned char together[2][DIM + 8], alone[2][DIM + 8];
  const fovea_format format = narrow_format(FOVEA_FORMAT_OPENVINO_U8);
  for (int sign = -1; sign <= 1; sign += 2)
    for (float size = 1; size < 1e37f; size *= 1.7f) {
      unsigned char unused[2][2 * (DIM + 8)];
      fovea_segment segments[2] = {
          {.rows = 2, .k_row = DIM + 8, .v_row = DIM + 8, .k_format = &format, .v_format = &format}};
      segments[0].v = unused[0];
      segments[1] = segments[0];
      segments[0].k = together;
      segments[1].k = alone;
      for (int d = 0; d < DIM; d++) rows[0][d] = (float)sign * size, rows[1][d] = d ? 1.0f : NAN;
      for (int i = 0; i < 2; i++) {
        const fovea_sequence sequence = fovea_sequence_of(&segments[i], 1);
        fovea_new_rows new_rows;
        fovea_error error;
        fovea_new_rows_init(&new_rows, 1, 1, 2 - i, DIM, DIM, rows, values, &sequence);
        if (fovea_append(&new_rows, NULL, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
      }
      assert_memory_equal(together[0], alone[0], sizeof alone[0]);
    }
}

/* Two rounds of a ring write to different keys of a unit, or of a panel. */
static void test_ring_units(void **state) {
  (void)state;
  enum { DIM = 32, RING = 32, ROWS = 5 };
  static float rows[RING + ROWS][DIM];
  struct generator generator = {9};
  for (int i = 0; i < (RING + ROWS) * DIM; i++) rows[i / DIM][i % DIM] = generator_uniform(&generator);
  for (int kind = 0; kind < 4; kind++)
    for (int first = 28; first < 32; first += kind == 2 ? 2 : 1) {
      unsigned char memory[2][2][RING * DIM];
      fovea_format format = narrow_format(FOVEA_FORMAT_E4M3);
      fovea_error error;
      const float scale = 1;
      if (kind > 0) format.order = kind == 1 ? FOVEA_ORDER_DIM_PAIRS : FOVEA_ORDER_KEY_PAIRS;
      if (kind == 3) format.order = FOVEA_ORDER_ROWS;
      if (format.order) format.order_keys = kind == 1 ? 16 : RING;
      memset(memory, 0, sizeof memory);
      for (int way = 0; way < 2; way++) { /* at once, row by row */
        fovea_pages pages;
        fovea_pages_init(&pages, 1, RING, 1, DIM, DIM, FOVEA_F32,
                         kind == 3 ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS);
        assert_int_equal(fovea_pages_set_formats(&pages, &format, &format, &error), FOVEA_OK);
        pages.k = memory[way][0], pages.v = memory[way][1];
        pages.k_scales.scales = pages.v_scales.scales = (void *)&scale;
        for (int at = first; at < first + ROWS; at += way ? 1 : ROWS) {
          const int count = way ? 1 : ROWS, end = at + count;
          fovea_segment segments[FOVEA_RING_SEGMENTS];
          fovea_sequence sequence;
          fovea_new_rows new_rows;
          if (fovea_cache_ring(&pages, 0, end > RING ? end - RING : 0, end, segments, &sequence, &error) !=
              FOVEA_OK)
            fail_msg("%s", error.text);
          fovea_new_rows_init(&new_rows, 1, 1, count, DIM, DIM, rows[at], rows[at], &sequence);
          new_rows.first_position = at;
          if (fovea_append(&new_rows, NULL, NULL, &error) != FOVEA_OK)
            fail_msg("kind %d, from %d: %s", kind, at, error.text);
        }
      }
      assert_memory_equal(memory[0], memory[1], sizeof memory[0]);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_neighbours),  cmocka_unit_test(test_ring_units),
      cmocka_unit_test(test_descriptors), cmocka_unit_test(test_wide_rows),
      cmocka_unit_test(test_presets),     cmocka_unit_test(test_copies),
      cmocka_unit_test(test_elements),    cmocka_unit_test(test_hadamard),
      cmocka_unit_test(test_refusals),    cmocka_unit_test(test_rotated_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
