/* What the layers of a stream read, and that nothing is written over it: a push goes through its layers one after
 * the other, so a check by each layer would come after the layers before it have run. */
#include "layer_parts.h"
#include "stream.h"

fovea_nn_matrix fovea_nn_stream_sinks(const fovea_nn_stream *stream) {
  const float *sinks = stream->streaming.sink;
  const int64_t heads = stream->problem.heads;
  return (fovea_nn_matrix){"sink", sinks, FOVEA_F32, sinks ? stream->streaming.layers : 0, heads, heads};
}

/* A layer's attention has lost its key and value to the stream. */
static fovea_status check_layer(const fovea_nn_matrix *output, const fovea_nn_stream_layer *layer,
                                fovea_error *error) {
  fovea_nn_matrix parts[FOVEA_NN_BLOCK_PARTS];
  int count = fovea_nn_add_block(&layer->block, parts, 0);
  count = fovea_nn_add_linear(layer->key, parts, count);
  count = fovea_nn_add_linear(layer->value, parts, count);
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < count && !status; i++) status = fovea_nn_check_apart(output, &parts[i], error);
  return status;
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
