/* Tokens are as of Hugging Face's tokenizers: every code point, and golden/sentences.txt with a small vocabulary
 * and, if FOVEA_MINILM_DIR is set, with the model's. golden.py and characters.py asked the reference.
 *
 *   test_minilm_tokenizer GOLDEN */
#include "characters.h"
#include "lines.h"
#include "support/check.h"
#include "wordpiece.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024 };

static const char *golden;

/* characters.py computed it from the reference's answers. */
#define REFERENCE_DIGEST UINT64_C(0x1a76c8a6eba093f1)

/* FNV-1a of four bytes. */
static uint64_t digest_of(uint64_t digest, uint32_t number) {
  for (int i = 0; i < 4; i++) digest = (digest ^ (number >> (8 * i) & 255)) * UINT64_C(0x100000001b3);
  return digest;
}

static bool is_surrogate(uint32_t point) {
  return point >= 0xd800 && point <= 0xdfff;
}

static void test_every_code_point(void **state) {
  (void)state;
  uint64_t digest = UINT64_C(0xcbf29ce484222325);
  for (uint32_t point = 0; point < 0x110000; point++) {
    uint32_t images[CHARACTER_IMAGES];
    if (is_surrogate(point)) continue;
    const int count = character_images(point, images);
    digest = digest_of(digest_of(digest, point), (uint32_t)count);
    for (int i = 0; i < count; i++) digest = digest_of(digest, images[i]);
  }
  for (uint32_t point = 0; point < 0x110000; point++)
    if (!is_surrogate(point) && character_stands_alone(point)) digest = digest_of(digest, point);
  assert_true(digest == REFERENCE_DIGEST);
}

static void read_golden(struct file *file, const char *name) {
  char path[PATH_SIZE];
  struct failure failure = {""};
  snprintf(path, sizeof path, "%s/%s", golden, name);
  if (!file_read(file, path, &failure)) fail_msg("%s", failure.text);
}

/* The next line of a file, which must be there. */
static const char *next_line(const char **next, const struct file *file, size_t *length) {
  const char *line = *next, *stop = memchr(line, '\n', (size_t)(file->bytes + file->size - line));
  assert_non_null(stop);
  *next = stop + 1;
  *length = (size_t)(stop - line);
  return line;
}

static void compare_line(const int32_t *tokens, int64_t count, const char *line, size_t length, int number) {
  const char *next = line;
  int64_t i = 0;
  for (; next < line + length; i++) {
    char *end;
    const long wanted = strtol(next, &end, 10);
    if (i >= count || tokens[i] != wanted)
      fail_msg("sentence %d, token %d: %d, wanted %ld", number, (int)i, i < count ? (int)tokens[i] : -1, wanted);
    next = *end == ' ' ? end + 1 : end;
  }
  if (i != count) fail_msg("sentence %d has %d tokens, wanted %d", number, (int)count, (int)i);
}

static void compare_all(const char *vocabulary_path, const char *ids) {
  struct vocabulary vocabulary;
  struct file sentences, wanted;
  struct failure failure = {""};
  read_golden(&sentences, "sentences.txt");
  read_golden(&wanted, ids);
  if (!vocabulary_read(&vocabulary, vocabulary_path, &failure)) fail_msg("%s", failure.text);
  const char *text = sentences.bytes, *line = wanted.bytes;
  int cuts = 0;
  for (int number = 1; text < sentences.bytes + sentences.size; number++) {
    size_t text_length, line_length;
    int32_t tokens[TOKENS_LIMIT];
    bool cut;
    const char *sentence = next_line(&text, &sentences, &text_length);
    const char *numbers = next_line(&line, &wanted, &line_length);
    const int64_t count = wordpiece_encode(&vocabulary, sentence, text_length, tokens, &cut);
    compare_line(tokens, count, numbers, line_length, number);
    cuts += cut;
  }
  assert_int_equal(cuts, 1); /* one sentence is longer than 256 tokens */
  vocabulary_free(&vocabulary);
  file_free(&sentences);
  file_free(&wanted);
}

static void test_small_vocabulary(void **state) {
  (void)state;
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/small_vocabulary.txt", golden);
  compare_all(path, "small_ids.txt");
}

static void test_vocabulary_of_the_model(void **state) {
  (void)state;
  char path[PATH_SIZE];
  const char *directory = getenv("FOVEA_MINILM_DIR");
  if (!directory) skip();
  snprintf(path, sizeof path, "%s/vocab.txt", directory);
  compare_all(path, "ids.txt");
}

/* Malformed bytes are dropped: they are as if they were not there. */
static void test_malformed_text(void **state) {
  (void)state;
  static const char *const texts[] = {"th\xff"
                                      "e",
                                      "th\xc0\x80"
                                      "e",
                                      "\xed\xa0\x80the",
                                      "the\xf0\x9f",
                                      "the\xe4\xb8",
                                      "\x80the\xf4\x90\x80\x80"};
  char path[PATH_SIZE];
  struct vocabulary vocabulary;
  struct failure failure = {""};
  snprintf(path, sizeof path, "%s/small_vocabulary.txt", golden);
  if (!vocabulary_read(&vocabulary, path, &failure)) fail_msg("%s", failure.text);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    int32_t tokens[TOKENS_LIMIT];
    bool cut;
    char *exact = malloc(strlen(texts[i])); /* without a 0 after it, so that a sanitizer sees a read too far */
    assert_non_null(exact);
    memcpy(exact, texts[i], strlen(texts[i]));
    assert_int_equal(wordpiece_encode(&vocabulary, exact, strlen(texts[i]), tokens, &cut), 3);
    assert_int_equal(tokens[1], vocabulary_find(&vocabulary, "the", 3));
    free(exact);
  }
  vocabulary_free(&vocabulary);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: test_minilm_tokenizer GOLDEN\n");
    return 2;
  }
  golden = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_code_point),
      cmocka_unit_test(test_small_vocabulary),
      cmocka_unit_test(test_vocabulary_of_the_model),
      cmocka_unit_test(test_malformed_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
