/* Performer attention against contract_performer.c, bit for bit: shapes, types, layouts, lengths, stabilisers,
 * kernels, instruction sets, threads; calls cut anywhere and state; and the answers of performer-pytorch. */
#include "conformance/case.h"
#include "contract_performer.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/tensor.h"
#include "support/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call with its tensors, and what it must give. */
struct scene {
  fovea_nn_performer performer;
  fovea_nn_performer_tensors tensors;
  struct tensor q, k, v, o;
  float *projection, *expected, *state, *expected_state;
  int64_t lens[4];
  int64_t states; /* numbers of all states; 0: none */
};

struct shape {
  int64_t batch, heads, kv_heads, q_len, kv_len, dim, features, v_dim;
  int relu, stabilised, causal, with_state, with_lens, rows_first;
  fovea_type type, o_type;
  float gain;
};

static fovea_strides strides_of(const struct shape *s, int64_t heads, int64_t rows, int64_t dim, int64_t padding) {
  const int64_t row = dim + padding;
  if (s->rows_first) return (fovea_strides){rows * heads * row, row, heads * row};
  return (fovea_strides){heads * rows * row, rows * row, row};
}

static void *room(int64_t bytes) {
  void *memory = calloc((size_t)bytes + 1, 1);
  assert_non_null(memory);
  return memory;
}

static float *copy_head(const struct tensor *t, int64_t entry, int64_t head) {
  float *rows = room(t->rows * t->dim * 4);
  for (int64_t i = 0; i < t->rows; i++)
    memcpy(rows + i * t->dim, tensor_row(t, entry, head, i), (size_t)t->dim * sizeof(float));
  return rows;
}

static void expect(struct scene *scene, const struct shape *s) {
  const int64_t numbers = fovea_nn_performer_state_numbers(s->features, s->v_dim), group = s->heads / s->kv_heads;
  scene->expected = room(s->batch * s->heads * s->q_len * s->v_dim * 4);
  for (int64_t i = 0; i < s->batch * s->heads; i++) {
    const int64_t entry = i / s->heads, head = i % s->heads, kv = head / group;
    float *q = copy_head(&scene->q, entry, head), *k = copy_head(&scene->k, entry, kv);
    float *v = copy_head(&scene->v, entry, kv), *state = NULL, *spare = room(numbers * 4);
    if (s->with_state) {
      state = head % group == group - 1 ? scene->expected_state + (entry * s->kv_heads + kv) * numbers : spare;
      memcpy(spare, scene->state + (entry * s->kv_heads + kv) * numbers, (size_t)numbers * 4);
    }
    contract_performer(&scene->performer, q, s->q_len, k, v, scene->lens[entry], s->v_dim, state,
                       scene->expected + i * s->q_len * s->v_dim);
    free(q), free(k), free(v), free(spare);
  }
}

static struct scene scene_create(const struct shape *s, uint64_t seed) {
  struct scene scene = {.states = 0};
  fovea_nn_random_features random;
  struct generator generator = {seed};
  fovea_nn_random_features_init(&random, s->features, s->dim);
  random.seed = seed;
  scene.projection = room(s->features * s->dim * 4);
  contract_random_features(&random, scene.projection);
  fovea_nn_performer_init(&scene.performer, s->relu ? FOVEA_NN_PERFORMER_RELU : FOVEA_NN_PERFORMER_SOFTMAX, s->dim,
                          s->features, scene.projection);
  scene.performer.causal = s->causal;
  if (s->stabilised) scene.performer.stabiliser = FOVEA_NN_STABILISER_MAX;
  const int64_t padding = generator_below(&generator, 3);
  tensor_create_of(s->type, &scene.q, s->batch, s->heads, s->q_len, s->dim,
                   strides_of(s, s->heads, s->q_len, s->dim, padding), GUARD_AT_END);
  tensor_create_of(s->type, &scene.k, s->batch, s->kv_heads, s->kv_len, s->dim,
                   strides_of(s, s->kv_heads, s->kv_len, s->dim, padding), GUARD_AT_END);
  tensor_create_of(s->type, &scene.v, s->batch, s->kv_heads, s->kv_len, s->v_dim,
                   strides_of(s, s->kv_heads, s->kv_len, s->v_dim, padding), GUARD_AT_END);
  tensor_create_of(s->o_type, &scene.o, s->batch, s->heads, s->q_len, s->v_dim,
                   strides_of(s, s->heads, s->q_len, s->v_dim, padding), GUARD_AT_END);
  tensor_fill_random(&scene.q, seed + 1, s->gain);
  tensor_fill_random(&scene.k, seed + 2, s->gain);
  tensor_fill_random(&scene.v, seed + 3, 1);
  for (int64_t i = 0; i < s->batch; i++)
    scene.lens[i] = s->with_lens ? generator_below(&generator, s->kv_len + 1) : s->kv_len;
  /* Keys that are not visible hold NaN. */
  for (int64_t i = 0; i < s->batch * s->kv_heads; i++)
    for (int64_t j = scene.lens[i / s->kv_heads]; j < s->kv_len; j++) {
      for (int64_t d = 0; d < s->dim; d++) tensor_row(&scene.k, i / s->kv_heads, i % s->kv_heads, j)[d] = NAN;
      for (int64_t d = 0; d < s->v_dim; d++) tensor_row(&scene.v, i / s->kv_heads, i % s->kv_heads, j)[d] = NAN;
    }
  if (s->with_state) {
    scene.states = s->batch * s->kv_heads * fovea_nn_performer_state_numbers(s->features, s->v_dim);
    scene.state = room(scene.states * 4);
    scene.expected_state = room(scene.states * 4);
    for (int64_t i = 0; i < scene.states; i++)
      scene.state[i] = scene.expected_state[i] = 0.5f + generator_uniform(&generator) / 4;
  }
  expect(&scene, s);
  tensor_store(&scene.q), tensor_store(&scene.k), tensor_store(&scene.v);
  tensor_make_read_only(&scene.q), tensor_make_read_only(&scene.k), tensor_make_read_only(&scene.v);
  fovea_nn_performer_tensors *t = &scene.tensors;
  fovea_nn_performer_tensors_init(t, &scene.performer, s->batch, s->heads, s->kv_heads, s->q_len, s->kv_len,
                                  s->v_dim, tensor_pointer(&scene.q), tensor_pointer(&scene.k),
                                  tensor_pointer(&scene.v), tensor_pointer(&scene.o));
  t->q_type = t->k_type = t->v_type = s->type;
  t->o_type = s->o_type;
  t->q_strides = scene.q.strides, t->k_strides = scene.k.strides;
  t->v_strides = scene.v.strides, t->o_strides = scene.o.strides;
  return scene;
}

static void scene_destroy(struct scene *scene) {
  tensor_destroy(&scene->q), tensor_destroy(&scene->k), tensor_destroy(&scene->v), tensor_destroy(&scene->o);
  free(scene->projection), free(scene->expected), free(scene->state), free(scene->expected_state);
}

static void assert_rows(const struct scene *scene) {
  const struct tensor *o = &scene->o;
  assert_true(tensor_gaps_untouched(o));
  tensor_load(o);
  for (int64_t i = 0; i < o->batch * o->heads * o->rows; i++)
    for (int64_t d = 0; d < o->dim; d++) {
      const float *row = tensor_row(o, i / (o->heads * o->rows), i / o->rows % o->heads, i % o->rows);
      const float expected = rounded_number(o->type, scene->expected[i * o->dim + d]);
      if (bits_of(row[d]) != bits_of(expected))
        fail_msg("row %d, column %d of %dx%dx%dx%d, d %d, m %d: %a, expected %a", (int)i, (int)d, (int)o->batch,
                 (int)o->heads, (int)o->rows, (int)o->dim, (int)scene->performer.dim,
                 (int)scene->performer.features, (double)row[d], (double)expected);
    }
}

/* Runs the call, from a copy of the state. */
static void assert_run(struct scene *scene, int with_lens, const fovea_execution *execution) {
  fovea_error error = {.text = ""};
  fovea_nn_performer_tensors t = scene->tensors;
  float *state = room(scene->states * 4);
  if (scene->states > 0) {
    memcpy(state, scene->state, (size_t)scene->states * 4);
    t.state = state;
  }
  if (with_lens) t.kv_lens = scene->lens;
  tensor_fill_untouched(&scene->o);
  if (fovea_nn_performer_run(&scene->performer, &t, execution, &error)) fail_msg("%s", error.text);
  assert_rows(scene);
  if (scene->states > 0) assert_memory_equal(state, scene->expected_state, (size_t)scene->states * 4);
  free(state);
}

static void check_shape(const struct shape *s, uint64_t seed) {
  struct scene scene = scene_create(s, seed);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    assert_run(&scene, s->with_lens, on_isa(*isa));
  }
  scene_destroy(&scene);
}

static struct shape small(void) {
  return (struct shape){.batch = 1,
                        .heads = 1,
                        .kv_heads = 1,
                        .q_len = 3,
                        .kv_len = 5,
                        .dim = 4,
                        .features = 8,
                        .v_dim = 4,
                        .gain = 1};
}

/* Each size by itself, around the borders of vectors, tiles, groups, pieces, blocks. */
static void test_sizes(void **state) {
  static const int64_t dims[] = {1, 2, 3, 15, 16, 17, 31, 33, 64, 127, 128, 129, 131};
  static const int64_t lengths[] = {0, 1, 2, 63, 64, 65, 95, 96, 97, 127, 128, 129, 200, 300};
  (void)state;
  for (int causal = 0; causal < 2; causal++) {
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
      for (int which = 0; which < 3; which++) {
        struct shape s = small();
        s.causal = causal;
        s.q_len = s.kv_len = 6;
        if (which == 0) s.dim = dims[i];
        if (which == 1) s.features = dims[i];
        if (which == 2) s.v_dim = dims[i];
        s.stabilised = !causal && i % 2;
        check_shape(&s, 100 + i);
      }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
      struct shape s = small();
      s.causal = causal;
      s.q_len = s.kv_len = lengths[i];
      check_shape(&s, 200 + i);
      if (!causal) {
        s.q_len = 5;
        check_shape(&s, 300 + i);
      }
    }
  }
}

static struct shape random_shape(struct generator *g, int most) {
  struct shape s = {.batch = 1 + generator_below(g, 3), .kv_heads = 1 + generator_below(g, 2)};
  s.heads = s.kv_heads * (1 + generator_below(g, 3));
  s.q_len = generator_below(g, most);
  s.dim = 1 + generator_below(g, generator_below(g, 4) ? 40 : 140);
  s.features = 1 + generator_below(g, generator_below(g, 4) ? 40 : 200);
  s.v_dim = 1 + generator_below(g, generator_below(g, 4) ? 40 : 150);
  s.relu = generator_below(g, 3) == 0;
  s.causal = generator_below(g, 2) == 0;
  s.kv_len = s.causal ? s.q_len : generator_below(g, most);
  s.stabilised = !s.relu && !s.causal && generator_below(g, 2);
  s.with_state = s.causal && generator_below(g, 2);
  s.with_lens = generator_below(g, 2) == 0;
  s.rows_first = generator_below(g, 2) == 0;
  s.type = (fovea_type)generator_below(g, 3);
  s.o_type = (fovea_type)generator_below(g, 3);
  s.gain = generator_below(g, 6) ? 1.0f : 12.0f; /* features that overflow and underflow */
  return s;
}

static void test_random(void **state) {
  struct generator generator = {71};
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(20, 150); i++) {
    const struct shape s = random_shape(&generator, i % 10 == 0 ? 200 : 30);
    check_shape(&s, 1000 + (uint64_t)i);
  }
}

/* Spans and their tree: 1 to 7 spans, with lengths at their borders. */
static void test_spans(void **state) {
  static const int64_t lengths[] = {2047, 2048, 2049, 4096, 6000, 8193, 10240, 12289, 14336};
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(3, 9); i++) {
    struct shape s = small();
    s.kv_len = lengths[i];
    s.features = 3;
    s.v_dim = 2;
    s.stabilised = i % 2;
    struct scene scene = scene_create(&s, 400);
    fovea_execution execution;
    fovea_execution_init(&execution);
    struct executor executor = {TASKS_BACKWARDS, 0};
    execution.threads = 1; /* all spans in one task */
    assert_run(&scene, 0, &execution);
    execution.parallel_for = serial_for;
    execution.parallel_context = &executor;
    for (execution.threads = 2; execution.threads < 6; execution.threads++) assert_run(&scene, 0, &execution);
    scene_destroy(&scene);
  }
}

static void test_threads(void **state) {
  (void)state;
  for (int causal = 0; causal < 2; causal++) {
    struct shape s = {.batch = 2,
                      .heads = 4,
                      .kv_heads = 2,
                      .q_len = 200,
                      .kv_len = causal ? 200 : 2200,
                      .dim = 5,
                      .features = USUAL_OR_LONG(9, 70),
                      .v_dim = USUAL_OR_LONG(70, 150),
                      .causal = causal,
                      .stabilised = !causal,
                      .gain = 1};
    for (int with_state = 0; with_state <= causal; with_state++) {
      fovea_execution execution;
      s.with_state = with_state;
      struct scene scene = scene_create(&s, 500);
      fovea_execution_init(&execution);
      for (execution.threads = 1; execution.threads <= 9; execution.threads += 4) {
        assert_run(&scene, 0, &execution);
        scene.tensors.state = scene.state;
        execution.scratch_size = measured(fovea_nn_performer_scratch_size(
            &scene.performer, &scene.tensors, with_threads(execution.threads), measured_size(), NULL));
        scene.tensors.state = NULL;
        assert_true(execution.scratch_size > 0);
        struct guarded memory = guarded_create(execution.scratch_size, GUARD_AT_END);
        execution.scratch = memory.data;
        assert_run(&scene, 0, &execution);
        execution.scratch = NULL;
        execution.scratch_size = 0;
        guarded_destroy(&memory);
      }
      for (int order = 0; order < TASK_ORDERS; order++) {
        struct executor executor = {(enum task_order)order, 0};
        execution.threads = 8;
        execution.parallel_for = threads_for;
        execution.parallel_context = &executor;
        assert_run(&scene, 0, &execution);
        assert_true(executor.calls > 0);
      }
      scene_destroy(&scene);
    }
  }
}

/* A causal sequence in calls of any lengths, down to one position, on any instruction set; a state is forked on the
 * way. */
static void test_steps(void **state) {
  enum { ROWS = 150, DIM = 9, FEATURES = 21, V_DIM = 18 };
  (void)state;
  const struct shape s = {.batch = 1,
                          .heads = 2,
                          .kv_heads = 1,
                          .q_len = ROWS,
                          .kv_len = ROWS,
                          .dim = DIM,
                          .features = FEATURES,
                          .v_dim = V_DIM,
                          .causal = 1,
                          .gain = 1,
                          .rows_first = 1};
  struct scene scene = scene_create(&s, 600);
  struct generator generator = {601};
  const int64_t numbers = fovea_nn_performer_state_numbers(FEATURES, V_DIM);
  float *memory = room(2 * numbers * 4), *fork = memory + numbers;
  int sets = 0;
  while (usable_isas()[sets]) sets++;
  for (int pass = 0; pass < USUAL_OR_LONG(4, 20); pass++) {
    const int64_t most = pass == 0 ? 1 : 1 + generator_below(&generator, 40);
    memset(memory, 0, (size_t)numbers * 4);
    tensor_fill_untouched(&scene.o);
    for (int64_t row = 0, rows; row < ROWS; row += rows) {
      fovea_nn_performer_tensors t = scene.tensors;
      rows = 1 + generator_below(&generator, most);
      if (rows > ROWS - row) rows = ROWS - row;
      t.q_len = t.kv_len = rows;
      t.q = (const float *)t.q + row * t.q_strides.row;
      t.k = (const float *)t.k + row * t.k_strides.row;
      t.v = (const float *)t.v + row * t.v_strides.row;
      t.o = (float *)t.o + row * t.o_strides.row;
      memcpy(fork, memory, (size_t)numbers * 4);
      t.state = fork; /* goes another way, and does not come back */
      assert_int_equal(fovea_nn_performer_run(&scene.performer, &t,
                                              on_isa(usable_isas()[generator_below(&generator, sets)]), NULL),
                       FOVEA_OK);
      t.state = memory;
      assert_int_equal(fovea_nn_performer_run(&scene.performer, &t,
                                              on_isa(usable_isas()[generator_below(&generator, sets)]), NULL),
                       FOVEA_OK);
    }
    assert_rows(&scene);
  }
  free(memory);
  scene_destroy(&scene);
}

/* Rows without any feature, NaN in visible keys, and infinite products. */
static void test_special_rows(void **state) {
  enum { DIM = 2, FEATURES = 3 };
  const float projection[FEATURES * DIM] = {1, 0, 0, 1, 1, 1};
  float q[4][DIM] = {{1, 1}, {-1, -1}, {NAN, 0}, {INFINITY, 0}}, k[2][DIM] = {{1, 2}, {2, 1}};
  float v[2][2] = {{1, -3}, {2, 5}}, o[4][2];
  fovea_nn_performer p;
  fovea_nn_performer_tensors t;
  (void)state;
  fovea_nn_performer_init(&p, FOVEA_NN_PERFORMER_RELU, DIM, FEATURES, projection);
  p.eps = 0;
  fovea_nn_performer_tensors_init(&t, &p, 1, 1, 1, 4, 2, 2, q, k, v, o);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    assert_int_equal(fovea_nn_performer_run(&p, &t, on_isa(*isa), NULL), FOVEA_OK);
    assert_true(o[0][0] > 1 && o[0][0] < 2 && o[0][1] > -3 && o[0][1] < 5);
    assert_int_equal(bits_of(o[1][0]), 0); /* all features are 0 */
    assert_int_equal(bits_of(o[1][1]), 0);
    assert_int_equal(bits_of(o[2][0]), 0x7fc00000u);
    assert_int_equal(bits_of(o[3][0]), 0x7fc00000u);
  }
  const float tiny = 0x1p-65f, tinier = 0x1p-66f; /* a denominator of 2^-127 counts as 0, one of 2^-126 does not */
  const float ones[1] = {1}, q_one[1] = {1}, k_one[2] = {tiny, tinier};
  for (int i = 0; i < 2; i++) {
    const float query = 0x1p-61f;
    float one;
    fovea_nn_performer small;
    fovea_nn_performer_tensors small_tensors;
    fovea_nn_performer_init(&small, FOVEA_NN_PERFORMER_RELU, 1, 1, ones);
    small.eps = 0;
    fovea_nn_performer_tensors_init(&small_tensors, &small, 1, 1, 1, 1, 1, 1, &query, &k_one[i], q_one, &one);
    assert_int_equal(fovea_nn_performer_run(&small, &small_tensors, NULL, NULL), FOVEA_OK);
    assert_true(one == (i == 0 ? 1.0f : 0.0f));
  }
  v[0][1] = NAN; /* shows in its column alone */
  assert_int_equal(fovea_nn_performer_run(&p, &t, NULL, NULL), FOVEA_OK);
  assert_int_equal(bits_of(o[0][1]), 0x7fc00000u);
  assert_true(o[0][0] > 1 && o[0][0] < 2);
  assert_int_equal(bits_of(o[1][1]), 0);
}

/* Sums over many keys keep their accuracy: keys alike, whose features add up to more than 2^24 of them would in a
 * running sum, and values whose mean is known. */
static void test_long_rows(void **state) {
  const int64_t keys = USUAL_OR_LONG(40000, 1 << 20);
  float projection[2] = {0.5f, -0.25f}, q[1] = {0.3f}, o[1];
  float *k = room(keys * 4), *v = room(keys * 4);
  double sum = 0;
  fovea_nn_performer p;
  fovea_nn_performer_tensors t;
  struct generator generator = {9};
  (void)state;
  for (int64_t j = 0; j < keys; j++) {
    k[j] = 0.7f;
    v[j] = 1.0f + generator_uniform(&generator) / 8;
    sum += (double)v[j];
  }
  fovea_nn_performer_init(&p, FOVEA_NN_PERFORMER_SOFTMAX, 1, 2, projection);
  fovea_nn_performer_tensors_init(&t, &p, 1, 1, 1, 1, keys, 1, q, k, v, o);
  assert_int_equal(fovea_nn_performer_run(&p, &t, NULL, NULL), FOVEA_OK);
  assert_true(fabs((double)o[0] - sum / (double)keys) <= 16 * 0x1p-24 * sum / (double)keys);
  free(k);
  free(v);
}

/* Other people's answers. */
static void check_case(const char *directory, const char *name, int relu) {
  struct test_case test;
  char error[256];
  if (!case_read(&test, directory, name, error, sizeof error)) fail_msg("%s", error);
  const struct array *q = case_input(&test, "q"), *k = case_input(&test, "k"), *v = case_input(&test, "v");
  const struct array *w = case_input(&test, "projection"), *y = case_output(&test, "y");
  const struct array *features[2] = {case_output(&test, "q_features"), case_output(&test, "k_features")};
  float *o = room(features[0]->count * 4);
  fovea_nn_performer p;
  fovea_nn_performer_init(&p, relu ? FOVEA_NN_PERFORMER_RELU : FOVEA_NN_PERFORMER_SOFTMAX, q->shape[3], w->shape[0],
                          w->data);
  if (!relu) p.stabiliser = FOVEA_NN_STABILISER_MAX;
  assert_true(p.eps == case_number(&test, "eps", 0));
  for (int keys = 0; keys < 2; keys++) {
    fovea_nn_performer_rows rows;
    fovea_nn_performer_rows_init(&rows, &p, q->shape[0], q->shape[1], q->shape[2], keys ? k->data : q->data, o);
    rows.keys = keys && !relu;
    assert_int_equal(fovea_nn_performer_features(&p, &rows, NULL, NULL), FOVEA_OK);
    for (int64_t i = 0; i < features[keys]->count; i++) {
      const double expected = ((const double *)features[keys]->data)[i];
      assert_true(fabs((double)o[i] - expected) <= 5e-7 * (1 + fabs(expected)));
    }
  }
  fovea_nn_performer_tensors t;
  fovea_nn_performer_tensors_init(&t, &p, q->shape[0], q->shape[1], k->shape[1], q->shape[2], k->shape[2],
                                  v->shape[3], q->data, k->data, v->data, o);
  assert_int_equal(fovea_nn_performer_run(&p, &t, NULL, NULL), FOVEA_OK);
  for (int64_t i = 0; i < y->count; i++) {
    const double expected = ((const double *)y->data)[i];
    assert_true(fabs((double)o[i] - expected) <= 1e-6 * (1 + fabs(expected)));
  }
  free(o);
  case_free(&test);
}

static void test_oracles(void **state) {
  const char *directory = getenv("FOVEA_CONFORMANCE_DIR");
  char oracles[500];
  (void)state;
  if (!directory) skip();
  snprintf(oracles, sizeof oracles, "%s/oracles", directory);
  check_case(oracles, "performer_favor_softmax", 0);
  check_case(oracles, "performer_generalized_relu", 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),     cmocka_unit_test(test_random),  cmocka_unit_test(test_spans),
      cmocka_unit_test(test_threads),   cmocka_unit_test(test_steps),   cmocka_unit_test(test_special_rows),
      cmocka_unit_test(test_long_rows), cmocka_unit_test(test_oracles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
