/* Keys and values as engines keep them: in panels or in pages. */
#ifndef FOVEA_BENCH_CACHES_H
#define FOVEA_BENCH_CACHES_H

#include "workload.h"

/* Moves the keys and values of a workload of one batch element into the cache that its shape has, if any. Types and
 * numbers stay; with a format, numbers are first replaced by numbers that it has (coded.h). Frees the contiguous
 * tensors after both gave the same bits. Returns 0, with a text in `error`, if that fails. bench_workload_destroy()
 * frees the cache. */
int bench_cache_create(bench_workload *workload, fovea_error *error);

/* Bytes per second at which one thread reads a paged cache in the order of attention: head by head, and of each
 * page the keys and then the values, with their scales. 0 without memory. */
double bench_pages_read_rate(const bench_workload *workload, double seconds);

#endif
