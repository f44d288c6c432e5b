/* One problem with its own tensors, run and compared. Everything here fails the running cmocka test, with a text
 * that names the problem, the element and its bits. Call it from the test's own thread. */
#ifndef FOVEA_TESTS_TRIAL_H
#define FOVEA_TESTS_TRIAL_H

#include "describe.h"
#include "isas.h"
#include "masks.h"
#include "rules.h"
#include "tensor.h"

#include <fovea/terms.h>

struct rule_table; /* patterns.h */

struct trial {
  fovea_problem problem;          /* its arrays stay the caller's */
  const char *isa;                /* of the latest trial_run(); NULL: the best */
  const struct rule_table *rules; /* what its patterns mean, for the contract; NULL: no patterns, or no contract */
  struct tensor q, k, v, o, lse;
  struct tensor scores;     /* with a scores.kind */
  struct tensor max_logits; /* one row of heads for each batch element; with max_logits */
  struct tensor entropy;
  struct tensor column_sums;          /* a row for each head of each batch element */
  struct tensor top_keys, top_scores; /* with a top_k; each key is an int64 in the memory of two floats */
  struct mask mask;
  struct tensor sinks;                             /* one row */
  struct tensor terms[FOVEA_POSITION_TERMS_LIMIT]; /* numbers of position terms: batch element, head, place */
  const float *term_numbers[FOVEA_POSITION_TERMS_LIMIT];
  struct tensor shaw_keys, shaw_values;             /* Shaw's tables: a row for each distance, heads */
  struct tensor key_centre, key_scale, value_scale; /* of int8 mode: a row for each kv head, or for all */
  struct guarded head_scales, row_scales;           /* doubles */
};

/* Creates tensors with the problem's types and strides: inputs random, outputs untouched. With the same seed,
 * tensors of the same shape and type hold the same in any layout. */
struct trial trial_create(const fovea_problem *problem, uint64_t seed);
struct trial trial_create_at(const fovea_problem *problem, uint64_t seed, enum guarded_edge edge);

/* Where a part of a problem begins: indices along the batch, head and row axes. */
struct part {
  int64_t batch, head, row;
};

/* Copies the inputs of a part of another problem, from these indices of Q and of K and V on. Masks and sinks go
 * with Q. */
struct trial trial_of_part(const fovea_problem *problem, const struct trial *whole, struct part q, struct part kv);
/* A trial with the same inputs and its own outputs. Destroy it before the other. */
struct trial trial_sharing_inputs(const struct trial *other);
void trial_destroy(struct trial *trial);

/* The tensors for the library, after tests wrote to the inputs. */
fovea_tensors trial_tensors(const struct trial *trial);

/* Makes the outputs untouched. */
void trial_clear(struct trial *trial);
/* Makes outputs readable that the library wrote. trial_run() does so itself. */
void trial_load(const struct trial *trial);

/* Makes the outputs untouched again, and runs on that instruction set (NULL: the best). */
void trial_run(struct trial *trial, const char *isa, const fovea_execution *execution);

/* Whether the rules and the mask let the row see the key. Both count from the batch element's first. */
int trial_sees(const struct trial *trial, int64_t batch, int64_t head, int64_t row, int64_t key);

/* Whether nothing outside the elements of the outputs was written. */
int trial_gaps_untouched(const struct trial *trial);

/* Whether O, LSE and scores have the same bits. If `expected` has O in another type, its numbers are rounded to the
 * actual type. Rows are compared in the order of indices, so layouts may differ. */
void assert_same_outputs(const struct trial *actual, const struct trial *expected);

/* Compares some rows of two trials. */
void assert_same_part(const struct trial *actual, struct part actual_first, const struct trial *expected,
                      struct part expected_first, int64_t batches, int64_t heads, int64_t rows);

/* Compares with tests/contract.c, or with modes/contract_modes.c if the problem has a mode, for at most about
 * `budget` products. If that is not enough for all rows, the first, the last and a fixed choice of others are
 * compared. */
void assert_contract(const struct trial *trial, int64_t budget);

#endif
