#include "attending.h"

namespace fovea_python {

const char position_types[] =
    ", first_position: int | Integers | None = None, rotary_positions: Integers | None = None, memory_positions: "
    "Integers | None = None";
const char position_text[] = "    first_position: where rows begin, for rotary embeddings and tables of positions: "
                             "one number, or one for each\n"
                             "        batch element; with a cache rows follow the rows that it has\n"
                             "    rotary_positions, memory_positions: where rows, and keys of a memory, are "
                             "rotated to instead, one number for\n"
                             "        each row and axis of the embedding\n";

sequences sequences_of(const tensor &rows, int axes, const char *name, int64_t packed) {
  bool dims = axes < rows.axes;
  if (axes != 1 && (axes != 2 || packed))
    refuse(name, "%s has the shape %s; it must be (batch, rows%s), or (rows%s) of one sequence or of packed ones",
           name, shape_text(rows).text, dims ? ", dim" : "", dims ? ", dim" : ",");
  return {packed ? packed : axes == 2 ? rows.shape[0] : 1, rows.shape[axes - 1]};
}

attending::attending(nb::handle keywords) : given_(keywords, in_layer) {
  fovea_nn_attention_tensors_init(&tensors, nullptr, nullptr);
  given_.set(call, true);
}

/* How many new rows each sequence has. */
std::vector<int64_t> attending::new_rows(sequences rows) const {
  nb::handle lens = given_.value("q_lens");
  std::vector<int64_t> counts =
      batch_counts(lens.is_valid() ? lens : nb::handle(Py_None), "q_lens", rows.batch, rows.length);
  const int32_t *packed = call.problem.cu_seqlens_q;
  for (size_t b = 0; packed && b < counts.size(); b++) counts[b] = packed[b + 1] - packed[b];
  return counts;
}

void attending::attend_over_cache(bool adds, sequences rows) {
  cache &cache = *call.cached;
  if (cache.batch() != rows.batch)
    refuse("cache", "cache has %jd sequences, and there are rows of %jd", (intmax_t)cache.batch(),
           (intmax_t)rows.batch);
  if (adds) step_.emplace(cache, call.tensors.cache.layer, new_rows(rows), "x");
  call.see(adds ? step_->view : cache.view());
  tensors.cache = call.tensors.cache;
}

void attending::describe(const head_sizes &heads, sequences rows, const sequences *memory, bool adds_to_cache,
                         const given_positions &positions) {
  if (memory && call.cached)
    refuse_unused("memory", "memory is given, and a cache, which keys and values come from");
  if (memory && memory->batch != rows.batch)
    refuse("memory", "memory has %jd batch elements, and x has %jd", (intmax_t)memory->batch, (intmax_t)rows.batch);
  if (call.cached)
    attend_over_cache(adds_to_cache, rows);
  else
    call.problem.kv_len = memory ? memory->length : rows.length;
  call.problem.batch = rows.batch;
  call.problem.q_len = rows.length;
  heads.set(call.problem);
  set_positions(positions, heads.rotary);
  given_.set(call, false);
}

void attending::set_positions(const given_positions &given, const fovea_rotary *rotary) {
  const fovea_problem &problem = call.problem;
  int64_t axes = rotary ? rotary->axes : 1;
  if (step_) {
    if (!given.first.is_none())
      refuse_unused("first_position", "first_position is given, and a cache, which says where rows are");
    tensors.first_positions = step_->begins.data();
  } else {
    set_one_or_each(tensors.first_position, tensors.first_positions, first_positions_, given.first,
                    "first_position", problem.batch);
  }
  struct {
    nb::handle given;
    const char *name;
    bool packed;
    int64_t length;
    std::vector<int64_t> &list;
    const int64_t *&field;
  } lists[] = {{given.rotary, "rotary_positions", problem.cu_seqlens_q != nullptr, problem.q_len, rotary_positions_,
                tensors.rotary_positions},
               {given.memory, "memory_positions", problem.cu_seqlens_kv != nullptr, problem.kv_len,
                memory_positions_, tensors.memory_positions}};
  for (auto &each : lists) {
    if (each.given.is_none()) continue;
    each.list = integers_of(each.given, each.name, true);
    require_count(each.list.size(), (each.packed ? 1 : problem.batch) * each.length * axes, each.name,
                  "one for each row, on each axis of the embedding");
    each.field = each.list.data();
  }
}

void attending::hand_to(fovea_nn_attention &layer) {
  layer.average_scores = call.average_scores && call.problem.scores.kind;
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

void attending::keep() {
  if (step_) step_->keep();
}

} // namespace fovea_python
