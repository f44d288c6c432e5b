#include "attend_options.h"

#include <string.h>

static const option known[] = {
    {"--q", OPTION_TEXT, offsetof(attend_options, q), 0, "a path"},
    {"--k", OPTION_TEXT, offsetof(attend_options, k), 0, "a path"},
    {"--v", OPTION_TEXT, offsetof(attend_options, v), 0, "a path"},
    {"--out", OPTION_TEXT, offsetof(attend_options, out), 0, "a path"},
    {"--lse", OPTION_TEXT, offsetof(attend_options, lse), 0, "a path"},
    {"--trace", OPTION_TEXT, offsetof(attend_options, trace), 0, "a path"},
    {"--weights", OPTION_TEXT, offsetof(attend_options, weights), 0, "a path"},
    {"--weights-type", OPTION_TYPE, offsetof(attend_options, weights_type), 0, "f32, f16 or bf16"},
    {"--scores", OPTION_TEXT, offsetof(attend_options, scores), 0, "a path"},
    {"--scores-mode", OPTION_LIST, offsetof(attend_options, scores_mode), 1, "a number"},
    {"--column-sums", OPTION_TEXT, offsetof(attend_options, column_sums), 0, "a path"},
    {"--top-keys", OPTION_TEXT, offsetof(attend_options, top_keys), 0, "a path"},
    {"--topk", OPTION_LIST, offsetof(attend_options, top_k), 1, "a number"},
    {"--cast", OPTION_TYPE, offsetof(attend_options, cast), 0, "f32, f16 or bf16"},
    {"--key-centre", OPTION_TEXT, offsetof(attend_options, key_centre), 0, "a path"},
    {"--key-scale", OPTION_TEXT, offsetof(attend_options, key_scale), 0, "a path"},
    {"--value-scale", OPTION_TEXT, offsetof(attend_options, value_scale), 0, "a path"},
    {"--out-type", OPTION_TYPE, offsetof(attend_options, out_type), 0, "f32, f16 or bf16"},
};

/* Of problems, also for `fovea explain`. */
const option problem_options[] = {
    {"--mask", OPTION_TEXT, offsetof(attend_options, mask), 0, "a path"},
    {"--mask-begin", OPTION_LIST, offsetof(attend_options, mask_begin), 1, "a number"},
    {"--alibi", OPTION_TEXT, offsetof(attend_options, alibi), 0, "a path"},
    {"--relative", OPTION_TEXT, offsetof(attend_options, relative), 0, "a path"},
    {"--shaw-keys", OPTION_TEXT, offsetof(attend_options, shaw_keys), 0, "a path"},
    {"--shaw-values", OPTION_TEXT, offsetof(attend_options, shaw_values), 0, "a path"},
    {"--pattern", OPTION_TEXT, offsetof(attend_options, pattern), 0, "a pattern"},
    {"--csr", OPTION_TEXT, offsetof(attend_options, csr), 0, "two paths INDPTR,INDICES"},
    {"--global", OPTION_TEXT, offsetof(attend_options, global), 0, "a list of positions, or a path"},
    {"--by-row", OPTION_FLAG, offsetof(attend_options, by_row), 0, ""},
    {"--sinks", OPTION_TEXT, offsetof(attend_options, sinks), 0, "a path, or zero"},
    {"--causal", OPTION_FLAG, offsetof(attend_options, causal), 0, ""},
    {"--window", OPTION_LIST, offsetof(attend_options, window), 2, "two numbers LEFT,RIGHT"},
    {"--chunk", OPTION_LIST, offsetof(attend_options, chunk), 3, "three numbers SIZE,LEFT,RIGHT"},
    {"--offset", OPTION_LIST, offsetof(attend_options, offset), 0, "a number, or one per batch element"},
    {"--q-lens", OPTION_LIST, offsetof(attend_options, q_lens), 0, "a number per batch element"},
    {"--kv-lens", OPTION_LIST, offsetof(attend_options, kv_lens), 0, "a number per batch element"},
    {"--kv-begins", OPTION_LIST, offsetof(attend_options, kv_begins), 0, "a number per batch element"},
    {"--scale", OPTION_NUMBER, offsetof(attend_options, scale), 0, "a number"},
    {"--leaky-relu", OPTION_NUMBER, offsetof(attend_options, leaky_relu), 0, "a slope"},
    {"--softcap", OPTION_NUMBER, offsetof(attend_options, softcap), 0, "a number"},
    {"--normaliser", OPTION_TEXT, offsetof(attend_options, normaliser), 0, "a name"},
    {"--sigmoid-bias", OPTION_NUMBER, offsetof(attend_options, sigmoid_bias), 0, "a number"},
    {"--divisor", OPTION_TEXT, offsetof(attend_options, divisor), 0, "none, keys, sum or a number"},
    {"--arithmetic", OPTION_TEXT, offsetof(attend_options, arithmetic), 0,
     "exact, bf16 or int8, or one for each half"},
    {"--allow-amx", OPTION_FLAG, offsetof(attend_options, allow_amx), 0, ""},
    {"--threads", OPTION_LIST, offsetof(attend_options, threads), 1, "a number"},
    {"--isa", OPTION_TEXT, offsetof(attend_options, isa), 0, "a name"},
};
const size_t problem_option_count = sizeof problem_options / sizeof problem_options[0];

static const option_table table = {"attend", known, sizeof known / sizeof known[0], problem_options,
                                   sizeof problem_options / sizeof problem_options[0]};

static bool check_differ(const char *name, const char *path, const char *other_name, const char *other,
                         failure *why) {
  return !path || !other || strcmp(path, other) != 0 ||
         fail(why, "%s and %s name the same file '%s'", name, other_name, path);
}

/* No two outputs go to the same file. */
static bool check_paths(const attend_options *options, failure *why) {
  const struct {
    const char *name, *path;
  } outputs[] = {{"--out", options->out},
                 {"--lse", options->lse},
                 {"--weights", options->weights},
                 {"--scores", options->scores},
                 {"--column-sums", options->column_sums},
                 {"--top-keys", options->top_keys},
                 {"--trace", options->trace}};
  const int count = sizeof outputs / sizeof outputs[0];
  for (int i = 0; i < count; i++)
    for (int j = i + 1; j < count; j++)
      if (!check_differ(outputs[i].name, outputs[i].path, outputs[j].name, outputs[j].path, why)) return false;
  return true;
}

/* One run writes weights or scores, not both. */
static bool check_scores(const attend_options *options, failure *why) {
  if (options->scores && options->weights) return fail(why, "--scores and --weights exclude each other");
  if (options->scores_mode.count > 0 && !options->scores) return fail(why, "--scores-mode needs --scores");
  if (options->scores_mode.count > 0 &&
      (options->scores_mode.numbers[0] < 0 || options->scores_mode.numbers[0] > 3))
    return fail(why, "--scores-mode is %lld; it must be 0 to 3", (long long)options->scores_mode.numbers[0]);
  if ((options->top_k.count > 0) != (options->top_keys != NULL))
    return fail(why, "--topk and --top-keys need each other");
  return true;
}

bool problem_options_check(const attend_options *options, failure *why) {
  return !options->by_row || options->pattern || options->csr || options->global ||
         fail(why, "--by-row needs --pattern, --csr or --global");
}

static bool check_required(const attend_options *options, failure *why) {
  const char *missing = !options->q     ? "--q"
                        : !options->k   ? "--k"
                        : !options->v   ? "--v"
                        : !options->out ? "--out"
                                        : NULL;
  if (missing) return fail(why, "%s is missing (see fovea attend --help)", missing);
  if (options->weights_type.given && !options->weights) return fail(why, "--weights-type needs --weights");
  return problem_options_check(options, why) && check_scores(options, why) && check_paths(options, why);
}

bool attend_options_parse(attend_options *options, int argument_count, char **arguments, failure *why) {
  *options = (attend_options){.help = options_ask_help(argument_count, arguments)};
  return options->help ||
         (options_parse(&table, options, argument_count, arguments, why) && check_required(options, why));
}

void attend_options_free(attend_options *options) {
  options_free(&table, options);
}
