/* Rows that move to other positions of their sequence, in pages of every format: they hold what the same steps by
 * other calls write, keys rotated on or not, forwards and backwards, over themselves; all other rows keep theirs.
 */
#include "narrow_pages.h"

#include "../support/execution.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/trial.h"

#include <stdlib.h>
#include <string.h>

enum { PAGES = 5, KV_HEADS = 2, MOST_ROWS = PAGES * 128, MOST_DIM = 128, LAYERS = 2 };

static const int32_t table[PAGES] = {3, 0, 1, 4, 2}; /* two pages are one segment */

struct caches {
  struct narrow_pages made;
  fovea_segment segments[PAGES];
  fovea_sequence sequence;
};

/* The numbers of all positions of a layer. */
struct numbers {
  float k[KV_HEADS][MOST_ROWS][MOST_DIM], v[KV_HEADS][MOST_ROWS][MOST_DIM];
};

static int64_t rows_of(const struct caches *c) {
  return PAGES * c->made.pages.page_rows;
}

static void make(struct caches *c, const fovea_format *k, const fovea_format *v, int64_t page_rows, int64_t dim,
                 int64_t layers, enum page_layout layout, uint64_t seed) {
  struct generator generator = {seed};
  fovea_error error;
  narrow_pages_make(&c->made, k, v, PAGES, page_rows, KV_HEADS, dim, dim, layers, layout, &generator);
  if (fovea_cache_paged(&c->made.pages, table, PAGES, 0, rows_of(c), c->segments, PAGES, &c->sequence, &error) !=
      FOVEA_OK)
    fail_msg("%s", error.text);
}

static void read_numbers(const struct caches *c, int64_t layer, struct numbers *n) {
  const int64_t page_rows = c->made.pages.page_rows;
  memset(n, 0, sizeof *n);
  for (int64_t p = 0; p < rows_of(c); p++)
    for (int64_t head = 0; head < KV_HEADS; head++)
      for (int64_t d = 0; d < c->made.pages.qk_dim; d++) {
        const int64_t page = table[p / page_rows], row = p % page_rows;
        n->k[head][p][d] = narrow_pages_element(&c->made, 0, layer, page, head, row, d);
        n->v[head][p][d] = narrow_pages_element(&c->made, 1, layer, page, head, row, d);
      }
}

static int64_t turned_by(const fovea_move *move) {
  if (!move->rotary) return 0;
  return move->rotate_by == FOVEA_ROTATE_AS_MOVED ? move->to - move->begin : move->rotate_by;
}

/* The same by other calls: rows from `from` to the call's new place, keys turned in f32 and appended. */
static void expect(const fovea_move *move, const struct caches *c, int64_t layer, const struct numbers *from) {
  static struct numbers rows;
  const int64_t count = move->end - move->begin, dim = move->qk_dim;
  int64_t positions[MOST_ROWS];
  fovea_new_rows new_rows;
  fovea_error error;
  memset(&rows, 0, sizeof rows);
  for (int head = 0; head < KV_HEADS; head++) {
    memcpy(rows.k[head], from->k[head][move->begin], (size_t)count * sizeof rows.k[0][0]);
    memcpy(rows.v[head], from->v[head][move->begin], (size_t)count * sizeof rows.v[0][0]);
  }
  if (move->rotary) {
    fovea_rotation rotation;
    fovea_hadamard back;
    const fovea_strides strides = {0, MOST_ROWS * MOST_DIM, MOST_DIM};
    fovea_rotation_init(&rotation, 1, KV_HEADS, count, dim, rows.k, rows.k);
    rotation.from_strides = rotation.to_strides = strides;
    for (int64_t i = 0; i < count; i++) positions[i] = turned_by(move);
    rotation.positions = positions;
    fovea_hadamard_init(&back, 1, KV_HEADS, count, dim, move->k_hadamard, rows.k, rows.k);
    back.from_strides = back.to_strides = strides;
    if (move->k_hadamard > 0) assert_int_equal(fovea_hadamard_apply(&back, NULL, NULL), FOVEA_OK);
    assert_int_equal(fovea_rotary_apply(move->rotary, &rotation, NULL, NULL), FOVEA_OK);
  }
  fovea_new_rows_init(&new_rows, 1, KV_HEADS, count, dim, dim, rows.k, rows.v, &c->sequence);
  new_rows.k_strides.head = new_rows.v_strides.head = MOST_ROWS * MOST_DIM;
  new_rows.k_strides.row = new_rows.v_strides.row = MOST_DIM;
  new_rows.first_position = move->to;
  new_rows.k_hadamard = move->k_hadamard;
  new_rows.layer = layer;
  if (fovea_append(&new_rows, NULL, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
}

static int same_row(const float *a, const float *b, int64_t dim) {
  return memcmp(a, b, (size_t)dim * sizeof *a) == 0;
}

/* Moves rows of `c` on an instruction set, and compares with `other`, whose memory was the same. Values, and keys
 * that are not turned, may keep their codes where codes that were made anew differ. */
static void check_move(struct caches *c, struct caches *other, fovea_move *move, const char *isa,
                       const char *name) {
  static struct numbers before, after, expected;
  const fovea_pages *p = &c->made.pages;
  for (int i = 0; i < c->made.memory_count; i++)
    memcpy(other->made.memory[i].data, c->made.memory[i].data, c->made.memory[i].size);
  move->sequence = &c->sequence;
  static struct numbers all[LAYERS];
  for (int64_t layer = 0; layer < p->layers; layer++) read_numbers(c, layer, &all[layer]);
  for (int64_t layer = 0; layer < p->layers; layer++) expect(move, other, layer, &all[layer]);
  fovea_error error;
  if (fovea_sequence_move(move, on_isa(isa), &error) != FOVEA_OK) fail_msg("%s: %s", name, error.text);
  for (int64_t layer = 0; layer < p->layers; layer++) {
    before = all[layer];
    read_numbers(c, layer, &after);
    read_numbers(other, layer, &expected);
    for (int head = 0; head < KV_HEADS; head++)
      for (int64_t row = 0; row < rows_of(c); row++) {
        const int64_t source = row - move->to + move->begin;
        const int moved = source >= move->begin && source < move->end;
        const int k =
            same_row(after.k[head][row], expected.k[head][row], p->qk_dim) ||
            (turned_by(move) == 0 && moved && same_row(after.k[head][row], before.k[head][source], p->qk_dim));
        const int v = same_row(after.v[head][row], expected.v[head][row], p->v_dim) ||
                      (moved && same_row(after.v[head][row], before.v[head][source], p->v_dim));
        if (!k || !v)
          fail_msg("%s, %s: %s of head %d, position %d of rows %d to %d moved to %d", name, isa, k ? "v" : "k",
                   head, (int)row, (int)move->begin, (int)move->end, (int)move->to);
      }
  }
  for (int i = 0; i < c->made.memory_count; i++) assert_true(guarded_slack_intact(&c->made.memory[i]));
}

static int64_t round_down(int64_t number, int64_t step) {
  return number / step * step;
}

/* Where rows may go, if groups of `keys` must be whole. */
static void any_move(fovea_move *move, int64_t rows, int64_t keys, struct generator *generator) {
  const int64_t count = keys == 1 ? 1 + generator_below(generator, rows / 2)
                                  : keys + round_down(generator_below(generator, rows / 2), keys);
  move->to = round_down(generator_below(generator, rows - count + 1), keys);
  move->begin = generator_below(generator, rows - count + 1);
  if (generator_below(generator, 3) == 0) { /* a little way, over themselves */
    move->begin = move->to + generator_below(generator, 5) - 2;
    if (move->begin < 0) move->begin = 0;
    if (move->begin > rows - count) move->begin = rows - count;
  }
  move->end = move->begin + count;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static void check_format(const fovea_format *k, const fovea_format *v, int number, const char *name,
                         struct generator *generator) {
  const struct narrow sides[2] = {{.format = *k, .dim = 32}, {.format = *v, .dim = 32}};
  const int64_t keys = larger(narrow_keys_together(&sides[0]), narrow_keys_together(&sides[1]));
  const int64_t page_rows = keys > 1 ? larger(keys, 32) : number % 2 ? 16 : 13, dim = 32 * (1 + number % 2);
  struct caches c, other;
  fovea_rotary rotary;
  double frequencies[MOST_DIM / 2];
  if (page_rows % keys != 0) return;
  assert_true(PAGES * page_rows <= MOST_ROWS);
  const int64_t layers = 1 + number % LAYERS;
  make(&c, k, v, page_rows, dim, layers, (enum page_layout)(number % PAGE_LAYOUTS), (uint64_t)number);
  make(&other, k, v, page_rows, dim, layers, (enum page_layout)(number % PAGE_LAYOUTS), (uint64_t)number);
  for (int i = 0; i < USUAL_OR_LONG(4, 8); i++) {
    const char *const *isa = whole_isas_for(NULL);
    for (int skip = (number + i) % 4; skip > 0 && isa[1] != NULL; skip--) isa++;
    {
      fovea_move move;
      fovea_move_init(&move, NULL, KV_HEADS, dim, dim, 0, 0, 0);
      move.layers = layers;
      any_move(&move, rows_of(&c), keys, generator);
      fovea_rotary_init(&rotary, i % 2 ? FOVEA_ROTARY_HALVES : FOVEA_ROTARY_INTERLEAVED, i % 3 ? dim : dim / 2);
      for (int64_t f = 0; f < dim / 2; f++) frequencies[f] = 0.5 * (double)generator_uniform(generator);
      if (i % 4 == 1) rotary.frequencies = frequencies;
      if (i % 4 != 3) move.rotary = &rotary;
      if (i % 4 == 2) move.rotate_by = generator_below(generator, 2001) - 1000;
      if (i % 4 == 2) move.k_hadamard = 16;
      check_move(&c, &other, &move, *isa, name);
    }
  }
  narrow_pages_destroy(&c.made);
  narrow_pages_destroy(&other.made);
}

/* Every preset, for keys and for values. */
static void test_formats(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int name = 0; name < NARROW_FORMATS; name++)
    for (int i = 0; i < 2; i++) {
      const fovea_format k = narrow_format((fovea_format_name)name);
      const fovea_format v = i ? narrow_format((fovea_format_name)generator_below(&generator, NARROW_FORMATS)) : k;
      check_format(&k, &v, 2 * name + i + (int)generator_below(&generator, 4),
                   fovea_format_text((fovea_format_name)name), &generator);
    }
}

/* ---- Elements, and what is refused --------------------------------------------------------------------------- */

enum { ROWS = 80, HEAD_DIM = 40 };

/* A contiguous cache of elements, filled with rows that the type holds. */
struct elements {
  fovea_pages pages;
  fovea_segment segment;
  fovea_sequence sequence;
  float k_memory[KV_HEADS * ROWS * HEAD_DIM], v_memory[KV_HEADS * ROWS * HEAD_DIM];
};

static void make_elements(struct elements *e, fovea_type type, fovea_key_layout layout) {
  static float k[KV_HEADS][ROWS][HEAD_DIM], v[KV_HEADS][ROWS][HEAD_DIM];
  struct generator generator = {5};
  fovea_new_rows rows;
  memset(e, 0, sizeof *e);
  fovea_pages_init(&e->pages, 1, ROWS, KV_HEADS, HEAD_DIM, HEAD_DIM, type, layout);
  e->pages.k = e->k_memory;
  e->pages.v = e->v_memory;
  assert_int_equal(fovea_cache_contiguous(&e->pages, 0, &e->segment, NULL), FOVEA_OK);
  e->sequence = fovea_sequence_of(&e->segment, 1);
  for (int i = 0; i < KV_HEADS * ROWS * HEAD_DIM; i++) {
    ((float *)k)[i] = generator_uniform(&generator);
    ((float *)v)[i] = generator_uniform(&generator);
  }
  fovea_new_rows_init(&rows, 1, KV_HEADS, ROWS, HEAD_DIM, HEAD_DIM, k, v, &e->sequence);
  assert_int_equal(fovea_append(&rows, NULL, NULL, NULL), FOVEA_OK);
}

static void read_elements(const struct elements *e, struct numbers *n) {
  const fovea_segment segment = {.rows = ROWS,
                                 .k = n->k,
                                 .v = n->v,
                                 .k_head = MOST_ROWS * MOST_DIM,
                                 .k_row = MOST_DIM,
                                 .v_head = MOST_ROWS * MOST_DIM,
                                 .v_row = MOST_DIM};
  const fovea_sequence to = fovea_sequence_of(&segment, 1);
  assert_int_equal(fovea_sequence_copy(&e->sequence, &to, 1, KV_HEADS, HEAD_DIM, HEAD_DIM, 0, ROWS, NULL, NULL),
                   FOVEA_OK);
}

/* Rows over themselves, both ways. A key is what rotating its number in f32 and one rounding give. */
static void test_elements(void **state) {
  (void)state;
  static const int64_t moves[][3] = {{30, 70, 8}, {8, 60, 20}, {10, 50, 10}, {50, 80, 0}, {0, 40, 40}, {7, 8, 6}};
  static struct elements e;
  static struct numbers before, after;
  for (fovea_type type = FOVEA_F32; type <= FOVEA_BF16; type++)
    for (int panels = 0; panels < 2; panels++)
      for (int i = 0; i < 12; i++) {
        fovea_rotary rotary;
        fovea_move move;
        fovea_error error;
        make_elements(&e, type, panels ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS);
        read_elements(&e, &before);
        fovea_rotary_init(&rotary, i % 2 ? FOVEA_ROTARY_HALVES : FOVEA_ROTARY_INTERLEAVED, 24);
        fovea_move_init(&move, &e.sequence, KV_HEADS, HEAD_DIM, HEAD_DIM, moves[i / 2][0], moves[i / 2][1],
                        moves[i / 2][2]);
        if (i % 3) move.rotary = &rotary;
        if (i % 3 == 1) move.rotate_by = -12345;
        if (fovea_sequence_move(&move, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
        read_elements(&e, &after);
        for (int head = 0; head < KV_HEADS; head++)
          for (int64_t row = 0; row < ROWS; row++) {
            const int64_t source = row - move.to + move.begin;
            const int moved = source >= move.begin && source < move.end;
            float key[HEAD_DIM], rounded_key[HEAD_DIM];
            uint16_t halves[HEAD_DIM];
            memcpy(key, before.k[head][moved ? source : row], sizeof key);
            if (moved && turned_by(&move) != 0) {
              fovea_rotation rotation;
              fovea_rotation_init(&rotation, 1, 1, 1, HEAD_DIM, key,
                                  type == FOVEA_F32 ? (void *)rounded_key : halves);
              rotation.to_type = type;
              rotation.first_position = turned_by(&move);
              assert_int_equal(fovea_rotary_apply(&rotary, &rotation, NULL, NULL), FOVEA_OK);
              if (type != FOVEA_F32) numbers_load(type, halves, rounded_key, HEAD_DIM);
              memcpy(key, rounded_key, sizeof key);
            }
            assert_memory_equal(after.k[head][row], key, sizeof key);
            assert_memory_equal(after.v[head][row], before.v[head][moved ? source : row], sizeof key);
          }
      }
}

#define MOVE_REFUSED(change, status, word)                                                                         \
  do {                                                                                                             \
    fovea_move move;                                                                                               \
    fovea_rotary rotary;                                                                                           \
    fovea_error error;                                                                                             \
    fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, HEAD_DIM);                                                     \
    fovea_move_init(&move, &e.sequence, KV_HEADS, HEAD_DIM, HEAD_DIM, 30, 70, 8);                                  \
    move.rotary = &rotary;                                                                                         \
    change;                                                                                                        \
    const fovea_status actual = fovea_sequence_move(&move, NULL, &error);                                          \
    if (actual != (status)) fail_msg("%d, not %d: %s", actual, (int)(status), error.text);                         \
    assert_error_says(&error, word);                                                                               \
    assert_memory_equal(&e, &untouched, sizeof e);                                                                 \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  static struct elements e, untouched;
  static float tables[ROWS * HEAD_DIM / 2];
  fovea_execution with_scratch;
  fovea_error null_error;
  make_elements(&e, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  untouched = e;
  assert_int_equal(fovea_sequence_move(NULL, NULL, &null_error), FOVEA_ERROR_ARGUMENT);
  MOVE_REFUSED(move.struct_size = 8, FOVEA_ERROR_ARGUMENT, "move.struct_size: fovea_move_init");
  MOVE_REFUSED(move.sequence = NULL, FOVEA_ERROR_ARGUMENT, "sequence is NULL");
  MOVE_REFUSED(move.layers = 0, FOVEA_ERROR_ARGUMENT, "layers is 0");
  MOVE_REFUSED(move.layers = 2, FOVEA_ERROR_ARGUMENT,
               "layers: is 2, so the last layer is 1; sequences[0].segments[0]");
  MOVE_REFUSED(move.begin = -1, FOVEA_ERROR_ARGUMENT, "begin is -1");
  MOVE_REFUSED(move.end = 29, FOVEA_ERROR_ARGUMENT, "end is 29");
  MOVE_REFUSED(move.to = -8, FOVEA_ERROR_ARGUMENT, "to is -8");
  MOVE_REFUSED(move.end = 81, FOVEA_ERROR_ARGUMENT, "sequences[0]: positions 30 to 80 are wanted");
  MOVE_REFUSED(move.to = 41, FOVEA_ERROR_ARGUMENT, "sequences[0]: positions 41 to 80 are wanted");
  MOVE_REFUSED(move.rotary = NULL; move.rotate_by = -22, FOVEA_ERROR_UNUSED, "rotate_by");
  MOVE_REFUSED(move.rotary = NULL; move.k_hadamard = 8, FOVEA_ERROR_UNUSED, "k_hadamard");
  MOVE_REFUSED(move.k_hadamard = 16, FOVEA_ERROR_ARGUMENT, "k_hadamard");
  MOVE_REFUSED(move.qk_dim = 8192, FOVEA_ERROR_ARGUMENT, "qk_dim is 8192; keys that are rotated have at most 4096");
  MOVE_REFUSED(move.qk_dim = 8192; move.k_hadamard = 2, FOVEA_ERROR_ARGUMENT, "k_hadamard: the dim is 8192");
  MOVE_REFUSED(move.rotate_by = (INT64_C(1) << 40) + 1, FOVEA_ERROR_ARGUMENT,
               "rotate_by rotates keys by 1099511627777");
  MOVE_REFUSED(rotary.dims = 42, FOVEA_ERROR_ARGUMENT, "dims is 42");
  MOVE_REFUSED(rotary.cosines = rotary.sines = tables;
               rotary.table_rows = ROWS, FOVEA_ERROR_ARGUMENT, "rotary: tables");
  MOVE_REFUSED(rotary.frequencies = (const double *)(const void *)(e.k_memory + 8 * HEAD_DIM), FOVEA_ERROR_ARGUMENT,
               "sequences[0].segments[0].k: frequencies");
  fovea_move good;
  fovea_move_init(&good, &e.sequence, KV_HEADS, HEAD_DIM, HEAD_DIM, 30, 70, 8);
  assert_int_equal(fovea_sequence_move(&good, on_isa("sse9"), NULL), FOVEA_ERROR_ARGUMENT);
  assert_memory_equal(&e, &untouched, sizeof e);
  fovea_execution_init(&with_scratch);
  with_scratch.scratch = tables;
  with_scratch.scratch_size = sizeof tables;
  fovea_move move;
  fovea_move_init(&move, &e.sequence, KV_HEADS, HEAD_DIM, HEAD_DIM, 30, 70, 8);
  assert_int_equal(fovea_sequence_move(&move, &with_scratch, NULL), FOVEA_ERROR_UNUSED);
  fovea_move_init(&move, &e.sequence, KV_HEADS, HEAD_DIM, HEAD_DIM, 30, 30, 8); /* no rows */
  assert_int_equal(fovea_sequence_move(&move, NULL, NULL), FOVEA_OK);

  /* Two pages with the same memory: what is read is not what is written. */
  fovea_segment shared[2] = {e.segment, e.segment};
  shared[1].first = ROWS;
  const fovea_sequence twice = fovea_sequence_of(shared, 2);
  MOVE_REFUSED(move.sequence = &twice; move.begin = ROWS; move.end = ROWS + 20;
               move.to = 10, FOVEA_ERROR_ARGUMENT, "sequences[0].segments[0].k: share memory");
}

/* Groups of keys that are too large for the stack may not be written over the rows that they are made from. */
static void test_large_groups(void **state) {
  (void)state;
  enum { GROUP = 32, DIM = 256, KEYS = 128 };
  struct generator generator = {7};
  const fovea_format kivi = narrow_format(FOVEA_FORMAT_KIVI_K4);
  struct narrow_pages made;
  fovea_segment segment;
  fovea_rotary rotary;
  fovea_move move;
  fovea_error error;
  narrow_pages_make(&made, &kivi, NULL, 1, KEYS, 1, DIM, DIM, 1, PAGES_DEFAULT, &generator);
  assert_int_equal(fovea_cache_contiguous(&made.pages, 0, &segment, NULL), FOVEA_OK);
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, DIM);
  fovea_move_init(&move, &sequence, 1, DIM, DIM, 40, 104, 32);
  move.rotary = &rotary;
  assert_int_equal(fovea_sequence_move(&move, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "to is 8 positions away, and sequences[0].segments[0].k is written in groups of 32 "
                            "keys with more than 4096 numbers");
  assert_error_says(&error, "to: groups of 32 keys");
  move.begin = 64, move.end = 128;
  assert_int_equal(fovea_sequence_move(&move, NULL, &error), FOVEA_OK);
  move.to = 33; /* not at a group */
  assert_int_equal(fovea_sequence_move(&move, NULL, &error), FOVEA_ERROR_ARGUMENT);
  narrow_pages_destroy(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formats),
      cmocka_unit_test(test_elements),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_large_groups),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
