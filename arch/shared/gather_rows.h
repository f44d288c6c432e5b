/* The operation gather(). Part of bodies.h. */

#include "gather.h"

FOVEA_KERNEL void FOVEA_NAME(gather)(const fovea_gather_args *args) {
  gather_typed(args);
}
