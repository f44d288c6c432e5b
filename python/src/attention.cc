#include "attention.h"
#include "call.h"
#include "compute.h"

namespace fovea_python {

namespace {

nb::object attention(nb::handle q, nb::handle k, nb::handle v, nb::kwargs keywords) {
  attention_call call;
  call.read(q, k, v, keywords, in_attention);
  call.make_outputs(q);
  compute([&](fovea_error *error) { return fovea_attend(&call.problem, &call.tensors, &call.execution, error); });
  return call.result();
}

const char introduction[] =
    "O = softmax(scale * Q K^T) V over the keys that a row may see, tile by tile with the online softmax of "
    "Milakov &\n"
    "Gimelshein (2018) and Dao et al. (FlashAttention, 2022). The same inputs give the same bits on every CPU, for "
    "any\n"
    "number of threads, any batch and any layout.\n"
    "\n"
    "    q: (batch, heads, rows, qk_dim)\n"
    "    k: (batch, kv_heads, keys, qk_dim); query head h reads kv head h // (heads // kv_heads)\n"
    "    v: (batch, kv_heads, keys, v_dim)\n"
    "\n"
    "Batch may be left out, or batch and heads. float32, float16 or bfloat16 in any mix; NumPy arrays (bfloat16 "
    "of\n"
    "ml_dtypes), PyTorch's tensors on the CPU, or what else has __dlpack__. Nothing is copied: any strides, but "
    "elements\n"
    "of the last axis lie side by side. O has Q's type, and is a tensor of PyTorch if Q is, else a NumPy array. A "
    "row\n"
    "that sees no key gives zeros. What a row does not see never reaches its output, whatever it holds.\n"
    "\n"
    "Returns O, or with other outputs a Result, which has O first. Raises fovea.Error: the text names the "
    "argument, its\n"
    "value and the limit, and nothing has been written. Threads may call it at the same time; the GIL is "
    "released.\n"
    "\n";

} // namespace

void bind_attention(nb::module_ &module) {
  std::string signature = signature_of("attention(q: Tensor, k: Tensor | None = None, v: Tensor | None = None",
                                       "Outputs", in_attention);
  std::string text = introduction + text_of_options(in_attention);
  module.def("attention", attention, nb::arg("q"), nb::arg("k") = nb::none(), nb::arg("v") = nb::none(),
             nb::arg("keywords"), nb::sig(signature.c_str()), text.c_str());
}

} // namespace fovea_python
