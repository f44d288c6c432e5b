/* Everything that Longformer may be refused for, but for what plans check; initialisers. */
#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/resolve.h"
#include "../../src/base/validate.h"
#include "../defaults.h"
#include "../layer_parts.h"
#include "../linear.h"
#include "longformer.h"

#include <string.h>

void fovea_nn_longformer_options_init_sized(fovea_nn_longformer_options *options, size_t struct_size, int64_t batch,
                                            int64_t heads, int64_t length, int64_t dim, int64_t window) {
  const fovea_nn_longformer_options defaults = {.struct_size = struct_size,
                                                .batch = batch,
                                                .heads = heads,
                                                .length = length,
                                                .qk_dim = dim,
                                                .v_dim = dim,
                                                .window = window,
                                                .scale = FOVEA_DEFAULT_NUMBER};
  fovea_nn_write_defaults(options, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_longformer_layer_init_sized(fovea_nn_longformer_layer *layer, size_t struct_size,
                                          const fovea_nn_linear *query, const fovea_nn_linear *key,
                                          const fovea_nn_linear *value) {
  const fovea_nn_longformer_layer defaults = {
      .struct_size = struct_size, .query = query, .key = key, .value = value};
  fovea_nn_write_defaults(layer, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_longformer_rows_init_sized(fovea_nn_longformer_rows *rows, size_t struct_size, const void *x,
                                         void *y) {
  const fovea_nn_longformer_rows defaults = {
      .struct_size = struct_size, .x = x, .y = y, .x_stride = FOVEA_CONTIGUOUS, .y_stride = FOVEA_CONTIGUOUS};
  fovea_nn_write_defaults(rows, struct_size, &defaults, sizeof defaults);
}

static fovea_status check_states(const fovea_nn_longformer_options *o, fovea_error *error) {
  for (int64_t i = 0; o->states && i < o->batch * o->length; i++) {
    if (o->states[i] >= FOVEA_NN_TOKEN_PADDING && o->states[i] <= FOVEA_NN_TOKEN_GLOBAL) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "states[%jd] is %jd; it must be -1, 0 or 1", i,
                      (int64_t)o->states[i]);
  }
  return FOVEA_OK;
}

fovea_status fovea_nn_check_longformer_options(const fovea_nn_longformer_options *given,
                                               fovea_nn_longformer_options *options, fovea_error *error) {
  fovea_status status = fovea_nn_read_struct("options", given, options, sizeof *options, error);
  if (status) return status;
  fovea_resolve_scale(&options->scale, options->qk_dim);
  /* Rows of a batch, and global tokens of it, are counted in 32 bits. */
  const int64_t batch = options->batch > 0 ? options->batch : 1;
  const fovea_bounded sizes[] = {
      {"batch", options->batch, 1, INT32_MAX},           {"heads", options->heads, 1, FOVEA_DIM_LIMIT},
      {"length", options->length, 0, INT32_MAX / batch}, {"qk_dim", options->qk_dim, 1, FOVEA_DIM_LIMIT},
      {"v_dim", options->v_dim, 1, FOVEA_DIM_LIMIT},     {"window", options->window, 0, FOVEA_LENGTH_LIMIT}};
  status = fovea_validate_bounds("options", sizes, 6, error);
  return status ? status : check_states(options, error);
}

/* Outputs of a layer: heads times a dim. */
static fovea_status check_width(const char *name, const char *side, int64_t width, int64_t heads, int64_t dim,
                                fovea_error *error) {
  int64_t expected;
  const int overflows = __builtin_mul_overflow(heads, dim, &expected);
  if (!overflows && width == expected) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.%s is %jd; heads and dim of the object make %jd times %jd",
                    name, side, width, heads, dim);
}

static fovea_status check_layer(const fovea_nn_longformer_call *call, int number, const char *name,
                                fovea_error *error) {
  const fovea_nn_longformer_options *o = &call->longformer->options;
  const fovea_nn_linear *linear = call->layers[number];
  if (number == FOVEA_NN_LONGFORMER_OUTPUT && !linear) return FOVEA_OK;
  fovea_status status = fovea_nn_check_layer(name, linear, error);
  if (status) return status;
  if (number == FOVEA_NN_LONGFORMER_OUTPUT) return check_width(name, "in", linear->in, o->heads, o->v_dim, error);
  const int is_value = number == FOVEA_NN_LONGFORMER_VALUE || number == FOVEA_NN_LONGFORMER_GLOBAL_VALUE;
  status = check_width(name, "out", linear->out, o->heads, is_value ? o->v_dim : o->qk_dim, error);
  if (status || linear->in == call->layers[FOVEA_NN_LONGFORMER_QUERY]->in) return status;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.in is %jd and query.in is %jd; they must be equal", name,
                    linear->in, call->layers[FOVEA_NN_LONGFORMER_QUERY]->in);
}

static const char *const names[FOVEA_NN_LONGFORMER_LAYERS] = {"query",      "key",          "value", "global_query",
                                                              "global_key", "global_value", "output"};

static fovea_status check_layers(const fovea_nn_longformer_layer *layer, fovea_nn_longformer_call *call,
                                 fovea_error *error) {
  const fovea_nn_linear *global[] = {layer->global_query, layer->global_key, layer->global_value};
  const int given = (global[0] != NULL) + (global[1] != NULL) + (global[2] != NULL);
  const fovea_nn_linear *layers[FOVEA_NN_LONGFORMER_LAYERS] = {
      layer->query,
      layer->key,
      layer->value,
      given ? global[0] : layer->query,
      given ? global[1] : layer->key,
      given ? global[2] : layer->value,
      layer->output,
  };
  memcpy(call->layers, layers, sizeof layers);
  for (int i = 0; i < FOVEA_NN_LONGFORMER_LAYERS; i++) {
    const fovea_status status = check_layer(call, i, names[i], error);
    if (status) return status;
  }
  call->in = layer->query->in;
  return FOVEA_OK;
}

/* y and the layers, which are read until it is written. */
static fovea_status check_rows(const fovea_nn_longformer_call *call, fovea_error *error) {
  const fovea_nn_longformer_options *o = &call->longformer->options;
  const fovea_nn_longformer_rows *r = &call->rows;
  const fovea_nn_linear *output = call->layers[FOVEA_NN_LONGFORMER_OUTPUT];
  const int64_t out = output ? output->out : o->heads * o->v_dim, rows = o->batch * o->length;
  const fovea_nn_matrix x = {"x", r->x, r->x_type, rows, call->in, r->x_stride};
  const fovea_nn_matrix y = {"y", r->y, r->y_type, rows, out, r->y_stride};
  fovea_status status = fovea_nn_check_matrix(&x, 0, error);
  if (!status) status = fovea_nn_check_matrix(&y, 1, error);
  for (int i = 0; i < FOVEA_NN_LONGFORMER_LAYERS && !status; i++) {
    fovea_nn_matrix parts[2];
    const int count = fovea_nn_add_linear(call->layers[i], parts, 0);
    for (int j = 0; j < count; j++) {
      if (fovea_nn_check_apart(&y, &parts[j], NULL) == FOVEA_OK) continue;
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "y shares memory with %s.%s", names[i], parts[j].name);
    }
  }
  return status;
}

/* Layers run on the set that the plans were made for. */
static fovea_status check_isa(const fovea_nn_longformer *longformer, fovea_execution *execution,
                              fovea_error *error) {
  const char *planned = fovea_plan_isa(longformer->local), *given = execution->isa;
  fovea_isa_report named;
  fovea_isa_report_init(&named);
  execution->isa = planned;
  if (!given) return FOVEA_OK;
  const fovea_status status = fovea_isa_find(given, FOVEA_F32, &named, error);
  if (status || strcmp(named.name, planned) == 0) return status;
  return fovea_fail(error, FOVEA_ERROR_UNUSED,
                    "isa is \"%s\" and would not be used: the longformer was made for \"%s\"; make one with this "
                    "isa, or run it with isa NULL",
                    given, planned);
}

fovea_status fovea_nn_check_longformer(const fovea_nn_longformer *longformer,
                                       const fovea_nn_longformer_layer *layer, const fovea_nn_longformer_rows *rows,
                                       const fovea_execution *execution, fovea_nn_longformer_call *call,
                                       fovea_error *error) {
  if (!longformer) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "longformer is NULL");
  fovea_nn_longformer_layer copy;
  call->longformer = longformer;
  fovea_status status = fovea_nn_read_struct("layer", layer, &copy, sizeof copy, error);
  if (!status) status = fovea_nn_read_struct("rows", rows, &call->rows, sizeof call->rows, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (!status) status = check_isa(longformer, &call->execution, error);
  if (status) return status;
  status = check_layers(&copy, call, error);
  if (status) return status;
  const fovea_nn_linear *output = call->layers[FOVEA_NN_LONGFORMER_OUTPUT];
  const int64_t width = longformer->options.heads * longformer->options.v_dim;
  fovea_resolve_stride(&call->rows.x_stride, call->in);
  fovea_resolve_stride(&call->rows.y_stride, output ? output->out : width);
  return check_rows(call, error);
}
