#include "rotary.h"
#include "compute.h"
#include "values.h"

#include <fovea/rotary_scaling.h>

namespace fovea_python {

/* ---- An embedding -------------------------------------------------------------------------------------------- */

rotary::rotary(int64_t dims, nb::handle layout, nb::handle base, nb::handle frequencies, nb::handle cosines,
               nb::handle sines, nb::handle sections, nb::handle section_layout) {
  int how =
      choice_of(layout, "layout", {{"halves", FOVEA_ROTARY_HALVES}, {"interleaved", FOVEA_ROTARY_INTERLEAVED}});
  fovea_rotary_init(&embedding_, static_cast<fovea_rotary_layout>(how), dims);
  if (!base.is_none()) embedding_.base = number_of(base, "base");
  if (!frequencies.is_none()) {
    frequencies_ = numbers_of(frequencies, "frequencies");
    require_count(frequencies_.size(), dims / 2, "frequencies", "one for each pair");
    embedding_.frequencies = frequencies_.data();
  }
  if (!cosines.is_none() || !sines.is_none()) set_tables(cosines, sines);
  if (!sections.is_none()) set_sections(sections, section_layout);
}

/* Copies the tables, (positions, dims / 2) each. */
void rotary::set_tables(nb::handle cosines, nb::handle sines) {
  struct {
    const char *name;
    nb::handle given;
    std::vector<float> &kept;
  } tables[] = {{"cosines", cosines, cosines_}, {"sines", sines, sines_}};
  for (auto &table : tables) {
    tensor numbers;
    numbers.read(table.given, table.name);
    int64_t shape[] = {numbers.axes == 2 ? numbers.shape[0] : 0, embedding_.dims / 2};
    if (&table.kept == &sines_) shape[0] = embedding_.table_rows;
    require_type(numbers, table.name, element::f32);
    require_shape(numbers, table.name, shape, 2);
    require_contiguous(numbers, table.name);
    const float *first = static_cast<const float *>(numbers.data);
    table.kept.assign(first, first + shape[0] * shape[1]);
    embedding_.table_rows = shape[0];
  }
  embedding_.cosines = cosines_.data();
  embedding_.sines = sines_.data();
}

void rotary::set_sections(nb::handle sections, nb::handle layout) {
  int how = choice_of(layout, "section_layout",
                      {{"in_row", FOVEA_SECTIONS_IN_ROW}, {"interleaved", FOVEA_SECTIONS_INTERLEAVED}});
  std::vector<int64_t> counts = integers_of(sections, "sections");
  pair_axes_.resize(static_cast<size_t>(embedding_.dims > 0 ? embedding_.dims / 2 : 0));
  fovea_error error;
  check(fovea_rotary_sections(static_cast<fovea_section_layout>(how), counts.data(),
                              static_cast<int64_t>(counts.size()), embedding_.dims / 2, pair_axes_.data(), &error),
        error);
  embedding_.axes = static_cast<int64_t>(counts.size());
  embedding_.pair_axes = pair_axes_.data();
}

const fovea_rotary *rotary_of(nb::handle value, const char *name) {
  if (value.is_none()) return nullptr;
  if (!nb::isinstance<rotary>(value)) refuse_type(name, value, "a fovea.Rotary");
  return &nb::cast<const rotary &>(value).embedding();
}

namespace {

/* ---- Scaled embeddings --------------------------------------------------------------------------------------- */

struct scaling_field {
  const char *name;
  void (*set)(fovea_rotary_scaling &scaling, nb::handle value, const char *name);
};

#define NUMBER(field)                                                                                              \
  {                                                                                                                \
#field, [](fovea_rotary_scaling & scaling, nb::handle value,                                                   \
               const char *name) { scaling.field = number_of(value, name); }                                       \
  }
#define WHOLE(field)                                                                                               \
  {                                                                                                                \
#field, [](fovea_rotary_scaling & scaling, nb::handle value,                                                   \
               const char *name) { scaling.field = integer_of(value, name); }                                      \
  }
const scaling_field scaling_fields[] = {
    NUMBER(base),
    NUMBER(factor),
    WHOLE(trained_length),
    WHOLE(length),
    NUMBER(slow_turns),
    NUMBER(fast_turns),
    NUMBER(mscale),
    NUMBER(mscale_all_dim),
    NUMBER(attention_factor),
    WHOLE(rotated_dims),
    {"exact_pairs", [](fovea_rotary_scaling &scaling, nb::handle value,
                       const char *name) { scaling.exact_pairs = flag_of(value, name); }},
};
#undef NUMBER
#undef WHOLE

rotary *scaled(nb::handle rule, int64_t dims, nb::handle layout, nb::kwargs fields) {
  int meaning = choice_of(rule, "rule",
                          {{"none", FOVEA_SCALING_NONE},
                           {"linear", FOVEA_SCALING_LINEAR},
                           {"ntk", FOVEA_SCALING_NTK},
                           {"dynamic", FOVEA_SCALING_DYNAMIC_NTK},
                           {"llama3", FOVEA_SCALING_LLAMA3},
                           {"yarn", FOVEA_SCALING_YARN},
                           {"longrope", FOVEA_SCALING_LONGROPE},
                           {"proportional", FOVEA_SCALING_PROPORTIONAL}});
  fovea_rotary_scaling scaling;
  fovea_rotary_scaling_init(&scaling, static_cast<fovea_scaling_rule>(meaning), dims);
  std::vector<double> short_factors, long_factors;
  for (auto [key, value] : fields) {
    const char *name = word_of(key, "keyword");
    bool known = false;
    for (const scaling_field &field : scaling_fields)
      if (std::string(name) == field.name) field.set(scaling, value, name), known = true;
    struct {
      const char *name;
      const double **field;
      std::vector<double> &factors;
    } lists[] = {{"short_factors", &scaling.short_factors, short_factors},
                 {"long_factors", &scaling.long_factors, long_factors}};
    for (auto &list : lists) {
      if (std::string(name) != list.name) continue;
      list.factors = numbers_of(value, name);
      require_count(list.factors.size(), dims / 2, name, "one for each pair");
      *list.field = list.factors.data();
      known = true;
    }
    if (!known) {
      PyErr_Format(PyExc_TypeError, "scaled() has no keyword '%s'", name);
      throw nb::python_error();
    }
  }
  std::vector<double> frequencies(static_cast<size_t>(dims > 0 && dims <= 1 << 20 ? dims / 2 : 0));
  double factor;
  fovea_error error;
  check(fovea_rotary_frequencies(&scaling, frequencies.data(), &factor, &error), error);
  nb::list numbers;
  for (double frequency : frequencies) numbers.append(frequency);
  auto *made = new rotary(dims, layout, nb::none(), numbers, nb::none(), nb::none(), nb::none(), nb::none());
  made->attention_factor = factor;
  return made;
}

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

/* Rows (batch, heads, rows, dim), and where their rotated rows go, which may be themselves. */
struct rotated_rows {
  tensor from, to;
  nb::object result;

  rotated_rows(nb::handle x, nb::handle out) {
    from.read(x, "x");
    number_type(from.type, "x"); /* before an output of this type is made */
    if (from.axes < 2 || from.axes > 4)
      refuse("x", "x has the shape %s; it must be (batch, heads, rows, dim), (heads, rows, dim) or (rows, dim)",
             shape_text(from).text);
    result = out.is_none() ? make_tensor(x, from.type, from.shape, from.axes) : nb::borrow(out);
    to.write(result, "out");
    require_shape(to, "out", from.shape, from.axes);
  }

  /* Sets the fields that both structs have. */
  template <class rotation> void hand_to(rotation &all) const {
    all.from_type = number_type(from.type, "x");
    all.to_type = number_type(to.type, "out");
    all.from_strides = strides_of(from, 1);
    all.to_strides = strides_of(to, 1);
  }
};

nb::object apply(const rotary &rotary, nb::handle x, nb::handle positions, nb::handle first_position,
                 nb::handle out, int threads) {
  rotated_rows rows(x, out);
  const tensor &from = rows.from;
  fovea_rotation rotation;
  fovea_rotation_init(&rotation, size_of(from, 0), size_of(from, 1), size_of(from, 2), size_of(from, 3), from.data,
                      rows.to.data);
  rows.hand_to(rotation);
  std::vector<int64_t> numbers;
  set_one_or_each(rotation.first_position, rotation.first_positions, numbers, first_position, "first_position",
                  rotation.batch);
  if (!positions.is_none()) {
    if (!first_position.is_none()) refuse_unused("first_position", "first_position is given, and positions, too");
    numbers = integers_of(positions, "positions", true);
    require_count(numbers.size(), rotation.batch * rotation.rows * rotary.embedding().axes, "positions",
                  "one for each row, on each axis of the embedding");
    rotation.positions = numbers.data();
  }
  row_execution execution(threads);
  compute(
      [&](fovea_error *error) { return fovea_rotary_apply(&rotary.embedding(), &rotation, &execution, error); });
  return rows.result;
}

nb::object hadamard(nb::handle x, int64_t block, nb::handle out, int threads) {
  rotated_rows rows(x, out);
  const tensor &from = rows.from;
  fovea_hadamard all;
  fovea_hadamard_init(&all, size_of(from, 0), size_of(from, 1), size_of(from, 2), size_of(from, 3), block,
                      from.data, rows.to.data);
  rows.hand_to(all);
  row_execution execution(threads);
  compute([&](fovea_error *error) { return fovea_hadamard_apply(&all, &execution, error); });
  return rows.result;
}

} // namespace

void bind_rotary(nb::module_ &module) {
  nb::class_<rotary>(
      module, "Rotary",
      "A rotary position embedding (Su et al., RoFormer, 2021): the first `dims` elements of a row are\n"
      "pairs, rotated by position * base^(-2 i / dims), or by `frequencies` (dims / 2 float64, radians a\n"
      "position), or by tables of cosines and sines, float32 (positions, dims / 2).\n"
      "\n"
      "    layout: 'halves', pairs are i and i + dims / 2 (Hugging Face); 'interleaved', 2 i and 2 i + 1\n"
      "    sections: how many pairs each axis of a position of several numbers has (M-RoPE)\n"
      "    section_layout: 'in_row' (Qwen2-VL) or 'interleaved' (Qwen3-VL)")
      .def(nb::init<int64_t, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(),
           nb::arg("dims"), nb::kw_only(), nb::arg("layout") = "halves", nb::arg("base") = nb::none(),
           nb::arg("frequencies") = nb::none(), nb::arg("cosines") = nb::none(), nb::arg("sines") = nb::none(),
           nb::arg("sections") = nb::none(), nb::arg("section_layout") = "in_row",
           nb::sig(
               "def __init__(self, dims: int, *, layout: str = 'halves', base: float | None = None, frequencies: "
               "Numbers | None = None, cosines: Tensor | None = None, sines: Tensor | None = None, sections: "
               "Integers | None = None, section_layout: str = 'in_row') -> None"))
      .def_static(
          "scaled", scaled, nb::arg("rule"), nb::arg("dims"), nb::arg("layout") = "halves", nb::arg("fields"),
          nb::rv_policy::take_ownership,
          nb::sig("def scaled(rule: str, dims: int, layout: str = 'halves', **fields: Any) -> Rotary"),
          "An embedding that was scaled to longer contexts: 'linear', 'ntk', 'dynamic', 'llama3', 'yarn',\n"
          "'longrope' or 'proportional', with the fields of fovea_rotary_scaling as keywords: base, factor,\n"
          "trained_length, length, slow_turns, fast_turns, exact_pairs, mscale, mscale_all_dim,\n"
          "attention_factor, short_factors, long_factors, rotated_dims. Multiply scale by attention_factor ** 2.")
      .def_ro("attention_factor", &rotary::attention_factor, "what a model multiplies cosines and sines by")
      .def("apply", apply, nb::arg("x"), nb::kw_only(), nb::arg("positions") = nb::none(),
           nb::arg("first_position") = nb::none(), nb::arg("out") = nb::none(), nb::arg("threads") = 0,
           nb::sig(
               "def apply(self, x: Tensor, *, positions: Integers | None = None, first_position: int | Integers | "
               "None = None, out: Tensor | None = None, threads: int = 0) -> Tensor"),
           "Rotates rows, (batch, heads, rows, dim); heads and batch may be left out. Row i of sequence b is at "
           "position\n"
           "first_position + i (one number, or one for each batch element), or positions[b, i]. `out` may be x.");
  module.def(
      "hadamard", hadamard, nb::arg("x"), nb::arg("block"), nb::kw_only(), nb::arg("out") = nb::none(),
      nb::arg("threads") = 0,
      nb::sig("def hadamard(x: Tensor, block: int, *, out: Tensor | None = None, threads: int = 0) -> Tensor"),
      "Rotates rows, (batch, heads, rows, dim), by the normalised Walsh-Hadamard matrix in blocks of `block` dims, "
      "a\n"
      "power of 2: queries, if a cache was given keys with `hadamard`, and outputs back, if it was given values\n"
      "so. The matrix is its own inverse. Heads and batch may be left out. `out` may be x.");
}

} // namespace fovea_python
