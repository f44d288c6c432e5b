/* Linear layers in exact mode against contract_nn.c, bit for bit: sizes, strides, types, layouts, epilogues, special
 * values, instruction sets, threads; and a row alone against the same row in a batch. */
#include "nn/linear_case.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <fovea/nn.h>

#include <stdlib.h>
#include <string.h>

static void test_sizes(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1},     {2, 3, 1},     {3, 16, 2},    {4, 17, 5},
                                     {127, 33, 7},  {128, 64, 6},  {129, 65, 13}, {130, 80, 3},
                                     {257, 100, 4}, {384, 48, 97}, {512, 5, 12},  {37, 200, 30}};
  struct generator generator = {5};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct linear_case c = plain_linear_case(sizes[i][0], sizes[i][1], sizes[i][2]);
    for (int packed = 0; packed < 2; packed++) {
      c.packed = packed;
      c.padding = packed ? 5 : 0;
      check_linear_case(&c, &generator);
    }
  }
}

static void test_types(void **state) {
  (void)state;
  struct generator generator = {6};
  for (int mix = 0; mix < 54; mix++) {
    struct linear_case c = plain_linear_case(131, 50, mix % 5 + 1);
    c.weight_type = (fovea_type)(mix % 3);
    c.x_type = (fovea_type)(mix / 3 % 3);
    c.y_type = (fovea_type)(mix / 9 % 3);
    c.packed = mix / 27;
    c.padding = 1;
    check_linear_case(&c, &generator);
  }
}

static void test_epilogues(void **state) {
  (void)state;
  struct generator generator = {7};
  for (int i = 0; i < USUAL_OR_LONG(40, 200); i++) {
    struct linear_case c = plain_linear_case(1 + generator_below(&generator, 200),
                                             1 + generator_below(&generator, 90), generator_below(&generator, 20));
    draw_linear_settings(&c, &generator);
    check_linear_case(&c, &generator);
  }
}

/* Many rows: tiles of each height, pieces and panels that are not whole, several blocks of rows and of outputs. */
static void test_many_rows(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{128, 128, 8},  {129, 130, 9},  {300, 100, 15},  {257, 80, 29},  {16384, 1, 8},
                                     {1, 16400, 10}, {127, 200, 12}, {131, 790, 171}, {130, 1600, 20}};
  struct generator generator = {23};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct linear_case c = plain_linear_case(sizes[i][0], sizes[i][1], sizes[i][2]);
    c.packed = i % 2 == 0;
    c.padding = (int)(i % 3);
    c.with_bias = i % 4 < 2;
    check_linear_case(&c, &generator);
  }
  for (int i = 0; i < USUAL_OR_LONG(30, 150); i++) {
    struct linear_case c =
        plain_linear_case(100 + generator_below(&generator, 200), 164 + generator_below(&generator, 40),
                          8 + generator_below(&generator, 40));
    draw_linear_settings(&c, &generator);
    check_linear_case(&c, &generator);
  }
}

/* ---- Scratch
 * -------------------------------------------------------------------------------------------------- */

static size_t scratch_size(const struct linear_layer *layer, int64_t rows, const fovea_execution *execution) {
  size_t size = 1;
  fovea_error error;
  if (fovea_nn_linear_scratch_size(&layer->linear, rows, execution, &size, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  return size;
}

/* Exactly as much as is said, for each number of threads and instruction set; and less for fewer rows. */
static void test_scratch(void **state) {
  (void)state;
  struct generator generator = {24};
  struct linear_case c = plain_linear_case(300, 200, 61);
  struct linear_layer layer;
  linear_layer_create(&layer, &c, &generator);
  for (const char *const *isa = usable_isas(); *isa; isa++) {
    fovea_execution execution = *on_isa(*isa);
    assert_int_equal(scratch_size(&layer, 0, &execution), 0);
    assert_int_equal(scratch_size(&layer, 7, &execution), 0);
    for (execution.threads = 1; execution.threads <= 3; execution.threads++) {
      execution.scratch = NULL;
      execution.scratch_size = 0;
      const size_t size = scratch_size(&layer, c.rows, &execution);
      for (int64_t rows = 1; rows < c.rows; rows++) assert_true(scratch_size(&layer, rows, &execution) <= size);
      if (size == 0) continue; /* the scalar kernels */
      struct guarded scratch = guarded_create(size, GUARD_AT_END);
      execution.scratch = scratch.data;
      execution.scratch_size = size;
      assert_linear_layer(&layer, &execution);
      execution.scratch_size = size - 1;
      fovea_error error;
      matrix_spoil(&layer.y);
      assert_int_equal(fovea_nn_linear_run(&layer.linear, &layer.rows, &execution, &error), FOVEA_ERROR_SPACE);
      assert_error_says(&error, "scratch_size is");
      guarded_destroy(&scratch);
    }
  }
  linear_layer_destroy(&layer);
}

static void *no_memory(void *context, size_t size, size_t alignment) {
  (void)context, (void)size, (void)alignment;
  return NULL;
}

static void nothing_to_release(void *context, void *memory) {
  (void)context;
  assert_null(memory);
}

static void test_scratch_errors(void **state) {
  (void)state;
  struct generator generator = {25};
  struct linear_case c = plain_linear_case(300, 200, 20);
  struct linear_layer layer;
  fovea_execution execution;
  fovea_error error;
  size_t size = 1;
  linear_layer_create(&layer, &c, &generator);
  fovea_execution_init(&execution);
  assert_int_equal(fovea_nn_linear_scratch_size(&layer.linear, 20, NULL, NULL, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "size is NULL");
  assert_int_equal(fovea_nn_linear_scratch_size(&layer.linear, -1, NULL, &size, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "row_count is -1");
  assert_int_equal(size, 0);
  const int64_t out = layer.linear.out, most = INT64_C(1) << 48;
  layer.linear.out = layer.linear.in = INT64_C(1) << 27;
  layer.linear.weight_stride = layer.linear.in;
  execution.threads = 2;
  assert_true(scratch_size(&layer, most, &execution) < (size_t)4 << 20);
  execution.threads = 0;
  layer.linear.out = out;
  layer.linear.in = layer.linear.weight_stride = c.in;
  execution.isa = "mmx";
  assert_int_equal(fovea_nn_linear_scratch_size(&layer.linear, 20, &execution, &size, &error),
                   FOVEA_ERROR_ARGUMENT);
  execution.isa = NULL;
  if (scratch_size(&layer, 20, NULL) > 0) {
    execution.allocator = (fovea_allocator){NULL, no_memory, nothing_to_release};
    assert_int_equal(fovea_nn_linear_run(&layer.linear, &layer.rows, &execution, &error), FOVEA_ERROR_MEMORY);
  }
  execution.scratch = (void *)((uintptr_t)layer.x.memory.data / 64 * 64);
  execution.scratch_size = 1 << 20;
  assert_int_equal(fovea_nn_linear_run(&layer.linear, &layer.rows, &execution, &error), FOVEA_ERROR_ARGUMENT);
  assert_error_says(&error, "scratch shares memory with");
  linear_layer_destroy(&layer);
}

/* Pairs of bf16 have the bits of f32: any sizes, and pieces with elements that are not for pairs beside pieces with
 * none. */
static void test_bf16(void **state) {
  (void)state;
  struct generator generator = {17};
  for (int i = 0; i < USUAL_OR_LONG(30, 120); i++) {
    struct linear_case c =
        plain_linear_case(1 + generator_below(&generator, 400), 1 + generator_below(&generator, 150),
                          1 + generator_below(&generator, 30));
    c.weight_type = c.x_type = FOVEA_BF16;
    c.packed = 1;
    c.padding = i % 3;
    c.special = i % 4 == 0 ? 40 : i % 4 == 1 ? 2000 : 0;
    check_linear_case(&c, &generator);
  }
}

/* Many tasks, on threads, in any order. */
static void test_threads(void **state) {
  (void)state;
  struct generator generator = {8};
  struct linear_case c = plain_linear_case(200, 300, 110);
  struct linear_layer layer;
  fovea_execution execution;
  c.with_bias = 1;
  linear_layer_create(&layer, &c, &generator);
  fovea_execution_init(&execution);
  for (execution.threads = 1; execution.threads <= 5; execution.threads += 2)
    assert_linear_layer(&layer, &execution);
  for (int order = 0; order < TASK_ORDERS; order++) {
    struct executor executor = {(enum task_order)order, 0};
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    assert_linear_layer(&layer, &execution);
    assert_int_equal(executor.calls, 1);
  }
  linear_layer_destroy(&layer);
}

/* Rows one by one, and y as its own residual. */
static void test_rows_alone(void **state) {
  (void)state;
  struct generator generator = {9};
  struct linear_case c = plain_linear_case(150, 70, 9);
  struct linear_layer layer;
  c.packed = 1;
  linear_layer_create(&layer, &c, &generator);
  matrix_spoil(&layer.y);
  layer.rows.rows = 1;
  for (int64_t row = 0; row < c.rows; row++) {
    layer.rows.x = (const float *)(const void *)layer.x.memory.data + row * layer.x.stride;
    layer.rows.y = (float *)(void *)layer.y.memory.data + row * layer.y.stride;
    assert_int_equal(fovea_nn_linear_run(&layer.linear, &layer.rows, NULL, NULL), FOVEA_OK);
  }
  assert_matrix(&layer.y, layer.expected);
  layer.rows.rows = c.rows;
  layer.rows.x = layer.x.memory.data;
  layer.rows.residual = layer.rows.y = layer.y.memory.data;
  assert_int_equal(fovea_nn_linear_run(&layer.linear, &layer.rows, NULL, NULL), FOVEA_OK);
  for (int64_t i = 0; i < c.rows * c.out; i++) layer.expected[i] += layer.expected[i];
  assert_matrix(&layer.y, layer.expected);
  linear_layer_destroy(&layer);
}

/* The panels as one stream: pieces of 128 dims, panels of 16 outputs, dims, outputs; of bf16 two dims of an
 * output. */
static void assert_stream(int64_t in, int64_t out, fovea_type type) {
  const int64_t size = (int64_t)type_size(type), together = type == FOVEA_BF16 ? 2 : 1;
  fovea_nn_linear linear;
  char *weights = malloc((size_t)(in * out * size)), *panels, *at;
  assert_non_null(weights);
  for (int64_t i = 0; i < in * out * size; i++) weights[i] = (char)(i / size % 251 + i % size + 1);
  fovea_nn_linear_init(&linear, in, out, weights);
  linear.weight_type = type;
  at = panels = malloc((size_t)(fovea_nn_panel_elements(in, out, type) * size));
  assert_non_null(panels);
  assert_int_equal(fovea_nn_pack(&linear, panels, NULL, NULL), FOVEA_OK);
  for (int64_t piece = 0; piece < in; piece += 128) {
    for (int64_t panel = 0; panel < out; panel += 16) {
      for (int64_t d = piece; d < piece + 128 && d < in; d += together) {
        for (int64_t i = 0; i < 16 * together; i++, at += size) {
          const int64_t row = panel + i / together, dim = d + i % together;
          const char zero[4] = {0}, *from = weights + (row * in + dim) * size;
          assert_memory_equal(at, row < out && dim < in ? from : zero, (size_t)size);
        }
      }
    }
  }
  assert_int_equal(at - panels, fovea_nn_panel_elements(in, out, type) * size);
  free(panels);
  free(weights);
}

static void test_stream(void **state) {
  const fovea_type types[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16};
  (void)state;
  for (int i = 0; i < 3; i++) {
    assert_stream(300, 37, types[i]);
    assert_stream(129, 16, types[i]);
    assert_stream(5, 1, types[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),          cmocka_unit_test(test_types),     cmocka_unit_test(test_epilogues),
      cmocka_unit_test(test_bf16),           cmocka_unit_test(test_threads),   cmocka_unit_test(test_rows_alone),
      cmocka_unit_test(test_stream),         cmocka_unit_test(test_many_rows), cmocka_unit_test(test_scratch),
      cmocka_unit_test(test_scratch_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
