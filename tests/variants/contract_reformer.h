/* docs/numerics.md, clause L17, number by number in plain C, for one head. Shares no code with the library. */
#ifndef FOVEA_TESTS_CONTRACT_REFORMER_H
#define FOVEA_TESTS_CONTRACT_REFORMER_H

#include <stdint.h>

struct contract_reformer {
  int64_t length, dim, v_dim;
  const float *x, *v; /* (length, dim), (length, v_dim) */
  int64_t rounds, bucket_size, buckets, factors[2];
  int causal, once, within_round;
  double scale;
  float eps;
  const float *rotations; /* of dim d, round r: columns numbers from d * rotation_row + r * columns on */
  int64_t rotation_row, columns;
};

/* Writes (rounds, length) buckets and (length, v_dim) outputs. */
void contract_reformer(const struct contract_reformer *head, int64_t *buckets, float *y);

/* For each row and round, how often it sees each other row, as `counts` (length, rounds, length); for a formula in
 * double. */
void contract_reformer_sees(const struct contract_reformer *head, const int64_t *buckets, unsigned char *counts);

#endif
