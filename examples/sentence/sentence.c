/* What does "station" attend to? Attention on the real Q, K, V of one layer of a sentence model, by Fovea.
 *
 *   fovea_sentence [DATA]
 *
 * DATA is the directory that capture.py wrote. Without it, run the program in the project's top directory.
 *
 * For each sentence: shows what one of its words attends to, and the weights of a head as a heat map; prints the
 * distance from the model's own result, and names the kernel that ran and its speed. */
#define _POSIX_C_SOURCE 200112L /* clock_gettime() */

#include "captured.h"
#include "output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MODEL       "all-MiniLM-L6-v2"
#define LAYER_TEXT  "layer 5, the last of 0 to 5"
#define CHOSEN      2            /* heads shown of each sentence */
#define SHOWN       (CHOSEN + 1) /* and the mean over all heads */
#define TITLE_SIZE  48
#define PATH_SIZE   1024
#define BAR_LENGTH  20
#define TIMED_CALLS 501

/* capture.py says how layer and heads were chosen. */
static const struct subject {
  const char *name, *sentence, *word;
  int heads[CHOSEN];
} subjects[] = {
    {"station", "The train left the station on time", "station", {10, 9}},
    {"animal", "The animal didn't cross the street because it was too tired", "it", {11, 9}},
};

/* The data of one sentence. */
struct view {
  const struct subject *subject;
  struct captured captured;
  int64_t row;    /* of the word asked about */
  float *output;  /* (heads, tokens, dim) */
  float *weights; /* (heads, tokens, tokens) */
  float *mean;    /* (tokens, tokens): the weights, averaged over the heads */
  const float *shown[SHOWN];
  char titles[SHOWN][TITLE_SIZE];
  fovea_plan *plan; /* of the sentence's attention; fovea_plan_isa() names its kernel */
};

static bool complain(const char *what, const char *why) {
  fprintf(stderr, "fovea_sentence: %s: %s\n", what, why);
  return false;
}

/* ---- Computing ----------------------------------------------------------------------------------------------- */

static void average_heads(struct view *view) {
  int64_t count = view->captured.tokens * view->captured.tokens;
  for (int64_t i = 0; i < count; i++) {
    double sum = 0;
    for (int64_t head = 0; head < view->captured.heads; head++) sum += (double)view->weights[head * count + i];
    view->mean[i] = (float)(sum / (double)view->captured.heads);
  }
}

static bool choose_heads(struct view *view) {
  int64_t count = view->captured.tokens * view->captured.tokens;
  for (int i = 0; i < CHOSEN; i++) {
    int head = view->subject->heads[i];
    if (head >= view->captured.heads) return complain(view->subject->name, "has fewer heads than expected");
    view->shown[i] = view->weights + head * count;
    snprintf(view->titles[i], TITLE_SIZE, "head %d", head);
  }
  view->shown[CHOSEN] = view->mean;
  snprintf(view->titles[CHOSEN], TITLE_SIZE, "mean of %d heads", (int)view->captured.heads);
  return true;
}

static bool attend(struct view *view) {
  const struct captured *captured = &view->captured;
  size_t rows = (size_t)(captured->heads * captured->tokens);
  view->output = malloc(rows * (size_t)captured->dim * sizeof(float));
  view->weights = malloc(rows * (size_t)captured->tokens * sizeof(float));
  view->mean = malloc((size_t)(captured->tokens * captured->tokens) * sizeof(float));
  if (!view->output || !view->weights || !view->mean) return complain(view->subject->name, "out of memory");
  fovea_problem problem;
  captured_problem(captured, &problem);
  fovea_error error;
  if (fovea_plan_create(&problem, NULL, &view->plan, &error) != FOVEA_OK ||
      captured_attend(captured, NULL, view->output, &error) != FOVEA_OK ||
      captured_weights(captured, NULL, view->weights, &error) != FOVEA_OK)
    return complain(view->subject->name, error.text);
  average_heads(view);
  return choose_heads(view);
}

/* ---- Speed --------------------------------------------------------------------------------------------------- */

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare_doubles(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Median time of a call, in seconds; 0 after a printed error. The plan is made once, as in an engine that runs the
 * same shape in every layer. */
static double time_calls(const struct view *view, const fovea_plan *plan, float *output) {
  size_t size = fovea_plan_scratch_size(plan, 1);
  size = (size / FOVEA_SCRATCH_ALIGNMENT + 1) * FOVEA_SCRATCH_ALIGNMENT; /* aligned_alloc() needs whole units */
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch = aligned_alloc(FOVEA_SCRATCH_ALIGNMENT, size);
  execution.scratch_size = size;
  if (!execution.scratch) {
    complain(view->subject->name, "out of memory");
    return 0;
  }
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, view->captured.q, view->captured.k, view->captured.v, output, NULL);
  static double times[TIMED_CALLS];
  fovea_error error;
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < TIMED_CALLS && status == FOVEA_OK; i++) {
    double start = seconds_now();
    status = fovea_plan_run(plan, &tensors, &execution, &error);
    times[i] = seconds_now() - start;
  }
  free(execution.scratch);
  if (status != FOVEA_OK) {
    complain(view->subject->name, error.text);
    return 0;
  }
  qsort(times, TIMED_CALLS, sizeof times[0], compare_doubles);
  return times[TIMED_CALLS / 2];
}

/* Times one kernel, and compares its result with the shown result, bit for bit. */
static bool report_kernel(const struct view *view, const char *isa, float *output) {
  const struct captured *captured = &view->captured;
  fovea_problem problem;
  captured_problem(captured, &problem);
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.isa = isa;
  fovea_plan *plan;
  fovea_error error;
  if (fovea_plan_create(&problem, &execution, &plan, &error) != FOVEA_OK) return complain(isa, error.text);
  double seconds = time_calls(view, plan, output);
  fovea_plan_destroy(plan);
  if (seconds <= 0) return false;
  size_t count = (size_t)(captured->heads * captured->tokens * captured->dim);
  bool same = memcmp(output, view->output, count * sizeof *output) == 0;
  bool chosen = strcmp(isa, fovea_plan_isa(view->plan)) == 0;
  double flops = 4 * (double)count * (double)captured->tokens; /* a multiply and an add, for q.k and for p v */
  printf("  kernel %-11s %8.2f us a call %8.1f GFLOP/s   %s\n", isa, 1e6 * seconds, 1e-9 * flops / seconds,
         !same    ? "gives OTHER BITS"
         : chosen ? "this one ran"
                  : "gives the same bits");
  return same || complain(isa, "breaks the promise of one answer");
}

static bool report_kernels(const struct view *view) {
  fovea_isa_report set;
  fovea_isa_report_init(&set);
  size_t count = (size_t)(view->captured.heads * view->captured.tokens * view->captured.dim);
  float *output = malloc(count * sizeof *output);
  if (!output) return complain(view->subject->name, "out of memory");
  printf("  on one thread, median of %d calls:\n", TIMED_CALLS);
  bool all = true;
  for (int i = 0; all && fovea_isa_at(i, &set) == FOVEA_OK; i++) {
    if (set.usable && strcmp(set.base, set.name) == 0) all = report_kernel(view, set.name, output);
  }
  free(output);
  return all;
}

/* ---- Showing ------------------------------------------------------------------------------------------------- */

/* A table: a line for each token, a number and a bar for each matrix shown. */
static void print_row(const struct view *view) {
  printf("\n\"%s\"\n  \"%s\" attends to\n\n  %-9s", view->subject->sentence, view->subject->word, "");
  for (int i = 0; i < SHOWN; i++) printf(" %-*s", BAR_LENGTH + 6, view->titles[i]);
  printf("\n");
  for (int64_t column = 0; column < view->captured.tokens; column++) {
    printf("  %9s", view->captured.token[column]);
    for (int i = 0; i < SHOWN; i++) {
      double weight = (double)view->shown[i][view->row * view->captured.tokens + column];
      int filled = (int)(weight * BAR_LENGTH + 0.5);
      printf(" %.2f ", weight);
      for (int place = 0; place < BAR_LENGTH; place++) fputs(place < filled ? "\u2588" : " ", stdout);
      printf(" ");
    }
    printf("\n");
  }
  printf("\n");
}

/* How dark a weight is. */
static const char *shade_of(float weight) {
  return weight < 0.05f  ? "\u00b7  "
         : weight < 0.2f ? "\u2591\u2591\u2591"
         : weight < 0.4f ? "\u2592\u2592\u2592"
         : weight < 0.6f ? "\u2593\u2593\u2593"
                         : "\u2588\u2588\u2588";
}

/* The whole first chosen head: a line for each token, a column for each token that it attends to. */
static void print_heat_map(const struct view *view) {
  const struct captured *captured = &view->captured;
  printf("  heat map of %s: what each token attends to\n\n  %9s ", view->titles[0], "");
  for (int64_t column = 0; column < captured->tokens; column++) printf(" %-3.3s", captured->token[column]);
  printf("\n");
  for (int64_t row = 0; row < captured->tokens; row++) {
    printf("  %9s ", captured->token[row]);
    for (int64_t column = 0; column < captured->tokens; column++)
      printf(" %s", shade_of(view->shown[0][row * captured->tokens + column]));
    printf("%s\n", row == view->row ? " <" : "");
  }
  printf("\n");
}

/* Not fmax(): Debian's gcc 12 for AArch64 fails on a loop of two of them. */
static double larger(double a, double b) {
  return a > b ? a : b;
}

static void report_agreement(const struct view *view) {
  int64_t count = view->captured.heads * view->captured.tokens * view->captured.dim;
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < count; i++) {
    double model = (double)view->captured.context[i];
    difference = larger(difference, fabs((double)view->output[i] - model));
    largest = larger(largest, fabs(model));
  }
  printf("  the model's own attention output: differs by %.1e at most, in values up to %.2f\n", difference,
         largest);
}

static bool show(struct view *view, const char *data) {
  char directory[PATH_SIZE], error[PATH_SIZE + 256];
  snprintf(directory, sizeof directory, "%s/%s", data, view->subject->name);
  if (!captured_load(directory, &view->captured, error, sizeof error)) return complain("cannot load", error);
  view->row = captured_find(&view->captured, view->subject->word);
  if (view->row < 0) return complain(directory, "the word is not among the tokens");
  if (!attend(view)) return false;
  print_row(view);
  print_heat_map(view);
  report_agreement(view);
  return report_kernels(view);
}

static void close_view(struct view *view) {
  fovea_plan_destroy(view->plan);
  captured_free(&view->captured);
  free(view->output);
  free(view->weights);
  free(view->mean);
}

int main(int argc, char **argv) {
  if (argc > 2) {
    fprintf(stderr, "usage: fovea_sentence [DATA]\n");
    return 2;
  }
  const char *data = argc == 2 ? argv[1] : "examples/sentence/data";
  fovea_library_info info;
  fovea_library_info_init(&info);
  if (fovea_info(&info) != FOVEA_OK) return 2;
  printf("%s, %s, by Fovea %s on %s\n", MODEL, LAYER_TEXT, info.version, info.cpu);
  for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
    struct view view = {.subject = &subjects[i]};
    bool shown = show(&view, data);
    close_view(&view);
    if (!shown) return 2;
  }
  return output_finish("fovea_sentence") ? 0 : 2;
}
