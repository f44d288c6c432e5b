/* Lists and random choices of problems. */
#ifndef FOVEA_TESTS_PROBLEMS_H
#define FOVEA_TESTS_PROBLEMS_H

#include "generator.h"

#include <fovea/fovea.h>

/* One combination of the rules about which keys a row sees. */
struct rule {
  const char *name;
  int causal;
  int64_t window_left, window_right;
  int64_t chunk_size, chunk_left, chunk_right;
  int64_t offset;
};

extern const struct rule rule_list[];
extern const int rule_count;

void problem_apply(fovea_problem *problem, const struct rule *rule);

enum { LISTED_ENTRIES = 4 };

/* A problem with the arrays it points to. Not to be copied. */
struct listed_problem {
  fovea_problem problem;
  int64_t offsets[LISTED_ENTRIES], q_lens[LISTED_ENTRIES], kv_lens[LISTED_ENTRIES];
  int32_t cu_seqlens_q[LISTED_ENTRIES + 1], cu_seqlens_kv[LISTED_ENTRIES + 1];
};

/* Any sizes, rules, lengths and packing, at most about `budget` products of work. */
void problem_random(struct listed_problem *listed, struct generator *generator, int64_t budget);

/* Makes it, sometimes, a problem of mixed types, with a mask (of any kind, repeated along any axes, sometimes
 * shorter than the keys), with softcap, with sinks. */
void problem_random_features(fovea_problem *problem, struct generator *generator);

/* Any order of axes, gaps between them, and directions, for each tensor on its own; a mask stays repeated along the
 * axes along which it is. */
void problem_random_layout(fovea_problem *problem, struct generator *generator);

#endif
