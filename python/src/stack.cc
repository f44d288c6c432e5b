#include "stack.h"

namespace fovea_python {

encoder::encoder(nb::handle blocks, nb::handle table, nb::handle embedding_norm, nb::handle final_norm) {
  if (!PyTuple_Check(blocks.ptr()) && !PyList_Check(blocks.ptr()))
    refuse_type("blocks", blocks, "a list of blocks");
  for (nb::handle each : nb::borrow<nb::sequence>(blocks))
    blocks_.push_back(part_of_layer<block>(each, "blocks", "a list of fovea.nn.Block", kept_, true));
  if (blocks_.empty()) refuse("blocks", "blocks is empty; it must have at least one");
  fovea_nn_encoder_init(&layer_, nullptr, static_cast<int64_t>(blocks_.size()));
  embedding_ = part_of_layer<embedding>(table, "embedding", "a fovea.nn.Embedding", kept_, false);
  if (embedding_) layer_.embedding = &embedding_->layer();
  layer_.embedding_norm = norm_of(embedding_norm, "embedding_norm", kept_, false);
  layer_.final_norm = norm_of(final_norm, "final_norm", kept_, false);
}

stack_call::stack_call(const encoder &stack, const stack_arguments &given, nb::handle keywords, int64_t y_dim,
                       const sequences *source)
    : layer(stack.layer()), self(keywords) {
  const block &first = *stack.blocks()[0];
  const bool has_ids = stack.table();
  const char *name = has_ids ? "ids" : "x";
  if (has_ids)
    ids_of(from_, given.rows, name, nullptr);
  else
    read_floats(from_, given.rows, name, first.dim());
  int axes = from_.axes - !has_ids; /* of the rows */
  lengths = sequences_of(from_, axes, name, self.call.sequences_q);
  self.describe(first.attention().heads(), lengths, nullptr, true,
                {given.positions.first, given.positions.rotary, nb::none()});
  std::vector<const attention_layer *> layers;
  for (const block *each : stack.blocks()) layers.push_back(&each->attention());
  make_layer_scores(self.call, layers, given.rows, true);
  memory_.emplace(first.cross(), given.memory, given.cross, lengths, self.call, source, given.positions.memory);
  memory_->make_scores(stack.blocks(), given.rows, true);
  blocks_.emplace(stack.blocks(), self, memory_->over());
  layer.blocks = blocks_->first();

  extents shape;
  std::copy(from_.shape, from_.shape + axes, shape);
  shape[axes] = y_dim;
  y_ = output_floats(to_, self.call.o.object, given.rows, shape, axes + 1);
  over_ = self.all();
  fovea_nn_encoder_rows_init(&rows, &over_, has_ids ? from_.data : nullptr, static_cast<float *>(to_.data));
  if (!has_ids) rows.x = static_cast<const float *>(from_.data);
  if (memory_->over()) {
    over_memory_ = memory_->over()->all();
    rows.cross = &over_memory_;
  }
  if (layers.size() > 1) { /* elements from the scores of a layer to the next */
    if (self.call.problem.scores.kind) rows.self_score_layer = self.call.scores.memory.strides[0];
    const attention_call *cross = memory_->over() ? &memory_->over()->call : nullptr;
    if (cross && cross->problem.scores.kind) rows.cross_score_layer = cross->scores.memory.strides[0];
  }
  rows.id_type = id_type_of(from_);
  rows.token_type_ids = ids_of(types_, given.token_type_ids, "token_type_ids", &from_);
  rows.position_ids = ids_of(places_, given.position_ids, "position_ids", &from_);
}

nb::object stack_call::finish() {
  self.keep();
  self.call.o.object = y_;
  return self.call.result();
}

nb::object encoder::run(const stack_arguments &given, nb::kwargs keywords) const {
  stack_call call(*this, given, keywords, blocks_[0]->dim(), nullptr);
  compute([&](fovea_error *error) {
    return fovea_nn_encoder_run(&call.layer, &call.rows, &call.self.call.execution, error);
  });
  return call.finish();
}

void bind_stack(nb::module_ &module) {
  std::string head =
      std::string(
          "__call__(self, x: Tensor, token_type_ids: Tensor | None = None, position_ids: Tensor | None = None") +
      position_types + ", memory: Tensor | None = None, cross: dict[str, Any] | None = None";
  std::string signature = signature_of(head.c_str(), "Outputs", in_layer);
  std::string text =
      std::string(
          "y (batch, rows, dim), float32, of ids (batch, rows), int64 or int32, with an "
          "embedding; else of x (batch, rows,\n"
          "dim). Packed sequences have no batch axis. All blocks attend as the keywords say; "
          "kv_lens and q_lens are the\n"
          "lengths of padded sequences. Block i adds keys and values to layer + i of a cache, "
          "which the cache must have.\n"
          "Cross-attention is over `memory`, as the keywords in `cross` say. With scores y is "
          "in a Result with (blocks,\n"
          "batch, heads, rows, keys); cross-attention's scores go to its scores_out, of that shape. One team "
          "of threads\n"
          "computes all of it.\n\n") +
      position_text + text_of_options(in_layer);
  nb::class_<encoder>(module, "Encoder",
                      "A stack of blocks: an embedding, blocks, a last norm. An encoder (BERT, ViT), a model of a "
                      "language,\n"
                      "whose blocks are causal and have a cache, or a decoder, whose blocks have cross-attention.")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle>(), nb::arg("blocks"), nb::kw_only(),
           nb::arg("embedding") = nb::none(), nb::arg("embedding_norm") = nb::none(),
           nb::arg("final_norm") = nb::none(),
           nb::sig("def __init__(self, blocks: Sequence[Block], *, embedding: Embedding | None = None, "
                   "embedding_norm: Norm | None = None, final_norm: Norm | None = None) -> None"))
      .def(
          "__call__",
          [](const encoder &stack, nb::handle x, nb::handle token_type_ids, nb::handle position_ids,
             nb::handle first, nb::handle rotary, nb::handle of_memory, nb::handle memory, nb::handle cross,
             nb::kwargs keywords) {
            return stack.run({x, token_type_ids, position_ids, {first, rotary, of_memory}, memory, cross},
                             keywords);
          },
          nb::arg("x"), nb::arg("token_type_ids") = nb::none(), nb::arg("position_ids") = nb::none(),
          nb::arg("first_position") = nb::none(), nb::arg("rotary_positions") = nb::none(),
          nb::arg("memory_positions") = nb::none(), nb::arg("memory") = nb::none(), nb::arg("cross") = nb::none(),
          nb::arg("keywords"), nb::sig(signature.c_str()), text.c_str());
}

} // namespace fovea_python
