/* Every call over quantised caches stays below FOVEA_STACK_SIZE: attention in every mode, appending, copying; every
 * format, in rows, panels and other orders, on every instruction set. */
#include "narrow.h"

#include "support/check.h"
#include "support/modes.h"
#include "support/painted.h"
#include "support/stack_calls.h"
#include "support/trial.h"

#include <stdio.h>
#include <string.h>

enum { HEADS = 1, ROWS = 160 };

/* A segment, both of whose sides have formats, and its sequence. */
struct cache {
  fovea_segment segment;
  fovea_sequence sequence;
  struct narrow sides[2];
};

static void cache_make(struct cache *cache, const fovea_format *format, int64_t dim, int64_t rows, int panels,
                       struct generator *generator) {
  memset(cache, 0, sizeof *cache);
  cache->segment.rows = rows;
  if (panels) cache->segment.k_layout = FOVEA_KEYS_IN_PANELS;
  for (int values = 0; values < 2; values++)
    narrow_make(&cache->sides[values], format, HEADS, dim, 0, &cache->segment, values, generator);
  cache->sequence = fovea_sequence_of(&cache->segment, 1);
}

static void cache_end(struct cache *cache) {
  narrow_destroy(&cache->sides[0]);
  narrow_destroy(&cache->sides[1]);
}

/* Ways in which the rows of a format may lie: rows, panels, other orders. */
enum { WAYS = 4 };

/* Returns 0 if the format cannot lie so. */
static int set_way(fovea_format *format, int way, int64_t dim) {
  static const fovea_code_order orders[] = {FOVEA_ORDER_DIM_PAIRS, FOVEA_ORDER_KEY_PAIRS, FOVEA_ORDER_DIMS};
  if (way == 0) return fovea_format_bytes(format, dim, NULL) > 0;
  if (way == 1) return fovea_format_panel_bytes(format, dim, NULL) > 0;
  if (format->order != FOVEA_ORDER_ROWS) return 0;
  for (int i = way - 2; i < 3; i += 2) {
    format->order = orders[i];
    format->order_keys = 32;
    if (fovea_format_bytes(format, dim, NULL) > 0) return 1;
  }
  return 0;
}

static void name_case(char text[128], const char *call, int format, int way, int64_t dim, int number) {
  snprintf(text, 128, "%s, %s, way %d, dim %d, %d", call, fovea_format_text((fovea_format_name)format), way,
           (int)dim, number);
}

/* ---- Attention ----------------------------------------------------------------------------------------------- */

static void check_attention(int format, const struct cache *cache, int way, int64_t dim) {
  static const int64_t rows[] = {1, 20};
  static const int all_modes[] = {0, BF16_BOTH, INT8_BOTH, BF16_SCORES, INT8_VALUES};
  for (int i = 0; i < (way == 0 ? 2 * 5 : 2 * 3); i++) {
    char name[128];
    const char *names[MODE_SETS];
    fovea_problem problem;
    fovea_problem_init(&problem, 1, HEADS, HEADS, rows[i % 2], ROWS, dim, dim);
    problem_set_modes(&problem, all_modes[i / 2]);
    problem.causal = 1;
    struct trial trial = trial_create(&problem, 1);
    fovea_tensors tensors = trial_tensors(&trial);
    problem.cache.segmented = 1;
    tensors.k = tensors.v = NULL;
    tensors.cache.sequences = &cache->sequence;
    name_case(name, "attention", format, way, dim, i);
    const int sets = mode_sets_for(&problem, names);
    for (int set = 0; set < sets; set++) assert_small_stacks(name, &problem, &tensors, names[set]);
    trial_destroy(&trial);
  }
}

static void test_attention(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int i = 0; i < NARROW_FORMATS; i++) {
    for (int way = 0; way < WAYS; way++) {
      fovea_format format = narrow_format((fovea_format_name)i);
      struct cache cache;
      if (!set_way(&format, way, 128)) continue;
      cache_make(&cache, &format, 128, ROWS, way == 1, &generator);
      check_attention(i, &cache, way, 128);
      cache_end(&cache);
    }
  }
}

/* ---- Appending and copying ----------------------------------------------------------------------------------- */

/* A call, and all that it needs. */
static struct {
  fovea_new_rows rows;
  fovea_rotary rotary;
  const fovea_sequence *from, *to;
  int64_t dim, end;
  fovea_execution execution;
  fovea_status status;
  fovea_error error;
} call;

static void append(void *context) {
  (void)context;
  call.status = fovea_append(&call.rows, &call.rotary, &call.execution, &call.error);
}

static void copy(void *context) {
  (void)context;
  call.status = fovea_sequence_copy(call.from, call.to, 1, HEADS, call.dim, call.dim, 0, call.end, &call.execution,
                                    &call.error);
}

static void check_call(const char *name, void (*act)(void *context)) {
  act(NULL); /* the linker's work is done then */
  if (call.status != FOVEA_OK) fail_msg("%s: %s", name, call.error.text);
  assert_small_stack(name, act, NULL);
  assert_int_equal(call.status, FOVEA_OK);
}

/* f32 numbers as elements, or as codes again, in rows or not. */
static void check_copies(int format, const struct cache *cache, int way, int64_t dim, float *numbers) {
  char name[128];
  const fovea_segment elements = {.rows = call.end,
                                  .k = numbers,
                                  .v = numbers + HEADS * call.end * dim,
                                  .k_head = dim,
                                  .v_head = dim,
                                  .k_row = HEADS * dim,
                                  .v_row = HEADS * dim};
  const fovea_sequence plain = fovea_sequence_of(&elements, 1);
  struct generator generator = {2};
  struct cache other = {0};
  const fovea_format rows = narrow_format((fovea_format_name)format);
  call.dim = dim;
  for (int i = 0; i < 3; i++) {
    if (i == 2) cache_make(&other, &rows, dim, call.end, 0, &generator);
    call.from = i == 1 ? &plain : &cache->sequence;
    call.to = i == 0 ? &plain : i == 1 ? &cache->sequence : &other.sequence;
    name_case(name, "copy", format, way, dim, i);
    check_call(name, copy);
  }
  cache_end(&other);
}

static void check_appending(int format, struct cache *cache, int way, int64_t dim, const float *numbers) {
  for (int i = 0; i < 2 * 2; i++) {
    char name[128];
    fovea_new_rows_init(&call.rows, 1, HEADS, call.end, dim, dim, numbers, numbers, &cache->sequence);
    fovea_rotary_init(&call.rotary, FOVEA_ROTARY_INTERLEAVED, i % 2 ? 128 : 0);
    if (i / 2) call.rows.k_hadamard = call.rows.v_hadamard = dim;
    name_case(name, "append", format, way, dim, i);
    for (const char *const *isa = whole_isas(); *isa != NULL; isa++) {
      call.execution.isa = *isa;
      check_call(name, append);
    }
    call.execution.isa = NULL;
  }
}

/* The most dims that a row may have, and usual ones. */
static void test_rows(void **state) {
  static const int64_t dims[] = {128, 4096};
  (void)state;
  struct generator generator = {1};
  fovea_execution_init(&call.execution);
  call.execution.threads = 1;
  for (int i = 0; i < NARROW_FORMATS * WAYS * 2; i++) {
    const int way = i / 2 % WAYS, number = i / 2 / WAYS;
    const int64_t dim = dims[i % 2];
    fovea_format format = narrow_format((fovea_format_name)number);
    struct cache cache;
    if (!set_way(&format, way, dim)) continue;
    call.end = 32;
    float *numbers = calloc((size_t)(2 * HEADS * call.end * dim), sizeof *numbers);
    assert_non_null(numbers);
    for (int64_t j = 0; j < HEADS * call.end * dim; j++) numbers[j] = generator_uniform(&generator);
    cache_make(&cache, &format, dim, call.end, way == 1, &generator);
    check_appending(number, &cache, way, dim, numbers);
    check_copies(number, &cache, way, dim, numbers);
    cache_end(&cache);
    free(numbers);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_attention), cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
