/* Layers of encoders and decoders, and embeddings. */
#ifndef FOVEA_PYTHON_BLOCK_H
#define FOVEA_PYTHON_BLOCK_H

#include "multihead.h"

#include <fovea/embedding.h>

namespace fovea_python {

/* One layer of an encoder or a decoder. It keeps its parts. */
class block {
public:
  block(nb::handle attention, nb::handle attention_norm, nb::handle up, nb::handle down, nb::handle feed_norm,
        nb::handle gate, bool norm_first, nb::handle cross, nb::handle cross_norm);
  nb::object run(nb::handle x, nb::handle memory, nb::handle cross, const given_positions &positions,
                 nb::kwargs keywords) const;

  const fovea_nn_block &layer() const { return layer_; }
  int64_t dim() const { return layer_.down->out; }
  const attention_layer &attention() const { return *attention_; }
  const attention_layer *cross() const { return cross_; }

private:
  std::vector<nb::object> kept_;
  const attention_layer *attention_, *cross_;
  fovea_nn_block layer_;
};

/* Layers with what the keywords have set for the attention of all of them. */
class blocks_for_call {
public:
  blocks_for_call(const std::vector<const block *> &blocks, attending &self, attending *cross);
  const fovea_nn_block *first() const { return blocks_.data(); }

private:
  std::vector<fovea_nn_attention> selves_, crosses_;
  std::vector<fovea_nn_block> blocks_;
};

/* What cross-attention is given: a memory, and keywords in a dict. Needed by layers that have it, unused by others. */
class given_memory {
public:
  /* `source` rows are the memory if there is an encoder, which is not given as a tensor then. */
  given_memory(const attention_layer *cross, nb::handle memory, nb::handle keywords, sequences rows,
               const attention_call &self, const sequences *source, nb::handle positions);
  void make_scores(const std::vector<const block *> &blocks, nb::handle like, bool stacked);
  attending *over() { return over_ ? &*over_ : nullptr; }

private:
  nb::dict keywords_;
  std::optional<attending> over_;
  rows memory_;
};

/* Contiguous rows of float32, (..., dim); and an output of this shape. */
void read_floats(tensor &to, nb::handle given, const char *name, int64_t dim);
nb::object output_floats(tensor &to, nb::handle given, nb::handle like, const int64_t *shape, int axes);

/* Makes the scores of layers, of a stack with an axis of layers, if they are wanted. Refuses other outputs. */
void make_layer_scores(attention_call &call, const std::vector<const attention_layer *> &layers, nb::handle like,
                       bool stacked);

/* Tables of vectors of tokens, token types and positions. It keeps the tensors, and does not copy them. */
class embedding {
public:
  embedding(nb::handle tokens, nb::handle positions, nb::handle token_types, double scale);
  nb::object run(nb::handle ids, nb::handle token_type_ids, nb::handle position_ids, int64_t first_position,
                 nb::handle out, int threads) const;
  const fovea_nn_embedding &layer() const { return layer_; }

private:
  void set_table(nb::handle given, const char *name, fovea_nn_table &table, tensor &kept);
  std::vector<nb::object> kept_;
  tensor tokens_, positions_, token_types_;
  fovea_nn_embedding layer_;
};

/* A contiguous list of ids, with as many as `first` has and of its type, if that is not NULL. */
const void *ids_of(tensor &ids, nb::handle given, const char *name, const tensor *first);
inline fovea_nn_id_type id_type_of(const tensor &ids) {
  return ids.type == element::i64 ? FOVEA_NN_INT64 : FOVEA_NN_INT32;
}

void bind_block(nb::module_ &module);
void bind_embedding(nb::module_ &module);

} // namespace fovea_python

#endif
