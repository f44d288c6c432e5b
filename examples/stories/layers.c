#include "layers.h"

#include <stdlib.h>

/* Matrices on their way into panels. */
struct packing {
  float *next; /* NULL: they are only counted */
  int64_t count;
  fovea_execution execution;
  fovea_error error;
  fovea_status status;
};

/* Makes a linear layer whose weights are packed, because decoding is fastest from panels. */
static void add_linear(struct packing *packing, fovea_nn_linear *linear, int64_t in, int64_t out,
                       const float *weights) {
  const int64_t elements = fovea_nn_panel_elements(in, out, FOVEA_F32);
  fovea_nn_linear_init(linear, in, out, weights);
  packing->count += elements;
  if (!packing->next || packing->status) return;
  packing->status = fovea_nn_pack(linear, packing->next, &packing->execution, &packing->error);
  linear->weights = packing->next;
  linear->layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  linear->weight_stride = 0;
  packing->next += elements;
}

static void add_layer(struct packing *packing, struct layer *layer, const struct model *model, int64_t index) {
  const int64_t dim = model->dim, kv_dim = model->kv_dim, hidden = model->hidden_dim;
  add_linear(packing, &layer->query, dim, dim, model->query + index * dim * dim);
  add_linear(packing, &layer->key, dim, kv_dim, model->key + index * kv_dim * dim);
  add_linear(packing, &layer->value, dim, kv_dim, model->value + index * kv_dim * dim);
  add_linear(packing, &layer->output, dim, dim, model->output + index * dim * dim);
  add_linear(packing, &layer->gate, dim, hidden, model->gate + index * hidden * dim);
  add_linear(packing, &layer->up, dim, hidden, model->up + index * hidden * dim);
  add_linear(packing, &layer->down, hidden, dim, model->down + index * dim * hidden);
}

static void add_matrices(struct packing *packing, struct layers *layers, const struct model *model) {
  for (int64_t i = 0; i < model->layers; i++) add_layer(packing, &layers->layer[i], model, i);
  add_linear(packing, &layers->classifier, model->dim, model->vocabulary, model->classifier);
}

static void set_norm(fovea_nn_norm *norm, int64_t dim, const float *gamma) {
  fovea_nn_norm_init(norm, FOVEA_NN_RMS_NORM, dim);
  norm->gamma = gamma;
}

/* SwiGLU: what the model calls the gate has the activation, so it is the block's `up`. */
static void connect(struct layers *layers, const struct model *model) {
  const int64_t dim = model->dim;
  fovea_nn_embedding_init(&layers->embedding, dim, model->vocabulary, model->embedding);
  fovea_rotary_init(&layers->rotary, FOVEA_ROTARY_INTERLEAVED, model->head_dim);
  set_norm(&layers->final_norm, dim, model->final_norm);
  for (int64_t i = 0; i < model->layers; i++) {
    struct layer *layer = &layers->layer[i];
    set_norm(&layer->attention_norm, dim, model->attention_norm + i * dim);
    set_norm(&layer->hidden_norm, dim, model->hidden_norm + i * dim);
    layer->gate.activation = FOVEA_NN_ACTIVATION_SILU;
    fovea_nn_attention_init(&layer->attention, &layer->query, &layer->key, &layer->value, &layer->output);
    layer->attention.rotary = &layers->rotary;
    fovea_nn_block_init(&layer->block, &layer->attention, &layer->attention_norm, &layer->gate, &layer->down,
                        &layer->hidden_norm);
    layer->block.gate = &layer->up;
    layer->block.norm_first = 1;
  }
}

bool layers_create(struct layers *layers, const struct model *model, const char *isa, int threads,
                   struct failure *failure) {
  struct packing packing = {.next = NULL};
  fovea_execution_init(&packing.execution);
  packing.execution.threads = threads;
  packing.execution.isa = isa;
  *layers = (struct layers){.layer = calloc((size_t)model->layers, sizeof *layers->layer)};
  if (!layers->layer) return refuse(failure, "no memory for %d layers", (int)model->layers);
  add_matrices(&packing, layers, model);
  packing.next = layers->panels = malloc((size_t)packing.count * sizeof(float));
  if (packing.next) add_matrices(&packing, layers, model);
  connect(layers, model);
  if (packing.next && packing.status == FOVEA_OK) return true;
  layers_destroy(layers);
  return packing.next ? refuse(failure, "%s", packing.error.text)
                      : refuse(failure, "no memory for %lld packed weights", (long long)packing.count);
}

void layers_destroy(struct layers *layers) {
  free(layers->layer);
  free(layers->panels);
  *layers = (struct layers){.layer = NULL};
}
