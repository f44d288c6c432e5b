/* fovea selftest: every kernel this CPU can run must give the stored digests of a fixed set of problems. */
#include "commands.h"
#include "selftest_layers.h"
#include "selftest_parts.h"
#include "selftest_problems.h"
#include "selftest_rotary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: fovea selftest\n"
    "\n"
    "Computes a fixed set of problems with every kernel that this CPU can run, and compares the\n"
    "bits of O, of the log-sum-exp and of scores with stored digests. The same digests hold on\n"
    "every machine, for every compiler and any number of threads. They are final: no version of\n"
    "Fovea changes them, except for those of layers, which are new.\n";

static bool run_problem(const selftest_problem *description, const char *isa, uint64_t *digest, failure *why) {
  selftest_data data;
  if (!selftest_prepare(description, &data)) return fail(why, "out of memory");
  fovea_tensors tensors;
  fovea_error error;
  fovea_tensors_init(&tensors, data.q, data.k, data.v, data.o, data.lse);
  tensors.mask = data.mask;
  tensors.scores = data.scores;
  if (data.problem.sink == FOVEA_SINK_PER_HEAD) tensors.sinks = data.sinks;
  data.problem.isa = isa;
  bool done = fovea_attend(&data.problem, &tensors, NULL, &error) == FOVEA_OK;
  if (!done) fail(why, "%s: problem '%s': %s", isa, description->name, error.text);
  *digest = selftest_digest(&data);
  selftest_release(&data);
  return done;
}

static bool run_rotary(const selftest_rotary *description, const char *isa, uint64_t *digest, failure *why) {
  selftest_rotary_run run;
  fovea_error error;
  if (!selftest_prepare_rotary(description, &run)) return fail(why, "out of memory");
  run.rotary.isa = isa;
  bool done = fovea_rotary_apply(&run.rotary, &run.rotation, NULL, &error) == FOVEA_OK;
  if (!done) fail(why, "%s: problem '%s': %s", isa, description->name, error.text);
  *digest = selftest_rotary_digest(&run);
  selftest_release_rotary(&run);
  return done;
}

static bool run_layer(const selftest_layer *description, const char *isa, uint64_t *digest, failure *why) {
  selftest_layer_run run;
  fovea_error error;
  if (!selftest_prepare_layer(description, &run)) return fail(why, "out of memory");
  run.linear.isa = isa;
  bool done = fovea_nn_linear_run(&run.linear, &run.rows, NULL, &error) == FOVEA_OK;
  if (!done) fail(why, "%s: problem '%s': %s", isa, description->name, error.text);
  *digest = selftest_layer_digest(&run);
  selftest_release_layer(&run);
  return done;
}

static bool run_part(const selftest_part *description, const char *isa, uint64_t *digest, failure *why) {
  selftest_part_run run;
  fovea_error error;
  bool done = selftest_prepare_part(description, &run);
  if (!done) fail(why, "out of memory");
  if (done && selftest_run_part(&run, isa, &error) != FOVEA_OK)
    done = fail(why, "%s: problem '%s': %s", isa, description->name, error.text);
  if (done) *digest = selftest_part_digest(&run);
  selftest_release_part(&run);
  return done;
}

/* All problems in one list: attention, rotary embeddings, layers, parts of models. */
static int first_layer(void) {
  return selftest_problem_count + selftest_rotary_count;
}

static int first_part(void) {
  return first_layer() + selftest_layer_count;
}

static int problem_count(void) {
  return first_part() + selftest_part_count;
}

static const char *problem_name(int i) {
  const int rotary = i - selftest_problem_count, layer = i - first_layer(), part = i - first_part();
  if (part >= 0) return selftest_parts[part].name;
  if (layer >= 0) return selftest_layers[layer].name;
  return rotary < 0 ? selftest_problems[i].name : selftest_rotaries[rotary].name;
}

static uint64_t stored_digest(int i) {
  const int rotary = i - selftest_problem_count, layer = i - first_layer(), part = i - first_part();
  if (part >= 0) return selftest_part_digests[part];
  if (layer >= 0) return selftest_layer_digests[layer];
  return rotary < 0 ? selftest_digests[i] : selftest_rotary_digests[rotary];
}

static bool run(int i, const char *isa, uint64_t *digest, failure *why) {
  const int rotary = i - selftest_problem_count, layer = i - first_layer(), part = i - first_part();
  if (part >= 0) return run_part(&selftest_parts[part], isa, digest, why);
  if (layer >= 0) return run_layer(&selftest_layers[layer], isa, digest, why);
  return rotary < 0 ? run_problem(&selftest_problems[i], isa, digest, why)
                    : run_rotary(&selftest_rotaries[rotary], isa, digest, why);
}

/* The first disagreement goes into the failure; all go to stdout. */
static bool test_isa(const char *isa, failure *why) {
  int agreed = 0;
  for (int i = 0; i < problem_count(); i++) {
    uint64_t digest = 0;
    if (!run(i, isa, &digest, why)) return false;
    if (digest == stored_digest(i)) {
      agreed++;
      continue;
    }
    printf("%s: problem '%s' gives %016" PRIx64 ", not %016" PRIx64 "\n", isa, problem_name(i), digest,
           stored_digest(i));
    if (agreed == i) fail(why, "%s disagrees on problem '%s'", isa, problem_name(i));
  }
  printf("%s: %d of %d problems agree\n", isa, agreed, problem_count());
  return agreed == problem_count();
}

static bool test_every_isa(failure *why) {
  fovea_library_info info = {.struct_size = sizeof info};
  fovea_status status = fovea_info(&info);
  if (status != FOVEA_OK) return fail(why, "%s", fovea_status_text(status));
  bool passed = true;
  int usable = 0;
  for (int i = 0; i < info.isa_count; i++) {
    failure reason;
    if (!info.isas[i]->usable) continue;
    usable++;
    if (test_isa(info.isas[i]->name, &reason)) continue;
    if (passed) *why = reason;
    passed = false;
  }
  return usable > 0 ? passed : fail(why, "no instruction set is usable");
}

/* Prints the table of a file of digests, from the portable kernel. */
static bool print_table(const char *option, const char *test, int first, int end, failure *why) {
  printf("/* Printed by `fovea selftest %s`; %s has them from the contract itself. */\n", option, test);
  for (int i = first; i < end; i++) {
    uint64_t digest = 0;
    if (!run(i, "scalar", &digest, why)) return false;
    printf("UINT64_C(0x%016" PRIx64 "), /* %s */\n", digest, problem_name(i));
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
  if (strcmp(option, "--print") == 0)
    return print_table(option, "tests/cli/test_digests.c", 0, selftest_problem_count, why);
  if (strcmp(option, "--print-rotary") == 0)
    return print_table(option, "tests/cli/test_rotary_digests.c", selftest_problem_count, first_layer(), why);
  if (strcmp(option, "--print-layers") == 0)
    return print_table(option, "tests/nn/test_layer_digests.c", first_layer(), first_part(), why);
  if (strcmp(option, "--print-parts") == 0)
    return print_table(option, "tests/nn/test_part_digests.c", first_part(), problem_count(), why);
  return fail(why, "unexpected argument '%s' (see fovea selftest --help)", arguments[0]);
}
