#include "receipt.h"

#include "../sentence/output.h"
#include "../stories/file.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 24 }; /* of any count */

static const char *const caches[] = {[CACHE_Q8_0] = "q8_0", [CACHE_F16] = "f16", [CACHE_F32] = "f32"};

int64_t receipt_rows(const struct receipt *receipt) {
  return (receipt->count - 2) / receipt->every + 1;
}

bool receipt_create(struct receipt *receipt, struct failure *failure) {
  receipt->hashes = calloc((size_t)(receipt_rows(receipt) * (receipt->layers + 1)), sizeof *receipt->hashes);
  return receipt->hashes || refuse(failure, "no memory for the hashes of %lld rows", (long long)receipt->count);
}

void receipt_free(struct receipt *receipt) {
  free(receipt->tokens);
  free(receipt->hashes);
  *receipt = (struct receipt){.tokens = NULL};
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static const char *write_lines(const void *what, const char *path) {
  const struct receipt *r = what;
  FILE *file = fopen(path, "w");
  if (!file) return strerror(errno);
  fprintf(file, "fovea receipt 1\ncontract 1.0 exact\nweights %s\ncache %s\ntemperature %a\nseed %" PRIu64 "\n",
          r->weights, caches[r->cache], r->temperature, r->seed);
  fprintf(file, "every %" PRId64 "\nlayers %" PRId64 "\nprompt %" PRId64 "\ntokens %" PRId64 ":", r->every,
          r->layers, r->prompt, r->count);
  for (int64_t i = 0; i < r->count; i++) fprintf(file, " %" PRId32, r->tokens[i]);
  for (int64_t row = 0; row < receipt_rows(r); row++) {
    fprintf(file, "\nrow %" PRId64, row * r->every);
    for (int64_t i = 0; i <= r->layers; i++) fprintf(file, " %s", r->hashes[row * (r->layers + 1) + i]);
  }
  fprintf(file, "\nlogits %s\nend\n", r->logits);
  const bool failed = ferror(file) != 0;
  return fclose(file) != 0 || failed ? "it could not be written" : NULL;
}

bool receipt_write(const struct receipt *receipt, const char *path, struct failure *failure) {
  const char *reason = output_replace(path, write_lines, receipt);
  return !reason || refuse(failure, "%s: %s", path, reason);
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

/* The words of a file, one after the other. */
struct words {
  const char *path, *at, *end;
  int64_t line;
  struct failure *failure;
};

/* The next word, up to a blank or the end of the line; "" at the end of the file. */
static bool next(struct words *words, char *word, size_t size, const char *wanted) {
  size_t length = 0;
  while (words->at < words->end && (*words->at == ' ' || *words->at == '\n')) words->line += *words->at++ == '\n';
  while (words->at < words->end && *words->at != ' ' && *words->at != '\n' && length + 1 < size)
    word[length++] = *words->at++;
  word[length] = 0;
  return length > 0 || refuse(words->failure, "%s: line %lld: it ends where %s is wanted", words->path,
                              (long long)words->line, wanted);
}

static bool wrong(const struct words *words, const char *word, const char *wanted) {
  return refuse(words->failure, "%s: line %lld: it has '%s' where %s is wanted", words->path,
                (long long)words->line, word, wanted);
}

static bool expect(struct words *words, const char *wanted) {
  char word[HASH_TEXT + 1];
  return next(words, word, sizeof word, wanted) && (strcmp(word, wanted) == 0 || wrong(words, word, wanted));
}

static bool read_number(struct words *words, const char *name, int64_t least, int64_t most, int64_t *number) {
  char word[32], wanted[64], *end;
  snprintf(wanted, sizeof wanted, "a number from %lld to %lld", (long long)least, (long long)most);
  if ((name && !expect(words, name)) || !next(words, word, sizeof word, wanted)) return false;
  errno = 0;
  *number = strtoll(word, &end, 10);
  if (*end == ':') end++;
  return (!*end && !errno && *number >= least && *number <= most) || wrong(words, word, wanted);
}

static bool read_hash(struct words *words, const char *name, char hash[HASH_TEXT]) {
  char word[HASH_TEXT + 1];
  if ((name && !expect(words, name)) || !next(words, word, sizeof word, "a hash")) return false;
  if (strlen(word) != HASH_TEXT - 1 || strspn(word, "0123456789abcdef") != HASH_TEXT - 1)
    return wrong(words, word, "a hash");
  memcpy(hash, word, HASH_TEXT);
  return true;
}

static bool read_head(struct receipt *r, struct words *words) {
  static const char *const first[] = {"fovea", "receipt", "1", "contract", "1.0", "exact"};
  char word[64], *end;
  int64_t seed;
  for (size_t i = 0; i < sizeof first / sizeof *first; i++)
    if (!expect(words, first[i])) return false;
  if (!read_hash(words, "weights", r->weights) || !expect(words, "cache") ||
      !next(words, word, sizeof word, "a type of cache"))
    return false;
  r->cache = CACHE_Q8_0;
  while (r->cache <= CACHE_F32 && strcmp(word, caches[r->cache]) != 0) r->cache++;
  if (r->cache > CACHE_F32) return wrong(words, word, "a type of cache");
  if (!expect(words, "temperature") || !next(words, word, sizeof word, "a temperature")) return false;
  r->temperature = strtod(word, &end);
  if (*end || !(r->temperature >= 0 && r->temperature <= (double)FLT_MAX))
    return wrong(words, word, "a temperature from 0 on");
  if (!read_number(words, "seed", 0, INT64_MAX, &seed)) return false;
  r->seed = (uint64_t)seed;
  return read_number(words, "every", 1, MOST, &r->every) && read_number(words, "layers", 1, 4096, &r->layers) &&
         read_number(words, "prompt", 1, MOST, &r->prompt) &&
         read_number(words, "tokens", r->prompt + 1, MOST, &r->count);
}

static bool read_words(struct receipt *r, struct words *words) {
  int64_t number;
  if (!read_head(r, words)) return false;
  r->tokens = malloc((size_t)r->count * sizeof *r->tokens);
  if (!r->tokens) return refuse(words->failure, "no memory for %lld tokens", (long long)r->count);
  for (int64_t i = 0; i < r->count; i++) {
    if (!read_number(words, NULL, 0, INT32_MAX, &number)) return false;
    r->tokens[i] = (int32_t)number;
  }
  if (!receipt_create(r, words->failure)) return false;
  for (int64_t row = 0; row < receipt_rows(r); row++) {
    const int64_t position = row * r->every;
    if (!read_number(words, "row", position, position, &number)) return false;
    for (int64_t i = 0; i <= r->layers; i++)
      if (!read_hash(words, NULL, r->hashes[row * (r->layers + 1) + i])) return false;
  }
  return read_hash(words, "logits", r->logits) && expect(words, "end");
}

bool receipt_read(struct receipt *receipt, const char *path, struct failure *failure) {
  struct file file;
  *receipt = (struct receipt){.tokens = NULL};
  if (!file_read(&file, path, failure)) return false;
  struct words words = {path, file.bytes, file.bytes + file.size, 1, failure};
  const bool done = read_words(receipt, &words);
  file_free(&file);
  if (!done) receipt_free(receipt);
  return done;
}
