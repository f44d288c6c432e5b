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

/* Explains a plan of the smallest problem in this mode. */
static bool explain_mode(fovea_mode mode, fovea_explanation *explanation, failure *why) {
  fovea_problem problem;
  fovea_plan *plan;
  fovea_error error;
  fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
  problem.scores = problem.values = mode;
  fovea_explanation_init(explanation);
  if (fovea_plan_create(&problem, NULL, &plan, &error) != FOVEA_OK) return fail(why, "%s", error.text);
  const bool done = fovea_plan_explain(plan, explanation, &error) == FOVEA_OK || fail(why, "%s", error.text);
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
  fovea_explanation exact, bf16, bf16_with, int8, int8_with;
  fovea_error error = {.text = ""};
  if (!explain_mode(FOVEA_MODE_EXACT, &exact, why) || !explain_mode(FOVEA_MODE_BF16, &bf16, why) ||
      !explain_mode(FOVEA_MODE_INT8, &int8, why))
    return false;
  const bool allowed = fovea_allow_amx(&error) == FOVEA_OK;
  if (!explain_mode(FOVEA_MODE_BF16, &bf16_with, why) || !explain_mode(FOVEA_MODE_INT8, &int8_with, why))
    return false;
  printf("%-*s  %s\n", WIDTH, "exact mode", exact.isa);
  print_mode("bf16 mode", bf16.isa, bf16.products, &bf16_with);
  if (!is_amx(&bf16_with)) printf("; not AMX: %s", allowed ? "FOVEA_ISA is set" : error.text);
  putchar('\n');
  print_mode("int8 mode", int8.table, int8.products, &int8_with);
  putchar('\n');
  return true;
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
  like.scores = like.values = mode;
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
      if (!measure_mode(modes[i].mode, dim, threads, &rates, why)) return false;
      printf("%-*s  %.2f x as fast with many rows, %.2f x with one\n", WIDTH, modes[i].name,
             rates.flops_per_second / exact.flops_per_second, rates.bytes_per_second / exact.bytes_per_second);
    }
  }
  return true;
}

static void print_sets(void) {
  fovea_isa_report isa = {.struct_size = sizeof isa};
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

  fovea_library_info info = {.struct_size = sizeof info};
  fovea_status status = fovea_info(&info);
  if (status != FOVEA_OK) return fail(why, "%s", fovea_status_text(status));
  print_info(&info);
  if (!print_modes(why)) return false;
  print_sets();
  return !measures || print_speeds(info.threads, why);
}
