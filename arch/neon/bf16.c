/* Products of bf16 by BFMLALT and BFMLALB: odd elements, then even ones, each with one rounding, as FMLA has. Of
 * clang, arm_neon.h offers them to single functions from version 16 on. */
#include "../targets.h"
#if defined(FOVEA_ARCH_AARCH64) && defined(FOVEA_ARCH_NEON_PAIRS)
#define FOVEA_ISA    neon_bf16
#define FOVEA_BASE   neon
#define FOVEA_TARGET __attribute__((target("arch=armv8.2-a+bf16")))
#include "registers.h"
#include "tiles.h"
#include "vector.h"

#include "../features.h"

#include <string.h>

#define FOVEA_PAIR_TYPE FOVEA_BF16

typedef const uint16_t *pair4;

FOVEA_INLINE pair4 pair4_load(const uint16_t *p) {
  return p;
}
FOVEA_INLINE vec vec_pair(vec q, uint32_t pair, vec sum) {
  bfloat16x8_t k = vreinterpretq_bf16_u32(vdupq_n_u32(pair)), rows = vreinterpretq_bf16_f32(q);
  return vbfmlalbq_f32(vbfmlaltq_f32(sum, rows, k), rows, k);
}
/* Not by element: gcc 12 names registers there that the instruction cannot have. */
FOVEA_INLINE vec vec_pair_lane(vec q, pair4 k, int lane, vec sum) {
  uint32_t pair;
  memcpy(&pair, k + 2 * lane, sizeof pair);
  return vec_pair(q, pair, sum);
}
FOVEA_INLINE vec vec_pair_arrange(vec pairs) {
  return pairs;
}
FOVEA_INLINE int pair_elements_safe(const uint16_t *p) {
  (void)p;
  return 1;
}

#define FOVEA_SCORE_PAIRS
#include "../shared/pairs.h"
#include "../shared/score.h"

#define FOVEA_FEATURES (FOVEA_CPU_NEON | FOVEA_CPU_NEON_BF16)
#include "../shared/table.h"
#endif
