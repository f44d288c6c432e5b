/* Any call of a variant of attention in fovea_nn; nn_try.c says what must hold. A variant is one kind in a file of
 * its own, and one line of the table, at its end: the corpus says by numbers which. */
#include "expect.h"
#include "nn_try.h"

extern const struct nn_kind nn_kind_linear_attention, nn_kind_performer, nn_kind_performer_features,
    nn_kind_random_features, nn_kind_longformer, nn_kind_bigbird_blocks, nn_kind_bigbird, nn_kind_lsh,
    nn_kind_selection, nn_kind_linformer, nn_kind_differential, nn_kind_differential_lambda, nn_kind_latent,
    nn_kind_latent_absorb, nn_kind_graph;

/* Numbers without a kind try nothing, so that a new kind leaves the meaning of the corpus as it is. */
enum { KINDS_LIMIT = 16 };
static const struct nn_kind *const kinds[KINDS_LIMIT] = {
    &nn_kind_linear_attention, &nn_kind_performer,     &nn_kind_performer_features,
    &nn_kind_random_features,  &nn_kind_longformer,    &nn_kind_bigbird_blocks,
    &nn_kind_bigbird,          &nn_kind_lsh,           &nn_kind_selection,
    &nn_kind_linformer,        &nn_kind_differential,  &nn_kind_differential_lambda,
    &nn_kind_latent,           &nn_kind_latent_absorb, &nn_kind_graph,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes bytes = {data, size};
  static struct nn_scene scene;
  memset(&scene, 0, sizeof scene);
  scene.bytes = &bytes;
  scene.wild = bytes_one_in(&bytes, 2);
  const struct nn_kind *kind = kinds[bytes_below(&bytes, KINDS_LIMIT)];
  if (kind) nn_try(kind, &scene);
  return 0;
}
