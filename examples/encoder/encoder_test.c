/* The encoder has one digest, on every instruction set and for any number of threads; its attention weights sum to
 * 1 and leave padding out; with the conformance data, its numbers are PyTorch's; bad files are refused. */
#include "model.h"
#include "support/check.h"
#include "support/trial.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST        UINT64_C(0xd69374e43e8e2bd9)
#define GOLDEN_DIGEST UINT64_C(0x47cebf815b285857)

enum { PATH_SIZE = 1024 };

static struct weights weights;
static struct model model;
static float y[ENCODER_NUMBERS], attention[ENCODER_LAYERS * ENCODER_WEIGHT_NUMBERS];

static void require(bool done, const struct failure *failure) {
  if (!done) fail_msg("%s", failure->text);
}

static void assert_digest(uint64_t digest) {
  struct failure failure = {""};
  for (const char *const *isa = whole_isas(); *isa; isa++) {
    for (int threads = 1; threads <= 3; threads++) {
      require(model_create(&model, &weights, *isa, threads, &failure), &failure);
      require(model_run(&model, y, threads == 2 ? NULL : attention, &failure), &failure);
      assert_int_equal(model_digest(y, ENCODER_NUMBERS), digest);
    }
  }
}

static void assert_weights(const float *layer) {
  for (int row = 0; row < ENCODER_WEIGHT_NUMBERS / ENCODER_LENGTH; row++) {
    const int text = row / (ENCODER_HEADS * ENCODER_LENGTH);
    double sum = 0;
    for (int key = 0; key < ENCODER_LENGTH; key++) {
      const float weight = layer[row * ENCODER_LENGTH + key];
      if (!weights.seen[text * ENCODER_LENGTH + key]) assert_true(weight == 0);
      sum += (double)weight;
    }
    assert_true(fabs(sum - 1) < 5e-7);
  }
}

static void test_generated(void **state) {
  (void)state;
  struct failure failure = {""};
  require(weights_generate(&weights, &failure), &failure);
  assert_int_equal(weights.count, 523776);
  assert_digest(DIGEST);
  for (int layer = 0; layer < ENCODER_LAYERS; layer++) assert_weights(attention + layer * ENCODER_WEIGHT_NUMBERS);
  weights_free(&weights);
}

static void assert_near(const char *directory, const char *name, const float *numbers, int count,
                        double tolerance) {
  static double expected[ENCODER_NUMBERS];
  struct failure failure = {""};
  require(weights_read_file(directory, name, expected, count, sizeof *expected, &failure), &failure);
  for (int i = 0; i < count; i++)
    if (!(fabs((double)numbers[i] - expected[i]) <= tolerance))
      fail_msg("%s %d: %g, not %g", name, i, (double)numbers[i], expected[i]);
}

static void test_golden(void **state) {
  (void)state;
  const char *conformance = getenv("FOVEA_CONFORMANCE_DIR");
  char directory[PATH_SIZE], name[32];
  struct failure failure = {""};
  if (!conformance) skip();
  snprintf(directory, sizeof directory, "%s/oracles/seed4_transformer_encoder", conformance);
  require(weights_read(&weights, directory, &failure), &failure);
  assert_digest(GOLDEN_DIGEST);
  assert_near(directory, "out0_y", y, ENCODER_NUMBERS, 4e-6);
  for (int layer = 0; layer < ENCODER_LAYERS; layer++) {
    const float *weights_of_layer = attention + layer * ENCODER_WEIGHT_NUMBERS;
    assert_weights(weights_of_layer);
    snprintf(name, sizeof name, "out%d_attn%d", layer + 1, layer);
    assert_near(directory, name, weights_of_layer, ENCODER_WEIGHT_NUMBERS, 7e-6);
  }
  weights_free(&weights);
}

static void write_file(const char *path, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  for (size_t i = 0; i < size; i++) assert_int_not_equal(fputc(0, file), EOF);
  assert_int_equal(fclose(file), 0);
}

static void assert_refused(const char *directory, const char *text) {
  struct failure failure = {""};
  assert_false(weights_read(&weights, directory, &failure));
  if (!strstr(failure.text, text)) fail_msg("%s: no %s", failure.text, text);
}

static void test_refused(void **state) {
  (void)state;
  static char deep[5000];
  memset(deep, 'x', sizeof deep - 1);
  assert_refused(deep, "too long");
  assert_refused("no directory", "cannot be opened");
  write_file("in0_ids.bin", ENCODER_ROWS * 8 - 1);
  assert_refused(".", "must have 20 numbers");
  write_file("in0_ids.bin", ENCODER_ROWS * 8 + 1);
  assert_refused(".", "must have 20 numbers");
  write_file("in0_ids.bin", ENCODER_ROWS * 8);
  assert_refused(".", "in1_mask.bin: it cannot be opened");
  remove("in0_ids.bin");
}

static void test_distance(void **state) {
  (void)state;
  const float numbers[] = {1, 2, NAN, INFINITY, 3};
  const double expected[] = {1.5, NAN, 1, INFINITY, 2};
  assert_true(model_distance(numbers, expected, 1) == 0.5);
  assert_true(model_distance(numbers + 4, expected + 4, 1) == 1);
  assert_true(model_distance(numbers, expected, 0) == 0);
  for (int i = 1; i < 4; i++) assert_true(model_distance(numbers + i, expected + i, 1) > DBL_MAX);
  assert_true(model_distance(numbers, expected, 5) > DBL_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_generated), cmocka_unit_test(test_golden),
                                     cmocka_unit_test(test_refused), cmocka_unit_test(test_distance)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
