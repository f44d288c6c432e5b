/* CPUs that are not at hand, and operating systems that hide a part of one: which features are found, which kernel
 * is chosen, and that it is right. */
#include "arch/kernels.h"
#include "src/system/cpu.h"
#include "src/system/dispatch.h"
#include "support/again.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CPUID.1:ECX, CPUID.7.0:EBX and ECX, CPUID.7.1:EAX, by the manuals of Intel and AMD. */
#define BIT(n) (UINT32_C(1) << (n))
enum { FMA_BIT = 12, XSAVE_BIT = 26, OSXSAVE_BIT = 27, AVX_BIT = 28, F16C_BIT = 29 };
#define AVX_WORDS        (BIT(XSAVE_BIT) | BIT(OSXSAVE_BIT) | BIT(AVX_BIT))
#define HASWELL_WORDS    (AVX_WORDS | BIT(FMA_BIT) | BIT(F16C_BIT))
#define AVX2_WORD        BIT(5)
#define AVX512_F         BIT(16)
#define AVX512_DQ        BIT(17)
#define AVX512_BW        BIT(30)
#define AVX512_VL        BIT(31)
#define AVX512_WORD      (AVX2_WORD | AVX512_F | AVX512_DQ | AVX512_BW | AVX512_VL)
#define AVX512_BF16_WORD BIT(5)
#define AVX512_VNNI_WORD BIT(11)
#define AVX_VNNI_WORD    BIT(4)
/* The parts of XCR0: x87, SSE, upper halves of YMM, mask registers, upper halves of ZMM 0 to 15, ZMM 16 to 31. */
enum {
  XMM_SAVED = 0x3,
  YMM_SAVED = 0x7,
  ZMM_SAVED = 0xe7,
  NO_MASKS = 0xc7,
  NO_ZMM_HALVES = 0xa7,
  NO_UPPER_ZMM = 0x67
};
enum { YMM_NOT_XMM = 0x5, AMX_TOO = 0x602e7 };

#define HASWELL (FOVEA_CPU_AVX2 | FOVEA_CPU_FMA | FOVEA_CPU_F16C)
#define SKYLAKE (HASWELL | FOVEA_CPU_AVX512)
#define VNNI    (FOVEA_CPU_AVX512_VNNI | FOVEA_CPU_AVX_VNNI)
#define INTEL   "GenuineIntel"
#define AMD     "AuthenticAMD"

static const struct {
  const char *what, *vendor;
  uint32_t leaf1_ecx, leaf7_ebx, leaf7_1_eax;
  uint64_t saved, features;
  uint32_t leaf7_ecx;
} cpus[] = {
    {"nothing known", "", 0, 0, 0, 0, 0, 0},
    {"Westmere", INTEL, 0, 0, 0, 0, 0, 0},
    {"Sandy Bridge", INTEL, AVX_WORDS, 0, 0, YMM_SAVED, 0, 0},
    {"Ivy Bridge", INTEL, AVX_WORDS | BIT(F16C_BIT), 0, 0, YMM_SAVED, FOVEA_CPU_F16C, 0},
    {"Haswell", INTEL, HASWELL_WORDS, AVX2_WORD, 0, YMM_SAVED, HASWELL, 0},
    {"Haswell, system without XSAVE", INTEL, HASWELL_WORDS & ~BIT(OSXSAVE_BIT), AVX2_WORD, 0, 0, 0, 0},
    {"Haswell, XCR0 that does not count", INTEL, HASWELL_WORDS & ~BIT(OSXSAVE_BIT), AVX2_WORD, 0, YMM_SAVED, 0, 0},
    {"Haswell, YMM hidden", INTEL, HASWELL_WORDS, AVX2_WORD, 0, XMM_SAVED, 0, 0},
    {"Haswell, XMM hidden", INTEL, HASWELL_WORDS, AVX2_WORD, 0, YMM_NOT_XMM, 0, 0},
    {"Haswell, FMA hidden", INTEL, HASWELL_WORDS & ~BIT(FMA_BIT), AVX2_WORD, 0, YMM_SAVED, HASWELL & ~FOVEA_CPU_FMA,
     0},
    {"Knights Landing", INTEL, HASWELL_WORDS, AVX2_WORD | AVX512_F, 0, ZMM_SAVED, HASWELL, 0},
    {"Skylake", INTEL, HASWELL_WORDS, AVX512_WORD, 0, ZMM_SAVED, SKYLAKE, 0},
    {"Skylake, ZMM hidden", INTEL, HASWELL_WORDS, AVX512_WORD, 0, YMM_SAVED, HASWELL, 0},
    {"Skylake, masks hidden", INTEL, HASWELL_WORDS, AVX512_WORD, 0, NO_MASKS, HASWELL, 0},
    {"Skylake, halves of ZMM hidden", INTEL, HASWELL_WORDS, AVX512_WORD, 0, NO_ZMM_HALVES, HASWELL, 0},
    {"Skylake, ZMM 16 to 31 hidden", INTEL, HASWELL_WORDS, AVX512_WORD, 0, NO_UPPER_ZMM, HASWELL, 0},
    {"Skylake, everything hidden", INTEL, HASWELL_WORDS, AVX512_WORD, 0, XMM_SAVED, 0, 0},
    {"Skylake, F hidden", INTEL, HASWELL_WORDS, AVX512_WORD & ~AVX512_F, 0, ZMM_SAVED, HASWELL, 0},
    {"Skylake, DQ hidden", INTEL, HASWELL_WORDS, AVX512_WORD & ~AVX512_DQ, 0, ZMM_SAVED, HASWELL, 0},
    {"Skylake, BW hidden", INTEL, HASWELL_WORDS, AVX512_WORD & ~AVX512_BW, 0, ZMM_SAVED, HASWELL, 0},
    {"Skylake, VL hidden", INTEL, HASWELL_WORDS, AVX512_WORD & ~AVX512_VL, 0, ZMM_SAVED, HASWELL, 0},
    {"Cascade Lake", INTEL, HASWELL_WORDS, AVX512_WORD, 0, ZMM_SAVED, SKYLAKE | FOVEA_CPU_AVX512_VNNI,
     AVX512_VNNI_WORD},
    {"Cascade Lake, ZMM hidden", INTEL, HASWELL_WORDS, AVX512_WORD, 0, YMM_SAVED, HASWELL, AVX512_VNNI_WORD},
    {"Cascade Lake, BW hidden", INTEL, HASWELL_WORDS, AVX512_WORD & ~AVX512_BW, 0, ZMM_SAVED, HASWELL,
     AVX512_VNNI_WORD},
    {"Alder Lake", INTEL, HASWELL_WORDS, AVX2_WORD, AVX_VNNI_WORD, YMM_SAVED, HASWELL | FOVEA_CPU_AVX_VNNI, 0},
    {"Alder Lake, YMM hidden", INTEL, HASWELL_WORDS, AVX2_WORD, AVX_VNNI_WORD, XMM_SAVED, 0, 0},
    {"Sapphire Rapids", INTEL, HASWELL_WORDS, AVX512_WORD, AVX512_BF16_WORD | AVX_VNNI_WORD, AMX_TOO,
     SKYLAKE | FOVEA_CPU_AVX512_BF16 | VNNI, AVX512_VNNI_WORD},
    {"Sapphire Rapids, ZMM hidden", INTEL, HASWELL_WORDS, AVX512_WORD, AVX512_BF16_WORD | AVX_VNNI_WORD, YMM_SAVED,
     HASWELL | FOVEA_CPU_AVX_VNNI, AVX512_VNNI_WORD},
    {"Sapphire Rapids, VNNI hidden", INTEL, HASWELL_WORDS, AVX512_WORD, AVX512_BF16_WORD, AMX_TOO,
     SKYLAKE | FOVEA_CPU_AVX512_BF16, 0},
    {"Zen 1, system without XSAVE", AMD, HASWELL_WORDS & ~BIT(OSXSAVE_BIT), AVX2_WORD, 0, 0, 0, 0},
    {"Zen 2, AVX2 hidden", AMD, HASWELL_WORDS, 0, 0, YMM_SAVED, HASWELL & ~FOVEA_CPU_AVX2, 0},
    {"Zen 2", AMD, HASWELL_WORDS, AVX2_WORD, 0, YMM_SAVED, HASWELL | FOVEA_CPU_READS_ROWS, 0},
    {"Zen 4", AMD, HASWELL_WORDS, AVX512_WORD, AVX512_BF16_WORD, ZMM_SAVED,
     SKYLAKE | FOVEA_CPU_AVX512_BF16 | FOVEA_CPU_FAST_BF16 | FOVEA_CPU_READS_ROWS | FOVEA_CPU_AVX512_VNNI,
     AVX512_VNNI_WORD},
    {"Zen 4, ZMM hidden", AMD, HASWELL_WORDS, AVX512_WORD, AVX512_BF16_WORD, YMM_SAVED,
     HASWELL | FOVEA_CPU_READS_ROWS, AVX512_VNNI_WORD},
    {"Zen 5", AMD, HASWELL_WORDS, AVX512_WORD, AVX512_BF16_WORD | AVX_VNNI_WORD, ZMM_SAVED,
     SKYLAKE | FOVEA_CPU_AVX512_BF16 | FOVEA_CPU_FAST_BF16 | FOVEA_CPU_READS_ROWS | VNNI, AVX512_VNNI_WORD},
    {"Zen 5, ZMM hidden", AMD, HASWELL_WORDS, AVX512_WORD, AVX512_BF16_WORD | AVX_VNNI_WORD, YMM_SAVED,
     HASWELL | FOVEA_CPU_READS_ROWS | FOVEA_CPU_AVX_VNNI, AVX512_VNNI_WORD},
};
enum { CPUS = sizeof cpus / sizeof cpus[0] };

static uint64_t features_of(int cpu) {
  fovea_x86_words words = {.leaf1_ecx = cpus[cpu].leaf1_ecx,
                           .leaf7_ebx = cpus[cpu].leaf7_ebx,
                           .leaf7_ecx = cpus[cpu].leaf7_ecx,
                           .leaf7_1_eax = cpus[cpu].leaf7_1_eax,
                           .saved = cpus[cpu].saved};
  memcpy(words.vendor, cpus[cpu].vendor, strlen(cpus[cpu].vendor));
  return fovea_cpu_x86_features(&words);
}

static void test_features(void **state) {
  (void)state;
#ifdef __APPLE__
  skip(); /* macOS does not use AVX-512 */
#endif
  for (int i = 0; i < CPUS; i++) {
    const uint64_t features = features_of(i);
    const int follows = strcmp(cpus[i].vendor, INTEL) == 0 && cpus[i].features & FOVEA_CPU_AVX2;
    const uint64_t wanted = cpus[i].features | (follows ? FOVEA_CPU_FOLLOWS_ROWS : 0);
    if (features != wanted)
      fail_msg("%s: features %llx, not %llx", cpus[i].what, (unsigned long long)features,
               (unsigned long long)wanted);
  }
}

/* AMX is there if the CPU says tiles and bf16, and the system saves the tiles and what says how they lie. */
static void test_amx_features(void **state) {
  (void)state;
#ifdef __APPLE__
  skip();
#endif
  static const struct {
    uint32_t leaf7_edx;
    uint64_t saved;
    int has_amx;
  } systems[] = {{BIT(22) | BIT(24), AMX_TOO, 1},
                 {BIT(22) | BIT(24), ZMM_SAVED, 0},
                 {BIT(22) | BIT(24), AMX_TOO & ~0x20000, 0},
                 {BIT(22) | BIT(24), AMX_TOO & ~0x40000, 0},
                 {BIT(24), AMX_TOO, 0},
                 {BIT(22), AMX_TOO, 0}};
  for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
    const fovea_x86_words words = {.leaf1_ecx = HASWELL_WORDS,
                                   .leaf7_ebx = AVX512_WORD,
                                   .leaf7_edx = systems[i].leaf7_edx,
                                   .saved = systems[i].saved};
    const uint64_t features = fovea_cpu_x86_features(&words);
    assert_int_equal(features, SKYLAKE | (systems[i].has_amx ? FOVEA_CPU_AMX_BF16 : 0));
  }
}

/* Replaces by the linker what the library finds in this process. Whether products of pairs are fast, or rows as
 * good as panels, depends on the maker, and here any CPU that has the instructions may pass for one of his. */
static uint64_t visible = UINT64_MAX, fast_pairs, reads_rows;

uint64_t __real_fovea_cpu_features(void);
uint64_t __wrap_fovea_cpu_features(void);

uint64_t __wrap_fovea_cpu_features(void) {
  uint64_t features = __real_fovea_cpu_features() & visible;
  if (features & FOVEA_CPU_AVX2) features |= reads_rows;
  return features & FOVEA_CPU_AVX512_BF16 ? features | fast_pairs : features;
}

/* The lines of the registry. */
static const struct set {
  const char *name;
  fovea_type type;
  uint64_t needs, prefers;
  int is_built;
} sets[] = {
#define LINE(isa, architecture, needed, preferred, pairs, lacks)                                                   \
  {#isa, FOVEA_##pairs, needed, preferred, 0 FOVEA_FOR_##architecture(+1)},
    FOVEA_INSTRUCTION_SETS(LINE)
#undef LINE
};
static const struct table {
  const char *set, *name;
  const fovea_kernels *kernels; /* NULL: for another architecture */
  uint64_t needs, prefers;
} tables[] = {
#define LINE(of, architecture, tiles, symbol, needed, preferred)                                                   \
  {.set = #of,                                                                                                     \
   .name = #of "/" #tiles,                                                                                         \
   .needs = (needed),                                                                                              \
   .prefers = (preferred),                                                                                         \
   FOVEA_FOR_##architecture(.kernels = &fovea_kernels_##symbol)},
    FOVEA_TILE_TABLES(LINE)
#undef LINE
};
enum { SETS = sizeof sets / sizeof sets[0], TABLES = sizeof tables / sizeof tables[0] };

static const struct set *set_named(const char *name) {
  for (int i = 0; i < SETS; i++)
    if (strcmp(sets[i].name, name) == 0) return &sets[i];
  return NULL;
}

static int has_all(uint64_t features, uint64_t wanted) {
  return (features & wanted) == wanted;
}

/* The best kernel for f32 that these features allow. */
static const char *expected_isa(uint64_t features) {
  int i = 0;
  while (!sets[i].is_built || sets[i].type != FOVEA_F32 || !has_all(features, sets[i].needs)) i++;
  return sets[i].name;
}

/* Products of pairs are taken for bf16 if they are fast and FOVEA_ISA allows them; the report says which. */
static void check_pairs(const fovea_isa_report *report, uint64_t features, const char *cap) {
  const int fast = has_all(features, set_named(report->name)->prefers), capped = cap != NULL && cap[0] != '\0';
  fovea_problem problem;
  fovea_plan *plan;
  fovea_problem_init(&problem, 1, 1, 1, 4, 4, 4, 4);
  problem.q_type = problem.k_type = FOVEA_BF16;
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
  assert_int_equal(strcmp(fovea_plan_isa(plan), report->name) == 0, fast && !capped);
  fovea_plan_destroy(plan);
  assert_non_null(strstr(report->reason, !fast    ? "slower"
                                         : capped ? "FOVEA_ISA caps"
                                                  : "taken if Q and K are bf16, and for bf16 mode"));
}

/* By a name, or of a problem that names none; NULL: refused. */
static const fovea_kernels *table_named(const char *name) {
  const fovea_kernels *table;
  return fovea_dispatch_wanted(name, FOVEA_F32, &table, NULL) == FOVEA_OK ? table : NULL;
}

static fovea_isa_report report_named(const char *name) {
  fovea_isa_report report;
  fovea_isa_report_init(&report);
  for (int i = 0; fovea_isa_at(i, &report) == FOVEA_OK; i++)
    if (strcmp(report.name, name) == 0) return report;
  fail_msg("no report of %s", name);
  return report;
}

/* What a set with several tables means on a CPU: the first whose instructions the CPU has and that suits it, by the
 * report and by what problems get. Tables whose instructions it lacks are refused. */
static void check_tables(const fovea_library_info *info, uint64_t features) {
  const struct table *meant = NULL;
  for (int i = 0; i < TABLES; i++) {
    const struct table *table = &tables[i];
    const fovea_isa_report report = report_named(table->name);
    const int is_first = i == 0 || strcmp(tables[i - 1].set, table->set) != 0;
    if (is_first) meant = NULL;
    if (table->kernels == NULL || !has_all(features, set_named(table->set)->needs)) continue;
    const int runs = has_all(features, table->needs),
              is_meant = !meant && runs && has_all(features, table->prefers);
    if (is_meant) {
      meant = table;
      assert_ptr_equal(table_named(table->set), table->kernels);
    }
    assert_int_equal(report.usable, runs);
    assert_int_equal(report.meant, is_meant);
    assert_int_equal(strstr(report.reason, "what its set means") != NULL, is_meant);
    assert_int_equal(table_named(table->name) != NULL, runs);
    if (!runs) assert_non_null(strstr(report.reason, "lacks its instructions"));
  }
  if (getenv("FOVEA_ISA") == NULL || getenv("FOVEA_ISA")[0] == '\0')
    assert_ptr_equal(fovea_dispatch_default(FOVEA_F32), table_named(info->isa));
}

/* Runs in a process of its own, which sees a part of this CPU. The right kernel must be chosen, others refused with
 * a reason, and results must be right. */
static void test_visible_part(void **state) {
  (void)state;
  const uint64_t features = __wrap_fovea_cpu_features();
  fovea_library_info info;
  fovea_library_info_init(&info);
  assert_int_equal(fovea_info(&info), FOVEA_OK);
  assert_string_equal(info.isa, expected_isa(features));
  check_tables(&info, features);
  fovea_isa_report report;
  fovea_isa_report_init(&report);
  for (int i = 0; fovea_isa_at(i, &report) == FOVEA_OK; i++) {
    fovea_problem problem;
    fovea_plan *plan;
    fovea_problem_init(&problem, 1, 1, 1, 4, 4, 4, 4);
    assert_int_equal(fovea_plan_create(&problem, on_isa(report.name), &plan, NULL),
                     report.usable ? FOVEA_OK : FOVEA_ERROR_UNSUPPORTED);
    fovea_plan_destroy(plan);
    const struct set *set = set_named(set_of(report.name));
    if (!has_all(features, set->needs)) {
      assert_false(report.usable);
      assert_true(strstr(report.reason, "the CPU or the operating system lacks") != NULL ||
                  strstr(report.reason, "not in this build") != NULL);
    }
    if (report.usable && set->type == FOVEA_BF16) check_pairs(&report, features, getenv("FOVEA_ISA"));
  }
  for (int type = FOVEA_F32; type <= FOVEA_BF16; type++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 2, 1, 40, 200, 24, 24);
    problem.q_type = problem.k_type = (fovea_type)type;
    problem.causal = 1;
    struct trial trial = trial_create(&problem, 1);
    trial_run(&trial, NULL, NULL);
    assert_contract(&trial, 1000000);
    trial.problem.modes.score = trial.problem.modes.value = FOVEA_MODE_INT8;
    trial_clear(&trial);
    trial_run(&trial, NULL, NULL);
    assert_contract(&trial, 1000000);
    trial_destroy(&trial);
  }
}

/* The argument is an index of `cpus`, whose features limit which of this CPU's are visible; anything else: this
 * whole CPU. */
static int check_visible_part(const char *cpu) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_visible_part)};
  char *end;
  const long number = strtol(cpu, &end, 10);
  if (end != cpu && number >= 0 && number < CPUS) {
    visible = features_of((int)number) | FOVEA_CPU_NEON;
    fast_pairs = visible & FOVEA_CPU_FAST_BF16;
    reads_rows = visible & FOVEA_CPU_READS_ROWS;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}

static void assert_visible_part(int cpu, const char *cap) {
  char number[16];
  snprintf(number, sizeof number, "%d", cpu);
  const int status = run_again(cap, number, "", "");
  if (status == AGAIN_IMPOSSIBLE) skip();
  if (status != 0) fail_msg("wrong for a CPU like %s, FOVEA_ISA being \"%s\"", cpus[cpu].what, cap);
}

static void test_visible_parts(void **state) {
  (void)state;
  for (int i = 0; i < CPUS; i++) {
    assert_visible_part(i, "");
    if (cpus[i].features & FOVEA_CPU_FAST_BF16) assert_visible_part(i, "avx512");
    /* A table that this CPU lacks caps as its set does. */
    if (cpus[i].features & FOVEA_CPU_AVX512) assert_visible_part(i, "avx512/vnni");
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_features), cmocka_unit_test(test_amx_features),
                                     cmocka_unit_test(test_visible_parts)};
  if (argc >= 2) return check_visible_part(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
