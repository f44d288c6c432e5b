/* fovea info: the reports of fovea_info() and fovea_isa_at() as tables, and what each mode runs on. */
#include "commands.h"
#include "measure.h"
#include <fovea/explain.h>

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: fovea info [--measure]\n"
    "\n"
    "Prints the library's version, the CPU, the chosen instruction set, what computes exact, bf16 and\n"
    "int8 mode, and for each other set whether it could be used and why it was not chosen.\n"
    "\n"
    "  --measure  measures in a few seconds how fast bf16 and int8 mode are beside exact mode here: f32 tensors,\n"
    "             dims of 64 and of 128, all threads; with AMX, if the system permits it\n"
    "\n"
    "`fovea explain --measure --arithmetic int8 --rows N` does so for a problem of yours.\n";

enum { WIDTH = 15 }; /* of "instruction set" */

/* Explains a plan of the smallest problem in this mode, unless this build leaves the mode out. */
static bool explain_mode(fovea_mode mode, fovea_explanation *explanation, bool *left_out, failure *why) {
  fovea_problem problem;
  fovea_plan *plan;
  fovea_error error;
  fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
  problem.modes.score = problem.modes.value = mode;
  fovea_explanation_init(explanation);
  const fovea_status status = fovea_plan_create(&problem, NULL, &plan, &error);
  *left_out = status == FOVEA_ERROR_UNSUPPORTED;
  if (*left_out) return true;
  if (status != FOVEA_OK) return fail(why, "%s", error.text);
  const fovea_status explained = fovea_plan_explain(plan, explanation, &error);
  const bool done = explained == FOVEA_OK || explained == FOVEA_ERROR_UNSUPPORTED || fail(why, "%s", error.text);
  if (explained == FOVEA_ERROR_UNSUPPORTED) {
    explanation->isa = explanation->table = fovea_plan_isa(plan);
    explanation->products = "instructions that only an explanation would name";
  }
  fovea_plan_destroy(plan);
  return done;
}

static bool is_amx(const fovea_explanation *explanation) {
  return strcmp(explanation->products, "AMX") == 0;
}

/* A mode whose products the `kernels` compute by `products`, but for AMX if the explanation `with` it says so. */
static void print_mode(const char *name, const char *kernels, const char *products, const fovea_explanation *with) {
  printf("%-*s  ", WIDTH, name);
  if (is_amx(with)) fputs("AMX, if the program allows it (fovea_allow_amx()); else ", stdout);
  printf("%s by %s", kernels, products);
}

/* This program may use AMX: it has no signal handlers. */
static bool print_modes(failure *why) {
  static const struct {
    fovea_mode mode;
    const char *name;
  } modes[] = {{FOVEA_MODE_BF16, "bf16 mode"}, {FOVEA_MODE_INT8, "int8 mode"}};
  fovea_explanation exact, plain[2], with;
  fovea_error error = {.text = ""};
  bool left_out[2], none;
  if (!explain_mode(FOVEA_MODE_EXACT, &exact, &none, why)) return false;
  for (int i = 0; i < 2; i++) {
    if (!explain_mode(modes[i].mode, &plain[i], &left_out[i], why)) return false;
  }
  const bool allowed = fovea_allow_amx(&error) == FOVEA_OK;
  printf("%-*s  %s\n", WIDTH, "exact mode", exact.isa);
  for (int i = 0; i < 2; i++) {
    const bool bf16 = modes[i].mode == FOVEA_MODE_BF16;
    if (!explain_mode(modes[i].mode, &with, &none, why)) return false;
    if (left_out[i]) {
      printf("%-*s  not in this build\n", WIDTH, modes[i].name);
      continue;
    }
    print_mode(modes[i].name, bf16 ? plain[i].isa : plain[i].table, plain[i].products, &with);
    if (bf16 && !is_amx(&with)) printf("; not AMX: %s", allowed ? "FOVEA_ISA is set" : error.text);
    putchar('\n');
  }
  return true;
}

/* The groups of the build, and the switches of the groups that it leaves out. */
static void print_groups(const fovea_library_info *info) {
  const char *before = "";
  printf("%-*s  ", WIDTH, "groups");
  for (int i = 0; i < info->group_count; i++) {
    if (!info->groups[i].built) continue;
    printf("%s%s", before, info->groups[i].name);
    before = ", ";
  }
  before = "; without ";
  for (int i = 0; i < info->group_count; i++) {
    if (info->groups[i].built) continue;
    printf("%s%s (%s)", before, info->groups[i].name, info->groups[i].without);
    before = ", ";
  }
  putchar('\n');
}

static void print_info(const fovea_library_info *info) {
  printf("%-*s  %s\n", WIDTH, "version", info->version);
  printf("%-*s  %s\n", WIDTH, "cpu", info->cpu);
  printf("%-*s  %s\n", WIDTH, "instruction set", info->isa);
  printf("%-*s  %s, %d by default\n", WIDTH, "threads", info->threading, info->threads);
  printf("%-*s  %s\n", WIDTH, "environment", *info->environment ? info->environment : "FOVEA_ISA is not set");
}

static bool measure_mode(fovea_mode mode, int64_t dim, int threads, measured_rates *rates, failure *why) {
  fovea_problem like;
  fovea_problem_init(&like, 1, 1, 1, 1, 1, dim, dim);
  like.modes.score = like.modes.value = mode;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = threads;
  return measure_rates(&like, &execution, rates, why);
}

/* Comes after print_modes(), which has allowed AMX. */
static bool print_speeds(int threads, failure *why) {
  static const struct {
    fovea_mode mode;
    const char *name;
  } modes[] = {{FOVEA_MODE_BF16, "bf16 mode"}, {FOVEA_MODE_INT8, "int8 mode"}};
  for (int64_t dim = 64; dim <= 128; dim += 64) {
    measured_rates exact, rates;
    if (!measure_mode(FOVEA_MODE_EXACT, dim, threads, &exact, why)) return false;
    printf("\n%-*s  %d dims: %.0f Gflop/s with many rows, %.0f GB/s with one\n", WIDTH, "exact mode", (int)dim,
           exact.flops_per_second / 1e9, exact.bytes_per_second / 1e9);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
      fovea_explanation explanation;
      bool left_out;
      if (!explain_mode(modes[i].mode, &explanation, &left_out, why)) return false;
      if (left_out) continue;
      if (!measure_mode(modes[i].mode, dim, threads, &rates, why)) return false;
      printf("%-*s  %.2f x as fast with many rows, %.2f x with one\n", WIDTH, modes[i].name,
             rates.flops_per_second / exact.flops_per_second, rates.bytes_per_second / exact.bytes_per_second);
    }
  }
  return true;
}

static void print_sets(void) {
  fovea_isa_report isa;
  fovea_isa_report_init(&isa);
  putchar('\n');
  printf("%-*s  usable  chosen  reason\n", WIDTH, "");
  for (int i = 0; fovea_isa_at(i, &isa) == FOVEA_OK; i++) {
    printf("%-*s  %-6s  %-6s  %s\n", WIDTH, isa.name, isa.usable ? "yes" : "no", isa.chosen ? "yes" : "no",
           isa.reason);
  }
}

bool info_command(int argument_count, char **arguments, failure *why) {
  if (argument_count == 1 && (strcmp(arguments[0], "--help") == 0 || strcmp(arguments[0], "-h") == 0)) {
    fputs(help, stdout);
    return true;
  }
  const bool measures = argument_count > 0 && strcmp(arguments[0], "--measure") == 0;
  if (argument_count > measures)
    return fail(why, "unexpected argument '%s' (see fovea info --help)", arguments[measures]);

  fovea_library_info info;
  fovea_library_info_init(&info);
  fovea_status status = fovea_info(&info);
  if (status != FOVEA_OK) return fail(why, "%s", fovea_status_text(status));
  print_info(&info);
  print_groups(&info);
  if (!print_modes(why)) return false;
  print_sets();
  return !measures || print_speeds(info.threads, why);
}
