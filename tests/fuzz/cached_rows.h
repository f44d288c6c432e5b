/* Single rows of keys and values, by the words of the header: where they lie, and how a call changes them. */
#ifndef FOVEA_TESTS_FUZZ_CACHED_ROWS_H
#define FOVEA_TESTS_FUZZ_CACHED_ROWS_H

#include "arena.h"

#include <fovea/cache.h>
#include <fovea/fovea.h>

enum { DIM_LIMIT = 300 };

/* What all rows of a call share. */
struct row_shape {
  int64_t kv_heads, qk_dim, v_dim;
};

struct row {
  uint64_t first; /* address of its first element */
  fovea_type type;
  int panels;
};

struct row segment_row(const fovea_segment *segment, int values, int64_t head, int64_t position);
struct row tensor_row_at(const void *data, fovea_type type, fovea_strides strides, int64_t batch, int64_t head,
                         int64_t row);
struct row page_row(const fovea_pages *pages, int values, int64_t page, int64_t head, int64_t row);

/* Whether segments ascend without overlaps, with pointers that are aligned for the elements. */
int sequence_ascends(const fovea_sequence *sequence);
/* Whether segments also hold the positions begin to end - 1. With holes, whether they reach after the last. */
int sequence_holds(const fovea_sequence *sequence, int64_t begin, int64_t end);
int sequence_reaches(const fovea_sequence *sequence, int64_t begin, int64_t end);
/* Whether some segment holds a position. */
int holds_position(const fovea_sequence *sequence, int64_t position);
/* Whether segments that know their heads and dims fit a call that wants these positions. */
int sequence_fits(const fovea_sequence *sequence, const struct row_shape *shape, int64_t begin, int64_t end);
/* The segment that holds a position. */
const fovea_segment *segment_of(const fovea_sequence *sequence, int64_t position);

/* Marks all rows at these positions, or at one. If rows are read at several, whole panels may be read. */
void mark_sequence(struct arena *arena, const fovea_sequence *sequence, const struct row_shape *shape,
                   int64_t begin, int64_t end, enum arena_use use);
void mark_rows(struct arena *arena, const fovea_sequence *sequence, const struct row_shape *shape, int64_t position,
               enum arena_use use);
void mark_row(struct arena *arena, const struct row *row, int64_t dim, enum arena_use use);

/* In the model. Instead of its first `rotated` elements, the new row has these numbers. */
void load_row(const struct arena *arena, const struct row *row, int64_t dim, float *numbers);
void move_row(const struct arena *arena, const struct row *from, const struct row *to, int64_t dim,
              const float *numbers, int64_t rotated);

/* Whether values are within the limits of the header that do not depend on strides. */
int is_type(fovea_type type);
int are_pages(const fovea_pages *pages);

#endif
