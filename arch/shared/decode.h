/* Few rows (decoding): keys or dims in the lanes instead of rows. Included once by arch/<isa>/decode.c, after the
 * vector layer and tiles.h, which gives
 *
 *   FOVEA_DECODE_ROWS          up to this many rows are faster this way, at most FOVEA_DECODE_ROWS_LIMIT
 *   FOVEA_DECODE_GROUPS_<n>    vectors of keys in the register tile of panels beside n rows, n = 1, 2, 4; at most 8
 *   FOVEA_DECODE_VECTORS_<n>   vectors of dims in the value's register tile beside n rows, n = 1, 2, 4; at most 8
 */

#include "../kernels.h"
#include "exp2.h"
#include "mask.h"
#include "tanh.h"
#include "types.h"

#include "decode_panels.h"
#include "decode_score.h"
#include "decode_softmax.h"
#include "decode_value.h"

FOVEA_KERNEL void FOVEA_NAME(decode_score)(const fovea_decode_score_args *args) {
  switch (args->type) {
  case FOVEA_F16:
    (args->panels ? decode_panels_f16 : decode_score_f16)(args);
    break;
  case FOVEA_BF16:
    (args->panels ? decode_panels_bf16 : decode_score_bf16)(args);
    break;
  default:
    (args->panels ? decode_panels_f32 : decode_score_f32)(args);
    break;
  }
}
