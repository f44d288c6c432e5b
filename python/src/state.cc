#include "state.h"
#include "call.h"
#include "compute.h"
#include "result.h"

namespace fovea_python {

/* Says what lies in the memory, which has as many numbers a row as such a state has. */
void state::describe(int64_t dim, fovea_range keys) {
  fovea_state_init(&described_, size_of(memory_, 0), size_of(memory_, 1), size_of(memory_, 2), dim, keys.begin,
                   keys.end, static_cast<float *>(memory_.data));
  described_.strides = strides_of(memory_, 1);
}

state::state(nb::handle like, const int64_t *shape, int axes, fovea_range keys,
             const fovea_problem_normaliser &normaliser)
    : normaliser_(normaliser) {
  extents sizes;
  std::copy(shape, shape + axes, sizes);
  int64_t dim = sizes[axes - 1];
  sizes[axes - 1] = fovea_state_numbers(dim, keys.begin, keys.end);
  if (!sizes[axes - 1])
    refuse("keys", "keys is (%jd, %jd); a state needs at least one key", (intmax_t)keys.begin, (intmax_t)keys.end);
  numbers_ = make_tensor(like, element::f32, sizes, axes);
  memory_.write(numbers_, "numbers");
  describe(dim, keys);
}

state::state(nb::handle numbers, nb::handle keys, nb::handle normaliser)
    : numbers_(nb::borrow(numbers)), normaliser_{normaliser_of(normaliser, "normaliser"), FOVEA_DIVISOR_NONE, 0,
                                                 0} {
  fovea_range range = range_of(keys, "keys");
  memory_.read(numbers, "numbers");
  int64_t nodes = fovea_state_numbers(1, range.begin, range.end) / 3;
  if (!nodes)
    refuse("keys", "keys is (%jd, %jd); a state needs at least one key", (intmax_t)range.begin,
           (intmax_t)range.end);
  require_type(memory_, "numbers", element::f32);
  int64_t last = memory_.axes ? memory_.shape[memory_.axes - 1] : 0;
  if (memory_.axes < 2 || memory_.axes > 4 || last % nodes || last / nodes < 3)
    refuse("numbers", "numbers has the shape %s; its last axis must be %jd times v_dim + 2",
           shape_text(memory_).text, (intmax_t)nodes);
  describe(last / nodes - 2, range);
}

nb::object state::merge(const state &right, int threads) const {
  extents shape;
  std::copy(memory_.shape, memory_.shape + memory_.axes, shape);
  shape[memory_.axes - 1] = described_.dim;
  auto *merged =
      new state(numbers_, shape, memory_.axes, {described_.keys.begin, right.described_.keys.end}, normaliser_);
  nb::object result = nb::cast(merged, nb::rv_policy::take_ownership);
  if (normaliser_.kind != right.normaliser_.kind) refuse("right", "right has another normaliser than this state");
  row_execution execution(threads);
  compute([&](fovea_error *error) {
    return fovea_state_merge(&described_, &right.described_, &merged->described_, &execution, error);
  });
  return result;
}

nb::object state::finish(nb::handle sink, bool wants_lse, nb::handle out, int threads) const {
  attention_call call;
  fovea_problem &problem = call.problem;
  problem.batch = described_.batch;
  problem.heads = problem.kv_heads = described_.heads;
  problem.q_len = described_.rows;
  problem.v_dim = described_.dim;
  problem.normaliser = normaliser_;
  call.q_axes = memory_.axes;
  call.want_lse = wants_lse;
  if (!out.is_none()) call.give(call.o, out, "out");
  call.make_outputs(numbers_);
  if (!sink.is_none()) set_sink(call, sink, "sink");
  call.tensors.state = &described_;
  call.execution.threads = threads;
  compute([&](fovea_error *error) { return fovea_state_finish(&problem, &call.tensors, &call.execution, error); });
  return call.result();
}

namespace {

/* Makes a state of O and LSE of any library. */
nb::object from_output(nb::handle o, nb::handle lse, nb::handle keys, int threads) {
  tensor outputs, sums;
  outputs.read(o, "o");
  sums.read_strided(lse, "lse");
  if (outputs.axes < 2 || outputs.axes > 4)
    refuse("o", "o has the shape %s; it must be (batch, heads, rows, dim)", shape_text(outputs).text);
  require_type(sums, "lse", element::f32);
  require_shape(sums, "lse", outputs.shape, outputs.axes - 1);
  fovea_problem_normaliser softmax = {FOVEA_NORMALISER_SOFTMAX, FOVEA_DIVISOR_NONE, 0, 0};
  auto *made = new state(o, outputs.shape, outputs.axes, range_of(keys, "keys"), softmax);
  nb::object result = nb::cast(made, nb::rv_policy::take_ownership);

  fovea_problem problem;
  fovea_tensors tensors;
  row_execution execution(threads);
  fovea_problem_init(&problem, size_of(outputs, 0), size_of(outputs, 1), size_of(outputs, 1), size_of(outputs, 2),
                     0, 1, size_of(outputs, 3));
  problem.o_type = number_type(outputs.type, "o");
  problem.o_strides = strides_of(outputs, 1);
  problem.lse_strides = strides_of(sums, 0);
  fovea_tensors_init(&tensors, nullptr, nullptr, nullptr, outputs.data, static_cast<float *>(sums.data));
  tensors.state = &made->described();
  compute([&](fovea_error *error) { return fovea_state_from_output(&problem, &tensors, &execution, error); });
  return result;
}

} // namespace

void bind_state(nb::module_ &module) {
  nb::class_<state>(
      module, "State",
      "Attention over the keys at positions keys[0] to keys[1] - 1: attention(..., state=True) makes one, for\n"
      "one range of keys of many; ranges are merged in order, on any machine. Cut at multiples of 2048 keys\n"
      "they give the bits of one call. State(numbers, keys) is a state whose numbers come from elsewhere.")
      .def(nb::init<nb::handle, nb::handle, nb::handle>(), nb::arg("numbers"), nb::arg("keys"),
           nb::arg("normaliser") = "softmax",
           nb::sig(
               "def __init__(self, numbers: Tensor, keys: tuple[int, int], normaliser: str = 'softmax') -> None"))
      .def_static(
          "from_output", from_output, nb::arg("o"), nb::arg("lse"), nb::arg("keys"), nb::kw_only(),
          nb::arg("threads") = 0,
          nb::sig("def from_output(o: Tensor, lse: Tensor, keys: tuple[int, int], *, threads: int = 0) -> State"),
          "A state made of O (batch, heads, rows, dim) and LSE (natural logarithms) of any library.")
      .def("merge", &state::merge, nb::arg("right"), nb::kw_only(), nb::arg("threads") = 0,
           nb::sig("def merge(self, right: State, *, threads: int = 0) -> State"),
           "The state over both ranges; the keys of `right` begin where this state's end.")
      .def("finish", &state::finish, nb::kw_only(), nb::arg("sink") = nb::none(), nb::arg("lse") = false,
           nb::arg("out") = nb::none(), nb::arg("threads") = 0,
           nb::sig("def finish(self, *, sink: Tensor | float | None = None, lse: bool = False, out: Tensor | None "
                   "= None, "
                   "threads: int = 0) -> Outputs"),
           "O, float32 or of the type of `out`, and LSE if it is wanted.")
      .def_prop_ro("numbers", &state::numbers, nb::sig("def numbers(self) -> Tensor"),
                   "float32 (batch, heads, rows, numbers): what is stored or sent")
      .def_prop_ro(
          "keys", [](const state &of) { return nb::make_tuple(of.keys().begin, of.keys().end); },
          nb::sig("def keys(self) -> tuple[int, int]"), "positions of its keys");
}

} // namespace fovea_python
