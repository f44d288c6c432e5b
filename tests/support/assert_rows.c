#include "assert_rows.h"

#include "check.h"

#include <string.h>

void assert_row(const struct trial *trial, const char *what, struct part at, const float *expected_o,
                const float *expected_lse) {
  const float *o = tensor_row(&trial->o, at.batch, at.head, at.row);
  const float *lse = tensor_row(&trial->lse, at.batch, at.head, at.row);
  const size_t size = (size_t)trial->o.dim * sizeof(float);
  if (memcmp(o, expected_o, size) == 0 && memcmp(lse, expected_lse, sizeof *lse) == 0) return;
  int64_t d = 0;
  while (d < trial->o.dim && bits_of(o[d]) == bits_of(expected_o[d])) d++;
  const float actual = d < trial->o.dim ? o[d] : *lse, expected = d < trial->o.dim ? expected_o[d] : *expected_lse;
  char problem[DESCRIPTION_SIZE];
  problem_describe(&trial->problem, problem, sizeof problem);
  fail_msg("%s: %s of batch %lld head %lld row %lld dim %lld is %08x (%.9g), not %08x (%.9g); %s", what,
           d < trial->o.dim ? "O" : "LSE", (long long)at.batch, (long long)at.head, (long long)at.row, (long long)d,
           (unsigned)bits_of(actual), (double)actual, (unsigned)bits_of(expected), (double)expected, problem);
}

void assert_scores(const struct trial *trial, const char *what, struct part at, const float *expected) {
  const float *scores = tensor_row(&trial->scores, at.batch, at.head, at.row);
  int64_t key = 0;
  while (key < trial->scores.dim && bits_of(scores[key]) == bits_of(expected[key])) key++;
  if (key == trial->scores.dim) return;
  char problem[DESCRIPTION_SIZE];
  problem_describe(&trial->problem, problem, sizeof problem);
  fail_msg("%s: score of batch %lld head %lld row %lld key %lld is %08x (%.9g), not %08x (%.9g); %s", what,
           (long long)at.batch, (long long)at.head, (long long)at.row, (long long)key,
           (unsigned)bits_of(scores[key]), (double)scores[key], (unsigned)bits_of(expected[key]),
           (double)expected[key], problem);
}

void assert_top(const struct trial *trial, struct part at, const int64_t *keys, const float *scores) {
  const int64_t *actual = (const int64_t *)(void *)tensor_row(&trial->top_keys, at.batch, at.head, at.row);
  const float *actual_scores = tensor_row(&trial->top_scores, at.batch, at.head, at.row);
  for (int64_t n = 0; n < trial->top_scores.dim; n++) {
    if (actual[n] == keys[n] && bits_of(actual_scores[n]) == bits_of(scores[n])) continue;
    char problem[DESCRIPTION_SIZE];
    problem_describe(&trial->problem, problem, sizeof problem);
    fail_msg("top key %lld of batch %lld head %lld row %lld is %lld (%.9g), not %lld (%.9g); %s", (long long)n,
             (long long)at.batch, (long long)at.head, (long long)at.row, (long long)actual[n],
             (double)actual_scores[n], (long long)keys[n], (double)scores[n], problem);
  }
}

void assert_entropy(const struct trial *trial, struct part at, float expected) {
  const float actual = *tensor_row(&trial->entropy, at.batch, at.head, at.row);
  if (bits_of(actual) == bits_of(expected)) return;
  char problem[DESCRIPTION_SIZE];
  problem_describe(&trial->problem, problem, sizeof problem);
  fail_msg("entropy of batch %lld head %lld row %lld is %08x (%.9g), not %08x (%.9g); %s", (long long)at.batch,
           (long long)at.head, (long long)at.row, (unsigned)bits_of(actual), (double)actual,
           (unsigned)bits_of(expected), (double)expected, problem);
}

void assert_columns(const struct trial *trial, int64_t batch, int64_t head, const float *expected) {
  const float *actual = tensor_row(&trial->column_sums, batch, head, 0);
  for (int64_t j = 0; j < trial->column_sums.dim; j++) {
    if (bits_of(actual[j]) == bits_of(expected[j])) continue;
    char problem[DESCRIPTION_SIZE];
    problem_describe(&trial->problem, problem, sizeof problem);
    fail_msg("column sum of batch %lld head %lld key %lld is %08x (%.9g), not %08x (%.9g); %s", (long long)batch,
             (long long)head, (long long)j, (unsigned)bits_of(actual[j]), (double)actual[j],
             (unsigned)bits_of(expected[j]), (double)expected[j], problem);
  }
}

void assert_max_logits(const struct trial *trial, int64_t batch, const float *expected) {
  const float *actual = tensor_row(&trial->max_logits, batch, 0, 0);
  for (int64_t head = 0; head < trial->max_logits.dim; head++) {
    if (bits_of(actual[head]) == bits_of(expected[head])) continue;
    char problem[DESCRIPTION_SIZE];
    problem_describe(&trial->problem, problem, sizeof problem);
    fail_msg("max_logits of batch %lld head %lld is %08x (%.9g), not %08x (%.9g); %s", (long long)batch,
             (long long)head, (unsigned)bits_of(actual[head]), (double)actual[head],
             (unsigned)bits_of(expected[head]), (double)expected[head], problem);
  }
}
