/* The modes bf16 and int8 on AMX (docs/numerics.md, section 16), beside the tables of AVX-512, whose tiles it
 * shares: an extension in the registry. The process must be permitted to use AMX, and the CPU must have AMX-BF16 and
 * AVX512_BF16, or AMX-INT8. */
#ifndef FOVEA_ARCH_AMX_AMX_H
#define FOVEA_ARCH_AMX_AMX_H

#include "../kernels.h"

extern const fovea_arithmetic fovea_bf16_amx, fovea_int8_amx;

#endif
