/* Position terms of a problem: checked, and copied into the plan. */
#ifndef FOVEA_SRC_FEATURE_POSITION_TERMS_H
#define FOVEA_SRC_FEATURE_POSITION_TERMS_H

#include "../base/buckets.h"
#include "../base/shapes.h"
#include "position_rules.h"

/* The term at `index`, with the fields that the caller's struct does not have set to 0. */
fovea_position_term fovea_position_term_at(const fovea_problem *problem, int64_t index);

/* Copies the terms of a checked problem. */
void fovea_make_positions(const fovea_problem *problem, fovea_positions *positions);

/* The numbers of a term: batch elements, query heads, places. */
fovea_shape fovea_position_shape(const fovea_problem *problem, const fovea_position_term *term, int64_t index);

/* The place of a cell's number, less the place of cell 0's, in a table of a GRID. The number of an own cell and a
 * key's cell is at the difference of their places, plus the last cell's. */
static inline int64_t fovea_cell_place(const fovea_position_term *grid, int64_t cell) {
  const int64_t area = grid->height * grid->width, across = 2 * grid->width - 1;
  const int64_t rest = cell % area;
  return (cell / area) * (2 * grid->height - 1) * across + rest / grid->width * across + rest % grid->width;
}

#endif
