/* Dropout: Philox by the vectors that its authors publish, and rows number by number with a Philox of its own:
 * types, strides, chances, special values, instruction sets, threads, parts of a batch, refusals. */
#include "nn/contract_rows.h"
#include "nn/layer.h"
#include "src/base/philox.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <fovea/nn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Random123's kat_vectors. */
static void test_known_answers(void **state) {
  (void)state;
  static const struct {
    fovea_philox counter;
    uint32_t key[2];
    fovea_philox answer;
  } vectors[] = {
      {{{0}}, {0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{~0u, ~0u, ~0u, ~0u}}, {~0u, ~0u}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       {0xa4093822, 0x299f31d0},
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
  };
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    const fovea_philox actual = fovea_philox_at(vectors[i].counter, vectors[i].key[0], vectors[i].key[1]);
    assert_memory_equal(&actual, &vectors[i].answer, sizeof actual);
  }
  for (uint64_t i = 0; i < 4; i++) assert_int_equal(contract_random(0, 0, i), vectors[0].answer.word[i]);
}

struct drops {
  struct matrix x, y;
  fovea_nn_dropout_rows rows;
  float *expected;
};

static void make_expected(struct drops *drops) {
  const fovea_nn_dropout_rows *r = &drops->rows;
  for (int64_t i = 0; i < r->rows * r->dim; i++) {
    const uint32_t number = contract_random(r->seed, r->stream, (uint64_t)(r->first_row * r->dim + i));
    drops->expected[i] = contract_dropout(drops->x.numbers[i], r->p, number);
  }
}

static void drops_create(struct drops *drops, int64_t rows, int64_t dim, float p, fovea_type x_type,
                         fovea_type y_type, int padding, struct generator *generator) {
  drops->x = matrix_create(rows, dim, dim + padding, x_type, 10, generator);
  drops->y = matrix_create(rows, dim, dim + 2 * padding, y_type, 0, generator);
  fovea_nn_dropout_rows *r = &drops->rows;
  fovea_nn_dropout_rows_init(r, rows, dim, drops->x.memory.data, drops->y.memory.data);
  r->x_type = x_type;
  r->y_type = y_type;
  r->x_stride = drops->x.stride;
  r->y_stride = drops->y.stride;
  r->p = p;
  r->seed = generator_bits(generator);
  r->stream = generator_bits(generator) >> generator_below(generator, 64);
  r->first_row = generator_below(generator, 3) ? 0 : generator_below(generator, INT64_C(1) << 45);
  drops->expected = malloc((size_t)(rows * dim + 1) * sizeof(float));
  assert_non_null(drops->expected);
  make_expected(drops);
}

static void drops_destroy(struct drops *drops) {
  matrix_destroy(&drops->x);
  matrix_destroy(&drops->y);
  free(drops->expected);
}

static void assert_drops(struct drops *drops, const fovea_execution *execution) {
  fovea_error error;
  matrix_spoil(&drops->y);
  if (fovea_nn_dropout(&drops->rows, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_matrix(&drops->y, drops->expected);
}

static void test_all(void **state) {
  (void)state;
  static const float chances[] = {0, 0.1f, 0.5f, 0.999f, 1, 0x1p-149f, 0x1p-32f, 0x1.fffffep-1f};
  struct generator generator = {1};
  for (int i = 0; i < USUAL_OR_LONG(60, 400); i++) {
    struct drops drops;
    drops_create(&drops, generator_below(&generator, 6), 1 + generator_below(&generator, i % 20 ? 60 : 700),
                 chances[generator_below(&generator, 8)], (fovea_type)generator_below(&generator, 3),
                 (fovea_type)generator_below(&generator, 3), (int)generator_below(&generator, 4), &generator);
    for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
      assert_drops(&drops, on_isa(*isa));
    }
    drops_destroy(&drops);
  }
}

/* Threads; and rows one by one and in place. */
static void test_tasks(void **state) {
  (void)state;
  struct generator generator = {2};
  struct drops drops;
  fovea_execution execution;
  drops_create(&drops, 500, 301, 0.25f, FOVEA_F32, FOVEA_F32, 0, &generator);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) assert_drops(&drops, &execution);
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    assert_drops(&drops, &execution);
    assert_int_equal(executor.calls, 1);
  }
  memcpy(drops.y.memory.data, drops.x.memory.data, drops.y.memory.size);
  drops.rows.x = drops.rows.y;
  drops.rows.rows = 1;
  for (int row = 0; row < 500; row++, drops.rows.first_row++) {
    assert_int_equal(fovea_nn_dropout(&drops.rows, NULL, NULL), FOVEA_OK);
    drops.rows.x = drops.rows.y = (float *)drops.rows.y + 301;
  }
  assert_matrix(&drops.y, drops.expected);
  drops_destroy(&drops);
}

/* A number below p 2^32 by a half is dropped, one that is equal is kept. */
static void test_border(void **state) {
  (void)state;
  uint64_t index = 0;
  while (contract_random(7, 0, index) >= 1u << 22) index++;
  const uint32_t number = contract_random(7, 0, index);
  float x = 3.0f, y;
  fovea_nn_dropout_rows rows;
  fovea_nn_dropout_rows_init(&rows, 1, 1, &x, &y);
  rows.seed = 7;
  rows.first_row = (int64_t)index;
  for (int half = 0; half < 2; half++) {
    rows.p = ((float)number + 0.5f * (float)half) * 0x1p-32f;
    assert_int_equal(fovea_nn_dropout(&rows, NULL, NULL), FOVEA_OK);
    assert_true(half ? y == 0 : y >= 3);
  }
}

/* How many are dropped: within five standard deviations. */
static void test_share(void **state) {
  (void)state;
  enum { COUNT = 1 << 18 };
  static float numbers[COUNT];
  for (int i = 1; i < 8; i++) {
    fovea_nn_dropout_rows rows;
    for (int j = 0; j < COUNT; j++) numbers[j] = 1;
    fovea_nn_dropout_rows_init(&rows, 1, COUNT, numbers, numbers);
    rows.p = (float)i / 8;
    rows.seed = (uint64_t)i;
    assert_int_equal(fovea_nn_dropout(&rows, NULL, NULL), FOVEA_OK);
    int dropped = 0;
    for (int j = 0; j < COUNT; j++) dropped += numbers[j] == 0;
    const double p = (double)rows.p;
    assert_true(fabs(dropped - p * COUNT) < 5 * sqrt(COUNT * p * (1 - p)));
  }
}

static float numbers[3 * 4 * 8], input[4 * 8];

static void assert_refused(const fovea_nn_dropout_rows *rows, fovea_status status, const char *text) {
  fovea_error error = {.text = ""};
  memset(numbers, 0x3a, sizeof numbers);
  const fovea_status actual = fovea_nn_dropout(rows, NULL, &error);
  if (actual != status) fail_msg("%d \"%s\", not %d \"%s\"", (int)actual, error.text, (int)status, text);
  assert_error_says(&error, text);
  for (size_t i = 0; i < sizeof numbers; i++) assert_int_equal(((const unsigned char *)numbers)[i], 0x3a);
}

#define REFUSED_CALL(change, status, text)                                                                         \
  do {                                                                                                             \
    fovea_nn_dropout_rows rows;                                                                                    \
    fovea_nn_dropout_rows_init(&rows, 4, 8, input, numbers + 32);                                                  \
    rows.p = 0.5f;                                                                                                 \
    rows.seed = 1;                                                                                                 \
    change;                                                                                                        \
    assert_refused(&rows, status, text);                                                                           \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  assert_int_equal(fovea_nn_dropout(NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  REFUSED_CALL(rows.struct_size--, FOVEA_ERROR_ARGUMENT, "rows.struct_size");
  REFUSED_CALL(rows.rows = -1, FOVEA_ERROR_ARGUMENT, "rows is -1");
  REFUSED_CALL(rows.dim = 0, FOVEA_ERROR_ARGUMENT, "dim is 0");
  REFUSED_CALL(rows.first_row = -1, FOVEA_ERROR_ARGUMENT, "first_row is -1");
  REFUSED_CALL((rows.first_row = INT64_C(1) << 40, rows.dim = INT64_C(1) << 40), FOVEA_ERROR_ARGUMENT,
               "first_row: 2^62");
  REFUSED_CALL(rows.p = -0.5f, FOVEA_ERROR_ARGUMENT, "p is -0.5");
  REFUSED_CALL(rows.p = 1.5f, FOVEA_ERROR_ARGUMENT, "p is 1.5");
  REFUSED_CALL(rows.p = NAN, FOVEA_ERROR_ARGUMENT, "p is nan");
  REFUSED_CALL(rows.x = NULL, FOVEA_ERROR_ARGUMENT, "x is NULL");
  REFUSED_CALL(rows.y = NULL, FOVEA_ERROR_ARGUMENT, "y is NULL");
  REFUSED_CALL(rows.y_stride = 7, FOVEA_ERROR_ARGUMENT, "y_stride");
  REFUSED_CALL(rows.x_type = (fovea_type)-1, FOVEA_ERROR_ARGUMENT, "x_type is -1");
  REFUSED_CALL(rows.x = numbers + 33, FOVEA_ERROR_ARGUMENT, "y shares memory with x");
  fovea_nn_dropout_rows whole;
  fovea_nn_dropout_rows_init(&whole, 4, 8, input, numbers + 32);
  assert_int_equal(fovea_nn_dropout(&whole, on_isa("abacus"), NULL), FOVEA_ERROR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_answers), cmocka_unit_test(test_all),    cmocka_unit_test(test_tasks),
      cmocka_unit_test(test_share),         cmocka_unit_test(test_border), cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
