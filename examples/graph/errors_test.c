/* Malformed weights, graphs and command lines are refused with a line that says why. The files are changed copies
 * of the files in data/.
 *
 *   test_graph_errors DATA */
#include "network.h"
#include "options.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024, ARGUMENTS_LIMIT = 6, LENGTH_BYTES = 8 };

static const char path[] = "graph_errors_test.bin";
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

static bool read_any(const char *name, struct failure *failure) {
  struct network network;
  struct club club;
  if (strcmp(name, "model.safetensors") == 0) {
    const bool read = network_read(&network, path, failure);
    if (read) network_free(&network);
    return read;
  }
  const bool read = club_read(&club, path, failure);
  if (read) club_free(&club);
  return read;
}

static void test_bad_headers(void **state) {
  (void)state;
  static const struct {
    const char *name, *after, *from, *to, *part;
  } cases[] = {
      {"model.safetensors", "", "first.att_src", "first.att_sro", "first.att_src is missing"},
      {"model.safetensors", "", "first.att_dst", "first.att_dso", "no tensor first.att_dst"},
      {"model.safetensors", "", "second.bias", "second.byas", "no tensor second.bias"},
      {"model.safetensors", "first.lin.weight", "[32,34]", "[34,32]", "first.lin.weight has another shape"},
      {"model.safetensors", "second.att_src", "[4,2]", "[2,4]", "second.att_src has another shape"},
      {"model.safetensors", "second.lin.weight", "F16", "I16", "second.lin.weight has the type I16"},
      {"club.safetensors", "", "edge_starts", "edge_storts", "no tensor edge_starts"},
      {"club.safetensors", "", "\"clubs\"", "\"clybs\"", "no nodes"},
      {"club.safetensors", "places", "[34,2]", "[2,34]", "places has another type or shape"},
      {"club.safetensors", "labelled", "U8", "I8", "labelled has another type or shape"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct file file = read_data(cases[i].name);
    struct failure failure = {""};
    replace(&file, cases[i].after, cases[i].from, cases[i].to);
    write_file(&file, file.size);
    file_free(&file);
    assert_false(read_any(cases[i].name, &failure));
    assert_says(failure.text, cases[i].part);
  }
}

/* Whichever byte of a file changes, and wherever it ends, reading and running end with an answer. */
static void check_changes(const char *name, size_t step) {
  struct file file = read_data(name);
  struct failure failure = {""};
  for (size_t i = 0; i < file.size; i += step) {
    const char byte = file.bytes[i];
    file.bytes[i] = (char)(byte ^ (1 << i % 8));
    write_file(&file, file.size);
    (void)read_any(name, &failure);
    file.bytes[i] = byte;
  }
  for (size_t size = 0; size < file.size; size += 3 * step) {
    write_file(&file, size);
    assert_false(read_any(name, &failure));
  }
  file_free(&file);
}

static void test_changed_files(void **state) {
  (void)state;
  check_changes("model.safetensors", USUAL_OR_LONG(67, 13));
  check_changes("club.safetensors", USUAL_OR_LONG(41, 7));
}

/* Sets byte `place` of a tensor. */
static void refuse_byte(const char *tensor, int64_t place, int value, const char *part) {
  struct file file = read_data("club.safetensors");
  struct club club;
  struct failure failure = {""};
  write_file(&file, file.size);
  if (!club_read(&club, path, &failure)) fail_msg("%s", failure.text);
  const struct stored_tensor *stored = safetensors_find(&club.file, tensor);
  assert_non_null(stored);
  file.bytes[header_end(&file) + (size_t)(stored->begin + place)] = (char)value;
  club_free(&club);
  write_file(&file, file.size);
  file_free(&file);
  assert_false(club_read(&club, path, &failure));
  assert_says(failure.text, part);
}

static void test_bad_numbers(void **state) {
  (void)state;
  refuse_byte("clubs", 7, 2, "number 7 is none");
  refuse_byte("labelled", 9, 2, "number 9 is none");
  refuse_byte("edge_sources", 8, 34, "edge_sources: number 1 is 34");
  refuse_byte("edge_sources", 15, -1, "edge_sources: number 1 is -");
  refuse_byte("edge_starts", 0, 1, "edge_starts: number 0 is 1");
  refuse_byte("edge_starts", 9, 1, "edge_starts: number");
  refuse_byte("places", 3, 0x7f, "places: row 0");
}

/* A network and a graph of another size; weights that are not finite. */
static void test_no_answers(void **state) {
  (void)state;
  char network_path[PATH_SIZE], club_path[PATH_SIZE];
  static float bias[WIDTH_LIMIT];
  struct failure failure = {""};
  struct network network;
  struct club club;
  struct answers answers;
  snprintf(network_path, PATH_SIZE, "%s/model.safetensors", data);
  snprintf(club_path, PATH_SIZE, "%s/club.safetensors", data);
  assert_true(network_read(&network, network_path, &failure) && club_read(&club, club_path, &failure));
  network.nodes--;
  assert_false(network_run(&network, &club, NULL, 1, &answers, &failure));
  assert_says(failure.text, "34 nodes");
  answers_free(&answers);
  network.nodes++;
  for (int i = 0; i < WIDTH_LIMIT; i++) bias[i] = 3e38f;
  network.first.graph.bias = bias;
  network.second.graph.bias = bias;
  assert_false(network_run(&network, &club, NULL, 1, &answers, &failure));
  assert_says(failure.text, "no number");
  answers_free(&answers);
  network_free(&network);
  club_free(&club);
  assert_false(club_read(&club, "no/such.file", &failure));
  assert_says(failure.text, "no/such.file: ");
}

static void test_options(void **state) {
  (void)state;
  static const struct {
    const char *words[ARGUMENTS_LIMIT], *part;
  } cases[] = {
      {{"check"}, "'check' is one word too many"}, {{"--threads", "3x"}, "--threads is '3x'"},
      {{"--threads", "-1"}, "--threads is '-1'"},  {{"--isa"}, "--isa wants something after it"},
      {{"--speed", "9"}, "no option --speed"},
  };
  char name[] = "fovea_graph";
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
    fprintf(stderr, "usage: test_graph_errors DATA\n");
    return 2;
  }
  data = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_headers), cmocka_unit_test(test_changed_files),
                                     cmocka_unit_test(test_bad_numbers), cmocka_unit_test(test_no_answers),
                                     cmocka_unit_test(test_options)};
  return cmocka_run_group_tests(tests, NULL, remove_file);
}
