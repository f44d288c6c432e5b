/* Position terms as a plan keeps them. */
#ifndef FOVEA_SRC_FEATURE_POSITION_RULES_H
#define FOVEA_SRC_FEATURE_POSITION_RULES_H

#include <fovea/fovea.h>
#include <fovea/terms.h>

/* The most borders of buckets that a plan has room for. */
enum { FOVEA_BORDERS_LIMIT = 128 };

/* A term with what is found out once for it. */
typedef struct fovea_position_rule {
  fovea_position_term term;
  int64_t cells;    /* GRID: how many there are */
  int direction;    /* T5: buckets of a direction, buckets with one distance, and borders of the others: */
  int exact, wide;  /* the first distance of each */
  int first_border; /* in the plan's borders */
} fovea_position_rule;

typedef struct fovea_positions {
  int count;
  fovea_position_rule rules[FOVEA_POSITION_TERMS_LIMIT];
  int32_t borders[FOVEA_BORDERS_LIMIT];
} fovea_positions;

#endif
