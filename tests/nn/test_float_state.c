/* Callers and threads in other floating-point environments than the contract's get the same bits from every call of
 * fovea_nn, and keep their environment. */
#include "support/check.h"
#include "support/everywhere.h"

#include <fovea/nn.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 2, MANY = 1200, LENGTH = 9, WIDTH = 24, HEADS = 3, DIM = WIDTH / HEADS, THREADS = 3, WEIGHTS = 12000 };
enum { NUMBERS = MANY * LENGTH * WIDTH };

/* Every other x is a subnormal, and so are products of `tiny` weights. */
static float x[NUMBERS], plain[NUMBERS], weights[WEIGHTS], tiny[WIDTH * WIDTH];
static uint16_t halves[NUMBERS];
static int32_t ids[MANY * LENGTH];

/* Entries of a batch. With so many that there is work for more than one thread, each kind of call is made once, and
 * outputs are of 16 bits: there is not room for more. */
static int64_t batch = FEW;
static fovea_type output_type = FOVEA_F32;
static fovea_nn_linear layers[6];
static fovea_nn_norm norms[2];
static fovea_nn_attention attention;
static fovea_nn_block block;
static fovea_rotary rotary;
static fovea_execution execution;

static void make_layers(void) {
  for (int i = 0; i < 6; i++) {
    fovea_nn_linear_init(&layers[i], WIDTH, WIDTH, weights + i * WIDTH * WIDTH);
    layers[i].bias = weights + 6 * WIDTH * WIDTH;
  }
  for (int i = 0; i < 2; i++) {
    fovea_nn_norm_init(&norms[i], FOVEA_NN_LAYER_NORM, WIDTH);
    norms[i].gamma = weights + i;
    norms[i].beta = weights + 100 + i;
  }
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, DIM);
  fovea_nn_attention_init(&attention, &layers[0], &layers[1], &layers[2], &layers[3]);
  attention.rotary = &rotary;
  fovea_nn_block_init(&block, &attention, &norms[0], &layers[4], &layers[5], &norms[1]);
}

static int set_up(void **state) {
  (void)state;
  struct generator generator = {78};
  fill_values(x, NUMBERS, &generator);
  fill_numbers(plain, NUMBERS, 1, &generator);
  fill_numbers(weights, WEIGHTS, 1, &generator);
  fill_numbers(tiny, WIDTH * WIDTH, 0x1p-130f, &generator);
  for (int i = 0; i < NUMBERS; i++) halves[i] = (uint16_t)(generator_bits(&generator) & 0xbbff);
  for (int i = 0; i < MANY * LENGTH; i++) ids[i] = (int32_t)generator_below(&generator, 4);
  fovea_execution_init(&execution);
  make_layers();
  return 0;
}

/* Threads that are in the environment. */
struct member {
  pthread_t thread;
  int worker;
  int64_t tasks;
  fovea_task_function run;
  void *job;
};
static atomic_llong next_task;
static int loops;

static void *work(void *context) {
  const struct member *member = context;
  everywhere_enter();
  for (int64_t task = 0; (task = atomic_fetch_add(&next_task, 1)) < member->tasks;) {
    member->run(member->job, task, member->worker);
    everywhere_look();
  }
  everywhere_look_at_flags();
  return NULL;
}

static void loop(void *context, int64_t tasks, int workers, fovea_task_function run, void *job) {
  struct member members[THREADS];
  (void)context;
  everywhere_look();
  loops++;
  atomic_store(&next_task, 0);
  for (int i = 0; i < workers; i++) {
    members[i] = (struct member){.worker = i, .tasks = tasks, .run = run, .job = job};
    if (pthread_create(&members[i].thread, NULL, work, &members[i]) != 0) abort();
  }
  for (int i = 0; i < workers; i++) pthread_join(members[i].thread, NULL);
}

/* On every instruction set, then in threads. */
static void assert_everywhere(void (*act)(void)) {
  assert_same_everywhere_on_isas(act);
  execution.threads = THREADS;
  execution.parallel_for = loop;
  batch = MANY;
  output_type = FOVEA_F16;
  loops = 0;
  assert_same_everywhere(act);
  assert_true(loops > 0);
  fovea_execution_init(&execution);
  batch = FEW;
  output_type = FOVEA_F32;
}

static int64_t rows_now(void) {
  return batch * LENGTH;
}

static void *room_for_rows(void) {
  return everywhere_room((size_t)(rows_now() * WIDTH) * (output_type == FOVEA_F32 ? 4 : 2));
}

/* The number of variants of a call, of which there may be `all`. */
static int variants(int all) {
  return batch == FEW ? all : 1;
}

static void multiply(fovea_nn_linear linear, const void *from, fovea_type x_type, fovea_type y_type) {
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, &linear, rows_now(), from, room_for_rows());
  linear.isa = everywhere_isa;
  rows.x_type = x_type;
  rows.y_type = y_type;
  rows.residual = plain;
  everywhere_keep(fovea_nn_linear_run(&linear, &rows, &execution, NULL));
}

static void act_linear(void) {
  fovea_nn_linear linear = layers[0];
  for (int i = 0; i < variants(FOVEA_NN_SILU + 1); i++) {
    linear.activation = (fovea_nn_activation)i;
    multiply(linear, x, FOVEA_F32, FOVEA_F16);
  }
  if (variants(2) == 1) return;
  linear.weights = tiny;
  multiply(linear, x, FOVEA_F32, FOVEA_F32);
  multiply(linear, halves, FOVEA_F16, FOVEA_F32);
  fovea_nn_linear_init(&linear, WIDTH, WIDTH, halves);
  linear.weight_type = FOVEA_F16;
  multiply(linear, halves, FOVEA_BF16, FOVEA_BF16);
}

static void test_linear(void **state) {
  (void)state;
  assert_everywhere(act_linear);
}

static void act_pack(void) {
  const size_t size = (size_t)fovea_nn_panel_elements(WIDTH, WIDTH, FOVEA_F32) * sizeof(float);
  fovea_nn_linear linear = layers[0];
  linear.isa = everywhere_isa;
  linear.weights = x; /* subnormals are copied */
  linear.in = 10;
  linear.weight_stride = 10;
  everywhere_keep(fovea_nn_pack(&linear, everywhere_room(size), &execution, NULL));
  for (int64_t in = 1; in < 40; in++) {
    const int64_t elements = fovea_nn_panel_elements(in, 3, FOVEA_BF16);
    memcpy(everywhere_room(sizeof elements), &elements, sizeof elements);
  }
}

static void test_pack(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_pack);
}

static void act_maps(void) {
  fovea_nn_map map;
  for (int i = 0; i < variants(FOVEA_NN_SILU + 1); i++) {
    fovea_nn_map_init(&map, rows_now(), WIDTH, x, room_for_rows());
    map.isa = everywhere_isa;
    map.y_type = i % 2 ? FOVEA_BF16 : output_type;
    everywhere_keep(fovea_nn_activate(&map, (fovea_nn_activation)i, &execution, NULL));
  }
}

static void act_softmax(void) {
  fovea_nn_map map;
  fovea_nn_map_init(&map, rows_now(), WIDTH, x, room_for_rows());
  map.isa = everywhere_isa;
  map.y_type = output_type;
  everywhere_keep(fovea_nn_softmax(&map, &execution, NULL));
}

static void act_dropout(void) {
  fovea_nn_dropout_rows rows;
  fovea_nn_dropout_rows_init(&rows, rows_now(), WIDTH, x, room_for_rows());
  memcpy(&rows.p, (const float[]){0.3f}, sizeof rows.p);
  rows.y_type = output_type;
  rows.isa = everywhere_isa;
  everywhere_keep(fovea_nn_dropout(&rows, &execution, NULL));
}

static void test_maps(void **state) {
  (void)state;
  assert_everywhere(act_maps);
  assert_everywhere(act_softmax);
  assert_everywhere(act_dropout);
}

static void act_norms(void) {
  static const double eps[] = {1e-5, 0.1, 1e-40};
  for (int i = 0; i < variants(6); i++) {
    fovea_nn_norm norm;
    fovea_nn_norm_rows rows;
    fovea_nn_norm_init(&norm, i < 3 ? FOVEA_NN_LAYER_NORM : FOVEA_NN_RMS_NORM, WIDTH);
    memcpy(&norm.eps, &eps[i % 3], sizeof norm.eps);
    norm.isa = everywhere_isa;
    fovea_nn_norm_rows_init(&rows, &norm, rows_now(), x, room_for_rows());
    rows.y_type = output_type;
    rows.residual = i % 2 ? x : plain;
    if (output_type == FOVEA_F32) rows.sum = room_for_rows();
    everywhere_keep(fovea_nn_norm_run(&norm, &rows, &execution, NULL));
  }
}

static void test_norms(void **state) {
  (void)state;
  assert_everywhere(act_norms);
}

static void act_sinusoids(void) {
  static const int64_t firsts[] = {0, -1000003, INT64_C(1099511620000)};
  for (int i = 0; i < variants(6); i++) {
    fovea_nn_sinusoid_rows rows;
    fovea_nn_sinusoid_rows_init(&rows, rows_now(), WIDTH, room_for_rows());
    rows.isa = everywhere_isa;
    rows.y_type = output_type;
    rows.first_position = firsts[i % 3];
    rows.exponent = i < 3 ? FOVEA_NN_WAVES_BY_DIM : FOVEA_NN_WAVES_TO_BASE;
    if (i % 2) rows.x = x;
    everywhere_keep(fovea_nn_sinusoids(&rows, &execution, NULL));
  }
}

static void act_embedding(void) {
  fovea_nn_embedding embedding;
  fovea_nn_embedding_rows rows;
  fovea_nn_embedding_init(&embedding, WIDTH, 4, x);
  memcpy(&embedding.scale, (const float[]){0.7f}, sizeof embedding.scale);
  embedding.isa = everywhere_isa;
  embedding.positions = (fovea_nn_table){plain, rows_now(), FOVEA_F32, WIDTH};
  fovea_nn_embedding_rows_init(&rows, &embedding, rows_now(), ids, room_for_rows());
  rows.y_type = output_type;
  everywhere_keep(fovea_nn_embed(&embedding, &rows, &execution, NULL));
}

static void act_buckets(void) {
  everywhere_keep(fovea_nn_t5_buckets(-400, 801, 1, 32, 128, everywhere_room(801 * sizeof(int32_t)), NULL));
  const int64_t bucket = fovea_nn_t5_bucket(-90, 0, 33, 1000);
  memcpy(everywhere_room(sizeof bucket), &bucket, sizeof bucket);
}

static void test_positions(void **state) {
  (void)state;
  assert_everywhere(act_sinusoids);
  assert_everywhere(act_embedding);
  assert_same_everywhere(act_buckets);
}

static void act_attention(void) {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_problem_init(&problem, batch, HEADS, HEADS, LENGTH, LENGTH, DIM, DIM);
  problem.isa = everywhere_isa;
  problem.causal = 1;
  fovea_nn_attention_tensors_init(&tensors, x, room_for_rows());
  tensors.y_type = output_type;
  everywhere_keep(fovea_nn_attention_run(&attention, &problem, &tensors, &execution, NULL));
  const size_t size = fovea_nn_attention_scratch_size(&attention, &problem, 2);
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

static void act_block(void) {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_problem_init(&problem, batch, HEADS, HEADS, LENGTH, LENGTH, DIM, DIM);
  problem.isa = everywhere_isa;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  everywhere_keep(fovea_nn_block_run(
      &block, &self, NULL, x, everywhere_room((size_t)(rows_now() * WIDTH) * sizeof(float)), &execution, NULL));
  const size_t size = fovea_nn_block_scratch_size(&block, &self, NULL, 2);
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

static void act_scores(void) {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_attention averaged = attention;
  fovea_problem_init(&problem, batch, HEADS, HEADS, LENGTH, LENGTH, DIM, DIM);
  problem.isa = everywhere_isa;
  problem.score_output = FOVEA_SCORES_WEIGHTS;
  averaged.average_scores = 1;
  fovea_nn_attention_tensors_init(&tensors, x, room_for_rows());
  tensors.y_type = output_type;
  tensors.scores = everywhere_room((size_t)(rows_now() * LENGTH) * sizeof(float));
  everywhere_keep(fovea_nn_attention_run(&averaged, &problem, &tensors, &execution, NULL));
  const size_t size = fovea_nn_attention_scratch_size(&averaged, &problem, 2);
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

/* Sizes that no double has exactly. */
static void act_sizes(void) {
  static const int64_t lengths[] = {INT64_C(100000000003), (INT64_C(1) << 47) + 1, 94906267};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    fovea_problem problem;
    fovea_nn_attention averaged = attention;
    fovea_problem_init(&problem, 3, HEADS, HEADS, lengths[i], lengths[i], DIM, DIM);
    problem.score_output = FOVEA_SCORES_WEIGHTS;
    averaged.average_scores = 1;
    const size_t size = fovea_nn_attention_scratch_size(&averaged, &problem, 2);
    memcpy(everywhere_room(sizeof size), &size, sizeof size);
  }
}

static void test_attention(void **state) {
  (void)state;
  assert_everywhere(act_attention);
  assert_everywhere(act_block);
  assert_everywhere(act_scores);
  assert_same_everywhere(act_sizes);
}

/* ---- Stacks and streams ---- */

static fovea_nn_block blocks[2];
static fovea_nn_embedding embedding;
static fovea_nn_encoder encoder, decoder;

/* A stack from ids; the decoder has cross-attention. */
static void make_stacks(void) {
  blocks[0] = blocks[1] = block;
  blocks[1].cross = &attention;
  blocks[1].cross_norm = &norms[0];
  fovea_nn_embedding_init(&embedding, WIDTH, 4, plain);
  embedding.positions = (fovea_nn_table){plain, LENGTH, FOVEA_F32, WIDTH};
  fovea_nn_encoder_init(&encoder, &blocks[0], 1);
  fovea_nn_encoder_init(&decoder, &blocks[1], 1);
  encoder.embedding = decoder.embedding = &embedding;
  encoder.embedding_norm = encoder.final_norm = &norms[1];
}

static void make_problem(fovea_problem *problem) {
  fovea_problem_init(problem, batch, HEADS, HEADS, LENGTH, LENGTH, DIM, DIM);
  problem->isa = everywhere_isa;
}

static void act_encoder(void) {
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_encoder_rows rows;
  make_problem(&problem);
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_nn_encoder_rows_init(&rows, &self, ids, everywhere_room((size_t)(rows_now() * WIDTH) * sizeof(float)));
  everywhere_keep(fovea_nn_encoder_run(&encoder, &rows, &execution, NULL));
  const size_t size = fovea_nn_encoder_scratch_size(&encoder, &rows, 2);
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

/* Logits of two numbers, so that there is room for many rows. */
static void act_encoder_decoder(void) {
  static float memory[NUMBERS];
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_encoder_rows source, target;
  fovea_nn_encoder_decoder model;
  fovea_nn_linear output = layers[0];
  output.out = 2;
  output.isa = everywhere_isa;
  fovea_nn_encoder_decoder_init(&model, &encoder, &decoder);
  model.output = &output;
  make_problem(&problem);
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  fovea_nn_encoder_rows_init(&source, &self, ids, memory);
  fovea_nn_encoder_rows_init(&target, &self, ids, everywhere_room((size_t)rows_now() * 2 * sizeof(float)));
  target.cross = &self;
  everywhere_keep(fovea_nn_encoder_decoder_run(&model, &source, &target, &execution, NULL));
  const size_t size = fovea_nn_encoder_decoder_scratch_size(&model, &source, &target, 2);
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

static void act_prepare(void) {
  static fovea_segment segments[MANY];
  static fovea_sequence sequences[MANY];
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_encoder_decoder model;
  fovea_pages pages;
  const fovea_type type = output_type == FOVEA_F32 ? FOVEA_F32 : FOVEA_F16;
  const size_t bytes = (size_t)(rows_now() * WIDTH) * (type == FOVEA_F32 ? 4 : 2);
  static unsigned char values[NUMBERS * 4];
  fovea_pages_init(&pages, batch, LENGTH, HEADS, DIM, DIM, type, FOVEA_KEYS_IN_ROWS);
  pages.k = everywhere_room(bytes);
  pages.v = values;
  for (int64_t b = 0; b < batch; b++) {
    everywhere_keep(fovea_cache_contiguous(&pages, b, &segments[b], NULL));
    sequences[b] = fovea_sequence_of(&segments[b], 1);
  }
  make_problem(&problem);
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  tensors.memory = x;
  tensors.sequences = sequences;
  const fovea_nn_attending cross = {&problem, &tensors};
  fovea_nn_encoder_decoder_init(&model, NULL, &decoder);
  everywhere_keep(fovea_nn_encoder_decoder_prepare(&model, &cross, &execution, NULL));
  const size_t size = fovea_nn_encoder_decoder_prepare_size(&model, &cross);
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
}

/* A stream is made, fed and finished in the environment. */
static void act_stream(void) {
  enum { FRAMES = 40, CHUNK = 6 };
  static _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char memory[1 << 20];
  const fovea_nn_block *const stacked[] = {&block, &block};
  fovea_problem problem;
  fovea_nn_streaming streaming;
  fovea_nn_stream *stream;
  int64_t written = 0, all = 0;
  float *y = everywhere_room(FRAMES * WIDTH * sizeof *y);
  fovea_problem_init(&problem, 1, HEADS, HEADS, 0, 0, DIM, DIM);
  problem.isa = everywhere_isa;
  problem.window_left = 7;
  problem.window_right = 2;
  fovea_nn_streaming_init(&streaming, 2, stacked, &problem, CHUNK);
  const size_t size = fovea_nn_stream_size(&streaming);
  if (size == 0 || size > sizeof memory) abort();
  memcpy(everywhere_room(sizeof size), &size, sizeof size);
  everywhere_keep(fovea_nn_stream_create_in(&streaming, memory, sizeof memory, &stream, NULL));
  for (int64_t i = 0; i < FRAMES; i += 10) {
    everywhere_keep(fovea_nn_stream_push(stream, 10, x + i * WIDTH, y + all * WIDTH, &written, &execution, NULL));
    all += written;
  }
  everywhere_keep(fovea_nn_stream_finish(stream, y + all * WIDTH, &written, &execution, NULL));
  const size_t scratch = fovea_nn_stream_scratch_size(stream, 2);
  memcpy(everywhere_room(sizeof scratch), &scratch, sizeof scratch);
}

static void test_stacks(void **state) {
  (void)state;
  make_stacks();
  assert_everywhere(act_encoder);
  assert_everywhere(act_encoder_decoder);
  assert_everywhere(act_prepare);
  assert_same_everywhere_on_isas(act_stream);
}

static void act_additive(void) {
  fovea_nn_additive additive;
  fovea_nn_additive_tensors tensors;
  fovea_nn_additive_init(&additive, WIDTH, weights);
  additive.isa = everywhere_isa;
  for (int i = variants(2) - 1; i >= 0; i--) {
    additive.query = additive.key = i == 0 ? &layers[0] : NULL;
    fovea_nn_additive_tensors_init(&tensors, &additive, batch, LENGTH, LENGTH, WIDTH, x, plain, x, room_for_rows());
    tensors.o_type = output_type;
    tensors.weights = everywhere_room((size_t)(rows_now() * LENGTH) * sizeof(float));
    everywhere_keep(fovea_nn_additive_run(&additive, &tensors, &execution, NULL));
    const size_t size = fovea_nn_additive_scratch_size(&additive, &tensors, 2);
    memcpy(everywhere_room(sizeof size), &size, sizeof size);
  }
}

/* H is 5 in a GRU and 4 in an LSTM. */
static void act_cell(int64_t gates, fovea_status (*run)(const fovea_nn_cell *, const fovea_nn_cell_rows *,
                                                        const fovea_execution *, fovea_error *)) {
  const int64_t dim = gates == 4 ? 4 : 5;
  fovea_nn_linear input, hidden;
  fovea_nn_cell cell;
  fovea_nn_cell_rows rows;
  fovea_nn_linear_init(&input, WIDTH, gates * dim, weights);
  fovea_nn_linear_init(&hidden, dim, gates * dim, weights + 1000);
  fovea_nn_cell_init(&cell, &input, &hidden);
  input.isa = hidden.isa = cell.isa = everywhere_isa;
  fovea_nn_cell_rows_init(&rows, &cell, rows_now(), x, plain, room_for_rows());
  if (gates == 4) {
    rows.c = x;
    rows.new_c = everywhere_room((size_t)(rows_now() * dim) * sizeof(float));
  }
  everywhere_keep(run(&cell, &rows, &execution, NULL));
}

static void act_gru(void) {
  act_cell(3, fovea_nn_gru);
}

static void act_lstm(void) {
  act_cell(4, fovea_nn_lstm);
}

static void test_recurrent(void **state) {
  (void)state;
  assert_everywhere(act_additive);
  assert_everywhere(act_gru);
  assert_everywhere(act_lstm);
}

/* Refused numbers, and the texts that name them. */
static void act_refused(void) {
  static const double wrong[] = {-1e-5, 1e40, -0x1p-1074};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    fovea_nn_norm norm = norms[0];
    fovea_nn_norm_rows rows;
    fovea_nn_sinusoid_rows waves;
    memcpy(&norm.eps, &wrong[i], sizeof norm.eps);
    fovea_nn_norm_rows_init(&rows, &norm, rows_now(), x, room_for_rows());
    everywhere_keep(fovea_nn_norm_run(&norm, &rows, NULL, everywhere_room(sizeof(fovea_error))));
    fovea_nn_sinusoid_rows_init(&waves, 1, WIDTH, room_for_rows());
    memcpy(&waves.base, &wrong[i], sizeof waves.base);
    everywhere_keep(fovea_nn_sinusoids(&waves, NULL, everywhere_room(sizeof(fovea_error))));
  }
}

static void test_refused(void **state) {
  (void)state;
  assert_same_everywhere(act_refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linear),    cmocka_unit_test(test_pack),      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_norms),     cmocka_unit_test(test_positions), cmocka_unit_test(test_attention),
      cmocka_unit_test(test_recurrent), cmocka_unit_test(test_refused),   cmocka_unit_test(test_stacks),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
