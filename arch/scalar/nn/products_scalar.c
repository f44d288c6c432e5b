/* Layers in int8 mode by portable C. */
#include "../../targets.h"
#if FOVEA_BUILDS_INT8
#include "../vector.h"

#include "products_layer.h"

#include "../../shared/nn/products.h"
#endif
