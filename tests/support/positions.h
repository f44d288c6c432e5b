/* Position terms, scales and vectors of a trial: their numbers, and what they add, by the words of the public
 * header. */
#ifndef FOVEA_TESTS_POSITIONS_H
#define FOVEA_TESTS_POSITIONS_H

#include "modes.h"
#include "trial.h"

/* Creates the numbers of the problem's terms and its scales: random. */
void positions_create(struct trial *trial, uint64_t seed, enum guarded_edge edge);
void positions_destroy(struct trial *trial);
/* Sets them in tensors for the library. */
void positions_set(const struct trial *trial, fovea_tensors *tensors);

/* What a term adds to the score of a row and a key, both counted from the batch element's first. */
float term_number(const struct trial *trial, int term, int64_t batch, int64_t head, int64_t row, int64_t key);
/* Whether some term adds -Inf. */
int term_hides(const struct trial *trial, int64_t batch, int64_t head, int64_t row, int64_t key);
/* The scale of a row's scores. */
double scale_of_row(const struct trial *trial, int64_t batch, int64_t head, int64_t row);

/* The channel numbers of int8 mode for a kv head. */
struct mode_vectors vectors_of_head(const struct trial *trial, int64_t kv_head);
/* Copies the channel numbers of the kv heads from `kv_head` on. */
void vectors_copy_part(struct trial *trial, const struct trial *whole, int64_t kv_head);

#endif
