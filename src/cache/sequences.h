/* Checks of the segments that a run reads, or that rows are appended to. */
#ifndef FOVEA_SRC_CACHE_SEQUENCES_H
#define FOVEA_SRC_CACHE_SEQUENCES_H

#include "alike.h"
#include "formats.h"
#include "segments.h"

/* A segment, and where the keys, or the values, of one layer and kv head begin in it. */
typedef struct fovea_found_segment {
  const fovea_segment *segment; /* NULL: none yet */
  const char *rows;             /* without a format */
  const fovea_format *format;   /* NULL: none; else: */
  fovea_code_layout layout;
  fovea_code_place place;
} fovea_found_segment;

/* Goes on from the segment that was found before to the one that holds `position`. Rows have `dim` elements.
 * Returns 0 if no segment holds it. */
int fovea_find_head(const fovea_sequence *sequence, int64_t position, int values, int64_t dim, int64_t layer,
                    int64_t head, fovea_found_segment *found);

/* Where the codes of a side with a format, and their scales, lie for one layer and kv head. */
fovea_code_place fovea_place_codes(const fovea_segment *segment, int values, int64_t layer, int64_t head);

/* Checks one sequence: its segments ascend and hold positions `begin` to `end` - 1. `entry` is the batch element,
 * for error texts. */
fovea_status fovea_check_sequence(const fovea_sequence *sequence, const fovea_segment_shape *shape, int64_t entry,
                                  int64_t begin, int64_t end, fovea_error *error);
/* The same for a run. With `holes` the last segment reaches `end`, and positions before it may be in none. Adds the
 * segments to *memory. *alike becomes 0 if they are not alike. */
fovea_status fovea_check_read_sequence(const fovea_sequence *sequence, const fovea_segment_shape *shape,
                                       int64_t entry, int64_t begin, int64_t end, int holes,
                                       fovea_segment_memory *memory, int *alike, fovea_error *error);
/* Like fovea_check_sequence() for a call that takes layers 0 to layers - 1, and has no field `layer`. */
fovea_status fovea_check_layers_of_sequence(const fovea_sequence *sequence, const fovea_segment_shape *shape,
                                            int64_t layers, int64_t entry, int64_t begin, int64_t end,
                                            fovea_error *error);
/* Refuses checked segments that hold some of these positions and whose rows share memory with each other. For the
 * sequences that are written to. */
fovea_status fovea_check_written_sequence(const fovea_sequence *sequence, const fovea_segment_shape *shape,
                                          int64_t entry, int64_t begin, int64_t end, fovea_error *error);

#endif
