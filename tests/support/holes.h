/* Holes in sequences: which positions exist, caches without the others, and the same problem with a mask. */
#ifndef FOVEA_TESTS_HOLES_H
#define FOVEA_TESTS_HOLES_H

#include "caches.h"

enum hole_kind {
  HOLES_ANYWHERE,  /* every other key, by chance */
  HOLES_FEW_KEYS,  /* one key in forty exists */
  HOLES_STRETCHES, /* of up to 40 keys */
  HOLES_BLOCKS,    /* of whole blocks of 128 keys */
  HOLES_WINDOW,    /* all between a few first keys and some last ones */
  HOLES_AT_START,  /* one before all keys that exist */
  HOLES_BUT_ONE,   /* all but the last key */
  HOLES_NONE,
  HOLE_KINDS
};

/* held[batch element][position]: whether the key exists. The last one does. */
struct holes {
  unsigned char *held[LISTED_ENTRIES];
  int64_t lengths[LISTED_ENTRIES];
};

/* Draws the holes of each batch element. In `panels` a hole ends at a multiple of 16. */
void holes_draw(struct holes *holes, const fovea_problem *problem, enum hole_kind kind, int panels,
                struct generator *generator);
void holes_free(struct holes *holes);

/* Makes NaN of keys and values that do not exist. */
void holes_spoil(const struct holes *holes, struct trial *trial);

/* The problem with a mask of all keys that says what the trial's own mask says, and hides keys that do not exist.
 * Its other inputs are as of trial_create() with this seed. */
struct trial trial_with_mask_of(const struct trial *trial, uint64_t seed, const struct holes *holes);

/* Makes segments of the stretches that exist. */
void cache_punch(struct cache *cache, const struct trial *trial, const struct holes *holes);

#endif
