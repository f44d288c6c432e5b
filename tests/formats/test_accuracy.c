/* What quantised caches cost: the error of attention's output over keys and values in each format, over random normal
 * numbers, over keys with outlier channels, and over these after a Hadamard rotation. Prints the table of
 * docs/formats.md, and holds the page to it. With FOVEA_PRINT_ACCURACY in the environment it only prints. */
#include "support/check.h"
#include "support/generator.h"

#include <fovea/format.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 1024, ROWS = 64, HEADS = 2, DIM = 128, MOST = KEYS * DIM };

/* A line of the table in docs/formats.md: errors in percent of the output's rms. */
struct pair {
  fovea_format_name k, v;
  double errors[3]; /* normal, outliers, rotated */
};

struct numbers {
  float q[HEADS][ROWS][DIM], k[HEADS][KEYS][DIM], v[HEADS][KEYS][DIM];
};

/* A sum of twelve uniform numbers: nearly normal, with variance 1, and the same everywhere. */
static float normal(struct generator *generator) {
  float sum = 0;
  for (int i = 0; i < 12; i++) sum += generator_uniform(generator);
  return sum / 2;
}

/* Keys of models have a few channels of large magnitude, which are of one sign (KIVI, section 3). */
static void fill(struct numbers *x, int outliers) {
  struct generator generator = {7};
  float *const parts[] = {&x->q[0][0][0], &x->k[0][0][0], &x->v[0][0][0]};
  const int64_t counts[] = {HEADS * ROWS * DIM, HEADS * MOST, HEADS * MOST};
  for (int part = 0; part < 3; part++)
    for (int64_t i = 0; i < counts[part]; i++) parts[part][i] = normal(&generator);
  for (int64_t key = 0; key < HEADS * KEYS; key++)
    for (int64_t d = 5; outliers && d < DIM; d += 32) {
      float *element = &parts[1][key * DIM + d];
      *element = 2 * *element + (d % 64 == 5 ? 12.0f : -12.0f);
    }
}

static void require(fovea_status status, const fovea_error *error) {
  if (status) fail_msg("%s", error->text);
}

static void rotate(float *x, int64_t rows) {
  fovea_hadamard hadamard;
  fovea_error error;
  fovea_hadamard_init(&hadamard, 1, HEADS, rows, DIM, DIM, x, x);
  require(fovea_hadamard_apply(&hadamard, NULL, &error), &error);
}

/* Memory of one side in a format. */
struct side {
  fovea_format format;
  char codes[HEADS][MOST * 4], scales[HEADS][MOST * 4], zeros[HEADS][MOST * 4];
};

/* Scales that all keys share: the largest magnitude, of all or of a channel, over the largest code. */
static void fix_scales(struct side *side, const float *x) {
  const fovea_code code = side->format.code;
  const float top = code == FOVEA_CODE_E4M3   ? 448
                    : code == FOVEA_CODE_E5M2 ? 57344
                    : code == FOVEA_CODE_S8   ? 127
                                              : 7;
  const int channels = side->format.group == 1;
  float largest[HEADS][DIM] = {{0}}, all = 0;
  for (int64_t i = 0; i < HEADS * MOST; i++) {
    float *of_channel = &largest[i / MOST][i % DIM];
    *of_channel = fmaxf(*of_channel, fabsf(x[i]));
    all = fmaxf(all, fabsf(x[i]));
  }
  for (int head = 0; head < HEADS; head++)
    for (int d = 0; d < DIM; d++) {
      const float scale = (channels ? largest[head][d] : all) / top;
      memcpy(side->scales[head] + 4 * d, &scale, sizeof scale);
    }
}

static fovea_code_scales scales_of(struct side *side) {
  const fovea_format *format = &side->format;
  if (format->place != FOVEA_SCALES_APART) return (fovea_code_scales){.scales = NULL};
  const int64_t size = format->scale_type == FOVEA_F32 ? 4 : 2;
  return (fovea_code_scales){.scales = side->scales,
                             .zeros = format->formula == FOVEA_FORMULA_SCALE ? NULL : side->zeros,
                             .head = sizeof side->scales[0],
                             .row = format->key_group == 0 ? 0 : size * (format->group ? DIM / format->group : 1),
                             .group = size};
}

static void attend(const struct numbers *x, const fovea_segment *segment, float *o) {
  const fovea_sequence sequence = fovea_sequence_of(segment, 1);
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, 1, HEADS, HEADS, ROWS, KEYS, DIM, DIM);
  problem.cache.segmented = 1;
  fovea_tensors_init(&tensors, x->q, NULL, NULL, o, NULL);
  tensors.cache.sequences = &sequence;
  require(fovea_attend(&problem, &tensors, NULL, &error), &error);
}

static fovea_segment plain(struct numbers *x) {
  return (fovea_segment){
      .rows = KEYS, .k = x->k, .v = x->v, .k_head = MOST, .v_head = MOST, .k_row = DIM, .v_row = DIM};
}

static void attend_narrow(struct numbers *x, const struct pair *pair, float *o) {
  static struct side k, v;
  fovea_error error;
  require(fovea_format_init(&k.format, pair->k, &error), &error);
  require(fovea_format_init(&v.format, pair->v, &error), &error);
  fix_scales(&k, &x->k[0][0][0]);
  fix_scales(&v, &x->v[0][0][0]);
  const fovea_segment wide = plain(x), narrow = {.rows = KEYS,
                                                 .k = k.codes,
                                                 .v = v.codes,
                                                 .k_head = sizeof k.codes[0],
                                                 .v_head = sizeof v.codes[0],
                                                 .k_row = fovea_format_bytes(&k.format, DIM, NULL),
                                                 .v_row = fovea_format_bytes(&v.format, DIM, NULL),
                                                 .k_format = &k.format,
                                                 .v_format = &v.format,
                                                 .k_scales = scales_of(&k),
                                                 .v_scales = scales_of(&v)};
  const fovea_sequence from = fovea_sequence_of(&wide, 1), to = fovea_sequence_of(&narrow, 1);
  require(fovea_sequence_copy(&from, &to, 1, HEADS, DIM, DIM, 0, KEYS, NULL, &error), &error);
  attend(x, &narrow, o);
}

/* In percent of the rms of what it should be. */
static double error_of(const float *o, const float *expected, int64_t count) {
  double errors = 0, squares = 0;
  for (int64_t i = 0; i < count; i++) {
    errors += pow((double)o[i] - (double)expected[i], 2);
    squares += pow((double)expected[i], 2);
  }
  return 100 * sqrt(errors / squares);
}

static void assert_near(const struct pair *pair, int column, double got) {
  if (fabs(got - pair->errors[column]) > 0.006 * pair->errors[column])
    fail_msg("%s, column %d: the error is %.3g %%; docs/formats.md has %.3g", fovea_format_text(pair->k), column,
             got, pair->errors[column]);
}

static int read_line(const char *line, struct pair *pair) {
  char k[32], v[32];
  double *errors = pair->errors;
  if (sscanf(line, "| `%31[a-z0-9_]`, `%31[a-z0-9_]` | %lf | %lf | %lf |", k, v, errors, errors + 1, errors + 2) !=
      5)
    return 0;
  const int found[2] = {fovea_format_named(k), fovea_format_named(v)};
  if (found[0] < 0 || found[1] < 0) fail_msg("no format: %s", line);
  pair->k = (fovea_format_name)found[0];
  pair->v = (fovea_format_name)found[1];
  return 1;
}

static void test_accuracy(void **state) {
  (void)state;
  static struct numbers x[3];
  static float expected[3][HEADS * ROWS * DIM], o[HEADS * ROWS * DIM];
  for (int i = 0; i < 3; i++) {
    fill(&x[i], i > 0);
    const fovea_segment segment = plain(&x[i]);
    attend(&x[i], &segment, expected[i]);
  }
  rotate(&x[2].q[0][0][0], ROWS);
  rotate(&x[2].k[0][0][0], KEYS);
  rotate(&x[2].v[0][0][0], KEYS);
  FILE *page = fopen(FOVEA_FORMATS_PAGE, "r");
  assert_non_null(page);
  char line[512];
  int lines = 0;
  while (fgets(line, sizeof line, page)) {
    struct pair pair;
    if (!read_line(line, &pair) || ++lines > USUAL_OR_LONG(2, 1000)) continue;
    printf("| `%s`, `%s` |", fovea_format_text(pair.k), fovea_format_text(pair.v));
    for (int j = 0; j < 3; j++) {
      attend_narrow(&x[j], &pair, o);
      if (j == 2) rotate(o, ROWS);
      const double error = error_of(o, expected[j], HEADS * ROWS * DIM);
      printf(" %.3g |", error);
      if (!getenv("FOVEA_PRINT_ACCURACY")) assert_near(&pair, j, error);
    }
    printf("\n");
  }
  fclose(page);
  assert_true(lines >= 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_accuracy)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
