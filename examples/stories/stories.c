/* A small language model that tells stories: reads a prompt and continues it.
 *
 *   fovea_stories MODEL TOKENIZER [PROMPT] [OPTIONS]
 *
 * README.md says where a model comes from. */
#define _POSIX_C_SOURCE 200112L /* clock_gettime() */
#include "../sentence/output.h"
#include "compare.h"
#include "options.h"
#include "sample.h"
#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The contents of the two files, and the prompt as tokens. */
struct inputs {
  struct model model;
  struct tokenizer tokenizer;
  int32_t *prompt;
  int64_t prompt_count;
};

static bool read_inputs(struct inputs *inputs, const struct options *options, struct failure *failure) {
  *inputs = (struct inputs){.prompt = NULL};
  return model_read(&inputs->model, options->model, failure) &&
         tokenizer_read(&inputs->tokenizer, options->tokenizer, inputs->model.vocabulary, failure) &&
         tokenizer_encode(&inputs->tokenizer, options->prompt, &inputs->prompt, &inputs->prompt_count, failure);
}

static void free_inputs(struct inputs *inputs) {
  free(inputs->prompt);
  tokenizer_free(&inputs->tokenizer);
  model_free(&inputs->model);
}

/* Without a window a text may be as long as the model's training texts. */
static bool choose_length(struct options *options, const struct inputs *inputs, struct failure *failure) {
  const int64_t longest = inputs->model.longest, prompt = inputs->prompt_count;
  if (options->session.window == 0) {
    if (prompt > longest)
      return refuse(failure, "the prompt has %lld tokens; the model was made for %lld, or any number with --window",
                    (long long)prompt, (long long)longest);
    if (options->steps > longest - prompt) options->steps = longest - prompt;
  }
  options->session.positions = prompt + options->steps;
  return true;
}

/* The tokens of a text, and how the next ones are drawn. */
struct text {
  int32_t *tokens; /* with room for all steps */
  int64_t count;
  struct chances chances;
  uint64_t generator;
};

/* With the tokens of the prompt. */
static bool begin_text(struct text *text, const struct options *options, const struct inputs *inputs,
                       struct failure *failure) {
  *text = (struct text){.count = inputs->prompt_count, .generator = options->seed};
  text->tokens = malloc((size_t)options->session.positions * sizeof *text->tokens);
  if (!text->tokens) return refuse(failure, "no memory for the text");
  memcpy(text->tokens, inputs->prompt, (size_t)text->count * sizeof *text->tokens);
  return chances_open(&text->chances, inputs->model.vocabulary, failure);
}

static void end_text(struct text *text) {
  chances_close(&text->chances);
  free(text->tokens);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Writes the prompt and what follows it, and appends the tokens that follow to the text. */
static bool tell(struct session *session, const struct options *options, const struct inputs *inputs,
                 struct text *text, struct failure *failure) {
  const struct tokenizer *tokenizer = &inputs->tokenizer;
  const fovea_execution execution = session_execution(&options->session);
  int32_t token;
  if (!session_feed(session, inputs->prompt, inputs->prompt_count, failure)) return false;
  for (int64_t i = 1; i < inputs->prompt_count; i++)
    tokenizer_print(tokenizer, inputs->prompt[i - 1], inputs->prompt[i]);
  int32_t before = inputs->prompt[inputs->prompt_count - 1];
  for (int64_t i = 0; i < options->steps; i++) {
    if (!sample_token(&text->chances, session->logits, options->temperature, &execution, &text->generator, &token,
                      failure))
      return false;
    if (token == TOKEN_BEGIN || token == TOKEN_END) break; /* a story ends where the next one begins */
    tokenizer_print(tokenizer, before, token);
    if (!session_feed(session, &token, 1, failure)) return false;
    before = text->tokens[text->count++] = token;
  }
  putchar('\n');
  fflush(stdout);
  return true;
}

static void report(const struct session *session, const struct inputs *inputs, const struct text *text,
                   double seconds) {
  const long long read = inputs->prompt_count, written = text->count - inputs->prompt_count;
  fprintf(stderr, "%lld tokens read, %lld written; a cache of %zu bytes\n", read, written, session->cache.bytes);
  fprintf(stderr, "%.0f tokens a second; %g bytes of the cache for each\n", (double)text->count / seconds,
          cache_position_bytes(&session->cache));
}

static bool compare(const struct model *model, const struct session_options *options, const struct text *text,
                    struct failure *failure) {
  struct comparison found;
  if (!compare_with_f32(model, options, text->tokens, text->count, &found, failure)) return false;
  fprintf(stderr, "the likeliest next token is another than with f32 after %lld of %lld tokens\n",
          (long long)found.others, (long long)found.tokens);
  return true;
}

static bool run(struct options *options, struct inputs *inputs, struct failure *failure) {
  struct session session;
  if (options->session.mode == FOVEA_MODE_BF16) fovea_allow_amx(NULL); /* without it the same text, more slowly */
  if (!read_inputs(inputs, options, failure) || !choose_length(options, inputs, failure) ||
      !session_open(&session, &inputs->model, &options->session, failure))
    return false;
  struct text text;
  const double start = now();
  bool done = begin_text(&text, options, inputs, failure) && tell(&session, options, inputs, &text, failure);
  if (done && options->stats) report(&session, inputs, &text, now() - start);
  session_close(&session);
  done = done && (!options->compare || compare(&inputs->model, &options->session, &text, failure));
  end_text(&text);
  return done;
}

int main(int count, char **arguments) {
  struct options options;
  struct inputs inputs = {.prompt = NULL};
  struct failure failure = {""};
  if (!options_read(&options, count, arguments, &failure))
    return fprintf(stderr, "fovea_stories: %s\n", failure.text), 2;
  if (options.help) return fputs(options_help, stdout), output_finish("fovea_stories") ? EXIT_SUCCESS : 2;
  const bool done = run(&options, &inputs, &failure);
  free_inputs(&inputs);
  if (!done) fprintf(stderr, "fovea_stories: %s\n", failure.text);
  return done && output_finish("fovea_stories") ? EXIT_SUCCESS : 2;
}
