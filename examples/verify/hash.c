#include "hash.h"

#include "../stories/file.h"

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

void hash_end(struct hash *hash, char text[HASH_TEXT]) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  if (EVP_DigestFinal_ex((EVP_MD_CTX *)hash, bytes, NULL) != 1) abort();
  EVP_MD_CTX_free((EVP_MD_CTX *)hash);
  for (int i = 0; i < HASH_TEXT / 2; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

void hash_of(const void *bytes, size_t count, char text[HASH_TEXT]) {
  struct hash *hash = hash_begin();
  hash_add(hash, bytes, count);
  hash_end(hash, text);
}

bool hash_of_file(const char *path, char text[HASH_TEXT], struct failure *failure) {
  struct file file;
  if (!file_read(&file, path, failure)) return false;
  hash_of(file.bytes, file.size, text);
  file_free(&file);
  return true;
}
