/* Products of f16 by FMLAL and FMLAL2: exact, and added with one rounding, as by FMLA. The halves of a vector are
 * the second elements of four rows, and the first: that is the order of the products. */
#include "../targets.h"
#if defined(FOVEA_ARCH_AARCH64) && defined(FOVEA_ARCH_NEON_PAIRS)
#define FOVEA_ISA    neon_fhm
#define FOVEA_BASE   neon
#define FOVEA_TARGET __attribute__((target("arch=armv8.2-a+fp16fml")))
#include "registers.h"
#include "tiles.h"
#include "vector.h"

#include "../features.h"

#define FOVEA_PAIR_TYPE FOVEA_F16

typedef float16x8_t pair4;

FOVEA_INLINE pair4 pair4_load(const uint16_t *p) {
  return vreinterpretq_f16_u16(vld1q_u16(p));
}
FOVEA_INLINE vec vec_pair(vec q, uint32_t pair, vec sum) {
  float16x8_t rows = vreinterpretq_f16_f32(q), k = vreinterpretq_f16_u32(vdupq_n_u32(pair));
  return vfmlalq_laneq_high_f16(vfmlalq_laneq_low_f16(sum, rows, k, 1), rows, k, 0);
}
#define vec_pair_lane(q, k, lane, sum)                                                                             \
  vfmlalq_laneq_high_f16(vfmlalq_laneq_low_f16((sum), vreinterpretq_f16_f32(q), (k), 2 * (lane) + 1),              \
                         vreinterpretq_f16_f32(q), (k), 2 * (lane))
FOVEA_INLINE vec vec_pair_arrange(vec pairs) {
  uint16x8_t a = vreinterpretq_u16_f32(pairs);
  return vreinterpretq_f32_u16(vcombine_u16(vget_low_u16(vuzp2q_u16(a, a)), vget_low_u16(vuzp1q_u16(a, a))));
}
FOVEA_INLINE int pair_elements_safe(const uint16_t *p) {
  (void)p;
  return 1;
}

#define FOVEA_SCORE_PAIRS
#include "../shared/pairs.h"
#include "../shared/score.h"

#define FOVEA_FEATURES (FOVEA_CPU_NEON | FOVEA_CPU_NEON_FHM)
#include "../shared/table.h"
#endif
