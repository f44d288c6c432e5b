/* Everything that a layer of a transformer may be refused for. */
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/validate.h"
#include "defaults.h"
#include "layer_parts.h"
#include "linear.h"
#include "norm.h"
#include "scores.h"
#include "transformer_block.h"

#include <string.h>

static fovea_status check_dim(const char *of, const char *name, int64_t given, int64_t wanted, fovea_error *error) {
  if (given == wanted) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.%s is %jd; the layer has %jd", of, name, given, wanted);
}

static fovea_status check_norm(const char *name, const fovea_nn_norm *norm, int64_t dim, fovea_error *error) {
  const fovea_status status = fovea_nn_check_norm(name, norm, error);
  if (status) return status;
  return check_dim(name, "dim", norm->dim, dim, error);
}

static fovea_status check_attention(const char *name, const fovea_nn_attention *given, int64_t dim,
                                    fovea_error *error) {
  fovea_nn_attention attention;
  fovea_status status = fovea_nn_read_attention(name, given, &attention, error);
  if (status) return status;
  if (!attention.query || !attention.output) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.%s is NULL", name, attention.query ? "output" : "query");
  }
  status = fovea_nn_check_layer("query", attention.query, error);
  if (!status) status = fovea_nn_check_layer("output", attention.output, error);
  status = fovea_fail_within(name, status, error);
  if (!status) status = check_dim(name, "query.in", attention.query->in, dim, error);
  return status ? status : check_dim(name, "output.out", attention.output->out, dim, error);
}

/* The rows are the layer's own, f32 and contiguous. */
static fovea_status check_attending(const char *name, const fovea_nn_attending *attending, fovea_error *error) {
  fovea_nn_attention_tensors t;
  if (!attending || !attending->tensors || !attending->problem) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL, or its problem or tensors", name);
  }
  const fovea_status status = fovea_nn_read_attention_tensors(attending->tensors, &t, error);
  if (status) return fovea_fail_within(name, status, error);
  const struct {
    const char *field;
    int set;
  } fields[] = {{"x", t.x != NULL},
                {"y", t.y != NULL},
                {"residual", t.residual != NULL},
                {"x_type", t.x_type != FOVEA_F32},
                {"y_type", t.y_type != FOVEA_F32},
                {"residual_type", t.residual_type != FOVEA_F32},
                {"x_stride", t.x_stride != FOVEA_CONTIGUOUS},
                {"y_stride", t.y_stride != FOVEA_CONTIGUOUS},
                {"residual_stride", t.residual_stride != FOVEA_CONTIGUOUS}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (!fields[i].set) continue;
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "%s.tensors.%s is set and would not be used: a layer has its rows from its own call", name,
                      fields[i].field);
  }
  return FOVEA_OK;
}

static fovea_status check_network(const fovea_nn_block *b, int64_t dim, fovea_error *error) {
  fovea_status status = fovea_nn_check_layer("up", b->up, error);
  if (!status) status = fovea_nn_check_layer("down", b->down, error);
  if (!status && b->gate) status = fovea_nn_check_layer("gate", b->gate, error);
  if (!status) status = check_dim("up", "in", b->up->in, dim, error);
  if (!status) status = check_dim("down", "in", b->down->in, b->up->out, error);
  if (!status) status = check_dim("down", "out", b->down->out, dim, error);
  if (!status && b->gate) status = check_dim("gate", "in", b->gate->in, dim, error);
  if (!status && b->gate) status = check_dim("gate", "out", b->gate->out, b->up->out, error);
  return status;
}

/* The caller's name of a layer, written into `room`. */
static const char *name_of_layer(int64_t i, fovea_error *room) {
  fovea_fail(room, FOVEA_OK, "blocks[%jd]", i);
  return room->text;
}

fovea_status fovea_nn_fail_in_layer(int64_t i, fovea_status status, fovea_error *error) {
  fovea_error room;
  return status ? fovea_fail_within(name_of_layer(i, &room), status, error) : FOVEA_OK;
}

fovea_status fovea_nn_read_layer(int64_t i, const fovea_nn_block *given, fovea_nn_block *block,
                                 fovea_error *error) {
  fovea_error room;
  const fovea_status status = fovea_nn_read_block(given, block, NULL);
  return status ? fovea_nn_read_struct(name_of_layer(i, &room), given, block, sizeof *block, error) : FOVEA_OK;
}

fovea_status fovea_nn_check_block(const fovea_nn_block *b, const fovea_nn_attending *self,
                                  const fovea_nn_attending *cross, fovea_error *error) {
  const fovea_bounded flag = {"norm_first", b->norm_first, 0, 1};
  fovea_nn_attention attention;
  if (!b->self) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "self is NULL");
  fovea_status status = fovea_nn_read_attention("self", b->self, &attention, error);
  if (!status) status = fovea_nn_check_layer("self.query", attention.query, error);
  if (!status) status = fovea_validate_bounds(NULL, &flag, 1, error);
  if (status) return status;
  const int64_t dim = attention.query->in;
  status = check_attention("self", b->self, dim, error);
  if (!status) status = check_network(b, dim, error);
  if (!status) status = check_norm("self_norm", b->self_norm, dim, error);
  if (!status) status = check_norm("feed_norm", b->feed_norm, dim, error);
  if (!status) status = check_attending("self", self, error);
  if (status) return status;
  if (!b->cross && (b->cross_norm || cross)) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "%s is set and would not be used: the layer has no cross-attention",
                      cross ? "cross" : "cross_norm");
  }
  if (!b->cross) return FOVEA_OK;
  status = check_attention("cross", b->cross, dim, error);
  if (!status) status = check_norm("cross_norm", b->cross_norm, dim, error);
  return status ? status : check_attending("cross", cross, error);
}

static fovea_status check_outputs(const fovea_nn_output *outputs, const fovea_nn_around *around,
                                  const fovea_nn_matrix *parts, int count, fovea_error *error) {
  const fovea_nn_matrix others[] = {around->x, around->y, around->scratch};
  const fovea_status status = fovea_nn_check_outputs_apart(outputs, others, 3, error);
  return status ? status : fovea_nn_check_outputs_apart(outputs, parts, count, error);
}

fovea_status fovea_nn_check_attentions(const fovea_nn_block *b, const fovea_nn_attending *self,
                                       const fovea_nn_attending *cross, const fovea_nn_around *around,
                                       fovea_nn_output outputs[2][FOVEA_NN_OUTPUT_COUNT], fovea_error *error) {
  fovea_nn_attention_call call;
  fovea_nn_matrix parts[FOVEA_NN_BLOCK_PARTS];
  int count = fovea_nn_add_block(b, parts, 0);
  fovea_status status = fovea_nn_check_attention(b->self, self->problem, self->tensors, NULL, &call, error);
  if (status) return fovea_fail_within("self", status, error);
  count = fovea_nn_add_positions(&call, parts, count);
  memcpy(outputs[0], call.outputs, sizeof call.outputs);
  memset(outputs[1], 0, sizeof call.outputs);
  if (cross) {
    status = fovea_nn_check_attention(b->cross, cross->problem, cross->tensors, NULL, &call, error);
    if (status) return fovea_fail_within("cross", status, error);
    count = fovea_nn_add_positions(&call, parts, count);
    memcpy(outputs[1], call.outputs, sizeof call.outputs);
    if (call.from_rows && !call.problem.cache.segmented) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "cross.tensors.memory is NULL");
    }
  }
  for (int i = 0; i < count && !status && around->y.data; i++) {
    status = fovea_nn_check_apart(&around->y, &parts[i], error);
  }
  for (int i = 0; i < count && !status && around->scratch.data; i++) {
    status = fovea_nn_check_apart(&around->scratch, &parts[i], error);
  }
  for (int i = 0; i < 2 && !status; i++) {
    status = check_outputs(outputs[i], around, parts, count, error);
    fovea_fail_within(i == 0 ? "self" : "cross", status, error);
  }
  return status ? status : fovea_nn_check_self_and_cross(outputs[0], outputs[1], error);
}
