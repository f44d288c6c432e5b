/* Keywords about keys and values in caches. */
#include "cache.h"
#include "call.h"

namespace fovea_python {

namespace {

void set_cache(attention_call &call, nb::handle value, const char *name) {
  if (!nb::isinstance<cache>(value)) refuse_type(name, value, "a fovea.Cache");
  call.cached = &nb::cast<cache &>(value);
}

const option options[] = {
    {"cache", "Cache",
     "keys and values in a cache, in place of k and v, with the lengths that it has; of layers, where new keys "
     "and\n"
     "        values are added",
     in_all, true, set_cache},
    {"page_table", "Tensor",
     "int32 or int64 (batch, pages of a sequence): k and v are pages, (pages, kv_heads, page_rows, dim), and row p "
     "%\n"
     "        page_rows of page page_table[b, p // page_rows] is position p of sequence b, which has kv_lens[b] of "
     "them.\n"
     "        Numbers of pages that hold none, or only positions before kv_begins[b], are not used",
     in_attention, true, set_page_table},
    {"layer", "int", "which layer of the cache is read, default 0; of a stack, the layer of its first block",
     in_tensors, true,
     [](attention_call &call, nb::handle value, const char *name) {
       call.tensors.cache.layer = integer_of(value, name);
     }},
};

} // namespace

option_list cache_options() {
  return {options, sizeof options / sizeof *options};
}

} // namespace fovea_python
