/* Calls of LSH attention. */
#include "nn_scene.h"
#include "support/execution.h"
#include "wild.h"

#include <fovea/sparse_attention.h>

#include <math.h>
#include <stddef.h>

extern const struct nn_kind nn_kind_lsh;

static fovea_nn_lsh lsh;
static fovea_nn_lsh_tensors tensors;
static int shares;

#define L_FIELD(name, kind) NN_FIELD(fovea_nn_lsh, name, kind)
#define T_FIELD(name, kind) NN_FIELD(fovea_nn_lsh_tensors, name, kind)

static void describe(struct nn_scene *s, int64_t dim) {
  static const struct field fields[] = {
      L_FIELD(rounds, LONG),
      L_FIELD(bucket_size, LONG),
      L_FIELD(buckets, LONG),
      L_FIELD(bucket_factors[0], LONG),
      L_FIELD(bucket_factors[1], LONG),
      L_FIELD(causal, INTEGER),
      L_FIELD(once, INTEGER),
      L_FIELD(ring, INTEGER),
      L_FIELD(scale, REAL),
      L_FIELD(eps, REAL),
      L_FIELD(struct_size, SIZE),
  };
  const int64_t rounds = nn_size(s, 4), bucket_size = nn_size(s, 12), half = nn_size(s, 6);
  fovea_nn_lsh_init(&lsh, rounds, bucket_size, 2 * half, dim);
  if (bytes_one_in(s->bytes, 4)) {
    lsh.bucket_factors[0] = 2 * half;
    lsh.bucket_factors[1] = 2 * nn_size(s, 3);
    lsh.buckets = lsh.bucket_factors[0] * lsh.bucket_factors[1];
  }
  lsh.causal = (int)nn_below(s, 2);
  lsh.once = (int)nn_below(s, 2);
  lsh.ring = (fovea_nn_lsh_ring)nn_below(s, 2);
  if (bytes_one_in(s->bytes, 3)) lsh.eps = 1e-6;
  if (bytes_one_in(s->bytes, 2)) NN_EDIT(s, &lsh, fields);
}

static void edit_tensors(struct nn_scene *s) {
  static const struct field fields[] = {
      T_FIELD(batch, LONG),
      T_FIELD(heads, LONG),
      T_FIELD(length, LONG),
      T_FIELD(dim, LONG),
      T_FIELD(v_dim, LONG),
      T_FIELD(x_type, INTEGER),
      T_FIELD(v_type, INTEGER),
      T_FIELD(y_type, INTEGER),
      T_FIELD(x_strides.row, LONG),
      T_FIELD(v_strides.head, LONG),
      T_FIELD(y_strides.batch, LONG),
      T_FIELD(y_strides.row, LONG),
      T_FIELD(rotation_strides.batch, LONG),
      T_FIELD(rotation_strides.head, LONG),
      T_FIELD(rotation_strides.row, LONG),
      T_FIELD(struct_size, SIZE),
  };
  if (bytes_one_in(s->bytes, 2)) NN_EDIT(s, &tensors, fields);
}

static int64_t times(int64_t a, int64_t b) {
  return fabs((double)a * (double)b) < 1e9 ? a * b : INT64_C(1) << 40;
}

static void make(struct nn_scene *s) {
  fovea_nn_lsh_tensors *t = &tensors;
  const int64_t dim = nn_size(s, 20), batch = nn_size(s, 2), heads = nn_size(s, 2), length = nn_below(s, 60);
  describe(s, dim);
  fovea_nn_lsh_tensors_init(t, &lsh, batch, heads, length, dim, NULL, NULL, NULL, NULL);
  const unsigned choice = bytes_one(s->bytes);
  if (choice & 1) {
    t->v_dim = nn_size(s, 20);
    t->v_strides = nn_strides(s, heads, length, t->v_dim);
    t->y_strides = nn_strides(s, heads, length, t->v_dim);
  }
  if (choice & 2) t->x_strides = nn_strides(s, heads, length, dim);
  t->x_type = nn_type(s);
  t->v_type = nn_type(s);
  t->y_type = nn_type(s);
  const int64_t width = times(lsh.rounds, fovea_nn_lsh_columns(&lsh));
  if ((choice & 4) && width < 1000) t->rotation_strides = (fovea_strides){heads * dim * width, dim * width, width};
  edit_tensors(s);
  t->x = nn_rows_of(s, t->batch, t->heads, t->length, t->dim, t->x_strides, t->x_type);
  const int64_t v_dim = t->v_dim == 0 ? t->dim : t->v_dim;
  t->v = nn_rows_of(s, t->batch, t->heads, t->length, v_dim, t->v_strides, t->v_type);
  t->y = nn_rows_of(s, t->batch, t->heads, t->length, v_dim, t->y_strides, t->y_type);
  t->rotations = nn_rows_of(s, t->batch, t->heads, t->dim, width, t->rotation_strides, FOVEA_F32);
  if (choice & 8) t->lens = nn_list(s, t->batch, t->length < 100 ? t->length + 1 : 100);
  const int64_t row = times(lsh.rounds, t->length);
  if (choice & 16) t->bucket_numbers = nn_longs(s, times(times(t->batch, t->heads), row));
  shares = s->wild && bytes_one_in(s->bytes, 16);
  if (shares) t->y = (void *)(uintptr_t)t->x;
  if (!s->cannot_be)
    s->work = fabs((double)t->batch * (double)t->heads) * (fabs((double)t->length) + 1) * fabs((double)lsh.rounds) *
              ((double)t->dim + (double)t->v_dim) * (4 * fabs((double)lsh.bucket_size) + fabs((double)lsh.buckets));
  if (lsh.rounds < 1 || lsh.rounds > 64 || lsh.bucket_size < 1 || lsh.bucket_size > 1024 || lsh.buckets < 2 ||
      lsh.buckets > 1 << 20)
    s->work = 0; /* refused */
}

static fovea_status run(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s;
  return fovea_nn_lsh_run(&lsh, &tensors, e, error);
}

static size_t scratch_size(struct nn_scene *s, int workers) {
  (void)s;
  return measured(fovea_nn_lsh_scratch_size(&lsh, &tensors, with_threads(workers), measured_size(), NULL));
}

static int has_meaning(const struct nn_scene *s) {
  const fovea_nn_lsh_tensors *t = &tensors;
  const fovea_nn_lsh *l = &lsh;
  const int64_t a = l->bucket_factors[0], b = l->bucket_factors[1];
  (void)s;
  if (l->struct_size != sizeof *l || t->struct_size != sizeof *t) return 0;
  if (l->rounds < 1 || l->rounds > 64 || l->bucket_size < 1 || l->bucket_size > 1024) return 0;
  if (l->buckets < 2 || l->buckets > 1 << 20 || l->buckets % 2 != 0) return 0;
  if ((a != 0 || b != 0) && ((double)a * (double)b != (double)l->buckets || a < 2 || b < 2 || a % 2 || b % 2))
    return 0;
  if ((unsigned)l->causal > 1 || (unsigned)l->once > 1 || (unsigned)l->ring > 1) return 0;
  if (!wild_is_finite(l->scale) || !(l->eps >= 1e-30 && l->eps <= 1)) return 0;
  if (t->batch < 1 || t->heads < 1 || t->length < 0 || t->dim < 1 || t->v_dim < 0) return 0;
  for (int64_t i = 0; t->lens && i < t->batch; i++)
    if (t->lens[i] < 0 || t->lens[i] > t->length) return 0;
  return nn_is_type(t->x_type) && nn_is_type(t->v_type) && nn_is_type(t->y_type) && !(shares && t->length > 0);
}

const struct nn_kind nn_kind_lsh = {make, run, has_meaning, 1, scratch_size, 0};
