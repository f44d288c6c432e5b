/* Random problems with everything that they point to: patterns, position terms, arrays of batch elements. */
#ifndef FOVEA_TESTS_SCENES_H
#define FOVEA_TESTS_SCENES_H

#include "patterns.h"
#include "problems.h"

#include <fovea/terms.h>

/* A problem, the patterns of its batch elements, and what they mean. Clear it first. Must not be copied. */
struct scene {
  struct listed_problem listed;
  struct made_rules made;
  struct rule_table rules;
  const fovea_pattern *patterns[LISTED_ENTRIES];
  fovea_pattern *own[LISTED_ENTRIES]; /* to be destroyed */
  int64_t mask_begins[LISTED_ENTRIES];
  fovea_position_term terms[FOVEA_POSITION_TERMS_LIMIT];
};

/* Gives the problem one pattern, or one for each batch element, some of them none. */
void scene_add_patterns(struct scene *scene, struct generator *generator);
/* Sometimes a mask begins at other keys: one for each batch element. */
void scene_set_mask_begins(struct scene *scene, struct generator *generator);

/* Draws a problem of at most about `budget` products with any combination of what a problem may have. One in four
 * may have settings that exclude each other, which the library refuses. */
void scene_combine(struct scene *scene, struct generator *generator, int64_t budget);
/* Writes special values into the inputs of its trial: one in four has some. */
void scene_spoil(struct trial *trial, struct generator *generator);

void scene_end(struct scene *scene);

#endif
