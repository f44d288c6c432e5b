/* The nodes of a range of keys in the tree in which spans merge (docs/numerics.md, step 4): the fewest nodes that
 * make up its spans, in ascending order. */
#ifndef FOVEA_SRC_BASE_NODES_H
#define FOVEA_SRC_BASE_NODES_H

#include <fovea/fovea.h>
#include <fovea/state.h>

/* Spans first to end - 1. A node has 2^k spans, and `first` is a multiple of 2^k. */
typedef struct fovea_spans {
  int64_t first, end;
} fovea_spans;

/* The spans that hold positions keys.begin to keys.end - 1. */
static inline fovea_spans fovea_spans_of(int64_t keys_begin, int64_t keys_end) {
  int64_t first = keys_begin / FOVEA_SPAN_KEYS;
  return (fovea_spans){first, keys_end > keys_begin ? (keys_end - 1) / FOVEA_SPAN_KEYS + 1 : first};
}

/* The largest node of spans from `first` on, up to `end` - 1. */
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

/* The numbers of a row state: output, maximum and sum of one row, for one node. */
static inline int64_t fovea_row_state_numbers(int64_t dim) {
  return dim + 2;
}

/* An upper bound on the states that `keys` consecutive keys need, wherever they begin and whichever of their spans
 * are left out. The keys lie in at most S spans. Let x be the span that was pushed last. The nodes that wait beside
 * x, or beside the node that x joined, are left siblings of nodes that x is in: one for each set bit of x at or
 * below the highest bit in which x differs from the first span. That bit is a boundary between the two spans, and x
 * is at most S - 2 spans after it. So at most 1 + floor(log2(S)) nodes wait. While another span is computed, which
 * takes one more state, x is not the last span; that makes 2 + floor(log2(S - 1)) states, which is never fewer. If
 * S is 1, one state is enough. */
static inline int fovea_span_states(int64_t keys) {
  /* S - 1, if the first key is the last of its span. */
  int64_t spans = keys / FOVEA_SPAN_KEYS + (keys % FOVEA_SPAN_KEYS > 1);
  int states = spans > 0 ? 2 : 1;
  for (; spans > 1; spans /= 2) states++;
  return states;
}

#endif
