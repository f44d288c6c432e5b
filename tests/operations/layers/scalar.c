/* The vector layer of portable C. */
#include "arch/targets.h"
#define FOVEA_ISA scalar_layer
#include "arch/scalar/vector.h"

#include "body.h"
