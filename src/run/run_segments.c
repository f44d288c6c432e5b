#include "run_segments.h"

#include "../base/error.h"
#include "../cache/claims.h"

#include <string.h>

/* The bytes that a segment without formats reaches from its pointers, and every segment like it. */
typedef struct segment_reach {
  int alike;               /* all segments are */
  const fovea_segment *of; /* NULL: none yet */
  fovea_reach keys, values;
} segment_reach;

/* Whether the range of a side of a segment overlaps the range of an output. Of thousands of segments hardly any
 * does. */
static int is_near(const fovea_written *written, int count, const void *side, const fovea_reach *reach) {
  const uintptr_t begin = (uintptr_t)side + (uintptr_t)reach->begin, end = (uintptr_t)side + (uintptr_t)reach->end;
  for (int i = 0; i < count; i++) {
    if (begin < written[i].end && written[i].begin < end) return 1;
  }
  return 0;
}

/* Whether a segment may share memory with an output: it is near, or has a format, whose parts are looked at. */
static int may_share(const fovea_written *written, int count, const fovea_sequence *sequence,
                     const fovea_segment *segment, const fovea_segment_shape *shape, segment_reach *known) {
  if (fovea_segment_format(sequence, segment, 0) || fovea_segment_format(sequence, segment, 1)) return 1;
  if (!known->of || segment->rows != known->of->rows ||
      (!known->alike && !fovea_segments_are_alike(sequence, segment, known->of))) {
    fovea_segment_reach(sequence, segment, shape, 0, &known->keys);
    fovea_segment_reach(sequence, segment, shape, 1, &known->values);
    known->of = segment;
  }
  return is_near(written, count, segment->k, &known->keys) || is_near(written, count, segment->v, &known->values);
}

/* The same for a part of a side; a side without a format has one. */
static int part_is_near(const fovea_written *written, int count, const fovea_sequence *sequence,
                        const fovea_segment *segment, const fovea_segment_shape *shape, int values, int part,
                        fovea_interval keys) {
  const fovea_format *format = fovea_segment_format(sequence, segment, values);
  uintptr_t begin, end;
  if (!format) {
    fovea_reach reach;
    return fovea_segment_reach(sequence, segment, shape, values, &reach) &&
           is_near(written, count, values ? segment->v : segment->k, &reach);
  }
  if (!FOVEA_BUILDS_FORMATS) return 0;
  const fovea_coded_part p = fovea_find_part(segment, format, values ? shape->v_dim : shape->qk_dim, values, part);
  if (!p.first) return 0;
  fovea_part_range(&p, segment, shape->kv_heads, shape->layer, keys.begin, keys.end, &begin, &end);
  for (int i = 0; i < count; i++) {
    if (begin < written[i].end && written[i].begin < end) return 1;
  }
  return 0;
}

/* Checks one part of a side. */
static fovea_status check_part(const fovea_plan *plan, const fovea_written *written, int count,
                               const fovea_sequence *sequence, const fovea_segment *segment,
                               const fovea_segment_shape *shape, int values, int part, fovea_interval keys,
                               fovea_error *error) {
  if (!part_is_near(written, count, sequence, segment, shape, values, part, keys)) return FOVEA_OK;
  for (int64_t position = keys.begin; position < keys.end;) {
    fovea_claim claim =
        fovea_claim_segment(sequence, segment, shape, values, part, shape->layer, &position, keys.end);
    for (int i = 0; i < count && claim.run > 0; i++) {
      fovea_status status = fovea_check_claim(plan, &written[i], values ? "v" : "k", &claim, error);
      if (status) return status;
    }
  }
  return FOVEA_OK;
}

/* Checks the keys or values of a segment at positions begin to end - 1; of panels, the whole panels. */
static fovea_status check_segment_side(const fovea_plan *plan, const fovea_written *written, int count,
                                       const fovea_sequence *sequence, const fovea_segment *segment,
                                       const fovea_segment_shape *shape, int values, fovea_interval keys,
                                       fovea_error *error) {
  if (!values && segment->k_layout == FOVEA_KEYS_IN_PANELS) {
    keys.begin = keys.begin / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS;
    keys.end = (keys.end + FOVEA_PANEL_ROWS - 1) / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS;
  }
  for (int part = 0; part < FOVEA_PARTS; part++) {
    fovea_status status = check_part(plan, written, count, sequence, segment, shape, values, part, keys, error);
    if (status) return status;
  }
  return FOVEA_OK;
}

/* Checks the segments of an entry that hold keys that some row sees. */
static fovea_status check_entry_segments(const fovea_plan *plan, const fovea_entry *entry,
                                         const fovea_tensors *tensors, const fovea_written *written, int count,
                                         int alike, fovea_error *error) {
  const fovea_sequence *sequence = &tensors->cache.sequences[entry->batch];
  const fovea_problem *problem = &plan->problem;
  const fovea_segment_shape shape = {problem->kv_heads, problem->qk_dim, problem->v_dim, tensors->cache.layer};
  const fovea_interval seen = {entry->seen_begin, entry->seen_end};
  segment_reach known = {.alike = alike};
  for (int64_t i = 0; i < sequence->count && seen.begin < seen.end; i++) {
    const fovea_segment *segment = fovea_segment_at(sequence, i);
    fovea_interval keys = fovea_intersect(seen, (fovea_interval){segment->first, segment->first + segment->rows});
    if (keys.begin >= keys.end || !may_share(written, count, sequence, segment, &shape, &known)) continue;
    fovea_status status = check_segment_side(plan, written, count, sequence, segment, &shape, 0, keys, error);
    if (!status) status = check_segment_side(plan, written, count, sequence, segment, &shape, 1, keys, error);
    if (status) return status;
  }
  return FOVEA_OK;
}

fovea_status fovea_check_segments(const fovea_plan *plan, const fovea_tensors *tensors, int alike,
                                  const fovea_written *written, fovea_error *error) {
  for (int64_t b = 0; plan->problem.cache.segmented && b < plan->problem.batch; b++) {
    const fovea_entry *entry = &plan->entries[b];
    const fovea_sequence *sequence = &tensors->cache.sequences[entry->batch];
    if (entry->q_seen == 0 || entry->kv_begin >= entry->kv_len) continue; /* no row reads the segments */
    fovea_claim array =
        fovea_claim_rows(sequence->segments, 8 * (int)sequence->segment_size, 1, 0, 1, 0, sequence->count);
    fovea_status status = fovea_check_claim(plan, written, "the array of segments", &array, error);
    if (!status) status = check_entry_segments(plan, entry, tensors, written, 1, alike, error);
    if (status) return status;
  }
  return FOVEA_OK;
}

/* Sequences and layer are in a group of the tensors. Heads and dims, which segments may not have, are the problem's. */
static fovea_status name_group(fovea_status status, fovea_error *error) {
  if (!status || !error) return status;
  const int in_group = strncmp(error->field, "sequences", sizeof "sequences" - 1) == 0 || error->field[0] == 'l';
  return in_group ? fovea_fail_within("cache", status, error) : status;
}

fovea_status fovea_validate_sequences(const fovea_plan *plan, const fovea_tensors *tensors, int *alike,
                                      fovea_error *error) {
  const fovea_problem *problem = &plan->problem;
  const fovea_segment_shape shape = {problem->kv_heads, problem->qk_dim, problem->v_dim, tensors->cache.layer};
  if (tensors->cache.layer < 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "cache.layer is %jd; it must be 0 or more",
                      tensors->cache.layer);
  }
  *alike = problem->cache.segmented;
  if (!problem->cache.segmented) return FOVEA_OK;
  if (!tensors->cache.sequences) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "cache.sequences is NULL");
  fovea_written written[FOVEA_WRITTEN_LIMIT];
  const int count = fovea_list_written(plan, tensors, written);
  for (int64_t b = 0; b < problem->batch; b++) {
    const fovea_entry *entry = &plan->entries[b];
    const fovea_sequence *sequence = &tensors->cache.sequences[entry->batch];
    int64_t end = entry->q_seen > 0 ? entry->kv_len : 0;
    fovea_status status = fovea_check_read_sequence(sequence, &shape, entry->batch, entry->kv_begin, end,
                                                    problem->cache.holes, alike, error);
    status = name_group(status, error);
    if (!status) status = check_entry_segments(plan, entry, tensors, written, count, *alike, error);
    if (status) return status;
  }
  return FOVEA_OK;
}
