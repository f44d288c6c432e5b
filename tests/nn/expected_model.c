#include "expected_model.h"

#include "contract.h"
#include "contract_functions.h"
#include "contract_nn.h"
#include "contract_norm.h"
#include "contract_rotary.h"
#include "support/types.h"

#include <math.h>
#include <stdlib.h>

static float *numbers_create(int64_t count) {
  float *numbers = malloc((size_t)(count + 1) * sizeof *numbers);
  if (!numbers) abort();
  return numbers;
}

float *expected_numbers(const void *tensor, fovea_type type, int64_t count) {
  float *numbers = numbers_create(count);
  for (int64_t i = 0; i < count; i++)
    numbers[i] =
        type == FOVEA_F32 ? ((const float *)tensor)[i] : from_bits(widened(type, ((const uint16_t *)tensor)[i]));
  return numbers;
}

float *expected_linear(const fovea_nn_linear *linear, const float *x, int64_t rows, const float *gate,
                       const float *residual) {
  const int64_t in = linear->in, out = linear->out;
  float *w = expected_numbers(linear->weights, linear->weight_type, in * out), *y = numbers_create(rows * out);
  for (int64_t i = 0; i < rows * out; i++) {
    float number = contract_nn_dot(x + i / out * in, w + i % out * in, in);
    if (linear->bias) number = number + linear->bias[i % out];
    number = contract_nn_activation(number, linear->activation);
    if (gate) number = number * gate[i];
    if (residual) number = number + residual[i];
    y[i] = contract_nn_result(number);
  }
  free(w);
  return y;
}

/* Keys or values of heads side by side, with one more in front of each batch element if there is a bias. */
static float *with_bias(float *rows, const float *bias, int64_t batch, int64_t *length, int64_t width) {
  if (!bias) return rows;
  float *all = numbers_create(batch * (*length + 1) * width);
  for (int64_t i = 0; i < batch * (*length + 1) * width; i++) {
    const int64_t row = i / width % (*length + 1), entry = i / width / (*length + 1);
    all[i] = row == 0 ? bias[i % width] : rows[(entry * *length + row - 1) * width + i % width];
  }
  ++*length;
  free(rows);
  return all;
}

/* In halves. */
static void rotate(const fovea_rotary *rotary, float *rows, int64_t batch, int64_t length, int64_t heads,
                   int64_t dim, int64_t first) {
  const int64_t pairs = rotary->dims / 2;
  struct fraction *turns = malloc((size_t)pairs * sizeof *turns);
  if (!turns) abort();
  contract_turns(rotary->base, NULL, pairs, turns);
  for (int64_t i = 0; i < batch * length * heads; i++)
    for (int64_t pair = 0; pair < pairs; pair++) {
      float cosine, sine, *x = rows + i * dim + pair, *y = x + pairs;
      contract_angle(turns[pair], first + i / heads % length, &cosine, &sine);
      contract_rotate_pair(x, y, cosine, sine);
      *x = contract_nn_result(*x);
      *y = contract_nn_result(*y);
    }
  free(turns);
}

/* Position 0 is the bias, if there is one. */
struct rules {
  const fovea_problem *problem;
  int bias;
  int64_t row;
};

static int sees(const void *context, int64_t position) {
  const struct rules *rules = context;
  const fovea_problem *p = rules->problem;
  const int64_t from = position - rules->bias - rules->row;
  if (p->window_left != FOVEA_UNLIMITED && from < -p->window_left) return 0;
  if (p->window_right != FOVEA_UNLIMITED && from > p->window_right) return 0;
  return !p->causal || from <= 0;
}

struct heads {
  float *q, *k, *v;
  int64_t keys; /* with the bias */
};

/* Adds the weights of a head to their average. */
static void add_weights(const struct contract_row *row, int64_t head, int64_t heads, float *scores) {
  float *weights = numbers_create(row->positions);
  contract_row_weights(row, weights);
  for (int64_t j = 0; j < row->positions; j++) {
    scores[j] = head == 0 ? weights[j] : scores[j] + weights[j];
    if (head == heads - 1) scores[j] = scores[j] / (float)heads;
  }
  free(weights);
}

/* `scores`: NULL: not wanted. */
static float *attend(const fovea_problem *p, const struct heads *h, int bias, float *scores) {
  const int64_t group = p->heads / p->kv_heads, k_row = p->kv_heads * p->qk_dim, v_row = p->kv_heads * p->v_dim;
  float *o = numbers_create(p->batch * p->q_len * p->heads * p->v_dim), lse;
  for (int64_t i = 0; i < p->batch * p->q_len * p->heads; i++) {
    const int64_t head = i % p->heads / group, entry = i / p->heads / p->q_len;
    const struct rules rules = {p, bias, i / p->heads % p->q_len};
    const struct contract_row row = {.q = h->q + i * p->qk_dim,
                                     .k = h->k + entry * h->keys * k_row + head * p->qk_dim,
                                     .v = h->v + entry * h->keys * v_row + head * p->v_dim,
                                     .k_stride = k_row,
                                     .v_stride = v_row,
                                     .qk_dim = p->qk_dim,
                                     .v_dim = p->v_dim,
                                     .positions = h->keys,
                                     .scale =
                                         p->scale == FOVEA_DEFAULT_NUMBER ? 1 / sqrt((double)p->qk_dim) : p->scale,
                                     .sees = sees,
                                     .rules = &rules};
    contract_row(&row, o + i * p->v_dim, &lse);
    if (scores) add_weights(&row, i % p->heads, p->heads, scores + i / p->heads * h->keys);
    for (int64_t d = 0; d < p->v_dim; d++) o[i * p->v_dim + d] = contract_nn_result(o[i * p->v_dim + d]);
  }
  return o;
}

float *expected_attention(const fovea_nn_attention *attention, const fovea_problem *p,
                          const fovea_nn_attention_tensors *tensors, const float *x, const float *memory,
                          const float *residual) {
  return expected_attention_scores(attention, p, tensors, x, memory, residual, NULL);
}

float *expected_attention_scores(const fovea_nn_attention *attention, const fovea_problem *p,
                                 const fovea_nn_attention_tensors *tensors, const float *x, const float *memory,
                                 const float *residual, float *scores) {
  const int64_t rows = p->batch * p->q_len, keys = p->batch * p->kv_len;
  const float *over = memory ? memory : x;
  struct heads h = {expected_linear(attention->query, x, rows, NULL, NULL),
                    expected_linear(attention->key, over, keys, NULL, NULL),
                    expected_linear(attention->value, over, keys, NULL, NULL), p->kv_len};
  int64_t values = p->kv_len;
  if (attention->rotary) {
    rotate(attention->rotary, h.q, p->batch, p->q_len, p->heads, p->qk_dim, tensors->first_position);
    rotate(attention->rotary, h.k, p->batch, p->kv_len, p->kv_heads, p->qk_dim,
           memory ? 0 : tensors->first_position);
  }
  h.k = with_bias(h.k, attention->bias_key, p->batch, &h.keys, p->kv_heads * p->qk_dim);
  h.v = with_bias(h.v, attention->bias_value, p->batch, &values, p->kv_heads * p->v_dim);
  float *o = attend(p, &h, attention->bias_key != NULL, scores);
  float *y = expected_linear(attention->output, o, rows, NULL, residual);
  free(h.q);
  free(h.k);
  free(h.v);
  free(o);
  return y;
}

static float *normalised(const fovea_nn_norm *norm, const float *x, int64_t rows) {
  float *y = numbers_create(rows * norm->dim);
  for (int64_t i = 0; i < rows; i++)
    contract_norm(norm->kind, x + i * norm->dim, norm->dim, (float)norm->eps, norm->gamma, norm->beta,
                  y + i * norm->dim);
  for (int64_t i = 0; i < rows * norm->dim; i++) y[i] = contract_nn_result(y[i]);
  return y;
}

/* The step between x and the next x. `attention` and `attending` are NULL for the network. */
static float *step(const fovea_nn_block *block, const fovea_nn_attention *attention,
                   const fovea_nn_attending *attending, const fovea_nn_norm *norm, int64_t rows, float *x) {
  float *from = block->norm_first ? normalised(norm, x, rows) : NULL, *next;
  const float *input = from ? from : x;
  if (attention && attending) {
    const float *memory = attending->tensors->memory;
    next = expected_attention(attention, attending->problem, attending->tensors, input, memory, x);
  } else {
    float *gate = block->gate ? expected_linear(block->gate, input, rows, NULL, NULL) : NULL;
    float *hidden = expected_linear(block->up, input, rows, gate, NULL);
    next = expected_linear(block->down, hidden, rows, NULL, x);
    free(gate);
    free(hidden);
  }
  free(from);
  free(x);
  if (block->norm_first) return next;
  float *y = normalised(norm, next, rows);
  free(next);
  return y;
}

float *expected_block(const fovea_nn_block *block, const fovea_nn_attending *self, const fovea_nn_attending *cross,
                      const float *x) {
  const int64_t rows = self->problem->batch * self->problem->q_len;
  float *y = expected_numbers(x, FOVEA_F32, rows * block->self_norm->dim);
  y = step(block, block->self, self, block->self_norm, rows, y);
  if (block->cross) y = step(block, block->cross, cross, block->cross_norm, rows, y);
  return step(block, NULL, NULL, block->feed_norm, rows, y);
}
