/* Rows become the same codes and scales whatever lies beside them: rows that are not finite, keys of another round of a
 * ring. */
#include "narrow.h"

#include "support/check.h"

#include <fovea/cache.h>
#include <math.h>
#include <string.h>

/* Rows become the same bytes beside a row that is not finite as alone. */
static void test_neighbours(void **state) {
  (void)state;
  enum { DIM = 32 };
  static float rows[2][DIM], values[2][DIM];
  unsigned char together[2][DIM + 8], alone[2][DIM + 8];
  const fovea_format format = narrow_format(FOVEA_FORMAT_OPENVINO_U8);
  for (int sign = -1; sign <= 1; sign += 2)
    for (float size = 1; size < 1e37f; size *= 1.7f) {
      unsigned char unused[2][2 * (DIM + 8)];
      fovea_segment segments[2] = {
          {.rows = 2, .k_row = DIM + 8, .v_row = DIM + 8, .k_format = &format, .v_format = &format}};
      segments[0].v = unused[0];
      segments[1] = segments[0];
      segments[0].k = together;
      segments[1].k = alone;
      for (int d = 0; d < DIM; d++) rows[0][d] = (float)sign * size, rows[1][d] = d ? 1.0f : NAN;
      for (int i = 0; i < 2; i++) {
        const fovea_sequence sequence = fovea_sequence_of(&segments[i], 1);
        fovea_new_rows new_rows;
        fovea_error error;
        fovea_new_rows_init(&new_rows, 1, 1, 2 - i, DIM, DIM, rows, values, &sequence);
        if (fovea_append(&new_rows, NULL, NULL, &error) != FOVEA_OK) fail_msg("%s", error.text);
      }
      assert_memory_equal(together[0], alone[0], sizeof alone[0]);
    }
}

/* Two rounds of a ring write to different keys of a unit, or of a panel. */
static void test_ring_units(void **state) {
  (void)state;
  enum { DIM = 32, RING = 32, ROWS = 5 };
  static float rows[RING + ROWS][DIM];
  struct generator generator = {9};
  for (int i = 0; i < (RING + ROWS) * DIM; i++) rows[i / DIM][i % DIM] = generator_uniform(&generator);
  for (int kind = 0; kind < 4; kind++)
    for (int first = 28; first < 32; first += kind == 2 ? 2 : 1) {
      unsigned char memory[2][2][RING * DIM];
      fovea_format format = narrow_format(FOVEA_FORMAT_E4M3);
      fovea_error error;
      const float scale = 1;
      if (kind > 0) format.order = kind == 1 ? FOVEA_ORDER_DIM_PAIRS : FOVEA_ORDER_KEY_PAIRS;
      if (kind == 3) format.order = FOVEA_ORDER_ROWS;
      if (format.order) format.order_keys = kind == 1 ? 16 : RING;
      memset(memory, 0, sizeof memory);
      for (int way = 0; way < 2; way++) { /* at once, row by row */
        fovea_pages pages;
        fovea_pages_init(&pages, 1, RING, 1, DIM, DIM, FOVEA_F32,
                         kind == 3 ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS);
        assert_int_equal(fovea_pages_set_formats(&pages, &format, &format, &error), FOVEA_OK);
        pages.k = memory[way][0], pages.v = memory[way][1];
        pages.k_scales.scales = pages.v_scales.scales = (void *)&scale;
        for (int at = first; at < first + ROWS; at += way ? 1 : ROWS) {
          const int count = way ? 1 : ROWS, end = at + count;
          fovea_segment segments[FOVEA_RING_SEGMENTS];
          fovea_sequence sequence;
          fovea_new_rows new_rows;
          if (fovea_cache_ring(&pages, 0, end > RING ? end - RING : 0, end, segments, &sequence, &error) !=
              FOVEA_OK)
            fail_msg("%s", error.text);
          fovea_new_rows_init(&new_rows, 1, 1, count, DIM, DIM, rows[at], rows[at], &sequence);
          new_rows.first_position = at;
          if (fovea_append(&new_rows, NULL, NULL, &error) != FOVEA_OK)
            fail_msg("kind %d, from %d: %s", kind, at, error.text);
        }
      }
      assert_memory_equal(memory[0], memory[1], sizeof memory[0]);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_neighbours),
      cmocka_unit_test(test_ring_units),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
