/* Calls of differential attention, and of its lambda. */
#include "nn_scene.h"
#include "support/execution.h"
#include "wild.h"

#include <fovea/latent_attention.h>

#include <math.h>
#include <stddef.h>

extern const struct nn_kind nn_kind_differential, nn_kind_differential_lambda;

static fovea_nn_differential differential;
static fovea_problem problem;
static fovea_tensors first, second;
static int shares;

#define D_FIELD(name, kind) NN_FIELD(fovea_nn_differential, name, kind)

static void describe(struct nn_scene *s) {
  static const struct field fields[] = {
      D_FIELD(lambda, REAL),
      D_FIELD(lambda_init, REAL),
      D_FIELD(eps, REAL),
      D_FIELD(struct_size, SIZE),
  };
  fovea_problem *p = &problem;
  const int64_t kv_heads = nn_size(s, 3), heads = kv_heads * nn_size(s, 2), q_len = nn_below(s, 20);
  const int64_t kv_len = nn_below(s, 40), dim = nn_size(s, 20);
  fovea_problem_init(p, nn_size(s, 3), heads, kv_heads, q_len, kv_len, dim, nn_size(s, 40));
  fovea_problem_resolve(p, NULL);
  fovea_nn_differential_init(&differential, 0.25 * (double)nn_below(s, 5), 0.2);
  nn_choose_rules(s, p);
  const unsigned choice = bytes_one(s->bytes);
  if (choice & 1) p->q_strides = nn_strides(s, heads, q_len, dim);
  if (choice & 2) p->k_strides = nn_strides(s, kv_heads, kv_len, dim);
  if (choice & 4) p->o_strides = nn_strides(s, heads, q_len, p->v_dim);
  if (choice & 8) p->k_type = nn_type(s);
  if (choice & 16) p->o_type = nn_type(s);
  if (choice & 32) p->sink = FOVEA_SINK_PER_HEAD;
  if (bytes_one_in(s->bytes, 2)) NN_EDIT(s, &differential, fields);
  if (bytes_one_in(s->bytes, 2)) nn_edit_problem(s, p);
}

static void make_inputs(struct nn_scene *s, fovea_tensors *t, const void *v, void *o) {
  const fovea_problem *p = &problem;
  const void *q = nn_rows_of(s, p->batch, p->heads, p->q_len, p->qk_dim, p->q_strides, p->q_type);
  const void *k = nn_rows_of(s, p->batch, p->kv_heads, p->kv_len, p->qk_dim, p->k_strides, p->k_type);
  fovea_tensors_init(t, q, k, v, o, NULL);
  if (p->mask.type != FOVEA_MASK_NONE) t->mask = t == &first ? nn_mask(s, p) : first.mask;
  if (p->sink == FOVEA_SINK_PER_HEAD) t->sink = nn_tensor(s, 1, p->heads, 0, FOVEA_F32);
}

static void make(struct nn_scene *s) {
  fovea_problem *p = &problem;
  describe(s);
  const unsigned choice = bytes_one(s->bytes);
  const void *v = nn_rows_of(s, p->batch, p->kv_heads, p->kv_len, p->v_dim, p->v_strides, p->v_type);
  void *o = nn_rows_of(s, p->batch, p->heads, p->q_len, p->v_dim, p->o_strides, p->o_type);
  make_inputs(s, &first, v, o);
  make_inputs(s, &second, v, NULL);
  if (choice & 1) differential.gamma = nn_tensor(s, 1, p->v_dim, 0, FOVEA_F32);
  if (choice & 2) p->kv_lens = nn_list(s, p->batch, p->kv_len < 100 ? p->kv_len + 1 : 100);
  if ((uintptr_t)p->kv_lens % sizeof *p->kv_lens != 0) p->kv_lens = NULL; /* problems may take lists for aligned */
  shares = s->wild && bytes_one_in(s->bytes, 8);
  if (shares) first.o = (void *)(uintptr_t)((choice & 4) ? second.q : (choice & 8) ? first.q : differential.gamma);
  if (shares && (choice & 16)) second.o = o;
  const double dims = fabs((double)p->qk_dim) + fabs((double)p->v_dim) + 32;
  const double pairs = fabs((double)p->heads) * (fabs((double)p->q_len) + 1) * (fabs((double)p->kv_len) + 1);
  s->work = s->cannot_be ? fabs((double)p->batch) : 2 * fabs((double)p->batch) * pairs * dims;
  if (p->batch < 0) s->work = 0;
  if (nn_loses_rows(p)) s->cannot_be = 1;
}

static fovea_status run(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s;
  return fovea_nn_differential_run(&differential, &problem, &first, &second, e, error);
}

static size_t scratch_size(struct nn_scene *s, int workers) {
  (void)s;
  return measured(
      fovea_nn_differential_scratch_size(&differential, &problem, with_threads(workers), measured_size(), NULL));
}

/* Q is in use if a batch element has keys. */
static int reads_q(const fovea_problem *p) {
  for (int64_t b = 0; b < p->batch; b++)
    if (p->q_len > 0 && (p->kv_lens ? p->kv_lens[b] : p->kv_len) > 0) return 1;
  return 0;
}

static int has_meaning(const struct nn_scene *s) {
  const fovea_nn_differential *d = &differential;
  const fovea_problem *p = &problem;
  (void)s;
  if (d->struct_size != sizeof *d || p->struct_size < offsetof(fovea_problem, q_type)) return 0;
  if (!wild_is_finite(d->lambda) || !wild_is_finite(d->lambda_init) || !(d->eps >= 0 && d->eps < 3.41e38)) return 0;
  if (p->batch < 1 || p->heads < 1 || p->kv_heads < 1 || p->heads % p->kv_heads != 0) return 0;
  if (p->q_len < 0 || p->kv_len < 0 || p->qk_dim < 1 || p->v_dim < 1 || second.o) return 0;
  if (nn_loses_rows(p)) return 0;
  return !(shares && first.o && reads_q(p));
}

const struct nn_kind nn_kind_differential = {make, run, has_meaning, 1, scratch_size, 1};

/* ---- Lambda ---- */

static struct {
  int64_t dim;
  double init;
} lambda_numbers;
static const float *vectors[4];
static float *lambda;

static void make_lambda(struct nn_scene *s) {
  static const struct field fields[] = {
      {FIELD_LONG, offsetof(__typeof__(lambda_numbers), dim)},
      {FIELD_REAL, offsetof(__typeof__(lambda_numbers), init)},
  };
  lambda_numbers.dim = nn_size(s, 200);
  lambda_numbers.init = 0.1 * (double)nn_below(s, 10);
  NN_EDIT(s, &lambda_numbers, fields);
  for (int i = 0; i < 4; i++) vectors[i] = nn_tensor(s, 1, lambda_numbers.dim, 0, FOVEA_F32);
  lambda = nn_tensor(s, 1, 1, 0, FOVEA_F32);
}

static fovea_status run_lambda(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s, (void)e;
  return fovea_nn_differential_lambda(lambda_numbers.dim, vectors[0], vectors[1], vectors[2], vectors[3],
                                      lambda_numbers.init, lambda, error);
}

static int lambda_has_meaning(const struct nn_scene *s) {
  (void)s;
  return lambda_numbers.dim >= 1 && wild_is_finite(lambda_numbers.init) && lambda != NULL;
}

const struct nn_kind nn_kind_differential_lambda = {make_lambda, run_lambda, lambda_has_meaning, 0, NULL, 0};
