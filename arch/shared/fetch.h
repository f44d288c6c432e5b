/* Prefetches rows from memory into L2 during other work, a few cache lines at a time: a core that has as many
 * requests in flight as it can track waits until one is done. */
#ifndef FOVEA_ARCH_SHARED_FETCH_H
#define FOVEA_ARCH_SHARED_FETCH_H

#include "../kernels.h"

typedef struct row_fetch {
  const fovea_fetch_row *next, *last;
  const char *line, *end; /* the lines that are left of the current row */
} row_fetch;

FOVEA_INLINE row_fetch fetch_rows(const fovea_fetch_row *rows, int count) {
  return (row_fetch){.next = rows, .last = count > 0 ? rows + count : rows};
}

/* Whole cache lines that hold `bytes` bytes, from 0 on. A shift: with -Os gcc divides signed numbers, which takes longer
 * than the prefetch. */
FOVEA_INLINE int64_t fetch_lines_of(int64_t bytes) {
  return (bytes + 63) >> 6;
}

/* Goes on to the next row if the current row is done. Returns how many lines of the current row are left. */
FOVEA_INLINE int64_t fetch_left(row_fetch *fetch) {
  if (fetch->line >= fetch->end) {
    if (fetch->next == fetch->last) return 0;
    fetch->line = fetch->next->row;
    fetch->end = fetch->line + fetch->next->bytes;
    fetch->next++;
  }
  return fetch_lines_of(fetch->end - fetch->line);
}

/* Prefetches up to `lines` lines. */
FOVEA_INLINE void fetch_lines(const int64_t lines, row_fetch *fetch) {
  for (int64_t n = 0; n < lines; n++, fetch->line += 64) {
    if (fetch_left(fetch) <= 0) return;
    __builtin_prefetch(fetch->line, 0, 2);
  }
}

/* The same for many lines, row by row. */
FOVEA_INLINE void fetch_many_lines(int64_t lines, row_fetch *fetch) {
  while (lines > 0) {
    const int64_t left = fetch_left(fetch), count = left < lines ? left : lines;
    if (left <= 0) return;
    const char *stop = fetch->line + 64 * count;
    for (const char *line = fetch->line; line != stop; line += 64) __builtin_prefetch(line, 0, 2);
    fetch->line = stop;
    lines -= count;
  }
}

/* The lines of `count` rows, split evenly among `steps`: rows of keys, then rows of values, each kind of one size. */
FOVEA_INLINE int64_t fetch_share_of(const fovea_fetch_row *rows, int count, int64_t steps) {
  if (steps <= 0 || count <= 0) return 0;
  const int64_t first = rows[0].bytes, last = rows[count - 1].bytes;
  const int64_t lines = fetch_lines_of(first > last ? first : last) * count;
  return (lines + steps - 1) / steps;
}

/* Prefetches what lies 2 KB after p, of rows that often follow each other: hardware stops at the end of a page. */
FOVEA_INLINE void fetch_ahead(const void *p) {
  __builtin_prefetch((const void *)((uintptr_t)p + 2048));
}

#endif
