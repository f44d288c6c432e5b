/* fovea heatmap: attention weights from an .npy file, as a picture or as text. */
#include "commands.h"
#include "heatmap_draw.h"
#include "heatmap_text.h"
#include "heatmap_tokens.h"
#include "inputs.h"
#include "outputs.h"

#include <math.h>
#include <string.h>

static const char help[] =
    "Usage: fovea heatmap WEIGHTS.npy [--out PICTURE.png|PICTURE.svg|PICTURE.pdf] [OPTIONS]\n"
    "\n"
    "Draws attention weights, as `fovea attend --weights` writes them: float32 or float16, shaped\n"
    "(batch, heads, rows, keys), (heads, rows, keys) or (rows, keys). The picture has a panel for each head, "
    "whose\n"
    "rows are queries and whose columns are keys, and a colour bar. A matrix with more than 512 rows or keys is\n"
    "averaged down, and a note in the picture says so. Cells with a weight that is not finite are grey.\n"
    "Without --out prints the same as text: a character for each cell, at most 96 of them in a row or column.\n"
    "\n"
    "  --out PATH             where the picture goes: a PNG if the name ends in .png, a PDF if in .pdf, else an "
    "SVG.\n"
    "                         Needs a program that was built with cairo\n"
    "  --heads a,b,..         which heads are drawn, counted from 0, at most 64; default: the first 16\n"
    "  --batch N              of which batch element; default 0\n"
    "  --tokens PATH          labels of both axes, one token a line, UTF-8; default: numbers\n"
    "  --row-tokens PATH      labels of the rows\n"
    "  --key-tokens PATH      labels of the keys\n"
    "  --title TEXT           a line above the panels\n"
    "  --font NAME            the font of the picture; default: DejaVu Sans\n"
    "  --mark ROW             frames a row, counted from 0\n"
    "  --max X                the weight that is drawn darkest; default: the largest drawn\n"
    "\n"
    "No output may go to a file that is read. On failure no output file is written, and a file that existed "
    "before\n"
    "stays as it was.\n";

typedef struct heatmap_options {
  const char *weights;                                               /* a path, never NULL after parsing */
  const char *out, *tokens, *row_tokens, *key_tokens, *title, *font; /* NULL: none */
  number_list heads, batch, mark;
  real_number max;
} heatmap_options;

static const option known[] = {
    {"WEIGHTS.npy", OPTION_TEXT, offsetof(heatmap_options, weights), 0, "a path"},
    {"--out", OPTION_TEXT, offsetof(heatmap_options, out), 0, "a path"},
    {"--heads", OPTION_LIST, offsetof(heatmap_options, heads), 0, "numbers a,b,.."},
    {"--batch", OPTION_LIST, offsetof(heatmap_options, batch), 1, "a number"},
    {"--tokens", OPTION_TEXT, offsetof(heatmap_options, tokens), 0, "a path"},
    {"--row-tokens", OPTION_TEXT, offsetof(heatmap_options, row_tokens), 0, "a path"},
    {"--key-tokens", OPTION_TEXT, offsetof(heatmap_options, key_tokens), 0, "a path"},
    {"--title", OPTION_TEXT, offsetof(heatmap_options, title), 0, "a text"},
    {"--font", OPTION_TEXT, offsetof(heatmap_options, font), 0, "a name"},
    {"--mark", OPTION_LIST, offsetof(heatmap_options, mark), 1, "a number"},
    {"--max", OPTION_NUMBER, offsetof(heatmap_options, max), 0, "a number"},
};

static const option_table table = {"heatmap", known, sizeof known / sizeof known[0], NULL, 0};

typedef struct heatmap_job {
  heatmap_options options;
  npy_array weights;
  panel_set panels;
  token_list row_tokens, key_tokens;
  output_file output;
} heatmap_job;

static bool check_options(const heatmap_options *options, failure *why) {
  if (!options->weights) return fail(why, "a file with weights is missing (see fovea heatmap --help)");
  if (!options->out && options->font)
    return fail(why, "--font needs --out: text on a terminal has the terminal's font");
  if (options->out && !heatmap_draws(why)) return false;
  if (options->tokens && (options->row_tokens || options->key_tokens))
    return fail(why, "--tokens labels both axes; %s cannot be given, too",
                options->row_tokens ? "--row-tokens" : "--key-tokens");
  if (options->max.given &&
      !(options->max.value > 0 && (float)options->max.value > 0 && isfinite((float)options->max.value)))
    return fail(why, "--max is %g; a positive finite number is needed", options->max.value);
  return true;
}

/* Loads the labels of an axis, if a file is given. */
static bool load_tokens(token_list *list, const char *path, const char *what, int64_t count, failure *why) {
  if (!path) return true;
  if (!tokens_load(list, path, why)) return false;
  return list->count == count || fail(why, "%s: has %lld tokens, one a line, but the weights have %lld %s", path,
                                      (long long)list->count, (long long)count, what);
}

static bool load(heatmap_job *job, failure *why) {
  const heatmap_options *options = &job->options;
  const unsigned types = NPY_SET(NPY_F32) | NPY_SET(NPY_F16);
  const char *row_path = options->tokens ? options->tokens : options->row_tokens;
  const char *key_path = options->tokens ? options->tokens : options->key_tokens;
  panel_set *panels = &job->panels;
  panels->cell_limit = options->out ? CELL_LIMIT : TEXT_LIMIT;
  if (!input_load(options->weights, types, &job->weights, why) ||
      !panels_fill(panels, &job->weights, options->weights, &options->heads, &options->batch, why))
    return false;
  if (options->tokens && panels->rows != panels->keys)
    return fail(why,
                "--tokens labels both axes, but there are %lld rows and %lld keys; use --row-tokens, --key-tokens",
                (long long)panels->rows, (long long)panels->keys);
  if (options->mark.count > 0 && (options->mark.numbers[0] < 0 || options->mark.numbers[0] >= panels->rows))
    return fail(why, "--mark is %lld; the weights have %lld rows, counted from 0",
                (long long)options->mark.numbers[0], (long long)panels->rows);
  return load_tokens(&job->row_tokens, row_path, "rows", panels->rows, why) &&
         load_tokens(&job->key_tokens, key_path, "keys", panels->keys, why);
}

static bool draw(heatmap_job *job, failure *why) {
  const float largest = job->panels.largest;
  heatmap map = {.panels = &job->panels,
                 .title = job->options.title,
                 .font = job->options.font,
                 .row_tokens = job->row_tokens.tokens,
                 .key_tokens = job->key_tokens.tokens,
                 .marks = job->options.mark.count > 0,
                 .marked_row = job->options.mark.count > 0 ? job->options.mark.numbers[0] : 0,
                 .full = job->options.max.given ? (float)job->options.max.value
                         : largest > 0          ? largest
                                                : 1};
  if (!job->options.out) {
    heatmap_print(&map, stdout);
    return true;
  }
  return output_open(&job->output, job->options.out, why) &&
         heatmap_draw(&map, job->options.out, job->output.stream, why) && output_close(&job->output, true, why) &&
         outputs_commit(&job->output, 1, why);
}

bool heatmap_command(int argument_count, char **arguments, failure *why) {
  heatmap_job job = {.output = {.target = NULL}};
  bool done = true;
  if (options_ask_help(argument_count, arguments)) {
    fputs(help, stdout);
  } else {
    done = options_parse(&table, &job.options, argument_count, arguments, why) &&
           check_options(&job.options, why) && load(&job, why) && draw(&job, why);
  }
  output_discard(&job.output);
  tokens_free(&job.row_tokens);
  tokens_free(&job.key_tokens);
  panels_free(&job.panels);
  npy_free(&job.weights);
  options_free(&table, &job.options);
  return done;
}
