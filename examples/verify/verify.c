/* A receipt of a text that a language model wrote, and its verification on any machine:
 *
 *   fovea_verify write MODEL RECEIPT PROMPT [OPTIONS]
 *   fovea_verify check MODEL RECEIPT [OPTIONS]
 *
 * The model is a GGUF file, as examples/llm reads it. */
#include "../llm/vocabulary.h"
#include "../stories/sample.h"
#include "command.h"
#include "reader.h"
#include "receipt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: fovea_verify write MODEL RECEIPT PROMPT [OPTIONS]\n"
    "       fovea_verify check MODEL RECEIPT [OPTIONS]\n\n"
    "write continues a prompt by a GGUF file and writes a receipt: tokens, and hashes of the model, of states and\n"
    "of logits. check reads the tokens in one pass and compares every choice and every hash.\n"
    "\n"
    "  --steps N          write: tokens to write, at most (64)\n"
    "  --endless          write: goes on after a token that ends texts\n"
    "  --temperature X    write: 0: the likeliest token (default); else tokens are drawn\n"
    "  --seed N           write: of the generator (1)\n"
    "  --cache TYPE       write: of keys and values: q8_0 (default), f16 or f32\n"
    "  --int8             write: multiplies codes by codes where weights are quantised (int8 mode)\n"
    "  --every N          write: hashes of each Nth position (16)\n"
    "  --any-weights      check: goes on if the model is another file, to say where it first differs\n"
    "  --text             prints the text\n" COMMAND_HELP "\n"
    "Exit status 0; 1 if the receipt is not of this model and text; 2 if something was wrong, with a line on\n"
    "stderr that says what.\n";

static const struct command_program program = {"fovea_verify", help, {"write", "check"}, {3, 2}};
enum { WRITE, CHECK };
enum { MODEL, RECEIPT, PROMPT }; /* words of a command */

struct options {
  struct command command;
  int64_t steps;
  int cache;
  bool int8, endless, text, any_weights;
};

/* A model that reads a text, and what is seen of it. */
struct work {
  struct options options;
  struct model model;
  struct vocabulary vocabulary;
  struct reader reader;
  struct receipt receipt; /* has the tokens; gets the hashes */
  char *stated;           /* the receipt's file, to be checked */
  struct hash *logits;
  struct chances chances;
  uint64_t generator;
  int32_t chosen;  /* by the latest row */
  int64_t other;   /* the first row that chose another token than the receipt has, and which; -1: none */
  int32_t written; /* by that row */
};

/* ---- Watching ------------------------------------------------------------------------------------------------- */

static void watch_layer(void *context, int64_t layer, int64_t position, int64_t rows, const float *hidden) {
  const struct work *work = context;
  const int64_t dim = work->model.dim;
  for (int64_t i = 0; i < rows; i++) {
    char *to = receipt_place(&work->receipt, position + i, layer);
    if (to) hash_of(hidden + i * dim, (size_t)dim * sizeof *hidden, to);
  }
}

static bool watch_logits(void *context, int64_t position, const float *logits, struct failure *failure) {
  struct work *work = context;
  const struct receipt *receipt = &work->receipt;
  const size_t bytes = (size_t)work->model.vocabulary * sizeof *logits;
  char *to = receipt_place(receipt, position, receipt->layers);
  hash_add(work->logits, logits, bytes);
  if (to) hash_of(logits, bytes, to);
  if (position < receipt->prompt - 1) return true;
  if (!sample_token(&work->chances, logits, receipt->temperature, &work->options.command.execution,
                    &work->generator, &work->chosen, failure))
    return false;
  if (work->options.command.which == CHECK && work->other < 0 && work->chosen != receipt->tokens[position + 1])
    work->other = position, work->written = work->chosen;
  return true;
}

/* Prepares for so many tokens at once. */
static bool begin_reading(struct work *work, int64_t chunk, struct failure *failure) {
  const struct receipt *receipt = &work->receipt;
  work->generator = (uint64_t)receipt->seed;
  work->other = -1;
  work->logits = hash_begin();
  if (!receipt_create(&work->receipt, failure) || !chances_open(&work->chances, work->model.vocabulary, failure) ||
      !reader_open(&work->reader, &work->model, receipt->cache, receipt->count, chunk,
                   &work->options.command.execution, failure))
    return false;
  work->reader.observer = (struct observer){work, receipt->every, watch_layer, watch_logits};
  return true;
}

/* The receipt of what was read, as text; NULL: there is no memory. */
static char *end_reading(struct work *work, struct failure *failure) {
  unsigned char hash[HASH_BYTES];
  hash_end(work->logits, hash);
  work->logits = NULL;
  hash_write(hash, work->receipt.logits);
  if (work->options.text) vocabulary_print(&work->vocabulary, work->receipt.tokens, work->receipt.count);
  return receipt_text(&work->receipt, failure);
}

/* ---- Writing -------------------------------------------------------------------------------------------------- */

/* The prompt, and room for what follows. */
static bool begin_text(struct work *work, struct failure *failure) {
  struct receipt *receipt = &work->receipt;
  const int64_t context = work->model.context;
  if (!vocabulary_encode(&work->vocabulary, work->options.command.words[PROMPT], &receipt->tokens, &receipt->prompt,
                         failure))
    return false;
  if (receipt->prompt >= context)
    return refuse(failure, "the prompt has %lld tokens; the model was made for texts of %lld",
                  (long long)receipt->prompt, (long long)context);
  const int64_t wanted = receipt->prompt + work->options.steps;
  receipt->count = wanted < context ? wanted : context;
  receipt->layers = work->model.layers;
  int32_t *larger = realloc(receipt->tokens, (size_t)receipt->count * sizeof *larger);
  if (larger) receipt->tokens = larger;
  return larger || refuse(failure, "no memory for the text");
}

/* Token by token. A text that ends early has its last row there. */
static bool write_receipt(struct work *work, struct failure *failure) {
  struct receipt *receipt = &work->receipt;
  if (!begin_text(work, failure) || !begin_reading(work, 64, failure)) return false;
  for (int64_t i = receipt->prompt; i < receipt->count; i++) {
    const int64_t first = i == receipt->prompt ? 0 : i - 1;
    if (!reader_read(&work->reader, receipt->tokens + first, i - first, failure)) return false;
    receipt->tokens[i] = work->chosen;
    if (!work->options.endless && (work->chosen == TOKEN_BEGIN || work->chosen == TOKEN_END))
      receipt->count = i + 1;
  }
  char *text = end_reading(work, failure);
  const bool done =
      text && command_write(work->options.command.words[RECEIPT], text, strlen(text), NULL, 0, failure);
  free(text);
  return done;
}

/* ---- Checking ------------------------------------------------------------------------------------------------- */

/* Prints a line for what differs first between the receipt and the text of what was computed: a position's state, its
 * logits, its choice. Refuses what is no whole receipt. */
static bool compare(const struct work *work, const char *found, bool *same, struct failure *failure) {
  const struct receipt *receipt = &work->receipt;
  const char *const stated = work->stated, *const path = work->options.command.words[RECEIPT];
  long long position = receipt->count, line = 1, word = 0;
  size_t at = 0, begin = 0;
  for (; found[at] && stated[at] == found[at]; at++) {
    word = found[at] == '\n' ? 0 : word + (found[at] == ' ');
    if (found[at] == '\n') line++, begin = at + 1;
  }
  const bool is_row = sscanf(found + begin, "row %lld ", &position) == 1,
             is_hash = is_row ? word > 1 : word == 1 && strncmp(found + begin, "logits ", 7) == 0;
  if (stated[at] != found[at] && (!stated[at] || !is_hash))
    return refuse(failure, "%s: line %lld %s", path, line,
                  stated[at] ? "is not as a receipt has it" : "is not complete, and the last one that there is");
  *same = stated[at] == found[at] && work->other < 0;
  if (work->other >= 0 && work->other < position)
    printf("token %lld is %d; the model writes %d there\n", (long long)work->other + 1,
           (int)receipt->tokens[work->other + 1], (int)work->written);
  else if (*same)
    printf("the same: %lld tokens, %lld of them written, %lld hashes\n", (long long)receipt->count,
           (long long)(receipt->count - receipt->prompt),
           (long long)(receipt_rows(receipt) * (receipt->layers + 1) + 1));
  else if (!is_row)
    puts("the logits of all rows have another hash, and those of no row that has its own");
  else if (word - 2 < receipt->layers)
    printf("position %lld: the state after layer %lld has another hash\n", position, word - 2);
  else
    printf("position %lld: the logits have another hash\n", position);
  return true;
}

/* What a receipt says of a model that is no such model cannot be computed. */
static bool fits(const struct work *work, struct failure *failure) {
  const struct receipt *receipt = &work->receipt;
  const struct model *model = &work->model;
  const char *path = work->options.command.words[RECEIPT];
  if (receipt->layers != model->layers)
    return refuse(failure, "%s: its model has %lld layers; this one has %lld", path, (long long)receipt->layers,
                  (long long)model->layers);
  if (receipt->count > model->context)
    return refuse(failure, "%s: it has %lld tokens; this model was made for %lld", path, (long long)receipt->count,
                  (long long)model->context);
  for (int64_t i = 0; i < receipt->count; i++)
    if (receipt->tokens[i] >= model->vocabulary)
      return refuse(failure, "%s: token %lld is %d; this model has tokens 0 to %lld", path, (long long)i,
                    (int)receipt->tokens[i], (long long)model->vocabulary - 1);
  return true;
}

/* All tokens in one pass. */
static bool check_receipt(struct work *work, const char *weights, bool *same, struct failure *failure) {
  const struct receipt *receipt = &work->receipt;
  const bool same_weights = strcmp(weights, receipt->weights) == 0;
  bool done = true;
  if (!same_weights)
    printf("the weights are another file: SHA-256 is %s, the receipt's %s\n", weights, receipt->weights);
  if (same_weights || work->options.any_weights) {
    done = fits(work, failure) && begin_reading(work, receipt->count, failure) &&
           reader_read(&work->reader, receipt->tokens, receipt->count - 1, failure);
    char *found = done ? end_reading(work, failure) : NULL;
    done = found && compare(work, found, same, failure);
    free(found);
  }
  *same = *same && same_weights;
  return done;
}

/* ---- The program ---------------------------------------------------------------------------------------------- */

/* A receipt that is written has what the options say. */
static bool read_options(struct work *work, int count, char **words, struct failure *failure) {
  struct options *options = &work->options;
  struct receipt *receipt = &work->receipt;
  const struct command_option list[] = {
      {"--steps", WRITE, .number = &options->steps, .least = 1, .most = 1 << 20},
      {"--endless", WRITE, .flag = &options->endless},
      {"--seed", WRITE, .number = &receipt->seed, .most = INT64_MAX},
      {"--every", WRITE, .number = &receipt->every, .least = 1, .most = 1 << 20},
      {"--temperature", WRITE, .temperature = &receipt->temperature},
      {"--cache", WRITE, .choices = cache_types, .chosen = &options->cache},
      {"--int8", WRITE, .flag = &options->int8},
      {"--text", WRITE, .flag = &options->text},
      {"--text", CHECK, .flag = &options->text},
      {"--any-weights", CHECK, .flag = &options->any_weights},
      {.name = NULL},
  };
  options->steps = 64, receipt->seed = 1, receipt->every = 16;
  if (!command_read(&options->command, &program, count, words, list, failure)) return false;
  receipt->cache = (enum cache_type)options->cache;
  receipt->mode = options->int8 ? FOVEA_MODE_INT8 : FOVEA_MODE_EXACT;
  return true;
}

/* A receipt that is checked says how the model computes. */
static bool run(struct work *work, bool *same, struct failure *failure) {
  const struct command *command = &work->options.command;
  struct receipt *receipt = &work->receipt;
  const bool writes = command->which == WRITE;
  char weights[HASH_TEXT];
  if (!writes && !receipt_read(receipt, &work->stated, command->words[RECEIPT], failure)) return false;
  if (receipt->mode == FOVEA_MODE_INT8) fovea_allow_amx(NULL); /* without it the same bits, more slowly */
  if (!model_open(&work->model, command->words[MODEL], NULL, receipt->mode, &command->execution, failure) ||
      ((writes || work->options.text) && !vocabulary_read(&work->vocabulary, &work->model.gguf, failure)))
    return false;
  const double start = command_seconds();
  hash_of(work->model.gguf.file.bytes, work->model.gguf.file.size, writes ? receipt->weights : weights);
  const double hashed = command_seconds();
  if (!(writes ? write_receipt(work, failure) : check_receipt(work, weights, same, failure))) return false;
  if (command->stats)
    fprintf(stderr, "%.6f s for the model's hash, %.6f s for the text\n", hashed - start,
            command_seconds() - hashed);
  return true;
}

static void close_work(struct work *work) {
  unsigned char hash[HASH_BYTES];
  if (work->logits) hash_end(work->logits, hash);
  free(work->stated);
  chances_close(&work->chances);
  receipt_free(&work->receipt);
  reader_close(&work->reader);
  vocabulary_free(&work->vocabulary);
  model_close(&work->model);
}

int main(int count, char **words) {
  struct work work = {.stated = NULL};
  struct failure failure = {""};
  bool same = true, done = read_options(&work, count, words, &failure);
  if (done && !work.options.command.help) {
    done = run(&work, &same, &failure);
    close_work(&work);
  }
  return command_end(&program, done, same, &failure);
}
