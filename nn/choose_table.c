#include "choose_table.h"

#include "../arch/args/nn_bf16.h"
#include "../arch/args/nn_int8.h"
#include "../src/base/caller.h"
#include "../src/base/groups.h"

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

#if FOVEA_BUILDS_INT8
#define INT8_LISTED(name, architecture, needs, prefers, type, lacks)                                               \
  FOVEA_GENERAL_##type(FOVEA_FOR_##architecture({#name, &fovea_nn_int8_##name}, ))
/* Sets, and tables of sets that have better instructions for products of codes. */
static const struct {
  const char *name;
  const fovea_nn_int8_kernels *kernels;
} int8_tables[] = {
    FOVEA_INSTRUCTION_SETS(INT8_LISTED)
#ifdef FOVEA_ARCH_X86_64_AVX512_INT8
        {"avx512/vnni", &fovea_nn_int8_avx512_vnni},
#endif
#ifdef FOVEA_ARCH_X86_64_AVX2_INT8
    {"avx2/vnni", &fovea_nn_int8_avx2_vnni},
#endif
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS_INT8
    {"neon/dot", &fovea_nn_int8_neon_dot},
    {"neon/i8mm", &fovea_nn_int8_neon_i8mm},
#endif
};

static const fovea_nn_int8_kernels *int8_named(const char *name) {
  for (size_t i = 0; i < sizeof int8_tables / sizeof int8_tables[0]; i++) {
    if (strcmp(int8_tables[i].name, name) == 0) return int8_tables[i].kernels;
  }
  return NULL;
}

/* The table that the name of a set means on this CPU. Returns NULL if the set has one table. */
static const char *meant_table(const char *set) {
  const size_t length = strlen(set);
  fovea_isa_report report;
  fovea_isa_report_init(&report);
  for (int i = 0; fovea_isa_at(i, &report) == FOVEA_OK; i++) {
    if (report.meant && strncmp(report.name, set, length) == 0 && report.name[length] == '/') return report.name;
  }
  return NULL;
}

/* Whether it is the name of a table of a set, "set/table". */
static int is_table(const char *isa) {
  while (*isa != '\0' && *isa != '/') isa++;
  return *isa == '/';
}

/* AMX has tiles of 64 dims. */
static const fovea_nn_int8_kernels *int8_of_amx(int group, int64_t rows) {
#ifdef FOVEA_ARCH_X86_64_AMX
  const fovea_nn_int8_kernels *amx = &fovea_nn_int8_amx;
  if ((group == 0 || group >= 64) && rows >= amx->least && fovea_uses_amx(FOVEA_MODE_INT8)) return amx;
#endif
  (void)group, (void)rows;
  return NULL;
}

static fovea_status find_int8(const char *isa, const fovea_nn_int8_kernels **kernels, fovea_error *error) {
  fovea_isa_report set;
  fovea_isa_report_init(&set);
  const fovea_status status = fovea_isa_find(isa, FOVEA_F32, &set, error);
  if (status) return status;
  const char *table = isa && is_table(isa) ? isa : meant_table(set.base);
  *kernels = table ? int8_named(table) : NULL;
  if (!*kernels) *kernels = int8_named(set.base);
  return FOVEA_OK;
}

fovea_status fovea_nn_dispatch_int8(const char *isa, const fovea_nn_int8_kernels **kernels, fovea_error *error) {
  static _Atomic(const fovea_nn_int8_kernels *) chosen;
  *kernels = isa ? NULL : atomic_load_explicit(&chosen, memory_order_relaxed);
  if (*kernels) return FOVEA_OK;
  const fovea_status status = find_int8(isa, kernels, error);
  if (!status && !isa) atomic_store_explicit(&chosen, *kernels, memory_order_relaxed);
  return status;
}

fovea_status fovea_nn_choose_int8(const char *isa, int group, int64_t rows, const fovea_nn_int8_kernels **kernels,
                                  fovea_error *error) {
  *kernels = isa ? NULL : int8_of_amx(group, rows);
  if (*kernels) return FOVEA_OK;
  const fovea_status status = fovea_nn_dispatch_int8(isa, kernels, error);
#ifdef FOVEA_ARCH_AARCH64_EXTENSIONS_INT8
  const fovea_nn_int8_kernels *pairs = &fovea_nn_int8_neon_i8mm;
  if (!status && *kernels == pairs && rows < pairs->least) *kernels = &fovea_nn_int8_neon_dot;
#endif
  return status;
}
#else
fovea_status fovea_nn_choose_int8(const char *isa, int group, int64_t rows, const fovea_nn_int8_kernels **kernels,
                                  fovea_error *error) {
  (void)group, (void)rows;
  return fovea_nn_dispatch_int8(isa, kernels, error);
}

fovea_status fovea_nn_dispatch_int8(const char *isa, const fovea_nn_int8_kernels **kernels, fovea_error *error) {
  (void)isa;
  *kernels = NULL;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_INT8, error);
}
#endif
