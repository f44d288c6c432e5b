/* Rules of patterns: one predicate by the words of fovea/pattern.h, random rules, and masks of the same meaning. */
#ifndef FOVEA_TESTS_PATTERNS_H
#define FOVEA_TESTS_PATTERNS_H

#include "problems.h"
#include "trial.h"

#include <fovea/pattern.h>

/* Whether a row sees a key: both as the pattern counts them. It shares no code with the library. */
int rule_sees(const fovea_rule *rule, int64_t row, int64_t key);

enum { MADE_RULES = 64, MADE_LISTS = 128 };

/* Rules with their arrays, joined by pointers. Must not be copied. Clear it first; rules_free() frees the arrays.
 */
struct made_rules {
  fovea_rule rules[MADE_RULES];
  int count;
  int64_t *lists[MADE_LISTS];
  int list_count;
};

/* A random rule of one kind for that many rows, from `first_row` on, and keys. */
const fovea_rule *rule_random(struct made_rules *made, struct generator *generator, fovea_rule_kind kind,
                              int64_t first_row, int64_t rows, int64_t keys);
/* Several of them, joined: up to 2^depth parts. */
const fovea_rule *rule_random_joined(struct made_rules *made, struct generator *generator, int depth,
                                     int64_t first_row, int64_t rows, int64_t keys);
/* Edges of a sparse graph: most rows see few keys, in any order and sometimes twice; some see none, or a cluster.
 */
const fovea_rule *rule_sparse(struct made_rules *made, struct generator *generator, int64_t rows, int64_t keys);
/* Adds a rule that the caller made. */
const fovea_rule *rule_keep(struct made_rules *made, fovea_rule rule);

void rules_free(struct made_rules *made);

/* A pattern of one rule; fails the test if the library refuses it. */
fovea_pattern *pattern_of(const fovea_rule *rule, int64_t first_row, int64_t rows, int64_t keys, int by_row);

enum { TABLE_HEADS = 16 };

/* What the patterns of a problem let rows see: of each batch element and query head, NULL for everything. Rows count
 * from the batch element's first if `by_row` is 1. */
struct rule_table {
  const fovea_rule *of[LISTED_ENTRIES][TABLE_HEADS];
  int by_row;
};

/* The same rule for all batch elements and heads. */
struct rule_table same_rules(const fovea_rule *rule, int by_row);

/* A trial of the same problem, made with the same seed, with a mask of all keys in place of the patterns and of the
 * problem's own mask. */
struct trial masked_trial(const struct trial *patterned, uint64_t seed, const struct rule_table *rules);

#endif
