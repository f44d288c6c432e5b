/* Which keys a row sees, by the words of the public header: one predicate, no intervals. */
#ifndef FOVEA_TESTS_RULES_H
#define FOVEA_TESTS_RULES_H

#include <fovea/fovea.h>

/* The rows and keys of one batch element. */
struct entry {
  int64_t q_batch, kv_batch; /* indices along the batch axis of Q, O, LSE and of K, V */
  int64_t q_first, kv_first; /* its first row and key along that axis */
  int64_t rows;              /* rows of O that are written */
  int64_t q_len, kv_len;     /* rows and keys that are not padding after */
  int64_t kv_begin;          /* keys before it are padding, too */
  int64_t offset;
};

struct entry problem_entry(const fovea_problem *problem, int64_t batch);

/* The extent of the batch axis of Q, O, LSE (of K, V): 1 in a packed batch. */
int64_t problem_q_batches(const fovea_problem *problem);
int64_t problem_kv_batches(const fovea_problem *problem);

/* The rows of a mask, and the elements of each, that may be read: as many as the longest batch element has, up to
 * mask.keys. */
int64_t problem_mask_rows(const fovea_problem *problem);
int64_t problem_mask_keys(const fovea_problem *problem);
/* The key of the first element of a mask row. */
int64_t problem_mask_begin(const fovea_problem *problem, int64_t batch);

/* The numbers of a row of scores of all keys. */
int64_t problem_score_keys(const fovea_problem *problem);

/* The shape of the scores that a run writes, and the head, row and key of the first. */
struct score_part {
  int64_t batches, heads, rows, keys, first_head, first_row, first_key;
  int by_entry; /* rows count from the sequence's first in a packed batch, too */
};
struct score_part problem_score_part(const fovea_problem *problem);

int row_sees(const fovea_problem *problem, const struct entry *entry, int64_t row, int64_t key);

/* Pairs of all batch elements and query heads. */
int64_t problem_pairs_seen(const fovea_problem *problem);

#endif
