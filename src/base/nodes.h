/* A range of keys as nodes of the tree in which spans merge (docs/numerics.md, step 4): the fewest that make up its
 * spans, in ascending order. */
#ifndef FOVEA_SRC_BASE_NODES_H
#define FOVEA_SRC_BASE_NODES_H

#include <fovea/fovea.h>

/* Spans first to end - 1. Of a node: 2^k of them, and first is a multiple of that. */
typedef struct fovea_spans {
  int64_t first, end;
} fovea_spans;

/* The spans that hold positions keys_begin to keys_end - 1. */
static inline fovea_spans fovea_spans_of(int64_t keys_begin, int64_t keys_end) {
  int64_t first = keys_begin / FOVEA_SPAN_KEYS;
  return (fovea_spans){first, keys_end > keys_begin ? (keys_end - 1) / FOVEA_SPAN_KEYS + 1 : first};
}

/* The node that begins with span `first`, in a range that goes on to `end` - 1. */
static inline fovea_spans fovea_node_from(int64_t first, int64_t end) {
  int64_t spans = 1;
  while (first % (2 * spans) == 0 && 2 * spans <= end - first) spans *= 2;
  return (fovea_spans){first, first + spans};
}

static inline int64_t fovea_node_count(fovea_spans range) {
  int64_t count = 0;
  for (; range.first < range.end; count++) range.first = fovea_node_from(range.first, range.end).end;
  return count;
}

/* Node `number` of the range. */
static inline fovea_spans fovea_node_at(fovea_spans range, int64_t number) {
  fovea_spans node = {range.first, range.first};
  for (; number >= 0; number--) node = fovea_node_from(node.end, range.end);
  return node;
}

#endif
