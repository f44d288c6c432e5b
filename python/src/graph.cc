#include "variants.h"

#include <fovea/graph_attention.h>

namespace fovea_python {

namespace {

class graph {
public:
  graph(nb::handle kind, int64_t heads, int64_t dim, nb::handle scale, nb::handle leaky_slope, nb::handle a_to,
        nb::handle a_from, nb::handle a_edge, nb::handle a, nb::handle edge, bool average_heads, nb::handle bias) {
    fovea_nn_graph_init(&layer_,
                        static_cast<fovea_nn_graph_kind>(choice_of(kind, "kind",
                                                                   {{"transformer", FOVEA_NN_GRAPH_TRANSFORMER},
                                                                    {"gat", FOVEA_NN_GRAPH_GAT},
                                                                    {"gatv2", FOVEA_NN_GRAPH_GATV2}})),
                        heads, dim);
    if (heads < 1 || heads > 1 << 20) refuse("heads", "heads is %jd; it must be from 1 to 2^20", (intmax_t)heads);
    if (dim < 1 || dim > 1 << 20) refuse("dim", "dim is %jd; it must be from 1 to 2^20", (intmax_t)dim);
    if (!scale.is_none()) layer_.scale = number_of(scale, "scale");
    if (!leaky_slope.is_none()) layer_.leaky_slope = number_of(leaky_slope, "leaky_slope");
    const int64_t shape[] = {heads, dim}, biases = average_heads ? dim : heads * dim;
    layer_.a_to = copy_floats(numbers_[0], a_to, "a_to", shape, 2);
    layer_.a_from = copy_floats(numbers_[1], a_from, "a_from", shape, 2);
    layer_.a_edge = copy_floats(numbers_[2], a_edge, "a_edge", shape, 2);
    layer_.a = copy_floats(numbers_[3], a, "a", shape, 2);
    layer_.bias = copy_floats(numbers_[4], bias, "bias", &biases, 1);
    layer_.edge = linear_of(edge, "edge", kept_, false);
    layer_.average_heads = average_heads;
  }

  nb::object run(nb::handle q_given, nb::handle k_given, nb::handle v_given, nb::handle starts_given,
                 nb::handle sources_given, nb::handle features_given, bool wants_weights, bool wants_lse,
                 nb::handle out, int threads) const {
    operand q("q", "rhd"), k("k", "rhd"), v("v", "rhd"), y("out", layer_.average_heads ? "rd" : "rhd"),
        features("features", layer_.edge ? "rd" : "rhd"), weights("weights", "rd"), lse("lse", "rd");
    q.read(q_given);
    k.read(k_given);
    v.read(v_given);
    features.read(features_given);
    const int64_t nodes = q.size('r'), sources = k.size('r'), heads = layer_.heads, dim = layer_.dim;
    q.require({nodes, heads, dim});
    k.require({sources, heads, dim});
    v.require({sources, heads, dim});
    std::vector<int64_t> starts = integers_of(starts_given, "edge_starts"),
                         list = integers_of(sources_given, "edge_sources");
    const int64_t edges = static_cast<int64_t>(list.size());
    require_count(starts.size(), nodes + 1, "edge_starts", "one more than nodes");
    if (starts[0] != 0 || starts.back() != edges)
      refuse("edge_starts", "edge_starts goes from %jd to %jd; it must go from 0 to the %jd edges",
             (intmax_t)starts[0], (intmax_t)starts.back(), (intmax_t)edges);
    if (layer_.edge)
      features.require({edges, layer_.edge->in});
    else
      features.require({edges, heads, dim});
    nb::object object = layer_.average_heads ? y.write(out, q_given, q, {nodes, dim})
                                             : y.write(out, q_given, q, {nodes, heads, dim});
    fovea_nn_graph_tensors t;
    fovea_nn_graph_tensors_init(&t, &layer_, nodes, sources, starts.data(), list.data(), nullptr, nullptr, nullptr);
    q.hand_to(t.q, t.q_type, t.q_strides);
    k.hand_to(t.k, t.k_type, t.k_strides);
    v.hand_to(t.v, t.v_type, t.v_strides);
    y.hand_to(t.y, t.y_type, t.y_strides);
    features.hand_to(t.features, t.feature_type, t.feature_strides);
    nb::list results;
    results.append(object);
    if (wants_weights) {
      results.append(weights.write(nb::none(), q_given, q, element::f32, {edges, heads}));
      t.weights = static_cast<float *>(weights.memory.data);
    }
    if (wants_lse) {
      results.append(lse.write(nb::none(), q_given, q, element::f32, {nodes, heads}));
      t.lse = static_cast<float *>(lse.memory.data);
    }
    row_execution execution(threads);
    compute([&](fovea_error *error) { return fovea_nn_graph_run(&layer_, &t, &execution, error); });
    return wants_weights || wants_lse ? nb::object(nb::tuple(results)) : object;
  }

private:
  std::vector<nb::object> kept_;
  aligned_memory numbers_[5];
  fovea_nn_graph layer_;
};

} // namespace

void bind_graph(nb::module_ &module) {
  nb::class_<graph>(module, "GraphAttention",
                    "Attention over the edges of a graph, with features of edges, e:\n"
                    "\n"
                    "    kind: 'transformer', scores scale q . (k + e), values v + e (Shi et al., 2021); 'gat', "
                    "LeakyReLU(a_to . q +\n"
                    "        a_from . k + a_edge . e), values k (Velickovic et al., 2018); 'gatv2', a . "
                    "LeakyReLU(q + k + e), values "
                    "k\n"
                    "        (Brody et al., 2022)\n"
                    "    heads, dim: of all of q, k, v and e\n"
                    "    scale: of 'transformer', default 1 / sqrt(dim); leaky_slope: of the others, default 0.2\n"
                    "    a_to, a_from, a_edge, a: float32 (heads, dim)\n"
                    "    edge: a linear layer that makes e of features, heads * dim outputs; None: they are e\n"
                    "    average_heads: the result is the mean of the heads\n"
                    "    bias: float32 (heads * dim,), of a mean (dim,)")
      .def(
          nb::init<nb::handle, int64_t, int64_t, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle,
                   nb::handle, nb::handle, bool, nb::handle>(),
          nb::arg("kind"), nb::arg("heads"), nb::arg("dim"), nb::kw_only(), nb::arg("scale") = nb::none(),
          nb::arg("leaky_slope") = nb::none(), nb::arg("a_to") = nb::none(), nb::arg("a_from") = nb::none(),
          nb::arg("a_edge") = nb::none(), nb::arg("a") = nb::none(), nb::arg("edge") = nb::none(),
          nb::arg("average_heads") = false, nb::arg("bias") = nb::none(),
          nb::sig("def __init__(self, kind: str, heads: int, dim: int, *, scale: float | None = None, leaky_slope: "
                  "float | None = None, a_to: Tensor | None = None, a_from: Tensor | None = None, a_edge: Tensor | "
                  "None = None, a: Tensor | None = None, edge: Linear | None = None, average_heads: bool = False, "
                  "bias: Tensor | None = None) -> None"))
      .def(
          "__call__", &graph::run, nb::arg("q"), nb::arg("k"), nb::arg("v") = nb::none(), nb::kw_only(),
          nb::arg("edge_starts"), nb::arg("edge_sources"), nb::arg("features") = nb::none(),
          nb::arg("weights") = false, nb::arg("lse") = false, FOVEA_PYTHON_OUTPUT,
          nb::sig(
              "def __call__(self, q: Tensor, k: Tensor, v: Tensor | None = None, *, edge_starts: Integers, "
              "edge_sources: Integers, features: Tensor | None = None, weights: bool = False, lse: bool = False, "
              "out: Tensor | None = None, threads: int = 0) -> Outputs"),
          "y (nodes, heads, dim), or of a mean (nodes, dim), of q (nodes, heads, dim), k and v (sources, heads, "
          "dim), "
          "v of\n"
          "'transformer' alone.\n"
          "\n"
          "    edge_starts, edge_sources: CSR: the edges that end at node i begin at edge_sources[edge_starts[i]:\n"
          "        edge_starts[i + 1]]; -1 is no edge; edge_starts goes from 0 to the number of edges\n"
          "    features: (edges, heads, dim), or with the layer `edge` (edges, in)\n"
          "    weights: also the weights of the edges, float32 (edges, heads)\n"
          "    lse: also the LSE of the nodes, float32 (nodes, heads)");
}

} // namespace fovea_python
