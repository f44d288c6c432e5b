/* Caches as the bytes of a fuzzer describe them: pages, sequences, new rows and an embedding for them. */
#ifndef FOVEA_TESTS_FUZZ_SCENE_H
#define FOVEA_TESTS_FUZZ_SCENE_H

#include "cached_rows.h"

enum { SCENE_ENTRIES = 3, SCENE_SEGMENTS = 8 };

struct scene {
  struct arena arena;
  struct bytes *bytes;
  int wild; /* in any field may be anything; else all that is made can be used */
  struct row_shape shape;
  fovea_pages pages;             /* wild ones may be no pages at all */
  void *segments[SCENE_ENTRIES]; /* allocations of exactly what the sequences have */
  fovea_sequence sequences[SCENE_ENTRIES];
};

void scene_create(struct scene *scene, struct bytes *bytes);
void scene_destroy(struct scene *scene);

/* A sequence gets these segments, copied, some as a program has them that knows of no layers. */
void scene_set(struct scene *scene, int64_t entry, const fovea_segment *segments, int64_t count);
/* Segments of any layout; in a wild scene with gaps, overlaps, nonsense in any field. */
void scene_cut(struct scene *scene, int64_t entry);

/* Positions that a sequence holds as far as it is sound, and no more than `most`. */
void scene_positions(struct scene *scene, const fovea_sequence *sequence, int64_t most, int64_t *begin,
                     int64_t *end);

/* A call of fovea_append(), with its lists in allocations of exactly their size. Not to be copied. */
struct new_rows {
  fovea_new_rows rows;
  fovea_rotary rotary;
  fovea_sequence *sequences;
  int64_t *firsts, *counts;
  double *frequencies;
  int64_t batch; /* entries that the lists have */
  int turned;    /* with the embedding */
};

void new_rows_create(struct new_rows *call, struct scene *scene);
void new_rows_destroy(struct new_rows *call);

/* Or NULL, for the best. */
const char *scene_isa(struct scene *scene);

#endif
