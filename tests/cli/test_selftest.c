/* `fovea selftest` notices errors: the same code with wrong tables of digests. In other programs of this file,
 * without WRONG_PROBLEMS, only digests of features, rotary embeddings, layers and parts of models are wrong;
 * without WRONG_FEATURES, features are right, too. With NO_ROTARY only layers and parts are wrong, with NO_LAYERS
 * only parts. */
#include "tools/fovea/commands.h"
#include "tools/fovea/selftest_layers.h"
#include "tools/fovea/selftest_parts.h"
#include "tools/fovea/selftest_problems.h"
#include "tools/fovea/selftest_rotary.h"

#include <stdio.h>

#include "support/check.h" /* last: cmocka has a macro fail() */

static const selftest_problem problems[] = {
    {"first", .shape = {1, 1, 1, 1, 3, 4, 4}},
    {"second", .shape = {1, 1, 1, 2, 3, 4, 4}},
};
static const uint64_t digests[] = {1, 2};

static const fovea_rule rule = {.kind = FOVEA_RULE_CAUSAL};
static const selftest_problem other_problems[] = {
    {"another", .shape = {1, 1, 1, 2, 3, 4, 4}, .features = {.rule = &rule, .top_k = 1}}};

static const selftest_table basic = {"--print", problems, WRONG_PROBLEMS, digests},
                            none = {"--print-none", NULL, 0, NULL},
                            other = {"--print-others", other_problems, WRONG_FEATURES, digests};
const selftest_table *const selftest_tables[SELFTEST_TABLES] = {&basic, &none, &none, &other, &none};

const selftest_rotary selftest_rotaries[] = {{"third", FOVEA_ROTARY_HALVES, 1, 1, 1, 2, 2, .first = 1}};
#ifdef NO_ROTARY
const int selftest_rotary_count = 0;
#else
const int selftest_rotary_count = 1;
#endif
const uint64_t selftest_rotary_digests[] = {3};

const selftest_layer selftest_layers[] = {{"fourth", 3, 2, 1, .packed = false}};
#ifdef NO_LAYERS
const int selftest_layer_count = 0;
#else
const int selftest_layer_count = 1;
#endif
const uint64_t selftest_layer_digests[] = {4};

const selftest_part selftest_parts[] = {{"fifth", SELFTEST_SOFTMAX, 3, 5, .gain = 2}};
const int selftest_part_count = 1;
const uint64_t selftest_part_digests[] = {5};

static const char *first_wrong(void) {
  if (WRONG_PROBLEMS > 0) return "first";
  if (WRONG_FEATURES > 0) return "another";
  if (selftest_rotary_count > 0) return "third";
  return selftest_layer_count > 0 ? "fourth" : "fifth";
}

static void test_wrong_digests_are_noticed(void **state) {
  (void)state;
  fovea_isa_report best;
  fovea_isa_report_init(&best);
  for (int i = 0; !best.usable; i++) assert_int_equal(fovea_isa_at(i, &best), FOVEA_OK);
  char expected[128];
  snprintf(expected, sizeof expected, "%s disagrees on problem '%s'", best.name, first_wrong());

  failure why = {""};
  assert_false(selftest_command(0, NULL, &why));
  assert_string_equal(why.text, expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_wrong_digests_are_noticed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
