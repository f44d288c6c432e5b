#include "multihead.h"

namespace fovea_python {

attention_layer::attention_layer(nb::handle query, nb::handle key, nb::handle value, nb::handle output,
                                 int64_t heads, nb::handle kv_heads, nb::handle rotary, nb::handle bias_key,
                                 nb::handle bias_value, bool average_scores, bool rows_first)
    : heads_(heads), kv_heads_(kv_heads.is_none() ? heads : integer_of(kv_heads, "kv_heads")),
      rows_first_(rows_first) {
  const fovea_nn_linear *layers[] = {linear_of(query, "query", kept_), linear_of(key, "key", kept_, false),
                                     linear_of(value, "value", kept_, false), linear_of(output, "output", kept_)};
  fovea_nn_attention_init(&layer_, layers[0], layers[1], layers[2], layers[3]);
  layer_.rotary = rotary_of(rotary, "rotary");
  kept_.push_back(nb::borrow(rotary));
  struct {
    const char *name;
    int64_t heads, numbers;
    const char *of;
  } all[] = {{"heads", heads_, layer_.query->out, "outputs of query"},
             {"kv_heads", kv_heads_, layer_.value ? layer_.value->out : 0, "outputs of value"},
             {"heads", heads_, layer_.output->in, "inputs of output"}};
  for (const auto &each : all)
    if (each.heads < 1 || each.numbers % each.heads)
      refuse(each.name, "%s is %jd; it must divide the %jd %s", each.name, (intmax_t)each.heads,
             (intmax_t)each.numbers, each.of);
  const int64_t sizes[] = {kv_heads_ * (layer_.query->out / heads_), layer_.value ? layer_.value->out : 0};
  layer_.bias_key = copy_floats(bias_key_, bias_key, "bias_key", &sizes[0], 1);
  layer_.bias_value = copy_floats(bias_value_, bias_value, "bias_value", &sizes[1], 1);
  layer_.average_scores = average_scores;
}

/* (rows, batch, dim) in place of (batch, rows, dim). */
static sequences in_order(sequences given, const tensor &rows, bool rows_first) {
  return rows_first && rows.axes == 3 ? sequences{given.length, given.batch} : given;
}

head_sizes attention_layer::heads() const {
  return {heads_, kv_heads_, layer_.query->out / heads_,
          layer_.value ? layer_.value->out / kv_heads_ : layer_.output->in / heads_, layer_.rotary};
}

nb::object attention_layer::run(nb::handle x, nb::handle memory, nb::handle memory_values, nb::handle residual,
                                const given_positions &positions, nb::kwargs keywords) const {
  rows from, to, keys, values, residuals;
  from.read(x, "x");
  from.require(from.count, layer_.query->in);
  keys.read(memory, "memory");
  if (keys.exists() && !layer_.key)
    refuse_unused("memory", "memory is given, and the layer has no key and value: its keys come from a cache");
  if (keys.exists()) keys.require(keys.count, layer_.key->in);
  values.read(memory_values, "memory_values");
  if (values.exists() && layer_.value) values.require(keys.exists() ? keys.count : from.count, layer_.value->in);
  residuals.read(residual, "residual");
  residuals.require(from.count, layer_.output->out);

  attending over(keywords);
  sequences own = sequences_of(from.memory, from.memory.axes - 1, "x", over.call.sequences_q), other;
  if (keys.exists()) other = sequences_of(keys.memory, keys.memory.axes - 1, "memory", over.call.sequences_kv);
  own = in_order(own, from.memory, rows_first_);
  other = in_order(other, keys.memory, rows_first_);
  over.call.more_keys = layer_.bias_key != nullptr;
  over.call.average_scores = layer_.average_scores;
  over.describe(heads(), own, keys.exists() ? &other : nullptr, layer_.key, positions);
  over.call.make_extra_outputs(x);
  output &o = over.call.o;
  nb::object object =
      output_rows(to, o.memory.exists() ? nb::handle(o.object) : nb::handle(Py_None), x, from, layer_.output->out);

  fovea_nn_attention layer = layer_;
  fovea_nn_attention_tensors &tensors = over.tensors;
  over.hand_to(layer);
  tensors.rows_first = rows_first_ && from.memory.axes == 3;
  from.hand_to(tensors.x, tensors.x_type, tensors.x_stride);
  to.hand_to(tensors.y, tensors.y_type, tensors.y_stride);
  keys.hand_to(tensors.memory, tensors.memory_type, tensors.memory_stride);
  values.hand_to(tensors.memory_values, tensors.memory_values_type, tensors.memory_values_stride);
  residuals.hand_to(tensors.residual, tensors.residual_type, tensors.residual_stride);
  compute([&](fovea_error *error) {
    return fovea_nn_attention_run(&layer, &over.call.problem, &tensors, &over.call.execution, error);
  });
  over.keep();
  o.object = object;
  return over.call.result();
}

void bind_multihead(nb::module_ &module) {
  std::string head = "__call__(self, x: Tensor, memory: Tensor | None = None, memory_values: Tensor | None = None, "
                     "residual: Tensor | None = None";
  std::string signature = signature_of((head + position_types).c_str(), "Outputs", in_layer);
  std::string text =
      std::string("y of x (batch, rows, dim), or (rows, dim) of one sequence or of packed ones. Keys "
                  "and values are made of `memory`\n"
                  "(and `memory_values`), else of x. `residual` is added to y. With a cache, keys and "
                  "values of x are added to it; a\n"
                  "layer without key and value attends over what it has. Other keywords are as "
                  "attention() has them.\n\n") +
      position_text + text_of_options(in_layer);
  nb::class_<attention_layer>(
      module, "Attention",
      "Multi-head attention (Vaswani et al., 2017): heads of query(x), key(memory) and value(memory), side by side "
      "in\n"
      "their rows, attend; their outputs go through `output`. key and value are None if keys and values come from "
      "a\n"
      "cache that has them all.\n"
      "\n"
      "    kv_heads: default heads; rotary: rotates queries and keys\n"
      "    bias_key, bias_value: one more key and value of each sequence, float32 (kv_heads * dim,), which come "
      "first "
      "in\n"
      "        scores (PyTorch's bias_k, bias_v)\n"
      "    average_scores: scores are averaged over heads, (batch, rows, keys)\n"
      "    rows_first: x, memory, residual and y are (rows, batch, dim); not within blocks")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, int64_t, nb::handle, nb::handle, nb::handle,
                    nb::handle, bool, bool>(),
           nb::arg("query"), nb::arg("key").none(), nb::arg("value").none(), nb::arg("output"), nb::arg("heads"),
           nb::kw_only(), nb::arg("kv_heads") = nb::none(), nb::arg("rotary") = nb::none(),
           nb::arg("bias_key") = nb::none(), nb::arg("bias_value") = nb::none(), nb::arg("average_scores") = false,
           nb::arg("rows_first") = false,
           nb::sig(
               "def __init__(self, query: Linear, key: Linear | None, value: Linear | None, output: Linear, heads: "
               "int, *, kv_heads: int | None = None, rotary: Rotary | None = None, bias_key: Tensor | None = None, "
               "bias_value: Tensor | None = None, average_scores: bool = False, rows_first: bool = False) -> "
               "None"))
      .def(
          "__call__",
          [](const attention_layer &layer, nb::handle x, nb::handle memory, nb::handle memory_values,
             nb::handle residual, nb::handle first, nb::handle rotary, nb::handle of_memory, nb::kwargs keywords) {
            return layer.run(x, memory, memory_values, residual, {first, rotary, of_memory}, keywords);
          },
          nb::arg("x"), nb::arg("memory") = nb::none(), nb::arg("memory_values") = nb::none(),
          nb::arg("residual") = nb::none(), nb::arg("first_position") = nb::none(),
          nb::arg("rotary_positions") = nb::none(), nb::arg("memory_positions") = nb::none(), nb::arg("keywords"),
          nb::sig(signature.c_str()), text.c_str());
}

} // namespace fovea_python
