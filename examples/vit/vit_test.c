/* The model reads the held-out digits as PyTorch does, and its logits have the same bits on every instruction set,
 * for every number of threads and batch. The digest is kept here.
 *
 *   test_vit DATA */
#include "encoder.h"
#include "summary.h"
#include "support/check.h"
#include "support/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024, RIGHT = 353, GOLDEN_IMAGES = 2 };

#define DIGEST UINT64_C(0x59064a5abb4198a8)

/* The farthest that a logit or a weight may be from PyTorch's. */
static const double tolerance = 1e-5;

static const char *data;
static struct model model;
static struct digits digits;
static struct safetensors golden;
static char model_path[PATH_SIZE], digits_path[PATH_SIZE], golden_path[PATH_SIZE];

static void require(bool done, const struct failure *failure) {
  if (!done) fail_msg("%s", failure->text);
}

static int open_all(void **state) {
  (void)state;
  struct failure failure = {""};
  snprintf(model_path, PATH_SIZE, "%s/model.safetensors", data);
  snprintf(digits_path, PATH_SIZE, "%s/digits.safetensors", data);
  snprintf(golden_path, PATH_SIZE, "%s/golden.safetensors", data);
  const bool read = model_read(&model, model_path, &failure) && digits_read(&digits, digits_path, &failure) &&
                    safetensors_read(&golden, golden_path, &failure);
  if (!read) print_error("%s\n", failure.text);
  return read ? 0 : -1;
}

static int close_all(void **state) {
  (void)state;
  model_free(&model);
  digits_free(&digits);
  safetensors_free(&golden);
  return 0;
}

/* Returns (all, DIGITS) numbers, of the first digits. */
static float *logits_of(int64_t all, int64_t at_once, int threads) {
  struct failure failure = {""};
  float *logits = malloc((size_t)(all * DIGITS) * sizeof *logits);
  assert_non_null(logits);
  for (int64_t i = 0; i < all; i += at_once) {
    const int64_t count = all - i < at_once ? all - i : at_once;
    require(encoder_logits(&model, digits.images + i * IMAGE_PIXELS, count, threads, logits + i * DIGITS, &failure),
            &failure);
  }
  return logits;
}

static double farthest(const float *numbers, const float *others, int64_t count) {
  double worst = 0;
  for (int64_t i = 0; i < count; i++) {
    const double distance = fabs((double)numbers[i] - (double)others[i]);
    if (!(distance <= worst)) worst = distance; /* also NaN */
  }
  return worst;
}

static void test_accuracy(void **state) {
  (void)state;
  struct failure failure = {""};
  struct numbers wanted;
  int right = 0;
  float *logits = logits_of(digits.count, 64, 0);
  require(safetensors_take(&golden, "logits", digits.count, DIGITS, &wanted, &failure), &failure);
  assert_int_equal(wanted.type, FOVEA_F32);
  const float *theirs = wanted.data;
  for (int64_t i = 0; i < digits.count; i++) {
    const int choice = encoder_choice(logits + i * DIGITS);
    assert_int_equal(choice, encoder_choice(theirs + i * DIGITS));
    right += choice == digits.labels[i];
  }
  const double distance = farthest(logits, theirs, digits.count * DIGITS);
  print_message("%d of %d right; the logits differ from PyTorch's by %.1e at most\n", right, (int)digits.count,
                distance);
  assert_int_equal(right, RIGHT);
  assert_true(distance < tolerance);
  free(logits);
}

/* FNV-1a of the bytes, the low byte of each number first. */
static uint64_t digest_of(const float *numbers, int64_t count) {
  uint64_t digest = UINT64_C(0xcbf29ce484222325);
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &numbers[i], sizeof bits);
    for (int byte = 0; byte < 4; byte++) digest = (digest ^ (bits >> (8 * byte) & 255)) * UINT64_C(0x100000001b3);
  }
  return digest;
}

/* All other runs must give the bits of the first, which the digest states. */
static void assert_same(const float *wanted, int64_t count, int64_t at_once, int threads) {
  float *logits = logits_of(count, at_once, threads);
  if (memcmp(logits, wanted, (size_t)(count * DIGITS) * sizeof *logits) != 0)
    fail_msg("batch %d, %d threads, %s: other bits", (int)at_once, threads, model.isa ? model.isa : "the best isa");
  free(logits);
}

static void test_one_answer(void **state) {
  (void)state;
  const int64_t count = USUAL_OR_LONG(40, digits.count);
  float *wanted = logits_of(digits.count, digits.count, 0);
  const uint64_t digest = digest_of(wanted, digits.count * DIGITS);
  if (digest != DIGEST) fail_msg("digest 0x%016llx", (unsigned long long)digest);
  assert_same(wanted, count, 1, 1);
  assert_same(wanted, count, 7, 3);
  for (const char *const *isa = whole_isas(); *isa; isa++) {
    model_use_isa(&model, *isa);
    assert_same(wanted, count, 64, 2);
  }
  model_use_isa(&model, NULL);
  free(wanted);
}

static const float *golden_attention(int64_t image_size) {
  const struct stored_tensor *tensor = safetensors_find(&golden, "attention");
  assert_non_null(tensor);
  assert_string_equal(tensor->type, "F32");
  assert_int_equal(tensor->shape[0], GOLDEN_IMAGES);
  assert_int_equal(tensor->end - tensor->begin, GOLDEN_IMAGES * image_size * (int64_t)sizeof(float));
  assert_int_equal(tensor->begin % (int64_t)sizeof(float), 0);
  return (const float *)(const void *)(golden.data + tensor->begin);
}

static void test_attention(void **state) {
  (void)state;
  struct failure failure = {""};
  const int64_t size = model.layers * MODEL_HEADS * TOKENS * TOKENS;
  const float *wanted = golden_attention(size);
  float *weights = malloc((size_t)size * sizeof *weights);
  assert_non_null(weights);
  for (int64_t i = 0; i < GOLDEN_IMAGES; i++) {
    require(encoder_attention(&model, digits.images + i * IMAGE_PIXELS, weights, &failure), &failure);
    assert_true(farthest(weights, wanted + i * size, size) < tolerance);
  }
  free(weights);
}

/* Two layers whose result is known: in the first all tokens attend to token 3, in the second evenly to all. */
static void test_summaries(void **state) {
  (void)state;
  enum { LAYER_SIZE = MODEL_HEADS * TOKENS * TOKENS };
  static float weights[2 * LAYER_SIZE];
  float patches[PATCHES];
  for (int i = 0; i < LAYER_SIZE; i++) {
    weights[i] = i % TOKENS == 3;
    weights[LAYER_SIZE + i] = 1.0f / TOKENS;
  }
  summary_last_layer(weights, 2, patches);
  for (int i = 0; i < PATCHES; i++) assert_true(fabs((double)patches[i] - 1.0 / PATCHES) < 1e-6);
  summary_last_layer(weights, 1, patches);
  for (int i = 0; i < PATCHES; i++) assert_true(patches[i] == (i == 2));
  summary_rollout(weights, 2, patches);
  /* Row 0 of (I + E / T) / 2 * (I + C) / 2: the class token has (1 + 1/T) / 4, token 3 1/2 + 1/(4 T), others 1/(4
   * T). */
  const double all = 1 - (1 + 1.0 / TOKENS) / 4;
  for (int i = 0; i < PATCHES; i++) {
    const double wanted = ((i == 2 ? 0.5 : 0) + 0.25 / TOKENS) / all;
    assert_true(fabs((double)patches[i] - wanted) < 1e-6);
  }
}

static void test_unknown_isa(void **state) {
  (void)state;
  struct failure failure = {""};
  float logits[DIGITS];
  model_use_isa(&model, "abacus");
  assert_false(encoder_logits(&model, digits.images, 1, 1, logits, &failure));
  assert_non_null(strstr(failure.text, "abacus"));
  model_use_isa(&model, NULL);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: test_vit DATA\n");
    return 2;
  }
  data = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_accuracy),  cmocka_unit_test(test_one_answer),  cmocka_unit_test(test_attention),
      cmocka_unit_test(test_summaries), cmocka_unit_test(test_unknown_isa),
  };
  return cmocka_run_group_tests(tests, open_all, close_all);
}
