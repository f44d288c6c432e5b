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

fovea_nn_activation activation_of(nb::handle value, const char *name) {
  if (value.is_none()) return FOVEA_NN_ACTIVATION_NONE;
  return static_cast<fovea_nn_activation>(choice_of(value, name,
                                                    {{"relu", FOVEA_NN_ACTIVATION_RELU},
                                                     {"gelu", FOVEA_NN_ACTIVATION_GELU},
                                                     {"gelu_tanh", FOVEA_NN_ACTIVATION_GELU_TANH},
                                                     {"silu", FOVEA_NN_ACTIVATION_SILU},
                                                     {"elu", FOVEA_NN_ACTIVATION_ELU}}));
}

const float *copy_floats(aligned_memory &to, nb::handle given, const char *name, const int64_t *shape, int axes) {
  tensor numbers;
  const float *from = floats_of(numbers, given, name, shape, axes);
  size_t bytes = sizeof(float);
  for (int axis = 0; axis < axes; axis++) bytes *= static_cast<size_t>(shape[axis]);
  return from ? static_cast<const float *>(std::memcpy(to.reserve(bytes), from, bytes)) : nullptr;
}

/* ---- Linear layers ------------------------------------------------------------------------------------------- */

void linear::set_common(nb::handle bias, nb::handle activation, nb::handle mode) {
  layer_.bias = copy_floats(bias_, bias, "bias", &layer_.out, 1);
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
  fovea_nn_linear_init(&unpacked, given.dim, given.count, nullptr);
  given.hand_to(unpacked.weights, unpacked.weight_type, unpacked.weight_stride);
  size_t element = unpacked.weight_type == FOVEA_F32 ? 4 : 2;
  bytes_ =
      quantise
          ? fovea_nn_quantised_size(given.dim, given.count)
          : element * static_cast<size_t>(fovea_nn_panel_elements(given.dim, given.count, unpacked.weight_type));
  void *packed = weights_.reserve(bytes_);
  row_execution execution(threads);
  compute([&](fovea_error *error) {
    return (quantise ? fovea_nn_quantise : fovea_nn_pack)(&unpacked, packed, &execution, error);
  });
  fovea_nn_linear_init(&layer_, given.dim, given.count, packed);
  layer_.layout = quantise ? FOVEA_NN_WEIGHTS_QUANTISED : FOVEA_NN_WEIGHTS_IN_PANELS;
  layer_.weight_type = quantise ? FOVEA_F32 : unpacked.weight_type;
  set_common(bias, activation, mode);
}

/* ---- Quantised weights --------------------------------------------------------------------------------------- */

namespace {

/* Formats, and of ggml's the dims and bytes of a block. */
const struct {
  choice name;
  int64_t dims, bytes;
} weight_formats[] = {
    {{"q8_0", FOVEA_NN_FORMAT_Q8_0}, 32, 34},     {{"q4_0", FOVEA_NN_FORMAT_Q4_0}, 32, 18},
    {{"q4_1", FOVEA_NN_FORMAT_Q4_1}, 32, 20},     {{"q5_0", FOVEA_NN_FORMAT_Q5_0}, 32, 22},
    {{"q5_1", FOVEA_NN_FORMAT_Q5_1}, 32, 24},     {{"q4_k", FOVEA_NN_FORMAT_Q4_K}, 256, 144},
    {{"q5_k", FOVEA_NN_FORMAT_Q5_K}, 256, 176},   {{"q6_k", FOVEA_NN_FORMAT_Q6_K}, 256, 210},
    {{"iq4_nl", FOVEA_NN_FORMAT_IQ4_NL}, 32, 18}, {{"mxfp4", FOVEA_NN_FORMAT_MXFP4}, 32, 17},
    {{"gptq", FOVEA_NN_FORMAT_GPTQ}, 8, 4},       {{"awq", FOVEA_NN_FORMAT_AWQ}, 8, 4},
    {{"e4m3", FOVEA_NN_FORMAT_E4M3}, 1, 1},
};

void read_if_given(tensor &to, nb::handle given, const char *name) {
  if (!given.is_none()) to.read(given, name);
}

/* Bytes of quantised weights, as engines keep them, in a tensor of any elements; without one NULL. */
const void *bytes_of(const tensor &tensor, const char *name, size_t wanted) {
  if (!tensor.exists()) return nullptr;
  require_contiguous(tensor, name);
  size_t bytes = static_cast<size_t>(facts_of(tensor.type).bytes);
  for (int axis = 0; axis < tensor.axes; axis++) bytes *= static_cast<size_t>(tensor.shape[axis]);
  if (tensor.type == element::other || bytes != wanted)
    refuse(name, "%s has %zu bytes, elements of %s; it must have %zu", name, bytes, facts_of(tensor.type).name,
           wanted);
  return tensor.data;
}

int64_t rounded_up(int64_t size, int64_t by) {
  return by > 0 ? size / by + (size % by != 0) : 0;
}

} // namespace

linear::linear(const weight_codes &given, nb::handle bias, nb::handle activation, nb::handle mode) {
  std::vector<choice> names;
  for (const auto &each : weight_formats) names.push_back(each.name);
  const auto &kind = weight_formats[choice_of(given.format, "format", names.data(), names.size())];
  fovea_nn_codes codes;
  fovea_error error;
  fovea_nn_codes_init(&codes, static_cast<fovea_nn_format>(kind.name.meaning), given.in, given.out, nullptr);
  codes.group = given.group;
  codes.group_outs = given.group_outs;
  codes.zeros_less_one = given.zeros_less_one;
  tensor blocks, scales, zeros, groups;
  bool fp8 = codes.format == FOVEA_NN_FORMAT_E4M3;
  read_if_given(scales, given.scales, "scales");
  if (fp8 && scales.exists()) codes.scale_type = number_type(scales.type, "scales");
  read_if_given(groups, given.group_of_dims, "g_idx");
  if (groups.exists()) require_type(groups, "g_idx", element::i32);
  codes.g_idx = bytes_of(groups, "g_idx", static_cast<size_t>(given.in) * 4);
  check(fovea_nn_codes_size(&codes, &bytes_, &error), error); /* refuses sizes before they are multiplied */
  if (bytes_ == SIZE_MAX) throw std::bad_alloc();
  int64_t scale_count =
      rounded_up(given.in, given.group) * (fp8 ? rounded_up(given.out, given.group_outs) : given.out);
  int64_t scale_bytes = codes.scale_type == FOVEA_F32 && fp8 ? 4 : 2;
  blocks.read(given.data, "data");
  read_if_given(zeros, given.zeros, "zeros");
  codes.data = bytes_of(blocks, "data", static_cast<size_t>(given.out * (given.in / kind.dims) * kind.bytes));
  codes.scales = bytes_of(scales, "scales", static_cast<size_t>(scale_count * scale_bytes));
  codes.zeros = bytes_of(zeros, "zeros", static_cast<size_t>(scale_count / 2));
  void *packed = weights_.reserve(bytes_);
  row_execution execution(0);
  compute([&](fovea_error *error) { return fovea_nn_pack_codes(&codes, packed, &execution, error); });
  fovea_nn_linear_init(&layer_, given.in, given.out, packed);
  layer_.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  set_common(bias, activation, mode);
}

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

nb::object linear::run(nb::handle x, nb::handle bias, nb::handle gate, nb::handle residual, nb::handle out,
                       int threads) const {
  rows from, to, gates, residuals;
  tensor biases;
  fovea_nn_linear layer = layer_;
  if (!bias.is_none()) layer.bias = floats_of(biases, bias, "bias", &layer.out, 1);
  from.read(x, "x");
  from.require(from.count, layer_.in);
  nb::object object = output_rows(to, out, x, from, layer_.out);
  gates.read(gate, "gate");
  residuals.read(residual, "residual");
  gates.require(from.count, layer_.out);
  residuals.require(from.count, layer_.out);
  fovea_nn_linear_rows given;
  fovea_nn_linear_rows_init(&given, &layer, from.count, nullptr, nullptr);
  from.hand_to(given.x, given.x_type, given.x_stride);
  to.hand_to(given.y, given.y_type, given.y_stride);
  gates.hand_to(given.gate, given.gate_type, given.gate_stride);
  residuals.hand_to(given.residual, given.residual_type, given.residual_stride);
  row_execution execution(threads);
  compute([&](fovea_error *error) { return fovea_nn_linear_run(&layer, &given, &execution, error); });
  return object;
}

const fovea_nn_linear *linear_of(nb::handle given, const char *name, std::vector<nb::object> &kept, bool needed) {
  const linear *found = part_of_layer<linear>(given, name, "a fovea.nn.Linear", kept, needed);
  return found ? &found->layer() : nullptr;
}

void bind_linear(nb::module_ &module) {
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
             nb::handle mode, int64_t group, nb::handle scales, nb::handle zeros, bool zeros_less_one,
             int64_t group_outs, nb::handle g_idx) {
            return new linear({format, in, out, data, scales, zeros, g_idx, group, group_outs, zeros_less_one},
                              bias, activation, mode);
          },
          nb::arg("format"), nb::arg("in_"), nb::arg("out"), nb::arg("data"), nb::arg("bias") = nb::none(),
          nb::kw_only(), nb::arg("activation") = nb::none(), nb::arg("mode") = "exact", nb::arg("group") = 0,
          nb::arg("scales") = nb::none(), nb::arg("zeros") = nb::none(), nb::arg("zeros_less_one") = false,
          nb::arg("group_outs") = 0, nb::arg("g_idx") = nb::none(), nb::rv_policy::take_ownership,
          nb::sig(
              "def of_codes(format: str, in_: int, out: int, data: Tensor, bias: Tensor | None = None, *, "
              "activation: str | None = None, mode: str = 'exact', group: int = 0, scales: Tensor | None = None, "
              "zeros: Tensor | None = None, zeros_less_one: bool = False, group_outs: int = 0, g_idx: Tensor | "
              "None = None) -> Linear"),
          "A layer with quantised weights as engines publish them; no number changes.\n"
          "\n"
          "    format: ggml's blocks of 32 or 256 dims: 'q8_0', 'q4_0', 'q4_1', 'q5_0', 'q5_1', 'q4_k', 'q5_k', "
          "'q6_k',\n"
          "        'iq4_nl', 'mxfp4'; 'gptq', 'awq'; or 'e4m3', fp8\n"
          "    data: the bytes of the blocks, row by row; qweight; or the codes (out, in)\n"
          "    group: dims that share a scale: 16, 32, 64, 128 or in_\n"
          "    scales: float16 (groups, out) of 'gptq' and 'awq'; of 'e4m3' (out / group_outs, groups), both "
          "rounded "
          "up,\n"
          "        float32, float16 or bfloat16\n"
          "    zeros: qzeros, 4 bits each; zeros_less_one: as AutoGPTQ stores them, less 1\n"
          "    group_outs: of 'e4m3', outputs that share a scale: `out`, 1, or 128 of blocks of 128 x 128\n"
          "    g_idx: int32 (in_,), the group of each dim (desc_act of 'gptq')")
      .def("__call__", &linear::run, nb::arg("x"), nb::kw_only(), nb::arg("bias") = nb::none(),
           nb::arg("gate") = nb::none(), nb::arg("residual") = nb::none(), FOVEA_PYTHON_OUTPUT,
           nb::sig("def __call__(self, x: Tensor, *, bias: Tensor | None = None, gate: Tensor | None = None, "
                   "residual: Tensor | None = None, " FOVEA_PYTHON_OUTPUT_TYPES),
           "y (..., out) of x (..., in), of x's type. Activated outputs are multiplied by `gate` (..., out), then\n"
           "`residual` (..., out) is added; `out` may be one of the two. `bias`, float32 (out,), takes the place "
           "of\n"
           "the layer's own.")
      .def_prop_ro("in_features", [](const linear &of) { return of.layer().in; })
      .def_prop_ro("out_features", [](const linear &of) { return of.layer().out; })
      .def_prop_ro("nbytes", &linear::bytes, "bytes of the packed weights");
}

} // namespace fovea_python
