/* A Vision Transformer that reads handwritten digits.
 *
 *   fovea_vit check
 *   fovea_vit show 5 --png five.png
 *
 * README.md says how it was trained. */
#define _POSIX_C_SOURCE 200112L /* clock_gettime() */

#include "../sentence/output.h"
#include "encoder.h"
#include "options.h"
#include "summary.h"
#ifdef VIT_DRAWS
#include "picture.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PATH_SIZE = 4096, BAR_LENGTH = 30, REPEATS = 3 };

struct inputs {
  struct model model;
  struct digits digits;
  char model_path[PATH_SIZE], digits_path[PATH_SIZE];
};

static bool read_inputs(struct inputs *inputs, const struct options *options, struct failure *failure) {
  const int length = snprintf(inputs->digits_path, PATH_SIZE, "%s/digits.safetensors", options->data);
  snprintf(inputs->model_path, PATH_SIZE, "%s/model.safetensors", options->data);
  if (length >= PATH_SIZE) return refuse(failure, "the path of the data is too long");
  if (!model_read(&inputs->model, inputs->model_path, failure) ||
      !digits_read(&inputs->digits, inputs->digits_path, failure))
    return false;
  model_use_isa(&inputs->model, options->isa);
  return true;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Writes the digit, and beside it the probability of each answer. */
static bool print_digit(const struct inputs *inputs, int64_t number, const float *logits, struct failure *failure) {
  const unsigned char *image = inputs->digits.images + number * IMAGE_PIXELS;
  float probabilities[DIGITS];
  if (!encoder_probabilities(&inputs->model, logits, probabilities, failure)) return false;
  printf("\ndigit %lld is a %d, read as %d\n\n", (long long)number, inputs->digits.labels[number],
         encoder_choice(logits));
  for (int i = 0; i < DIGITS; i++) {
    fputs("  ", stdout);
    if (i < IMAGE_SIDE)
      digits_print_row(image, i);
    else
      printf("%*s", 2 * IMAGE_SIDE, "");
    printf("  %d %6.2f %% ", i, 100 * (double)probabilities[i]);
    for (int bar = 0; bar < (int)(probabilities[i] * BAR_LENGTH + 0.5f); bar++) fputs("\u2588", stdout);
    putchar('\n');
  }
  return true;
}

/* Reads all digits, `batch` at once, and returns the seconds that it took; negative after a failure. */
static double read_all(const struct inputs *inputs, const struct options *options, int64_t batch, float *logits,
                       struct failure *failure) {
  const struct digits *digits = &inputs->digits;
  const double began = seconds_now();
  for (int64_t i = 0; i < digits->count; i += batch) {
    const int64_t count = digits->count - i < batch ? digits->count - i : batch;
    if (!encoder_logits(&inputs->model, digits->images + i * IMAGE_PIXELS, count, (int)options->threads,
                        logits + i * DIGITS, failure))
      return -1;
  }
  return seconds_now() - began;
}

/* The least of several times: what else the machine does makes none shorter. */
static bool print_times(const struct inputs *inputs, const struct options *options, float *logits,
                        struct failure *failure) {
  const int64_t batches[] = {options->batch, 1};
  for (int i = 0; i < 2; i++) {
    double least = 0;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
      const double seconds = read_all(inputs, options, batches[i], logits, failure);
      if (seconds < 0) return false;
      if (repeat == 0 || seconds < least) least = seconds;
    }
    printf("%.1f us an image in batches of %lld\n", 1e6 * least / (double)inputs->digits.count,
           (long long)batches[i]);
  }
  return true;
}

static bool check(const struct inputs *inputs, const struct options *options, struct failure *failure) {
  const struct digits *digits = &inputs->digits;
  int64_t right = 0;
  float *logits = malloc((size_t)(digits->count * DIGITS) * sizeof *logits);
  if (!logits) return refuse(failure, "no memory for %lld digits", (long long)digits->count);
  bool done = read_all(inputs, options, options->batch, logits, failure) >= 0;
  for (int64_t i = 0; i < digits->count && done; i++) {
    if (encoder_choice(logits + i * DIGITS) == digits->labels[i])
      right++;
    else
      done = print_digit(inputs, i, logits + i * DIGITS, failure);
  }
  if (done)
    printf("\n%lld of %lld right, %.1f %%\n", (long long)right, (long long)digits->count,
           100 * (double)right / (double)digits->count);
  done = done && print_times(inputs, options, logits, failure);
  free(logits);
  return done;
}

#ifdef VIT_DRAWS
static bool draw(const struct inputs *inputs, int64_t number, int choice, const char *path,
                 struct failure *failure) {
  enum { LAYER_SIZE = MODEL_HEADS * TOKENS * TOKENS };
  static float weights[MODEL_LAYER_LIMIT * LAYER_SIZE];
  float last_layer[PATCHES], rollout[PATCHES];
  char title[128];
  const struct picture picture = {inputs->digits.images + number * IMAGE_PIXELS, title, last_layer, rollout};
  if (!encoder_attention(&inputs->model, picture.image, weights, failure)) return false;
  summary_last_layer(weights, inputs->model.layers, last_layer);
  summary_rollout(weights, inputs->model.layers, rollout);
  snprintf(title, sizeof title, "A %d, read as %d: what the class token takes from each patch",
           inputs->digits.labels[number], choice);
  const char *why = picture_draw(&picture, path);
  return !why || refuse(failure, "%s: %s", path, why);
}
#else
static bool draw(const struct inputs *inputs, int64_t number, int choice, const char *path,
                 struct failure *failure) {
  (void)inputs, (void)number, (void)choice;
  return refuse(failure, "%s: this program was built without cairo, which draws", path);
}
#endif

static bool show(const struct inputs *inputs, const struct options *options, struct failure *failure) {
  const int64_t number = options->number;
  float logits[DIGITS];
  if (number >= inputs->digits.count)
    return refuse(failure, "there is no digit %lld; %s has %lld, counted from 0", (long long)number,
                  inputs->digits_path, (long long)inputs->digits.count);
  return encoder_logits(&inputs->model, inputs->digits.images + number * IMAGE_PIXELS, 1, (int)options->threads,
                        logits, failure) &&
         (!options->png || draw(inputs, number, encoder_choice(logits), options->png, failure)) &&
         print_digit(inputs, number, logits, failure);
}

int main(int count, char **arguments) {
  struct options options;
  static struct inputs inputs;
  struct failure failure = {""};
  if (!options_read(&options, count, arguments, &failure))
    return fprintf(stderr, "fovea_vit: %s\n", failure.text), 2;
  if (options.command == COMMAND_HELP)
    return fputs(options_help, stdout), output_finish("fovea_vit") ? EXIT_SUCCESS : 2;
  bool done = read_inputs(&inputs, &options, &failure);
  if (done)
    done =
        options.command == COMMAND_CHECK ? check(&inputs, &options, &failure) : show(&inputs, &options, &failure);
  digits_free(&inputs.digits);
  model_free(&inputs.model);
  if (!done) fprintf(stderr, "fovea_vit: %s\n", failure.text);
  return done && output_finish("fovea_vit") ? EXIT_SUCCESS : 2;
}
