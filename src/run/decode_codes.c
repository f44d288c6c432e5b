#include "decode_codes.h"

#include "../plan/scratch_layout.h"
#include "code_rows.h"
#include "operands.h"

#include <string.h>

/* Reads the scales of rows that lie in place. Returns 0 if one of them cannot be used as it is. */
static int read_scales(const fovea_task_context *context, const fovea_row_list *list, fovea_interval keys,
                       int values, float *scales) {
  for (int64_t key = keys.begin; key < keys.end && list->codes.scale_type == FOVEA_F32; key++) {
    memcpy(&scales[key], list->scales[key], sizeof scales[key]);
    if (!(__builtin_fabsf(scales[key]) < 0x1p120f)) scales[key] = __builtin_nanf("");
    if (values && scales[key] < 0.0f) return 0;
  }
  for (int64_t key = keys.begin; key < keys.end && list->codes.scale_type != FOVEA_F32; key++) {
    scales[key] = fovea_stored_scale(context->kernels, list->scales[key], list->codes.scale_type, values);
    if (values && scales[key] < 0.0f) return 0;
  }
  return 1;
}

static int lies_well(const fovea_row_list *list, int values) {
  return list->uniform && list->coded && !list->panels && list->codes.item == 0 && list->codes.int8_rows > values;
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
  fovea_gather_codes(&side, keys, to, codes->scales);
  for (int64_t key = keys.begin; key < keys.end; key++) codes->rows[key] = to + key * stride;
}

void fovea_list_codes(const fovea_task_context *context, const fovea_row_list *list, int values,
                      fovea_code_list *codes) {
  const fovea_interval keys = fovea_met_keys(context, context->walk.block);
  for (int key = 0; key < FOVEA_BLOCK_KEYS; key++) codes->scales[key] = 0;
  const int centred = !values && context->plan->problem.key_centre != FOVEA_VECTORS_NONE; /* listed rows are not */
  if (!centred && lies_well(list, values) && read_scales(context, list, keys, values, codes->scales)) {
    for (int64_t key = keys.begin; key < keys.end; key++) codes->rows[key] = list->rows[key];
  } else {
    gather(context, keys, values, codes);
  }
  for (int64_t key = 0; key < keys.begin; key++) codes->rows[key] = codes->rows[keys.begin];
  for (int64_t key = keys.end; key < FOVEA_BLOCK_KEYS; key++) codes->rows[key] = codes->rows[keys.end - 1];
  if (values) context->plan->decoding->load_scales(codes->scales);
}
