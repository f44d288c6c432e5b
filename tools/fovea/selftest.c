/* fovea selftest: every kernel this CPU can run must give the stored digests of a fixed set of problems. */
#include "commands.h"
#include "selftest_layers.h"
#include "selftest_parts.h"
#include "selftest_problems.h"
#include "selftest_rotary.h"
#include <fovea/explain.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: fovea selftest\n"
    "\n"
    "Computes a fixed set of problems with every kernel that this CPU can run, and compares the\n"
    "bits of O, of the log-sum-exp, of scores and of other outputs with stored digests. The same\n"
    "digests hold on every machine, for every compiler and any number of threads. They are final:\n"
    "no version of Fovea changes them, except for digests of layers, which are new. A table that the\n"
    "name of its set means here (see fovea info) is not computed twice.\n"
    "AMX computes the problems in bf16 and int8 mode, if the CPU has it and the system permits it.\n";

/* LEFT_OUT: the problem needs a group of kernels that this build leaves out. */
typedef enum outcome { RAN, LEFT_OUT, FAILED } outcome;

static outcome outcome_of(fovea_status status, const char *isa, const char *name, const fovea_error *error,
                          failure *why) {
  if (status == FOVEA_OK) return RAN;
  if (status == FOVEA_ERROR_UNSUPPORTED) return LEFT_OUT;
  fail(why, "%s: problem '%s': %s", isa, name, error->text);
  return FAILED;
}

static outcome out_of_memory(failure *why) {
  fail(why, "out of memory");
  return FAILED;
}

/* Everything by default but the set. */
static fovea_execution on_set(const char *isa) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.isa = isa;
  return execution;
}

static outcome run_problem(const selftest_problem *description, const char *isa, uint64_t *digest, failure *why) {
  selftest_data data;
  if (!selftest_prepare(description, &data)) return out_of_memory(why);
  fovea_tensors tensors;
  fovea_error error;
  fovea_pattern *pattern;
  selftest_set_tensors(&data, &tensors);
  const fovea_execution execution = on_set(isa);
  fovea_status status = selftest_make_pattern(&data, &pattern, &error);
  data.problem.pattern = pattern;
  if (status == FOVEA_OK) status = fovea_attend(&data.problem, &tensors, &execution, &error);
  *digest = selftest_digest(&data);
  selftest_release(&data);
  fovea_pattern_destroy(pattern);
  return outcome_of(status, isa, description->name, &error, why);
}

static outcome run_rotary(const selftest_rotary *description, const char *isa, uint64_t *digest, failure *why) {
  selftest_rotary_run run;
  fovea_error error;
  if (!selftest_prepare_rotary(description, &run)) return out_of_memory(why);
  const fovea_execution execution = on_set(isa);
  const fovea_status status = fovea_rotary_apply(&run.rotary, &run.rotation, &execution, &error);
  *digest = selftest_rotary_digest(&run);
  selftest_release_rotary(&run);
  return outcome_of(status, isa, description->name, &error, why);
}

static outcome run_layer(const selftest_layer *description, const char *isa, uint64_t *digest, failure *why) {
  selftest_layer_run run;
  fovea_error error;
  if (!selftest_prepare_layer(description, &run)) return out_of_memory(why);
  const fovea_status status = selftest_run_layer(&run, isa, &error);
  *digest = selftest_layer_digest(&run);
  selftest_release_layer(&run);
  return outcome_of(status, isa, description->name, &error, why);
}

static outcome run_part(const selftest_part *description, const char *isa, uint64_t *digest, failure *why) {
  selftest_part_run run;
  fovea_error error;
  if (!selftest_prepare_part(description, &run)) {
    selftest_release_part(&run);
    return out_of_memory(why);
  }
  const fovea_status status = selftest_run_part(&run, isa, &error);
  if (status == FOVEA_OK) *digest = selftest_part_digest(&run);
  selftest_release_part(&run);
  return outcome_of(status, isa, description->name, &error, why);
}

/* Problems of one kind: tables of attention, then rotary embeddings, layers, parts of models. */
enum { ROTARY = SELFTEST_TABLES, LAYERS, PARTS, LISTS };

typedef struct list {
  const char *option, *test; /* prints the digests; computes them by the contract */
  int count;
  const uint64_t *digests;
} list;

static list list_of(int kind) {
  switch (kind) {
  case ROTARY:
    return (list){"--print-rotary", "tests/cli/test_rotary_digests.c", selftest_rotary_count,
                  selftest_rotary_digests};
  case LAYERS:
    return (list){"--print-layers", "tests/nn/test_layer_digests.c", selftest_layer_count, selftest_layer_digests};
  case PARTS:
    return (list){"--print-parts", "tests/nn/test_part_digests.c", selftest_part_count, selftest_part_digests};
  default:
    return (list){selftest_tables[kind]->option, "tests/cli/test_digests.c", selftest_tables[kind]->count,
                  selftest_tables[kind]->digests};
  }
}

static const char *problem_name(int kind, int i) {
  switch (kind) {
  case ROTARY:
    return selftest_rotaries[i].name;
  case LAYERS:
    return selftest_layers[i].name;
  case PARTS:
    return selftest_parts[i].name;
  default:
    return selftest_tables[kind]->problems[i].name;
  }
}

static outcome run(int kind, int i, const char *isa, uint64_t *digest, failure *why) {
  switch (kind) {
  case ROTARY:
    return run_rotary(&selftest_rotaries[i], isa, digest, why);
  case LAYERS:
    return run_layer(&selftest_layers[i], isa, digest, why);
  case PARTS:
    return run_part(&selftest_parts[i], isa, digest, why);
  default:
    return run_problem(&selftest_tables[kind]->problems[i], isa, digest, why);
  }
}

/* AMX computes what has a mode if it is allowed and no set is named: the name of this way, as if it were a set. */
static const char amx[] = "amx";

static bool has_mode(int kind, int i) {
  return kind == SELFTEST_MODES || (kind == LAYERS && selftest_layers[i].mode != FOVEA_MODE_EXACT);
}

/* What became of problems: `ran` of them ran. */
typedef struct tally {
  int ran, agreed, left_out;
} tally;

/* Adds one problem. The first disagreement of a set goes into the failure; all go to stdout. Returns false if the
 * problem does not run. */
static bool test_problem(int kind, int i, const char *isa, tally *of, failure *why) {
  const uint64_t expected = list_of(kind).digests[i];
  uint64_t digest = 0;
  const outcome came = run(kind, i, isa == amx ? NULL : isa, &digest, why);
  of->left_out += came == LEFT_OUT;
  if (came != RAN) return came != FAILED;
  const bool is_first = of->ran++ == of->agreed;
  if (digest == expected) return of->agreed++, true;
  const char *name = problem_name(kind, i);
  printf("%s: problem '%s' gives %016" PRIx64 ", not %016" PRIx64 "\n", isa, name, digest, expected);
  if (is_first) fail(why, "%s disagrees on problem '%s'", isa, name);
  return true;
}

/* All lists; on AMX the problems with a mode. */
static bool test_lists(const char *isa, tally *of, failure *why) {
  for (int kind = 0; kind < LISTS; kind++)
    for (int i = 0; i < list_of(kind).count; i++)
      if ((isa != amx || has_mode(kind, i)) && !test_problem(kind, i, isa, of, why)) return false;
  return true;
}

static bool test_isa(const char *isa, failure *why) {
  tally of = {0};
  if (!test_lists(isa, &of, why)) return false;
  printf("%s: %d of %d problems agree", isa, of.agreed, of.ran);
  if (of.left_out > 0) printf("; this build leaves out what %d others need", of.left_out);
  putchar('\n');
  return of.agreed == of.ran;
}

/* Whether a plan in bf16 that names no set uses AMX now. */
static bool amx_is_used(fovea_error *error) {
  fovea_problem problem;
  fovea_plan *plan;
  fovea_explanation explanation;
  fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
  problem.modes.score = problem.modes.value = FOVEA_MODE_BF16;
  fovea_explanation_init(&explanation);
  if (fovea_plan_create(&problem, NULL, &plan, error) != FOVEA_OK) return false;
  const bool used =
      fovea_plan_explain(plan, &explanation, error) == FOVEA_OK && strcmp(explanation.products, "AMX") == 0;
  if (!used) snprintf(error->text, sizeof error->text, "%s is the chosen set", explanation.isa);
  fovea_plan_destroy(plan);
  return used;
}

/* The problems of modes once more, on AMX. */
static bool test_amx(failure *why) {
  fovea_error error;
  tally of = {0};
  if (fovea_allow_amx(&error) != FOVEA_OK || !amx_is_used(&error)) {
    printf("amx: not tried: %s\n", error.text);
    return true;
  }
  if (!test_lists(amx, &of, why)) return false;
  printf("amx: %d of %d problems with a mode agree\n", of.agreed, of.ran);
  return of.agreed == of.ran;
}

static bool test_every_isa(failure *why) {
  fovea_isa_report isa;
  fovea_isa_report_init(&isa);
  bool passed = true;
  int usable = 0;
  for (int i = 0; fovea_isa_at(i, &isa) == FOVEA_OK; i++) {
    failure reason;
    if (!isa.usable || isa.meant) continue;
    usable++;
    if (test_isa(isa.name, &reason)) continue;
    if (passed) *why = reason;
    passed = false;
  }
  if (passed) passed = test_amx(why);
  return usable > 0 ? passed : fail(why, "no instruction set is usable");
}

/* Prints the table of a file of digests, from the portable kernel. */
static bool print_digests(int kind, failure *why) {
  const list of = list_of(kind);
  printf("/* Printed by `fovea selftest %s`; %s has them from the contract itself. */\n", of.option, of.test);
  for (int i = 0; i < of.count; i++) {
    uint64_t digest = 0;
    const outcome ran = run(kind, i, "scalar", &digest, why);
    if (ran == LEFT_OUT) return fail(why, "this build leaves out what '%s' needs", problem_name(kind, i));
    if (ran == FAILED) return false;
    printf("UINT64_C(0x%016" PRIx64 "), /* %s */\n", digest, problem_name(kind, i));
  }
  return true;
}

bool selftest_command(int argument_count, char **arguments, failure *why) {
  if (argument_count == 0) return test_every_isa(why);
  if (argument_count == 1 && (strcmp(arguments[0], "--help") == 0 || strcmp(arguments[0], "-h") == 0)) {
    fputs(help, stdout);
    return true;
  }
  const char *option = argument_count == 1 ? arguments[0] : "";
  for (int kind = 0; kind < LISTS; kind++)
    if (strcmp(option, list_of(kind).option) == 0) return print_digests(kind, why);
  return fail(why, "unexpected argument '%s' (see fovea selftest --help)", arguments[0]);
}
