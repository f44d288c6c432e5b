/* What calls have in common: problems with their rules and masks; tensors with axes in any order. */
#include "nn_scene.h"

void nn_edit_problem(struct nn_scene *s, fovea_problem *p) {
  static const struct field fields[] = {
      NN_FIELD(fovea_problem, batch, LONG),        NN_FIELD(fovea_problem, heads, LONG),
      NN_FIELD(fovea_problem, kv_heads, LONG),     NN_FIELD(fovea_problem, q_len, LONG),
      NN_FIELD(fovea_problem, kv_len, LONG),       NN_FIELD(fovea_problem, qk_dim, LONG),
      NN_FIELD(fovea_problem, v_dim, LONG),        NN_FIELD(fovea_problem, causal, INTEGER),
      NN_FIELD(fovea_problem, window_left, LONG),  NN_FIELD(fovea_problem, window_right, LONG),
      NN_FIELD(fovea_problem, chunks.size, LONG),  NN_FIELD(fovea_problem, offset, LONG),
      NN_FIELD(fovea_problem, scale, REAL),        NN_FIELD(fovea_problem, softcap, REAL),
      NN_FIELD(fovea_problem, q_type, INTEGER),    NN_FIELD(fovea_problem, o_type, INTEGER),
      NN_FIELD(fovea_problem, mask.type, INTEGER), NN_FIELD(fovea_problem, mask.strides, LONG),
      NN_FIELD(fovea_problem, sink, INTEGER),      NN_FIELD(fovea_problem, q_strides, LONG),
      NN_FIELD(fovea_problem, struct_size, SIZE),
  };
  NN_EDIT(s, p, fields);
}

int nn_mask_bits(fovea_mask_type type) {
  switch (type) {
  case FOVEA_MASK_BOOL:
    return 8;
  case FOVEA_MASK_BITS:
    return 1;
  case FOVEA_MASK_F32:
    return 32;
  default:
    return 16;
  }
}

const void *nn_mask(struct nn_scene *s, const fovea_problem *p) {
  const fovea_mask_strides *m = &p->mask.strides;
  const int64_t extent[3] = {p->batch, p->heads, p->q_len};
  const fovea_strides strides = {m->batch, m->head, m->row};
  const int bits = nn_mask_bits(p->mask.type);
  if ((m->key != 1 && p->kv_len > 1) || (bits == 1 && (m->batch % 8 != 0 || m->head % 8 != 0 || m->row % 8 != 0)))
    return NULL;
  return nn_tensor_of(s, extent, strides, p->kv_len, bits);
}

void nn_choose_rules(struct nn_scene *s, fovea_problem *p) {
  p->causal = (int)nn_below(s, 2);
  if (bytes_one_in(s->bytes, 4)) p->window_left = nn_below(s, 5);
  if (bytes_one_in(s->bytes, 4)) p->softcap = 3;
  if (bytes_one_in(s->bytes, 4)) p->sink = FOVEA_SINK_ZERO;
  if (!bytes_one_in(s->bytes, 3)) return;
  p->mask.type = bytes_one_in(s->bytes, 2) ? FOVEA_MASK_BOOL : FOVEA_MASK_F32;
  p->mask.strides = fovea_mask_layout(p->mask.type, p->batch, p->heads, p->q_len, p->kv_len);
}

int nn_loses_rows(const fovea_problem *p) {
  const int window = p->window_left != FOVEA_UNLIMITED || p->window_right != FOVEA_UNLIMITED;
  if (p->offset != FOVEA_OFFSET_BOTTOM_RIGHT || p->offsets) return 0;
  if (!p->causal && !window && p->chunks.size == 0 && p->terms.count == 0 && !p->shaw.kind) return 0;
  if ((uintptr_t)p->kv_lens % sizeof *p->kv_lens != 0) return 0;
  if (!p->kv_lens) return p->kv_len > 0 && p->kv_len < p->q_len;
  for (int64_t b = 0; b < p->batch; b++)
    if (p->kv_lens[b] > 0 && p->kv_lens[b] < p->q_len) return 1;
  return 0;
}

fovea_strides nn_strides(struct nn_scene *s, int64_t heads, int64_t rows, int64_t dim) {
  const int64_t choice = nn_below(s, 12), row = dim + choice % 3, order = choice / 3;
  if (order == 1) return (fovea_strides){rows * heads * row, row, heads * row};
  return (fovea_strides){rows * heads * row, rows * row, order == 2 ? -row : row};
}

int nn_same_strides(fovea_strides a, fovea_strides b) {
  return a.batch == b.batch && a.head == b.head && a.row == b.row;
}

void *nn_rows_of(struct nn_scene *s, int64_t batch, int64_t heads, int64_t rows, int64_t dim, fovea_strides strides,
                 fovea_type type) {
  const int64_t extent[3] = {batch, heads, rows};
  return nn_tensor_of(s, extent, strides, dim, type == FOVEA_F16 || type == FOVEA_BF16 ? 16 : 32);
}
