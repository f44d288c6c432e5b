/* The features of list.inc as numbers, bits and masks. */
#ifndef FOVEA_SRC_FEATURE_LIST_H
#define FOVEA_SRC_FEATURE_LIST_H

#include "../../arch/groups.h"
#include <fovea/fovea.h>

/* Numbers of features, in the order of the list. */
enum {
#define FEATURE(NAME, has, absent, ways, layers, traits, group) FOVEA_FEATURE_##NAME,
#include "list.inc"
  FOVEA_FEATURES
};
_Static_assert((int)FOVEA_FEATURES <= 64, "sets of features are bits of 64");

/* Sets of features have a bit for each. */
#define FOVEA_HAS(NAME) (UINT64_C(1) << FOVEA_FEATURE_##NAME)

/* FOVEA_BUILT(NAME) is 1 if this build has the kernels that the feature needs. */
enum {
#define FEATURE(NAME, has, absent, ways, layers, traits, group)                                                    \
  FOVEA_BUILT_##NAME = ((group) & ~FOVEA_GROUPS_BUILT) == 0,
#include "list.inc"
};
#define FOVEA_BUILT(NAME) FOVEA_BUILT_##NAME

/* Places of arrays in scratch, of features that have some. */
enum {
#define SCRATCH(NAME, name) FOVEA_SCRATCH_##NAME,
#include "list.inc"
  FOVEA_SCRATCH_PLACES
};

/* Ways of computing that a feature may know, beside the tiled one in exact mode. */
enum {
  FOVEA_WAY_DECODED = 1 << 0,  /* few rows, keys in the lanes of vectors */
  FOVEA_WAY_GATHERED = 1 << 1, /* rows of lists, one by one */
  FOVEA_WAY_BF16 = 1 << 2,
  FOVEA_WAY_INT8 = 1 << 3,
  FOVEA_WAY_STATE = 1 << 4,   /* the result is a state */
  FOVEA_WAY_WEIGHTED = 1 << 5 /* another normaliser than the softmax */
};
#define FOVEA_WAYS(decoded, gathered, bf16, int8, state, weighted)                                                 \
  ((decoded)*FOVEA_WAY_DECODED | (gathered)*FOVEA_WAY_GATHERED | (bf16)*FOVEA_WAY_BF16 | (int8)*FOVEA_WAY_INT8 |   \
   (state)*FOVEA_WAY_STATE | (weighted)*FOVEA_WAY_WEIGHTED)

/* Layers of fovea_nn that take a problem. */
enum {
  FOVEA_LAYER_ATTENTION = 1 << 0,
  FOVEA_LAYER_BIASED = 1 << 1, /* attention with a key that all rows see */
  FOVEA_LAYER_LATENT = 1 << 2,
  FOVEA_LAYER_DIFFERENTIAL = 1 << 3,
  FOVEA_LAYER_LINFORMER = 1 << 4,
  FOVEA_LAYER_STREAM = 1 << 5
};
#define FOVEA_LAYERS(attention, biased, latent, differential, linformer, stream)                                   \
  ((attention)*FOVEA_LAYER_ATTENTION | (biased)*FOVEA_LAYER_BIASED | (latent)*FOVEA_LAYER_LATENT |                 \
   (differential)*FOVEA_LAYER_DIFFERENTIAL | (linformer)*FOVEA_LAYER_LINFORMER | (stream)*FOVEA_LAYER_STREAM)

enum { FOVEA_TRAIT_OWN_KEY = 1 << 0, FOVEA_TRAIT_RESULT = 1 << 1, FOVEA_TRAIT_TILE_TERMS = 1 << 2 };
#define FOVEA_TRAITS(own_key, result, tile_terms)                                                                  \
  ((own_key)*FOVEA_TRAIT_OWN_KEY | (result)*FOVEA_TRAIT_RESULT | (tile_terms)*FOVEA_TRAIT_TILE_TERMS)

static inline uint64_t fovea_features_of(const fovea_problem *p) {
  uint64_t features = 0;
#define FEATURE(NAME, has, absent, ways, layers, traits, group)                                                    \
  if (__builtin_expect((has) != 0, 0)) features |= FOVEA_HAS(NAME);
#include "list.inc"
  return features;
}

/* The features that do not know a way, that a layer forwards, that have a trait. The arguments are constants, and
 * so are the results. */
static inline __attribute__((always_inline)) uint64_t fovea_features_lacking(unsigned way) {
  return 0
#define FEATURE(NAME, has, absent, ways, layers, traits, group)                                                    \
  | (uint64_t)((FOVEA_##ways & way) == 0) << FOVEA_FEATURE_##NAME
#include "list.inc"
      ;
}

static inline __attribute__((always_inline)) uint64_t fovea_features_of_layer(unsigned layer) {
  return 0
#define FEATURE(NAME, has, absent, ways, layers, traits, group)                                                    \
  | (uint64_t)((FOVEA_##layers & layer) != 0) << FOVEA_FEATURE_##NAME
#include "list.inc"
      ;
}

static inline __attribute__((always_inline)) uint64_t fovea_features_with(unsigned trait) {
  return 0
#define FEATURE(NAME, has, absent, ways, layers, traits, group)                                                    \
  | (uint64_t)((FOVEA_##traits & trait) != 0) << FOVEA_FEATURE_##NAME
#include "list.inc"
      ;
}

#endif
