/* Stacks of layers: encoders, decoders, encoder-decoders. */
#ifndef FOVEA_PYTHON_STACK_H
#define FOVEA_PYTHON_STACK_H

#include "block.h"

#include <fovea/encoder.h>

namespace fovea_python {

/* What a stack is given, beside the keywords of attention. */
struct stack_arguments {
  nb::handle rows, token_type_ids, position_ids; /* rows: ids, or numbers */
  given_positions positions;
  nb::handle memory, cross;
};

/* A stack of blocks. It keeps them. */
class encoder {
public:
  encoder(nb::handle blocks, nb::handle embedding, nb::handle embedding_norm, nb::handle final_norm);
  nb::object run(const stack_arguments &given, nb::kwargs keywords) const;

  const std::vector<const block *> &blocks() const { return blocks_; }
  const embedding *table() const { return embedding_; }
  const fovea_nn_encoder &layer() const { return layer_; }

private:
  std::vector<nb::object> kept_;
  std::vector<const block *> blocks_;
  const embedding *embedding_ = nullptr;
  fovea_nn_encoder layer_;
};

/* One run of a stack, as the library's structs, which point into this object. */
class stack_call {
public:
  /* `y_dim`: numbers of a row of y. `source`: as
   * given_memory has it. */
  stack_call(const encoder &stack, const stack_arguments &given, nb::handle keywords, int64_t y_dim,
             const sequences *source);
  stack_call(const stack_call &) = delete;
  stack_call &operator=(const stack_call &) = delete;

  fovea_nn_encoder layer;
  fovea_nn_encoder_rows rows;
  attending self;
  sequences lengths; /* of the rows */

  /* After the run: y, or a Result with scores, (layers, batch, heads, rows, keys). */
  nb::object finish();

private:
  nb::object y_;
  tensor from_, types_, places_, to_;
  std::optional<given_memory> memory_;
  std::optional<blocks_for_call> blocks_;
  fovea_nn_attending over_, over_memory_;
};

/* An encoder, and a decoder that attends over its rows. It keeps both. */
class encoder_decoder {
public:
  encoder_decoder(nb::handle encoder, nb::handle decoder, nb::handle output);
  nb::object run(const stack_arguments &target, nb::handle source, nb::handle source_keywords,
                 nb::kwargs keywords) const;
  void prepare(nb::handle memory, nb::handle cache, nb::handle kv_lens, nb::handle cu_seqlens_kv,
               nb::handle memory_positions, int threads) const;

private:
  std::vector<nb::object> kept_;
  const encoder *encoder_, *decoder_;
  const fovea_nn_linear *output_;
};

void bind_stack(nb::module_ &module);
void bind_encoder_decoder(nb::module_ &module);

} // namespace fovea_python

#endif
