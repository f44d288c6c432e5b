/* Tensors, calls and digests of the self test's parts of models. */
#include "selftest_numbers.h"
#include "selftest_parts.h"

#include <stdlib.h>

enum { FIRST_TENSOR = 64, ROOM = 1 << 18, ROUND = 16 };

/* Room for numbers of any type: four bytes each. */
static void *reserve(selftest_part_run *run, int64_t count) {
  float *place = run->next;
  run->next += (count + ROUND - 1) / ROUND * ROUND;
  return run->next <= run->memory + ROOM ? place : NULL;
}

/* Every tensor has numbers of its own. */
static void *take_scaled(selftest_part_run *run, int64_t count, fovea_type type, float gain, int strange) {
  void *place = reserve(run, count);
  if (place) selftest_fill_mixed(place, type, FIRST_TENSOR + run->tensors++, count, gain, strange);
  return place;
}

static void *take(selftest_part_run *run, int64_t count, fovea_type type) {
  return take_scaled(run, count, type, 1, 0);
}

static float *take_f32(selftest_part_run *run, int64_t count) {
  return take(run, count, FOVEA_F32);
}

static void *take_x(selftest_part_run *run, int64_t count) {
  const selftest_part *p = run->part;
  return take_scaled(run, count, p->x, p->gain > 0 ? p->gain : 1, p->strange);
}

static void *take_output(selftest_part_run *run, int which, int64_t count, fovea_type type) {
  run->outputs[which].data = reserve(run, count);
  run->outputs[which].type = type;
  run->outputs[which].count = count;
  return run->outputs[which].data;
}

static void prepare_map(selftest_part_run *run) {
  const selftest_part *p = run->part;
  const int64_t count = p->rows * p->dim;
  fovea_nn_map_init(&run->of.map, p->rows, p->dim, take_x(run, count), take_output(run, 0, count, p->y));
  run->of.map.x_type = p->x;
  run->of.map.y_type = p->y;
}

static void prepare_norm(selftest_part_run *run) {
  const selftest_part *p = run->part;
  const int64_t count = p->rows * p->dim;
  fovea_nn_norm *norm = &run->of.norm.norm;
  fovea_nn_norm_rows *rows = &run->of.norm.rows;
  fovea_nn_norm_init(norm, p->norm, p->dim);
  if (p->gamma) norm->gamma = take_f32(run, p->dim);
  if (p->beta) norm->beta = take_f32(run, p->dim);
  fovea_nn_norm_rows_init(rows, norm, p->rows, take_x(run, count), take_output(run, 0, count, p->y));
  rows->x_type = p->x;
  rows->y_type = p->y;
  if (!p->residual) return;
  rows->residual = take(run, count, p->other);
  rows->residual_type = p->other;
  rows->sum = take_output(run, 1, count, p->other);
  rows->sum_type = p->other;
}

static void prepare_sinusoids(selftest_part_run *run) {
  const selftest_part *p = run->part;
  const int64_t count = p->rows * p->dim;
  fovea_nn_sinusoid_rows *rows = &run->of.sinusoids;
  fovea_nn_sinusoid_rows_init(rows, p->rows, p->dim, take_output(run, 0, count, p->y));
  rows->y_type = p->y;
  rows->layout = p->layout;
  rows->exponent = p->exponent;
  if (p->base > 0) rows->base = p->base;
  rows->first_position = p->first;
  if (!p->residual) return;
  rows->x = take_x(run, count);
  rows->x_type = p->x;
  rows->scale = 3;
}

static void prepare_buckets(selftest_part_run *run) {
  run->of.buckets.numbers = reserve(run, 2 * run->part->rows);
  run->of.buckets.words = take_output(run, 0, run->part->rows, FOVEA_F32); /* words of 32 bits as well */
}

enum { TOKENS = 30, TYPES = 2 };

/* Rows that any order of additions would reach: 7 and the numbers of rows have no common factor. */
static int32_t *make_ids(selftest_part_run *run, int32_t count) {
  int32_t *ids = reserve(run, run->part->rows);
  for (int32_t i = 0; ids && i < (int32_t)run->part->rows; i++) ids[i] = (7 * i + 3) % count;
  return ids;
}

static void prepare_embedding(selftest_part_run *run) {
  const selftest_part *p = run->part;
  fovea_nn_embedding *e = &run->of.embedding.embedding;
  fovea_nn_embedding_rows *rows = &run->of.embedding.rows;
  fovea_nn_embedding_init(e, p->dim, TOKENS, take_x(run, TOKENS * p->dim));
  e->tokens.type = p->x;
  e->scale = 3;
  fovea_nn_embedding_rows_init(rows, e, p->rows, make_ids(run, TOKENS),
                               take_output(run, 0, p->rows * p->dim, p->y));
  rows->y_type = p->y;
  if (!p->residual) return;
  e->token_types = (fovea_nn_table){take(run, TYPES * p->dim, p->other), TYPES, p->other, p->dim};
  e->positions =
      (fovea_nn_table){take(run, (p->first + p->rows) * p->dim, p->other), p->first + p->rows, p->other, p->dim};
  rows->token_type_ids = make_ids(run, TYPES);
  rows->first_position = p->first;
}

static void prepare_dropout(selftest_part_run *run) {
  const selftest_part *p = run->part;
  const int64_t count = p->rows * p->dim;
  fovea_nn_dropout_rows *rows = &run->of.dropout;
  fovea_nn_dropout_rows_init(rows, p->rows, p->dim, take_x(run, count), take_output(run, 0, count, p->y));
  rows->x_type = p->x;
  rows->y_type = p->y;
  rows->p = p->p;
  rows->seed = UINT64_C(0x0123456789abcdef);
  rows->stream = UINT64_C(0xfedcba9876543210);
  rows->first_row = p->first;
}

/* Weights are a quarter of other numbers, so that sums stay of their size. */
static void make_linear(selftest_part_run *run, fovea_nn_linear *linear, int64_t in, int64_t out, bool bias) {
  fovea_nn_linear_init(linear, in, out, take_scaled(run, in * out, run->part->other, 0.25f, 0));
  linear->weight_type = run->part->other;
  if (bias) linear->bias = take_f32(run, out);
}

static void make_attention(selftest_part_run *run, selftest_layer_of_attention *a, bool over_memory) {
  const selftest_part *p = run->part;
  const selftest_shape *s = &p->shape;
  const int64_t kv_len = over_memory ? s->kv_len : s->q_len;
  make_linear(run, &a->query, p->dim, s->heads * s->qk_dim, true);
  make_linear(run, &a->key, p->dim, s->kv_heads * s->qk_dim, false);
  make_linear(run, &a->value, p->dim, s->kv_heads * s->v_dim, true);
  make_linear(run, &a->output, s->heads * s->v_dim, p->dim, true);
  fovea_nn_attention_init(&a->attention, &a->query, &a->key, &a->value, &a->output);
  fovea_problem_init(&a->problem, s->batch, s->heads, s->kv_heads, s->q_len, kv_len, s->qk_dim, s->v_dim);
  a->problem.causal = p->causal && !over_memory;
  if (p->bias_kv) {
    a->attention.bias_key = take_f32(run, s->kv_heads * s->qk_dim);
    a->attention.bias_value = take_f32(run, s->kv_heads * s->v_dim);
  }
  fovea_nn_attention_tensors_init(&a->tensors, NULL, NULL);
  if (!over_memory) return;
  a->tensors.memory = take(run, s->batch * kv_len * p->dim, p->kind == SELFTEST_BLOCK ? FOVEA_F32 : p->other);
  if (p->kind == SELFTEST_MULTI_HEAD) a->tensors.memory_type = p->other;
}

static void prepare_multi_head(selftest_part_run *run) {
  const selftest_part *p = run->part;
  const int64_t count = p->shape.batch * p->shape.q_len * p->dim;
  selftest_layer_of_attention *a = &run->of.model.self;
  make_attention(run, a, p->shape.kv_len != p->shape.q_len);
  if (p->rotary) {
    fovea_rotary_init(&run->of.model.rotary, FOVEA_ROTARY_HALVES, p->shape.qk_dim);
    a->attention.rotary = &run->of.model.rotary;
    a->tensors.first_position = p->first;
  }
  a->tensors.x = take_x(run, count);
  a->tensors.x_type = p->x;
  a->tensors.y = take_output(run, 0, count, p->y);
  a->tensors.y_type = p->y;
  if (!p->residual) return;
  a->tensors.residual = take(run, count, p->other);
  a->tensors.residual_type = p->other;
}

static void make_block_norm(selftest_part_run *run, fovea_nn_norm *norm) {
  fovea_nn_norm_init(norm, run->part->norm, run->part->dim);
  norm->gamma = take_f32(run, run->part->dim);
  if (run->part->norm == FOVEA_NN_LAYER_NORM) norm->beta = take_f32(run, run->part->dim);
}

static void prepare_block(selftest_part_run *run) {
  const selftest_part *p = run->part;
  const int64_t count = p->shape.batch * p->shape.q_len * p->dim, hidden = 2 * p->dim + 1;
  fovea_nn_block *block = &run->of.model.block;
  make_attention(run, &run->of.model.self, false);
  make_linear(run, &run->of.model.up, p->dim, hidden, true);
  run->of.model.up.activation = p->activation;
  make_linear(run, &run->of.model.down, hidden, p->dim, true);
  for (int i = 0; i < 3; i++) make_block_norm(run, &run->of.model.norms[i]);
  fovea_nn_block_init(block, &run->of.model.self.attention, &run->of.model.norms[0], &run->of.model.up,
                      &run->of.model.down, &run->of.model.norms[2]);
  block->norm_first = p->norm_first;
  if (p->cross) {
    make_attention(run, &run->of.model.cross, true);
    block->cross = &run->of.model.cross.attention;
    block->cross_norm = &run->of.model.norms[1];
  }
  if (p->gate) {
    make_linear(run, &run->of.model.gate, p->dim, hidden, false);
    block->gate = &run->of.model.gate;
  }
  run->of.model.x = take_x(run, count);
  run->of.model.y = take_output(run, 0, count, FOVEA_F32);
}

static void prepare_additive(selftest_part_run *run) {
  const selftest_part *p = run->part;
  const selftest_shape *s = &p->shape;
  const int64_t width = p->in > 0 ? p->in : p->dim, rows = s->batch * s->q_len, keys = s->batch * s->kv_len;
  fovea_nn_additive *additive = &run->of.additive.additive;
  fovea_nn_additive_tensors *tensors = &run->of.additive.tensors;
  fovea_nn_additive_init(additive, p->dim, take_f32(run, p->dim));
  if (p->in > 0) {
    make_linear(run, &run->of.additive.query, p->in, p->dim, true);
    make_linear(run, &run->of.additive.key, p->in, p->dim, false);
    additive->query = &run->of.additive.query;
    additive->key = &run->of.additive.key;
  }
  const void *queries = take_x(run, rows * width), *key_rows = take(run, keys * width, p->x);
  const void *values = take(run, keys * s->v_dim, p->other);
  fovea_nn_additive_tensors_init(tensors, additive, s->batch, s->q_len, s->kv_len, s->v_dim, queries, key_rows,
                                 values, take_output(run, 0, rows * s->v_dim, p->y));
  tensors->q_type = tensors->k_type = p->x;
  tensors->v_type = p->other;
  tensors->o_type = p->y;
  tensors->weights = take_output(run, 1, rows * s->kv_len, FOVEA_F32);
}

static void prepare_cell(selftest_part_run *run) {
  const selftest_part *p = run->part;
  const int is_lstm = p->kind == SELFTEST_LSTM;
  const int64_t gates = (is_lstm ? 4 : 3) * p->dim, count = p->rows * p->dim;
  fovea_nn_cell_rows *rows = &run->of.cell.rows;
  if (p->in > 0) make_linear(run, &run->of.cell.input, p->in, gates, true);
  make_linear(run, &run->of.cell.hidden, p->dim, gates, true);
  fovea_nn_cell_init(&run->of.cell.cell, p->in > 0 ? &run->of.cell.input : NULL, &run->of.cell.hidden);
  const void *x = take_x(run, p->rows * (p->in > 0 ? p->in : gates)), *h = take(run, count, p->other);
  fovea_nn_cell_rows_init(rows, &run->of.cell.cell, p->rows, x, h, take_output(run, 0, count, p->y));
  rows->x_type = p->x;
  rows->h_type = p->other;
  rows->y_type = p->y;
  if (!is_lstm) return;
  rows->c = take(run, count, p->other);
  rows->c_type = p->other;
  rows->new_c = take_output(run, 1, count, p->y);
  rows->new_c_type = p->y;
}

bool selftest_prepare_part(const selftest_part *part, selftest_part_run *run) {
  static void (*const prepare[])(selftest_part_run *) = {
      [SELFTEST_ACTIVATION] = prepare_map,  [SELFTEST_SOFTMAX] = prepare_map,
      [SELFTEST_NORM] = prepare_norm,       [SELFTEST_SINUSOIDS] = prepare_sinusoids,
      [SELFTEST_BUCKETS] = prepare_buckets, [SELFTEST_EMBEDDING] = prepare_embedding,
      [SELFTEST_DROPOUT] = prepare_dropout, [SELFTEST_MULTI_HEAD] = prepare_multi_head,
      [SELFTEST_BLOCK] = prepare_block,     [SELFTEST_ADDITIVE] = prepare_additive,
      [SELFTEST_GRU] = prepare_cell,        [SELFTEST_LSTM] = prepare_cell,
  };
  *run = (selftest_part_run){.part = part};
  run->memory = run->next = calloc(ROOM, sizeof *run->memory);
  if (!run->memory) return false;
  prepare[part->kind](run);
  return run->next <= run->memory + ROOM;
}

void selftest_release_part(selftest_part_run *run) {
  free(run->memory);
}

static fovea_status run_model(selftest_part_run *run, const fovea_execution *execution, fovea_error *error) {
  selftest_layer_of_attention *self = &run->of.model.self, *cross = &run->of.model.cross;
  if (run->part->kind == SELFTEST_MULTI_HEAD)
    return fovea_nn_attention_run(&self->attention, &self->problem, &self->tensors, execution, error);
  const fovea_nn_attending over_x = {&self->problem, &self->tensors};
  const fovea_nn_attending over_memory = {&cross->problem, &cross->tensors};
  return fovea_nn_block_run(&run->of.model.block, &over_x, run->part->cross ? &over_memory : NULL, run->of.model.x,
                            run->of.model.y, execution, error);
}

static fovea_status run_recurrent(selftest_part_run *run, const fovea_execution *execution, fovea_error *error) {
  if (run->part->kind == SELFTEST_ADDITIVE) {
    return fovea_nn_additive_run(&run->of.additive.additive, &run->of.additive.tensors, execution, error);
  }
  return (run->part->kind == SELFTEST_GRU ? fovea_nn_gru : fovea_nn_lstm)(&run->of.cell.cell, &run->of.cell.rows,
                                                                          execution, error);
}

static fovea_status run_buckets(selftest_part_run *run, fovea_error *error) {
  const selftest_part *p = run->part;
  const int64_t *numbers = run->of.buckets.numbers;
  const fovea_status status = fovea_nn_t5_buckets(p->first, p->rows, p->bidirectional, p->buckets, p->max_distance,
                                                  run->of.buckets.numbers, error);
  for (int64_t i = 0; i < p->rows && status == FOVEA_OK; i++)
    run->of.buckets.words[i] = selftest_word_of(numbers[i]);
  return status;
}

fovea_status selftest_run_part(selftest_part_run *run, const char *isa, fovea_error *error) {
  const selftest_part *p = run->part;
  fovea_execution on_set, *const execution = &on_set;
  fovea_execution_init(execution);
  execution->isa = isa;
  switch (p->kind) {
  case SELFTEST_ACTIVATION:
    return fovea_nn_activate(&run->of.map, p->activation, execution, error);
  case SELFTEST_SOFTMAX:
    return fovea_nn_softmax(&run->of.map, execution, error);
  case SELFTEST_NORM:
    return fovea_nn_norm_run(&run->of.norm.norm, &run->of.norm.rows, execution, error);
  case SELFTEST_SINUSOIDS:
    return fovea_nn_sinusoids(&run->of.sinusoids, execution, error);
  case SELFTEST_BUCKETS:
    return run_buckets(run, error);
  case SELFTEST_EMBEDDING:
    return fovea_nn_embed(&run->of.embedding.embedding, &run->of.embedding.rows, execution, error);
  case SELFTEST_DROPOUT:
    return fovea_nn_dropout(&run->of.dropout, execution, error);
  case SELFTEST_MULTI_HEAD:
  case SELFTEST_BLOCK:
    return run_model(run, execution, error);
  default:
    return run_recurrent(run, execution, error);
  }
}

uint64_t selftest_part_digest(const selftest_part_run *run) {
  uint64_t digest = 0;
  for (int i = 0; i < 2; i++) {
    if (!run->outputs[i].data) continue;
    digest = digest * UINT64_C(0x9e3779b97f4a7c15) ^
             selftest_digest_of(run->outputs[i].data, run->outputs[i].type, run->outputs[i].count);
  }
  return digest;
}
