/* Decoding: keys or dims lie in the lanes instead of rows. Part of bodies.h; tiles.h gives
 *
 *   FOVEA_DECODE_ROWS             tiles of up to this many rows are decoded; at most FOVEA_DECODE_ROWS_LIMIT
 *   FOVEA_DECODE_KEY_VECTORS_<n>  vectors of keys beside n rows in the register tile of panels, n = 1, 2, 4, 8
 *   FOVEA_DECODE_VECTORS_<n>      vectors of dims beside n rows in the register tile of values, n = 1, 2, 4, 8
 *
 * The numbers of vectors are at most 8. 0 for n = 2 to 8: n rows are computed in smaller register tiles, for less
 * code. */

#include "decode_common.h"
#include "decode_panels.h"
#include "decode_score.h"
#include "decode_softmax.h"
#include "decode_value.h"

#if FOVEA_BUILDS_FORMATS
void FOVEA_NAME(decode_score_codes)(const fovea_decode_score_args *args);
void FOVEA_NAME(decode_value_codes)(const fovea_decode_value_args *args);
#endif

FOVEA_KERNEL void FOVEA_NAME(decode_score)(const fovea_decode_score_args *args) {
#if FOVEA_BUILDS_FORMATS
  if (args->coded.codes) {
    FOVEA_NAME(decode_score_codes)(args);
    return;
  }
#endif
  if (args->panels) {
    decode_panels_any(args);
  } else {
    decode_score_any(args);
  }
}

FOVEA_KERNEL void FOVEA_NAME(decode_value)(const fovea_decode_value_args *args) {
#if FOVEA_BUILDS_FORMATS
  if (args->coded.codes) {
    FOVEA_NAME(decode_value_codes)(args);
    return;
  }
#endif
  decode_value_any(args);
}
