/* Padded batches: padding after the rows and keys of a batch element, or in front of them, changes no bit of it; a
 * diagonal that nobody asked for is refused. */
#include "support/check.h"
#include "support/problems.h"
#include "support/refusals.h"

#include <fovea/cache.h>
#include <fovea/pattern.h>
#include <fovea/rotary.h>

#include <math.h>
#include <string.h>

enum { BATCH = 2, HEADS = 2, ROWS = 10, DIM = 8 };

static const int64_t short_first[BATCH] = {5, ROWS}, no_padding[BATCH] = {ROWS, ROWS}, no_keys[BATCH] = {0, ROWS};
static const int64_t said[BATCH] = {-5, 0};

/* ---- What is refused ----------------------------------------------------------------------------------------- */

static int set_up(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, BATCH, HEADS, 1, ROWS, ROWS, DIM, DIM);
  problem.kv_lens = short_first;
  trial = trial_create(&problem, 1);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  trial_destroy(&trial);
  return 0;
}

/* What depends on a row's own key. Tensors of terms and of Shaw are not needed: the problem is refused. */
enum { DEPENDENT = 8 };
static void make_dependent(fovea_problem *problem, int kind, const fovea_pattern *pattern) {
  static fovea_position_term term;
  term = fovea_term_alibi(1);
  if (kind == 0) problem->causal = 1;
  if (kind == 1) problem->window_left = 3;
  if (kind == 2) problem->window_right = 0;
  if (kind == 3) problem->chunks.size = 4;
  if (kind == 4) fovea_problem_set_terms(problem, &term, 1);
  if (kind == 5) problem->shaw.kind = FOVEA_SHAW_KEYS, problem->shaw.distance = 2;
  if (kind == 6) problem->shaw.kind = FOVEA_SHAW_VALUES, problem->shaw.distance = 2;
  if (kind == 7) problem->pattern = pattern;
}

static fovea_pattern *window_pattern(int by_row) {
  const fovea_rule rule = fovea_rule_window(3, 3);
  fovea_pattern_options options;
  fovea_pattern *pattern;
  fovea_pattern_options_init(&options, &rule, ROWS, ROWS);
  options.by_row = by_row;
  assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
  return pattern;
}

static void test_refused(void **state) {
  (void)state;
  static const char *const names[DEPENDENT] = {"causal",      "window_left", "window_right", "chunks.size",
                                               "terms.count", "shaw",        "shaw",         "the pattern"};
  static const int32_t packed[BATCH + 1] = {0, 6, 10};
  fovea_pattern *pattern = window_pattern(0);
  for (int kind = 0; kind < DEPENDENT; kind++) {
    REFUSED(make_dependent(&call.problem, kind, pattern), FOVEA_ERROR_ARGUMENT,
            "offset is -5 by default, since batch element 0 has q length 10 and kv length 5", names[kind],
            "set q_lens", "offset or offsets");
    REFUSED((make_dependent(&call.problem, kind, pattern), call.problem.cu_seqlens_q = packed),
            FOVEA_ERROR_ARGUMENT, "offset is -1 by default, since batch element 0 has q length 6 and kv length 5",
            names[kind], "it; set offset or offsets");
  }
  REFUSED((call.problem.causal = 1, call.problem.q_lens = no_padding), FOVEA_ERROR_ARGUMENT,
          "offset: batch element 0", "q_lens");
  fovea_pattern_destroy(pattern);
}

/* Nothing depends on the offset, or it is not negative, or the caller has said it. */
static void test_accepted(void **state) {
  (void)state;
  fovea_pattern *by_row = window_pattern(1);
  ACCEPTED((void)0);
  ACCEPTED(call.problem.pattern = by_row);
  ACCEPTED((call.problem.causal = 1, call.problem.q_lens = short_first));
  ACCEPTED((call.problem.causal = 1, call.problem.kv_lens = no_keys));
  ACCEPTED((call.problem.causal = 1, call.problem.offset = 0));
  ACCEPTED((call.problem.causal = 1, call.problem.offset = -5));
  ACCEPTED((call.problem.causal = 1, call.problem.offsets = said));
  fovea_pattern_destroy(by_row);
}

static void *no_memory(void *context, size_t size, size_t alignment) {
  (void)context, (void)size, (void)alignment;
  return NULL;
}

static void release_nothing(void *context, void *pointer) {
  (void)context, (void)pointer;
}

/* A batch without lists is refused at once, however large it is: for its offsets, or since there is no memory. */
static void test_large_batch(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_plan *plan;
  fovea_error error;
  fovea_problem_init(&problem, INT64_C(1) << 44, 1, 1, 3, 2, 1, 1);
  problem.causal = 1;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.allocator = (fovea_allocator){NULL, no_memory, release_nothing};
  assert_int_equal(fovea_plan_create(&problem, &execution, &plan, &error), FOVEA_ERROR_ARGUMENT);
  problem.q_len = 2;
  assert_int_equal(fovea_plan_create(&problem, &execution, &plan, &error), FOVEA_ERROR_MEMORY);
}

static void test_contiguous_tensors(void **state) {
  (void)state;
  static const float q[3 * DIM], k[2 * DIM];
  float o[3 * DIM];
  memset(o, 0x3a, sizeof o);
  assert_int_equal(fovea_attention(q, k, k, o, 1, 1, 1, 3, 2, DIM, 1), FOVEA_ERROR_ARGUMENT);
  for (size_t i = 0; i < sizeof o; i++) assert_int_equal(((const unsigned char *)o)[i], 0x3a);
  assert_int_equal(fovea_attention(q, k, k, o, 1, 1, 1, 3, 2, DIM, 0), FOVEA_OK);
}

/* ---- Bits ---------------------------------------------------------------------------------------------------- */

enum { ENTRIES = 3 };

/* Runs each batch element alone, from its first row and key on, and compares its rows. */
static void assert_alone(const struct trial *padded, const int64_t *first, const int64_t *lengths,
                         const char *isa) {
  for (int64_t b = 0; b < ENTRIES; b++) {
    const fovea_problem *p = &padded->problem;
    const struct part part = {b, 0, first[b]};
    fovea_problem single;
    fovea_problem_init(&single, 1, p->heads, p->kv_heads, lengths[b], lengths[b], p->qk_dim, p->v_dim);
    single.q_type = p->q_type;
    single.k_type = p->k_type;
    single.v_type = p->v_type;
    single.causal = p->causal;
    single.window_left = p->window_left;
    single.window_right = p->window_right;
    single.chunks.size = p->chunks.size;
    single.chunks.left = p->chunks.left;
    single.chunks.right = p->chunks.right;
    struct trial alone = trial_of_part(&single, padded, part, part);
    trial_run(&alone, isa, NULL);
    assert_same_part(padded, part, &alone, (struct part){0, 0, 0}, 1, p->heads, lengths[b]);
    trial_destroy(&alone);
  }
}

static void fill_with_nan(struct tensor *tensor, int64_t b, int64_t begin, int64_t end) {
  for (int64_t h = 0; h < tensor->heads; h++)
    for (int64_t i = begin; i < end; i++)
      for (int64_t d = 0; d < tensor->dim; d++) tensor_row(tensor, b, h, i)[d] = NAN;
  tensor_store(tensor);
}

/* Sequences of lengths[b] in a batch of `rows`, from position first[b] on; rows and keys around them are NaN. */
static void check_padded(const struct rule *rule, const int64_t *first, const int64_t *lengths, int64_t rows,
                         int left) {
  fovea_problem problem;
  fovea_problem_init(&problem, ENTRIES, 4, 2, rows, rows, 24, 16);
  problem_apply(&problem, rule);
  problem.k_type = rows % 2 ? FOVEA_BF16 : FOVEA_F32;
  if (left) problem.kv_begins = first;
  if (!left) problem.q_lens = problem.kv_lens = lengths;
  struct trial padded = trial_create(&problem, 3);
  for (int64_t b = 0; b < ENTRIES; b++) {
    struct tensor *const tensors[] = {&padded.q, &padded.k, &padded.v};
    for (int i = 0; i < 3; i++) {
      fill_with_nan(tensors[i], b, 0, first[b]);
      fill_with_nan(tensors[i], b, first[b] + lengths[b], rows);
    }
  }
  const char *const *isas = usable_isas_for(&problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&padded, isas[isa], NULL);
    assert_alone(&padded, first, lengths, isas[isa]);
  }
  trial_destroy(&padded);
}

static void test_right(void **state) {
  (void)state;
  static const int64_t none[ENTRIES] = {0}, lengths[ENTRIES] = {71, 90, 3}, longer[ENTRIES] = {131, 1, 300};
  for (int rule = 0; rule < rule_count; rule++) {
    if (rule_list[rule].offset != FOVEA_OFFSET_BOTTOM_RIGHT) continue;
    check_padded(&rule_list[rule], none, lengths, 90, 0);
    check_padded(&rule_list[rule], none, longer, 301, 0);
  }
}

/* Blocks of 128 keys and sums by position mod 16 begin at position 0, so padding of whole blocks, or of 16 keys
 * within one, keeps the order of all sums. Chunks count from position 0, too. */
static void test_left(void **state) {
  (void)state;
  static const int64_t pads[ENTRIES] = {0, 16, 64}, lengths[ENTRIES] = {90, 74, 26};
  static const int64_t blocks[ENTRIES] = {0, 128, 256}, longer[ENTRIES] = {301, 173, 45};
  for (int rule = 0; rule < rule_count; rule++) {
    const struct rule *r = &rule_list[rule];
    if (r->offset != FOVEA_OFFSET_BOTTOM_RIGHT || (r->chunk_size > 0 && 16 % r->chunk_size != 0)) continue;
    check_padded(r, pads, lengths, 90, 1);
    check_padded(r, blocks, longer, 301, 1);
  }
}

/* ---- The recipe of docs/faq.md ------------------------------------------------------------------------------- */

enum { PROMPT = 40, STEPS = 5, LENGTH = PROMPT + STEPS, HEAD = 16 };

static float queries[ENTRIES][LENGTH][HEAD], keys[ENTRIES][LENGTH][HEAD], values[ENTRIES][LENGTH][HEAD];
static const int64_t pad[ENTRIES] = {0, 16, 32}, minus_pad[ENTRIES] = {0, -16, -32};

/* Rotates rows of all batch elements; batch element b's first row is at positions[b]. */
static void rotate(const float *from, float *to, int64_t batch, int64_t rows, int64_t stride,
                   const int64_t *positions) {
  fovea_rotary rotary;
  fovea_rotation rotation;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, HEAD);
  fovea_rotation_init(&rotation, batch, 1, rows, HEAD, from, to);
  rotation.from_strides.batch = rotation.to_strides.batch = stride;
  rotation.first_positions = positions;
  assert_int_equal(fovea_rotary_apply(&rotary, &rotation, NULL, NULL), FOVEA_OK);
}

/* Prompts padded in front, as a batch; then one row of each batch element at a time, over a cache. Each row has the
 * bits of its sequence alone, without padding. */
static void test_generate(void **state) {
  (void)state;
  static float q[ENTRIES][LENGTH][HEAD], k[ENTRIES][LENGTH][HEAD], o[ENTRIES][LENGTH][HEAD];
  static float memory[2][ENTRIES][LENGTH][HEAD], alone_q[LENGTH][HEAD], alone_k[LENGTH][HEAD],
      expected[LENGTH][HEAD];
  struct generator generator = {9};
  for (int b = 0; b < ENTRIES; b++)
    for (int64_t i = 0; i < LENGTH; i++)
      for (int d = 0; d < HEAD; d++) {
        queries[b][i][d] = i < pad[b] ? NAN : generator_uniform(&generator);
        keys[b][i][d] = i < pad[b] ? NAN : generator_uniform(&generator);
        values[b][i][d] = i < pad[b] ? NAN : generator_uniform(&generator);
      }
  rotate(queries[0][0], q[0][0], ENTRIES, LENGTH, LENGTH * HEAD, minus_pad);
  rotate(keys[0][0], k[0][0], ENTRIES, LENGTH, LENGTH * HEAD, minus_pad);

  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, ENTRIES, 1, 1, PROMPT, PROMPT, HEAD, HEAD);
  problem.q_strides.batch = problem.k_strides.batch = problem.v_strides.batch = LENGTH * HEAD;
  problem.o_strides.batch = LENGTH * HEAD;
  problem.causal = 1;
  problem.kv_begins = pad;
  fovea_tensors_init(&tensors, q, k, values, o, NULL);
  if (fovea_attend(&problem, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);

  fovea_segment segments[ENTRIES];
  fovea_sequence sequences[ENTRIES];
  fovea_pages pages;
  fovea_pages_init(&pages, ENTRIES, LENGTH, 1, HEAD, HEAD, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.k = memory[0];
  pages.v = memory[1];
  for (int b = 0; b < ENTRIES; b++) {
    assert_int_equal(fovea_cache_contiguous(&pages, b, &segments[b], NULL), FOVEA_OK);
    sequences[b] = fovea_sequence_of(&segments[b], 1);
  }
  for (int64_t length = 0; length < LENGTH; length += length == 0 ? PROMPT : 1) {
    const int64_t rows = length == 0 ? PROMPT : 1;
    fovea_new_rows new_rows;
    fovea_new_rows_init(&new_rows, ENTRIES, 1, rows, HEAD, HEAD, k[0][length], values[0][length], sequences);
    new_rows.k_strides.batch = new_rows.v_strides.batch = LENGTH * HEAD;
    new_rows.first_position = length;
    if (fovea_append(&new_rows, NULL, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
    if (length == 0) continue;
    fovea_problem_init(&problem, ENTRIES, 1, 1, 1, length + 1, HEAD, HEAD);
    problem.q_strides.batch = problem.o_strides.batch = LENGTH * HEAD;
    problem.cache.segmented = 1;
    problem.kv_begins = pad;
    fovea_tensors_init(&tensors, q[0][length], NULL, NULL, o[0][length], NULL);
    tensors.cache.sequences = sequences;
    if (fovea_attend(&problem, &tensors, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  }

  for (int b = 0; b < ENTRIES; b++) {
    const int64_t real = LENGTH - pad[b], zero = 0;
    rotate(queries[b][pad[b]], alone_q[0], 1, real, 0, &zero);
    rotate(keys[b][pad[b]], alone_k[0], 1, real, 0, &zero);
    assert_int_equal(
        fovea_attention(alone_q[0], alone_k[0], values[b][pad[b]], expected[0], 1, 1, 1, real, real, HEAD, 1),
        FOVEA_OK);
    assert_memory_equal(o[b][pad[b]], expected, (size_t)real * sizeof expected[0]);
    for (int64_t i = 0; i < pad[b] && i < PROMPT; i++)
      for (int d = 0; d < HEAD; d++) assert_true(o[b][i][d] == 0.0f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),  cmocka_unit_test(test_large_batch),
      cmocka_unit_test(test_accepted), cmocka_unit_test(test_contiguous_tensors),
      cmocka_unit_test(test_right),    cmocka_unit_test(test_left),
      cmocka_unit_test(test_generate),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
