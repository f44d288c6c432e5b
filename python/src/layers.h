/* Layers of fovea_nn that others are made of: linear layers and norms. */
#ifndef FOVEA_PYTHON_LAYERS_H
#define FOVEA_PYTHON_LAYERS_H

#include "rows.h"

#include <fovea/nn.h>

#include <memory>
#include <vector>

namespace fovea_python {

/* Memory at a multiple of 64 bytes. */
struct aligned_memory {
  struct release {
    void operator()(void *memory) const;
  };
  std::unique_ptr<void, release> memory;
  void *reserve(size_t bytes);
};

/* Copies numbers of float32 of this shape; None: none, NULL. */
const float *copy_floats(aligned_memory &to, nb::handle given, const char *name, const int64_t *shape, int axes);

fovea_nn_activation activation_of(nb::handle value, const char *name);

/* Quantised weights as engines keep them. */
struct weight_codes {
  nb::handle format;
  int64_t in, out;
  nb::handle data, scales, zeros, group_of_dims;
  int64_t group, group_outs;
  bool zeros_less_one;
};

/* A linear layer whose weights are packed once, in memory of its own. */
class linear {
public:
  linear(nb::handle weight, nb::handle bias, nb::handle activation, nb::handle mode, bool quantise, int threads);
  linear(const weight_codes &codes, nb::handle bias, nb::handle activation, nb::handle mode);

  nb::object run(nb::handle x, nb::handle bias, nb::handle gate, nb::handle residual, nb::handle out,
                 int threads) const;
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

/* A part of a layer, which must be of a class; None: none, if that is allowed. `kept` gets a reference. */
template <class part>
const part *part_of_layer(nb::handle given, const char *name, const char *wanted, std::vector<nb::object> &kept,
                          bool needed) {
  if (given.is_none() && !needed) return nullptr;
  if (!nb::isinstance<part>(given)) refuse_type(name, given, wanted);
  kept.push_back(nb::borrow(given));
  return &nb::cast<const part &>(given);
}

const fovea_nn_linear *linear_of(nb::handle given, const char *name, std::vector<nb::object> &kept,
                                 bool needed = true);
const fovea_nn_norm *norm_of(nb::handle given, const char *name, std::vector<nb::object> &kept, bool needed);

void bind_linear(nb::module_ &module);
void bind_norms(nb::module_ &module);
void bind_row_functions(nb::module_ &module);

/* The last arguments of functions of rows, and how stubs write them. */
#define FOVEA_PYTHON_OUTPUT       nb::arg("out") = nb::none(), nb::arg("threads") = 0
#define FOVEA_PYTHON_OUTPUT_TYPES "out: Tensor | None = None, threads: int = 0) -> Tensor"

} // namespace fovea_python

#endif
