#include "regions.h"

#include "../base/types.h"

fovea_axes fovea_axes_of(const fovea_plan *plan, int shape) {
  const fovea_problem *p = &plan->problem;
  const fovea_mask_strides *mask = &p->mask.strides;
  static const fovea_axes one_row = {{0, 0, 0}, 1, 32}; /* static: gcc for Windows keeps other constants in .data */
  switch (shape) {
  case FOVEA_SHAPE_Q:
    return (fovea_axes){p->q_strides, p->heads, fovea_type_bits(p->q_type)};
  case FOVEA_SHAPE_K:
    return (fovea_axes){p->k_strides, p->kv_heads, fovea_type_bits(p->k_type)};
  case FOVEA_SHAPE_V:
    return (fovea_axes){p->v_strides, p->kv_heads, fovea_type_bits(p->v_type)};
  case FOVEA_SHAPE_MASK:
    return (fovea_axes){{mask->batch, mask->head, mask->row}, p->heads, fovea_mask_type_bits(p->mask.type)};
  case FOVEA_SHAPE_SINKS:
    return one_row;
  default: {
    const fovea_output output = fovea_output_of(p, shape, plan->column_keys);
    const fovea_range *part = &plan->score_part.heads;
    return (fovea_axes){output.strides, output.layout == FOVEA_OUTPUT_PART ? part->end - part->begin : p->heads,
                        output.bits};
  }
  }
}

/* Rows of Q, O, LSE and scores, counted as the tensor counts them. */
static fovea_region query_rows(const fovea_plan *plan, const fovea_entry *entry, int64_t dim) {
  int64_t batch = plan->problem.cu_seqlens_q ? 0 : entry->batch;
  return (fovea_region){batch, batch + 1, entry->q_first, entry->q_first + entry->q_len, 0, dim};
}

static fovea_region rows_scored(const fovea_plan *plan, const fovea_entry *entry) {
  const fovea_score_part *part = &plan->score_part;
  fovea_region region = query_rows(plan, entry, part->keys.end - part->keys.begin);
  if (part->heads.begin == part->heads.end) return (fovea_region){0};
  if (plan->problem.cu_seqlens_q && !part->by_entry) return region;
  region.batch_begin = entry->batch;
  region.batch_end = entry->batch + 1;
  region.row_begin = 0;
  region.row_end = fovea_least(part->rows.end, entry->q_len) - part->rows.begin;
  return region;
}

static fovea_region keys_seen(const fovea_plan *plan, const fovea_entry *entry, int64_t dim) {
  int64_t batch = plan->problem.cu_seqlens_kv ? 0 : entry->batch, first = entry->kv_first;
  return (fovea_region){batch, batch + 1, first + entry->seen_begin, first + entry->seen_end, 0, dim};
}

static fovea_region mask_seen(const fovea_plan *plan, const fovea_entry *entry) {
  int64_t block = entry->seen_begin / FOVEA_BLOCK_KEYS * FOVEA_BLOCK_KEYS;
  int64_t begin = block > entry->mask_begin ? block - entry->mask_begin : 0;
  int64_t end = entry->seen_end - entry->mask_begin;
  if (end > 0 && plan->problem.mask.strides.key == 0) begin = 0, end = 1;
  return (fovea_region){entry->batch, entry->batch + 1, 0, entry->q_seen, begin, end};
}

static fovea_region output_region(const fovea_plan *plan, const fovea_entry *entry, int shape) {
  const fovea_output output = fovea_output_of(&plan->problem, shape, plan->column_keys);
  switch (output.layout) {
  case FOVEA_OUTPUT_ROWS:
    return query_rows(plan, entry, output.dim);
  case FOVEA_OUTPUT_HEADS:
    return (fovea_region){entry->batch, entry->batch + 1, 0, 1, 0, output.dim};
  case FOVEA_OUTPUT_PART:
    return rows_scored(plan, entry);
  default:
    return (fovea_region){0};
  }
}

fovea_region fovea_region_of(const fovea_plan *plan, const fovea_entry *entry, int shape) {
  const fovea_region nothing = {0};
  const fovea_problem *p = &plan->problem;
  int sees = entry->seen_begin < entry->seen_end;
  switch (shape) {
  case FOVEA_SHAPE_Q:
    return sees ? query_rows(plan, entry, p->qk_dim) : nothing;
  case FOVEA_SHAPE_K:
    return sees && !p->cache.segmented ? keys_seen(plan, entry, p->qk_dim) : nothing;
  case FOVEA_SHAPE_V:
    return sees && !p->cache.segmented ? keys_seen(plan, entry, p->v_dim) : nothing;
  case FOVEA_SHAPE_MASK:
    return sees && p->mask.type != FOVEA_MASK_NONE ? mask_seen(plan, entry) : nothing;
  case FOVEA_SHAPE_SINKS:
    return p->sink == FOVEA_SINK_PER_HEAD && !p->state ? (fovea_region){0, 1, 0, 1, 0, p->heads} : nothing;
  default:
    return output_region(plan, entry, shape);
  }
}

static int is_empty(const fovea_region *region) {
  return region->batch_begin >= region->batch_end || region->row_begin >= region->row_end ||
         region->begin >= region->end;
}

fovea_claim fovea_claim_region(const fovea_axes *axes, const fovea_region *region, const void *pointer) {
  if (is_empty(region)) return (fovea_claim){.segment = -1};
  const fovea_strides *strides = &axes->strides;
  int64_t first = region->batch_begin * strides->batch + region->row_begin * strides->row;
  int64_t begin = region->begin * axes->bits / 8, end = (region->end * axes->bits + 7) / 8;
  int64_t heads = strides->head == 0 ? 1 : axes->heads;
  int64_t rows = strides->row == 0 ? 1 : region->row_end - region->row_begin;
  /* Rows of bits begin at whole bytes. */
  return fovea_claim_rows((const char *)pointer + first * axes->bits / 8 + begin, 8, heads,
                          heads > 1 ? strides->head * axes->bits / 8 : 0, rows,
                          rows > 1 ? strides->row * axes->bits / 8 : 0, end - begin);
}

static void join(int64_t *begin, int64_t *end, int64_t other_begin, int64_t other_end) {
  if (other_begin < *begin) *begin = other_begin;
  if (other_end > *end) *end = other_end;
}

static void join_regions(fovea_region *all, const fovea_region *other) {
  join(&all->batch_begin, &all->batch_end, other->batch_begin, other->batch_end);
  join(&all->row_begin, &all->row_end, other->row_begin, other->row_end);
  join(&all->begin, &all->end, other->begin, other->end);
}

/* Adds the reach of an axis whose indexes go from `begin` to `end` - 1. */
static void add_axis(int64_t begin, int64_t end, int64_t stride, int64_t *low, int64_t *high) {
  int64_t first = begin * stride, last = (end - 1) * stride;
  *low += first < last ? first : last;
  *high += first < last ? last : first;
}

/* Reduces the reach of a tensor to what all entries use. Nothing overflows: strides have been checked for whole
 * tensors. An axis of extent 1 has index 0 only, so its stride does not matter. */
static void narrow(fovea_plan *plan, int shape) {
  const fovea_axes axes = fovea_axes_of(plan, shape);
  fovea_reach *reach = &plan->reaches[shape];
  fovea_region all = fovea_region_of(plan, &plan->entries[0], shape);
  int64_t low = 0, high = 0;
  int none = is_empty(&all);
  for (int64_t b = 1; b < plan->problem.batch; b++) {
    fovea_region region = fovea_region_of(plan, &plan->entries[b], shape);
    if (is_empty(&region)) continue;
    if (none) all = region;
    join_regions(&all, &region);
    none = 0;
  }
  if (none) {
    reach->begin = reach->end = 0;
    return;
  }
  add_axis(all.batch_begin, all.batch_end, axes.strides.batch, &low, &high);
  add_axis(all.row_begin, all.row_end, axes.strides.row, &low, &high);
  add_axis(0, axes.heads, axes.strides.head, &low, &high);
  reach->begin = low * axes.bits / 8 + all.begin * axes.bits / 8;
  reach->end = high * axes.bits / 8 + (all.end * axes.bits + 7) / 8;
}

void fovea_narrow_reaches(fovea_plan *plan) {
  for (int shape = 0; shape < FOVEA_SHAPES; shape++) {
    int whole = shape == FOVEA_SHAPE_SINKS || (shape >= FOVEA_SHAPE_O && !plan->problem.cu_seqlens_q);
    int there = plan->reaches[shape].begin < plan->reaches[shape].end; /* else nothing is left to take away */
    if (there && !whole) narrow(plan, shape);
  }
}
