/* Products of bf16 on AMX, with the bits of fovea_kernels.bf16_score() and bf16_value() of AVX-512, whose tiles
 * they share. The process must be permitted to use AMX, and the CPU must have AMX-BF16. */
#ifndef FOVEA_ARCH_AMX_AMX_H
#define FOVEA_ARCH_AMX_AMX_H

#include "../kernels.h"

void fovea_bf16_score_amx(const fovea_score_args *args);
void fovea_bf16_value_amx(const fovea_value_args *args);
void fovea_bf16_score_avx512(const fovea_score_args *args);

#endif
