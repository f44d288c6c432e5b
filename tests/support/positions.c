#include "positions.h"

#include "contract.h"

#include <math.h>

static int64_t places_of(const fovea_position_term *term) {
  switch (term->kind) {
  case FOVEA_POSITION_RELATIVE:
    return term->before + term->after + 1;
  case FOVEA_POSITION_T5:
    return term->buckets;
  case FOVEA_POSITION_GRID:
    return (2 * term->depth - 1) * (2 * term->height - 1) * (2 * term->width - 1);
  default:
    return 1;
  }
}

static struct guarded create_scales(int64_t count, double scale, double gain, uint64_t seed,
                                    enum guarded_edge edge) {
  struct guarded scales = guarded_create((size_t)count * sizeof(double), edge);
  struct generator generator = {seed};
  for (int64_t i = 0; i < count; i++)
    ((double *)(void *)scales.data)[i] = scale * (1.0 + gain * (double)generator_uniform(&generator));
  return scales;
}

static void create_shaw(struct tensor *table, int wanted, const fovea_problem *problem, int64_t dim, uint64_t seed,
                        enum guarded_edge edge) {
  const int64_t vectors = 2 * problem->shaw.distance + 1;
  const fovea_strides strides = {problem->shaw.heads * vectors * dim, vectors * dim, dim};
  tensor_create(table, wanted ? 1 : 0, problem->shaw.heads, vectors, dim, strides, edge);
  tensor_fill_random(table, seed, 1.0f);
}

/* Of int8 mode. A scale of any sign is a scale. */
static void create_vectors(struct tensor *table, fovea_channels vectors, const fovea_problem *problem, int64_t dim,
                           uint64_t seed, enum guarded_edge edge) {
  const int64_t heads = vectors == FOVEA_CHANNELS_SHARED ? 1 : problem->kv_heads;
  const fovea_strides strides = {heads * dim, dim, dim};
  tensor_create(table, vectors == FOVEA_CHANNELS_NONE ? 0 : 1, heads, 1, dim, strides, edge);
  tensor_fill_random(table, seed, 2.0f);
}

void vectors_copy_part(struct trial *trial, const struct trial *whole, int64_t kv_head) {
  const struct tensor *const from[] = {&whole->key_centre, &whole->key_scale, &whole->value_scale};
  struct tensor *const to[] = {&trial->key_centre, &trial->key_scale, &trial->value_scale};
  for (int i = 0; i < 3; i++)
    if (to[i]->batch > 0) tensor_copy_part(to[i], from[i], 0, from[i]->heads == 1 ? 0 : kv_head, 0);
}

struct mode_vectors vectors_of_head(const struct trial *trial, int64_t kv_head) {
  const struct tensor *const tables[] = {&trial->key_centre, &trial->key_scale, &trial->value_scale};
  const float *rows[3] = {NULL, NULL, NULL};
  for (int i = 0; i < 3; i++)
    if (tables[i]->batch > 0) rows[i] = tensor_row(tables[i], 0, tables[i]->heads == 1 ? 0 : kv_head, 0);
  return (struct mode_vectors){rows[0], rows[1], rows[2]};
}

void positions_create(struct trial *trial, uint64_t seed, enum guarded_edge edge) {
  const fovea_problem *problem = &trial->problem;
  for (int64_t i = 0; i < problem->terms.count; i++) {
    const fovea_position_term *term = &problem->terms.list[i];
    const int64_t table = term->before + 1 + term->after;
    const fovea_strides strides = {term->batch, term->head == FOVEA_CONTIGUOUS ? table : term->head, term->place};
    tensor_create(&trial->terms[i], problem->batch, problem->heads, places_of(term), 1, strides, edge);
    tensor_fill_random(&trial->terms[i], seed + 70 + (uint64_t)i,
                       term->kind < FOVEA_POSITION_RELATIVE ? 0.1f : 3.0f);
    trial->term_numbers[i] = trial->terms[i].data;
  }
  create_shaw(&trial->shaw_keys, problem->shaw.kind & FOVEA_SHAW_KEYS, problem, problem->qk_dim, seed + 90, edge);
  create_shaw(&trial->shaw_values, problem->shaw.kind & FOVEA_SHAW_VALUES, problem, problem->v_dim, seed + 91,
              edge);
  create_vectors(&trial->key_centre, problem->channels.key_centre, problem, problem->qk_dim, seed + 92, edge);
  create_vectors(&trial->key_scale, problem->channels.key_scale, problem, problem->qk_dim, seed + 93, edge);
  create_vectors(&trial->value_scale, problem->channels.value_scale, problem, problem->v_dim, seed + 94, edge);
  if (problem->scales & FOVEA_SCALES_PER_HEAD)
    trial->head_scales = create_scales(problem->heads, problem->scale, 0.5, seed + 80, edge);
  if (problem->scales & FOVEA_SCALES_PER_ROW)
    trial->row_scales = create_scales(problem_q_batches(problem) * problem->q_len, 1.0, 0.5, seed + 81, edge);
}

void positions_destroy(struct trial *trial) {
  for (int i = 0; i < FOVEA_POSITION_TERMS_LIMIT; i++) tensor_destroy(&trial->terms[i]);
  tensor_destroy(&trial->shaw_keys);
  tensor_destroy(&trial->shaw_values);
  tensor_destroy(&trial->key_centre);
  tensor_destroy(&trial->key_scale);
  tensor_destroy(&trial->value_scale);
  guarded_destroy(&trial->head_scales);
  guarded_destroy(&trial->row_scales);
}

void positions_set(const struct trial *trial, fovea_tensors *tensors) {
  const fovea_problem *problem = &trial->problem;
  if (problem->shaw.kind & FOVEA_SHAW_KEYS) tensors->shaw.keys = trial->shaw_keys.data;
  if (problem->shaw.kind & FOVEA_SHAW_VALUES) tensors->shaw.values = trial->shaw_values.data;
  if (problem->channels.key_centre) tensors->channels.key_centre = trial->key_centre.data;
  if (problem->channels.key_scale) tensors->channels.key_scale = trial->key_scale.data;
  if (problem->channels.value_scale) tensors->channels.value_scale = trial->value_scale.data;
  if (problem->terms.count > 0) tensors->terms = trial->term_numbers;
  if (problem->scales & FOVEA_SCALES_PER_HEAD)
    tensors->head_scales = (const double *)(void *)trial->head_scales.data;
  if (problem->scales & FOVEA_SCALES_PER_ROW) tensors->row_scales = (const double *)(void *)trial->row_scales.data;
}

float term_number(const struct trial *trial, int term, int64_t batch, int64_t head, int64_t row, int64_t key) {
  const fovea_position_term *of = &trial->problem.terms.list[term];
  const int64_t own = row + problem_entry(&trial->problem, batch).offset, d = key - own;
  const int64_t extent[3] = {of->depth, of->height, of->width};
  int64_t place = 0;
  if (of->kind == FOVEA_POSITION_RELATIVE) place = contract_relative_place(d, of->before, of->after);
  if (of->kind == FOVEA_POSITION_T5) place = contract_bucket(d, of->buckets, of->max_distance, of->bidirectional);
  const int64_t cells = extent[0] * extent[1] * extent[2];
  if (of->kind == FOVEA_POSITION_GRID && (own < 0 || own >= cells || key >= cells))
    return 0.0f; /* nobody sees it */
  if (of->kind == FOVEA_POSITION_GRID) place = contract_grid_place(extent, own, key);
  const float number = *tensor_row(&trial->terms[term], batch, head, place);
  return of->kind >= FOVEA_POSITION_RELATIVE
             ? number
             : contract_alibi(number, d, of->kind == FOVEA_POSITION_ALIBI_SYMMETRIC);
}

int term_hides(const struct trial *trial, int64_t batch, int64_t head, int64_t row, int64_t key) {
  for (int64_t i = 0; i < trial->problem.terms.count; i++)
    if (term_number(trial, (int)i, batch, head, row, key) == -INFINITY) return 1;
  return 0;
}

double scale_of_row(const struct trial *trial, int64_t batch, int64_t head, int64_t row) {
  const fovea_problem *problem = &trial->problem;
  const struct entry entry = problem_entry(problem, batch);
  const double scale = problem->scales & FOVEA_SCALES_PER_HEAD
                           ? ((const double *)(void *)trial->head_scales.data)[head]
                           : problem->scale;
  if (!(problem->scales & FOVEA_SCALES_PER_ROW)) return scale;
  return scale *
         ((const double *)(void *)trial->row_scales.data)[entry.q_batch * problem->q_len + entry.q_first + row];
}
