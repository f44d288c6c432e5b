/* A reader of JSON, piece by piece, for headers whose form is known: it refuses what the caller does not ask for,
 * and whatever is not JSON (RFC 8259). */
#ifndef MINILM_JSON_H
#define MINILM_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
  const char *begin, *next, *end;
};

/* If a character (after white space) is that sign, reads it. */
bool json_take(struct json *json, char sign);

/* Reads a string into `text`, decoded to UTF-8, with a 0 at its end. Refused: control characters, malformed UTF-8,
 * unknown escapes, half of a surrogate pair, U+0000, and more than `room` bytes with the 0. */
bool json_string(struct json *json, char *text, size_t room);

/* Reads a whole number from 0 to 2^63 - 1: digits, without sign, leading zeros, fraction or exponent. */
bool json_whole(struct json *json, int64_t *number);

/* Whether only white space is left. */
bool json_ends(struct json *json);

/* How many bytes have been read. */
size_t json_place(const struct json *json);

#endif
