#include "attend_modes.h"

#include <string.h>

enum { MODES = FOVEA_MODE_INT8 + 1 };

static const char *const names[MODES] = {
    [FOVEA_MODE_EXACT] = "exact", [FOVEA_MODE_BF16] = "bf16", [FOVEA_MODE_INT8] = "int8"};

const char *mode_name(fovea_mode mode) {
  return names[mode];
}

/* Reads a mode's name, which ends at a comma or with the text, and moves *at after it. */
static bool read_mode(const char **at, fovea_mode *mode) {
  const size_t length = strcspn(*at, ",");
  for (int i = 0; i < MODES; i++) {
    if (strlen(names[i]) != length || memcmp(*at, names[i], length) != 0) continue;
    *mode = (fovea_mode)i;
    *at += length;
    return true;
  }
  return false;
}

/* One name is for both halves. */
static bool read_modes(const char *text, fovea_problem *problem) {
  if (!read_mode(&text, &problem->modes.score)) return false;
  problem->modes.value = problem->modes.score;
  if (*text == '\0') return true;
  text++;
  return read_mode(&text, &problem->modes.value) && *text == '\0';
}

/* A permission: without AMX the same bits come, later. */
static bool allow_amx(const fovea_problem *problem, const char *isa, failure *why) {
  if (problem->modes.score == FOVEA_MODE_EXACT && problem->modes.value == FOVEA_MODE_EXACT)
    return fail(why, "--allow-amx needs --arithmetic bf16 or int8: exact arithmetic does not use AMX");
  if (isa) return fail(why, "--allow-amx and --isa exclude each other: a set that is named runs without AMX");
  (void)fovea_allow_amx(NULL);
  return true;
}

bool set_modes(fovea_problem *problem, const attend_options *options, failure *why) {
  if (options->arithmetic && !read_modes(options->arithmetic, problem))
    return fail(why,
                "--arithmetic takes exact, bf16 or int8, or one for scores and one for values as in int8,bf16, "
                "not '%s'",
                options->arithmetic);
  return !options->allow_amx || allow_amx(problem, options->isa, why);
}
