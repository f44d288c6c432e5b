#include "call.h"
#include "result.h"
#include "state.h"

#include <algorithm>
#include <cstring>

namespace fovea_python {

namespace {

void require_axes(const tensor &tensor, const char *name) {
  if (tensor.axes < 2 || tensor.axes > 4)
    refuse(name, "%s has the shape %s; it must be (batch, heads, rows, dim), (heads, rows, dim) or (rows, dim)",
           name, shape_text(tensor).text);
}

void require_size(const tensor &tensor, const char *name, int axis, int64_t wanted, const char *of) {
  if (size_of(tensor, axis) != wanted)
    refuse(name, "%s has the shape %s; axis %d must have %jd, as %s", name, shape_text(tensor).text, axis - 4,
           (intmax_t)wanted, of);
}

} // namespace

attention_call::attention_call() {
  fovea_problem_init(&problem, 1, 1, 1, 0, 0, 1, 1);
  fovea_tensors_init(&tensors, nullptr, nullptr, nullptr, nullptr, nullptr);
  fovea_execution_init(&execution);
}

void attention_call::read(nb::handle q, nb::handle k, nb::handle v, nb::handle keywords, function function) {
  given_options given(keywords, function);
  given.set(*this, true);
  read_sizes(q, k, v);
  given.set(*this, false);
  if (page_table) find_pages();
}

void attention_call::read_sizes(nb::handle q, nb::handle k, nb::handle v) {
  q_.read(q, "q");
  require_axes(q_, "q");
  if (sequences_q) require_size(q_, "q", 0, 1, "cu_seqlens_q packs its sequences");
  int64_t batch = sequences_q ? sequences_q : size_of(q_, 0);
  problem.heads = size_of(q_, 1);
  problem.q_len = size_of(q_, 2);
  problem.qk_dim = size_of(q_, 3);
  problem.q_type = problem.o_type = number_type(q_.type, "q");
  problem.q_strides = strides_of(q_, 1);
  q_axes = q_.axes;
  tensors.q = q_.data;
  if (cached)
    read_cached_sizes(k, v, batch);
  else if (page_table)
    read_page_sizes(k, v, batch);
  else
    read_key_sizes(k, v, batch);
}

void attention_call::read_cached_sizes(nb::handle k, nb::handle v, int64_t batch) {
  if (!k.is_none() || !v.is_none()) refuse_unused("cache", "cache is given, and k or v, too");
  if (first_key)
    refuse_unused("first_key", "first_key is %jd, and a cache is given, which has positions of its own",
                  (intmax_t)first_key);
  if (sequences_kv)
    refuse_unused("cu_seqlens_kv", "cu_seqlens_kv is given, and a cache, which has sequences of its own");
  if (batch != cached->batch())
    refuse("q", "q has %jd sequences, and the cache has %jd", (intmax_t)batch, (intmax_t)cached->batch());
  see(cached->view());
}

void attention_call::see(std::shared_ptr<const cache_view> sequences) {
  view = std::move(sequences);
  problem.cache.segmented = 1;
  problem.batch = cached->batch();
  problem.kv_heads = cached->pages().kv_heads;
  problem.v_dim = cached->pages().v_dim;
  problem.kv_len = view->longest;
  tensors.cache.sequences = view->sequences.data();
  problem.kv_lens = view->lens.data();
  if (!view->begins.empty()) problem.kv_begins = view->begins.data();
}

void attention_call::read_key_sizes(nb::handle k, nb::handle v, int64_t batch) {
  k_.read(k, "k");
  require_axes(k_, "k");
  v_.read(v, "v");
  require_axes(v_, "v");
  if (sequences_kv) require_size(k_, "k", 0, 1, "cu_seqlens_kv packs its sequences");
  int64_t batch_kv = sequences_kv ? sequences_kv : size_of(k_, 0);
  if (batch != batch_kv)
    refuse("k", "k has %jd batch elements, and q has %jd", (intmax_t)batch_kv, (intmax_t)batch);
  require_size(k_, "k", 3, problem.qk_dim, "q");
  for (int axis = 0; axis < 3; axis++) require_size(v_, "v", axis, size_of(k_, axis), "k");
  problem.batch = batch;
  problem.kv_heads = size_of(k_, 1);
  problem.kv_len = size_of(k_, 2);
  problem.v_dim = size_of(v_, 3);
  problem.k_type = number_type(k_.type, "k");
  problem.v_type = number_type(v_.type, "v");
  problem.k_strides = strides_of(k_, 1);
  problem.v_strides = strides_of(v_, 1);
  tensors.k = k_.data;
  tensors.v = v_.data;
  if (first_key) move_to_first_key();
}

namespace {

/* Where position 0 would lie. The library reads only keys of the range. */
const void *position_0(const tensor &keys, int64_t stride, int64_t first) {
  uintptr_t bytes = static_cast<uintptr_t>(stride) * static_cast<uintptr_t>(facts_of(keys.type).bytes);
  return reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(keys.data) -
                                        static_cast<uintptr_t>(first) * bytes);
}

} // namespace

/* K and V hold the end of a sequence, or a part of it. */
void attention_call::move_to_first_key() {
  if (sequences_kv)
    refuse_unused("first_key", "first_key is %jd, and cu_seqlens_kv packs sequences of their own",
                  (intmax_t)first_key);
  problem.keys.begin = first_key;
  problem.kv_len += first_key;
  tensors.k = position_0(k_, problem.k_strides.row, first_key);
  tensors.v = position_0(v_, problem.v_strides.row, first_key);
}

/* ---- Memory of options --------------------------------------------------------------------------------------- */

tensor &attention_call::hold(nb::handle value, const char *name) {
  held_.emplace_front();
  held_.front().read(value, name);
  return held_.front();
}

tensor &attention_call::hold_strided(nb::handle value, const char *name) {
  held_.emplace_front();
  held_.front().read_strided(value, name);
  return held_.front();
}

namespace {

const void *numbers_of(const tensor &numbers, const char *name, element type, const int64_t *shape, int axes) {
  require_type(numbers, name, type);
  require_shape(numbers, name, shape, axes);
  require_contiguous(numbers, name);
  return numbers.data;
}

} // namespace

const float *attention_call::floats(nb::handle value, const char *name, const int64_t *shape, int axes) {
  return static_cast<const float *>(numbers_of(hold(value, name), name, element::f32, shape, axes));
}

const double *attention_call::doubles(nb::handle value, const char *name, const int64_t *shape, int axes) {
  return static_cast<const double *>(numbers_of(hold(value, name), name, element::f64, shape, axes));
}

const int64_t *attention_call::list(nb::handle value, const char *name, const char *what) {
  lists_.push_front(integers_of(value, name));
  require_count(lists_.front().size(), problem.batch, name, what);
  return lists_.front().data();
}

const int32_t *attention_call::offsets_of_rows(nb::handle value, const char *name, int64_t *sequences) {
  offsets_.push_front(offsets_of(value, name));
  *sequences = static_cast<int64_t>(offsets_.front().size()) - 1;
  return offsets_.front().data();
}

/* ---- Outputs ------------------------------------------------------------------------------------------------- */

void attention_call::give(output &output, nb::handle value, const char *name) {
  output.memory.write_strided(value, name);
  output.object = nb::borrow(value);
}

/* Makes an output of this shape, or checks the one that is given, and returns its memory. */
void *attention_call::make(output &output, nb::handle like, const char *name, element type, const int64_t *shape,
                           int axes) {
  if (!output.memory.exists() && !with_memory_) {
    output.memory.imagine(type, shape, axes);
  } else if (!output.memory.exists()) {
    output.object = make_tensor(like, type, shape, axes);
    output.memory.write_strided(output.object, name);
  } else if (type != element::other) {
    require_type(output.memory, name, type);
  }
  require_shape(output.memory, name, shape, axes);
  /* Tensors without elements may have no address. */
  if (with_memory_ && !output.memory.data && std::find(shape, shape + axes, 0) == shape + axes)
    refuse(name, "%s has no memory, so nothing can be written to it", name);
  return output.memory.data;
}

/* Writes Q's shape without its last axis, and returns how many axes that are. */
int attention_call::rows_shape(int64_t *shape) const {
  int axes = q_axes - 1;
  const int64_t all[3] = {sequences_q ? 1 : problem.batch, problem.heads, problem.q_len};
  for (int axis = 0; axis < axes; axis++) shape[axis] = all[3 - axes + axis];
  return axes;
}

void attention_call::make_outputs(nb::handle like, bool with_memory) {
  with_memory_ = with_memory;
  extents shape;
  int axes = rows_shape(shape);
  shape[axes] = problem.v_dim;
  if (problem.state) return make_state(like, shape, axes + 1);
  element type = o.memory.exists() ? element::other : q_.exists() ? q_.type : element::f32;
  tensors.o = make(o, like, "out", type, shape, axes + 1);
  if (o.memory.axes && o.memory.shape[axes] > 1 && o.memory.strides[axes] != 1)
    refuse("out", "out.strides[%d] is %jd elements; elements of the last axis must lie side by side", axes,
           (intmax_t)o.memory.strides[axes]);
  problem.o_type = number_type(o.memory.type, "out");
  problem.o_strides = strides_of(o.memory, 1);
  make_extra_outputs(like);
}

void attention_call::make_extra_outputs(nb::handle like) {
  extents shape;
  int axes = rows_shape(shape);
  if (want_lse) {
    tensors.lse = static_cast<float *>(make(lse, like, "lse", element::f32, shape, axes));
    problem.lse_strides = strides_of(lse.memory, 0);
  }
  if (problem.entropy) {
    tensors.entropy = static_cast<float *>(make(entropy, like, "entropy", element::f32, shape, axes));
    fovea_strides strides = strides_of(entropy.memory, 0);
    if (!want_lse) problem.lse_strides = strides; /* both have the same */
    if (strides.batch != problem.lse_strides.batch || strides.head != problem.lse_strides.head ||
        strides.row != problem.lse_strides.row)
      refuse("entropy", "entropy has other strides than lse; both must have the same");
  }
  if (problem.top.k > 0 && problem.top.k <= FOVEA_TOP_K_LIMIT) { /* else the library refuses it */
    shape[axes] = problem.top.k;
    tensors.top.keys = static_cast<int64_t *>(make(top_keys, like, "top_keys", element::i64, shape, axes + 1));
    tensors.top.scores = static_cast<float *>(make(top_scores, like, "top_scores", element::f32, shape, axes + 1));
  }
  if (problem.scores.kind) make_scores(like);
  if (scores.memory.exists() && !problem.scores.kind)
    refuse_unused("scores_out", "scores_out is given, and scores not");
  int64_t heads_shape[] = {problem.batch, problem.heads, row_keys()};
  if (problem.max_logits) {
    tensors.max_logits = static_cast<float *>(make(max_logits, like, "max_logits", element::f32, heads_shape, 2));
    require_contiguous(max_logits.memory, "max_logits");
  }
  if (problem.column_sums.wanted) {
    tensors.column_sums =
        static_cast<float *>(make(column_sums, like, "column_sums", element::f32, heads_shape, 3));
    require_contiguous(column_sums.memory, "column_sums");
  }
}

/* A plan for states has no memory of one. */
void attention_call::make_state(nb::handle like, const int64_t *shape, int axes) {
  if (o.memory.exists()) refuse_unused("out", "out is given, and the result is a state");
  if (want_lse) refuse_unused("lse", "lse is wanted, and the result is a state, which finish() makes LSE of");
  if (!with_memory_) return;
  fovea_range keys = problem.keys;
  if (keys.end == FOVEA_UNLIMITED) keys.end = problem.kv_len;
  auto *made = new fovea_python::state(like, shape, axes, keys, problem.normaliser);
  state = nb::cast(made, nb::rv_policy::take_ownership);
  tensors.state = &made->described();
}

/* How many numbers a row of scores has. */
int64_t attention_call::row_keys() const {
  int64_t keys = problem.cu_seqlens_kv ? 0 : problem.kv_len;
  for (int64_t b = 0; b < sequences_kv; b++) {
    int64_t length = problem.cu_seqlens_kv[b + 1] - problem.cu_seqlens_kv[b];
    if (length > keys) keys = length;
  }
  return keys + more_keys;
}

/* Scores have Q's axes, but (batch, heads, rows, keys) if rows of packed sequences are chosen: each has a batch index of
 * its own then. */
void attention_call::make_scores(nb::handle like) {
  const fovea_problem_scores &wanted = problem.scores;
  auto length = [](fovea_range range, int64_t all, const char *name) {
    int64_t end = range.end == FOVEA_UNLIMITED ? all : range.end;
    if (range.begin < 0 || end > all || range.begin > end)
      refuse(name, "%s is (%jd, %jd); it must lie within 0 to %jd", name, (intmax_t)range.begin, (intmax_t)end,
             (intmax_t)all);
    return end - range.begin;
  };
  bool some_rows = wanted.rows.begin != 0 || wanted.rows.end != FOVEA_UNLIMITED;
  const int64_t all[5] = {score_layers, sequences_q && !some_rows ? 1 : problem.batch,
                          length(wanted.heads, problem.heads, "score_heads"),
                          length(wanted.rows, problem.q_len, "score_rows"),
                          length(wanted.keys, row_keys(), "score_keys")};
  const int64_t averaged[3] = {all[1], all[3], all[4]};
  int axes = average_scores ? 3 : score_layers ? 5 : sequences_q && some_rows ? 4 : q_axes;
  tensors.scores = static_cast<float *>(
      make(scores, like, "scores_out", element::f32, average_scores ? averaged : all + 5 - axes, axes));
  if (scores.memory.shape[axes - 1] > 1 && scores.memory.strides[axes - 1] != 1)
    refuse("scores_out", "scores_out.strides[%d] is %jd elements; elements of the last axis must lie side by side",
           axes - 1, (intmax_t)scores.memory.strides[axes - 1]);
  problem.scores.strides = strides_of(scores.memory, 1);
  if (average_scores) problem.scores.strides = {scores.memory.strides[0], 0, scores.memory.strides[1]};
}

/* ---- Runs of a plan ------------------------------------------------------------------------------------------ */

void attention_call::follow(const attention_call &planned) {
  problem = planned.problem;
  sequences_q = planned.sequences_q;
  sequences_kv = planned.sequences_kv;
  first_key = planned.first_key;
}

namespace {

bool same_strides(const fovea_strides &a, const fovea_strides &b, int64_t batch, int64_t heads, int64_t rows) {
  return (batch <= 1 || a.batch == b.batch) && (heads <= 1 || a.head == b.head) && (rows <= 1 || a.row == b.row);
}

bool same_term(const fovea_position_term &a, const fovea_position_term &b) {
  return a.kind == b.kind && a.batch == b.batch && a.head == b.head && a.place == b.place && a.before == b.before &&
         a.after == b.after && a.buckets == b.buckets && a.max_distance == b.max_distance &&
         a.bidirectional == b.bidirectional && a.depth == b.depth && a.height == b.height && a.width == b.width;
}

bool same_terms(const fovea_problem_terms &a, const fovea_problem_terms &b) {
  return a.count == b.count && std::equal(a.list, a.list + a.count, b.list, same_term);
}

bool same_shaw(const fovea_problem_shaw &a, const fovea_problem_shaw &b) {
  return a.kind == b.kind && a.distance == b.distance && a.heads == b.heads;
}

bool same_mask(const fovea_problem_mask &a, const fovea_problem_mask &b) {
  return a.type == b.type && (a.type == FOVEA_MASK_NONE || !std::memcmp(&a.strides, &b.strides, sizeof a.strides));
}

} // namespace

void attention_call::require_layout(const attention_call &planned) const {
  const fovea_problem &plan = planned.problem;
  int64_t batch_q = sequences_q ? 1 : plan.batch, batch_kv = sequences_kv ? 1 : plan.batch;
  auto rows = [&](const fovea_strides &a, const fovea_strides &b) {
    return same_strides(a, b, batch_q, plan.heads, plan.q_len);
  };
  auto keys = [&](const fovea_strides &a, const fovea_strides &b) {
    return same_strides(a, b, batch_kv, plan.kv_heads, plan.kv_len);
  };
  struct {
    const char *name;
    bool same;
  } parts[] = {
      {"q", problem.batch == plan.batch && problem.heads == plan.heads && problem.q_len == plan.q_len &&
                problem.qk_dim == plan.qk_dim && problem.q_type == plan.q_type &&
                rows(problem.q_strides, plan.q_strides)},
      {"k", problem.kv_heads == plan.kv_heads && problem.kv_len == plan.kv_len && problem.k_type == plan.k_type &&
                keys(problem.k_strides, plan.k_strides)},
      {"v",
       problem.v_dim == plan.v_dim && problem.v_type == plan.v_type && keys(problem.v_strides, plan.v_strides)},
      {"out", problem.o_type == plan.o_type && rows(problem.o_strides, plan.o_strides)},
      {"lse", !want_lse || rows(problem.lse_strides, plan.lse_strides)},
      {"cache", !view || (planned.view && view->lens == planned.view->lens)},
      {"mask", same_mask(problem.mask, plan.mask)},
      {"sink", problem.sink == plan.sink},
      {"head_scales or row_scales", problem.scales == plan.scales},
      {"terms", same_terms(problem.terms, plan.terms)},
      {"shaw_keys or shaw_values", same_shaw(problem.shaw, plan.shaw)},
      {"key_centre, key_scale or value_scale",
       !std::memcmp(&problem.channels, &plan.channels, sizeof plan.channels)},
      {"max_logits", problem.max_logits == plan.max_logits},
      {"entropy", problem.entropy == plan.entropy},
      {"column_sums", problem.column_sums.wanted == plan.column_sums.wanted},
      {"scores_out", !problem.scores.kind || rows(problem.scores.strides, plan.scores.strides)},
  };
  for (const auto &part : parts)
    if (!part.same)
      refuse(part.name, "%s is not as the plan was made for: its shape, type or strides differ", part.name);
}

bool attention_call::wants_more() const {
  return problem.scores.kind || wants_more_than_scores();
}

bool attention_call::wants_more_than_scores() const {
  return want_lse || problem.entropy || problem.top.k || problem.max_logits || problem.column_sums.wanted;
}

nb::object attention_call::result() {
  if (problem.state) return std::move(state);
  if (!wants_more()) return std::move(o.object);
  return nb::cast(attention_result{o.object, lse.object, scores.object, max_logits.object, top_keys.object,
                                   top_scores.object, entropy.object, column_sums.object});
}

} // namespace fovea_python
