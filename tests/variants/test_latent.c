/* Multi-head latent attention: both forms, bit for bit, against the clause in plain C, for sizes, layers with and
 * without norms, types, lengths and instruction sets; a prompt at once, in chunks and in steps; caches in pages;
 * batch elements alone; threads. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/guarded.h"
#include "support/trial.h"
#include "support/types.h"
#include "variants/latent_model.h"

#include <stdlib.h>
#include <string.h>

static void test_prompts(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++)
    for (int form = 0; form < 2; form++) {
      struct model m;
      make(&m, &shapes[i], 10 + (uint64_t)i);
      choose(&m, (fovea_nn_latent_form)form);
      const int64_t rows = USUAL_OR_LONG(9, ROWS), batch = 2;
      const double scale = problem_of(&m, 1, 1, 1).scale;
      for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
        float *y = run_prompt(&m, batch, rows, *isa, NULL);
        for (int64_t b = 0; b < batch; b++) {
          float *expected = expect(&m, m.x + b * rows * m.shape.in, rows, FOVEA_F32, scale);
          assert_same(y + b * rows * m.shape.in, expected, rows * m.shape.in);
          free(expected);
        }
        free(y);
      }
      destroy(&m);
    }
}

/* At once, in chunks and in steps: the bits of the clause. */
static void test_chunks(void **state) {
  static const int64_t cuts[][6] = {{0, ROWS}, {0, 7, 8, 9, 25, ROWS}, {0, 1, 2, 3, 39, ROWS}};
  (void)state;
  for (int i = 0; i < SHAPES; i++)
    for (int form = 0; form < 2; form++)
      for (int type = 0; type < 3; type++) {
        struct model m;
        make(&m, &shapes[i], 30 + (uint64_t)i);
        choose(&m, (fovea_nn_latent_form)form);
        float *expected =
            expect(&m, m.x + ROWS * m.shape.in, ROWS, (fovea_type)type, problem_of(&m, 1, 1, 1).scale);
        float *y = malloc((size_t)(ROWS * m.shape.in) * sizeof *y);
        assert_non_null(y);
        for (int n = 0; n < USUAL_OR_LONG(2, 3); n++) {
          struct cache c;
          make_cache(&c, &m.shape, (fovea_type)type, n == 1);
          for (int j = 0; cuts[n][j] < ROWS; j++) run_chunk(&m, &c, 1, cuts[n][j], cuts[n][j + 1], y);
          assert_same(y, expected, ROWS * m.shape.in);
          free(c.memory);
        }
        free(expected);
        free(y);
        destroy(&m);
      }
}

/* Rows in the cache from place 0 on that are rotated from 1,000 on have the bits of a prompt at position 1,000. */
static void test_rotary_positions(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++) {
    struct model m;
    struct cache c;
    int64_t positions[ROWS];
    fovea_nn_latent_tensors t;
    fovea_error error = {0};
    make(&m, &shapes[0], 50);
    choose(&m, (fovea_nn_latent_form)form);
    make_cache(&c, &m.shape, FOVEA_F32, 1);
    float *y = malloc((size_t)(2 * ROWS * m.shape.in) * sizeof *y), *expected = y + ROWS * m.shape.in;
    assert_non_null(y);
    assert_true(m.shape.rope > 0);
    for (int i = 0; i < ROWS; i++) positions[i] = 1000 + i;
    fovea_problem p = problem_of(&m, 1, ROWS, ROWS);
    fovea_nn_latent_tensors_init(&t, m.x, expected);
    t.first_position = 1000;
    if (fovea_nn_latent_run(&m.latent, &p, &t, NULL, &error)) fail_msg("%s", error.text);
    p.cache.segmented = 1;
    t.y = y;
    t.cache.sequences = &c.sequences[0];
    t.cache.layer = LAYER;
    t.first_position = 0;
    t.rotary_positions = positions;
    if (fovea_nn_latent_run(&m.latent, &p, &t, NULL, &error)) fail_msg("%s", error.text);
    assert_same(y, expected, ROWS * m.shape.in);
    m.latent.rotary = NULL;
    assert_int_equal(fovea_nn_latent_run(&m.latent, &p, &t, NULL, &error), FOVEA_ERROR_UNUSED);
    assert_error_says(&error, "rotary_positions is set");
    free(y);
    free(c.memory);
    destroy(&m);
  }
}

/* Three batch elements of different lengths, one call: each has the bits that it has alone. Packed rows, and padded
 * rows. */
static void test_batches(void **state) {
  const int64_t before[3] = {10, 0, 25}, new_rows[3] = {3, 20, 15};
  (void)state;
  for (int form = 0; form < 2; form++)
    for (int packed = 0; packed < 2; packed++) {
      struct model m;
      struct cache c;
      fovea_nn_latent_tensors t;
      const int64_t most = 20;
      int64_t kv_lens[3], offsets[3];
      int32_t starts[4] = {2, 5, 25, 40};
      make(&m, &shapes[0], 50);
      choose(&m, (fovea_nn_latent_form)form);
      make_cache(&c, &m.shape, FOVEA_F32, 0);
      const int64_t in = m.shape.in, rows = packed ? 43 : 3 * most;
      float *x = calloc((size_t)(rows * in), sizeof *x), *y = malloc((size_t)(rows * in) * sizeof *y),
            *alone = malloc((size_t)(ROWS * in) * sizeof *alone);
      assert_true(x && y && alone);
      for (int64_t b = 0; b < 3; b++) {
        float *to = x + (packed ? starts[b] : b * most) * in;
        if (before[b] > 0) run_chunk(&m, &c, b, 0, before[b], alone);
        memcpy(to, m.x + (b * ROWS + before[b]) * in, (size_t)(new_rows[b] * in) * sizeof *to);
        kv_lens[b] = before[b] + new_rows[b];
        offsets[b] = before[b];
      }
      fovea_problem p = problem_of(&m, 3, packed ? rows : most, 40);
      p.cache.segmented = 1;
      p.kv_lens = kv_lens;
      p.offsets = offsets;
      if (packed) p.cu_seqlens_q = starts;
      if (!packed) p.q_lens = new_rows;
      fovea_nn_latent_tensors_init(&t, x, y);
      t.cache.sequences = c.sequences;
      t.cache.layer = LAYER;
      t.first_positions = before;
      fovea_error error = {0};
      if (fovea_nn_latent_run(&m.latent, &p, &t, NULL, &error)) fail_msg("%s", error.text);
      for (int64_t b = 0; b < 3; b++) {
        float *expected = expect(&m, m.x + b * ROWS * in, kv_lens[b], FOVEA_F32, p.scale);
        assert_same(y + (packed ? starts[b] : b * most) * in, expected + before[b] * in, new_rows[b] * in);
        free(expected);
      }
      free(x);
      free(y);
      free(alone);
      free(c.memory);
      destroy(&m);
    }
}

static void test_threads(void **state) {
  const struct shape s = {8, 64, 32, 16, 32, 64, 48, 1, FOVEA_F32};
  (void)state;
  for (int form = 0; form < 2; form++) {
    struct model m;
    fovea_execution execution;
    make(&m, &s, 70);
    choose(&m, (fovea_nn_latent_form)form);
    float *expected = run_prompt(&m, 3, ROWS, NULL, NULL);
    fovea_execution_init(&execution);
    for (execution.threads = 1; execution.threads <= 5; execution.threads += 2) {
      float *y = run_prompt(&m, 3, ROWS, NULL, &execution);
      assert_same(y, expected, 3 * ROWS * s.in);
      free(y);
    }
    execution.threads = 3;
    for (int order = 0; order < TASK_ORDERS; order++) {
      struct executor executor = {(enum task_order)order, 0};
      execution.parallel_for = threads_for;
      execution.parallel_context = &executor;
      float *y = run_prompt(&m, 3, ROWS, NULL, &execution);
      assert_same(y, expected, 3 * ROWS * s.in);
      free(y);
    }
    execution.parallel_for = NULL;
    execution.parallel_context = NULL;
    const fovea_problem p = problem_of(&m, 3, ROWS, ROWS);
    struct guarded scratch = guarded_create(
        measured(fovea_nn_latent_scratch_size(&m.latent, &p, NULL, with_threads(3), measured_size(), NULL)),
        GUARD_AT_END);
    execution.scratch = scratch.data;
    execution.scratch_size = scratch.size;
    float *y = run_prompt(&m, 3, ROWS, NULL, &execution);
    assert_same(y, expected, 3 * ROWS * s.in);
    free(y);
    guarded_destroy(&scratch);
    free(expected);
    destroy(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_prompts), cmocka_unit_test(test_chunks),  cmocka_unit_test(test_rotary_positions),
      cmocka_unit_test(test_batches), cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
