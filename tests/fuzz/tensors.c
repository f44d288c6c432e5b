#include "tensors.h"

#include "src/base/types.h"
#include "support/generator.h"
#include "support/rules.h"

#include <stdlib.h>
#include <string.h>

static int create(struct region *region, int64_t batch, int64_t heads, int64_t rows, int64_t dim, int64_t b,
                  int64_t h, int64_t r, int bits) {
  const int64_t extent[3] = {batch, heads, rows}, stride[3] = {b, h, r};
  return region_create(region, extent, stride, dim, bits);
}

static int create_strided(struct region *region, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                          fovea_strides strides, int bits) {
  return create(region, batch, heads, rows, dim, strides.batch, strides.head, strides.row, bits);
}

/* The length of the longest sequence of a packed batch, else `otherwise`. */
static int64_t longest(const int32_t *cu_seqlens, int64_t batch, int64_t otherwise) {
  int64_t most = 0;
  if (cu_seqlens == NULL) return otherwise;
  for (int64_t b = 0; b < batch; b++)
    if (cu_seqlens[b + 1] - cu_seqlens[b] > most) most = cu_seqlens[b + 1] - cu_seqlens[b];
  return most;
}

static int create_mask(struct region *region, const fovea_problem *p) {
  *region = (struct region){.dim = 0};
  if (p->mask.type == FOVEA_MASK_NONE) return 1;
  const int64_t rows = longest(p->cu_seqlens_q, p->batch, p->q_len);
  int64_t keys = 0;
  for (int64_t b = 0; b < p->batch; b++) {
    const int64_t begin = p->mask.begins != NULL ? p->mask.begins[b] : p->mask.begin;
    const int64_t length = p->cu_seqlens_kv != NULL ? p->cu_seqlens_kv[b + 1] - p->cu_seqlens_kv[b]
                           : p->kv_lens != NULL     ? p->kv_lens[b]
                                                    : p->kv_len;
    if (length - begin > keys) keys = length - begin;
  }
  if (p->mask.keys != FOVEA_UNLIMITED && keys > p->mask.keys) keys = p->mask.keys;
  if (keys > 1 && p->mask.strides.key == 0) keys = 1;
  return create(region, p->batch, p->heads, keys > 0 ? rows : 0, keys, p->mask.strides.batch, p->mask.strides.head,
                p->mask.strides.row, fovea_mask_type_bits(p->mask.type));
}

static int64_t keys_end(const fovea_problem *p) {
  return p->keys.end == FOVEA_UNLIMITED ? p->kv_len : p->keys.end;
}

/* Keys outside the wanted range are not read. In packed batches keys are counted within each sequence. */
static void narrow(struct region *region, const fovea_problem *p) {
  if (p->cu_seqlens_kv != NULL) return;
  region->first_row = p->keys.begin;
  region->end_row = keys_end(p);
}

/* O and LSE, or a state with as many rows. */
static int create_outputs(struct tensors *tensors, const fovea_problem *p, int64_t batch) {
  struct region *regions = tensors->regions;
  const int64_t rows = p->state ? 0 : p->q_len;
  fovea_state_init(&tensors->state, batch, p->heads, p->q_len, p->v_dim, p->keys.begin, keys_end(p), NULL);
  const int64_t numbers = fovea_state_numbers(p->v_dim, p->keys.begin, keys_end(p));
  const int64_t head = (int64_t)((uint64_t)p->q_len * (uint64_t)numbers);
  tensors->state.strides = (fovea_strides){(int64_t)((uint64_t)p->heads * (uint64_t)head), head, numbers};
  if (!create_strided(&regions[TENSOR_O], batch, p->heads, rows, p->v_dim, p->o_strides,
                      fovea_type_bits(p->o_type)) ||
      !create_strided(&regions[TENSOR_LSE], batch, p->heads, rows, 1, p->lse_strides, 32) ||
      !create_strided(&regions[TENSOR_STATE], batch, p->heads, p->state && numbers > 0 ? p->q_len : 0, numbers,
                      tensors->state.strides, 32))
    return 0;
  tensors->state.numbers = regions[TENSOR_STATE].data;
  return 1;
}

static int64_t places_of(const fovea_position_term *term) {
  switch (term->kind) {
  case FOVEA_POSITION_RELATIVE:
    return term->before + 1 + term->after;
  case FOVEA_POSITION_T5:
    return term->buckets;
  case FOVEA_POSITION_GRID:
    return (2 * term->depth - 1) * (2 * term->height - 1) * (2 * term->width - 1);
  default:
    return 1;
  }
}

/* Numbers of position terms, and scales, which are doubles. */
static int create_numbers(struct tensors *tensors, const fovea_problem *p, int64_t batch) {
  struct region *regions = tensors->regions;
  for (int64_t i = 0; i < p->terms.count; i++) {
    const fovea_position_term *term = &p->terms.list[i];
    if (!create(&regions[TENSOR_TERMS + i], p->batch, p->heads, places_of(term), 1, term->batch, term->head,
                term->place, 32))
      return 0;
    tensors->terms[i] = regions[TENSOR_TERMS + i].data;
  }
  const int64_t heads = p->scales & FOVEA_SCALES_PER_HEAD ? p->heads : 0;
  const int64_t rows = p->scales & FOVEA_SCALES_PER_ROW ? batch * p->q_len : 0;
  return create(&regions[TENSOR_HEAD_SCALES], 1, 1, heads, 1, 0, 0, 1, 64) &&
         create(&regions[TENSOR_ROW_SCALES], 1, 1, rows, 1, 0, 0, 1, 64);
}

static int64_t vectors_of(const fovea_problem *p, fovea_channels vectors) {
  return vectors == FOVEA_CHANNELS_PER_HEAD ? p->kv_heads : vectors == FOVEA_CHANNELS_SHARED ? 1 : 0;
}

static int create_vectors(struct tensors *tensors, const fovea_problem *p) {
  struct region *regions = tensors->regions;
  return create(&regions[TENSOR_KEY_CENTRE], 1, 1, vectors_of(p, p->channels.key_centre), p->qk_dim, 0, 0,
                p->qk_dim, 32) &&
         create(&regions[TENSOR_KEY_SCALE], 1, 1, vectors_of(p, p->channels.key_scale), p->qk_dim, 0, 0, p->qk_dim,
                32) &&
         create(&regions[TENSOR_VALUE_SCALE], 1, 1, vectors_of(p, p->channels.value_scale), p->v_dim, 0, 0,
                p->v_dim, 32);
}

/* Outputs beside O and LSE. */
static int create_extras(struct tensors *tensors, const fovea_problem *p, int64_t batch) {
  struct region *regions = tensors->regions;
  const struct score_part part = problem_score_part(p);
  const int64_t scores = p->scores.kind && part.keys > 0 ? part.batches : 0, keys = problem_score_keys(p);
  fovea_strides top = p->top.strides;
  if (top.row == FOVEA_CONTIGUOUS)
    top = (fovea_strides){p->heads * p->q_len * p->top.k, p->q_len * p->top.k, p->top.k};
  const int64_t top_batch = p->top.k > 0 ? batch : 0, columns = p->column_sums.wanted && keys > 0 ? p->batch : 0;
  return create_strided(&regions[TENSOR_SCORES], scores, part.heads, part.rows, part.keys, p->scores.strides, 32) &&
         create(&regions[TENSOR_MAX_LOGITS], 1, 1, p->max_logits ? p->batch : 0, p->heads, 0, 0, p->heads, 32) &&
         create_strided(&regions[TENSOR_ENTROPY], p->entropy ? batch : 0, p->heads, p->q_len, 1, p->lse_strides,
                        32) &&
         create_strided(&regions[TENSOR_TOP_KEYS], top_batch, p->heads, p->q_len, p->top.k, top, 64) &&
         create_strided(&regions[TENSOR_TOP_SCORES], top_batch, p->heads, p->q_len, p->top.k, top, 32) &&
         create(&regions[TENSOR_COLUMN_SUMS], 1, columns, p->heads, keys, 0, p->heads * keys, keys, 32);
}

static int create_all(struct tensors *tensors, const fovea_problem *p) {
  struct region *regions = tensors->regions;
  const int64_t q_batch = p->cu_seqlens_q != NULL ? 1 : p->batch;
  const int64_t kv_batch = p->cu_seqlens_kv != NULL ? 1 : p->batch;
  const int64_t sinks = p->sink == FOVEA_SINK_PER_HEAD ? 1 : 0;
  return create_strided(&regions[TENSOR_Q], q_batch, p->heads, p->q_len, p->qk_dim, p->q_strides,
                        fovea_type_bits(p->q_type)) &&
         create_strided(&regions[TENSOR_K], kv_batch, p->kv_heads, p->kv_len, p->qk_dim, p->k_strides,
                        fovea_type_bits(p->k_type)) &&
         create_strided(&regions[TENSOR_V], kv_batch, p->kv_heads, p->kv_len, p->v_dim, p->v_strides,
                        fovea_type_bits(p->v_type)) &&
         create_mask(&regions[TENSOR_MASK], p) &&
         create(&regions[TENSOR_SINKS], sinks, 1, 1, p->heads, 0, 0, 0, 32) &&
         create_outputs(tensors, p, q_batch) && create_extras(tensors, p, q_batch) &&
         create_numbers(tensors, p, q_batch) && create_vectors(tensors, p);
}

/* Fills memory with bytes that are numbers from -1 to 1 in both 16-bit types. As f32, every other number is small
 * and some are large. */
static void fill_with_numbers(const struct region *region, struct generator *generator) {
  for (size_t i = 0; i < region->size; i++) {
    const unsigned byte = (unsigned)generator_below(generator, 256);
    region->block[i] = (unsigned char)(i % 2 == 1 ? (byte & 0x83u) | 0x38u : byte);
  }
}

static void fill_with_flags(const struct region *region, struct generator *generator, int64_t rarity) {
  for (size_t i = 0; i < region->size; i++)
    region->block[i] =
        (unsigned char)(generator_below(generator, rarity) == 0 ? generator_below(generator, 256) : 0);
}

static void fill_with_bytes(const struct region *region, struct bytes *bytes) {
  unsigned char pattern[16];
  for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = (unsigned char)bytes_one(bytes);
  for (size_t i = 0; i < region->size; i++) region->block[i] = pattern[i % sizeof pattern];
}

/* Writes infinities, NaNs, zeros and large numbers, in any type. */
static void poke(const struct region *region, struct bytes *bytes) {
  static const uint32_t patterns[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7c007c00, 0xfc00fc00, 0x00000000,
                                      0x80008000, 0x7f7f7f7f, 0x00010001, 0xffffffff, 0x7bff7bff, 0x3f803f80};
  for (int64_t pokes = bytes_below(bytes, 4); pokes > 0; pokes--) {
    const size_t place = (size_t)bytes_below(bytes, 65536);
    const uint32_t pattern = patterns[bytes_below(bytes, 12)];
    if (region->size >= 4) memcpy(region->block + place % (region->size / 4) * 4, &pattern, sizeof pattern);
  }
}

static void fill(const struct region *region, struct bytes *bytes) {
  const int64_t kind = bytes_below(bytes, 8);
  struct generator generator = {bytes_one(bytes)};
  if (kind == 7)
    fill_with_bytes(region, bytes);
  else if (region->bits <= 8)
    fill_with_flags(region, &generator, 1 + kind * kind);
  else
    fill_with_numbers(region, &generator);
  poke(region, bytes);
}

/* Products of scales must be finite. */
static void fill_with_scales(const struct region *region, struct bytes *bytes) {
  struct generator generator = {region->size > 0 ? bytes_one(bytes) : 0};
  for (size_t i = 0; i < region->size; i += sizeof(double)) {
    const double scale = 0.5 * (double)generator_uniform(&generator);
    memcpy(region->block + i, &scale, sizeof scale);
  }
}

int tensors_create(struct tensors *tensors, const fovea_problem *problem, struct bytes *bytes) {
  memset(tensors, 0, sizeof *tensors);
  if (!create_all(tensors, problem)) {
    tensors_destroy(tensors);
    return 0;
  }
  narrow(&tensors->regions[TENSOR_K], problem);
  narrow(&tensors->regions[TENSOR_V], problem);
  for (int i = 0; i < TENSOR_O; i++) {
    fill(&tensors->regions[i], bytes);
    region_close(&tensors->regions[i]);
  }
  for (int64_t i = 0; i < problem->terms.count; i++) {
    fill(&tensors->regions[TENSOR_TERMS + i], bytes);
    region_close(&tensors->regions[TENSOR_TERMS + i]);
  }
  for (int i = TENSOR_KEY_CENTRE; i <= TENSOR_VALUE_SCALE; i++) {
    if (tensors->regions[i].size == 0) continue; /* takes no byte */
    fill(&tensors->regions[i], bytes);
    region_close(&tensors->regions[i]);
  }
  fill_with_scales(&tensors->regions[TENSOR_HEAD_SCALES], bytes);
  fill_with_scales(&tensors->regions[TENSOR_ROW_SCALES], bytes);
  tensors_reset(tensors);
  return 1;
}

void tensors_destroy(struct tensors *tensors) {
  for (int i = 0; i < TENSORS; i++) region_destroy(&tensors->regions[i]);
}

fovea_tensors tensors_for_call(const struct tensors *tensors, const fovea_problem *problem, int with_lse) {
  const struct region *regions = tensors->regions;
  fovea_tensors call;
  fovea_tensors_init(&call, regions[TENSOR_Q].data, regions[TENSOR_K].data, regions[TENSOR_V].data,
                     regions[TENSOR_O].data, with_lse ? regions[TENSOR_LSE].data : NULL);
  call.mask = regions[TENSOR_MASK].data;
  if (problem->sink == FOVEA_SINK_PER_HEAD && !problem->state) call.sink = regions[TENSOR_SINKS].data;
  if (problem->normaliser.kind != FOVEA_NORMALISER_SOFTMAX) call.lse = NULL;
  if (problem->terms.count > 0) call.terms = tensors->terms;
  if (problem->scales & FOVEA_SCALES_PER_HEAD) call.head_scales = regions[TENSOR_HEAD_SCALES].data;
  if (problem->scales & FOVEA_SCALES_PER_ROW) call.row_scales = regions[TENSOR_ROW_SCALES].data;
  if (problem->channels.key_centre) call.channels.key_centre = regions[TENSOR_KEY_CENTRE].data;
  if (problem->channels.key_scale) call.channels.key_scale = regions[TENSOR_KEY_SCALE].data;
  if (problem->channels.value_scale) call.channels.value_scale = regions[TENSOR_VALUE_SCALE].data;
  call.scores = regions[TENSOR_SCORES].data;
  call.max_logits = regions[TENSOR_MAX_LOGITS].data;
  call.entropy = regions[TENSOR_ENTROPY].data;
  call.top.keys = regions[TENSOR_TOP_KEYS].data;
  call.top.scores = regions[TENSOR_TOP_SCORES].data;
  call.column_sums = regions[TENSOR_COLUMN_SUMS].data;
  if (problem->state) {
    call.o = call.lse = NULL;
    call.state = &tensors->state;
  }
  return call;
}

void tensors_reset(const struct tensors *tensors) {
  for (int i = TENSOR_O; i < TENSOR_TERMS; i++) {
    region_open(&tensors->regions[i]);
    region_fill_untouched(&tensors->regions[i]);
    region_close(&tensors->regions[i]);
  }
}

int tensors_are_untouched(const struct tensors *tensors) {
  int untouched = 1;
  for (int i = TENSOR_O; i < TENSOR_TERMS; i++) {
    region_open(&tensors->regions[i]);
    untouched = untouched && region_is_untouched(&tensors->regions[i]);
    region_close(&tensors->regions[i]);
  }
  return untouched;
}

/* Limits the rows that are read to the rows of the batch elements. */
static void limit_rows(struct region *region, const fovea_problem *problem) {
  if (problem->cu_seqlens_q == NULL) return;
  region->first_row = problem->cu_seqlens_q[0];
  region->end_row = problem->cu_seqlens_q[problem->batch];
}

/* Marks with 1 the bytes of an output that must be written. */
static unsigned char *mark_written(const struct region *region, const fovea_problem *problem, int of_rows) {
  unsigned char *marks = calloc(region->size + 1, 1);
  if (marks == NULL) abort();
  struct region rows = *region;
  if (of_rows) limit_rows(&rows, problem);
  if (region->size == 0) return marks;
  for (int64_t b = 0; b < region->extent[0]; b++)
    for (int64_t h = 0; h < region->extent[1]; h++)
      for (int64_t i = rows.first_row; i < rows.end_row; i++)
        memset(marks + (region_row(region, b, h, i) - region->block), 1, region_row_size(region));
  return marks;
}

static int is_written(const struct region *region, const fovea_problem *problem, int of_rows, int wanted) {
  const size_t element = (size_t)region->bits / 8;
  unsigned char *marks = mark_written(region, problem, of_rows);
  int right = 1;
  for (size_t i = 0; i < region->size && right; i += element) {
    size_t written = 0;
    for (size_t byte = i; byte < i + element; byte++) written += region->block[byte] != UNTOUCHED;
    right = (written > 0) == (marks[i] && wanted);
  }
  free(marks);
  return right;
}

int tensors_are_written(const struct tensors *tensors, const fovea_problem *problem, int with_lse) {
  int right = 1;
  for (int i = TENSOR_O; i < TENSOR_TERMS; i++) {
    /* A key may be -1, which looks untouched; packed sequences leave rows of their parts of scores. */
    const int is_part = i == TENSOR_SCORES && problem_score_part(problem).by_entry;
    if (i == TENSOR_TOP_KEYS || is_part || (i == TENSOR_SCORES && problem->scores.rows.end != FOVEA_UNLIMITED))
      continue;
    const int of_rows = i != TENSOR_MAX_LOGITS && i != TENSOR_COLUMN_SUMS;
    region_open(&tensors->regions[i]);
    right = right && is_written(&tensors->regions[i], problem, of_rows, i != TENSOR_LSE || with_lse);
    region_close(&tensors->regions[i]);
  }
  return right;
}

static uint64_t digest_of(const struct tensors *tensors, int first, int end, uint64_t digest) {
  for (int i = first; i < end; i++) {
    const struct region *region = &tensors->regions[i];
    region_open(region);
    for (size_t byte = 0; byte < region->size; byte++) digest = (digest ^ region->block[byte]) * 0x100000001b3u;
    region_close(region);
  }
  return digest;
}

uint64_t tensors_input_digest(const struct tensors *tensors) {
  return digest_of(tensors, TENSOR_TERMS, TENSORS, digest_of(tensors, TENSOR_Q, TENSOR_O, 0xcbf29ce484222325u));
}

uint64_t tensors_output_digest(const struct tensors *tensors) {
  return digest_of(tensors, TENSOR_O, TENSOR_TERMS, 0xcbf29ce484222325u);
}

void tensors_open(const struct tensors *tensors) {
  for (int i = 0; i < TENSORS; i++) region_open(&tensors->regions[i]);
}

void tensors_close(const struct tensors *tensors) {
  for (int i = 0; i < TENSORS; i++) region_close(&tensors->regions[i]);
}

static uint64_t rows_digest(const struct region *written, const void *data, const fovea_problem *problem,
                            uint64_t digest) {
  struct region region = *written;
  region.data = (void *)data;
  limit_rows(&region, problem);
  for (int64_t b = 0; b < region.extent[0] && region.size > 0 && data != NULL; b++)
    for (int64_t h = 0; h < region.extent[1]; h++)
      for (int64_t i = region.first_row; i < region.end_row; i++) {
        const unsigned char *row = region_row(&region, b, h, i);
        for (size_t byte = 0; byte < region_row_size(&region); byte++)
          digest = (digest ^ row[byte]) * 0x100000001b3u;
      }
  return digest;
}

uint64_t tensors_rows_digest(const struct tensors *tensors, const fovea_problem *problem,
                             const fovea_tensors *call) {
  const struct region *regions = tensors->regions;
  const void *numbers = call->state != NULL ? call->state->numbers : NULL;
  uint64_t digest = rows_digest(&regions[TENSOR_O], call->o, problem, 0xcbf29ce484222325u);
  digest = rows_digest(&regions[TENSOR_LSE], call->lse, problem, digest);
  return rows_digest(&regions[TENSOR_STATE], numbers, problem, digest);
}
