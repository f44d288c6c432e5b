/* A state in memory of exactly its size. */
#ifndef FOVEA_TESTS_FUZZ_SLOT_H
#define FOVEA_TESTS_FUZZ_SLOT_H

#include "region.h"

#include <fovea/state.h>

struct slot {
  int there;
  int exact; /* it has the bits of one run over its keys */
  fovea_state state;
  struct region memory;
};

/* Floats of a row, in the words of the header: a group for each of the fewest nodes that hold the range. */
int64_t state_numbers(const fovea_state *state);

/* Axes in any order, with gaps, in any direction; now and then any strides. */
fovea_strides any_strides(struct bytes *bytes, int64_t batch, int64_t heads, int64_t rows, int64_t dim);

/* Any number in any field but the pointer. */
void slot_edit(struct slot *slot, struct bytes *bytes);
/* Untouched memory for the state as it is; where nothing can be as large as it says, `numbers` is NULL. */
void slot_lay_out(struct slot *slot);
void slot_destroy(struct slot *slot);

/* After a call that was to write it: all of it, or nothing. */
void slot_expect(const struct slot *slot, fovea_status status, const fovea_error *error);
/* Every number of every row, and nothing between them. */
void expect_region_written(const struct region *region);
void expect_same_rows(const struct region *actual, const struct region *expected);

#endif
