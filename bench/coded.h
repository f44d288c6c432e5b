/* Quantised caches: codes at random, and the numbers that they stand for. */
#ifndef FOVEA_BENCH_CODED_H
#define FOVEA_BENCH_CODED_H

#include "machine.h"
#include "workload.h"

typedef struct bench_coded_pages {
  int64_t count, rows; /* rows: of a page */
} bench_coded_pages;

/* Prepares the format of the workload's shape. Returns the bytes of keys and values in `pages`, scales included; 0,
 * with a text in `error`, if there is no such format, or if this file cannot make its codes. */
size_t bench_coded_bytes(bench_workload *workload, const bench_coded_pages *pages, fovea_error *error);

/* Fills `memory` with codes and scales, makes the segments and the sequence, page page_table[i] after page, and
 * sets the contiguous f32 keys and values to the numbers of the codes, each by the format's formula in plain C. */
void bench_coded_fill(bench_workload *workload, const bench_coded_pages *pages, char *memory);

/* Sets `pieces` to what attention reads of a kv head in a segment: keys and values, each with scales if they lie
 * apart. Returns how many, at most 4. */
size_t bench_coded_pieces(const bench_workload *workload, const fovea_segment *segment, int64_t head,
                          machine_piece *pieces);

#endif
