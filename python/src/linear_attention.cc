#include "variants.h"

#include <fovea/linear_attention.h>

namespace fovea_python {

namespace {

/* What a call is given. */
struct linear_attention_arguments {
  nb::handle q, k, v, decay, beta, decay_factors, skip, past, present, token_lens, cu_seqlens, out;
  int threads;
};

class linear_attention {
public:
  linear_attention(nb::handle rule, int64_t heads, int64_t k_dim, int64_t v_dim, int64_t q_heads, int64_t k_heads,
                   nb::handle scale, bool per_dim, bool unit, nb::handle unit_eps) {
    fovea_nn_linear_attention_init(
        &layer_,
        static_cast<fovea_nn_update_rule>(choice_of(rule, "rule",
                                                    {{"linear", FOVEA_NN_UPDATE_LINEAR},
                                                     {"gated", FOVEA_NN_UPDATE_GATED},
                                                     {"delta", FOVEA_NN_UPDATE_DELTA},
                                                     {"gated_delta", FOVEA_NN_UPDATE_GATED_DELTA}})),
        heads, k_dim, v_dim);
    layer_.q_heads = q_heads;
    layer_.k_heads = k_heads;
    if (!scale.is_none()) layer_.scale = number_of(scale, "scale");
    layer_.per_dim = per_dim;
    layer_.unit = unit;
    if (!unit_eps.is_none()) layer_.unit_eps = number_of(unit_eps, "unit_eps");
  }

  nb::object run(const linear_attention_arguments &given) const {
    operand q("q", "bhrd"), k("k", "bhrd"), v("v", "bhrd"), o("out", "bhrd");
    operand decay("decay", layer_.per_dim ? "bhrd" : "bhr"), beta("beta", "bhr");
    operand past("past", "bhrd"), present("present", "bhrd");
    q.read(given.q);
    k.read(given.k);
    v.read(given.v);
    std::vector<int64_t> lens;
    std::vector<int32_t> offsets;
    int64_t all = q.size('b'), batch = read_sequences(given, all, offsets), tokens = q.size('r');
    const int64_t heads = layer_.heads, q_heads = layer_.q_heads ? layer_.q_heads : heads;
    q.require({all, q_heads, tokens, layer_.k_dim});
    k.require({all, layer_.k_heads ? layer_.k_heads : heads, tokens, layer_.k_dim});
    v.require({all, heads, tokens, layer_.v_dim});
    nb::object object = o.write(given.out, given.q, q, {all, std::max(heads, q_heads), tokens, layer_.v_dim});

    fovea_nn_linear_attention_tensors t;
    fovea_nn_linear_attention_tensors_init(&t, &layer_, batch, tokens, nullptr, nullptr, nullptr, nullptr);
    q.hand_to(t.q, t.q_type, t.q_strides);
    k.hand_to(t.k, t.k_type, t.k_strides);
    v.hand_to(t.v, t.v_type, t.v_strides);
    o.hand_to(t.o, t.o_type, t.o_strides);
    decay.read(given.decay);
    if (layer_.per_dim)
      decay.require({all, heads, tokens, layer_.k_dim});
    else
      decay.require({all, heads, tokens});
    decay.hand_to(t.decay, t.decay_type, t.decay_strides);
    beta.read(given.beta);
    beta.require({all, heads, tokens});
    beta.hand_to(t.beta, t.beta_type, t.beta_strides);
    tensor factors, skip;
    t.decay_factors = floats_of(factors, given.decay_factors, "decay_factors", &heads, 1);
    t.skip = floats_of(skip, given.skip, "skip", &heads, 1);
    past.read(given.past);
    past.require({batch, heads, layer_.k_dim, layer_.v_dim});
    past.require_type(element::f32);
    past.hand_to(t.past, t.past_strides);
    if (!given.present.is_none()) {
      present.write(given.present, given.q, q, element::f32, {batch, heads, layer_.k_dim, layer_.v_dim});
      present.hand_to(t.present, t.present_strides);
    }
    t.token_lens = batch_list(lens, given.token_lens, "token_lens", all);
    t.cu_seqlens = offsets.empty() ? nullptr : offsets.data();
    row_execution execution(given.threads);
    compute([&](fovea_error *error) { return fovea_nn_linear_attention_run(&layer_, &t, &execution, error); });
    return object;
  }

private:
  /* Returns how many sequences there are. */
  static int64_t read_sequences(const linear_attention_arguments &given, int64_t batch,
                                std::vector<int32_t> &offsets) {
    if (given.cu_seqlens.is_none()) return batch;
    offsets = offsets_of(given.cu_seqlens, "cu_seqlens");
    if (batch != 1)
      refuse("q", "q has %jd batch elements; it must have 1, as cu_seqlens packs its sequences", (intmax_t)batch);
    return static_cast<int64_t>(offsets.size()) - 1;
  }

  fovea_nn_linear_attention layer_;
};

} // namespace

void bind_linear_attention(nb::module_ &module) {
  nb::class_<linear_attention>(
      module, "LinearAttention",
      "Linear attention (Katharopoulos et al., 2020) and its gated and delta family: a head keeps a state S of\n"
      "(k_dim, v_dim) numbers, and a token reads o = scale S^T q after it has changed S, with g = exp(decay):\n"
      "\n"
      "    rule: 'linear', S + k (beta v)^T; 'gated', g S + k (beta v)^T (GLA, RetNet, Mamba-2); 'delta', S + k "
      "(beta "
      "(v -\n"
      "        S^T k))^T (DeltaNet, Yang et al., 2024); 'gated_delta', g S, then as 'delta' (Gated DeltaNet)\n"
      "    heads: of v, the state, decay and beta; q_heads, k_heads: of q and of k, default heads\n"
      "    scale: default 1 / sqrt(k_dim)\n"
      "    per_dim: each dim of k has a decay of its own\n"
      "    unit: rows of q and k are divided by sqrt(sum of their squares + unit_eps), default 1e-6")
      .def(
          nb::init<nb::handle, int64_t, int64_t, int64_t, int64_t, int64_t, nb::handle, bool, bool, nb::handle>(),
          nb::arg("rule"), nb::arg("heads"), nb::arg("k_dim"), nb::arg("v_dim"), nb::kw_only(),
          nb::arg("q_heads") = 0, nb::arg("k_heads") = 0, nb::arg("scale") = nb::none(), nb::arg("per_dim") = false,
          nb::arg("unit") = false, nb::arg("unit_eps") = nb::none(),
          nb::sig(
              "def __init__(self, rule: str, heads: int, k_dim: int, v_dim: int, *, q_heads: int = 0, k_heads: int "
              "= 0, scale: float | None = None, per_dim: bool = False, unit: bool = False, unit_eps: float | None "
              "= None) -> None"))
      .def(
          "__call__",
          [](const linear_attention &layer, nb::handle q, nb::handle k, nb::handle v, nb::handle decay,
             nb::handle beta, nb::handle decay_factors, nb::handle skip, nb::handle past, nb::handle present,
             nb::handle token_lens, nb::handle cu_seqlens, nb::handle out, int threads) {
            return layer.run(
                {q, k, v, decay, beta, decay_factors, skip, past, present, token_lens, cu_seqlens, out, threads});
          },
          nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::kw_only(), nb::arg("decay") = nb::none(),
          nb::arg("beta") = nb::none(), nb::arg("decay_factors") = nb::none(), nb::arg("skip") = nb::none(),
          nb::arg("past") = nb::none(), nb::arg("present") = nb::none(), nb::arg("token_lens") = nb::none(),
          nb::arg("cu_seqlens") = nb::none(), FOVEA_PYTHON_OUTPUT,
          nb::sig(
              "def __call__(self, q: Tensor, k: Tensor, v: Tensor, *, decay: Tensor | None = None, beta: Tensor | "
              "None = None, decay_factors: Tensor | None = None, skip: Tensor | None = None, past: Tensor | None = "
              "None, present: Tensor | None = None, token_lens: Integers | None = None, cu_seqlens: Integers | "
              "None "
              "= None, " FOVEA_PYTHON_OUTPUT_TYPES),
          "o (batch, heads, tokens, v_dim) of q and k (batch, heads, tokens, k_dim) and v (batch, heads, tokens, "
          "v_dim).\n"
          "Tokens in one call, in chunks or one by one have the same bits.\n"
          "\n"
          "    decay: its logarithm, (batch, heads, tokens), with per_dim (batch, heads, tokens, k_dim); of the "
          "gated "
          "rules\n"
          "    beta: (batch, heads, tokens), default 1\n"
          "    decay_factors, skip: float32 (heads,): what decays are multiplied by; o has skip * v more "
          "(Mamba-2)\n"
          "    past, present: the state before and after these tokens, float32 (batch, heads, k_dim, v_dim); "
          "present "
          "is\n"
          "        written, and may be past; default: zeros, and not wanted\n"
          "    token_lens: how many tokens each sequence of a padded batch has, (batch)\n"
          "    cu_seqlens: packed batches: sequence b has tokens cu_seqlens[b] to cu_seqlens[b + 1] - 1");
}

} // namespace fovea_python
