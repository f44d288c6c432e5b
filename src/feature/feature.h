/* What a feature does by itself: functions that list.inc names, each in the feature's file. */
#ifndef FOVEA_SRC_FEATURE_FEATURE_H
#define FOVEA_SRC_FEATURE_FEATURE_H

#include "../base/shapes.h"
#include "list.h"

/* Numbers of the caller's that a run reads, beside Q, K, V, the mask and the sinks: the bytes that `reach` says,
 * counted from the pointer. */
typedef struct fovea_input {
  const void *pointer;
  fovea_reach reach;
} fovea_input;

/* The most inputs of a feature. */
enum { FOVEA_INPUTS_OF_FEATURE = 8 };

/* Floats of arrays in a worker's scratch: one for all tiles of a task, and one for each tile. */
typedef struct fovea_scratch_floats {
  uint64_t block, tile;
} fovea_scratch_floats;

/* Checks a problem that has the feature. Sizes and types are checked, flags and enumerations of all features, and
 * features above it in the list. */
#define CHECK(NAME, name) fovea_status fovea_check_##name(const fovea_problem *problem, fovea_error *error);
#include "list.inc"

/* Lists what a run reads for the feature, up to FOVEA_INPUTS_OF_FEATURE inputs. Returns how many there are. */
#define INPUTS(NAME, name)                                                                                         \
  int fovea_list_##name(const fovea_plan *plan, const fovea_tensors *tensors, fovea_input *inputs);
#include "list.inc"

/* Checks numbers of these inputs. Their pointers are checked. */
#define NUMBERS(NAME, name)                                                                                        \
  fovea_status fovea_check_##name##_numbers(const fovea_plan *plan, const fovea_tensors *tensors,                  \
                                            fovea_error *error);
#include "list.inc"

/* The arrays of the feature in scratch. The plan has its problem and its kernels. */
#define SCRATCH(NAME, name) fovea_scratch_floats fovea_##name##_scratch(const fovea_plan *plan);
#include "list.inc"

/* An input of `count` numbers of `size` bytes, and how they are aligned. */
static inline fovea_input fovea_input_of(const char *name, const void *pointer, int64_t count, size_t size,
                                         size_t alignment) {
  return (fovea_input){pointer, {name, 0, count * (int64_t)size, (int)alignment}};
}

#endif
