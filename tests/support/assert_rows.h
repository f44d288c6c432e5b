/* Compare what one row, head or batch element of a trial holds with what it should hold, bit by bit. Each fails the
 * running cmocka test with the place, both numbers and the problem. */
#ifndef FOVEA_TESTS_ASSERT_ROWS_H
#define FOVEA_TESTS_ASSERT_ROWS_H

#include "trial.h"

/* `what` names the comparison. */
void assert_row(const struct trial *trial, const char *what, struct part at, const float *expected_o,
                const float *expected_lse);
void assert_scores(const struct trial *trial, const char *what, struct part at, const float *expected);
/* The keys with the largest scores. */
void assert_top(const struct trial *trial, struct part at, const int64_t *keys, const float *scores);
void assert_entropy(const struct trial *trial, struct part at, float expected);
/* Of one head: a sum for each key. */
void assert_columns(const struct trial *trial, int64_t batch, int64_t head, const float *expected);
/* Of one batch element: one for each head. */
void assert_max_logits(const struct trial *trial, int64_t batch, const float *expected);

#endif
