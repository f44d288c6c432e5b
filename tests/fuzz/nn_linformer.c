/* Calls of Linformer. */
#include "nn_scene.h"
#include "support/execution.h"

#include <fovea/latent_attention.h>

#include <math.h>
#include <stddef.h>

extern const struct nn_kind nn_kind_linformer;

static fovea_nn_linformer linformer;
static fovea_problem problem;
static fovea_tensors tensors;
static int shares;

#define L_FIELD(name, kind) NN_FIELD(fovea_nn_linformer, name, kind)

static void describe(struct nn_scene *s) {
  static const struct field fields[] = {
      L_FIELD(max_len, LONG),         L_FIELD(k, LONG),
      L_FIELD(type, INTEGER),         L_FIELD(projection_row, LONG),
      L_FIELD(projection_head, LONG), L_FIELD(struct_size, SIZE),
  };
  fovea_nn_linformer *l = &linformer;
  fovea_problem *p = &problem;
  const int64_t kv_heads = nn_size(s, 3), heads = kv_heads * nn_size(s, 2), kv_len = nn_below(s, 80);
  const int64_t q_len = nn_below(s, 10), qk_dim = nn_size(s, 20), v_dim = nn_size(s, 20);
  fovea_problem_init(p, nn_size(s, 3), heads, kv_heads, q_len, kv_len, qk_dim, v_dim);
  fovea_problem_resolve(p, NULL);
  fovea_nn_linformer_init(l, kv_len + nn_size(s, 5), nn_size(s, 20), NULL);
  const unsigned choice = bytes_one(s->bytes);
  if (choice & 1) p->softcap = 3;
  if (choice & 2) p->sink = FOVEA_SINK_PER_HEAD;
  if (choice & 4) p->q_strides = nn_strides(s, heads, q_len, qk_dim);
  if (choice & 8) p->k_strides = nn_strides(s, kv_heads, kv_len, qk_dim);
  if (choice & 16) p->v_strides = nn_strides(s, kv_heads, kv_len, v_dim);
  if (choice & 32) p->o_strides = nn_strides(s, heads, q_len, v_dim);
  l->projection_row = l->k + (choice & 64 ? nn_below(s, 3) : 0);
  if (choice & 128) l->projection_head = l->max_len * l->projection_row;
  p->q_type = nn_type(s);
  p->k_type = nn_type(s);
  p->v_type = nn_type(s);
  p->o_type = nn_type(s);
  l->type = nn_type(s);
  if (bytes_one_in(s->bytes, 2)) NN_EDIT(s, l, fields);
  if (bytes_one_in(s->bytes, 2)) nn_edit_problem(s, p);
}

static void *projection(struct nn_scene *s) {
  const fovea_nn_linformer *l = &linformer;
  const int64_t heads = l->projection_head == 0 ? 1 : problem.kv_heads;
  return nn_rows_of(s, 1, heads, problem.kv_len, l->k, (fovea_strides){0, l->projection_head, l->projection_row},
                    l->type);
}

static void make(struct nn_scene *s) {
  fovea_nn_linformer *l = &linformer;
  fovea_problem *p = &problem;
  describe(s);
  const unsigned choice = bytes_one(s->bytes);
  l->key_projection = projection(s);
  if (choice & 1) l->value_projection = projection(s);
  const void *q = nn_rows_of(s, p->batch, p->heads, p->q_len, p->qk_dim, p->q_strides, p->q_type);
  const void *k = nn_rows_of(s, p->batch, p->kv_heads, p->kv_len, p->qk_dim, p->k_strides, p->k_type);
  const void *v = nn_rows_of(s, p->batch, p->kv_heads, p->kv_len, p->v_dim, p->v_strides, p->v_type);
  void *o = nn_rows_of(s, p->batch, p->heads, p->q_len, p->v_dim, p->o_strides, p->o_type);
  fovea_tensors_init(&tensors, q, k, v, o, NULL);
  if (choice & 2) tensors.lse = nn_rows_of(s, p->batch, p->heads, p->q_len, 1, p->lse_strides, FOVEA_F32);
  if (choice & 4) p->kv_lens = nn_list(s, p->batch, p->kv_len < 100 ? p->kv_len + 1 : 100);
  if ((uintptr_t)p->kv_lens % sizeof *p->kv_lens != 0) p->kv_lens = NULL; /* problems may take lists for aligned */
  if (p->sink == FOVEA_SINK_PER_HEAD) tensors.sink = nn_tensor(s, 1, p->heads, 0, FOVEA_F32);
  shares = s->wild && bytes_one_in(s->bytes, 16);
  if (shares) tensors.o = (void *)(uintptr_t)((choice & 8) ? k : l->key_projection);
  const double dims = fabs((double)p->qk_dim) + fabs((double)p->v_dim) + 32;
  const double rows = fabs((double)p->kv_heads * (double)p->kv_len) + fabs((double)p->heads * (double)p->q_len) + 1;
  s->work = s->cannot_be ? fabs((double)p->batch) : fabs((double)p->batch) * rows * fabs((double)l->k) * dims;
  if (p->batch < 0) s->work = 0;
}

static fovea_status run(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s;
  return fovea_nn_linformer_run(&linformer, &problem, &tensors, e, error);
}

static size_t scratch_size(struct nn_scene *s, int workers) {
  (void)s;
  return measured(
      fovea_nn_linformer_scratch_size(&linformer, &problem, with_threads(workers), measured_size(), NULL));
}

static int has_meaning(const struct nn_scene *s) {
  const fovea_nn_linformer *l = &linformer;
  const fovea_problem *p = &problem;
  (void)s;
  if (l->struct_size != sizeof *l || p->struct_size < offsetof(fovea_problem, q_type)) return 0;
  if (l->k < 1 || l->max_len < p->kv_len || l->max_len < 1 || !nn_is_type(l->type)) return 0;
  if (p->batch < 1 || p->heads < 1 || p->kv_heads < 1 || p->heads % p->kv_heads != 0) return 0;
  if (p->q_len < 0 || p->kv_len < 0 || p->qk_dim < 1 || p->v_dim < 1) return 0;
  if (p->causal || p->window_left >= 0 || p->window_right >= 0 || p->mask.type || p->chunks.size) return 0;
  if (p->offset != FOVEA_OFFSET_BOTTOM_RIGHT) return 0;
  for (int64_t b = 0; p->kv_lens && b < p->batch; b++)
    if (p->kv_lens[b] < 0 || p->kv_lens[b] > p->kv_len) return 0;
  return !(shares && tensors.o && p->q_len > 0 && p->kv_len > 0);
}

const struct nn_kind nn_kind_linformer = {make, run, has_meaning, 1, scratch_size, 1};
