/* Calls of Performer: features of rows, and attention in both directions or causal with a state. */
#include "nn_scene.h"
#include "support/execution.h"
#include "wild.h"

#include <fovea/performer.h>

#include <math.h>
#include <stddef.h>

extern const struct nn_kind nn_kind_performer, nn_kind_performer_features;

static fovea_nn_performer performer;
static fovea_nn_performer_tensors tensors;
static fovea_nn_performer_rows rows;
static int shares; /* an output lies where an input does */

#define P_FIELD(name, kind) NN_FIELD(fovea_nn_performer, name, kind)
#define T_FIELD(name, kind) NN_FIELD(fovea_nn_performer_tensors, name, kind)
#define R_FIELD(name, kind) NN_FIELD(fovea_nn_performer_rows, name, kind)

static void describe(struct nn_scene *s) {
  static const struct field fields[] = {
      P_FIELD(kernel, INTEGER),     P_FIELD(dim, LONG), P_FIELD(features, LONG), P_FIELD(projection_stride, LONG),
      P_FIELD(stabiliser, INTEGER), P_FIELD(eps, REAL), P_FIELD(scale, REAL),    P_FIELD(causal, INTEGER),
      P_FIELD(struct_size, SIZE),
  };
  fovea_nn_performer *p = &performer;
  fovea_nn_performer_init(p, (fovea_nn_performer_kernel)nn_below(s, 2), nn_size(s, 40), nn_size(s, 40), NULL);
  p->causal = (int)nn_below(s, 2);
  if (p->kernel == FOVEA_NN_PERFORMER_SOFTMAX && !p->causal)
    p->stabiliser = (fovea_nn_performer_stabiliser)nn_below(s, 2);
  if (bytes_one_in(s->bytes, 4)) p->eps = 0;
  p->projection_stride = p->dim + nn_below(s, 3);
  if (bytes_one_in(s->bytes, 4)) NN_EDIT(s, p, fields);
  p->projection = nn_rows_of(s, 1, 1, p->features, p->dim, (fovea_strides){0, 0, p->projection_stride}, FOVEA_F32);
}

static int performer_has_meaning(void) {
  const fovea_nn_performer *p = &performer;
  if (p->struct_size != sizeof *p || (unsigned)p->kernel > 1 || p->dim < 1 || p->features < 1) return 0;
  if ((unsigned)p->stabiliser > 1 || (unsigned)p->causal > 1 || !(p->eps >= 0) || !(p->eps < 3.5e38)) return 0;
  return p->scale > 0 && wild_is_finite(p->scale) &&
         (!p->stabiliser || (p->kernel == FOVEA_NN_PERFORMER_SOFTMAX && !p->causal));
}

static void edit_tensors(struct nn_scene *s) {
  static const struct field fields[] = {
      T_FIELD(batch, LONG),         T_FIELD(heads, LONG),          T_FIELD(kv_heads, LONG),
      T_FIELD(q_len, LONG),         T_FIELD(kv_len, LONG),         T_FIELD(v_dim, LONG),
      T_FIELD(q_type, INTEGER),     T_FIELD(k_type, INTEGER),      T_FIELD(o_type, INTEGER),
      T_FIELD(q_strides.row, LONG), T_FIELD(k_strides.head, LONG), T_FIELD(v_strides.batch, LONG),
      T_FIELD(o_strides.row, LONG), T_FIELD(o_strides.head, LONG), T_FIELD(struct_size, SIZE),
  };
  if (bytes_one_in(s->bytes, 2)) NN_EDIT(s, &tensors, fields);
}

static void make_attention(struct nn_scene *s) {
  fovea_nn_performer *p = &performer;
  fovea_nn_performer_tensors *t = &tensors;
  describe(s);
  const int64_t kv_heads = nn_size(s, 2), heads = kv_heads * nn_size(s, 3), q_len = nn_below(s, 40);
  const int64_t kv_len = p->causal == 1 ? q_len : nn_below(s, 200);
  fovea_nn_performer_tensors_init(t, p, nn_size(s, 3), heads, kv_heads, q_len, kv_len, nn_size(s, 40), NULL, NULL,
                                  NULL, NULL);
  t->q_type = nn_type(s);
  t->k_type = nn_type(s);
  t->v_type = nn_type(s);
  t->o_type = nn_type(s);
  const unsigned choice = bytes_one(s->bytes);
  if (choice & 1) t->q_strides = nn_strides(s, heads, q_len, p->dim % 1000);
  if (choice & 2) t->k_strides = nn_strides(s, kv_heads, kv_len, p->dim % 1000);
  if (choice & 4) t->v_strides = nn_strides(s, kv_heads, kv_len, t->v_dim);
  if (choice & 8) t->o_strides = nn_strides(s, heads, q_len, t->v_dim);
  edit_tensors(s);
  t->q = nn_rows_of(s, t->batch, t->heads, t->q_len, p->dim, t->q_strides, t->q_type);
  t->k = nn_rows_of(s, t->batch, t->kv_heads, t->kv_len, p->dim, t->k_strides, t->k_type);
  t->v = nn_rows_of(s, t->batch, t->kv_heads, t->kv_len, t->v_dim, t->v_strides, t->v_type);
  t->o = nn_rows_of(s, t->batch, t->heads, t->q_len, t->v_dim, t->o_strides, t->o_type);
  if (choice & 16) t->kv_lens = nn_list(s, t->batch, t->kv_len < 200 ? t->kv_len + 1 : 200);
  const int64_t numbers = fovea_nn_performer_state_numbers(p->features, t->v_dim);
  if ((choice & 32) && (p->causal || s->wild))
    t->state = nn_rows_of(s, t->batch, t->kv_heads, 1, numbers,
                          (fovea_strides){t->kv_heads > 9999 ? 1 : t->kv_heads * numbers, numbers, 0}, FOVEA_F32);
  shares = s->wild && bytes_one_in(s->bytes, 16);
  if (shares) t->o = (choice & 64) ? (void *)(uintptr_t)t->q : (void *)t->state;
  const double keys = fabs((double)t->kv_heads) * (fabs((double)t->kv_len) + 1);
  const double queries = fabs((double)t->heads) * (fabs((double)t->q_len) + 1);
  if (!s->cannot_be)
    s->work = fabs((double)t->batch) * (keys + queries) * (double)p->features * ((double)p->dim + (double)t->v_dim);
}

static fovea_status run_attention(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s;
  return fovea_nn_performer_run(&performer, &tensors, e, error);
}

static size_t attention_scratch_size(struct nn_scene *s, int workers) {
  (void)s;
  return measured(
      fovea_nn_performer_scratch_size(&performer, &tensors, with_threads(workers), measured_size(), NULL));
}

static int attention_has_meaning(const struct nn_scene *s) {
  const fovea_nn_performer_tensors *t = &tensors;
  (void)s;
  if (!performer_has_meaning() || t->struct_size != sizeof *t) return 0;
  if (t->batch < 1 || t->heads < 1 || t->kv_heads < 1 || t->heads % t->kv_heads != 0) return 0;
  if (t->q_len < 0 || t->kv_len < 0 || t->v_dim < 1 || (performer.causal && t->q_len != t->kv_len)) return 0;
  if (shares && t->o && t->q_len > 0) return 0;
  for (int64_t b = 0; t->kv_lens && b < t->batch; b++)
    if (t->kv_lens[b] < 0 || t->kv_lens[b] > t->kv_len) return 0;
  return nn_is_type(t->q_type) && nn_is_type(t->k_type) && nn_is_type(t->v_type) && nn_is_type(t->o_type) &&
         (performer.causal || !t->state);
}

const struct nn_kind nn_kind_performer = {
    make_attention, run_attention, attention_has_meaning, 1, attention_scratch_size, 0};

static void make_features(struct nn_scene *s) {
  static const struct field fields[] = {
      R_FIELD(batch, LONG),          R_FIELD(heads, LONG),           R_FIELD(rows, LONG),
      R_FIELD(x_type, INTEGER),      R_FIELD(y_type, INTEGER),       R_FIELD(keys, INTEGER),
      R_FIELD(x_strides.row, LONG),  R_FIELD(x_strides.batch, LONG), R_FIELD(y_strides.row, LONG),
      R_FIELD(y_strides.head, LONG), R_FIELD(struct_size, SIZE),
  };
  const fovea_nn_performer *p = &performer;
  fovea_nn_performer_rows *r = &rows;
  describe(s);
  fovea_nn_performer_rows_init(r, p, nn_size(s, 3), nn_size(s, 3), nn_below(s, 70), NULL, NULL);
  r->x_type = nn_type(s);
  r->y_type = nn_type(s);
  if (p->stabiliser != FOVEA_NN_STABILISER_NONE) r->keys = (int)nn_below(s, 2);
  const unsigned choice = bytes_one(s->bytes);
  if (choice & 1) r->x_strides = nn_strides(s, r->heads, r->rows, p->dim % 1000);
  if (choice & 2) r->y_strides = nn_strides(s, r->heads, r->rows, p->features % 1000);
  if (bytes_one_in(s->bytes, 2)) NN_EDIT(s, r, fields);
  r->x = nn_rows_of(s, r->batch, r->heads, r->rows, p->dim, r->x_strides, r->x_type);
  r->y = nn_rows_of(s, r->batch, r->heads, r->rows, p->features, r->y_strides, r->y_type);
  if (choice & 4) r->lens = nn_list(s, r->batch, r->rows < 200 ? r->rows + 1 : 200);
  shares = s->wild && bytes_one_in(s->bytes, 16);
  if (shares) r->y = (void *)(uintptr_t)r->x;
  if (!s->cannot_be)
    s->work = fabs((double)r->batch * (double)r->heads) * (fabs((double)r->rows) + 1) * (double)p->features *
              (double)p->dim;
}

static fovea_status run_features(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s;
  return fovea_nn_performer_features(&performer, &rows, e, error);
}

static size_t features_scratch_size(struct nn_scene *s, int workers) {
  (void)s;
  return measured(
      fovea_nn_performer_features_scratch_size(&performer, &rows, with_threads(workers), measured_size(), NULL));
}

static int features_have_meaning(const struct nn_scene *s) {
  const fovea_nn_performer_rows *r = &rows;
  (void)s;
  if (!performer_has_meaning() || r->struct_size != sizeof *r || r->batch < 1 || r->heads < 1 || r->rows < 0)
    return 0;
  if ((unsigned)r->keys > 1 || (r->keys && !performer.stabiliser) || (shares && r->y && r->rows > 0)) return 0;
  for (int64_t b = 0; r->lens && b < r->batch; b++)
    if (r->lens[b] < 0 || r->lens[b] > r->rows) return 0;
  return nn_is_type(r->x_type) && nn_is_type(r->y_type);
}

const struct nn_kind nn_kind_performer_features = {
    make_features, run_features, features_have_meaning, 1, features_scratch_size, 0};
