/* Copies rows of one sequence to another, and compares with a plain model. */
#ifndef FOVEA_TESTS_FUZZ_COPYING_H
#define FOVEA_TESTS_FUZZ_COPYING_H

#include "verdicts.h"

void copy(struct scene *scene);

/* Marks what a copy may use, and copies in the model. */
enum verdict judge_copy(struct arena *arena, const struct row_shape *shape, const fovea_sequence *from,
                        const fovea_sequence *to, int64_t begin, int64_t end);
void copy_in_model(struct arena *arena, const struct row_shape *shape, const fovea_sequence *from,
                   const fovea_sequence *to, int64_t begin, int64_t end);

#endif
