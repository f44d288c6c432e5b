/* The memory of patterns: requests that are turned down, sizes that do not grow with rows times keys, nothing at
 * all.
 */
#include "support/check.h"
#include "support/patterns.h"
#include "support/refusals.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 90, KEYS = 200 };

/* Counts what it gives. From request `allowed` on it gives nothing. */
struct bank {
  int requests, held, allowed;
  size_t bytes, most;
};

static void *bank_allocate(void *context, size_t size, size_t alignment) {
  struct bank *bank = context;
  if (bank->requests++ >= bank->allowed) return NULL;
  bank->held++;
  bank->bytes += size;
  if (size > bank->most) bank->most = size;
  unsigned char *memory = malloc(size + 2 * alignment);
  assert_non_null(memory);
  unsigned char *aligned = memory + alignment - (uintptr_t)memory % alignment;
  aligned[-1] = (unsigned char)(aligned - memory);
  memset(aligned, 0xff, size);
  return aligned;
}

static void bank_release(void *context, void *pointer) {
  struct bank *bank = context;
  unsigned char *aligned = pointer;
  bank->held--;
  memset(pointer, 0xff, 64); /* nothing is read of it any more */
  free(aligned - aligned[-1]);
}

/* Whichever request is turned down: the status says so, and all memory is given back. Only memory that is given
 * back in any case may fail, as the pattern then keeps what it has. */
static void test_no_memory(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(12, 60); seed++) {
    struct generator generator = {seed};
    struct made_rules made = {0};
    fovea_pattern_options options;
    fovea_pattern_options_init(&options, rule_random_joined(&made, &generator, 3, 0, ROWS, KEYS), ROWS, KEYS);
    int made_at = 0, refused = 0;
    for (int allowed = 0; made_at == 0 || allowed <= made_at; allowed++) {
      struct bank bank = {.allowed = allowed};
      fovea_pattern *pattern = (fovea_pattern *)(void *)&bank;
      fovea_error error;
      options.allocator = (fovea_allocator){&bank, bank_allocate, bank_release};
      const fovea_status status = fovea_pattern_create(&options, &pattern, &error);
      if (status == FOVEA_OK) {
        if (bank.requests <= allowed && made_at == 0) made_at = allowed + 1;
        assert_int_equal(bank.held, 2);
        assert_true(fovea_pattern_bytes(pattern) <= bank.bytes);
        fovea_pattern_destroy(pattern);
      } else {
        const char *const words[] = {"No memory for", NULL};
        assert_int_equal(status, FOVEA_ERROR_MEMORY);
        assert_says(&error, FOVEA_ERROR_MEMORY, words);
        assert_true(strstr(error.text, " bytes") != NULL || strstr(error.text, " 90 rows see") != NULL);
        assert_null(pattern);
        refused++;
      }
      assert_int_equal(bank.held, 0);
    }
    assert_true(refused >= 2);
    rules_free(&made);
  }
}

/* Nothing to see, and nothing that may see it. */
static void test_nothing(void **state) {
  (void)state;
  for (int kind = FOVEA_RULE_CAUSAL; kind <= FOVEA_RULE_NEIGHBOURHOOD; kind++) {
    struct generator generator = {(uint64_t)kind};
    struct made_rules made = {0};
    const fovea_rule *rule = rule_random(&made, &generator, (fovea_rule_kind)kind, 0, 1, 1);
    for (int sizes = 0; sizes < 3; sizes++) {
      fovea_pattern *pattern;
      fovea_pattern_options options;
      fovea_pattern_options_init(&options, rule, sizes & 1, sizes & 2 ? 1 : 0);
      const fovea_status status = fovea_pattern_create(&options, &pattern, NULL);
      if (status == FOVEA_OK) {
        assert_int_equal(fovea_pattern_sees(pattern, 0, 0, 0), 0);
        fovea_pattern_destroy(pattern);
      } else { /* lists that name what is not there */
        assert_int_equal(status, FOVEA_ERROR_ARGUMENT);
        assert_true(rule->count > 0);
      }
    }
    rules_free(&made);
  }
}

static size_t bytes_of(const fovea_rule *rule, int64_t rows, int64_t keys) {
  fovea_error error;
  fovea_pattern *pattern;
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, rule, rows, keys);
  if (fovea_pattern_create(&options, &pattern, &error) != FOVEA_OK) fail_msg("%s", error.text);
  const size_t bytes = fovea_pattern_bytes(pattern);
  fovea_pattern_destroy(pattern);
  return bytes;
}

/* Memory does not grow with rows times keys. */
static void test_sizes(void **state) {
  (void)state;
  enum { MILLION = 1000000, GLOBALS = 64 };
  int64_t positions[GLOBALS];
  const int64_t most = INT32_MAX;
  for (int i = 0; i < GLOBALS; i++) positions[i] = i;
  const fovea_rule causal = fovea_rule_causal(), window = fovea_rule_window(511, 0),
                   global = fovea_rule_global(positions, GLOBALS), either = fovea_rule_or(&window, &global),
                   all = fovea_rule_and(&causal, &either), rows = fovea_rule_rows(7, 9);
  assert_true(bytes_of(&window, MILLION, MILLION) < 1000000);
  assert_true(bytes_of(&causal, MILLION, MILLION) < 1000000);
  assert_true(bytes_of(&all, MILLION, MILLION) < 1000000);
  assert_true(bytes_of(&all, 100, most) < 10000);
  assert_true(bytes_of(&rows, 100, most) < 10000);
  positions[0] = most - 1;
  assert_true(bytes_of(&global, 100, most) < 10000);
  fovea_pattern *pattern;
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, &causal, 100, most);
  options.first_row = most - 100;
  assert_int_equal(fovea_pattern_create(&options, &pattern, NULL), FOVEA_OK);
  assert_int_equal(fovea_pattern_sees(pattern, 0, most - 1, most - 1), 1);
  assert_int_equal(fovea_pattern_sees(pattern, 0, most - 2, most - 1), 0);
  assert_true(fovea_pattern_bytes(pattern) < 10000);
  fovea_pattern_destroy(pattern);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
