/* Caches of any kind: made, shared, appended to, copied, moved, attended over, with holes, in any order; scaled
 * rotary embeddings. No call may crash, or read or write a byte outside. A call that fails leaves everything as it
 * was. A call that succeeds writes what a plain model says, and attention over segments has the bits of attention
 * over contiguous tensors. */
#include "appending.h"
#include "attending.h"
#include "copying.h"
#include "expect.h"
#include "making.h"
#include "moving.h"
#include "page_users.h"
#include "scaling.h"

enum { OPERATIONS = 24 };

static void operate(struct scene *scene, struct pool *pool) {
  enum { SCALING = 252, MOVE = 253, PUNCH = 254, HOLES = 255 };
  const unsigned choice = bytes_one(scene->bytes);
  switch (choice < SCALING ? choice % 12 : choice) {
  case SCALING:
    scale_rotary(scene);
    return;
  case MOVE:
    move_rows(scene);
    return;
  case PUNCH:
    scene_punch(scene, bytes_below(scene->bytes, SCENE_ENTRIES));
    return;
  case HOLES:
    for (int64_t entry = 0; entry < SCENE_ENTRIES; entry++) scene_punch(scene, entry);
    attend(scene, 1);
    return;
  case 0:
    make_contiguous(scene);
    return;
  case 1:
    make_paged(scene);
    return;
  case 2:
    make_ring(scene);
    return;
  case 3:
  case 4:
    scene_cut(scene, bytes_below(scene->bytes, SCENE_ENTRIES));
    return;
  case 5:
  case 6:
    append(scene);
    return;
  case 7:
    copy(scene);
    return;
  case 8:
    own_page(scene, pool);
    return;
  case 9:
    use_pool(scene, pool);
    return;
  default:
    attend(scene, 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes bytes = {data, size};
  struct scene scene;
  struct pool pool;
  scene_create(&scene, &bytes);
  pool_create(&pool);
  for (int i = 0; i < OPERATIONS && bytes.left > 0; i++) operate(&scene, &pool);
  pool_destroy(&pool);
  scene_destroy(&scene);
  return 0;
}
