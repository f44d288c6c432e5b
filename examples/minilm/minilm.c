/* A sentence model: finds the lines of a file by their meaning.
 *
 *   fovea_minilm search FILE "question"
 *
 * README.md says where the model comes from. */
#include "../sentence/output.h"
#include "../sentence/weights_picture.h"
#include "options.h"
#include "search.h"
#include "utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

struct inputs {
  struct model model;
  struct vocabulary vocabulary;
  char model_path[PATH_SIZE], vocabulary_path[PATH_SIZE];
};

static bool read_inputs(struct inputs *inputs, const struct options *options, struct failure *failure) {
  const char *directory = options->model;
  const int length = snprintf(inputs->model_path, PATH_SIZE, "%s/model.safetensors", directory);
  snprintf(inputs->vocabulary_path, PATH_SIZE, "%s/vocab.txt", directory);
  if (length >= PATH_SIZE) return refuse(failure, "the path of the model is too long");
  if (!vocabulary_read(&inputs->vocabulary, inputs->vocabulary_path, failure) ||
      !model_read(&inputs->model, inputs->model_path, failure))
    return false;
  model_use_isa(&inputs->model, options->isa);
  if (inputs->vocabulary.count != inputs->model.vocabulary)
    return refuse(failure, "%s has %d tokens, the model %d", inputs->vocabulary_path, (int)inputs->vocabulary.count,
                  (int)inputs->model.vocabulary);
  return inputs->model.positions >= TOKENS_LIMIT ||
         refuse(failure, "%s has %d positions; %d are needed", inputs->model_path, (int)inputs->model.positions,
                TOKENS_LIMIT);
}

static void free_inputs(struct inputs *inputs) {
  model_free(&inputs->model);
  vocabulary_free(&inputs->vocabulary);
}

static struct encoding encoding_of(const struct inputs *inputs, const struct options *options) {
  return (struct encoding){&inputs->model, &inputs->vocabulary, options->batch, (int)options->threads};
}

static void mention_cut(int64_t cut) {
  if (cut > 0)
    fprintf(stderr, "fovea_minilm: %lld lines have more than %d tokens; only their beginning was read\n",
            (long long)cut, TOKENS_LIMIT);
}

/* Draws the weights of a layer and head for the text of which the batch has the tokens. */
static bool draw_weights(const struct inputs *inputs, const struct options *options, const struct batch *batch,
                         const float *weights, const char *title, const char *path, struct failure *failure) {
  char names[TOKENS_LIMIT][TOKEN_LENGTH_LIMIT + 1], note[128];
  const char *tokens[TOKENS_LIMIT];
  for (int64_t i = 0; i < batch->rows; i++) {
    const struct token *token = &inputs->vocabulary.tokens[batch->tokens[i]];
    memcpy(names[i], token->text, (size_t)token->length);
    names[i][token->length] = 0;
    tokens[i] = names[i];
  }
  snprintf(note, sizeof note, "attention weights of layer %d, head %d, by Fovea %s", (int)options->layer,
           (int)options->head, fovea_version());
  const struct weights_picture picture = {.title = title,
                                          .note = note,
                                          .tokens = tokens,
                                          .token_count = (int)batch->rows,
                                          .marked_row = -1,
                                          .panel_count = 1,
                                          .names = {""},
                                          .weights = {weights}};
  const char *why = weights_picture_draw(&picture, path);
  return !why || refuse(failure, "%s: %s", path, why);
}

static bool draw(const struct inputs *inputs, const struct options *options, const char *text, const char *path,
                 struct failure *failure) {
  const struct model *model = &inputs->model;
  struct batch batch;
  if (options->layer >= model->layers || options->head >= model->heads)
    return refuse(failure, "there is no layer %d with a head %d; the model has %d layers of %d heads",
                  (int)options->layer, (int)options->head, (int)model->layers, (int)model->heads);
  if (!batch_create(&batch, 1, failure)) return false;
  batch_add(&batch, &inputs->vocabulary, text, strlen(text));
  float *weights = malloc((size_t)(batch.rows * batch.rows) * sizeof *weights);
  char *title = utf8_repaired(text);
  const bool drawn =
      ((weights && title) || refuse(failure, "no memory for a picture")) &&
      encoder_attention(model, &batch, (int)options->threads, options->layer, options->head, weights, failure) &&
      draw_weights(inputs, options, &batch, weights, title, path, failure);
  free(title);
  free(weights);
  batch_free(&batch);
  return drawn;
}

static bool embed(const struct inputs *inputs, const struct options *options, const struct lines *lines,
                  struct failure *failure) {
  const struct encoding encoding = encoding_of(inputs, options);
  const int64_t dim = inputs->model.dim;
  int64_t cut = 0;
  float *vectors = malloc((size_t)(lines->count * dim) * sizeof *vectors);
  if (!vectors) return refuse(failure, "no memory for the vectors of %lld lines", (long long)lines->count);
  const bool done = search_encode(&encoding, lines, vectors, &cut, failure);
  for (int64_t i = 0; i < lines->count * dim && done; i++)
    printf("%.9g%c", (double)vectors[i], (i + 1) % dim == 0 ? '\n' : ' ');
  if (done) mention_cut(cut);
  free(vectors);
  return done;
}

/* Writes text without control characters, which could disturb a terminal. */
static void print_line(const struct line *line) {
  for (size_t i = 0; i < line->length; i++)
    if ((unsigned char)line->text[i] >= ' ' && line->text[i] != 0x7f) putchar(line->text[i]);
  putchar('\n');
}

static bool draw_best(const struct inputs *inputs, const struct options *options, const struct line *best,
                      struct failure *failure) {
  char *text = malloc(best->length + 1);
  if (!text) return refuse(failure, "no memory for a line");
  memcpy(text, best->text, best->length);
  text[best->length] = 0;
  const bool drawn = draw(inputs, options, text, options->picture, failure);
  free(text);
  return drawn;
}

static bool search(const struct inputs *inputs, const struct options *options, const struct lines *lines,
                   struct failure *failure) {
  const struct encoding encoding = encoding_of(inputs, options);
  int64_t cut = 0;
  struct found *found = malloc((size_t)lines->count * sizeof *found);
  if (!found) return refuse(failure, "no memory for %lld lines", (long long)lines->count);
  bool done = search_rank(&encoding, lines, options->words[1], found, &cut, failure);
  if (done && options->picture) done = draw_best(inputs, options, &lines->all[found[0].line], failure);
  for (int64_t i = 0; i < options->best && i < lines->count && done; i++) {
    printf("%7.4f  %lld: ", (double)found[i].weight, (long long)lines->all[found[i].line].number);
    print_line(&lines->all[found[i].line]);
  }
  if (done) mention_cut(cut);
  free(found);
  return done;
}

static bool run(const struct options *options, struct inputs *inputs, struct failure *failure) {
  struct lines lines;
  if (!read_inputs(inputs, options, failure)) return false;
  if (options->command == COMMAND_DRAW) return draw(inputs, options, options->words[0], options->words[1], failure);
  if (!lines_read(&lines, options->words[0], failure)) return false;
  const bool done = options->command == COMMAND_EMBED ? embed(inputs, options, &lines, failure)
                                                      : search(inputs, options, &lines, failure);
  lines_free(&lines);
  return done;
}

int main(int count, char **arguments) {
  struct options options;
  static struct inputs inputs;
  struct failure failure = {""};
  if (!options_read(&options, count, arguments, &failure))
    return fprintf(stderr, "fovea_minilm: %s\n", failure.text), 2;
  if (options.command == COMMAND_HELP)
    return fputs(options_help, stdout), output_finish("fovea_minilm") ? EXIT_SUCCESS : 2;
  const bool done = run(&options, &inputs, &failure);
  free_inputs(&inputs);
  if (!done) fprintf(stderr, "fovea_minilm: %s\n", failure.text);
  return done && output_finish("fovea_minilm") ? EXIT_SUCCESS : 2;
}
