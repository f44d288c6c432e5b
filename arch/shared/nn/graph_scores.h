/* Scores of the edges of a graph. docs/numerics.md, clause L22. Part of bodies.h.
 *
 * Dims lie in the lanes. A unit is a vector of sums that are still to be added up: the sums of one head, or, if
 * `dim` is a power of two below LANES, the sums of LANES / dim heads that lie side by side. So a row of eight heads
 * of eight dims is four vectors of 16 lanes. As many units as a head has lanes are added up together, which leaves
 * no lane idle. */
#ifndef FOVEA_ARCH_SHARED_NN_GRAPH_SCORES_H
#define FOVEA_ARCH_SHARED_NN_GRAPH_SCORES_H

#include "../../nn_kernels.h"
#include "elements.h"
#include "functions.h"

/* Sums of a head fill this many vectors before their halves are added. */
#define GRAPH_SUMS (FOVEA_WEIGHT_SUMS / LANES)
/* Edges that lie ahead, whose rows are fetched. */
enum { GRAPH_AHEAD = 8 };

/* The lanes whose number has this bit. */
FOVEA_INLINE vecmask graph_lanes(const int bit) {
  static const float bits[4][16] = {{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1},
                                    {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1},
                                    {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1},
                                    {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}};
  const int place = bit == 1 ? 0 : bit == 2 ? 1 : bit == 4 ? 2 : 3;
  return vec_equal(vec_load(bits[place]), vec_set1(1.0f));
}

/* Adds up `group` units of `group` lanes each, halves to halves; group is a constant. Lane i of each group of lanes
 * of the result is the sum of unit i there. */
FOVEA_INLINE vec graph_add_up(const float *units, const int group) {
  vec u[LANES];
  FOVEA_UNROLL
  for (int i = 0; i < group; i++) u[i] = vec_load(units + i * LANES);
  FOVEA_UNROLL
  for (int half = LANES / 2; half > 0; half /= 2) {
    if (half >= group) continue;
    const vecmask upper = graph_lanes(half);
    FOVEA_UNROLL
    for (int i = 0; i < half; i++) {
      const vec low = vec_select(upper, vec_swap(u[i + half], half), u[i]);
      const vec high = vec_select(upper, u[i + half], vec_swap(u[i], half));
      u[i] = vec_add(low, high);
    }
  }
  return u[0];
}

/* One step of a score's sums: LANES dims from number d of the rows. */
FOVEA_INLINE vec graph_step(const fovea_nn_graph_scores_args *args, const float *q, const float *k, int64_t d,
                            int count, vec sum, const int leaky) {
  const int all = count == LANES;
  const vec query = all ? vec_load(q + d) : vec_load_first(q + d, count);
  const vec key = all ? vec_load(k + d) : vec_load_first(k + d, count);
  if (!leaky) return vec_fma(query, key, sum);
  const vec a = all ? vec_load(args->a + d) : vec_load_first(args->a + d, count);
  return vec_fma(a, additive_leaky(vec_add(query, key), vec_set1(args->slope)), sum);
}

/* The unit of one head, whose numbers begin at `first`. */
FOVEA_INLINE vec graph_head(const fovea_nn_graph_scores_args *args, const float *q, const float *k, int64_t first,
                            const int leaky) {
  const int64_t end = first + args->dim;
  vec sums[GRAPH_SUMS];
  int64_t d = first;
  FOVEA_UNROLL
  for (int v = 0; v < GRAPH_SUMS; v++) sums[v] = vec_set1(0.0f);
  FOVEA_NO_UNROLL
  for (; d + FOVEA_WEIGHT_SUMS <= end; d += FOVEA_WEIGHT_SUMS) {
    FOVEA_UNROLL
    for (int v = 0; v < GRAPH_SUMS; v++) sums[v] = graph_step(args, q, k, d + v * LANES, LANES, sums[v], leaky);
  }
  FOVEA_UNROLL
  for (int v = 0; v < GRAPH_SUMS; v++) {
    const int64_t at = d + v * LANES;
    if (at < end) sums[v] = graph_step(args, q, k, at, vector_count(at, end), sums[v], leaky);
  }
  FOVEA_UNROLL
  for (int half = GRAPH_SUMS / 2; half > 0; half /= 2) {
    FOVEA_UNROLL
    for (int v = 0; v < half; v++) sums[v] = vec_add(sums[v], sums[v + half]);
  }
  return sums[0];
}

/* Sets `count` units of one edge, from unit `first` on: a head each, or `heads` heads each. */
FOVEA_INLINE void graph_units(const fovea_nn_graph_scores_args *args, int edge, int64_t first, int64_t count,
                              const int heads, float *units, const int leaky) {
  const float *q = args->queries[edge], *k = args->keys[edge];
  const int64_t numbers = args->heads * args->dim, all = heads == 1 ? args->heads : (numbers + LANES - 1) / LANES;
  const int64_t end = first + count < all ? first + count : all;
  for (int64_t i = first; i < end; i++, units += LANES) {
    if (heads == 1) {
      vec_store(units, graph_head(args, q, k, i * args->dim, leaky));
    } else {
      const int64_t d = i * LANES;
      vec_store(units, graph_step(args, q, k, d, vector_count(d, numbers), vec_set1(0.0f), leaky));
    }
  }
}

FOVEA_INLINE void graph_fetch(const fovea_nn_graph_scores_args *args, int edge) {
  if (edge >= args->count) return;
  const char *row = (const char *)args->keys[edge];
  const int64_t bytes = args->heads * args->dim * (int64_t)sizeof(float);
  for (int64_t at = 0; at < bytes && at < 1024; at += 64) __builtin_prefetch(row + at, 0, 3);
}

/* Lane i of group g, unit i of head g of the unit, becomes lane i * heads + g. */
FOVEA_INLINE vec graph_in_order(vec x, const int group) {
  const int heads = LANES / group;
  float lanes[16];
  uint32_t bits[LANES];
  vec order;
  if (heads == 1) return x;
  FOVEA_UNROLL
  for (int i = 0; i < LANES; i++) bits[i] = (uint32_t)(i % heads * group + i / heads) << 21;
  memcpy(&order, bits, sizeof order);
  vec_store(lanes, x);
  return vec_pick(lanes, vec_quarter(order));
}

/* All scores, with `group` lanes to a head; a constant, as `leaky` is. Units are added up `group` at a time: all
 * units of some edges, or some units of one edge. */
FOVEA_INLINE void graph_scores_by(const fovea_nn_graph_scores_args *args, const int group, const int leaky) {
  const int heads = LANES / group;
  const int64_t each = args->padded / heads, count = each < group ? each : group; /* units of an edge; at a time */
  const int together = (int)(group / count);
  const vec factor = vec_set1(args->factor);
  float units[LANES * LANES] = {0};
  for (int edge = 0; edge < args->count; edge += together) {
    const int last = edge + together < args->count ? edge + together : args->count;
    float *to = args->scores + edge * args->padded;
    for (int64_t first = 0; first < each; first += count) {
      for (int i = edge; i < last; i++) {
        if (first == 0) graph_fetch(args, i + GRAPH_AHEAD);
        graph_units(args, i, first, count, heads, units + (i - edge) * count * LANES, leaky);
      }
      vec_store(to + first * heads, vec_mul(graph_in_order(graph_add_up(units, group), group), factor));
    }
  }
}

/* A head has as many lanes as dims, if whole heads fill a vector. */
FOVEA_INLINE void graph_scores_of(const fovea_nn_graph_scores_args *args, const int leaky) {
#if LANES > 4
  if (args->dim == 4 && args->padded >= LANES / 4) {
    graph_scores_by(args, 4, leaky);
    return;
  }
#endif
#if LANES > 8
  if (args->dim == 8 && args->padded >= LANES / 8) {
    graph_scores_by(args, 8, leaky);
    return;
  }
#endif
  graph_scores_by(args, LANES, leaky);
}

FOVEA_SHORT FOVEA_NOINLINE void graph_scores_leaky(const fovea_nn_graph_scores_args *args) {
  graph_scores_of(args, 1);
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_graph_scores)(const fovea_nn_graph_scores_args *args) {
  if (args->a) {
    graph_scores_leaky(args);
  } else {
    graph_scores_of(args, 0);
  }
}

/* Scores of sums, LANES numbers at a time, from what was gathered edge by edge. */
FOVEA_INLINE vec graph_sum(const fovea_nn_graph_sums_args *args, vec to, vec from, int64_t place, int count) {
  vec x = vec_add(to, from);
  if (args->edges) {
    x = vec_add(x, count == LANES ? vec_load(args->edges + place) : vec_load_first(args->edges + place, count));
  }
  return vec_mul(additive_leaky(x, vec_set1(args->slope)), vec_set1(args->factor));
}

/* Few heads, a constant power of two: the numbers of some edges fill a vector. */
FOVEA_INLINE void graph_sums_of(const fovea_nn_graph_sums_args *args, const int padded) {
  const int together = LANES / padded;
  for (int edge = 0; edge < args->count; edge += together) {
    float to[LANES] = {0}, from[LANES] = {0};
    for (int i = 0; i < together && edge + i < args->count; i++) {
      memcpy(to + i * padded, args->to[edge + i], (size_t)padded * sizeof *to);
      memcpy(from + i * padded, args->from[edge + i], (size_t)padded * sizeof *from);
    }
    const int64_t place = (int64_t)edge * padded;
    const int count = vector_count(place, (int64_t)args->count * padded);
    vec_store(args->scores + place, graph_sum(args, vec_load(to), vec_load(from), place, count));
  }
}

FOVEA_SHORT FOVEA_KERNEL void FOVEA_NAME(nn_graph_sums)(const fovea_nn_graph_sums_args *args) {
  if (args->padded == 1) {
    graph_sums_of(args, 1);
    return;
  }
#if LANES > 2
  if (args->padded == 2) {
    graph_sums_of(args, 2);
    return;
  }
#endif
#if LANES > 4
  if (args->padded == 4) {
    graph_sums_of(args, 4);
    return;
  }
#endif
#if LANES > 8
  if (args->padded == 8) {
    graph_sums_of(args, 8);
    return;
  }
#endif
  for (int edge = 0; edge < args->count; edge++) {
    for (int64_t head = 0; head < args->padded; head += LANES) {
      const int64_t place = edge * args->padded + head;
      const vec to = vec_load(args->to[edge] + head), from = vec_load(args->from[edge] + head);
      vec_store(args->scores + place, graph_sum(args, to, from, place, LANES));
    }
  }
}

#endif
