/* Calls that have linear layers as parts reserve scratch for them: many rows go through in large register tiles, with
 * the bits of small ones. All steps of a call have one team. */
#include "nn/linear_many.h"
#include "src/system/team.h"
#include "support/check.h"
#include "support/generator.h"
#include "support/guarded.h"

#include <fovea/encoder.h>
#include <fovea/graph_attention.h>
#include <fovea/latent_attention.h>
#include <fovea/recurrent.h>
#include <fovea/sparse_attention.h>
#include <fovea/stream.h>
#include <stdatomic.h>
#include <string.h>

enum { BATCH = 2, LENGTH = 23, ROWS = BATCH * LENGTH, WIDTH = 160, HEADS = 4, DIM = WIDTH / HEADS, LAYERS = 8 };
enum { NUMBERS = 4 * WIDTH * WIDTH, OUTPUTS = 4 * ROWS * WIDTH };

static int is_large;           /* 0: no layer is cut into large tiles */
static atomic_int large_tasks; /* that ran */
static float weights[NUMBERS + LAYERS * WIDTH], x[OUTPUTS], y[OUTPUTS];
static fovea_nn_linear layers[LAYERS]; /* WIDTH to WIDTH */

int __real_fovea_nn_cut_many(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                             const fovea_nn_kernels *kernels, int workers, fovea_nn_many *many);
int __wrap_fovea_nn_cut_many(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                             const fovea_nn_kernels *kernels, int workers, fovea_nn_many *many);
void __real_fovea_nn_many_task(const void *data, int64_t task, int worker);
void __wrap_fovea_nn_many_task(const void *data, int64_t task, int worker);

int __wrap_fovea_nn_cut_many(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                             const fovea_nn_kernels *kernels, int workers, fovea_nn_many *many) {
  return is_large ? __real_fovea_nn_cut_many(linear, rows, kernels, workers, many) : 0;
}

void __wrap_fovea_nn_many_task(const void *data, int64_t task, int worker) {
  atomic_fetch_add(&large_tasks, 1);
  __real_fovea_nn_many_task(data, task, worker);
}

fovea_status __real_fovea_team_run(fovea_team_function run, void *data, double work,
                                   const fovea_execution *execution, fovea_error *error);
fovea_status __wrap_fovea_team_run(fovea_team_function run, void *data, double work,
                                   const fovea_execution *execution, fovea_error *error);

static int counts_teams; /* 1: nobody helps in a team */
static int asked, teams; /* a team begins if the work that is stated is worth it */

fovea_status __wrap_fovea_team_run(fovea_team_function run, void *data, double work,
                                   const fovea_execution *execution, fovea_error *error) {
  fovea_execution shared = *execution;
  fovea_team team;
  if (!counts_teams) return __real_fovea_team_run(run, data, work, execution, error);
  asked++;
  if (fovea_tasks_workers(INT64_MAX, work, execution) == 1) {
    run(data, execution); /* whose steps ask for teams of their own */
    return FOVEA_OK;
  }
  teams++;
  fovea_team_begin(&team);
  shared.parallel_for = fovea_team_share;
  shared.parallel_context = &team;
  run(data, &shared);
  return FOVEA_OK;
}

/* ---- Calls, which write y ---- */

static void run_gru(const fovea_execution *execution) {
  fovea_nn_cell cell;
  fovea_nn_cell_rows rows;
  fovea_nn_linear gates[2] = {layers[0], layers[1]};
  gates[0].out = gates[1].out = 3 * WIDTH;
  gates[0].bias = gates[1].bias = NULL;
  fovea_nn_cell_init(&cell, &gates[0], &gates[1]);
  fovea_nn_cell_rows_init(&rows, &cell, ROWS, x, x + ROWS * WIDTH, y);
  assert_int_equal(fovea_nn_gru(&cell, &rows, execution, NULL), FOVEA_OK);
}

static void run_additive(const fovea_execution *execution) {
  fovea_nn_additive additive;
  fovea_nn_additive_tensors tensors;
  fovea_nn_additive_init(&additive, WIDTH, weights);
  additive.query = &layers[0];
  additive.key = &layers[1];
  fovea_nn_additive_tensors_init(&tensors, &additive, BATCH, LENGTH, LENGTH, WIDTH, x, x + WIDTH, x, y);
  assert_int_equal(fovea_nn_additive_run(&additive, &tensors, execution, NULL), FOVEA_OK);
}

static void run_longformer(const fovea_execution *execution) {
  int8_t states[ROWS] = {0};
  fovea_nn_longformer_options options;
  fovea_nn_longformer_layer layer;
  fovea_nn_longformer_rows rows;
  fovea_nn_longformer *longformer;
  memset(states, FOVEA_NN_TOKEN_LOCAL, sizeof states);
  memset(states, FOVEA_NN_TOKEN_GLOBAL, 9);
  fovea_nn_longformer_options_init(&options, BATCH, HEADS, LENGTH, DIM, 3);
  options.states = states;
  assert_int_equal(fovea_nn_longformer_create(&options, execution, &longformer, NULL), FOVEA_OK);
  fovea_nn_longformer_layer_init(&layer, &layers[0], &layers[1], &layers[2]);
  layer.global_query = &layers[3];
  layer.global_key = &layers[4];
  layer.global_value = &layers[5];
  layer.output = &layers[6];
  fovea_nn_longformer_rows_init(&rows, x, y);
  assert_int_equal(fovea_nn_longformer_run(longformer, &layer, &rows, execution, NULL), FOVEA_OK);
  fovea_nn_longformer_destroy(longformer);
}

static void run_latent(fovea_nn_latent_form form, const fovea_execution *execution) {
  static float absorbed[4 * NUMBERS];
  enum { RANK = 2 * WIDTH, NOPE = WIDTH / 2 };
  fovea_nn_latent latent;
  fovea_nn_latent_tensors tensors;
  fovea_problem problem;
  fovea_nn_linear q, kv_a, kv_b, o;
  fovea_nn_linear_init(&q, WIDTH, 2 * NOPE, weights);
  fovea_nn_linear_init(&kv_a, WIDTH, RANK, weights);
  fovea_nn_linear_init(&kv_b, RANK, 2 * 2 * NOPE, weights);
  fovea_nn_linear_init(&o, 2 * NOPE, WIDTH, weights);
  fovea_nn_latent_init(&latent, 2, RANK, NOPE, 0, NOPE);
  latent.q_b_proj = &q;
  latent.kv_a_proj = &kv_a;
  latent.kv_b_proj = &kv_b;
  latent.o_proj = &o;
  latent.form = form;
  if (form == FOVEA_NN_LATENT_ABSORBED) {
    int64_t elements = 0;
    assert_int_equal(fovea_nn_latent_absorbed_elements(&latent, &elements, NULL), FOVEA_OK);
    assert_in_range(elements, 1, 4 * NUMBERS);
    assert_int_equal(fovea_nn_latent_absorb(&latent, absorbed, NULL), FOVEA_OK);
    latent.absorbed = absorbed;
  }
  fovea_problem_init(&problem, BATCH, 2, 2, LENGTH, LENGTH, NOPE, NOPE);
  fovea_nn_latent_tensors_init(&tensors, x, y);
  assert_int_equal(fovea_nn_latent_run(&latent, &problem, &tensors, execution, NULL), FOVEA_OK);
}

static void run_expanded(const fovea_execution *execution) {
  run_latent(FOVEA_NN_LATENT_EXPANDED, execution);
}

static void run_absorbed(const fovea_execution *execution) {
  run_latent(FOVEA_NN_LATENT_ABSORBED, execution);
}

/* Each node has an edge from itself and from the next. */
static void run_graph(const fovea_execution *execution) {
  fovea_nn_graph graph;
  fovea_nn_graph_tensors tensors;
  int64_t starts[ROWS + 1], sources[2 * ROWS];
  for (int64_t i = 0; i <= ROWS; i++) starts[i] = 2 * i;
  for (int64_t i = 0; i < 2 * ROWS; i++) sources[i] = (i / 2 + i % 2) % ROWS;
  fovea_nn_graph_init(&graph, FOVEA_NN_GRAPH_TRANSFORMER, HEADS, DIM);
  graph.edge = &layers[0];
  fovea_nn_graph_tensors_init(&tensors, &graph, ROWS, ROWS, starts, sources, x, x + ROWS * WIDTH, y);
  tensors.v = x;
  tensors.features = x;
  assert_int_equal(fovea_nn_graph_run(&graph, &tensors, execution, NULL), FOVEA_OK);
}

static void run_lsh(const fovea_execution *execution) {
  fovea_nn_lsh lsh;
  fovea_nn_lsh_tensors tensors;
  fovea_nn_lsh_init(&lsh, 1, 16, 2 * WIDTH, WIDTH);
  fovea_nn_lsh_tensors_init(&tensors, &lsh, 1, 1, ROWS, WIDTH, x, x, y, weights);
  assert_int_equal(fovea_nn_lsh_run(&lsh, &tensors, execution, NULL), FOVEA_OK);
}

/* ---- Blocks ---- */

struct block {
  fovea_nn_attention self, cross;
  fovea_nn_norm norm;
  fovea_nn_block block;
};

static void make_block(struct block *b) {
  fovea_nn_norm_init(&b->norm, FOVEA_NN_LAYER_NORM, WIDTH);
  fovea_nn_attention_init(&b->self, &layers[0], &layers[1], &layers[2], &layers[3]);
  fovea_nn_attention_init(&b->cross, &layers[4], &layers[5], &layers[6], &layers[7]);
  fovea_nn_block_init(&b->block, &b->self, &b->norm, &layers[4], &layers[5], &b->norm);
}

/* A decoder's block. */
static void make_crossing(struct block *b) {
  make_block(b);
  b->block.cross = &b->cross;
  b->block.cross_norm = &b->norm;
}

struct attending {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_attending pointers;
};

static void make_attending(struct attending *a, int64_t rows, int64_t keys) {
  fovea_problem_init(&a->problem, BATCH, HEADS, HEADS, rows, keys, DIM, DIM);
  fovea_nn_attention_tensors_init(&a->tensors, NULL, NULL);
  a->pointers = (fovea_nn_attending){&a->problem, &a->tensors};
}

static void run_attention(const fovea_execution *execution) {
  struct block b;
  struct attending self;
  make_block(&b);
  make_attending(&self, LENGTH, LENGTH);
  self.tensors.x = x;
  self.tensors.y = y;
  assert_int_equal(fovea_nn_attention_run(&b.self, &self.problem, &self.tensors, execution, NULL), FOVEA_OK);
}

static void run_block(const fovea_execution *execution) {
  struct block b;
  struct attending self;
  make_block(&b);
  make_attending(&self, LENGTH, LENGTH);
  assert_int_equal(fovea_nn_block_run(&b.block, &self.pointers, NULL, x, y, execution, NULL), FOVEA_OK);
}

static void run_encoder(const fovea_execution *execution) {
  struct block b;
  struct attending self;
  fovea_nn_encoder encoder;
  fovea_nn_encoder_rows rows;
  make_block(&b);
  const fovea_nn_block blocks[] = {b.block, b.block};
  fovea_nn_encoder_init(&encoder, blocks, 2);
  make_attending(&self, LENGTH, LENGTH);
  fovea_nn_encoder_rows_init(&rows, &self.pointers, NULL, y);
  rows.x = x;
  assert_int_equal(fovea_nn_encoder_run(&encoder, &rows, execution, NULL), FOVEA_OK);
}

/* A target of a few rows: no layer of the decoder is worth a team by itself. */
static void run_coding(int with_source, int64_t length, int64_t count, int with_output,
                       const fovea_execution *execution) {
  struct block encoding, decoding;
  struct attending source_self, self, cross;
  fovea_nn_encoder encoder, decoder;
  fovea_nn_encoder_decoder model;
  fovea_nn_encoder_rows source, target;
  fovea_nn_linear output;
  make_block(&encoding);
  make_crossing(&decoding);
  const fovea_nn_block blocks[] = {decoding.block, decoding.block};
  fovea_nn_encoder_init(&encoder, &encoding.block, 1);
  fovea_nn_encoder_init(&decoder, blocks, count);
  fovea_nn_encoder_decoder_init(&model, &encoder, &decoder);
  fovea_nn_linear_init(&output, WIDTH, 4 * WIDTH, weights);
  if (with_output) model.output = &output;
  make_attending(&source_self, LENGTH, LENGTH);
  make_attending(&self, length, length);
  make_attending(&cross, length, LENGTH);
  if (!with_source) cross.tensors.memory = x;
  fovea_nn_encoder_rows_init(&source, &source_self.pointers, NULL, y + 3 * ROWS * WIDTH);
  fovea_nn_encoder_rows_init(&target, &self.pointers, NULL, y);
  source.x = target.x = x;
  target.cross = &cross.pointers;
  assert_int_equal(fovea_nn_encoder_decoder_run(&model, with_source ? &source : NULL, &target, execution, NULL),
                   FOVEA_OK);
}

static void run_long_source(const fovea_execution *execution) {
  run_coding(1, 1, 1, 0, execution);
}

static void run_two_layers(const fovea_execution *execution) {
  run_coding(0, 2, 2, 0, execution);
}

static void run_large_output(const fovea_execution *execution) {
  run_coding(0, 2, 1, 1, execution);
}

/* The tasks of the layer's other linear layers are not counted: a chunk that fills the ring computes no row. */
static void run_stream(const fovea_execution *execution) {
  static _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char memory[1 << 20];
  struct block b;
  const fovea_nn_block *const blocks[] = {&b.block};
  fovea_nn_streaming streaming;
  fovea_nn_stream *stream;
  fovea_problem problem;
  int64_t written;
  make_block(&b);
  fovea_problem_init(&problem, 1, HEADS, HEADS, 0, 0, DIM, DIM);
  problem.window_left = problem.window_right = LENGTH;
  fovea_nn_streaming_init(&streaming, 1, blocks, &problem, LENGTH);
  assert_int_equal(fovea_nn_stream_create_in(&streaming, memory, sizeof memory, &stream, NULL), FOVEA_OK);
  assert_int_equal(fovea_nn_stream_push(stream, LENGTH, x, y, &written, execution, NULL), FOVEA_OK);
  assert_int_equal(written, 0);
  const int tasks = atomic_load(&large_tasks);
  assert_int_equal(fovea_nn_stream_finish(stream, y, &written, execution, NULL), FOVEA_OK);
  atomic_store(&large_tasks, tasks);
}

static void run_prepare(const fovea_execution *execution) {
  struct block b;
  struct attending cross;
  fovea_nn_encoder decoder;
  fovea_nn_encoder_decoder model;
  fovea_pages pages;
  fovea_segment segments[BATCH];
  fovea_sequence sequences[BATCH];
  make_crossing(&b);
  fovea_nn_encoder_init(&decoder, &b.block, 1);
  fovea_nn_encoder_decoder_init(&model, NULL, &decoder);
  fovea_pages_init(&pages, BATCH, LENGTH, HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.k = y;
  pages.v = y + ROWS * WIDTH;
  for (int64_t i = 0; i < BATCH; i++) {
    assert_int_equal(fovea_cache_contiguous(&pages, i, &segments[i], NULL), FOVEA_OK);
    sequences[i] = fovea_sequence_of(&segments[i], 1);
  }
  make_attending(&cross, LENGTH, LENGTH);
  cross.problem.cache.segmented = 1;
  cross.tensors.memory = x;
  cross.tensors.cache.sequences = sequences;
  assert_int_equal(fovea_nn_encoder_decoder_prepare(&model, &cross.pointers, execution, NULL), FOVEA_OK);
}

/* ---- Tests ---- */

static void (*const calls[])(const fovea_execution *) = {
    run_gru,         run_additive,   run_longformer,   run_expanded, run_absorbed,
    run_graph,       run_lsh,        run_attention,    run_block,    run_encoder,
    run_long_source, run_two_layers, run_large_output, run_stream,   run_prepare};

static int has_large_tiles(const char *isa) {
  size_t size;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.isa = isa;
  is_large = 1;
  assert_int_equal(fovea_nn_linear_scratch_size(&layers[0], ROWS, &execution, &size, NULL), FOVEA_OK);
  return size > 0;
}

static void test_calls(void **state) {
  (void)state;
  static float expected[OUTPUTS];
  fovea_execution execution;
  const int has_large = has_large_tiles(NULL);
  fovea_execution_init(&execution);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    for (execution.threads = 1; execution.threads <= 2; execution.threads++) {
      memset(y, 0, sizeof y);
      is_large = 0;
      calls[i](&execution);
      assert_int_equal(atomic_load(&large_tasks), 0);
      memcpy(expected, y, sizeof y);
      memset(y, 0, sizeof y);
      is_large = 1;
      calls[i](&execution);
      if ((atomic_exchange(&large_tasks, 0) > 0) != has_large) fail_msg("call %d: no large tiles", (int)i);
      assert_memory_equal(y, expected, sizeof y);
    }
  }
}

static void test_one_team(void **state) {
  (void)state;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 2;
  if (fovea_tasks_workers(INT64_MAX, 1e300, &execution) == 1) skip(); /* a library without threads */
  counts_teams = is_large = 1;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    const int expected = calls[i] == run_stream ? 2 : 1; /* a stream takes frames, and ends */
    asked = teams = 0;
    calls[i](&execution);
    if (asked != expected || teams != expected)
      fail_msg("call %d asked for %d teams, and got %d", (int)i, asked, teams);
  }
  counts_teams = 0;
  atomic_store(&large_tasks, 0);
}

/* In a team a layer may have more workers than its work is worth outside of one: scratch that was measured there is
 * enough for them. */
static void test_team(void **state) {
  (void)state;
  fovea_execution execution;
  fovea_nn_linear_rows rows;
  fovea_team team;
  size_t size;
  fovea_execution_init(&execution);
  execution.threads = 2;
  is_large = 1;
  assert_int_equal(fovea_nn_linear_scratch_size(&layers[0], 16, &execution, &size, NULL), FOVEA_OK);
  if (size == 0) return; /* this instruction set has no large tiles */
  struct guarded scratch = guarded_create(size, GUARD_AT_START);
  execution.scratch = scratch.data;
  execution.scratch_size = size;
  fovea_team_begin(&team); /* in which nobody helps */
  execution.parallel_for = fovea_team_share;
  execution.parallel_context = &team;
  fovea_nn_linear_rows_init(&rows, &layers[0], 16, x, y);
  assert_int_equal(fovea_nn_linear_run(&layers[0], &rows, &execution, NULL), FOVEA_OK);
  guarded_destroy(&scratch);
  atomic_store(&large_tasks, 0);
}

static int set_up(void **state) {
  (void)state;
  struct generator generator = {7};
  for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) weights[i] = 0.1f * generator_uniform(&generator);
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = generator_uniform(&generator);
  for (int i = 0; i < LAYERS; i++) {
    fovea_nn_linear_init(&layers[i], WIDTH, WIDTH, weights + i * WIDTH);
    layers[i].bias = weights + i * WIDTH;
  }
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_calls),
      cmocka_unit_test(test_one_team),
      cmocka_unit_test(test_team),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
