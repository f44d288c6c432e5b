/* ONNX's own cases of Gelu, Relu, LayerNormalization, RMSNormalization and Softmax over the last axes, Gemm, MatMul
 * and SwiGLU, from the folder that FOVEA_CONFORMANCE_DIR names. Without it the status is 77, which ctest takes as
 * skipped. tests/conformance has RotaryEmbedding. */
#include "conformance/case.h"
#include "support/types.h"

#include <fovea/nn.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_SKIPPED = 77 };

/* The axes from `axis` on are a row's dims. */
static int64_t dims_from(const struct array *x, int axis) {
  int64_t dims = 1;
  for (int i = axis < 0 ? axis + x->rank : axis; i < x->rank; i++) dims *= x->shape[i];
  return dims;
}

static fovea_status run_norm(const struct test_case *test, const struct array *x, float *y) {
  const int is_rms = strcmp(test->op, "RMSNormalization") == 0;
  const int64_t dim = dims_from(x, (int)case_number(test, "axis", -1));
  fovea_nn_norm norm;
  fovea_nn_norm_rows rows;
  fovea_nn_norm_init(&norm, is_rms ? FOVEA_NN_RMS_NORM : FOVEA_NN_LAYER_NORM, dim);
  norm.eps = case_number(test, "epsilon", 1e-5);
  norm.gamma = test->inputs[1].data;
  if (test->input_count > 2) norm.beta = test->inputs[2].data;
  fovea_nn_norm_rows_init(&rows, &norm, x->count / dim, x->data, y);
  return fovea_nn_norm_run(&norm, &rows, NULL, NULL);
}

static fovea_status run_map(const struct test_case *test, const struct array *x, float *y) {
  const int64_t dim = dims_from(x, -1);
  const fovea_nn_activation gelu =
      case_has_attribute(test, "approximate") ? FOVEA_NN_ACTIVATION_GELU_TANH : FOVEA_NN_ACTIVATION_GELU;
  fovea_nn_map map;
  fovea_nn_map_init(&map, x->count / dim, dim, x->data, y);
  if (strcmp(test->op, "Softmax") == 0) return fovea_nn_softmax(&map, NULL, NULL);
  return fovea_nn_activate(&map, strcmp(test->op, "Gelu") == 0 ? gelu : FOVEA_NN_ACTIVATION_RELU, NULL, NULL);
}

/* A matrix of the case, times a factor, turned if asked for: the result has `rows` and `columns`. */
static float *take_matrix(const float *from, int64_t rows, int64_t columns, int turned, double factor) {
  float *to = malloc((size_t)(rows * columns) * sizeof *to);
  if (!to) abort();
  for (int64_t i = 0; i < rows * columns; i++)
    to[i] = (float)(factor * (double)from[turned ? i % columns * rows + i / columns : i]);
  return to;
}

/* Y = alpha A B + beta C. C is a number, a row or a matrix. */
static fovea_status run_gemm(const struct test_case *test, float *y) {
  const struct array *a = case_input(test, "A"), *b = case_input(test, "B"), *c = case_input(test, "C");
  const int a_turned = case_number(test, "transA", 0) != 0, b_turned = case_number(test, "transB", 0) != 0;
  const int64_t rows = test->outputs[0].shape[0], out = test->outputs[0].shape[1], in = a->count / rows;
  float *x = take_matrix(a->data, rows, in, a_turned, 1), *addend = malloc((size_t)(rows * out) * sizeof *addend);
  float *weights = take_matrix(b->data, out, in, !b_turned, case_number(test, "alpha", 1));
  fovea_nn_linear linear;
  fovea_nn_linear_rows call;
  if (!addend) abort();
  for (int64_t i = 0; i < rows * out && c; i++)
    addend[i] = (float)(case_number(test, "beta", 1) * (double)((const float *)c->data)[i % c->count]);
  if (c && c->count == 1)
    for (int64_t i = 0; i < rows * out; i++) addend[i] = addend[0];
  fovea_nn_linear_init(&linear, in, out, weights);
  if (c && c->count <= out) linear.bias = addend;
  fovea_nn_linear_rows_init(&call, &linear, rows, x, y);
  if (c && c->count > out) call.residual = addend;
  const fovea_status status = fovea_nn_linear_run(&linear, &call, NULL, NULL);
  free(x);
  free(addend);
  free(weights);
  return status;
}

/* An axis, counted from the last one but one; axes that are not there have one element. */
static int64_t outer_axis(const struct array *x, int before_last) {
  const int axis = x->rank - 2 - before_last;
  return x->rank > 1 && axis >= 0 ? x->shape[axis] : 1;
}

/* Matrices of the last two axes, of which there may be many; a vector is a row, or as B a column. */
static fovea_status run_matmul(const struct test_case *test, float *y) {
  const struct array *a = case_input(test, "A"), *b = case_input(test, "B");
  const int64_t in = a->shape[a->rank - 1], rows = outer_axis(a, 0), out = b->rank > 1 ? b->shape[b->rank - 1] : 1;
  const int64_t products = test->outputs[0].count / (rows * out);
  fovea_status status = FOVEA_OK;
  for (int64_t i = 0; i < products && !status; i++) {
    int64_t a_at = 0, b_at = 0, rest = i, a_step = 1, b_step = 1;
    for (int axis = 1; axis <= 2; axis++) {
      const int64_t a_count = outer_axis(a, axis), b_count = outer_axis(b, axis);
      const int64_t count = a_count > b_count ? a_count : b_count, at = rest % count;
      a_at += a_count > 1 ? at * a_step : 0;
      b_at += b_count > 1 ? at * b_step : 0;
      a_step *= a_count;
      b_step *= b_count;
      rest /= count;
    }
    float *weights = take_matrix((const float *)b->data + b_at * in * out, out, in, 1, 1);
    fovea_nn_linear linear;
    fovea_nn_linear_rows call;
    fovea_nn_linear_init(&linear, in, out, weights);
    fovea_nn_linear_rows_init(&call, &linear, rows, (const float *)a->data + a_at * rows * in, y + i * rows * out);
    status = fovea_nn_linear_run(&linear, &call, NULL, NULL);
    free(weights);
  }
  return status;
}

/* a sigmoid(alpha a) b = silu(alpha a) (b / alpha). */
static fovea_status run_swiglu(const struct test_case *test, float *y) {
  const struct array *a = case_input(test, "a"), *b = case_input(test, "b");
  const int64_t dim = dims_from(a, -1), rows = a->count / dim;
  const double alpha = case_number(test, "alpha", 1);
  float *weights = calloc((size_t)(dim * dim), sizeof *weights), *gate = NULL;
  fovea_nn_linear linear;
  fovea_nn_linear_rows call;
  if (!weights) abort();
  for (int64_t i = 0; i < dim; i++) weights[i * dim + i] = (float)alpha;
  fovea_nn_linear_init(&linear, dim, dim, weights);
  linear.activation = FOVEA_NN_ACTIVATION_SILU;
  fovea_nn_linear_rows_init(&call, &linear, rows, a->data, y);
  call.gate = b->data;
  if (a->element == ELEMENT_F16)
    call.x_type = call.gate_type = FOVEA_F16;
  else
    call.gate = gate = take_matrix(b->data, rows, dim, 0, 1 / alpha);
  const fovea_status status = fovea_nn_linear_run(&linear, &call, NULL, NULL);
  free(weights);
  free(gate);
  return status;
}

static fovea_status run_case(const struct test_case *test, float *y) {
  if (strcmp(test->op, "Gemm") == 0) return run_gemm(test, y);
  if (strcmp(test->op, "MatMul") == 0) return run_matmul(test, y);
  if (strcmp(test->op, "SwiGLU") == 0) return run_swiglu(test, y);
  return strstr(test->op, "Normalization") ? run_norm(test, &test->inputs[0], y)
                                           : run_map(test, &test->inputs[0], y);
}

/* Whether the results are as the case says, to twenty units of f32 and a little; of f16 to one unit, since ONNX's
 * reference computes in f16. */
static int agrees(const struct test_case *test) {
  const struct array *expected = &test->outputs[0];
  const float relative = expected->element == ELEMENT_F16 ? 0x1p-9f : 2e-6f;
  float *y = malloc((size_t)expected->count * sizeof *y);
  int same = y && run_case(test, y) == FOVEA_OK;
  for (int64_t i = 0; same && i < expected->count; i++) {
    const float wanted = expected->element == ELEMENT_F16
                             ? from_bits(widened(FOVEA_F16, ((const uint16_t *)expected->data)[i]))
                             : ((const float *)expected->data)[i];
    same = fabsf(y[i] - wanted) <= 1e-6f + relative * fabsf(wanted);
  }
  free(y);
  return same;
}

static int is_known(const struct test_case *test) {
  static const char *const known[] = {
      "Gelu", "Relu", "LayerNormalization", "RMSNormalization", "Softmax", "Gemm", "MatMul", "SwiGLU"};
  const double axis = case_number(test, "axis", -1);
  if (test->inputs[0].element != ELEMENT_F32 && strcmp(test->op, "SwiGLU") != 0) return 0;
  if (strcmp(test->op, "Softmax") == 0 && axis != -1 && axis != test->inputs[0].rank - 1) return 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(test->op, known[i]) == 0) return 1;
  return 0;
}

int main(void) {
  const char *root = getenv("FOVEA_CONFORMANCE_DIR");
  char directory[3000], path[3100], line[4000], error[500];
  int tried = 0, failed = 0;
  snprintf(directory, sizeof directory, "%s/onnx", root ? root : "");
  snprintf(path, sizeof path, "%s/INDEX.tsv", directory);
  FILE *index = root ? fopen(path, "r") : NULL;
  if (!index) {
    puts("skipped: FOVEA_CONFORMANCE_DIR names no cases");
    return STATUS_SKIPPED;
  }
  while (fgets(line, sizeof line, index)) {
    struct test_case test;
    line[strcspn(line, "\t\n")] = '\0';
    if (!case_read(&test, directory, line, error, sizeof error)) continue; /* of another operator */
    if (is_known(&test)) {
      const int passed = agrees(&test);
      tried++;
      failed += !passed;
      if (!passed) printf("%s differs\n", test.name);
    }
    case_free(&test);
  }
  fclose(index);
  printf("%d cases, %d differ\n", tried, failed);
  return tried == 0 || failed > 0;
}
