/* T5's buckets, which a position term adds numbers of: scores of a table that holds the buckets' own numbers,
 * divided by 64. */
#include "call.h"

/* Row i and key j are at distance j - i, from -(n - 1) to n - 1: the case has all of them in ascending order. */
bool prepare_buckets(const struct test_case *test, struct call *call) {
  const struct array *distances = case_input(test, "relative_position"), *buckets = case_output(test, "bucket_f64");
  const int64_t rows = (distances->count + 1) / 2, *from = distances->data, *to = buckets->data;
  for (int64_t i = 0; i < distances->count; i++)
    if (from[i] != i - (rows - 1)) return CALL_REFUSED(call, "distances do not ascend by one");
  const int64_t count = (int64_t)case_number(test, "num_buckets", 0);
  call->term = fovea_term_t5(1, count, (int64_t)case_number(test, "max_distance", 0),
                             (int)case_number(test, "bidirectional", 0));
  fovea_problem_init(&call->problem, 1, 1, 1, rows, rows, 1, 1);
  fovea_problem_set_terms(&call->problem, &call->term, 1);
  call->problem.scores.kind = FOVEA_SCORES_BIASED;

  float *table = call_memory(call, count, sizeof *table), *ones = call_memory(call, rows, sizeof *ones);
  float *scores = call_memory(call, rows * rows, sizeof *scores);
  const float *zeros = call_memory(call, rows, sizeof *zeros);
  for (int64_t i = 0; i < count; i++) table[i] = (float)i / 64;
  for (int64_t i = 0; i < rows; i++) ones[i] = 1.0f;
  for (int64_t i = 0; i < rows * rows; i++) scores[i] = (float)to[i % rows - i / rows + rows - 1] / 64;
  call->term_numbers = table;
  fovea_tensors_init(&call->tensors, zeros, zeros, ones, NULL, NULL);
  call->tensors.terms = &call->term_numbers;
  call->own_expected[0] = (struct array){.element = ELEMENT_F32, .rank = 1, .count = rows, .data = ones};
  call->own_expected[1] = (struct array){.element = ELEMENT_F32, .rank = 1, .count = rows * rows, .data = scores};
  call->expected = &call->own_expected[0];
  call->expected_scores = &call->own_expected[1];
  call_note(call, "scores with a table of the buckets' numbers");
  return true;
}
