/* Calls of BigBird: the lists of blocks, and the pattern that is made of them, over which a problem attends. */
#include "nn_scene.h"

#include "expect.h"

#include <fovea/sparse_attention.h>

#include <math.h>
#include <stddef.h>

extern const struct nn_kind nn_kind_bigbird_blocks, nn_kind_bigbird;

static struct { int64_t seed, blocks, chosen; } lists;
static int64_t *starts, *columns;

static void make_blocks(struct nn_scene *s) {
  static const struct field fields[] = {
      {FIELD_LONG, offsetof(__typeof__(lists), blocks)},
      {FIELD_LONG, offsetof(__typeof__(lists), chosen)},
  };
  lists.seed = nn_below(s, 256);
  lists.blocks = nn_size(s, 30);
  lists.chosen = nn_below(s, 12);
  NN_EDIT(s, &lists, fields);
  const int wild = s->wild;
  s->wild = 0; /* lists of integers are the caller's own, and aligned */
  const int64_t count = fovea_nn_bigbird_columns(lists.blocks, lists.chosen);
  starts = nn_list(s, lists.blocks < 9999 ? lists.blocks + 1 : INT64_C(1) << 40, 1);
  columns = nn_list(s, count, 1);
  s->wild = wild;
  EXPECT(count == 0 || lists.blocks > 9999 || count <= lists.blocks * (5 + lists.chosen) + 2 * lists.blocks);
}

/* All columns are numbers of blocks, ascending; each block sees itself and its neighbours. */
static void check_lists(void) {
  EXPECT(starts[0] == 0 && starts[lists.blocks] == fovea_nn_bigbird_columns(lists.blocks, lists.chosen));
  for (int64_t row = 0; row < lists.blocks; row++) {
    int found = 0;
    for (int64_t i = starts[row]; i < starts[row + 1]; i++) {
      EXPECT(columns[i] >= 0 && columns[i] < lists.blocks && (i == starts[row] || columns[i] > columns[i - 1]));
      found += columns[i] >= row - 1 && columns[i] <= row + 1;
    }
    EXPECT(found == 1 + (row > 0) + (row < lists.blocks - 1));
  }
}

static fovea_status run_blocks(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)e;
  if (s->cannot_be) starts = columns = NULL; /* memory of another size is no one's fault */
  const fovea_status status =
      fovea_nn_bigbird_blocks((uint64_t)lists.seed, lists.blocks, lists.chosen, starts, columns, error);
  if (status == FOVEA_OK) check_lists();
  return status;
}

static int blocks_have_meaning(const struct nn_scene *s) {
  (void)s;
  return lists.blocks >= 1 && lists.chosen >= 0 && starts && columns;
}

const struct nn_kind nn_kind_bigbird_blocks = {make_blocks, run_blocks, blocks_have_meaning, 0, NULL, 0};

static fovea_nn_bigbird bigbird;
static float *q, *o;
static int64_t heads;
enum { DIM = 4 };

#define B_FIELD(name, kind) NN_FIELD(fovea_nn_bigbird, name, kind)

static void make_pattern(struct nn_scene *s) {
  static const struct field fields[] = {
      B_FIELD(length, LONG), B_FIELD(block_size, LONG), B_FIELD(chosen, LONG),
      B_FIELD(seed, LONG),   B_FIELD(heads, LONG),      B_FIELD(struct_size, SIZE),
  };
  fovea_nn_bigbird *b = &bigbird;
  fovea_nn_bigbird_init(b, nn_below(s, 100));
  b->block_size = nn_size(s, 16);
  b->chosen = nn_below(s, 6);
  b->seed = (uint64_t)nn_below(s, 256);
  heads = nn_size(s, 4);
  if (bytes_one_in(s->bytes, 2)) b->heads = heads;
  NN_EDIT(s, b, fields);
  const int64_t length = b->length >= 0 && b->length < 9999 ? b->length : 0;
  const fovea_strides strides = {0, length * DIM, DIM};
  q = nn_rows_of(s, 1, heads, length, DIM, strides, FOVEA_F32);
  o = nn_rows_of(s, 1, heads, length, DIM, strides, FOVEA_F32);
  if (b->length < 0 || b->block_size < 1 || b->chosen < 0 || b->heads < 1 || b->heads > 4096) return; /* refused */
  const double blocks = (double)b->length / (double)b->block_size + 1;
  const double chosen = (double)b->chosen < blocks ? (double)b->chosen : blocks;
  s->work =
      (double)b->heads * blocks * (chosen * chosen + 30) + (double)heads * (double)length * (double)length * DIM;
}

static fovea_status run_pattern(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  fovea_pattern *pattern = (fovea_pattern *)s;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_status status = fovea_nn_bigbird_pattern(&bigbird, &pattern, error);
  EXPECT(!pattern == (status != FOVEA_OK));
  if (status) return status;
  fovea_problem_init(&problem, 1, heads, heads, bigbird.length, bigbird.length, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  problem.pattern = pattern;
  fovea_tensors_init(&tensors, q, q, q, o, NULL);
  status = fovea_attend(&problem, &tensors, e, error);
  fovea_pattern_destroy(pattern);
  return status;
}

static int pattern_has_meaning(const struct nn_scene *s) {
  const fovea_nn_bigbird *b = &bigbird;
  (void)s;
  return b->struct_size == sizeof *b && b->length >= 0 && b->block_size >= 1 && b->chosen >= 0 && b->heads >= 1;
}

const struct nn_kind nn_kind_bigbird = {make_pattern, run_pattern, pattern_has_meaning, 1, NULL, 0};
