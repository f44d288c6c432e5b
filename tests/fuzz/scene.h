/* Caches that the bytes of a fuzzer describe: pages, sequences, new rows and an embedding for them. */
#ifndef FOVEA_TESTS_FUZZ_SCENE_H
#define FOVEA_TESTS_FUZZ_SCENE_H

#include "cached_rows.h"

enum { SCENE_ENTRIES = 3, SCENE_SEGMENTS = 8 };

struct scene {
  struct arena arena;
  struct bytes *bytes;
  int wild; /* any field may have any value; else all that is made is valid */
  struct row_shape shape;
  fovea_pages pages;             /* wild ones may be no pages at all */
  void *segments[SCENE_ENTRIES]; /* allocations of exactly what the sequences have */
  fovea_sequence sequences[SCENE_ENTRIES];
};

void scene_create(struct scene *scene, struct bytes *bytes);
void scene_destroy(struct scene *scene);

/* A sequence gets these segments, copied, some as a program has them that knows of no layers. */
void scene_set(struct scene *scene, int64_t entry, const fovea_segment *segments, int64_t count);
/* Makes segments of any layout; in a wild scene with gaps, overlaps, and nonsense in any field. */
void scene_cut(struct scene *scene, int64_t entry);

/* Takes rows away between the first and the last of a sequence that is sound: a hole, or part of one. */
void scene_punch(struct scene *scene, int64_t entry);

/* Positions that a sequence holds, if it is sound and has no holes, and at most `most` of them. */
void scene_positions(struct scene *scene, const fovea_sequence *sequence, int64_t most, int64_t *begin,
                     int64_t *end);

/* A call of fovea_append(). Its lists are allocations of exactly their size. Must not be copied. */
struct new_rows {
  const char *isa;
  fovea_new_rows rows;
  fovea_rotary rotary;
  fovea_sequence *sequences;
  int64_t *firsts, *counts, *positions;
  double *frequencies;
  unsigned char *pair_axes;
  int64_t batch; /* elements of the lists */
  int rotated;   /* whether keys are rotated */
};

void new_rows_create(struct new_rows *call, struct scene *scene);
/* Only its embedding. */
void rotary_create(struct new_rows *call, struct scene *scene);
void new_rows_destroy(struct new_rows *call);

/* The name of an instruction set; NULL: the best. */
const char *scene_isa(struct scene *scene);

#endif
