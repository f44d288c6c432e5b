/* Linear attention and its gated and delta family: a state of fixed size instead of keys and values.
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md states the arithmetic. */
#ifndef FOVEA_LINEAR_ATTENTION_H
#define FOVEA_LINEAR_ATTENTION_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif

#endif
