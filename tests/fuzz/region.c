#include "region.h"

#include "poison.h"

#include <stdlib.h>
#include <string.h>

/* Sets the lowest element and the number of elements from there to the highest. Returns 0 if there are too many. */
static int span(const struct region *region, int64_t *lowest, int64_t *elements) {
  int64_t rows = 1, highest = region->dim - 1;
  *lowest = *elements = 0;
  for (int axis = 0; axis < 3; axis++) {
    if (region->extent[axis] > REGION_ROWS) return 0;
    rows *= region->extent[axis];
    if (rows > REGION_ROWS) return 0;
  }
  if (rows == 0) return 1;
  if (region->dim < 1 || region->dim > REGION_BYTES) return 0;
  for (int axis = 0; axis < 3; axis++) {
    int64_t reach;
    if (__builtin_mul_overflow(region->extent[axis] - 1, region->stride[axis], &reach)) return 0;
    if (reach > REGION_BYTES || reach < -REGION_BYTES) return 0;
    *(reach < 0 ? lowest : &highest) += reach;
  }
  *elements = highest - *lowest + 1;
  return *elements * region->bits <= REGION_BYTES * INT64_C(8);
}

int region_create(struct region *region, const int64_t extent[3], const int64_t stride[3], int64_t dim, int bits) {
  *region = (struct region){.dim = dim, .end_row = extent[2], .bits = bits};
  memcpy(region->extent, extent, sizeof region->extent);
  memcpy(region->stride, stride, sizeof region->stride);
  int64_t lowest, elements;
  if (!span(region, &lowest, &elements)) return 0;
  if (elements == 0) return 1;
  region->size = (size_t)((elements * bits + 7) / 8);
  region->block = malloc(region->size);
  if (region->block == NULL) abort();
  region->data = region->block - lowest * bits / 8;
  return 1;
}

void region_destroy(struct region *region) {
  region_open(region);
  free(region->block);
  *region = (struct region){.block = NULL};
}

unsigned char *region_row(const struct region *region, int64_t batch, int64_t head, int64_t row) {
  const int64_t element = batch * region->stride[0] + head * region->stride[1] + row * region->stride[2];
  return (unsigned char *)region->data + element * region->bits / 8;
}

size_t region_row_size(const struct region *region) {
  return (size_t)((region->dim * region->bits + 7) / 8);
}

void region_close(const struct region *region) {
  ASAN_POISON_MEMORY_REGION(region->block, region->size);
  for (int64_t b = 0; b < region->extent[0] && region->size > 0; b++)
    for (int64_t h = 0; h < region->extent[1]; h++)
      for (int64_t i = region->first_row; i < region->end_row; i++)
        ASAN_UNPOISON_MEMORY_REGION(region_row(region, b, h, i), region_row_size(region));
}

void region_open(const struct region *region) {
  ASAN_UNPOISON_MEMORY_REGION(region->block, region->size);
}

void region_fill_untouched(const struct region *region) {
  if (region->size > 0) memset(region->block, UNTOUCHED, region->size);
}

int region_is_untouched(const struct region *region) {
  for (size_t i = 0; i < region->size; i++)
    if (region->block[i] != UNTOUCHED) return 0;
  return 1;
}
