/* SHA-256 by OpenSSL's libcrypto. */
#ifndef VERIFY_HASH_H
#define VERIFY_HASH_H

#include <stddef.h>

enum { HASH_BYTES = 32, HASH_TEXT = 65 }; /* the text with the zero at the end */

/* A hash that goes on with bytes. hash_end() frees it. */
struct hash;
struct hash *hash_begin(void);
void hash_add(struct hash *hash, const void *bytes, size_t count);
void hash_end(struct hash *hash, unsigned char result[HASH_BYTES]);

void hash_bytes(const void *bytes, size_t count, unsigned char result[HASH_BYTES]);

/* In hexadecimal. */
void hash_write(const unsigned char hash[HASH_BYTES], char text[HASH_TEXT]);
void hash_of(const void *bytes, size_t count, char text[HASH_TEXT]);

#endif
