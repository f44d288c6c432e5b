/* A small layer of attention with numbers for every feature, caches for it, and its steps by public calls. Calls fail the
 * running cmocka test if the library does not take them. */
#ifndef FOVEA_TESTS_FEATURED_LAYER_H
#define FOVEA_TESTS_FEATURED_LAYER_H

#include <fovea/cache.h>
#include <fovea/encoder.h>
#include <fovea/nn.h>
#include <fovea/pattern.h>
#include <fovea/terms.h>

enum { BATCH = 2, ROWS = 7, KEYS = 12, HEADS = 4, KV_HEADS = 2, DIM = 8, WIDTH = HEADS * DIM, ROOM = 32 };
enum { CACHE = 2 * BATCH * KV_HEADS * ROOM * DIM, TOP = 3, SHAW = 5, BUCKETS = 8, LAYERS = 2 };

/* The numbers, which make_numbers() sets. */
extern float weights[4][WIDTH * WIDTH];
extern float slopes[BATCH * HEADS], table[HEADS * BUCKETS], shaw_keys[(2 * SHAW + 1) * DIM],
    shaw_values[(2 * SHAW + 1) * DIM], sinks[HEADS], vectors[KV_HEADS * DIM];
extern double head_scales[HEADS], row_scales[BATCH * KEYS];
extern const float *const terms[2];
extern const fovea_position_term kinds[2]; /* of the terms */
extern fovea_pattern *pattern;

/* Set up and tear down a group of tests. */
int make_numbers(void **state);
int release_numbers(void **state);

/* All outputs of a call. */
struct outputs {
  float y[BATCH * KEYS * WIDTH], scores[BATCH * HEADS * KEYS * KEYS], lse[BATCH * HEADS * KEYS];
  float max_logits[BATCH * HEADS], entropy[BATCH * HEADS * KEYS], column_sums[BATCH * HEADS * KEYS];
  float top_scores[BATCH * HEADS * KEYS * TOP];
  int64_t top_keys[BATCH * HEADS * KEYS * TOP];
};

struct layer {
  fovea_nn_linear query, key, value, output;
  fovea_nn_attention attention;
};

void make_layer(struct layer *l);

/* Caches of all entries, in two layers. */
struct cache {
  float k[CACHE], v[CACHE];
  fovea_segment segments[BATCH];
  fovea_sequence sequences[BATCH];
};

void make_cache(struct cache *c);

/* A causal problem; `segmented`: over a cache. */
fovea_problem problem_of(int64_t rows, int64_t keys, int segmented);
/* Rows of the input, entry by entry, from row `first` on. */
void take_rows(int64_t first, int64_t rows, float *to);
/* to = linear(from). */
void multiply(const fovea_nn_linear *linear, int64_t rows, const float *from, float *to);
/* The steps of a layer: rows at positions `first` on, through a cache if there is one. */
void compute(const struct layer *l, fovea_problem problem, const fovea_tensors *given, struct cache *cache,
             int64_t first, const float *from, float *y);

/* A stack of LAYERS layers. */
struct stack {
  struct layer layers[LAYERS];
  fovea_nn_linear up, down;
  fovea_nn_norm norm;
  fovea_nn_block blocks[LAYERS];
  fovea_nn_encoder encoder;
};

void make_stack(struct stack *s);

#endif
