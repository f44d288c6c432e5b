/* Reads the caller's structs into structs of this library's size. Fields that a smaller struct lacks get their
 * defaults. */
#ifndef FOVEA_SRC_BASE_CALLER_H
#define FOVEA_SRC_BASE_CALLER_H

#include "../../arch/strict_math.h"
#include <fovea/cache.h>
#include <fovea/fovea.h>
#include <fovea/rotary.h>
#include <fovea/state.h>

/* Copies a problem, and keeps its defaults as they are. */
fovea_status fovea_copy_problem(const fovea_problem *given, fovea_problem *problem, fovea_error *error);
/* Replaces the defaults of a copy by the strides and the scale of its sizes. */
void fovea_resolve_problem(fovea_problem *problem);
/* Both. */
fovea_status fovea_read_problem(const fovea_problem *given, fovea_problem *problem, fovea_error *error);
fovea_status fovea_read_tensors(const fovea_tensors *given, fovea_tensors *tensors, fovea_error *error);

fovea_status fovea_read_rotary(const fovea_rotary *given, fovea_rotary *rotary, fovea_error *error);
fovea_status fovea_read_rotation(const fovea_rotation *given, fovea_rotation *rotation, fovea_error *error);

fovea_status fovea_read_hadamard(const fovea_hadamard *given, fovea_hadamard *hadamard, fovea_error *error);
fovea_status fovea_read_move(const fovea_move *given, fovea_move *move, fovea_error *error);
fovea_status fovea_read_new_rows(const fovea_new_rows *given, fovea_new_rows *rows, fovea_error *error);
fovea_status fovea_read_pages(const fovea_pages *given, fovea_pages *pages, fovea_error *error);

/* Refuses segments whose size no version has. `entry` is for the text. */
fovea_status fovea_check_segment_size(const fovea_sequence *sequence, int64_t entry, fovea_error *error);

/* `name` is the caller's name of the state. */
fovea_status fovea_read_state(const char *name, const fovea_state *given, fovea_state *state, fovea_error *error);

/* Checks that an allocator has both functions, or nothing. */
fovea_status fovea_check_allocator(const fovea_allocator *allocator, fovea_error *error);

/* `given` may be NULL, for all defaults. */
fovea_status fovea_read_execution(const fovea_execution *given, fovea_execution *execution, fovea_error *error);
/* The same for a row-wise call, which has no scratch. */
fovea_status fovea_read_row_execution(const fovea_execution *given, fovea_execution *execution, fovea_error *error);

#endif
