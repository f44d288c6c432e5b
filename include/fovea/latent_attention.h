/* Attention over fewer numbers: Linformer, multi-head latent attention; and differential attention.
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md states the arithmetic. */
#ifndef FOVEA_LATENT_ATTENTION_H
#define FOVEA_LATENT_ATTENTION_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif

#endif
