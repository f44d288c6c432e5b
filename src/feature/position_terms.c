#include "position_terms.h"

#include "../base/error.h"
#include "../base/resolve.h"
#include "../base/validate.h"
#include "../plan/entries.h"
#include "../plan/plan.h"
#include "feature.h"

#include <stddef.h>
#include <string.h>

/* The terms of the problem, and their numbers in the tensors. */
static const char names[FOVEA_POSITION_TERMS_LIMIT][16] = {"terms.list[0]", "terms.list[1]", "terms.list[2]",
                                                           "terms.list[3]"};
static const char number_names[FOVEA_POSITION_TERMS_LIMIT][16] = {"terms[0]", "terms[1]", "terms[2]", "terms[3]"};

/* The numbers of a table of distances. Products and sums that make no sense wrap: they are checked later. */
static int64_t relative_places(const fovea_position_term *term) {
  return (int64_t)((uint64_t)term->before + 1 + (uint64_t)term->after);
}

fovea_position_term fovea_position_term_at(const fovea_problem *problem, int64_t index) {
  fovea_position_term term = problem->terms.list[index];
  if (term.kind == FOVEA_POSITION_RELATIVE) fovea_resolve_stride(&term.head, relative_places(&term));
  return term;
}

/* How many numbers a table has; a slope is one. */
static int64_t places_of(const fovea_position_term *term) {
  switch (term->kind) {
  case FOVEA_POSITION_RELATIVE:
    return relative_places(term);
  case FOVEA_POSITION_T5:
    return term->buckets;
  case FOVEA_POSITION_GRID:
    return (2 * term->depth - 1) * (2 * term->height - 1) * (2 * term->width - 1);
  default:
    return 1;
  }
}

fovea_shape fovea_position_shape(const fovea_problem *problem, const fovea_position_term *term, int64_t index) {
  const fovea_strides strides = {term->batch, term->head, term->place};
  return fovea_make_shape(number_names[index], problem->batch, problem->heads, places_of(term), 1, strides, 32);
}

/* Refuses numbers that a term of this kind has no use for. */
static fovea_status refuse_unused(const fovea_position_term *term, const char *name, fovea_error *error) {
  const struct {
    const char *field;
    int64_t value;
    int used;
  } fields[] = {{"place", term->place, term->kind >= FOVEA_POSITION_RELATIVE},
                {"before", term->before, term->kind == FOVEA_POSITION_RELATIVE},
                {"after", term->after, term->kind == FOVEA_POSITION_RELATIVE},
                {"buckets", term->buckets, term->kind == FOVEA_POSITION_T5},
                {"max_distance", term->max_distance, term->kind == FOVEA_POSITION_T5},
                {"bidirectional", term->bidirectional, term->kind == FOVEA_POSITION_T5},
                {"depth", term->depth, term->kind == FOVEA_POSITION_GRID},
                {"height", term->height, term->kind == FOVEA_POSITION_GRID},
                {"width", term->width, term->kind == FOVEA_POSITION_GRID}};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (fields[i].used || fields[i].value == 0) continue;
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s.%s is %jd and would not be used: kind is %jd", name,
                      fields[i].field, fields[i].value, (int64_t)term->kind);
  }
  return FOVEA_OK;
}

/* Every row and every key is a cell. */
static fovea_status check_cells(const fovea_problem *p, const fovea_position_term *term, const char *name,
                                fovea_error *error) {
  const int64_t cells = term->depth * term->height * term->width;
  for (int64_t b = 0; b < p->batch; b++) {
    fovea_entry entry;
    fovea_resolve_entry(p, b, &entry);
    if (entry.seen_begin == entry.seen_end) continue;
    if (entry.seen_end > cells) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                        "%s has %jd cells, and rows of batch element %jd see keys up to %jd", name, cells, b,
                        entry.seen_end - 1);
    }
    if (entry.offset < 0 || entry.offset + entry.q_seen > cells) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                        "%s has %jd cells, and the own keys of rows of batch element %jd are at %jd to %jd", name,
                        cells, b, entry.offset, entry.offset + entry.q_seen - 1);
    }
  }
  return FOVEA_OK;
}

static fovea_status check_grid(const fovea_problem *p, const fovea_position_term *term, const char *name,
                               fovea_error *error) {
  const int64_t most = INT64_C(1) << 16;
  const fovea_bounded sides[] = {
      {"depth", term->depth, 1, most}, {"height", term->height, 1, most}, {"width", term->width, 1, most}};
  const fovea_status status = fovea_validate_bounds(name, sides, 3, error);
  return status ? status : check_cells(p, term, name, error);
}

static fovea_status check_buckets(const fovea_position_term *term, const char *name, int64_t *borders,
                                  fovea_error *error) {
  const fovea_bounded direction = {"bidirectional", term->bidirectional, 0, 1};
  fovea_status status = fovea_validate_bounds(name, &direction, 1, error);
  if (!status)
    status = fovea_check_bucket_rule(name, term->bidirectional, term->buckets, term->max_distance, error);
  if (status) return status;
  *borders += fovea_make_bucket_rule(term->bidirectional, term->buckets, term->max_distance).wide;
  if (*borders <= FOVEA_BORDERS_LIMIT) return FOVEA_OK;
  return fovea_fail(
      error, FOVEA_ERROR_ARGUMENT,
      "%s.buckets is %jd: the terms have %jd buckets of more than one distance in a direction; a problem "
      "may have %jd",
      name, term->buckets, *borders, (int64_t)FOVEA_BORDERS_LIMIT);
}

static fovea_status check_term(const fovea_problem *p, int64_t index, int64_t *borders, fovea_error *error) {
  const fovea_position_term term = fovea_position_term_at(p, index);
  const char *name = names[index];
  const fovea_bounded kind = {"kind", (int)term.kind, FOVEA_POSITION_ALIBI, FOVEA_POSITION_GRID};
  const fovea_bounded sides[] = {{"before", term.before, 0, FOVEA_LENGTH_LIMIT},
                                 {"after", term.after, 0, FOVEA_LENGTH_LIMIT}};
  fovea_status status = fovea_validate_bounds(name, &kind, 1, error);
  if (!status) status = refuse_unused(&term, name, error);
  if (!status && term.kind == FOVEA_POSITION_RELATIVE) status = fovea_validate_bounds(name, sides, 2, error);
  if (!status && term.kind == FOVEA_POSITION_T5) status = check_buckets(&term, name, borders, error);
  if (!status && term.kind == FOVEA_POSITION_GRID) status = check_grid(p, &term, name, error);
  if (status) return status;
  const fovea_shape shape = fovea_position_shape(p, &term, index);
  int64_t low, high;
  if (fovea_shape_range(&shape, &low, &high)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "%s.batch %jd, head %jd, place %jd: the numbers reach further than 2^57 from the first", name,
                    term.batch, term.head, term.place);
}

fovea_status fovea_check_position_terms(const fovea_problem *p, fovea_error *error) {
  const fovea_bounded count = {"terms.count", p->terms.count, 0, FOVEA_POSITION_TERMS_LIMIT};
  fovea_status status = fovea_validate_bounds(NULL, &count, 1, error);
  if (status) return status;
  if (!p->terms.list)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "terms.list is NULL, and terms.count is %jd", p->terms.count);
  if (p->terms.size != sizeof(fovea_position_term)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "terms.size is %ju; this library's is %ju; call fovea_problem_set_terms()",
                      (uint64_t)p->terms.size, (uint64_t)sizeof(fovea_position_term));
  }
  int64_t borders = 0;
  for (int64_t i = 0; i < p->terms.count && !status; i++) status = check_term(p, i, &borders, error);
  return status;
}

static void make_borders(const fovea_position_term *term, fovea_position_rule *rule, int32_t *borders) {
  const fovea_bucket_rule buckets = fovea_make_bucket_rule(term->bidirectional, term->buckets, term->max_distance);
  rule->direction = (int)buckets.direction;
  rule->exact = (int)buckets.exact;
  rule->wide = (int)buckets.wide;
  for (int k = 0; k < rule->wide; k++) borders[k] = (int32_t)fovea_bucket_begin(&buckets, k);
}

void fovea_make_positions(const fovea_problem *problem, fovea_positions *positions) {
  int border = 0;
  positions->count = (int)problem->terms.count;
  for (int i = 0; i < positions->count; i++) {
    fovea_position_rule *rule = &positions->rules[i];
    rule->term = fovea_position_term_at(problem, i);
    rule->cells = rule->term.depth * rule->term.height * rule->term.width;
    rule->first_border = border;
    if (rule->term.kind == FOVEA_POSITION_T5) make_borders(&rule->term, rule, positions->borders + border);
    border += rule->wide;
  }
}

/* The bytes of a term's numbers. Strides were checked with the plan. */
static fovea_reach reach_of(const fovea_plan *plan, int term) {
  const fovea_shape shape = fovea_position_shape(&plan->problem, &plan->positions.rules[term].term, term);
  fovea_reach reach;
  fovea_validate_strides(&shape, 0, &reach, NULL);
  return reach;
}

/* The list of pointers, then what they point to, if there is a list. */
int fovea_list_position_terms(const fovea_plan *plan, const fovea_tensors *tensors, fovea_input *inputs) {
  const int count = plan->positions.count;
  inputs[0] = fovea_input_of("terms", tensors->terms, count, sizeof(float *), _Alignof(float *));
  if (!tensors->terms || (uintptr_t)tensors->terms % _Alignof(float *) != 0) return 1; /* it is refused */
  for (int i = 0; i < count; i++) inputs[1 + i] = (fovea_input){tensors->terms[i], reach_of(plan, i)};
  return 1 + count;
}
_Static_assert(1 + FOVEA_POSITION_TERMS_LIMIT <= (int)FOVEA_INPUTS_OF_FEATURE, "inputs of terms have room");

/* Numbers of each term, as much for what the terms hide, and a part of a table of a GRID. */
fovea_scratch_floats fovea_position_terms_scratch(const fovea_plan *plan) {
  const uint64_t arrays = (uint64_t)plan->problem.terms.count + 1;
  return (fovea_scratch_floats){.block = arrays * fovea_term_floats(plan->kernels) + FOVEA_GRID_FLOATS};
}
