/* Calls of multi-head latent attention, in both forms, without a cache and with one of a single segment. */
#include "nn_scene.h"
#include "support/execution.h"

#include "expect.h"

#include <fovea/cache.h>
#include <fovea/latent_attention.h>

#include <math.h>
#include <stddef.h>

extern const struct nn_kind nn_kind_latent, nn_kind_latent_absorb;

static fovea_nn_latent latent;
static fovea_nn_latent_tensors tensors;
static fovea_problem problem;
static fovea_rotary rotary;
static fovea_segment segments[3];
static fovea_sequence sequences[3];
static int64_t *lens, *firsts;
static void *absorbed;

#define L_FIELD(name, kind) NN_FIELD(fovea_nn_latent, name, kind)
#define T_FIELD(name, kind) NN_FIELD(fovea_nn_latent_tensors, name, kind)

/* The layer that is made anew in rows, without what is refused. */
static fovea_nn_linear *plain_layer(struct nn_scene *s, int64_t in, int64_t out) {
  fovea_nn_linear *layer = &s->layers[s->layer_count++];
  EXPECT(s->layer_count <= NN_LAYERS);
  fovea_nn_linear_init(layer, in, out, NULL);
  layer->weight_type = nn_type(s);
  layer->weights = nn_tensor(s, out, in, in, layer->weight_type);
  return layer;
}

static void make_norms(struct nn_scene *s, unsigned choice) {
  if (!s->wild && (choice & 1)) {
    fovea_nn_norm_init(&s->norms[0], FOVEA_NN_RMS_NORM, latent.kv_lora_rank);
    latent.kv_a_layernorm = &s->norms[0];
  } else if (choice & 1) {
    latent.kv_a_layernorm = nn_norm(s, 0, latent.kv_lora_rank);
  }
  if ((choice & 6) != 6) return;
  fovea_nn_norm_init(&s->norms[1], FOVEA_NN_RMS_NORM, latent.q_a_proj->out);
  s->norms[1].gamma = nn_tensor(s, 1, latent.q_a_proj->out, 0, FOVEA_F32);
  latent.q_a_layernorm = &s->norms[1];
}

static void describe(struct nn_scene *s, int64_t in, unsigned choice) {
  static const struct field fields[] = {
      L_FIELD(heads, LONG),
      L_FIELD(kv_lora_rank, LONG),
      L_FIELD(qk_nope_head_dim, LONG),
      L_FIELD(qk_rope_head_dim, LONG),
      L_FIELD(v_head_dim, LONG),
      L_FIELD(form, INTEGER),
      L_FIELD(struct_size, SIZE),
  };
  fovea_nn_latent *l = &latent;
  fovea_nn_latent_init(l, nn_size(s, 4), nn_size(s, 20) + 1, nn_size(s, 10), 2 * nn_below(s, 4), nn_size(s, 10));
  l->form = (fovea_nn_latent_form)nn_below(s, 2);
  const int64_t rank = l->kv_lora_rank, heads = l->heads, nope = l->qk_nope_head_dim, rope = l->qk_rope_head_dim;
  int64_t q_in = in;
  if (choice & 2) {
    q_in = nn_size(s, 12);
    l->q_a_proj = nn_layer(s, in, q_in);
  }
  l->q_b_proj = nn_layer(s, q_in, heads * (nope + rope));
  l->kv_a_proj = nn_layer(s, in, rank + rope);
  l->kv_b_proj = s->wild && bytes_one_in(s->bytes, 4) ? nn_layer(s, rank, heads * (nope + l->v_head_dim))
                                                      : plain_layer(s, rank, heads * (nope + l->v_head_dim));
  l->o_proj = nn_layer(s, heads * l->v_head_dim, (choice & 8) ? in : nn_size(s, 20));
  make_norms(s, choice);
  if (rope > 0 && (choice & 16)) {
    fovea_rotary_init(&rotary, FOVEA_ROTARY_INTERLEAVED, rope);
    l->rotary = &rotary;
  }
  if (bytes_one_in(s->bytes, 4)) NN_EDIT(s, l, fields);
}

static void make_absorbed(struct nn_scene *s) {
  int64_t elements = -1;
  const fovea_status status = fovea_nn_latent_absorbed_elements(&latent, &elements, NULL);
  EXPECT(status == FOVEA_OK ? elements > 0 : elements == 0);
  absorbed = elements > 0 ? nn_tensor(s, 1, elements, 0, latent.kv_b_proj->weight_type) : NULL;
}

static void make_absorb(struct nn_scene *s) {
  describe(s, nn_size(s, 20), bytes_one(s->bytes));
  make_absorbed(s);
}

static fovea_status run_absorb(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s, (void)e;
  return fovea_nn_latent_absorb(&latent, absorbed, error);
}

static int layers_have_meaning(void) {
  const fovea_nn_latent *l = &latent;
  const fovea_nn_linear *kv_b = l->kv_b_proj;
  if (l->struct_size != sizeof *l || l->heads < 1 || l->kv_lora_rank < 1 || l->qk_nope_head_dim < 1) return 0;
  if (l->v_head_dim < 1 || l->qk_rope_head_dim < 0 || l->qk_rope_head_dim % 2 != 0) return 0;
  if (!nn_layer_has_meaning(kv_b) || kv_b->layout != FOVEA_NN_WEIGHTS_IN_ROWS || kv_b->bias) return 0;
  return kv_b->in == l->kv_lora_rank && kv_b->out == l->heads * (l->qk_nope_head_dim + l->v_head_dim) &&
         kv_b->activation == FOVEA_NN_ACTIVATION_NONE;
}

static int absorb_has_meaning(const struct nn_scene *s) {
  (void)s;
  return layers_have_meaning() && absorbed;
}

const struct nn_kind nn_kind_latent_absorb = {make_absorb, run_absorb, absorb_has_meaning, 0, NULL, 0};

/* Each batch element has a cache of one segment, which holds all its positions. */
static void make_cache(struct nn_scene *s) {
  const int64_t width = latent.kv_lora_rank + latent.qk_rope_head_dim, most = problem.kv_len;
  const fovea_type type = nn_type(s);
  lens = nn_list(s, problem.batch, 1);
  firsts = nn_list(s, problem.batch, 1);
  if (s->cannot_be || problem.batch > 3 || !lens || !firsts) return;
  if ((uintptr_t)lens % sizeof *lens || (uintptr_t)firsts % sizeof *firsts) return;
  for (int64_t b = 0; b < problem.batch; b++) {
    fovea_segment *segment = &segments[b];
    *segment = (fovea_segment){.first = 0, .rows = most, .k_row = width, .k_type = type, .v_type = type};
    segment->k = nn_tensor(s, most, width, width, type);
    sequences[b] = fovea_sequence_of(segment, 1);
    firsts[b] = nn_below(s, most - problem.q_len + 1);
    lens[b] = firsts[b] + problem.q_len;
  }
  problem.cache.segmented = 1;
  problem.kv_lens = lens;
  tensors.cache.sequences = sequences;
  tensors.first_positions = firsts;
}

static void make_tensors(struct nn_scene *s, int64_t in, int64_t out, unsigned choice) {
  static const struct field fields[] = {
      T_FIELD(x_type, INTEGER),   T_FIELD(y_type, INTEGER),      T_FIELD(residual_type, INTEGER),
      T_FIELD(x_stride, LONG),    T_FIELD(y_stride, LONG),       T_FIELD(residual_stride, LONG),
      T_FIELD(cache.layer, LONG), T_FIELD(first_position, LONG), T_FIELD(struct_size, SIZE),
  };
  fovea_nn_latent_tensors *t = &tensors;
  const int64_t rows = problem.batch > 0 && problem.batch < 99 && problem.q_len >= 0 && problem.q_len < 999
                           ? problem.batch * problem.q_len
                           : INT64_C(1) << 40;
  t->x_type = nn_type(s);
  t->y_type = nn_type(s);
  if (bytes_one_in(s->bytes, 3)) t->x_stride = in + nn_below(s, 3);
  if (bytes_one_in(s->bytes, 2) && !problem.cache.segmented) NN_EDIT(s, t, fields);
  t->x = nn_tensor(s, rows, in, t->x_stride, t->x_type);
  if ((choice & 8) && in == out && t->x_type == t->y_type && t->x_stride == t->y_stride)
    t->y = (void *)(uintptr_t)t->x;
  else
    t->y = nn_tensor(s, rows, out, t->y_stride, t->y_type);
  if (choice & 32) t->residual = nn_tensor(s, rows, out, t->residual_stride, t->residual_type);
}

static void make(struct nn_scene *s) {
  const int64_t in = nn_size(s, 20);
  const unsigned choice = bytes_one(s->bytes);
  const fovea_nn_latent *l = &latent;
  fovea_problem *p = &problem;
  describe(s, in, choice);
  make_absorbed(s);
  if (l->form == FOVEA_NN_LATENT_ABSORBED && !fovea_nn_latent_absorb(&latent, absorbed, NULL))
    latent.absorbed = absorbed;
  const int64_t q_len = nn_below(s, 9), cached = (choice & 64) ? nn_below(s, 9) : 0;
  const int64_t qk_dim = (int64_t)((uint64_t)l->qk_nope_head_dim + (uint64_t)l->qk_rope_head_dim);
  fovea_problem_init(p, nn_size(s, 3), l->heads, l->heads, q_len, q_len + cached, qk_dim, l->v_head_dim);
  fovea_problem_resolve(p, NULL);
  nn_choose_rules(s, p);
  fovea_nn_latent_tensors_init(&tensors, NULL, NULL);
  /* Refusals of masks come after rows have been appended: see the header. */
  if (choice & 64) p->mask.type = FOVEA_MASK_NONE, p->mask.strides = (fovea_mask_strides){0, 0, 0, 0};
  if ((choice & 64) && !s->wild) make_cache(s);
  if (bytes_one_in(s->bytes, 2) && !p->cache.segmented) nn_edit_problem(s, p);
  if (p->mask.type != FOVEA_MASK_NONE) tensors.mask = nn_mask(s, p);
  if (p->sink == FOVEA_SINK_PER_HEAD) tensors.sink = nn_tensor(s, 1, p->heads, 0, FOVEA_F32);
  make_tensors(s, l->kv_a_proj->in, l->o_proj->out, choice);
  if (!p->cache.segmented && p->kv_len != p->q_len) s->cannot_be = 1;
  s->work = fabs((double)p->batch) * (fabs((double)p->q_len) + 1) * (fabs((double)p->kv_len) + 1) *
            fabs((double)l->heads) * 100;
  if (s->cannot_be) s->work = 0;
}

static fovea_status run(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s;
  return fovea_nn_latent_run(&latent, &problem, &tensors, e, error);
}

static size_t scratch_size(struct nn_scene *s, int workers) {
  (void)s;
  return measured(
      fovea_nn_latent_scratch_size(&latent, &problem, &tensors, with_threads(workers), measured_size(), NULL));
}

static int has_meaning(const struct nn_scene *s) {
  const fovea_nn_latent *l = &latent;
  const fovea_nn_latent_tensors *t = &tensors;
  const fovea_problem *p = &problem;
  (void)s;
  if (!layers_have_meaning() || t->struct_size != sizeof *t || (unsigned)l->form > 1) return 0;
  if (!nn_layer_has_meaning(l->q_b_proj) || !nn_layer_has_meaning(l->kv_a_proj) || !nn_layer_has_meaning(l->o_proj))
    return 0;
  if (p->batch < 1 || p->q_len < 0 || p->heads != l->heads || p->kv_heads != l->heads) return 0;
  if (p->qk_dim != l->qk_nope_head_dim + l->qk_rope_head_dim || p->v_dim != l->v_head_dim) return 0;
  if (l->o_proj->in != p->heads * p->v_dim || l->q_b_proj->out != p->heads * p->qk_dim) return 0;
  if (!p->cache.segmented && (p->kv_len != p->q_len || t->cache.layer != 0 || (t->first_position && !l->rotary)))
    return 0;
  if (!t->residual && (t->residual_type != FOVEA_F32 || t->residual_stride != FOVEA_CONTIGUOUS)) return 0;
  return nn_is_type(t->x_type) && nn_is_type(t->y_type) && !p->q_type && !p->o_type;
}

const struct nn_kind nn_kind_latent = {make, run, has_meaning, 1, scratch_size, 1};
