#include "cache.h"

#include <cstdlib>
#include <cstring>

namespace fovea_python {

namespace {

fovea_type type_named(nb::handle value, const char *name) {
  return static_cast<fovea_type>(
      choice_of(value, name, {{"float32", FOVEA_F32}, {"float16", FOVEA_F16}, {"bfloat16", FOVEA_BF16}}));
}

fovea_format_name format_named(nb::handle value, const char *name) {
  const char *word = word_of(value, name);
  int found = fovea_format_named(word);
  if (found >= 0) return static_cast<fovea_format_name>(found);
  std::string words;
  for (int i = 0; const char *text = fovea_format_text(static_cast<fovea_format_name>(i)); i++)
    words += std::string(i ? ", " : "") + text;
  refuse(name, "%s is '%s'; formats are %s", name, word, words.c_str());
}

/* (keys, values) of a value that may be one for both. */
nb::object side_of(nb::handle value, bool values) {
  if (is_pair(value)) return nb::steal(PySequence_GetItem(value.ptr(), values));
  return nb::borrow(value);
}

} // namespace

/* ---- Memory -------------------------------------------------------------------------------------------------- */

void cache::release::operator()(void *memory) const {
  std::free(memory);
}

/* Cleared memory at a multiple of 64 bytes, which costs nothing before it is used. */
void *cache::allocate(int64_t bytes) {
  size_t size = static_cast<size_t>(bytes) + FOVEA_SCRATCH_ALIGNMENT;
  void *memory = std::calloc(size, 1);
  if (!memory) throw std::bad_alloc();
  memory_.emplace_back(memory);
  bytes_ += static_cast<size_t>(bytes);
  uintptr_t address = reinterpret_cast<uintptr_t>(memory);
  return static_cast<char *>(memory) + (-address % FOVEA_SCRATCH_ALIGNMENT);
}

/* Takes memory of the caller, of the keys or of the values. */
void *cache::take(nb::handle memory, bool values, int64_t bytes) {
  tensor &given = given_[values];
  given.write(memory, "memory");
  require_contiguous(given, "memory");
  int64_t has = facts_of(given.type).bytes;
  for (int axis = 0; axis < given.axes; axis++) has *= given.shape[axis];
  if (given.type == element::other || has != bytes)
    refuse("memory", "memory[%d] has %jd bytes, elements of %s; it must have %jd", values, (intmax_t)has,
           facts_of(given.type).name, (intmax_t)bytes);
  kept_.push_back(nb::borrow(memory));
  bytes_ += static_cast<size_t>(bytes);
  return given.data;
}

namespace {

int64_t product(std::initializer_list<int64_t> factors) {
  int64_t all = 1;
  for (int64_t factor : factors)
    if (__builtin_mul_overflow(all, factor, &all) || all > (int64_t(1) << 60)) throw std::bad_alloc();
  return all;
}

} // namespace

/* Gives keys or values their memory, and with scales apart these, too. */
void cache::set_side(bool values, nb::handle format, nb::handle scale, nb::handle memory) {
  const char *name = values ? "v_scale" : "k_scale";
  fovea_strides &strides = values ? pages_.v_strides : pages_.k_strides;
  fovea_code_scales &scales = values ? pages_.v_scales : pages_.k_scales;
  int64_t element = format.is_none() ? ((values ? pages_.v_type : pages_.k_type) == FOVEA_F32 ? 4 : 2) : 1;
  int64_t size = product({pages_.layers, pages_.count, strides.batch, element});
  (values ? pages_.v : pages_.k) = memory.is_none() ? allocate(size) : take(memory, values, size);
  bool apart = !format.is_none() && formats_[values].place == FOVEA_SCALES_APART;
  bool fixed = apart && formats_[values].key_group == 0; /* all keys share them, and the caller has them */
  if (!scale.is_none() && !fixed)
    refuse_unused(name, "%s is given, and the format has no scales that all keys share", name);
  if (!apart) return;
  int64_t page = values ? pages_.v_scale_page : pages_.k_scale_page;
  int64_t bytes = product({pages_.layers, fixed ? scales.layer : product({pages_.count, page})});
  scales.scales = allocate(bytes);
  if (formats_[values].formula != FOVEA_FORMULA_SCALE) scales.zeros = allocate(bytes);
  if (!fixed) return;
  if (scale.is_none())
    refuse(name, "%s is None; all keys of the format share scales, which the caller gives", name);
  tensor numbers;
  if (!is_single(scale)) numbers.read(scale, name);
  int64_t count = bytes / 4;
  if (formats_[values].scale_type != FOVEA_F32 || scales.zeros)
    refuse("format", "format is not for caches of this module");
  float *to = static_cast<float *>(scales.scales);
  if (!numbers.exists()) {
    float one = static_cast<float>(number_of(scale, name));
    for (int64_t i = 0; i < count; i++) to[i] = one;
    return;
  }
  require_contiguous(numbers, name);
  int64_t given = 1;
  for (int axis = 0; axis < numbers.axes; axis++) given *= numbers.shape[axis];
  if (numbers.type != element::f32 || given != count)
    refuse(name,
           "%s is a tensor of %s of the shape %s; it must have %jd numbers of float32: (layers, kv_heads, ...)",
           name, facts_of(numbers.type).name, shape_text(numbers).text, (intmax_t)count);
  std::memcpy(to, numbers.data, static_cast<size_t>(bytes));
}

cache::cache(cache_kind kind, const cache_sizes &sizes, const cache_options &options)
    : kind_(kind), batch_(sizes.batch) {
  struct {
    const char *name;
    int64_t size;
  } all[] = {{"batch", sizes.batch},       {"pages", sizes.pages},   {"page_rows", sizes.page_rows},
             {"kv_heads", sizes.kv_heads}, {"qk_dim", sizes.qk_dim}, {"v_dim", sizes.v_dim},
             {"layers", sizes.layers}};
  for (const auto &each : all)
    if (each.size < 1 || each.size > INT32_MAX)
      refuse(each.name, "%s is %jd; it must be from 1 to %d", each.name, (intmax_t)each.size, INT32_MAX);
  fovea_error error;
  fovea_pages_init(&pages_, sizes.pages, sizes.page_rows, sizes.kv_heads, sizes.qk_dim, sizes.v_dim,
                   type_named(side_of(options.dtype, false), "dtype"),
                   options.panels ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS);
  pages_.v_type = type_named(side_of(options.dtype, true), "dtype");
  pages_.layers = sizes.layers;
  nb::object names[2] = {side_of(options.format, false), side_of(options.format, true)};
  const fovea_format *formats[2] = {nullptr, nullptr};
  for (int side = 0; side < 2; side++) {
    if (names[side].is_none()) continue;
    check(fovea_format_init(&formats_[side], format_named(names[side], "format"), &error), error);
    if (formats_[side].order != FOVEA_ORDER_ROWS && formats_[side].order_keys == 0)
      formats_[side].order_keys = sizes.page_rows;
    formats[side] = &formats_[side];
  }
  if (formats[0] || formats[1]) check(fovea_pages_set_formats(&pages_, formats[0], formats[1], &error), error);
  if (!options.memory.is_none() && !is_pair(options.memory))
    refuse_type("memory", options.memory, "a pair of tensors, of keys and of values");
  set_side(false, names[0], options.k_scale, side_of(options.memory, false));
  if (options.values)
    set_side(true, names[1], options.v_scale, side_of(options.memory, true));
  else
    share_keys();
  if (kind == cache_kind::paged) {
    references_.resize(static_cast<size_t>(sizes.pages));
    tables_.resize(static_cast<size_t>(product({sizes.batch, sizes.pages})));
    page_counts_.resize(static_cast<size_t>(sizes.batch));
    check(fovea_page_pool_init(&pool_, references_.data(), static_cast<int32_t>(sizes.pages), &error), error);
  }
  before_last_.resize(static_cast<size_t>(batch_));
  view_ = view_of(before_last_);
  if (!options.lens.is_none()) begin_with(options.lens);
}

/* Values are the first dims of the keys, and have no memory of their own. */
void cache::share_keys() {
  if (pages_.k_format || pages_.v_format || pages_.k_layout != FOVEA_KEYS_IN_ROWS || pages_.v_dim > pages_.qk_dim)
    refuse("values", "values is False; keys must then be elements in rows, and v_dim, %jd, at most qk_dim, %jd",
           (intmax_t)pages_.v_dim, (intmax_t)pages_.qk_dim);
  pages_.v = pages_.k;
  pages_.v_type = pages_.k_type;
  pages_.v_strides = pages_.k_strides;
  pages_.v_layer = pages_.k_layer;
}

/* The memory of the caller has rows already. */
void cache::begin_with(nb::handle given) {
  if (kept_.empty()) refuse_unused("lens", "lens is given, and memory not: a new cache has no rows");
  if (kind_ == cache_kind::paged) refuse_unused("lens", "lens is given, and pages of a paged cache are not known");
  if (pages_.k_scales.scales || pages_.v_scales.scales)
    refuse_unused("lens", "lens is given, and the scales of the format are not in the memory");
  std::vector<int64_t> lens = integers_of(given, "lens");
  require_count(lens.size(), batch_, "lens", "one for each batch element");
  for (size_t b = 0; b < lens.size(); b++)
    if (lens[b] < 0 || (kind_ == cache_kind::contiguous && lens[b] > pages_.page_rows))
      refuse("lens", "lens[%zu] is %jd; it must be from 0 to %jd", b, (intmax_t)lens[b],
             (intmax_t)pages_.page_rows);
  before_last_ = lens;
  view_ = view_of(lens);
}

/* ---- Sequences ----------------------------------------------------------------------------------------------- */

std::shared_ptr<const cache_view> cache::view_of(const std::vector<int64_t> &lens) const {
  auto made = std::make_shared<cache_view>();
  size_t batch = static_cast<size_t>(batch_), most = batch * FOVEA_RING_SEGMENTS;
  fovea_error error;
  if (kind_ == cache_kind::paged) {
    most = 1;
    for (int64_t pages : page_counts_) most += static_cast<size_t>(pages);
  }
  made->segments.resize(most);
  made->sequences.resize(batch);
  made->lens = lens;
  for (int64_t length : lens) made->longest = length > made->longest ? length : made->longest;
  if (kind_ == cache_kind::paged)
    check(fovea_cache_paged_batch(&pages_, batch_, tables_.data(), pages_.count, nullptr, made->lens.data(),
                                  made->segments.data(), static_cast<int64_t>(most), made->sequences.data(),
                                  &error),
          error);
  for (size_t b = 0; b < batch && kind_ == cache_kind::contiguous; b++) {
    check(fovea_cache_contiguous(&pages_, static_cast<int64_t>(b), &made->segments[b], &error), error);
    made->sequences[b] = fovea_sequence_of(&made->segments[b], 1);
  }
  for (size_t b = 0; b < batch && kind_ == cache_kind::ring; b++) {
    int64_t begin = lens[b] > pages_.page_rows ? lens[b] - pages_.page_rows : 0;
    made->begins.push_back(begin);
    check(fovea_cache_ring(&pages_, static_cast<int64_t>(b), begin, lens[b],
                           &made->segments[FOVEA_RING_SEGMENTS * b], &made->sequences[b], &error),
          error);
  }
  return made;
}

void cache::extend(const std::vector<int64_t> &ends, const char *name) {
  fovea_error error;
  if (kind_ == cache_kind::paged)
    check(fovea_page_extend(&pages_, 1, &pool_, batch_, tables_.data(), pages_.count, page_counts_.data(),
                            view_->lens.data(), ends.data(), &error),
          error);
  for (size_t b = 0; b < ends.size() && kind_ == cache_kind::contiguous; b++)
    if (ends[b] > pages_.page_rows)
      refuse(name, "%s has %jd new rows for batch element %zu, which has %jd; the cache has room for %jd", name,
             (intmax_t)(ends[b] - view_->lens[b]), b, (intmax_t)view_->lens[b], (intmax_t)pages_.page_rows);
}

cache_step::cache_step(cache &cache, int64_t layer, const std::vector<int64_t> &rows, const char *name)
    : turn_(cache.busy_, "self"), cache_(cache) {
  bool grows = layer == 0;
  begins = grows ? cache.view_->lens : cache.before_last_;
  std::vector<int64_t> ends = begins;
  for (size_t b = 0; b < ends.size(); b++) ends[b] += rows[b];
  if (!grows && ends != cache.view_->lens)
    refuse(name, "%s has other rows than layer 0 was given last; layers after it write the same positions", name);
  if (grows) cache.extend(ends, name);
  view = grows ? cache.view_of(ends) : cache.view_;
}

void cache_step::keep() {
  cache_.before_last_ = begins;
  std::atomic_store(&cache_.view_, view);
}

namespace {

/* New rows are (batch, heads, rows, dim), without batch if there is one sequence. */
int64_t rows_of(const tensor &given, const char *name, int64_t batch, int64_t heads, int64_t rows, int64_t dim) {
  const int64_t wanted[] = {batch, heads, rows < 0 && given.axes >= 2 ? given.shape[given.axes - 2] : rows, dim};
  bool alone = given.axes == 3 && batch == 1;
  require_shape(given, name, alone ? wanted + 1 : wanted, alone ? 3 : 4);
  return given.shape[given.axes - 2];
}

} // namespace

void cache::append(nb::handle k, nb::handle v, int64_t layer, nb::handle embedding, nb::handle row_lens,
                   nb::handle rotary_positions, nb::handle hadamard, int threads) {
  const fovea_rotary *rotation = rotary_of(embedding, "rotary");
  tensor keys, values;
  keys.read(k, "k");
  values.read(v, "v");
  int64_t rows = rows_of(keys, "k", batch_, pages_.kv_heads, -1, pages_.qk_dim);
  rows_of(values, "v", batch_, pages_.kv_heads, rows, pages_.v_dim);
  std::vector<int64_t> counts = batch_counts(row_lens, "row_lens", batch_, rows), positions;
  cache_step step(*this, layer, counts, "k");

  fovea_new_rows news;
  fovea_new_rows_init(&news, batch_, pages_.kv_heads, rows, pages_.qk_dim, pages_.v_dim, keys.data, values.data,
                      step.view->sequences.data());
  news.k_strides = strides_of(keys, 1);
  news.v_strides = strides_of(values, 1);
  news.k_type = number_type(keys.type, "k");
  news.v_type = number_type(values.type, "v");
  news.first_positions = step.begins.data();
  news.row_lens = counts.data();
  news.layer = layer;
  if (!hadamard.is_none()) {
    news.k_hadamard = integer_of(side_of(hadamard, false), "hadamard");
    news.v_hadamard = integer_of(side_of(hadamard, true), "hadamard");
  }
  if (!rotary_positions.is_none()) {
    positions = integers_of(rotary_positions, "rotary_positions", true);
    require_count(positions.size(), product({batch_, rows, rotation ? rotation->axes : 1}), "rotary_positions",
                  "one for each row, on each axis of the embedding");
    news.rotary_positions = positions.data();
  }
  row_execution execution(threads);
  compute([&](fovea_error *error) { return fovea_append(&news, rotation, &execution, error); });
  step.keep();
}

void cache::truncate(nb::handle wanted) {
  turn turn(busy_, "self");
  std::vector<int64_t> lens = integers_of(wanted, "lens");
  require_count(lens.size(), batch_, "lens", "one for each batch element");
  for (size_t b = 0; b < lens.size(); b++) {
    int64_t most = view_->lens[b];
    int64_t least =
        kind_ == cache_kind::ring && most > pages_.page_rows && lens[b] ? most : 0; /* old rows are lost */
    if (lens[b] < least || lens[b] > most)
      refuse("lens", "lens[%zu] is %jd; it must be from %jd to %jd", b, (intmax_t)lens[b], (intmax_t)least,
             (intmax_t)most);
  }
  fovea_error error;
  if (kind_ == cache_kind::paged)
    check(fovea_page_truncate(&pool_, pages_.page_rows, batch_, tables_.data(), pages_.count, page_counts_.data(),
                              lens.data(), &error),
          error);
  before_last_ = lens;
  std::atomic_store(&view_, view_of(lens));
}

void cache::fork(int64_t from, int64_t to) {
  turn turn(busy_, "self");
  if (kind_ != cache_kind::paged) refuse("self", "The cache has no pages that sequences could share");
  for (int64_t each : {from, to})
    if (each < 0 || each >= batch_)
      refuse(each == from ? "from_" : "to", "%s is %jd; it must be from 0 to %jd", each == from ? "from_" : "to",
             (intmax_t)each, (intmax_t)(batch_ - 1));
  size_t source = static_cast<size_t>(from), target = static_cast<size_t>(to);
  if (page_counts_[target]) refuse("to", "to is %jd, which has rows: truncate it first", (intmax_t)to);
  const int32_t *shared = &tables_[source * static_cast<size_t>(pages_.count)];
  fovea_error error;
  for (int64_t i = 0; i < page_counts_[source]; i++) {
    check(fovea_page_share(&pool_, shared[i], &error), error);
    tables_[target * static_cast<size_t>(pages_.count) + static_cast<size_t>(i)] = shared[i];
  }
  page_counts_[target] = page_counts_[source];
  std::vector<int64_t> lens = view_->lens;
  lens[target] = lens[source];
  before_last_ = lens;
  std::atomic_store(&view_, view_of(lens));
}

/* Rows of shared pages are not changed under other sequences. */
void cache::move(int64_t sequence, int64_t begin, int64_t end, int64_t to, nb::handle embedding,
                 nb::handle rotate_by, int64_t hadamard, int threads) {
  turn turn(busy_, "self");
  if (sequence < 0 || sequence >= batch_)
    refuse("sequence", "sequence is %jd; it must be from 0 to %jd", (intmax_t)sequence, (intmax_t)(batch_ - 1));
  const size_t b = static_cast<size_t>(sequence);
  const int64_t length = view_->lens[b];
  if (begin < 0 || begin > end || end > length || to < 0 || to > length - (end - begin))
    refuse("to", "rows %jd to %jd cannot move to %jd; the sequence has %jd rows", (intmax_t)begin, (intmax_t)end,
           (intmax_t)to, (intmax_t)length);
  for (int64_t page = 0; kind_ == cache_kind::paged && page < page_counts_[b]; page++)
    if (fovea_page_is_shared(&pool_, tables_[b * static_cast<size_t>(pages_.count) + static_cast<size_t>(page)]))
      refuse("sequence", "sequence is %jd, which shares pages with another; their rows cannot move",
             (intmax_t)sequence);
  fovea_move all;
  fovea_move_init(&all, &view_->sequences[b], pages_.kv_heads, pages_.qk_dim, pages_.v_dim, begin, end, to);
  all.layers = pages_.layers;
  all.rotary = rotary_of(embedding, "rotary");
  if (!rotate_by.is_none()) all.rotate_by = integer_of(rotate_by, "rotate_by");
  all.k_hadamard = hadamard;
  row_execution execution(threads);
  compute([&](fovea_error *error) { return fovea_sequence_move(&all, &execution, error); });
}

} // namespace fovea_python
