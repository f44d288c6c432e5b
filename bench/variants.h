/* Variants of attention and exact attention, one head of 64 dims over sequences of 128 to 65,536 keys. */
#ifndef FOVEA_BENCH_VARIANTS_H
#define FOVEA_BENCH_VARIANTS_H

#include "harness.h"

#include <fovea/fovea.h>

/* One length of a variant, made ready. What a variant computes with beside q, k and v it makes itself. */
typedef struct variant_call {
  const struct variant *variant;
  int64_t heads, length, dim;
  int threads;
  const float *q, *k, *v; /* (heads, length, dim) */
  float *o;
  fovea_execution execution; /* with scratch, if variant_scratch() was called */
  void *own;                 /* of the variant */
  size_t bytes;              /* of memory beside q, k, v and o: scratch, states, plans, patterns, lists */
} variant_call;

typedef struct variant {
  const char *name;
  int causal;      /* compared with causal attention */
  int approximate; /* how far its outputs are from exact ones is reported */
  /* Sets `own` and `bytes`. 0 without memory, or if the library refuses. */
  int (*begin)(variant_call *call);
  fovea_status (*run)(const variant_call *call);
  void (*end)(variant_call *call); /* also after begin() failed */
} variant;

/* NULL after the last. */
extern const variant *const variant_list[];

/* Makes a call ready for tensors of the caller's. NULL if that fails. */
variant_call *variant_begin(const char *name, int64_t heads, int64_t length, int64_t dim, int threads);
fovea_status variant_run(variant_call *call, const float *q, const float *k, const float *v, float *o);
void variant_end(variant_call *call);

/* Gives the call's execution so many bytes of scratch, and counts them. 0 without memory. */
int variant_scratch(variant_call *call, size_t bytes);

/* Random numbers from -scale to scale, counted as memory of the call. They live in `call` until it ends. */
float *variant_numbers(variant_call *call, size_t count, uint32_t seed, float scale);

/* Registers every variant at every length. */
void bench_register_variants(const char *isa);

#endif
