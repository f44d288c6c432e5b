/* The operators that models run most, for tensors that lie as modules have them: Python takes as long to look at three
 * tensors as a product of a few rows takes. A function returns None if it does not take its arguments, and Python then
 * goes on. */
#include "operators.h"
#include "layers.h"

#include <algorithm>
#include <unordered_map>

namespace fovea_python {

namespace {

/* Elements of one type that the layers take, one after the other; at least one. */
struct dense : tensor {
  bool take(nb::handle object) {
    if (!view(object) || !axes || type > element::bf16) return false;
    count = 1;
    for (int axis = axes - 1; axis >= 0; axis--) {
      if (shape[axis] != 1 && strides[axis] != count) return false;
      count *= shape[axis];
    }
    return count > 0;
  }
  int64_t dim() const { return shape[axes - 1]; }
  fovea_type number() const { return number_type(type, ""); }

  int64_t count = 0;
};

/* Numbers of float32 for each of `dim`, if they are given. */
struct factors : dense {
  bool take(nb::handle object, int64_t dim) {
    if (object.is_none()) return true;
    return dense::take(object) && type == element::f32 && axes == 1 && count == dim;
  }
  const float *numbers() const { return static_cast<const float *>(data); }
};

/* An output with the type of `from`, and its shape but for the last axis. */
struct output_like {
  output_like(nb::handle object, const dense &from, int64_t dim) {
    extents shape;
    std::copy(from.shape, from.shape + from.axes, shape);
    shape[from.axes - 1] = dim;
    made = make_tensor(object, from.type, shape, from.axes);
    memory.write(made, "out");
  }
  nb::object made;
  tensor memory;
};

/* ---- Products ------------------------------------------------------------------------------------------------ */

int64_t version_of(nb::handle tensor) {
  static PyObject *const attribute = PyUnicode_InternFromString("_version"); /* lives as the process */
  nb::object version = nb::steal(PyObject_GetAttr(tensor.ptr(), attribute));
  if (!version.is_valid()) throw nb::python_error();
  return PyLong_AsLongLong(version.ptr());
}

/* Layers of weights (out, in), by their addresses; each as of a version of its weight. */
class packed_weights {
public:
  void keep(nb::handle weight) {
    tensor memory;
    if (!memory.view(weight)) refuse_type("weight", weight, "a tensor of PyTorch");
    nb::object layer = nb::cast(new linear(weight, nb::none(), nb::none(), nb::str("exact"), false, 0),
                                nb::rv_policy::take_ownership);
    kept_[memory.data] = {nb::borrow(weight), layer, &nb::cast<const linear &>(layer).layer(), version_of(weight)};
  }
  void drop(uintptr_t address) { kept_.erase(reinterpret_cast<void *>(address)); }

  /* The layer of a product's second factor, (in, out); None: there is none. */
  nb::object find(nb::handle columns) const {
    tensor memory;
    const kept *found = memory.view(columns) ? of(memory) : nullptr;
    return found ? found->layer : nb::none();
  }

  /* a times columns, and bias. */
  nb::object multiply(nb::handle a, nb::handle columns, nb::handle bias, int threads) const {
    dense x;
    tensor weights;
    factors addends;
    const kept *found = weights.view(columns) ? of(weights) : nullptr;
    if (!found || !x.take(a) || x.type != weights.type || x.axes != 2 || x.dim() != weights.shape[0])
      return nb::none();
    if (!addends.take(bias, weights.shape[1]) || (addends.exists() && x.type != element::f32)) return nb::none();
    fovea_nn_linear layer = *found->linear;
    layer.bias = addends.numbers();
    output_like y(a, x, layer.out);
    fovea_nn_linear_rows rows;
    fovea_nn_linear_rows_init(&rows, &layer, x.shape[0], x.data, y.memory.data);
    rows.x_type = rows.y_type = x.number();
    row_execution execution(threads);
    compute([&](fovea_error *error) { return fovea_nn_linear_run(&layer, &rows, &execution, error); });
    return y.made;
  }

private:
  struct kept {
    nb::object weight, layer;
    const fovea_nn_linear *linear;
    int64_t version;
  };

  const kept *of(const tensor &columns) const {
    auto found = kept_.find(columns.data);
    if (found == kept_.end()) return nullptr;
    const fovea_nn_linear &layer = *found->second.linear;
    bool same = columns.axes == 2 && columns.shape[0] == layer.in && columns.shape[1] == layer.out &&
                (layer.in == 1 || columns.strides[0] == 1) && (layer.out == 1 || columns.strides[1] == layer.in) &&
                columns.type <= element::bf16 && number_type(columns.type, "") == layer.weight_type;
    return same && version_of(found->second.weight) == found->second.version ? &found->second : nullptr;
  }

  std::unordered_map<const void *, kept> kept_;
};

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

nb::object normalise(nb::handle given, int64_t dim, nb::handle weight, nb::handle bias, double eps, int threads) {
  dense x;
  factors gamma, beta;
  if (!x.take(given) || x.dim() != dim || !gamma.take(weight, dim) || !beta.take(bias, dim)) return nb::none();
  fovea_nn_norm norm;
  fovea_nn_norm_init(&norm, FOVEA_NN_LAYER_NORM, dim);
  norm.eps = eps;
  norm.gamma = gamma.numbers();
  norm.beta = beta.numbers();
  output_like y(given, x, dim);
  fovea_nn_norm_rows rows;
  fovea_nn_norm_rows_init(&rows, &norm, x.count / dim, x.data, y.memory.data);
  rows.x_type = rows.y_type = x.number();
  row_execution execution(threads);
  compute([&](fovea_error *error) { return fovea_nn_norm_run(&norm, &rows, &execution, error); });
  return y.made;
}

nb::object activate(nb::handle given, nb::handle activation, int threads) {
  dense x;
  fovea_nn_activation kind = activation_of(activation, "activation");
  if (!x.take(given)) return nb::none();
  output_like y(given, x, x.dim());
  fovea_nn_map map;
  fovea_nn_map_init(&map, x.count / x.dim(), x.dim(), x.data, y.memory.data);
  map.x_type = map.y_type = x.number();
  row_execution execution(threads);
  compute([&](fovea_error *error) { return fovea_nn_activate(&map, kind, &execution, error); });
  return y.made;
}

} // namespace

void bind_operators(nb::module_ &module) {
  nb::class_<packed_weights>(module, "PackedWeights", "Layers of weights, by their addresses.")
      .def(nb::init<>())
      .def("keep", &packed_weights::keep, nb::arg("weight"), nb::sig("def keep(self, weight: Tensor) -> None"))
      .def("drop", &packed_weights::drop, nb::arg("address"))
      .def("find", &packed_weights::find, nb::arg("columns"), nb::sig("def find(self, columns: Tensor) -> Any"))
      .def("multiply", &packed_weights::multiply, nb::arg("a"), nb::arg("columns"), nb::arg("bias").none(),
           nb::arg("threads"),
           nb::sig("def multiply(self, a: Tensor, columns: Tensor, bias: Tensor | None, threads: int) -> Any"));
  module.def(
      "normalise_rows", normalise, nb::arg("x"), nb::arg("dim"), nb::arg("weight").none(), nb::arg("bias").none(),
      nb::arg("eps"), nb::arg("threads"),
      nb::sig("def normalise_rows(x: Tensor, dim: int, weight: Tensor | None, bias: Tensor | None, eps: float, "
              "threads: int) -> Any"));
  module.def("activate_rows", activate, nb::arg("x"), nb::arg("activation"), nb::arg("threads"),
             nb::sig("def activate_rows(x: Tensor, activation: str, threads: int) -> Any"));
}

} // namespace fovea_python
