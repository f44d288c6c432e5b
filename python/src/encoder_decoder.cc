#include "stack.h"

namespace fovea_python {

encoder_decoder::encoder_decoder(nb::handle first, nb::handle second, nb::handle output) {
  encoder_ = part_of_layer<encoder>(first, "encoder", "a fovea.nn.Encoder", kept_, true);
  decoder_ = part_of_layer<encoder>(second, "decoder", "a fovea.nn.Encoder", kept_, true);
  output_ = linear_of(output, "output", kept_, false);
  if (!decoder_->blocks()[0]->cross())
    refuse("decoder", "decoder has no cross-attention in blocks[0]; it must have it in all blocks");
}

nb::object encoder_decoder::run(const stack_arguments &target, nb::handle source, nb::handle source_keywords,
                                nb::kwargs keywords) const {
  const int64_t dim = decoder_->blocks()[0]->dim();
  std::optional<stack_call> from;
  if (source.is_none() && !source_keywords.is_none())
    refuse_unused("source_keywords", "source_keywords is given, and source not");
  if (!source.is_none()) {
    if (!source_keywords.is_none() && !PyDict_Check(source_keywords.ptr()))
      refuse_type("source_keywords", source_keywords, "a dict of keywords for the encoder");
    nb::dict own;
    if (!source_keywords.is_none()) own.update(nb::borrow<nb::dict>(source_keywords));
    if (own.contains("scores") && !own.contains("scores_out"))
      refuse("source_keywords", "source_keywords wants scores and has no scores_out, where they are written");
    auto taken = [&own](const char *name) -> nb::object {
      return own.contains(name) ? nb::object(own.attr("pop")(name)) : nb::none();
    };
    nb::object types = taken("token_type_ids"), places = taken("position_ids"), first = taken("first_position"),
               rotary = taken("rotary_positions");
    from.emplace(*encoder_,
                 stack_arguments{source, types, places, {first, rotary, nb::none()}, nb::none(), nb::none()}, own,
                 encoder_->blocks()[0]->dim(), nullptr);
  }
  stack_call to(*decoder_, target, keywords, output_ ? output_->out : dim, from ? &from->lengths : nullptr);
  fovea_nn_encoder_decoder model;
  fovea_nn_encoder_decoder_init(&model, from ? &from->layer : &encoder_->layer(), &to.layer);
  model.output = output_;
  compute([&](fovea_error *error) {
    return fovea_nn_encoder_decoder_run(&model, from ? &from->rows : nullptr, &to.rows, &to.self.call.execution,
                                        error);
  });
  return to.finish();
}

void encoder_decoder::prepare(nb::handle given, nb::handle to, nb::handle kv_lens, nb::handle cu_seqlens_kv,
                              nb::handle memory_positions, int threads) const {
  if (!nb::isinstance<cache>(to)) refuse_type("cache", to, "a fovea.Cache");
  cache &cache = nb::cast<fovea_python::cache &>(to);
  const attention_layer &heads = *decoder_->blocks()[0]->cross();
  attending over((nb::dict()));
  fovea_problem &problem = over.call.problem;
  fovea_nn_attention_tensors &tensors = over.tensors;
  rows memory;
  memory.read(given, "memory");
  if (heads.layer().key) memory.require(memory.count, heads.layer().key->in);
  if (!cu_seqlens_kv.is_none())
    problem.cu_seqlens_kv = over.call.offsets_of_rows(cu_seqlens_kv, "cu_seqlens_kv", &over.call.sequences_kv);
  sequences length = sequences_of(memory.memory, memory.memory.axes - 1, "memory", over.call.sequences_kv);
  if (cache.batch() != length.batch)
    refuse("cache", "cache has %jd sequences, and memory has %jd", (intmax_t)cache.batch(), (intmax_t)length.batch);
  std::vector<int64_t> counts = batch_counts(kv_lens, "kv_lens", length.batch, length.length), places;
  for (size_t b = 0; problem.cu_seqlens_kv && b < counts.size(); b++)
    counts[b] = problem.cu_seqlens_kv[b + 1] - problem.cu_seqlens_kv[b];
  if (!kv_lens.is_none()) problem.kv_lens = counts.data();
  cache_step step(cache, 0, counts, "memory");
  for (size_t b = 0; b < step.begins.size(); b++)
    if (step.begins[b])
      refuse("cache", "cache has %jd rows of batch element %zu; it must be empty", (intmax_t)step.begins[b], b);
  problem.batch = length.batch;
  problem.kv_len = length.length;
  heads.heads().set(problem);
  memory.hand_to(tensors.memory, tensors.memory_type, tensors.memory_stride);
  tensors.cache.sequences = step.view->sequences.data();
  problem.cache.segmented = 1;
  if (!memory_positions.is_none()) {
    const fovea_rotary *rotary = heads.layer().rotary;
    places = integers_of(memory_positions, "memory_positions", true);
    require_count(places.size(), memory.count * (rotary ? rotary->axes : 1), "memory_positions",
                  "one for each row, on each axis of the embedding");
    tensors.memory_positions = places.data();
  }
  blocks_for_call blocks(decoder_->blocks(), over, &over);
  fovea_nn_encoder stack = decoder_->layer();
  stack.blocks = blocks.first();
  fovea_nn_encoder_decoder model;
  fovea_nn_encoder_decoder_init(&model, &encoder_->layer(), &stack);
  const fovea_nn_attending all = over.all();
  row_execution execution(threads);
  compute([&](fovea_error *error) { return fovea_nn_encoder_decoder_prepare(&model, &all, &execution, error); });
  step.keep();
}

void bind_encoder_decoder(nb::module_ &module) {
  std::string head =
      "__call__(self, target: Tensor, source: Tensor | None = None, token_type_ids: Tensor | None = None, "
      "position_ids: Tensor | None = None, memory: Tensor | None = None, cross: dict[str, Any] | None = None, "
      "source_keywords: dict[str, Any] | None = None";
  std::string signature = signature_of((head + position_types).c_str(), "Outputs", in_layer);
  std::string text =
      std::string("y (batch, rows, dim), float32, or (batch, rows, out) of `output`: the decoder's rows "
                  "of `target`, ids or numbers as the\n"
                  "decoder takes them. With `source` the encoder runs first, as source_keywords say, "
                  "and its rows are the memory. Without\n"
                  "it the target names its memory, or cross={'cache': ...} has what prepare() wrote: "
                  "a step of decoding. Other keywords\n"
                  "are for the decoder's own attention.\n\n") +
      position_text + text_of_options(in_layer);
  nb::class_<encoder_decoder>(module, "EncoderDecoder",
                              "A transformer that reads one sequence and writes another (Vaswani et al., 2017). "
                              "`output` makes logits of the\n"
                              "decoder's rows.")
      .def(nb::init<nb::handle, nb::handle, nb::handle>(), nb::arg("encoder"), nb::arg("decoder"), nb::kw_only(),
           nb::arg("output") = nb::none(),
           nb::sig(
               "def __init__(self, encoder: Encoder, decoder: Encoder, *, output: Linear | None = None) -> None"))
      .def(
          "__call__",
          [](const encoder_decoder &model, nb::handle target, nb::handle source, nb::handle token_type_ids,
             nb::handle position_ids, nb::handle memory, nb::handle cross, nb::handle source_keywords,
             nb::handle first, nb::handle rotary, nb::handle of_memory, nb::kwargs keywords) {
            return model.run({target, token_type_ids, position_ids, {first, rotary, of_memory}, memory, cross},
                             source, source_keywords, keywords);
          },
          nb::arg("target"), nb::arg("source") = nb::none(), nb::arg("token_type_ids") = nb::none(),
          nb::arg("position_ids") = nb::none(), nb::arg("memory") = nb::none(), nb::arg("cross") = nb::none(),
          nb::arg("source_keywords") = nb::none(), nb::arg("first_position") = nb::none(),
          nb::arg("rotary_positions") = nb::none(), nb::arg("memory_positions") = nb::none(), nb::arg("keywords"),
          nb::sig(signature.c_str()), text.c_str())
      .def("prepare", &encoder_decoder::prepare, nb::arg("memory"), nb::arg("cache"), nb::kw_only(),
           nb::arg("kv_lens") = nb::none(), nb::arg("cu_seqlens_kv") = nb::none(),
           nb::arg("memory_positions") = nb::none(), nb::arg("threads") = 0,
           nb::sig(
               "def prepare(self, memory: Tensor, cache: Cache, *, kv_lens: Integers | None = None, cu_seqlens_kv: "
               "Integers | None = None, memory_positions: Integers | None = None, threads: int = 0) -> None"),
           "Projects a memory (batch, rows, dim), the encoder's rows, once for all steps: its keys and values of "
           "each\n"
           "decoder block go to a cache with as many layers, which must be empty. kv_lens: the rows of each "
           "sequence;\n"
           "cu_seqlens_kv: packed sequences.");
}

} // namespace fovea_python
