#include "model.h"

#include "mel.h"

#include <stdlib.h>

enum { LINEARS = 6, DIM = MODEL_DIM, HEAD_DIM = MODEL_DIM / MODEL_HEADS };

/* splitmix64 (Steele et al., 2014): the same numbers on every machine. */
static uint64_t next_bits(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Uniform from -1 to below 1, with 24 bits. */
static float next_number(uint64_t *state) {
  return (float)((int64_t)(next_bits(state) >> 40) - (1 << 23)) * 0x1p-23f;
}

/* Makes random weights in rows, and packs them at *panels, after which the next layer's go. Their variance is 1 /
 * (3 in) or so: the range is a power of two, so that it is exact. */
static bool make_linear(fovea_nn_linear *linear, int64_t in, int64_t out, uint64_t seed, float *rows,
                        float **panels, struct failure *failure) {
  fovea_error error;
  float range = 1;
  while ((double)range * (double)range * (double)in > 1.5) range /= 2;
  for (int64_t i = 0; i < in * out; i++) rows[i] = next_number(&seed) * range;
  fovea_nn_linear_init(linear, in, out, rows);
  if (fovea_nn_pack(linear, *panels, NULL, &error) != FOVEA_OK) return refuse(failure, "%s", error.text);
  linear->weights = *panels;
  linear->layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  linear->weight_stride = 0;
  *panels += fovea_nn_panel_elements(in, out, FOVEA_F32);
  return true;
}

static bool make_layer(struct model *model, int index, float *rows, float **panels, struct failure *failure) {
  struct model_layer *l = &model->layer[index];
  const struct {
    fovea_nn_linear *linear;
    int64_t in, out;
  } linears[LINEARS] = {{&l->query, DIM, DIM},  {&l->key, DIM, DIM},         {&l->value, DIM, DIM},
                        {&l->output, DIM, DIM}, {&l->up, DIM, MODEL_HIDDEN}, {&l->down, MODEL_HIDDEN, DIM}};
  for (int i = 0; i < LINEARS; i++) {
    const uint64_t seed = (uint64_t)(index * LINEARS + i + 1);
    if (!make_linear(linears[i].linear, linears[i].in, linears[i].out, seed, rows, panels, failure)) return false;
  }
  l->up.activation = FOVEA_NN_ACTIVATION_GELU;
  for (int i = 0; i < 2; i++) {
    fovea_nn_norm_init(&l->norms[i], FOVEA_NN_LAYER_NORM, DIM);
  }
  fovea_nn_attention_init(&l->attention, &l->query, &l->key, &l->value, &l->output);
  l->attention.rotary = &model->rotary;
  fovea_nn_block_init(&l->block, &l->attention, &l->norms[0], &l->up, &l->down, &l->norms[1]);
  l->block.norm_first = 1;
  model->blocks[index] = &l->block;
  return true;
}

static bool fill(struct model *model, float *rows, struct failure *failure) {
  float *panels = model->weights;
  if (!make_linear(&model->input, MEL_BANDS, DIM, 0, rows, &panels, failure)) return false;
  for (int i = 0; i < model->layers; i++) {
    if (!make_layer(model, i, rows, &panels, failure)) return false;
  }
  return true;
}

bool model_create(struct model *model, int layers, int64_t left, int64_t right, const char *isa,
                  struct failure *failure) {
  const int64_t each =
      4 * fovea_nn_panel_elements(DIM, DIM, FOVEA_F32) + 2 * fovea_nn_panel_elements(DIM, MODEL_HIDDEN, FOVEA_F32);
  const int64_t all = layers * each + fovea_nn_panel_elements(MEL_BANDS, DIM, FOVEA_F32);
  *model = (struct model){.layers = layers};
  fovea_rotary_init(&model->rotary, FOVEA_ROTARY_HALVES, HEAD_DIM);
  fovea_problem_init(&model->problem, 1, MODEL_HEADS, MODEL_HEADS, 0, 0, HEAD_DIM, HEAD_DIM);
  model->problem.window_left = left;
  model->problem.window_right = right;
  model->isa = isa;
  model->weights = malloc((size_t)all * sizeof(float));
  float *rows = malloc((size_t)DIM * MODEL_HIDDEN * sizeof(float));
  const bool done = model->weights && rows ? fill(model, rows, failure)
                                           : refuse(failure, "no memory for the weights of %d layers", layers);
  free(rows);
  if (!done) model_free(model);
  return done;
}

void model_free(struct model *model) {
  free(model->weights);
  model->weights = NULL;
}

bool model_embed(const struct model *model, int64_t frames, const float *bands, float *rows,
                 const fovea_execution *execution, struct failure *failure) {
  fovea_nn_linear_rows call;
  fovea_error error;
  fovea_nn_linear_rows_init(&call, &model->input, frames, bands, rows);
  return fovea_nn_linear_run(&model->input, &call, execution, &error) == FOVEA_OK ||
         refuse(failure, "%s", error.text);
}

bool model_run_whole(const struct model *model, int64_t frames, float *rows, const fovea_execution *execution,
                     struct failure *failure) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, MODEL_HEADS, MODEL_HEADS, frames, frames, HEAD_DIM, HEAD_DIM);
  problem.window_left = model->problem.window_left;
  problem.window_right = model->problem.window_right;
  for (int i = 0; i < model->layers; i++) {
    fovea_nn_attention_tensors tensors;
    fovea_error error;
    fovea_nn_attention_tensors_init(&tensors, NULL, NULL);
    const fovea_nn_attending self = {&problem, &tensors};
    if (fovea_nn_block_run(model->blocks[i], &self, NULL, rows, rows, execution, &error) != FOVEA_OK)
      return refuse(failure, "%s", error.text);
  }
  return true;
}
