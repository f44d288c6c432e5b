#include "dispatch.h"

#include "../arch/targets.h"
#include "process.h"

#include <stdatomic.h>
#include <string.h>

/* Every name that any build knows, best first where one CPU has several. A build has tables for some of them. */
typedef struct candidate {
  const char *name;
  const fovea_kernels *kernels; /* NULL: not in this build */
} candidate;

#ifdef FOVEA_ARCH_X86_64
#define FOVEA_BUILT_X86(table) (&(table))
#else
#define FOVEA_BUILT_X86(table) NULL
#endif
#ifdef FOVEA_ARCH_AARCH64
#define FOVEA_BUILT_NEON(table) (&(table))
#else
#define FOVEA_BUILT_NEON(table) NULL
#endif

static const candidate candidates[] = {
    {"avx512", FOVEA_BUILT_X86(fovea_kernels_avx512)},
    {"avx2", FOVEA_BUILT_X86(fovea_kernels_avx2)},
    {"neon", FOVEA_BUILT_NEON(fovea_kernels_neon)},
    {"scalar", &fovea_kernels_scalar},
};
enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };
_Static_assert(CANDIDATES <= FOVEA_ISA_LIMIT, "fovea_library_info has room for every instruction set");

static int find(const char *name) {
  for (int i = 0; i < CANDIDATES; i++) {
    if (strcmp(candidates[i].name, name) == 0) return i;
  }
  return -1;
}

static int runs_here(const fovea_kernels *kernels) {
  return kernels && (kernels->features & ~fovea_process_record()->features) == 0;
}

/* Where the choice starts: at the candidate that FOVEA_ISA names, if this build has it. */
static int cap(void) {
  const char *name = fovea_process_record()->isa_cap;
  int i = name[0] ? find(name) : 0;
  return i >= 0 && (i == 0 || candidates[i].kernels) ? i : 0;
}

const fovea_kernels *fovea_dispatch_default(void) {
  static _Atomic(const fovea_kernels *) chosen;
  const fovea_kernels *kernels = atomic_load_explicit(&chosen, memory_order_acquire);
  for (int i = cap(); !kernels; i++) { /* portable C, the last, runs everywhere */
    if (runs_here(candidates[i].kernels)) kernels = candidates[i].kernels;
  }
  atomic_store_explicit(&chosen, kernels, memory_order_release);
  return kernels;
}

const fovea_kernels *fovea_dispatch_named(const char *name, fovea_status *status) {
  int i = find(name);
  if (i >= 0 && runs_here(candidates[i].kernels)) return candidates[i].kernels;
  *status = i < 0 ? FOVEA_ERROR_ISA_UNKNOWN : FOVEA_ERROR_ISA_UNUSABLE;
  return NULL;
}

static const char *reason(int i, const fovea_kernels *chosen) {
  const fovea_kernels *kernels = candidates[i].kernels;
  if (!kernels) return "not in this build: it is for another architecture";
  uint64_t missing = kernels->features & ~fovea_process_record()->features;
  if (missing & FOVEA_CPU_AVX512) return "the CPU or the operating system lacks AVX-512 (F, BW, DQ, VL)";
  if (missing) return "the CPU or the operating system lacks AVX2, FMA or F16C";
  if (kernels == chosen) return cap() > 0 ? "the best that FOVEA_ISA allows" : "the best that this CPU runs";
  if (i < cap()) return "usable by name; FOVEA_ISA caps the choice below it";
  return "usable by name; a better one is chosen";
}

static const char *environment(void) {
  const char *name = fovea_process_record()->isa_cap;
  if (!name[0]) return "";
  int i = find(name);
  if (i < 0) return "FOVEA_ISA names no instruction set that Fovea knows; ignored";
  if (!candidates[i].kernels) return "FOVEA_ISA names an instruction set of another architecture; ignored";
  return "FOVEA_ISA caps the choice";
}

void fovea_dispatch_report(fovea_library_info *info) {
  const fovea_kernels *chosen = fovea_dispatch_default();
  info->isa = chosen->name;
  info->environment = environment();
  info->isa_count = CANDIDATES;
  for (int i = 0; i < CANDIDATES; i++) {
    info->isas[i].name = candidates[i].name;
    info->isas[i].usable = runs_here(candidates[i].kernels);
    info->isas[i].chosen = candidates[i].kernels == chosen;
    info->isas[i].reason = reason(i, chosen);
  }
}
