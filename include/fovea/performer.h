/* Performer: attention approximated by random features (Choromanski et al., 2021).
 *
 * Part of fovea_nn, with the rules of nn.h. docs/numerics.md states the arithmetic. */
#ifndef FOVEA_PERFORMER_H
#define FOVEA_PERFORMER_H

#include <fovea/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif

#endif
