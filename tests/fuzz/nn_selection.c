/* Calls that select keys by index scores. */
#include "nn_scene.h"
#include "support/execution.h"

#include <fovea/sparse_attention.h>

#include <math.h>
#include <stddef.h>

extern const struct nn_kind nn_kind_selection;

static fovea_nn_selection selection;
static int shares;

#define S_FIELD(name, kind) NN_FIELD(fovea_nn_selection, name, kind)

static void edit(struct nn_scene *s) {
  static const struct field fields[] = {
      S_FIELD(batch, LONG),
      S_FIELD(heads, LONG),
      S_FIELD(q_len, LONG),
      S_FIELD(kv_len, LONG),
      S_FIELD(dim, LONG),
      S_FIELD(top_k, LONG),
      S_FIELD(q_type, INTEGER),
      S_FIELD(k_type, INTEGER),
      S_FIELD(q_strides.row, LONG),
      S_FIELD(q_strides.head, LONG),
      S_FIELD(k_strides.row, LONG),
      S_FIELD(k_strides.head, LONG),
      S_FIELD(k_strides.batch, LONG),
      S_FIELD(weight_strides.row, LONG),
      S_FIELD(weight_strides.head, LONG),
      S_FIELD(causal, INTEGER),
      S_FIELD(offset, LONG),
      S_FIELD(struct_size, SIZE),
  };
  if (bytes_one_in(s->bytes, 2)) NN_EDIT(s, &selection, fields);
}

/* Rows would lie before all keys, and nobody asked for that. */
static int loses_rows(const fovea_nn_selection *c) {
  if (!c->causal || c->offset != FOVEA_OFFSET_BOTTOM_RIGHT || c->offsets) return 0;
  if ((uintptr_t)c->kv_lens % sizeof *c->kv_lens != 0) return 0; /* it is refused, and may hold anything */
  if (!c->kv_lens) return c->kv_len > 0 && c->kv_len < c->q_len;
  for (int64_t b = 0; b < c->batch; b++)
    if (c->kv_lens[b] > 0 && c->kv_lens[b] < c->q_len) return 1;
  return 0;
}

static void make(struct nn_scene *s) {
  fovea_nn_selection *c = &selection;
  const int64_t batch = nn_size(s, 3), heads = nn_size(s, 4), q_len = nn_below(s, 30), kv_len = nn_below(s, 250);
  const int64_t dim = nn_size(s, 40);
  fovea_nn_selection_init(c, batch, heads, q_len, kv_len, dim, nn_size(s, 40), NULL, NULL, NULL, NULL);
  const unsigned choice = bytes_one(s->bytes);
  c->q_type = nn_type(s);
  c->k_type = nn_type(s);
  if (choice & 1) c->q_strides = nn_strides(s, heads, q_len, dim);
  if (choice & 2) c->k_strides.row = c->dim + nn_below(s, 3), c->k_strides.batch = kv_len * c->k_strides.row;
  if (choice & 4) c->weight_strides.row = -heads, c->weight_strides.batch = 0;
  c->causal = (choice & 8) == 0;
  if (c->causal && (choice & 16)) c->offset = nn_below(s, 256) - 40;
  edit(s);
  c->q = nn_rows_of(s, c->batch, c->heads, c->q_len, c->dim, c->q_strides, c->q_type);
  c->k = nn_rows_of(s, c->batch, 1, c->kv_len, c->dim, c->k_strides, c->k_type);
  c->weights = nn_rows_of(s, c->batch, 1, c->q_len, c->heads, c->weight_strides, FOVEA_F32);
  const int64_t places = fabs((double)c->q_len * (double)c->top_k) < 1e6 ? c->q_len * c->top_k : INT64_C(1) << 40;
  c->keys = nn_rows_of(s, c->batch, 1, places > 0, 2 * places, (fovea_strides){2 * places, 0, 0}, FOVEA_F32);
  if (choice & 32) c->kv_lens = nn_list(s, c->batch, c->kv_len < 300 ? c->kv_len + 1 : 300);
  if (c->causal == 1 && !(choice & 16) && (choice & 64)) c->offsets = nn_list(s, c->batch, 200);
  shares = s->wild && bytes_one_in(s->bytes, 16);
  if (shares) c->keys = (int64_t *)(uintptr_t)c->k;
  if (s->wild && bytes_one_in(s->bytes, 16) && c->kv_lens) c->keys = (int64_t *)(uintptr_t)c->kv_lens;
  if (!s->cannot_be)
    s->work = fabs((double)c->batch) * (fabs((double)c->q_len) + 1) * (fabs((double)c->kv_len) + 1) *
              fabs((double)c->heads * (double)c->dim);
  if (loses_rows(c)) s->cannot_be = 1;
}

static fovea_status run(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s;
  return fovea_nn_select(&selection, e, error);
}

static size_t scratch_size(struct nn_scene *s, int workers) {
  (void)s;
  return measured(fovea_nn_selection_scratch_size(&selection, with_threads(workers), measured_size(), NULL));
}

static int has_meaning(const struct nn_scene *s) {
  const fovea_nn_selection *c = &selection;
  (void)s;
  if (c->struct_size != sizeof *c || c->batch < 1 || c->heads < 1 || c->heads > 65536 || c->q_len < 0) return 0;
  if (c->kv_len < 0 || c->kv_len > INT32_MAX || c->dim < 1 || c->top_k < 1 || c->top_k > FOVEA_TOP_K_LIMIT)
    return 0;
  if ((unsigned)c->causal > 1 || !nn_is_type(c->q_type) || !nn_is_type(c->k_type)) return 0;
  if (nn_stride(c->k_strides.head, 0) != 0 || nn_stride(c->weight_strides.head, 0) != 0) return 0;
  const int has_offset = c->offset != FOVEA_OFFSET_BOTTOM_RIGHT;
  if ((has_offset || c->offsets) && (!c->causal || (has_offset && c->offsets))) return 0;
  if (shares && c->keys && c->q_len > 0 && c->kv_len > 0) return 0;
  if (c->keys == c->kv_lens && c->keys && c->q_len > 0) return 0;
  for (int64_t b = 0; b < c->batch && (c->kv_lens || c->offsets); b++) {
    if (c->kv_lens && (c->kv_lens[b] < 0 || c->kv_lens[b] > c->kv_len)) return 0;
    if (c->offsets && (c->offsets[b] > INT64_C(1) << 48 || c->offsets[b] < -(INT64_C(1) << 48))) return 0;
  }
  if (loses_rows(c)) return 0;
  return 1;
}

const struct nn_kind nn_kind_selection = {make, run, has_meaning, 1, scratch_size, 0};
