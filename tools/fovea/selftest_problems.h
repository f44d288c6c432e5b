/* The problems of `fovea selftest`: their descriptions, their tensors, and the digest of an answer. Everything here
 * is integer arithmetic or exact in f32, so that every machine computes the same problems. */
#ifndef FOVEA_TOOLS_SELFTEST_PROBLEMS_H
#define FOVEA_TOOLS_SELFTEST_PROBLEMS_H

#include <fovea/fovea.h>
#include <fovea/pattern.h>
#include <fovea/terms.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct selftest_shape {
  int64_t batch, heads, kv_heads, q_len, kv_len, qk_dim, v_dim;
} selftest_shape;

/* What the tensors hold besides uniform numbers in [-2, 2). */
typedef enum selftest_kind {
  SELFTEST_UNIFORM,
  SELFTEST_GARBAGE,        /* special keys and their values are NaNs of all kinds and infinities */
  SELFTEST_MINUS_INFINITY, /* special keys have a score of -Inf */
  SELFTEST_PLUS_INFINITY,  /* special keys have a score of +Inf */
  SELFTEST_STRANGE_VALUES, /* special keys have a NaN or an infinity in one column of their values */
  SELFTEST_ZEROS,          /* zeros of both signs everywhere */
  SELFTEST_SUBNORMAL,      /* values near the smallest numbers of the type */
  SELFTEST_CONSTANT        /* all keys are alike, and all values */
} selftest_kind;

typedef struct selftest_content {
  selftest_kind kind;
  int64_t first_key, end_key; /* the special ones, in every batch element and head */
} selftest_content;

/* How numbers are stored. A number of 16 bits is an f32 number without its last bits. */
typedef struct selftest_types {
  fovea_type q, k, v, o;
} selftest_types;

/* Which elements of a mask hide their key. The others of an additive mask hold 0 or uniform numbers. */
typedef enum selftest_pattern {
  SELFTEST_HOLES,  /* one in four */
  SELFTEST_FEW,    /* all but one in 32 */
  SELFTEST_TILES,  /* all, none or half of 64 rows and 64 keys */
  SELFTEST_BORDER, /* keys from 3 row + 3 on */
  SELFTEST_STRANGE /* one in four; some numbers are NaN, infinite, or so large that products overflow */
} selftest_pattern;

/* An extent of 1 repeats the mask along the axis. The mask may have fewer keys than the problem. */
typedef struct selftest_mask {
  fovea_mask_type type;
  selftest_pattern pattern;
  int64_t batch, heads, rows, keys;
} selftest_mask;

/* What came after the fields above it in selftest_problem: patterns, position terms, scales, normalisers, outputs.
 */
typedef struct selftest_features {
  /* A pattern of the positions from 0 on that the problem has: one rule, or one for each of `rule_heads` heads. */
  const fovea_rule *rule;
  const fovea_rule *const *rules;
  int64_t rule_heads;
  bool by_row;

  const fovea_position_term *terms;
  int64_t term_count;
  float term_gain; /* the factor of their numbers, a power of two; 0 stands for 1 */
  fovea_scales scales;

  fovea_normaliser normaliser;
  fovea_divisor divisor;
  double divisor_value, sigmoid_bias;

  const fovea_range *score_part; /* scores.heads, scores.rows, scores.keys; NULL: all */
  bool max_logits, entropy, column_sums;
  const fovea_range *column_rows; /* NULL: all */
  int64_t top_k;

  bool leaky; /* LeakyReLU of the products */
  double leaky_slope;
  fovea_shaw shaw;
  int64_t shaw_distance;
  bool shaw_of_heads; /* a table for each head */

  fovea_mode score_mode, value_mode;
  fovea_channels key_centre, key_scale, value_scale;
} selftest_features;

typedef struct selftest_problem {
  const char *name;
  selftest_shape shape;
  selftest_types types;
  selftest_content content;
  double scale;     /* 0 stands for the default */
  float gain;       /* the factor of queries, a power of two; 0 stands for 1 */
  float key_gain;   /* the factor of the special keys */
  float value_gain; /* the factor of all values */
  bool transposed;  /* the tensors lie as (batch, rows, heads, dim) */

  /* Rules, as in fovea_problem. A window or an offset counts only if its flag is set. */
  bool causal, has_window, has_offset;
  int64_t window_left, window_right;
  int64_t chunk_size, chunk_left, chunk_right;
  int64_t offset;
  const int64_t *offsets, *q_lens, *kv_lens;
  const int32_t *cu_seqlens_q, *cu_seqlens_kv;

  selftest_mask mask;
  double softcap;
  fovea_sink sink;
  bool strange_sinks; /* infinite, NaN and very large ones among them */

  fovea_score_output scores;
  selftest_features features;
} selftest_problem;

/* Problems, and the digest that selftest_digest() must give for each. They are final: problems are added at the end
 * of a table, with their digests, and none is changed or removed. */
typedef struct selftest_table {
  const char *option; /* prints the digests */
  const selftest_problem *problems;
  int count;
  const uint64_t *digests;
} selftest_table;

enum { SELFTEST_TABLES = 5, SELFTEST_MODES = SELFTEST_TABLES - 1 };
/* All of them, modes last; and each, in a file of its own. */
extern const selftest_table *const selftest_tables[SELFTEST_TABLES];
extern const selftest_table selftest_basic_table, selftest_pattern_table, selftest_term_table,
    selftest_output_table, selftest_mode_table;

/* Tensors of features; NULL where there is none. */
typedef struct selftest_extras {
  double *head_scales, *row_scales;
  float *terms[FOVEA_POSITION_TERMS_LIMIT];
  const float *term_pointers[FOVEA_POSITION_TERMS_LIMIT];
  float *shaw_keys, *shaw_values;
  float *key_centre, *key_scale, *value_scale;
  float *max_logits, *entropy, *top_scores, *column_sums;
  int64_t *top_keys;
  int64_t max_logit_count, entropy_count, top_count, column_count; /* elements of each */
} selftest_extras;

/* A problem with its tensors. O and LSE are filled with zeros, other outputs with a number that is none of theirs:
 * elements that nobody writes are part of the digest, too. */
typedef struct selftest_data {
  const selftest_problem *description;
  fovea_problem problem; /* without its pattern */
  void *q, *k, *v, *o;
  float *lse, *sinks;
  void *mask;          /* NULL if there is none */
  float *scores;       /* NULL if they are not wanted */
  int64_t score_count; /* elements of scores that are only a part; else 0 */
  selftest_extras extras;
} selftest_data;

/* Returns false if memory runs out. */
bool selftest_prepare(const selftest_problem *description, selftest_data *data);
void selftest_release(selftest_data *data);
/* Sets the tensors for a call. */
void selftest_set_tensors(selftest_data *data, fovea_tensors *tensors);

/* Takes in the bits of O, then of LSE, then, if the problem asks for them, of scores, maximum logits, entropy, top
 * keys, their scores, and column sums, each in the order of the indices (batch, head, row, dim or key) whatever the
 * strides. */
uint64_t selftest_digest(const selftest_data *data);

/* Features of a problem: selftest_features.c. Sets what is not a tensor; makes the tensors, false if memory runs
 * out; releases, sets and takes them in as above. */
void selftest_describe_features(const selftest_features *features, fovea_problem *problem);
bool selftest_prepare_extras(selftest_data *data);
void selftest_release_extras(selftest_data *data);
void selftest_set_extras(selftest_data *data, fovea_tensors *tensors);
uint64_t selftest_absorb_extras(uint64_t digest, const selftest_data *data);
/* Makes the pattern, if there is one; the caller destroys it. */
fovea_status selftest_make_pattern(const selftest_data *data, fovea_pattern **pattern, fovea_error *error);

#endif
