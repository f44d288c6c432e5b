/* Problems with another mode of scores or values than exact. */
#ifndef FOVEA_TESTS_MODES_H
#define FOVEA_TESTS_MODES_H

#include "contract.h"
#include "generator.h"
#include "isa_count.h"

#include <fovea/fovea.h>

/* Whether the contract of modes holds for the problem's rows (modes/contract_modes.h). */
int problem_has_mode(const fovea_problem *problem);

/* The channel numbers of int8 mode, of a row's kv head. NULL: none. */
struct mode_vectors {
  const float *key_centre, *key_scale, *value_scale;
};

/* The row's outputs, by the contract that the problem's modes name. */
void mode_contract_row(const fovea_problem *problem, const struct contract_row *row,
                       const struct mode_vectors *vectors, float *out, float *lse);

/* The modes that tests count: 0 is exact mode, the others are every other pair, by the mode of the scores + 3 * the
 * mode of the values. */
enum {
  MODE_PAIRS = 9,
  BF16_SCORES = 1,
  BF16_VALUES = 3,
  BF16_BOTH = 4,
  INT8_SCORES = 2,
  INT8_VALUES = 6,
  INT8_BOTH = 8
};
void problem_set_modes(fovea_problem *problem, int modes);

/* Draws the vectors that the problem's modes know, if they are int8. */
void problem_random_vectors(fovea_problem *problem, struct generator *generator);
void problem_remove_vectors(fovea_problem *problem);

/* Takes away what modes do not know. Scores of more dims than int8 takes are bf16. */
void problem_suit_modes(fovea_problem *problem);

/* One problem in `rarity` gets a mode for scores, for values, or one for each, and loses what modes do not know. In
 * int8 it may get vectors. */
void problem_random_modes(fovea_problem *problem, struct generator *generator, int64_t rarity);

/* Every instruction set that this process may name, then NULL: the best, with AMX if it can be allowed. It stays
 * allowed, but not for problems that name a set. Says, once, if there is no AMX. Returns how many names there are.
 */
enum { MODE_SETS = ISA_COUNT + 1 };
int mode_sets(const char *names[MODE_SETS]);

/* Without names that would run this problem by the very functions of one before. */
int mode_sets_for(const fovea_problem *problem, const char *names[MODE_SETS]);

#endif
