#include "amx.h"

#include "../../arch/amx/amx.h"
#include "../../arch/targets.h"
#include "../base/error.h"
#include "cpu.h"
#include "platform.h"

#include <stdatomic.h>
#include <string.h>

#if defined(FOVEA_ARCH_X86_64) && defined(__linux__)
static atomic_int allowed;

fovea_status fovea_allow_amx(fovea_error *error) {
  if (!fovea_cpu_has_amx_bf16())
    return fovea_fail(error, FOVEA_ERROR_ISA_UNUSABLE,
                      "this CPU has no AMX with bf16, or the system does not save its tiles");
  if (!fovea_platform_permit_amx())
    return fovea_fail(error, FOVEA_ERROR_ISA_UNUSABLE,
                      "the system does not permit AMX: a signal stack may be too small");
  atomic_store(&allowed, 1);
  return FOVEA_OK;
}

fovea_products fovea_products_of(const fovea_kernels *kernels, int isa_named) {
  const int shared = strcmp(kernels->name, "avx512") == 0 || strcmp(kernels->name, "avx512_bf16") == 0;
  if (shared && !isa_named && atomic_load(&allowed))
    return (fovea_products){fovea_bf16_score_amx, fovea_bf16_value_amx};
  return (fovea_products){kernels->bf16_score, kernels->bf16_value};
}
#else
fovea_status fovea_allow_amx(fovea_error *error) {
  return fovea_fail(error, FOVEA_ERROR_ISA_UNUSABLE, "this build has no AMX: it is for x86-64 on Linux");
}

fovea_products fovea_products_of(const fovea_kernels *kernels, int isa_named) {
  (void)isa_named;
  return (fovea_products){kernels->bf16_score, kernels->bf16_value};
}
#endif
