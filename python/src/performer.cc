#include "variants.h"

#include <fovea/performer.h>

namespace fovea_python {

namespace {

nb::object random_features(int64_t features, int64_t dim, uint64_t seed, uint64_t stream, bool orthogonal,
                           nb::handle norms, int threads) {
  fovea_nn_random_features all;
  fovea_nn_random_features_init(&all, features, dim);
  all.seed = seed;
  all.stream = stream;
  all.orthogonal = orthogonal;
  all.norms = static_cast<fovea_nn_feature_norms>(
      choice_of(norms, "norms", {{"gaussian", FOVEA_NN_NORMS_GAUSSIAN}, {"constant", FOVEA_NN_NORMS_CONSTANT}}));
  for (int i = 0; i < 2; i++) {
    const int64_t size = i ? dim : features;
    if (size < 1 || size > INT32_MAX)
      refuse(i ? "dim" : "features", "%s is %jd; it must be from 1 to %d", i ? "dim" : "features", (intmax_t)size,
             INT32_MAX);
  }
  const int64_t shape[] = {features, dim};
  nb::object object = make_tensor(nb::none(), element::f32, shape, 2);
  tensor to;
  to.write(object, "out");
  row_execution execution(threads);
  compute([&](fovea_error *error) {
    return fovea_nn_random_features_draw(&all, static_cast<float *>(to.data), &execution, error);
  });
  return object;
}

class performer {
public:
  performer(nb::handle projection, nb::handle kernel, nb::handle stabiliser, nb::handle eps, nb::handle scale,
            bool causal) {
    tensor rows;
    rows.read(projection, "projection");
    if (rows.axes != 2)
      refuse("projection", "projection has the shape %s; it must be (features, dim)", shape_text(rows).text);
    const int64_t shape[] = {rows.shape[0], rows.shape[1]};
    fovea_nn_performer_init(
        &layer_,
        static_cast<fovea_nn_performer_kernel>(choice_of(
            kernel, "kernel", {{"softmax", FOVEA_NN_PERFORMER_SOFTMAX}, {"relu", FOVEA_NN_PERFORMER_RELU}})),
        shape[1], shape[0], copy_floats(projection_, projection, "projection", shape, 2));
    layer_.stabiliser = static_cast<fovea_nn_performer_stabiliser>(choice_of(
        stabiliser, "stabiliser", {{"none", FOVEA_NN_STABILISER_NONE}, {"max", FOVEA_NN_STABILISER_MAX}}));
    if (!eps.is_none()) layer_.eps = number_of(eps, "eps");
    if (!scale.is_none()) layer_.scale = number_of(scale, "scale");
    layer_.causal = causal;
  }

  nb::object run(nb::handle q_given, nb::handle k_given, nb::handle v_given, nb::handle kv_lens,
                 nb::handle state_given, nb::handle out, int threads) const {
    operand q("q", "bhrd"), k("k", "bhrd"), v("v", "bhrd"), o("out", "bhrd");
    q.read(q_given);
    k.read(k_given);
    v.read(v_given);
    const int64_t batch = q.size('b'), kv_heads = k.size('h'), keys = k.size('r'), v_dim = v.size('d');
    q.require({batch, q.size('h'), q.size('r'), layer_.dim});
    k.require({batch, kv_heads, keys, layer_.dim});
    v.require({batch, kv_heads, keys, v_dim});
    nb::object object = o.write(out, q_given, q, {batch, q.size('h'), q.size('r'), v_dim});
    fovea_nn_performer_tensors t;
    fovea_nn_performer_tensors_init(&t, &layer_, batch, q.size('h'), kv_heads, q.size('r'), keys, v_dim, nullptr,
                                    nullptr, nullptr, nullptr);
    q.hand_to(t.q, t.q_type, t.q_strides);
    k.hand_to(t.k, t.k_type, t.k_strides);
    v.hand_to(t.v, t.v_type, t.v_strides);
    o.hand_to(t.o, t.o_type, t.o_strides);
    std::vector<int64_t> lens;
    t.kv_lens = batch_list(lens, kv_lens, "kv_lens", batch);
    tensor state;
    if (!state_given.is_none()) {
      const int64_t shape[] = {batch, kv_heads, fovea_nn_performer_state_numbers(layer_.features, v_dim)};
      state.write(state_given, "state");
      require_type(state, "state", element::f32);
      require_shape(state, "state", shape, 3);
      require_contiguous(state, "state");
      t.state = static_cast<float *>(state.data);
    }
    row_execution execution(threads);
    compute([&](fovea_error *error) { return fovea_nn_performer_run(&layer_, &t, &execution, error); });
    return object;
  }

  nb::object features(nb::handle x_given, bool keys, nb::handle lens_given, nb::handle out, int threads) const {
    operand x("x", "bhrd"), y("out", "bhrd");
    x.read(x_given);
    const int64_t batch = x.size('b'), heads = x.size('h'), rows = x.size('r');
    x.require({batch, heads, rows, layer_.dim});
    nb::object object = y.write(out, x_given, x, {batch, heads, rows, layer_.features});
    fovea_nn_performer_rows all;
    fovea_nn_performer_rows_init(&all, &layer_, batch, heads, rows, nullptr, nullptr);
    x.hand_to(all.x, all.x_type, all.x_strides);
    y.hand_to(all.y, all.y_type, all.y_strides);
    all.keys = keys;
    std::vector<int64_t> lens;
    all.lens = batch_list(lens, lens_given, "lens", batch);
    row_execution execution(threads);
    compute([&](fovea_error *error) { return fovea_nn_performer_features(&layer_, &all, &execution, error); });
    return object;
  }

  int64_t state_numbers(int64_t v_dim) const { return fovea_nn_performer_state_numbers(layer_.features, v_dim); }

private:
  aligned_memory projection_;
  fovea_nn_performer layer_;
};

} // namespace

void bind_performer(nb::module_ &module) {
  module.def(
      "random_features", random_features, nb::arg("features"), nb::arg("dim"), nb::kw_only(), nb::arg("seed") = 0,
      nb::arg("stream") = 0, nb::arg("orthogonal") = true, nb::arg("norms") = "gaussian", nb::arg("threads") = 0,
      nb::sig("def random_features(features: int, dim: int, *, seed: int = 0, stream: int = 0, orthogonal: bool "
              "= True, norms: str = 'gaussian', threads: int = 0) -> Tensor"),
      "A random projection, float32 (features, dim), the same on every machine. Row i depends on seed, stream, "
      "dim and\n"
      "i alone. norms: 'gaussian', or 'constant', sqrt(dim) for every row.");
  nb::class_<performer>(
      module, "Performer",
      "Attention approximated by random features (Choromanski et al., 2021), in time that grows with the length:\n"
      "o = phi(q) . sum(phi(k) v^T) / (phi(q) . sum(phi(k))).\n"
      "\n"
      "    projection: float32 (features, dim), of random_features() or a model's own; it is copied\n"
      "    kernel: 'softmax', phi(x) = (exp(w.x' - |x'|^2 / 2 - c) + eps) / sqrt(features), x' = x sqrt(scale); "
      "or\n"
      "        'relu', max(w.x', 0) + eps\n"
      "    stabiliser: c is 0, 'none'; or the largest w.x', 'max', not with causal\n"
      "    eps: default 1e-4, with 'relu' 1e-3\n"
      "    scale: default 1 / sqrt(dim)\n"
      "    causal: row i sees keys 0 to i")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, bool>(), nb::arg("projection"),
           nb::kw_only(), nb::arg("kernel") = "softmax", nb::arg("stabiliser") = "none",
           nb::arg("eps") = nb::none(), nb::arg("scale") = nb::none(), nb::arg("causal") = false,
           nb::sig(
               "def __init__(self, projection: Tensor, *, kernel: str = 'softmax', stabiliser: str = 'none', eps: "
               "float | None = None, scale: float | None = None, causal: bool = False) -> None"))
      .def(
          "__call__", &performer::run, nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::kw_only(),
          nb::arg("kv_lens") = nb::none(), nb::arg("state") = nb::none(), FOVEA_PYTHON_OUTPUT,
          nb::sig("def __call__(self, q: Tensor, k: Tensor, v: Tensor, *, kv_lens: Integers | None = None, state: "
                  "Tensor | None = None, " FOVEA_PYTHON_OUTPUT_TYPES),
          "o (batch, heads, rows, v_dim) of q (batch, heads, rows, dim), k (batch, kv_heads, keys, dim) and v "
          "(batch,\n"
          "kv_heads, keys, v_dim). kv_lens: how many keys are visible. state: of causal, the sums of earlier "
          "positions,\n"
          "float32 (batch, kv_heads, state_numbers(v_dim)), zeros first; it is updated, and a sequence that is cut "
          "into\n"
          "calls anywhere has the bits of one call.")
      .def("features", &performer::features, nb::arg("x"), nb::kw_only(), nb::arg("keys") = false,
           nb::arg("lens") = nb::none(), FOVEA_PYTHON_OUTPUT,
           nb::sig("def features(self, x: Tensor, *, keys: bool = False, lens: Integers | None = "
                   "None, " FOVEA_PYTHON_OUTPUT_TYPES),
           "phi(x), (batch, heads, rows, features). keys: with a stabiliser, of keys, not of a query. lens: rows "
           "after\n"
           "them give zeros.")
      .def("state_numbers", &performer::state_numbers, nb::arg("v_dim"),
           "How many numbers the state of a head has.");
}

} // namespace fovea_python
