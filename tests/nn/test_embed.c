/* Embeddings, number by number: sizes, types, strides, ids of both types, tables that are there or not, special
 * values, instruction sets, threads, refusals. */
#include "nn/layer.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <fovea/embedding.h>
#include <fovea/nn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS, TYPES, POSITIONS, TABLES };

struct lookup {
  struct matrix tables[TABLES], y; /* an absent table has no numbers */
  int64_t *ids[TABLES];
  int32_t *short_ids[TABLES];
  fovea_nn_embedding embedding;
  fovea_nn_embedding_rows rows;
  float *expected;
};

struct lookup_case {
  int64_t rows, dim;
  int with[TABLES], type[TABLES];
  fovea_type y_type;
  fovea_nn_id_type id_type;
  int padding, first_position, special; /* first_position: -1: ids */
  float scale;
};

static void make_ids(struct lookup *l, const struct lookup_case *c, struct generator *generator) {
  for (int i = 0; i < TABLES; i++) {
    l->ids[i] = malloc((size_t)(c->rows + 1) * sizeof **l->ids);
    l->short_ids[i] = malloc((size_t)(c->rows + 1) * sizeof **l->short_ids);
    assert_true(l->ids[i] && l->short_ids[i]);
    for (int64_t r = 0; r < c->rows && l->tables[i].numbers; r++) {
      const int counted = i == POSITIONS && c->first_position >= 0;
      l->ids[i][r] = counted ? c->first_position + r : generator_below(generator, l->tables[i].rows);
      l->short_ids[i][r] = (int32_t)l->ids[i][r];
    }
  }
}

static void make_expected(struct lookup *l, const struct lookup_case *c) {
  l->expected = malloc((size_t)(c->rows * c->dim + 1) * sizeof(float));
  assert_non_null(l->expected);
  for (int64_t r = 0; r < c->rows; r++)
    for (int64_t d = 0; d < c->dim; d++) {
      float y = l->tables[TOKENS].numbers[l->ids[TOKENS][r] * c->dim + d] * c->scale;
      if (c->with[TYPES]) y = y + l->tables[TYPES].numbers[l->ids[TYPES][r] * c->dim + d];
      if (c->with[POSITIONS]) y = y + l->tables[POSITIONS].numbers[l->ids[POSITIONS][r] * c->dim + d];
      l->expected[r * c->dim + d] = y;
    }
}

static fovea_nn_table table_of(const struct matrix *m) {
  return (fovea_nn_table){m->memory.data, m->rows, m->type, m->stride};
}

static void lookup_create(struct lookup *l, const struct lookup_case *c, struct generator *generator) {
  const int64_t counts[TABLES] = {50, 2, c->rows + 40};
  memset(l, 0, sizeof *l);
  for (int i = 0; i < TABLES; i++)
    if (i == TOKENS || c->with[i])
      l->tables[i] =
          matrix_create(counts[i], c->dim, c->dim + i * c->padding, (fovea_type)c->type[i], c->special, generator);
  l->y = matrix_create(c->rows, c->dim, c->dim + c->padding, c->y_type, 0, generator);
  make_ids(l, c, generator);
  make_expected(l, c);
  const int is_long = c->id_type == FOVEA_NN_INT64;
  const void *ids[TABLES];
  for (int i = 0; i < TABLES; i++) ids[i] = is_long ? (const void *)l->ids[i] : (const void *)l->short_ids[i];
  fovea_nn_embedding_init(&l->embedding, c->dim, counts[TOKENS], l->tables[TOKENS].memory.data);
  l->embedding.tokens = table_of(&l->tables[TOKENS]);
  if (c->with[TYPES]) l->embedding.token_types = table_of(&l->tables[TYPES]);
  if (c->with[POSITIONS]) l->embedding.positions = table_of(&l->tables[POSITIONS]);
  l->embedding.scale = c->scale;
  fovea_nn_embedding_rows_init(&l->rows, &l->embedding, c->rows, ids[TOKENS], l->y.memory.data);
  l->rows.id_type = c->id_type;
  l->rows.y_type = c->y_type;
  l->rows.y_stride = l->y.stride;
  if (c->with[TYPES]) l->rows.token_type_ids = ids[TYPES];
  if (c->with[POSITIONS] && c->first_position < 0) l->rows.position_ids = ids[POSITIONS];
  if (c->with[POSITIONS] && c->first_position > 0) l->rows.first_position = c->first_position;
}

static void lookup_destroy(struct lookup *l) {
  for (int i = 0; i < TABLES; i++) {
    if (l->tables[i].numbers) matrix_destroy(&l->tables[i]);
    free(l->ids[i]);
    free(l->short_ids[i]);
  }
  matrix_destroy(&l->y);
  free(l->expected);
}

static void assert_lookup(struct lookup *l, const fovea_execution *execution) {
  fovea_error error;
  matrix_spoil(&l->y);
  if (fovea_nn_embed(&l->embedding, &l->rows, execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
  assert_matrix(&l->y, l->expected);
}

static void check_case(const struct lookup_case *c, struct generator *generator) {
  struct lookup lookup;
  lookup_create(&lookup, c, generator);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    assert_lookup(&lookup, on_isa(*isa));
  }
  lookup_destroy(&lookup);
}

static void test_all(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int i = 0; i < USUAL_OR_LONG(100, 1000); i++) {
    struct lookup_case c = {.rows = generator_below(&generator, 9), .dim = 1 + generator_below(&generator, 90)};
    for (int t = 0; t < TABLES; t++) {
      c.with[t] = (int)generator_below(&generator, 2);
      c.type[t] = (int)generator_below(&generator, 3);
    }
    c.y_type = (fovea_type)generator_below(&generator, 3);
    c.id_type = (fovea_nn_id_type)generator_below(&generator, 2);
    c.padding = (int)generator_below(&generator, 4);
    c.first_position = (int)generator_below(&generator, 42) - 1;
    c.special = generator_below(&generator, 2) ? 10 : 0;
    c.scale = generator_below(&generator, 2) ? 1.0f : 0x1.6a09e6p4f;
    check_case(&c, &generator);
  }
}

static void test_threads(void **state) {
  (void)state;
  struct generator generator = {2};
  const struct lookup_case c = {
      .rows = 1000, .dim = 300, .with = {1, 1, 1}, .first_position = 3, .scale = 3.0f, .padding = 1};
  struct lookup lookup;
  fovea_execution execution;
  lookup_create(&lookup, &c, &generator);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) assert_lookup(&lookup, &execution);
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    assert_lookup(&lookup, &execution);
    assert_int_equal(executor.calls, 1);
  }
  lookup_destroy(&lookup);
}

/* A call that would succeed: 4 rows of 8 dims, with all tables. y lies between guards. */
enum { DIM = 8, ROWS = 4 };
static float tokens[10 * DIM], types[2 * DIM], positions[6 * DIM], numbers[3 * ROWS * DIM];
static int32_t ids[ROWS] = {0, 9, 5, 5}, type_ids[ROWS] = {1, 0, 1, 0}, position_ids[ROWS + 1] = {5, 0, 0, 2};
static int64_t long_ids[ROWS] = {0, 9, 5, 5};

struct embed_call {
  fovea_nn_embedding e;
  fovea_nn_embedding_rows r;
};

static struct embed_call good_call(void) {
  struct embed_call call;
  fovea_nn_embedding_init(&call.e, DIM, 10, tokens);
  call.e.token_types = (fovea_nn_table){types, 2, FOVEA_F32, DIM};
  call.e.positions = (fovea_nn_table){positions, 6, FOVEA_F32, DIM};
  fovea_nn_embedding_rows_init(&call.r, &call.e, ROWS, ids, numbers + ROWS * DIM);
  call.r.token_type_ids = type_ids;
  call.r.position_ids = position_ids;
  return call;
}

static void assert_refused(const struct embed_call *call, fovea_status status, const char *text) {
  fovea_error error = {.text = ""};
  memset(numbers, 0x3a, sizeof numbers);
  const fovea_status actual = fovea_nn_embed(&call->e, &call->r, NULL, &error);
  if (actual != status) fail_msg("%d \"%s\", not %d \"%s\"", (int)actual, error.text, (int)status, text);
  assert_error_says(&error, text);
  assert_int_equal(fovea_nn_embed(&call->e, &call->r, NULL, NULL), status);
  for (size_t i = 0; i < sizeof numbers; i++) assert_int_equal(((const unsigned char *)numbers)[i], 0x3a);
}

#define REFUSED_CALL(change, status, text)                                                                         \
  do {                                                                                                             \
    struct embed_call c = good_call();                                                                             \
    change;                                                                                                        \
    assert_refused(&c, status, text);                                                                              \
  } while (0)

static void test_refused_ids(void **state) {
  (void)state;
  REFUSED_CALL((c.e.tokens.count = 9), FOVEA_ERROR_ARGUMENT,
               "ids[1] is 9; it must be from 0 to 8, the rows of tok");
  ids[3] = -1;
  REFUSED_CALL((void)0, FOVEA_ERROR_ARGUMENT, "ids[3] is -1; it must be from 0 to 9");
  ids[3] = 5;
  long_ids[2] = INT64_C(1) << 32;
  REFUSED_CALL((c.r.ids = c.r.token_type_ids = c.r.position_ids = long_ids, c.r.id_type = FOVEA_NN_INT64),
               FOVEA_ERROR_ARGUMENT, "ids[2] is 4294967296");
  REFUSED_CALL(c.e.token_types.count = 1, FOVEA_ERROR_ARGUMENT, "token_type_ids[0] is 1; it must be from 0 to 0");
  REFUSED_CALL(c.e.positions.count = 5, FOVEA_ERROR_ARGUMENT, "position_ids[0] is 5");
  REFUSED_CALL((c.r.position_ids = NULL, c.r.first_position = 3), FOVEA_ERROR_ARGUMENT,
               "first_position is 3 for 4");
  REFUSED_CALL((c.r.position_ids = NULL, c.r.first_position = -1), FOVEA_ERROR_ARGUMENT, "first_position is -1");
  REFUSED_CALL((c.r.position_ids = NULL, c.r.first_position = INT64_MAX), FOVEA_ERROR_ARGUMENT, "first_position");
  REFUSED_CALL(c.r.ids = NULL, FOVEA_ERROR_ARGUMENT, "ids is NULL");
  REFUSED_CALL(c.r.token_type_ids = NULL, FOVEA_ERROR_ARGUMENT, "token_type_ids is NULL");
  REFUSED_CALL(c.r.ids = (char *)ids + 1, FOVEA_ERROR_ARGUMENT, "ids is 1 bytes off an address");
  REFUSED_CALL(c.r.ids = c.r.y, FOVEA_ERROR_ARGUMENT, "y shares memory with ids");
  REFUSED_CALL(c.r.id_type = (fovea_nn_id_type)2, FOVEA_ERROR_ARGUMENT, "id_type is 2");
  REFUSED_CALL(c.r.first_position = 1, FOVEA_ERROR_UNUSED, "first_position is 1");
}

static void test_refused(void **state) {
  (void)state;
  const fovea_nn_table none = {NULL, 0, FOVEA_F32, DIM};
  struct embed_call good = good_call();
  assert_int_equal(fovea_nn_embed(&good.e, &good.r, NULL, NULL), FOVEA_OK);
  assert_int_equal(fovea_nn_embed(NULL, &good.r, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_embed(&good.e, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  REFUSED_CALL(c.e.struct_size = 0, FOVEA_ERROR_ARGUMENT, "embedding");
  REFUSED_CALL(c.r.struct_size++, FOVEA_ERROR_ARGUMENT, "rows.struct_size");
  REFUSED_CALL(c.e.dim = 0, FOVEA_ERROR_ARGUMENT, "embedding.dim is 0");
  REFUSED_CALL(c.r.rows = -1, FOVEA_ERROR_ARGUMENT, "rows is -1");
  REFUSED_CALL(c.e.scale = INFINITY, FOVEA_ERROR_ARGUMENT, "scale is inf");
  REFUSED_CALL(c.e.tokens.count = -1, FOVEA_ERROR_ARGUMENT, "tokens.count is -1");
  REFUSED_CALL(c.e.tokens = none, FOVEA_ERROR_ARGUMENT, "tokens.data is NULL");
  REFUSED_CALL(c.e.positions.type = (fovea_type)7, FOVEA_ERROR_ARGUMENT, "positions.type is 7");
  REFUSED_CALL(c.e.tokens.stride = INT64_MAX, FOVEA_ERROR_ARGUMENT, "tokens.stride is 9223372036854775807");
  REFUSED_CALL(c.e.positions.data = (const char *)c.e.positions.data + 1, FOVEA_ERROR_ARGUMENT,
               "positions.data is 1 bytes off");
  REFUSED_CALL(c.r.y = NULL, FOVEA_ERROR_ARGUMENT, "y is NULL");
  REFUSED_CALL(c.r.y_stride = 1, FOVEA_ERROR_ARGUMENT, "y_stride");
  REFUSED_CALL(c.e.positions.data = c.r.y, FOVEA_ERROR_ARGUMENT, "y shares memory with positions");
  REFUSED_CALL((c.e.token_types = none), FOVEA_ERROR_UNUSED, "token_type_ids is set");
  REFUSED_CALL((c.e.positions = none), FOVEA_ERROR_UNUSED, "position_ids is set");
  REFUSED_CALL((c.e.positions = none, c.r.position_ids = NULL, c.r.first_position = 2), FOVEA_ERROR_UNUSED,
               "first_position is set");
  REFUSED_CALL((c.e.positions = none, c.r.position_ids = NULL, c.e.positions.count = 3), FOVEA_ERROR_UNUSED,
               "positions");
  const struct embed_call named = good_call();
  assert_int_equal(fovea_nn_embed(&named.e, &named.r, on_isa("abacus"), NULL), FOVEA_ERROR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_refused_ids),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
