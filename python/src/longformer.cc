/* Longformer and BigBird: windows, global tokens, random blocks. */
#include "pattern.h"
#include "variants.h"

#include <fovea/sparse_attention.h>
#include <nanobind/stl/shared_ptr.h>

namespace fovea_python {

namespace {

/* Which token sees which, compiled for a batch. */
class longformer {
public:
  longformer(int64_t batch, int64_t heads, int64_t length, int64_t dim, int64_t window, nb::handle states,
             nb::handle v_dim, nb::handle scale, nb::handle isa) {
    fovea_nn_longformer_options options;
    fovea_nn_longformer_options_init(&options, batch, heads, length, dim, window);
    if (!v_dim.is_none()) options.v_dim = integer_of(v_dim, "v_dim");
    if (!scale.is_none()) options.scale = number_of(scale, "scale");
    tensor given;
    if (!states.is_none()) {
      const int64_t shape[] = {batch, length};
      given.read(states, "states");
      require_type(given, "states", element::i8);
      require_shape(given, "states", shape, 2);
      require_contiguous(given, "states");
      options.states = static_cast<const int8_t *>(given.data);
    }
    row_execution execution(0);
    if (!isa.is_none()) execution.isa = word_of(isa, "isa");
    fovea_nn_longformer *made;
    compute([&](fovea_error *error) { return fovea_nn_longformer_create(&options, &execution, &made, error); });
    compiled_.reset(made);
    rows_ = batch * length;
    heads_ = options.heads * options.v_dim;
  }

  nb::object run(nb::handle x, nb::handle query, nb::handle key, nb::handle value, nb::handle global_query,
                 nb::handle global_key, nb::handle global_value, nb::handle output, nb::handle out,
                 int threads) const {
    std::vector<nb::object> kept;
    fovea_nn_longformer_layer layer;
    const fovea_nn_linear *first = linear_of(query, "query", kept), *second = linear_of(key, "key", kept);
    fovea_nn_longformer_layer_init(&layer, first, second, linear_of(value, "value", kept));
    layer.global_query = linear_of(global_query, "global_query", kept, false);
    layer.global_key = linear_of(global_key, "global_key", kept, false);
    layer.global_value = linear_of(global_value, "global_value", kept, false);
    layer.output = linear_of(output, "output", kept, false);
    rows from, to;
    from.read(x, "x");
    from.require(rows_, first->in);
    nb::object object = output_rows(to, out, x, from, layer.output ? layer.output->out : heads_);
    fovea_nn_longformer_rows rows;
    fovea_nn_longformer_rows_init(&rows, nullptr, nullptr);
    from.hand_to(rows.x, rows.x_type, rows.x_stride);
    to.hand_to(rows.y, rows.y_type, rows.y_stride);
    row_execution execution(threads);
    compute([&](fovea_error *error) {
      return fovea_nn_longformer_run(compiled_.get(), &layer, &rows, &execution, error);
    });
    return object;
  }

private:
  struct destroy {
    void operator()(fovea_nn_longformer *made) const { fovea_nn_longformer_destroy(made); }
  };
  std::unique_ptr<fovea_nn_longformer, destroy> compiled_;
  int64_t rows_, heads_;
};

pattern *bigbird(int64_t length, int64_t block_size, int64_t chosen, uint64_t seed, int64_t heads) {
  fovea_nn_bigbird options;
  fovea_nn_bigbird_init(&options, length);
  options.block_size = block_size;
  options.chosen = chosen;
  options.seed = seed;
  options.heads = heads;
  fovea_pattern *made;
  compute([&](fovea_error *error) { return fovea_nn_bigbird_pattern(&options, &made, error); });
  return new pattern(made);
}

} // namespace

void bind_longformer(nb::module_ &module) {
  nb::class_<longformer>(
      module, "Longformer",
      "Longformer (Beltagy et al., 2020) for a batch: a token sees `window` tokens before and after it and all "
      "global\n"
      "tokens; a global token sees all, by queries, keys and values of layers of their own. All layers of a model "
      "share\n"
      "it.\n"
      "\n"
      "    dim: of queries and keys of a head; v_dim: of values, default dim\n"
      "    states: int8 (batch, length): 1 global, 0 local, -1 padding; default: all local\n"
      "    scale: default 1 / sqrt(dim)")
      .def(
          nb::init<int64_t, int64_t, int64_t, int64_t, int64_t, nb::handle, nb::handle, nb::handle, nb::handle>(),
          nb::arg("batch"), nb::arg("heads"), nb::arg("length"), nb::arg("dim"), nb::arg("window"), nb::kw_only(),
          nb::arg("states") = nb::none(), nb::arg("v_dim") = nb::none(), nb::arg("scale") = nb::none(),
          nb::arg("isa") = nb::none(),
          nb::sig(
              "def __init__(self, batch: int, heads: int, length: int, dim: int, window: int, *, states: Tensor | "
              "None = None, v_dim: int | None = None, scale: float | None = None, isa: str | None = None) -> None"))
      .def("__call__", &longformer::run, nb::arg("x"), nb::arg("query"), nb::arg("key"), nb::arg("value"),
           nb::kw_only(), nb::arg("global_query") = nb::none(), nb::arg("global_key") = nb::none(),
           nb::arg("global_value") = nb::none(), nb::arg("output") = nb::none(), FOVEA_PYTHON_OUTPUT,
           nb::sig(
               "def __call__(self, x: Tensor, query: Linear, key: Linear, value: Linear, *, global_query: Linear | "
               "None = None, global_key: Linear | None = None, global_value: Linear | None = None, output: Linear "
               "| None = None, " FOVEA_PYTHON_OUTPUT_TYPES),
           "y (batch, length, out of `output`, or heads * v_dim) of x (batch, length, dim). The layers `global_` "
           "are "
           "all\n"
           "given, or none: then query, key and value serve global tokens, too. A row of padding has zeros as "
           "heads.");
  module.def(
      "bigbird", bigbird, nb::arg("length"), nb::kw_only(), nb::arg("block_size") = 64, nb::arg("chosen") = 3,
      nb::arg("seed") = 0, nb::arg("heads") = 1, nb::rv_policy::take_ownership,
      nb::sig("def bigbird(length: int, *, block_size: int = 64, chosen: int = 3, seed: int = 0, heads: int = 1) "
              "-> Pattern"),
      "The pattern of BigBird (Zaheer et al., 2020) for `length` rows and keys: blocks see their neighbours, "
      "the first\n"
      "and the last block, and `chosen` more at random. heads: how many have lists of their own, head h by seed "
      "+ h.");
}

} // namespace fovea_python
