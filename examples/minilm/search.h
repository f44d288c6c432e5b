/* The lines of a file by their meaning. */
#ifndef MINILM_SEARCH_H
#define MINILM_SEARCH_H

#include "encoder.h"
#include "lines.h"

struct encoding {
  const struct model *model;
  const struct vocabulary *vocabulary;
  int64_t batch; /* how many texts go through the model at once */
  int threads;   /* 0: as many as there are CPUs */
};

/* Writes a vector for each line, (lines, dim), with a progress bar. *cut is how many lines were too long and were
 * read from their beginning only. */
bool search_encode(const struct encoding *encoding, const struct lines *lines, float *vectors, int64_t *cut,
                   struct failure *failure);

struct found {
  int64_t line; /* index in `lines` */
  float weight; /* the cosine of the angle between the line and the question, -1 to 1 */
};

/* Writes all lines to `found`, the closest to the question first; of equal ones the earlier first. */
bool search_rank(const struct encoding *encoding, const struct lines *lines, const char *question,
                 struct found *found, int64_t *cut, struct failure *failure);

#endif
