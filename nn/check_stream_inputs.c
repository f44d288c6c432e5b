/* What the layers of a stream read, and that nothing is written over it: a push goes through its layers one after
 * the other, so a check by each layer would come after those before it have run. */
#include "../src/base/caller.h"
#include "caller.h"
#include "linear.h"
#include "matrix.h"
#include "stream.h"

fovea_nn_matrix fovea_nn_stream_sinks(const fovea_nn_stream *stream) {
  const float *sinks = stream->streaming.sinks;
  const int64_t heads = stream->problem.heads;
  return (fovea_nn_matrix){"sinks", sinks, FOVEA_F32, sinks ? stream->streaming.layers : 0, heads, heads};
}

static fovea_nn_matrix row_of(const char *name, const void *numbers, int64_t count) {
  return (fovea_nn_matrix){name, numbers, FOVEA_F32, numbers ? 1 : 0, count, count};
}

static fovea_status check_linear(const fovea_nn_matrix *output, const fovea_nn_linear *given, fovea_error *error) {
  fovea_nn_linear linear;
  if (!given) return FOVEA_OK;
  fovea_status status = fovea_nn_read_linear(given, &linear, error);
  if (status) return status;
  const fovea_nn_matrix weights = fovea_nn_weights_of(&linear), bias = fovea_nn_bias_of(&linear);
  status = fovea_nn_check_apart(output, &weights, error);
  return status ? status : fovea_nn_check_apart(output, &bias, error);
}

static fovea_status check_norm(const fovea_nn_matrix *output, const fovea_nn_norm *given, fovea_error *error) {
  fovea_nn_norm norm;
  fovea_status status = fovea_nn_read_norm(given, &norm, error);
  if (status) return status;
  const fovea_nn_matrix gamma = row_of("gamma", norm.gamma, norm.dim), beta = row_of("beta", norm.beta, norm.dim);
  status = fovea_nn_check_apart(output, &gamma, error);
  return status ? status : fovea_nn_check_apart(output, &beta, error);
}

static fovea_status check_rotary(const fovea_nn_matrix *output, const fovea_rotary *given, fovea_error *error) {
  fovea_rotary r;
  if (!given) return FOVEA_OK;
  fovea_status status = fovea_read_rotary(given, &r, error);
  if (status) return status;
  const int64_t pairs = r.dims / 2, double_size = (int64_t)(sizeof(double) / sizeof(float));
  const fovea_nn_matrix frequencies = row_of("frequencies", r.frequencies, pairs * double_size);
  const fovea_nn_matrix cosines = {"cosines", r.cosines, FOVEA_F32, r.table_rows, pairs, r.table_stride};
  const fovea_nn_matrix sines = {"sines", r.sines, FOVEA_F32, r.table_rows, pairs, r.table_stride};
  status = fovea_nn_check_apart(output, &frequencies, error);
  if (!status) status = fovea_nn_check_apart(output, &cosines, error);
  return status ? status : fovea_nn_check_apart(output, &sines, error);
}

static fovea_status check_layer(const fovea_nn_matrix *output, const fovea_nn_stream_layer *layer,
                                fovea_error *error) {
  const fovea_nn_block *b = &layer->block;
  const fovea_nn_attention *a = &layer->attention;
  const fovea_nn_linear *linears[] = {a->query, layer->key, layer->value, a->output, b->up, b->down, b->gate};
  fovea_status status = FOVEA_OK;
  for (size_t i = 0; i < sizeof linears / sizeof linears[0] && !status; i++)
    status = check_linear(output, linears[i], error);
  if (!status) status = check_norm(output, b->self_norm, error);
  if (!status) status = check_norm(output, b->feed_norm, error);
  return status ? status : check_rotary(output, a->rotary, error);
}

fovea_status fovea_nn_stream_check_apart(const fovea_nn_stream *stream, const fovea_nn_matrix *output,
                                         fovea_error *error) {
  const fovea_nn_matrix sinks = fovea_nn_stream_sinks(stream);
  fovea_status status = fovea_nn_check_apart(output, &sinks, error);
  if (output->rows == 0) return status;
  for (int64_t i = 0; i < stream->streaming.layers && !status; i++)
    status = check_layer(output, &stream->layers[i], error);
  return status;
}
