/* What linear attention refuses, and with which text; then nothing is written. And callers that round otherwise or
 * trap: the same bits. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/everywhere.h"
#include "support/execution.h"

#include <fovea/linear_attention.h>

#include <math.h>
#include <string.h>

enum { BATCH = 2, TOKENS = 6, HEADS = 2, K = 5, V = 7, NUMBERS = BATCH * TOKENS * HEADS * 8 };

static float inputs[6][NUMBERS], factors[HEADS], output[NUMBERS], present[BATCH * HEADS * K * V];

static void *no_memory(void *context, size_t size, size_t alignment) {
  (void)context;
  (void)size;
  (void)alignment;
  return NULL;
}

static void release_nothing(void *context, void *pointer) {
  (void)context;
  (void)pointer;
}

static void prepare(fovea_nn_update_rule rule, fovea_nn_linear_attention *a, fovea_nn_linear_attention_tensors *t) {
  fovea_nn_linear_attention_init(a, rule, HEADS, K, V);
  fovea_nn_linear_attention_tensors_init(t, a, BATCH, TOKENS, inputs[0], inputs[1], inputs[2], output);
  if (rule == FOVEA_NN_UPDATE_GATED || rule == FOVEA_NN_UPDATE_GATED_DELTA) t->decay = inputs[3];
  t->beta = inputs[4];
  t->past = inputs[5];
  t->present = present;
}

#define REFUSED_OF(rule, change, status, word)                                                                     \
  do {                                                                                                             \
    fovea_nn_linear_attention a;                                                                                   \
    fovea_nn_linear_attention_tensors t;                                                                           \
    fovea_execution e;                                                                                             \
    fovea_error error = {.text = ""};                                                                              \
    fovea_execution_init(&e);                                                                                      \
    prepare(rule, &a, &t);                                                                                         \
    memset(output, 0x3a, sizeof output);                                                                           \
    memset(present, 0x3a, sizeof present);                                                                         \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_linear_attention_run(&a, &t, &e, &error), status);                                   \
    assert_error_says(&error, word);                                                                               \
    for (size_t i = 0; i < sizeof output; i++) assert_int_equal(((const unsigned char *)output)[i], 0x3a);         \
    for (size_t i = 0; i < sizeof present; i++) assert_int_equal(((const unsigned char *)present)[i], 0x3a);       \
  } while (0)
#define REFUSED(change, status, word) REFUSED_OF(FOVEA_NN_UPDATE_GATED_DELTA, change, status, word)
#define REFUSED_LINEAR(change, word)  REFUSED_OF(FOVEA_NN_UPDATE_LINEAR, change, FOVEA_ERROR_UNUSED, word)

static void test_description(void **state) {
  (void)state;
  assert_int_equal(fovea_nn_linear_attention_run(NULL, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  REFUSED(a.struct_size--, FOVEA_ERROR_ARGUMENT, "attention");
  REFUSED(t.struct_size++, FOVEA_ERROR_ARGUMENT, "tensors");
  REFUSED(a.rule = (fovea_nn_update_rule)4, FOVEA_ERROR_ARGUMENT, "rule is 4");
  REFUSED(a.heads = 0, FOVEA_ERROR_ARGUMENT, "attention.heads is 0");
  REFUSED(a.k_dim = 0, FOVEA_ERROR_ARGUMENT, "k_dim is 0");
  REFUSED(a.v_dim = -1, FOVEA_ERROR_ARGUMENT, "v_dim is -1");
  REFUSED(a.q_heads = -1, FOVEA_ERROR_ARGUMENT, "q_heads is -1");
  REFUSED(a.k_heads = 4, FOVEA_ERROR_ARGUMENT, "k_heads is 4; it must divide heads, which is 2");
  REFUSED(a.q_heads = 3, FOVEA_ERROR_ARGUMENT, "q_heads is 3; it must divide heads, or be a multiple of it: 2");
  REFUSED(a.q_heads = INT64_C(1) << 40, FOVEA_ERROR_ARGUMENT, "q_heads: times heads");
  REFUSED(a.scale = NAN, FOVEA_ERROR_ARGUMENT, "scale is nan");
  REFUSED(a.scale = 1e39, FOVEA_ERROR_ARGUMENT, "scale is 1.000000e39");
  REFUSED(a.unit_eps = 1, FOVEA_ERROR_UNUSED, "unit_eps is 1.000000 and would not be used: unit is 0");
  REFUSED((a.unit = 1, a.unit_eps = -1), FOVEA_ERROR_ARGUMENT, "unit_eps is -1.0");
  REFUSED(a.unit = 2, FOVEA_ERROR_ARGUMENT, "unit is 2");
  REFUSED(a.per_dim = -1, FOVEA_ERROR_ARGUMENT, "per_dim is -1");
  REFUSED(e.isa = "abacus", FOVEA_ERROR_ARGUMENT, "isa: abacus");
  REFUSED(e.allocator.allocate = no_memory, FOVEA_ERROR_ARGUMENT, "allocator.release is NULL");
  REFUSED((e.allocator.allocate = no_memory, e.allocator.release = release_nothing), FOVEA_ERROR_MEMORY,
          "No memory");
  REFUSED(e.threads = -1, FOVEA_ERROR_ARGUMENT, "threads");
}

static void test_tensors(void **state) {
  (void)state;
  REFUSED(t.batch = 0, FOVEA_ERROR_ARGUMENT, "batch is 0");
  REFUSED(t.tokens = -1, FOVEA_ERROR_ARGUMENT, "tokens is -1");
  REFUSED(t.q_type = (fovea_type)9, FOVEA_ERROR_ARGUMENT, "q_type is 9");
  REFUSED(t.o_type = (fovea_type)-1, FOVEA_ERROR_ARGUMENT, "o_type is -1");
  REFUSED(t.q = NULL, FOVEA_ERROR_ARGUMENT, "q is NULL");
  REFUSED(t.v = NULL, FOVEA_ERROR_ARGUMENT, "v is NULL");
  REFUSED(t.o = NULL, FOVEA_ERROR_ARGUMENT, "o is NULL");
  REFUSED(t.decay = NULL, FOVEA_ERROR_ARGUMENT, "decay is NULL, but the rule has a decay");
  REFUSED(t.k = (const char *)t.k + 2, FOVEA_ERROR_ARGUMENT, "k is 2 bytes off an address that is a multiple of 4");
  REFUSED(t.o_strides.row = V - 1, FOVEA_ERROR_ARGUMENT, "o_strides.row is 6");
  REFUSED(t.present_strides.head = 1, FOVEA_ERROR_ARGUMENT, "present_strides.head is 1");
  REFUSED(t.q_strides.batch = INT64_MAX, FOVEA_ERROR_ARGUMENT, "q_strides: 2^57");
  REFUSED((t.beta = NULL, t.beta_type = FOVEA_F16), FOVEA_ERROR_UNUSED, "beta_type: beta is NULL");
  REFUSED((t.past = NULL, t.past_strides.row = 99), FOVEA_ERROR_UNUSED, "past_strides: past is NULL");
  REFUSED_LINEAR(t.decay = inputs[3], "decay is set and would not be used: rule is FOVEA_NN_UPDATE_LINEAR");
  REFUSED_LINEAR(t.decay_factors = factors, "decay_factors");
  REFUSED_LINEAR(a.per_dim = 1, "per_dim");
  REFUSED_OF(FOVEA_NN_UPDATE_DELTA, t.decay = inputs[3], FOVEA_ERROR_UNUSED, "decay: FOVEA_NN_UPDATE_DELTA");
}

static void test_overlap(void **state) {
  (void)state;
  const void *const from[] = {output};
  REFUSED(t.q = from[0], FOVEA_ERROR_ARGUMENT, "o shares memory with q");
  REFUSED(t.v = from[0], FOVEA_ERROR_ARGUMENT, "o shares memory with v");
  REFUSED(t.beta = output + 3, FOVEA_ERROR_ARGUMENT, "o shares memory with beta");
  REFUSED(t.skip = output + 3, FOVEA_ERROR_ARGUMENT, "o shares memory with skip");
  REFUSED(t.decay_factors = output, FOVEA_ERROR_ARGUMENT, "o shares memory with decay_factors");
  REFUSED(t.past = output, FOVEA_ERROR_ARGUMENT, "o shares memory with past");
  REFUSED(t.present = output, FOVEA_ERROR_ARGUMENT, "present shares memory with o");
  REFUSED(t.k = present, FOVEA_ERROR_ARGUMENT, "present shares memory with k");
  REFUSED(t.past = present + 1, FOVEA_ERROR_ARGUMENT, "present shares memory with past");
  REFUSED((t.past = present, t.past_strides.batch = 0), FOVEA_ERROR_ARGUMENT, "present shares memory with past");
}

static void test_scratch_size(void **state) {
  (void)state;
  fovea_nn_linear_attention a;
  fovea_nn_linear_attention_tensors t;
  prepare(FOVEA_NN_UPDATE_LINEAR, &a, &t);
  const size_t one =
      measured(fovea_nn_linear_attention_scratch_size(&a, &t, with_threads(1), measured_size(), NULL));
  assert_true(one > 0);
  assert_int_equal(measured(fovea_nn_linear_attention_scratch_size(&a, &t, with_threads(3), measured_size(), NULL)),
                   3 * one);
  t.tokens = -1;
  assert_int_equal(measured(fovea_nn_linear_attention_scratch_size(&a, &t, with_threads(1), measured_size(), NULL)),
                   0);
}

/* ---- Environments ------------------------------------------------------------------------------------------ */

static void test_lengths(void **state) {
  (void)state;
  const int64_t long_lens[BATCH] = {TOKENS, TOKENS + 1}, short_lens[BATCH] = {-1, 0}, lens[BATCH] = {1, 2};
  const int32_t falls[BATCH + 1] = {0, 4, 3}, before[BATCH + 1] = {-1, 0, 0},
                              beyond[BATCH + 1] = {0, 1, TOKENS + 1};
  const int32_t packed[BATCH + 1] = {0, 1, 3};
  REFUSED(t.token_lens = long_lens, FOVEA_ERROR_ARGUMENT, "token_lens[1] is 7; it must be from 0 to 6");
  REFUSED(t.token_lens = short_lens, FOVEA_ERROR_ARGUMENT, "token_lens[0] is -1");
  REFUSED(t.cu_seqlens = falls, FOVEA_ERROR_ARGUMENT, "cu_seqlens[2] is 3");
  REFUSED(t.cu_seqlens = before, FOVEA_ERROR_ARGUMENT, "cu_seqlens[0] is -1");
  REFUSED(t.cu_seqlens = beyond, FOVEA_ERROR_ARGUMENT, "cu_seqlens[2] is 7");
  REFUSED((t.cu_seqlens = packed, t.token_lens = lens), FOVEA_ERROR_ARGUMENT,
          "cu_seqlens is given together with token_lens");
  REFUSED(t.token_lens = (const int64_t *)(const void *)output, FOVEA_ERROR_ARGUMENT, "token_lens[0]");
  REFUSED(t.token_lens = (const int64_t *)(const void *)((const char *)lens + 4), FOVEA_ERROR_ARGUMENT,
          "token_lens is 4 bytes off"); /* before its numbers are read */
  REFUSED(t.cu_seqlens = (const int32_t *)(const void *)((const char *)packed + 1), FOVEA_ERROR_ARGUMENT,
          "cu_seqlens is 1 bytes off");
}

/* The lists are read while o is written. */
static void test_lists_in_outputs(void **state) {
  (void)state;
  fovea_nn_linear_attention a;
  fovea_nn_linear_attention_tensors t;
  fovea_error error;
  prepare(FOVEA_NN_UPDATE_DELTA, &a, &t);
  memset(output, 0, sizeof output);
  memset(present, 0, sizeof present);
  t.token_lens = (const int64_t *)(const void *)output;
  assert_int_equal(fovea_nn_linear_attention_run(&a, &t, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "o: token_lens");
  t.token_lens = NULL;
  t.cu_seqlens = (const int32_t *)(const void *)present;
  assert_int_equal(fovea_nn_linear_attention_run(&a, &t, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "present: cu_seqlens");
}

static void run_all(void) {
  for (int rule = 0; rule <= FOVEA_NN_UPDATE_GATED_DELTA; rule++) {
    fovea_nn_linear_attention a;
    fovea_nn_linear_attention_tensors t;
    prepare((fovea_nn_update_rule)rule, &a, &t);
    a.unit = rule & 1;
    t.o = everywhere_room(sizeof output);
    t.present = everywhere_room(sizeof present);
    t.skip = factors;
    everywhere_keep(fovea_nn_linear_attention_run(&a, &t, on_isa(everywhere_isa), NULL));
  }
}

static void test_environments(void **state) {
  (void)state;
  struct generator generator = {100};
  for (int i = 0; i < 6; i++) fill_values(inputs[i], NUMBERS, &generator);
  for (int i = 0; i < HEADS; i++) factors[i] = 0.3f;
  assert_same_everywhere_on_isas(run_all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_description),      cmocka_unit_test(test_tensors),      cmocka_unit_test(test_overlap),
      cmocka_unit_test(test_scratch_size),     cmocka_unit_test(test_environments), cmocka_unit_test(test_lengths),
      cmocka_unit_test(test_lists_in_outputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
