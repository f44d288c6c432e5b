/* SHA-256 by OpenSSL's libcrypto, as text. */
#ifndef VERIFY_HASH_H
#define VERIFY_HASH_H

#include "../stories/failure.h"

#include <stddef.h>

enum { HASH_TEXT = 65 }; /* with the zero at the end */

/* A hash that goes on with bytes. hash_end() writes its text and frees it. */
struct hash;
struct hash *hash_begin(void);
void hash_add(struct hash *hash, const void *bytes, size_t count);
void hash_end(struct hash *hash, char text[HASH_TEXT]);

void hash_of(const void *bytes, size_t count, char text[HASH_TEXT]);

/* Of a whole file. */
bool hash_of_file(const char *path, char text[HASH_TEXT], struct failure *failure);

#endif
