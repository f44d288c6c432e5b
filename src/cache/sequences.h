/* Checks of the segments that a run reads, or that rows are appended to. */
#ifndef FOVEA_SRC_CACHE_SEQUENCES_H
#define FOVEA_SRC_CACHE_SEQUENCES_H

#include "../base/shapes.h"

/* What all segments of a call have in common. */
typedef struct fovea_segment_shape {
  int64_t kv_heads, qk_dim, v_dim;
  int64_t layer; /* the one that the call is about */
} fovea_segment_shape;

/* Elements from a segment's pointer to where one layer's keys or values of a kv head begin. */
static inline int64_t fovea_segment_head(const fovea_segment *segment, int values, int64_t layer, int64_t head) {
  int64_t layer_step = values ? segment->v_layer : segment->k_layer;
  int64_t head_step = values ? segment->v_head : segment->k_head;
  return (layer > 0 ? layer * layer_step : 0) + (head > 0 ? head * head_step : 0);
}

/* Bytes that the keys or the values of one layer of a segment take, counted from its pointer. 0 if those of all
 * layers reach further than 2^57 elements. */
int fovea_segment_reach(const fovea_segment *segment, const fovea_segment_shape *shape, int values,
                        fovea_reach *reach);

/* The segment that holds a position, of those that follow each other. */
const fovea_segment *fovea_find_segment(const fovea_segment *segments, int64_t count, int64_t position);

/* One sequence by itself: segments that follow each other and hold positions `begin` to `end` - 1. `entry` is for
 * the text. */
fovea_status fovea_check_sequence(const fovea_sequence *sequence, const fovea_segment_shape *shape, int64_t entry,
                                  int64_t begin, int64_t end, fovea_error *error);

#endif
