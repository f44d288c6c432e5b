/* Malformed weights, images and command lines are refused with a line that says why. The files are changed copies
 * of the files in data/.
 *
 *   test_vit_errors DATA */
#include "digits.h"
#include "encoder.h"
#include "options.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024, ARGUMENTS_LIMIT = 6, LENGTH_BYTES = 8 };

static const char path[] = "vit_errors_test.bin";
static const char *data;

static void assert_says(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("'%s' does not say '%s'", text, part);
  assert_null(strchr(text, '\n'));
}

static struct file read_data(const char *name) {
  char full[PATH_SIZE];
  struct file file;
  struct failure failure = {""};
  snprintf(full, sizeof full, "%s/%s", data, name);
  if (!file_read(&file, full, &failure)) fail_msg("%s", failure.text);
  return file;
}

static void write_file(const struct file *file, size_t size) {
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(file->bytes, 1, size, stream), size);
  assert_int_equal(fclose(stream), 0);
}

static size_t header_end(const struct file *file) {
  size_t length = 0;
  for (int i = LENGTH_BYTES - 1; i >= 0; i--) length = length << 8 | (unsigned char)file->bytes[i];
  return LENGTH_BYTES + length;
}

/* Replaces the first `from` after the first `after` in the header by `to`, which is as long. */
static void replace(struct file *file, const char *after, const char *from, const char *to) {
  const size_t length = strlen(from), end = header_end(file);
  size_t place = 0;
  assert_int_equal(length, strlen(to));
  while (place < end && memcmp(file->bytes + place, after, strlen(after)) != 0) place++;
  while (place < end && memcmp(file->bytes + place, from, length) != 0) place++;
  assert_true(place < end);
  memcpy(file->bytes + place, to, length);
}

static void refuse_model(const char *part) {
  struct model model;
  struct failure failure = {""};
  assert_false(model_read(&model, path, &failure));
  assert_says(failure.text, part);
}

static void refuse_digits(const char *part) {
  struct digits digits;
  struct failure failure = {""};
  assert_false(digits_read(&digits, path, &failure));
  assert_says(failure.text, part);
}

static void test_bad_models(void **state) {
  (void)state;
  static const struct {
    const char *after, *from, *to, *part;
  } cases[] = {
      {"", "\"class_token\"", "\"glass_token\"", "no tensor class_token"},
      {"\"class_token\"", "[48]", "[47]", "class_token: its type and shape"},
      {"\"class_token\"", "F32", "F16", "class_token: its type and shape"},
      {"", "\"patch.bias\"", "\"patch.buas\"", "no tensor patch.bias"},
      {"\"positions\"", "[17,48]", "[48,17]", "positions has another shape"},
      {"\"patch.weight\"", "[48,4]", "[4,48]", "patch.weight has another shape"},
      {"\"head.weight\"", "F16", "I16", "head.weight has the type I16"},
      {"", "layers.2.norm1.bias", "layers.2.norm9.bias", "no tensor encoder.layers.2.norm1.bias"},
      {"", "layers.0.self_attn.in_proj_bias", "layers.0.self_attn.in_proj_bios", "no tensor"},
      {"", "layers.0.linear1.bias", "layers.7.linear1.bias", "no tensor encoder.layers.0.linear1.bias"},
      {"", "\"encoder.norm.weight\"", "\"encoder.norm.height\"", "no tensor encoder.norm.weight"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct file file = read_data("model.safetensors");
    replace(&file, cases[i].after, cases[i].from, cases[i].to);
    write_file(&file, file.size);
    file_free(&file);
    refuse_model(cases[i].part);
  }
}

/* Whichever byte of the header changes, and wherever the file ends, reading ends with an answer. */
static void test_changed_models(void **state) {
  (void)state;
  struct file file = read_data("model.safetensors");
  const size_t end = header_end(&file);
  struct model model;
  struct failure failure = {""};
  for (size_t i = 0; i < end; i += USUAL_OR_LONG(97, 11)) {
    const char byte = file.bytes[i];
    file.bytes[i] = (char)(byte ^ (1 << i % 7));
    write_file(&file, file.size);
    if (model_read(&model, path, &failure)) model_free(&model);
    file.bytes[i] = byte;
  }
  for (size_t size = 0; size < file.size; size += USUAL_OR_LONG(9973, 997)) {
    write_file(&file, size);
    assert_false(model_read(&model, path, &failure));
  }
  file_free(&file);
  assert_false(model_read(&model, "no/such.file", &failure));
  assert_says(failure.text, "no/such.file: ");
}

static void test_bad_digits(void **state) {
  (void)state;
  static const struct {
    const char *after, *from, *to, *part;
  } cases[] = {
      {"", "\"labels\"", "\"labers\"", "no labels"},
      {"", "\"images\"", "\"emages\"", "no tensor images"},
      {"", "[360,8,8]", "[8,360,8]", "images has another type or shape than U8 (360, 8, 8)"},
      {"\"labels\"", "U8", "I8", "labels has another type or shape than U8 (360)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct file file = read_data("digits.safetensors");
    replace(&file, cases[i].after, cases[i].from, cases[i].to);
    write_file(&file, file.size);
    file_free(&file);
    refuse_digits(cases[i].part);
  }
}

static void refuse_byte(const char *tensor, int value, const char *part) {
  struct file file = read_data("digits.safetensors");
  struct digits digits;
  struct failure failure = {""};
  write_file(&file, file.size);
  if (!digits_read(&digits, path, &failure)) fail_msg("%s", failure.text);
  const struct stored_tensor *stored = safetensors_find(&digits.file, tensor);
  assert_non_null(stored);
  file.bytes[header_end(&file) + (size_t)stored->begin + 7] = (char)value;
  digits_free(&digits);
  write_file(&file, file.size);
  refuse_digits(part);
  write_file(&file, file.size - 1);
  refuse_digits("data_offsets");
  file_free(&file);
}

static void test_bad_numbers(void **state) {
  (void)state;
  refuse_byte("images", 17, "images: number 7 is 17; 16 is the largest");
  refuse_byte("labels", 10, "labels: number 7 is 10; 9 is the largest");
  refuse_byte("labels", 255, "labels: number 7 is 255");
}

/* Weights that are not finite make logits that are none, which cannot be compared or drawn. */
static void test_not_finite(void **state) {
  (void)state;
  static float gamma[4096];
  float logits[DIGITS];
  struct model model;
  struct failure failure = {""};
  static const unsigned char image[IMAGE_PIXELS];
  struct file file = read_data("model.safetensors");
  write_file(&file, file.size);
  file_free(&file);
  if (!model_read(&model, path, &failure)) fail_msg("%s", failure.text);
  assert_true(model.dim <= 4096);
  assert_true(encoder_logits(&model, image, 1, 1, logits, &failure));
  model.norm.gamma = gamma;
  for (int i = 0; i < 2; i++) {
    for (int64_t d = 0; d < model.dim; d++) gamma[d] = i == 0 ? NAN : INFINITY;
    assert_false(encoder_logits(&model, image, 1, 1, logits, &failure));
    assert_says(failure.text, "no number");
  }
  model_free(&model);
}

static void test_options(void **state) {
  (void)state;
  static const struct {
    const char *words[ARGUMENTS_LIMIT], *part;
  } cases[] = {
      {{NULL}, "needs a command"},
      {{"read"}, "no command 'read'"},
      {{"check", "5"}, "'5' is one word too many"},
      {{"check", "--png", "x"}, "--png is for show"},
      {{"show"}, "show needs the number"},
      {{"show", "-1"}, "the digit's number is '-1'"},
      {{"show", "3x"}, "the digit's number is '3x'"},
      {{"show", "3", "4"}, "'4' is one word too many"},
      {{"show", "3", "--batch", "2"}, "--batch is for check"},
      {{"check", "--batch", "0"}, "--batch is '0'; it must be a whole number from 1"},
      {{"check", "--threads", "99999999999999999999"}, "--threads is"},
      {{"check", "--isa"}, "--isa wants something after it"},
      {{"check", "--speed", "9"}, "no option --speed"},
  };
  char name[] = "fovea_vit";
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char words[ARGUMENTS_LIMIT][32], *arguments[ARGUMENTS_LIMIT + 1] = {name};
    struct options options;
    struct failure failure = {""};
    int count = 1;
    for (; cases[i].words[count - 1]; count++) {
      snprintf(words[count - 1], sizeof words[0], "%s", cases[i].words[count - 1]);
      arguments[count] = words[count - 1];
    }
    assert_false(options_read(&options, count, arguments, &failure));
    assert_says(failure.text, cases[i].part);
  }
}

static int remove_file(void **state) {
  (void)state;
  remove(path);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: test_vit_errors DATA\n");
    return 2;
  }
  data = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bad_models),  cmocka_unit_test(test_changed_models), cmocka_unit_test(test_bad_digits),
      cmocka_unit_test(test_bad_numbers), cmocka_unit_test(test_options),        cmocka_unit_test(test_not_finite),
  };
  return cmocka_run_group_tests(tests, NULL, remove_file);
}
