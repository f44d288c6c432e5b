#include "encoder.h"
#include "call.h"

namespace fovea_python {

namespace {

/* A part of a layer, which must be of a class; None: none, if that is allowed. `kept` gets a reference. */
template <class part>
const part *part_of_layer(nb::handle given, const char *name, const char *wanted, std::vector<nb::object> &kept,
                          bool needed) {
  if (given.is_none() && !needed) return nullptr;
  if (!nb::isinstance<part>(given)) refuse_type(name, given, wanted);
  kept.push_back(nb::borrow(given));
  return &nb::cast<const part &>(given);
}

const fovea_nn_linear *linear_of(nb::handle given, const char *name, std::vector<nb::object> &kept,
                                 bool needed = true) {
  const linear *found = part_of_layer<linear>(given, name, "a fovea.nn.Linear", kept, needed);
  return found ? &found->layer() : nullptr;
}

const fovea_nn_norm *norm_of(nb::handle given, const char *name, std::vector<nb::object> &kept, bool needed) {
  const norm *found = part_of_layer<norm>(given, name, "a fovea.nn.Norm", kept, needed);
  return found ? &found->layer() : nullptr;
}

/* Rows that a problem of layers is about: (batch, rows, dim), without batch if they are one sequence or packed. */
struct sequences {
  int64_t batch, length;
};

sequences sequences_of(const rows &rows, const char *name, int64_t packed) {
  int axes = rows.memory.axes;
  if (axes != 2 && (axes != 3 || packed))
    refuse(name,
           "%s has the shape %s; it must be (batch, rows, dim), or (rows, dim) of one sequence or of packed ones",
           name, shape_text(rows.memory).text);
  return {packed ? packed : axes == 3 ? rows.memory.shape[0] : 1, rows.memory.shape[axes - 2]};
}

/* Where rows are: one number, or one for each batch element. */
void set_positions(fovea_nn_attention_tensors &tensors, nb::handle given, std::vector<int64_t> &list,
                   int64_t batch) {
  if (given.is_none()) return;
  if (is_single(given)) {
    tensors.first_position = integer_of(given, "first_position");
    return;
  }
  list = integers_of(given, "first_position");
  require_count(list.size(), batch, "first_position", "one for each batch element");
  tensors.first_positions = list.data();
}

/* Gives layers what the keywords have set for attention. */
void hand_over(const attention_call &call, fovea_nn_attention &layer, fovea_nn_attention_tensors &tensors) {
  layer.terms = call.tensors.terms;
  layer.head_scales = call.tensors.head_scales;
  layer.shaw = call.tensors.shaw;
  layer.channels = call.tensors.channels;
  tensors.mask = call.tensors.mask;
  tensors.sink = call.tensors.sink;
  tensors.row_scales = call.tensors.row_scales;
  tensors.scores = call.tensors.scores;
  tensors.lse = call.tensors.lse;
  tensors.max_logits = call.tensors.max_logits;
  tensors.top = call.tensors.top;
  tensors.entropy = call.tensors.entropy;
  tensors.column_sums = call.tensors.column_sums;
}

} // namespace

/* ---- Multi-head attention ------------------------------------------------------------------------------------ */

attention_layer::attention_layer(nb::handle query, nb::handle key, nb::handle value, nb::handle output,
                                 int64_t heads, nb::handle kv_heads, nb::handle rotary)
    : heads_(heads), kv_heads_(kv_heads.is_none() ? heads : integer_of(kv_heads, "kv_heads")) {
  const fovea_nn_linear *layers[] = {linear_of(query, "query", kept_), linear_of(key, "key", kept_),
                                     linear_of(value, "value", kept_), linear_of(output, "output", kept_)};
  fovea_nn_attention_init(&layer_, layers[0], layers[1], layers[2], layers[3]);
  layer_.rotary = rotary_of(rotary, "rotary");
  kept_.push_back(nb::borrow(rotary));
  if (heads_ < 1 || layer_.query->out % heads_)
    refuse("heads", "heads is %jd; it must divide the %jd outputs of query", (intmax_t)heads_,
           (intmax_t)layer_.query->out);
  if (kv_heads_ < 1 || layer_.value->out % kv_heads_)
    refuse("kv_heads", "kv_heads is %jd; it must divide the %jd outputs of value", (intmax_t)kv_heads_,
           (intmax_t)layer_.value->out);
}

void attention_layer::describe(fovea_problem &problem) const {
  problem.heads = heads_;
  problem.kv_heads = kv_heads_;
  problem.qk_dim = layer_.query->out / heads_;
  problem.v_dim = layer_.value->out / kv_heads_;
}

nb::object attention_layer::run(nb::handle x, nb::handle memory, nb::handle memory_values, nb::handle residual,
                                nb::handle first_position, nb::kwargs keywords) const {
  rows from, to, keys, values, residuals;
  from.read(x, "x");
  require_rows(from, "x", from.count, layer_.query->in);
  keys.read(memory, "memory");
  require_rows(keys, "memory", keys.count, layer_.key->in);
  values.read(memory_values, "memory_values");
  require_rows(values, "memory_values", keys.exists() ? keys.count : from.count, layer_.value->in);
  residuals.read(residual, "residual");
  require_rows(residuals, "residual", from.count, layer_.output->out);

  attention_call call;
  given_options given(keywords, in_layer);
  given.set(call, true);
  sequences own = sequences_of(from, "x", call.sequences_q);
  sequences other = keys.exists() ? sequences_of(keys, "memory", call.sequences_kv) : own;
  if (own.batch != other.batch)
    refuse("memory", "memory has %jd batch elements, and x has %jd", (intmax_t)other.batch, (intmax_t)own.batch);
  call.describe_layer(own.batch, own.length, other.length);
  describe(call.problem);
  given.set(call, false);
  call.make_extra_outputs(x);

  nb::object object = output_rows(to, call.o.memory.exists() ? nb::handle(call.o.object) : nb::handle(Py_None), x,
                                  from, layer_.output->out);
  fovea_nn_attention layer = layer_;
  fovea_nn_attention_tensors tensors;
  fovea_nn_attention_tensors_init(&tensors, from.memory.data, to.memory.data);
  tensors.x_type = from.type("x");
  tensors.y_type = to.type("out");
  tensors.x_stride = from.stride;
  tensors.y_stride = to.stride;
  if (keys.exists())
    tensors.memory = keys.memory.data, tensors.memory_type = keys.type("memory"),
    tensors.memory_stride = keys.stride;
  if (values.exists())
    tensors.memory_values = values.memory.data, tensors.memory_values_type = values.type("memory_values"),
    tensors.memory_values_stride = values.stride;
  if (residuals.exists())
    tensors.residual = residuals.memory.data, tensors.residual_type = residuals.type("residual"),
    tensors.residual_stride = residuals.stride;
  std::vector<int64_t> positions;
  set_positions(tensors, first_position, positions, own.batch);
  hand_over(call, layer, tensors);
  fovea_error error;
  fovea_status status;
  {
    nb::gil_scoped_release others_run;
    status = fovea_nn_attention_run(&layer, &call.problem, &tensors, &call.execution, &error);
  }
  check(status, error);
  call.o.object = object;
  return call.result();
}

/* ---- Blocks and embeddings ----------------------------------------------------------------------------------- */

block::block(nb::handle attention, nb::handle attention_norm, nb::handle up, nb::handle down, nb::handle feed_norm,
             nb::handle gate, bool norm_first) {
  attention_ = part_of_layer<attention_layer>(attention, "attention", "a fovea.nn.Attention", kept_, true);
  const fovea_nn_norm *first = norm_of(attention_norm, "attention_norm", kept_, true);
  const fovea_nn_linear *wide = linear_of(up, "up", kept_), *narrow = linear_of(down, "down", kept_);
  fovea_nn_block_init(&layer_, &attention_->layer(), first, wide, narrow,
                      norm_of(feed_norm, "feed_norm", kept_, true));
  layer_.gate = linear_of(gate, "gate", kept_, false);
  layer_.norm_first = norm_first;
}

void embedding::set_table(nb::handle given, const char *name, fovea_nn_table &table, tensor &kept) {
  if (given.is_none()) return;
  kept.read(given, name);
  if (kept.axes != 2 || (layer_.dim && kept.shape[1] != layer_.dim))
    refuse(name, "%s has the shape %s; it must be (count, dim), with the same dim for all tables", name,
           shape_text(kept).text);
  layer_.dim = kept.shape[1];
  table = {kept.data, kept.shape[0], number_type(kept.type, name), kept.strides[0]};
  kept_.push_back(nb::borrow(given));
}

embedding::embedding(nb::handle tokens, nb::handle positions, nb::handle token_types, double scale) {
  fovea_nn_embedding_init(&layer_, 0, 0, nullptr);
  if (tokens.is_none()) refuse_type("tokens", tokens, "a tensor (count, dim)");
  set_table(tokens, "tokens", layer_.tokens, tokens_);
  set_table(positions, "positions", layer_.positions, positions_);
  set_table(token_types, "token_types", layer_.token_types, token_types_);
  layer_.scale = static_cast<float>(scale);
}

/* ---- Encoders ------------------------------------------------------------------------------------------------ */

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

namespace {

/* A contiguous list of ids, with as many as others have; the type of all lists is the type of the first. */
const void *ids_of(tensor &ids, nb::handle given, const char *name, const tensor *first) {
  if (given.is_none()) return nullptr;
  ids.read(given, name);
  if (ids.type != element::i32 && ids.type != element::i64)
    refuse(name, "%s has elements of %s; they must be int32 or int64", name, facts_of(ids.type).name);
  require_contiguous(ids, name);
  if (!first) return ids.data;
  require_shape(ids, name, first->shape, first->axes);
  if (ids.type != first->type) refuse(name, "%s has another type of integers than ids", name);
  return ids.data;
}

} // namespace

nb::object encoder::run(nb::handle x, nb::handle token_type_ids, nb::handle position_ids, nb::handle first_position,
                        nb::kwargs keywords) const {
  tensor from, types, places;
  const fovea_nn_block &first = blocks_[0]->layer();
  int64_t dim = first.down->out;
  if (embedding_)
    ids_of(from, x, "ids", nullptr);
  else
    from.read(x, "x");
  if (!embedding_ && from.type != element::f32)
    refuse("x", "x has elements of %s; they must be float32", facts_of(from.type).name);
  if (!embedding_ && (!from.axes || from.shape[from.axes - 1] != dim))
    refuse("x", "x has the shape %s; its last axis must have %jd", shape_text(from).text, (intmax_t)dim);
  require_contiguous(from, embedding_ ? "ids" : "x");

  attention_call call;
  given_options given(keywords, in_layer);
  given.set(call, true);
  int axes = from.axes - !embedding_; /* of the rows */
  if (axes != 1 && (axes != 2 || call.sequences_q))
    refuse(embedding_ ? "ids" : "x",
           "%s has the shape %s; it must be (batch, rows), or (rows,) of one sequence or of "
           "packed ones%s",
           embedding_ ? "ids" : "x", shape_text(from).text, embedding_ ? "" : ", and the dims");
  int64_t batch = call.sequences_q ? call.sequences_q : axes == 2 ? from.shape[0] : 1;
  call.describe_layer(batch, from.shape[axes - 1], from.shape[axes - 1]);
  blocks_[0]->attention().describe(call.problem);
  given.set(call, false);
  if (call.wants_more())
    refuse_unused("scores",
                  "scores or another output beside O is wanted, which single layers have: call their attention");

  extents shape;
  std::copy(from.shape, from.shape + axes, shape);
  shape[axes] = dim;
  tensor to;
  nb::object object = call.o.memory.exists() ? call.o.object : make_tensor(x, element::f32, shape, axes + 1);
  to.write(object, "out");
  require_shape(to, "out", shape, axes + 1);
  require_contiguous(to, "out");
  if (to.type != element::f32)
    refuse("out", "out has elements of %s; they must be float32", facts_of(to.type).name);

  fovea_nn_attention_tensors tensors;
  fovea_nn_attention_tensors_init(&tensors, nullptr, nullptr);
  std::vector<int64_t> positions;
  set_positions(tensors, first_position, positions, batch);
  std::vector<fovea_nn_attention> attentions; /* with what the keywords set for all layers */
  std::vector<fovea_nn_block> layers;
  for (const block *each : blocks_) attentions.push_back(each->attention().layer());
  for (size_t i = 0; i < blocks_.size(); i++) {
    hand_over(call, attentions[i], tensors);
    layers.push_back(blocks_[i]->layer());
    layers[i].self = &attentions[i];
  }
  fovea_nn_encoder stack = layer_;
  stack.blocks = layers.data();
  fovea_nn_attending attending = {&call.problem, &tensors};
  fovea_nn_encoder_rows given_rows;
  fovea_nn_encoder_rows_init(&given_rows, &attending, embedding_ ? from.data : nullptr,
                             static_cast<float *>(to.data));
  if (!embedding_) given_rows.x = static_cast<const float *>(from.data);
  given_rows.id_type = embedding_ && from.type == element::i64 ? FOVEA_NN_INT64 : FOVEA_NN_INT32;
  given_rows.token_type_ids = ids_of(types, token_type_ids, "token_type_ids", &from);
  given_rows.position_ids = ids_of(places, position_ids, "position_ids", &from);
  fovea_error error;
  fovea_status status;
  {
    nb::gil_scoped_release others_run;
    status = fovea_nn_encoder_run(&stack, &given_rows, &call.execution, &error);
  }
  check(status, error);
  return object;
}

/* ---- Python -------------------------------------------------------------------------------------------------- */

void bind_encoder(nb::module_ &module) {
  std::string options = text_of_options(in_layer);
  std::string attention_signature =
      signature_of("__call__(self, x: Tensor, memory: Tensor | None = None, "
                   "memory_values: Tensor | None = None, residual: Tensor | None = None, "
                   "first_position: int | Integers | None = None",
                   "Tensor | Result", in_layer);
  std::string attention_text = "y of x (batch, rows, dim), or (rows, dim) of one sequence or of packed ones. Keys "
                               "and values are made of `memory`\n"
                               "(and `memory_values`), else of x. `residual` is added to y. Rotary positions begin "
                               "at first_position, one number\n"
                               "or one for each batch element. Other keywords are as attention() has them; caches "
                               "are not for layers yet.\n\n" +
                               options;
  nb::class_<attention_layer>(module, "Attention",
                              "Multi-head attention (Vaswani et al., 2017): heads of query(x), key(memory) and "
                              "value(memory), side by side in\n"
                              "their rows, attend; their outputs go through `output`.")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, int64_t, nb::handle, nb::handle>(),
           nb::arg("query"), nb::arg("key"), nb::arg("value"), nb::arg("output"), nb::arg("heads"), nb::kw_only(),
           nb::arg("kv_heads") = nb::none(), nb::arg("rotary") = nb::none(),
           nb::sig("def __init__(self, query: Linear, key: Linear, value: Linear, output: Linear, heads: int, *, "
                   "kv_heads: "
                   "int | None = None, rotary: Rotary | None = None) -> None"))
      .def("__call__", &attention_layer::run, nb::arg("x"), nb::arg("memory") = nb::none(),
           nb::arg("memory_values") = nb::none(), nb::arg("residual") = nb::none(),
           nb::arg("first_position") = nb::none(), nb::arg("keywords"), nb::sig(attention_signature.c_str()),
           attention_text.c_str());
  nb::class_<block>(
      module, "Block",
      "A layer of an encoder: x = norm(x + f(x)), with norm_first x = x + f(norm(x)), where f is attention,\n"
      "then down(up(x)), or down(up(x) * gate(x)).")
      .def(
          nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, bool>(),
          nb::arg("attention"), nb::arg("attention_norm"), nb::arg("up"), nb::arg("down"), nb::arg("feed_norm"),
          nb::kw_only(), nb::arg("gate") = nb::none(), nb::arg("norm_first") = false,
          nb::sig(
              "def __init__(self, attention: Attention, attention_norm: Norm, up: Linear, down: Linear, feed_norm: "
              "Norm, *, gate: Linear | None = None, norm_first: bool = False) -> None"));
  nb::class_<embedding>(
      module, "Embedding",
      "token * scale + token type + position, of tables (count, dim), which are not copied: they must\n"
      "not be changed while a call reads them.")
      .def(
          nb::init<nb::handle, nb::handle, nb::handle, double>(), nb::arg("tokens"), nb::kw_only(),
          nb::arg("positions") = nb::none(), nb::arg("token_types") = nb::none(), nb::arg("scale") = 1.0,
          nb::sig(
              "def __init__(self, tokens: Tensor, *, positions: Tensor | None = None, token_types: Tensor | None = "
              "None, scale: float = 1.0) -> None"));
  std::string encoder_signature = signature_of(
      "__call__(self, x: Tensor, token_type_ids: Tensor | None = None, position_ids: Tensor | None = None, "
      "first_position: int | Integers | None = None",
      "Tensor", in_layer);
  std::string encoder_text = "y (batch, rows, dim), float32, of ids (batch, rows), int64 or int32, with an "
                             "embedding; else of x (batch, rows,\n"
                             "dim). Packed sequences have no batch axis. All blocks attend as the keywords say; "
                             "kv_lens and q_lens are the\n"
                             "lengths of padded sequences. One team of threads computes all of it.\n\n" +
                             options;
  nb::class_<encoder>(module, "Encoder", "A stack of blocks: an embedding, blocks, a last norm (BERT, ViT, ...).")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle>(), nb::arg("blocks"), nb::kw_only(),
           nb::arg("embedding") = nb::none(), nb::arg("embedding_norm") = nb::none(),
           nb::arg("final_norm") = nb::none(),
           nb::sig("def __init__(self, blocks: Sequence[Block], *, embedding: Embedding | None = None, "
                   "embedding_norm: Norm "
                   "| None = None, final_norm: Norm | None = None) -> None"))
      .def("__call__", &encoder::run, nb::arg("x"), nb::arg("token_type_ids") = nb::none(),
           nb::arg("position_ids") = nb::none(), nb::arg("first_position") = nb::none(), nb::arg("keywords"),
           nb::sig(encoder_signature.c_str()), encoder_text.c_str());
}

} // namespace fovea_python
