/* Compares claims of memory with bytes that are counted one by one. */
#include "src/cache/claims.h"
#include "support/caches.h"
#include "support/check.h"
#include "support/error_says.h"

#include <stdio.h>
#include <string.h>

enum { MEMORY = 6000, LISTS = 4, SEGMENTS = 3 };

static float memory[MEMORY];

struct lists {
  fovea_segment segments[LISTS][SEGMENTS];
  fovea_sequence sequences[LISTS];
  fovea_claimed_rows rows[LISTS];
};

static fovea_claimed_rows rows_of(const void *call, int64_t index) {
  return ((const struct lists *)call)->rows[index];
}

static int64_t random_stride(struct generator *generator, int64_t least) {
  const int64_t stride = generator_below(generator, 2) ? least : least + generator_below(generator, 60);
  return generator_below(generator, 4) ? stride : -stride;
}

/* Any strides, nested or not, anywhere in the memory. */
static fovea_segment random_segment(const fovea_segment_shape *shape, int64_t first, struct generator *generator) {
  fovea_segment segment = {.first = first,
                           .rows = 1 + generator_below(generator, 40),
                           .k_type = (fovea_type)generator_below(generator, 3),
                           .v_type = (fovea_type)generator_below(generator, 3)};
  if (first % 16 == 0) segment.k_layout = (fovea_key_layout)generator_below(generator, 2);
  segment_lay_out(&segment, 0, shape->kv_heads, shape->qk_dim, (int)generator_below(generator, 2));
  segment_lay_out(&segment, 1, shape->kv_heads, shape->v_dim, (int)generator_below(generator, 2));
  if (generator_below(generator, 2)) {
    segment.k_head = random_stride(generator, segment.k_head);
    segment.v_row = random_stride(generator, segment.v_row);
  }
  segment.k = memory + MEMORY / 3 + generator_below(generator, MEMORY / 4);
  segment.v = memory + MEMORY / 3 + generator_below(generator, MEMORY / 4);
  return segment;
}

/* Counts a claim on the bytes of one element. Returns 1 if a byte that is written then has two claims. */
static int claim_element(unsigned char *claimed, const fovea_segment *segment, int values, int64_t place,
                         int written, int *outside) {
  const int64_t size = (int64_t)type_size(values ? segment->v_type : segment->k_type);
  const int64_t base = (const unsigned char *)(values ? segment->v : segment->k) - (unsigned char *)memory;
  int shared = 0;
  for (int64_t byte = base + place * size; byte < base + (place + 1) * size; byte++) {
    if (byte < 0 || byte >= (int64_t)sizeof memory) {
      *outside = 1;
      return 0;
    }
    shared |= claimed[byte] == 2 || (claimed[byte] == 1 && written);
    if (claimed[byte] < 2) claimed[byte] = written ? 2 : 1;
  }
  return shared;
}

static int shares(const struct lists *lists, const fovea_segment_shape *shape, int *outside) {
  static unsigned char claimed[sizeof memory];
  int shared = 0;
  memset(claimed, 0, sizeof claimed);
  for (int i = 0; i < LISTS; i++) {
    const fovea_claimed_rows *rows = &lists->rows[i];
    const fovea_segment *segment = lists->segments[i];
    for (int64_t position = rows->begin; position < rows->end; position++) {
      while (position >= segment->first + segment->rows) segment++;
      for (int64_t head = 0; head < shape->kv_heads; head++)
        for (int values = 0; values < 2; values++) {
          int64_t dim = values ? shape->v_dim : shape->qk_dim;
          if (!values && segment->k_layout == FOVEA_KEYS_IN_PANELS && segment->k_type == FOVEA_BF16) dim += dim % 2;
          for (int64_t d = 0; d < dim; d++)
            shared |= claim_element(claimed, segment, values, segment_place(segment, values, head, position, d),
                                    rows->written, outside);
        }
    }
  }
  return shared;
}

static void test_random_claims(void **state) {
  (void)state;
  struct generator generator = {21};
  int refused = 0, accepted = 0, strides = 0;
  for (int i = 0; i < USUAL_OR_LONG(5000, 60000); i++) {
    static struct lists lists;
    const fovea_segment_shape shape = {1 + generator_below(&generator, 3), 1 + generator_below(&generator, 5),
                                       1 + generator_below(&generator, 4), 0};
    int outside = 0;
    for (int list = 0; list < LISTS; list++) {
      int64_t first = 16 * generator_below(&generator, 2);
      const int64_t begin = first + generator_below(&generator, 10);
      for (int s = 0; s < SEGMENTS; s++) {
        lists.segments[list][s] = random_segment(&shape, first, &generator);
        first += lists.segments[list][s].rows;
      }
      int64_t end = begin + generator_below(&generator, generator_below(&generator, 2) ? 4 : 50);
      if (end > first) end = first;
      lists.sequences[list] = fovea_sequence_of(lists.segments[list], SEGMENTS);
      lists.rows[list] =
          (fovea_claimed_rows){&lists.sequences[list], begin, end, (int)generator_below(&generator, 2), list, 0};
    }
    const int shared = shares(&lists, &shape, &outside);
    if (outside) continue;
    const fovea_claims claims = {.shape = shape, .sequence_count = LISTS, .call = &lists, .sequence = rows_of};
    fovea_error error = {.text = ""};
    const fovea_status status = fovea_check_claims(&claims, &error);
    if (strstr(error.text, "strides that let")) { /* heads and rows are not nested, but may share nothing */
      strides++;
      continue;
    }
    assert_int_equal(status, shared ? FOVEA_ERROR_ARGUMENT : FOVEA_OK);
    refused += shared;
    accepted += !shared;
  }
  assert_true(refused > USUAL_OR_LONG(200, 2000) && accepted > USUAL_OR_LONG(200, 2000) && strides > 10);
}

/* More claims than are compared at once: rows of a page each, two of them the same. */
static fovea_claimed_rows one_row(const void *call, int64_t index) {
  return (fovea_claimed_rows){(const fovea_sequence *)call + index, 0, 1, 1, index, 0};
}

static void test_many_claims(void **state) {
  (void)state;
  enum { COUNT = 500 };
  static fovea_segment segments[COUNT];
  static fovea_sequence sequences[COUNT];
  struct generator generator = {22};
  for (int i = 0; i < COUNT; i++) {
    const int place = i * 7 % COUNT;
    segments[i] = (fovea_segment){.rows = 1, .k = memory + place * 4, .v = memory + place * 4 + 2};
    sequences[i] = fovea_sequence_of(&segments[i], 1);
  }
  const fovea_claims claims = {
      .shape = {1, 2, 2, 0}, .sequence_count = COUNT, .call = sequences, .sequence = one_row};
  assert_int_equal(fovea_check_claims(&claims, NULL), FOVEA_OK);
  for (int i = 0; i < 300; i++) {
    const int64_t a = generator_below(&generator, COUNT),
                  b = (a + 1 + generator_below(&generator, COUNT - 1)) % COUNT;
    void *const was = segments[a].k;
    segments[a].k = (float *)segments[b].v + 1;
    fovea_error error;
    assert_int_equal(fovea_check_claims(&claims, &error), FOVEA_ERROR_ARGUMENT);
    char name[64];
    snprintf(name, sizeof name, "sequences[%d].segments[0].k", (int)a);
    assert_error_has_field(&error);
    assert_non_null(strstr(error.text, name)); /* the field is of either side */
    segments[a].k = was;
  }
  assert_int_equal(fovea_check_claims(&claims, NULL), FOVEA_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_claims),
      cmocka_unit_test(test_many_claims),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
