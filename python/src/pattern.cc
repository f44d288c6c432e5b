#include "pattern.h"
#include "compute.h"
#include "values.h"

#include <nanobind/stl/shared_ptr.h>

namespace fovea_python {

namespace {

using made = std::shared_ptr<rule>;

made simple(fovea_rule from) {
  return std::make_shared<rule>(rule{from, {}, {}, {}, nullptr, nullptr});
}

made causal() {
  return simple(fovea_rule_causal());
}
made window(nb::handle before, nb::handle after, int64_t step) {
  return simple(fovea_rule_dilated(limit_of(before, "before"), limit_of(after, "after"), step));
}
made chunks(int64_t size, nb::handle before, nb::handle after) {
  return simple(fovea_rule_chunks(size, limit_of(before, "before"), limit_of(after, "after")));
}
made keys(int64_t begin, int64_t end) {
  return simple(fovea_rule_keys(begin, end));
}
made rows(int64_t begin, int64_t end) {
  return simple(fovea_rule_rows(begin, end));
}
made every(int64_t period, int64_t begin, int64_t end) {
  return simple(fovea_rule_every(period, begin, end));
}

made documents(nb::handle keys, nb::handle rows) {
  made made = simple(fovea_rule_of(FOVEA_RULE_DOCUMENTS));
  made->numbers = integers_of(keys, "keys");
  bool both = !rows.is_none();
  if (both) {
    made->row_numbers = integers_of(rows, "rows");
    require_count(made->row_numbers.size(), static_cast<int64_t>(made->numbers.size()), "rows", "as keys");
  }
  made->rule = fovea_rule_documents(made->numbers.data(), both ? made->row_numbers.data() : nullptr,
                                    static_cast<int64_t>(made->numbers.size()));
  return made;
}

made global(nb::handle positions) {
  made made = simple(fovea_rule_of(FOVEA_RULE_GLOBAL));
  made->numbers = integers_of(positions, "positions");
  made->rule = fovea_rule_global(made->numbers.data(), static_cast<int64_t>(made->numbers.size()));
  return made;
}

/* Reads the two lists of a CSR matrix, and returns how many lists it has. The last start is within the numbers. */
int64_t read_lists(rule &rule, nb::handle starts, nb::handle numbers, const char *name) {
  rule.starts = integers_of(starts, "starts");
  rule.numbers = integers_of(numbers, name);
  if (rule.starts.empty()) refuse("starts", "starts is empty; it must have one more than lists");
  for (size_t i = 0; i < rule.starts.size(); i++)
    if (rule.starts[i] < 0 || rule.starts[i] > static_cast<int64_t>(rule.numbers.size()))
      refuse("starts", "starts[%zu] is %jd; it must be from 0 to %zu, the length of %s", i,
             (intmax_t)rule.starts[i], rule.numbers.size(), name);
  return static_cast<int64_t>(rule.starts.size()) - 1;
}

made blocks(int64_t block_rows, int64_t block_keys, nb::handle starts, nb::handle columns) {
  made made = simple(fovea_rule_of(FOVEA_RULE_BLOCKS));
  int64_t count = read_lists(*made, starts, columns, "columns");
  made->rule = fovea_rule_blocks(block_rows, block_keys, count, made->starts.data(), made->numbers.data());
  return made;
}

made edges(nb::handle starts, nb::handle keys, int64_t first) {
  made made = simple(fovea_rule_of(FOVEA_RULE_EDGES));
  int64_t count = read_lists(*made, starts, keys, "keys");
  made->rule = fovea_rule_edges(first, count, made->starts.data(), made->numbers.data());
  return made;
}

made lists(nb::handle keys, int64_t length, int64_t first) {
  made made = simple(fovea_rule_of(FOVEA_RULE_EDGES));
  made->numbers = integers_of(keys, "keys", true);
  if (length < 1 || static_cast<int64_t>(made->numbers.size()) % length)
    refuse("length", "length is %jd; it must divide the %zu numbers of keys", (intmax_t)length,
           made->numbers.size());
  made->rule =
      fovea_rule_lists(first, static_cast<int64_t>(made->numbers.size()) / length, length, made->numbers.data());
  return made;
}

made tree(nb::handle parents, int64_t first) {
  made made = simple(fovea_rule_of(FOVEA_RULE_TREE));
  made->numbers = integers_of(parents, "parents");
  made->rule = fovea_rule_tree(first, static_cast<int64_t>(made->numbers.size()), made->numbers.data());
  return made;
}

/* Axes are (length, window, dilation, causal), of which the last two may be left out. */
made neighbourhood(nb::args axes) {
  std::vector<fovea_rule_axis> all;
  for (nb::handle each : axes) {
    if (!PyTuple_Check(each.ptr()) && !PyList_Check(each.ptr())) refuse_type("axis", each, "(length, window, ...)");
    int parts = static_cast<int>(PySequence_Size(each.ptr()));
    if (parts < 2 || parts > 4)
      refuse("axis", "axis has %d parts; it must be (length, window, dilation, causal)", parts);
    auto part = [&](int i) { return part_of(each, "axis", parts, i); };
    all.push_back({integer_of(part(0), "length"), integer_of(part(1), "window"),
                   parts > 2 ? integer_of(part(2), "dilation") : 1, parts > 3 ? flag_of(part(3), "causal") : 0});
  }
  return simple(fovea_rule_neighbourhood(static_cast<int64_t>(all.size()), all.data()));
}

made join(const made &left, const made &right, fovea_rule (*joined)(const fovea_rule *, const fovea_rule *)) {
  made made = simple(joined(&left->rule, &right->rule));
  made->left = left;
  made->right = right;
  return made;
}

made both(const made &left, const made &right) {
  return join(left, right, fovea_rule_and);
}
made either(const made &left, const made &right) {
  return join(left, right, fovea_rule_or);
}
made opposite(const made &of) {
  made made = simple(fovea_rule_not(&of->rule));
  made->left = of;
  return made;
}

nb::object random_blocks(uint64_t seed, int64_t blocks, int64_t key_blocks, int64_t chosen) {
  fovea_error error;
  std::vector<int64_t> starts, columns;
  bool possible = blocks >= 0 && chosen >= 0 && key_blocks >= chosen && key_blocks <= (int64_t(1) << 31) &&
                  blocks <= (int64_t(1) << 31);
  if (possible) {
    starts.resize(static_cast<size_t>(blocks) + 1);
    columns.resize(static_cast<size_t>(blocks * chosen));
  }
  check(fovea_random_blocks(seed, blocks, key_blocks, chosen, starts.data(), columns.data(), &error), error);
  nb::list first, second;
  for (int64_t each : starts) first.append(each);
  for (int64_t each : columns) second.append(each);
  return nb::make_tuple(first, second);
}

} // namespace

pattern::pattern(nb::handle rules, int64_t rows, int64_t keys, int64_t first_row, bool by_row) {
  std::vector<const fovea_rule *> all;
  bool one = nb::isinstance<rule>(rules);
  if (one) all.push_back(&nb::cast<const rule &>(rules).rule);
  if (!one && !PyTuple_Check(rules.ptr()) && !PyList_Check(rules.ptr()))
    refuse_type("rule", rules, "a fovea.Rule, or a list of rules, one for each head");
  for (Py_ssize_t i = 0; !one && i < PySequence_Size(rules.ptr()); i++) {
    nb::object each = nb::steal(PySequence_GetItem(rules.ptr(), i));
    if (!nb::isinstance<rule>(each)) refuse_type("rule", each, "a fovea.Rule");
    all.push_back(&nb::cast<const rule &>(each).rule);
  }
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, one ? all[0] : nullptr, rows, keys);
  if (!one) options.rules = all.data(), options.heads = static_cast<int64_t>(all.size());
  options.first_row = first_row;
  options.by_row = by_row;
  fovea_pattern *compiled;
  compute([&](fovea_error *error) { return fovea_pattern_create(&options, &compiled, error); });
  compiled_.reset(compiled);
}

void bind_pattern(nb::module_ &module) {
  nb::class_<rule>(
      module, "Rule",
      "A rule of a pattern, over positions: key positions, and for row i that of its own key, i + offset.\n"
      "Rules are joined by &, | and ~.")
      .def_static("causal", causal, "No key after the row's own.")
      .def_static("window", window, nb::arg("before").none(), nb::arg("after").none(), nb::arg("step") = 1,
                  nb::sig("def window(before: int | None, after: int | None, step: int = 1) -> Rule"),
                  "Keys at distances from -before to after, every step-th of them; None: no limit.")
      .def_static("chunks", chunks, nb::arg("size"), nb::arg("before").none(), nb::arg("after").none(),
                  nb::sig("def chunks(size: int, before: int | None, after: int | None) -> Rule"),
                  "The chunk of `size` positions that holds the own key, keys before it and after it.")
      .def_static("keys", keys, nb::arg("begin"), nb::arg("end"), "Every row sees keys begin to end - 1.")
      .def_static("rows", rows, nb::arg("begin"), nb::arg("end"), "Rows begin to end - 1 see every key.")
      .def_static("every", every, nb::arg("period"), nb::arg("begin"), nb::arg("end"),
                  "Every row sees the keys whose position modulo `period` is from begin to end - 1.")
      .def_static("documents", documents, nb::arg("keys"), nb::arg("rows") = nb::none(),
                  nb::sig("def documents(keys: Integers, rows: Integers | None = None) -> Rule"),
                  "A row sees keys of its own document; the numbers of documents of positions, below 0: none.")
      .def_static("global_", global, nb::arg("positions"), nb::sig("def global_(positions: Integers) -> Rule"),
                  "Every row sees these keys, and rows at these positions see every key (Longformer, 2020).")
      .def_static(
          "blocks", blocks, nb::arg("block_rows"), nb::arg("block_keys"), nb::arg("starts"), nb::arg("columns"),
          nb::sig("def blocks(block_rows: int, block_keys: int, starts: Integers, columns: Integers) -> Rule"),
          "Rows of block i see the blocks columns[starts[i]:starts[i + 1]] of keys (BigBird, 2020).")
      .def_static("edges", edges, nb::arg("starts"), nb::arg("keys"), nb::arg("first") = 0,
                  nb::sig("def edges(starts: Integers, keys: Integers, first: int = 0) -> Rule"),
                  "Row first + i sees keys[starts[i]:starts[i + 1]]: a graph, as CSR.")
      .def_static("lists", lists, nb::arg("keys"), nb::arg("length"), nb::arg("first") = 0,
                  nb::sig("def lists(keys: Integers, length: int, first: int = 0) -> Rule"),
                  "The same with lists of one length, one after the other; -1 names no key.")
      .def_static(
          "tree", tree, nb::arg("parents"), nb::arg("first") = 0,
          nb::sig("def tree(parents: Integers, first: int = 0) -> Rule"),
          "Drafts: the row of node i, at position first + i, sees keys before `first`, itself and ancestors.")
      .def_static(
          "neighbourhood", neighbourhood, nb::arg("axes"),
          nb::sig("def neighbourhood(*axes: tuple[int, ...]) -> Rule"),
          "Neighbourhoods of a grid (NATTEN, 2023): an axis is (length, window, dilation, causal), of which the\n"
          "last two may be left out; the last axis is innermost.")
      .def("__and__", both, nb::is_operator())
      .def("__or__", either, nb::is_operator())
      .def("__invert__", opposite);
  nb::class_<pattern>(
      module, "Pattern", nb::is_weak_referenceable(),
      "A rule, or a list of rules with one for each head, compiled for rows at positions first_row to\n"
      "first_row + rows - 1 and keys 0 to keys - 1. Calls, plans and threads share it. by_row: rows are\n"
      "counted from the sequence's first. A mask of the same meaning gives the same bits.")
      .def(nb::init<nb::handle, int64_t, int64_t, int64_t, bool>(), nb::arg("rule"), nb::arg("rows"),
           nb::arg("keys"), nb::kw_only(), nb::arg("first_row") = 0, nb::arg("by_row") = false,
           nb::sig("def __init__(self, rule: Rule | Sequence[Rule], rows: int, keys: int, *, first_row: int = 0, "
                   "by_row: "
                   "bool = False) -> None"))
      .def(
          "sees",
          [](const pattern &of, int64_t row, int64_t key, int64_t head) {
            return fovea_pattern_sees(of.compiled(), head, row, key) == 1;
          },
          nb::arg("row"), nb::arg("key"), nb::arg("head") = 0,
          "Whether a row sees a key; outside the pattern: False.")
      .def_prop_ro(
          "nbytes", [](const pattern &of) { return fovea_pattern_bytes(of.compiled()); }, "bytes that it takes");
  module.def("random_blocks", random_blocks, nb::arg("seed"), nb::arg("blocks"), nb::arg("key_blocks"),
             nb::arg("chosen"),
             nb::sig("def random_blocks(seed: int, blocks: int, key_blocks: int, chosen: int) -> tuple[list[int], "
                     "list[int]]"),
             "Chooses blocks of keys at random for Rule.blocks(): its starts and columns.");
}

} // namespace fovea_python
