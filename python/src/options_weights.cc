/* Keywords about weights, and about the arithmetic of both products. */
#include "call.h"

namespace fovea_python {

void set_sink(attention_call &call, nb::handle value, const char *name) {
  if (is_single(value)) {
    double sink = number_of(value, name);
    if (sink != 0) refuse(name, "%s is %g; a single number can only be 0, else give one for each head", name, sink);
    call.problem.sink = FOVEA_SINK_ZERO;
    return;
  }
  call.problem.sink = FOVEA_SINK_PER_HEAD;
  call.tensors.sink = call.floats(value, name, &call.problem.heads, 1);
}

fovea_normaliser normaliser_of(nb::handle value, const char *name) {
  return static_cast<fovea_normaliser>(choice_of(value, name,
                                                 {{"softmax", FOVEA_NORMALISER_SOFTMAX},
                                                  {"relu", FOVEA_NORMALISER_RELU},
                                                  {"relu_squared", FOVEA_NORMALISER_RELU_SQUARED},
                                                  {"sigmoid", FOVEA_NORMALISER_SIGMOID}}));
}

namespace {

void set_divisor(attention_call &call, nb::handle value, const char *name) {
  fovea_problem_normaliser &normaliser = call.problem.normaliser;
  if (nb::isinstance<nb::str>(value)) {
    normaliser.divisor = static_cast<fovea_divisor>(choice_of(
        value, name, {{"none", FOVEA_DIVISOR_NONE}, {"keys", FOVEA_DIVISOR_KEYS}, {"sum", FOVEA_DIVISOR_SUM}}));
    return;
  }
  normaliser.divisor = FOVEA_DIVISOR_CONSTANT;
  normaliser.divisor_value = number_of(value, name);
}

fovea_mode mode_of(nb::handle value, const char *name) {
  return static_cast<fovea_mode>(
      choice_of(value, name, {{"exact", FOVEA_MODE_EXACT}, {"bf16", FOVEA_MODE_BF16}, {"int8", FOVEA_MODE_INT8}}));
}

void set_mode(attention_call &call, nb::handle value, const char *name) {
  bool pair = is_pair(value);
  call.problem.modes.score = mode_of(pair ? part_of(value, name, 2, 0) : nb::borrow(value), name);
  call.problem.modes.value = mode_of(pair ? part_of(value, name, 2, 1) : nb::borrow(value), name);
}

/* (kv_heads, dim), or (dim,), which all heads share. */
const float *channel_numbers(attention_call &call, nb::handle value, const char *name, int64_t dim,
                             fovea_channels *kind) {
  tensor &numbers = call.hold(value, name);
  const int64_t shape[] = {call.problem.kv_heads, dim};
  *kind = numbers.axes == 1 ? FOVEA_CHANNELS_SHARED : FOVEA_CHANNELS_PER_HEAD;
  require_type(numbers, name, element::f32);
  require_shape(numbers, name, numbers.axes == 1 ? shape + 1 : shape, numbers.axes == 1 ? 1 : 2);
  require_contiguous(numbers, name);
  return static_cast<const float *>(numbers.data);
}

const option options[] = {
    {"sink", "Tensor | float",
     "one more key of the softmax, with a value of zero: float32 (heads,), its scores; or 0.0 for all heads "
     "(softmax-1)",
     in_all, false, set_sink},
    {"normaliser", "str", "'softmax' (default), 'relu', 'relu_squared' or 'sigmoid': how scores become weights",
     in_problem | in_stream, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.normaliser.kind = normaliser_of(value, name);
     }},
    {"divisor", "float | str",
     "what a row is divided by without the softmax: 'none' (default), 'keys', 'sum' or a number",
     in_problem | in_stream, false, set_divisor},
    {"sigmoid_bias", "float", "is added to scores before the sigmoid, often -log(keys)", in_problem | in_stream,
     false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.normaliser.sigmoid_bias = number_of(value, name);
     }},
    {"mode", "str | tuple[str, str]",
     "'exact' (default), 'bf16' or 'int8', or a pair, of scores and of values: the arithmetic of the products",
     in_problem | in_stream, false, set_mode},
    {"key_centre", "Tensor",
     "float32 (kv_heads, qk_dim) or (qk_dim,): subtracted from keys before int8 mode quantises them", in_all, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.tensors.channels.key_centre =
           channel_numbers(call, value, name, call.problem.qk_dim, &call.problem.channels.key_centre);
     }},
    {"key_scale", "Tensor", "the same, multiplied with rows of Q; K has been divided by it", in_all, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.tensors.channels.key_scale =
           channel_numbers(call, value, name, call.problem.qk_dim, &call.problem.channels.key_scale);
     }},
    {"value_scale", "Tensor",
     "float32 (kv_heads, v_dim) or (v_dim,), multiplied with outputs; V has been divided by it", in_all, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.tensors.channels.value_scale =
           channel_numbers(call, value, name, call.problem.v_dim, &call.problem.channels.value_scale);
     }},
};

} // namespace

option_list weight_options() {
  return {options, sizeof options / sizeof *options};
}

} // namespace fovea_python
