#include "choose_table.h"

#include "../src/base/caller.h"

#include <stdatomic.h>
#include <string.h>

#define LISTED(name, architecture, needs, prefers, type, lacks)                                                    \
  FOVEA_GENERAL_##type(FOVEA_FOR_##architecture(&fovea_nn_kernels_##name, ))
static const fovea_nn_kernels *const tables[] = {FOVEA_INSTRUCTION_SETS(LISTED)};

static fovea_status find(const char *isa, const fovea_nn_kernels **kernels, fovea_error *error) {
  fovea_isa_report set;
  fovea_isa_report_init(&set);
  const fovea_status status = fovea_isa_find(isa, FOVEA_F32, &set, error);
  for (size_t i = 0; i < sizeof tables / sizeof tables[0] && !status; i++) {
    if (strcmp(tables[i]->name, set.base) == 0) *kernels = tables[i];
  }
  return status;
}

fovea_status fovea_nn_dispatch(const char *isa, const fovea_nn_kernels **kernels, fovea_error *error) {
  static _Atomic(const fovea_nn_kernels *) chosen;
  *kernels = isa ? NULL : atomic_load_explicit(&chosen, memory_order_relaxed);
  if (*kernels) return FOVEA_OK;
  const fovea_status status = find(isa, kernels, error);
  if (!status && !isa) atomic_store_explicit(&chosen, *kernels, memory_order_relaxed);
  return status;
}

fovea_status fovea_nn_read_execution(const fovea_execution *given, fovea_execution *execution, fovea_error *error) {
  const fovea_nn_kernels *kernels;
  const fovea_status status = fovea_read_execution(given, execution, error);
  return status ? status : fovea_nn_dispatch(execution->isa, &kernels, error);
}

/* The names of sets with products of pairs of bf16. */
static const fovea_nn_pair_kernels *pairs_named(const char *set) {
#ifdef FOVEA_ARCH_X86_64_AVX512_BF16
  if (strcmp(set, "avx512_bf16") == 0) return &fovea_nn_pairs_avx512_bf16;
#endif
  (void)set;
  return NULL;
}

fovea_status fovea_nn_dispatch_pairs(const char *isa, const fovea_nn_pair_kernels **pairs, fovea_error *error) {
  static const fovea_nn_pair_kernels none;
  static _Atomic(const fovea_nn_pair_kernels *) chosen; /* &none: there are none */
  const fovea_nn_pair_kernels *known = isa ? NULL : atomic_load_explicit(&chosen, memory_order_relaxed);
  *pairs = known == &none ? NULL : known;
  if (known) return FOVEA_OK;
  fovea_isa_report set;
  fovea_isa_report_init(&set);
  const fovea_status status = fovea_isa_find(isa, FOVEA_BF16, &set, error);
  if (!status) *pairs = pairs_named(set.name);
  if (!status && !isa) atomic_store_explicit(&chosen, *pairs ? *pairs : &none, memory_order_relaxed);
  return status;
}

/* Of the set that Fovea takes for Q and K of bf16, if it has some. */
static const fovea_nn_bf16_kernels *bf16_named(const char *set) {
#if defined(FOVEA_ARCH_X86_64_AVX512_BF16) && FOVEA_BUILDS_BF16
  if (strcmp(set, "avx512_bf16") == 0) return &fovea_nn_bf16_avx512_bf16;
#endif
#if defined(FOVEA_ARCH_AARCH64_EXTENSIONS_BF16) && FOVEA_BUILDS_BF16
  if (strcmp(set, "neon_bf16") == 0) return &fovea_nn_bf16_neon_bf16;
#endif
  (void)set;
  return NULL;
}

static const fovea_nn_bf16_kernels *find_bf16(const fovea_nn_kernels *kernels, const char *isa) {
  static _Atomic(const fovea_nn_bf16_kernels *) chosen;
  const fovea_nn_bf16_kernels *known = isa ? NULL : atomic_load_explicit(&chosen, memory_order_relaxed);
  if (known) return known;
  fovea_isa_report set;
  fovea_isa_report_init(&set);
  if (fovea_isa_find(isa, FOVEA_BF16, &set, NULL) == FOVEA_OK) known = bf16_named(set.name);
  if (!known) known = kernels->bf16;
  if (!isa) atomic_store_explicit(&chosen, known, memory_order_relaxed);
  return known;
}

const fovea_nn_bf16_kernels *fovea_nn_choose_bf16(const fovea_nn_kernels *kernels, const char *isa, int64_t rows) {
#if defined(FOVEA_ARCH_X86_64_AMX) && FOVEA_BUILDS_BF16
  const fovea_nn_bf16_kernels *amx = &fovea_nn_bf16_amx;
  if (!isa && rows >= amx->least && fovea_uses_amx(FOVEA_MODE_BF16)) return amx;
#endif
  (void)rows;
  return find_bf16(kernels, isa);
}
