/* Tries one call of a scene: it may not crash, or read or write a byte outside. A sound call succeeds, and with
 * other instruction sets, workers and scratch it gives the same bits. A call whose structs have no meaning is
 * refused, and what is refused has written nothing. */
#include "nn_try.h"

#include "expect.h"
#include "poison.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/memory.h"

#include <stdlib.h>

/* The bytes of all tensors at one time. */
struct image {
  unsigned char *blocks[NN_TENSORS];
};

static struct image image_take(const struct nn_scene *scene) {
  struct image image = {{NULL}};
  for (int i = 0; i < scene->region_count; i++) {
    const size_t size = scene->regions[i].size;
    image.blocks[i] = malloc(size + 1);
    EXPECT(image.blocks[i] != NULL);
    if (size > 0) memcpy(image.blocks[i], scene->regions[i].block, size);
  }
  return image;
}

static void image_restore(const struct nn_scene *scene, const struct image *image) {
  for (int i = 0; i < scene->region_count; i++)
    if (scene->regions[i].size > 0) memcpy(scene->regions[i].block, image->blocks[i], scene->regions[i].size);
}

static int image_holds(const struct nn_scene *scene, const struct image *image) {
  for (int i = 0; i < scene->region_count; i++) {
    const struct region *region = &scene->regions[i];
    if (region->size > 0 && memcmp(region->block, image->blocks[i], region->size) != 0) return 0;
  }
  return 1;
}

static void image_destroy(const struct nn_scene *scene, struct image *image) {
  for (int i = 0; i < scene->region_count; i++) free(image->blocks[i]);
}

/* While the call runs, the gaps between rows are out of bounds. A tensor of which another part is an output may not
 * be closed, but such a tensor has no gaps of its own. */
static fovea_status run(const struct nn_kind *kind, struct nn_scene *scene, const char *isa,
                        const fovea_execution *execution, fovea_error *error) {
  fovea_execution on_set = *on_isa(NULL);
  if (execution) on_set = *execution;
  on_set.isa = isa;
  for (int i = 0; i < scene->region_count; i++) region_close(&scene->regions[i]);
  const fovea_status status = kind->run(scene, isa || execution ? &on_set : NULL, error);
  for (int i = 0; i < scene->region_count; i++) region_open(&scene->regions[i]);
  return status;
}

/* Once more, by other kernels and in other tasks. */
static void expect_same(const struct nn_kind *kind, struct nn_scene *scene, const struct image *before,
                        const struct image *after) {
  static const enum task_order orders[] = {0, 1};
  fovea_execution execution;
  fovea_error error;
  fovea_execution_init(&execution);
  for (int i = 0; i < 2; i++) {
    struct executor executor = {orders[i], 0};
    execution.threads = 3;
    execution.parallel_for = threads_for;
    execution.parallel_context = &executor;
    image_restore(scene, before);
    EXPECT(run(kind, scene, i == 0 ? "scalar" : NULL, &execution, &error) == FOVEA_OK);
    EXPECT(image_holds(scene, after));
  }
  if (!kind->names_isa) return;
  image_restore(scene, before);
  EXPECT(run(kind, scene, "abacus", NULL, &error) == FOVEA_ERROR_ARGUMENT);
  expect_failure(FOVEA_ERROR_ARGUMENT, &error);
  EXPECT(image_holds(scene, before));
}

/* In scratch of exactly the size that was asked for, and of one byte less. */
static void try_scratch(const struct nn_kind *kind, struct nn_scene *scene, const struct image *before,
                        const struct image *after, int workers) {
  struct executor executor = {0, 0};
  fovea_execution execution;
  fovea_error error;
  const size_t size = kind->scratch_size(scene, workers);
  if (size == 0 && kind->size_of_refused) return; /* it needs none */
  EXPECT(size > 0);
  fovea_execution_init(&execution);
  execution.threads = workers;
  execution.parallel_for = workers > 1 ? threads_for : NULL;
  execution.parallel_context = workers > 1 ? &executor : NULL;
  execution.scratch = memory_allocate((size + 63) / 64 * 64);
  memset(execution.scratch, 0xff, (size + 63) / 64 * 64);
  execution.scratch_size = size;
  image_restore(scene, before);
  EXPECT(run(kind, scene, NULL, &execution, &error) == FOVEA_OK);
  EXPECT(image_holds(scene, after));
  execution.scratch_size = size - 1;
  ASAN_POISON_MEMORY_REGION((char *)execution.scratch + size - 1, 1);
  image_restore(scene, before);
  const fovea_status status = run(kind, scene, NULL, &execution, &error);
  if (status == FOVEA_OK) {
    EXPECT(image_holds(scene, before)); /* it had nothing to write */
  } else {
    EXPECT(status == FOVEA_ERROR_SPACE);
    expect_failure(status, &error);
    EXPECT(image_holds(scene, before));
  }
  ASAN_UNPOISON_MEMORY_REGION((char *)execution.scratch + size - 1, 1);
  memory_free(execution.scratch);
}

static void try_call(const struct nn_kind *kind, struct nn_scene *scene) {
  fovea_error error;
  struct image before = image_take(scene);
  const fovea_status status = run(kind, scene, NULL, NULL, &error);
  struct image after = image_take(scene);
  if (status != FOVEA_OK) {
    expect_failure(status, &error);
    if (!scene->wild && !scene->cannot_be) fprintf(stderr, "%s\n", error.text);
    EXPECT(scene->wild || scene->cannot_be);
    EXPECT(image_holds(scene, &before));
    EXPECT(run(kind, scene, NULL, NULL, NULL) == status);
    if (kind->scratch_size && !kind->size_of_refused && status != FOVEA_ERROR_MEMORY)
      EXPECT(kind->scratch_size(scene, 2) == 0);
  } else {
    EXPECT(kind->has_meaning(scene));
    if (kind->scratch_size)
      for (int workers = 1; workers <= 3; workers += 2) try_scratch(kind, scene, &before, &after, workers);
    expect_same(kind, scene, &before, &after);
  }
  image_destroy(scene, &before);
  image_destroy(scene, &after);
}

void nn_try(const struct nn_kind *kind, struct nn_scene *scene) {
  const double budget = 3000000;
  kind->make(scene);
  if (scene->work <= budget) try_call(kind, scene);
  nn_scene_destroy(scene);
}
