#include "terms.h"
#include "shape.h"

namespace fovea_python {

namespace {

position_term alibi(nb::object slopes, bool symmetric) {
  return {fovea_term_alibi(symmetric), slopes, "bh", 0};
}

position_term relative(nb::object table, int64_t before, int64_t after) {
  return {fovea_term_relative(before, after), table, "hp", before + 1 + after};
}

position_term t5(nb::object table, int64_t buckets, int64_t max_distance, bool bidirectional) {
  return {fovea_term_t5(1, buckets, max_distance, bidirectional), table, "ph", buckets};
}

position_term grid(nb::object table, int64_t height, int64_t width, int64_t depth) {
  return {fovea_term_grid(1, depth, height, width), table, "ph",
          (2 * depth - 1) * (2 * height - 1) * (2 * width - 1)};
}

} // namespace

void bind_terms(nb::module_ &module) {
  nb::class_<position_term>(module, "Term",
                            "A term of scores that depends on positions only, for the keyword `terms`: alibi(),\n"
                            "relative(), t5() or grid() makes one.");
  module.def(
      "alibi", alibi, nb::arg("slopes"), nb::kw_only(), nb::arg("symmetric") = false,
      nb::sig("def alibi(slopes: Tensor, *, symmetric: bool = False) -> Term"),
      "Adds slope * (key - own position) to scores, or slope * -|key - own position| if symmetric (Press et al.,\n"
      "ALiBi, 2022; the paper's slopes are positive). slopes: float32 (heads,) or (batch, heads).");
  module.def(
      "relative", relative, nb::arg("table"), nb::arg("before"), nb::arg("after"),
      nb::sig("def relative(table: Tensor, before: int, after: int) -> Term"),
      "Adds a number for each distance, key less own position, from -before to after; keys that are farther have\n"
      "the first or the last. table: float32 (heads, before + 1 + after).");
  module.def(
      "t5", t5, nb::arg("table"), nb::kw_only(), nb::arg("buckets"), nb::arg("max_distance"),
      nb::arg("bidirectional"),
      nb::sig("def t5(table: Tensor, *, buckets: int, max_distance: int, bidirectional: bool) -> Term"),
      "Adds a number for each bucket of distances (Raffel et al., T5, 2020). table: float32 (buckets, heads).");
  module.def(
      "grid", grid, nb::arg("table"), nb::kw_only(), nb::arg("height"), nb::arg("width"), nb::arg("depth") = 1,
      nb::sig("def grid(table: Tensor, *, height: int, width: int, depth: int = 1) -> Term"),
      "Adds a number for each offset of two cells of a grid, the last axis innermost (Liu et al., Swin, 2021).\n"
      "table: float32 ((2 depth - 1) * (2 height - 1) * (2 width - 1), heads).");
}

} // namespace fovea_python
