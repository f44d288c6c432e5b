/* The shapes and options of other libraries' own tests: each kernel against tests/contract.c and against the
 * others. Rows and keys are as there; heads and batches are fewer, in the same ratio. Columns about types, ALiBi,
 * softcap, masks and rotary embedding are not read. */
#include "support/check.h"
#include "support/grid.h"
#include "support/problems.h"
#include "support/trial.h"

#include <stdio.h>
#include <string.h>

/* Budgets in products: of one grid on one kernel, of the largest problem that portable C runs, and of the contract.
 */
#define GRID_BUDGET     USUAL_OR_LONG(INT64_C(40000000), INT64_C(16000000000))
#define SCALAR_LIMIT    USUAL_OR_LONG(2000000, 8000000)
#define CONTRACT_BUDGET USUAL_OR_LONG(200000, 1000000)
static const int64_t memory_limit = INT64_C(1) << 25; /* numbers of K and V */

/* The walk through one grid: each problem once, in a fixed shuffled order, until the budget is spent. */
struct walk {
  const char *grid;
  uint64_t met[8192]; /* hashes of problems */
  int met_count;
  int64_t spent;
  int run;
};

static int met_before(struct walk *walk, const fovea_problem *problem) {
  char text[DESCRIPTION_SIZE];
  problem_describe(problem, text, sizeof text);
  uint64_t hash = UINT64_C(1469598103934665603) + (uint64_t)problem->q_strides.row;
  for (const char *c = text; *c != '\0'; c++) hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
  for (int i = 0; i < walk->met_count; i++)
    if (walk->met[i] == hash) return 1;
  assert_true(walk->met_count < 8192);
  walk->met[walk->met_count++] = hash;
  return 0;
}

static int64_t work_of(const fovea_problem *problem) {
  int64_t pairs = problem->q_len * problem->kv_len * problem->batch;
  if (problem->cu_seqlens_q != NULL)
    pairs /= problem->batch * problem->batch; /* the given lengths are sums over the batch */
  return pairs * problem->heads * (problem->qk_dim + problem->v_dim);
}

/* With fewer keys than rows the others align bottom-right, too. Fovea wants to hear that. */
static void check_problem(struct walk *walk, fovea_problem *problem) {
  int64_t offsets[16];
  assert_true(problem->batch <= 16);
  problem_say_offsets(problem, offsets);
  const int64_t work = work_of(problem);
  const int64_t numbers = problem->batch * problem->kv_heads * problem->kv_len * (problem->qk_dim + problem->v_dim);
  if (met_before(walk, problem) || walk->spent + work > GRID_BUDGET || numbers > memory_limit) return;
  walk->spent += work;
  walk->run++;
  const char *const *isas = whole_isas_for(problem);
  struct trial first = trial_create(problem, (uint64_t)walk->run),
               other = trial_create(problem, (uint64_t)walk->run);
  trial_run(&first, isas[0], NULL);
  assert_contract(&first, CONTRACT_BUDGET);
  for (int i = 1; isas[i] != NULL; i++) {
    if (strcmp(isas[i], "scalar") == 0 && work > SCALAR_LIMIT) continue;
    trial_run(&other, isas[i], NULL);
    assert_same_outputs(&other, &first);
  }
  trial_destroy(&other);
  trial_destroy(&first);
}

/* The row at this step of a walk. Steps by a prime visit every row once. */
static int row_at(const struct grid *grid, int step) {
  return (int)((int64_t)step * 7919 % grid->rows);
}

static void finish(const struct walk *walk, const struct grid *grid) {
  print_message("%s: %d rows, %d different problems, %d run\n", walk->grid, grid->rows, walk->met_count, walk->run);
  assert_true(walk->run > 0);
}

/* Query heads of a problem with one or two kv heads. */
static void set_heads(const char *kind, int64_t gqa_ratio, int64_t heads[2]) {
  heads[1] = strcmp(kind, "mha") == 0 ? 2 : 1;
  heads[0] = strcmp(kind, "mha") == 0 ? 2 : strcmp(kind, "gqa") == 0 ? gqa_ratio : 6;
}

/* FlashAttention draws local windows at random, below the key length. */
static void apply_flash_rules(fovea_problem *problem, const struct grid *grid, int row,
                              struct generator *generator) {
  problem->causal = (int)grid_number(grid, row, "causal");
  if (grid_number(grid, row, "local") == 0) return;
  problem->window_left = generator_below(generator, problem->kv_len);
  problem->window_right = generator_below(generator, problem->kv_len);
}

static void walk_flash(const char *name, int has_swap, int has_kind, int has_local) {
  struct grid grid = grid_read(name);
  struct walk walk = {.grid = name};
  struct generator generator = {17};
  for (int step = 0; step < grid.rows; step++) {
    const int row = row_at(&grid, step);
    int64_t lengths[2];
    grid_pair(&grid, row, "sq_sk", lengths);
    const int swap = has_swap && grid_number(&grid, row, "swap") != 0;
    const int64_t dim = grid_number(&grid, row, "d");
    int64_t heads[2] = {1, 1};
    if (has_kind) set_heads(grid_text(&grid, row, "mha"), 3, heads);
    fovea_problem problem;
    fovea_problem_init(&problem, 1, heads[0], heads[1], lengths[swap], lengths[!swap], dim, dim);
    fovea_problem_resolve(&problem, NULL);
    if (has_local)
      apply_flash_rules(&problem, &grid, row, &generator);
    else
      problem.causal = (int)grid_number(&grid, row, "causal");
    check_problem(&walk, &problem);
  }
  finish(&walk, &grid);
  grid_free(&grid);
}

static void test_flash_output(void **state) {
  (void)state;
  walk_flash("flash_attn_output.tsv", 0, 1, 1);
}

static void test_flash_causal(void **state) {
  (void)state;
  walk_flash("flash_attn_causal.tsv", 1, 0, 1);
}

static void test_flash_seqlen_sweep(void **state) {
  (void)state;
  walk_flash("flash_attn_seqlen_sweep.tsv", 0, 0, 0);
}

static void test_flash_splitkv(void **state) {
  (void)state;
  walk_flash("flash_attn_splitkv.tsv", 1, 0, 1);
}

/* Packed batches: lengths from half of the given length to all of it. */
static void test_flash_varlen(void **state) {
  (void)state;
  struct grid grid = grid_read("flash_attn_varlen_output.tsv");
  struct walk walk = {.grid = "flash_attn_varlen_output.tsv"};
  struct generator generator = {18};
  for (int step = 0; step < grid.rows; step++) {
    const int row = row_at(&grid, step);
    int64_t lengths[2];
    grid_pair(&grid, row, "sq_sk", lengths);
    int32_t cumulative[2][4] = {{0}, {0}};
    for (int side = 0; side < 2; side++)
      for (int b = 0; b < 3; b++)
        cumulative[side][b + 1] =
            cumulative[side][b] + (int32_t)(lengths[side] - generator_below(&generator, (lengths[side] + 1) / 2));
    const int64_t dim = grid_number(&grid, row, "d");
    int64_t heads[2];
    set_heads(grid_text(&grid, row, "mha"), 3, heads);
    fovea_problem problem;
    fovea_problem_init(&problem, 3, heads[0], heads[1], cumulative[0][3], cumulative[1][3], dim, dim);
    fovea_problem_resolve(&problem, NULL);
    problem.cu_seqlens_q = cumulative[0];
    problem.cu_seqlens_kv = cumulative[1];
    apply_flash_rules(&problem, &grid, row, &generator);
    check_problem(&walk, &problem);
  }
  finish(&walk, &grid);
  grid_free(&grid);
}

/* A cache: each batch element has the keys that it has so far, new ones included. */
static void test_flash_kvcache(void **state) {
  (void)state;
  struct grid grid = grid_read("flash_attn_kvcache.tsv");
  struct walk walk = {.grid = "flash_attn_kvcache.tsv"};
  struct generator generator = {19};
  for (int step = 0; step < grid.rows; step++) {
    const int row = row_at(&grid, step);
    int64_t lengths[2], kv_lens[2];
    grid_pair(&grid, row, "sq_sk", lengths);
    for (int b = 0; b < 2; b++) kv_lens[b] = lengths[1] - generator_below(&generator, lengths[1]);
    const int64_t dim = grid_number(&grid, row, "d");
    int64_t heads[2];
    set_heads(grid_text(&grid, row, "mha"), 2, heads);
    fovea_problem problem;
    fovea_problem_init(&problem, 2, heads[0], heads[1], lengths[0], lengths[1], dim, dim);
    fovea_problem_resolve(&problem, NULL);
    problem.kv_lens = kv_lens;
    apply_flash_rules(&problem, &grid, row, &generator);
    check_problem(&walk, &problem);
  }
  finish(&walk, &grid);
  grid_free(&grid);
}

static void put_rows_before_heads(fovea_problem *problem) {
  problem->q_strides = fovea_strides_rows_before_heads(problem->q_len, problem->heads, problem->qk_dim);
  problem->k_strides = fovea_strides_rows_before_heads(problem->kv_len, problem->kv_heads, problem->qk_dim);
  problem->v_strides = fovea_strides_rows_before_heads(problem->kv_len, problem->kv_heads, problem->v_dim);
  problem->o_strides = fovea_strides_rows_before_heads(problem->q_len, problem->heads, problem->v_dim);
}

static void test_ggml(void **state) {
  (void)state;
  struct grid grid = grid_read("ggml_flash_attn_ext.tsv");
  struct walk walk = {.grid = "ggml_flash_attn_ext.tsv"};
  for (int step = 0; step < grid.rows; step++) {
    const int row = row_at(&grid, step);
    const int64_t group = grid_number(&grid, row, "q_per_kv"), batch = grid_number(&grid, row, "batch");
    const int64_t kv_heads = grid_number(&grid, row, "kv_heads") > 1 ? 2 : 1;
    fovea_problem problem;
    fovea_problem_init(&problem, batch > 1 ? 2 : 1, kv_heads * group, kv_heads, grid_number(&grid, row, "q_rows"),
                       grid_number(&grid, row, "kv"), grid_number(&grid, row, "hsk"),
                       grid_number(&grid, row, "hsv"));
    fovea_problem_resolve(&problem, NULL);
    if (strcmp(grid_text(&grid, row, "permute"), "0213") == 0) put_rows_before_heads(&problem);
    check_problem(&walk, &problem);
  }
  finish(&walk, &grid);
  grid_free(&grid);
}

static void test_mlx(void **state) {
  (void)state;
  struct grid grid = grid_read("mlx_sdpa.tsv");
  struct walk walk = {.grid = "mlx_sdpa.tsv"};
  for (int step = 0; step < grid.rows; step++) {
    const int row = row_at(&grid, step);
    const int64_t heads = grid_number(&grid, row, "qheads"), kv_heads = grid_number(&grid, row, "kvheads");
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 2 * heads / kv_heads, 2, grid_number(&grid, row, "q"),
                       grid_number(&grid, row, "k"), grid_number(&grid, row, "d"), grid_number(&grid, row, "d"));
    fovea_problem_resolve(&problem, NULL);
    problem.causal = strcmp(grid_text(&grid, row, "mask"), "causal") == 0;
    if (grid_number(&grid, row, "transpose") != 0) put_rows_before_heads(&problem);
    check_problem(&walk, &problem);
  }
  finish(&walk, &grid);
  grid_free(&grid);
}

/* oneDNN's graphs, by the shapes of their nodes, with K sometimes transposed: heads, rows, keys, dims. */
static void test_onednn(void **state) {
  (void)state;
  static const int64_t shapes[][5] = {
      {16, 384, 384, 64, 64},   {8, 384, 384, 64, 64},  {1, 384, 6144, 64, 384}, {16, 384, 384, 64, 384},
      {16, 32, 33, 256, 256},   {32, 32, 33, 128, 128}, {12, 128, 128, 64, 64},  {8, 1024, 77, 80, 80},
      {48, 117, 117, 128, 128}, {16, 512, 512, 64, 64}, {32, 32, 32, 128, 128},
  };
  struct walk walk = {.grid = "onednn_mha.tsv"};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const int64_t *shape = shapes[i], kv_heads = i == 1 || i == 8 ? 1 : 2;
    fovea_problem problem;
    fovea_problem_init(&problem, 1, shape[0] < 2 ? 2 : shape[0], kv_heads, shape[1], shape[2], shape[3], shape[4]);
    fovea_problem_resolve(&problem, NULL);
    check_problem(&walk, &problem);
  }
  assert_true(walk.run > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_flash_output),
      cmocka_unit_test(test_flash_causal),
      cmocka_unit_test(test_flash_seqlen_sweep),
      cmocka_unit_test(test_flash_splitkv),
      cmocka_unit_test(test_flash_varlen),
      cmocka_unit_test(test_flash_kvcache),
      cmocka_unit_test(test_ggml),
      cmocka_unit_test(test_mlx),
      cmocka_unit_test(test_onednn),
  };
  if (grid_directory() == NULL) {
    print_message("skipped: FOVEA_CONFORMANCE_DIR is not set\n");
    return 77;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
