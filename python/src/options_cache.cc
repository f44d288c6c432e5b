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
