/* A language model from a GGUF file: reads prompts, several at a time, and continues them.
 *
 *   fovea_llm MODEL PROMPT... [OPTIONS]
 *
 * README.md says where a model comes from. */
#define _POSIX_C_SOURCE 200112L /* clock_gettime() */
#include "../sentence/output.h"
#include "texts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct inputs {
  struct model model;
  struct vocabulary vocabulary;
  struct texts texts;
};

/* Of steps with rows of prompts, and of steps with one row of each text. */
struct pace {
  int64_t tokens;
  double seconds;
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool read_inputs(struct inputs *inputs, const struct options *options, struct failure *failure) {
  return model_open(&inputs->model, options->model, options->weights, options->mode, &options->engine.execution,
                    failure) &&
         vocabulary_read(&inputs->vocabulary, &inputs->model.gguf, failure) &&
         texts_create(&inputs->texts, options, &inputs->model, &inputs->vocabulary, failure);
}

static void free_inputs(struct inputs *inputs) {
  texts_free(&inputs->texts);
  vocabulary_free(&inputs->vocabulary);
  model_close(&inputs->model);
}

/* Prints the texts in their order, as far as they are there: *text and *token are where to go on. */
static void print_more(const struct inputs *inputs, int64_t *text, int64_t *token) {
  for (; *text < inputs->texts.count; ++*text, *token = 0) {
    const struct text *from = &inputs->texts.text[*text];
    if (from->read == 0) return;
    for (; *token < from->count; ++*token) {
      const int32_t before = *token > 0 ? from->tokens[*token - 1] : TOKEN_END, next = from->tokens[*token];
      if (next != TOKEN_BEGIN) tokenizer_print(&inputs->vocabulary.tokenizer, before, next);
    }
    if (!from->ended) return;
    putchar('\n');
  }
}

static bool tell(struct inputs *inputs, struct engine *engine, bool prints, struct pace pace[2],
                 struct failure *failure) {
  struct texts *texts = &inputs->texts;
  int64_t rows = 1, text = 0, token = 0;
  pace[0] = pace[1] = (struct pace){0, 0};
  while (rows > 0) {
    const double start = now();
    if (!engine_step(engine, texts->text, texts->count, &rows, failure)) return false;
    struct pace *of = &pace[rows == engine->stepped];
    of->tokens += rows;
    of->seconds += now() - start;
    if (prints) print_more(inputs, &text, &token);
  }
  return true;
}

static bool write_logits(const struct inputs *inputs, FILE *file, const char *path, struct failure *failure) {
  const size_t row = (size_t)inputs->model.vocabulary * sizeof(float);
  bool done = true;
  for (int64_t i = 0; i < inputs->texts.count && done; i++) {
    const struct text *text = &inputs->texts.text[i];
    done = fwrite(text->logits, row, (size_t)text->rows, file) == (size_t)text->rows;
  }
  return (done && fflush(file) == 0) || refuse(failure, "%s: %s", path, strerror(errno));
}

static void report(const struct engine *engine, const struct pace pace[2], FILE *file) {
  static const char *const names[] = {"with prompts", "decoding"};
  for (int i = 0; i < 2; i++)
    if (pace[i].tokens > 0)
      fprintf(file, "%-13s %lld tokens, %.2f a second\n", names[i], (long long)pace[i].tokens,
              (double)pace[i].tokens / pace[i].seconds);
  fprintf(file, "%-13s %zu bytes\n", "cache", engine->cache.bytes);
}

static bool run(struct options *options, struct inputs *inputs, struct failure *failure) {
  struct engine engine;
  struct pace pace[2];
  if (!read_inputs(inputs, options, failure)) return false;
  options->engine.longest = inputs->texts.longest;
  if (!engine_open(&engine, &inputs->model, &options->engine, failure)) return false;
  bool told = tell(inputs, &engine, options->bench == 0, pace, failure);
  if (told && options->bench > 0) { /* the first time, memory was new */
    texts_begin(&inputs->texts, options->seed);
    told = tell(inputs, &engine, false, pace, failure);
  }
  if (told && (options->stats || options->bench > 0)) report(&engine, pace, options->bench > 0 ? stdout : stderr);
  engine_close(&engine);
  return told;
}

/* Opens the file for logits before it does anything. */
static bool run_all(struct options *options, struct inputs *inputs, bool *same, struct failure *failure) {
  FILE *file = options->logits ? fopen(options->logits, "wb") : NULL;
  if (options->logits && !file) return refuse(failure, "%s: %s", options->logits, strerror(errno));
  bool done = run(options, inputs, failure);
  if (file) {
    done = done && write_logits(inputs, file, options->logits, failure);
    if (fclose(file) != 0 && done) done = refuse(failure, "%s: %s", options->logits, strerror(errno));
  }
  return done && (!options->check || texts_check(&inputs->texts, options, &inputs->model, same, failure));
}

int main(int count, char **arguments) {
  struct options options;
  struct inputs inputs = {.texts = {NULL, 0, 0}};
  struct failure failure = {""};
  bool same = true;
  if (!options_read(&options, count, arguments, &failure))
    return fprintf(stderr, "fovea_llm: %s\n", failure.text), 2;
  if (options.help) return fputs(options_help, stdout), output_finish("fovea_llm") ? EXIT_SUCCESS : 2;
  if (options.mode == FOVEA_MODE_INT8) fovea_allow_amx(NULL); /* without it the same bits, more slowly */
  const bool done = run_all(&options, &inputs, &same, &failure);
  free_inputs(&inputs);
  if (!done) fprintf(stderr, "fovea_llm: %s\n", failure.text);
  if (!done || !output_finish("fovea_llm")) return 2;
  return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
