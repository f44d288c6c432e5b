/* Patterns as text: "causal & (window 511 | global 0,1,2)". */
#ifndef FOVEA_TOOLS_PATTERN_TEXT_H
#define FOVEA_TOOLS_PATTERN_TEXT_H

#include "failure.h"
#include <fovea/pattern.h>

enum { TEXT_RULES = 256, TEXT_ARRAYS = 512 };

/* Rules that texts say, with the arrays that they point to. Clear it first; it must not be copied. */
typedef struct pattern_rules {
  int64_t keys; /* of the pattern: a tree counts from there */
  fovea_rule rules[TEXT_RULES];
  struct rule_place {
    const char *name, *text; /* the option, and its text */
    const char *at;          /* where in the text the rule begins */
  } places[TEXT_RULES];
  int count;
  int64_t *arrays[TEXT_ARRAYS];
  int array_count;
} pattern_rules;

/* Reads a text, and files that it names. `name` is the option that it belongs to. Returns the rule of the whole
 * text, or NULL, and then `why` names the place in the text. */
const fovea_rule *pattern_text_read(pattern_rules *rules, const char *name, const char *text, failure *why);

/* The same for the text of one rule's arguments: `kind` is its name in a pattern. Words end at the separator. */
const fovea_rule *pattern_text_short(pattern_rules *rules, const char *name, const char *kind, const char *text,
                                     char separator, failure *why);

/* One more rule, made of others, or NULL. */
const fovea_rule *pattern_rules_add(pattern_rules *rules, fovea_rule rule, failure *why);

void pattern_rules_free(pattern_rules *rules);

#endif
