/* The layers of `fovea selftest`: their descriptions, their tensors, and the digest of an answer. */
#ifndef FOVEA_TOOLS_SELFTEST_LAYERS_H
#define FOVEA_TOOLS_SELFTEST_LAYERS_H

#include <fovea/weights.h>
#include <stdbool.h>
#include <stdint.h>

/* What weights are. */
typedef enum selftest_weights {
  SELFTEST_NUMBERS,   /* in rows, or in panels */
  SELFTEST_QUANTISED, /* numbers in rows, quantised by fovea_nn_quantise() */
  SELFTEST_CODES      /* of a format */
} selftest_weights;

/* A linear layer. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of the list */
typedef struct selftest_layer {
  const char *name;
  int64_t in, out, rows;
  fovea_type weights, x, y;
  bool packed, bias, gate, residual;
  fovea_nn_activation activation;
  int strange; /* one of so many numbers of x is NaN, infinite, zero, tiny or huge; 0: none */
  float gain;  /* of x, a power of two; 0: 1 */
  fovea_mode mode;
  selftest_weights kind;
  fovea_nn_format format;         /* of codes */
  int64_t group;                  /* of GPTQ, AWQ and E4M3: dims that share a scale */
  bool zeros_less_one, scattered; /* of GPTQ; scattered: with a g_idx */
  int64_t group_outs;             /* of E4M3: outputs that share a scale, */
  fovea_type scales;              /* and its type */
} selftest_layer;

extern const selftest_layer selftest_layers[];
extern const int selftest_layer_count;

/* Not final yet: docs/numerics.md, part "Layers". */
extern const uint64_t selftest_layer_digests[];

/* A layer with its tensors, all contiguous. */
typedef struct selftest_layer_run {
  fovea_nn_linear linear; /* its weights lie in rows; of codes there are none before it runs */
  fovea_nn_linear_rows rows;
  const selftest_layer *layer;
  fovea_nn_codes codes;
  void *memory;
} selftest_layer_run;

/* Returns false if memory runs out. */
bool selftest_prepare_layer(const selftest_layer *description, selftest_layer_run *run);
void selftest_release_layer(selftest_layer_run *run);

/* Packs or quantises the weights, if they are to be, and computes the layer. NULL: the best set. */
fovea_status selftest_run_layer(selftest_layer_run *run, const char *isa, fovea_error *error);

/* The digest of the elements in the order of the indices, like selftest_digest(). */
uint64_t selftest_layer_digest(const selftest_layer_run *run);

#endif
