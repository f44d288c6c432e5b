#include "assert_rows.h"
#include "check.h"
#include "trial.h"

#include <stdlib.h>
#include <string.h>

/* All scores of both. */
static int both_have_scores(const struct trial *one, const struct trial *other) {
  return one->scores.batch > 0 && other->scores.batch > 0 && one->scores.dim == other->scores.dim &&
         one->scores.rows == one->o.rows && other->scores.rows == other->o.rows &&
         one->scores.heads == one->o.heads && other->scores.heads == other->o.heads &&
         one->scores.batch == one->o.batch && other->scores.batch == other->o.batch;
}

void assert_same_part(const struct trial *actual, struct part actual_first, const struct trial *expected,
                      struct part expected_first, int64_t batches, int64_t heads, int64_t rows) {
  const int64_t dim = actual->o.dim;
  float *numbers = malloc((size_t)dim * sizeof(float));
  assert_non_null(numbers);
  for (int64_t b = 0; b < batches; b++)
    for (int64_t h = 0; h < heads; h++)
      for (int64_t i = 0; i < rows; i++) {
        const struct part at = {actual_first.batch + b, actual_first.head + h, actual_first.row + i};
        const struct part other = {expected_first.batch + b, expected_first.head + h, expected_first.row + i};
        memcpy(numbers, tensor_row(&expected->o, other.batch, other.head, other.row), (size_t)dim * sizeof(float));
        for (int64_t d = 0; d < dim && actual->o.type != expected->o.type; d++)
          numbers[d] = rounded_number(actual->o.type, numbers[d]);
        assert_row(actual, "against another run", at, numbers,
                   tensor_row(&expected->lse, other.batch, other.head, other.row));
        if (actual->entropy.batch > 0 && expected->entropy.batch > 0)
          assert_entropy(actual, at, *tensor_row(&expected->entropy, other.batch, other.head, other.row));
        if (actual->top_keys.dim > 0 && actual->top_keys.dim == expected->top_keys.dim)
          assert_top(actual, at,
                     (const int64_t *)(void *)tensor_row(&expected->top_keys, other.batch, other.head, other.row),
                     tensor_row(&expected->top_scores, other.batch, other.head, other.row));
        if (both_have_scores(actual, expected))
          assert_scores(actual, "against another run", at,
                        tensor_row(&expected->scores, other.batch, other.head, other.row));
      }
  free(numbers);
}

/* Parts of scores of the same shape. */
static void assert_same_score_parts(const struct trial *actual, const struct trial *expected) {
  const struct tensor *one = &actual->scores, *other = &expected->scores;
  if (one->batch != other->batch || one->heads != other->heads || one->rows != other->rows ||
      one->dim != other->dim)
    return;
  for (int64_t b = 0; b < one->batch; b++)
    for (int64_t h = 0; h < one->heads; h++)
      for (int64_t i = 0; i < one->rows; i++) {
        const struct part at = {b, h, i};
        assert_scores(actual, "against another run", at, tensor_row(other, b, h, i));
      }
}

void assert_same_outputs(const struct trial *actual, const struct trial *expected) {
  for (int64_t b = 0; b < actual->max_logits.batch && b < expected->max_logits.batch; b++)
    assert_max_logits(actual, b, tensor_row(&expected->max_logits, b, 0, 0));
  for (int64_t b = 0; b < actual->column_sums.batch && b < expected->column_sums.batch; b++)
    for (int64_t h = 0; h < actual->column_sums.heads; h++)
      assert_columns(actual, b, h, tensor_row(&expected->column_sums, b, h, 0));
  if (!both_have_scores(actual, expected)) assert_same_score_parts(actual, expected);
  const struct part first = {0, 0, 0};
  assert_same_part(actual, first, expected, first, actual->o.batch, actual->o.heads, actual->o.rows);
}
