/* Which kernel runs: the choice, its caps, and the report. */
#include "arch/kernels.h"
#include "arch/registry.h"
#include "src/system/dispatch.h"
#include "support/again.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"
#include "support/trial.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_SKIP = 77 };

static fovea_library_info library_info(void) {
  fovea_library_info info;
  fovea_library_info_init(&info);
  assert_int_equal(fovea_info(&info), FOVEA_OK);
  return info;
}

static fovea_isa_report report_at(int index) {
  fovea_isa_report report;
  fovea_isa_report_init(&report);
  assert_int_equal(fovea_isa_at(index, &report), FOVEA_OK);
  return report;
}

static int isa_count(void) {
  fovea_isa_report report;
  fovea_isa_report_init(&report);
  int count = 0;
  while (fovea_isa_at(count, &report) == FOVEA_OK) count++;
  return count;
}

static void test_info(void **state) {
  (void)state;
  const fovea_library_info info = library_info();
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", FOVEA_VERSION_MAJOR, FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH);
  assert_string_equal(info.version, version);
  assert_string_equal(fovea_version(), version);
  assert_true(strlen(info.cpu) > 0);
  assert_true(strcmp(info.threading, "OpenMP") == 0 || strcmp(info.threading, "none") == 0);
  assert_int_equal(info.threads, fovea_default_threads());
  int chosen = 0, has_scalar = 0;
  for (int i = 0; i < isa_count(); i++) {
    const fovea_isa_report report = report_at(i);
    assert_true(strlen(report.name) > 0);
    assert_true(strlen(report.reason) > 0);
    if (report.chosen) {
      assert_true(report.usable);
      assert_string_equal(report.name, info.isa);
    }
    chosen += report.chosen;
    has_scalar |= strcmp(report.name, "scalar") == 0 && report.usable;
  }
  assert_int_equal(chosen, 1);
  assert_true(has_scalar);
}

/* The tables of sets with several, as the registry has them. */
static const struct tile_table {
  const char *name;
  const fovea_kernels *kernels; /* NULL: for another architecture */
} tables[] = {
#define LINE(set, architecture, tiles, symbol, needs, prefers)                                                     \
  {.name = #set "/" #tiles, FOVEA_FOR_##architecture(.kernels = &fovea_kernels_##symbol)},
    FOVEA_TILE_TABLES(LINE)
#undef LINE
};
enum { TABLES = sizeof tables / sizeof tables[0] };

/* Each line of the registry names a table that is as the line says, and the report has it at the line's place. */
static void test_registry(void **state) {
  (void)state;
  static const struct line {
    const char *name;
    fovea_type type;
    const fovea_kernels *kernels; /* NULL: for another architecture */
  } lines[] = {
#define LINE(isa, architecture, needs, prefers, pairs, lacks)                                                      \
  {.name = #isa, .type = FOVEA_##pairs, FOVEA_FOR_##architecture(.kernels = &fovea_kernels_##isa)},
      FOVEA_INSTRUCTION_SETS(LINE)
#undef LINE
  };
  enum { LINES = sizeof lines / sizeof lines[0] };
  assert_int_equal(isa_count(), LINES + TABLES);
  for (int i = 0; i < LINES; i++) {
    const fovea_isa_report report = report_at(i);
    assert_string_equal(report.name, lines[i].name);
    assert_int_equal(strcmp(report.base, report.name) == 0, lines[i].type == FOVEA_F32);
    assert_int_equal(lines[i].kernels == NULL, strstr(report.reason, "not in this build") != NULL);
    if (lines[i].kernels == NULL) continue;
    assert_string_equal(lines[i].kernels->name, lines[i].name);
    assert_int_equal(lines[i].kernels->pair_type, lines[i].type);
  }
  assert_string_equal(lines[LINES - 1].name, "scalar");
  for (int i = 0; i < TABLES; i++) {
    const fovea_isa_report report = report_at(LINES + i);
    assert_string_equal(report.name, tables[i].name);
    assert_string_equal(report.base, set_of(tables[i].name));
    assert_false(report.chosen); /* what is chosen is its set */
    assert_int_equal(tables[i].kernels == NULL, strstr(report.reason, "not in this build") != NULL);
    if (tables[i].kernels != NULL) assert_string_equal(tables[i].kernels->name, set_of(tables[i].name));
  }
}

static const char *default_isa(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
  fovea_plan *plan;
  assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
  const char *name = fovea_plan_isa(plan);
  fovea_plan_destroy(plan);
  return name;
}

/* The table for problems of f32: the first usable one that is not for another type only; with a name, from that
 * name on. */
static const char *best_isa(const char *from) {
  int i = 0;
  while (from != NULL && strcmp(report_at(i).name, from) != 0) i++;
  while (!report_at(i).usable || report_at(i).type != FOVEA_F32) i++;
  static char name[32];
  snprintf(name, sizeof name, "%s", set_of(report_at(i).name));
  return name;
}

/* The best usable one, unless the environment says otherwise. */
static void test_choice(void **state) {
  (void)state;
  const fovea_library_info info = library_info();
  assert_string_equal(default_isa(), info.isa);
  const char *cap = getenv("FOVEA_ISA");
  assert_int_equal(strlen(info.environment) > 0, cap != NULL && cap[0] != '\0');
  if (cap == NULL) assert_string_equal(info.isa, best_isa(NULL));
}

/* The instruction set that ctest sets by FOVEA_ISA and FOVEA_EXPECT_ISA runs, and gives right results. */
static void test_expected_isa(void **state) {
  (void)state;
  const char *expected = getenv("FOVEA_EXPECT_ISA");
  if (expected == NULL) skip();
  assert_string_equal(library_info().isa, expected);
  assert_string_equal(default_isa(), expected);
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 4, 2, 100, 300, 64, 64);
  problem.causal = 1;
  struct trial trial = trial_create(&problem, 1);
  trial_run(&trial, NULL, NULL);
  assert_contract(&trial, 1000000);
  trial_destroy(&trial);
}

/* A problem may name any usable table, and its plan runs on it. Of a table, the plan names the set. */
static void test_named_isas(void **state) {
  (void)state;
  const char *const *isas = usable_names();
  for (int i = 0; isas[i] != NULL; i++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
    fovea_plan *plan;
    assert_int_equal(fovea_plan_create(&problem, on_isa(isas[i]), &plan, NULL), FOVEA_OK);
    assert_string_equal(fovea_plan_isa(plan), set_of(isas[i]));
    fovea_plan_destroy(plan);
  }
}

static const fovea_kernels *table_named(const char *name) {
  const fovea_kernels *table;
  assert_int_equal(fovea_dispatch_wanted(name, FOVEA_F32, &table, NULL), FOVEA_OK);
  return table;
}

/* A table by its name is that table; its set is the one of which the report says so. */
static void test_tables_of_sets(void **state) {
  (void)state;
  const int sets = isa_count() - TABLES;
  for (int i = 0; i < TABLES; i++) {
    const fovea_isa_report report = report_at(sets + i);
    if (!report.usable) continue;
    assert_ptr_equal(table_named(report.name), tables[i].kernels);
    assert_int_equal(table_named(set_of(report.name)) == tables[i].kernels, report.meant);
  }
}

/* In a process of its own, with a table in FOVEA_ISA: its set means this table now. */
static int check_table_capped(const char *name) {
  return fovea_dispatch_default(FOVEA_F32) != table_named(name) || table_named(set_of(name)) != table_named(name);
}

static void test_environment_names_tables(void **state) {
  (void)state;
  const char *const *isas = usable_names();
  for (int i = 0; isas[i] != NULL; i++) {
    if (strchr(isas[i], '/') == NULL) continue;
    const int status = run_again(isas[i], "table", isas[i], "");
    if (status == AGAIN_IMPOSSIBLE) skip();
    if (status != 0) fail_msg("FOVEA_ISA=%s is not what runs", isas[i]);
  }
}

/* Products of pairs have the bits of f32 on every CPU that has them. They are taken for problems of their type if
 * they are faster, and for no others. */
static void test_pairs(void **state) {
  (void)state;
  for (int i = 0; i < isa_count(); i++) {
    const fovea_isa_report report = report_at(i);
    if (report.type == FOVEA_F32) continue;
    assert_null(strstr(report.reason, "do not give the bits"));
    for (int type = FOVEA_F32; type <= FOVEA_BF16; type++) {
      fovea_problem problem;
      fovea_plan *plan;
      fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
      problem.q_type = problem.k_type = (fovea_type)type;
      assert_int_equal(fovea_plan_create(&problem, NULL, &plan, NULL), FOVEA_OK);
      const int taken = strcmp(fovea_plan_isa(plan), report.name) == 0;
      assert_int_equal(taken, strstr(report.reason, "taken") != NULL && type == (int)report.type);
      fovea_plan_destroy(plan);
    }
  }
}

/* Runs in a process of its own. `chosen` is the instruction set that must be chosen, `report` what the
 * environment's report must contain. */
static int check_capped(const char *chosen, const char *report) {
  fovea_library_info info;
  fovea_library_info_init(&info);
  if (fovea_info(&info) != FOVEA_OK) return 1;
  if (strcmp(info.isa, chosen) != 0 || strstr(info.environment, report) == NULL) {
    fprintf(stderr, "chosen %s, not %s; environment: %s\n", info.isa, chosen, info.environment);
    return 1;
  }
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
  fovea_plan *plan;
  if (fovea_plan_create(&problem, NULL, &plan, NULL) != FOVEA_OK) return 1;
  const int same = strcmp(fovea_plan_isa(plan), chosen) == 0;
  fovea_plan_destroy(plan);
  return !same;
}

/* Starts this program again with FOVEA_ISA set. */
static void assert_cap(const char *cap, const char *chosen, const char *report) {
  const int status = run_again(cap, "capped", chosen, report);
  if (status == AGAIN_IMPOSSIBLE) skip();
  if (status != 0) fail_msg("FOVEA_ISA=%s: %s is not chosen", cap, chosen);
}

static void test_environment_caps(void **state) {
  (void)state;
  const char *const *isas = usable_isas();
  for (int i = 0; isas[i] != NULL; i++) assert_cap(isas[i], best_isa(isas[i]), "FOVEA_ISA");
}

/* A name that is unknown, or of another machine, changes nothing, and the report says so. */
static void test_environment_ignored(void **state) {
  (void)state;
  const char *best = best_isa(NULL);
  assert_cap("avx9000", best, "ignored");
  assert_cap("", best, "");
  for (int i = 0; i < isa_count(); i++)
    if (strstr(report_at(i).reason, "not in this build") != NULL) assert_cap(report_at(i).name, best, "ignored");
}

/* Reports end after the last one, and a report that was not set up is refused. */
static void test_reports_end(void **state) {
  (void)state;
  fovea_isa_report report;
  fovea_isa_report_init(&report);
  const int count = isa_count();
  assert_int_equal(fovea_isa_at(count, &report), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_isa_at(INT_MAX, &report), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_isa_at(-1, &report), FOVEA_ERROR_ARGUMENT);
  assert_int_equal(fovea_isa_at(0, NULL), FOVEA_ERROR_ARGUMENT);
  for (size_t size = 0; size <= 2 * sizeof report; size++) {
    report.struct_size = size;
    assert_int_equal(fovea_isa_at(0, &report), size == sizeof report ? FOVEA_OK : FOVEA_ERROR_ARGUMENT);
  }
}

/* Of every name and type: the set that the plan of such a problem names. */
static void test_find(void **state) {
  (void)state;
  const char *const *isas = usable_names();
  for (int i = -1; i < 0 || isas[i] != NULL; i++) {
    for (int type = FOVEA_F32; type <= FOVEA_BF16; type++) {
      fovea_isa_report report;
      fovea_isa_report_init(&report);
      fovea_problem problem;
      fovea_plan *plan;
      fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
      problem.q_type = problem.k_type = (fovea_type)type;
      assert_int_equal(fovea_plan_create(&problem, on_isa(i < 0 ? NULL : isas[i]), &plan, NULL), FOVEA_OK);
      assert_int_equal(fovea_isa_find(i < 0 ? NULL : isas[i], (fovea_type)type, &report, NULL), FOVEA_OK);
      assert_string_equal(report.name, fovea_plan_isa(plan));
      assert_true(report.usable);
      fovea_plan_destroy(plan);
    }
  }
}

static void assert_not_found(const char *isa, int type, fovea_isa_report *report, fovea_status status,
                             const char *text) {
  fovea_error error;
  assert_int_equal(fovea_isa_find(isa, (fovea_type)type, report, &error), status);
  assert_int_equal(error.status, status);
  assert_error_says(&error, text);
}

static void test_find_refuses(void **state) {
  (void)state;
  fovea_isa_report report, wrong;
  fovea_isa_report_init(&report);
  fovea_isa_report_init(&wrong);
  wrong.struct_size--;
  assert_not_found("avx9000", FOVEA_F32, &report, FOVEA_ERROR_ARGUMENT, "isa: avx9000");
  assert_not_found("", FOVEA_F32, &report, FOVEA_ERROR_ARGUMENT, "isa");
  assert_not_found(NULL, FOVEA_BF16 + 1, &report, FOVEA_ERROR_ARGUMENT, "type");
  assert_not_found(NULL, -1, &report, FOVEA_ERROR_ARGUMENT, "type");
  assert_not_found(NULL, FOVEA_F32, NULL, FOVEA_ERROR_ARGUMENT, "report");
  assert_not_found(NULL, FOVEA_F32, &wrong, FOVEA_ERROR_ARGUMENT, "struct_size");
  for (int i = 0; i < isa_count(); i++) {
    const fovea_isa_report other = report_at(i);
    char says[64] = "isa: ";
    strncat(says, other.name, sizeof says - 6);
    if (!other.usable) assert_not_found(other.name, FOVEA_F32, &report, FOVEA_ERROR_UNSUPPORTED, says);
  }
}

/* A set that adds products of pairs has all other operations of its base. */
static void test_bases(void **state) {
  (void)state;
  for (int i = 0; i < isa_count(); i++) {
    const fovea_isa_report report = report_at(i);
    if (!report.usable) continue;
    const fovea_kernels *kernels = table_named(report.name), *base = table_named(report.base);
    if (report.type != FOVEA_F32) assert_ptr_equal(kernels->softmax, base->softmax);
    assert_int_equal(base->pair_type, FOVEA_F32);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_info),
      cmocka_unit_test(test_registry),
      cmocka_unit_test(test_reports_end),
      cmocka_unit_test(test_find),
      cmocka_unit_test(test_find_refuses),
      cmocka_unit_test(test_bases),
      cmocka_unit_test(test_choice),
      cmocka_unit_test(test_expected_isa),
      cmocka_unit_test(test_named_isas),
      cmocka_unit_test(test_tables_of_sets),
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_environment_caps),
      cmocka_unit_test(test_environment_names_tables),
      cmocka_unit_test(test_environment_ignored),
  };
  if (argc == 4 && strcmp(argv[1], "capped") == 0) return check_capped(argv[2], argv[3]);
  if (argc == 4 && strcmp(argv[1], "table") == 0) return check_table_capped(argv[2]);
  const char *expected = getenv("FOVEA_EXPECT_ISA");
  int usable = expected == NULL;
  for (int i = 0; !usable && usable_isas()[i] != NULL; i++) usable = strcmp(usable_isas()[i], expected) == 0;
  if (!usable) {
    print_message("skipped: this CPU does not have %s\n", expected);
    return EXIT_SKIP;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
