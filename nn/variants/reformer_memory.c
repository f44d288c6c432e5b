/* LSH attention: the scratch of a worker. Where its parts begin follows from sizes, so that tasks find them. */
#include "reformer.h"

typedef struct layout {
  fovea_nn_scratch all;
  size_t products, counts, positions, x, v, keys, mask, run;
} layout;

static layout lay_out(const fovea_nn_lsh_call *call, uint64_t run) {
  const fovea_nn_lsh_tensors *t = &call->tensors;
  const int64_t m = call->lsh.bucket_size, slots = (call->group + 1) * m;
  layout l = {.products = 0};
  l.products = fovea_nn_reserve(&l.all, fovea_nn_bytes(FOVEA_NN_LSH_HASH_ROWS, call->columns, 1));
  l.counts = fovea_nn_reserve(&l.all, fovea_nn_bytes(call->lsh.buckets, 1, 1));
  l.positions = fovea_nn_reserve(&l.all, fovea_nn_bytes(slots, 1, 1));
  l.x = fovea_nn_reserve(&l.all, fovea_nn_bytes(slots, t->dim, 1));
  l.v = fovea_nn_reserve(&l.all, fovea_nn_bytes(slots, t->v_dim, 1));
  l.keys = fovea_nn_reserve(&l.all, fovea_nn_bytes(slots, t->dim, 1));
  l.mask = fovea_nn_reserve(&l.all, (uint64_t)(call->group * m * 2 * m));
  l.run = fovea_nn_reserve(&l.all, run);
  return l;
}

fovea_nn_scratch fovea_nn_lsh_worker_scratch(const fovea_nn_lsh_call *call, uint64_t run) {
  return lay_out(call, run).all;
}

fovea_nn_lsh_worker fovea_nn_lsh_worker_at(const fovea_nn_lsh_piece *piece, int worker) {
  char *memory = piece->workers + (size_t)worker * piece->worker_size;
  const layout l = lay_out(piece->call, 0);
  return (fovea_nn_lsh_worker){.products = (float *)(void *)(memory + l.products),
                               .counts = (int32_t *)(void *)(memory + l.counts),
                               .positions = (int32_t *)(void *)(memory + l.positions),
                               .x = memory + l.x,
                               .v = memory + l.v,
                               .keys = (float *)(void *)(memory + l.keys),
                               .mask = (unsigned char *)memory + l.mask,
                               .run = memory + l.run,
                               .run_size = piece->worker_size - l.run};
}
