/* Readers of files and of the command line: what is malformed is refused with a line that says why, and no change
 * of a file makes them read beyond it. The test writes all files itself. */
#include "lines.h"
#include "options.h"
#include "safetensors.h"
#include "small.h"
#include "support/check.h"
#include "utf8.h"
#include "vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096 };

static const char path[] = "minilm_readers_test.bin";

/* Two tensors with 4 + 2 numbers of 4 and 2 bytes: 20 bytes of data. */
static const char two_tensors[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                                  "\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                                  "\"b\\u00e9\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[16,20]}} ";

static void assert_says(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("'%s' does not say '%s'", text, part);
  assert_null(strchr(text, '\n'));
}

static size_t make_file(unsigned char *bytes, const char *header, size_t data) {
  const size_t length = strlen(header);
  assert_true(8 + length + data <= ROOM);
  memset(bytes, 0, 8 + length + data);
  for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(length >> (8 * i));
  for (size_t i = 0; i < length; i++) bytes[8 + i] = (unsigned char)header[i];
  return 8 + length + data;
}

static bool read_tensors(const char *header, size_t data, struct safetensors *tensors, struct failure *failure) {
  unsigned char bytes[ROOM];
  write_bytes(path, bytes, make_file(bytes, header, data));
  return safetensors_read(tensors, path, failure);
}

static void test_good_tensors(void **state) {
  (void)state;
  struct safetensors tensors;
  struct numbers numbers;
  struct failure failure = {""};
  if (!read_tensors(two_tensors, 20, &tensors, &failure)) fail_msg("%s", failure.text);
  assert_int_equal(tensors.count, 2);
  assert_true(safetensors_take(&tensors, "a", 2, 2, &numbers, &failure));
  assert_int_equal(numbers.type, FOVEA_F32);
  assert_int_equal((uintptr_t)numbers.data % 8, 0);
  assert_true(safetensors_take(&tensors, "b\xc3\xa9", 2, 0, &numbers, &failure));
  assert_int_equal(numbers.type, FOVEA_BF16);
  assert_false(safetensors_take(&tensors, "b", 2, 0, &numbers, &failure));
  assert_says(failure.text, "no tensor b");
  assert_false(safetensors_take(&tensors, "a", 4, 0, &numbers, &failure));
  assert_says(failure.text, "another shape");
  safetensors_free(&tensors);
  assert_true(read_tensors("{}", 0, &tensors, &failure));
  assert_null(safetensors_find(&tensors, "a"));
  safetensors_free(&tensors);
}

#define ENTRY(name, type, shape, places)                                                                           \
  "\"" name "\":{\"dtype\":\"" type "\",\"shape\":[" shape "],\"data_offsets\":[" places "]}"

static void test_bad_tensors(void **state) {
  (void)state;
  static const struct {
    const char *header;
    size_t data;
    const char *part;
  } cases[] = {
      {"", 0, "begin with {"},
      {" {}", 0, "begin with {"},
      {"{}x", 0, "after the last }"},
      {"{", 0, "name of a tensor"},
      {"{}", 1, "the file at 1"},
      {"{" ENTRY("a", "F32", "2", "0,8") ",}", 8, "name of a tensor"},
      {"{" ENTRY("a", "F32", "2", "0,8"), 8, "comma or }"},
      {"{" ENTRY("a", "F32", "2", "0,8") "}", 7, "the file has 7 bytes"},
      {"{" ENTRY("a", "F32", "2", "8,0") "}", 8, "data_offsets are 8 and 0"},
      {"{" ENTRY("a", "F32", "3", "0,8") "}", 8, "do not give the 8 bytes"},
      {"{" ENTRY("a", "F32", "4294967296,4294967296,4294967296", "0,8") "}", 8, "do not give"},
      {"{" ENTRY("a", "F32", "2305843009213693952,2", "0,0") "}", 0, "do not give"},
      {"{" ENTRY("a", "F32", "1,1,1,1,1,1,1,1,2", "0,8") "}", 8, "more than 8"},
      {"{" ENTRY("a", "F32", "-2", "0,8") "}", 8, "whole numbers"},
      {"{" ENTRY("a", "F32", "02", "0,8") "}", 8, "whole numbers"},
      {"{" ENTRY("a", "F32", "2.0", "0,8") "}", 8, "shape does not end"},
      {"{" ENTRY("a", "F32", "9223372036854775808", "0,8") "}", 8, "whole numbers"},
      {"{" ENTRY("a", "F33", "2", "0,8") "}", 8, "no such dtype"},
      {"{" ENTRY("a", "F32", "2", "0,8,9") "}", 8, "two whole numbers"},
      {"{" ENTRY("a", "F32", "2", "0,8") "," ENTRY("a", "F32", "2", "8,16") "}", 16, "it has a twice"},
      {"{" ENTRY("a", "F32", "2", "0,8") "," ENTRY("b", "F32", "2", "4,12") "}", 12, "begins at byte 4"},
      {"{" ENTRY("a", "F32", "2", "0,8") "," ENTRY("b", "F32", "2", "12,20") "}", 20, "begins at byte 12"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "once each"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0]}}", 0, "and no more"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"more\":[0,0]}}", 0, "once each"},
      {"{\"a\":[[[[]]]]}", 0, "must be an object"},
      {"{\"__metadata__\":{\"a\":{}}}", 0, "must hold strings"},
      {"{\"\\ud800\":0}", 0, "name of a tensor"},
      {"{\"\\u0000\":0}", 0, "name of a tensor"},
      {"{\"\\x\":0}", 0, "name of a tensor"},
      {"{\"\xff\":0}", 0, "name of a tensor"},
      {"{\"a\nb\":0}", 0, "name of a tensor"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct safetensors tensors;
    struct failure failure = {""};
    if (read_tensors(cases[i].header, cases[i].data, &tensors, &failure)) fail_msg("accepts %s", cases[i].header);
    assert_says(failure.text, cases[i].part);
  }
}

static void test_lengths(void **state) {
  (void)state;
  static const unsigned char huge[] = {255, 255, 255, 255, 255, 255, 255, 255, '{', '}'};
  static const unsigned char longer[] = {3, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
  struct safetensors tensors;
  struct failure failure = {""};
  write_bytes(path, huge, 7);
  assert_false(safetensors_read(&tensors, path, &failure));
  assert_says(failure.text, "too few");
  write_bytes(path, huge, sizeof huge);
  assert_false(safetensors_read(&tensors, path, &failure));
  assert_says(failure.text, "a header of 18446744073709551615 bytes");
  write_bytes(path, longer, sizeof longer);
  assert_false(safetensors_read(&tensors, path, &failure));
  assert_says(failure.text, "a header of 3 bytes");
  assert_false(safetensors_read(&tensors, "no/such.file", &failure));
  assert_says(failure.text, "No such file");
}

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525 + 1013904223;
  return *state >> 8;
}

/* One to four changes: a byte, a bit, a cut, a piece of the file over another, a word of JSON or UTF-8. */
static size_t mutate(unsigned char *bytes, size_t size, uint32_t *state) {
  static const char *const pieces[] = {"9999999999999999999",
                                       "\"",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       ",",
                                       ":",
                                       "\\u",
                                       "\\ud83d",
                                       "-1",
                                       "0",
                                       " ",
                                       "\\",
                                       "F32",
                                       "\n",
                                       "##",
                                       "\xf0\x9f",
                                       "[UNK]\n"};
  const uint32_t changes = 1 + next_random(state) % 4;
  for (uint32_t i = 0; i < changes && size > 0; i++) {
    const size_t at = next_random(state) % size, kind = next_random(state) % 6;
    const char *piece = pieces[next_random(state) % (sizeof pieces / sizeof pieces[0])];
    const size_t length = strlen(piece) < size - at ? strlen(piece) : size - at;
    if (kind == 0) bytes[at] = (unsigned char)next_random(state);
    if (kind == 1) bytes[at] ^= (unsigned char)(1u << next_random(state) % 8);
    if (kind == 2 && next_random(state) % 4 == 0) size = at;
    for (size_t j = 0; kind == 3 && j < length; j++) bytes[at + j] = (unsigned char)piece[j];
    if (kind == 4) memmove(bytes + at, bytes + next_random(state) % (at + 1), (size - at) / 2);
    if (kind == 5 && at + 1 < size) memmove(bytes + at, bytes + at + 1, --size - at);
  }
  return size;
}

/* What is accepted lies within the file: a sanitizer sees if not. */
static void touch_tensors(const struct safetensors *tensors) {
  unsigned sum = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < tensors->count; i++) {
    const struct stored_tensor *tensor = &tensors->tensors[i];
    assert_ptr_equal(safetensors_find(tensors, tensor->name), tensor);
    for (int64_t at = tensor->begin; at < tensor->end; at++, bytes++) sum += (unsigned char)tensors->data[at];
  }
  assert_int_equal(bytes, tensors->data_size);
  assert_true(sum < UINT32_MAX);
}

static void test_changed_tensors(void **state) {
  (void)state;
  unsigned char original[ROOM], changed[ROOM];
  const size_t size = make_file(original, two_tensors, 20);
  uint32_t random = 1;
  int accepted = 0;
  for (int i = 0; i < USUAL_OR_LONG(2000, 10000); i++) {
    struct safetensors tensors;
    struct failure failure = {""};
    memcpy(changed, original, size);
    write_bytes(path, changed, mutate(changed, size, &random));
    if (safetensors_read(&tensors, path, &failure)) {
      touch_tensors(&tensors);
      safetensors_free(&tensors);
      accepted++;
    } else {
      assert_true(failure.text[0] != 0);
      assert_null(tensors.file.bytes);
    }
  }
  assert_in_range(accepted, 10, 5000); /* a change in the data is none in the header */
}

static const char small_vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\ntrain\r\n##s\n\xc3\xa9\n";

static void test_vocabularies(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t size;
    const char *part;
  } cases[] = {
      {"", 0, "0 lines"},
      {"\n", 1, "line 1 has 0 bytes"},
      {"[UNK]\n[CLS]\n[SEP]\n\n", 19, "line 4 has 0 bytes"},
      {"[UNK]\n[CLS]\n[SEP]\n\r\n", 20, "line 4 has 0 bytes"},
      {"[UNK]\n[CLS]\n[SEP]\na\nb\na", 23, "lines 4 and 6 are the same"},
      {"[UNK]\n[CLS]\n", 12, "no token [SEP]"},
      {"[UNK]\n[CLS]\n[SEP]\na\0b", 21, "line 4 is not UTF-8"},
      {"[UNK]\n[CLS]\n[SEP]\n\xc0\x80", 20, "line 4 is not UTF-8"},
      {"[UNK]\n[CLS]\n[SEP]\n\xed\xa0\x80", 21, "line 4 is not UTF-8"},
  };
  struct vocabulary vocabulary;
  struct failure failure = {""};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    write_bytes(path, cases[i].text, cases[i].size);
    assert_false(vocabulary_read(&vocabulary, path, &failure));
    assert_says(failure.text, cases[i].part);
  }
  write_bytes(path, small_vocabulary, sizeof small_vocabulary - 1);
  if (!vocabulary_read(&vocabulary, path, &failure)) fail_msg("%s", failure.text);
  assert_int_equal(vocabulary.count, 8);
  assert_int_equal(vocabulary_find(&vocabulary, "train", 5), 5);
  assert_int_equal(vocabulary_find(&vocabulary, "trai", 4), -1);
  vocabulary_free(&vocabulary);

  char *many = malloc(2 * (VOCABULARY_LIMIT + 1));
  assert_non_null(many);
  for (int i = 0; i < 2 * (VOCABULARY_LIMIT + 1); i++) many[i] = i % 2 ? '\n' : 'a';
  write_bytes(path, many, 2 * (VOCABULARY_LIMIT + 1));
  assert_false(vocabulary_read(&vocabulary, path, &failure));
  assert_says(failure.text, "1048577 lines");
  memset(many, 'a', TOKEN_LENGTH_LIMIT + 1);
  write_bytes(path, many, TOKEN_LENGTH_LIMIT + 1);
  assert_false(vocabulary_read(&vocabulary, path, &failure));
  assert_says(failure.text, "line 1 has 401 bytes");
  free(many);
}

static void test_changed_vocabularies(void **state) {
  (void)state;
  unsigned char changed[ROOM];
  uint32_t random = 2;
  for (int i = 0; i < USUAL_OR_LONG(2000, 10000); i++) {
    struct vocabulary vocabulary;
    struct failure failure = {""};
    memcpy(changed, small_vocabulary, sizeof small_vocabulary - 1);
    write_bytes(path, changed, mutate(changed, sizeof small_vocabulary - 1, &random));
    if (!vocabulary_read(&vocabulary, path, &failure)) {
      assert_true(failure.text[0] != 0);
      continue;
    }
    for (int32_t token = 0; token < vocabulary.count; token++)
      assert_int_equal(
          vocabulary_find(&vocabulary, vocabulary.tokens[token].text, (size_t)vocabulary.tokens[token].length),
          token);
    vocabulary_free(&vocabulary);
  }
}

static void test_lines(void **state) {
  (void)state;
  struct lines lines;
  struct failure failure = {""};
  write_bytes(path, " \n\t\r\n", 5);
  assert_false(lines_read(&lines, path, &failure));
  assert_says(failure.text, "no line of text");
  write_bytes(path, "\n a b \r\n\nc", 10);
  assert_true(lines_read(&lines, path, &failure));
  assert_int_equal(lines.count, 2);
  assert_int_equal(lines.all[0].number, 2);
  assert_int_equal(lines.all[0].length, 3);
  assert_int_equal(lines.all[1].number, 4);
  assert_memory_equal(lines.all[1].text, "c", 1);
  lines_free(&lines);
}

static void test_repaired(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", ""},
      {"a\303\274\342\202\254\360\235\204\236.", "a\303\274\342\202\254\360\235\204\236."},
      {"a\303", "a\357\277\275"},
      {"\377\376", "\357\277\275\357\277\275"},
      {"\355\240\200b", "\357\277\275\357\277\275\357\277\275b"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *text = utf8_repaired(cases[i][0]);
    assert_non_null(text);
    assert_string_equal(text, cases[i][1]);
    free(text);
  }
}

static void test_options(void **state) {
  (void)state;
  static const struct {
    const char *words[5], *part;
  } cases[] = {
      {{NULL}, "needs a command"},
      {{"find", NULL}, "no command 'find'"},
      {{"search", "f", "--model", "m", NULL}, "needs 2 words"},
      {{"embed", "f", "g", NULL}, "'g' is one word too many"},
      {{"embed", "f", "--batch", "0", NULL}, "--batch is '0'"},
      {{"embed", "f", "--threads", "x", NULL}, "--threads is 'x'"},
      {{"embed", "f", "--layers", "1", NULL}, "no option --layers"},
      {{"embed", "f", "--model", NULL}, "--model wants something"},
      {{"embed", "f", "--draw", "p", NULL}, "--draw is for search"},
      {{"embed", "f", "--best", "3", NULL}, "--best is for search; here it would not be used"},
      {{"embed", "f", "--layer", "2", NULL}, "--layer is for a picture; here it would not be used"},
      {{"draw", "t", "p", "--best", "5"}, "--best is for search"},
      {{"draw", "t", "p", "--batch", "32"}, "--batch is for lines"},
      {{"search", "f", "q", "--head", "0"}, "--head is for a picture"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char copies[6][32] = {"fovea_minilm"}, *arguments[6] = {copies[0]};
    int count = 1;
    for (; count < 6 && cases[i].words[count - 1]; count++) {
      snprintf(copies[count], sizeof copies[count], "%s", cases[i].words[count - 1]);
      arguments[count] = copies[count];
    }
    struct options options;
    struct failure failure = {""};
    assert_false(options_read(&options, count, arguments, &failure));
    assert_says(failure.text, cases[i].part);
  }
}

static int remove_file(void **state) {
  (void)state;
  remove(path);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good_tensors), cmocka_unit_test(test_bad_tensors),
      cmocka_unit_test(test_lengths),      cmocka_unit_test(test_changed_tensors),
      cmocka_unit_test(test_vocabularies), cmocka_unit_test(test_changed_vocabularies),
      cmocka_unit_test(test_lines),        cmocka_unit_test(test_options),
      cmocka_unit_test(test_repaired),
  };
  return cmocka_run_group_tests(tests, NULL, remove_file);
}
