#include "run_segments.h"

#include "../base/error.h"
#include "../cache/claims.h"

#include <string.h>

/* Whether a range overlaps the range of an output. */
static int is_near(const fovea_written *written, int count, uintptr_t begin, uintptr_t end) {
  for (int i = 0; i < count; i++) {
    if (begin < written[i].end && written[i].begin < end) return 1;
  }
  return 0;
}

/* Whether the range of some part of all segments does. If not, as of nearly all runs, no segment is looked at. */
static int memory_is_near(const fovea_written *written, int count, const fovea_segment_memory *memory) {
  for (int i = 0; i < FOVEA_SEGMENT_PARTS; i++)
    if (is_near(written, count, memory->begin[i], memory->end[i])) return 1;
  return 0;
}

/* Checks keys of a part of a side of a segment; of panels, the whole panels. */
static fovea_status check_part(const fovea_plan *plan, const fovea_written *written, int count,
                               const fovea_segment *segment, const fovea_segment_shape *shape, int values, int part,
                               fovea_interval keys, fovea_error *error) {
  if (!values && segment->k_layout == FOVEA_KEYS_IN_PANELS) {
    keys.begin = keys.begin / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS;
    keys.end = (keys.end + FOVEA_PANEL_ROWS - 1) / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS;
  }
  for (int64_t position = keys.begin; position < keys.end;) {
    fovea_claim claim = fovea_claim_segment(segment, shape, values, part, shape->layer, &position, keys.end);
    for (int i = 0; i < count && claim.run > 0; i++) {
      fovea_status status = fovea_check_claim(plan, &written[i], values ? "v" : "k", &claim, error);
      if (status) return status;
    }
  }
  return FOVEA_OK;
}

/* Checks keys of a segment: keys first, then values, of both the parts that are near. What parts reach is found once
 * if all segments are alike. */
static fovea_status check_segment(const fovea_plan *plan, const fovea_written *written, int count,
                                  const fovea_segment *segment, const fovea_segment_shape *shape, int all_alike,
                                  fovea_interval keys, fovea_alike *known, fovea_error *error) {
  if (!known->of || !all_alike || segment->rows > known->of->rows) {
    fovea_begin_alike(known, segment);
    fovea_reach_alike(known, shape);
  }
  for (int values = 0; values < 2; values++)
    for (const fovea_alike_part *part = known->parts; part < known->parts + known->count; part++) {
      const uintptr_t pointer = (uintptr_t)fovea_part_pointer(segment, part);
      if (part->number % 2 != values ||
          !is_near(written, count, pointer + (uintptr_t)part->begin, pointer + (uintptr_t)part->end))
        continue;
      fovea_status status = check_part(plan, written, count, segment, shape, values, part->number / 2, keys, error);
      if (status) return status;
    }
  return FOVEA_OK;
}

/* Checks the segments of an entry that hold keys that some row sees, all of which lie in the memory. */
static fovea_status check_entry_segments(const fovea_plan *plan, const fovea_entry *entry,
                                         const fovea_tensors *tensors, const fovea_written *written, int count,
                                         const fovea_read_segments *read, fovea_error *error) {
  if (!memory_is_near(written, count, &read->memory)) return FOVEA_OK;
  const fovea_sequence *sequence = &tensors->cache.sequences[entry->batch];
  const fovea_problem *problem = &plan->problem;
  const fovea_segment_shape shape = {problem->kv_heads, problem->qk_dim, problem->v_dim, tensors->cache.layer};
  const fovea_interval seen = {entry->seen_begin, entry->seen_end};
  fovea_alike known = {0};
  for (int64_t i = 0; i < sequence->count && seen.begin < seen.end; i++) {
    const fovea_segment *segment = fovea_segment_at(sequence, i);
    fovea_interval keys = fovea_intersect(seen, (fovea_interval){segment->first, segment->first + segment->rows});
    if (keys.begin >= keys.end) continue;
    fovea_status status = check_segment(plan, written, count, segment, &shape, read->alike, keys, &known, error);
    if (status) return status;
  }
  return FOVEA_OK;
}

fovea_status fovea_check_segments(const fovea_plan *plan, const fovea_tensors *tensors,
                                  const fovea_read_segments *read, const fovea_written *written,
                                  fovea_error *error) {
  for (int64_t b = 0; plan->problem.cache.segmented && b < plan->problem.batch; b++) {
    const fovea_entry *entry = &plan->entries[b];
    const fovea_sequence *sequence = &tensors->cache.sequences[entry->batch];
    if (entry->q_seen == 0 || entry->kv_begin >= entry->kv_len) continue; /* no row reads the segments */
    fovea_claim array =
        fovea_claim_rows(sequence->segments, 8 * (int)sequence->segment_size, 1, 0, 1, 0, sequence->count);
    fovea_status status = fovea_check_claim(plan, written, "the array of segments", &array, error);
    if (!status) status = check_entry_segments(plan, entry, tensors, written, 1, read, error);
    if (status) return status;
  }
  return FOVEA_OK;
}

/* Sequences and layer are in a group of the tensors. Heads and dims, which segments may not have, are the problem's. */
static fovea_status name_group(fovea_status status, fovea_error *error) {
  if (!status || !error) return status;
  const int in_group = memcmp(error->field, "sequences", sizeof "sequences" - 1) == 0 || error->field[0] == 'l';
  return in_group ? fovea_fail_within("cache", status, error) : status;
}

fovea_status fovea_validate_sequences(const fovea_plan *plan, const fovea_tensors *tensors,
                                      fovea_read_segments *read, fovea_error *error) {
  const fovea_problem *problem = &plan->problem;
  const fovea_segment_shape shape = {problem->kv_heads, problem->qk_dim, problem->v_dim, tensors->cache.layer};
  if (tensors->cache.layer < 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "cache.layer is %jd; it must be 0 or more",
                      tensors->cache.layer);
  }
  *read = (fovea_read_segments){.alike = problem->cache.segmented};
  if (!problem->cache.segmented) return FOVEA_OK;
  if (!tensors->cache.sequences) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "cache.sequences is NULL");
  fovea_written written[FOVEA_WRITTEN_LIMIT];
  const int count = fovea_list_written(plan, tensors, written);
  for (int64_t b = 0; b < problem->batch; b++) {
    const fovea_entry *entry = &plan->entries[b];
    const fovea_sequence *sequence = &tensors->cache.sequences[entry->batch];
    int64_t end = entry->q_seen > 0 ? entry->kv_len : 0;
    fovea_status status = fovea_check_read_sequence(sequence, &shape, entry->batch, entry->kv_begin, end,
                                                    problem->cache.holes, &read->memory, &read->alike, error);
    status = name_group(status, error);
    if (!status) status = check_entry_segments(plan, entry, tensors, written, count, read, error);
    if (status) return status;
  }
  return FOVEA_OK;
}
