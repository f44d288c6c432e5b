/* How a layer of many rows is cut into tasks: no worker has much more than its share. */
#include "nn/linear_finish.h"
#include "nn/linear_many.h"
#include "support/check.h"
#include "support/environments.h"

enum { TILE_ROWS = 14, TILE_OUTS = 32, WORKERS_LIMIT = 16 };

static void no_products(const fovea_nn_tile_args *args) {
  (void)args;
}

static const fovea_nn_kernels kernels = {.tile = no_products,
                                         .tile_rows = TILE_ROWS,
                                         .tile_least = 2,
                                         .many_weights = 1,
                                         .tile_outs = TILE_OUTS,
                                         .task_tiles = 7,
                                         .task_outs = 1536};

/* Pairs of rows of groups that the last worker to end has computed, if each takes the next task when it has none. */
static int64_t most_of_a_worker(const fovea_nn_many *many, int workers) {
  int64_t busy[WORKERS_LIMIT] = {0}, most = 0;
  for (int64_t task = 0; task < many->row_blocks * many->columns; task++) {
    const int64_t row = task / many->columns, column = task % many->columns;
    int first = 0;
    for (int w = 1; w < workers; w++) first = busy[w] < busy[first] ? w : first;
    busy[first] += (fovea_nn_part_begin(many->pairs, many->row_blocks, row + 1) -
                    fovea_nn_part_begin(many->pairs, many->row_blocks, row)) *
                   (fovea_nn_part_begin(many->groups, many->columns, column + 1) -
                    fovea_nn_part_begin(many->groups, many->columns, column));
    most = busy[first] > most ? busy[first] : most;
  }
  return most;
}

static void test_workers_have_equal_shares(void **state) {
  (void)state;
  static const int64_t rows[] = {100, 128, 192, 256, 300, 512, 1000, 1024, 1500, 4096};
  static const int64_t sizes[][2] = {{384, 384}, {384, 1536}, {1536, 384}, {768, 3072}, {4096, 4096}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      for (int workers = 2; workers <= 4; workers++) {
        fovea_nn_linear linear;
        fovea_nn_linear_rows call;
        fovea_nn_many many;
        fovea_nn_linear_init(&linear, sizes[s][0], sizes[s][1], NULL);
        linear.layout = FOVEA_NN_WEIGHTS_IN_PANELS;
        fovea_nn_linear_rows_init(&call, &linear, rows[r], NULL, NULL);
        assert_true(fovea_nn_cut_many(&linear, &call, &kernels, workers, &many));
        const double share = (double)(many.pairs * many.groups) / workers;
        assert_true((double)most_of_a_worker(&many, workers) <= 1.05 * share);
      }
    }
  }
}

/* Callers whose floating-point state traps what is inexact, rounds up or flushes: layers are cut the same way. */
static void test_floating_point_states(void **state) {
  (void)state;
  fovea_nn_linear linear;
  fovea_nn_linear_rows call;
  fovea_nn_many usual, many;
  fovea_nn_linear_init(&linear, 384, 1536, NULL);
  linear.layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  fovea_nn_linear_rows_init(&call, &linear, 300, NULL, NULL);
  assert_true(fovea_nn_cut_many(&linear, &call, &kernels, 3, &usual));
  for (const struct environment *each = environment_list; each->name; each++) {
    const uint64_t control = environment_enter(each);
    const int is_many = fovea_nn_cut_many(&linear, &call, &kernels, 3, &many);
    const uint64_t after = environment_control();
    environment_leave();
    assert_true(is_many && after == control);
    assert_true(many.row_blocks == usual.row_blocks && many.columns == usual.columns);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_workers_have_equal_shares),
                                     cmocka_unit_test(test_floating_point_states)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
