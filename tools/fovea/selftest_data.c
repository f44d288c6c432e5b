/* Tensors and digests of the self test's problems. */
#include "selftest_numbers.h"
#include "selftest_problems.h"

#include <stdlib.h>
#include <string.h>

enum { TENSOR_Q = 1, TENSOR_K, TENSOR_V, TENSOR_MASK, TENSOR_MASK_TILES, TENSOR_SINKS };

/* NaNs quiet and signalling, of both signs, with and without payload; infinities; the largest number. */
static float garbage(uint64_t bits) {
  static const uint32_t kinds[] = {0x7fc00000, 0xffc00000, 0x7fa12345, 0xff800001,
                                   0x7f800000, 0xff800000, 0x7fffffff, 0x7f7fffff};
  return selftest_float_of_bits(kinds[bits % (sizeof kinds / sizeof kinds[0])]);
}

/* One element of a tensor: a random number, changed as the content says. */
typedef struct tensor_element {
  int tensor;
  int64_t row, dim; /* the key, if the tensor is K or V */
  uint64_t bits;
} tensor_element;

static float content_number(const selftest_problem *description, const tensor_element *element) {
  const selftest_content *content = &description->content;
  const float infinity = selftest_float_of_bits(0x7f800000);
  bool is_query = element->tensor == TENSOR_Q, is_value = element->tensor == TENSOR_V;
  bool special = !is_query && element->row >= content->first_key && element->row < content->end_key;
  float number = selftest_uniform(element->bits);
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

static float gain_of(const selftest_problem *description, int tensor, int64_t row) {
  const selftest_content *content = &description->content;
  if (tensor == TENSOR_Q) return description->gain;
  if (tensor == TENSOR_V) return description->value_gain;
  return row >= content->first_key && row < content->end_key ? description->key_gain : 0.0f;
}

/* How a tensor lies in memory. */
typedef struct tensor_layout {
  int which;
  fovea_type type;
  const fovea_strides *strides;
  int64_t batch, heads, rows, dim;
} tensor_layout;

static void fill(void *tensor, const selftest_problem *description, const tensor_layout *layout) {
  const fovea_strides *strides = layout->strides;
  uint64_t index = (uint64_t)layout->which << 40;
  for (int64_t b = 0; b < layout->batch; b++)
    for (int64_t h = 0; h < layout->heads; h++)
      for (int64_t row = 0; row < layout->rows; row++)
        for (int64_t d = 0; d < layout->dim; d++) {
          tensor_element element = {layout->which, row, d, selftest_random_bits(index++)};
          float number = content_number(description, &element);
          float gain = gain_of(description, layout->which, row);
          if (gain != 0.0f && gain != 1.0f) number *= gain;
          selftest_store(tensor, layout->type, b * strides->batch + h * strides->head + row * strides->row + d,
                         number);
        }
}

/* One element of a mask, by its indices within the mask. */
typedef struct mask_element {
  int64_t head, row, key; /* heads of all batch elements */
  uint64_t bits;
} mask_element;

static bool mask_hides(selftest_pattern pattern, const mask_element *element) {
  uint64_t tile;
  switch (pattern) {
  case SELFTEST_FEW:
    return element->bits % 32 != 0;
  case SELFTEST_TILES:
    tile = (uint64_t)((element->head * 1024 + element->row / 64) * 1024 + element->key / 64);
    tile = selftest_random_bits(((uint64_t)TENSOR_MASK_TILES << 40) + tile) % 3;
    return tile == 0 || (tile == 1 && element->bits % 2 == 0);
  case SELFTEST_BORDER:
    return element->key >= 3 * element->row + 3;
  default:
    return element->bits % 4 == 0;
  }
}

/* The number added to the score of a visible key. Only some rows hold numbers that make a whole row NaN. */
static float mask_number(selftest_pattern pattern, const mask_element *element) {
  static const uint32_t strange[] = {0x7fc00000, 0x7f800000, 0x7f7fffff, 0xff7fffff};
  uint64_t kind = element->bits / 32 % 32;
  if (pattern == SELFTEST_STRANGE && (kind == 3 || (kind < 3 && element->row % 4 == (int64_t)kind)))
    return selftest_float_of_bits(strange[kind]);
  return kind % 3 == 0 ? 0.0f : selftest_uniform(element->bits) * 2.0f;
}

static void set_mask_element(const fovea_problem *problem, unsigned char *mask, int64_t line,
                             const selftest_pattern pattern, const mask_element *element) {
  bool hides = mask_hides(pattern, element);
  int64_t index = line + element->key;
  float number = hides ? selftest_float_of_bits(0xff800000) : mask_number(pattern, element);
  switch (problem->mask.type) {
  case FOVEA_MASK_BOOL: /* any byte but 0: visible */
    mask[index] = (unsigned char)(hides ? 0 : 1 << element->bits % 8);
    break;
  case FOVEA_MASK_BITS:
    mask[index / 8] = (unsigned char)(mask[index / 8] | !hides << index % 8);
    break;
  default:
    selftest_store(mask,
                   problem->mask.type == FOVEA_MASK_F32   ? FOVEA_F32
                   : problem->mask.type == FOVEA_MASK_F16 ? FOVEA_F16
                                                          : FOVEA_BF16,
                   index, number);
  }
}

static void fill_mask(const fovea_problem *problem, const selftest_mask *mask, unsigned char *elements) {
  const fovea_mask_strides *strides = &problem->mask.strides;
  uint64_t index = (uint64_t)TENSOR_MASK << 40;
  for (int64_t b = 0; b < mask->batch; b++)
    for (int64_t h = 0; h < mask->heads; h++)
      for (int64_t row = 0; row < mask->rows; row++)
        for (int64_t key = 0; key < mask->keys; key++) {
          mask_element element = {b * mask->heads + h, row, key, selftest_random_bits(index++)};
          int64_t line = b * strides->batch + h * strides->head + row * strides->row;
          set_mask_element(problem, elements, line, mask->pattern, &element);
        }
}

static void fill_sinks(const selftest_problem *description, float *sinks) {
  static const uint32_t strange[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0xff7fffff, 0x80000000};
  const int64_t kinds = (int64_t)(sizeof strange / sizeof strange[0]);
  for (int64_t h = 0; h < description->shape.heads; h++) {
    float number = selftest_uniform(selftest_random_bits(((uint64_t)TENSOR_SINKS << 40) + (uint64_t)h)) * 4.0f;
    sinks[h] = description->strange_sinks && h < kinds ? selftest_float_of_bits(strange[h]) : number;
  }
}

static void describe_features(const selftest_problem *from, fovea_problem *problem) {
  const selftest_mask *mask = &from->mask;
  problem->q_type = from->types.q;
  problem->k_type = from->types.k;
  problem->v_type = from->types.v;
  problem->o_type = from->types.o;
  problem->softcap = from->softcap;
  problem->sink = from->sink;
  problem->scores.kind = from->scores;
  problem->mask.type = mask->type;
  if (mask->type == FOVEA_MASK_NONE) return;
  problem->mask.strides = fovea_mask_layout(mask->type, mask->batch, mask->heads, mask->rows, mask->keys);
  if (mask->keys > 1) problem->mask.keys = mask->keys;
}

static void describe(const selftest_problem *from, fovea_problem *problem) {
  const selftest_shape *shape = &from->shape;
  fovea_problem_init(problem, shape->batch, shape->heads, shape->kv_heads, shape->q_len, shape->kv_len,
                     shape->qk_dim, shape->v_dim);
  fovea_problem_resolve(problem, NULL);
  if (from->scale != 0.0) problem->scale = from->scale;
  problem->causal = from->causal;
  if (from->has_window) {
    problem->window_left = from->window_left;
    problem->window_right = from->window_right;
  }
  problem->chunks.size = from->chunk_size;
  problem->chunks.left = from->chunk_left;
  problem->chunks.right = from->chunk_right;
  if (from->has_offset) problem->offset = from->offset;
  problem->offsets = from->offsets;
  problem->q_lens = from->q_lens;
  problem->kv_lens = from->kv_lens;
  problem->cu_seqlens_q = from->cu_seqlens_q;
  problem->cu_seqlens_kv = from->cu_seqlens_kv;
  describe_features(from, problem);
  selftest_describe_features(&from->features, problem);
  if (from->transposed) {
    problem->q_strides = fovea_strides_rows_before_heads(shape->q_len, shape->heads, shape->qk_dim);
    problem->k_strides = fovea_strides_rows_before_heads(shape->kv_len, shape->kv_heads, shape->qk_dim);
    problem->v_strides = fovea_strides_rows_before_heads(shape->kv_len, shape->kv_heads, shape->v_dim);
    problem->o_strides = fovea_strides_rows_before_heads(shape->q_len, shape->heads, shape->v_dim);
    problem->scores.strides = fovea_strides_rows_before_heads(shape->q_len, shape->heads, shape->kv_len);
  }
}

/* Tensors of a packed batch have extent 1 along the batch axis. */
static int64_t q_batches(const fovea_problem *problem) {
  return problem->cu_seqlens_q ? 1 : problem->batch;
}
static int64_t kv_batches(const fovea_problem *problem) {
  return problem->cu_seqlens_kv ? 1 : problem->batch;
}

static void fill_inputs(const selftest_problem *description, const selftest_data *data) {
  const fovea_problem *p = &data->problem;
  const int64_t q_batch = q_batches(p), kv_batch = kv_batches(p);
  const tensor_layout q = {TENSOR_Q, p->q_type, &p->q_strides, q_batch, p->heads, p->q_len, p->qk_dim};
  const tensor_layout k = {TENSOR_K, p->k_type, &p->k_strides, kv_batch, p->kv_heads, p->kv_len, p->qk_dim};
  const tensor_layout v = {TENSOR_V, p->v_type, &p->v_strides, kv_batch, p->kv_heads, p->kv_len, p->v_dim};
  fill(data->q, description, &q);
  fill(data->k, description, &k);
  fill(data->v, description, &v);
  fill_sinks(description, data->sinks);
  if (data->mask) fill_mask(p, &description->mask, data->mask);
}

static void fill_scores(float *scores, size_t count) {
  for (size_t i = 0; i < count; i++) scores[i] = -0x1.5p+99f;
}

/* The scores of these heads, rows and keys only, if a part of them is wanted. */
static int64_t count_score_part(const selftest_problem *description) {
  const fovea_range *part = description->features.score_part;
  const int64_t heads = part ? part[0].end - part[0].begin : 0, rows = part ? part[1].end - part[1].begin : 0;
  return part ? description->shape.batch * heads * rows * (part[2].end - part[2].begin) : 0;
}

/* Four bytes for every number, whatever its type. */
bool selftest_prepare(const selftest_problem *description, selftest_data *data) {
  *data = (selftest_data){.description = description};
  fovea_problem *problem = &data->problem;
  const selftest_mask *mask = &description->mask;
  describe(description, problem);
  data->score_count = count_score_part(description);
  int64_t q_rows = q_batches(problem) * problem->heads * problem->q_len;
  int64_t kv_rows = kv_batches(problem) * problem->kv_heads * problem->kv_len;
  size_t q_size = (size_t)(q_rows * problem->qk_dim), k_size = (size_t)(kv_rows * problem->qk_dim),
         v_size = (size_t)(kv_rows * problem->v_dim), o_size = (size_t)(q_rows * problem->v_dim),
         mask_size = (size_t)(mask->batch * mask->heads * mask->rows * mask->keys),
         score_size = data->score_count > 0      ? (size_t)data->score_count
                      : description->scores != 0 ? (size_t)(q_rows * problem->kv_len)
                                                 : 0,
         row_size = (size_t)(q_rows + problem->heads);

  float *memory = calloc(q_size + k_size + v_size + o_size + row_size + score_size + mask_size, sizeof *memory);
  if (!memory) return false;
  data->q = memory;
  data->k = memory += q_size;
  data->v = memory += k_size;
  data->o = memory += v_size;
  data->lse = memory += o_size;
  data->sinks = memory += q_rows;
  data->scores = score_size > 0 ? memory + problem->heads : NULL;
  data->mask = mask_size > 0 ? memory + problem->heads + score_size : NULL;
  if (data->scores) fill_scores(data->scores, score_size);
  fill_inputs(description, data);
  if (selftest_prepare_extras(data)) return true;
  selftest_release(data);
  return false;
}

void selftest_release(selftest_data *data) {
  free(data->q);
  selftest_release_extras(data);
}

void selftest_set_tensors(selftest_data *data, fovea_tensors *tensors) {
  fovea_tensors_init(tensors, data->q, data->k, data->v, data->o, data->lse);
  tensors->mask = data->mask;
  tensors->scores = data->scores;
  if (data->problem.sink == FOVEA_SINK_PER_HEAD) tensors->sink = data->sinks;
  if (data->problem.normaliser.kind != FOVEA_NORMALISER_SOFTMAX) tensors->lse = NULL;
  selftest_set_extras(data, tensors);
}

static uint64_t absorb_tensor(uint64_t digest, const void *tensor, fovea_type type, const fovea_problem *problem,
                              const fovea_strides *strides, int64_t dim) {
  for (int64_t b = 0; b < q_batches(problem); b++)
    for (int64_t h = 0; h < problem->heads; h++)
      for (int64_t row = 0; row < problem->q_len; row++) {
        int64_t first = b * strides->batch + h * strides->head + row * strides->row;
        digest = selftest_absorb_row(digest, tensor, type, first, dim);
      }
  return digest;
}

uint64_t selftest_digest(const selftest_data *data) {
  const fovea_problem *problem = &data->problem;
  uint64_t digest = SELFTEST_FIRST_DIGEST;
  digest = absorb_tensor(digest, data->o, problem->o_type, problem, &problem->o_strides, problem->v_dim);
  digest = absorb_tensor(digest, data->lse, FOVEA_F32, problem, &problem->lse_strides, 1);
  if (data->score_count > 0)
    digest = selftest_absorb(digest, data->scores, data->score_count);
  else if (data->scores)
    digest = absorb_tensor(digest, data->scores, FOVEA_F32, problem, &problem->scores.strides, problem->kv_len);
  return selftest_absorb_extras(digest, data);
}
