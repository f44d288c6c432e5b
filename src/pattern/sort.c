#include "sort.h"

#if FOVEA_BUILDS_LISTS

static void swap(int32_t *a, int32_t *b) {
  const int32_t old = *a;
  *a = *b;
  *b = old;
}

static void sift_down(int32_t *items, int64_t root, int64_t count) {
  for (int64_t child; (child = 2 * root + 1) < count; root = child) {
    if (child + 1 < count && items[child + 1] > items[child]) child++;
    if (items[root] >= items[child]) return;
    swap(&items[root], &items[child]);
  }
}

static int is_sorted(const int32_t *items, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    if (items[i - 1] > items[i]) return 0;
  }
  return 1;
}

/* Heap sort needs no memory and has no bad cases. */
int64_t fovea_sort_items(int32_t *items, int64_t count) {
  int64_t kept = 0;
  if (!is_sorted(items, count)) {
    for (int64_t root = count / 2; root-- > 0;) sift_down(items, root, count);
    for (int64_t last = count - 1; last > 0; last--) {
      swap(&items[0], &items[last]);
      sift_down(items, 0, last);
    }
  }
  for (int64_t i = 0; i < count; i++) {
    if (i == 0 || items[i] != items[kept - 1]) items[kept++] = items[i];
  }
  return kept;
}
#endif
