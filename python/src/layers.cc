#include "layers.h"
#include "values.h"

#include <fovea/weights.h>

#include <cstring>
#include <new>

namespace fovea_python {

void aligned_memory::release::operator()(void *memory) const {
  ::operator delete (memory, std::align_val_t{64});
}

void *aligned_memory::reserve(size_t bytes) {
  memory.reset(::operator new (bytes ? bytes : 1, std::align_val_t{64}));
  return memory.get();
}

namespace {

fovea_nn_activation activation_of(nb::handle value, const char *name) {
  if (value.is_none()) return FOVEA_NN_ACTIVATION_NONE;
  return static_cast<fovea_nn_activation>(choice_of(value, name,
                                                    {{"relu", FOVEA_NN_ACTIVATION_RELU},
                                                     {"gelu", FOVEA_NN_ACTIVATION_GELU},
                                                     {"gelu_tanh", FOVEA_NN_ACTIVATION_GELU_TANH},
                                                     {"silu", FOVEA_NN_ACTIVATION_SILU},
                                                     {"elu", FOVEA_NN_ACTIVATION_ELU}}));
}

/* Copies `count` numbers of float32; None: none. */
const float *copy_floats(aligned_memory &to, nb::handle given, const char *name, int64_t count) {
  if (given.is_none()) return nullptr;
  tensor numbers;
  numbers.read(given, name);
  if (numbers.type != element::f32)
    refuse(name, "%s has elements of %s; they must be float32", name, facts_of(numbers.type).name);
  require_shape(numbers, name, &count, 1);
  require_contiguous(numbers, name);
  size_t bytes = sizeof(float) * static_cast<size_t>(count);
  return static_cast<const float *>(std::memcpy(to.reserve(bytes), numbers.data, bytes));
}

/* Bytes of quantised weights, as engines keep them, in a tensor of any elements. */
const void *bytes_of(tensor &tensor, nb::handle given, const char *name, size_t wanted) {
  if (given.is_none()) return nullptr;
  tensor.read(given, name);
  require_contiguous(tensor, name);
  size_t bytes = static_cast<size_t>(facts_of(tensor.type).bytes);
  for (int axis = 0; axis < tensor.axes; axis++) bytes *= static_cast<size_t>(tensor.shape[axis]);
  if (tensor.type == element::other || bytes != wanted)
    refuse(name, "%s has %zu bytes, elements of %s; it must have %zu", name, bytes, facts_of(tensor.type).name,
           wanted);
  return tensor.data;
}

} // namespace

/* ---- Linear layers ------------------------------------------------------------------------------------------- */

void linear::set_common(nb::handle bias, nb::handle activation, nb::handle mode) {
  layer_.bias = copy_floats(bias_, bias, "bias", layer_.out);
  layer_.activation = activation_of(activation, "activation");
  layer_.mode = static_cast<fovea_mode>(
      choice_of(mode, "mode", {{"exact", FOVEA_MODE_EXACT}, {"bf16", FOVEA_MODE_BF16}, {"int8", FOVEA_MODE_INT8}}));
}

linear::linear(nb::handle weight, nb::handle bias, nb::handle activation, nb::handle mode, bool quantise,
               int threads) {
  rows given;
  given.read(weight, "weight");
  if (given.memory.axes != 2)
    refuse("weight", "weight has the shape %s; it must be (out, in)", shape_text(given.memory).text);
  fovea_nn_linear unpacked;
  fovea_error error;
  row_execution execution(threads);
  fovea_nn_linear_init(&unpacked, given.dim, given.count, given.memory.data);
  unpacked.weight_type = given.type("weight");
  unpacked.weight_stride = given.stride;
  bool codes = quantise;
  size_t element = unpacked.weight_type == FOVEA_F32 ? 4 : 2;
  bytes_ =
      codes ? fovea_nn_quantised_size(given.dim, given.count)
            : element * static_cast<size_t>(fovea_nn_panel_elements(given.dim, given.count, unpacked.weight_type));
  void *packed = weights_.reserve(bytes_);
  fovea_status status;
  {
    nb::gil_scoped_release others_run;
    status = codes ? fovea_nn_quantise(&unpacked, packed, &execution, &error)
                   : fovea_nn_pack(&unpacked, packed, &execution, &error);
  }
  check(status, error);
  fovea_nn_linear_init(&layer_, given.dim, given.count, packed);
  layer_.layout = codes ? FOVEA_NN_WEIGHTS_QUANTISED : FOVEA_NN_WEIGHTS_IN_PANELS;
  layer_.weight_type = codes ? FOVEA_F32 : unpacked.weight_type;
  set_common(bias, activation, mode);
}

namespace {

const std::initializer_list<choice> weight_formats = {
    {"q8_0", FOVEA_NN_FORMAT_Q8_0},   {"q4_0", FOVEA_NN_FORMAT_Q4_0}, {"q4_1", FOVEA_NN_FORMAT_Q4_1},
    {"q5_0", FOVEA_NN_FORMAT_Q5_0},   {"q5_1", FOVEA_NN_FORMAT_Q5_1}, {"q4_k", FOVEA_NN_FORMAT_Q4_K},
    {"q5_k", FOVEA_NN_FORMAT_Q5_K},   {"q6_k", FOVEA_NN_FORMAT_Q6_K}, {"iq4_nl", FOVEA_NN_FORMAT_IQ4_NL},
    {"mxfp4", FOVEA_NN_FORMAT_MXFP4}, {"gptq", FOVEA_NN_FORMAT_GPTQ}, {"awq", FOVEA_NN_FORMAT_AWQ},
};

/* Bytes of the blocks of a matrix, or of its words. */
size_t code_bytes(int format, int64_t in, int64_t out) {
  static const struct {
    int64_t dims, bytes;
  } blocks[] = {{32, 34},   {32, 18},   {32, 20},   {32, 22}, {32, 24},
                {256, 144}, {256, 176}, {256, 210}, {32, 18}, {32, 17}};
  if (format >= FOVEA_NN_FORMAT_GPTQ) return static_cast<size_t>(in * out / 2);
  return static_cast<size_t>(out * (in / blocks[format].dims) * blocks[format].bytes);
}

} // namespace

linear::linear(nb::handle format, int64_t in, int64_t out, nb::handle data, nb::handle bias, nb::handle activation,
               nb::handle mode, int64_t group, nb::handle scales, nb::handle zeros, bool zeros_less_one) {
  int name = choice_of(format, "format", weight_formats);
  tensor blocks, scale_numbers, zero_numbers;
  fovea_nn_codes codes;
  fovea_error error;
  fovea_nn_codes_init(&codes, static_cast<fovea_nn_format>(name), in, out, nullptr);
  codes.group = group;
  codes.zeros_less_one = zeros_less_one;
  check(fovea_nn_codes_size(&codes, &bytes_, &error), error); /* refuses sizes before they are multiplied */
  if (bytes_ == SIZE_MAX) throw std::bad_alloc();
  size_t groups = group > 0 ? static_cast<size_t>(in / group) : 0;
  codes.data = bytes_of(blocks, data, "data", code_bytes(name, in, out));
  codes.scales = bytes_of(scale_numbers, scales, "scales", groups * static_cast<size_t>(out) * 2);
  codes.zeros = bytes_of(zero_numbers, zeros, "zeros", groups * static_cast<size_t>(out) / 2);
  void *packed = weights_.reserve(bytes_);
  row_execution execution(0);
  fovea_status status;
  {
    nb::gil_scoped_release others_run;
    status = fovea_nn_pack_codes(&codes, packed, &execution, &error);
  }
  check(status, error);
  fovea_nn_linear_init(&layer_, in, out, packed);
  layer_.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  set_common(bias, activation, mode);
}

nb::object linear::run(nb::handle x, nb::handle gate, nb::handle residual, nb::handle out, int threads) const {
  rows from, to, gates, residuals;
  from.read(x, "x");
  require_rows(from, "x", from.count, layer_.in);
  nb::object object = output_rows(to, out, x, from, layer_.out);
  gates.read(gate, "gate");
  residuals.read(residual, "residual");
  require_rows(gates, "gate", from.count, layer_.out);
  require_rows(residuals, "residual", from.count, layer_.out);
  fovea_nn_linear_rows given;
  fovea_nn_linear_rows_init(&given, &layer_, from.count, from.memory.data, to.memory.data);
  given.x_type = from.type("x");
  given.y_type = to.type("out");
  given.x_stride = from.stride;
  given.y_stride = to.stride;
  if (gates.exists())
    given.gate = gates.memory.data, given.gate_type = gates.type("gate"), given.gate_stride = gates.stride;
  if (residuals.exists())
    given.residual = residuals.memory.data, given.residual_type = residuals.type("residual"),
    given.residual_stride = residuals.stride;
  row_execution execution(threads);
  fovea_error error;
  fovea_status status;
  {
    nb::gil_scoped_release others_run;
    status = fovea_nn_linear_run(&layer_, &given, &execution, &error);
  }
  check(status, error);
  return object;
}

/* ---- Norms --------------------------------------------------------------------------------------------------- */

norm::norm(fovea_nn_norm_kind kind, int64_t dim, nb::handle gamma, nb::handle beta, double eps) {
  fovea_nn_norm_init(&layer_, kind, dim);
  layer_.eps = eps;
  layer_.gamma = copy_floats(gamma_, gamma, "gamma", dim);
  layer_.beta = copy_floats(beta_, beta, "beta", dim);
}

nb::object norm::run(nb::handle x, nb::handle residual, nb::handle sum, nb::handle out, int threads) const {
  rows from, to, residuals, sums;
  from.read(x, "x");
  require_rows(from, "x", from.count, layer_.dim);
  nb::object object = output_rows(to, out, x, from, layer_.dim);
  residuals.read(residual, "residual");
  if (!sum.is_none()) sums.write(sum, "sum");
  require_rows(residuals, "residual", from.count, layer_.dim);
  require_rows(sums, "sum", from.count, layer_.dim);
  fovea_nn_norm_rows given;
  fovea_nn_norm_rows_init(&given, &layer_, from.count, from.memory.data, to.memory.data);
  given.x_type = from.type("x");
  given.y_type = to.type("out");
  given.x_stride = from.stride;
  given.y_stride = to.stride;
  if (residuals.exists())
    given.residual = residuals.memory.data, given.residual_type = residuals.type("residual"),
    given.residual_stride = residuals.stride;
  if (sums.exists())
    given.sum = sums.memory.data, given.sum_type = sums.type("sum"), given.sum_stride = sums.stride;
  row_execution execution(threads);
  fovea_error error;
  fovea_status status;
  {
    nb::gil_scoped_release others_run;
    status = fovea_nn_norm_run(&layer_, &given, &execution, &error);
  }
  check(status, error);
  return object;
}

/* ---- Functions of rows --------------------------------------------------------------------------------------- */

namespace {

/* Runs a function of rows that is none of the layers; `apply` takes the map, the execution and the error. */
template <class function> nb::object map_rows(nb::handle x, nb::handle out, int threads, function apply) {
  rows from, to;
  from.read(x, "x");
  nb::object object = output_rows(to, out, x, from, from.dim);
  fovea_nn_map map;
  fovea_nn_map_init(&map, from.count, from.dim, from.memory.data, to.memory.data);
  map.x_type = from.type("x");
  map.y_type = to.type("out");
  map.x_stride = from.stride;
  map.y_stride = to.stride;
  row_execution execution(threads);
  fovea_error error;
  fovea_status status;
  {
    nb::gil_scoped_release others_run;
    status = apply(&map, &execution, &error);
  }
  check(status, error);
  return object;
}

nb::object activate(nb::handle x, nb::handle activation, nb::handle out, int threads) {
  fovea_nn_activation kind = activation_of(activation, "activation");
  return map_rows(x, out, threads, [kind](fovea_nn_map *map, fovea_execution *execution, fovea_error *error) {
    return fovea_nn_activate(map, kind, execution, error);
  });
}

nb::object softmax(nb::handle x, nb::handle out, int threads) {
  return map_rows(x, out, threads, [](fovea_nn_map *map, fovea_execution *execution, fovea_error *error) {
    return fovea_nn_softmax(map, execution, error);
  });
}

#define OUTPUT       nb::kw_only(), nb::arg("out") = nb::none(), nb::arg("threads") = 0
#define OUTPUT_TYPES "out: Tensor | None = None, threads: int = 0) -> Tensor"

} // namespace

void bind_layers(nb::module_ &module) {
  nb::class_<linear>(
      module, "Linear",
      "A linear layer y = act(x W^T + b) * gate + residual, with one answer. W is (out, in), float32, float16 or\n"
      "bfloat16, and is packed once into memory of the layer; a later change of `weight` does not change it. Each "
      "step\n"
      "after the product rounds once, in float32.\n"
      "\n"
      "    bias: float32 (out,)\n"
      "    activation: 'relu', 'gelu', 'gelu_tanh', 'silu' or 'elu'\n"
      "    quantise: weights become codes of 8 bits, with one scale for each output\n"
      "    mode: 'exact'; 'bf16', with weights of bfloat16; 'int8', with quantised weights")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, bool, int>(), nb::arg("weight"),
           nb::arg("bias") = nb::none(), nb::kw_only(), nb::arg("activation") = nb::none(),
           nb::arg("mode") = "exact", nb::arg("quantise") = false, nb::arg("threads") = 0,
           nb::sig("def __init__(self, weight: Tensor, bias: Tensor | None = None, *, activation: str | None = "
                   "None, mode: "
                   "str = 'exact', quantise: bool = False, threads: int = 0) -> None"))
      .def_static(
          "of_codes",
          [](nb::handle format, int64_t in, int64_t out, nb::handle data, nb::handle bias, nb::handle activation,
             nb::handle mode, int64_t group, nb::handle scales, nb::handle zeros, bool zeros_less_one) {
            return new linear(format, in, out, data, bias, activation, mode, group, scales, zeros, zeros_less_one);
          },
          nb::arg("format"), nb::arg("in_"), nb::arg("out"), nb::arg("data"), nb::arg("bias") = nb::none(),
          nb::kw_only(), nb::arg("activation") = nb::none(), nb::arg("mode") = "exact", nb::arg("group") = 0,
          nb::arg("scales") = nb::none(), nb::arg("zeros") = nb::none(), nb::arg("zeros_less_one") = false,
          nb::rv_policy::take_ownership,
          nb::sig("def of_codes(format: str, in_: int, out: int, data: Tensor, bias: Tensor | None = None, *, "
                  "activation: "
                  "str | None = None, mode: str = 'exact', group: int = 0, scales: Tensor | None = None, zeros: "
                  "Tensor | "
                  "None = None, zeros_less_one: bool = False) -> Linear"),
          "A layer with quantised weights as engines publish them: the bytes of blocks of ggml's 'q8_0', 'q4_0', "
          "'q4_1',\n"
          "'q5_0', 'q5_1', 'q4_k', 'q5_k', 'q6_k', 'iq4_nl' or 'mxfp4', or qweight of 'gptq' or 'awq' with their "
          "scales\n"
          "(float16) and zeros.")
      .def("__call__", &linear::run, nb::arg("x"), nb::kw_only(), nb::arg("gate") = nb::none(),
           nb::arg("residual") = nb::none(), nb::arg("out") = nb::none(), nb::arg("threads") = 0,
           nb::sig("def __call__(self, x: Tensor, *, gate: Tensor | None = None, residual: Tensor | None = "
                   "None, " OUTPUT_TYPES),
           "y (..., out) of x (..., in), of x's type. Activated outputs are multiplied by `gate` (..., out), then\n"
           "`residual` (..., out) is added; `out` may be one of the two.")
      .def_prop_ro("in_features", [](const linear &of) { return of.layer().in; })
      .def_prop_ro("out_features", [](const linear &of) { return of.layer().out; })
      .def_prop_ro("nbytes", &linear::bytes, "bytes of the packed weights");
  nb::class_<norm>(module, "Norm", "A norm of rows: LayerNorm() or RMSNorm() makes one.")
      .def("__call__", &norm::run, nb::arg("x"), nb::kw_only(), nb::arg("residual") = nb::none(),
           nb::arg("sum") = nb::none(), nb::arg("out") = nb::none(), nb::arg("threads") = 0,
           nb::sig("def __call__(self, x: Tensor, *, residual: Tensor | None = None, sum: Tensor | None = "
                   "None, " OUTPUT_TYPES),
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
  module.def(
      "activate", activate, nb::arg("x"), nb::arg("activation"), OUTPUT,
      nb::sig("def activate(x: Tensor, activation: str, *, " OUTPUT_TYPES),
      "'relu', 'gelu', 'gelu_tanh', 'silu' or 'elu' of each number, as after a linear layer. `out` may be x.");
  module.def("softmax", softmax, nb::arg("x"), OUTPUT, nb::sig("def softmax(x: Tensor, *, " OUTPUT_TYPES),
             "Softmax of the last axis, in natural units. A row of -inf only gives zeros. `out` may be x.");
}

} // namespace fovea_python
