#include "variants.h"

#include <fovea/sparse_attention.h>

namespace fovea_python {

namespace {

nb::object select(nb::handle q_given, nb::handle k_given, nb::handle weights_given, int64_t top_k, bool causal,
                  nb::handle offset, nb::handle kv_lens, int threads) {
  operand q("q", "bhrd"), k("k", "brd"), weights("weights", "brd");
  q.read(q_given);
  k.read(k_given);
  weights.read(weights_given);
  const int64_t batch = q.size('b'), heads = q.size('h'), rows = q.size('r'), keys = k.size('r'), dim = q.size('d');
  k.require({batch, keys, dim});
  weights.require({batch, rows, heads});
  weights.require_type(element::f32);
  if (top_k < 1 || top_k > FOVEA_TOP_K_LIMIT)
    refuse("top_k", "top_k is %jd; it must be from 1 to %d", (intmax_t)top_k, FOVEA_TOP_K_LIMIT);
  const int64_t shape[] = {batch, rows, top_k};
  nb::object object = make_tensor(q_given, element::i64, shape, 3);
  tensor to;
  to.write(object, "out");
  fovea_nn_selection all;
  fovea_nn_selection_init(&all, batch, heads, rows, keys, dim, top_k, nullptr, nullptr, nullptr,
                          static_cast<int64_t *>(to.data));
  q.hand_to(all.q, all.q_type, all.q_strides);
  k.hand_to(all.k, all.k_type, all.k_strides);
  weights.hand_to(all.weights, all.weight_strides);
  all.causal = causal;
  std::vector<int64_t> offsets, lens;
  set_one_or_each(all.offset, all.offsets, offsets, offset, "offset", batch);
  all.kv_lens = batch_list(lens, kv_lens, "kv_lens", batch);
  row_execution execution(threads);
  compute([&](fovea_error *error) { return fovea_nn_select(&all, &execution, error); });
  return object;
}

} // namespace

void bind_selection(nb::module_ &module) {
  module.def(
      "select_keys", select, nb::arg("q"), nb::arg("k"), nb::arg("weights"), nb::arg("top_k"), nb::kw_only(),
      nb::arg("causal") = true, nb::arg("offset") = nb::none(), nb::arg("kv_lens") = nb::none(),
      nb::arg("threads") = 0,
      nb::sig("def select_keys(q: Tensor, k: Tensor, weights: Tensor, top_k: int, *, causal: bool = True, offset: "
              "int | "
              "Integers | None = None, kv_lens: Integers | None = None, threads: int = 0) -> Tensor"),
      "Keys that an indexer selects for each row (DeepSeek-V3.2, 2025): the top_k largest sums over heads of\n"
      "weights * relu(q . k), int64 (batch, rows, top_k), in descending order; -1: the row sees no more. They are "
      "what\n"
      "Rule.lists() takes.\n"
      "\n"
      "    q: (batch, heads, rows, dim); k: (batch, keys, dim); weights: float32 (batch, rows, heads)\n"
      "    causal, offset, kv_lens: which keys a row sees, as attention() has them");
}

} // namespace fovea_python
