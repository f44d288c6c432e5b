/* A lossless compressor of text by a language model:
 *
 *   fovea_compress pack MODEL TEXT FILE [OPTIONS]
 *   fovea_compress unpack MODEL FILE TEXT [OPTIONS]
 *
 * The model is a GGUF file, as examples/llm reads it. README.md describes the file. */
#include "../llm/vocabulary.h"
#include "../sentence/output.h"
#include "../verify/chances.h"
#include "../verify/command.h"
#include "../verify/hash.h"
#include "../verify/reader.h"
#include "coder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "Usage: fovea_compress pack MODEL TEXT FILE [OPTIONS]\n"
                           "       fovea_compress unpack MODEL FILE TEXT [OPTIONS]\n"
                           "\n"
                           "Packs a text by a GGUF file of a language model, in one pass; the same model unpacks "
                           "it on any machine, token by\n"
                           "token.\n"
                           "\n"
                           "  --threads N        0: as many as there are CPUs (default)\n"
                           "  --isa NAME         an instruction set that `fovea info` lists\n"
                           "  --stats            a line on stderr: bytes and seconds\n"
                           "\n"
                           "Exit status 0; 2 if something was wrong, with one line on stderr that says what. A "
                           "damaged file, or another model,\n"
                           "gives no text.\n";

enum { HEAD = 7, TEXT_LIMIT = 1 << 28 };
static const char magic[HEAD + 1] = "FOVEAZ1";

/* What stands before the code. Numbers are little-endian. */
struct head {
  char magic[HEAD], weights[HASH_TEXT], text[HASH_TEXT]; /* hashes, each with its zero */
  unsigned char size[8];                                 /* of the text */
};

enum { PACK, UNPACK };

struct options {
  struct command command;
  const char *model, *from, *to;
};

/* A model that reads a piece of the text, and the code of its tokens. */
struct work {
  const struct options *options;
  struct model model;
  struct vocabulary vocabulary;
  struct reader reader;
  struct chances chances;
  struct coder coder;
  int32_t *tokens; /* of the piece, in whose place 0 is what comes before it */
  char weights[HASH_TEXT];
};

/* ---- Packing -------------------------------------------------------------------------------------------------- */

static bool encode_next(void *context, int64_t position, const float *logits, struct failure *failure) {
  struct work *work = context;
  const int32_t token = work->tokens[position + 1];
  if (!chances_take(&work->chances, logits, 1, &work->options->command.execution, failure)) return false;
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

/* The tokens of a piece of at most *size bytes: as much as the model can read at once. */
static bool cut_piece(struct work *work, const char *text, size_t *size, int64_t *count, struct failure *failure) {
  const int64_t context = work->model.context;
  char *piece = malloc(2 * *size + 2);
  if (!piece) return refuse(failure, "no memory for %zu bytes", *size);
  bool done = true;
  for (*count = context + 1; done && *count > context; *size = *count > context ? (*size + 1) / 2 : *size) {
    int32_t *tokens = NULL;
    memcpy(piece, text, *size);
    piece[*size] = 0;
    done = vocabulary_encode(&work->vocabulary, piece, &tokens, count, failure);
    const int64_t marked = done && tokens[0] == first_token(work) && !work->vocabulary.has_merges ? 0 : 1;
    *count += marked;
    if (done && *count <= context)
      memcpy(work->tokens + marked, tokens, (size_t)(*count - marked) * sizeof *tokens);
    work->tokens[0] = first_token(work);
    free(tokens);
  }
  const bool same = done && text_of(work, *count, piece + *size + 1, *size) == *size &&
                    memcmp(piece + *size + 1, text, *size) == 0;
  free(piece);
  return done &&
         (same || refuse(failure, "%s: the model's vocabulary does not give this text back", work->options->from));
}

static bool pack_text(struct work *work, const struct file *text, struct failure *failure) {
  const int64_t context = work->model.context;
  work->reader.observer = (struct observer){work, NULL, encode_next};
  coder_begin(&work->coder);
  for (size_t done = 0, size; done < text->size; done += size) {
    int64_t count;
    size = text->size - done < 4 * (size_t)context ? text->size - done : 4 * (size_t)context;
    if (!cut_piece(work, text->bytes + done, &size, &count, failure)) return false;
    coder_encode(&work->coder, (uint64_t)count, 1, (uint64_t)context + 1);
    if (!reader_read(&work->reader, work->tokens, count - 1, failure) || !reader_forget(&work->reader, failure))
      return false;
  }
  coder_end(&work->coder);
  return !work->coder.lost || refuse(failure, "no memory for the code");
}

/* ---- Unpacking ------------------------------------------------------------------------------------------------ */

static bool decode_next(void *context, int64_t position, const float *logits, struct failure *failure) {
  struct work *work = context;
  if (!chances_take(&work->chances, logits, 1, &work->options->command.execution, failure)) return false;
  const int32_t token = chances_find(&work->chances, coder_number(&work->coder, work->chances.total));
  coder_take(&work->coder, chances_before(&work->chances, token), work->chances.chance[token]);
  work->tokens[position + 1] = token;
  return true;
}

/* Token by token. */
static bool unpack_text(struct work *work, char *text, size_t size, struct failure *failure) {
  const uint64_t counts = (uint64_t)work->model.context + 1;
  work->reader.observer = (struct observer){work, NULL, decode_next};
  work->tokens[0] = first_token(work);
  for (size_t done = 0, more; done < size; done += more) {
    const int64_t count = (int64_t)coder_number(&work->coder, counts);
    coder_take(&work->coder, (uint64_t)count, 1);
    for (int64_t i = 0; i + 1 < count; i++)
      if (!reader_read(&work->reader, &work->tokens[i], 1, failure)) return false;
    more = text_of(work, count, text + done, size - done);
    if (more == 0 || more > size - done) return refuse(failure, "%s: it is damaged", work->options->from);
    if (!reader_forget(&work->reader, failure)) return false;
  }
  return coder_is_done(&work->coder) || refuse(failure, "%s: it is damaged, or cut off", work->options->from);
}

static bool read_head(const struct work *work, const struct file *file, size_t *size, struct failure *failure) {
  struct head head;
  const char *from = work->options->from;
  if (file->size < sizeof head) return refuse(failure, "%s: it is cut off, or no packed text", from);
  memcpy(&head, file->bytes, sizeof head);
  if (memcmp(head.magic, magic, HEAD) != 0) return refuse(failure, "%s: it is no text of this version", from);
  if (memcmp(head.weights, work->weights, HASH_TEXT) != 0)
    return refuse(failure, "%s: it was packed by another model, SHA-256 %.64s", from, head.weights);
  *size = 0;
  for (int i = 7; i >= 0; i--) *size = *size << 8 | head.size[i];
  return *size <= TEXT_LIMIT || refuse(failure, "%s: it is damaged", from);
}

/* ---- Files ---------------------------------------------------------------------------------------------------- */

/* Up to two pieces of memory that become a file. */
struct bytes {
  const void *first, *second;
  size_t first_size, second_size;
};

static const char *write_bytes(const void *what, const char *path) {
  const struct bytes *bytes = what;
  FILE *file = fopen(path, "wb");
  if (!file) return strerror(errno);
  const bool done = fwrite(bytes->first, 1, bytes->first_size, file) == bytes->first_size &&
                    fwrite(bytes->second, 1, bytes->second_size, file) == bytes->second_size;
  return fclose(file) != 0 || !done ? "it could not be written" : NULL;
}

static bool write_file(const char *path, const struct bytes *bytes, struct failure *failure) {
  const char *reason = output_replace(path, write_bytes, bytes);
  return !reason || refuse(failure, "%s: %s", path, reason);
}

static bool pack(struct work *work, const struct file *text, size_t *written, struct failure *failure) {
  struct head head;
  if (text->size > TEXT_LIMIT)
    return refuse(failure, "%s: it has more than %d bytes", work->options->from, TEXT_LIMIT);
  if (!pack_text(work, text, failure)) return false;
  memcpy(head.magic, magic, HEAD);
  memcpy(head.weights, work->weights, HASH_TEXT);
  hash_of(text->bytes, text->size, head.text);
  for (int i = 0; i < 8; i++) head.size[i] = (unsigned char)((uint64_t)text->size >> 8 * i);
  *written = sizeof head + work->coder.count;
  return write_file(work->options->to, &(struct bytes){&head, work->coder.bytes, sizeof head, work->coder.count},
                    failure);
}

/* Nothing is written unless all of the text is there. */
static bool unpack(struct work *work, const struct file *file, size_t *size, struct failure *failure) {
  char hash[HASH_TEXT];
  if (!read_head(work, file, size, failure)) return false;
  char *text = malloc(*size + 1);
  if (!text) return refuse(failure, "no memory for %zu bytes", *size);
  coder_open(&work->coder, (unsigned char *)file->bytes + sizeof(struct head), file->size - sizeof(struct head));
  bool done = unpack_text(work, text, *size, failure);
  work->coder.bytes = NULL; /* the file's */
  if (done) hash_of(text, *size, hash);
  if (done && memcmp(hash, file->bytes + offsetof(struct head, text), HASH_TEXT) != 0)
    done = refuse(failure, "%s: it is damaged: the text has another hash", work->options->from);
  done = done && write_file(work->options->to, &(struct bytes){text, text, *size, 0}, failure);
  free(text);
  return done;
}

/* ---- The command line ----------------------------------------------------------------------------------------- */

static bool read_options(struct options *options, int count, char **words, struct failure *failure) {
  static const char *const names[] = {[PACK] = "pack", [UNPACK] = "unpack"};
  static const int counts[] = {3, 3};
  static const struct command_option none = {.name = NULL};
  if (!command_read(&options->command, count, words, names, counts, &none, failure)) return false;
  options->model = options->command.words[0];
  options->from = options->command.words[1];
  options->to = options->command.words[2];
  return true;
}

static bool open_work(struct work *work, struct failure *failure) {
  const struct options *options = work->options;
  if (!hash_of_file(options->model, work->weights, failure) ||
      !model_open(&work->model, options->model, NULL, FOVEA_MODE_EXACT, &options->command.execution, failure))
    return false;
  const int64_t context = work->model.context;
  work->tokens = malloc((size_t)(context + 1) * sizeof *work->tokens);
  return (work->tokens || refuse(failure, "no memory for %lld tokens", (long long)context)) &&
         vocabulary_read(&work->vocabulary, &work->model.gguf, failure) &&
         chances_open(&work->chances, work->model.vocabulary, failure) &&
         reader_open(&work->reader, &work->model, CACHE_F32, context, context, &options->command.execution,
                     failure);
}

static void close_work(struct work *work) {
  reader_close(&work->reader);
  chances_close(&work->chances);
  vocabulary_free(&work->vocabulary);
  free(work->tokens);
  free(work->coder.bytes);
  model_close(&work->model);
}

int main(int count, char **words) {
  struct options options;
  struct work work = {.options = &options};
  struct file file = {.bytes = NULL};
  struct failure failure = {""};
  size_t written = 0;
  bool done = read_options(&options, count, words, &failure);
  if (done && options.command.help) return fputs(help, stdout), output_finish("fovea_compress") ? EXIT_SUCCESS : 2;
  if (done) {
    done = file_read(&file, options.from, &failure) && open_work(&work, &failure);
    const double start = command_seconds();
    done = done && (options.command.which == PACK ? pack(&work, &file, &written, &failure)
                                                  : unpack(&work, &file, &written, &failure));
    if (done && options.command.stats)
      fprintf(stderr, "%zu bytes to %zu, %.3f s\n", file.size, written, command_seconds() - start);
    close_work(&work);
    file_free(&file);
  }
  if (!done) fprintf(stderr, "fovea_compress: %s\n", failure.text);
  return done && output_finish("fovea_compress") ? EXIT_SUCCESS : 2;
}
