#include "contract_sums.h"

#include <math.h>

enum { BLOCK = 128, SPAN = 2048 };

struct factors {
  const float *a, *b;
  int64_t a_stride, b_stride;
};

static float block_sum(const struct factors *f, int64_t first, int64_t end) {
  float sum = 0;
  for (int64_t p = first; p < end; p++) sum = fmaf(f->a[p * f->a_stride], f->b[p * f->b_stride], sum);
  return sum;
}

static float span_sum(const struct factors *f, int64_t first, int64_t end) {
  float sum = 0;
  for (int64_t block = first; block < end; block += BLOCK) {
    const float next = block_sum(f, block, block + BLOCK < end ? block + BLOCK : end);
    sum = block == first ? next : sum + next;
  }
  return sum;
}

/* The node of `size` spans from `first` on. */
static float node_sum(const struct factors *f, int64_t first, int64_t size, int64_t count) {
  const int64_t end = first + size * SPAN < count ? first + size * SPAN : count;
  if (size == 1) return span_sum(f, first, end);
  const int64_t middle = first + size / 2 * SPAN;
  const float left = node_sum(f, first, size / 2, count);
  return middle < count ? left + node_sum(f, middle, size / 2, count) : left;
}

float contract_sum(const float *a, int64_t a_stride, const float *b, int64_t b_stride, int64_t count) {
  const struct factors f = {a, b, a_stride, b_stride};
  int64_t size = 1;
  while (size * SPAN < count) size *= 2;
  return count > 0 ? node_sum(&f, 0, size, count) : 0;
}
