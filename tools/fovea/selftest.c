/* fovea selftest: every kernel this CPU can run must give the stored digests of a fixed set of problems. */
#include "commands.h"
#include "selftest_problems.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: fovea selftest\n"
    "\n"
    "Computes a fixed set of problems with every kernel that this CPU can run, and compares the\n"
    "bits of O and of the log-sum-exp with stored digests. The same digests hold on every\n"
    "machine, for every compiler and any number of threads. They are final: no version of Fovea\n"
    "changes them.\n";

static bool run_problem(const selftest_problem *description, const char *isa, uint64_t *digest, failure *why) {
  selftest_data data;
  if (!selftest_prepare(description, &data)) return fail(why, "out of memory");
  fovea_tensors tensors;
  fovea_error error;
  fovea_tensors_init(&tensors, data.q, data.k, data.v, data.o, data.lse);
  tensors.mask = data.mask;
  tensors.sinks = data.sinks;
  data.problem.isa = isa;
  bool done = fovea_attend(&data.problem, &tensors, NULL, &error) == FOVEA_OK;
  if (!done) fail(why, "%s: problem '%s': %s", isa, description->name, error.text);
  *digest = selftest_digest(&data);
  selftest_release(&data);
  return done;
}

/* The first disagreement goes into the failure, all of them to stdout. */
static bool test_isa(const char *isa, failure *why) {
  int agreed = 0;
  for (int i = 0; i < selftest_problem_count; i++) {
    uint64_t digest = 0;
    if (!run_problem(&selftest_problems[i], isa, &digest, why)) return false;
    if (digest == selftest_digests[i]) {
      agreed++;
      continue;
    }
    printf("%s: problem '%s' gives %016" PRIx64 ", not %016" PRIx64 "\n", isa, selftest_problems[i].name, digest,
           selftest_digests[i]);
    if (agreed == i) fail(why, "%s disagrees on problem '%s'", isa, selftest_problems[i].name);
  }
  printf("%s: %d of %d problems agree\n", isa, agreed, selftest_problem_count);
  return agreed == selftest_problem_count;
}

static bool test_every_isa(failure *why) {
  fovea_library_info info = {.struct_size = sizeof info};
  fovea_status status = fovea_info(&info);
  if (status != FOVEA_OK) return fail(why, "%s", fovea_status_text(status));
  bool passed = true;
  int usable = 0;
  for (int i = 0; i < info.isa_count; i++) {
    failure reason;
    if (!info.isas[i].usable) continue;
    usable++;
    if (test_isa(info.isas[i].name, &reason)) continue;
    if (passed) *why = reason;
    passed = false;
  }
  return usable > 0 ? passed : fail(why, "no instruction set is usable");
}

/* The table in selftest_digests.inc, from the portable kernel. */
static bool print_table(failure *why) {
  printf(
      "/* Printed by `fovea selftest --print`; tests/cli/test_digests.c has them from the contract itself. */\n");
  for (int i = 0; i < selftest_problem_count; i++) {
    uint64_t digest = 0;
    if (!run_problem(&selftest_problems[i], "scalar", &digest, why)) return false;
    printf("UINT64_C(0x%016" PRIx64 "), /* %s */\n", digest, selftest_problems[i].name);
  }
  return true;
}

bool selftest_command(int argument_count, char **arguments, failure *why) {
  if (argument_count == 0) return test_every_isa(why);
  if (argument_count == 1 && (strcmp(arguments[0], "--help") == 0 || strcmp(arguments[0], "-h") == 0)) {
    fputs(help, stdout);
    return true;
  }
  if (argument_count == 1 && strcmp(arguments[0], "--print") == 0) return print_table(why);
  return fail(why, "unexpected argument '%s' (see fovea selftest --help)", arguments[0]);
}
