/* The operation gather(). Part of bodies.h. */

#include "../args/lists.h"
#include "gather.h"

#define GATHER_CASE(with, type, name, ...)                                                                         \
  case type:                                                                                                       \
    gather_keys(args, type);                                                                                       \
    break;
FOVEA_KERNEL void FOVEA_NAME(gather)(const fovea_gather_args *args) {
  switch (args->type) {
  default:
    FOVEA_FORMATS(GATHER_CASE, )
  }
}
