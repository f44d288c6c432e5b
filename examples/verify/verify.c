/* A receipt of a text that a language model wrote, and its verification on any machine:
 *
 *   fovea_verify write MODEL RECEIPT PROMPT [OPTIONS]
 *   fovea_verify check MODEL RECEIPT [OPTIONS]
 *
 * The model is a GGUF file, as examples/llm reads it. */
#include "../llm/vocabulary.h"
#include "../sentence/output.h"
#include "../stories/sample.h"
#include "chances.h"
#include "command.h"
#include "reader.h"
#include "receipt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: fovea_verify write MODEL RECEIPT PROMPT [OPTIONS]\n"
    "       fovea_verify check MODEL RECEIPT [OPTIONS]\n"
    "\n"
    "write continues a prompt by a GGUF file and writes a receipt: tokens, and hashes of the model, of states and "
    "of\n"
    "logits. check reads the tokens in one pass and compares every choice and every hash.\n"
    "\n"
    "  --steps N          write: tokens to write, at most (64)\n"
    "  --temperature X    write: 0: the likeliest token (default); else tokens are drawn\n"
    "  --seed N           write: of the generator (1)\n"
    "  --cache TYPE       write: of keys and values: q8_0 (default), f16 or f32\n"
    "  --every N          write: hashes of each Nth position (16)\n"
    "  --any-weights      check: goes on if the model is another file, to say where it first differs\n"
    "  --threads N        0: as many as there are CPUs (default)\n"
    "  --isa NAME         an instruction set that `fovea info` lists\n"
    "  --stats            a line on stderr: how long it took\n"
    "\n"
    "Exit status 0; 1 if the receipt is not of this model and text; 2 if something was wrong, with a line that "
    "says "
    "what.\n";

enum { WRITE, CHECK };

struct options {
  struct command command;
  const char *model, *path, *prompt;
  int64_t steps, seed, every;
  double temperature;
  int cache;
  bool any_weights;
};

/* What is seen of a text while a model reads it. */
struct watch {
  const struct options *options;
  const struct model *model;
  struct receipt *receipt; /* has the tokens; gets the hashes */
  struct hash *logits;
  struct chances chances;
  uint64_t generator;
  int32_t chosen;  /* by the latest row */
  int64_t other;   /* the first row that chose another token than the receipt has, and which; -1: none */
  int32_t written; /* by that row */
};

/* ---- Watching ------------------------------------------------------------------------------------------------- */

/* Where a hash of a position goes; NULL if it has none. */
static char *place(const struct receipt *receipt, int64_t position, int64_t layer) {
  if (position % receipt->every != 0) return NULL;
  return receipt->hashes[position / receipt->every * (receipt->layers + 1) + layer];
}

static void watch_layer(void *context, int64_t layer, int64_t position, int64_t rows, const float *hidden) {
  const struct watch *watch = context;
  const int64_t dim = watch->model->dim;
  for (int64_t i = 0; i < rows; i++) {
    char *to = place(watch->receipt, position + i, layer);
    if (to) hash_of(hidden + i * dim, (size_t)dim * sizeof *hidden, to);
  }
}

static bool watch_logits(void *context, int64_t position, const float *logits, struct failure *failure) {
  struct watch *watch = context;
  struct receipt *receipt = watch->receipt;
  const int64_t count = watch->model->vocabulary;
  const size_t bytes = (size_t)count * sizeof *logits;
  char *to = place(receipt, position, receipt->layers);
  hash_add(watch->logits, logits, bytes);
  if (to) hash_of(logits, bytes, to);
  if (position < receipt->prompt - 1) return true;
  watch->chosen = sample_greedily(logits, count);
  if (receipt->temperature > 0) {
    if (!chances_take(&watch->chances, logits, receipt->temperature, &watch->options->command.execution, failure))
      return false;
    watch->chosen = chances_draw(&watch->chances, &watch->generator);
  }
  if (watch->options->command.which == CHECK && watch->other < 0 && watch->chosen != receipt->tokens[position + 1])
    watch->other = position, watch->written = watch->chosen;
  return true;
}

static bool open_watch(struct watch *watch, struct reader *reader, int64_t chunk, struct failure *failure) {
  const struct receipt *receipt = watch->receipt;
  watch->generator = receipt->seed;
  watch->other = -1;
  if (!chances_open(&watch->chances, watch->model->vocabulary, failure) ||
      !reader_open(reader, watch->model, receipt->cache, receipt->count, chunk, &watch->options->command.execution,
                   failure))
    return false;
  watch->logits = hash_begin();
  reader->observer = (struct observer){watch, watch_layer, watch_logits};
  return true;
}

static void close_watch(struct watch *watch, struct reader *reader) {
  if (watch->logits) hash_end(watch->logits, watch->receipt->logits);
  chances_close(&watch->chances);
  reader_close(reader);
}

/* ---- Writing -------------------------------------------------------------------------------------------------- */

/* The prompt, and room for what follows. */
static bool begin_text(struct receipt *receipt, const struct options *options, const struct model *model,
                       struct failure *failure) {
  struct vocabulary vocabulary;
  if (!vocabulary_read(&vocabulary, &model->gguf, failure)) return false;
  const bool done = vocabulary_encode(&vocabulary, options->prompt, &receipt->tokens, &receipt->prompt, failure);
  vocabulary_free(&vocabulary);
  if (!done) return false;
  if (receipt->prompt >= model->context)
    return refuse(failure, "the prompt has %lld tokens; the model was made for texts of %lld",
                  (long long)receipt->prompt, (long long)model->context);
  receipt->count =
      receipt->prompt + options->steps < model->context ? receipt->prompt + options->steps : model->context;
  int32_t *larger = realloc(receipt->tokens, (size_t)receipt->count * sizeof *larger);
  if (larger) receipt->tokens = larger;
  return larger || refuse(failure, "no memory for the text");
}

/* Token by token. A text that ends early has its last row there. */
static bool write_text(struct watch *watch, struct reader *reader, struct failure *failure) {
  struct receipt *receipt = watch->receipt;
  for (int64_t i = receipt->prompt; i < receipt->count; i++) {
    const int64_t first = i == receipt->prompt ? 0 : i - 1;
    if (!reader_read(reader, receipt->tokens + first, i - first, failure)) return false;
    receipt->tokens[i] = watch->chosen;
    if (watch->chosen == TOKEN_BEGIN || watch->chosen == TOKEN_END) receipt->count = i + 1;
  }
  return true;
}

static bool write_receipt(const struct options *options, const struct model *model, struct receipt *receipt,
                          struct failure *failure) {
  struct watch watch = {.options = options, .model = model, .receipt = receipt};
  struct reader reader = {.hidden = NULL};
  *receipt = (struct receipt){.cache = (enum cache_type)options->cache,
                              .temperature = options->temperature,
                              .seed = (uint64_t)options->seed,
                              .every = options->every,
                              .layers = model->layers};
  bool done = hash_of_file(options->model, receipt->weights, failure) &&
              begin_text(receipt, options, model, failure) && receipt_create(receipt, failure) &&
              open_watch(&watch, &reader, 64, failure) && write_text(&watch, &reader, failure);
  close_watch(&watch, &reader);
  return done && receipt_write(receipt, options->path, failure);
}

/* ---- Checking ------------------------------------------------------------------------------------------------- */

/* One line for what differs first: a position's state, its logits, its choice. */
static bool compare(const struct watch *watch, const struct receipt *stated) {
  const struct receipt *found = watch->receipt;
  for (int64_t position = 0; position < stated->count - 1; position++) {
    for (int64_t layer = 0; layer <= stated->layers && place(stated, position, layer); layer++) {
      if (strcmp(place(stated, position, layer), place(found, position, layer)) == 0) continue;
      if (layer < stated->layers)
        printf("position %lld: the state after layer %lld has another hash\n", (long long)position,
               (long long)layer);
      else
        printf("position %lld: the logits have another hash\n", (long long)position);
      return false;
    }
    if (position != watch->other) continue;
    printf("token %lld is %d; the model writes %d there\n", (long long)position + 1,
           (int)stated->tokens[position + 1], (int)watch->written);
    return false;
  }
  if (strcmp(stated->logits, found->logits) != 0) {
    puts("the logits of all rows have another hash");
    return false;
  }
  printf("verified: %lld tokens, %lld of them written, %lld hashes\n", (long long)stated->count,
         (long long)(stated->count - stated->prompt), (long long)(receipt_rows(stated) * (stated->layers + 1) + 2));
  return true;
}

/* What a receipt says of a model that is no such model cannot be computed. */
static bool fits(const struct receipt *receipt, const struct model *model, const char *path,
                 struct failure *failure) {
  if (receipt->layers != model->layers || receipt->count > model->context)
    return refuse(failure,
                  "%s: it is of a model with %lld layers and %lld positions or more; this one has %lld and %lld",
                  path, (long long)receipt->layers, (long long)receipt->count, (long long)model->layers,
                  (long long)model->context);
  for (int64_t i = 0; i < receipt->count; i++)
    if (receipt->tokens[i] >= model->vocabulary)
      return refuse(failure, "%s: token %lld is %d; this model has tokens 0 to %lld", path, (long long)i,
                    (int)receipt->tokens[i], (long long)model->vocabulary - 1);
  return true;
}

/* All tokens in one pass. */
static bool check_receipt(const struct options *options, const struct model *model, bool *same,
                          struct failure *failure) {
  struct receipt stated, found = {.tokens = NULL};
  struct watch watch = {.options = options, .model = model, .receipt = &found};
  struct reader reader = {.hidden = NULL};
  char weights[HASH_TEXT];
  if (!hash_of_file(options->model, weights, failure) || !receipt_read(&stated, options->path, failure))
    return false;
  bool done = true;
  *same = strcmp(weights, stated.weights) == 0;
  if (!*same) printf("the weights are another file: SHA-256 is %s, the receipt's %s\n", weights, stated.weights);
  if (*same || options->any_weights) {
    found = stated;
    found.hashes = NULL;
    done = fits(&stated, model, options->path, failure) && receipt_create(&found, failure) &&
           open_watch(&watch, &reader, stated.count, failure) &&
           reader_read(&reader, stated.tokens, stated.count - 1, failure);
    close_watch(&watch, &reader);
    *same = done && compare(&watch, &stated) && *same;
    free(found.hashes);
  }
  receipt_free(&stated);
  return done;
}

/* ---- The command line ----------------------------------------------------------------------------------------- */

static const struct choice caches[] = {{"q8_0", CACHE_Q8_0}, {"f16", CACHE_F16}, {"f32", CACHE_F32}, {NULL, 0}};

static bool read_options(struct options *options, int count, char **words, struct failure *failure) {
  static const char *const names[] = {[WRITE] = "write", [CHECK] = "check"};
  static const int counts[] = {[WRITE] = 3, [CHECK] = 2};
  const struct command_option list[] = {
      {"--steps", WRITE, .number = &options->steps, .least = 1, .most = 1 << 20},
      {"--seed", WRITE, .number = &options->seed, .most = INT64_MAX},
      {"--every", WRITE, .number = &options->every, .least = 1, .most = 1 << 20},
      {"--temperature", WRITE, .temperature = &options->temperature},
      {"--cache", WRITE, .choices = caches, .chosen = &options->cache},
      {"--any-weights", CHECK, .flag = &options->any_weights},
      {.name = NULL},
  };
  *options = (struct options){.steps = 64, .seed = 1, .every = 16};
  if (!command_read(&options->command, count, words, names, counts, list, failure)) return false;
  options->model = options->command.words[0];
  options->path = options->command.words[1];
  options->prompt = options->command.words[2];
  return true;
}

static bool run(const struct options *options, bool *same, struct failure *failure) {
  struct model model;
  struct receipt receipt = {.tokens = NULL};
  if (!model_open(&model, options->model, NULL, FOVEA_MODE_EXACT, &options->command.execution, failure))
    return false;
  const double start = command_seconds();
  const bool done = options->command.which == WRITE ? write_receipt(options, &model, &receipt, failure)
                                                    : check_receipt(options, &model, same, failure);
  if (done && options->command.stats) fprintf(stderr, "%.3f s\n", command_seconds() - start);
  receipt_free(&receipt);
  model_close(&model);
  return done;
}

int main(int count, char **words) {
  struct options options;
  struct failure failure = {""};
  bool same = true;
  if (!read_options(&options, count, words, &failure))
    return fprintf(stderr, "fovea_verify: %s\n", failure.text), 2;
  if (options.command.help) return fputs(help, stdout), output_finish("fovea_verify") ? EXIT_SUCCESS : 2;
  if (!run(&options, &same, &failure)) return fprintf(stderr, "fovea_verify: %s\n", failure.text), 2;
  if (!output_finish("fovea_verify")) return 2;
  return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
