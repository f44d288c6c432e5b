/* Copies from any format to any other, and to and from elements, hold what the numbers of the source become when they
 * are appended. */
#include "codes.h"
#include "stores.h"

#include "support/caches.h"
#include "support/check.h"
#include "support/types.h"

#include <fovea/cache.h>
#include <stdlib.h>
#include <string.h>

static void copy(const struct store *from, const struct store *to, int64_t begin, int64_t end) {
  fovea_error error;
  const fovea_sequence a = fovea_sequence_of(&from->segment, 1), b = fovea_sequence_of(&to->segment, 1);
  if (fovea_sequence_copy(&a, &b, 1, HEADS, from->sides[0].dim, from->sides[1].dim, begin, end, NULL, &error))
    fail_msg("%s", error.text);
}

/* What a copy is: the numbers appended, or, of one format, the same codes and scales. */
static void check_copy(const struct store *from, struct store *to, int same) {
  const int64_t first = to->segment.first, count = to->segment.rows;
  struct new_rows rows = {.rotated = 0};
  struct side_bytes copied_bytes[2];
  fovea_new_rows_init(&rows.rows, 1, HEADS, count, to->sides[0].dim, to->sides[1].dim, NULL, NULL, NULL);
  rows.rows.first_position = first;
  for (int side = 0; side < 2; side++) side_fill(&to->sides[side], 0x5a);
  copy(from, to, first, first + count);
  for (int side = 0; side < 2; side++) {
    const struct narrow *n = &to->sides[side], *source = &from->sides[side];
    copied_bytes[side] = side_save(n);
    float *x = rows.made[side] = malloc((size_t)(HEADS * count * n->dim) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < HEADS * count * n->dim; i++) {
      const int64_t head = i / n->dim / count, row = first + i / n->dim % count - from->segment.first,
                    d = i % n->dim;
      const int64_t to_row = i / n->dim % count;
      x[i] = narrow_element(source, &from->segment, side, head, row, d);
      if (!same) continue;
      assert_int_equal(narrow_code(n, &to->segment, side, head, to_row, d),
                       narrow_code(source, &from->segment, side, head, row, d));
      for (int which = 0; which < (n->format.formula ? 2 : 1); which++)
        assert_int_equal(bits_of(narrow_scale(n, &to->segment, side, head, to_row, d, which)),
                         bits_of(narrow_scale(source, &from->segment, side, head, row, d, which)));
    }
    *(side ? &rows.rows.v : &rows.rows.k) = x;
    side_fill(&to->sides[side], 0x5a);
  }
  store_append(to, &rows, NULL, NULL);
  for (int side = 0; side < 2 && !same; side++)
    if (!side_is(&to->sides[side], &copied_bytes[side]))
      fail_msg("side %d: a copy is not what its numbers are appended as", side);
  for (int side = 0; side < 2; side++) side_forget(&copied_bytes[side]);
  rows_destroy(&rows);
}

static void test_copies(void **state) {
  (void)state;
  struct generator generator = {7};
  for (int a = 0; a < NARROW_FORMATS; a++)
    for (int b = 0; b < NARROW_FORMATS; b++) {
      const fovea_format from_format = narrow_format((fovea_format_name)a),
                         to_format = narrow_format((fovea_format_name)b);
      /* These two differ only in where scales lie. */
      const int alike = (a == FOVEA_FORMAT_I8_ROWS && b == FOVEA_FORMAT_OPENVINO_I8) ||
                        (b == FOVEA_FORMAT_I8_ROWS && a == FOVEA_FORMAT_OPENVINO_I8);
      const int same = alike || (a == b && from_format.key_group != 0);
      struct store from, to;
      store_make(&from, &from_format, &from_format, 64, 32, 64, 0, &generator);
      store_make(&to, &to_format, &to_format, 64, 32, 32, 0, &generator);
      from.segment.first = 96, to.segment.first = 96 + (same ? 32 : 16);
      check_copy(&from, &to, same);
      store_destroy(&from);
      store_destroy(&to);
    }
}

/* From codes to elements of any type and layout, and from them to codes. */
static void test_elements(void **state) {
  (void)state;
  struct generator generator = {8};
  for (int name = 0; name < NARROW_FORMATS; name++)
    for (int type = 0; type < 3; type++) {
      enum { DIM = 64, COUNT = 32 };
      static uint32_t memory[2][HEADS * COUNT * DIM];
      static float x[2][HEADS * COUNT * DIM];
      const fovea_format format = narrow_format((fovea_format_name)name);
      struct store store;
      store_make(&store, &format, &format, DIM, DIM, COUNT, name % 2, &generator);
      store.segment.first = 32;
      fovea_segment plain = {.first = 32, .rows = COUNT, .k = memory[0], .v = memory[1]};
      plain.k_type = plain.v_type = (fovea_type)type;
      plain.k_head = plain.v_head = COUNT * DIM, plain.k_row = plain.v_row = DIM;
      if (name % 3 == 0) plain.k_layout = FOVEA_KEYS_IN_PANELS, plain.k_row = 16 * DIM;
      const fovea_sequence coded = fovea_sequence_of(&store.segment, 1), plains = fovea_sequence_of(&plain, 1);
      fovea_error error;
      if (fovea_sequence_copy(&coded, &plains, 1, HEADS, DIM, DIM, 32, 32 + COUNT, NULL, &error))
        fail_msg("%s", error.text);
      for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < HEADS * COUNT * DIM; i++) {
          const int64_t head = i / DIM / COUNT, row = i / DIM % COUNT, d = i % DIM;
          const float number = rounded_number(
              (fovea_type)type, narrow_element(&store.sides[side], &store.segment, side, head, row, d));
          const int64_t place = segment_place(&plain, side, head, 32 + row, d);
          const uint16_t *halves = (const uint16_t *)memory[side];
          x[side][i] =
              type == 0 ? from_bits(memory[side][place]) : from_bits(widened((fovea_type)type, halves[place]));
          if (!same_number(x[side][i], number))
            fail_msg("%s: %a, not %a", fovea_format_text((fovea_format_name)name), (double)x[side][i],
                     (double)number);
        }
      struct new_rows rows = {.rotated = 0};
      struct side_bytes bytes[2];
      for (int side = 0; side < 2; side++) side_fill(&store.sides[side], 0);
      if (fovea_sequence_copy(&plains, &coded, 1, HEADS, DIM, DIM, 32, 32 + COUNT, NULL, &error))
        fail_msg("%s", error.text);
      for (int side = 0; side < 2; side++) {
        bytes[side] = side_save(&store.sides[side]);
        side_fill(&store.sides[side], 0);
      }
      fovea_new_rows_init(&rows.rows, 1, HEADS, COUNT, DIM, DIM, x[0], x[1], NULL);
      rows.rows.first_position = 32;
      store_append(&store, &rows, NULL, NULL);
      for (int side = 0; side < 2; side++) {
        assert_true(side_is(&store.sides[side], &bytes[side]));
        side_forget(&bytes[side]);
      }
      store_destroy(&store);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
