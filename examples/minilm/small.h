/* Files that tests make: a small model in the format of the true one, and any bytes. */
#ifndef MINILM_SMALL_H
#define MINILM_SMALL_H

#include <fovea/fovea.h>

enum { SMALL_DIM = 64, SMALL_HIDDEN = 96, SMALL_LAYERS = 2, SMALL_POSITIONS = 256 };

void write_bytes(const char *path, const void *bytes, size_t size);

/* Writes a model whose weights have the same values in every type. `without` is left out; NULL: none. */
void write_small_model(const char *path, fovea_type type, int64_t vocabulary, const char *without);

#endif
