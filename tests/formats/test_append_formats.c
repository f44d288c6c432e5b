/* Appending to any format: codes and scales by a plain model, on every instruction set, for any threads; no bit beside
 * them is written. */
#include "codes.h"
#include "nearest.h"
#include "stores.h"

#include "arch/codes.h"

#include "support/check.h"
#include "support/executors.h"
#include "support/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 80 };

static int64_t equal_bits(const struct guarded *memory, const unsigned char *other) {
  int64_t count = 0;
  for (size_t i = 0; i < memory->size; i++) {
    for (int bit = 0; bit < 8; bit++) count += ((memory->data[i] ^ other[i]) >> bit & 1) == 0;
  }
  return count;
}

/* ---- What is expected ---------------------------------------------------------------------------------------- */

static int64_t keys_at_once(const fovea_format *f) {
  const int64_t word = code_of(f).along ? 32 / code_of(f).bits : 1;
  return f->key_group > word ? f->key_group : word;
}

/* Bits that writing `rows` rows changes, for one head. */
static int64_t bits_written(const struct narrow *n, int64_t rows, int panels) {
  const fovea_format *f = &n->format;
  const int64_t row = n->dim * code_of(f).bits, groups = n->dim / (f->group ? f->group : n->dim);
  const int64_t number = f->scale_type == FOVEA_F32 ? 32 : 16;
  const int whole = panels ? 32 : 8;
  int64_t bits = rows * (code_of(f).along ? row : (row + whole - 1) / whole * whole);
  if (f->key_group == 0) return bits;
  bits += ((rows - 1) / f->key_group + 1) * groups * number * (f->formula == FOVEA_FORMULA_SCALE ? 1 : 2);
  return bits + (f->sums ? rows * groups * 32 : 0);
}

/* Codes and scales of rows begin to end - 1 by the plain model; x[head][row - begin][dim]. */
static void assert_nearest(const struct store *store, int values, int64_t begin, int64_t end, const float *x) {
  const struct narrow *n = &store->sides[values];
  const fovea_format *f = &n->format;
  const fovea_code_scales *s = values ? &store->segment.v_scales : &store->segment.k_scales;
  const int64_t group = f->group ? f->group : n->dim, keys = f->key_group ? f->key_group : 1;
  float *numbers = malloc((size_t)((end - begin) * n->dim) * sizeof *numbers);
  assert_non_null(numbers);
  for (int64_t head = 0; head < HEADS; head++)
    for (int64_t row = begin; row < end; row += keys)
      for (int64_t d = 0; d < n->dim; d += group) {
        const float *centre = s->centre ? s->centre + head * n->dim : NULL;
        const int64_t last = row + keys < end ? row + keys : end;
        int64_t count = 0;
        for (int64_t r = row; r < last; r++)
          for (int64_t i = d; i < d + group; i++) {
            const float number = x[(head * (end - begin) + r - begin) * n->dim + i];
            numbers[count++] = centre ? number - centre[i] : number;
          }
        const float scale = narrow_scale(n, &store->segment, values, head, row, d, 0);
        const float zero =
            f->formula == FOVEA_FORMULA_SCALE ? 0 : narrow_scale(n, &store->segment, values, head, row, d, 1);
        const struct nearest_group expected =
            f->key_group ? nearest_measure(f, numbers, count) : nearest_fixed(scale, zero);
        if (!same_number(scale, expected.scale) || (f->formula && !same_number(zero, expected.zero)))
          fail_msg("row %d, dim %d: scale %a, zero %a; should be %a, %a", (int)row, (int)d, (double)scale,
                   (double)zero, (double)expected.scale, (double)expected.zero);
        count = 0;
        for (int64_t r = row; r < last; r++)
          for (int64_t i = d; i < d + group; i++) {
            const int code = narrow_code(n, &store->segment, values, head, r, i);
            const int wanted = nearest_code(f, &expected, numbers[count++]);
            if (code != wanted)
              fail_msg("code %d, formula %d, place %d, group %d, keys %d: row %d, dim %d: %d, should be %d for %a",
                       (int)f->code, (int)f->formula, (int)f->place, (int)f->group, (int)f->key_group, (int)r,
                       (int)i, code, wanted, (double)numbers[count - 1]);
          }
      }
  free(numbers);
}

/* ---- Appending ----------------------------------------------------------------------------------------------- */

/* Appends into memory of zeros and of ones: what differs has not been written. Then with every instruction set, and
 * with tasks in any order. */
static void check_append(struct store *store, struct new_rows *n) {
  struct side_bytes zeros[2], ones[2];
  struct executor executor = {.order = TASKS_SHUFFLED};
  fovea_execution shuffled;
  fovea_execution_init(&shuffled);
  shuffled.threads = 3, shuffled.parallel_for = serial_for, shuffled.parallel_context = &executor;
  for (int side = 0; side < 2; side++) side_fill(&store->sides[side], 0xff);
  store_append(store, n, "scalar", NULL);
  for (int side = 0; side < 2; side++) {
    ones[side] = side_save(&store->sides[side]);
    side_fill(&store->sides[side], 0);
  }
  store_append(store, n, "scalar", NULL);
  const int64_t begin = n->rows.first_position - store->segment.first, end = begin + n->rows.rows;
  for (int side = 0; side < 2; side++) {
    const struct narrow *s = &store->sides[side];
    zeros[side] = side_save(s);
    int64_t written = equal_bits(&s->codes, ones[side].codes);
    if (s->format.key_group != 0)
      written += equal_bits(&s->scales, ones[side].scales) + equal_bits(&s->zeros, ones[side].zeros);
    assert_int_equal(written, HEADS * bits_written(s, n->rows.rows,
                                                   side == 0 && store->segment.k_layout == FOVEA_KEYS_IN_PANELS));
    if (s->format.quantiser == FOVEA_QUANTISE_NEAREST) assert_nearest(store, side, begin, end, n->made[side]);
  }
  for (const char *const *isa = usable_isas_for(NULL); *isa != NULL; isa++) {
    for (int side = 0; side < 2; side++) side_fill(&store->sides[side], 0);
    store_append(store, n, *isa, &shuffled);
    for (int side = 0; side < 2; side++) {
      if (!side_is(&store->sides[side], &zeros[side])) fail_msg("%s: other bytes", *isa);
      assert_true(guarded_slack_intact(&store->sides[side].codes));
    }
  }
  for (int side = 0; side < 2; side++) {
    side_forget(&zeros[side]);
    side_forget(&ones[side]);
  }
}

/* Rows of a segment that are whole groups of both sides. */
static void any_rows(const struct store *store, int64_t *begin, int64_t *end, struct generator *generator) {
  const int64_t a = keys_at_once(&store->sides[0].format), b = keys_at_once(&store->sides[1].format);
  int64_t unit = a; /* the least common multiple */
  while (unit % b != 0) unit += a;
  const int64_t rows = store->segment.rows, units = (rows - 1) / unit + 1;
  const int64_t first = generator_below(generator, units);
  *begin = first * unit;
  *end = (first + 1 + generator_below(generator, units - first)) * unit;
  if (*end > rows) *end = rows;
}

/* A format of this code, if there is one for rows of `dim`. `wide`: often with one group for all dims. */
static fovea_format any_format(int64_t dim, int code, int wide, struct generator *generator) {
  static const int64_t groups[] = {0, 1, 2, 8, 24, 32, 48}, key_groups[] = {0, 1, 1, 3, 16, 32};
  static const int8_t table[16] = {-128, -100, -70, -30, -11, -5, -1, 2, 3, 9, 20, 40, 50, 70, 90, 127};
  fovea_format format;
  int tries = 0;
  do {
    format = (fovea_format){.struct_size = sizeof format};
    format.code = (fovea_code)(tries++ < 3000 ? code : generator_below(generator, FOVEA_CODE_COUNT));
    format.formula = (fovea_formula)generator_below(generator, 3);
    format.place = (fovea_scale_place)generator_below(generator, 3);
    format.scale_type = (fovea_type)generator_below(generator, 3);
    format.group = wide && generator_below(generator, 2) ? 0 : groups[generator_below(generator, 7)];
    format.key_group = key_groups[generator_below(generator, 6)];
    if (generator_below(generator, 3) == 0) format.bias = (int)generator_below(generator, 129);
    if (generator_below(generator, 8) == 0) format.table = table;
    if (generator_below(generator, 8) == 0) format.sums = 1;
    if (generator_below(generator, 3) == 0) narrow_any_order(&format, generator);
  } while (fovea_format_bytes(&format, dim, NULL) == 0);
  return format;
}

/* Any formats, of all codes in turn, for rows of seven numbers of dims. */
static void check_formats(const int64_t dims[7], int count, int64_t most_rows, int wide, uint64_t seed) {
  struct generator generator = {seed};
  for (int i = 0; i < count; i++) {
    const int64_t qk_dim = dims[generator_below(&generator, 7)], v_dim = dims[generator_below(&generator, 7)];
    const fovea_format k = any_format(qk_dim, i % FOVEA_CODE_COUNT, wide, &generator);
    const fovea_format v = any_format(v_dim, (i + 5) % FOVEA_CODE_COUNT, wide, &generator);
    struct store store;
    struct new_rows rows;
    int64_t begin, end;
    store_make(&store, &k, &v, qk_dim, v_dim, 1 + generator_below(&generator, most_rows), i % 3 == 0, &generator);
    any_rows(&store, &begin, &end, &generator);
    rows_make(&rows, qk_dim, v_dim, store.segment.first + begin, end - begin, i % 2, &generator);
    check_append(&store, &rows);
    rows_destroy(&rows);
    store_destroy(&store);
  }
}

static void test_descriptors(void **state) {
  static const int64_t dims[] = {48, 96, 7, 64, 256, 1, 288};
  (void)state;
  check_formats(dims, USUAL_OR_LONG(60, 700), ROWS, 0, 5);
}

/* Groups of more dims than become codes together, and more angles than are kept. */
static void test_wide_rows(void **state) {
  static const int64_t dims[] = {4096, 4096, 2304, 1040, 1072, 3001, 4000};
  (void)state;
  check_formats(dims, USUAL_OR_LONG(26, 200), 6, 1, 6);
}

/* Presets of both sides, with rotations and other types: all instruction sets agree, and nothing else is written.
 */
static void test_presets(void **state) {
  (void)state;
  struct generator generator = {6};
  for (int name = 0; name < NARROW_FORMATS; name++)
    for (int i = 0; i < 3; i++) {
      const fovea_format k = narrow_format((fovea_format_name)name);
      const fovea_format v = narrow_format((fovea_format_name)((name + 7 * i) % NARROW_FORMATS));
      struct store store;
      struct new_rows rows;
      int64_t begin, end;
      store_make(&store, &k, &v, 32 * (i + 1), 32 * (name % 4 + 1), 70 + name, 0, &generator);
      any_rows(&store, &begin, &end, &generator);
      rows_make(&rows, 32 * (i + 1), 32 * (name % 4 + 1), store.segment.first + begin, end - begin, 1, &generator);
      check_append(&store, &rows);
      rows_destroy(&rows);
      store_destroy(&store);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_descriptors),
      cmocka_unit_test(test_wide_rows),
      cmocka_unit_test(test_presets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
