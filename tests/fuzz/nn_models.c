/* Multi-head attention, blocks, additive attention and cells. */
#include "nn_scene.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { MOST_LENGTH = 9 };

static int64_t rows_of(int64_t batch, int64_t length) {
  const double rows = (double)batch * (double)length;
  return fabs(rows) < 1e9 ? batch * length : INT64_C(1) << 40;
}

static void make_layers(struct nn_scene *s, struct nn_attention *a, int64_t width, int64_t memory_width) {
  fovea_problem *p = &a->problem;
  fovea_nn_linear *query = nn_layer(s, width, p->heads * p->qk_dim);
  fovea_nn_linear *key = nn_layer(s, memory_width, p->kv_heads * p->qk_dim);
  fovea_nn_linear *value = nn_layer(s, memory_width, p->kv_heads * p->v_dim);
  fovea_nn_linear *output = nn_layer(s, p->heads * p->v_dim, width);
  fovea_nn_attention_init(&a->attention, query, key, value, output);
}

static void choose_extras(struct nn_scene *s, struct nn_attention *a) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_attention, struct_size, SIZE),
  };
  fovea_problem *p = &a->problem;
  const int plain = p->window_left < 0 && !p->causal;
  if (p->qk_dim % 2 == 0 && bytes_one_in(s->bytes, 3)) {
    fovea_rotary_init(&a->rotary, FOVEA_ROTARY_HALVES, p->qk_dim);
    a->attention.rotary = &a->rotary;
  } else if ((plain || s->wild) && bytes_one_in(s->bytes, 3)) {
    const int wild = s->wild;
    s->wild = 0; /* nothing says that these must be aligned: they are copied */
    a->attention.bias_key = nn_tensor(s, 1, rows_of(p->kv_heads, p->qk_dim), 0, FOVEA_F32);
    a->attention.bias_value = nn_tensor(s, 1, rows_of(p->kv_heads, p->v_dim), 0, FOVEA_F32);
    s->wild = wild;
    if (wild && bytes_one_in(s->bytes, 8)) a->attention.bias_value = NULL;
  } else if (bytes_one_in(s->bytes, 4)) {
    p->kv_lens = nn_list(s, p->batch, p->kv_len < 100 ? p->kv_len + 1 : 100);
  }
  if (bytes_one_in(s->bytes, 8)) NN_EDIT(s, &a->attention, fields);
}

static void add_work(struct nn_scene *s, const struct nn_attention *a, int64_t width) {
  const fovea_problem *p = &a->problem;
  const double rows = (double)p->batch * (double)p->q_len, keys = (double)p->batch * (double)p->kv_len;
  s->work += fabs(rows * (double)p->heads * (double)p->kv_len * ((double)p->qk_dim + (double)p->v_dim));
  s->work += fabs((rows + keys) * (double)width * (double)p->heads * ((double)p->qk_dim + (double)p->v_dim));
}

/* A problem with its layers, and what x and y do not belong to. */
static void make_attending(struct nn_scene *s, struct nn_attention *a, int64_t width, int64_t batch, int64_t q_len,
                           int over_memory) {
  const int64_t kv_heads = nn_size(s, 3), heads = kv_heads * nn_size(s, 2), memory_width = over_memory ? 7 : width;
  const int64_t kv_len = over_memory ? nn_below(s, MOST_LENGTH) : q_len, dim = nn_size(s, 9);
  fovea_nn_attention_tensors *t = &a->tensors;
  fovea_problem_init(&a->problem, batch, heads, kv_heads, q_len, kv_len, dim, nn_size(s, 9));
  fovea_problem_resolve(&a->problem, NULL);
  nn_choose_rules(s, &a->problem);
  make_layers(s, a, width, memory_width);
  if (bytes_one_in(s->bytes, 2)) nn_edit_problem(s, &a->problem);
  choose_extras(s, a);
  fovea_nn_attention_tensors_init(t, NULL, NULL);
  if (a->problem.mask.type != FOVEA_MASK_NONE) t->mask = nn_mask(s, &a->problem);
  if (a->problem.sink == FOVEA_SINK_PER_HEAD) t->sink = nn_tensor(s, 1, a->problem.heads, 0, FOVEA_F32);
  if (over_memory) {
    const int64_t keys = rows_of(a->problem.batch, a->problem.kv_len);
    t->memory_type = nn_type(s);
    t->memory = nn_tensor(s, keys, a->attention.key->in, a->attention.key->in, t->memory_type);
    if (a->attention.value->in != a->attention.key->in)
      t->memory_values = nn_tensor(s, keys, a->attention.value->in, a->attention.value->in, FOVEA_F32);
  }
  add_work(s, a, width);
}

/* A problem that loses rows is refused. With the key of a bias, also if there is no other key. */
static void may_lose_rows(struct nn_scene *s, const struct nn_attention *a) {
  const fovea_problem *p = &a->problem;
  const int no_keys = a->attention.bias_key && p->causal && p->kv_len == 0 && p->q_len > 0;
  if (nn_loses_rows(p) || no_keys) s->cannot_be = 1;
}

static float *floats(struct nn_scene *s, int64_t a, int64_t b, int64_t c) {
  return nn_tensor(s, 1, rows_of(rows_of(a, b), c), 0, FOVEA_F32);
}

/* Features whose numbers the layer has, and outputs beside y. */
static void choose_features(struct nn_scene *s, struct nn_attention *a) {
  enum { TOP = 3, DISTANCE = 2 };
  fovea_problem *p = &a->problem;
  fovea_nn_attention_tensors *t = &a->tensors;
  const unsigned choice = bytes_one(s->bytes);
  const int shifted = a->attention.bias_key != NULL && !s->wild; /* positions count from the bias */
  if ((choice & 1) && !shifted) {
    a->term = fovea_term_alibi((int)(choice >> 7));
    fovea_problem_set_terms(p, &a->term, 1);
    a->terms[0] = floats(s, 1, 1, p->heads);
    a->attention.terms = a->terms;
  }
  if ((choice & 2) && !shifted) {
    p->shaw.kind = FOVEA_SHAW_BOTH;
    p->shaw.distance = DISTANCE;
    a->attention.shaw.keys = floats(s, 1, 2 * DISTANCE + 1, p->qk_dim);
    a->attention.shaw.values = floats(s, 1, 2 * DISTANCE + 1, p->v_dim);
  }
  if (choice & 4) t->lse = floats(s, p->batch, p->heads, p->q_len);
  if (choice & 8) p->entropy = 1, t->entropy = floats(s, p->batch, p->heads, p->q_len);
  if (choice & 16) p->max_logits = 1, t->max_logits = floats(s, 1, p->batch, p->heads);
  if (choice & 32)
    p->column_sums.wanted = 1, t->column_sums = floats(s, p->batch, p->heads, p->kv_len + !!a->attention.bias_key);
  if (!(choice & 64)) return;
  const int64_t rows = rows_of(p->batch, p->heads);
  p->top.k = TOP;
  t->top.keys = nn_longs(s, rows_of(rows_of(rows, p->q_len), TOP));
  t->top.scores = floats(s, rows, p->q_len, TOP);
}

/* What rows, and the rows of a memory, are rotated to, if not to their positions. */
static void choose_positions(struct nn_scene *s, struct nn_attention *a) {
  const fovea_problem *p = &a->problem;
  fovea_nn_attention_tensors *t = &a->tensors;
  const unsigned choice = bytes_one(s->bytes);
  if (!a->attention.rotary) return;
  if ((choice & 1) && t->first_position == 0) t->rotary_positions = nn_list(s, rows_of(p->batch, p->q_len), 200);
  if ((choice & 2) && t->memory) t->memory_positions = nn_list(s, rows_of(p->batch, p->kv_len), 200);
}

static void make_attention(struct nn_scene *s) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_attention_tensors, x_type, INTEGER),
      NN_FIELD(fovea_nn_attention_tensors, y_type, INTEGER),
      NN_FIELD(fovea_nn_attention_tensors, memory_type, INTEGER),
      NN_FIELD(fovea_nn_attention_tensors, residual_type, INTEGER),
      NN_FIELD(fovea_nn_attention_tensors, x_stride, LONG),
      NN_FIELD(fovea_nn_attention_tensors, y_stride, LONG),
      NN_FIELD(fovea_nn_attention_tensors, residual_stride, LONG),
      NN_FIELD(fovea_nn_attention_tensors, rows_first, INTEGER),
      NN_FIELD(fovea_nn_attention_tensors, cache.layer, LONG),
      NN_FIELD(fovea_nn_attention_tensors, first_position, LONG),
      NN_FIELD(fovea_nn_attention_tensors, struct_size, SIZE),
  };
  struct nn_attention *a = &s->attentions[0];
  fovea_nn_attention_tensors *t = &a->tensors;
  const int64_t width = nn_size(s, 20), batch = nn_size(s, 3), q_len = nn_below(s, MOST_LENGTH);
  make_attending(s, a, width, batch, q_len, bytes_one_in(s->bytes, 2));
  const int64_t rows = rows_of(a->problem.batch, a->problem.q_len);
  const int64_t in = a->attention.query->in, out = a->attention.output->out;
  const fovea_type memory_type = t->memory_type;
  t->x_type = nn_type(s);
  t->y_type = nn_type(s);
  t->rows_first = (int)nn_below(s, 2);
  if (a->attention.rotary) t->first_position = nn_below(s, 256);
  NN_EDIT(s, t, fields);
  if (t->memory && t->memory_type != memory_type) t->memory_type = (fovea_type)77; /* its memory is of that type */
  t->x = nn_tensor(s, rows, in, t->x_stride, t->x_type);
  t->y = nn_tensor(s, rows, out, t->y_stride, t->y_type);
  if (bytes_one_in(s->bytes, 3)) t->residual = nn_tensor(s, rows, out, t->residual_stride, t->residual_type);
  choose_features(s, a);
  may_lose_rows(s, a);
  choose_positions(s, a);
}

static fovea_status run_attention(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  struct nn_attention *a = &s->attentions[0];
  return fovea_nn_attention_run(&a->attention, &a->problem, &a->tensors, e, error);
}

static int attending_has_meaning(const struct nn_attention *a) {
  const fovea_problem *p = &a->problem;
  const fovea_nn_attention *l = &a->attention;
  if (l->struct_size != sizeof *l || p->struct_size < offsetof(fovea_problem, q_type)) return 0;
  if (!nn_layer_has_meaning(l->query) || !nn_layer_has_meaning(l->key) || !nn_layer_has_meaning(l->value) ||
      !nn_layer_has_meaning(l->output))
    return 0;
  if (p->batch < 1 || p->heads < 1 || p->kv_heads < 1 || p->heads % p->kv_heads != 0 || p->q_len < 0) return 0;
  if (l->query->out != p->heads * p->qk_dim || l->key->out != p->kv_heads * p->qk_dim) return 0;
  if (l->value->out != p->kv_heads * p->v_dim || l->output->in != p->heads * p->v_dim) return 0;
  if (!a->tensors.memory && (p->q_len != p->kv_len || l->key->in != l->query->in)) return 0;
  if (nn_loses_rows(p)) return 0;
  if (l->bias_key && (p->terms.count > 0 || p->shaw.kind)) return 0;
  return !l->bias_key == !l->bias_value && !(l->bias_key && (l->rotary || p->kv_lens));
}

static int attention_has_meaning(const struct nn_scene *s) {
  const struct nn_attention *a = &s->attentions[0];
  const fovea_nn_attention_tensors *t = &a->tensors;
  if (!attending_has_meaning(a) || t->struct_size != sizeof *t || t->cache.layer != 0) return 0;
  if ((unsigned)t->rows_first > 1 || (t->first_position != 0 && !a->attention.rotary)) return 0;
  if (!t->residual && (t->residual_type != FOVEA_F32 || t->residual_stride != FOVEA_CONTIGUOUS)) return 0;
  if (!t->memory && t->memory_type != FOVEA_F32) return 0;
  return nn_is_type(t->x_type) && nn_is_type(t->y_type) && nn_is_type(t->memory_type) &&
         nn_is_type(t->residual_type);
}

const struct nn_kind nn_kind_attention = {make_attention, run_attention, attention_has_meaning, 1, NULL, 0};

static void make_block(struct nn_scene *s) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_block, norm_first, INTEGER),
      NN_FIELD(fovea_nn_block, struct_size, SIZE),
  };
  fovea_nn_block *b = &s->block;
  const int64_t width = nn_size(s, 20), batch = nn_size(s, 2), q_len = nn_below(s, 6), hidden = nn_size(s, 30);
  struct nn_attention *self = &s->attentions[0], *cross = &s->attentions[1];
  make_attending(s, self, width, batch, q_len, 0);
  fovea_nn_linear *up = nn_layer(s, width, hidden), *down = nn_layer(s, hidden, width);
  fovea_nn_norm *first = nn_norm(s, 0, width), *last = nn_norm(s, 2, width);
  fovea_nn_block_init(b, &self->attention, first, up, down, last);
  b->norm_first = (int)nn_below(s, 2);
  if (bytes_one_in(s->bytes, 2)) {
    make_attending(s, cross, width, batch, q_len, 1);
    b->cross = &cross->attention;
    b->cross_norm = nn_norm(s, 1, width);
  }
  if (bytes_one_in(s->bytes, 2)) b->gate = nn_layer(s, width, hidden);
  if (bytes_one_in(s->bytes, 4)) NN_EDIT(s, b, fields);
  const int64_t rows = rows_of(self->problem.batch, self->problem.q_len), dim = self->attention.query->in;
  float *x = nn_tensor(s, rows, dim, dim, FOVEA_F32);
  s->x = x;
  s->y = bytes_one_in(s->bytes, 4) ? x : nn_tensor(s, rows, dim, dim, FOVEA_F32);
  may_lose_rows(s, self);
  if (b->cross) may_lose_rows(s, cross);
}

static fovea_status run_block(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  const fovea_nn_attending self = {&s->attentions[0].problem, &s->attentions[0].tensors};
  const fovea_nn_attending cross = {&s->attentions[1].problem, &s->attentions[1].tensors};
  return fovea_nn_block_run(&s->block, &self, s->block.cross ? &cross : NULL, s->x, s->y, e, error);
}

static int block_has_meaning(const struct nn_scene *s) {
  const fovea_nn_block *b = &s->block;
  const int64_t dim = b->self->query->in;
  if (b->struct_size != sizeof *b || (unsigned)b->norm_first > 1) return 0;
  if (!attending_has_meaning(&s->attentions[0]) || (b->cross && !attending_has_meaning(&s->attentions[1])))
    return 0;
  if (!nn_layer_has_meaning(b->up) || !nn_layer_has_meaning(b->down)) return 0;
  if (b->gate && (!nn_layer_has_meaning(b->gate) || b->gate->in != dim || b->gate->out != b->up->out)) return 0;
  if (!nn_norm_has_meaning(b->self_norm) || !nn_norm_has_meaning(b->feed_norm)) return 0;
  if (b->cross && (!nn_norm_has_meaning(b->cross_norm) || b->cross_norm->dim != dim)) return 0;
  return b->up->in == dim && b->down->in == b->up->out && b->down->out == dim && b->self_norm->dim == dim &&
         b->feed_norm->dim == dim && b->self->output->out == dim;
}

const struct nn_kind nn_kind_block = {make_block, run_block, block_has_meaning, 1, NULL, 0};

static void *make_entries(struct nn_scene *s, int64_t batch, int64_t rows, fovea_strides strides, int64_t dim,
                          fovea_type type) {
  const int64_t extent[3] = {batch, 1, rows};
  return nn_tensor_of(s, extent, strides, dim, type == FOVEA_F16 || type == FOVEA_BF16 ? 16 : 32);
}

static void edit_additive(struct nn_scene *s) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_additive_tensors, batch, LONG),
      NN_FIELD(fovea_nn_additive_tensors, q_len, LONG),
      NN_FIELD(fovea_nn_additive_tensors, kv_len, LONG),
      NN_FIELD(fovea_nn_additive_tensors, v_dim, LONG),
      NN_FIELD(fovea_nn_additive_tensors, q_type, INTEGER),
      NN_FIELD(fovea_nn_additive_tensors, k_type, INTEGER),
      NN_FIELD(fovea_nn_additive_tensors, v_type, INTEGER),
      NN_FIELD(fovea_nn_additive_tensors, o_type, INTEGER),
      NN_FIELD(fovea_nn_additive_tensors, q_strides.row, LONG),
      NN_FIELD(fovea_nn_additive_tensors, k_strides.batch, LONG),
      NN_FIELD(fovea_nn_additive_tensors, v_strides.row, LONG),
      NN_FIELD(fovea_nn_additive_tensors, o_strides.row, LONG),
      NN_FIELD(fovea_nn_additive_tensors, o_strides.head, LONG),
      NN_FIELD(fovea_nn_additive_tensors, weight_strides.row, LONG),
      NN_FIELD(fovea_nn_additive_tensors, mask_type, INTEGER),
      NN_FIELD(fovea_nn_additive_tensors, mask_strides.row, LONG),
      NN_FIELD(fovea_nn_additive_tensors, struct_size, SIZE),
  };
  static const struct field own[] = {
      NN_FIELD(fovea_nn_additive, dim, LONG),
      NN_FIELD(fovea_nn_additive, struct_size, SIZE),
  };
  NN_EDIT(s, &s->additive_tensors, fields);
  if (bytes_one_in(s->bytes, 8)) NN_EDIT(s, &s->additive, own);
}

static void make_additive_mask(struct nn_scene *s) {
  fovea_nn_additive_tensors *t = &s->additive_tensors;
  const fovea_mask_strides *m = &t->mask_strides;
  const int64_t extent[3] = {t->batch, 1, t->q_len};
  const fovea_strides strides = {m->batch, 0, m->row};
  const int bits = nn_mask_bits(t->mask_type);
  if (m->key != 1 || (bits == 1 && (m->batch % 8 != 0 || m->row % 8 != 0))) return;
  t->mask = nn_tensor_of(s, extent, strides, t->kv_len, bits);
}

static void make_additive(struct nn_scene *s) {
  fovea_nn_additive *a = &s->additive;
  fovea_nn_additive_tensors *t = &s->additive_tensors;
  const int64_t dim = nn_size(s, 40), batch = nn_size(s, 3), q_len = nn_below(s, MOST_LENGTH),
                kv_len = nn_below(s, 20);
  fovea_nn_additive_init(a, dim, NULL);
  const int64_t query_in = nn_size(s, 9), key_in = nn_size(s, 9);
  if (bytes_one_in(s->bytes, 2)) a->query = nn_layer(s, query_in, dim);
  if (bytes_one_in(s->bytes, 2)) a->key = nn_layer(s, key_in, dim);
  fovea_nn_additive_tensors_init(t, a, batch, q_len, kv_len, nn_size(s, 9), NULL, NULL, NULL, NULL);
  if (a->query) t->q_type = nn_type(s);
  if (a->key) t->k_type = nn_type(s);
  t->v_type = nn_type(s);
  t->o_type = nn_type(s);
  const int with_weights = bytes_one_in(s->bytes, 2), with_mask = bytes_one_in(s->bytes, 3);
  if (with_mask) {
    t->mask_type = FOVEA_MASK_BOOL;
    t->mask_strides = (fovea_mask_strides){q_len * kv_len, 0, kv_len, 1};
  }
  edit_additive(s);
  a->w = nn_tensor(s, 1, a->dim, 0, FOVEA_F32);
  t->q = make_entries(s, t->batch, t->q_len, t->q_strides, a->query ? a->query->in : a->dim, t->q_type);
  t->k = make_entries(s, t->batch, t->kv_len, t->k_strides, a->key ? a->key->in : a->dim, t->k_type);
  t->v = make_entries(s, t->batch, t->kv_len, t->v_strides, t->v_dim, t->v_type);
  t->o = make_entries(s, t->batch, t->q_len, t->o_strides, t->v_dim, t->o_type);
  if (with_weights) t->weights = make_entries(s, t->batch, t->q_len, t->weight_strides, t->kv_len, FOVEA_F32);
  if (with_mask) make_additive_mask(s);
  if (bytes_one_in(s->bytes, 4)) t->kv_lens = nn_list(s, t->batch, t->kv_len < 100 ? t->kv_len + 1 : 100);
  s->work =
      fabs((double)t->batch * (double)t->q_len * (double)t->kv_len * (20 * (double)a->dim + (double)t->v_dim));
}

static fovea_status run_additive(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  return fovea_nn_additive_run(&s->additive, &s->additive_tensors, e, error);
}

static int additive_has_meaning(const struct nn_scene *s) {
  const fovea_nn_additive *a = &s->additive;
  const fovea_nn_additive_tensors *t = &s->additive_tensors;
  if (a->struct_size != sizeof *a || t->struct_size != sizeof *t || a->dim < 1 || t->batch < 1 || t->v_dim < 1)
    return 0;
  if (t->q_len < 0 || t->kv_len < 0 || !a->w || nn_stride(t->o_strides.head, 0) != 0) return 0;
  if (a->query ? !nn_layer_has_meaning(a->query) || a->query->out != a->dim : t->q_type != FOVEA_F32) return 0;
  if (a->key ? !nn_layer_has_meaning(a->key) || a->key->out != a->dim : t->k_type != FOVEA_F32) return 0;
  if (!t->mask != (t->mask_type == FOVEA_MASK_NONE) && t->q_len * t->kv_len > 0) return 0;
  return nn_is_type(t->q_type) && nn_is_type(t->k_type) && nn_is_type(t->v_type) && nn_is_type(t->o_type);
}

const struct nn_kind nn_kind_additive = {make_additive, run_additive, additive_has_meaning, 1, NULL, 0};

static void edit_cell(struct nn_scene *s) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_cell_rows, rows, LONG),          NN_FIELD(fovea_nn_cell_rows, x_type, INTEGER),
      NN_FIELD(fovea_nn_cell_rows, h_type, INTEGER),     NN_FIELD(fovea_nn_cell_rows, y_type, INTEGER),
      NN_FIELD(fovea_nn_cell_rows, x_stride, LONG),      NN_FIELD(fovea_nn_cell_rows, h_stride, LONG),
      NN_FIELD(fovea_nn_cell_rows, y_stride, LONG),      NN_FIELD(fovea_nn_cell_rows, c_type, INTEGER),
      NN_FIELD(fovea_nn_cell_rows, new_c_type, INTEGER), NN_FIELD(fovea_nn_cell_rows, c_stride, LONG),
      NN_FIELD(fovea_nn_cell_rows, new_c_stride, LONG),  NN_FIELD(fovea_nn_cell_rows, struct_size, SIZE),
  };
  static const struct field own[] = {NN_FIELD(fovea_nn_cell, struct_size, SIZE)};
  NN_EDIT(s, &s->cell_rows, fields);
  if (bytes_one_in(s->bytes, 16)) NN_EDIT(s, &s->cell, own);
}

static void make_cell(struct nn_scene *s, int gates) {
  fovea_nn_cell_rows *r = &s->cell_rows;
  const int64_t dim = nn_size(s, 40), in = nn_size(s, 20);
  fovea_nn_linear *hidden = nn_layer(s, dim, gates * dim);
  fovea_nn_linear *input = bytes_one_in(s->bytes, 2) ? nn_layer(s, in, gates * dim) : NULL;
  fovea_nn_cell_init(&s->cell, input, hidden);
  fovea_nn_cell_rows_init(r, &s->cell, nn_below(s, 6), NULL, NULL, NULL);
  r->x_type = nn_type(s);
  r->h_type = nn_type(s);
  r->y_type = nn_type(s);
  if (gates == 4) r->c_type = nn_type(s);
  if (gates == 4) r->new_c_type = nn_type(s);
  edit_cell(s);
  const int64_t h = hidden->in;
  r->x = nn_tensor(s, r->rows, input ? input->in : hidden->out, r->x_stride, r->x_type);
  void *old = nn_tensor(s, r->rows, h, r->h_stride, r->h_type);
  r->h = old;
  const int in_place = r->y_type == r->h_type && r->y_stride == r->h_stride && bytes_one_in(s->bytes, 3);
  r->y = in_place ? old : nn_tensor(s, r->rows, h, r->y_stride, r->y_type);
  s->work = fabs((double)r->rows * (double)h * (double)hidden->out);
  if (input) s->work += fabs((double)r->rows * (double)input->in * (double)input->out);
  if (gates != 4) return;
  r->c = nn_tensor(s, r->rows, h, r->c_stride, r->c_type);
  r->new_c = nn_tensor(s, r->rows, h, r->new_c_stride, r->new_c_type);
}

static void make_gru(struct nn_scene *s) {
  make_cell(s, 3);
}

static void make_lstm(struct nn_scene *s) {
  make_cell(s, 4);
}

static fovea_status run_gru(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  return fovea_nn_gru(&s->cell, &s->cell_rows, e, error);
}

static fovea_status run_lstm(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  return fovea_nn_lstm(&s->cell, &s->cell_rows, e, error);
}

static int cell_has_meaning(const struct nn_scene *s, int64_t gates) {
  const fovea_nn_cell *c = &s->cell;
  const fovea_nn_cell_rows *r = &s->cell_rows;
  if (c->struct_size != sizeof *c || r->struct_size != sizeof *r || r->rows < 0) return 0;
  if (!nn_layer_has_meaning(c->hidden) || c->hidden->out != gates * c->hidden->in) return 0;
  if (c->input && (!nn_layer_has_meaning(c->input) || c->input->out != c->hidden->out)) return 0;
  return nn_is_type(r->x_type) && nn_is_type(r->h_type) && nn_is_type(r->y_type) && nn_is_type(r->c_type) &&
         nn_is_type(r->new_c_type);
}

static int gru_has_meaning(const struct nn_scene *s) {
  return cell_has_meaning(s, 3);
}

static int lstm_has_meaning(const struct nn_scene *s) {
  return cell_has_meaning(s, 4);
}

const struct nn_kind nn_kind_gru = {make_gru, run_gru, gru_has_meaning, 1, NULL, 0};
const struct nn_kind nn_kind_lstm = {make_lstm, run_lstm, lstm_has_meaning, 1, NULL, 0};
