/* Checks of the new rows that a caller hands in. */
#include "validate_append.h"
#include "../base/error.h"
#include "../base/types.h"
#include "../base/unused.h"
#include "../base/validate.h"
#include "../rotary/rotary.h"
#include "../rotary/validate_rotary.h"
#include "claims.h"
#include "coded_rows.h"
#include "hadamard.h"
#include "new_rows.h"

static fovea_status check_sizes(const fovea_new_rows *rows, fovea_error *error) {
  const fovea_bounded sizes[] = {{"batch", rows->batch, 1, FOVEA_LENGTH_LIMIT},
                                 {"kv_heads", rows->kv_heads, 1, FOVEA_LENGTH_LIMIT},
                                 {"rows", rows->rows, 0, FOVEA_LENGTH_LIMIT},
                                 {"qk_dim", rows->qk_dim, 1, FOVEA_DIM_LIMIT},
                                 {"v_dim", rows->v_dim, 1, FOVEA_DIM_LIMIT}};
  fovea_status status = fovea_validate_bounds(NULL, sizes, sizeof sizes / sizeof sizes[0], error);
  if (status) return status;
  const fovea_bounded types[] = {fovea_bounded_type("k_type", rows->k_type),
                                 fovea_bounded_type("v_type", rows->v_type)};
  return fovea_validate_bounds(NULL, types, sizeof types / sizeof types[0], error);
}

static fovea_status check_tensors(const fovea_new_rows *r, fovea_error *error) {
  const int64_t batch = r->cu_seqlens ? 1 : r->batch;
  const fovea_shape k =
      fovea_make_shape("k", batch, r->kv_heads, r->rows, r->qk_dim, r->k_strides, fovea_type_bits(r->k_type));
  const fovea_shape v =
      fovea_make_shape("v", batch, r->kv_heads, r->rows, r->v_dim, r->v_strides, fovea_type_bits(r->v_type));
  fovea_reach k_reach, v_reach;
  fovea_status status = fovea_validate_strides(&k, 0, &k_reach, error);
  if (!status) status = fovea_validate_strides(&v, 0, &v_reach, error);
  if (!status) status = fovea_validate_pointer(&k_reach, r->k, error);
  if (!status) status = fovea_validate_pointer(&v_reach, r->v, error);
  return status;
}

static fovea_status check_positions(const fovea_new_rows *rows, const fovea_rotary *rotary, int64_t entry,
                                    fovea_error *error) {
  int64_t first = fovea_new_position(rows, entry), count = fovea_new_row_count(rows, entry);
  if (count < 0 || count > rows->rows) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "row_lens[%jd] is %jd; it must be from 0 to rows, which is %jd",
                      entry, count, rows->rows);
  }
  if (count == 0) return FOVEA_OK;
  if (first < 0 || first > FOVEA_LENGTH_LIMIT) {
    if (!rows->first_positions) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "first_position is %jd; it must be from 0 to %jd", first,
                        FOVEA_LENGTH_LIMIT);
    }
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "first_positions[%jd] is %jd; it must be from 0 to %jd", entry,
                      first, FOVEA_LENGTH_LIMIT);
  }
  if (!rotary) return FOVEA_OK;
  if (rows->rotary_positions) {
    return fovea_validate_positions(rotary, "rotary_positions", entry, count, rows->rotary_positions,
                                    fovea_new_positions(rows), fovea_new_positions_offset(rows, entry), error);
  }
  const char *name = rows->first_positions ? "first_positions" : "first_position";
  const int64_t index = rows->first_positions ? entry : -1;
  fovea_status status = fovea_validate_position(rotary, name, index, entry, 0, first, error);
  if (status) return status;
  return fovea_validate_position(rotary, name, index, entry, count - 1, first + count - 1, error);
}

/* Checks the layer and the rows of each batch element, which cu_seqlens or row_lens gives, not both. */
static fovea_status check_packing(const fovea_new_rows *rows, fovea_error *error) {
  const fovea_bounded layer = {"layer", rows->layer, 0, FOVEA_LENGTH_LIMIT};
  if (rows->cu_seqlens && rows->row_lens) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "cu_seqlens is given together with row_lens; one of them must be NULL");
  }
  fovea_status status =
      fovea_validate_cumulative("cu_seqlens", rows->cu_seqlens, rows->batch, rows->rows, "rows", error);
  return status ? status : fovea_validate_bounds(NULL, &layer, 1, error);
}

/* The arrays of the rotary embedding, and the list of positions. */
enum { READ_ARRAYS = FOVEA_ROTARY_ARRAYS + 1 };

typedef struct append_call {
  const fovea_new_rows *rows;
  fovea_read_array arrays[READ_ARRAYS];
} append_call;

static fovea_status check_arrays(const fovea_rotary *rotary, append_call *call, fovea_error *error) {
  const fovea_new_rows *rows = call->rows;
  fovea_status status = fovea_validate_rotary(rotary, rows->qk_dim, error);
  if (!status) status = fovea_validate_rotary_arrays(rotary, call->arrays, error);
  if (!status && rows->rotary_positions) status = fovea_validate_row_count(rows->batch, rows->rows, error);
  if (status) return status;
  fovea_read_array *list = &call->arrays[FOVEA_ROTARY_ARRAYS];
  *list = fovea_position_array(rotary, "rotary_positions", rows->rotary_positions, fovea_new_positions(rows));
  return fovea_validate_pointer(&list->reach, list->pointer, error);
}

static fovea_claimed_rows claimed_rows(const void *call, int64_t entry) {
  const fovea_new_rows *rows = ((const append_call *)call)->rows;
  int64_t first = fovea_new_position(rows, entry), count = fovea_new_row_count(rows, entry);
  return (fovea_claimed_rows){&rows->sequences[entry], first, first + count, 1, entry, rows->layer};
}

/* Arrays 0 to 2 batch - 1 are K and V of each batch element; then come the lists of the rotary embedding. */
static fovea_claim claimed_array(const void *call, int64_t index) {
  const fovea_new_rows *rows = ((const append_call *)call)->rows;
  int64_t entry = index / 2;
  if (entry >= rows->batch) {
    const fovea_read_array *array = &((const append_call *)call)->arrays[index - 2 * rows->batch];
    if (!array->pointer) return (fovea_claim){.segment = -1};
    fovea_claim claim = fovea_claim_rows(array->pointer, 8, 1, 0, 1, 0, array->reach.end);
    claim.name = array->reach.name;
    return claim;
  }
  if (fovea_new_row_count(rows, entry) == 0) return (fovea_claim){.segment = -1};
  int values = (int)(index % 2);
  fovea_type type = values ? rows->v_type : rows->k_type;
  fovea_strides strides = values ? rows->v_strides : rows->k_strides;
  const void *first = fovea_element(values ? rows->v : rows->k, type, fovea_new_rows_offset(rows, strides, entry));
  fovea_claim claim =
      fovea_claim_rows(first, fovea_type_bits(type), rows->kv_heads, strides.head, fovea_new_row_count(rows, entry),
                       strides.row, values ? rows->v_dim : rows->qk_dim);
  claim.name = values ? "rows.v" : "rows.k";
  return claim;
}

fovea_status fovea_validate_new_rows(const fovea_new_rows *rows, const fovea_rotary *rotary, fovea_error *error) {
  append_call call = {.rows = rows};
  fovea_status status = check_sizes(rows, error);
  if (!status) status = check_packing(rows, error);
  if (!status) status = fovea_refuse_unused_position(rows, rotary != NULL, error);
  if (!status && rotary) status = check_arrays(rotary, &call, error);
  if (!status) status = fovea_check_hadamard("k_hadamard", rows->k_hadamard, rows->qk_dim, error);
  if (!status) status = fovea_check_hadamard("v_hadamard", rows->v_hadamard, rows->v_dim, error);
  if (!status) status = check_tensors(rows, error);
  if (status || rows->rows == 0) return status;
  if (!rows->sequences) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "sequences is NULL");
  const fovea_segment_shape shape = {rows->kv_heads, rows->qk_dim, rows->v_dim, rows->layer};
  for (int64_t entry = 0; entry < rows->batch; entry++) {
    status = check_positions(rows, rotary, entry, error);
    if (status) return status;
    fovea_claimed_rows claimed = claimed_rows(&call, entry);
    status = fovea_check_sequence(claimed.sequence, &shape, entry, claimed.begin, claimed.end, error);
    if (!status)
      status = fovea_check_written_sequence(claimed.sequence, &shape, entry, claimed.begin, claimed.end, error);
    if (FOVEA_BUILDS_FORMATS && !status)
      status = fovea_check_coded_rows(claimed.sequence, &shape, 1, entry, claimed.begin, claimed.end, error);
    if (status) return status;
  }
  const fovea_claims claims = {.shape = shape,
                               .sequence_count = rows->batch,
                               .array_count = 2 * rows->batch + (rotary ? READ_ARRAYS : 0),
                               .call = &call,
                               .sequence = claimed_rows,
                               .array = claimed_array};
  return fovea_check_claims(&claims, error);
}
