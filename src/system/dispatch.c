#include "dispatch.h"

#include "../../arch/float_state.h"
#include "../../arch/formats.h"
#include "../../arch/registry.h"
#include "../base/error.h"
#include "../base/validate.h"
#include "process.h"

#include <stdatomic.h>
#include <string.h>

/* Every name that any build knows, in the order of the registry: the sets, and then the tables of sets that have
 * several. A build has tables for some of them. */
typedef struct candidate {
  const char *name;
  const char *set;              /* of a table of a set; NULL: this is a set */
  const fovea_kernels *kernels; /* NULL: not in this build */
  fovea_type type;              /* of a set: of the pairs that it adds products of; FOVEA_F32: none */
  uint64_t needs, prefers;      /* FOVEA_CPU_* bits. A table also needs what its set does */
  const char *lacking;
} candidate;

#define CANDIDATE(table, architecture, needed, preferred, pairs, lacks)                                            \
  {.name = #table,                                                                                                 \
   .type = FOVEA_##pairs,                                                                                          \
   .needs = (needed),                                                                                              \
   .prefers = (preferred),                                                                                         \
   .lacking = "the CPU or the operating system lacks " lacks,                                                      \
   FOVEA_FOR_##architecture(.kernels = &fovea_kernels_##table)},
#define TILE_CANDIDATE(of, architecture, tiles, symbol, needed, preferred)                                         \
  {.name = #of "/" #tiles,                                                                                         \
   .set = #of,                                                                                                     \
   .needs = (needed),                                                                                              \
   .prefers = (preferred),                                                                                         \
   FOVEA_FOR_##architecture(.kernels = &fovea_kernels_##symbol)},
static const candidate candidates[] = {FOVEA_INSTRUCTION_SETS(CANDIDATE) FOVEA_TILE_TABLES(TILE_CANDIDATE)};
enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };

static int find(const char *name) {
  for (int i = 0; i < CANDIDATES; i++) {
    if (strcmp(candidates[i].name, name) == 0) return i;
  }
  return -1;
}

/* The set itself, or the set of a table. */
static int set_of(int i) {
  return candidates[i].set ? find(candidates[i].set) : i;
}

/* The set itself, or the set of a table; if the set adds pairs, the general set that follows it (registry.h). */
static int base_of(int i) {
  for (i = set_of(i); candidates[i].type != FOVEA_F32;) i++;
  return i;
}

static int has(uint64_t features) {
  return (features & ~fovea_process_record()->features) == 0;
}

/* Whether products of pairs give the bits of f32 on this CPU. The first thread that asks finds out, once. */
static int pairs_hold(int i) {
  enum { UNKNOWN, HOLD, FAIL };
  static atomic_int found[CANDIDATES];
  if (candidates[i].kernels->pair_type == FOVEA_F32) return 1;
  int state = atomic_load_explicit(&found[i], memory_order_relaxed);
  if (state == UNKNOWN) {
    fovea_float_state caller = fovea_float_begin();
    state = candidates[i].kernels->pairs_hold() ? HOLD : FAIL;
    fovea_float_end(caller);
    atomic_store_explicit(&found[i], state, memory_order_relaxed);
  }
  return state == HOLD;
}

static int runs_here(int i) {
  return candidates[i].kernels && has(candidates[i].needs | candidates[set_of(i)].needs) && pairs_hold(i);
}

/* The candidate that FOVEA_ISA names, if this build has it; else the first. */
static int named(void) {
  const char *name = fovea_process_record()->isa_cap;
  int i = name[0] ? find(name) : 0;
  return i >= 0 && (i == 0 || candidates[i].kernels) ? i : 0;
}

/* Where the choice starts. */
static int cap(void) {
  return set_of(named());
}

/* The table that a set's name stands for: the one that FOVEA_ISA names, else the first that this CPU prefers. */
static const fovea_kernels *table_of(int set) {
  if (candidates[named()].set && cap() == set && has(candidates[named()].needs)) return candidates[named()].kernels;
  for (int i = 0; i < CANDIDATES; i++) {
    const candidate *table = &candidates[i];
    if (table->set && table->kernels && set_of(i) == set && has(table->needs | table->prefers))
      return table->kernels;
  }
  return candidates[set].kernels;
}

/* A table that only adds products of pairs is for problems of its type. */
static int is_for(int i, fovea_type pair_type) {
  const fovea_kernels *kernels = candidates[i].kernels;
  return kernels &&
         (kernels->pair_type == FOVEA_F32 || (kernels->pair_type == pair_type && has(candidates[i].prefers)));
}

const fovea_kernels *fovea_dispatch_default(fovea_type pair_type) {
  static _Atomic(const fovea_kernels *) chosen[FOVEA_TYPES];
  const fovea_kernels *kernels = atomic_load_explicit(&chosen[pair_type], memory_order_acquire);
  if (kernels) return kernels;
  for (int i = cap(); !kernels; i++) { /* portable C, the last, runs everywhere */
    if (is_for(i, pair_type) && runs_here(i)) kernels = table_of(i);
  }
  atomic_store_explicit(&chosen[pair_type], kernels, memory_order_release);
  return kernels;
}

fovea_status fovea_dispatch_wanted(const char *name, fovea_type pair_type, const fovea_kernels **kernels,
                                   fovea_error *error) {
  int i = name ? find(name) : 0;
  if (i < 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "isa is \"%s\"; fovea_isa_at() lists the names", name);
  }
  if (name && !runs_here(i)) {
    return fovea_fail(error, FOVEA_ERROR_UNSUPPORTED, "isa is \"%s\", which this CPU or build does not have", name);
  }
  *kernels = !name ? fovea_dispatch_default(pair_type) : candidates[i].set ? candidates[i].kernels : table_of(i);
  return FOVEA_OK;
}

const char *fovea_dispatch_table(const fovea_kernels *kernels) {
  for (int i = 0; i < CANDIDATES; i++) {
    if (candidates[i].set && candidates[i].kernels == kernels) return candidates[i].name;
  }
  return kernels->name;
}

const char *fovea_dispatch_reason(int is_named, int in_bf16, const fovea_kernels *kernels) {
  if (is_named) return "the execution names it";
  if (kernels->pair_type == FOVEA_BF16 && in_bf16) return "half of the problem or all of it is in bf16 mode";
  if (kernels->pair_type == FOVEA_BF16) return "Q and K are bf16, and it has products of pairs of bf16";
  if (kernels->pair_type == FOVEA_F16) return "Q and K are f16, and it has products of pairs of f16";
  return cap() > 0 || candidates[named()].set ? "the best that FOVEA_ISA allows" : "the best that this CPU runs";
}

/* Whether it is the table that the name of its set means. */
static int is_meant(int i) {
  return candidates[i].set && runs_here(i) && candidates[i].kernels == table_of(set_of(i));
}

/* Of a table that this CPU can run. */
static const char *table_reason(int i) {
  if (!is_meant(i)) return "usable by name; its set means another table here";
  return named() == i ? "what its set means here, by FOVEA_ISA" : "what its set means on this CPU";
}

static const char *reason(int i, const fovea_kernels *chosen) {
  const fovea_kernels *kernels = candidates[i].kernels;
  if (!kernels)
    return "not in this build: it is for another architecture, the compiler lacks it, or it is left out";
  if (!has(candidates[set_of(i)].needs)) return candidates[set_of(i)].lacking;
  if (candidates[i].set && !has(candidates[i].needs))
    return "the CPU or the operating system lacks its instructions";
  if (candidates[i].set) return table_reason(i);
  kernels = table_of(i);
  if (!pairs_hold(i)) return "this CPU's products of pairs do not give the bits of f32";
  if (!has(candidates[i].prefers)) return "usable by name; products of pairs are slower than f32 on this CPU";
  if (kernels == chosen) return cap() > 0 ? "the best that FOVEA_ISA allows" : "the best that this CPU runs";
  if (i < cap()) return "usable by name; FOVEA_ISA caps the choice below it";
  if (kernels->pair_type == FOVEA_BF16) return "taken if Q and K are bf16, and for bf16 mode";
  if (kernels->pair_type == FOVEA_F16) return "taken if Q and K are f16";
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

static fovea_status write_report(int i, fovea_isa_report *report, fovea_error *error) {
  const fovea_kernels *chosen = fovea_dispatch_default(FOVEA_F32), *kernels = candidates[i].kernels;
  if (report->struct_size != sizeof *report) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "report.struct_size is %ju; this library's is %ju; call fovea_isa_report_init()",
                      (uint64_t)report->struct_size, (uint64_t)sizeof *report);
  }
  *report = (fovea_isa_report){
      .struct_size = report->struct_size,
      .name = candidates[i].name,
      .base = candidates[base_of(i)].name,
      .usable = runs_here(i),
      .chosen = kernels && !candidates[i].set && table_of(i) == chosen,
      .meant = is_meant(i),
      .type = candidates[i].type,
      .reason = reason(i, chosen),
  };
  return FOVEA_OK;
}

fovea_status fovea_isa_at(int index, fovea_isa_report *report) {
  if (!report) return FOVEA_ERROR_ARGUMENT;
  return index >= 0 && index < CANDIDATES ? write_report(index, report, NULL) : FOVEA_ERROR_ARGUMENT;
}

fovea_status fovea_isa_find(const char *isa, fovea_type type, fovea_isa_report *report, fovea_error *error) {
  const fovea_bounded known = fovea_bounded_type("type", type);
  const fovea_kernels *kernels;
  if (!report) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "report is NULL");
  fovea_status status = fovea_validate_bounds(NULL, &known, 1, error);
  if (!status) status = fovea_dispatch_wanted(isa, type, &kernels, error);
  return status ? status : write_report(find(kernels->name), report, error);
}

void fovea_dispatch_report(fovea_library_info *info) {
  info->isa = fovea_dispatch_default(FOVEA_F32)->name;
  info->environment = environment();
}
