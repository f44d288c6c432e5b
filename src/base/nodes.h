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

/* Numbers that a state has for one node and row. */
static inline int64_t fovea_group_numbers(int64_t dim) {
  return dim + 2;
}

/* States that are enough for any so many consecutive keys, wherever they begin and whichever of their spans are
 * left out. They lie in S spans at most, of which the last to be pushed is x. What waits then, beside x (or what x
 * joined), are left siblings of nodes that x is in: one for each bit of x that is set and at or below the highest
 * bit in which x differs from the first span. That bit stands for a boundary between the two, and x is at most S -
 * 2 spans behind it; so 1 + floor(log2(S)) wait. While another span is gathered, which takes one state more, x is
 * not the last: that makes 2 + floor(log2(S - 1)), which is never fewer. Where S is 1 it is 1. */
static inline int fovea_span_states(int64_t keys) {
  /* S - 1: where the first key is the last of its span. */
  int64_t spans = keys / FOVEA_SPAN_KEYS + (keys % FOVEA_SPAN_KEYS > 1);
  int states = spans > 0 ? 2 : 1;
  for (; spans > 1; spans /= 2) states++;
  return states;
}

#endif
