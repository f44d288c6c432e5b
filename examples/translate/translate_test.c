/* The translator gives the kept answers, PyTorch's logits, and the same bits on every instruction set and for every
 * number of threads; malformed texts, files and options are refused with a line that says why.
 *
 *   test_translate FOLDER     the folder has model.safetensors, held_out.txt and golden.txt */
#include "../sentence/output.h"
#include "check.h"
#include "heatmap.h"
#include "options.h"
#include "support/check.h"
#include "support/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024, HELD_OUT = 500, HELD_OUT_RIGHT = 500 };

/* Of logits and weights of all held-out texts. */
#define DIGEST UINT64_C(0x3460cadeae8135da)

static const char path[] = "translate_test.bin";
static char model_path[PATH_SIZE], held_out_path[PATH_SIZE], golden_path[PATH_SIZE];

static void require(bool done, const struct failure *failure) {
  if (!done) fail_msg("%s", failure->text);
}

static void assert_says(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("'%s' does not say '%s'", text, part);
  assert_null(strchr(text, '\n'));
}

static void open_model(struct model *model, const char *isa) {
  struct failure failure = {""};
  require(model_read(model, model_path, isa, &failure), &failure);
}

/* A whole file, with a zero after it. */
static char *read_text(const char *name, size_t *size) {
  struct file file;
  struct failure failure = {""};
  require(file_read(&file, name, &failure), &failure);
  char *text = malloc(file.size + 1);
  assert_non_null(text);
  memcpy(text, file.bytes, file.size);
  text[file.size] = 0;
  *size = file.size;
  file_free(&file);
  return text;
}

static void write_file(const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* Replaces the line's end and its tab by zeros. Returns the next line. */
static char *cut_line(char *line) {
  char *end = line + strcspn(line, "\n");
  assert_int_equal(*end, '\n');
  *end = 0;
  line[strcspn(line, "\t")] = 0;
  return end + 1;
}

static void test_held_out(void **state) {
  (void)state;
  struct model model;
  struct tally tally;
  struct failure failure = {""};
  open_model(&model, NULL);
  require(check_file(&model, held_out_path, 1, NULL, &tally, &failure), &failure);
  assert_int_equal(tally.count, HELD_OUT);
  assert_int_equal(tally.right, HELD_OUT_RIGHT); /* the same everywhere, as all bits are */
  model_free(&model);
}

/* Returns the largest difference between numbers and the numbers of a text, which follow each other. */
static double compare_numbers(char **next, const float *numbers, int64_t count) {
  double worst = 0;
  for (int64_t i = 0; i < count; i++) {
    char *end;
    const double wanted = strtod(*next, &end);
    assert_true(end > *next);
    *next = end;
    worst = fmax(worst, fabs((double)numbers[i] - wanted));
  }
  return worst;
}

/* Logits reach 7. */
static void test_golden(void **state) {
  (void)state;
  struct model model;
  struct failure failure = {""};
  size_t size;
  char *text = read_text(golden_path, &size), *next = text;
  double logits = 0, weights = 0;
  int texts = 0;
  open_model(&model, NULL);
  for (; *next; texts++) {
    struct translation translation;
    const char *input = next;
    next = cut_line(next);
    require(translate(&model, input, 1, &translation, &failure), &failure);
    assert_int_equal(translation.steps, STEPS_LIMIT);
    for (int step = 0; step < STEPS_LIMIT; step++) {
      logits = fmax(logits, compare_numbers(&next, translation.logits[step], SYMBOL_COUNT));
      weights = fmax(weights, compare_numbers(&next, translation.weights[step], translation.letters.count));
    }
    assert_int_equal(*next, '\n');
    next++;
  }
  print_message("logits differ from PyTorch's in float64 by %.1e at most, weights by %.1e\n", logits, weights);
  assert_int_equal(texts, 4);
  assert_true(logits < 1e-5);
  assert_true(weights < 2e-6);
  free(text);
  model_free(&model);
}

/* FNV-1a of the bytes, the low byte of each number first. */
static void add_to_digest(uint64_t *digest, const float *numbers, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &numbers[i], sizeof bits);
    for (int byte = 0; byte < 4; byte++) *digest = (*digest ^ (bits >> (8 * byte) & 255)) * UINT64_C(0x100000001b3);
  }
}

/* Of the first `lines` texts of held_out.txt. */
static uint64_t digest_of(const char *isa, int threads, int lines) {
  struct model model;
  struct failure failure = {""};
  size_t size;
  char *text = read_text(held_out_path, &size), *next = text;
  uint64_t digest = UINT64_C(0xcbf29ce484222325);
  open_model(&model, isa);
  for (int i = 0; i < lines; i++) {
    struct translation translation;
    const char *input = next;
    next = cut_line(next);
    require(translate(&model, input, threads, &translation, &failure), &failure);
    add_to_digest(&digest, translation.logits[0], translation.steps * SYMBOL_COUNT);
    for (int64_t step = 0; step < translation.steps; step++)
      add_to_digest(&digest, translation.weights[step], translation.letters.count);
  }
  free(text);
  model_free(&model);
  return digest;
}

static void test_one_answer(void **state) {
  (void)state;
  const uint64_t whole = digest_of(NULL, 1, HELD_OUT);
  const int lines = USUAL_OR_LONG(8, 60);
  if (whole != DIGEST) fail_msg("the digest is 0x%016llx", (unsigned long long)whole);
  const uint64_t some = digest_of(NULL, 1, lines);
  for (const char *const *isa = whole_isas(); *isa; isa++)
    for (int threads = 0; threads < 4; threads++)
      if (digest_of(*isa, threads, lines) != some) fail_msg("%s, %d threads: other bits", *isa, threads);
}

static void test_weights_of_steps(void **state) {
  (void)state;
  struct model model;
  struct translation translation;
  struct failure failure = {""};
  open_model(&model, NULL);
  require(translate(&model, "  March 3RD, 2019\n", 2, &translation, &failure), &failure);
  assert_string_equal(translation.answer, "2019-03-03");
  assert_int_equal(translation.letters.count, 15);
  for (int64_t step = 0; step < translation.steps; step++) {
    double sum = 0;
    for (int64_t i = 0; i < translation.letters.count; i++) sum += (double)translation.weights[step][i];
    assert_true(fabs(sum - 1) < 1e-6);
  }
  model_free(&model);
}

static void test_bad_texts(void **state) {
  (void)state;
  static const struct {
    const char *text, *part;
  } cases[] = {{"", "empty"},
               {" \t\n ", "empty"},
               {"march 3, 2019!", "character 14 is '!'"},
               {" Quarter", "character 2 is 'Q'"},
               {"m\xc3\xa4rz 2019", "byte 2 is 0xc3"},
               {"may\t1 2019", "byte 4 is 0x09"},
               {"may\x7f", "byte 4 is 0x7f"},
               {"1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5",
                "81 characters; the limit is 80"}};
  struct model model;
  struct translation translation;
  struct failure failure = {""};
  open_model(&model, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_false(translate(&model, cases[i].text, 1, &translation, &failure));
    assert_says(failure.text, cases[i].part);
  }
  model_free(&model);
  open_model(&model, "abacus");
  assert_false(translate(&model, "may", 1, &translation, &failure));
  assert_says(failure.text, "abacus");
  model_free(&model);
}

static void test_dates(void **state) {
  (void)state;
  static const char *const good[] = {"2019-03-03", "2000-02-29", "2024-02-29", "1999-12-31", "1900-01-01"};
  static const char *const bad[] = {"",           "2019-03-3",   "2019-13-01", "2019-00-01",
                                    "2019-01-00", "2019-04-31",  "1900-02-29", "2019-02-29",
                                    "2019/03/03", "2019-03-033", "-019-03-03", "2019-03-3-"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) assert_true(is_date(good[i]));
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_false(is_date(bad[i]));
}

static void refuse_model(const char *bytes, size_t size, const char *part) {
  struct model model;
  struct failure failure = {""};
  write_file(bytes, size);
  assert_false(model_read(&model, path, NULL, &failure));
  assert_says(failure.text, part);
}

/* Replaces the first `from` by `to`, which is as long, and puts it back after the reading. */
static void refuse_replaced(char *bytes, size_t size, const char *from, const char *to, const char *part) {
  char *at = strstr(bytes + 8, from); /* the header's length has zeros; numbers after the header have some, too */
  assert_non_null(at);
  assert_int_equal(strlen(from), strlen(to));
  for (int i = 0; to[i]; i++) at[i] = to[i];
  refuse_model(bytes, size, part);
  for (int i = 0; from[i]; i++) at[i] = from[i];
}

static void test_bad_models(void **state) {
  (void)state;
  struct model model;
  struct failure failure = {""};
  size_t size;
  char *bytes = read_text(model_path, &size);
  assert_false(model_read(&model, "no/such.safetensors", NULL, &failure));
  assert_says(failure.text, "no/such.safetensors: No such file");
  refuse_model(bytes, 0, "");
  refuse_model(bytes, 7, "");
  refuse_model(bytes, size / 2, path);
  refuse_model(bytes, size - 1, path);
  refuse_replaced(bytes, size, "score.weight", "score.weighs", "no tensor score.weight");
  refuse_replaced(bytes, size, "letters.weight", "lettuce.weight", "no tensor letters.weight");
  refuse_replaced(bytes, size, "answer.bias", "answer.bier", "no tensor answer.bias");
  refuse_replaced(bytes, size, "l0_reverse", "l0_diverse", "_l0_reverse");
  refuse_replaced(bytes, size, "[39,24]", "[24,39]", "letters.weight has another shape");
  refuse_replaced(bytes, size, "[1,64]", "[64,1]", "shape");
  refuse_replaced(bytes, size, "[12,12]", "[144,1]", "");
  refuse_replaced(bytes, size, "F16", "F61", "");
  free(bytes);
}

/* However the header is changed, a model is refused or it computes something. */
static void test_changed_models(void **state) {
  (void)state;
  size_t size;
  char *bytes = read_text(model_path, &size);
  uint32_t random = 1;
  int read = 0;
  const int tries = USUAL_OR_LONG(50, 1000);
  for (int i = 0; i < tries; i++) {
    struct model model;
    struct translation translation;
    struct failure failure = {""};
    random = random * 1664525 + 1013904223;
    const size_t at = random >> 8 & 2047;
    const char before = bytes[at];
    bytes[at] = (char)(random >> 20);
    write_file(bytes, size);
    bytes[at] = before;
    if (!model_read(&model, path, NULL, &failure)) continue;
    read++;
    require(translate(&model, "may", 1, &translation, &failure), &failure);
    model_free(&model);
  }
  assert_true(read < tries / 2);
  free(bytes);
}

static void test_heatmap(void **state) {
  (void)state;
  struct model model;
  struct translation translation;
  struct failure failure = {""};
  size_t size;
  open_model(&model, NULL);
  require(translate(&model, "may 1, 2000", 1, &translation, &failure), &failure);
  require(heatmap_write(&translation, path, &failure), &failure);
  char *text = read_text(path, &size);
  int cells = 0;
  for (const char *at = text; (at = strstr(at, "<rect ")); at++) cells++;
  assert_int_equal(cells, 1 + translation.steps * translation.letters.count); /* one is the background */
  assert_int_equal(strncmp(text, "<svg ", 5), 0);
  assert_string_equal(text + size - 7, "</svg>\n");
  assert_non_null(strstr(text, ">2000-05-01</text>"));
  assert_false(heatmap_write(&translation, "no/such/folder.svg", &failure));
  assert_says(failure.text, "no/such/folder.svg: No such file");
  free(text);
  model_free(&model);
}

static char written_path[512];

/* Writes half of a file, and then fails if there is a reason. */
static const char *write_half(const void *what, const char *to) {
  FILE *file = fopen(to, "wb");
  assert_non_null(file);
  assert_true(fputs("half", file) >= 0);
  assert_int_equal(fclose(file), 0);
  snprintf(written_path, sizeof written_path, "%s", to);
  return what;
}

/* After a failure the old file is there, and no part of the new one. */
static void test_replace(void **state) {
  (void)state;
  size_t size;
  write_file("old", 3);
  assert_string_equal(output_replace(path, write_half, "the disk is full"), "the disk is full");
  assert_null(fopen(written_path, "rb"));
  char *text = read_text(path, &size);
  assert_string_equal(text, "old");
  free(text);
  assert_null(output_replace(path, write_half, NULL));
  assert_null(fopen(written_path, "rb"));
  text = read_text(path, &size);
  assert_string_equal(text, "half");
  free(text);
  assert_int_equal(remove(path), 0);
  assert_string_equal(output_replace(path, write_half, "no"), "no");
  assert_null(fopen(path, "rb"));
  assert_null(output_replace(path, write_half, NULL));
}

static int wrong_count;

static void count_wrong(const char *text, const char *answer, const char *wanted) {
  (void)text, (void)answer, (void)wanted;
  wrong_count++;
}

/* A bad line is refused before the first answer is told. */
static void test_check(void **state) {
  (void)state;
  static const struct {
    const char *text, *part;
  } bad[] = {{"", "no lines"},
             {"may 1 2000\t2000-05-01\nmay\n", "line 2: there is no tab"},
             {"may 1 2000\t2000-05\n", "line 1: what follows the tab"},
             {"\t2000-05-01\n", "line 1: the text is empty"},
             {"k\t2000-05-01\n", "line 1: character 1 is 'k'"},
             {"may 1 2000\t2000-05-02\nmay\n", "line 2: there is no tab"},
             {"may 1 2000\t2000-05-02\nk\t2000-05-01\n", "line 2: character 1 is 'k'"}};
  static const char good[] = "may 1 2000\t2000-05-01\r\nmay 2 2000\t2000-05-01";
  struct model model;
  struct tally tally;
  struct failure failure = {""};
  open_model(&model, NULL);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    write_file(bad[i].text, strlen(bad[i].text));
    assert_false(check_file(&model, path, 1, count_wrong, &tally, &failure));
    assert_says(failure.text, bad[i].part);
  }
  assert_int_equal(wrong_count, 0);
  write_file("may\0", 4);
  assert_false(check_file(&model, path, 1, NULL, &tally, &failure));
  assert_says(failure.text, "byte 0");
  write_file(good, strlen(good));
  require(check_file(&model, path, 1, count_wrong, &tally, &failure), &failure);
  assert_int_equal(tally.count, 2);
  assert_int_equal(tally.right, 1);
  assert_int_equal(wrong_count, 1);
  model_free(&model);
}

static void test_options(void **state) {
  (void)state;
  static const struct {
    const char *words[3], *part;
  } cases[] = {{{NULL}, "needs a text"},
               {{"--check"}, "wants something after it"},
               {{"--beam", "4", "may"}, "no option --beam"},
               {{"may", "june"}, "one word too many"},
               {{"may", "--check", "file"}, "would not be used"},
               {{"may", "--threads", "-1"}, "--threads is '-1'"},
               {{"may", "--threads", "2x"}, "--threads is '2x'"}};
  struct options options;
  struct failure failure = {""};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *words[4] = {(char[]){"fovea_translate"}};
    char copies[3][16];
    int count = 1;
    for (int j = 0; j < 3 && cases[i].words[j]; j++) {
      snprintf(copies[j], sizeof copies[j], "%s", cases[i].words[j]);
      words[count++] = copies[j];
    }
    assert_false(options_read(&options, count, words, &failure));
    assert_says(failure.text, cases[i].part);
  }
}

static int remove_file(void **state) {
  (void)state;
  remove(path);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2) return fputs("usage: test_translate FOLDER\n", stderr), 2;
  snprintf(model_path, PATH_SIZE, "%s/model.safetensors", argv[1]);
  snprintf(held_out_path, PATH_SIZE, "%s/held_out.txt", argv[1]);
  snprintf(golden_path, PATH_SIZE, "%s/golden.txt", argv[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_held_out),   cmocka_unit_test(test_golden),
      cmocka_unit_test(test_one_answer), cmocka_unit_test(test_weights_of_steps),
      cmocka_unit_test(test_bad_texts),  cmocka_unit_test(test_dates),
      cmocka_unit_test(test_bad_models), cmocka_unit_test(test_changed_models),
      cmocka_unit_test(test_heatmap),    cmocka_unit_test(test_replace),
      cmocka_unit_test(test_check),      cmocka_unit_test(test_options),
  };
  return cmocka_run_group_tests(tests, NULL, remove_file);
}
