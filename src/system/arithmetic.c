#include "arithmetic.h"

#include "../../arch/amx/amx.h"
#include "../../arch/float_state.h"
#include "../../arch/registry.h"
#include "../base/error.h"
#include "cpu.h"
#include "dispatch.h"
#include "platform.h"
#include "process.h"

#include <stdatomic.h>
#include <string.h>

/* A table of pairs has the plain int8 of its base, which may have a table with better instructions. */
static const fovea_arithmetic *int8_of(const fovea_kernels *kernels, int isa_named) {
  if (kernels->pair_type == FOVEA_F32 || isa_named) return kernels->int8;
  const fovea_kernels *usual = fovea_dispatch_default(FOVEA_F32);
  return usual->lanes == kernels->lanes && usual->row_tile == kernels->row_tile ? usual->int8 : kernels->int8;
}

#if defined(FOVEA_ARCH_X86_64) && defined(__linux__)
#define NEEDS(name, architecture, needs) static const uint64_t needs_##name = (needs);
FOVEA_EXTENSIONS(NEEDS)

/* What fovea_allow_amx() allowed, by mode. */
static atomic_int bf16_allowed, int8_allowed;

fovea_status fovea_allow_amx(fovea_error *error) {
  if ((fovea_process_record()->features & needs_amx) != needs_amx)
    return fovea_fail(error, FOVEA_ERROR_ISA_UNUSABLE,
                      "this CPU has no AMX with bf16, or the system does not save its tiles");
  if (!fovea_platform_permit_amx())
    return fovea_fail(error, FOVEA_ERROR_ISA_UNUSABLE,
                      "the system does not permit AMX: a thread's signal stack may be too small");
  fovea_float_state caller = fovea_float_begin();
  const int has_int8 = (fovea_process_record()->features & FOVEA_CPU_AMX_INT8) != 0;
  const int holds = fovea_bf16_holds_amx() && (!has_int8 || fovea_int8_holds_amx());
  fovea_float_end(caller);
  if (!holds)
    return fovea_fail(error, FOVEA_ERROR_ISA_UNUSABLE, "this CPU's AMX does not give the bits of its manual");
  atomic_store_explicit(&bf16_allowed, 1, memory_order_release);
  atomic_store_explicit(&int8_allowed, has_int8, memory_order_release);
  return FOVEA_OK;
}

/* Its tiles are those of AVX-512. */
static int has_tiles(const fovea_kernels *kernels) {
  return strcmp(kernels->name, "avx512") == 0 || strcmp(kernels->name, "avx512_bf16") == 0;
}

static int is_allowed(atomic_int *mode) {
  return atomic_load_explicit(mode, memory_order_acquire);
}

const fovea_arithmetic *fovea_arithmetic_of(fovea_mode mode, const fovea_kernels *kernels, int isa_named) {
  const int named = isa_named || fovea_process_record()->isa_cap[0] != '\0', amx = !named && has_tiles(kernels);
  if (mode == FOVEA_MODE_EXACT) return NULL;
  if (mode == FOVEA_MODE_INT8)
    return amx && is_allowed(&int8_allowed) ? &fovea_int8_amx : int8_of(kernels, isa_named);
  return amx && is_allowed(&bf16_allowed) ? &fovea_bf16_amx : kernels->bf16;
}
#else
fovea_status fovea_allow_amx(fovea_error *error) {
  return fovea_fail(error, FOVEA_ERROR_ISA_UNUSABLE, "this build has no AMX: it is for x86-64 on Linux");
}

const fovea_arithmetic *fovea_arithmetic_of(fovea_mode mode, const fovea_kernels *kernels, int isa_named) {
  return mode == FOVEA_MODE_EXACT ? NULL : mode == FOVEA_MODE_INT8 ? int8_of(kernels, isa_named) : kernels->bf16;
}
#endif
