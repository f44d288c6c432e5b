/* The command line of `fovea attend`, read into numbers. Checks only the form of the text: the library checks
 * whether a number is allowed. */
#ifndef FOVEA_TOOLS_ATTEND_OPTIONS_H
#define FOVEA_TOOLS_ATTEND_OPTIONS_H

#include "options.h"

typedef struct attend_options {
  const char *q, *k, *v, *out;                      /* paths, never NULL after parsing */
  const char *lse, *weights, *trace;                /* NULL: not wanted */
  const char *scores, *column_sums, *top_keys;      /* NULL: not wanted */
  number_list scores_mode, top_k;                   /* one number each */
  const char *mask;                                 /* NULL: none */
  const char *alibi, *relative;                     /* NULL: none */
  const char *shaw_keys, *shaw_values;              /* NULL: none */
  const char *key_centre, *key_scale, *value_scale; /* NULL: none */
  const char *sinks;                                /* a path, or "zero"; NULL: none */
  const char *normaliser;                           /* NULL: the softmax */
  const char *divisor;                              /* NULL: none */
  const char *arithmetic;                           /* NULL: exact */
  const char *isa;                                  /* NULL: the library's choice */
  const char *pattern, *csr, *global;               /* texts of patterns; NULL: none */
  bool help, causal, by_row, allow_amx;
  real_number scale, softcap, sigmoid_bias, leaky_relu;
  type_name cast;     /* Q, K and V are converted to it */
  type_name out_type; /* of O */
  type_name weights_type;
  number_list window; /* left, right */
  number_list chunk;  /* size, left, right */
  number_list offset; /* one number, or one for each batch element */
  number_list q_lens, kv_lens, kv_begins;
  number_list mask_begin; /* one number */
  number_list threads;    /* one number */
} attend_options;

/* The options that describe a problem but for its tensors: rules, mask, pattern, terms, scale, normaliser; threads
 * and isa. `fovea explain` has them, too, in a struct that begins with attend_options. */
extern const option problem_options[];
extern const size_t problem_option_count;
/* Checks them; attend_options_parse() does so itself. */
bool problem_options_check(const attend_options *options, failure *why);

/* Fills every field. With --help no other option is needed. Free the options afterwards in any case. */
bool attend_options_parse(attend_options *options, int argument_count, char **arguments, failure *why);
void attend_options_free(attend_options *options);

#endif
