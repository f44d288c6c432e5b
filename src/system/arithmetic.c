#include "arithmetic.h"

#include "../../arch/float_state.h"
#include "../../arch/registry.h"
#include "../base/error.h"
#include "cpu.h"
#include "dispatch.h"
#include "platform.h"
#include "process.h"

#include <stdatomic.h>

/* A table of pairs has the plain int8 of its base, which may have a table with better instructions. */
static const fovea_arithmetic *int8_of(const fovea_kernels *kernels, int isa_named) {
  if (kernels->pair_type == FOVEA_F32 || isa_named) return kernels->int8;
  const fovea_kernels *usual = fovea_dispatch_default(FOVEA_F32);
  return usual->lanes == kernels->lanes && usual->row_tile == kernels->row_tile ? usual->int8 : kernels->int8;
}

#if defined(FOVEA_ARCH_X86_64_AMX) && FOVEA_BUILDS_MODES
/* What the registry says of AMX, which is the only extension. */
#define EXTENSION(name, architecture, needs, int8_needs, set)                                                      \
  static const fovea_extension *const name = &fovea_extension_##name;                                              \
  static const uint64_t name##_needs = (needs), name##_int8_needs = (int8_needs);                                  \
  static const fovea_kernels *const name##_set = &fovea_kernels_##set;
FOVEA_EXTENSIONS(EXTENSION)

static int has(uint64_t features) {
  return (features & ~fovea_process_record()->features) == 0;
}

/* What fovea_allow_amx() allowed, by mode: never a mode that this build leaves out. */
static atomic_int bf16_allowed, int8_allowed;

fovea_status fovea_allow_amx(fovea_error *error) {
  if (!has(amx_needs))
    return fovea_fail(error, FOVEA_ERROR_UNSUPPORTED,
                      "This CPU has no AMX with bf16, or the system does not save its tiles");
  if (!fovea_platform_permit_amx())
    return fovea_fail(error, FOVEA_ERROR_UNSUPPORTED,
                      "The system does not permit AMX: a thread's signal stack may be too small");
  fovea_float_state caller = fovea_float_begin();
  const int has_int8 = has(amx_int8_needs), holds = amx->bf16_holds() && (!has_int8 || amx->int8_holds());
  fovea_float_end(caller);
  if (!holds)
    return fovea_fail(error, FOVEA_ERROR_UNSUPPORTED, "This CPU's AMX does not give the bits of its manual");
  atomic_store_explicit(&bf16_allowed, FOVEA_BUILDS_BF16, memory_order_release);
  atomic_store_explicit(&int8_allowed, FOVEA_BUILDS_INT8 && has_int8, memory_order_release);
  return FOVEA_OK;
}

/* Whether a table has the tiles of AMX's set. Such a table shares the functions that fill them. */
static int has_tiles(const fovea_kernels *kernels) {
  return kernels->load_rows == amx_set->load_rows;
}

static int is_allowed(atomic_int *mode) {
  return atomic_load_explicit(mode, memory_order_acquire);
}

int fovea_uses_amx(fovea_mode mode) {
  if (fovea_process_record()->isa_cap[0] != '\0') return 0;
  return mode == FOVEA_MODE_BF16 ? is_allowed(&bf16_allowed) : mode == FOVEA_MODE_INT8 && is_allowed(&int8_allowed);
}

const fovea_arithmetic *fovea_arithmetic_of(fovea_mode mode, const fovea_kernels *kernels, int isa_named) {
  const int is_amx = !isa_named && has_tiles(kernels) && fovea_uses_amx(mode);
  if (mode == FOVEA_MODE_EXACT) return NULL;
  if (mode == FOVEA_MODE_INT8) return is_amx ? amx->int8 : int8_of(kernels, isa_named);
  return is_amx ? amx->bf16 : kernels->bf16;
}
#else
fovea_status fovea_allow_amx(fovea_error *error) {
  return fovea_fail(error, FOVEA_ERROR_UNSUPPORTED, "This build has no AMX, which needs x86-64, Linux and a mode");
}

int fovea_uses_amx(fovea_mode mode) {
  (void)mode;
  return 0;
}

const fovea_arithmetic *fovea_arithmetic_of(fovea_mode mode, const fovea_kernels *kernels, int isa_named) {
  return mode == FOVEA_MODE_EXACT ? NULL : mode == FOVEA_MODE_INT8 ? int8_of(kernels, isa_named) : kernels->bf16;
}
#endif
