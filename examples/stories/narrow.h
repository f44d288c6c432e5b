/* Formats for caches in 8 bits or less, and a cache for formats whose keys share scales or words. Whole groups of
 * positions are quantised: the newest positions stay in f32 until their group is full. */
#ifndef STORIES_NARROW_H
#define STORIES_NARROW_H

#include "failure.h"

#include <fovea/format.h>

/* Keys, or values, of all layers. */
struct narrow_side {
  fovea_format format;
  int64_t unit_bytes, unit_keys; /* of a row; or of a group of keys, or of a row of words */
  int64_t group;                 /* keys that are written at once */
  int64_t head_bytes;            /* codes of a kv head of a layer */
  int64_t scale_bytes;           /* of a kv head: scales apart; as many zeros or minima follow. 0: none */
  int64_t scale_row;             /* bytes between keys, or groups of them */
  double position_bytes;         /* of a kv head */
  char *codes, *scales, *zeros;  /* layer x kv head */
  float *newest;                 /* layer x kv head x room x dim: positions that are not quantised yet */
};

struct narrow_cache {
  int64_t layers, kv_heads, dim, positions;
  struct narrow_side k, v;
  int64_t group;    /* of both sides */
  int64_t room;     /* for newest positions */
  int64_t narrowed; /* positions in codes */
  void *memory;
  size_t bytes;
};

/* What a user may choose: names of formats, and the scale of formats whose keys all share one. */
struct narrow_choice {
  const char *k, *v; /* NULL: no quantised cache */
  double scale;      /* 0: 1 / 4 for int8, 2 for 4 bits, 1 for fp8 */
};

/* Finds both formats. Heads of fewer dims than a group of a format are one group. */
bool narrow_choose(const struct narrow_choice *choice, int64_t dim, fovea_format *k, fovea_format *v,
                   struct failure *failure);

/* How many keys are written at once; 1: rows become codes when they are appended. */
int64_t narrow_group(const fovea_format *format);

/* The scale that all keys of a format share. */
float narrow_scale(const struct narrow_choice *choice, const fovea_format *format);

/* `chunk`: positions that are appended at once. Scales that all keys share are not for such a cache. */
bool narrow_create(struct narrow_cache *cache, const fovea_format *k, const fovea_format *v, int64_t layers,
                   int64_t kv_heads, int64_t dim, int64_t positions, int64_t chunk, struct failure *failure);
void narrow_destroy(struct narrow_cache *cache);

/* The segments of a layer for positions 0 to end - 1, at most 2; returns how many. */
int64_t narrow_segments(const struct narrow_cache *cache, int64_t layer, int64_t end, fovea_segment *segments);

/* Quantises the groups that are full, when the text has grown to `end` positions. */
bool narrow_settle(struct narrow_cache *cache, int64_t end, struct failure *failure);

/* Bytes of a position in codes, in all layers. */
double narrow_position_bytes(const struct narrow_cache *cache);

#endif
