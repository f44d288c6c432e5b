/* Keywords about keys and values in caches. */
#include "cache.h"
#include "call.h"

namespace fovea_python {

namespace {

void set_cache(attention_call &call, nb::handle value, const char *name) {
  if (!nb::isinstance<cache>(value)) refuse_type(name, value, "a fovea.Cache");
  const cache &from = nb::cast<const cache &>(value);
  call.view = from.view();
  fovea_problem &problem = call.problem;
  problem.cache.segmented = 1;
  problem.batch = from.batch();
  problem.kv_heads = from.pages().kv_heads;
  problem.v_dim = from.pages().v_dim;
  problem.kv_len = call.view->longest;
  call.tensors.cache.sequences = call.view->sequences.data();
  problem.kv_lens = call.view->lens.data();
  if (!call.view->begins.empty()) problem.kv_begins = call.view->begins.data();
}

const option options[] = {
    {"cache", "Cache", "keys and values in a cache, in place of k and v, with the lengths that it has",
     in_all &not_in_layer, true, set_cache},
    {"layer", "int", "which layer of the cache is read, default 0", in_tensors &not_in_layer, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.tensors.cache.layer = integer_of(value, name);
     }},
};

} // namespace

option_list cache_options() {
  return {options, sizeof options / sizeof *options};
}

} // namespace fovea_python
