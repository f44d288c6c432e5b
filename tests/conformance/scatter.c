/* ONNX's operator TensorScatter (version 24): rows appended to caches, each a ring. case.txt does not tell its mode
 * `linear` from `circular`; in `linear` no row reaches the ring's end. */
#include "call.h"

#include "tools/fovea/convert.h"

#include <string.h>

/* (batch, heads, rows, dim), or without heads. */
static void take_shape(const struct array *array, int64_t shape[4]) {
  const int has_heads = array->rank == 4;
  shape[0] = array->shape[0];
  shape[1] = has_heads ? array->shape[1] : 1;
  shape[2] = array->shape[1 + has_heads];
  shape[3] = array->shape[2 + has_heads];
}

bool prepare_scatter(const struct test_case *test, struct call *call) {
  const struct array *past = case_input(test, "past_cache"), *update = case_input(test, "update");
  const struct array *indices = case_input(test, "write_indices");
  int64_t cache[4], rows[4];
  fovea_type type;
  call->expected = case_output(test, "present_cache");
  if (!past || !update || !indices || !call->expected || past->rank < 3 || update->rank != past->rank)
    return CALL_REFUSED(call, "an input or the output is missing");
  if (case_has_attribute(test, "axis") && case_number(test, "axis", -2) != -2)
    return CALL_REFUSED(call, "rows lie along another axis");
  if (!library_type(past->element, &type))
    return CALL_REFUSED(call, "%s is not a type of the library", element_name(past->element));
  take_shape(past, cache);
  take_shape(update, rows);
  fovea_pages_init(&call->pages, cache[0], cache[2], cache[1], cache[3], cache[3], type, FOVEA_KEYS_IN_ROWS);
  call->pages.v = call_memory(call, past->count, element_size(past->element)); /* values are not compared */
  call->past = past->data;
  fovea_sequence *sequences = call_memory(call, cache[0], sizeof *sequences);
  fovea_new_rows_init(&call->new_rows, rows[0], rows[1], rows[2], rows[3], rows[3], update->data, update->data,
                      sequences);
  call->new_rows.k_type = call->new_rows.v_type = type;
  call->new_rows.first_positions = indices->data;
  return true;
}

fovea_status run_scatter(struct call *call, void *to, fovea_error *error) {
  const fovea_new_rows *rows = &call->new_rows;
  fovea_segment segments[16][FOVEA_RING_SEGMENTS];
  fovea_sequence *sequences = (fovea_sequence *)rows->sequences;
  if (rows->batch > 16) return FOVEA_ERROR_ARGUMENT;
  call->pages.k = to;
  memcpy(to, call->past, (size_t)(call->pages.count * call->pages.k_strides.batch) * type_size(call->pages.k_type));
  for (int64_t entry = 0; entry < rows->batch; entry++) {
    const int64_t first = rows->first_positions[entry];
    const fovea_status status =
        fovea_cache_ring(&call->pages, entry, first, first + rows->rows, segments[entry], &sequences[entry], error);
    if (status != FOVEA_OK) return status;
  }
  return fovea_append(rows, NULL, NULL, error);
}
