/* Shaw's positions, and normalisers other than the softmax. */
#include "../../groups.h"
#if FOVEA_BUILDS_TERMS
#include "../decode_weights.h"
#include "../normalise.h"
#include "../shaw.h"
#endif
