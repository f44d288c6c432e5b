/* A lossless compressor of text by a language model:
 *
 *   fovea_compress pack MODEL TEXT FILE [OPTIONS]
 *   fovea_compress unpack MODEL FILE TEXT [OPTIONS]
 *
 * The model is a GGUF file, as examples/llm reads it. README.md describes the file. */
#include "../llm/vocabulary.h"
#include "../stories/chances.h"
#include "../verify/command.h"
#include "../verify/hash.h"
#include "../verify/reader.h"
#include "coder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: fovea_compress pack MODEL TEXT FILE [OPTIONS]\n"
    "       fovea_compress unpack MODEL FILE TEXT [OPTIONS]\n"
    "\n"
    "Packs a text by a GGUF file of a language model, in one pass; the same model unpacks it on any machine, "
    "token\n"
    "by token.\n"
    "\n" COMMAND_HELP "\n"
    "Exit status 0; 2 if something was wrong, with one line on stderr that says what. A damaged file, or another\n"
    "model, gives no text.\n";

static const struct command_program program = {"fovea_compress", help, {"pack", "unpack"}, {3, 3}};
enum { PACK, UNPACK };
enum { MODEL, FROM, TO }; /* words of a command */

enum { MAGIC = 7, TEXT_LIMIT = 1 << 28, PIECE_LIMIT = 4096 };
static const char magic[MAGIC + 1] = "FOVEAZ1";

/* What stands before the code: the size of the text, little-endian, and the first halves of two hashes. */
struct head {
  char magic[MAGIC];
  unsigned char size[4], weights[HASH_BYTES / 2], text[HASH_BYTES / 2];
};

/* A model that reads a piece of the text, and the code of its tokens. */
struct work {
  struct command command;
  struct model model;
  struct vocabulary vocabulary;
  struct reader reader;
  struct chances chances;
  struct coder coder;
  int64_t longest; /* tokens of a piece, at most */
  int32_t *tokens; /* of the piece, in whose place 0 is what comes before it */
};

/* ---- Packing -------------------------------------------------------------------------------------------------- */

static bool encode_next(void *context, int64_t position, const float *logits, struct failure *failure) {
  struct work *work = context;
  const int32_t token = work->tokens[position + 1];
  if (!chances_take(&work->chances, logits, 1, &work->command.execution, failure)) return false;
  coder_encode(&work->coder, chances_before(&work->chances, token), work->chances.chance[token],
               work->chances.total);
  return true;
}

/* The token that a piece begins with: texts of some vocabularies have a mark for it, of others token 0 stands there. */
static int32_t first_token(const struct work *work) {
  return work->vocabulary.has_merges ? 0 : TOKEN_BEGIN;
}

/* Writes the bytes of tokens 1 to count - 1; returns how many, or size + 1 if there are more than `size`. */
static size_t text_of(const struct work *work, int64_t count, char *text, size_t size) {
  size_t length = 0;
  for (int64_t i = 1; i < count; i++) {
    char bytes[1024];
    const size_t more =
        tokenizer_decode(&work->vocabulary.tokenizer, work->tokens[i - 1], work->tokens[i], bytes, sizeof bytes);
    if (more > size - length) return size + 1;
    memcpy(text + length, bytes, more);
    length += more;
  }
  return length;
}

/* The tokens of a text that begins a piece, with what comes before them. Of more than the model can read, their number
 * alone. */
static bool encode_piece(struct work *work, const char *text, int64_t *count, struct failure *failure) {
  int32_t *tokens = NULL;
  if (!vocabulary_encode(&work->vocabulary, text, &tokens, count, failure)) return false;
  const int64_t marked = tokens[0] == first_token(work) && !work->vocabulary.has_merges ? 0 : 1;
  *count += marked;
  work->tokens[0] = first_token(work);
  if (*count <= work->longest) memcpy(work->tokens + marked, tokens, (size_t)(*count - marked) * sizeof *tokens);
  free(tokens);
  return true;
}

/* The tokens of a piece of at most *size bytes: about as much as the model can read at once. */
static bool cut_piece(struct work *work, const char *text, size_t *size, int64_t *count, struct failure *failure) {
  const int64_t longest = work->longest;
  char *piece = malloc(2 * *size + 2);
  if (!piece) return refuse(failure, "no memory for %zu bytes", *size);
  char *back = piece + *size + 1;
  bool done = true;
  for (;;) {
    memcpy(piece, text, *size);
    piece[*size] = 0;
    done = encode_piece(work, piece, count, failure);
    if (!done || *count <= longest) break;
    const size_t fits = *size * (size_t)longest / (size_t)*count;
    *size = fits > *size - *size / 16 - 1 ? *size - *size / 16 - 1 : fits;
  }
  const bool same =
      done && *size > 0 && text_of(work, *count, back, *size) == *size && memcmp(back, text, *size) == 0;
  free(piece);
  return done && (same || refuse(failure, "%s: the model's vocabulary does not give this text back",
                                 work->command.words[FROM]));
}

static bool pack_text(struct work *work, const struct file *text, struct failure *failure) {
  const int64_t longest = work->longest;
  work->reader.observer = (struct observer){work, 0, NULL, encode_next};
  coder_begin(&work->coder);
  for (size_t done = 0, size; done < text->size; done += size) {
    int64_t count;
    size = text->size - done < 4 * (size_t)longest ? text->size - done : 4 * (size_t)longest;
    if (!cut_piece(work, text->bytes + done, &size, &count, failure)) return false;
    coder_encode(&work->coder, (uint64_t)count, 1, (uint64_t)longest + 1);
    if (!reader_read(&work->reader, work->tokens, count - 1, failure) || !reader_forget(&work->reader, failure))
      return false;
  }
  coder_end(&work->coder);
  return !work->coder.lost || refuse(failure, "no memory for the code");
}

/* ---- Unpacking ------------------------------------------------------------------------------------------------ */

/* A damaged file, which says little of what follows, may go on for ever where its code has ended. */
static bool decode_next(void *context, int64_t position, const float *logits, struct failure *failure) {
  struct work *work = context;
  if (!coder_has_more(&work->coder))
    return refuse(failure, "%s: it is damaged, or cut off", work->command.words[FROM]);
  if (!chances_take(&work->chances, logits, 1, &work->command.execution, failure)) return false;
  const int32_t token = chances_find(&work->chances, coder_number(&work->coder, work->chances.total));
  coder_take(&work->coder, chances_before(&work->chances, token), work->chances.chance[token]);
  work->tokens[position + 1] = token;
  return true;
}

/* Token by token. */
static bool unpack_text(struct work *work, char *text, size_t size, struct failure *failure) {
  const uint64_t counts = (uint64_t)work->longest + 1;
  work->reader.observer = (struct observer){work, 0, NULL, decode_next};
  work->tokens[0] = first_token(work);
  for (size_t done = 0, more; done < size; done += more) {
    const int64_t count = (int64_t)coder_number(&work->coder, counts);
    coder_take(&work->coder, (uint64_t)count, 1);
    for (int64_t i = 0; i + 1 < count; i++)
      if (!reader_read(&work->reader, &work->tokens[i], 1, failure)) return false;
    more = text_of(work, count, text + done, size - done);
    if (more == 0 || more > size - done) return refuse(failure, "%s: it is damaged", work->command.words[FROM]);
    if (!reader_forget(&work->reader, failure)) return false;
  }
  return coder_is_done(&work->coder) || refuse(failure, "%s: it is damaged, or cut off", work->command.words[FROM]);
}

static bool read_head(const struct work *work, const struct file *file, struct head *head, size_t *size,
                      struct failure *failure) {
  const char *from = work->command.words[FROM];
  unsigned char weights[HASH_BYTES];
  if (file->size < sizeof *head || memcmp(file->bytes, magic, MAGIC) != 0)
    return refuse(failure, "%s: it is cut off, or no text that was packed by this version", from);
  memcpy(head, file->bytes, sizeof *head);
  hash_bytes(work->model.gguf.file.bytes, work->model.gguf.file.size, weights);
  if (memcmp(head->weights, weights, sizeof head->weights) != 0) {
    char stated[HASH_TEXT], found[HASH_TEXT];
    hash_write(weights, found);
    memcpy(weights, head->weights, sizeof head->weights);
    hash_write(weights, stated);
    return refuse(failure, "%s: it was packed by another model: its SHA-256 begins with %.*s, this one's with %.*s",
                  from, HASH_BYTES, stated, HASH_BYTES, found); /* half of the digits: as many as there are bytes */
  }
  *size = 0;
  for (int i = 3; i >= 0; i--) *size = *size << 8 | head->size[i];
  return *size <= TEXT_LIMIT || refuse(failure, "%s: it is damaged", from);
}

/* ---- Files ---------------------------------------------------------------------------------------------------- */

static bool pack(struct work *work, const struct file *text, size_t *written, struct failure *failure) {
  struct head head;
  unsigned char hash[HASH_BYTES];
  if (text->size > TEXT_LIMIT)
    return refuse(failure, "%s: it has more than %d bytes", work->command.words[FROM], TEXT_LIMIT);
  if (!pack_text(work, text, failure)) return false;
  memcpy(head.magic, magic, MAGIC);
  for (int i = 0; i < 4; i++) head.size[i] = (unsigned char)(text->size >> 8 * i);
  hash_bytes(work->model.gguf.file.bytes, work->model.gguf.file.size, hash);
  memcpy(head.weights, hash, sizeof head.weights);
  hash_bytes(text->bytes, text->size, hash);
  memcpy(head.text, hash, sizeof head.text);
  *written = sizeof head + work->coder.count;
  return command_write(work->command.words[TO], &head, sizeof head, work->coder.bytes, work->coder.count, failure);
}

/* Nothing is written unless all of the text is there. */
static bool unpack(struct work *work, const struct file *file, size_t *size, struct failure *failure) {
  struct head head;
  unsigned char hash[HASH_BYTES];
  if (!read_head(work, file, &head, size, failure)) return false;
  char *text = malloc(*size + 1);
  if (!text) return refuse(failure, "no memory for %zu bytes", *size);
  coder_open(&work->coder, (unsigned char *)file->bytes + sizeof head, file->size - sizeof head);
  bool done = unpack_text(work, text, *size, failure);
  work->coder.bytes = NULL; /* the file's */
  if (done) hash_bytes(text, *size, hash);
  if (done && memcmp(hash, head.text, sizeof head.text) != 0)
    done = refuse(failure, "%s: it is damaged: the text has another hash", work->command.words[FROM]);
  done = done && command_write(work->command.words[TO], text, *size, NULL, 0, failure);
  free(text);
  return done;
}

/* ---- The program ---------------------------------------------------------------------------------------------- */

static bool open_work(struct work *work, struct failure *failure) {
  const fovea_execution *execution = &work->command.execution;
  if (!model_open(&work->model, work->command.words[MODEL], NULL, FOVEA_MODE_EXACT, execution, failure))
    return false;
  work->longest = work->model.context < PIECE_LIMIT ? work->model.context : PIECE_LIMIT;
  work->tokens = malloc((size_t)(work->longest + 1) * sizeof *work->tokens);
  return (work->tokens || refuse(failure, "no memory for %lld tokens", (long long)work->longest)) &&
         vocabulary_read(&work->vocabulary, &work->model.gguf, failure) &&
         chances_open(&work->chances, work->model.vocabulary, failure) &&
         reader_open(&work->reader, &work->model, CACHE_F32, work->longest, work->longest, execution, failure);
}

static void close_work(struct work *work) {
  reader_close(&work->reader);
  chances_close(&work->chances);
  vocabulary_free(&work->vocabulary);
  free(work->tokens);
  free(work->coder.bytes);
  model_close(&work->model);
}

static bool run(struct work *work, struct failure *failure) {
  struct file file;
  size_t written = 0;
  if (!file_read(&file, work->command.words[FROM], failure)) return false;
  bool done = open_work(work, failure);
  const double start = command_seconds();
  done = done && (work->command.which == PACK ? pack : unpack)(work, &file, &written, failure);
  if (done && work->command.stats)
    fprintf(stderr, "%zu bytes to %zu, %.6f s\n", file.size, written, command_seconds() - start);
  close_work(work);
  file_free(&file);
  return done;
}

int main(int count, char **words) {
  static const struct command_option none = {.name = NULL};
  struct work work = {.tokens = NULL};
  struct failure failure = {""};
  const bool done = command_read(&work.command, &program, count, words, &none, &failure) &&
                    (work.command.help || run(&work, &failure));
  return command_end(&program, done, true, &failure);
}
