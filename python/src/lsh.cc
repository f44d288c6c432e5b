#include "variants.h"

#include <fovea/sparse_attention.h>

namespace fovea_python {

namespace {

class lsh {
public:
  lsh(int64_t dim, int64_t rounds, int64_t bucket_size, int64_t buckets, nb::handle bucket_factors, bool causal,
      bool once, nb::handle ring, nb::handle scale, nb::handle eps)
      : dim_(dim) {
    fovea_nn_lsh_init(&layer_, rounds, bucket_size, buckets, dim);
    for (int i = 0; i < 2 && !bucket_factors.is_none(); i++)
      layer_.bucket_factors[i] = integer_of(part_of(bucket_factors, "bucket_factors", 2, i), "bucket_factors");
    layer_.causal = causal;
    layer_.once = once;
    layer_.ring = static_cast<fovea_nn_lsh_ring>(
        choice_of(ring, "ring",
                  {{"across_rounds", FOVEA_NN_LSH_ACROSS_ROUNDS}, {"within_round", FOVEA_NN_LSH_WITHIN_ROUND}}));
    if (!scale.is_none()) layer_.scale = number_of(scale, "scale");
    if (!eps.is_none()) layer_.eps = number_of(eps, "eps");
  }

  nb::object run(nb::handle x_given, nb::handle v_given, nb::handle rotations_given, nb::handle lens_given,
                 bool wants_buckets, nb::handle out, int threads) const {
    operand x("x", "bhrd"), v("v", "bhrd"), y("out", "bhrd");
    tensor rotations, numbers;
    x.read(x_given);
    v.read(v_given);
    const int64_t batch = x.size('b'), heads = x.size('h'), length = x.size('r'), v_dim = v.size('d');
    x.require({batch, heads, length, dim_});
    v.require({batch, heads, length, v_dim});
    nb::object object = y.write(out, x_given, x, {batch, heads, length, v_dim}), bucket_object;
    const int64_t shape[] = {dim_, layer_.rounds, columns()};
    rotations.read(rotations_given, "rotations");
    require_type(rotations, "rotations", element::f32);
    require_shape(rotations, "rotations", shape, 3);
    require_contiguous(rotations, "rotations");
    fovea_nn_lsh_tensors t;
    fovea_nn_lsh_tensors_init(&t, &layer_, batch, heads, length, dim_, nullptr, nullptr, nullptr,
                              static_cast<const float *>(rotations.data));
    t.v_dim = v_dim;
    x.hand_to(t.x, t.x_type, t.x_strides);
    v.hand_to(t.v, t.v_type, t.v_strides);
    y.hand_to(t.y, t.y_type, t.y_strides);
    std::vector<int64_t> lens;
    t.lens = batch_list(lens, lens_given, "lens", batch);
    if (wants_buckets) {
      const int64_t sizes[] = {batch, heads, layer_.rounds, length};
      bucket_object = make_tensor(x_given, element::i64, sizes, 4);
      numbers.write(bucket_object, "bucket_numbers");
      t.bucket_numbers = static_cast<int64_t *>(numbers.data);
    }
    row_execution execution(threads);
    compute([&](fovea_error *error) { return fovea_nn_lsh_run(&layer_, &t, &execution, error); });
    return wants_buckets ? nb::object(nb::make_tuple(object, bucket_object)) : object;
  }

  int64_t columns() const { return fovea_nn_lsh_columns(&layer_); }

private:
  int64_t dim_;
  fovea_nn_lsh layer_;
};

} // namespace

void bind_lsh(nb::module_ &module) {
  nb::class_<lsh>(
      module, "LSH",
      "LSH attention (Kitaev et al., Reformer, 2020): queries and keys are the same rows; a round of hashing sorts "
      "them\n"
      "into buckets and cuts them into chunks of bucket_size rows, of which a row sees its own and the one "
      "before.\n"
      "\n"
      "    rounds: n_hashes; buckets: of a round, even; bucket_factors: two even numbers whose product it is\n"
      "    causal: no row after the own one\n"
      "    once: of all places where a row meets another, only the first counts\n"
      "    ring: which chunk comes before the first of a round: 'across_rounds' or 'within_round'\n"
      "    scale: default 1 / sqrt(dim); eps: of keys' norms, default 1e-30")
      .def(nb::init<int64_t, int64_t, int64_t, int64_t, nb::handle, bool, bool, nb::handle, nb::handle,
                    nb::handle>(),
           nb::arg("dim"), nb::kw_only(), nb::arg("rounds"), nb::arg("bucket_size"), nb::arg("buckets"),
           nb::arg("bucket_factors") = nb::none(), nb::arg("causal") = false, nb::arg("once") = false,
           nb::arg("ring") = "across_rounds", nb::arg("scale") = nb::none(), nb::arg("eps") = nb::none(),
           nb::sig("def __init__(self, dim: int, *, rounds: int, bucket_size: int, buckets: int, bucket_factors: "
                   "tuple[int, int] | None = None, causal: bool = False, once: bool = False, ring: str = "
                   "'across_rounds', scale: float | None = None, eps: float | None = None) -> None"))
      .def("__call__", &lsh::run, nb::arg("x"), nb::arg("v"), nb::arg("rotations"), nb::kw_only(),
           nb::arg("lens") = nb::none(), nb::arg("bucket_numbers") = false, FOVEA_PYTHON_OUTPUT,
           nb::sig("def __call__(self, x: Tensor, v: Tensor, rotations: Tensor, *, lens: Integers | None = None, "
                   "bucket_numbers: bool = False, out: Tensor | None = None, threads: int = 0) -> Outputs"),
           "y (batch, heads, length, v_dim) of x (batch, heads, length, dim) and v (batch, heads, length, v_dim).\n"
           "\n"
           "    rotations: float32 (dim, rounds, columns)\n"
           "    lens: how many rows each sequence has; the others give zeros\n"
           "    bucket_numbers: also the bucket of each row, int64 (batch, heads, rounds, length)")
      .def_prop_ro("columns", &lsh::columns, "columns of the rotations of a round");
}

} // namespace fovea_python
