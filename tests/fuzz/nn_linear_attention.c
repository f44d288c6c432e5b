/* Calls of linear attention. */
#include "nn_scene.h"
#include "support/execution.h"

#include <fovea/linear_attention.h>

#include <math.h>
#include <stddef.h>

extern const struct nn_kind nn_kind_linear_attention;

static fovea_nn_linear_attention attention;
static fovea_nn_linear_attention_tensors tensors;

#define A_FIELD(name, kind) NN_FIELD(fovea_nn_linear_attention, name, kind)
#define T_FIELD(name, kind) NN_FIELD(fovea_nn_linear_attention_tensors, name, kind)

static void edit(struct nn_scene *s) {
  static const struct field of_attention[] = {
      A_FIELD(rule, INTEGER), A_FIELD(heads, LONG),    A_FIELD(k_dim, LONG),       A_FIELD(v_dim, LONG),
      A_FIELD(q_heads, LONG), A_FIELD(k_heads, LONG),  A_FIELD(scale, REAL),       A_FIELD(per_dim, INTEGER),
      A_FIELD(unit, INTEGER), A_FIELD(unit_eps, REAL), A_FIELD(struct_size, SIZE),
  };
  static const struct field of_tensors[] = {
      T_FIELD(batch, LONG),
      T_FIELD(tokens, LONG),
      T_FIELD(q_type, INTEGER),
      T_FIELD(v_type, INTEGER),
      T_FIELD(o_type, INTEGER),
      T_FIELD(decay_type, INTEGER),
      T_FIELD(beta_type, INTEGER),
      T_FIELD(q_strides.row, LONG),
      T_FIELD(k_strides.head, LONG),
      T_FIELD(v_strides.batch, LONG),
      T_FIELD(o_strides.row, LONG),
      T_FIELD(o_strides.head, LONG),
      T_FIELD(decay_strides.row, LONG),
      T_FIELD(beta_strides.head, LONG),
      T_FIELD(past_strides.row, LONG),
      T_FIELD(present_strides.head, LONG),
      T_FIELD(struct_size, SIZE),
  };
  if (bytes_one_in(s->bytes, 2)) NN_EDIT(s, &attention, of_attention);
  if (bytes_one_in(s->bytes, 2)) NN_EDIT(s, &tensors, of_tensors);
}

static int is_gated(void) {
  return attention.rule == FOVEA_NN_UPDATE_GATED || attention.rule == FOVEA_NN_UPDATE_GATED_DELTA;
}

static void describe(struct nn_scene *s) {
  const fovea_nn_update_rule rule = (fovea_nn_update_rule)nn_below(s, 4);
  const int64_t group = nn_size(s, 3), heads = group * nn_size(s, 2);
  fovea_nn_linear_attention_init(&attention, rule, heads, nn_size(s, 40), nn_size(s, 80));
  if (bytes_one_in(s->bytes, 2)) attention.k_heads = group;
  const int64_t reads = nn_below(s, 7);
  attention.q_heads = reads > 0 ? heads * reads : group;
  attention.unit = (int)nn_below(s, 2);
  if (is_gated()) attention.per_dim = (int)nn_below(s, 2);
}

/* The axes are (batch, tokens, heads, dim) or (batch, heads, tokens, dim), with gaps. */
static fovea_strides strides_of(struct nn_scene *s, int64_t heads, int64_t rows, int64_t dim) {
  const int64_t row = dim + nn_below(s, 3);
  if (bytes_one_in(s->bytes, 2)) return (fovea_strides){rows * heads * row, row, heads * row};
  return (fovea_strides){rows * heads * row, rows * row, row};
}

static void *make_tensor(struct nn_scene *s, int64_t heads, int64_t rows, int64_t dim, fovea_strides strides,
                         fovea_type type) {
  const int64_t extent[3] = {tensors.batch, heads, rows};
  return nn_tensor_of(s, extent, strides, dim, type == FOVEA_F16 || type == FOVEA_BF16 ? 16 : 32);
}

static void choose_strides(struct nn_scene *s) {
  const fovea_nn_linear_attention *a = &attention;
  fovea_nn_linear_attention_tensors *t = &tensors;
  const int64_t n = t->tokens, out = a->q_heads > a->heads ? a->q_heads : a->heads;
  t->q_type = nn_type(s);
  t->k_type = nn_type(s);
  t->v_type = nn_type(s);
  t->o_type = nn_type(s);
  t->q_strides = strides_of(s, a->q_heads, n, a->k_dim);
  t->k_strides = strides_of(s, a->k_heads, n, a->k_dim);
  t->v_strides = strides_of(s, a->heads, n, a->v_dim);
  t->o_strides = strides_of(s, out, n, a->v_dim);
}

static void make_optional(struct nn_scene *s, unsigned choice) {
  const fovea_nn_linear_attention *a = &attention;
  fovea_nn_linear_attention_tensors *t = &tensors;
  const int64_t dim = a->per_dim ? a->k_dim : 1;
  if (is_gated()) t->decay = make_tensor(s, a->heads, t->tokens, dim, t->decay_strides, t->decay_type);
  if (is_gated() && (choice & 1)) t->decay_factors = nn_tensor(s, 1, a->heads, 0, FOVEA_F32);
  if (choice & 2) t->beta = make_tensor(s, a->heads, t->tokens, 1, t->beta_strides, t->beta_type);
  if (choice & 4) t->skip = nn_tensor(s, 1, a->heads, 0, FOVEA_F32);
  if (choice & 8) t->present = make_tensor(s, a->heads, a->k_dim, a->v_dim, t->present_strides, FOVEA_F32);
  if (!(choice & 16)) return;
  if ((choice & 40) == 40) {
    t->past = t->present;
    t->past_strides = t->present_strides;
  } else {
    t->past = make_tensor(s, a->heads, a->k_dim, a->v_dim, t->past_strides, FOVEA_F32);
  }
}

/* Lengths for padding or of a packed batch, now and then nonsense, or both. */
static void make_lengths(struct nn_scene *s) {
  static int32_t cumulative[4];
  fovea_nn_linear_attention_tensors *t = &tensors;
  const unsigned choice = bytes_one(s->bytes);
  if (t->batch < 1 || t->batch > 3) return;
  if ((choice & 3) == 1 || choice == 2) t->token_lens = nn_list(s, t->batch, t->tokens + 1);
  if ((choice & 3) != 2) return;
  for (int64_t b = 0; b <= t->batch; b++) {
    const int32_t before = b > 0 ? cumulative[b - 1] : 0;
    cumulative[b] =
        s->wild && bytes_one_in(s->bytes, 16) ? -1 : before + (int32_t)nn_below(s, t->tokens - before + 1);
  }
  t->cu_seqlens = cumulative;
}

/* Whether the lengths are right. */
static int lengths_have_meaning(void) {
  const fovea_nn_linear_attention_tensors *t = &tensors;
  if (t->token_lens && t->cu_seqlens) return 0;
  for (int64_t b = 0; t->token_lens && b < t->batch; b++)
    if (t->token_lens[b] < 0 || t->token_lens[b] > t->tokens) return 0;
  for (int64_t b = 0; t->cu_seqlens && b <= t->batch; b++)
    if (t->cu_seqlens[b] < (b > 0 ? t->cu_seqlens[b - 1] : 0) || t->cu_seqlens[b] > t->tokens) return 0;
  return 1;
}

static void make(struct nn_scene *s) {
  const fovea_nn_linear_attention *a = &attention;
  fovea_nn_linear_attention_tensors *t = &tensors;
  describe(s);
  fovea_nn_linear_attention_tensors_init(t, a, nn_size(s, 2), nn_below(s, 12), NULL, NULL, NULL, NULL);
  const unsigned choice = bytes_one(s->bytes);
  choose_strides(s);
  if (is_gated()) t->decay_type = nn_type(s);
  if (choice & 2) t->beta_type = nn_type(s);
  if ((choice & 2) && bytes_one_in(s->bytes, 4)) t->beta_strides.head = 0;
  edit(s);
  const int64_t out = a->q_heads > a->heads ? a->q_heads : a->heads;
  t->q = make_tensor(s, a->q_heads == 0 ? a->heads : a->q_heads, t->tokens, a->k_dim, t->q_strides, t->q_type);
  t->k = make_tensor(s, a->k_heads == 0 ? a->heads : a->k_heads, t->tokens, a->k_dim, t->k_strides, t->k_type);
  t->v = make_tensor(s, a->heads, t->tokens, a->v_dim, t->v_strides, t->v_type);
  t->o = make_tensor(s, out, t->tokens, a->v_dim, t->o_strides, t->o_type);
  make_optional(s, choice);
  if (s->wild && bytes_one_in(s->bytes, 16)) t->o = t->present;
  make_lengths(s);
  s->work = fabs((double)t->batch * (double)out * (fabs((double)t->tokens) + 1) * (double)a->k_dim *
                 (fabs((double)a->v_dim) + 64));
}

static fovea_status run(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s;
  return fovea_nn_linear_attention_run(&attention, &tensors, e, error);
}

static int has_meaning(const struct nn_scene *s) {
  const fovea_nn_linear_attention *a = &attention;
  const fovea_nn_linear_attention_tensors *t = &tensors;
  (void)s;
  if (a->struct_size != sizeof *a || t->struct_size != sizeof *t || (unsigned)a->rule > 3) return 0;
  const int64_t k_heads = a->k_heads == 0 ? a->heads : a->k_heads,
                q_heads = a->q_heads == 0 ? a->heads : a->q_heads;
  if (a->heads < 1 || k_heads < 1 || q_heads < 1 || a->k_dim < 1 || a->v_dim < 1) return 0;
  if (a->heads % k_heads != 0 || (a->heads % q_heads != 0 && q_heads % a->heads != 0)) return 0;
  if ((unsigned)a->per_dim > 1 || (unsigned)a->unit > 1 ||
      !(fabs(a->scale) < 3.5e38 || a->scale == FOVEA_DEFAULT_NUMBER))
    return 0;
  if (!(a->unit_eps >= 0) || (!a->unit && a->unit_eps != 1e-6)) return 0;
  if (t->batch < 1 || t->tokens < 0 || (!is_gated() && (t->decay || t->decay_factors || a->per_dim))) return 0;
  if (!lengths_have_meaning()) return 0;
  return nn_is_type(t->q_type) && nn_is_type(t->k_type) && nn_is_type(t->v_type) && nn_is_type(t->o_type) &&
         nn_is_type(t->decay_type) && nn_is_type(t->beta_type);
}

static size_t scratch_size(struct nn_scene *s, int workers) {
  (void)s;
  return measured(
      fovea_nn_linear_attention_scratch_size(&attention, &tensors, with_threads(workers), measured_size(), NULL));
}

const struct nn_kind nn_kind_linear_attention = {make, run, has_meaning, 1, scratch_size, 0};
