#include "choose_table.h"

#include "../src/base/error.h"

#include <stdatomic.h>
#include <string.h>

#define LISTED(name, architecture, needs, prefers, type, lacks)                                                    \
  FOVEA_GENERAL_##type(FOVEA_FOR_##architecture(&fovea_nn_kernels_##name, ))
static const fovea_nn_kernels *const tables[] = {FOVEA_INSTRUCTION_SETS(LISTED)};

/* The table of a set; of one of its tables ("avx2/rows"); of the set that a set of pairs adds to ("avx512_bf16").
 */
static const fovea_nn_kernels *find_table(const char *name) {
  const size_t length = strcspn(name, "/_");
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
    if (strlen(tables[i]->name) == length && strncmp(tables[i]->name, name, length) == 0) return tables[i];
  }
  return tables[sizeof tables / sizeof tables[0] - 1];
}

/* Asks Fovea, which knows the CPU, FOVEA_ISA and the texts of refusals, by planning the least problem: the name of
 * the instruction set for Q and K of this type. */
static fovea_status ask(const char *isa, fovea_type type, const char **set, fovea_error *error) {
  enum { PLAN_BYTES = 4096 };
  _Alignas(64) unsigned char memory[PLAN_BYTES];
  fovea_problem problem;
  fovea_plan *plan;
  fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
  problem.isa = isa;
  problem.q_type = problem.k_type = type;
  const fovea_status status = fovea_plan_create_in(&problem, memory, sizeof memory, &plan, error);
  if (!status) *set = fovea_plan_isa(plan);
  return status;
}

static fovea_status find(const char *isa, const fovea_nn_kernels **kernels, fovea_error *error) {
  const char *set = NULL;
  const fovea_status status = ask(isa, FOVEA_F32, &set, error);
  if (!status) *kernels = find_table(set);
  return status;
}

fovea_status fovea_nn_dispatch(const char *isa, const fovea_nn_kernels **kernels, fovea_error *error) {
  static _Atomic(const fovea_nn_kernels *) chosen;
  if (isa) return find(isa, kernels, error);
  *kernels = atomic_load_explicit(&chosen, memory_order_relaxed);
  if (*kernels) return FOVEA_OK;
  const fovea_status status = find(NULL, kernels, error);
  if (!status) atomic_store_explicit(&chosen, *kernels, memory_order_relaxed);
  return status;
}

/* The names of sets with a table of pairs. */
static const fovea_nn_pair_kernels *find_pairs(const char *set) {
#ifdef FOVEA_ARCH_X86_64
  if (strcmp(set, "avx512_bf16") == 0) return &fovea_nn_pairs_avx512_bf16;
#endif
  (void)set;
  return NULL;
}

fovea_status fovea_nn_dispatch_pairs(const char *isa, const fovea_nn_pair_kernels **pairs, fovea_error *error) {
  const char *set = NULL;
  const fovea_status status = ask(isa, FOVEA_BF16, &set, error);
  *pairs = status ? NULL : find_pairs(set);
  return status;
}
