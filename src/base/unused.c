#include "unused.h"

#include "error.h"

/* One setting that would not be used: a pointer, or a number that is not what it is where nobody sets it. */
typedef struct unused_setting {
  int would_not_be_used;
  const char *name;
  const void *pointer;
  int64_t value, unset;
  const char *why;
} unused_setting;

static fovea_status refuse(const unused_setting *settings, size_t count, fovea_error *error) {
  for (size_t i = 0; i < count; i++) {
    const unused_setting *s = &settings[i];
    if (!s->would_not_be_used) continue;
    if (s->pointer) {
      return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is not NULL and would not be used: %s", s->name, s->why);
    }
    if (s->value != s->unset) {
      return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is %d and would not be used: %s", s->name, s->value, s->why);
    }
  }
  return FOVEA_OK;
}

fovea_status fovea_refuse_unused_rules(const fovea_problem *problem, fovea_error *error) {
  const fovea_problem *p = problem;
  const unused_setting settings[] = {
      {p->chunk_size == 0, "chunk_left", NULL, p->chunk_left, 0, "chunk_size is 0"},
      {p->chunk_size == 0, "chunk_right", NULL, p->chunk_right, 0, "chunk_size is 0"},
      {p->offsets != NULL, "offset", NULL, p->offset, FOVEA_OFFSET_BOTTOM_RIGHT, "offsets is not NULL"},
      {!p->segmented, "kv_begins", p->kv_begins, 0, 0, "segmented is 0"},
      {!p->mask_type, "mask_begins", p->mask_begins, 0, 0, "mask_type is FOVEA_MASK_NONE"},
      {!p->mask_type, "mask_begin", NULL, p->mask_begin, 0, "mask_type is FOVEA_MASK_NONE"},
      {!p->mask_type, "mask_keys", NULL, p->mask_keys, FOVEA_UNLIMITED, "mask_type is FOVEA_MASK_NONE"},
      {p->mask_begins != NULL, "mask_begin", NULL, p->mask_begin, 0, "mask_begins is not NULL"},
      {!p->allocator.allocate, "allocator.context", p->allocator.context, 0, 0, "allocator.allocate is NULL"},
  };
  return refuse(settings, sizeof settings / sizeof settings[0], error);
}

fovea_status fovea_refuse_unused_sinks(const fovea_problem *problem, const fovea_tensors *tensors,
                                       fovea_error *error) {
  const unused_setting sinks = {problem->sink != FOVEA_SINK_PER_HEAD,
                                "sinks",
                                tensors->sinks,
                                0,
                                0,
                                "sink of the problem is not FOVEA_SINK_PER_HEAD"};
  return refuse(&sinks, 1, error);
}

fovea_status fovea_refuse_unused_tensors(const fovea_problem *problem, const fovea_tensors *tensors,
                                         fovea_error *error) {
  const unused_setting settings[] = {
      {problem->segmented, "k", tensors->k, 0, 0, "segmented is 1, and keys are those of sequences"},
      {problem->segmented, "v", tensors->v, 0, 0, "segmented is 1, and values are those of sequences"},
      {!problem->segmented, "sequences", tensors->sequences, 0, 0, "segmented is 0"},
      {!problem->segmented, "layer", NULL, tensors->layer, 0, "segmented is 0, and layers are those of segments"},
      {!problem->mask_type, "mask", tensors->mask, 0, 0, "mask_type is FOVEA_MASK_NONE"},
      {problem->to_state, "o", tensors->o, 0, 0, "to_state is 1, and the result is state"},
      {problem->to_state, "lse", tensors->lse, 0, 0, "to_state is 1, and the result is state"},
      {!problem->to_state, "state", tensors->state, 0, 0, "to_state is 0"},
  };
  fovea_status status = refuse(settings, sizeof settings / sizeof settings[0], error);
  return status ? status : fovea_refuse_unused_sinks(problem, tensors, error);
}

fovea_status fovea_refuse_unused_execution(const fovea_execution *execution, fovea_error *error) {
  const unused_setting context = {!execution->parallel_for, "parallel_context", execution->parallel_context, 0, 0,
                                  "parallel_for is NULL"};
  if (!execution->scratch && execution->scratch_size != 0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "scratch_size is %u and would not be used: scratch is NULL",
                      (uint64_t)execution->scratch_size);
  }
  return refuse(&context, 1, error);
}

fovea_status fovea_refuse_unused_angles(const fovea_rotary *rotary, fovea_error *error) {
  const int tables = rotary->cosines || rotary->sines;
  const unused_setting table_rows = {!tables, "table_rows", NULL, rotary->table_rows, 0, "cosines is NULL"};
  if ((tables || rotary->frequencies) && rotary->base != 10000.0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "base is %g and would not be used: %s", rotary->base,
                      tables ? "cosines and sines are not NULL" : "frequencies is not NULL");
  }
  return refuse(&table_rows, 1, error);
}

fovea_status fovea_refuse_unused_positions(const fovea_rotation *rotation, fovea_error *error) {
  const fovea_rotation *r = rotation;
  const unused_setting settings[] = {
      {r->positions != NULL, "first_positions", r->first_positions, 0, 0, "positions is not NULL"},
      {r->positions != NULL, "first_position", NULL, r->first_position, 0, "positions is not NULL"},
      {r->first_positions != NULL, "first_position", NULL, r->first_position, 0, "first_positions is not NULL"},
  };
  return refuse(settings, sizeof settings / sizeof settings[0], error);
}

fovea_status fovea_refuse_unused_position(const fovea_new_rows *rows, fovea_error *error) {
  const unused_setting first = {rows->first_positions != NULL, "first_position", NULL, rows->first_position, 0,
                                "first_positions is not NULL"};
  return refuse(&first, 1, error);
}
