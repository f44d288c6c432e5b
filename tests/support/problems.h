/* Lists of problems, and random problems. */
#ifndef FOVEA_TESTS_PROBLEMS_H
#define FOVEA_TESTS_PROBLEMS_H

#include "generator.h"

#include <fovea/fovea.h>

/* A combination of the rules about which keys a row sees. */
struct rule {
  const char *name;
  int causal;
  int64_t window_left, window_right;
  int64_t chunk_size, chunk_left, chunk_right;
  int64_t offset;
};

extern const struct rule rule_list[];
extern const int rule_count;

/* Sets the rule. Of more rows than keys it says the default offset, which may then be negative. */
void problem_apply(fovea_problem *problem, const struct rule *rule);

enum { LISTED_ENTRIES = 4 };

/* A problem with its arrays. Must not be copied. */
struct listed_problem {
  fovea_problem problem;
  int64_t offsets[LISTED_ENTRIES], q_lens[LISTED_ENTRIES], kv_lens[LISTED_ENTRIES], kv_begins[LISTED_ENTRIES];
  int32_t cu_seqlens_q[LISTED_ENTRIES + 1], cu_seqlens_kv[LISTED_ENTRIES + 1];
};

/* Any sizes, rules, lengths and packing, of at most about `budget` products. */
void problem_random(struct listed_problem *listed, struct generator *generator, int64_t budget);

/* Sets the default offset of a problem without lists of lengths, if it is negative and must be said. */
void problem_say_offset(fovea_problem *problem);
/* Sets the offsets that the batch elements have by default, if one of them is negative and must be said. `offsets`
 * has room for the batch. */
void problem_say_offsets(fovea_problem *problem, int64_t *offsets);

/* Sometimes adds mixed types, a mask (of any kind, repeated along any axes, sometimes shorter than the keys),
 * softcap, an activation and sinks. */
void problem_random_features(fovea_problem *problem, struct generator *generator);
/* A LeakyReLU of products. */
void problem_set_leaky(fovea_problem *problem, double slope);

/* Sometimes replaces the softmax, and then takes sinks away. */
void problem_random_normaliser(fovea_problem *problem, struct generator *generator);
/* One of the 12 combinations of a normaliser other than softmax and a divisor, from 0 on. */
void problem_set_normaliser(fovea_problem *problem, int number);

/* Sets any order of axes, any gaps between them, and any directions, for each tensor by itself. A mask stays
 * repeated along its repeated axes. */
void problem_random_layout(fovea_problem *problem, struct generator *generator);

#endif
