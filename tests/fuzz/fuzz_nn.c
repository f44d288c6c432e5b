/* Any call of the layers of fovea_nn; nn_try.c says what must hold. */
#include "expect.h"
#include "nn_try.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct nn_kind *const others[] = {&nn_kind_attention, &nn_kind_block, &nn_kind_additive,
                                                 &nn_kind_gru,       &nn_kind_lstm,  &nn_kind_codes};
  struct bytes bytes = {data, size};
  static struct nn_scene scene;
  memset(&scene, 0, sizeof scene);
  scene.bytes = &bytes;
  scene.wild = bytes_one_in(&bytes, 2);
  const int64_t number = bytes_below(&bytes, nn_kind_count + (int)(sizeof others / sizeof *others));
  nn_try(number < nn_kind_count ? &nn_kinds[number] : others[number - nn_kind_count], &scene);
  return 0;
}
