#include "decode_codes.h"

#include "../plan/scratch_layout.h"
#include "code_rows.h"
#include "operands.h"

#include <string.h>

/* Scales as they are stored, of rows in place. Whole vectors are written. */
static void copy_scales(const fovea_task_context *context, const fovea_row_list *list, fovea_interval keys,
                        int values, float *scales) {
  const fovea_type type = list->codes.scale_type;
  const int64_t count = keys.end - keys.begin;
  if (list->scale_step == fovea_bytes(type, 1) && (uintptr_t)list->scales[keys.begin] % 4 == 0) {
    const fovea_widen_args args = {list->scales[keys.begin], type, 0, 1, count, scales + keys.begin, 0};
    context->kernels->widen(&args);
    return;
  }
  for (int64_t key = keys.begin; key < keys.end; key++) {
    if (type == FOVEA_F32)
      memcpy(&scales[key], list->scales[key], sizeof scales[key]);
    else
      scales[key] = fovea_stored_scale(context->kernels, list->scales[key], type, values);
  }
}

/* Reads the scales of rows that lie in place, 0 for all other keys of the block. Returns 0 if a row needs another.
 */
static int read_scales(const fovea_task_context *context, const fovea_row_list *list, fovea_interval keys,
                       int values, float *scales) {
  int negative = 0;
  copy_scales(context, list, keys, values, scales);
  for (int64_t key = keys.begin; key < keys.end; key++) {
    negative |= scales[key] < 0.0f;
    scales[key] = __builtin_fabsf(scales[key]) < 0x1p120f ? scales[key] : __builtin_nanf("");
  }
  for (int64_t key = 0; key < keys.begin; key++) scales[key] = 0;
  for (int64_t key = keys.end; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  return !(values && negative);
}

/* Rows of which each lies in one piece, or in panels of keys. */
static int lies_well(const fovea_row_list *list, int values) {
  return list->uniform && list->coded && (list->panels || list->codes.item == 0) && list->codes.int8_rows > values;
}

/* All rows of the block as codes, in scratch. */
static void gather(const fovea_task_context *context, fovea_interval keys, int values, fovea_code_list *codes) {
  const fovea_problem *problem = &context->plan->problem;
  const int64_t dim = values ? problem->v_dim : problem->qk_dim, stride = fovea_code_stride(dim);
  const fovea_code_side side = {context,
                                values ? context->plan->values : context->plan->scores,
                                values ? fovea_value_run : fovea_key_run,
                                dim,
                                values,
                                values ? context->memory.values : context->memory.keys};
  int8_t *to = values ? context->memory.value_codes : context->memory.codes;
  memset(codes->scales, 0, FOVEA_BLOCK_KEYS * sizeof(float));
  fovea_gather_codes(&side, keys, to, codes->scales);
  for (int64_t key = 0; key < FOVEA_BLOCK_KEYS; key++)
    codes->gathered[key] = to + fovea_least(fovea_most(key, keys.begin), keys.end - 1) * stride;
  codes->rows = codes->gathered;
}

void fovea_list_codes(const fovea_task_context *context, const fovea_row_list *list, int values,
                      fovea_code_list *codes) {
  const fovea_interval keys = fovea_met_keys(context, context->walk.block);
  /* Rows of a format with a centre are not listed, so those in the list have none. */
  const int centred = !values && context->plan->problem.key_centre != FOVEA_VECTORS_NONE;
  codes->panels = 0;
  if (!centred && lies_well(list, values) && read_scales(context, list, keys, values, codes->scales)) {
    codes->rows = list->rows;
    codes->panels = list->panels;
  } else {
    gather(context, keys, values, codes);
  }
  if (values) context->plan->decoding->load_scales(codes->scales);
}
