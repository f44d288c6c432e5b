/* The network puts members where PyTorch puts them, and its logits have the same bits on every instruction set and
 * for every number of threads. The digest is kept here.
 *
 *   test_graph DATA */
#include "network.h"
#include "picture.h"
#include "support/check.h"
#include "support/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024, RIGHT = 33 };

#define DIGEST UINT64_C(0xfa4d9cdfecd7a814)

/* The farthest that a logit or a weight may be from PyTorch's. */
static const double tolerance = 1e-6;

static const char svg_path[] = "graph_picture_test.svg";
static const char *data;
static struct network network;
static struct club club;
static struct safetensors golden;
static char network_path[PATH_SIZE], club_path[PATH_SIZE], golden_path[PATH_SIZE];

static void require(bool done, const struct failure *failure) {
  if (!done) fail_msg("%s", failure->text);
}

static int open_all(void **state) {
  (void)state;
  struct failure failure = {""};
  snprintf(network_path, PATH_SIZE, "%s/model.safetensors", data);
  snprintf(club_path, PATH_SIZE, "%s/club.safetensors", data);
  snprintf(golden_path, PATH_SIZE, "%s/golden.safetensors", data);
  const bool read = network_read(&network, network_path, &failure) && club_read(&club, club_path, &failure) &&
                    safetensors_read(&golden, golden_path, &failure);
  if (!read) print_error("%s\n", failure.text);
  return read ? 0 : -1;
}

static int close_all(void **state) {
  (void)state;
  network_free(&network);
  club_free(&club);
  safetensors_free(&golden);
  remove(svg_path);
  return 0;
}

static struct answers answers_of(const char *isa, int threads) {
  struct failure failure = {""};
  struct answers answers;
  require(network_run(&network, &club, isa, threads, &answers, &failure), &failure);
  return answers;
}

static const float *golden_of(const char *name, int64_t rows, int64_t columns) {
  struct failure failure = {""};
  struct numbers wanted;
  require(safetensors_take(&golden, name, rows, columns, &wanted, &failure), &failure);
  assert_int_equal(wanted.type, FOVEA_F32);
  return wanted.data;
}

static double farthest(const float *numbers, const float *others, int64_t count) {
  double worst = 0;
  for (int64_t i = 0; i < count; i++) {
    const double distance = fabs((double)numbers[i] - (double)others[i]);
    if (!(distance <= worst)) worst = distance; /* also NaN */
  }
  return worst;
}

static void test_golden(void **state) {
  (void)state;
  struct answers answers = answers_of(NULL, 0);
  const int64_t weights = club.edges * network.heads;
  const double distances[] = {
      farthest(answers.logits, golden_of("logits", club.nodes, PARTS), club.nodes * PARTS),
      farthest(answers.first, golden_of("first", club.edges, network.heads), weights),
      farthest(answers.second, golden_of("second", club.edges, network.heads), weights),
  };
  int right = 0;
  for (int64_t i = 0; i < club.nodes; i++) right += answer_of(&answers, i) == club.parts[i];
  print_message("%d right; farthest from PyTorch: logits %.1e, weights %.1e and %.1e\n", right, distances[0],
                distances[1], distances[2]);
  for (int i = 0; i < 3; i++) assert_true(distances[i] < tolerance);
  assert_int_equal(right, RIGHT);
  answers_free(&answers);
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

static void assert_digest(const char *isa, int threads) {
  struct answers answers = answers_of(isa, threads);
  const uint64_t digest = digest_of(answers.logits, club.nodes * PARTS);
  if (digest != DIGEST) fail_msg("%s, %d threads: digest %016llx", isa, threads, (unsigned long long)digest);
  answers_free(&answers);
}

static void test_one_answer(void **state) {
  (void)state;
  for (const char *const *isa = whole_isas(); *isa; isa++) assert_digest(*isa, 1);
  for (int threads = 1; threads < 4; threads++) assert_digest(whole_isas()[0], threads);
}

static void test_picture(void **state) {
  (void)state;
  struct answers answers = answers_of(NULL, 1);
  struct failure failure = {""};
  static char text[1 << 17];
  require(picture_write(&club, &answers, answers.first, network.heads, svg_path, &failure), &failure);
  FILE *file = fopen(svg_path, "rb");
  assert_non_null(file);
  const size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  int lines = 0, circles = 0;
  for (const char *at = text; (at = strstr(at, "<line")); at++) lines++;
  for (const char *at = text; (at = strstr(at, "<circle")); at++) circles++;
  assert_int_equal(strncmp(text, "<svg ", 5), 0);
  assert_string_equal(text + size - 7, "</svg>\n");
  assert_int_equal(circles, club.nodes);
  assert_int_equal(lines, club.edges - club.nodes);
  assert_false(picture_write(&club, &answers, answers.first, network.heads, "no/such/folder.svg", &failure));
  assert_non_null(strstr(failure.text, "no/such/folder.svg"));
  answers_free(&answers);
}

static void test_unknown_isa(void **state) {
  (void)state;
  struct failure failure = {""};
  struct answers answers;
  assert_false(network_run(&network, &club, "abacus", 1, &answers, &failure));
  assert_non_null(strstr(failure.text, "abacus"));
  answers_free(&answers);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: test_graph DATA\n");
    return 2;
  }
  data = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_one_answer),
                                     cmocka_unit_test(test_picture), cmocka_unit_test(test_unknown_isa)};
  return cmocka_run_group_tests(tests, open_all, close_all);
}
