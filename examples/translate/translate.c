/* Translates dates in words into numbers, by a recurrent network with additive attention.
 *
 *   fovea_translate TEXT [OPTIONS]
 *
 * README.md says how it was trained. */
#include "../sentence/output.h"
#include "check.h"
#include "heatmap.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>

static void print_wrong(const char *text, const char *answer, const char *wanted) {
  printf("wrong: %s: %s, not %s\n", text, answer, wanted);
}

static bool translate_one(const struct model *model, const struct options *options, struct failure *failure) {
  struct translation translation;
  if (!translate(model, options->text, options->threads, &translation, failure)) return false;
  if (!is_date(translation.answer))
    return refuse(failure, "the model answers %s, which is no date; is the text one?", translation.answer);
  if (options->heatmap && !heatmap_write(&translation, options->heatmap, failure)) return false;
  puts(translation.answer);
  return true;
}

static bool check(const struct model *model, const struct options *options, bool *all_right,
                  struct failure *failure) {
  struct tally tally;
  if (!check_file(model, options->check, options->threads, print_wrong, &tally, failure)) return false;
  printf("%lld of %lld right, %.2f %%\n", (long long)tally.right, (long long)tally.count,
         100 * (double)tally.right / (double)tally.count);
  *all_right = tally.right == tally.count;
  return true;
}

int main(int count, char **arguments) {
  struct options options;
  static struct model model;
  struct failure failure = {""};
  bool all_right = true;
  if (!options_read(&options, count, arguments, &failure))
    return fprintf(stderr, "fovea_translate: %s\n", failure.text), 2;
  if (options.help) return fputs(options_help, stdout), output_finish("fovea_translate") ? EXIT_SUCCESS : 2;
  bool done = model_read(&model, options.model, options.isa, &failure);
  if (done) {
    done = options.text ? translate_one(&model, &options, &failure) : check(&model, &options, &all_right, &failure);
    model_free(&model);
  }
  if (!done) return fprintf(stderr, "fovea_translate: %s\n", failure.text), 2;
  if (!output_finish("fovea_translate")) return 2;
  return all_right ? EXIT_SUCCESS : 1;
}
