/* A whole encoder, from ids to the final norm: its shapes, its weights, and how far its numbers are from PyTorch's.
 *
 *   fovea_encoder [DIR] [--isa NAME] [--threads N] */
#include "../sentence/output.h"
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: fovea_encoder [DIR] [options]\n"
                           "\n"
                           "Runs an encoder of 2 layers, 4 heads and 128 dims over 2 texts of 10 tokens.\n"
                           "\n"
                           "  DIR          the case seed4_transformer_encoder of the conformance data:\n"
                           "               weights, and what PyTorch makes of them in float64.\n"
                           "               Without it the weights are made up\n"
                           "  --isa NAME   an instruction set that `fovea info` lists\n"
                           "  --threads N  0: as many as there are CPUs (default)\n"
                           "\n"
                           "No option changes a bit of the numbers.\n"
                           "Exit status 0; 1 if a number is more than 1e-5 from PyTorch's; or 2 with one\n"
                           "line on stderr that says what was wrong.\n";

struct options {
  const char *directory, *isa;
  int threads;
  bool wants_help;
};

static bool read_threads(const char *word, int *threads, struct failure *failure) {
  char *end;
  errno = 0;
  const long number = strtol(word, &end, 10);
  if (end == word || *end || errno || number < 0 || number > 4096)
    return refuse(failure, "--threads is '%s'; it must be a whole number from 0 to 4096", word);
  *threads = (int)number;
  return true;
}

static bool read_options(struct options *options, int count, char **words, struct failure *failure) {
  *options = (struct options){.threads = 0};
  for (int i = 1; i < count; i++) {
    const bool isa = strcmp(words[i], "--isa") == 0, threads = strcmp(words[i], "--threads") == 0;
    if (strcmp(words[i], "--help") == 0) {
      options->wants_help = true;
      return true;
    }
    if (isa || threads) {
      if (++i == count) return refuse(failure, "%s wants something after it; --help says what", words[i - 1]);
      if (isa) options->isa = words[i];
      if (threads && !read_threads(words[i], &options->threads, failure)) return false;
    } else if (strncmp(words[i], "--", 2) == 0) {
      return refuse(failure, "there is no option %s; --help lists what there is", words[i]);
    } else if (options->directory) {
      return refuse(failure, "'%s' is one word too many", words[i]);
    } else {
      options->directory = words[i];
    }
  }
  return true;
}

/* The smallest and the largest sum of a row, in f64. */
static void sum_rows(const float *weights, double *least, double *most) {
  for (int row = 0; row < ENCODER_WEIGHT_NUMBERS / ENCODER_LENGTH; row++) {
    double sum = 0;
    for (int key = 0; key < ENCODER_LENGTH; key++) sum += (double)weights[row * ENCODER_LENGTH + key];
    if (row == 0 || sum < *least) *least = sum;
    if (row == 0 || sum > *most) *most = sum;
  }
}

/* What PyTorch makes of the weights. */
struct expected {
  double y[ENCODER_NUMBERS], attention[ENCODER_LAYERS * ENCODER_WEIGHT_NUMBERS];
};

static bool read_expected(const char *directory, struct expected *expected, struct failure *failure) {
  for (int layer = 0; layer < ENCODER_LAYERS; layer++) {
    char name[32];
    snprintf(name, sizeof name, "out%d_attn%d", layer + 1, layer);
    if (!weights_read_file(directory, name, expected->attention + layer * ENCODER_WEIGHT_NUMBERS,
                           ENCODER_WEIGHT_NUMBERS, sizeof(double), failure))
      return false;
  }
  return weights_read_file(directory, "out0_y", expected->y, ENCODER_NUMBERS, sizeof(double), failure);
}

/* Prints how far numbers are from PyTorch's, and keeps the largest distance. */
static void compare(const float *numbers, const double *expected, int count, double *largest) {
  const double difference = model_distance(numbers, expected, count);
  printf("            they differ by at most %.2g from PyTorch in float64\n", difference);
  *largest = fmax(*largest, difference);
}

static void show_layer(int layer, const float *weights) {
  double least = 0, most = 0;
  sum_rows(weights, &least, &most);
  printf("layer %d     (%d, %d, %d), attention weights (%d, %d, %d, %d) whose rows sum to %.9f .. %.9f\n", layer,
         ENCODER_BATCH, ENCODER_LENGTH, ENCODER_DIM, ENCODER_BATCH, ENCODER_HEADS, ENCODER_LENGTH, ENCODER_LENGTH,
         least, most);
}

static bool show(const struct weights *weights, const struct options *options, double *largest,
                 struct failure *failure) {
  static struct model model;
  static struct expected expected;
  float y[ENCODER_NUMBERS], attention[ENCODER_LAYERS * ENCODER_WEIGHT_NUMBERS];
  int padding = 0;
  for (int i = 0; i < ENCODER_ROWS; i++) padding += !weights->seen[i];
  if (options->directory && !read_expected(options->directory, &expected, failure)) return false;
  if (!model_create(&model, weights, options->isa, options->threads, failure)) return false;
  if (!model_run(&model, y, attention, failure)) return false;
  printf("weights     %" PRId64 "\n", weights->count);
  printf("ids         (%d, %d), %d of them are padding\n", ENCODER_BATCH, ENCODER_LENGTH, padding);
  printf("embedding   (%d, %d, %d)\n", ENCODER_BATCH, ENCODER_LENGTH, ENCODER_DIM);
  for (int layer = 0; layer < ENCODER_LAYERS; layer++) {
    const int begin = layer * ENCODER_WEIGHT_NUMBERS;
    show_layer(layer, attention + begin);
    if (options->directory) compare(attention + begin, expected.attention + begin, ENCODER_WEIGHT_NUMBERS, largest);
  }
  printf("y           (%d, %d, %d), digest %016" PRIx64 "\n", ENCODER_BATCH, ENCODER_LENGTH, ENCODER_DIM,
         model_digest(y, ENCODER_NUMBERS));
  if (options->directory) compare(y, expected.y, ENCODER_NUMBERS, largest);
  return true;
}

int main(int argc, char **argv) {
  struct options options;
  struct weights weights = {.count = 0};
  struct failure failure = {""};
  double largest = 0;
  bool done = read_options(&options, argc, argv, &failure);
  if (done && options.wants_help) return fputs(help, stdout), output_finish("fovea_encoder") ? EXIT_SUCCESS : 2;
  if (done)
    done = options.directory ? weights_read(&weights, options.directory, &failure)
                             : weights_generate(&weights, &failure);
  if (done) done = show(&weights, &options, &largest, &failure);
  weights_free(&weights);
  if (!done) fprintf(stderr, "fovea_encoder: %s\n", failure.text);
  return !done || !output_finish("fovea_encoder") ? 2 : largest > 1e-5;
}
