#include "block.h"

namespace fovea_python {

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

nb::object embedding::run(nb::handle given, nb::handle token_type_ids, nb::handle position_ids,
                          int64_t first_position, nb::handle out, int threads) const {
  tensor ids, types, places;
  rows to;
  ids_of(ids, given, "ids", nullptr);
  if (ids.axes >= most_axes) refuse("ids", "ids has %d axes; at most %d are possible", ids.axes, most_axes - 1);
  extents shape;
  int64_t count = 1;
  for (int axis = 0; axis < ids.axes; axis++) count *= shape[axis] = ids.shape[axis];
  shape[ids.axes] = layer_.dim;
  nb::object object = out.is_none() ? make_tensor(given, element::f32, shape, ids.axes + 1) : nb::borrow(out);
  to.write(object, "out");
  require_shape(to.memory, "out", shape, ids.axes + 1);
  fovea_nn_embedding_rows all;
  fovea_nn_embedding_rows_init(&all, &layer_, count, ids.data, nullptr);
  to.hand_to(all.y, all.y_type, all.y_stride);
  all.id_type = id_type_of(ids);
  all.token_type_ids = ids_of(types, token_type_ids, "token_type_ids", &ids);
  all.position_ids = ids_of(places, position_ids, "position_ids", &ids);
  all.first_position = first_position;
  row_execution execution(threads);
  compute([&](fovea_error *error) { return fovea_nn_embed(&layer_, &all, &execution, error); });
  return object;
}

void bind_embedding(nb::module_ &module) {
  nb::class_<embedding>(
      module, "Embedding",
      "token * scale + token type + position, of tables (count, dim), which are not copied: they must\n"
      "not be changed while a call reads them.")
      .def(
          nb::init<nb::handle, nb::handle, nb::handle, double>(), nb::arg("tokens"), nb::kw_only(),
          nb::arg("positions") = nb::none(), nb::arg("token_types") = nb::none(), nb::arg("scale") = 1.0,
          nb::sig(
              "def __init__(self, tokens: Tensor, *, positions: Tensor | None = None, token_types: Tensor | None = "
              "None, scale: float = 1.0) -> None"))
      .def("__call__", &embedding::run, nb::arg("ids"), nb::arg("token_type_ids") = nb::none(),
           nb::arg("position_ids") = nb::none(), nb::kw_only(), nb::arg("first_position") = 0, FOVEA_PYTHON_OUTPUT,
           nb::sig(
               "def __call__(self, ids: Tensor, token_type_ids: Tensor | None = None, position_ids: Tensor | None "
               "= None, *, first_position: int = 0, " FOVEA_PYTHON_OUTPUT_TYPES),
           "Vectors (..., dim), float32 or of the type of `out`, of ids (...), int64 or int32. Without "
           "position_ids, "
           "id i\n"
           "of all of them, in order, is at first_position + i.");
}

} // namespace fovea_python
