/* Finds the rows of K or V, in a tensor or in segments: from a position on, runs of rows at equal distances. */
#ifndef FOVEA_SRC_RUN_ROWS_H
#define FOVEA_SRC_RUN_ROWS_H

#include "../../arch/kernels.h"
#include "../base/interval.h"
#include "../base/types.h"
#include "../cache/sequences.h"

/* Where the keys, or the values, of one entry and kv head lie. */
typedef struct fovea_row_source {
  const fovea_kernels *kernels; /* that copy rows */
  int64_t dim;
  const float *centre; /* what the rows lose before they get codes of int8, vectors.h; NULL: nothing */
  const void *first;   /* of a tensor: position 0, and: */
  int64_t stride;      /* elements from row to row */
  fovea_type type;
  const fovea_sequence *sequence; /* of the entry, instead of a tensor; NULL: none, and the rest is not set */
  int values;                     /* 1: they are values */
  int holes;                      /* the sequence may have some */
  int64_t met_from;               /* the first key that the task meets */
  int alike;                      /* all segments are, cache/alike.h */
  int64_t layer, head;
  fovea_found_segment *found; /* the segment that was found last */
} fovea_row_source;

/* Rows from some position on, at equal distances. */
typedef struct fovea_row_run {
  const char *row; /* of that position; in a panel, the key's first dim */
  int64_t step;    /* bytes to the next row; in a panel, to the next key */
  int64_t end;     /* the position after the last row of the run */
  fovea_type type;
  int panels;
  const fovea_codes *codes; /* NULL: rows of `type`; else `row`, `step` and `type` are not set, but: */
  fovea_coded_rows coded;
} fovea_row_run;

fovea_row_run fovea_rows_at(const fovea_row_source *source, int64_t position);

/* The rows of one block, one pointer for each key. Keys that the task does not meet have the pointer of the nearest
 * key that it meets, or, in panels, a pointer in that key's panel. */
typedef struct fovea_row_list {
  int64_t base; /* position of the block's first key; -1: nothing is set */
  int uniform;  /* 0: rows differ in type, layout or format, and nothing below is set */
  fovea_type type;
  int panels;
  int64_t panel_step; /* bytes from a key of a panel to the next */
  const void *rows[FOVEA_BLOCK_KEYS];
  /* Rows of a format that decoding knows: `rows` are their codes. */
  int coded, has_zeros;
  int64_t zeros_at;   /* bytes from a scale to its zero */
  int64_t scale_step; /* as in fovea_coded_keys */
  fovea_codes codes;
  const void **scales;
} fovea_row_list;

#endif
