#include "vectors.h"

#include "row_scales.h"
#include "wide_rows.h"

#if FOVEA_BUILDS_INT8

static const float *vector_of(const float *numbers, fovea_channels vectors, int64_t kv_head, int64_t dim) {
  if (vectors == FOVEA_CHANNELS_NONE) return NULL;
  return vectors == FOVEA_CHANNELS_PER_HEAD ? numbers + kv_head * dim : numbers;
}

fovea_channel_scales fovea_find_channel_scales(const fovea_problem *p, const fovea_tensors *tensors,
                                               int64_t kv_head) {
  return (fovea_channel_scales){
      vector_of(tensors->channels.key_centre, p->channels.key_centre, kv_head, p->qk_dim),
      vector_of(tensors->channels.key_scale, p->channels.key_scale, kv_head, p->qk_dim),
      vector_of(tensors->channels.value_scale, p->channels.value_scale, kv_head, p->v_dim)};
}

/* [row], what a key_centre takes from the scores of a tile's rows. */
static float *moved_of(const fovea_plan *plan, const fovea_tile *t) {
  return fovea_tile_array(plan, &t->memory, FOVEA_SCRATCH_CHANNELS);
}

/* Four at a time: that is how gcc makes vectors of a loop at -O2. */
enum { TOGETHER = 4 };

static void multiply_by(float *numbers, int64_t count, float factor) {
  int64_t i = 0;
  for (; i + TOGETHER <= count; i += TOGETHER)
    for (int j = 0; j < TOGETHER; j++) numbers[i + j] *= factor;
  for (; i < count; i++) numbers[i] *= factor;
}

static void subtract(const float *restrict centre, int64_t dim, float *restrict row) {
  int64_t d = 0;
  for (; d + TOGETHER <= dim; d += TOGETHER)
    for (int j = 0; j < TOGETHER; j++) row[d + j] -= centre[d + j];
  for (; d < dim; d++) row[d] -= centre[d];
}

void fovea_widen_centred_rows(const fovea_row_source *source, int64_t base, fovea_interval keys, float *to) {
  enum { ROWS = 16 }; /* they are still in L1 when the centre is subtracted */
  const int64_t dim = source->dim, stride = fovea_copied_stride(dim);
  for (int64_t first = keys.begin; first < keys.end; first += ROWS) {
    const int64_t end = fovea_least(first + ROWS, keys.end);
    fovea_widen_rows(source, base, (fovea_interval){first, end}, to);
    for (int64_t row = first; source->centre && row < end; row++) subtract(source->centre, dim, to + row * stride);
  }
}

/* What a row's products are multiplied by: there is no softcap. */
static float factor_of(const fovea_plan *plan, const fovea_row_scales *scales, fovea_row_place place) {
  return plan->problem.scales ? fovea_scale_of_row(scales, place, 0, 0) : plan->terms.c;
}

void fovea_place_vectors(const fovea_plan *plan, const fovea_channel_scales *channels,
                         const fovea_row_scales *scales, fovea_tile *t) {
  const fovea_problem *problem = &plan->problem;
  const float *scale = channels->key_scale, *centre = channels->key_centre;
  const int row_tile = plan->kernels->row_tile, rows = t->visible.vectors * plan->kernels->lanes;
  for (int64_t d = 0; scale && d < problem->qk_dim; d++)
    multiply_by(t->memory.queries + d * row_tile, rows, scale[d]);
  if (!centre) return;
  /* The centre is a key of exact mode, whose product is not scaled yet. */
  _Alignas(64) float products[FOVEA_ROW_TILE_LIMIT], maxima[FOVEA_ROW_TILE_LIMIT];
  for (int i = 0; i < rows; i++) maxima[i] = -__builtin_inff();
  const fovea_score_args args = {
      .queries = t->memory.queries,
      .keys = centre,
      .key_stride = problem->qk_dim,
      .dim = problem->qk_dim,
      .key_count = 1,
      .c = 1.0f,
      .scores = products,
      .maxima = maxima,
      .vectors = {0, t->visible.vectors},
  };
  plan->kernels->score(&args);
  float *moved = moved_of(plan, t);
  for (int i = 0; i < t->rows.count; i++) moved[i] = products[i] * factor_of(plan, scales, t->places[i]);
}

void fovea_read_vectors(const fovea_plan *plan, const fovea_channel_scales *channels,
                        const fovea_row_scales *scales, fovea_tile *t) {
  const fovea_problem *problem = &plan->problem;
  if (!channels->key_centre) return;
  const fovea_load_args args = {t->queries, problem->q_type, t->rows.count, problem->qk_dim, t->memory.queries};
  plan->kernels->load_rows(&args);
  fovea_place_vectors(plan, channels, scales, t);
}

void fovea_place_decoded_vectors(const fovea_plan *plan, const fovea_channel_scales *channels,
                                 const fovea_row_scales *scales, fovea_tile *t, float *queries) {
  const int64_t dim = plan->problem.qk_dim, stride = fovea_decode_stride(dim);
  const float *scale = channels->key_scale;
  fovea_read_vectors(plan, channels, scales, t);
  for (int i = 0; scale && i < t->rows.count; i++)
    for (int64_t d = 0; d < dim; d++) queries[i * stride + d] *= scale[d];
}

/* Adds what the centre takes from the scores of rows that have a state. A row that has none, or is NaN, has the
 * maximum -Inf. */
static void move_maxima(const fovea_plan *plan, const fovea_tile *t, const fovea_tile_state *state) {
  const int row_tile = plan->kernels->row_tile;
  const float *moved = moved_of(plan, t);
  for (int i = 0; i < t->rows.count; i++) {
    const float old = state->row_max[i], m = old + moved[i];
    if (old == -__builtin_inff()) continue;
    if (__builtin_isfinite(m)) {
      state->row_max[i] = m;
      continue;
    }
    state->row_sum[i] = __builtin_nanf("");
    for (int64_t d = 0; d < plan->problem.v_dim; d++) state->output[d * row_tile + i] = __builtin_nanf("");
  }
}

static void scale_outputs(const fovea_plan *plan, const fovea_tile *t, const fovea_tile_state *state,
                          const float *scale) {
  const int row_tile = plan->kernels->row_tile;
  for (int64_t d = 0; d < plan->problem.v_dim; d++) {
    float *output = state->output + d * row_tile;
    if (__builtin_isfinite(scale[d])) { /* 0 stays 0 in rows without a state */
      multiply_by(output, t->visible.vectors * plan->kernels->lanes, scale[d]);
      continue;
    }
    for (int i = 0; i < t->rows.count; i++)
      if (state->row_max[i] != -__builtin_inff()) output[i] *= scale[d];
  }
}

void fovea_finish_span(const fovea_plan *plan, const fovea_channel_scales *channels, const fovea_tile *t,
                       const fovea_tile_state *state) {
  if (channels->key_centre) move_maxima(plan, t, state);
  if (channels->value_scale) scale_outputs(plan, t, state, channels->value_scale);
}
#endif
