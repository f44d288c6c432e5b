/* Quantised formats: dequantised, quantised, decoded, rotated. */
#include "../../groups.h"
#if FOVEA_BUILDS_FORMATS
#include "../codes.h"
#if FOVEA_BUILDS_DECODE
#include "../decode_codes.h"
#endif
#include "../hadamard.h"
#include "../narrow.h"
#endif
