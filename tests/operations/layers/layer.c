/* The vector layer of one instruction set. CMake compiles this file once for each, with VECTOR_LAYER as the path of
 * its vector.h and FOVEA_ISA as <set>_layer. */
#include VECTOR_LAYER

#include "body.h"
