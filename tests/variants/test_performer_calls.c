/* Calls of Performer attention that are refused, with their texts; structs of other sizes; callers and threads in
 * other floating-point environments. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/everywhere.h"
#include "support/execution.h"
#include "support/guarded.h"

#include <fovea/performer.h>

#include <math.h>
#include <string.h>

enum { BATCH = 2, HEADS = 2, LENGTH = 70, DIM = 6, FEATURES = 20, V_DIM = 5, NUMBERS = 8000 };
enum { OUTPUTS = BATCH * HEADS * LENGTH * FEATURES };

static float q[NUMBERS], k[NUMBERS], v[NUMBERS], projection[FEATURES * DIM], outputs[OUTPUTS];
static float states[BATCH * HEADS * FEATURES * (V_DIM + 1)];
static const int64_t lens[BATCH] = {3, LENGTH + 1};

static int set_up(void **state) {
  struct generator generator = {1};
  fovea_nn_random_features random;
  (void)state;
  fill_numbers(q, NUMBERS, 1, &generator);
  fill_numbers(k, NUMBERS, 1, &generator);
  fill_values(v, NUMBERS, &generator);
  fovea_nn_random_features_init(&random, FEATURES, DIM);
  return fovea_nn_random_features_draw(&random, projection, NULL, NULL) != FOVEA_OK;
}

static void *no_memory(void *context, size_t size, size_t alignment) {
  (void)context, (void)size, (void)alignment;
  return NULL;
}

static void release_nothing(void *context, void *memory) {
  (void)context, (void)memory;
}

/* ---- Refusals ---------------------------------------------------------------------------------------------- */

struct call {
  fovea_nn_performer p;
  fovea_nn_performer_tensors t;
  fovea_nn_performer_rows r;
  fovea_nn_random_features f;
  fovea_execution e;
};

static struct call good_call(void) {
  struct call c;
  fovea_nn_performer_init(&c.p, FOVEA_NN_PERFORMER_SOFTMAX, DIM, FEATURES, projection);
  fovea_nn_performer_tensors_init(&c.t, &c.p, BATCH, HEADS, HEADS, LENGTH, LENGTH, V_DIM, q, k, v, outputs);
  fovea_nn_performer_rows_init(&c.r, &c.p, BATCH, HEADS, LENGTH, q, outputs);
  fovea_nn_random_features_init(&c.f, FEATURES, DIM);
  fovea_execution_init(&c.e);
  return c;
}

/* Which call. */
enum { RUN, ROWS, DRAW };

static void assert_refused(const struct call *c, int which, fovea_status expected, const char *words) {
  fovea_error error = {.text = ""};
  memset(outputs, 0x5a, sizeof outputs);
  for (int with_text = 0; with_text < 2; with_text++) {
    fovea_error *to = with_text ? &error : NULL;
    fovea_status status = FOVEA_OK;
    if (which == RUN) status = fovea_nn_performer_run(&c->p, &c->t, &c->e, to);
    if (which == ROWS) status = fovea_nn_performer_features(&c->p, &c->r, &c->e, to);
    if (which == DRAW) status = fovea_nn_random_features_draw(&c->f, outputs, &c->e, to);
    if (status != expected) fail_msg("%s: status %d: %s", words, (int)status, error.text);
  }
  assert_error_says(&error, words);
  for (size_t i = 0; i < sizeof outputs; i++) assert_int_equal(((unsigned char *)outputs)[i], 0x5a);
  if (expected == FOVEA_ERROR_MEMORY) return;
  size_t size = 1;
  fovea_status status = FOVEA_OK;
  if (which == RUN) status = fovea_nn_performer_scratch_size(&c->p, &c->t, &c->e, &size, &error);
  if (which == ROWS) status = fovea_nn_performer_features_scratch_size(&c->p, &c->r, &c->e, &size, &error);
  if (which == DRAW) status = fovea_nn_random_features_scratch_size(&c->f, &c->e, &size, &error);
  if (which != DRAW || status != FOVEA_OK) assert_int_equal(status, expected); /* that has no outputs */
  if (status != FOVEA_OK) assert_error_says(&error, words);
  if (status != FOVEA_OK) assert_int_equal(size, 0);
}

#define REFUSED(which, change, status, words)                                                                      \
  do {                                                                                                             \
    struct call c = good_call();                                                                                   \
    change;                                                                                                        \
    assert_refused(&c, which, status, words);                                                                      \
  } while (0)

static void test_refused_performers(void **state) {
  (void)state;
  for (int which = RUN; which <= ROWS; which++) {
    REFUSED(which, c.p.dim = 0, FOVEA_ERROR_ARGUMENT, "performer.dim is 0");
    REFUSED(which, c.p.features = 0, FOVEA_ERROR_ARGUMENT, "performer.features is 0");
    REFUSED(which, (c.p.dim = INT64_C(1) << 30, c.p.features = INT64_C(1) << 30), FOVEA_ERROR_ARGUMENT,
            "performer.features: at most 2^57");
    REFUSED(which, c.p.kernel = (fovea_nn_performer_kernel)2, FOVEA_ERROR_ARGUMENT, "performer.kernel is 2");
    REFUSED(which, c.p.stabiliser = (fovea_nn_performer_stabiliser)2, FOVEA_ERROR_ARGUMENT,
            "performer.stabiliser is 2");
    REFUSED(which, c.p.causal = 2, FOVEA_ERROR_ARGUMENT, "performer.causal is 2");
    REFUSED(which, (c.p.kernel = FOVEA_NN_PERFORMER_RELU, c.p.stabiliser = FOVEA_NN_STABILISER_MAX),
            FOVEA_ERROR_UNUSED, "performer.stabiliser is set");
    REFUSED(which, (c.p.causal = 1, c.p.stabiliser = FOVEA_NN_STABILISER_MAX), FOVEA_ERROR_ARGUMENT,
            "performer.stabiliser: later keys");
    REFUSED(which, c.p.eps = -1, FOVEA_ERROR_ARGUMENT, "performer.eps is -1");
    REFUSED(which, c.p.eps = (double)NAN, FOVEA_ERROR_ARGUMENT, "performer.eps is nan");
    REFUSED(which, c.p.eps = 1e39, FOVEA_ERROR_ARGUMENT, "performer.eps is 1.000000e39");
    REFUSED(which, c.p.scale = 0, FOVEA_ERROR_ARGUMENT, "performer.scale is 0");
    REFUSED(which, c.p.scale = (double)INFINITY, FOVEA_ERROR_ARGUMENT, "performer.scale is inf");
    REFUSED(which, c.p.scale = 1e-300, FOVEA_ERROR_ARGUMENT, "performer.scale: it must be finite and above 0");
    REFUSED(which, c.p.projection = NULL, FOVEA_ERROR_ARGUMENT, "projection is NULL");
    REFUSED(which, c.p.projection = outputs + 9, FOVEA_ERROR_ARGUMENT,
            which == RUN ? "o shares memory with projection" : "y shares memory with projection");
    REFUSED(which, c.e.isa = "abacus", FOVEA_ERROR_ARGUMENT, "isa: abacus");
    REFUSED(which, c.e.allocator.allocate = no_memory, FOVEA_ERROR_ARGUMENT, "allocator.release is NULL");
    REFUSED(which, (c.e.allocator.allocate = no_memory, c.e.allocator.release = release_nothing),
            FOVEA_ERROR_MEMORY, "No memory");
  }
}

static void test_refused_tensors(void **state) {
  (void)state;
  REFUSED(RUN, c.t.batch = 0, FOVEA_ERROR_ARGUMENT, "tensors.batch is 0");
  REFUSED(RUN, c.t.kv_heads = 0, FOVEA_ERROR_ARGUMENT, "tensors.kv_heads is 0");
  REFUSED(RUN, c.t.heads = 3, FOVEA_ERROR_ARGUMENT, "tensors.kv_heads is 2");
  REFUSED(RUN, c.t.q_len = -1, FOVEA_ERROR_ARGUMENT, "tensors.q_len is -1");
  REFUSED(RUN, c.t.v_dim = 0, FOVEA_ERROR_ARGUMENT, "tensors.v_dim is 0");
  REFUSED(RUN, c.t.q_type = (fovea_type)3, FOVEA_ERROR_ARGUMENT, "tensors.q_type is 3");
  REFUSED(RUN, c.t.q = NULL, FOVEA_ERROR_ARGUMENT, "q is NULL");
  REFUSED(RUN, c.t.o = NULL, FOVEA_ERROR_ARGUMENT, "o is NULL");
  REFUSED(RUN, c.t.k = (const char *)k + 1, FOVEA_ERROR_ARGUMENT, "k is 1 bytes off");
  REFUSED(RUN, c.t.v = outputs + 3, FOVEA_ERROR_ARGUMENT, "o shares memory with v");
  REFUSED(RUN, c.t.o_strides.row = 2, FOVEA_ERROR_ARGUMENT, "o_strides.row");
  REFUSED(RUN, c.t.kv_lens = lens, FOVEA_ERROR_ARGUMENT, "kv_lens[1] is 71");
  REFUSED(RUN, c.t.state = states, FOVEA_ERROR_UNUSED, "state is set");
  REFUSED(RUN, (c.p.causal = 1, c.t.q_len = 3), FOVEA_ERROR_ARGUMENT, "tensors.q_len is 3");
  REFUSED(RUN, (c.p.causal = 1, c.t.state = outputs + 8), FOVEA_ERROR_ARGUMENT, "state shares memory with o");
  REFUSED(RUN, c.t.struct_size = 8, FOVEA_ERROR_ARGUMENT, "tensors.struct_size is 8");
  REFUSED(ROWS, c.r.rows = -1, FOVEA_ERROR_ARGUMENT, "rows.rows is -1");
  REFUSED(ROWS, c.r.y_type = (fovea_type)7, FOVEA_ERROR_ARGUMENT, "rows.y_type is 7");
  REFUSED(ROWS, c.r.keys = 1, FOVEA_ERROR_UNUSED, "rows.keys is set");
  REFUSED(ROWS, c.r.x = outputs, FOVEA_ERROR_ARGUMENT, "y shares memory with x");
  REFUSED(ROWS, c.r.lens = lens, FOVEA_ERROR_ARGUMENT, "lens[1] is 71");
  REFUSED(ROWS, c.r.struct_size = 8, FOVEA_ERROR_ARGUMENT, "rows.struct_size is 8");
  REFUSED(ROWS, c.p.struct_size = 8, FOVEA_ERROR_ARGUMENT, "performer.struct_size is 8");
  REFUSED(DRAW, c.f.features = 0, FOVEA_ERROR_ARGUMENT, "random.features is 0");
  REFUSED(DRAW, c.f.dim = -2, FOVEA_ERROR_ARGUMENT, "random.dim is -2");
  REFUSED(DRAW, c.f.orthogonal = 2, FOVEA_ERROR_ARGUMENT, "random.orthogonal is 2");
  REFUSED(DRAW, c.f.norms = (fovea_nn_feature_norms)2, FOVEA_ERROR_ARGUMENT, "random.norms is 2");
  REFUSED(DRAW, c.f.struct_size = 8, FOVEA_ERROR_ARGUMENT, "random.struct_size is 8");
  REFUSED(DRAW, c.e.allocator.allocate = no_memory, FOVEA_ERROR_ARGUMENT, "allocator.release is NULL");
  REFUSED(DRAW, (c.e.allocator.allocate = no_memory, c.e.allocator.release = release_nothing), FOVEA_ERROR_MEMORY,
          "No memory");
  assert_int_equal(fovea_nn_performer_run(NULL, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_nn_performer_state_numbers(0, 1), 0);
  assert_int_equal(fovea_nn_performer_state_numbers(INT64_C(1) << 40, INT64_C(1) << 40), 0);
  assert_int_equal(fovea_nn_performer_state_numbers(256, 64), 256 * 65);
}

/* O may lie between the rows of Q: no byte is shared. */
static void test_views(void **state) {
  float packed[LENGTH][DIM + V_DIM], apart[LENGTH * V_DIM];
  struct call c = good_call();
  (void)state;
  for (int i = 0; i < LENGTH; i++) memcpy(packed[i], q + i * DIM, DIM * sizeof(float));
  fovea_nn_performer_tensors_init(&c.t, &c.p, 1, 1, 1, LENGTH, LENGTH, V_DIM, q, k, v, apart);
  assert_int_equal(fovea_nn_performer_run(&c.p, &c.t, NULL, NULL), FOVEA_OK);
  c.t.q = packed;
  c.t.o = packed[0] + DIM;
  c.t.q_strides.row = c.t.o_strides.row = DIM + V_DIM;
  assert_int_equal(fovea_nn_performer_run(&c.p, &c.t, NULL, NULL), FOVEA_OK);
  for (int i = 0; i < LENGTH; i++) {
    assert_memory_equal(packed[i] + DIM, apart + i * V_DIM, V_DIM * sizeof(float));
    assert_memory_equal(packed[i], q + i * DIM, DIM * sizeof(float));
  }
}

/* ---- Environments ------------------------------------------------------------------------------------------ */

static void act(void) {
  struct call c = good_call();
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = EVERYWHERE_THREADS;
  execution.parallel_for = everywhere_loop;
  execution.isa = everywhere_isa;
  for (int kind = 0; kind < 3; kind++) {
    c.p.causal = kind == 1;
    c.p.stabiliser = kind == 2 ? FOVEA_NN_STABILISER_MAX : FOVEA_NN_STABILISER_NONE;
    c.t.o = everywhere_room(BATCH * HEADS * LENGTH * V_DIM * sizeof(float));
    c.t.state = kind == 1 ? everywhere_room(sizeof states) : NULL;
    everywhere_keep(fovea_nn_performer_run(&c.p, &c.t, &execution, NULL));
    c.r.y = everywhere_room(BATCH * HEADS * LENGTH * FEATURES * sizeof(float));
    everywhere_keep(fovea_nn_performer_features(&c.p, &c.r, &execution, NULL));
  }
  for (c.f.orthogonal = 0; c.f.orthogonal < 2; c.f.orthogonal++) {
    float *to = everywhere_room(FEATURES * DIM * sizeof(float));
    everywhere_keep(fovea_nn_random_features_draw(&c.f, to, &execution, NULL));
  }
  memcpy(everywhere_room(sizeof c.p.scale), &c.p.scale, sizeof c.p.scale);
}

static void test_environments(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused_performers),
                                     cmocka_unit_test(test_refused_tensors), cmocka_unit_test(test_views),
                                     cmocka_unit_test(test_environments)};
  return cmocka_run_group_tests(tests, set_up, NULL);
}
