/* Checks of a scaled rotary embedding. */
#ifndef FOVEA_SRC_ROTARY_CHECK_SCALING_H
#define FOVEA_SRC_ROTARY_CHECK_SCALING_H

#include "../../arch/groups.h"
#include <fovea/rotary_scaling.h>

/* Checks a scaling that was read: the rule's fields, and that no other is set. */
fovea_status fovea_validate_scaling(const fovea_rotary_scaling *scaling, fovea_error *error);

#endif
