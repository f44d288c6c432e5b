#include "linear.h"

#include "../src/base/error.h"
#include "../src/base/groups.h"
#include "../src/base/types.h"
#include "../src/base/validate.h"
#include "defaults.h"
#include "linear_int8.h"
#include "matrix.h"
#include "quantised.h"

int64_t fovea_nn_panel_elements(int64_t in, int64_t out, fovea_type type) {
  int64_t elements;
  if (in < 1 || out < 1 || in > FOVEA_DIM_LIMIT || out > FOVEA_DIM_LIMIT || (unsigned)type >= FOVEA_TYPES) return 0;
  const int64_t panels = fovea_nn_padded(out, FOVEA_NN_PANEL) / FOVEA_NN_PANEL;
  if (__builtin_mul_overflow(panels, fovea_nn_panel_size(in, type), &elements)) return 0;
  return elements > INT64_C(1) << 57 ? 0 : elements;
}

/* All bytes of quantised weights. Nothing, if the layer would be refused for them. */
static fovea_nn_matrix quantised_matrix(const fovea_nn_linear *l) {
  fovea_nn_matrix matrix = {.name = "weights", .type = FOVEA_F32};
  if (fovea_nn_panel_elements(l->in, l->out, FOVEA_F32) == 0) return matrix;
  if (fovea_nn_check_quantised(l->weights, l->in, l->out, NULL) != FOVEA_OK) return matrix;
  const fovea_nn_quantised_header header = fovea_nn_quantised_header_of(l->weights);
  matrix.data = l->weights;
  matrix.rows = 1;
  matrix.dim = matrix.stride = fovea_nn_quantised_bytes(&header) / (int64_t)sizeof(float);
  return matrix;
}

fovea_nn_matrix fovea_nn_weights_of(const fovea_nn_linear *linear) {
  const fovea_nn_linear *l = linear;
  if (l->layout == FOVEA_NN_WEIGHTS_IN_PANELS) {
    const int64_t dim = fovea_nn_panel_size(l->in, l->weight_type);
    return (fovea_nn_matrix){
        "weights", l->weights, l->weight_type, fovea_nn_padded(l->out, FOVEA_NN_PANEL) / FOVEA_NN_PANEL, dim, dim};
  }
  if (l->layout == FOVEA_NN_WEIGHTS_QUANTISED) return quantised_matrix(l);
  return (fovea_nn_matrix){"weights", l->weights, l->weight_type, l->out, l->in, l->weight_stride};
}

fovea_nn_matrix fovea_nn_bias_of(const fovea_nn_linear *linear) {
  return (fovea_nn_matrix){"bias", linear->bias, FOVEA_F32, linear->bias ? 1 : 0, linear->out, 0};
}

static const char *const layout_names[] = {"FOVEA_NN_WEIGHTS_IN_ROWS", "FOVEA_NN_WEIGHTS_IN_PANELS",
                                           "FOVEA_NN_WEIGHTS_QUANTISED"};

/* bf16 mode takes weights as they lie in panels of bf16. */
static fovea_status check_bf16(const fovea_nn_linear *linear, fovea_error *error) {
  if (!FOVEA_BUILDS_BF16) return fovea_refuse_group("mode", FOVEA_GROUP_BF16, error);
  if (linear->layout != FOVEA_NN_WEIGHTS_IN_PANELS)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "mode is FOVEA_MODE_BF16, which takes weights of layout FOVEA_NN_WEIGHTS_IN_PANELS");
  if (linear->weight_type != FOVEA_BF16)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "mode is FOVEA_MODE_BF16, which takes weights of weight_type FOVEA_BF16");
  return FOVEA_OK;
}

/* What the layout does not use. */
static fovea_status check_unused(const fovea_nn_linear *linear, fovea_error *error) {
  if (linear->layout == FOVEA_NN_WEIGHTS_QUANTISED && linear->weight_type != FOVEA_F32) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "weight_type is %jd and would not be used: layout is FOVEA_NN_WEIGHTS_QUANTISED",
                      (int64_t)linear->weight_type);
  }
  if (linear->layout == FOVEA_NN_WEIGHTS_IN_ROWS || linear->weight_stride == 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "weight_stride is %jd and would not be used: layout is %s",
                    linear->weight_stride, layout_names[linear->layout]);
}

/* int8 mode takes the codes of quantised weights. */
static fovea_status check_int8(const fovea_nn_linear *linear, fovea_error *error) {
  if (!FOVEA_BUILDS_INT8) return fovea_refuse_group("mode", FOVEA_GROUP_INT8, error);
  if (linear->layout == FOVEA_NN_WEIGHTS_QUANTISED) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "mode is FOVEA_MODE_INT8, which takes weights of layout FOVEA_NN_WEIGHTS_QUANTISED");
}

/* Modes that the layer's weights cannot have are refused. */
static fovea_status check_mode(const fovea_nn_linear *linear, fovea_error *error) {
  if (linear->mode == FOVEA_MODE_EXACT) return FOVEA_OK;
  return linear->mode == FOVEA_MODE_BF16 ? check_bf16(linear, error) : check_int8(linear, error);
}

/* Quantised weights of a layer in int8 mode: values are integers, and sums of a group are int32. */
static fovea_status check_int8_weights(const fovea_nn_linear *linear, fovea_error *error) {
  if (linear->mode != FOVEA_MODE_INT8) return FOVEA_OK;
  const fovea_nn_quantised_header header = fovea_nn_quantised_header_of(linear->weights);
  if (header.is_e4m3)
    return fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "mode is FOVEA_MODE_INT8, which takes codes of integers, and weights are FOVEA_NN_FORMAT_E4M3");
  if (header.is_scattered)
    return fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "mode is FOVEA_MODE_INT8, which takes groups of dims in their order, and weights have a g_idx");
  if (linear->in <= FOVEA_NN_INT8_MOST_DIMS || header.group != 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "in is %jd; with mode FOVEA_MODE_INT8 and one scale for all dims it must be at most %jd",
                    linear->in, FOVEA_NN_INT8_MOST_DIMS);
}

static fovea_status check_fields(const fovea_nn_linear *linear, fovea_error *error) {
  const fovea_bounded sizes[] = {{"in", linear->in, 1, FOVEA_DIM_LIMIT}, {"out", linear->out, 1, FOVEA_DIM_LIMIT}};
  const fovea_bounded kinds[] = {fovea_bounded_type("weight_type", linear->weight_type),
                                 {"layout", (int)linear->layout, 0, FOVEA_NN_WEIGHTS_QUANTISED},
                                 {"activation", (int)linear->activation, 0, FOVEA_NN_ACTIVATIONS - 1},
                                 {"mode", (int)linear->mode, 0, FOVEA_MODE_INT8}};
  fovea_status status = fovea_validate_bounds(NULL, sizes, 2, error);
  if (!status) status = fovea_validate_bounds(NULL, kinds, sizeof kinds / sizeof kinds[0], error);
  if (!status) status = check_mode(linear, error);
  if (!status) status = check_unused(linear, error);
  if (status) return status;
  if (fovea_nn_panel_elements(linear->in, linear->out, linear->weight_type) == 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "in %jd times out %jd is more than 2^57", linear->in,
                      linear->out);
  }
  if (linear->layout == FOVEA_NN_WEIGHTS_QUANTISED)
    status = fovea_nn_check_quantised(linear->weights, linear->in, linear->out, error);
  if (!status) status = check_int8_weights(linear, error);
  if (status) return status;
  const fovea_nn_matrix weights = fovea_nn_weights_of(linear), bias = fovea_nn_bias_of(linear);
  status = fovea_nn_check_matrix(&weights, 0, error);
  return status ? status : fovea_nn_check_matrix(&bias, 0, error);
}

fovea_status fovea_nn_check_linear(const char *name, const fovea_nn_linear *linear, fovea_error *error) {
  return fovea_fail_within(name, check_fields(linear, error), error);
}

fovea_status fovea_nn_check_packing(const fovea_nn_linear *linear, const void *panels, fovea_error *error) {
  fovea_nn_linear packed = *linear;
  if (linear->layout != FOVEA_NN_WEIGHTS_IN_ROWS) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "linear.layout is %s; weights to be packed lie in rows",
                      linear->layout == FOVEA_NN_WEIGHTS_IN_PANELS ? "FOVEA_NN_WEIGHTS_IN_PANELS"
                                                                   : "FOVEA_NN_WEIGHTS_QUANTISED");
  }
  packed.layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  packed.weights = panels;
  const fovea_nn_matrix from = fovea_nn_weights_of(linear);
  fovea_nn_matrix to = fovea_nn_weights_of(&packed);
  to.name = "panels";
  const fovea_status status = fovea_nn_check_matrix(&to, 1, error);
  return status ? status : fovea_nn_check_apart(&to, &from, error);
}

/* A tensor that is added or multiplied must be there if its settings say so, and may be y itself. */
static fovea_status check_addend(const fovea_nn_matrix *addend, int64_t out, const fovea_nn_matrix *y,
                                 fovea_error *error) {
  if (!addend->data) {
    if (addend->type == FOVEA_F32 && addend->stride == out) return FOVEA_OK;
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s_%s is set and would not be used: %s is NULL", addend->name,
                      addend->type != FOVEA_F32 ? "type" : "stride", addend->name);
  }
  const fovea_status status = fovea_nn_check_matrix(addend, 0, error);
  if (status || fovea_nn_is_same(addend, y)) return status;
  return fovea_nn_check_apart(y, addend, error);
}

fovea_status fovea_nn_check_linear_rows(const fovea_nn_linear *linear, const fovea_nn_linear_rows *r,
                                        fovea_error *error) {
  const fovea_bounded size = {"rows", r->rows, 0, FOVEA_LENGTH_LIMIT};
  const fovea_nn_matrix weights = fovea_nn_weights_of(linear), bias = fovea_nn_bias_of(linear);
  const fovea_nn_matrix x = {"x", r->x, r->x_type, r->rows, linear->in, r->x_stride};
  const fovea_nn_matrix y = {"y", r->y, r->y_type, r->rows, linear->out, r->y_stride};
  const fovea_nn_matrix gate = {"gate", r->gate, r->gate_type, r->rows, linear->out, r->gate_stride};
  const fovea_nn_matrix residual = {"residual", r->residual, r->residual_type,
                                    r->rows,    linear->out, r->residual_stride};
  fovea_status status = fovea_validate_bounds(NULL, &size, 1, error);
  if (!status) status = fovea_nn_check_matrix(&x, 0, error);
  if (!status) status = fovea_nn_check_matrix(&y, 1, error);
  if (!status) status = check_addend(&gate, linear->out, &y, error);
  if (!status) status = check_addend(&residual, linear->out, &y, error);
  if (!status) status = fovea_nn_check_apart(&y, &x, error);
  if (!status) status = fovea_nn_check_apart(&y, &weights, error);
  return status ? status : fovea_nn_check_apart(&y, &bias, error);
}

fovea_status fovea_nn_check_output(const fovea_nn_linear *given, const fovea_nn_linear_rows *given_rows,
                                   fovea_error *error) {
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_status status = fovea_nn_read_linear("linear", given, &linear, error);
  if (!status) status = fovea_nn_read_linear_rows(given_rows, &linear, &rows, error);
  return status ? status : fovea_nn_check_linear_rows(&linear, &rows, error);
}

fovea_status fovea_nn_check_layer(const char *name, const fovea_nn_linear *given, fovea_error *error) {
  fovea_nn_linear linear;
  const fovea_status status = fovea_nn_read_linear(name, given, &linear, error);
  return status ? status : fovea_nn_check_linear(name, &linear, error);
}
