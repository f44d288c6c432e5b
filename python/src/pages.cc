/* Keys and values in pages of the caller's tensors: the keyword page_table. */
#include "call.h"

namespace fovea_python {

void set_page_table(attention_call &call, nb::handle value, const char *name) {
  if (call.cached) refuse_unused(name, "%s is given, and a cache, which has tables of its own", name);
  if (call.sequences_kv)
    refuse_unused("cu_seqlens_kv", "cu_seqlens_kv is given, and %s, by which sequences own pages", name);
  if (call.first_key)
    refuse_unused("first_key", "first_key is %jd, and %s is given: kv_begins says which pages are not there",
                  (intmax_t)call.first_key, name);
  const tensor &table = call.hold(value, name);
  if (table.axes != 2 || (table.type != element::i32 && table.type != element::i64))
    refuse(name, "%s is a tensor of %s of the shape %s; it must be int32 or int64 (batch, pages of a sequence)",
           name, facts_of(table.type).name, shape_text(table).text);
  call.page_table = &table;
}

void attention_call::read_page_sizes(nb::handle k, nb::handle v, int64_t batch) {
  k_.read(k, "k");
  v_.read(v, "v");
  if (k_.axes != 4 || !k_.shape[0] || !k_.shape[1] || !k_.shape[2] || k_.shape[3] != problem.qk_dim)
    refuse("k", "k has the shape %s; with page_table it must be (pages, kv_heads, page_rows, %jd)",
           shape_text(k_).text, (intmax_t)problem.qk_dim);
  const int64_t wanted[4] = {k_.shape[0], k_.shape[1], k_.shape[2], v_.axes == 4 ? v_.shape[3] : problem.qk_dim};
  require_shape(v_, "v", wanted, 4);
  if (page_table->shape[0] != batch)
    refuse("page_table", "page_table has the shape %s; it must have %jd sequences, as q",
           shape_text(*page_table).text, (intmax_t)batch);
  problem.batch = batch;
  problem.kv_heads = k_.shape[1];
  problem.kv_len = page_table->shape[1] * k_.shape[2];
  problem.v_dim = v_.shape[3];
  problem.cache.segmented = 1;
}

/* Makes segments of the pages that sequences use; other numbers of the table are not looked at. */
void attention_call::find_pages() {
  if (!problem.kv_lens)
    refuse("kv_lens", "kv_lens is None; with page_table it must have %jd numbers, one for each sequence",
           (intmax_t)problem.batch);
  const int64_t rows = k_.shape[2], length = page_table->shape[1];
  std::vector<int32_t> pages_of(static_cast<size_t>(problem.batch * length));
  size_t most = 0;
  for (int64_t b = 0; b < problem.batch; b++) {
    const int64_t end = problem.kv_lens[b], begin = problem.kv_begins ? problem.kv_begins[b] : 0;
    if (end < 0 || end > problem.kv_len)
      refuse("kv_lens", "kv_lens[%jd] is %jd; it must be from 0 to %jd, the rows of %jd pages", (intmax_t)b,
             (intmax_t)end, (intmax_t)problem.kv_len, (intmax_t)length);
    if (begin < 0 || begin > end)
      refuse("kv_begins", "kv_begins[%jd] is %jd; it must be from 0 to %jd, as kv_lens", (intmax_t)b,
             (intmax_t)begin, (intmax_t)end);
    for (int64_t i = begin / rows; begin < end && i * rows < end; i++, most++) {
      const int64_t at = b * page_table->strides[0] + i;
      const int64_t page = page_table->type == element::i64 ? static_cast<const int64_t *>(page_table->data)[at]
                                                            : static_cast<const int32_t *>(page_table->data)[at];
      if (page < 0 || page >= k_.shape[0])
        refuse("page_table", "page_table[%jd, %jd] is %jd; it must be from 0 to %jd, the last page of k",
               (intmax_t)b, (intmax_t)i, (intmax_t)page, (intmax_t)(k_.shape[0] - 1));
      pages_of[static_cast<size_t>(b * length + i)] = static_cast<int32_t>(page);
    }
  }
  fovea_pages pages;
  fovea_pages_init(&pages, k_.shape[0], rows, problem.kv_heads, problem.qk_dim, problem.v_dim,
                   number_type(k_.type, "k"), FOVEA_KEYS_IN_ROWS);
  pages.v_type = number_type(v_.type, "v");
  pages.k_strides = strides_of(k_, 1);
  pages.v_strides = strides_of(v_, 1);
  pages.k = k_.data;
  pages.v = v_.data;
  auto made = std::make_shared<cache_view>();
  made->segments.resize(most + 1);
  made->sequences.resize(static_cast<size_t>(problem.batch));
  fovea_error error;
  check(fovea_cache_paged_batch(&pages, problem.batch, pages_of.data(), length, problem.kv_begins, problem.kv_lens,
                                made->segments.data(), static_cast<int64_t>(most + 1), made->sequences.data(),
                                &error),
        error);
  tensors.cache.sequences = made->sequences.data();
  view = made;
}

} // namespace fovea_python
