/* Which fields of a problem a layer knows. A field of any other kind is refused if it is set: one that is added to
 * fovea_problem is refused by all layers until they know its kind. */
#ifndef FOVEA_NN_FIELDS_H
#define FOVEA_NN_FIELDS_H

#include <fovea/fovea.h>

/* Kinds of fields. */
enum {
  FOVEA_NN_SIZES = 1 << 0,       /* sizes, instruction set, allocator: every layer knows them */
  FOVEA_NN_LAYOUT = 1 << 1,      /* types and strides of Q, K, V and O */
  FOVEA_NN_LENGTHS = 1 << 2,     /* q_lens, kv_lens */
  FOVEA_NN_PACKED = 1 << 3,      /* cu_seqlens */
  FOVEA_NN_WINDOW = 1 << 4,      /* causal, window */
  FOVEA_NN_POSITIONS = 1 << 5,   /* offset, keys_begin and keys_end */
  FOVEA_NN_MASK = 1 << 6,        /* the mask */
  FOVEA_NN_PATTERN = 1 << 7,     /* patterns */
  FOVEA_NN_CACHES = 1 << 8,      /* segmented, kv_begins */
  FOVEA_NN_SCORE = 1 << 9,       /* scale, softcap, activation */
  FOVEA_NN_SCALES = 1 << 10,     /* scales per head and row */
  FOVEA_NN_TERMS = 1 << 11,      /* position terms */
  FOVEA_NN_SHAW = 1 << 12,       /* relative position representations */
  FOVEA_NN_SINK = 1 << 13,       /* sinks */
  FOVEA_NN_NORMALISER = 1 << 14, /* what makes weights of scores */
  FOVEA_NN_MODES = 1 << 15,      /* arithmetic of both halves */
  FOVEA_NN_CHUNKS = 1 << 21,     /* chunks */
  FOVEA_NN_VECTORS = 1 << 20,    /* vectors of int8 mode */
  FOVEA_NN_STATE = 1 << 16,      /* the result is a state */
  FOVEA_NN_LSE = 1 << 17,        /* strides of LSE */
  FOVEA_NN_SCORES = 1 << 18,     /* scores as an output */
  FOVEA_NN_OUTPUTS = 1 << 19     /* all other outputs */
};

/* Refuses what is set and is of no kind in `known`. `problem` is a copy with its defaults (fovea_copy_problem()).
 * `why` ends the text. */
fovea_status fovea_nn_refuse_fields(const fovea_problem *problem, int known, const char *why, fovea_error *error);

/* Copies the fields of these kinds. */
void fovea_nn_copy_fields(const fovea_problem *from, int kinds, fovea_problem *to);

#endif
