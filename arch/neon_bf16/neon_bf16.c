/* Products of bf16 by BFMLALT and BFMLALB: odd elements, then even ones, each with one rounding, as by FMLA.
 * clang's arm_neon.h offers them to single functions from version 16 on. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS
#define FOVEA_ISA    neon_bf16
#define FOVEA_BASE   neon
#define FOVEA_TARGET __attribute__((target("arch=armv8.2-a+bf16")))
#include "../neon/registers.h"
#include "../neon/tiles.h"
#include "../neon/vector.h"

#define FOVEA_PAIR_TYPE FOVEA_BF16

typedef uint16x8_t pair4;

FOVEA_INLINE pair4 pair4_load(const uint16_t *p) {
  return vld1q_u16(p);
}
FOVEA_INLINE vec vec_pair(vec q, uint32_t pair, vec sum) {
  bfloat16x8_t k = vreinterpretq_bf16_u32(vdupq_n_u32(pair)), rows = vreinterpretq_bf16_f32(q);
  return vbfmlalbq_f32(vbfmlaltq_f32(sum, rows, k), rows, k);
}
/* By element. The intrinsics of gcc 12 use registers that the instruction cannot name. */
#ifdef __clang__
#define vec_pair_lane(q, k, lane, sum)                                                                             \
  vbfmlalbq_laneq_f32(                                                                                             \
      vbfmlaltq_laneq_f32((sum), vreinterpretq_bf16_f32(q), vreinterpretq_bf16_u16(k), 2 * (lane) + 1),            \
      vreinterpretq_bf16_f32(q), vreinterpretq_bf16_u16(k), 2 * (lane))
#else
FOVEA_INLINE vec vec_pair_lane(vec q, pair4 k, const int lane, vec sum) {
  __asm__("bfmlalt %0.4s, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(q), "x"(k), "i"(2 * lane + 1));
  __asm__("bfmlalb %0.4s, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(q), "x"(k), "i"(2 * lane));
  return sum;
}
#endif
FOVEA_INLINE vec vec_pair_arrange(vec pairs) {
  return pairs;
}
FOVEA_INLINE int pair_elements_safe(const uint16_t *p) {
  (void)p;
  return 1;
}

#define FOVEA_SCORE_PAIRS
NEON_REGISTERS_FULL
#include "../shared/pairs.h"
#include "../shared/score.h"
NEON_REGISTERS_END

#include "../shared/table.h"
#endif
