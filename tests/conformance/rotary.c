/* ONNX's operator RotaryEmbedding (version 23) as a call into the library. */
#include "call.h"

#include <string.h>

/* X is (batch, heads, rows, dim), or (batch, rows, heads * dim) with the number of heads as an attribute. */
static bool take_rows(const struct test_case *test, struct call *call) {
  const struct array *x = case_input(test, "X");
  const int64_t heads = (int64_t)case_number(test, "num_heads", 0);
  fovea_rotation *rotation = &call->rotation;
  call->expected = case_output(test, "Y");
  if (!x || !call->expected || (x->rank != 4 && (x->rank != 3 || heads < 1)))
    return CALL_REFUSED(call, "X or Y is missing");
  const int64_t *shape = x->shape;
  if (x->rank == 4) {
    fovea_rotation_init(rotation, shape[0], shape[1], shape[2], shape[3], x->data, NULL);
  } else {
    fovea_rotation_init(rotation, shape[0], heads, shape[1], shape[2] / heads, x->data, NULL);
    rotation->from_strides = fovea_strides_rows_before_heads(rotation->rows, heads, rotation->dim);
    rotation->to_strides = rotation->from_strides;
  }
  if (!library_type(x->element, &rotation->from_type) || !library_type(call->expected->element, &rotation->to_type))
    return CALL_REFUSED(call, "%s is not a type of the library", element_name(x->element));
  return true;
}

/* The tables' rows are by position; without position ids they are by batch element and row. */
static bool take_tables(const struct test_case *test, struct call *call) {
  const struct array *cosines = case_input(test, "cos_cache"), *sines = case_input(test, "sin_cache");
  const struct array *positions = case_input(test, "position_ids");
  fovea_rotation *rotation = &call->rotation;
  if (!cosines || !sines || cosines->rank != (positions ? 2 : 3) || sines->count != cosines->count)
    return CALL_REFUSED(call, "cos_cache or sin_cache is missing");
  if (cosines->element != ELEMENT_F32 || sines->element != ELEMENT_F32)
    return CALL_REFUSED(call, "the tables are %s", element_name(cosines->element));
  call->rotary.cosines = cosines->data;
  call->rotary.sines = sines->data;
  call->rotary.table_rows = positions ? cosines->shape[0] : cosines->shape[0] * cosines->shape[1];
  call->rotary.table_stride = cosines->shape[cosines->rank - 1];
  if (positions) {
    rotation->positions = positions->data;
    return true;
  }
  int64_t *first = call_memory(call, rotation->batch, sizeof *first);
  for (int64_t batch = 0; batch < rotation->batch; batch++) first[batch] = batch * rotation->rows;
  rotation->first_positions = first;
  return true;
}

bool prepare_rotary(const struct test_case *test, struct call *call) {
  static const char *const known[] = {"interleaved", "num_heads", "rotary_embedding_dim"};
  if (!call_knows_attributes(call, test, known, sizeof known / sizeof known[0]) || !take_rows(test, call))
    return false;
  const int64_t dims = (int64_t)case_number(test, "rotary_embedding_dim", 0);
  fovea_rotary_init(&call->rotary,
                    case_number(test, "interleaved", 0) != 0 ? FOVEA_ROTARY_INTERLEAVED : FOVEA_ROTARY_HALVES,
                    dims > 0 ? dims : call->rotation.dim);
  return take_tables(test, call);
}
