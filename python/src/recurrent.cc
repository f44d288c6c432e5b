/* Attention of recurrent networks: additive attention, and the cells around it. */
#include "variants.h"

#include <fovea/recurrent.h>

namespace fovea_python {

namespace {

class additive {
public:
  additive(nb::handle w, nb::handle query, nb::handle key, nb::handle activation, double leaky_slope) {
    tensor numbers;
    numbers.read(w, "w");
    if (numbers.axes != 1) refuse("w", "w has the shape %s; it must be (dim,)", shape_text(numbers).text);
    const int64_t dim = numbers.shape[0];
    fovea_nn_additive_init(&layer_, dim, copy_floats(w_, w, "w", &dim, 1));
    layer_.query = linear_of(query, "query", kept_, false);
    layer_.key = linear_of(key, "key", kept_, false);
    layer_.activation = static_cast<fovea_nn_additive_activation>(choice_of(
        activation, "activation",
        {{"tanh", FOVEA_NN_ADDITIVE_ACTIVATION_TANH}, {"leaky_relu", FOVEA_NN_ADDITIVE_ACTIVATION_LEAKY_RELU}}));
    layer_.leaky_slope = leaky_slope;
  }

  nb::object run(nb::handle q_given, nb::handle k_given, nb::handle v_given, nb::handle weights_given,
                 nb::handle kv_lens, nb::handle mask_given, nb::handle edges, nb::handle out, int threads) const {
    operand q("q", "brd"), k("k", "brd"), v("v", "brd"), o("out", "brd"), weights("weights", "brd");
    q.read(q_given);
    k.read(k_given);
    v.read(v_given);
    const int64_t batch = q.size('b'), rows = q.size('r'), keys = k.size('r');
    q.require({batch, rows, layer_.query ? layer_.query->in : layer_.dim});
    k.require({batch, keys, layer_.key ? layer_.key->in : layer_.dim});
    v.require({batch, keys, v.size('d')});
    nb::object object = o.write(out, q_given, q, {batch, rows, v.size('d')}), weight_object;

    fovea_nn_additive_tensors t;
    fovea_nn_additive_tensors_init(&t, &layer_, batch, rows, keys, v.size('d'), nullptr, nullptr, nullptr, nullptr);
    q.hand_to(t.q, t.q_type, t.q_strides);
    k.hand_to(t.k, t.k_type, t.k_strides);
    v.hand_to(t.v, t.v_type, t.v_strides);
    o.hand_to(t.o, t.o_type, t.o_strides);
    const bool wanted =
        PyBool_Check(weights_given.ptr()) ? weights_given.ptr() == Py_True : !weights_given.is_none();
    if (wanted) {
      nb::object given = PyBool_Check(weights_given.ptr()) ? nb::none() : nb::borrow(weights_given);
      weight_object = weights.write(given, q_given, q, element::f32, {batch, rows, keys});
      weights.hand_to(t.weights, t.weight_strides);
    }
    std::vector<int64_t> lens, starts, sources;
    t.kv_lens = batch_list(lens, kv_lens, "kv_lens", batch);
    tensor mask;
    if (!mask_given.is_none()) set_mask(t, mask, mask_given);
    if (!edges.is_none()) {
      starts = integers_of(part_of(edges, "edges", 2, 0), "edges");
      sources = integers_of(part_of(edges, "edges", 2, 1), "edges");
      require_count(starts.size(), rows + 1, "edges", "starts, one more than rows");
      if (starts.back() < 0 || starts.back() > static_cast<int64_t>(sources.size()))
        refuse("edges", "edges has %zu keys, and its last start is %jd", sources.size(), (intmax_t)starts.back());
      t.edge_starts = starts.data();
      t.edge_keys = sources.data();
    }
    row_execution execution(threads);
    compute([&](fovea_error *error) { return fovea_nn_additive_run(&layer_, &t, &execution, error); });
    return wanted ? nb::object(nb::make_tuple(object, weight_object)) : object;
  }

private:
  /* bool (batch, rows, keys), broadcast as NumPy does. */
  static void set_mask(fovea_nn_additive_tensors &t, tensor &mask, nb::handle given) {
    mask.read_strided(given, "mask");
    require_type(mask, "mask", element::boolean);
    const int64_t wanted[] = {t.batch, t.q_len, t.kv_len};
    int64_t strides[] = {0, 0, 0};
    for (int axis = 0; axis < mask.axes; axis++) {
      int to = 3 - mask.axes + axis;
      if (to < 0 || (mask.shape[axis] != 1 && mask.shape[axis] != wanted[to]))
        refuse("mask", "mask has the shape %s; it must be %s, or 1 along an axis", shape_text(mask).text,
               shape_text(wanted, 3).text);
      if (mask.shape[axis] != 1) strides[to] = mask.strides[axis];
    }
    t.mask = mask.data;
    t.mask_type = FOVEA_MASK_BOOL;
    t.mask_strides = {strides[0], 0, strides[1], strides[2]};
  }

  std::vector<nb::object> kept_;
  aligned_memory w_;
  fovea_nn_additive layer_;
};

/* ---- Cells --------------------------------------------------------------------------------------------------- */

class cell {
public:
  cell(nb::handle input, nb::handle hidden) {
    const fovea_nn_linear *first = linear_of(input, "input", kept_, false);
    fovea_nn_cell_init(&layer_, first, linear_of(hidden, "hidden", kept_));
  }

protected:
  /* `c` and `new_c` are of an LSTM. */
  nb::object run(nb::handle x_given, nb::handle h_given, nb::handle c_given, bool is_lstm, nb::handle out,
                 nb::handle c_out, int threads) const {
    const int64_t size = layer_.hidden->in;
    rows x, h, c, y, new_c;
    x.read(x_given, "x");
    h.read(h_given, "h");
    x.require(x.count, layer_.input ? layer_.input->in : layer_.hidden->out);
    h.require(x.count, size);
    nb::object object = output_rows(y, out, h_given, h, size), c_object;
    fovea_nn_cell_rows all;
    fovea_nn_cell_rows_init(&all, &layer_, x.count, nullptr, nullptr, nullptr);
    x.hand_to(all.x, all.x_type, all.x_stride);
    h.hand_to(all.h, all.h_type, all.h_stride);
    y.hand_to(all.y, all.y_type, all.y_stride);
    if (is_lstm) {
      c.read(c_given, "c");
      c.require(x.count, size);
      c_object = output_rows(new_c, c_out, c_given, c, size);
      c.hand_to(all.c, all.c_type, all.c_stride);
      new_c.hand_to(all.new_c, all.new_c_type, all.new_c_stride);
    }
    row_execution execution(threads);
    compute([&](fovea_error *error) {
      return (is_lstm ? fovea_nn_lstm : fovea_nn_gru)(&layer_, &all, &execution, error);
    });
    return is_lstm ? nb::object(nb::make_tuple(object, c_object)) : object;
  }

private:
  std::vector<nb::object> kept_;
  fovea_nn_cell layer_;
};

struct gru : cell {
  using cell::cell;
  nb::object step(nb::handle x, nb::handle h, nb::handle out, int threads) const {
    return run(x, h, nb::none(), false, out, nb::none(), threads);
  }
};

struct lstm : cell {
  using cell::cell;
  nb::object step(nb::handle x, nb::handle h, nb::handle c, nb::handle out, nb::handle c_out, int threads) const {
    return run(x, h, c, true, out, c_out, threads);
  }
};

void bind_additive(nb::module_ &module) {
  nb::class_<additive>(
      module, "Additive",
      "Additive attention (Bahdanau et al., 2015): softmax of w . tanh(query(q) + key(k)), over values. With\n"
      "'leaky_relu' a head of graph attention (GATv2, 2022).\n"
      "\n"
      "    w: float32 (dim,)\n"
      "    query, key: linear layers with dim outputs; None: q (k) is projected already\n"
      "    activation: 'tanh' or 'leaky_relu', with leaky_slope")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, double>(), nb::arg("w"),
           nb::arg("query") = nb::none(), nb::arg("key") = nb::none(), nb::kw_only(),
           nb::arg("activation") = "tanh", nb::arg("leaky_slope") = 0.0,
           nb::sig("def __init__(self, w: Tensor, query: Linear | None = None, key: Linear | None = None, *, "
                   "activation: str = 'tanh', leaky_slope: float = 0.0) -> None"))
      .def(
          "__call__", &additive::run, nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::kw_only(),
          nb::arg("weights") = false, nb::arg("kv_lens") = nb::none(), nb::arg("mask") = nb::none(),
          nb::arg("edges") = nb::none(), FOVEA_PYTHON_OUTPUT,
          nb::sig(
              "def __call__(self, q: Tensor, k: Tensor, v: Tensor, *, weights: bool | Tensor = False, kv_lens: "
              "Integers | None = None, mask: Tensor | None = None, edges: tuple[Integers, Integers] | None = None, "
              "out: Tensor | None = None, threads: int = 0) -> Outputs"),
          "Context vectors (batch, rows, v_dim) of q (batch, rows, in), k (batch, keys, in) and v (batch, keys, "
          "v_dim);\n"
          "with `weights` also these, float32 (batch, rows, keys). A row that sees no key gives zeros.\n"
          "\n"
          "    kv_lens: how many keys of each batch element are visible, (batch)\n"
          "    mask: bool (batch, rows, keys), broadcast as NumPy does; False is not visible\n"
          "    edges: (starts, keys), a graph as CSR: row i sees only keys[starts[i]:starts[i + 1]]; -1: no key");
}

} // namespace

void bind_recurrent(nb::module_ &module) {
  bind_additive(module);
  const char *const init = "def __init__(self, input: Linear | None, hidden: Linear) -> None";
  nb::class_<gru>(
      module, "GRUCell",
      "A gated recurrent unit (Cho et al., 2014), with PyTorch's weights: `input` (3 dim, in) and `hidden` "
      "(3 dim, dim)\n"
      "in the order r, z, n. input None: x is projected already, for all steps at once.")
      .def(nb::init<nb::handle, nb::handle>(), nb::arg("input").none(), nb::arg("hidden"), nb::sig(init))
      .def("__call__", &gru::step, nb::arg("x"), nb::arg("h"), nb::kw_only(), FOVEA_PYTHON_OUTPUT,
           nb::sig("def __call__(self, x: Tensor, h: Tensor, *, " FOVEA_PYTHON_OUTPUT_TYPES),
           "The state (rows, dim) after x (rows, in) and the state h. `out` may be h.");
  nb::class_<lstm>(
      module, "LSTMCell",
      "Long short-term memory (Hochreiter & Schmidhuber, 1997), with PyTorch's weights: `input` (4 dim, "
      "in) and\n"
      "`hidden` (4 dim, dim) in the order i, f, g, o. input None: x is projected already.")
      .def(nb::init<nb::handle, nb::handle>(), nb::arg("input").none(), nb::arg("hidden"), nb::sig(init))
      .def("__call__", &lstm::step, nb::arg("x"), nb::arg("h"), nb::arg("c"), nb::kw_only(),
           nb::arg("out") = nb::none(), nb::arg("c_out") = nb::none(), nb::arg("threads") = 0,
           nb::sig(
               "def __call__(self, x: Tensor, h: Tensor, c: Tensor, *, out: Tensor | None = None, c_out: Tensor | "
               "None = None, threads: int = 0) -> tuple[Tensor, Tensor]"),
           "The states h and c (rows, dim) after x (rows, in). `out` may be h, and c_out c.");
}

} // namespace fovea_python
