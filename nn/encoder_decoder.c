/* Encoder-decoders: two stacks of layers, one after the other, and the decoder alone. */
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/validate.h"
#include "defaults.h"
#include "encoder.h"
#include "layer_scratch.h"
#include "linear.h"
#include "tasks.h"

static const fovea_nn_stack_names source_names = {"encoder", "source"}, target_names = {"decoder", "target"};

/* A call that was read, with pointers into itself. */
typedef struct coding_call {
  fovea_nn_encoder_decoder model;
  fovea_nn_encoder_rows source, target;
  int with_source;
  fovea_nn_attention_tensors cross_tensors; /* that name the source's y */
  fovea_nn_attending cross;
  fovea_problem cross_problem; /* complete */
  fovea_execution execution;
  fovea_nn_encoder_shape shape; /* of the target */
  fovea_nn_plan_memory plan_memory;
  fovea_nn_plans source_plans, target_plans;
  fovea_nn_scratch all; /* beside the plans */
  size_t hidden_begin;  /* after the scratch of a stack */
  double work;          /* about as many multiply-adds as both stacks and the output's layer make */
} coding_call;

void fovea_nn_encoder_decoder_init_sized(fovea_nn_encoder_decoder *model, size_t struct_size,
                                         const fovea_nn_encoder *encoder, const fovea_nn_encoder *decoder) {
  const fovea_nn_encoder_decoder defaults = {.struct_size = struct_size, .encoder = encoder, .decoder = decoder};
  fovea_nn_write_defaults(model, struct_size, &defaults, sizeof defaults);
}

fovea_status fovea_nn_read_encoder_decoder(const fovea_nn_encoder_decoder *given, fovea_nn_encoder_decoder *model,
                                           fovea_error *error) {
  const fovea_status status = fovea_nn_read_struct("model", given, model, sizeof *model, error);
  if (status) return status;
  return model->decoder ? FOVEA_OK : fovea_fail(error, FOVEA_ERROR_ARGUMENT, "decoder is NULL");
}

/* The memory is the source's, so the target's tensors must leave it to that. */
static fovea_status check_cross(const coding_call *call, fovea_error *error) {
  const fovea_nn_attention_tensors *t = &call->cross_tensors;
  const char *unused = NULL;
  if (t->memory) unused = "tensors.memory";
  if (t->memory_values) unused = "tensors.memory_values";
  if (t->memory_type != FOVEA_F32) unused = "tensors.memory_type";
  if (t->memory_stride != FOVEA_CONTIGUOUS) unused = "tensors.memory_stride";
  if (call->cross_problem.cache.segmented) unused = "problem.cache.segmented";
  if (!unused) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED,
                    "target.cross.%s is set and would not be used: the source is the memory", unused);
}

/* Names the source's y as the memory of cross-attention. */
static fovea_status join(coding_call *call, fovea_error *error) {
  const fovea_nn_attending *cross = call->target.cross;
  if (!cross || !cross->problem || !cross->tensors) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "target.cross is NULL, or its problem or tensors");
  }
  if (!call->source.y) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "source.y is NULL");
  fovea_status status = fovea_nn_read_attention_tensors(cross->tensors, &call->cross_tensors, error);
  if (!status) status = fovea_read_problem(cross->problem, &call->cross_problem, error);
  fovea_fail_within("target.cross", status, error);
  if (!status) status = check_cross(call, error);
  call->cross_tensors.memory = call->source.y;
  call->cross = (fovea_nn_attending){cross->problem, &call->cross_tensors};
  call->target.cross = &call->cross;
  return status;
}

static fovea_status read_call(const fovea_nn_encoder_decoder *model, const fovea_nn_encoder_rows *source,
                              const fovea_nn_encoder_rows *target, const fovea_execution *execution,
                              coding_call *call, fovea_error *error) {
  fovea_status status = fovea_nn_read_encoder_decoder(model, &call->model, error);
  if (!status) status = fovea_nn_read_encoder_rows("target", target, &call->target, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  call->plan_memory = fovea_nn_plan_memory_of(&call->execution);
  call->source_plans = call->target_plans = fovea_nn_plans_in(&call->plan_memory);
  call->with_source = source != NULL;
  if (status || !source) return status;
  status = fovea_nn_read_encoder_rows("source", source, &call->source, error);
  return status ? status : join(call, error);
}

/* The memory has as many rows, of as many dims, in the same order, as the source's y. */
static fovea_status check_memory(const coding_call *call, const fovea_nn_encoder_shape *source,
                                 fovea_error *error) {
  const fovea_problem *p = &call->cross_problem;
  fovea_nn_attention_tensors tensors;
  fovea_nn_encoder decoder;
  fovea_status status = fovea_nn_read_attention_tensors(call->source.self->tensors, &tensors, error);
  if (!status) status = fovea_nn_read_encoder("decoder", call->model.decoder, &decoder, error);
  if (status) return status;
  const int64_t rows = p->cu_seqlens_kv ? p->kv_len : p->batch * p->kv_len;
  const int64_t rows_first = call->cross_tensors.rows_first, source_first = tensors.rows_first;
  if (rows != source->rows) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "target.cross.problem has %jd rows of memory; the source has %jd", rows, source->rows);
  }
  if (rows_first != source_first) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "target.cross.tensors.rows_first is %jd; the source's is %jd",
                      rows_first, source_first);
  }
  for (int64_t i = 0; i < decoder.count; i++) {
    fovea_nn_block block;
    fovea_nn_attention cross;
    status = fovea_nn_block_at(&decoder, i, &block, error);
    if (!status) status = fovea_nn_read_attention("cross", block.cross, &cross, error);
    if (status) return fovea_fail_within("decoder", status, error);
    if (!cross.key || cross.key->in == source->dim) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "decoder.blocks[%jd].cross.key.in is %jd; rows of the source have %jd", i, cross.key->in,
                      source->dim);
  }
  return FOVEA_OK;
}

/* Checks both stacks, sums their work, and lays out scratch: as much as the larger stack or the output's layer needs,
 * and the decoder's rows. */
static fovea_status measure(coding_call *call, int workers, fovea_error *error) {
  const fovea_nn_linear *output = call->model.output;
  fovea_nn_encoder_shape source = {0};
  fovea_status status = output ? fovea_nn_check_layer("output", output, error) : FOVEA_OK;
  if (!status) {
    status = fovea_nn_measure_stack(target_names, call->model.decoder, &call->target, output ? output->out : 0,
                                    workers, &call->execution, &call->target_plans, &call->shape, error);
  }
  if (!status && call->with_source) {
    status = fovea_nn_measure_stack(source_names, call->model.encoder, &call->source, 0, workers, &call->execution,
                                    &call->source_plans, &source, error);
    if (!status) status = check_memory(call, &source, error);
  }
  if (status) return status;
  if (output && output->in != call->shape.dim) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "output.in is %jd; the decoder's rows have %jd", output->in,
                      call->shape.dim);
  }
  call->work = source.work + call->shape.work;
  if (output) call->work += (double)call->shape.rows * (double)output->in * (double)output->out;
  const size_t target_size = fovea_nn_size_of(&call->shape.all), source_size = fovea_nn_size_of(&source.all);
  call->all = (fovea_nn_scratch){0};
  fovea_nn_reserve_for_either(&call->all, target_size > source_size ? target_size : source_size,
                              fovea_nn_linear_bytes(output, call->shape.rows, &call->execution));
  call->hidden_begin = call->all.size;
  fovea_nn_reserve(&call->all, output ? fovea_nn_bytes(call->shape.rows, call->shape.dim, 1) : 0);
  return FOVEA_OK;
}

/* Rows of logits. */
static fovea_nn_linear_rows output_rows(const coding_call *call, const float *hidden) {
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, call->model.output, call->shape.rows, hidden, call->target.y);
  return rows;
}

static fovea_status run(coding_call *call, char *memory, fovea_error *error) {
  const fovea_execution execution = fovea_nn_with_scratch(&call->execution, memory, call->hidden_begin);
  fovea_nn_encoder_rows target = call->target;
  fovea_nn_linear_rows rows;
  fovea_status status = FOVEA_OK;
  if (call->model.output) {
    target.y = (float *)(void *)(memory + call->hidden_begin);
    rows = output_rows(call, target.y);
    status = fovea_nn_check_output(call->model.output, &rows, error); /* before anything changes */
    fovea_fail_within("target", status, error);
  }
  if (!status && call->with_source) {
    status = fovea_nn_run_stack(source_names, call->model.encoder, &call->source, &execution, &call->source_plans,
                                error);
  }
  if (!status)
    status = fovea_nn_run_stack(target_names, call->model.decoder, &target, &execution, &call->target_plans, error);
  if (status || !call->model.output) return status;
  return fovea_nn_multiply(call->model.output, &rows, &execution, error);
}

static fovea_status run_steps(void *data, char *memory, const fovea_execution *execution, fovea_error *error) {
  coding_call *call = data;
  call->execution = *execution;
  return run(call, memory, error);
}

static fovea_status run_in_memory(coding_call *call, fovea_error *error) {
  const fovea_status status = measure(call, fovea_nn_workers(&call->execution), error);
  if (status) return status;
  call->all.before = fovea_nn_plans_end(&call->plan_memory);
  return fovea_nn_run_steps(run_steps, call, &call->all, call->work, &call->execution, error);
}

static void release_plans(coding_call *call) {
  fovea_nn_release_plans(&call->source_plans);
  fovea_nn_release_plans(&call->target_plans);
}

fovea_status fovea_nn_encoder_decoder_run(const fovea_nn_encoder_decoder *model,
                                          const fovea_nn_encoder_rows *source, const fovea_nn_encoder_rows *target,
                                          const fovea_execution *execution, fovea_error *error) {
  coding_call call = {.with_source = 0};
  fovea_status status = read_call(model, source, target, execution, &call, error);
  if (status) return status;
  status = run_in_memory(&call, error);
  release_plans(&call);
  return status;
}

fovea_status fovea_nn_encoder_decoder_scratch_size(const fovea_nn_encoder_decoder *model,
                                                   const fovea_nn_encoder_rows *source,
                                                   const fovea_nn_encoder_rows *target,
                                                   const fovea_execution *execution, size_t *size,
                                                   fovea_error *error) {
  coding_call call = {.with_source = 0};
  fovea_execution measured;
  fovea_status status = fovea_nn_begin_measure(execution, &measured, size, error);
  if (!status) status = read_call(model, source, target, &measured, &call, error);
  if (status) return status;
  status = measure(&call, fovea_nn_workers(&measured), error);
  if (!status) *size = fovea_nn_scratch_size(&call.plan_memory, &call.all);
  release_plans(&call);
  return status;
}
