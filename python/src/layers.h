/* Layers of fovea_nn: linear layers, norms, functions of rows. */
#ifndef FOVEA_PYTHON_LAYERS_H
#define FOVEA_PYTHON_LAYERS_H

#include "rows.h"

#include <fovea/nn.h>

#include <memory>

namespace fovea_python {

/* Memory at a multiple of 64 bytes. */
struct aligned_memory {
  struct release {
    void operator()(void *memory) const;
  };
  std::unique_ptr<void, release> memory;
  void *reserve(size_t bytes);
};

/* A linear layer whose weights are packed once, in memory of its own. */
class linear {
public:
  linear(nb::handle weight, nb::handle bias, nb::handle activation, nb::handle mode, bool quantise, int threads);
  linear(nb::handle format, int64_t in, int64_t out, nb::handle data, nb::handle bias, nb::handle activation,
         nb::handle mode, int64_t group, nb::handle scales, nb::handle zeros, bool zeros_less_one);

  nb::object run(nb::handle x, nb::handle gate, nb::handle residual, nb::handle out, int threads) const;
  const fovea_nn_linear &layer() const { return layer_; }
  size_t bytes() const { return bytes_; }

private:
  void set_common(nb::handle bias, nb::handle activation, nb::handle mode);

  fovea_nn_linear layer_;
  aligned_memory weights_, bias_;
  size_t bytes_ = 0;
};

/* A norm with copies of its numbers. */
class norm {
public:
  norm(fovea_nn_norm_kind kind, int64_t dim, nb::handle gamma, nb::handle beta, double eps);
  nb::object run(nb::handle x, nb::handle residual, nb::handle sum, nb::handle out, int threads) const;
  const fovea_nn_norm &layer() const { return layer_; }

private:
  fovea_nn_norm layer_;
  aligned_memory gamma_, beta_;
};

void bind_layers(nb::module_ &module);

} // namespace fovea_python

#endif
