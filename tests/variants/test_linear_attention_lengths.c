/* Linear attention over padded and packed batches: each sequence has the bits of a call of its own, with every
 * rule, type and instruction set, whatever padding holds and whoever runs it. */
#include "support/check.h"
#include "support/execution.h"
#include "support/generator.h"
#include "support/guarded.h"
#include "support/trial.h"
#include "support/types.h"

#include <fovea/linear_attention.h>

#include <string.h>

enum { BATCH = 4, TOKENS = 75, HEADS = 4, K_HEADS = 2, K = 20, V = 37, INPUTS = 5 };
enum { STATES = BATCH * HEADS * K * V, UNTOUCHED = 0x5a };

static const int64_t lens[BATCH] = {TOKENS, 0, 33, 1};
static const int32_t cumulative[BATCH + 1] = {3, 40, 40, 73, 74}; /* two gaps, a sequence without tokens */

/* What a case is about. */
struct shape {
  fovea_nn_update_rule rule;
  int64_t q_heads;
  int per_dim, with_beta, with_past;
  fovea_type type;
};

static int is_gated(const struct shape *s) {
  return s->rule == FOVEA_NN_UPDATE_GATED || s->rule == FOVEA_NN_UPDATE_GATED_DELTA;
}

static int64_t output_heads(const struct shape *s) {
  return s->q_heads > HEADS ? s->q_heads : HEADS;
}

/* Heads and dims of q, k, v, decay and beta. */
static void sizes_of(const struct shape *s, int64_t heads[INPUTS], int64_t dims[INPUTS]) {
  const int64_t all_heads[INPUTS] = {s->q_heads, K_HEADS, HEADS, HEADS, HEADS};
  const int64_t all_dims[INPUTS] = {K, K, V, s->per_dim ? K : 1, 1};
  memcpy(heads, all_heads, sizeof all_heads);
  memcpy(dims, all_dims, sizeof all_dims);
}

/* The tensors of one batch element by itself, and of the batch, as bytes of the type. The batch holds NaN where no
 * sequence has a token. */
enum { MOST = 8 * TOKENS * 40 * 4 };
static _Alignas(64) char own[INPUTS][MOST], own_o[MOST];
static _Alignas(64) char all[INPUTS][BATCH * MOST], all_o[BATCH * MOST], expected_o[BATCH * MOST];
static float skip[HEADS], past[STATES], present[STATES], expected_present[STATES];

/* Where token i of a batch element is in tensors of the batch of so many heads: a number of a row. */
static int64_t row_of(int packed, int64_t heads, int64_t b, int64_t h, int64_t i) {
  return packed ? h * TOKENS + cumulative[b] + i : (b * heads + h) * TOKENS + i;
}

static int64_t tokens_of(int packed, int64_t b) {
  return packed ? cumulative[b + 1] - cumulative[b] : lens[b];
}

static void draw(const struct shape *s, char *to, int64_t count, int lower, struct generator *generator) {
  for (int64_t i = 0; i < count; i++) {
    float number = (float)(generator_below(generator, 257) - 128) / 256.0f; /* every type holds it */
    if (lower && number > 0) number = -number;
    if (s->type == FOVEA_F32) memcpy(to + 4 * i, &number, 4);
    if (s->type != FOVEA_F32) numbers_store(s->type, (uint16_t *)(void *)(to + 2 * i), &number, 1);
  }
}

static void prepare(const struct shape *s, fovea_nn_linear_attention *a, fovea_nn_linear_attention_tensors *t,
                    int64_t batch, int64_t tokens, char (*memory)[MOST], size_t step, void *o) {
  const void *at[INPUTS];
  for (int i = 0; i < INPUTS; i++) at[i] = (const char *)memory + (size_t)i * step;
  fovea_nn_linear_attention_init(a, s->rule, HEADS, K, V);
  a->q_heads = s->q_heads;
  a->k_heads = K_HEADS;
  a->per_dim = s->per_dim;
  fovea_nn_linear_attention_tensors_init(t, a, batch, tokens, at[0], at[1], at[2], o);
  t->q_type = t->k_type = t->v_type = t->o_type = s->type;
  if (is_gated(s)) t->decay = at[3], t->decay_type = s->type;
  if (s->with_beta) t->beta = at[4], t->beta_type = s->type;
  t->skip = skip;
}

/* Computes a batch element by itself, and puts its tokens and its results to their places in the batch. */
static void run_alone(const struct shape *s, int packed, int64_t b, struct generator *generator) {
  fovea_nn_linear_attention a;
  fovea_nn_linear_attention_tensors t;
  int64_t heads[INPUTS], dims[INPUTS];
  const int64_t n = tokens_of(packed, b), states = HEADS * K * V;
  const size_t size = type_size(s->type);
  sizes_of(s, heads, dims);
  for (int i = 0; i < INPUTS; i++) draw(s, own[i], heads[i] * n * dims[i], i == 3, generator);
  prepare(s, &a, &t, 1, n, own, MOST, own_o);
  if (s->with_past) t.past = past + b * states;
  t.present = expected_present + b * states;
  assert_int_equal(fovea_nn_linear_attention_run(&a, &t, on_isa("scalar"), NULL), FOVEA_OK);
  for (int i = 0; i <= INPUTS; i++) {
    const int64_t h_count = i < INPUTS ? heads[i] : output_heads(s), dim = i < INPUTS ? dims[i] : V;
    const size_t row = (size_t)dim * size;
    char *to = i < INPUTS ? all[i] : expected_o;
    const char *from = i < INPUTS ? own[i] : own_o;
    for (int64_t h = 0; h < h_count; h++)
      for (int64_t token = 0; token < n; token++)
        memcpy(to + (size_t)row_of(packed, h_count, b, h, token) * row, from + (size_t)(h * n + token) * row, row);
  }
}

/* What is expected of o where no sequence has a token. */
static void expect_padding(const struct shape *s, int packed) {
  const size_t row = (size_t)V * type_size(s->type);
  memset(expected_o, UNTOUCHED, sizeof expected_o);
  for (int64_t b = 0; b < BATCH && !packed; b++)
    for (int64_t h = 0; h < output_heads(s); h++)
      memset(expected_o + (size_t)row_of(0, output_heads(s), b, h, 0) * row, 0, TOKENS * row);
}

static void check_batch(const struct shape *s, int packed, int threads) {
  for (const char *const *isa = usable_isas(); *isa != NULL; isa++) {
    fovea_nn_linear_attention a;
    fovea_nn_linear_attention_tensors t;
    fovea_execution execution;
    fovea_error error;
    fovea_execution_init(&execution);
    execution.threads = threads;
    prepare(s, &a, &t, BATCH, TOKENS, (char(*)[MOST])(void *)all, BATCH * MOST, all_o);
    execution.isa = *isa;
    if (packed) t.cu_seqlens = cumulative;
    if (!packed) t.token_lens = lens;
    t.present = present;
    memset(all_o, UNTOUCHED, sizeof all_o);
    memset(present, UNTOUCHED, sizeof present);
    if (s->with_past && threads == 1) t.past = past;
    if (s->with_past && threads != 1) t.past = memcpy(present, past, sizeof past); /* in place */
    if (fovea_nn_linear_attention_run(&a, &t, &execution, &error) != FOVEA_OK) fail_msg("%s", error.text);
    assert_memory_equal(all_o, expected_o, sizeof all_o);
    assert_memory_equal(present, expected_present, sizeof present);
  }
}

static void check_shape(const struct shape *s, struct generator *generator) {
  for (int packed = 0; packed < 2; packed++) {
    memset(all, 0xff, sizeof all); /* NaN in every type */
    expect_padding(s, packed);
    for (int i = 0; i < STATES; i++) past[i] = (float)(generator_below(generator, 2001) - 1000) / 1000.0f;
    for (int64_t b = 0; b < BATCH; b++) run_alone(s, packed, b, generator);
    check_batch(s, packed, 1);
    check_batch(s, packed, 3);
  }
}

static void test_rules(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int i = 0; i < HEADS; i++) skip[i] = (float)i / 8.0f;
  for (int rule = 0; rule <= FOVEA_NN_UPDATE_GATED_DELTA; rule++)
    for (int i = 0; i < USUAL_OR_LONG(2, 6); i++) {
      struct shape s = {.rule = (fovea_nn_update_rule)rule, .with_beta = i % 2, .with_past = i != 1};
      s.q_heads = i % 3 == 0 ? HEADS : i % 3 == 1 ? 2 * HEADS : K_HEADS;
      s.per_dim = is_gated(&s) && i % 2;
      s.type = (fovea_type)((rule + i) % 3);
      check_shape(&s, &generator);
    }
}

/* A token of no sequence is not read at all: its memory may be missing. The scratch of a size that was asked for is
 * enough. */
static void test_memory(void **state) {
  (void)state;
  const int64_t short_lens[2] = {5, 2};
  struct guarded k = guarded_create((9 + 2) * K * sizeof(float), GUARD_AT_END); /* 9 tokens, then 2 of the next 9 */
  fovea_nn_linear_attention a;
  fovea_nn_linear_attention_tensors t;
  fovea_execution execution;
  fovea_nn_linear_attention_init(&a, FOVEA_NN_UPDATE_LINEAR, 1, K, V);
  fovea_nn_linear_attention_tensors_init(&t, &a, 2, 9, own[0], k.data, own[2], own_o);
  memset(own, 0, sizeof own);
  memset(k.data, 0, (9 + 2) * K * sizeof(float));
  t.token_lens = short_lens;
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch = all;
  execution.scratch_size =
      measured(fovea_nn_linear_attention_scratch_size(&a, &t, with_threads(1), measured_size(), NULL));
  assert_true(execution.scratch_size > 0 && execution.scratch_size <= sizeof all);
  assert_int_equal(fovea_nn_linear_attention_run(&a, &t, &execution, NULL), FOVEA_OK);
  guarded_destroy(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
