/* A small language model that tells stories: reads a prompt and continues it.
 *
 *   fovea_stories MODEL TOKENIZER [PROMPT] [OPTIONS]
 *
 * README.md says where a model comes from. */
#include "../sentence/output.h"
#include "options.h"
#include "sample.h"
#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>

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

/* Writes a token's text, without control characters that could disturb a terminal. */
static void print_token(const struct tokenizer *tokenizer, int32_t before, int32_t token) {
  char bytes[256];
  const size_t length = tokenizer_decode(tokenizer, before, token, bytes, sizeof bytes);
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)bytes[i] >= ' ' || bytes[i] == '\n' || bytes[i] == '\t') putchar(bytes[i]);
  fflush(stdout);
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

/* Writes the prompt and what follows it; *written counts the tokens that follow. */
static bool tell(struct session *session, const struct options *options, const struct inputs *inputs,
                 int64_t *written, struct failure *failure) {
  const struct tokenizer *tokenizer = &inputs->tokenizer;
  const int64_t vocabulary = inputs->model.vocabulary;
  uint64_t state = options->seed;
  if (!session_feed(session, inputs->prompt, inputs->prompt_count, failure)) return false;
  for (int64_t i = 1; i < inputs->prompt_count; i++)
    print_token(tokenizer, inputs->prompt[i - 1], inputs->prompt[i]);
  int32_t before = inputs->prompt[inputs->prompt_count - 1];
  for (*written = 0; *written < options->steps; (*written)++) {
    const int32_t token = options->temperature > 0
                              ? sample_randomly(session->logits, vocabulary, options->temperature, &state)
                              : sample_greedily(session->logits, vocabulary);
    if (token == TOKEN_BEGIN || token == TOKEN_END) break; /* a story ends where the next one begins */
    print_token(tokenizer, before, token);
    if (!session_feed(session, &token, 1, failure)) return false;
    before = token;
  }
  putchar('\n');
  fflush(stdout);
  return true;
}

static bool run(struct options *options, struct inputs *inputs, struct failure *failure) {
  struct session session;
  if (!read_inputs(inputs, options, failure) || !choose_length(options, inputs, failure) ||
      !session_open(&session, &inputs->model, &options->session, failure))
    return false;
  int64_t written = 0;
  const bool told = tell(&session, options, inputs, &written, failure);
  if (told && options->stats)
    fprintf(stderr, "%lld tokens read, %lld written; a cache of %zu bytes\n", (long long)inputs->prompt_count,
            (long long)written, session.cache.bytes);
  session_close(&session);
  return told;
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
