/* Segments of a sequence: their places in the caller's array, layers, formats. */
#ifndef FOVEA_SRC_CACHE_SEGMENTS_H
#define FOVEA_SRC_CACHE_SEGMENTS_H

#include <fovea/cache.h>
#include <fovea/fovea.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What all segments of a call have in common. */
typedef struct fovea_segment_shape {
  int64_t kv_heads, qk_dim, v_dim;
  int64_t layer; /* the layer that the call is for */
} fovea_segment_shape;

/* Segment i. Steps go by `segment_size`, so that a library whose segments have more fields can take these. */
static inline const fovea_segment *fovea_segment_at(const fovea_sequence *sequence, int64_t i) {
  return (const fovea_segment *)(const void *)((const char *)sequence->segments +
                                               (size_t)i * sequence->segment_size);
}
static inline const fovea_segment *fovea_segment_after(const fovea_sequence *sequence,
                                                       const fovea_segment *segment) {
  return (const fovea_segment *)(const void *)((const char *)segment + sequence->segment_size);
}
static inline int64_t fovea_segment_number(const fovea_sequence *sequence, const fovea_segment *segment) {
  return ((const char *)segment - (const char *)sequence->segments) / (int64_t)sequence->segment_size;
}

static inline const fovea_format *fovea_segment_format(const fovea_segment *segment, int values) {
  return values ? segment->v_format : segment->k_format;
}

/* Elements (bytes, if the side has a format) from a segment's pointer to where one layer's keys or values of a kv
 * head begin. */
static inline int64_t fovea_segment_head(const fovea_segment *segment, int values, int64_t layer, int64_t head) {
  int64_t head_step = values ? segment->v_head : segment->k_head, offset = head > 0 ? head * head_step : 0;
  return layer > 0 ? offset + layer * (values ? segment->v_layer : segment->k_layer) : offset;
}

/* Segments of small pages are many, far from the CPU, and read once for each head: prefetches `bytes` bytes
 * from byte `first` on of the segment some places further on. It need not be there. */
static inline void fovea_fetch_segment(const fovea_sequence *sequence, const fovea_segment *segment, size_t first,
                                       size_t bytes) {
  const uintptr_t begin = (uintptr_t)segment + 4 * sequence->segment_size + first;
  for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch((const void *)(begin + at), 0, 3);
}

/* The segment that holds a position; of a position in a hole, the one before it, or else the first one. */
static inline const fovea_segment *fovea_find_segment(const fovea_sequence *sequence, int64_t position) {
  int64_t low = 0, high = sequence->count;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    *(fovea_segment_at(sequence, middle)->first <= position ? &low : &high) = middle;
  }
  return fovea_segment_at(sequence, low);
}

/* The first position from `position` on that a segment holds; INT64_MAX: there is none. */
static inline int64_t fovea_next_held(const fovea_sequence *sequence, int64_t position) {
  const fovea_segment *segment = fovea_find_segment(sequence, position);
  if (position < segment->first) return segment->first;
  if (position < segment->first + segment->rows) return position;
  segment = fovea_segment_after(sequence, segment);
  return segment < fovea_segment_at(sequence, sequence->count) ? segment->first : INT64_MAX;
}

static inline int fovea_segment_holds(const fovea_segment *segment, int64_t position) {
  return segment && segment->first <= position && position < segment->first + segment->rows;
}

#endif
