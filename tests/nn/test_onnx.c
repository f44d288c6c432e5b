/* ONNX's own cases of Gelu, Relu, LayerNormalization, RMSNormalization and Softmax over the last axes, in f32, from
 * the folder that FOVEA_CONFORMANCE_DIR names. Without it the status is 77, which ctest takes as skipped. */
#include "conformance/case.h"

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
  const fovea_nn_activation gelu = case_has_attribute(test, "approximate") ? FOVEA_NN_GELU_TANH : FOVEA_NN_GELU;
  fovea_nn_map map;
  fovea_nn_map_init(&map, x->count / dim, dim, x->data, y);
  if (strcmp(test->op, "Softmax") == 0) return fovea_nn_softmax(&map, NULL, NULL);
  return fovea_nn_activate(&map, strcmp(test->op, "Gelu") == 0 ? gelu : FOVEA_NN_RELU, NULL, NULL);
}

/* Whether the results are those of the case, to twenty units of f32 and a little. */
static int agrees(const struct test_case *test) {
  const struct array *x = &test->inputs[0];
  const float *expected = test->outputs[0].data;
  const int is_norm = strstr(test->op, "Normalization") != NULL;
  float *y = malloc((size_t)x->count * sizeof *y);
  int same = y && (is_norm ? run_norm(test, x, y) : run_map(test, x, y)) == FOVEA_OK;
  for (int64_t i = 0; same && i < x->count; i++)
    same = fabsf(y[i] - expected[i]) <= 1e-6f + 2e-6f * fabsf(expected[i]);
  free(y);
  return same;
}

static int is_known(const struct test_case *test) {
  static const char *const known[] = {"Gelu", "Relu", "LayerNormalization", "RMSNormalization", "Softmax"};
  const double axis = case_number(test, "axis", -1);
  if (test->inputs[0].element != ELEMENT_F32) return 0;
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
