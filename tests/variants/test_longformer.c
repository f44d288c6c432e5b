/* Longformer: bits of layers, number by number, for tokens of every kind, sizes, types, strides, instruction sets
 * and threads; the answers of allenai's code; scratch and refusals. */
#include "conformance/case.h"
#include "contract_longformer.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/memory.h"
#include "support/trial.h"

#include <fovea/sparse_attention.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How states are drawn: all tokens local without a list, few global tokens, many, padding at the end, padding and
 * global tokens anywhere, batch elements alike but for their lengths. */
enum tokens { NO_LIST, LOCAL, FEW_GLOBAL, MANY_GLOBAL, SUFFIX, ANYWHERE, ALIKE, TOKENS };

struct shape {
  int64_t batch, heads, length, qk_dim, v_dim, in, out, window;
  enum tokens tokens;
  int with_output, with_global_layers, special, padding;
  fovea_type x_type, y_type;
};

struct problem {
  struct shape shape;
  int8_t *states;
  struct matrix x, y, weights[LONGFORMER_LAYERS], biases[LONGFORMER_LAYERS];
  fovea_nn_linear linears[LONGFORMER_LAYERS];
  fovea_nn_longformer_options options;
  fovea_nn_longformer_layer layer;
  fovea_nn_longformer_rows rows;
  float *expected;
};

static int8_t draw_state(const struct shape *s, int64_t entry, int64_t j, struct generator *g) {
  const int64_t dice = generator_below(g, 10);
  const int64_t length = s->length - (entry % 3) * (s->length / 4);
  switch (s->tokens) {
  case FEW_GLOBAL:
    return j == 0 || (dice == 0 && j % 7 == entry % 7);
  case MANY_GLOBAL:
    return dice < 4;
  case SUFFIX:
    return (int8_t)(j >= length ? -1 : dice == 0);
  case ANYWHERE:
    return (int8_t)(dice < 2 ? -1 : dice < 4);
  case ALIKE:
    return (int8_t)(j >= s->length - ((entry + 1) % 3) * 5 ? -1 : j % 11 == 3);
  default:
    return 0;
  }
}

static void make_layers(struct problem *p, struct generator *g) {
  const struct shape *s = &p->shape;
  const int64_t qk = s->heads * s->qk_dim, v = s->heads * s->v_dim;
  const int64_t outs[LONGFORMER_LAYERS] = {qk, qk, v, qk, qk, v, s->out};
  for (int i = 0; i < LONGFORMER_LAYERS; i++) {
    const int64_t in = i == 6 ? v : s->in;
    p->weights[i] = matrix_create(outs[i], in, in, FOVEA_F32, 0, g);
    p->biases[i] = matrix_create(1, outs[i], outs[i], FOVEA_F32, 0, g);
    fovea_nn_linear_init(&p->linears[i], in, outs[i], p->weights[i].memory.data);
    if (i != 1) p->linears[i].bias = (const float *)(const void *)p->biases[i].memory.data;
  }
  fovea_nn_longformer_layer_init(&p->layer, &p->linears[0], &p->linears[1], &p->linears[2]);
  if (s->with_output) p->layer.output = &p->linears[6];
  if (!s->with_global_layers) return;
  p->layer.global_query = &p->linears[3];
  p->layer.global_key = &p->linears[4];
  p->layer.global_value = &p->linears[5];
}

static void make_expected(struct problem *p) {
  const struct shape *s = &p->shape;
  struct contract_longformer c = {.batch = s->batch,
                                  .heads = s->heads,
                                  .length = s->length,
                                  .qk_dim = s->qk_dim,
                                  .v_dim = s->v_dim,
                                  .in = s->in,
                                  .out = s->out,
                                  .window = s->window,
                                  .states = p->states,
                                  .x = p->x.numbers,
                                  .scale = s->qk_dim % 3 == 0 ? p->options.scale : 1 / sqrt((double)s->qk_dim)};
  for (int i = 0; i < LONGFORMER_LAYERS; i++) {
    const int from = i < 3 || i == 6 || s->with_global_layers ? i : i - 3;
    c.weights[i] = i == 6 && !s->with_output ? NULL : p->weights[from].numbers;
    c.biases[i] = from == 1 ? NULL : p->biases[from].numbers;
  }
  p->expected = malloc((size_t)(p->y.rows * p->y.dim + 1) * sizeof *p->expected);
  assert_non_null(p->expected);
  contract_longformer(&c, p->expected);
}

/* Padding at the end of a batch element is not read at all: there are NaNs. */
static void spoil_padding(struct problem *p) {
  for (int64_t i = 0; i < p->x.rows; i++)
    for (int64_t d = 0; d < p->x.dim && p->states[i] == -1; d++)
      memset(p->x.memory.data + (size_t)(i * p->x.stride + d) * type_size(p->x.type), 0xff, type_size(p->x.type));
}

static void problem_create(struct problem *p, const struct shape *s, struct generator *g) {
  const int64_t rows = s->batch * s->length, out = s->with_output ? s->out : s->heads * s->v_dim;
  memset(p, 0, sizeof *p);
  p->shape = *s;
  p->states = malloc((size_t)rows + 1);
  assert_non_null(p->states);
  for (int64_t i = 0; i < rows; i++) p->states[i] = draw_state(s, i / s->length, i % s->length, g);
  p->x = matrix_create(rows, s->in, s->in + s->padding, s->x_type, s->special, g);
  p->y = matrix_create(rows, out, out + s->padding, s->y_type, 0, g);
  make_layers(p, g);
  fovea_nn_longformer_options_init(&p->options, s->batch, s->heads, s->length, s->qk_dim, s->window);
  p->options.v_dim = s->v_dim;
  if (s->tokens != NO_LIST) p->options.states = p->states;
  if (s->qk_dim % 3 == 0) p->options.scale = 0.7;
  fovea_nn_longformer_rows_init(&p->rows, p->x.memory.data, p->y.memory.data);
  p->rows.x_type = s->x_type;
  p->rows.y_type = s->y_type;
  if (s->padding) p->rows.x_stride = p->x.stride;
  if (s->padding) p->rows.y_stride = p->y.stride;
  make_expected(p);
  spoil_padding(p);
}

static void problem_destroy(struct problem *p) {
  free(p->states);
  free(p->expected);
  matrix_destroy(&p->x);
  matrix_destroy(&p->y);
  for (int i = 0; i < LONGFORMER_LAYERS; i++) {
    matrix_destroy(&p->weights[i]);
    matrix_destroy(&p->biases[i]);
  }
}

static fovea_nn_longformer *make_on(const fovea_nn_longformer_options *options, const char *isa) {
  fovea_nn_longformer *longformer;
  fovea_error error;
  if (fovea_nn_longformer_create(options, on_isa(isa), &longformer, &error) != FOVEA_OK) fail_msg("%s", error.text);
  return longformer;
}

static fovea_nn_longformer *make(const fovea_nn_longformer_options *options) {
  return make_on(options, NULL);
}

static void assert_run(struct problem *p, const fovea_nn_longformer *longformer, const fovea_execution *execution) {
  fovea_error error;
  matrix_spoil(&p->y);
  if (fovea_nn_longformer_run(longformer, &p->layer, &p->rows, execution, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  assert_matrix(&p->y, p->expected);
}

static void check(const struct shape *s, struct generator *g) {
  struct problem p;
  fovea_execution alone; /* test_tasks() has threads */
  fovea_execution_init(&alone);
  alone.threads = 1;
  problem_create(&p, s, g);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    alone.isa = *isa;
    fovea_nn_longformer *longformer = make_on(&p.options, *isa);
    assert_run(&p, longformer, &alone);
    fovea_nn_longformer_destroy(longformer);
  }
  problem_destroy(&p);
}

static void test_bits(void **state) {
  (void)state;
  struct generator g = {1};
  for (int i = 0; i < USUAL_OR_LONG(20, 140); i++) {
    const struct shape s = {.batch = 1 + generator_below(&g, 4),
                            .heads = 1 + generator_below(&g, 3),
                            .length = generator_below(&g, generator_below(&g, 4) ? 40 : 150),
                            .qk_dim = 1 + generator_below(&g, 9),
                            .v_dim = 1 + generator_below(&g, 9),
                            .in = 1 + generator_below(&g, 20),
                            .out = 1 + generator_below(&g, 20),
                            .window = generator_below(&g, generator_below(&g, 3) ? 9 : 200),
                            .tokens = (enum tokens)(i % TOKENS),
                            .with_output = (int)generator_below(&g, 3) > 0,
                            .with_global_layers = (int)generator_below(&g, 4) > 0,
                            .special = generator_below(&g, 4) ? 0 : 60,
                            .padding = (int)generator_below(&g, 3),
                            .x_type = (fovea_type)generator_below(&g, 3),
                            .y_type = (fovea_type)generator_below(&g, 3)};
    check(&s, &g);
  }
}

/* Several tiles and blocks of keys, which windows reach in part. */
static void test_long(void **state) {
  (void)state;
  struct generator g = {2};
  for (int tokens = LOCAL; tokens < TOKENS; tokens++) {
    const struct shape s = {.batch = 3,
                            .heads = 1,
                            .length = USUAL_OR_LONG(260, 480), /* ALIKE: the longest has one more global token */
                            .qk_dim = 4,
                            .v_dim = 3,
                            .in = 5,
                            .out = 6,
                            .window = 33 + 40 * tokens,
                            .tokens = (enum tokens)tokens,
                            .with_global_layers = 1};
    check(&s, &g);
  }
}

static void test_tasks(void **state) {
  (void)state;
  struct generator g = {3};
  const struct shape s = {.batch = 3,
                          .heads = 4,
                          .length = 200,
                          .qk_dim = 16,
                          .v_dim = 16,
                          .in = 40,
                          .out = 40,
                          .window = 20,
                          .tokens = SUFFIX,
                          .with_output = 1,
                          .with_global_layers = 1};
  struct problem p;
  fovea_execution execution;
  problem_create(&p, &s, &g);
  fovea_nn_longformer *longformer = make(&p.options);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2)
    assert_run(&p, longformer, &execution);
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    assert_run(&p, longformer, &execution);
    assert_true(executor.calls > 0);
  }
  /* In the caller's scratch, of exactly that size. */
  fovea_execution_init(&execution);
  execution.threads = 2;
  execution.scratch_size = measured(
      fovea_nn_longformer_scratch_size(longformer, &p.layer, &p.rows, with_threads(2), measured_size(), NULL));
  assert_true(execution.scratch_size > 0 && execution.scratch_size % FOVEA_SCRATCH_ALIGNMENT == 0);
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_END);
  execution.scratch = scratch.data;
  assert_run(&p, longformer, &execution);
  execution.scratch_size--;
  assert_int_equal(fovea_nn_longformer_run(longformer, &p.layer, &p.rows, &execution, NULL), FOVEA_ERROR_SPACE);
  guarded_destroy(&scratch);
  fovea_nn_longformer_destroy(longformer);
  problem_destroy(&p);
}

/* A batch element has the bits that it has alone, and y may be x. */
static void test_alone(void **state) {
  (void)state;
  struct generator g = {4};
  const struct shape s = {.batch = 4,
                          .heads = 2,
                          .length = 60,
                          .qk_dim = 8,
                          .v_dim = 8,
                          .in = 16,
                          .out = 16,
                          .window = 7,
                          .tokens = ALIKE,
                          .with_output = 1};
  struct problem p;
  problem_create(&p, &s, &g);
  p.options.batch = 1;
  for (int64_t b = 0; b < s.batch; b++) {
    const size_t numbers = (size_t)(s.length * s.in), first = (size_t)b * numbers;
    float *x = malloc(numbers * sizeof *x);
    assert_non_null(x);
    memcpy(x, p.x.memory.data + first * sizeof *x, numbers * sizeof *x);
    p.options.states = p.states + b * s.length;
    fovea_nn_longformer *longformer = make(&p.options);
    p.rows.x = p.rows.y = x;
    assert_int_equal(fovea_nn_longformer_run(longformer, &p.layer, &p.rows, NULL, NULL), FOVEA_OK);
    assert_memory_equal(x, p.expected + first, numbers * sizeof *x);
    fovea_nn_longformer_destroy(longformer);
    free(x);
  }
  problem_destroy(&p);
}

/* ---- allenai's answers -------------------------------------------------------------------------------------- */

static void compare_case(const struct test_case *test) {
  static const char *const names[6] = {"query", "key", "value", "query_global", "key_global", "value_global"};
  const struct array *x = case_input(test, "x"), *y = case_output(test, "y");
  const int64_t width = x->shape[2], heads = (int64_t)case_number(test, "num_heads", 0);
  fovea_nn_linear linears[6];
  fovea_nn_longformer_options options;
  fovea_nn_longformer_layer layer;
  fovea_nn_longformer_rows rows;
  for (int i = 0; i < 6; i++) {
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s_weight", names[i]);
    snprintf(bias, sizeof bias, "%s_bias", names[i]);
    fovea_nn_linear_init(&linears[i], width, width, case_input(test, weight)->data);
    linears[i].bias = case_input(test, bias)->data;
  }
  fovea_nn_longformer_layer_init(&layer, &linears[0], &linears[1], &linears[2]);
  layer.global_query = &linears[3];
  layer.global_key = &linears[4];
  layer.global_value = &linears[5];
  fovea_nn_longformer_options_init(&options, x->shape[0], heads, x->shape[1], width / heads,
                                   (int64_t)case_number(test, "one_sided_window", 0));
  options.states = case_input(test, "state")->data;
  float *result = malloc((size_t)y->count * sizeof *result);
  assert_non_null(result);
  fovea_nn_longformer_rows_init(&rows, x->data, result);
  fovea_nn_longformer *longformer = make(&options);
  assert_int_equal(fovea_nn_longformer_run(longformer, &layer, &rows, NULL, NULL), FOVEA_OK);
  for (int64_t i = 0; i < y->count; i++) {
    const float wanted = ((const float *)y->data)[i];
    if (!(fabsf(result[i] - wanted) <= 2e-6f))
      fail_msg("%s, number %d: %g, not %g", test->name, (int)i, (double)result[i], (double)wanted);
  }
  fovea_nn_longformer_destroy(longformer);
  free(result);
}

static void test_oracles(void **state) {
  (void)state;
  static const char *const cases[] = {"longformer_local_w4", "longformer_global_cls", "longformer_global_padding"};
  const char *root = getenv("FOVEA_CONFORMANCE_DIR");
  char directory[3000], error[500];
  if (!root) skip();
  snprintf(directory, sizeof directory, "%s/oracles", root);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct test_case test;
    if (!case_read(&test, directory, cases[i], error, sizeof error)) fail_msg("%s", error);
    compare_case(&test);
    case_free(&test);
  }
}

/* ---- Refusals ----------------------------------------------------------------------------------------------- */

#define NOT_CREATED(change, status, word)                                                                          \
  do {                                                                                                             \
    int8_t states[12] = {1, 0, 0, 0, -1, -1, 0, 1, -1, 0, 0, 1};                                                   \
    fovea_nn_longformer_options o;                                                                                 \
    fovea_nn_longformer *longformer = (fovea_nn_longformer *)(void *)states;                                       \
    fovea_error error = {.text = ""};                                                                              \
    fovea_nn_longformer_options_init(&o, 2, 2, 6, 4, 1);                                                           \
    o.states = states;                                                                                             \
    fovea_execution e = *on_isa(NULL);                                                                             \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_longformer_create(&o, &e, &longformer, &error), status);                             \
    assert_error_says(&error, word);                                                                               \
    assert_null(longformer);                                                                                       \
  } while (0)

/* Layers run on the set that the object was made for. */
static void test_other_set(void **state) {
  (void)state;
  const char *const *isas = whole_isas_for(NULL);
  struct generator g = {9};
  struct problem p;
  const struct shape s = {
      .batch = 1, .heads = 1, .length = 5, .qk_dim = 2, .v_dim = 2, .in = 3, .out = 3, .window = 1};
  problem_create(&p, &s, &g);
  fovea_nn_longformer *longformer = make_on(&p.options, "scalar");
  for (int i = 0; isas[i] != NULL; i++) {
    fovea_error error = {.text = ""};
    const int same = strcmp(set_of(isas[i]), "scalar") == 0;
    const fovea_status expected = same ? FOVEA_OK : FOVEA_ERROR_UNUSED;
    assert_int_equal(fovea_nn_longformer_run(longformer, &p.layer, &p.rows, on_isa(isas[i]), &error), expected);
    if (!same && !strstr(error.text, "the longformer was made for \"scalar\"")) fail_msg("%s", error.text);
  }
  assert_run(&p, longformer, NULL);
  fovea_nn_longformer_destroy(longformer);
  problem_destroy(&p);
}

static void test_not_created(void **state) {
  (void)state;
  fovea_nn_longformer *longformer;
  assert_int_equal(fovea_nn_longformer_create(NULL, NULL, &longformer, NULL), FOVEA_ERROR_ARGUMENT);
  NOT_CREATED(o.struct_size--, FOVEA_ERROR_ARGUMENT, "options.struct_size");
  NOT_CREATED(o.batch = 0, FOVEA_ERROR_ARGUMENT, "options.batch is 0");
  NOT_CREATED(o.heads = 0, FOVEA_ERROR_ARGUMENT, "options.heads is 0");
  NOT_CREATED(o.length = -1, FOVEA_ERROR_ARGUMENT, "options.length is -1");
  NOT_CREATED(o.length = INT64_C(1) << 31, FOVEA_ERROR_ARGUMENT, "options.length is 2147483648");
  NOT_CREATED(o.window = -1, FOVEA_ERROR_ARGUMENT, "options.window is -1");
  NOT_CREATED(o.qk_dim = 0, FOVEA_ERROR_ARGUMENT, "options.qk_dim is 0");
  NOT_CREATED(o.v_dim = 0, FOVEA_ERROR_ARGUMENT, "options.v_dim is 0");
  NOT_CREATED(o.scale = NAN, FOVEA_ERROR_ARGUMENT, "options.scale is nan");
  NOT_CREATED(o.scale = 1e300, FOVEA_ERROR_ARGUMENT, "options.scale is 1.000000e300");
  NOT_CREATED(e.isa = "abacus", FOVEA_ERROR_ARGUMENT, "isa: abacus");
  NOT_CREATED(states[7] = 2, FOVEA_ERROR_ARGUMENT, "states[7] is 2");
  for (int allowed = 0; allowed < 6; allowed++) {
    int left = allowed;
    NOT_CREATED(e.allocator = memory_allocator(&left), FOVEA_ERROR_MEMORY, "No memory");
  }
  fovea_nn_longformer_destroy(NULL);
}

static float x[96], y[96], weights[6][64];

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    static const int8_t states[12] = {1, 0, 0, 0, -1, -1, 0, 1, 0, 0, 0, 1};                                       \
    fovea_nn_longformer_options o;                                                                                 \
    fovea_nn_linear linears[6], out;                                                                               \
    fovea_nn_longformer_layer layer;                                                                               \
    fovea_nn_longformer_rows rows;                                                                                 \
    fovea_error error = {.text = ""};                                                                              \
    fovea_nn_longformer_options_init(&o, 2, 2, 6, 4, 1);                                                           \
    o.states = states;                                                                                             \
    for (int i = 0; i < 6; i++) fovea_nn_linear_init(&linears[i], 8, 8, weights[i]);                               \
    out = linears[0];                                                                                              \
    fovea_nn_longformer_layer_init(&layer, &linears[0], &linears[1], &linears[2]);                                 \
    layer.global_query = &linears[3], layer.global_key = &linears[4], layer.global_value = &linears[5];            \
    fovea_nn_longformer_rows_init(&rows, x, y);                                                                    \
    fovea_nn_longformer *longformer = make(&o);                                                                    \
    memset(y, 0x3a, sizeof y);                                                                                     \
    (void)out;                                                                                                     \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_longformer_run(longformer, &layer, &rows, NULL, &error), status);                    \
    assert_error_says(&error, word);                                                                               \
    for (size_t i = 0; i < sizeof y; i++) assert_int_equal(((const unsigned char *)y)[i], 0x3a);                   \
    assert_int_equal(measured(fovea_nn_longformer_scratch_size(longformer, &layer, &rows, with_threads(1),         \
                                                               measured_size(), NULL)),                            \
                     0);                                                                                           \
    fovea_nn_longformer_destroy(longformer);                                                                       \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  assert_int_equal(fovea_nn_longformer_run(NULL, NULL, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  REFUSED(layer.struct_size--, FOVEA_ERROR_ARGUMENT, "layer.struct_size");
  REFUSED(rows.struct_size++, FOVEA_ERROR_ARGUMENT, "rows.struct_size");
  REFUSED(layer.key = NULL, FOVEA_ERROR_ARGUMENT, "key is NULL");
  REFUSED(layer.global_key = NULL, FOVEA_ERROR_ARGUMENT, "global_key is NULL");
  REFUSED(linears[2].out = 7, FOVEA_ERROR_ARGUMENT, "value.out is 7");
  REFUSED(linears[4].in = 7, FOVEA_ERROR_ARGUMENT, "global_key.in is 7");
  REFUSED((out.in = 4, layer.output = &out), FOVEA_ERROR_ARGUMENT, "output.in is 4");
  REFUSED(linears[5].weight_type = (fovea_type)7, FOVEA_ERROR_ARGUMENT, "global_value.weight_type is 7");
  REFUSED(rows.x = NULL, FOVEA_ERROR_ARGUMENT, "x is NULL");
  REFUSED(rows.y = NULL, FOVEA_ERROR_ARGUMENT, "y is NULL");
  REFUSED(rows.y_stride = 7, FOVEA_ERROR_ARGUMENT, "y_stride is 7");
  REFUSED(rows.x_type = (fovea_type)3, FOVEA_ERROR_ARGUMENT, "x_type is 3");
  REFUSED(linears[3].weights = y, FOVEA_ERROR_ARGUMENT, "y shares memory with global_query.weights");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bits),        cmocka_unit_test(test_long),    cmocka_unit_test(test_tasks),
      cmocka_unit_test(test_alone),       cmocka_unit_test(test_oracles), cmocka_unit_test(test_other_set),
      cmocka_unit_test(test_not_created), cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
