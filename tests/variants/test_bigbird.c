/* BigBird: lists of blocks against a plain statement of the rule, and attention over them against a mask of the
 * same meaning and a formula in double. */
#include "contract_longformer.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/generator.h"
#include "support/memory.h"

#include <fovea/sparse_attention.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = -77 };

/* The lists of `blocks` blocks; numbers after them stay. */
static int64_t *draw(uint64_t seed, int64_t blocks, int64_t chosen, int64_t **columns) {
  const int64_t count = fovea_nn_bigbird_columns(blocks, chosen);
  int64_t *starts = malloc((size_t)(blocks + 2) * sizeof *starts);
  fovea_error error;
  *columns = malloc((size_t)(count + 1) * sizeof **columns);
  assert_true(starts && *columns);
  starts[blocks + 1] = (*columns)[count] = UNTOUCHED;
  if (fovea_nn_bigbird_blocks(seed, blocks, chosen, starts, *columns, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  assert_int_equal(starts[blocks + 1], UNTOUCHED);
  assert_int_equal((*columns)[count], UNTOUCHED);
  assert_int_equal(starts[blocks], count);
  return starts;
}

/* A list has what the rule names, ascending, and as many more blocks as there are to draw, up to `chosen`. */
static void assert_list(int64_t blocks, int64_t chosen, int64_t row, const int64_t *list, int64_t count) {
  int64_t drawn = 0, may_draw = 0;
  for (int64_t j = 0, at = 0; j < blocks; j++) {
    const int listed = at < count && list[at] == j;
    at += listed;
    if (contract_bigbird_sees(blocks, row, j)) {
      assert_true(listed);
    } else {
      const int may = contract_bigbird_may_draw(blocks, row, j);
      assert_true(may || !listed);
      may_draw += may;
      drawn += listed;
    }
    if (j == blocks - 1) assert_int_equal(at, count);
  }
  assert_int_equal(drawn, may_draw < chosen ? may_draw : chosen);
}

static void test_lists(void **state) {
  (void)state;
  for (int64_t blocks = 1; blocks < 24; blocks++)
    for (int64_t chosen = 0; chosen < 26; chosen++) {
      int64_t *columns, *starts = draw((uint64_t)(blocks * 100 + chosen), blocks, chosen, &columns);
      for (int64_t i = 0; i < blocks; i++)
        assert_list(blocks, chosen, i, columns + starts[i], starts[i + 1] - starts[i]);
      free(starts);
      free(columns);
    }
}

/* The numbers that are drawn are the numbers of fovea_random_blocks(), counted over the blocks that may be
 * drawn. */
static void test_draws(void **state) {
  (void)state;
  enum { BLOCKS = 40, CHOSEN = 3 };
  int64_t plain_starts[BLOCKS], plain[BLOCKS * CHOSEN], *columns, *starts = draw(11, BLOCKS, CHOSEN, &columns);
  assert_int_equal(fovea_random_blocks(11, BLOCKS - 2, BLOCKS - 5, CHOSEN, plain_starts, plain, NULL), FOVEA_OK);
  for (int64_t i = 1; i < BLOCKS - 1; i++)
    for (int64_t j = 0, number = 0, next = 0; j < BLOCKS; j++) {
      if (!contract_bigbird_may_draw(BLOCKS, i, j)) continue;
      int listed = 0;
      for (int64_t c = starts[i]; c < starts[i + 1]; c++) listed |= columns[c] == j;
      assert_int_equal(listed, next < CHOSEN && plain[(i - 1) * CHOSEN + next] == number);
      next += listed;
      number++;
    }
  free(starts);
  free(columns);
}

/* Each block is drawn about as often as any other: 64 seeds, 38 rows of 3 out of 35. */
static void test_even(void **state) {
  (void)state;
  enum { BLOCKS = 40, SEEDS = 64 };
  int64_t counts[BLOCKS] = {0};
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    int64_t *columns, *starts = draw(seed, BLOCKS, 3, &columns);
    for (int64_t i = 1; i < BLOCKS - 1; i++)
      for (int64_t c = starts[i]; c < starts[i + 1]; c++)
        counts[columns[c]] += !contract_bigbird_sees(BLOCKS, i, columns[c]);
    free(starts);
    free(columns);
  }
  for (int j = 2; j < BLOCKS - 2; j++) assert_in_range(counts[j], 140, 250); /* 192 on average, deviation 13.5 */
}

/* ---- Attention ---------------------------------------------------------------------------------------------- */

/* Which blocks a head's rows see, by its lists. */
static int sees(const fovea_nn_bigbird *b, int64_t head, int64_t row, int64_t key) {
  const int64_t blocks = (b->length - 1) / b->block_size + 1, i = row / b->block_size;
  int64_t *columns, *starts = draw(b->seed + (uint64_t)head, blocks, b->chosen, &columns);
  int seen = 0;
  for (int64_t c = starts[i]; c < starts[i + 1]; c++) seen |= columns[c] == key / b->block_size;
  free(starts);
  free(columns);
  return seen;
}

static void fill(float *numbers, int64_t count, struct generator *g) {
  for (int64_t i = 0; i < count; i++) numbers[i] = generator_uniform(g);
}

/* A row by the formula. */
static void assert_row(const float *q, const float *k, const float *v, const float *o, const unsigned char *mask,
                       int64_t length, int64_t dim) {
  double sum = 0, *out = calloc((size_t)dim, sizeof *out);
  assert_non_null(out);
  for (int64_t j = 0; j < length; j++) {
    double dot = 0;
    for (int64_t d = 0; d < dim; d++) dot += (double)q[d] * (double)k[j * dim + d];
    const double weight = mask[j] ? exp(dot / sqrt((double)dim)) : 0;
    sum += weight;
    for (int64_t d = 0; d < dim; d++) out[d] += weight * (double)v[j * dim + d];
  }
  /* Section 8, with A at most sqrt(dim) and |v| at most 1. */
  for (int64_t d = 0; d < dim; d++)
    assert_true(fabs(out[d] / sum - (double)o[d]) <= 16 * 0x1p-24 * (2 + sqrt((double)dim)));
  free(out);
}

static void check_attention(int64_t length, int64_t block_size, int64_t heads, int64_t lists) {
  enum { DIM = 8 };
  struct generator g = {(uint64_t)(length * 7 + block_size)};
  const int64_t numbers = heads * length * DIM;
  float *q = malloc((size_t)(3 * numbers) * sizeof *q), *o = malloc((size_t)(2 * numbers) * sizeof *o);
  unsigned char *mask = malloc((size_t)(heads * length * length));
  fovea_nn_bigbird b;
  fovea_pattern *pattern;
  fovea_problem p;
  fovea_tensors t;
  fovea_error error;
  assert_true(q && o && mask);
  const float *k = q + numbers, *v = k + numbers;
  float *masked = o + numbers;
  fill(q, 3 * numbers, &g);
  fovea_nn_bigbird_init(&b, length);
  b.block_size = block_size;
  b.seed = 5;
  b.heads = lists;
  if (fovea_nn_bigbird_pattern(&b, &pattern, &error) != FOVEA_OK) fail_msg("%s", error.text);
  for (int64_t h = 0; h < heads; h++)
    for (int64_t i = 0; i < length; i += block_size)
      for (int64_t j = 0; j < length; j += block_size) {
        const int seen = sees(&b, h % lists, i, j);
        for (int64_t r = i; r < i + block_size && r < length; r++)
          for (int64_t c = j; c < j + block_size && c < length; c++) {
            mask[(h * length + r) * length + c] = (unsigned char)seen;
            assert_int_equal(fovea_pattern_sees(pattern, h % lists, r, c), seen);
          }
      }
  fovea_problem_init(&p, 1, heads, heads, length, length, DIM, DIM);
  p.pattern = pattern;
  fovea_tensors_init(&t, q, k, v, o, NULL);
  if (fovea_attend(&p, &t, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  p.pattern = NULL;
  p.mask.type = FOVEA_MASK_BOOL;
  t.mask = mask;
  t.o = masked;
  if (fovea_attend(&p, &t, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_memory_equal(o, masked, (size_t)numbers * sizeof *o);
  for (int64_t r = 0; r < heads * length; r += 3)
    assert_row(q + r * DIM, k + r / length * length * DIM, v + r / length * length * DIM, o + r * DIM,
               mask + r * length, length, DIM);
  fovea_pattern_destroy(pattern);
  free(q);
  free(o);
  free(mask);
}

static void test_attention(void **state) {
  (void)state;
  check_attention(160, 16, 2, 2);
  check_attention(150, 16, 2, 1); /* the last block is shorter */
  check_attention(45, 16, 1, 1);  /* three blocks: all of them */
  check_attention(37, 3, 3, 3);
  check_attention(1, 64, 1, 1);
  if (USUAL_OR_LONG(0, 1)) check_attention(640, 64, 1, 1);
}

/* ---- Refusals ----------------------------------------------------------------------------------------------- */

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    fovea_nn_bigbird b;                                                                                            \
    fovea_pattern *pattern = (fovea_pattern *)(void *)&b;                                                          \
    fovea_error error = {.text = ""};                                                                              \
    fovea_nn_bigbird_init(&b, 1000);                                                                               \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_bigbird_pattern(&b, &pattern, &error), status);                                      \
    assert_error_says(&error, word);                                                                               \
    assert_null(pattern);                                                                                          \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  int64_t numbers[32];
  fovea_pattern *pattern;
  assert_int_equal(fovea_nn_bigbird_pattern(NULL, &pattern, NULL), FOVEA_ERROR_ARGUMENT);
  REFUSED(b.struct_size++, FOVEA_ERROR_ARGUMENT, "bigbird.struct_size");
  REFUSED(b.length = -1, FOVEA_ERROR_ARGUMENT, "bigbird.length is -1");
  REFUSED(b.length = INT64_C(1) << 31, FOVEA_ERROR_ARGUMENT, "bigbird.length is 2147483648");
  REFUSED(b.block_size = 0, FOVEA_ERROR_ARGUMENT, "bigbird.block_size is 0");
  REFUSED(b.chosen = -1, FOVEA_ERROR_ARGUMENT, "bigbird.chosen is -1");
  REFUSED(b.heads = 0, FOVEA_ERROR_ARGUMENT, "bigbird.heads is 0");
  for (int allowed = 0; allowed < 2; allowed++) {
    int left = allowed;
    REFUSED(b.allocator = memory_allocator(&left), FOVEA_ERROR_MEMORY, "No memory");
  }
  assert_int_equal(fovea_nn_bigbird_blocks(0, 0, 1, numbers, numbers, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_bigbird_blocks(0, 4, -1, numbers, numbers, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_bigbird_blocks(0, 4, 1, NULL, numbers, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_bigbird_blocks(0, 4, 1, numbers, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_bigbird_columns(0, 1), 0);
  assert_int_equal(fovea_nn_bigbird_columns(INT64_C(1) << 32, 1), 0);
  assert_int_equal(fovea_nn_bigbird_columns(10, -1), 0);
  assert_int_equal(fovea_nn_bigbird_columns(INT64_MIN, 1), 0); /* nothing overflows */
  assert_int_equal(fovea_nn_bigbird_columns(INT64_MAX, INT64_MAX), 0);
}

/* A pattern of no rows and no keys is one that a problem of no rows takes. */
static void test_no_rows(void **state) {
  (void)state;
  for (int64_t heads = 1; heads <= 2; heads++) {
    fovea_nn_bigbird b;
    fovea_pattern *pattern;
    fovea_problem p;
    fovea_tensors t;
    fovea_error error = {.text = ""};
    fovea_nn_bigbird_init(&b, 0);
    b.heads = heads;
    if (fovea_nn_bigbird_pattern(&b, &pattern, &error)) fail_msg("%s", error.text);
    fovea_problem_init(&p, 1, heads, heads, 0, 0, 8, 8);
    p.pattern = pattern;
    fovea_tensors_init(&t, NULL, NULL, NULL, NULL, NULL);
    assert_int_equal(fovea_attend(&p, &t, NULL, &error), FOVEA_OK);
    fovea_pattern_destroy(pattern);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lists),     cmocka_unit_test(test_draws),   cmocka_unit_test(test_even),
      cmocka_unit_test(test_attention), cmocka_unit_test(test_refused), cmocka_unit_test(test_no_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
