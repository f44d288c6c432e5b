#include "result.h"

namespace fovea_python {

namespace {

/* The outputs that there are, in the order of the fields, so that `o, lse = attention(..., lse=True)` works. */
nb::object iterate(const attention_result &result) {
  nb::list outputs;
  for (const nb::object *each : {&result.o, &result.lse, &result.scores, &result.max_logits, &result.top_keys,
                                 &result.top_scores, &result.entropy, &result.column_sums})
    if (each->is_valid()) outputs.append(*each);
  return nb::iter(outputs);
}

template <nb::object attention_result::*field> nb::object output(const attention_result &result) {
  return (result.*field).is_valid() ? result.*field : nb::none();
}

} // namespace

void bind_result(nb::module_ &module) {
  nb::class_<attention_result>(
      module, "Result",
      "O and the other outputs that were asked for; None: not asked for. As a sequence it has\n"
      "those that there are, in this order: o, lse, scores, max_logits, top_keys, top_scores,\n"
      "entropy, column_sums.")
      .def_prop_ro("o", output<&attention_result::o>, nb::sig("def o(self) -> Tensor"),
                   "(batch, heads, rows, v_dim)")
      .def_prop_ro("lse", output<&attention_result::lse>, nb::sig("def lse(self) -> Tensor"),
                   "float32 (batch, heads, rows): the natural logarithm of the sum of exp(score)")
      .def_prop_ro("scores", output<&attention_result::scores>, nb::sig("def scores(self) -> Tensor"),
                   "float32 (batch, heads, rows, keys): weights, or scores in natural units; -inf: not visible")
      .def_prop_ro("max_logits", output<&attention_result::max_logits>, nb::sig("def max_logits(self) -> Tensor"),
                   "float32 (batch, heads): the largest score")
      .def_prop_ro("top_keys", output<&attention_result::top_keys>, nb::sig("def top_keys(self) -> Tensor"),
                   "int64 (batch, heads, rows, top): positions of keys; -1: the row sees no more")
      .def_prop_ro("top_scores", output<&attention_result::top_scores>, nb::sig("def top_scores(self) -> Tensor"),
                   "float32 (batch, heads, rows, top): their scores, in descending order")
      .def_prop_ro("entropy", output<&attention_result::entropy>, nb::sig("def entropy(self) -> Tensor"),
                   "float32 (batch, heads, rows): the sum of -p ln p")
      .def_prop_ro("column_sums", output<&attention_result::column_sums>,
                   nb::sig("def column_sums(self) -> Tensor"),
                   "float32 (batch, heads, keys): the sum of weights of each key")
      .def("__iter__", iterate, nb::sig("def __iter__(self) -> Iterator[Tensor]"));
}

} // namespace fovea_python
