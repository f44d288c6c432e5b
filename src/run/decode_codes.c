/* Decoding in int8: the rows of a block as codes and scales. */
#include "../../arch/args/decode.h"
#include "code_rows.h"
#include "decode_way.h"

#include <string.h>

#if FOVEA_BUILDS_DECODED_CODES

/* Scales as they are stored, of rows in place. Whole vectors are written. */
static void copy_scales(const fovea_row_source *source, const fovea_row_list *list, fovea_interval keys,
                        float *scales) {
  const fovea_type type = list->codes.scale_type;
  const int64_t count = keys.end - keys.begin;
  if (list->scale_step == fovea_bytes(type, 1) && (uintptr_t)list->scales[keys.begin] % 4 == 0) {
    const fovea_widen_args args = {list->scales[keys.begin], type, 0, 1, count, scales + keys.begin, 0};
    source->kernels->widen(&args);
    return;
  }
  for (int64_t key = keys.begin; key < keys.end; key++) {
    if (type == FOVEA_F32)
      memcpy(&scales[key], list->scales[key], sizeof scales[key]);
    else
      scales[key] = fovea_stored_scale(source->kernels, list->scales[key], type, source->values);
  }
}

/* Reads the scales of rows that lie in place, 0 for all other keys of the block. Returns 0 if a row needs another.
 */
static int read_scales(const fovea_row_source *source, const fovea_row_list *list, fovea_interval keys,
                       float *scales) {
  int negative = 0;
  copy_scales(source, list, keys, scales);
  for (int64_t key = keys.begin; key < keys.end; key++) {
    negative |= scales[key] < 0.0f;
    scales[key] = __builtin_fabsf(scales[key]) < 0x1p120f ? scales[key] : __builtin_nanf("");
  }
  for (int64_t key = 0; key < keys.begin; key++) scales[key] = 0;
  for (int64_t key = keys.end; key < FOVEA_BLOCK_KEYS; key++) scales[key] = 0;
  return !(source->values && negative);
}

/* Rows of which each lies in one piece, or in panels of keys. */
static int lies_well(const fovea_row_list *list, int values) {
  return list->uniform && list->coded && (list->panels || list->codes.item == 0) && list->codes.int8_rows > values;
}

/* All rows of the block as codes, at `room`. */
static void gather(const fovea_code_side *side, fovea_interval keys, int8_t *room, fovea_code_list *codes) {
  const int64_t stride = fovea_code_stride(side->source->dim);
  memset(codes->scales, 0, FOVEA_BLOCK_KEYS * sizeof(float));
  fovea_gather_codes(side, keys, room, codes->scales);
  for (int64_t key = keys.begin; key < keys.end; key++) codes->gathered[key] = room + key * stride;
  for (int64_t key = 0; key < keys.begin; key++) codes->gathered[key] = codes->gathered[keys.begin];
  for (int64_t key = keys.end; key < FOVEA_BLOCK_KEYS; key++) codes->gathered[key] = codes->gathered[keys.end - 1];
  codes->rows = codes->gathered;
}

/* Lists the rows `keys` of a block, whose rows are in `list`: in place, if it has codes that lie so, else at
 * `room`. */
static void list_codes(const fovea_code_side *side, const fovea_row_list *list, fovea_interval keys, int8_t *room,
                       fovea_code_list *codes) {
  const fovea_row_source *source = side->source;
  codes->panels = 0;
  /* Rows of a format with a centre are not listed, so rows of the list have none. */
  if (!source->centre && lies_well(list, source->values) && read_scales(source, list, keys, codes->scales)) {
    codes->rows = list->rows;
    codes->panels = list->panels;
  } else {
    gather(side, keys, room, codes);
  }
}

static void read_rows(const fovea_task_context *context, fovea_decode_state *state) {
  const fovea_plan *plan = context->plan;
  const fovea_block_memory *memory = &context->memory;
  const fovea_block_rows *block = &context->block;
  const fovea_code_side keys = {&context->keys, plan->scores, block->base, memory->keys},
                        values = {&context->values, plan->values, block->base, memory->values};
  list_codes(&keys, &state->keys[state->slot], block->met, memory->codes, state->memory.key_codes);
  list_codes(&values, &state->values[state->slot], block->met, memory->value_codes, state->memory.value_codes);
  plan->decoding->load_scales(state->memory.value_codes->scales);
}

static void load_queries(const fovea_plan *plan, fovea_decode_state *state, int rows) {
  const int64_t dim = plan->problem.qk_dim, stride = fovea_decode_stride(dim);
  float *queries = state->memory.queries;
  const fovea_query_codes_args codes = {
      queries, stride, rows, dim, queries, state->query_scales, state->query_starts};
  plan->decoding->load_queries(&codes);
}

/* `rows` of the next block; or `none`, the rows that are multiplied, which tells the kernel to prefetch nothing: if
 * they are not of codes, if they are panels that are not multiplied as such, or if the CPU sees them coming. */
static const void *const *codes_to_prefetch(int follows_rows, const fovea_row_list *list, int panels,
                                            const void *const *rows, int count, int64_t dim,
                                            const void *const *none) {
  if (!list->uniform || !list->coded || list->panels != panels) return none;
  const int step = panels ? FOVEA_PANEL_ROWS : 1, last = (count - 1) / step * step; /* of a row, or of a panel */
  const int64_t bytes = panels ? (dim + 3) / 4 * 4 : dim;
  const uintptr_t reach = (uintptr_t)rows[last] - (uintptr_t)rows[0];
  return follows_rows && reach == (uintptr_t)(last * bytes) ? none : rows;
}

static void score(const fovea_plan *plan, const fovea_decode_state *state, fovea_position_block *positions,
                  fovea_decode_score_args *args) {
  const fovea_code_list *codes = state->memory.key_codes;
  const fovea_row_list *keys = &state->keys[state->slot];
  const int64_t begin = args->keys - keys->rows;
  args->keys = codes->rows + begin;
  args->panels = codes->panels;
  args->prefetch = codes_to_prefetch(plan->follows_rows, keys, args->panels, args->prefetch, args->key_count,
                                     args->dim, args->keys);
  args->query_scales = state->query_scales;
  args->query_starts = state->query_starts;
  args->key_scales = codes->scales + begin;
  args->row_scales = positions->present ? positions->terms.scales : NULL;
  plan->decoding->score(args);
  if (positions->present) positions->terms.scales = NULL;
}

static void add_values(const fovea_decode_block *block, const fovea_decode_state *state, int stateless) {
  const fovea_plan *plan = block->plan;
  const fovea_row_list *values = &state->values[state->slot];
  const int64_t dim = plan->problem.v_dim, begin = block->vectors.begin;
  const int count = (int)(block->vectors.end - begin);
  const void *const *rows = state->memory.value_codes->rows + begin;
  const void *const *next = fovea_rows_to_prefetch(values, &state->values[!state->slot], begin);
  const fovea_decode_value_args args = {
      .weights = state->memory.scores,
      .row_count = block->tile->rows.count,
      .values = rows,
      .prefetch = codes_to_prefetch(plan->follows_rows, values, 0, next, count, dim, rows),
      .type = values->type,
      .dim = dim,
      .key_count = count,
      .flags = block->first ? FOVEA_VALUE_ASSIGN : FOVEA_VALUE_MERGE,
      .partial = state->memory.partial,
      .output = state->memory.output,
      .output_stride = fovea_decode_stride(dim),
      .old_part = state->old_part,
      .new_part = state->new_part,
      .block_sum = state->block_sum,
  };
  (void)stateless; /* NaN and infinities became NaN in the weights */
  plan->decoding->value(&args);
}

const fovea_decode_way fovea_code_way = {load_queries, read_rows, score, add_values};
#endif
