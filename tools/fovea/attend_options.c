#include "attend_options.h"

#include <string.h>

static const option known[] = {
    {"--q", OPTION_TEXT, offsetof(attend_options, q), 0, "a path"},
    {"--k", OPTION_TEXT, offsetof(attend_options, k), 0, "a path"},
    {"--v", OPTION_TEXT, offsetof(attend_options, v), 0, "a path"},
    {"--out", OPTION_TEXT, offsetof(attend_options, out), 0, "a path"},
    {"--lse", OPTION_TEXT, offsetof(attend_options, lse), 0, "a path"},
    {"--weights", OPTION_TEXT, offsetof(attend_options, weights), 0, "a path"},
    {"--weights-type", OPTION_TYPE, offsetof(attend_options, weights_type), 0, "f32, f16 or bf16"},
    {"--mask", OPTION_TEXT, offsetof(attend_options, mask), 0, "a path"},
    {"--mask-begin", OPTION_LIST, offsetof(attend_options, mask_begin), 1, "a number"},
    {"--pattern", OPTION_TEXT, offsetof(attend_options, pattern), 0, "a pattern"},
    {"--csr", OPTION_TEXT, offsetof(attend_options, csr), 0, "two paths INDPTR,INDICES"},
    {"--global", OPTION_TEXT, offsetof(attend_options, global), 0, "a list of positions, or a path"},
    {"--by-row", OPTION_FLAG, offsetof(attend_options, by_row), 0, ""},
    {"--sinks", OPTION_TEXT, offsetof(attend_options, sinks), 0, "a path, or zero"},
    {"--causal", OPTION_FLAG, offsetof(attend_options, causal), 0, ""},
    {"--window", OPTION_LIST, offsetof(attend_options, window), 2, "two numbers LEFT,RIGHT"},
    {"--chunk", OPTION_LIST, offsetof(attend_options, chunk), 3, "three numbers SIZE,LEFT,RIGHT"},
    {"--offset", OPTION_LIST, offsetof(attend_options, offset), 0, "a number, or one per batch entry"},
    {"--q-lens", OPTION_LIST, offsetof(attend_options, q_lens), 0, "a number per batch entry"},
    {"--kv-lens", OPTION_LIST, offsetof(attend_options, kv_lens), 0, "a number per batch entry"},
    {"--scale", OPTION_NUMBER, offsetof(attend_options, scale), 0, "a number"},
    {"--softcap", OPTION_NUMBER, offsetof(attend_options, softcap), 0, "a number"},
    {"--cast", OPTION_TYPE, offsetof(attend_options, cast), 0, "f32, f16 or bf16"},
    {"--out-type", OPTION_TYPE, offsetof(attend_options, out_type), 0, "f32, f16 or bf16"},
    {"--threads", OPTION_LIST, offsetof(attend_options, threads), 1, "a number"},
    {"--isa", OPTION_TEXT, offsetof(attend_options, isa), 0, "a name"},
};

static const option_table table = {"attend", known, sizeof known / sizeof known[0]};

static bool check_differ(const char *name, const char *path, const char *other_name, const char *other,
                         failure *why) {
  return !path || !other || strcmp(path, other) != 0 ||
         fail(why, "%s and %s name the same file '%s'", name, other_name, path);
}

static bool check_required(const attend_options *options, failure *why) {
  const char *missing = !options->q     ? "--q"
                        : !options->k   ? "--k"
                        : !options->v   ? "--v"
                        : !options->out ? "--out"
                                        : NULL;
  if (missing) return fail(why, "%s is missing (see fovea attend --help)", missing);
  if (options->weights_type.given && !options->weights) return fail(why, "--weights-type needs --weights");
  if (options->by_row && !options->pattern && !options->csr && !options->global)
    return fail(why, "--by-row needs --pattern, --csr or --global");
  return check_differ("--out", options->out, "--lse", options->lse, why) &&
         check_differ("--out", options->out, "--weights", options->weights, why) &&
         check_differ("--lse", options->lse, "--weights", options->weights, why);
}

bool attend_options_parse(attend_options *options, int argument_count, char **arguments, failure *why) {
  *options = (attend_options){.help = options_ask_help(argument_count, arguments)};
  return options->help ||
         (options_parse(&table, options, argument_count, arguments, why) && check_required(options, why));
}

void attend_options_free(attend_options *options) {
  options_free(&table, options);
}
