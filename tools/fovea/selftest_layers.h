/* The layers of `fovea selftest`: their descriptions, their tensors, and the digest of an answer. */
#ifndef FOVEA_TOOLS_SELFTEST_LAYERS_H
#define FOVEA_TOOLS_SELFTEST_LAYERS_H

#include <fovea/nn.h>
#include <stdbool.h>
#include <stdint.h>

/* A linear layer. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of the list */
typedef struct selftest_layer {
  const char *name;
  int64_t in, out, rows;
  fovea_type weights, x, y;
  bool packed, bias, gate, residual;
  fovea_nn_activation activation;
} selftest_layer;

extern const selftest_layer selftest_layers[];
extern const int selftest_layer_count;

/* Not final yet: docs/numerics.md, part "Layers". */
extern const uint64_t selftest_layer_digests[];

/* A layer with its tensors, all contiguous. */
typedef struct selftest_layer_run {
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  const void *plain_weights; /* in rows */
  void *memory;
} selftest_layer_run;

/* Returns false if memory runs out. */
bool selftest_prepare_layer(const selftest_layer *description, selftest_layer_run *run);
void selftest_release_layer(selftest_layer_run *run);

/* The digest of the elements in the order of the indices, like selftest_digest(). */
uint64_t selftest_layer_digest(const selftest_layer_run *run);

#endif
