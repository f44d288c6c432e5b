/* Multi-head latent attention. */
#include "block.h"
#include "variants.h"

#include <fovea/latent_attention.h>

namespace fovea_python {

namespace {

class latent {
public:
  latent(int64_t heads, int64_t kv_lora_rank, int64_t qk_nope_head_dim, int64_t qk_rope_head_dim,
         int64_t v_head_dim, nb::handle q_b_proj, nb::handle kv_a_proj, nb::handle kv_b_weight, nb::handle o_proj,
         nb::handle q_a_proj, nb::handle q_a_layernorm, nb::handle kv_a_layernorm, nb::handle rotary,
         bool absorbed) {
    fovea_nn_latent_init(&layer_, heads, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim);
    layer_.q_a_proj = linear_of(q_a_proj, "q_a_proj", kept_, false);
    layer_.q_a_layernorm = norm_of(q_a_layernorm, "q_a_layernorm", kept_, false);
    layer_.q_b_proj = linear_of(q_b_proj, "q_b_proj", kept_);
    layer_.kv_a_proj = linear_of(kv_a_proj, "kv_a_proj", kept_);
    layer_.kv_a_layernorm = norm_of(kv_a_layernorm, "kv_a_layernorm", kept_, false);
    layer_.o_proj = linear_of(o_proj, "o_proj", kept_);
    layer_.rotary = rotary_of(rotary, "rotary");
    kept_.push_back(nb::borrow(rotary));
    weight_.read(kv_b_weight, "kv_b_weight");
    kept_.push_back(nb::borrow(kv_b_weight));
    if (weight_.memory.axes != 2)
      refuse("kv_b_weight", "kv_b_weight has the shape %s; it must be (out, in)", shape_text(weight_.memory).text);
    fovea_nn_linear_init(&kv_b_proj_, weight_.dim, weight_.count, nullptr);
    weight_.hand_to(kv_b_proj_.weights, kv_b_proj_.weight_type, kv_b_proj_.weight_stride);
    layer_.kv_b_proj = &kv_b_proj_;
    if (absorbed) absorb();
  }

  nb::object run(nb::handle x, nb::handle residual, const given_positions &positions, nb::kwargs keywords) const {
    rows from, to, residuals;
    from.read(x, "x");
    from.require(from.count, layer_.kv_a_proj->in);
    residuals.read(residual, "residual");
    residuals.require(from.count, layer_.o_proj->out);
    attending over(keywords);
    attention_call &call = over.call;
    sequences own = sequences_of(from.memory, from.memory.axes - 1, "x", call.sequences_q);
    over.describe({layer_.heads, layer_.heads, layer_.qk_nope_head_dim + layer_.qk_rope_head_dim, layer_.v_head_dim,
                   layer_.rotary},
                  own, nullptr, true, positions);
    if (call.wants_more())
      refuse_unused("scores", "scores or another output beside O is wanted, which are not there");
    output &o = call.o;
    nb::object object = output_rows(to, o.memory.exists() ? nb::handle(o.object) : nb::handle(Py_None), x, from,
                                    layer_.o_proj->out);
    fovea_nn_latent_tensors tensors;
    fovea_nn_latent_tensors_init(&tensors, nullptr, nullptr);
    from.hand_to(tensors.x, tensors.x_type, tensors.x_stride);
    to.hand_to(tensors.y, tensors.y_type, tensors.y_stride);
    residuals.hand_to(tensors.residual, tensors.residual_type, tensors.residual_stride);
    tensors.mask = call.tensors.mask;
    tensors.sink = call.tensors.sink;
    tensors.cache = call.tensors.cache;
    tensors.first_position = over.tensors.first_position;
    tensors.first_positions = over.tensors.first_positions;
    tensors.rotary_positions = over.tensors.rotary_positions;
    compute([&](fovea_error *error) {
      return fovea_nn_latent_run(&layer_, &call.problem, &tensors, &call.execution, error);
    });
    over.keep();
    return object;
  }

private:
  void absorb() {
    int64_t elements;
    fovea_error error;
    check(fovea_nn_latent_absorbed_elements(&layer_, &elements, &error), error);
    void *memory = absorbed_.reserve(static_cast<size_t>(elements) * (kv_b_proj_.weight_type == FOVEA_F32 ? 4 : 2));
    compute([&](fovea_error *why) { return fovea_nn_latent_absorb(&layer_, memory, why); });
    layer_.absorbed = memory;
    layer_.form = FOVEA_NN_LATENT_ABSORBED;
  }

  std::vector<nb::object> kept_;
  rows weight_;
  fovea_nn_linear kv_b_proj_;
  aligned_memory absorbed_;
  fovea_nn_latent layer_;
};

} // namespace

void bind_latent(nb::module_ &module) {
  std::string signature =
      signature_of("__call__(self, x: Tensor, residual: Tensor | None = None, first_position: int | "
                   "Integers | None = None, rotary_positions: Integers | None = None",
                   "Tensor", in_layer);
  std::string text =
      std::string("y of x (batch, rows, dim), or (rows, dim) of one sequence. `residual` is added to y. "
                  "With a cache, of one kv head\n"
                  "with qk_dim kv_lora_rank + qk_rope_head_dim and values=False, the rows [c | k_rope] "
                  "are added to it.\n\n") +
      text_of_options(in_layer);
  nb::class_<latent>(
      module, "LatentAttention",
      "Multi-head latent attention (DeepSeek-V2, 2024), with the names of its public code:\n"
      "\n"
      "    q = q_b_proj(q_a_layernorm(q_a_proj(x))), heads of [q_nope | q_rope]; without q_a_proj q_b_proj(x)\n"
      "    c | k_rope = kv_a_proj(x), c = kv_a_layernorm(c); k_nope | v of each head = kv_b_proj(c)\n"
      "    y = o_proj(heads of o)\n"
      "\n"
      "    kv_b_weight: (heads * (qk_nope_head_dim + v_head_dim), kv_lora_rank), which is not copied\n"
      "    absorbed: kv_b_proj is applied to queries and outputs: the fewest bytes for a step of decoding; else "
      "to\n"
      "        the cached rows. The bits of both forms differ")
      .def(nb::init<int64_t, int64_t, int64_t, int64_t, int64_t, nb::handle, nb::handle, nb::handle, nb::handle,
                    nb::handle, nb::handle, nb::handle, nb::handle, bool>(),
           nb::arg("heads"), nb::arg("kv_lora_rank"), nb::arg("qk_nope_head_dim"), nb::arg("qk_rope_head_dim"),
           nb::arg("v_head_dim"), nb::kw_only(), nb::arg("q_b_proj"), nb::arg("kv_a_proj"), nb::arg("kv_b_weight"),
           nb::arg("o_proj"), nb::arg("q_a_proj") = nb::none(), nb::arg("q_a_layernorm") = nb::none(),
           nb::arg("kv_a_layernorm") = nb::none(), nb::arg("rotary") = nb::none(), nb::arg("absorbed") = false,
           nb::sig(
               "def __init__(self, heads: int, kv_lora_rank: int, qk_nope_head_dim: int, qk_rope_head_dim: int, "
               "v_head_dim: int, *, q_b_proj: Linear, kv_a_proj: Linear, kv_b_weight: Tensor, o_proj: Linear, "
               "q_a_proj: Linear | None = None, q_a_layernorm: Norm | None = None, kv_a_layernorm: Norm | None = "
               "None, rotary: Rotary | None = None, absorbed: bool = False) -> None"))
      .def(
          "__call__",
          [](const latent &layer, nb::handle x, nb::handle residual, nb::handle first, nb::handle rotary,
             nb::kwargs keywords) {
            return layer.run(x, residual, {first, rotary, nb::none()}, keywords);
          },
          nb::arg("x"), nb::arg("residual") = nb::none(), nb::arg("first_position") = nb::none(),
          nb::arg("rotary_positions") = nb::none(), nb::arg("keywords"), nb::sig(signature.c_str()), text.c_str());
}

} // namespace fovea_python
