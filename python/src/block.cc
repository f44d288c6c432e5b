#include "block.h"

namespace fovea_python {

block::block(nb::handle attention, nb::handle attention_norm, nb::handle up, nb::handle down, nb::handle feed_norm,
             nb::handle gate, bool norm_first, nb::handle cross, nb::handle cross_norm) {
  const char *wanted = "a fovea.nn.Attention";
  attention_ = part_of_layer<attention_layer>(attention, "attention", wanted, kept_, true);
  cross_ = part_of_layer<attention_layer>(cross, "cross", wanted, kept_, false);
  const fovea_nn_norm *first = norm_of(attention_norm, "attention_norm", kept_, true);
  const fovea_nn_linear *wide = linear_of(up, "up", kept_), *narrow = linear_of(down, "down", kept_);
  fovea_nn_block_init(&layer_, &attention_->layer(), first, wide, narrow,
                      norm_of(feed_norm, "feed_norm", kept_, true));
  layer_.gate = linear_of(gate, "gate", kept_, false);
  layer_.norm_first = norm_first;
  if (cross_) layer_.cross = &cross_->layer();
  layer_.cross_norm = norm_of(cross_norm, "cross_norm", kept_, cross_);
  if (layer_.cross_norm && !cross_) refuse_unused("cross_norm", "cross_norm is given, and cross not");
}

blocks_for_call::blocks_for_call(const std::vector<const block *> &blocks, attending &self, attending *cross) {
  selves_.reserve(blocks.size());
  crosses_.reserve(blocks.size());
  for (const block *each : blocks) {
    blocks_.push_back(each->layer());
    selves_.push_back(each->attention().layer());
    self.hand_to(selves_.back());
    blocks_.back().self = &selves_.back();
    if (!cross || !each->cross()) continue;
    crosses_.push_back(each->cross()->layer());
    cross->hand_to(crosses_.back());
    blocks_.back().cross = &crosses_.back();
  }
}

given_memory::given_memory(const attention_layer *cross, nb::handle memory, nb::handle keywords, sequences rows,
                           const attention_call &self, const sequences *source, nb::handle positions) {
  if (!cross) {
    const char *unused = !memory.is_none() ? "memory" : !keywords.is_none() ? "cross" : nullptr;
    if (unused) refuse_unused(unused, "%s is given, and the layers have no cross-attention", unused);
    if (!positions.is_none())
      refuse_unused("memory_positions", "memory_positions is given, and the layers have no cross-attention");
    return;
  }
  if (!keywords.is_none() && !PyDict_Check(keywords.ptr()))
    refuse_type("cross", keywords, "a dict of keywords for cross-attention");
  if (!keywords.is_none()) keywords_.update(keywords); /* which other threads cannot change */
  over_.emplace(keywords_);
  if (source && !memory.is_none()) refuse_unused("memory", "memory is given, and source, which makes it, too");
  memory_.read(memory, "memory");
  if (!memory_.exists() && !source && !over_->call.cached)
    refuse("memory",
           "memory is None; cross-attention needs it, or a cache in `cross` that has its keys and values");
  sequences length = source ? *source : sequences{0, 0};
  if (memory_.exists()) {
    memory_.require(memory_.count, cross->layer().key ? cross->layer().key->in : memory_.dim);
    length = sequences_of(memory_.memory, memory_.memory.axes - 1, "memory", over_->call.sequences_kv);
  }
  over_->call.problem.cu_seqlens_q = self.problem.cu_seqlens_q; /* rows are packed for both */
  over_->call.sequences_q = self.sequences_q;
  over_->describe(cross->heads(), rows, memory_.exists() || source ? &length : nullptr, false,
                  {nb::none(), nb::none(), positions});
  if (over_->call.o.memory.exists()) refuse_unused("cross", "cross has out, which the layers have");
  fovea_nn_attention_tensors &tensors = over_->tensors;
  memory_.hand_to(tensors.memory, tensors.memory_type, tensors.memory_stride);
}

void read_floats(tensor &to, nb::handle given, const char *name, int64_t dim) {
  to.read(given, name);
  require_type(to, name, element::f32);
  if (!to.axes || to.shape[to.axes - 1] != dim)
    refuse(name, "%s has the shape %s; its last axis must have %jd", name, shape_text(to).text, (intmax_t)dim);
  require_contiguous(to, name);
}

nb::object output_floats(tensor &to, nb::handle given, nb::handle like, const int64_t *shape, int axes) {
  nb::object object = given.is_valid() ? nb::borrow(given) : make_tensor(like, element::f32, shape, axes);
  to.write(object, "out");
  require_shape(to, "out", shape, axes);
  require_contiguous(to, "out");
  require_type(to, "out", element::f32);
  return object;
}

/* With one more key in front, scores have one more number. */
static void count_keys(attention_call &call, const std::vector<const attention_layer *> &layers) {
  call.more_keys = layers[0]->layer().bias_key != nullptr;
  for (const attention_layer *each : layers)
    if (call.more_keys != (each->layer().bias_key != nullptr))
      refuse("blocks", "blocks have layers with and without bias_key, whose scores differ in length");
}

void make_layer_scores(attention_call &call, const std::vector<const attention_layer *> &layers, nb::handle like,
                       bool stacked) {
  if (call.wants_more_than_scores())
    refuse_unused(
        "lse", "lse or another output beside O and scores is wanted, which is there for self-attention of a block");
  if (!call.problem.scores.kind) return;
  count_keys(call, layers);
  if (stacked) call.score_layers = static_cast<int64_t>(layers.size());
  call.make_extra_outputs(like);
}

void given_memory::make_scores(const std::vector<const block *> &blocks, nb::handle like, bool stacked) {
  if (!over_) return;
  attention_call &call = over_->call;
  std::vector<const attention_layer *> layers;
  for (const block *each : blocks)
    if (each->cross()) layers.push_back(each->cross());
  if (call.problem.scores.kind && !call.scores.memory.exists())
    refuse("cross", "cross wants scores and has no scores_out, where they are written");
  make_layer_scores(call, layers, like, stacked);
}

nb::object block::run(nb::handle x, nb::handle memory, nb::handle cross, const given_positions &positions,
                      nb::kwargs keywords) const {
  tensor from, to;
  read_floats(from, x, "x", dim());
  attending self(keywords);
  sequences own = sequences_of(from, from.axes - 1, "x", self.call.sequences_q);
  self.describe(attention_->heads(), own, nullptr, true, {positions.first, positions.rotary, nb::none()});
  count_keys(self.call, {attention_});
  self.call.make_extra_outputs(x);
  given_memory other(cross_, memory, cross, own, self.call, nullptr, positions.memory);
  other.make_scores({this}, x, false);
  nb::object object = output_floats(to, self.call.o.object, x, from.shape, from.axes);
  blocks_for_call blocks({this}, self, other.over());
  const fovea_nn_attending over = self.all(),
                           over_memory = other.over() ? other.over()->all() : fovea_nn_attending{};
  compute([&](fovea_error *error) {
    return fovea_nn_block_run(blocks.first(), &over, cross_ ? &over_memory : nullptr,
                              static_cast<const float *>(from.data), static_cast<float *>(to.data),
                              &self.call.execution, error);
  });
  self.keep();
  self.call.o.object = object;
  return self.call.result();
}

void bind_block(nb::module_ &module) {
  std::string head = "__call__(self, x: Tensor, memory: Tensor | None = None, cross: dict[str, Any] | None = None";
  std::string signature = signature_of((head + position_types).c_str(), "Outputs", in_layer);
  std::string text =
      std::string(
          "y of x, float32 (batch, rows, dim), or (rows, dim) of one sequence or of packed "
          "ones. Cross-attention is over\n"
          "`memory` (batch, keys, dim), as the keywords in `cross` say: its lengths, mask, or "
          "a cache that has its keys and\n"
          "values. `out` may be x. With scores, lse, ... y is in a Result; cross-attention's scores go to its "
          "scores_out.\n\n") +
      position_text + text_of_options(in_layer);
  nb::class_<block>(
      module, "Block",
      "A layer of an encoder, or with `cross` of a decoder (Vaswani et al., 2017): x = norm(x + f(x)), with\n"
      "norm_first x = x + f(norm(x)), where f is attention, then cross-attention, then down(up(x)), or down(up(x) "
      "*\n"
      "gate(x)).")
      .def(
          nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, bool, nb::handle,
                   nb::handle>(),
          nb::arg("attention"), nb::arg("attention_norm"), nb::arg("up"), nb::arg("down"), nb::arg("feed_norm"),
          nb::kw_only(), nb::arg("gate") = nb::none(), nb::arg("norm_first") = false, nb::arg("cross") = nb::none(),
          nb::arg("cross_norm") = nb::none(),
          nb::sig(
              "def __init__(self, attention: Attention, attention_norm: Norm, up: Linear, down: Linear, feed_norm: "
              "Norm, *, gate: Linear | None = None, norm_first: bool = False, cross: Attention | None = None, "
              "cross_norm: Norm | None = None) -> None"))
      .def(
          "__call__",
          [](const block &layer, nb::handle x, nb::handle memory, nb::handle cross, nb::handle first,
             nb::handle rotary, nb::handle of_memory, nb::kwargs keywords) {
            return layer.run(x, memory, cross, {first, rotary, of_memory}, keywords);
          },
          nb::arg("x"), nb::arg("memory") = nb::none(), nb::arg("cross") = nb::none(),
          nb::arg("first_position") = nb::none(), nb::arg("rotary_positions") = nb::none(),
          nb::arg("memory_positions") = nb::none(), nb::arg("keywords"), nb::sig(signature.c_str()), text.c_str());
}

} // namespace fovea_python
