/* Products of f16 by FMLAL and FMLAL2: exact, and added with one rounding, as by FMLA. The low half of a vector has
 * the second elements of four rows, the high half the first elements: this is the order of the products. */
#include "../targets.h"
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS_FHM
#define FOVEA_ISA    neon_fhm
#define FOVEA_BASE   neon
#define FOVEA_TARGET __attribute__((target("arch=armv8.2-a+fp16fml")))
#include "../neon/registers.h"
#include "../neon/tiles.h"
#include "../neon/vector.h"

#define FOVEA_PAIR_TYPE FOVEA_F16

typedef float16x8_t pair4;

FOVEA_INLINE pair4 pair4_load(const uint16_t *p) {
  return vreinterpretq_f16_u16(vld1q_u16(p));
}
/* Not by arm_neon.h: there clang 16 puts the element into registers that the instruction cannot name (from register
 * 16 on), and its assembler takes other registers instead. */
#define FHM_PAIR(lane, odd, even)                                                                                  \
  case lane:                                                                                                       \
    __asm__("fmlal %0.4s, %1.4h, %2.h[" #odd "]" : "+w"(sum) : "w"(q), "x"(k));                                    \
    __asm__("fmlal2 %0.4s, %1.4h, %2.h[" #even "]" : "+w"(sum) : "w"(q), "x"(k));                                  \
    break
FOVEA_INLINE vec vec_pair_lane(vec q, pair4 k, int lane, vec sum) {
  switch (lane) {
    FHM_PAIR(0, 1, 0);
    FHM_PAIR(1, 3, 2);
    FHM_PAIR(2, 5, 4);
    FHM_PAIR(3, 7, 6);
  }
  return sum;
}
FOVEA_INLINE vec vec_pair(vec q, uint32_t pair, vec sum) {
  return vec_pair_lane(q, vreinterpretq_f16_u32(vdupq_n_u32(pair)), 0, sum);
}
FOVEA_INLINE vec vec_pair_arrange(vec pairs) {
  uint16x8_t a = vreinterpretq_u16_f32(pairs);
  return vreinterpretq_f32_u16(vcombine_u16(vget_low_u16(vuzp2q_u16(a, a)), vget_low_u16(vuzp1q_u16(a, a))));
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
