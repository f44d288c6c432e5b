#include "layers.h"

namespace fovea_python {

norm::norm(fovea_nn_norm_kind kind, int64_t dim, nb::handle gamma, nb::handle beta, double eps) {
  fovea_nn_norm_init(&layer_, kind, dim);
  layer_.eps = eps;
  layer_.gamma = copy_floats(gamma_, gamma, "gamma", &dim, 1);
  layer_.beta = copy_floats(beta_, beta, "beta", &dim, 1);
}

nb::object norm::run(nb::handle x, nb::handle residual, nb::handle sum, nb::handle out, int threads) const {
  rows from, to, residuals, sums;
  from.read(x, "x");
  from.require(from.count, layer_.dim);
  nb::object object = output_rows(to, out, x, from, layer_.dim);
  residuals.read(residual, "residual");
  if (!sum.is_none()) sums.write(sum, "sum");
  residuals.require(from.count, layer_.dim);
  sums.require(from.count, layer_.dim);
  fovea_nn_norm_rows given;
  fovea_nn_norm_rows_init(&given, &layer_, from.count, nullptr, nullptr);
  from.hand_to(given.x, given.x_type, given.x_stride);
  to.hand_to(given.y, given.y_type, given.y_stride);
  residuals.hand_to(given.residual, given.residual_type, given.residual_stride);
  sums.hand_to(given.sum, given.sum_type, given.sum_stride);
  row_execution execution(threads);
  compute([&](fovea_error *error) { return fovea_nn_norm_run(&layer_, &given, &execution, error); });
  return object;
}

const fovea_nn_norm *norm_of(nb::handle given, const char *name, std::vector<nb::object> &kept, bool needed) {
  const norm *found = part_of_layer<norm>(given, name, "a fovea.nn.Norm", kept, needed);
  return found ? &found->layer() : nullptr;
}

void bind_norms(nb::module_ &module) {
  nb::class_<norm>(module, "Norm", "A norm of rows: LayerNorm() or RMSNorm() makes one.")
      .def("__call__", &norm::run, nb::arg("x"), nb::kw_only(), nb::arg("residual") = nb::none(),
           nb::arg("sum") = nb::none(), FOVEA_PYTHON_OUTPUT,
           nb::sig("def __call__(self, x: Tensor, *, residual: Tensor | None = None, sum: Tensor | None = "
                   "None, " FOVEA_PYTHON_OUTPUT_TYPES),
           "Normalises rows, (..., dim), of x's type. `residual` is added to x first, and x + residual is written "
           "to\n"
           "`sum`, if it is given. `out` may be x.");
  module.def(
      "LayerNorm",
      [](int64_t dim, nb::handle gamma, nb::handle beta, double eps) {
        return new norm(FOVEA_NN_LAYER_NORM, dim, gamma, beta, eps);
      },
      nb::arg("dim"), nb::arg("gamma") = nb::none(), nb::arg("beta") = nb::none(), nb::kw_only(),
      nb::arg("eps") = 1e-5, nb::rv_policy::take_ownership,
      nb::sig("def LayerNorm(dim: int, gamma: Tensor | None = None, beta: Tensor | None = None, *, eps: float = "
              "1e-5) -> Norm"),
      "(x - mean) / sqrt(variance + eps) * gamma + beta (Ba et al., 2016).");
  module.def(
      "RMSNorm",
      [](int64_t dim, nb::handle gamma, double eps) {
        return new norm(FOVEA_NN_RMS_NORM, dim, gamma, nb::none(), eps);
      },
      nb::arg("dim"), nb::arg("gamma") = nb::none(), nb::kw_only(), nb::arg("eps") = 1e-5,
      nb::rv_policy::take_ownership,
      nb::sig("def RMSNorm(dim: int, gamma: Tensor | None = None, *, eps: float = 1e-5) -> Norm"),
      "x / sqrt(mean of x^2 + eps) * gamma (Zhang & Sennrich, 2019).");
}

} // namespace fovea_python
