/* Encoder and decoder layers: the bits of their steps by single calls; PyTorch's layers; a whole encoder, from ids
 * to the final norm; scratch and refusals. */
#include "conformance/case.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/generator.h"
#include "support/guarded.h"

#include <fovea/embedding.h>
#include <fovea/nn.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A layer with all its parts. */
struct parts {
  fovea_nn_linear self[4], cross[4], up, down, gate; /* query, key, value, output */
  fovea_nn_attention self_attention, cross_attention;
  fovea_nn_norm norms[3]; /* of self, of cross, of the network */
  fovea_nn_block block;
};

static void make_attention(fovea_nn_attention *attention, fovea_nn_linear layers[4], int64_t width,
                           const float *in_weight, const float *in_bias, const float *out_weight,
                           const float *out_bias) {
  for (int64_t i = 0; i < 3; i++) {
    fovea_nn_linear_init(&layers[i], width, width, in_weight + i * width * width);
    layers[i].bias = in_bias ? in_bias + i * width : NULL;
  }
  fovea_nn_linear_init(&layers[3], width, width, out_weight);
  layers[3].bias = out_bias;
  fovea_nn_attention_init(attention, &layers[0], &layers[1], &layers[2], &layers[3]);
}

static void make_norm(fovea_nn_norm *norm, int64_t width, const float *gamma, const float *beta) {
  fovea_nn_norm_init(norm, FOVEA_NN_LAYER_NORM, width);
  norm->gamma = gamma;
  norm->beta = beta;
}

static void join(struct parts *p) {
  fovea_nn_block_init(&p->block, &p->self_attention, &p->norms[0], &p->up, &p->down, &p->norms[2]);
}

/* ---- Single steps ---- */

enum { BATCH = 2, LENGTH = 7, MEMORY = 5, WIDTH = 24, HEADS = 3, HIDDEN = 40, ROWS = BATCH * LENGTH };

static float numbers[40000], x[ROWS * WIDTH], memory[BATCH * MEMORY * WIDTH];

static void make_parts(struct parts *p) {
  const float *next = numbers;
  memset(p, 0, sizeof *p);
  make_attention(&p->self_attention, p->self, WIDTH, next, next + 4000, next + 2000, next + 5000);
  make_attention(&p->cross_attention, p->cross, WIDTH, next + 6000, NULL, next + 8000, NULL);
  fovea_nn_linear_init(&p->up, WIDTH, HIDDEN, next + 9000);
  fovea_nn_linear_init(&p->gate, WIDTH, HIDDEN, next + 10000);
  fovea_nn_linear_init(&p->down, HIDDEN, WIDTH, next + 11000);
  p->up.activation = FOVEA_NN_ACTIVATION_SILU;
  for (int i = 0; i < 3; i++) make_norm(&p->norms[i], WIDTH, next + 12000 + 100 * i, next + 13000 + 100 * i);
  join(p);
}

static fovea_problem self_problem(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, BATCH, HEADS, HEADS, LENGTH, LENGTH, WIDTH / HEADS, WIDTH / HEADS);
  problem.causal = 1;
  return problem;
}

static fovea_problem cross_problem(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, BATCH, HEADS, HEADS, LENGTH, MEMORY, WIDTH / HEADS, WIDTH / HEADS);
  return problem;
}

static void attend(const fovea_nn_attention *attention, const fovea_problem *problem, const float *over,
                   const float *from, const float *residual, float *to) {
  fovea_nn_attention_tensors tensors;
  fovea_nn_attention_tensors_init(&tensors, from, to);
  tensors.memory = over;
  tensors.residual = residual;
  assert_int_equal(fovea_nn_attention_run(attention, problem, &tensors, NULL, NULL), FOVEA_OK);
}

static void normalise(const fovea_nn_norm *norm, const float *from, float *to) {
  fovea_nn_norm_rows rows;
  fovea_nn_norm_rows_init(&rows, norm, ROWS, from, to);
  assert_int_equal(fovea_nn_norm_run(norm, &rows, NULL, NULL), FOVEA_OK);
}

static void multiply(const fovea_nn_linear *linear, const float *from, const float *gate, const float *residual,
                     float *to) {
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, linear, ROWS, from, to);
  rows.gate = gate;
  rows.residual = residual;
  assert_int_equal(fovea_nn_linear_run(linear, &rows, NULL, NULL), FOVEA_OK);
}

static void feed(const struct parts *p, const float *from, const float *residual, float *to) {
  static float hidden[ROWS * HIDDEN], gates[ROWS * HIDDEN];
  if (p->block.gate) multiply(&p->gate, from, NULL, NULL, gates);
  multiply(&p->up, from, p->block.gate ? gates : NULL, NULL, hidden);
  multiply(&p->down, hidden, NULL, residual, to);
}

static void compute(const struct parts *p, float *y) {
  static float sums[ROWS * WIDTH], normed[ROWS * WIDTH];
  const fovea_problem self = self_problem(), cross = cross_problem();
  if (p->block.norm_first) {
    normalise(&p->norms[0], x, normed);
    attend(&p->self_attention, &self, NULL, normed, x, sums);
    if (p->block.cross) {
      normalise(&p->norms[1], sums, normed);
      attend(&p->cross_attention, &cross, memory, normed, sums, sums);
    }
    normalise(&p->norms[2], sums, normed);
    feed(p, normed, sums, y);
    return;
  }
  attend(&p->self_attention, &self, NULL, x, x, sums);
  normalise(&p->norms[0], sums, normed);
  if (p->block.cross) {
    attend(&p->cross_attention, &cross, memory, normed, normed, sums);
    normalise(&p->norms[1], sums, normed);
  }
  feed(p, normed, normed, sums);
  normalise(&p->norms[2], sums, y);
}

static void test_single_steps(void **state) {
  (void)state;
  static float y[ROWS * WIDTH], expected[ROWS * WIDTH];
  const fovea_problem problems[2] = {self_problem(), cross_problem()};
  fovea_nn_attention_tensors tensors[2];
  fovea_nn_attention_tensors_init(&tensors[0], NULL, NULL);
  fovea_nn_attention_tensors_init(&tensors[1], NULL, NULL);
  tensors[1].memory = memory;
  const fovea_nn_attending self = {&problems[0], &tensors[0]}, cross = {&problems[1], &tensors[1]};
  for (int kind = 0; kind < 8; kind++) {
    struct parts p;
    fovea_error error;
    make_parts(&p);
    p.block.norm_first = kind % 2;
    p.block.cross = kind & 2 ? &p.cross_attention : NULL;
    p.block.cross_norm = kind & 2 ? &p.norms[1] : NULL;
    p.block.gate = kind & 4 ? &p.gate : NULL;
    compute(&p, expected);
    memcpy(y, x, sizeof y); /* in place */
    if (fovea_nn_block_run(&p.block, &self, kind & 2 ? &cross : NULL, y, y, NULL, &error) != FOVEA_OK)
      fail_msg("%s", error.text);
    assert_memory_equal(y, expected, sizeof y);
  }
}

static void test_scratch(void **state) {
  (void)state;
  static float y[ROWS * WIDTH], expected[ROWS * WIDTH];
  const fovea_problem problem = self_problem();
  struct parts p;
  fovea_nn_attention_tensors tensors;
  fovea_execution execution;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  const fovea_nn_attending self = {&problem, &tensors};
  make_parts(&p);
  compute(&p, expected);
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch_size =
      measured(fovea_nn_block_scratch_size(&p.block, &self, NULL, with_threads(1), measured_size(), NULL));
  struct guarded scratch = guarded_create(execution.scratch_size, GUARD_AT_START);
  execution.scratch = scratch.data;
  assert_int_equal(fovea_nn_block_run(&p.block, &self, NULL, x, y, &execution, NULL), FOVEA_OK);
  assert_memory_equal(y, expected, sizeof y);
  assert_true(guarded_slack_intact(&scratch));
  execution.scratch_size--;
  assert_int_equal(fovea_nn_block_run(&p.block, &self, NULL, x, y, &execution, NULL), FOVEA_ERROR_SPACE);
  execution.scratch_size = 64;
  assert_int_equal(fovea_nn_block_run(&p.block, &self, NULL, x, y, &execution, NULL), FOVEA_ERROR_SPACE);
  guarded_destroy(&scratch);
}

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    struct parts p;                                                                                                \
    fovea_problem problem = self_problem();                                                                        \
    fovea_nn_attention_tensors tensors;                                                                            \
    fovea_error error;                                                                                             \
    fovea_nn_attention_tensors_init(&tensors, NULL, NULL);                                                         \
    fovea_nn_attending self = {&problem, &tensors};                                                                \
    make_parts(&p);                                                                                                \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_block_run(&p.block, &self, NULL, x, y, NULL, &error), status);                       \
    assert_error_says(&error, word);                                                                               \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  static float y[ROWS * WIDTH];
  REFUSED(p.block.struct_size--, FOVEA_ERROR_ARGUMENT, "block");
  REFUSED(p.block.self = NULL, FOVEA_ERROR_ARGUMENT, "self");
  REFUSED(p.block.up = NULL, FOVEA_ERROR_ARGUMENT, "up");
  REFUSED(p.block.feed_norm = NULL, FOVEA_ERROR_ARGUMENT, "feed_norm");
  REFUSED(p.block.cross_norm = &p.norms[1], FOVEA_ERROR_UNUSED, "cross_norm");
  REFUSED(p.block.cross = &p.cross_attention, FOVEA_ERROR_ARGUMENT, "cross_norm");
  REFUSED(p.up.in++, FOVEA_ERROR_ARGUMENT, "up.in");
  REFUSED(p.down.in++, FOVEA_ERROR_ARGUMENT, "down.in");
  REFUSED(p.norms[0].dim--, FOVEA_ERROR_ARGUMENT, "self_norm.dim is");
  REFUSED(p.norms[2].dim--, FOVEA_ERROR_ARGUMENT, "feed_norm.dim is 23");
  REFUSED(p.block.struct_size = 0, FOVEA_ERROR_ARGUMENT, "block.struct_size is 0, and this library's is");
  REFUSED(p.block.struct_size = SIZE_MAX, FOVEA_ERROR_ARGUMENT,
          "block.struct_size: or the struct was not initialised");
  REFUSED(p.norms[2].eps = -1, FOVEA_ERROR_ARGUMENT, "feed_norm.eps");
  REFUSED(p.norms[0].struct_size = 0, FOVEA_ERROR_ARGUMENT, "self_norm.struct_size");
  REFUSED(tensors.struct_size = 8, FOVEA_ERROR_ARGUMENT, "tensors");
  REFUSED(p.self[0].in = 0, FOVEA_ERROR_ARGUMENT, "self.query.in is 0");
  REFUSED(p.self[3].weight_type = (fovea_type)9, FOVEA_ERROR_ARGUMENT, "self.output.weight_type is 9");
  REFUSED(p.self[3].out--, FOVEA_ERROR_ARGUMENT, "self.output.out");
  REFUSED(tensors.x = x, FOVEA_ERROR_UNUSED, "self.tensors.x is set and would not be used");
  REFUSED(self.problem = NULL, FOVEA_ERROR_ARGUMENT, "self: problem");
  REFUSED(tensors.y_stride = 4096, FOVEA_ERROR_UNUSED, "self.tensors.y_stride is set and would not be used");
  REFUSED(tensors.x_type = FOVEA_F16, FOVEA_ERROR_UNUSED, "self.tensors.x_type is set and would not be used");
  REFUSED(p.up.out = p.down.in = -1000, FOVEA_ERROR_ARGUMENT, "up.out is -1000");
  REFUSED(p.block.norm_first = 2, FOVEA_ERROR_ARGUMENT, "norm_first");
  REFUSED(p.self_attention.struct_size = 7, FOVEA_ERROR_ARGUMENT, "self.struct_size");
  REFUSED(p.self[1].in--, FOVEA_ERROR_ARGUMENT, "key.in");
  REFUSED(problem.batch = 0, FOVEA_ERROR_ARGUMENT, "batch");
  REFUSED(problem.causal = 2, FOVEA_ERROR_ARGUMENT, "causal");
}

/* ---- Other people's answers ---- */

static const float *part(const struct test_case *test, const char *prefix, const char *name) {
  char whole[128];
  snprintf(whole, sizeof whole, "%s%s", prefix, name);
  const struct array *array = case_input(test, whole);
  return array ? array->data : NULL;
}

static void take_torch_attention(const struct test_case *test, const char *prefix, int64_t width,
                                 fovea_nn_attention *attention, fovea_nn_linear layers[4]) {
  make_attention(attention, layers, width, part(test, prefix, "in_proj_weight"), part(test, prefix, "in_proj_bias"),
                 part(test, prefix, "out_proj_weight"), part(test, prefix, "out_proj_bias"));
}

static void take_torch_layer(const struct test_case *test, struct parts *p) {
  const int64_t width = case_input(test, "norm1_weight")->count, hidden = case_input(test, "linear1_bias")->count;
  const int decoder = case_input(test, "tgt") != NULL;
  memset(p, 0, sizeof *p);
  take_torch_attention(test, "self_attn_", width, &p->self_attention, p->self);
  fovea_nn_linear_init(&p->up, width, hidden, part(test, "", "linear1_weight"));
  fovea_nn_linear_init(&p->down, hidden, width, part(test, "", "linear2_weight"));
  p->up.bias = part(test, "", "linear1_bias");
  p->down.bias = part(test, "", "linear2_bias");
  p->up.activation = strstr(test->name, "gelu") ? FOVEA_NN_ACTIVATION_GELU : FOVEA_NN_ACTIVATION_RELU;
  make_norm(&p->norms[0], width, part(test, "", "norm1_weight"), part(test, "", "norm1_bias"));
  make_norm(&p->norms[2], width, part(test, decoder ? "norm3" : "norm2", "_weight"),
            part(test, decoder ? "norm3" : "norm2", "_bias"));
  join(p);
  p->block.norm_first = strstr(test->name, "_pre_") != NULL;
  if (!decoder) return;
  take_torch_attention(test, "multihead_attn_", width, &p->cross_attention, p->cross);
  make_norm(&p->norms[1], width, part(test, "", "norm2_weight"), part(test, "", "norm2_bias"));
  p->block.cross = &p->cross_attention;
  p->block.cross_norm = &p->norms[1];
}

/* In PyTorch's masks, true hides a key. */
static void hide(const struct array *mask, int64_t batch, int64_t rows, fovea_problem *problem,
                 fovea_nn_attention_tensors *tensors, unsigned char *seen) {
  problem->mask.type = FOVEA_MASK_BOOL;
  problem->mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, batch, 1, rows, problem->kv_len);
  for (int64_t i = 0; i < mask->count; i++) seen[i] = !((const unsigned char *)mask->data)[i];
  tensors->mask = seen;
}

static void assert_near(const struct test_case *test, const float *y, double tolerance) {
  const struct array *expected = case_output(test, "y");
  for (int64_t i = 0; i < expected->count; i++) {
    const double wanted = ((const double *)expected->data)[i];
    if (!(fabs((double)y[i] - wanted) <= tolerance))
      fail_msg("%s %d: %g, not %g", test->name, (int)i, (double)y[i], wanted);
  }
}

static void check_torch_layer(const struct test_case *test) {
  const struct array *rows = case_input(test, "tgt") ? case_input(test, "tgt") : case_input(test, "x");
  const struct array *over = case_input(test, "memory"), *padding = case_input(test, "src_key_padding_mask");
  const int64_t batch = rows->shape[0], length = rows->shape[1], width = rows->shape[2];
  const int64_t heads = (int64_t)case_number(test, "num_heads", 1), dim = width / heads;
  static unsigned char seen[1024];
  struct parts p;
  fovea_problem problems[2];
  fovea_nn_attention_tensors tensors[2];
  float *y = malloc((size_t)rows->count * sizeof *y);
  assert_non_null(y);
  take_torch_layer(test, &p);
  fovea_problem_init(&problems[0], batch, heads, heads, length, length, dim, dim);
  fovea_problem_init(&problems[1], batch, heads, heads, length, over ? over->shape[1] : 0, dim, dim);
  for (int i = 0; i < 2; i++) fovea_nn_attention_tensors_init(&tensors[i], NULL, NULL);
  if (over) tensors[1].memory = over->data;
  if (padding) hide(padding, batch, 1, &problems[0], &tensors[0], seen);
  if (case_input(test, "tgt_mask")) hide(case_input(test, "tgt_mask"), 1, length, &problems[0], &tensors[0], seen);
  const fovea_nn_attending self = {&problems[0], &tensors[0]}, cross = {&problems[1], &tensors[1]};
  fovea_error error;
  if (fovea_nn_block_run(&p.block, &self, over ? &cross : NULL, rows->data, y, NULL, &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  assert_near(test, y, 1.5e-6);
  free(y);
}

static void read_case(struct test_case *test, const char *name) {
  const char *directory = getenv("FOVEA_CONFORMANCE_DIR");
  char folder[1024], error[256];
  if (!directory) skip();
  snprintf(folder, sizeof folder, "%s/oracles", directory);
  if (!case_read(test, folder, name, error, sizeof error)) fail_msg("%s", error);
}

static void test_torch(void **state) {
  (void)state;
  static const char *const names[] = {"torch_encoder_layer_post_relu", "torch_encoder_layer_post_gelu",
                                      "torch_encoder_layer_pre_relu", "torch_decoder_layer_post_relu"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct test_case test;
    read_case(&test, names[i]);
    check_torch_layer(&test);
    case_free(&test);
  }
}

/* One layer of the encoder below. */
static void take_seed_layer(const struct test_case *test, int number, int64_t width, struct parts *p) {
  char prefix[64];
  static const char *const names[] = {"self_attn_W_q_weight", "self_attn_W_k_weight", "self_attn_W_v_weight",
                                      "self_attn_W_o_weight"};
  const int64_t hidden = (int64_t)case_number(test, "d_ff", 0);
  snprintf(prefix, sizeof prefix, "layers_%d_", number);
  memset(p, 0, sizeof *p);
  for (int i = 0; i < 4; i++) fovea_nn_linear_init(&p->self[i], width, width, part(test, prefix, names[i]));
  fovea_nn_attention_init(&p->self_attention, &p->self[0], &p->self[1], &p->self[2], &p->self[3]);
  fovea_nn_linear_init(&p->up, width, hidden, part(test, prefix, "feed_forward_linear1_weight"));
  fovea_nn_linear_init(&p->down, hidden, width, part(test, prefix, "feed_forward_linear2_weight"));
  p->up.bias = part(test, prefix, "feed_forward_linear1_bias");
  p->down.bias = part(test, prefix, "feed_forward_linear2_bias");
  p->up.activation = FOVEA_NN_ACTIVATION_RELU;
  make_norm(&p->norms[0], width, part(test, prefix, "norm1_weight"), part(test, prefix, "norm1_bias"));
  make_norm(&p->norms[2], width, part(test, prefix, "norm2_weight"), part(test, prefix, "norm2_bias"));
  join(p);
}

/* Ids to rows: embedding times sqrt(dim), plus sinusoids at positions from 0 on in each batch element. */
static void embed(const struct test_case *test, int64_t batch, int64_t length, int64_t width, float *rows) {
  const struct array *tokens = case_input(test, "embedding_weight"), *ids = case_input(test, "ids");
  fovea_nn_embedding embedding;
  fovea_nn_embedding_rows call;
  fovea_nn_sinusoid_rows sinusoids;
  float *positions = malloc((size_t)(length * width) * sizeof *positions);
  assert_non_null(positions);
  fovea_nn_sinusoid_rows_init(&sinusoids, length, width, positions);
  assert_int_equal(fovea_nn_sinusoids(&sinusoids, NULL, NULL), FOVEA_OK);
  fovea_nn_embedding_init(&embedding, width, tokens->shape[0], tokens->data);
  embedding.scale = sqrtf((float)width);
  embedding.positions = (fovea_nn_table){positions, length, FOVEA_F32, width};
  for (int64_t b = 0; b < batch; b++) {
    fovea_nn_embedding_rows_init(&call, &embedding, length, (const int64_t *)ids->data + b * length,
                                 rows + b * length * width);
    call.id_type = FOVEA_NN_INT64;
    assert_int_equal(fovea_nn_embed(&embedding, &call, NULL, NULL), FOVEA_OK);
  }
  free(positions);
}

/* The encoder of a walk-through of PyTorch: 1,000 tokens, 128 dims, 4 heads, 2 layers, 523,776 weights. Its mask is
 * 1 for keys that are visible. */
static void test_encoder(void **state) {
  (void)state;
  struct test_case test;
  read_case(&test, "seed4_transformer_encoder");
  const struct array *ids = case_input(&test, "ids"), *mask = case_input(&test, "mask");
  const int64_t batch = ids->shape[0], length = ids->shape[1], width = (int64_t)case_number(&test, "d_model", 0);
  const int64_t heads = (int64_t)case_number(&test, "num_heads", 1), dim = width / heads, rows = batch * length;
  unsigned char seen[64];
  int64_t weights = 0;
  float *y = malloc((size_t)(rows * width) * sizeof *y);
  assert_non_null(y);
  for (int i = 3; i < test.input_count; i++) weights += test.inputs[i].count;
  assert_int_equal(weights, 523776);
  embed(&test, batch, length, width, y);
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_problem_init(&problem, batch, heads, heads, length, length, dim, dim);
  problem.mask.type = FOVEA_MASK_BOOL;
  problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, batch, 1, 1, length);
  for (int64_t i = 0; i < mask->count; i++) seen[i] = ((const float *)mask->data)[i] != 0;
  fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
  tensors.mask = seen;
  const fovea_nn_attending self = {&problem, &tensors};
  for (int layer = 0; layer < 2; layer++) {
    struct parts p;
    fovea_error error;
    take_seed_layer(&test, layer, width, &p);
    if (fovea_nn_block_run(&p.block, &self, NULL, y, y, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
  }
  fovea_nn_norm norm;
  fovea_nn_norm_rows norm_rows;
  make_norm(&norm, width, part(&test, "", "norm_weight"), part(&test, "", "norm_bias"));
  fovea_nn_norm_rows_init(&norm_rows, &norm, rows, y, y);
  assert_int_equal(fovea_nn_norm_run(&norm, &norm_rows, NULL, NULL), FOVEA_OK);
  assert_near(&test, y, 4e-6);
  free(y);
  case_free(&test);
}

static int set_up(void **state) {
  (void)state;
  struct generator generator = {37};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) numbers[i] = generator_uniform(&generator);
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = generator_uniform(&generator);
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) memory[i] = generator_uniform(&generator);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_single_steps), cmocka_unit_test(test_scratch), cmocka_unit_test(test_refused),
      cmocka_unit_test(test_torch),        cmocka_unit_test(test_encoder),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
