/* Functions of rows that are none of the layers: activations, softmax, dropout, waves of positions, buckets. */
#include "layers.h"
#include "values.h"

#include <fovea/embedding.h>

namespace fovea_python {

namespace {

/* Runs a function that maps rows to rows; `apply` takes the map, the execution and the error. */
template <class function> nb::object map_rows(nb::handle x, nb::handle out, int threads, function apply) {
  rows from, to;
  from.read(x, "x");
  nb::object object = output_rows(to, out, x, from, from.dim);
  fovea_nn_map map;
  fovea_nn_map_init(&map, from.count, from.dim, nullptr, nullptr);
  from.hand_to(map.x, map.x_type, map.x_stride);
  to.hand_to(map.y, map.y_type, map.y_stride);
  row_execution execution(threads);
  compute([&](fovea_error *error) { return apply(&map, &execution, error); });
  return object;
}

nb::object activate(nb::handle x, nb::handle activation, nb::handle out, int threads) {
  fovea_nn_activation kind = activation_of(activation, "activation");
  return map_rows(x, out, threads, [kind](fovea_nn_map *map, fovea_execution *execution, fovea_error *error) {
    return fovea_nn_activate(map, kind, execution, error);
  });
}

nb::object softmax(nb::handle x, nb::handle out, int threads) {
  return map_rows(x, out, threads, fovea_nn_softmax);
}

nb::object dropout(nb::handle x, double p, uint64_t seed, uint64_t stream, int64_t first_row, nb::handle out,
                   int threads) {
  rows from, to;
  from.read(x, "x");
  nb::object object = output_rows(to, out, x, from, from.dim);
  fovea_nn_dropout_rows given;
  fovea_nn_dropout_rows_init(&given, from.count, from.dim, nullptr, nullptr);
  from.hand_to(given.x, given.x_type, given.x_stride);
  to.hand_to(given.y, given.y_type, given.y_stride);
  given.p = static_cast<float>(p);
  given.seed = seed;
  given.stream = stream;
  given.first_row = first_row;
  row_execution execution(threads);
  compute([&](fovea_error *error) { return fovea_nn_dropout(&given, &execution, error); });
  return object;
}

/* ---- Positions ----------------------------------------------------------------------------------------------- */

/* What both functions of waves take beside rows. */
struct waves {
  nb::handle first_position, positions;
  double base;
  nb::handle layout, exponent;
  int threads;

  void write(fovea_nn_sinusoid_rows &rows) const {
    std::vector<int64_t> list;
    if (!first_position.is_none()) rows.first_position = integer_of(first_position, "first_position");
    if (!positions.is_none()) {
      list = integers_of(positions, "positions", true);
      require_count(list.size(), rows.rows, "positions", "one for each row");
      rows.positions = list.data();
    }
    rows.base = base;
    rows.layout = static_cast<fovea_nn_wave_layout>(choice_of(
        layout, "layout", {{"interleaved", FOVEA_NN_WAVES_INTERLEAVED}, {"halves", FOVEA_NN_WAVES_IN_HALVES}}));
    rows.exponent = static_cast<fovea_nn_wave_exponent>(
        choice_of(exponent, "exponent", {{"by_dim", FOVEA_NN_WAVES_BY_DIM}, {"to_base", FOVEA_NN_WAVES_TO_BASE}}));
    row_execution execution(threads);
    compute([&](fovea_error *error) { return fovea_nn_sinusoids(&rows, &execution, error); });
  }
};

nb::object sinusoids(int64_t count, int64_t dim, nb::handle first_position, nb::handle positions, double base,
                     nb::handle layout, nb::handle exponent, nb::handle out, int threads) {
  const int64_t shape[] = {count, dim};
  for (int i = 0; i < 2; i++)
    if (shape[i] < i || shape[i] > INT32_MAX)
      refuse(i ? "dim" : "rows", "%s is %jd; it must be from %d to %d", i ? "dim" : "rows", (intmax_t)shape[i], i,
             INT32_MAX);
  rows to;
  nb::object object = out.is_none() ? make_tensor(out, element::f32, shape, 2) : nb::borrow(out);
  to.write(object, "out");
  require_shape(to.memory, "out", shape, 2);
  fovea_nn_sinusoid_rows given;
  fovea_nn_sinusoid_rows_init(&given, count, dim, nullptr);
  to.hand_to(given.y, given.y_type, given.y_stride);
  waves{first_position, positions, base, layout, exponent, threads}.write(given);
  return object;
}

nb::object add_sinusoids(nb::handle x, double scale, nb::handle first_position, nb::handle positions, double base,
                         nb::handle layout, nb::handle exponent, nb::handle out, int threads) {
  rows from, to;
  from.read(x, "x");
  nb::object object = output_rows(to, out, x, from, from.dim);
  fovea_nn_sinusoid_rows given;
  fovea_nn_sinusoid_rows_init(&given, from.count, from.dim, nullptr);
  from.hand_to(given.x, given.x_type, given.x_stride);
  to.hand_to(given.y, given.y_type, given.y_stride);
  given.scale = static_cast<float>(scale);
  waves{first_position, positions, base, layout, exponent, threads}.write(given);
  return object;
}

nb::object t5_buckets(int64_t first, int64_t count, bool bidirectional, int64_t buckets, int64_t max_distance) {
  if (count < 0 || count > INT32_MAX)
    refuse("count", "count is %jd; it must be from 0 to %d", (intmax_t)count, INT32_MAX);
  nb::object object = make_tensor(nb::none(), element::i64, &count, 1);
  tensor to;
  to.write(object, "out");
  fovea_error error;
  check(fovea_nn_t5_buckets(first, count, bidirectional, buckets, max_distance, static_cast<int64_t *>(to.data),
                            &error),
        error);
  return object;
}

#define WAVES                                                                                                      \
  nb::arg("first_position") = nb::none(), nb::arg("positions") = nb::none(), nb::arg("base") = 10000.0,            \
  nb::arg("layout") = "interleaved", nb::arg("exponent") = "by_dim", FOVEA_PYTHON_OUTPUT
#define WAVE_TYPES                                                                                                 \
  "first_position: int | None = None, positions: Integers | None = None, base: float = 10000.0, layout: str = "    \
  "'interleaved', exponent: str = 'by_dim', " FOVEA_PYTHON_OUTPUT_TYPES

} // namespace

void bind_row_functions(nb::module_ &module) {
  module.def(
      "activate", activate, nb::arg("x"), nb::arg("activation"), nb::kw_only(), FOVEA_PYTHON_OUTPUT,
      nb::sig("def activate(x: Tensor, activation: str, *, " FOVEA_PYTHON_OUTPUT_TYPES),
      "'relu', 'gelu', 'gelu_tanh', 'silu' or 'elu' of each number, as after a linear layer. `out` may be x.");
  module.def("softmax", softmax, nb::arg("x"), nb::kw_only(), FOVEA_PYTHON_OUTPUT,
             nb::sig("def softmax(x: Tensor, *, " FOVEA_PYTHON_OUTPUT_TYPES),
             "Softmax of the last axis, in natural units. A row of -inf only gives zeros. `out` may be x.");
  module.def(
      "dropout", dropout, nb::arg("x"), nb::arg("p"), nb::kw_only(), nb::arg("seed") = 0, nb::arg("stream") = 0,
      nb::arg("first_row") = 0, FOVEA_PYTHON_OUTPUT,
      nb::sig("def dropout(x: Tensor, p: float, *, seed: int = 0, stream: int = 0, first_row: int = "
              "0, " FOVEA_PYTHON_OUTPUT_TYPES),
      "x / (1 - p), or 0 with the chance p, (..., dim), by Philox4x32-10 (Salmon et al., 2011). What becomes 0\n"
      "depends on seed, stream and (first_row + row) * dim + column alone. `out` may be x.");
  module.def(
      "sinusoids", sinusoids, nb::arg("rows"), nb::arg("dim"), nb::kw_only(), WAVES,
      nb::sig("def sinusoids(rows: int, dim: int, *, " WAVE_TYPES),
      "Sinusoidal positions (Vaswani et al., 2017), float32 (rows, dim): sin(p f[i]) and cos(p f[i]) of row r at\n"
      "position p = first_position + r, or positions[r].\n"
      "\n"
      "    layout: 'interleaved', sine, cosine, sine, ...; 'halves', all sines, then all cosines\n"
      "    exponent: f[i] is base^(-2 i / dim), 'by_dim'; or base^(-i / (n - 1)) for n = dim // 2 waves, "
      "'to_base'\n"
      "        (tensor2tensor, fairseq)");
  module.def(
      "add_sinusoids", add_sinusoids, nb::arg("x"), nb::kw_only(), nb::arg("scale") = 1.0, WAVES,
      nb::sig("def add_sinusoids(x: Tensor, *, scale: float = 1.0, " WAVE_TYPES),
      "x * scale + sinusoids(): (..., dim), of x's type; all axes but the last are rows, in order. Each step\n"
      "rounds once, in float32. `out` may be x.");
  module.def(
      "t5_buckets", t5_buckets, nb::arg("first"), nb::arg("count"), nb::kw_only(), nb::arg("bidirectional") = true,
      nb::arg("buckets") = 32, nb::arg("max_distance") = 128,
      nb::sig(
          "def t5_buckets(first: int, count: int, *, bidirectional: bool = True, buckets: int = 32, max_distance: "
          "int = 128) -> Tensor"),
      "int64 (count,): the buckets of the relative positions first, first + 1, ..., key less query, by T5 (Raffel\n"
      "et al., 2020): near distances have one each, others share buckets up to max_distance.");
}

} // namespace fovea_python
