/* int8 mode over quantised caches: rows that are stored as int8 with one scale are used as they lie, all others are
 * quantised, wherever segments are cut and whatever lies beside them in a block. */
#include "narrow.h"

#include "modes/contract_modes.h"
#include "support/caches.h"
#include "support/check.h"
#include "support/modes.h"
#include "support/positions.h"
#include "support/types.h"

#include <math.h>
#include <string.h>

enum { SEGMENTS = 6, MOST_KEYS = 320, MOST_DIMS = 150 };

/* A kv head's rows of a side, as the contract takes them. */
struct side {
  int8_t codes[MOST_KEYS * MOST_DIMS];
  unsigned char stored[MOST_KEYS];
  float scales[MOST_KEYS];
};

struct scene {
  fovea_segment segments[SEGMENTS];
  struct narrow keys[SEGMENTS], values[SEGMENTS];
  int count;
  struct side k[2], v[2]; /* of each kv head */
};

/* Whether what a head's rows are stored less is what the caller wants subtracted. */
static int has_centre(const fovea_code_scales *scales, int64_t head, int64_t dim, const float *wanted) {
  const char *stored = (const char *)scales->centre;
  if (stored == NULL || wanted == NULL) return stored == NULL && wanted == NULL;
  return memcmp(stored + head * scales->centre_head, wanted, (size_t)dim * sizeof *wanted) == 0;
}

/* By the words of section 16: int8 with one scale a row; values need one of their own. */
static int is_stored(const struct narrow *n, const fovea_segment *segment, int values, int64_t head,
                     const float *centre) {
  const fovea_format *f = &n->format;
  const fovea_code_scales *scales = values ? &segment->v_scales : &segment->k_scales;
  if (f->code != FOVEA_CODE_S8 || f->formula != FOVEA_FORMULA_SCALE) return 0;
  if (!has_centre(scales, head, n->dim, values ? NULL : centre)) return 0;
  return (f->group == 0 || f->group == n->dim) && (!values || f->key_group == 1);
}

static fovea_format any_format(int64_t dim, struct generator *generator) {
  static const fovea_format_name names[] = {FOVEA_FORMAT_I8_ROWS, FOVEA_FORMAT_Q8_KV,  FOVEA_FORMAT_OPENVINO_I8,
                                            FOVEA_FORMAT_ORT_S8,  FOVEA_FORMAT_Q8_0,   FOVEA_FORMAT_E4M3,
                                            FOVEA_FORMAT_I8_ROWS, FOVEA_FORMAT_I8_ROWS};
  fovea_format format = narrow_format(names[generator_below(generator, 8)]), other = format;
  if (format.code == FOVEA_CODE_S8 && format.place == FOVEA_SCALES_APART) {
    other.scale_type = (fovea_type)generator_below(generator, 3);
    other.key_group = other.key_group ? 1 + 2 * generator_below(generator, 2) : 0;
    narrow_any_order(&other, generator);
  }
  if (fovea_format_bytes(&other, dim, NULL) > 0) format = other;
  return fovea_format_bytes(&format, dim, NULL) > 0 ? format : narrow_format(FOVEA_FORMAT_I8_ROWS);
}

/* Some scales become negative, or no number, or very large. */
static void spoil_scales(const struct narrow *n, const fovea_segment *segment, int values, int64_t kv_heads,
                         struct generator *generator) {
  static const uint32_t scales[] = {0x7f800000u, 0x7fc00000u, 0x7b800000u, 0x7c000000u,
                                    0,           0x1fffffffu, 0x80000000u, 0xfb800000u};
  if (n->format.scale_type != FOVEA_F32 || n->format.code != FOVEA_CODE_S8) return;
  for (int64_t h = 0; h < kv_heads; h++)
    for (int64_t row = 0; row < segment->rows; row++) {
      unsigned char *at = narrow_number(n, segment, values, h, row, 0, 0);
      uint32_t bits;
      memcpy(&bits, at, sizeof bits);
      if (generator_below(generator, 9) == 0) bits ^= 0x80000000u;
      if (generator_below(generator, 70) == 0) bits = scales[generator_below(generator, 8)];
      memcpy(at, &bits, sizeof bits);
    }
}

/* Rows of V whose scale is negative are not used as they lie, nor are any in their block in decoding. */
static void make_scales_positive(const struct narrow *n, const fovea_segment *segment, int values,
                                 int64_t kv_heads) {
  assert_int_equal(n->format.scale_type, FOVEA_F32);
  for (int64_t h = 0; h < kv_heads; h++)
    for (int64_t row = 0; row < segment->rows; row++) {
      float *scale = (float *)(void *)narrow_number(n, segment, values, h, row, 0, 0);
      *scale = fabsf(*scale);
    }
}

static void fill_side(const struct narrow *n, const fovea_segment *segment, int values, int64_t head,
                      const float *centre, struct side *side, struct tensor *numbers) {
  for (int64_t row = 0; row < segment->rows; row++) {
    const int64_t j = segment->first + row;
    float *to = tensor_row(numbers, 0, head, j);
    side->stored[j] = (unsigned char)is_stored(n, segment, values, head, centre);
    for (int64_t d = 0; d < n->dim; d++) to[d] = narrow_element(n, segment, values, head, row, d);
    if (!side->stored[j]) continue;
    side->scales[j] = narrow_scale(n, segment, values, head, row, 0, 0);
    for (int64_t d = 0; d < n->dim; d++)
      side->codes[j * n->dim + d] = (int8_t)narrow_code(n, segment, values, head, row, d);
  }
}

/* Gives a segment the caller's centre, or, `changed`, that with another bit in one number of the last head. */
static void take_centre(struct narrow *n, const struct trial *trial, int changed) {
  if (n->centre.mapping == NULL || trial->problem.channels.key_centre == FOVEA_CHANNELS_NONE) return;
  const size_t bytes = (size_t)n->dim * sizeof(float);
  for (int64_t h = 0; h < n->kv_heads; h++)
    memcpy(n->centre.data + (size_t)h * bytes, vectors_of_head(trial, h).key_centre, bytes);
  if (changed) n->centre.data[(size_t)n->kv_heads * bytes - sizeof(float)] ^= 1;
}

/* What a scene has. In place: codes that are used as they lie, and others that differ in one respect: values that
 * share a scale. */
enum kind { ANY_ROWS, SPOILT_SCALES, IN_PLACE };

static void fill(struct scene *scene, struct trial *trial, enum kind kind, struct generator *generator) {
  const fovea_problem *p = &trial->problem;
  const int spoilt = kind == SPOILT_SCALES;
  const int whole = p->q_len == 1 && generator_below(generator, 2) == 0; /* decoding knows blocks of one format */
  memset(scene, 0, sizeof *scene);
  for (int64_t first = 0; first < p->kv_len; scene->count++) {
    const int i = scene->count;
    const int64_t left = p->kv_len - first;
    fovea_format k = any_format(p->qk_dim, generator), v = any_format(p->v_dim, generator);
    if (kind == IN_PLACE) k = v = narrow_format(FOVEA_FORMAT_I8_ROWS);
    if (kind == IN_PLACE && i % 2 > 0) v.key_group = 0;
    fovea_segment *segment = &scene->segments[i];
    segment->first = first;
    segment->rows = whole || i == (kind == IN_PLACE ? 1 : SEGMENTS - 1) || generator_below(generator, 3) == 0
                        ? left
                        : 1 + generator_below(generator, left);
    if (first % 16 == 0 && i % 2 == 0 && (kind != IN_PLACE || generator_below(generator, 4) > 0) &&
        fovea_format_panel_bytes(&k, p->qk_dim, NULL) > 0)
      segment->k_layout = FOVEA_KEYS_IN_PANELS;
    narrow_make(&scene->keys[i], &k, p->kv_heads, p->qk_dim,
                p->channels.key_centre ? generator_below(generator, 3) > 0 : i % 4 == 1, segment, 0, generator);
    if (i % 4 != 2) take_centre(&scene->keys[i], trial, i % 4 == 1);
    narrow_make(&scene->values[i], &v, p->kv_heads, p->v_dim, i % 4 == 2, segment, 1, generator);
    if (kind == IN_PLACE) make_scales_positive(&scene->values[i], segment, 1, p->kv_heads);
    if (spoilt) spoil_scales(&scene->keys[i], segment, 0, p->kv_heads, generator);
    if (spoilt) spoil_scales(&scene->values[i], segment, 1, p->kv_heads, generator);
    for (int64_t h = 0; h < p->kv_heads; h++) {
      const float *centre = vectors_of_head(trial, h).key_centre;
      fill_side(&scene->keys[i], segment, 0, h, centre, &scene->k[h], &trial->k);
      fill_side(&scene->values[i], segment, 1, h, NULL, &scene->v[h], &trial->v);
    }
    first += segment->rows;
  }
}

struct limit {
  int64_t begin, end;
};

static int sees(const void *rules, int64_t position) {
  const struct limit *limit = rules;
  return position >= limit->begin && position < limit->end;
}

static void check_row(const struct scene *scene, struct trial *trial, int64_t head, int64_t row) {
  const fovea_problem *p = &trial->problem;
  const int64_t kv = head / (p->heads / p->kv_heads);
  const int64_t own = p->kv_len - p->q_len + row;
  const struct limit limit = {p->window_left == FOVEA_UNLIMITED ? 0 : own - p->window_left, own + 1};
  const struct mode_vectors vectors = vectors_of_head(trial, kv);
  float out[MOST_DIMS], lse;
  const struct contract_mode_row rules = {
      .scores = (enum contract_mode)p->modes.score,
      .values = (enum contract_mode)p->modes.value,
      .q = tensor_row(&trial->q, 0, head, row),
      .k = tensor_row(&trial->k, 0, kv, 0),
      .v = tensor_row(&trial->v, 0, kv, 0),
      .k_stride = trial->k.strides.row,
      .v_stride = trial->v.strides.row,
      .qk_dim = p->qk_dim,
      .v_dim = p->v_dim,
      .positions = p->kv_len,
      .scale = p->scale,
      .sees = sees,
      .rules = &limit,
      .k_codes = scene->k[kv].codes,
      .v_codes = scene->v[kv].codes,
      .k_stored = scene->k[kv].stored,
      .v_stored = scene->v[kv].stored,
      .k_scales = scene->k[kv].scales,
      .v_scales = scene->v[kv].scales,
      .key_centre = vectors.key_centre,
      .key_scale = vectors.key_scale,
      .value_scale = vectors.value_scale,
  };
  contract_mode_row(&rules, out, &lse);
  assert_memory_equal(tensor_row(&trial->o, 0, head, row), out, (size_t)p->v_dim * sizeof out[0]);
  assert_memory_equal(tensor_row(&trial->lse, 0, head, row), &lse, sizeof lse);
}

static void check(const fovea_problem *problem, enum kind kind, uint64_t seed, struct generator *generator) {
  static struct scene scene;
  struct trial trial = trial_create(problem, seed);
  fill(&scene, &trial, kind, generator);
  const fovea_sequence sequence = fovea_sequence_of(scene.segments, scene.count);
  const char *sets[MODE_SETS];
  const int count = mode_sets(sets);
  for (int i = 0; i < count; i++) {
    trial_run_cached(&trial, sets[i], &sequence, NULL);
    for (int64_t head = 0; head < problem->heads; head++)
      for (int64_t row = 0; row < problem->q_len; row += 1 + problem->q_len / 8)
        check_row(&scene, &trial, head, row);
    assert_true(trial_gaps_untouched(&trial));
  }
  for (int i = 0; i < scene.count; i++) {
    narrow_destroy(&scene.keys[i]);
    narrow_destroy(&scene.values[i]);
  }
  trial_destroy(&trial);
}

/* Scores, values, or both in int8, the other half exact or bf16. */
static void set_modes(fovea_problem *problem, int i) {
  static const fovea_mode modes[][2] = {{FOVEA_MODE_INT8, FOVEA_MODE_INT8},
                                        {FOVEA_MODE_INT8, FOVEA_MODE_EXACT},
                                        {FOVEA_MODE_EXACT, FOVEA_MODE_INT8},
                                        {FOVEA_MODE_INT8, FOVEA_MODE_BF16},
                                        {FOVEA_MODE_BF16, FOVEA_MODE_INT8}};
  problem->modes.score = modes[i % 5][0];
  problem->modes.value = modes[i % 5][1];
}

static void check_many(int count, enum kind kind, int vectors) {
  static const int64_t dims[] = {32, 48, 7, 96, 64, 33};
  struct generator generator = {1 + (uint64_t)kind + 2 * (uint64_t)vectors};
  for (int i = 0; i < count; i++) {
    fovea_problem problem;
    const int64_t kv_len = 1 + generator_below(&generator, i % 4 ? 140 : MOST_KEYS);
    const int64_t q_len = i % 3 == 0 ? 1 : 1 + generator_below(&generator, kv_len < 70 ? kv_len : 70);
    fovea_problem_init(&problem, 1, 4, 2, q_len, kv_len, dims[generator_below(&generator, 6)],
                       dims[generator_below(&generator, 6)]);
    problem.causal = 1;
    problem.offset = kv_len - q_len;
    set_modes(&problem, vectors ? i % 3 : i / 2);
    if (vectors) problem_random_vectors(&problem, &generator);
    check(&problem, kind, (uint64_t)i, &generator);
  }
}

static void test_rows(void **state) {
  (void)state;
  check_many(USUAL_OR_LONG(30, 70), ANY_ROWS, 0);
}

/* Negative scales, infinite ones, NaN, and scales whose numbers have no room in f32. */
static void test_special_scales(void **state) {
  (void)state;
  check_many(USUAL_OR_LONG(30, 70), SPOILT_SCALES, 0);
}

/* Vectors of the caller. Rows that are stored less key_centre, to the bit, are used as they lie; all others get
 * codes less it. */
static void test_vectors(void **state) {
  (void)state;
  check_many(USUAL_OR_LONG(30, 70), ANY_ROWS, 1);
}

/* Rows are read where they lie, for one row of Q and for some. Decoding does so with keys in panels, too, also from
 * the middle of one on, and for sixteen dims and their multiples; some are more than a kernel takes at once. */
static void test_in_place(void **state) {
  (void)state;
  static const int64_t dims[] = {48, 64, 144, 33, 128, 16};
  struct generator generator = {1};
  for (int i = 0; i < USUAL_OR_LONG(36, 72); i++) {
    fovea_problem problem;
    const int64_t kv_len = 1 + generator_below(&generator, MOST_KEYS), q_len = i % 4 == 3 && kv_len > 30 ? 30 : 1;
    fovea_problem_init(&problem, 1, i % 2 ? 2 : 14, 2, q_len, kv_len, dims[i % 6],
                       dims[generator_below(&generator, 6)]);
    problem.causal = 1;
    problem.offset = kv_len - q_len;
    problem.modes.score = problem.modes.value = FOVEA_MODE_INT8;
    if (i % 3 == 2) problem.window_left = generator_below(&generator, 100);
    if (i % 5 == 4) problem_random_vectors(&problem, &generator);
    check(&problem, IN_PLACE, (uint64_t)i, &generator);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_in_place),
      cmocka_unit_test(test_rows),
      cmocka_unit_test(test_special_scales),
      cmocka_unit_test(test_vectors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
