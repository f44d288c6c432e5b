/* Layers of single heads, weights for the absorbed form, and segments of a latent cache. */
#include "latent.h"

#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../../src/cache/segments.h"
#include "../layer_scratch.h"
#include "../linear.h"
#include "../tasks.h"

#include <string.h>

typedef struct head_job {
  const fovea_nn_head_layers *layers;
  fovea_execution alone;
  char *memory;
  size_t slice; /* of it, for a worker; 0: no memory */
} head_job;

/* All was checked, and memory is scratch, so no call fails. */
static void run_head(const void *data, int64_t task, int worker) {
  const head_job *job = data;
  const fovea_nn_head_layers *l = job->layers;
  const int64_t entry = task / l->heads, head = task % l->heads;
  fovea_nn_linear linear = l->linear;
  fovea_nn_linear_rows rows;
  const fovea_execution execution =
      job->slice ? fovea_nn_with_scratch(&job->alone, job->memory + (size_t)worker * job->slice, job->slice)
                 : job->alone;
  linear.weights = fovea_element(linear.weights, linear.weight_type, head * l->weight_head);
  fovea_nn_linear_rows_init(&rows, &linear, l->entry_rows ? l->entry_rows[entry] : l->rows,
                            l->x + entry * l->x_entry + head * l->x_head,
                            l->y + entry * l->y_entry + head * l->y_head);
  rows.x_stride = l->x_row;
  rows.y_stride = l->y_row;
  (void)fovea_nn_run_linear(&linear, &rows, &execution, NULL);
}

void fovea_nn_run_head_layers(const fovea_nn_head_layers *layers, const fovea_execution *execution) {
  const double heads = (double)layers->heads * (double)layers->entries;
  const double work = heads * (double)layers->rows * (double)layers->linear.in * (double)layers->linear.out;
  const int64_t tasks = layers->heads * layers->entries;
  head_job job = {layers, fovea_nn_alone(execution), execution->scratch, 0};
  const size_t slice = (size_t)fovea_nn_linear_bytes(&layers->linear, layers->rows, &job.alone);
  const size_t slices = slice > 0 ? execution->scratch_size / slice : 0;
  if (slices > 0) job.slice = slice;
  fovea_nn_run_tasks(run_head, &job, tasks, work, slices > 0 && slices < INT_MAX ? (int)slices : INT_MAX,
                     execution);
}

fovea_nn_linear fovea_nn_latent_head_layer(const fovea_nn_latent_call *call, int values) {
  const fovea_nn_latent *l = &call->latent;
  fovea_nn_linear layer = call->kv_b;
  if (!call->absorbed) {
    layer.out = values ? l->v_head_dim : l->qk_nope_head_dim;
    if (values)
      layer.weights = fovea_element(layer.weights, layer.weight_type, l->qk_nope_head_dim * layer.weight_stride);
    return layer;
  }
  layer.in = values ? l->kv_lora_rank : l->qk_nope_head_dim;
  layer.out = values ? l->v_head_dim : l->kv_lora_rank;
  layer.weights =
      fovea_element(l->absorbed, layer.weight_type, values ? l->heads * fovea_nn_latent_key_elements(call) : 0);
  layer.layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  layer.weight_stride = 0;
  return layer;
}

uint64_t fovea_nn_latent_layer_bytes(const fovea_nn_latent_call *call, int workers,
                                     const fovea_execution *execution) {
  const fovea_nn_latent *l = &call->latent;
  const int64_t rows = call->rows, head_rows = call->absorbed ? rows : call->problem.kv_len;
  const fovea_execution alone = fovea_nn_alone(execution);
  const fovea_nn_linear first = fovea_nn_latent_head_layer(call, 0), second = fovea_nn_latent_head_layer(call, 1);
  const fovea_nn_layer_use heads[] = {{&first, head_rows}, {&second, head_rows}};
  const fovea_nn_layer_use layers[] = {
      {l->q_a_proj, rows}, {l->q_b_proj, rows}, {l->kv_a_proj, rows}, {l->o_proj, rows}};
  const uint64_t of_heads = fovea_nn_product((uint64_t)workers, fovea_nn_layers_bytes(heads, 2, &alone));
  const uint64_t of_layers = fovea_nn_layers_bytes(layers, 4, execution);
  return of_heads > of_layers ? of_heads : of_layers;
}

int64_t fovea_nn_latent_key_elements(const fovea_nn_latent_call *call) {
  const fovea_nn_latent *l = &call->latent;
  return fovea_nn_panel_elements(l->qk_nope_head_dim, l->kv_lora_rank, call->kv_b.weight_type);
}

int64_t fovea_nn_latent_value_elements(const fovea_nn_latent_call *call) {
  const fovea_nn_latent *l = &call->latent;
  return fovea_nn_panel_elements(l->kv_lora_rank, l->v_head_dim, call->kv_b.weight_type);
}

/* Panels of a matrix whose output `o` has dim `d` at element d * dim_step + o * output_step. */
static void pack(const void *from, fovea_type type, int64_t dims, int64_t outputs, int64_t dim_step,
                 int64_t output_step, void *to) {
  const size_t size = (size_t)fovea_bytes(type, 1);
  memset(to, 0, (size_t)fovea_bytes(type, fovea_nn_panel_elements(dims, outputs, type)));
  for (int64_t o = 0; o < outputs; o++) {
    for (int64_t d = 0; d < dims; d++) {
      const int64_t at = fovea_nn_weight_place(dims, outputs, type, d, o);
      memcpy(fovea_output_element(to, type, at), fovea_element(from, type, d * dim_step + o * output_step), size);
    }
  }
}

/* First the parts for keys, transposed, head by head, then the parts for values. */
static void absorb(const fovea_nn_latent_call *call, void *absorbed) {
  const fovea_nn_latent *l = &call->latent;
  const fovea_nn_linear *kv_b = &call->kv_b;
  const fovea_type type = kv_b->weight_type;
  const int64_t keys = fovea_nn_latent_key_elements(call), values = fovea_nn_latent_value_elements(call);
  const int64_t stride = kv_b->weight_stride, nope = l->qk_nope_head_dim;
  for (int64_t h = 0; h < l->heads; h++) {
    const int64_t row = h * (nope + l->v_head_dim);
    pack(fovea_element(kv_b->weights, type, row * stride), type, nope, l->kv_lora_rank, stride, 1,
         fovea_output_element(absorbed, type, h * keys));
    pack(fovea_element(kv_b->weights, type, (row + nope) * stride), type, l->kv_lora_rank, l->v_head_dim, 1, stride,
         fovea_output_element(absorbed, type, l->heads * keys + h * values));
  }
}

/* Only kv_b_proj and the sizes are looked at. */
static fovea_status measure(const fovea_nn_latent *latent, fovea_nn_latent_call *call, int64_t *elements,
                            fovea_error *error) {
  const fovea_status status = fovea_nn_check_latent(latent, NULL, NULL, NULL, 1, call, error);
  if (status) return status;
  const int64_t keys = fovea_nn_latent_key_elements(call), values = fovea_nn_latent_value_elements(call);
  if (keys > 0 && values > 0 && !__builtin_mul_overflow(keys + values, call->latent.heads, elements) &&
      *elements <= INT64_C(1) << 57) {
    return FOVEA_OK;
  }
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "kv_lora_rank %jd times the dims of %jd heads is more than 2^57",
                    call->latent.kv_lora_rank, call->latent.heads);
}

fovea_status fovea_nn_latent_absorbed_elements(const fovea_nn_latent *latent, int64_t *elements,
                                               fovea_error *error) {
  fovea_nn_latent_call call;
  if (!elements) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "elements is NULL");
  const fovea_status status = measure(latent, &call, elements, error);
  if (status) *elements = 0;
  return status;
}

fovea_status fovea_nn_latent_absorb(const fovea_nn_latent *latent, void *absorbed, fovea_error *error) {
  fovea_nn_latent_call call;
  int64_t elements;
  fovea_status status = measure(latent, &call, &elements, error);
  if (status) return status;
  const fovea_nn_matrix from = fovea_nn_weights_of(&call.kv_b);
  const fovea_nn_matrix to = {"absorbed", absorbed, call.kv_b.weight_type, 1, elements, elements};
  status = fovea_nn_check_matrix(&to, 1, error);
  if (!status) status = fovea_nn_check_apart(&to, &from, error);
  if (!status) absorb(&call, absorbed);
  return status;
}

/* A segment that knows its sizes has one head of `width` dims. */
static fovea_status check_sizes(const fovea_segment *s, int64_t width, int64_t entry, int64_t i,
                                fovea_error *error) {
  const int heads = s->kv_heads != 0 && s->kv_heads != 1;
  if (!heads && (s->qk_dim == 0 || s->qk_dim == width)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "cache.sequences[%jd].segments[%jd].%s is %jd; a latent cache has %jd", entry, i,
                    heads ? "kv_heads" : "qk_dim", heads ? s->kv_heads : s->qk_dim, heads ? (int64_t)1 : width);
}

static fovea_status check_segment(const fovea_segment *s, int64_t width, int64_t entry, int64_t i,
                                  fovea_error *error) {
  const int type = (int)s->k_type;
  const fovea_status status = check_sizes(s, width, entry, i, error);
  if (status) return status;
  if (s->k_layout != FOVEA_KEYS_IN_ROWS) {
    return fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "cache.sequences[%jd].segments[%jd].k_layout is FOVEA_KEYS_IN_PANELS; keys of latent attention lie in rows",
        entry, i);
  }
  if (s->v && (s->v != s->k || s->v_type != s->k_type)) {
    return fovea_fail(
        error, FOVEA_ERROR_UNUSED,
        "cache.sequences[%jd].segments[%jd].v is set and would not be used: values are the keys' first dims", entry,
        i);
  }
  if (type >= 0 && type < FOVEA_TYPES) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "cache.sequences[%jd].segments[%jd].k_type is %jd; it must be from 0 to %jd", entry, i,
                    (int64_t)type, (int64_t)FOVEA_TYPES - 1);
}

fovea_status fovea_nn_latent_segments_of(const fovea_nn_latent_call *call, fovea_nn_latent_segments *segments,
                                         fovea_error *error) {
  int64_t at = 0;
  for (int64_t b = 0; b < call->problem.batch; b++) {
    const fovea_sequence *sequence = &call->tensors.cache.sequences[b];
    segments->written_sequences[b] = fovea_sequence_of(segments->written + at, sequence->count);
    segments->read_sequences[b] = fovea_sequence_of(segments->read + at, sequence->count);
    for (int64_t i = 0; i < sequence->count; i++, at++) {
      fovea_segment segment = *fovea_segment_at(sequence, i);
      const fovea_status status = check_segment(&segment, call->width, b, i, error);
      if (status) return status;
      segment.kv_heads = segment.qk_dim = segment.v_dim = 0; /* its two views have different values */
      segment.v = segment.k;
      segment.v_type = segment.k_type;
      segment.v_head = segment.k_head;
      segment.v_row = segment.k_row;
      segment.v_layer = segment.k_layer;
      segments->read[at] = segment;
      /* fovea_append() writes keys and values apart from each other: here the value is the row's last element. */
      if (segment.k) segment.v = fovea_output_element(segment.k, segment.k_type, call->width - 1);
      segments->written[at] = segment;
    }
  }
  return FOVEA_OK;
}
