/* fovea info: the report of fovea_info() as a table, and what each mode runs on. */
#include "commands.h"
#include <fovea/explain.h>

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: fovea info\n"
    "\n"
    "Prints the library's version, the CPU, the chosen instruction set, what computes exact and bf16\n"
    "mode, and for each other set whether it could be used and why it was not chosen.\n"
    "`fovea explain --measure --arithmetic bf16 --rows N` measures how fast bf16 mode is here.\n";

enum { WIDTH = 15 }; /* of "instruction set" */

/* Explains a plan of the smallest problem in bf16. */
static bool explain_bf16(fovea_explanation *explanation, failure *why) {
  fovea_problem problem;
  fovea_plan *plan;
  fovea_error error;
  fovea_problem_init(&problem, 1, 1, 1, 1, 1, 1, 1);
  problem.scores = problem.values = FOVEA_MODE_BF16;
  fovea_explanation_init(explanation);
  if (fovea_plan_create(&problem, &plan, &error) != FOVEA_OK) return fail(why, "%s", error.text);
  const bool done = fovea_plan_explain(plan, explanation, &error) == FOVEA_OK || fail(why, "%s", error.text);
  fovea_plan_destroy(plan);
  return done;
}

/* This program may use AMX: it has no signal handlers. */
static bool print_modes(failure *why) {
  fovea_explanation without, with;
  fovea_error error = {.text = ""};
  if (!explain_bf16(&without, why)) return false;
  const bool allowed = fovea_allow_amx(&error) == FOVEA_OK;
  if (!explain_bf16(&with, why)) return false;
  printf("%-*s  %s\n", WIDTH, "exact mode", without.isa);
  if (strcmp(with.products, "AMX") == 0)
    printf("%-*s  AMX, if the program allows it (fovea_allow_amx()); else %s by %s\n", WIDTH, "bf16 mode",
           without.isa, without.products);
  else
    printf("%-*s  %s by %s; not AMX: %s\n", WIDTH, "bf16 mode", without.isa, without.products,
           allowed ? "FOVEA_ISA is set" : error.text);
  return true;
}

static void print_info(const fovea_library_info *info) {
  printf("%-*s  %s\n", WIDTH, "version", info->version);
  printf("%-*s  %s\n", WIDTH, "cpu", info->cpu);
  printf("%-*s  %s\n", WIDTH, "instruction set", info->isa);
  printf("%-*s  %s, %d by default\n", WIDTH, "threads", info->threading, info->threads);
  printf("%-*s  %s\n", WIDTH, "environment", *info->environment ? info->environment : "FOVEA_ISA is not set");
}

static void print_sets(const fovea_library_info *info) {
  putchar('\n');
  printf("%-*s  usable  chosen  reason\n", WIDTH, "");
  for (int i = 0; i < info->isa_count; i++) {
    const fovea_isa_report *isa = info->isas[i];
    printf("%-*s  %-6s  %-6s  %s\n", WIDTH, isa->name, isa->usable ? "yes" : "no", isa->chosen ? "yes" : "no",
           isa->reason);
  }
}

bool info_command(int argument_count, char **arguments, failure *why) {
  if (argument_count == 1 && (strcmp(arguments[0], "--help") == 0 || strcmp(arguments[0], "-h") == 0)) {
    fputs(help, stdout);
    return true;
  }
  if (argument_count > 0) return fail(why, "unexpected argument '%s' (see fovea info --help)", arguments[0]);

  fovea_library_info info = {.struct_size = sizeof info};
  fovea_status status = fovea_info(&info);
  if (status != FOVEA_OK) return fail(why, "%s", fovea_status_text(status));
  print_info(&info);
  if (!print_modes(why)) return false;
  print_sets(&info);
  return true;
}
