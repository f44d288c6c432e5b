/* Tensors and digests of the self test's problems. */
#include "selftest_problems.h"

#include <stdlib.h>
#include <string.h>

enum { TENSOR_Q = 1, TENSOR_K, TENSOR_V };

static float float_of_bits(uint32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* The finaliser of splitmix64: any element can be had without those before it. */
static uint64_t random_bits(uint64_t index) {
  uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Uniform in [-2, 2), with 24 random bits. */
static float uniform(uint64_t bits) {
  return (float)((int32_t)(bits >> 40) - (1 << 23)) * 0x1p-22f;
}

/* NaNs quiet and signalling, of both signs, with and without payload; infinities; the largest number. */
static float garbage(uint64_t bits) {
  static const uint32_t kinds[] = {0x7fc00000, 0xffc00000, 0x7fa12345, 0xff800001,
                                   0x7f800000, 0xff800000, 0x7fffffff, 0x7f7fffff};
  return float_of_bits(kinds[bits % (sizeof kinds / sizeof kinds[0])]);
}

/* One element of a tensor: what it would be anyway, and what the content makes of it. */
typedef struct tensor_element {
  int tensor;
  int64_t row, dim; /* the key, where the tensor is K or V */
  uint64_t bits;
} tensor_element;

static float content_number(const selftest_problem *description, const tensor_element *element) {
  const selftest_content *content = &description->content;
  const float infinity = float_of_bits(0x7f800000);
  bool is_query = element->tensor == TENSOR_Q, is_value = element->tensor == TENSOR_V;
  bool special = !is_query && element->row >= content->first_key && element->row < content->end_key;
  float number = uniform(element->bits);
  switch (content->kind) {
  case SELFTEST_UNIFORM:
    break;
  case SELFTEST_GARBAGE:
    return special ? garbage(element->bits) : number;
  case SELFTEST_MINUS_INFINITY:
  case SELFTEST_PLUS_INFINITY:
    /* The first dim decides: positive in every query, infinite in the special keys. */
    if (is_value || element->dim > 0) break;
    if (is_query) return (number < 0.0f ? -number : number) + 0.5f;
    if (!special) break;
    return content->kind == SELFTEST_PLUS_INFINITY ? infinity : -infinity;
  case SELFTEST_STRANGE_VALUES:
    if (is_value && special && element->dim == element->row % description->shape.v_dim)
      return garbage(element->bits);
    break;
  case SELFTEST_ZEROS:
    return element->bits & 1 ? 0.0f : -0.0f;
  case SELFTEST_SUBNORMAL:
    return is_value ? number * 0x1p-140f : number;
  case SELFTEST_CONSTANT:
    return is_query ? number : is_value ? 0x1.99999ap-2f : 0x1p-1f;
  }
  return number;
}

static void fill(float *tensor, const selftest_problem *description, const fovea_strides *strides, int which,
                 int64_t batch, int64_t heads, int64_t rows, int64_t dim) {
  uint64_t index = (uint64_t)which << 40;
  float gain = which == TENSOR_Q && description->gain != 0.0f ? description->gain : 1.0f;
  for (int64_t b = 0; b < batch; b++)
    for (int64_t h = 0; h < heads; h++)
      for (int64_t row = 0; row < rows; row++)
        for (int64_t d = 0; d < dim; d++) {
          tensor_element element = {which, row, d, random_bits(index++)};
          float *place = tensor + b * strides->batch + h * strides->head + row * strides->row + d;
          float number = content_number(description, &element);
          if (gain != 1.0f) number *= gain;
          memcpy(place, &number, sizeof number);
        }
}

static void describe(const selftest_problem *from, fovea_problem *problem) {
  const selftest_shape *shape = &from->shape;
  fovea_problem_init(problem, shape->batch, shape->heads, shape->kv_heads, shape->q_len, shape->kv_len,
                     shape->qk_dim, shape->v_dim);
  if (from->scale != 0.0) problem->scale = from->scale;
  problem->causal = from->causal;
  if (from->has_window) {
    problem->window_left = from->window_left;
    problem->window_right = from->window_right;
  }
  problem->chunk_size = from->chunk_size;
  problem->chunk_left = from->chunk_left;
  problem->chunk_right = from->chunk_right;
  if (from->has_offset) problem->offset = from->offset;
  problem->offsets = from->offsets;
  problem->q_lens = from->q_lens;
  problem->kv_lens = from->kv_lens;
  problem->cu_seqlens_q = from->cu_seqlens_q;
  problem->cu_seqlens_kv = from->cu_seqlens_kv;
  if (from->transposed) {
    problem->q_strides = fovea_strides_rows_before_heads(shape->q_len, shape->heads, shape->qk_dim);
    problem->k_strides = fovea_strides_rows_before_heads(shape->kv_len, shape->kv_heads, shape->qk_dim);
    problem->v_strides = fovea_strides_rows_before_heads(shape->kv_len, shape->kv_heads, shape->v_dim);
    problem->o_strides = fovea_strides_rows_before_heads(shape->q_len, shape->heads, shape->v_dim);
  }
}

/* A packed batch has one entry along the batch axis of its tensors. */
static int64_t q_batches(const fovea_problem *problem) {
  return problem->cu_seqlens_q ? 1 : problem->batch;
}
static int64_t kv_batches(const fovea_problem *problem) {
  return problem->cu_seqlens_kv ? 1 : problem->batch;
}

bool selftest_prepare(const selftest_problem *description, selftest_data *data) {
  fovea_problem *problem = &data->problem;
  describe(description, problem);
  int64_t q_rows = q_batches(problem) * problem->heads * problem->q_len;
  int64_t kv_rows = kv_batches(problem) * problem->kv_heads * problem->kv_len;
  size_t q_size = (size_t)(q_rows * problem->qk_dim), k_size = (size_t)(kv_rows * problem->qk_dim),
         v_size = (size_t)(kv_rows * problem->v_dim), o_size = (size_t)(q_rows * problem->v_dim);

  float *memory = calloc(q_size + k_size + v_size + o_size + (size_t)q_rows, sizeof *memory);
  if (!memory) return false;
  data->q = memory;
  data->k = data->q + q_size;
  data->v = data->k + k_size;
  data->o = data->v + v_size;
  data->lse = data->o + o_size;
  fill(data->q, description, &problem->q_strides, TENSOR_Q, q_batches(problem), problem->heads, problem->q_len,
       problem->qk_dim);
  fill(data->k, description, &problem->k_strides, TENSOR_K, kv_batches(problem), problem->kv_heads, problem->kv_len,
       problem->qk_dim);
  fill(data->v, description, &problem->v_strides, TENSOR_V, kv_batches(problem), problem->kv_heads, problem->kv_len,
       problem->v_dim);
  return true;
}

void selftest_release(selftest_data *data) {
  free(data->q);
}

static uint64_t absorb(uint64_t digest, const float *numbers, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t word;
    memcpy(&word, &numbers[i], sizeof word);
    digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    digest ^= digest >> 32;
  }
  return digest;
}

static uint64_t absorb_tensor(uint64_t digest, const float *tensor, const fovea_problem *problem,
                              const fovea_strides *strides, int64_t dim) {
  for (int64_t b = 0; b < q_batches(problem); b++)
    for (int64_t h = 0; h < problem->heads; h++)
      for (int64_t row = 0; row < problem->q_len; row++)
        digest = absorb(digest, tensor + b * strides->batch + h * strides->head + row * strides->row, dim);
  return digest;
}

uint64_t selftest_digest(const selftest_data *data) {
  const fovea_problem *problem = &data->problem;
  uint64_t digest = UINT64_C(0xcbf29ce484222325);
  digest = absorb_tensor(digest, data->o, problem, &problem->o_strides, problem->v_dim);
  return absorb_tensor(digest, data->lse, problem, &problem->lse_strides, 1);
}
