#include "isas.h"

#include "arch/formats.h"
#include "check.h"
#include "modes.h"
#include "src/system/dispatch.h"
#include "tables.h"

#include <stdio.h>
#include <string.h>

static void list_isas(const char **names, int with_pairs, int with_other_names) {
  fovea_isa_report report;
  fovea_isa_report_init(&report);
  int count = 0;
  for (int i = 0; fovea_isa_at(i, &report) == FOVEA_OK; i++) {
    if (!report.usable || (!with_pairs && report.type != FOVEA_F32)) continue;
    if (with_other_names || !report.meant) names[count++] = report.name;
  }
  names[count] = NULL;
  assert_true(count > 0);
}

const char *const *usable_isas(void) {
  static const char *names[ISA_COUNT + 1];
  list_isas(names, 1, 0);
  return names;
}

const char *const *usable_names(void) {
  static const char *names[ISA_COUNT + 1];
  list_isas(names, 1, 1);
  return names;
}

const char *set_of(const char *isa) {
  static char set[32];
  snprintf(set, sizeof set, "%.*s", (int)strcspn(isa, "/"), isa);
  return set;
}

const char *const *whole_isas(void) {
  static const char *names[ISA_COUNT + 1];
  list_isas(names, 0, 0);
  return names;
}

static const fovea_kernels *table_named(const char *name, fovea_type type) {
  const fovea_kernels *table;
  assert_int_equal(fovea_dispatch_wanted(name, type, &table, NULL), FOVEA_OK);
  return table;
}

/* Whether the table of name i acts like one before, or, if it has pairs, like one without. */
static int acts_like_another(const char *const *names, int i, const fovea_problem *problem) {
  const fovea_kernels *table = table_named(names[i], problem->q_type);
  for (int j = 0; names[j] != NULL; j++) {
    const fovea_kernels *other = table_named(names[j], problem->q_type);
    const int plainer = table->pair_type != FOVEA_F32 && other->pair_type == FOVEA_F32;
    const int dearer = table->pair_type == FOVEA_F32 && other->pair_type != FOVEA_F32;
    if (j != i && (plainer || (j < i && !dearer)) && tables_run_alike(table, other, problem)) return 1;
  }
  return 0;
}

static double work_of(const fovea_problem *problem) {
  const double rows = (double)problem->batch * (double)problem->heads * (double)problem->q_len;
  return rows * (double)problem->kv_len * (double)(problem->qk_dim + problem->v_dim);
}

/* Whether portable C is left out: it computes one in five of the problems that take it long, where it is not alone.
 * All tests together would else spend a quarter of their time there, and more where they are slow: there any call without
 * a problem counts as long. */
static int is_left_out(const char *isa, const fovea_problem *problem) {
  const double long_work =
      USUAL_OR_SLOW(USUAL_OR_LONG(2e5, 4e6), 2e4); /* multiply-adds: some milliseconds, or less */
  static int long_problems = 0;
  const int is_long = problem ? work_of(problem) > long_work : USUAL_OR_SLOW(0, 1);
  return strcmp(isa, "scalar") == 0 && is_long && long_problems++ % 5 != 0;
}

/* Each type and pair of modes has a list of its own, so that a list stays while tests ask for others. */
enum { LISTS = FOVEA_TYPES * MODE_PAIRS };

static const char *const *list_different(const char *names[LISTS][ISA_COUNT + 1], const char *const *all,
                                         const fovea_problem *problem) {
  fovea_problem plain;
  fovea_problem_init(&plain, 1, 1, 1, 1, 1, 1, 1);
  const fovea_problem *given = problem;
  if (problem == NULL) problem = &plain;
  const char **different =
      names[((int)problem->q_type * 3 + (int)problem->modes.score) * 3 + (int)problem->modes.value];
  int count = 0;
  for (int i = 0; all[i] != NULL; i++)
    if (!acts_like_another(all, i, problem) && (count == 0 || !is_left_out(all[i], given)))
      different[count++] = all[i];
  different[count] = NULL;
  return different;
}

const char *const *usable_isas_for(const fovea_problem *problem) {
  static const char *names[LISTS][ISA_COUNT + 1];
  return list_different(names, usable_isas(), problem);
}

const char *const *whole_isas_for(const fovea_problem *problem) {
  static const char *names[LISTS][ISA_COUNT + 1];
  return list_different(names, whole_isas(), problem);
}
