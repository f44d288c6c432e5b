/* Variants of attention and exact attention, one head of 64 dims over sequences of 128 to 65,536 keys. */
#ifndef FOVEA_BENCH_VARIANTS_H
#define FOVEA_BENCH_VARIANTS_H

#include "harness.h"

#include <fovea/fovea.h>

/* One length of a variant, made ready. What a variant computes with beside q, k and v it makes itself. */
typedef struct variant_call {
  const struct variant *variant;
  int64_t heads, length, dim;
  int64_t size; /* what `variant` says; 0: as by default */
  int threads;
  const float *q, *k, *v; /* (heads, length, dim) */
  float *o;
  fovea_execution execution; /* with scratch, if variant_scratch() was called */
  void *own;                 /* of the variant */
  size_t bytes;              /* of memory beside q, k, v and o: scratch, states, plans, patterns, lists */
} variant_call;

typedef struct variant {
  const char *name;
  int causal; /* compared with causal attention */
  /* Sets `own` and `bytes`. 0 without memory, or if the library refuses. */
  int (*begin)(variant_call *call);
  fovea_status (*run)(const variant_call *call);
  void (*end)(variant_call *call); /* also after begin() failed */
} variant;

extern const variant variant_exact, variant_exact_causal;
extern const variant variant_window;     /* 256 keys to both sides, one global token: a pattern */
extern const variant variant_longformer; /* the same as a layer; size: inputs of its projections, default 8 */
extern const variant variant_bigbird;    /* blocks of 64, 3 at random */
extern const variant variant_reformer;   /* chunks of 64; queries and keys are q; size: rounds, default 4 */
extern const variant variant_linformer;  /* E and F at random; size: projected keys, default 256 */
extern const variant variant_performer, variant_performer_causal; /* size: features, default 256 */
extern const variant variant_linear, variant_gated, variant_delta, variant_gated_delta;
extern const variant variant_selected;     /* 256 keys of each row, by an index head of 64 dims */
extern const variant variant_differential; /* causal */
extern const variant variant_latent, variant_latent_absorbed; /* a layer with heads of 64 dims, rank 64 */
extern const variant variant_graph;                           /* 16 edges of each node, TransformerConv */

/* NULL after the last. */
extern const variant *const variant_list[];

/* Makes a call ready, with the sizes, threads and tensors of `sizes`. NULL if that fails. */
variant_call *variant_begin(const variant *variant, const variant_call *sizes);
fovea_status variant_run(const variant_call *call);
void variant_end(variant_call *call);

/* Gives the call's execution so many bytes of scratch, and counts them. 0 without memory. */
int variant_scratch(variant_call *call, size_t bytes);

/* Random numbers from -scale to scale, to be freed. NULL without memory. */
float *variant_draw(size_t count, uint32_t seed, float scale);

/* Random numbers from -scale to scale, counted as memory of the call. They live in `call` until it ends. */
float *variant_numbers(variant_call *call, size_t count, uint32_t seed, float scale);

/* Registers every variant at every length, and the errors of approximate ones. */
void bench_register_variants(const char *isa);
void bench_register_variant_errors(void);

#endif
