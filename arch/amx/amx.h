/* The modes bf16 and int8 on AMX (docs/numerics.md, section 16), beside the tables of AVX-512, whose tiles it
 * shares. The process must be permitted to use AMX, and the CPU must have AMX-BF16 and AVX512_BF16, or AMX-INT8. */
#ifndef FOVEA_ARCH_AMX_AMX_H
#define FOVEA_ARCH_AMX_AMX_H

#include "../kernels.h"

extern const fovea_arithmetic fovea_bf16_amx, fovea_int8_amx;

/* Returns 1 if products of this CPU's tiles are those of its manual: two chains, of even and of odd elements. */
int fovea_bf16_holds_amx(void);

/* The same for sums of products of bytes: the integers themselves. */
int fovea_int8_holds_amx(void);

#endif
