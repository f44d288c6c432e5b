/* Layers of transformers: multi-head attention, blocks, encoders. */
#ifndef FOVEA_PYTHON_ENCODER_H
#define FOVEA_PYTHON_ENCODER_H

#include "layers.h"

#include <fovea/encoder.h>

#include <vector>

namespace fovea_python {

class attention_call;

/* Multi-head attention. It keeps its layers. */
class attention_layer {
public:
  attention_layer(nb::handle query, nb::handle key, nb::handle value, nb::handle output, int64_t heads,
                  nb::handle kv_heads, nb::handle rotary);
  nb::object run(nb::handle x, nb::handle memory, nb::handle memory_values, nb::handle residual,
                 nb::handle first_position, nb::kwargs keywords) const;

  /* Sets the sizes of a problem over such rows, by what the layers have. */
  void describe(fovea_problem &problem) const;
  const fovea_nn_attention &layer() const { return layer_; }

private:
  std::vector<nb::object> kept_;
  int64_t heads_, kv_heads_;
  fovea_nn_attention layer_;
};

/* One layer of an encoder. It keeps its parts. */
class block {
public:
  block(nb::handle attention, nb::handle attention_norm, nb::handle up, nb::handle down, nb::handle feed_norm,
        nb::handle gate, bool norm_first);
  const fovea_nn_block &layer() const { return layer_; }
  const attention_layer &attention() const { return *attention_; }

private:
  std::vector<nb::object> kept_;
  const attention_layer *attention_;
  fovea_nn_block layer_;
};

/* Tables of vectors of tokens, token types and positions. It keeps the tensors, and does not copy them. */
class embedding {
public:
  embedding(nb::handle tokens, nb::handle positions, nb::handle token_types, double scale);
  const fovea_nn_embedding &layer() const { return layer_; }

private:
  void set_table(nb::handle given, const char *name, fovea_nn_table &table, tensor &kept);
  std::vector<nb::object> kept_;
  tensor tokens_, positions_, token_types_;
  fovea_nn_embedding layer_;
};

/* A stack of blocks. It keeps them. */
class encoder {
public:
  encoder(nb::handle blocks, nb::handle embedding, nb::handle embedding_norm, nb::handle final_norm);
  nb::object run(nb::handle x, nb::handle token_type_ids, nb::handle position_ids, nb::handle first_position,
                 nb::kwargs keywords) const;

private:
  std::vector<nb::object> kept_;
  std::vector<const block *> blocks_;
  const embedding *embedding_ = nullptr;
  fovea_nn_encoder layer_;
};

void bind_encoder(nb::module_ &module);

} // namespace fovea_python

#endif
