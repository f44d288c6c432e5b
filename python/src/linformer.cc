/* Linformer, and differential attention: attention() with another step before or after it. */
#include "call.h"
#include "variants.h"

#include <fovea/latent_attention.h>

namespace fovea_python {

namespace {

class linformer {
public:
  linformer(nb::handle key_projection, nb::handle value_projection) {
    read(keys_, key_projection, "key_projection");
    fovea_nn_linformer_init(&layer_, size_of(keys_, 2), size_of(keys_, 3), keys_.data);
    layer_.type = number_type(keys_.type, "key_projection");
    layer_.projection_row = keys_.strides[keys_.axes - 2];
    if (keys_.axes == 3) layer_.projection_head = keys_.strides[0];
    kept_.push_back(nb::borrow(key_projection));
    if (value_projection.is_none()) return;
    read(values_, value_projection, "value_projection");
    kept_.push_back(nb::borrow(value_projection));
    require_type(values_, "value_projection", keys_.type);
    require_shape(values_, "value_projection", keys_.shape, keys_.axes);
    for (int axis = 0; axis < keys_.axes; axis++)
      if (values_.strides[axis] != keys_.strides[axis])
        refuse("value_projection",
               "value_projection.strides[%d] is %jd elements; it must be %jd, as key_projection's", axis,
               (intmax_t)values_.strides[axis], (intmax_t)keys_.strides[axis]);
    layer_.value_projection = values_.data;
  }

  nb::object run(nb::handle q, nb::handle k, nb::handle v, nb::kwargs keywords) const {
    attention_call call;
    call.read(q, k, v, keywords, in_attention);
    if (keys_.axes == 3 && keys_.shape[0] != call.problem.kv_heads)
      refuse("k", "k has %jd heads; key_projection has %jd", (intmax_t)call.problem.kv_heads,
             (intmax_t)keys_.shape[0]);
    call.make_outputs(q);
    compute([&](fovea_error *error) {
      return fovea_nn_linformer_run(&layer_, &call.problem, &call.tensors, &call.execution, error);
    });
    return call.result();
  }

private:
  static void read(tensor &to, nb::handle given, const char *name) {
    to.read(given, name);
    if (to.axes < 2 || to.axes > 3)
      refuse(name, "%s has the shape %s; it must be (max_len, k), or (kv_heads, max_len, k)", name,
             shape_text(to).text);
  }

  std::vector<nb::object> kept_;
  tensor keys_, values_;
  fovea_nn_linformer layer_;
};

/* ---- Differential attention ---------------------------------------------------------------------------------- */

class differential {
public:
  differential(double lambda, double lambda_init, double eps, nb::handle gamma) {
    fovea_nn_differential_init(&layer_, lambda, lambda_init);
    layer_.eps = eps;
    tensor numbers;
    if (gamma.is_none()) return;
    numbers.read(gamma, "gamma");
    if (numbers.axes != 1) refuse("gamma", "gamma has the shape %s; it must be (v_dim,)", shape_text(numbers).text);
    factors_ = numbers.shape[0];
    layer_.gamma = copy_floats(gamma_, gamma, "gamma", &factors_, 1);
  }

  nb::object run(nb::handle q1, nb::handle k1, nb::handle q2, nb::handle k2, nb::handle v,
                 nb::kwargs keywords) const {
    attention_call first, second;
    first.read(q1, k1, v, keywords, in_attention);
    if (layer_.gamma && factors_ != first.problem.v_dim)
      refuse("v", "v has %jd dims; gamma has %jd", (intmax_t)first.problem.v_dim, (intmax_t)factors_);
    if (first.wants_more() || first.problem.state)
      refuse_unused("lse", "lse, state or another output beside O is wanted, which differential attention has not");
    first.make_outputs(q1);
    second.read(q2, k2, v, keywords, in_attention);
    second.problem.o_type = first.problem.o_type;
    second.problem.o_strides = first.problem.o_strides;
    second.require_layout(first);
    compute([&](fovea_error *error) {
      return fovea_nn_differential_run(&layer_, &first.problem, &first.tensors, &second.tensors, &first.execution,
                                       error);
    });
    return first.result();
  }

private:
  aligned_memory gamma_;
  int64_t factors_ = 0;
  fovea_nn_differential layer_;
};

double differential_lambda(nb::handle q1, nb::handle k1, nb::handle q2, nb::handle k2, double lambda_init) {
  tensor numbers[4];
  const char *const names[] = {"q1", "k1", "q2", "k2"};
  const nb::handle given[] = {q1, k1, q2, k2};
  const float *vectors[4];
  int64_t dim = 0;
  for (int i = 0; i < 4; i++) {
    numbers[i].read(given[i], names[i]);
    if (i == 0) dim = numbers[0].axes == 1 ? numbers[0].shape[0] : 0;
    require_type(numbers[i], names[i], element::f32);
    require_shape(numbers[i], names[i], &dim, 1);
    require_contiguous(numbers[i], names[i]);
    vectors[i] = static_cast<const float *>(numbers[i].data);
  }
  float lambda;
  fovea_error error;
  check(fovea_nn_differential_lambda(dim, vectors[0], vectors[1], vectors[2], vectors[3], lambda_init, &lambda,
                                     &error),
        error);
  return lambda;
}

} // namespace

void bind_linformer(nb::module_ &module) {
  std::string signature = signature_of("__call__(self, q: Tensor, k: Tensor, v: Tensor", "Outputs", in_attention);
  std::string text =
      "O, as attention() has it, of q (batch, heads, rows, dim) over projected k and v (batch, kv_heads, "
      "keys, dim), keys\n"
      "at most max_len. Rules over positions of keys, masks and outputs but O and LSE are "
      "refused.\n\n" +
      text_of_options(in_attention);
  nb::class_<linformer>(
      module, "Linformer",
      "Linformer (Wang et al., 2020): keys and values are projected along the length, K' = E^T K, V' = F^T V, and\n"
      "rows attend over these: softmax(scale * Q K'^T) V'.\n"
      "\n"
      "    key_projection: E, (max_len, k), or (kv_heads, max_len, k); it is not copied\n"
      "    value_projection: F, default E")
      .def(nb::init<nb::handle, nb::handle>(), nb::arg("key_projection"), nb::arg("value_projection") = nb::none(),
           nb::sig("def __init__(self, key_projection: Tensor, value_projection: Tensor | None = None) -> None"))
      .def("__call__", &linformer::run, nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("keywords"),
           nb::sig(signature.c_str()), text.c_str());
}

void bind_differential(nb::module_ &module) {
  std::string signature = signature_of("__call__(self, q1: Tensor, k1: Tensor, q2: Tensor, k2: Tensor, v: Tensor",
                                       "Tensor", in_attention);
  std::string text =
      "O (batch, heads, rows, v_dim), of tensors as attention() takes them; q2 and k2 have the shapes, "
      "types and strides of q1\n"
      "and k1. Outputs beside O are refused.\n\n" +
      text_of_options(in_attention);
  nb::class_<differential>(module, "Differential",
                           "Differential attention (Ye et al., 2024): o = (softmax(scale * Q1 K1^T) - lambda * "
                           "softmax(scale * Q2 K2^T)) "
                           "V,\n"
                           "then RMSNorm(o) * gamma * (1 - lambda_init).\n"
                           "\n"
                           "    lambda_: differential_lambda() computes it\n"
                           "    gamma: float32 (v_dim,)")
      .def(
          nb::init<double, double, double, nb::handle>(), nb::arg("lambda_"), nb::arg("lambda_init"), nb::kw_only(),
          nb::arg("eps") = 1e-5, nb::arg("gamma") = nb::none(),
          nb::sig(
              "def __init__(self, lambda_: float, lambda_init: float, *, eps: float = 1e-5, gamma: Tensor | None = "
              "None) -> None"))
      .def("__call__", &differential::run, nb::arg("q1"), nb::arg("k1"), nb::arg("q2"), nb::arg("k2"), nb::arg("v"),
           nb::arg("keywords"), nb::sig(signature.c_str()), text.c_str());
  module.def(
      "differential_lambda", differential_lambda, nb::arg("q1"), nb::arg("k1"), nb::arg("q2"), nb::arg("k2"),
      nb::arg("lambda_init"),
      nb::sig("def differential_lambda(q1: Tensor, k1: Tensor, q2: Tensor, k2: Tensor, lambda_init: float) -> "
              "float"),
      "e^(q1 . k1) - e^(q2 . k2) + lambda_init, of a layer's four vectors, float32 (dim,).");
}

} // namespace fovea_python
