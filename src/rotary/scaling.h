/* Numbers of scaled rotary embeddings: doubles that are the same on every machine. */
#ifndef FOVEA_SRC_ROTARY_SCALING_H
#define FOVEA_SRC_ROTARY_SCALING_H

#include <fovea/rotary_scaling.h>

/* Checks a scaling that was read: the rule's fields, and that no other is set. */
fovea_status fovea_validate_scaling(const fovea_rotary_scaling *scaling, fovea_error *error);

#endif
