#include "receipt.h"

#include "../stories/file.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 24 };                                                /* of any count */
enum { MODE = 1, WEIGHTS, CACHE, TEMPERATURE, SEED, LINES = SEED + 5 }; /* lines of the head, from 0 on */

int64_t receipt_rows(const struct receipt *receipt) {
  return (receipt->count - 2) / receipt->every + 1;
}

bool receipt_create(struct receipt *receipt, struct failure *failure) {
  receipt->hashes = calloc((size_t)(receipt_rows(receipt) * (receipt->layers + 1)), sizeof *receipt->hashes);
  return receipt->hashes ||
         refuse(failure, "no memory for the hashes of %lld rows", (long long)receipt_rows(receipt));
}

void receipt_free(struct receipt *receipt) {
  free(receipt->tokens);
  free(receipt->hashes);
  *receipt = (struct receipt){.tokens = NULL};
}

char *receipt_place(const struct receipt *receipt, int64_t position, int64_t layer) {
  if (position % receipt->every != 0) return NULL;
  return receipt->hashes[position / receipt->every * (receipt->layers + 1) + layer];
}

char *receipt_text(const struct receipt *r, struct failure *failure) {
  const size_t room = 512 + 12 * (size_t)r->count + (size_t)(receipt_rows(r) * (32 + (r->layers + 1) * HASH_TEXT));
  char *text = malloc(room), *at = text, *end = text ? text + room : NULL;
  if (!text) return refuse(failure, "no memory for a receipt of %zu bytes", room), NULL;
  at += snprintf(at, (size_t)(end - at),
                 "fovea receipt 1\ncontract 1.0 %s\nweights %s\ncache %s\ntemperature %a\nseed %" PRId64
                 "\nevery %" PRId64 "\nlayers %" PRId64 "\nprompt %" PRId64 "\ntokens %" PRId64 ":",
                 r->mode == FOVEA_MODE_EXACT ? "exact" : "int8", r->weights, cache_types[r->cache].word,
                 r->temperature, r->seed, r->every, r->layers, r->prompt, r->count);
  for (int64_t i = 0; i < r->count; i++) at += snprintf(at, (size_t)(end - at), " %" PRId32, r->tokens[i]);
  for (int64_t row = 0; row < receipt_rows(r); row++) {
    at += snprintf(at, (size_t)(end - at), "\nrow %" PRId64, row * r->every);
    for (int64_t i = 0; i <= r->layers; i++)
      at += snprintf(at, (size_t)(end - at), " %s", r->hashes[row * (r->layers + 1) + i]);
  }
  snprintf(at, (size_t)(end - at), "\nlogits %s\nend\n", r->logits);
  return text;
}

/* The lines of the head: the end of each is its value. */
static const struct {
  const char *begin, *wanted;
  int64_t least, most; /* of a number */
} lines[] = {{"fovea receipt 1", "", 0, 0},
             {"contract 1.0 ", "<exact or int8>", 0, 0},
             {"weights ", "<SHA-256>", 0, 0},
             {"cache ", "<q8_0, f16 or f32>", 0, 0},
             {"temperature ", "<a number from 0 on>", 0, 0},
             {"seed ", "<a number from 0 on>", 0, INT64_MAX},
             {"every ", "<a number from 1 on>", 1, MOST},
             {"layers ", "<a number from 1 on>", 1, MOST},
             {"prompt ", "<a number from 1 on>", 1, MOST},
             {"tokens ", "<more than in the prompt>:", 2, MOST}};

static bool read_choice(const char *text, char **end, const struct choice *choices, int *value) {
  const size_t length = strcspn(text, "\n");
  *end = (char *)text + length;
  while (choices->word && (strlen(choices->word) != length || memcmp(choices->word, text, length) != 0)) choices++;
  if (choices->word) *value = choices->value;
  return choices->word != NULL;
}

/* Reads the value of a line; false if it is none. *end is what follows it. */
static bool read_value(struct receipt *r, int line, const char *text, char **end) {
  static const struct choice modes[] = {{"exact", FOVEA_MODE_EXACT}, {"int8", FOVEA_MODE_INT8}, {NULL, 0}};
  int64_t *const numbers[] = {&r->seed, &r->every, &r->layers, &r->prompt, &r->count};
  int chosen = 0;
  bool done = true;
  *end = (char *)text;
  if (line == MODE) {
    done = read_choice(text, end, modes, &chosen);
    r->mode = (fovea_mode)chosen;
  } else if (line == WEIGHTS) {
    *end += strspn(text, "0123456789abcdef");
    done = *end - text == HASH_TEXT - 1;
    if (done) memcpy(r->weights, text, HASH_TEXT - 1);
  } else if (line == CACHE) {
    done = read_choice(text, end, cache_types, &chosen);
    r->cache = (enum cache_type)chosen;
  } else if (line == TEMPERATURE) {
    r->temperature = strtod(text, end);
    done = r->temperature >= 0 && r->temperature <= (double)FLT_MAX;
  } else if (line >= SEED) {
    const int64_t number = *numbers[line - SEED] = strtoll(text, end, 10);
    done = number >= lines[line].least && number <= lines[line].most;
  }
  return done;
}

static bool read_head(struct receipt *r, const char **at, const char *path, struct failure *failure) {
  for (int line = 0; line < LINES; line++) {
    const size_t length = strlen(lines[line].begin);
    char *end;
    if (strncmp(*at, lines[line].begin, length) != 0 || !read_value(r, line, *at + length, &end) ||
        *end != (line < LINES - 1 ? '\n' : ':') || (line == LINES - 1 && r->count <= r->prompt))
      return refuse(failure, "%s: line %d must be '%s%s', and is '%.*s'", path, line + 1, lines[line].begin,
                    lines[line].wanted, (int)strcspn(*at, "\n"), *at);
    *at = end + 1;
  }
  return true;
}

static bool read_tokens(struct receipt *r, const char *at, const char *path, struct failure *failure) {
  char *end;
  r->tokens = malloc((size_t)r->count * sizeof *r->tokens);
  if (!r->tokens) return refuse(failure, "no memory for %lld tokens", (long long)r->count);
  for (int64_t i = 0; i < r->count; i++, at = end) {
    const long long token = at[0] == ' ' && at[1] >= '0' && at[1] <= '9' ? strtoll(at, &end, 10) : -1;
    if (token < 0 || token > INT32_MAX)
      return refuse(failure, "%s: line %d: of %lld tokens number %lld is missing, or no number", path, LINES,
                    (long long)r->count, (long long)i);
    r->tokens[i] = (int32_t)token;
  }
  return true;
}

bool receipt_read(struct receipt *receipt, char **text, const char *path, struct failure *failure) {
  struct file file;
  *receipt = (struct receipt){.tokens = NULL};
  if (!file_read(&file, path, failure)) return false;
  const size_t size = file.size;
  *text = calloc(size + 1, 1);
  if (*text) memcpy(*text, file.bytes, size);
  file_free(&file);
  const char *at = *text;
  if (!at) return refuse(failure, "%s: no memory for it", path);
  if (strlen(at) < size) return refuse(failure, "%s: it has a zero byte", path);
  return read_head(receipt, &at, path, failure) && read_tokens(receipt, at, path, failure);
}
