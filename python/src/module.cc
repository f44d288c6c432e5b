/* The module fovea._fovea. Each part binds itself. */
#include "attention.h"
#include "cache.h"
#include "functions.h"
#include "info.h"
#include "layers.h"
#include "operators.h"
#include "pattern.h"
#include "result.h"
#include "rotary.h"
#include "stack.h"
#include "state.h"
#include "stream.h"
#include "tensor.h"
#include "terms.h"
#include "variants.h"

NB_MODULE(_fovea, module) {
  using namespace fovea_python;
  module.attr("__version__") = fovea_version();
  bind_errors(module);
  bind_info(module);
  bind_layout(module);
  bind_result(module);
  bind_terms(module);
  bind_pattern(module);
  bind_state(module);
  bind_rotary(module);
  bind_cache(module);
  bind_attention(module);
  bind_explanation(module);
  bind_plan(module);
  bind_linear(module);
  bind_norms(module);
  bind_row_functions(module);
  bind_multihead(module);
  bind_block(module);
  bind_embedding(module);
  bind_stack(module);
  bind_encoder_decoder(module);
  bind_stream(module);
  bind_recurrent(module);
  bind_linear_attention(module);
  bind_graph(module);
  bind_performer(module);
  bind_linformer(module);
  bind_differential(module);
  bind_latent(module);
  bind_longformer(module);
  bind_lsh(module);
  bind_selection(module);
  bind_functions(module);
  bind_operators(module);
}
