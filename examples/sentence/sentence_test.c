/* Fovea's attention over the captured sentences agrees with the model's own, on every instruction set of this CPU.
 *
 *   fovea_sentence_test DATA
 *
 * The bound. Both sides are f32 computations of the same exact o*, so they differ by at most the sum of their
 * errors, in the measure of docs/numerics.md: |o - o*| in units of u (2 + A) sum_j p_j |v_j|, where u = 2^-24 and A
 * is the largest sum_d |scale q_d k_jd| of the row. capture.py measured 1.9 units for the model, 2.5 for its
 * weights. Fovea promises 16 at any length. 32 dims and 15 keys are short, so a quarter of that is the bound here.
 * The weights are the case where V is the identity: the same bound, with p_j for sum_j p_j |v_j|. */
#include "captured.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka.h needs the four headers above. */
#include <cmocka.h>

#define MODEL_UNITS 2.6
#define FOVEA_UNITS 4.0
#define PATH_SIZE   1024

static const char *data_directory;

/* One row of textbook attention in double, and the unit of its error. */
struct exact_row {
  double p[CAPTURED_TOKEN_LIMIT];
  double unit; /* u (2 + A) */
};

static struct exact_row exact_row(const struct captured *captured, int64_t head, int64_t row) {
  struct exact_row exact = {0};
  const float *q = captured->q + (head * captured->tokens + row) * captured->dim;
  double scale = 1 / sqrt((double)captured->dim), largest = -INFINITY, size = 0, sum = 0;
  for (int64_t j = 0; j < captured->tokens; j++) {
    const float *k = captured->k + (head * captured->tokens + j) * captured->dim;
    double score = 0, key_size = 0;
    for (int64_t d = 0; d < captured->dim; d++) {
      double product = scale * (double)q[d] * (double)k[d];
      score += product;
      key_size += fabs(product);
    }
    exact.p[j] = score;
    largest = fmax(largest, score);
    size = fmax(size, key_size);
  }
  for (int64_t j = 0; j < captured->tokens; j++) sum += exact.p[j] = exp(exact.p[j] - largest);
  for (int64_t j = 0; j < captured->tokens; j++) exact.p[j] /= sum;
  exact.unit = ldexp(2 + size, -24);
  return exact;
}

static void assert_near(double got, double wanted, double bound, const char *what, int64_t head, int64_t row) {
  if (fabs(got - wanted) <= bound) return;
  fail_msg("%s of head %d, row %d: %.9g, wanted %.9g, %.1e away, allowed %.1e", what, (int)head, (int)row, got,
           wanted, fabs(got - wanted), bound);
}

/* Compares one row of O and of the weights, with the exact result and with the model's. */
static void compare_row(const struct captured *captured, const float *o, const float *weights, int64_t head,
                        int64_t row) {
  struct exact_row exact = exact_row(captured, head, row);
  int64_t at = head * captured->tokens + row;
  for (int64_t d = 0; d < captured->dim; d++) {
    double wanted = 0, size = 0;
    for (int64_t j = 0; j < captured->tokens; j++) {
      double term = exact.p[j] * (double)captured->v[(head * captured->tokens + j) * captured->dim + d];
      wanted += term;
      size += fabs(term);
    }
    double got = (double)o[at * captured->dim + d], model = (double)captured->context[at * captured->dim + d];
    assert_near(got, wanted, FOVEA_UNITS * exact.unit * size, "O against float64", head, row);
    assert_near(got, model, (FOVEA_UNITS + MODEL_UNITS) * exact.unit * size, "O against the model", head, row);
  }
  for (int64_t j = 0; j < captured->tokens; j++) {
    double got = (double)weights[at * captured->tokens + j];
    double model = (double)captured->probabilities[at * captured->tokens + j];
    double bound = exact.unit * exact.p[j];
    assert_near(got, exact.p[j], FOVEA_UNITS * bound, "weight against float64", head, row);
    assert_near(got, model, (FOVEA_UNITS + MODEL_UNITS) * bound, "weight against the model", head, row);
  }
}

static void compare(const struct captured *captured, const char *isa) {
  size_t rows = (size_t)(captured->heads * captured->tokens);
  float *o = malloc(rows * (size_t)captured->dim * sizeof *o);
  float *weights = malloc(rows * (size_t)captured->tokens * sizeof *weights);
  assert_non_null(o);
  assert_non_null(weights);
  fovea_error error = {.text = ""};
  if (captured_attend(captured, isa, o, &error) != FOVEA_OK) fail_msg("%s", error.text);
  if (captured_weights(captured, isa, weights, &error) != FOVEA_OK) fail_msg("%s", error.text);
  for (int64_t head = 0; head < captured->heads; head++)
    for (int64_t row = 0; row < captured->tokens; row++) compare_row(captured, o, weights, head, row);
  free(o);
  free(weights);
}

/* The state is the name of the sentence. */
static void agrees_with_the_model(void **state) {
  char path[PATH_SIZE], text[PATH_SIZE + 256];
  snprintf(path, sizeof path, "%s/%s", data_directory, (const char *)*state);
  struct captured captured;
  if (!captured_load(path, &captured, text, sizeof text)) fail_msg("%s", text);
  fovea_isa_report isa;
  fovea_isa_report_init(&isa);
  int compared = 0;
  for (int i = 0; fovea_isa_at(i, &isa) == FOVEA_OK; i++) {
    if (!isa.usable) continue;
    print_message("%s on %s\n", (const char *)*state, isa.name);
    compare(&captured, isa.name);
    compared++;
  }
  assert_true(compared > 0);
  captured_free(&captured);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: fovea_sentence_test DATA\n");
    return 2;
  }
  data_directory = argv[1];
  const struct CMUnitTest tests[] = {
      {"station", agrees_with_the_model, NULL, NULL, "station"},
      {"animal", agrees_with_the_model, NULL, NULL, "animal"},
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
