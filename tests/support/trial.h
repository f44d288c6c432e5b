/* One problem with tensors of its own, run and compared. Everything here fails the running cmocka test with a text
 * that names the problem, the element and its bits; call from the test's own thread. */
#ifndef FOVEA_TESTS_TRIAL_H
#define FOVEA_TESTS_TRIAL_H

#include "describe.h"
#include "masks.h"
#include "rules.h"
#include "tensor.h"

struct trial {
  fovea_problem problem; /* arrays it points to stay the caller's */
  struct tensor q, k, v, o, lse;
  struct mask mask;
  struct tensor sinks; /* one row */
};

/* Tensors with the problem's types and strides: inputs random, outputs untouched. The same seed gives tensors of
 * the same shape and type the same contents in any layout. */
struct trial trial_create(const fovea_problem *problem, uint64_t seed);
struct trial trial_create_at(const fovea_problem *problem, uint64_t seed, enum guarded_edge edge);

/* Where a part begins: indices along the batch, head and row axes. */
struct part {
  int64_t batch, head, row;
};

/* The inputs of a problem taken out of those of another, beginning at these indices of Q and of K and V; masks and
 * sinks as Q. */
struct trial trial_of_part(const fovea_problem *problem, const struct trial *whole, struct part q, struct part kv);
/* The same inputs with outputs of its own; to be destroyed before the other. */
struct trial trial_sharing_inputs(const struct trial *other);
void trial_destroy(struct trial *trial);

/* For the library, with what tests wrote into the inputs. */
fovea_tensors trial_tensors(const struct trial *trial);

/* Makes the outputs untouched. */
void trial_clear(struct trial *trial);
/* Makes outputs that the library wrote readable; trial_run() has done so. */
void trial_load(const struct trial *trial);

/* Makes the outputs untouched again and runs on that instruction set (NULL: the best). */
void trial_run(struct trial *trial, const char *isa, const fovea_execution *execution);

/* By all rules and the mask; row and key count from the entry's first. */
int trial_sees(const struct trial *trial, int64_t batch, int64_t head, int64_t row, int64_t key);

/* Whether nothing outside the elements of the outputs was written. */
int trial_gaps_untouched(const struct trial *trial);

/* Whether O and LSE of the rows are the same bits; where O is expected in another type, its numbers are rounded to
 * the actual one. Rows are compared in the order of indices; the layouts may differ. */
void assert_same_outputs(const struct trial *actual, const struct trial *expected);

/* Some rows of one trial and of another. */
void assert_same_part(const struct trial *actual, struct part actual_first, const struct trial *expected,
                      struct part expected_first, int64_t batches, int64_t heads, int64_t rows);

/* Compares with tests/contract.c. At most about `budget` products are spent; when that is not enough for all rows,
 * the first, the last and a fixed choice of others are compared. */
void assert_contract(const struct trial *trial, int64_t budget);

/* Every instruction set that this process may ask for by name, best first; a NULL ends the list. */
const char *const *usable_isas(void);

/* Those with operations of their own: the rest only add products for one type of Q and K. */
const char *const *whole_isas(void);

#endif
