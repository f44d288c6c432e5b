/* Attention over some keys of each row: Longformer, BigBird, Reformer, and keys that an indexer selects.
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md states the arithmetic. */
#ifndef FOVEA_SPARSE_ATTENTION_H
#define FOVEA_SPARSE_ATTENTION_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif

#endif
