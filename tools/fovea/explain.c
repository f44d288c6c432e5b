/* fovea explain: what a problem costs, how it is computed, and why; its pattern as a picture. */
#include "attend_options.h"
#include "attend_problem.h"
#include "commands.h"
#include "explain_picture.h"
#include "explain_print.h"
#include "explain_run.h"
#include "heatmap_draw.h"
#include "measure.h"
#include "outputs.h"

#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: fovea explain --rows N [OPTIONS]\n"
    "\n"
    "Says what attention over a problem of these sizes and rules will do, without computing it: the kernels and\n"
    "why they are chosen, how rows are computed, how many blocks of the score matrix are empty, full or partial,\n"
    "pairs, operations and bytes.\n"
    "\n"
    "  --batch N              batch elements; default 1\n"
    "  --heads N              query heads; default 1\n"
    "  --kv-heads N           heads of K and V; default: as many as of Q\n"
    "  --rows N               rows of Q in a head\n"
    "  --keys N               keys; default: as many as rows\n"
    "  --dim N                the dimensions of Q and K; default 64\n"
    "  --v-dim N              the dimensions of V and O; default: --dim\n"
    "  --type TYPE            Q, K and V as f32 (default), f16 or bf16\n"
    "  --out-type TYPE        O as f32 (default), f16 or bf16\n"
    "  --out PATH             draws which keys rows see: a PNG if the name ends in .png, a PDF if in .pdf, else "
    "an\n"
    "                         SVG. Rows go down, keys across; more than 512 are averaged: the share of visible\n"
    "                         pairs. Needs a program that was built with cairo\n"
    "  --head a,b,..          which query heads are drawn, counted from 0; default 0\n"
    "  --element N            of which batch element; default 0\n"
    "  --trace PATH           computes the problem over made-up numbers, and writes when each task began and "
    "ended, on\n"
    "                         which worker: Chrome's trace format, which ui.perfetto.dev shows\n"
    "  --peak GFLOPS          what the machine does at most with the threads that are used, and ...\n"
    "  --bandwidth GB/S       ... how fast they read memory: prints the least time for each\n"
    "  --measure              measures both here, in about a second: what the library reaches with many rows, and\n"
    "                         with one; prints about how long each takes. With --arithmetic bf16 or int8\n"
    "                         also how fast exact mode is here\n"
    "\n"
    "Rules and terms are as for `fovea attend`, see there: --causal, --window L,R, --chunk C,LEFT,RIGHT,\n"
    "--offset, --q-lens, --kv-lens, --kv-begins, --mask PATH, --mask-begin N, --pattern TEXT, --csr, --global,\n"
    "--by-row, --scale, --leaky-relu, --softcap, --alibi, --relative, --sinks, --normaliser, --sigmoid-bias,\n"
    "--divisor, --arithmetic, --allow-amx, --threads, --isa.\n"
    "What a mask hides is counted by runs only: the table says how many blocks it may change. The picture shows\n"
    "what it hides.\n"
    "\n"
    "No output may go to a file that is read. On failure no output file is written, and a file that existed "
    "before\n"
    "stays as it was.\n";

typedef struct explain_options {
  attend_options rules; /* first, for options of several commands. `out` and `out_type` are used, too */
  number_list batch, heads, kv_heads, rows, keys, dim, v_dim; /* one number each */
  number_list head, entry;                                    /* of the picture */
  type_name type;
  real_number peak, bandwidth;
  bool measure;
} explain_options;

static const option known[] = {
    {"--batch", OPTION_LIST, offsetof(explain_options, batch), 1, "a number"},
    {"--heads", OPTION_LIST, offsetof(explain_options, heads), 1, "a number"},
    {"--kv-heads", OPTION_LIST, offsetof(explain_options, kv_heads), 1, "a number"},
    {"--rows", OPTION_LIST, offsetof(explain_options, rows), 1, "a number"},
    {"--keys", OPTION_LIST, offsetof(explain_options, keys), 1, "a number"},
    {"--dim", OPTION_LIST, offsetof(explain_options, dim), 1, "a number"},
    {"--v-dim", OPTION_LIST, offsetof(explain_options, v_dim), 1, "a number"},
    {"--type", OPTION_TYPE, offsetof(explain_options, type), 0, "f32, f16 or bf16"},
    {"--out-type", OPTION_TYPE, offsetof(explain_options, rules.out_type), 0, "f32, f16 or bf16"},
    {"--out", OPTION_TEXT, offsetof(explain_options, rules.out), 0, "a path"},
    {"--trace", OPTION_TEXT, offsetof(explain_options, rules.trace), 0, "a path"},
    {"--head", OPTION_LIST, offsetof(explain_options, head), 0, "numbers a,b,.."},
    {"--element", OPTION_LIST, offsetof(explain_options, entry), 1, "a number"},
    {"--peak", OPTION_NUMBER, offsetof(explain_options, peak), 0, "a number"},
    {"--bandwidth", OPTION_NUMBER, offsetof(explain_options, bandwidth), 0, "a number"},
    {"--measure", OPTION_FLAG, offsetof(explain_options, measure), 0, ""},
};

enum { OUTPUT_PICTURE, OUTPUT_TRACE, OUTPUTS };

typedef struct explain_job {
  explain_options options;
  problem_inputs inputs;
  fovea_problem problem;
  fovea_plan *plan;
  panel_set panels;
  trace trace;
  output_file outputs[OUTPUTS];
} explain_job;

static bool check_rate(const char *name, const real_number *rate, failure *why) {
  return !rate->given || (rate->value > 0 && rate->value <= DBL_MAX) ||
         fail(why, "%s is %g; a positive finite number is needed", name, rate->value);
}

static int64_t number_or(const number_list *list, int64_t otherwise) {
  return list->count > 0 ? list->numbers[0] : otherwise;
}

static bool check_options(const explain_options *options, failure *why) {
  if (options->rows.count == 0) return fail(why, "--rows is missing (see fovea explain --help)");
  if (options->measure && (options->peak.given || options->bandwidth.given))
    return fail(why, "--measure measures what %s says", options->peak.given ? "--peak" : "--bandwidth");
  if (!options->rules.out && (options->head.count > 0 || options->entry.count > 0))
    return fail(why, "%s needs --out", options->head.count > 0 ? "--head" : "--element");
  const int64_t threads = number_or(&options->rules.threads, 0);
  if (threads < 0 || threads > INT_MAX) return fail(why, "--threads is %lld", (long long)threads);
  if (options->rules.out && options->rules.trace && strcmp(options->rules.out, options->rules.trace) == 0)
    return fail(why, "--out and --trace name the same file '%s'", options->rules.out);
  if (options->rules.out && !heatmap_draws(why)) return false;
  return problem_options_check(&options->rules, why) && check_rate("--peak", &options->peak, why) &&
         check_rate("--bandwidth", &options->bandwidth, why);
}

static fovea_execution execution_of(const explain_options *options) {
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.isa = options->rules.isa;
  return execution;
}

static bool describe(explain_job *job, failure *why) {
  const explain_options *options = &job->options;
  const int64_t heads = number_or(&options->heads, 1), rows = options->rows.numbers[0];
  const int64_t dim = number_or(&options->dim, 64);
  fovea_problem *problem = &job->problem;
  const fovea_execution execution = execution_of(options);
  fovea_error error;
  fovea_problem_init(problem, number_or(&options->batch, 1), heads, number_or(&options->kv_heads, heads), rows,
                     number_or(&options->keys, rows), dim, number_or(&options->v_dim, dim));
  /* Sizes are checked before files are compared with them. */
  if (fovea_plan_create(problem, NULL, &job->plan, &error) != FOVEA_OK) return fail(why, "%s", error.text);
  fovea_plan_destroy(job->plan);
  job->plan = NULL;
  problem->q_type = problem->k_type = problem->v_type = options->type.type; /* FOVEA_F32 if none is given */
  problem->o_type = options->rules.out_type.type;
  return problem_set(problem, &options->rules, &job->inputs, why) &&
         (fovea_plan_create(problem, &execution, &job->plan, &error) == FOVEA_OK || fail(why, "%s", error.text));
}

static bool has_modes(const fovea_problem *problem) {
  return problem->modes.score != FOVEA_MODE_EXACT || problem->modes.value != FOVEA_MODE_EXACT;
}

/* Of the problem's modes, and of exact mode if that is another. */
static bool measure(const explain_job *job, int threads, measured_rates *rates, measured_rates *exact,
                    failure *why) {
  fovea_problem like = job->problem;
  fovea_execution execution = execution_of(&job->options);
  execution.threads = threads;
  if (!measure_rates(&like, &execution, rates, why)) return false;
  like.modes.score = like.modes.value = FOVEA_MODE_EXACT;
  return !has_modes(&job->problem) || measure_rates(&like, &execution, exact, why);
}

static bool explain(const explain_job *job, failure *why) {
  const explain_options *options = &job->options;
  fovea_explanation explanation;
  fovea_error error;
  fovea_explanation_init(&explanation);
  explanation.threads = (int)number_or(&options->rules.threads, 0);
  explanation.flops_per_second = options->peak.value * 1e9; /* 0 if none is given */
  explanation.bytes_per_second = options->bandwidth.value * 1e9;
  measured_rates rates, exact;
  if (options->measure) {
    if (!measure(job, explanation.threads, &rates, &exact, why)) return false;
    explanation.flops_per_second = rates.flops_per_second;
    explanation.bytes_per_second = rates.bytes_per_second;
  }
  if (fovea_plan_explain(job->plan, &explanation, &error) != FOVEA_OK) return fail(why, "%s", error.text);
  explain_print(&explanation, &job->problem, options->measure);
  if (options->measure && has_modes(&job->problem)) explain_print_speed(&rates, &exact);
  return true;
}

/* Everything that can fail comes before the table is printed. */
static bool draw(explain_job *job, failure *why) {
  const explain_options *options = &job->options;
  const pattern_view view = {job->plan, &job->problem, job->inputs.mask.data};
  if (!options->rules.out) return true;
  if (!explain_picture_fill(&job->panels, &view, &options->head, &options->entry, why)) return false;
  const heatmap map = {.panels = &job->panels, .full = 1, .of_pairs = true};
  output_file *output = &job->outputs[OUTPUT_PICTURE];
  return output_open(output, options->rules.out, why) &&
         heatmap_draw(&map, options->rules.out, output->stream, why) && output_close(output, true, why);
}

static bool run(explain_job *job, failure *why) {
  const explain_options *options = &job->options;
  const int threads = (int)number_or(&options->rules.threads, 0);
  output_file *output = &job->outputs[OUTPUT_TRACE];
  return !options->rules.trace || (output_open(output, options->rules.trace, why) &&
                                   explain_run(&job->trace, job->plan, &job->problem, &job->inputs, threads, why) &&
                                   output_close(output, trace_write(&job->trace, output->stream), why));
}

bool explain_command(int argument_count, char **arguments, failure *why) {
  const option_table table = {"explain", known, sizeof known / sizeof known[0], problem_options,
                              problem_option_count};
  explain_job job = {.plan = NULL};
  bool done = true;
  if (options_ask_help(argument_count, arguments)) {
    fputs(help, stdout);
  } else {
    done = options_parse(&table, &job.options, argument_count, arguments, why) &&
           check_options(&job.options, why) && describe(&job, why) && draw(&job, why) && run(&job, why) &&
           outputs_commit(job.outputs, OUTPUTS, why) && explain(&job, why);
  }
  for (int i = 0; i < OUTPUTS; i++) output_discard(&job.outputs[i]);
  trace_free(&job.trace);
  panels_free(&job.panels);
  fovea_plan_destroy(job.plan);
  problem_inputs_free(&job.inputs);
  options_free(&table, &job.options);
  return done;
}
