/* Problems with another mode of scores or values than exact. */
#ifndef FOVEA_TESTS_MODES_H
#define FOVEA_TESTS_MODES_H

#include "contract.h"
#include "generator.h"

#include <fovea/fovea.h>

/* Whether the contract of the problem's rows is that of modes (modes/contract_modes.h). */
int problem_has_mode(const fovea_problem *problem);

/* The row's outputs, by the contract that the problem's modes name. */
void mode_contract_row(const fovea_problem *problem, const struct contract_row *row, float *out, float *lse);

/* The modes that tests count: 1 is bf16 for the scores alone, 2 for the values alone, 3 for both. */
void problem_set_modes(fovea_problem *problem, int modes);

/* Takes away what modes do not know. */
void problem_suit_modes(fovea_problem *problem);

/* One problem in `rarity` gets a mode of scores, of values, or of both, and loses what modes do not know. */
void problem_random_modes(fovea_problem *problem, struct generator *generator, int64_t rarity);

/* Every instruction set that this process may name, then NULL: the best, with AMX if it can be allowed. It stays
 * allowed, but not for problems that name a set. Says, once, if there is no AMX. Returns how many names there are.
 */
enum { MODE_SETS = FOVEA_ISA_LIMIT + 1 };
int mode_sets(const char *names[MODE_SETS]);

#endif
