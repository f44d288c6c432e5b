/* Layers of fovea_nn by functions of numbers and pointers, for layer_fovea.py: Python needs no copies of the
 * structs. All tensors are contiguous, and f32 unless a type is given. The sentence model is the model of
 * examples/minilm. */
#include "../../examples/minilm/encoder.h"

#include <fovea/recurrent.h>
#include <fovea/weights.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* ---- Single layers ------------------------------------------------------------------------------------------- */

/* A call with all its arguments, as C keeps them: Python passes one pointer, as other libraries' bound inputs. */
typedef struct layer_call {
  int (*run)(const struct layer_call *call);
  fovea_execution execution;
  union {
    struct {
      fovea_nn_linear layer;
      fovea_nn_linear_rows rows;
    } linear;
    struct {
      fovea_nn_map rows;
      fovea_nn_activation activation;
    } map;
    struct {
      fovea_nn_norm layer;
      fovea_nn_norm_rows rows;
    } norm;
    struct {
      fovea_nn_additive layer;
      fovea_nn_additive_tensors tensors;
    } additive;
  } of;
} layer_call;

EXPORTED int layer_allow_amx(void);
EXPORTED int64_t layer_weights_bytes(const char *kind, int64_t in, int64_t out);
EXPORTED int layer_weights_make(const char *kind, int64_t in, int64_t out, const void *from, void *to);
/* Each makes a call, which layer_free() frees. NULL: not enough memory. */
EXPORTED layer_call *layer_linear(const char *kind, int mode, int64_t in, int64_t out, const void *weights,
                                  int64_t rows, int type, const void *x, void *y, int threads);
EXPORTED layer_call *layer_activate(int activation, int64_t rows, int64_t dim, const float *x, float *y,
                                    int threads);
EXPORTED layer_call *layer_norm(int64_t rows, int64_t dim, double eps, const float *gamma, const float *beta,
                                const float *x, float *y, int threads);
EXPORTED layer_call *layer_softmax(int64_t rows, int64_t dim, const float *x, float *y, int threads);
EXPORTED layer_call *layer_additive(int64_t rows, int64_t keys, int64_t dim, const float *w, const float *q,
                                    const float *k, const float *v, float *o, int threads);
/* Returns a fovea_status. */
EXPORTED int layer_run(const layer_call *call);
EXPORTED void layer_free(layer_call *call);

int layer_run(const layer_call *call) {
  return call->run(call);
}

void layer_free(layer_call *call) {
  if (call) free(call->execution.scratch);
  free(call);
}

static layer_call *new_call(int (*run)(const layer_call *call), int threads) {
  layer_call *call = calloc(1, sizeof *call);
  if (!call) return NULL;
  call->run = run;
  fovea_execution_init(&call->execution);
  call->execution.threads = threads;
  return call;
}

/* Returns 1 if bf16 and int8 mode run on AMX from now on. */
int layer_allow_amx(void) {
  return fovea_allow_amx(NULL) == FOVEA_OK && fovea_uses_amx(FOVEA_MODE_BF16) && fovea_uses_amx(FOVEA_MODE_INT8);
}

enum { NONE = -1 };

/* Kinds of weights: panels of a type, codes of a format of ggml's, and the codes that Fovea makes of f32. */
static const struct {
  const char *name;
  fovea_type type;
  fovea_nn_layout layout;
  int format; /* of codes; NONE: it has none */
} kinds[] = {
    {"f32", FOVEA_F32, FOVEA_NN_WEIGHTS_IN_PANELS, NONE},
    {"f16", FOVEA_F16, FOVEA_NN_WEIGHTS_IN_PANELS, NONE},
    {"bf16", FOVEA_BF16, FOVEA_NN_WEIGHTS_IN_PANELS, NONE},
    {"q8_0", FOVEA_F32, FOVEA_NN_WEIGHTS_QUANTISED, FOVEA_NN_FORMAT_Q8_0},
    {"q4_0", FOVEA_F32, FOVEA_NN_WEIGHTS_QUANTISED, FOVEA_NN_FORMAT_Q4_0},
    {"int8", FOVEA_F32, FOVEA_NN_WEIGHTS_QUANTISED, NONE},
};

/* The index of a kind, which must be there. */
static int kind_of(const char *name) {
  int i = 0;
  while (strcmp(kinds[i].name, name) != 0) i++;
  return i;
}

/* Returns 0 if Fovea refuses them. */
int64_t layer_weights_bytes(const char *name, int64_t in, int64_t out) {
  const int kind = kind_of(name);
  size_t size = 0;
  fovea_nn_codes codes;
  if (kinds[kind].layout == FOVEA_NN_WEIGHTS_IN_PANELS)
    return fovea_nn_panel_elements(in, out, kinds[kind].type) * (kinds[kind].type == FOVEA_F32 ? 4 : 2);
  if (kinds[kind].format == NONE) return (int64_t)fovea_nn_quantised_size(in, out);
  fovea_nn_codes_init(&codes, (fovea_nn_format)kinds[kind].format, in, out, NULL);
  return fovea_nn_codes_size(&codes, &size, NULL) == FOVEA_OK ? (int64_t)size : 0;
}

/* `from` is (out, in): of the panels' type, blocks of the format, or f32. */
int layer_weights_make(const char *name, int64_t in, int64_t out, const void *from, void *to) {
  const int kind = kind_of(name);
  fovea_nn_linear linear;
  fovea_nn_codes codes;
  fovea_nn_linear_init(&linear, in, out, from);
  linear.weight_type = kinds[kind].type;
  if (kinds[kind].layout == FOVEA_NN_WEIGHTS_IN_PANELS) return (int)fovea_nn_pack(&linear, to, NULL, NULL);
  if (kinds[kind].format == NONE) return (int)fovea_nn_quantise(&linear, to, NULL, NULL);
  fovea_nn_codes_init(&codes, (fovea_nn_format)kinds[kind].format, in, out, from);
  return (int)fovea_nn_pack_codes(&codes, to, NULL, NULL);
}

static int run_linear(const layer_call *call) {
  return (int)fovea_nn_linear_run(&call->of.linear.layer, &call->of.linear.rows, &call->execution, NULL);
}

/* Scratch of the call's own, as a program keeps it: malloc() may give memory back to the system after each. */
static layer_call *with_scratch(layer_call *call, int64_t rows) {
  size_t size = 0;
  if (fovea_nn_linear_scratch_size(&call->of.linear.layer, rows, &call->execution, &size, NULL) == FOVEA_OK) {
    size = (size + FOVEA_SCRATCH_ALIGNMENT - 1) / FOVEA_SCRATCH_ALIGNMENT * FOVEA_SCRATCH_ALIGNMENT;
    call->execution.scratch = aligned_alloc(FOVEA_SCRATCH_ALIGNMENT, size);
    call->execution.scratch_size = size;
    if (call->execution.scratch || size == 0) return call;
  }
  layer_free(call);
  return NULL;
}

/* x and y are of `type`. */
layer_call *layer_linear(const char *name, int mode, int64_t in, int64_t out, const void *weights, int64_t rows,
                         int type, const void *x, void *y, int threads) {
  const int kind = kind_of(name);
  layer_call *call = new_call(run_linear, threads);
  if (!call) return NULL;
  fovea_nn_linear *linear = &call->of.linear.layer;
  fovea_nn_linear_init(linear, in, out, weights);
  linear->mode = (fovea_mode)mode;
  linear->weight_type = kinds[kind].type;
  linear->layout = kinds[kind].layout;
  linear->weight_stride = 0;
  fovea_nn_linear_rows_init(&call->of.linear.rows, linear, rows, x, y);
  call->of.linear.rows.x_type = call->of.linear.rows.y_type = (fovea_type)type;
  return with_scratch(call, rows);
}

static int run_activation(const layer_call *call) {
  return (int)fovea_nn_activate(&call->of.map.rows, call->of.map.activation, &call->execution, NULL);
}

layer_call *layer_activate(int activation, int64_t rows, int64_t dim, const float *x, float *y, int threads) {
  layer_call *call = new_call(run_activation, threads);
  if (!call) return NULL;
  fovea_nn_map_init(&call->of.map.rows, rows, dim, x, y);
  call->of.map.activation = (fovea_nn_activation)activation;
  return call;
}

static int run_norm(const layer_call *call) {
  return (int)fovea_nn_norm_run(&call->of.norm.layer, &call->of.norm.rows, &call->execution, NULL);
}

/* LayerNorm with beta, RMSNorm without. */
layer_call *layer_norm(int64_t rows, int64_t dim, double eps, const float *gamma, const float *beta, const float *x,
                       float *y, int threads) {
  layer_call *call = new_call(run_norm, threads);
  if (!call) return NULL;
  fovea_nn_norm *norm = &call->of.norm.layer;
  fovea_nn_norm_init(norm, beta ? FOVEA_NN_LAYER_NORM : FOVEA_NN_RMS_NORM, dim);
  norm->eps = eps;
  norm->gamma = gamma;
  norm->beta = beta;
  fovea_nn_norm_rows_init(&call->of.norm.rows, norm, rows, x, y);
  return call;
}

static int run_softmax(const layer_call *call) {
  return (int)fovea_nn_softmax(&call->of.map.rows, &call->execution, NULL);
}

layer_call *layer_softmax(int64_t rows, int64_t dim, const float *x, float *y, int threads) {
  layer_call *call = new_call(run_softmax, threads);
  if (call) fovea_nn_map_init(&call->of.map.rows, rows, dim, x, y);
  return call;
}

static int run_additive(const layer_call *call) {
  return (int)fovea_nn_additive_run(&call->of.additive.layer, &call->of.additive.tensors, &call->execution, NULL);
}

/* Queries and keys are projected already; values have `dim` numbers, too. */
layer_call *layer_additive(int64_t rows, int64_t keys, int64_t dim, const float *w, const float *q, const float *k,
                           const float *v, float *o, int threads) {
  layer_call *call = new_call(run_additive, threads);
  if (!call) return NULL;
  fovea_nn_additive *additive = &call->of.additive.layer;
  fovea_nn_additive_init(additive, dim, w);
  fovea_nn_additive_tensors_init(&call->of.additive.tensors, additive, 1, rows, keys, dim, q, k, v, o);
  return call;
}

/* ---- The sentence model -------------------------------------------------------------------------------------- */

struct minilm {
  struct model model;
  struct batch batch;
  struct failure failure;
};

EXPORTED struct minilm *minilm_open(const char *path, int64_t texts_room);
EXPORTED const char *minilm_failure(const struct minilm *minilm);
EXPORTED int minilm_take(struct minilm *minilm, const int32_t *tokens, int64_t texts, int64_t length);
EXPORTED int minilm_run(struct minilm *minilm, int threads, float *vectors);

/* Reads a model, for up to `texts_room` texts at once; minilm_failure() tells whether it could. It lives until the
 * process ends. `path` is kept. */
struct minilm *minilm_open(const char *path, int64_t texts_room) {
  struct minilm *minilm = calloc(1, sizeof *minilm);
  if (minilm && model_read(&minilm->model, path, &minilm->failure))
    batch_create(&minilm->batch, texts_room, &minilm->failure);
  return minilm;
}

/* Returns the text of the last failure, "" if there was none. */
const char *minilm_failure(const struct minilm *minilm) {
  return minilm ? minilm->failure.text : "not enough memory";
}

/* Takes (texts, length) tokens for the runs that follow. Returns 0 if there are too many. */
int minilm_take(struct minilm *minilm, const int32_t *tokens, int64_t texts, int64_t length) {
  struct batch *batch = &minilm->batch;
  if (texts > batch->texts_room || length > TOKENS_LIMIT) return 0;
  batch->count = texts;
  batch->rows = texts * length;
  memcpy(batch->tokens, tokens, (size_t)batch->rows * sizeof *tokens);
  for (int64_t i = 0; i <= texts; i++) batch->ends[i] = (int32_t)(i * length);
  return 1;
}

/* Writes (texts, dim) numbers. Returns 0 if it failed. */
int minilm_run(struct minilm *minilm, int threads, float *vectors) {
  return encoder_vectors(&minilm->model, &minilm->batch, threads, vectors, &minilm->failure);
}
