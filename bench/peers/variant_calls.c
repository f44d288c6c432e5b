/* What variants.py calls from Python: the calls of bench/variants.h by name. */
#include "../variants.h"

#include <string.h>

#define CALLED __attribute__((visibility("default")))

/* Returns NULL if there is no memory or no such variant. Tensors are (heads, length, dim), and live until the end.
 */
CALLED variant_call *variant_call_begin(const char *name, int64_t heads, int64_t length, int64_t dim, int64_t size,
                                        int threads, const float *q, const float *k, const float *v, float *o) {
  const variant_call sizes = {.heads = heads,
                              .length = length,
                              .dim = dim,
                              .size = size,
                              .threads = threads,
                              .q = q,
                              .k = k,
                              .v = v,
                              .o = o};
  for (int i = 0; variant_list[i]; i++) {
    if (strcmp(variant_list[i]->name, name) == 0) return variant_begin(variant_list[i], &sizes);
  }
  return NULL;
}

/* Returns a fovea_status. */
CALLED int variant_call_run(const variant_call *call) {
  return (int)variant_run(call);
}

CALLED void variant_call_end(variant_call *call) {
  variant_end(call);
}
