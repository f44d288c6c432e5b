/* The bytes that a segment reaches from its pointers, in one layer and all of its kv heads. */
#ifndef FOVEA_SRC_CACHE_SEGMENT_REACH_H
#define FOVEA_SRC_CACHE_SEGMENT_REACH_H

#include "../base/shapes.h"
#include "coded_parts.h"
#include "segments.h"

/* Of keys or values without a format. 0 if the elements of all layers reach further than 2^57 elements. */
int fovea_segment_reach(const fovea_segment *segment, const fovea_segment_shape *shape, int values,
                        fovea_reach *reach);

/* Of a part of a segment that has been checked; a side without a format has FOVEA_PART_CODES only. */
void fovea_part_reach(const fovea_segment *segment, const fovea_segment_shape *shape, int values, int part,
                      int64_t *begin, int64_t *end);

#endif
