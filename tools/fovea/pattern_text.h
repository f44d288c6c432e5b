/* Patterns as text: "causal & (window 511 | global 0,1,2)". */
#ifndef FOVEA_TOOLS_PATTERN_TEXT_H
#define FOVEA_TOOLS_PATTERN_TEXT_H

#include "pattern_reader.h"

enum { TEXT_RULES = 256 };

/* Rules that texts say, with the arrays that they point to. Clear it first; it must not be copied. */
struct pattern_rules {
  int64_t rows_end, keys; /* of the pattern: random blocks reach to there, and a tree counts from there */
  fovea_rule rules[TEXT_RULES];
  struct rule_place {
    const char *name, *text; /* the option, and its text */
    const char *at;          /* where in the text the rule begins */
  } places[TEXT_RULES];
  int count;
  reader_arrays arrays;
};

/* Reads a text, and files that it names. `name` is the option that it belongs to. Returns the rule of the whole
 * text, or NULL, and then `why` names the place in the text. */
const fovea_rule *pattern_text_read(pattern_rules *rules, const char *name, const char *text, failure *why);

/* The same for the arguments of one rule: "indptr.npy,indices.npy", with a comma between words, and a list or a
 * file, which is one word. */
const fovea_rule *pattern_text_csr(pattern_rules *rules, const char *name, const char *text, failure *why);
const fovea_rule *pattern_text_global(pattern_rules *rules, const char *name, const char *text, failure *why);

/* One more rule, made of others, or NULL. */
const fovea_rule *pattern_rules_add(pattern_rules *rules, fovea_rule rule, failure *why);

void pattern_rules_free(pattern_rules *rules);

#endif
