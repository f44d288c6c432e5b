/* A plain problem in each mode, some of whose numbers a test changes: one head, three blocks of keys. */
#ifndef FOVEA_TESTS_CHANGED_H
#define FOVEA_TESTS_CHANGED_H

#include "support/modes.h"
#include "support/problems.h"
#include "support/trial.h"

enum { ROWS = 40, KEYS = 300, DIM = 20, BLOCK = 128 };

float *q_of(struct trial *trial, int64_t row);
float *k_of(struct trial *trial, int64_t key);
float *v_of(struct trial *trial, int64_t key);
uint32_t o_bits(const struct trial *trial, int64_t row, int64_t d);
uint32_t lse_bits(const struct trial *trial, int64_t row);

/* What a test changes, and what it then expects beside the contract's bits; either may do nothing. The clean trial
 * has the changed one's problem, and other numbers. */
typedef void change(struct trial *trial, float number);
typedef void comparison(const struct trial *changed, const struct trial *clean);

/* In every pair of modes, or in the pairs of a list that ends with 0, on each set; once more with K and V in bf16,
 * for the contract's bits alone. */
void run_changed(change *change_it, float number, comparison *check);
void run_changed_in(const int *modes, change *change_it, float number, comparison *check);

void assert_row_is_nan(const struct trial *trial, int64_t row);
void all_rows_are_nan(const struct trial *changed, const struct trial *clean);
void nothing_differs(const struct trial *changed, const struct trial *clean);

#endif
