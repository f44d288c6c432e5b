/* A receipt of a text: what a model read and wrote, and hashes of what it computed. A text file:
 *
 *   fovea receipt 1
 *   contract 1.0 exact
 *   weights <SHA-256 of the model's file>
 *   cache q8_0
 *   temperature <C hexadecimal float; 0: the likeliest token>
 *   seed <of the generator>
 *   every <n>
 *   layers <n>
 *   prompt <tokens of the prompt>
 *   tokens <n>: <token> ...
 *   row <position> <hash of the row as it leaves layer 0> ... <hash of its logits>
 *   logits <hash of the logits of all rows>
 *   end
 *
 * There is a row for each position that is a multiple of `every`; no row reads the last token.
 * A hash is SHA-256 of f32 numbers, lowest byte first. Whoever has the tokens and the model writes the same file. */
#ifndef VERIFY_RECEIPT_H
#define VERIFY_RECEIPT_H

#include "../llm/cache.h"
#include "hash.h"

struct receipt {
  fovea_mode mode; /* "exact" or "int8", of layers with quantised weights */
  char weights[HASH_TEXT];
  enum cache_type cache;
  double temperature;
  int64_t seed, every, layers, prompt, count;
  int32_t *tokens;           /* `count` */
  char (*hashes)[HASH_TEXT]; /* of each row, layers + 1 */
  char logits[HASH_TEXT];
};

/* How many rows have hashes. */
int64_t receipt_rows(const struct receipt *receipt);

/* Makes room for the hashes. */
bool receipt_create(struct receipt *receipt, struct failure *failure);
void receipt_free(struct receipt *receipt);

/* Where the hash of a position after a layer goes, or the hash of its logits; NULL if it has none. */
char *receipt_place(const struct receipt *receipt, int64_t position, int64_t layer);

/* The file's text. free() the result; NULL: there is no memory. */
char *receipt_text(const struct receipt *receipt, struct failure *failure);

/* Reads the head and the tokens, and leaves hashes in *text. free() it. Refuses what is no receipt of this version. */
bool receipt_read(struct receipt *receipt, char **text, const char *path, struct failure *failure);

#endif
