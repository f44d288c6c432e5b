/* Moves rows of a sequence to other positions of it. */
#include "../../arch/float_state.h"
#include "../base/caller.h"
#include "../base/error.h"
#include "../base/validate.h"
#include "../rotary/validate_rotary.h"
#include "../system/dispatch.h"
#include "claims.h"
#include "coded_rows.h"
#include "copy.h"
#include "hadamard.h"

/* A call that was read. */
typedef struct move_call {
  fovea_move move;
  fovea_rotary rotary;
  int turns; /* whether keys are rotated */
  fovea_copy copy;
  fovea_segment_shape shape;
  fovea_read_array arrays[FOVEA_ROTARY_ARRAYS];
} move_call;

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static fovea_status check_sizes(const fovea_move *m, fovea_error *error) {
  const fovea_bounded sizes[] = {
      {"layers", m->layers, 1, FOVEA_LENGTH_LIMIT}, {"kv_heads", m->kv_heads, 1, FOVEA_LENGTH_LIMIT},
      {"qk_dim", m->qk_dim, 1, FOVEA_DIM_LIMIT},    {"v_dim", m->v_dim, 1, FOVEA_DIM_LIMIT},
      {"begin", m->begin, 0, FOVEA_LENGTH_LIMIT},   {"end", m->end, m->begin, FOVEA_LENGTH_LIMIT},
      {"to", m->to, 0, FOVEA_LENGTH_LIMIT}};
  return fovea_validate_bounds(NULL, sizes, sizeof sizes / sizeof sizes[0], error);
}

/* The rotation, and what only a rotation uses. */
static fovea_status check_rotation(move_call *call, fovea_error *error) {
  const fovea_move *m = &call->move;
  const char *unused = NULL;
  if (m->rotate_by != FOVEA_ROTATE_AS_MOVED) unused = "rotate_by";
  if (m->k_hadamard != 0) unused = "k_hadamard";
  if (!m->rotary && unused)
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: rotary is NULL", unused);
  if (!m->rotary) return FOVEA_OK;
  fovea_status status = fovea_read_rotary(m->rotary, &call->rotary, error);
  if (!status) status = fovea_validate_rotary(&call->rotary, m->qk_dim, error);
  if (!status) status = fovea_check_hadamard("k_hadamard", m->k_hadamard, m->qk_dim, error);
  if (!status) status = fovea_validate_rotary_arrays(&call->rotary, call->arrays, error);
  if (status) return status;
  if (call->rotary.cosines)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "rotary has tables, which have no differences of positions: give the base or the "
                      "frequencies that they were made of");
  if (m->qk_dim > FOVEA_QUANTISED_DIMS)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "qk_dim is %jd; keys that are rotated have at most %jd",
                      m->qk_dim, (int64_t)FOVEA_QUANTISED_DIMS);
  const int64_t by = m->rotate_by == FOVEA_ROTATE_AS_MOVED ? m->to - m->begin : m->rotate_by;
  const int64_t limit = INT64_C(1) << 40;
  call->turns = by != 0 && call->rotary.dims > 0;
  if (by >= -limit && by <= limit) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s rotates keys by %jd positions; it must be from %jd to %jd",
                    m->rotate_by == FOVEA_ROTATE_AS_MOVED ? "to" : "rotate_by", by, -limit, limit);
}

/* Groups of keys that do not fit on the stack may not take the place of the rows that they are made from. */
static fovea_status check_groups(const move_call *call, fovea_error *error) {
  const fovea_sequence *sequence = call->move.sequence;
  const int64_t by = call->copy.shift < 0 ? -call->copy.shift : call->copy.shift;
  const fovea_segment *segment = fovea_find_segment(sequence, call->copy.begin);
  for (;; segment = fovea_segment_after(sequence, segment)) {
    for (int values = 0; values < 2; values++) {
      const fovea_format *format = fovea_segment_format(segment, values);
      const int64_t dim = values ? call->shape.v_dim : call->shape.qk_dim;
      if (!FOVEA_BUILDS_FORMATS || !format || (by == 0 && values)) continue;
      const fovea_code_layout layout = fovea_lay_out_codes(format, dim, 0);
      const int64_t keys = fovea_keys_at_once(&layout);
      if (keys == 1 || by >= keys || keys * ((dim + 15) / 16 * 16) <= FOVEA_QUANTISED_DIMS) continue;
      return fovea_fail(
          error, FOVEA_ERROR_ARGUMENT,
          "to is %jd positions away, and sequences[0].segments[%jd].%s is written in groups of %jd keys "
          "with more than %jd numbers: move by at least a group",
          by, fovea_segment_number(sequence, segment), values ? "v" : "k", keys, (int64_t)FOVEA_QUANTISED_DIMS);
    }
    if (segment->first + segment->rows >= call->copy.end) return FOVEA_OK;
  }
}

/* Rows that are written, and rows that are only read: what lies in both is moved in the right order. */
static fovea_claimed_rows claimed_rows(const void *data, int64_t index) {
  const move_call *call = data;
  const fovea_copy *c = &call->copy;
  fovea_claimed_rows rows = {call->move.sequence, c->begin, c->end, 1, 0, index / 2};
  if (index % 2 == 0) return rows;
  rows.written = 0;
  rows.begin = c->shift < 0 ? larger(c->begin - c->shift, c->end) : c->begin - c->shift;
  rows.end = c->shift < 0 ? c->end - c->shift : smaller(c->end - c->shift, c->begin);
  return rows;
}

static fovea_claim claimed_array(const void *data, int64_t index) {
  const fovea_read_array *array = &((const move_call *)data)->arrays[index];
  fovea_claim claim = fovea_claim_rows(array->pointer, 8, 1, 0, array->pointer ? 1 : 0, 0, array->reach.end);
  claim.name = array->reach.name;
  return claim;
}

static fovea_status check_rows(const move_call *call, fovea_error *error) {
  const fovea_move *m = &call->move;
  const fovea_copy *c = &call->copy;
  const fovea_claims claims = {.shape = call->shape,
                               .sequence_count = 2 * m->layers,
                               .array_count = m->rotary ? FOVEA_ROTARY_ARRAYS : 0,
                               .call = call,
                               .sequence = claimed_rows,
                               .array = claimed_array};
  if (!m->sequence) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "sequence is NULL");
  fovea_status status =
      fovea_check_layers_of_sequence(m->sequence, &call->shape, m->layers, 0, m->begin, m->end, error);
  if (!status)
    status = fovea_check_layers_of_sequence(m->sequence, &call->shape, m->layers, 0, c->begin, c->end, error);
  if (FOVEA_BUILDS_FORMATS && !status)
    status = fovea_check_coded_rows(m->sequence, &call->shape, 0, 0, m->begin, m->end, error);
  if (FOVEA_BUILDS_FORMATS && !status)
    status = fovea_check_coded_rows(m->sequence, &call->shape, 1, 0, c->begin, c->end, error);
  if (!status) status = check_groups(call, error);
  return status ? status : fovea_check_claims(&claims, error);
}

static fovea_status check(move_call *call, fovea_error *error) {
  const fovea_move *m = &call->move;
  fovea_status status = check_sizes(m, error);
  if (!status) status = check_rotation(call, error);
  if (status || m->begin == m->end) return status;
  call->shape = (fovea_segment_shape){m->kv_heads, m->qk_dim, m->v_dim, m->layers - 1};
  call->copy = (fovea_copy){.sequences = {m->sequence, m->sequence},
                            .shape = &call->shape,
                            .layers = m->layers,
                            .begin = m->to,
                            .end = m->to + (m->end - m->begin),
                            .shift = m->to - m->begin,
                            .in_place = 1};
  return check_rows(call, error);
}

/* Sets the angles, which all keys share. */
static void make_turn(const move_call *call, const fovea_kernels *kernels, fovea_turn *turn) {
  const fovea_move *m = &call->move;
  const int64_t by = m->rotate_by == FOVEA_ROTATE_AS_MOVED ? m->to - m->begin : m->rotate_by;
  const fovea_rotary_position position = fovea_plain_position(by);
  fovea_rotary_piece piece;
  int i = 0;
  turn->rotary = &call->rotary;
  turn->hadamard = m->k_hadamard;
  fovea_rotary_begin(&piece, &call->rotary, kernels);
  do {
    fovea_rotary_at(&piece, &position, &turn->angles[i++]);
  } while (fovea_rotary_next(&piece));
}

fovea_status fovea_sequence_move(const fovea_move *given, const fovea_execution *given_execution,
                                 fovea_error *error) {
  move_call call = {.turns = 0};
  fovea_execution execution;
  fovea_turn turn;
  const fovea_kernels *kernels;
  fovea_status status = fovea_read_move(given, &call.move, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (status) return status;
  fovea_float_state caller = fovea_float_begin();
  status = check(&call, error);
  if (!status) status = fovea_dispatch_wanted(execution.isa, FOVEA_F32, &kernels, error);
  if (!status && call.turns) make_turn(&call, kernels, &turn);
  fovea_float_end(caller);
  call.copy.turn = call.turns ? &turn : NULL;
  if (status || call.move.begin == call.move.end || (!call.turns && call.copy.shift == 0)) return status;
  fovea_copy_rows(&call.copy, kernels, &execution);
  return FOVEA_OK;
}
