/* Multi-head attention. */
#ifndef FOVEA_PYTHON_MULTIHEAD_H
#define FOVEA_PYTHON_MULTIHEAD_H

#include "attending.h"
#include "layers.h"

namespace fovea_python {

/* It keeps its layers. */
class attention_layer {
public:
  attention_layer(nb::handle query, nb::handle key, nb::handle value, nb::handle output, int64_t heads,
                  nb::handle kv_heads, nb::handle rotary, nb::handle bias_key, nb::handle bias_value,
                  bool average_scores, bool rows_first);
  nb::object run(nb::handle x, nb::handle memory, nb::handle memory_values, nb::handle residual,
                 const given_positions &positions, nb::kwargs keywords) const;

  head_sizes heads() const;
  const fovea_nn_attention &layer() const { return layer_; }

private:
  std::vector<nb::object> kept_;
  aligned_memory bias_key_, bias_value_;
  int64_t heads_, kv_heads_;
  bool rows_first_;
  fovea_nn_attention layer_;
};

void bind_multihead(nb::module_ &module);

} // namespace fovea_python

#endif
