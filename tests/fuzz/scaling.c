#include "scaling.h"

#include "contract_rotary.h"
#include "expect.h"
#include "wild.h"

#include <fovea/rotary_scaling.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define FIELD(kind, name)                                                                                          \
  { FIELD_##kind, offsetof(fovea_rotary_scaling, name) }

static const struct field scaling_fields[] = {
    FIELD(INTEGER, rule),        FIELD(LONG, dims),   FIELD(REAL, base),           FIELD(REAL, factor),
    FIELD(LONG, trained_length), FIELD(LONG, length), FIELD(REAL, slow_turns),     FIELD(REAL, fast_turns),
    FIELD(INTEGER, exact_pairs), FIELD(REAL, mscale), FIELD(REAL, mscale_all_dim), FIELD(REAL, attention_factor),
    FIELD(LONG, rotated_dims)};

enum { MOST_PAIRS = 80, TABLE_ROWS = 6, BIG_PAIRS = 1 << 19, UNTOUCHED = 0x5c };

static void *untouched(size_t size) {
  void *memory = malloc(size > 0 ? size : 1);
  if (memory == NULL) abort();
  memset(memory, UNTOUCHED, size);
  return memory;
}

static int is_untouched(const void *memory, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (((const unsigned char *)memory)[i] != UNTOUCHED) return 0;
  return 1;
}

/* Numbers as config.json has them. */
static void describe(fovea_rotary_scaling *s, double *lists, struct bytes *bytes) {
  const fovea_scaling_rule rule = (fovea_scaling_rule)bytes_below(bytes, FOVEA_SCALING_PROPORTIONAL + 1);
  fovea_rotary_scaling_init(s, rule, 4 + 2 * bytes_below(bytes, MOST_PAIRS - 1));
  s->base = 2 + 100.0 * (double)bytes_below(bytes, 30000);
  if (rule != FOVEA_SCALING_NONE) s->factor = 1 + (double)bytes_below(bytes, 200) / 8;
  if (rule == FOVEA_SCALING_DYNAMIC_NTK || (rule >= FOVEA_SCALING_LLAMA3 && rule <= FOVEA_SCALING_LONGROPE))
    s->trained_length = 2 + bytes_below(bytes, 65536);
  if (rule == FOVEA_SCALING_DYNAMIC_NTK || rule == FOVEA_SCALING_LONGROPE)
    s->length = bytes_below(bytes, 65536) * bytes_below(bytes, 9);
  if (rule == FOVEA_SCALING_YARN) s->exact_pairs = (int)bytes_below(bytes, 2);
  if (rule == FOVEA_SCALING_YARN && bytes_below(bytes, 2))
    s->mscale = s->mscale_all_dim = 0.25 * (double)(1 + bytes_below(bytes, 8));
  else if ((rule == FOVEA_SCALING_YARN || rule == FOVEA_SCALING_LONGROPE) && bytes_below(bytes, 2))
    s->attention_factor = 0.5 + 0.25 * (double)bytes_below(bytes, 8);
  if (rule == FOVEA_SCALING_PROPORTIONAL) s->rotated_dims = 2 * bytes_below(bytes, s->dims / 2 + 1);
  if (rule != FOVEA_SCALING_LONGROPE) return;
  for (int64_t i = 0; i < 2 * (s->dims / 2); i++) lists[i] = 1 + (double)bytes_below(bytes, 256) / 16;
  s->short_factors = lists;
  s->long_factors = lists + s->dims / 2;
}

/* Frequencies are numbers that an embedding takes, the same in every call. */
static void check_frequencies(const fovea_rotary_scaling *s, const double *frequencies, double factor,
                              int64_t pairs) {
  double *again = untouched((size_t)pairs * sizeof *again), other;
  EXPECT(fovea_rotary_frequencies(s, again, &other, NULL) == FOVEA_OK);
  EXPECT(memcmp(again, frequencies, (size_t)pairs * sizeof *again) == 0 &&
         memcmp(&other, &factor, sizeof other) == 0);
  for (int64_t i = 0; i < pairs; i++) EXPECT(frequencies[i] >= 0 && frequencies[i] <= 4294967296.0);
  EXPECT(factor > 0 || s->attention_factor != 0 || s->mscale != 0);
  free(again);
}

/* The contract's cosines and sines, times the factor. */
static void check_tables(struct scene *scene, const double *frequencies, double factor, int64_t pairs) {
  const int64_t rows = bytes_below(scene->bytes, TABLE_ROWS + 1);
  const size_t size = (size_t)(rows * pairs) * sizeof(float);
  float *cosines = untouched(size), *sines = untouched(size);
  static struct fraction turns[MOST_PAIRS + 2];
  fovea_rotary rotary;
  fovea_error error;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, 2 * pairs);
  rotary.frequencies = frequencies;
  if (scene->wild && bytes_one_in(scene->bytes, 4)) factor = (double)wild_number(scene->bytes);
  const fovea_status status = fovea_rotary_tables(&rotary, factor, rows, cosines, sines, &error);
  if (status != FOVEA_OK) {
    expect_failure(status, &error);
    EXPECT(is_untouched(cosines, size) && is_untouched(sines, size));
  } else {
    contract_turns(rotary.base, frequencies, pairs, turns);
    for (int64_t i = 0; i < rows * pairs; i++) {
      float cosine, sine;
      contract_angle(turns[i % pairs], i / pairs, &cosine, &sine);
      cosine *= (float)factor, sine *= (float)factor;
      EXPECT(memcmp(&cosines[i], &cosine, sizeof cosine) == 0 && memcmp(&sines[i], &sine, sizeof sine) == 0);
    }
  }
  EXPECT(status == FOVEA_OK || scene->wild);
  free(cosines);
  free(sines);
}

/* Every pair has an axis, and each axis its pairs. */
static void check_sections(struct scene *scene) {
  struct bytes *bytes = scene->bytes;
  int64_t sections[FOVEA_ROTARY_AXES], axes = 1 + bytes_below(bytes, FOVEA_ROTARY_AXES), pairs = 0;
  int layout = (int)bytes_below(bytes, 2);
  for (int64_t i = 0; i < axes; i++) pairs += sections[i] = bytes_below(bytes, 20);
  const int64_t given = pairs;
  if (scene->wild && bytes_one_in(bytes, 2)) sections[0] = wild_number(bytes);
  if (scene->wild && bytes_one_in(bytes, 4)) layout = (int)bytes_below(bytes, 4);
  unsigned char *pair_axes = untouched((size_t)given);
  fovea_error error;
  const fovea_status status =
      fovea_rotary_sections((fovea_section_layout)layout, sections, axes, pairs, pair_axes, &error);
  if (status != FOVEA_OK) {
    expect_failure(status, &error);
    EXPECT(is_untouched(pair_axes, (size_t)given));
  }
  int64_t counted[FOVEA_ROTARY_AXES] = {0};
  for (int64_t i = 0; status == FOVEA_OK && i < pairs; i++) {
    EXPECT(pair_axes[i] < axes);
    counted[pair_axes[i]]++;
  }
  for (int64_t i = 0; status == FOVEA_OK && i < axes; i++) EXPECT(counted[i] == sections[i]);
  free(pair_axes);
}

void scale_rotary(struct scene *scene) {
  struct bytes *bytes = scene->bytes;
  double lists[2 * (MOST_PAIRS + 2)], factor;
  fovea_rotary_scaling s;
  fovea_error error;
  describe(&s, lists, bytes);
  const int64_t sound_dims = s.dims;
  if (scene->wild) wild_edit(&s, scaling_fields, COUNT(scaling_fields), bytes);
  if (s.short_factors && s.dims > sound_dims) s.dims = sound_dims; /* the lists have no more */
  const int64_t pairs = s.dims < 0 ? 0 : s.dims / 2 > BIG_PAIRS ? 1 : s.dims / 2;
  const size_t size = (size_t)pairs * sizeof(double);
  double *frequencies = untouched(size);
  memset(&factor, UNTOUCHED, sizeof factor);
  const fovea_status status = fovea_rotary_frequencies(&s, frequencies, &factor, &error);
  if (status == FOVEA_OK) {
    check_frequencies(&s, frequencies, factor, pairs);
    if (pairs <= MOST_PAIRS + 2) check_tables(scene, frequencies, scene->wild ? 1.0 : factor, pairs);
  } else {
    expect_failure(status, &error);
    EXPECT(scene->wild && is_untouched(frequencies, size) && is_untouched(&factor, sizeof factor));
  }
  free(frequencies);
  check_sections(scene);
}
