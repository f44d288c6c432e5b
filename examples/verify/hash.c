#include "hash.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

struct hash *hash_begin(void) {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (!context || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1) abort(); /* no memory */
  return (struct hash *)context;
}

void hash_add(struct hash *hash, const void *bytes, size_t count) {
  if (EVP_DigestUpdate((EVP_MD_CTX *)hash, bytes, count) != 1) abort();
}

void hash_end(struct hash *hash, unsigned char result[HASH_BYTES]) {
  if (EVP_DigestFinal_ex((EVP_MD_CTX *)hash, result, NULL) != 1) abort();
  EVP_MD_CTX_free((EVP_MD_CTX *)hash);
}

void hash_bytes(const void *bytes, size_t count, unsigned char result[HASH_BYTES]) {
  struct hash *hash = hash_begin();
  hash_add(hash, bytes, count);
  hash_end(hash, result);
}

void hash_write(const unsigned char hash[HASH_BYTES], char text[HASH_TEXT]) {
  for (int i = 0; i < HASH_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", hash[i]);
}

void hash_of(const void *bytes, size_t count, char text[HASH_TEXT]) {
  unsigned char hash[HASH_BYTES];
  hash_bytes(bytes, count, hash);
  hash_write(hash, text);
}
