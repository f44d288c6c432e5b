#include "traffic.h"

#include "regions.h"

#include <fovea/state.h>

#if FOVEA_BUILDS_EXPLAIN

/* The elements of a region, of all heads. An axis with a stride of 0 has one index. */
static double elements_of(const fovea_axes *axes, const fovea_region *region) {
  const int64_t rows = region->row_end - region->row_begin, each = region->end - region->begin;
  if (region->batch_begin >= region->batch_end || rows <= 0 || each <= 0) return 0;
  return (double)(axes->strides.head == 0 ? 1 : axes->heads) * (double)(axes->strides.row == 0 ? 1 : rows) *
         (double)each;
}

/* The bytes of one tensor that all entries use. Entries that share it count once, with the largest part. */
static double bytes_of(const fovea_plan *plan, int shape) {
  const fovea_axes axes = fovea_axes_of(plan, shape);
  const int packed = shape == FOVEA_SHAPE_K || shape == FOVEA_SHAPE_V ? plan->problem.cu_seqlens_kv != NULL
                     : shape == FOVEA_SHAPE_MASK                      ? 0
                                                                      : plan->problem.cu_seqlens_q != NULL;
  const int shared = axes.strides.batch == 0 && !packed;
  double sum = 0, most = 0;
  for (int64_t b = 0; b < plan->problem.batch; b++) {
    const fovea_region region = fovea_region_of(plan, &plan->entries[b], shape);
    const double elements = elements_of(&axes, &region);
    sum += elements;
    if (elements > most) most = elements;
  }
  return (shared ? most : sum) * axes.bits / 8;
}

/* The elements of K and V in segments. */
static double cached_elements(const fovea_plan *plan) {
  const fovea_problem *p = &plan->problem;
  double keys = 0;
  for (int64_t b = 0; p->cache.segmented && b < p->batch; b++)
    keys += (double)(plan->entries[b].seen_end - plan->entries[b].seen_begin);
  return keys * (double)p->kv_heads * ((double)p->qk_dim + (double)p->v_dim);
}

static double state_bytes(const fovea_plan *plan) {
  const fovea_problem *p = &plan->problem;
  double rows = 0;
  for (int64_t b = 0; b < p->batch; b++) rows += (double)plan->entries[b].q_len;
  const int64_t numbers =
      fovea_state_numbers(p->v_dim, p->keys.begin, p->keys.end == FOVEA_UNLIMITED ? p->kv_len : p->keys.end);
  return rows * (double)p->heads * (double)numbers * (double)sizeof(float);
}

fovea_traffic fovea_plan_traffic(const fovea_plan *plan) {
  static const int read[] = {FOVEA_SHAPE_Q, FOVEA_SHAPE_K, FOVEA_SHAPE_V, FOVEA_SHAPE_MASK};
  fovea_traffic traffic = {0, 0, cached_elements(plan)};
  for (size_t i = 0; i < sizeof read / sizeof read[0]; i++) traffic.read += bytes_of(plan, read[i]);
  for (int shape = FOVEA_SHAPE_O; shape < FOVEA_SHAPES; shape++)
    if (!fovea_is_optional(shape)) traffic.written += bytes_of(plan, shape);
  if (plan->problem.state) traffic.written += state_bytes(plan);
  return traffic;
}
#endif
