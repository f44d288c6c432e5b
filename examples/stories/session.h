/* One text that a model reads and continues; the cache holds the tokens read so far. */
#ifndef STORIES_SESSION_H
#define STORIES_SESSION_H

#include "cache.h"
#include "layers.h"

/* Only `window`, `type`, `narrow` and `mode` change bits of the scores; if keys share scales, `chunk` does, too. */
struct session_options {
  enum cache_kind cache;
  fovea_type type;             /* of the cache */
  struct narrow_choice narrow; /* in place of it */
  fovea_key_layout key_layout;
  int64_t page_rows; /* of a paged cache */
  int64_t positions; /* that the text may have */
  int64_t window;    /* how many of the latest positions a token sees, its own included; 0: all */
  int64_t chunk;     /* how many tokens go through the layers at once, at most */
  int threads;       /* 0: as many as there are CPUs */
  const char *isa;   /* NULL: the best */
  fovea_mode mode;   /* of scores and values; bf16 runs on AMX if fovea_allow_amx() was called */
};

/* Its layers point at each other: a session stays where it was opened. */
struct session {
  const struct model *model;
  struct session_options options;
  struct layers layers;
  struct cache cache;
  int64_t position; /* of the next token */

  float *hidden; /* a row for each token of a chunk */
  float *normed; /* one row */
  float *logits; /* one row: the scores after the last token read */
};

bool session_open(struct session *session, const struct model *model, const struct session_options *options,
                  struct failure *failure);
void session_close(struct session *session);

/* How a session computes. */
fovea_execution session_execution(const struct session_options *options);

/* Reads tokens, any number of them, chunk by chunk. */
bool session_feed(struct session *session, const int32_t *tokens, int64_t count, struct failure *failure);

#endif
