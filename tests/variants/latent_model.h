/* Layers of multi-head latent attention, their clause in plain C, and calls of them. */
#ifndef FOVEA_TESTS_VARIANTS_LATENT_MODEL_H
#define FOVEA_TESTS_VARIANTS_LATENT_MODEL_H

#include "support/generator.h"

#include <fovea/cache.h>
#include <fovea/latent_attention.h>

enum { ROWS = 40, LAYERS = 2, LAYER = 1 };

struct shape {
  int64_t heads, rank, nope, rope, v, in, q_rank; /* q_rank 0: no q_a_proj */
  int norms;
  fovea_type weight_type; /* of kv_b_proj */
};

struct model {
  struct shape shape;
  float *q_a, *q_b, *kv_a, *kv_b, *o, *q_gamma, *kv_gamma, *o_bias, *x;
  uint16_t *kv_b_halves;
  void *absorbed;
  fovea_nn_linear q_a_proj, q_b_proj, kv_a_proj, kv_b_proj, o_proj;
  fovea_nn_norm q_norm, kv_norm;
  fovea_rotary rotary;
  fovea_nn_latent latent;
};

enum { SHAPES = 6 };
extern const struct shape shapes[SHAPES];

/* That many numbers below `gain`, which the caller frees. */
float *numbers(struct generator *g, int64_t count, float gain);

/* In place, since layers point to each other. */
void make(struct model *m, const struct shape *s, uint64_t seed);

void destroy(struct model *m);

/* Lets the layer be run in this form. */
void choose(struct model *m, fovea_nn_latent_form form);

/* The row that the cache of this type holds. */
void contract_latent(const struct model *m, const float *x, int64_t position, fovea_type type, float *row);

void contract_queries(const struct model *m, const float *x, int64_t position, float *q);

/* All rows of a batch element. */
float *expect(const struct model *m, const float *x, int64_t length, fovea_type type, double scale);

/* Asserts that the bits are the same. */
void assert_same(const float *actual, const float *expected, int64_t count);

/* Of causal batch elements. */
fovea_problem problem_of(const struct model *m, int64_t batch, int64_t rows, int64_t keys);

/* A prompt without caches. */
float *run_prompt(struct model *m, int64_t batch, int64_t rows, const char *isa, const fovea_execution *execution);

/* Caches in pages of 8 rows, pages in any order, in two layers, of which the second is used. */
struct cache {
  fovea_pages pages;
  void *memory;
  int32_t tables[3 * 8];
  fovea_segment segments[3 * 8];
  fovea_sequence sequences[3];
};

size_t cache_size(const struct shape *s, fovea_type type); /* bytes of its memory */
/* `with_v`: the segments name the values; else they are found in the keys. */
void make_cache(struct cache *c, const struct shape *s, fovea_type type, int with_v);

/* Rows `first` to `end` - 1 of one batch element into and over its cache. */
void run_chunk(struct model *m, const struct cache *c, int64_t entry, int64_t first, int64_t end, float *y);

#endif
