/* Writes test vectors: arrays as .npy files, and a manifest in JSON. */
#ifndef FOVEA_TESTS_SPEC_VECTORS_H
#define FOVEA_TESTS_SPEC_VECTORS_H

#include "support/types.h"

#include <stdint.h>

/* What an array holds. bf16 numbers are stored as their bits, since .npy files have no bf16. */
enum array_type { ARRAY_F32, ARRAY_F16, ARRAY_BF16, ARRAY_U8, ARRAY_I8, ARRAY_I64, ARRAY_F64 };

enum array_role { INPUT, EXPECTED };

/* All exit with a message if a file cannot be written. */
void vectors_open(const char *directory);
void vectors_close(void);

/* `computes` is the computation, `clauses` the clauses of docs/numerics.md that it needs first. */
void vector_begin(const char *name, const char *computes, const char *clauses);
void vector_end(void);

/* Parameters. A double is written as a hexadecimal float in a string. */
void vector_integer(const char *name, int64_t value);
void vector_double(const char *name, double value);
void vector_word(const char *name, const char *value);

/* An array of `rows` by `columns` elements, or with 0 columns of `rows` elements. */
void vector_array(enum array_role role, const char *name, enum array_type type, const void *data, int64_t rows,
                  int64_t columns);

/* An array of numbers. Inputs of 16 bits must hold the numbers; results are rounded as results are written. */
void vector_numbers(enum array_role role, const char *name, fovea_type type, const float *numbers, int64_t rows,
                    int64_t columns);

/* The parts of the manifest, in its order. */
void write_functions(void);
void write_attention(void);
void write_rotary_vectors(void);
void write_caches(void);
void write_modes(void);
void write_scaling(void);
void write_moved_keys(void);
void write_hadamard(void);
void write_centres(void);
void write_caches_not_finite(void);
void write_more_scaling(void);
void write_kivi_of_f32(void);
void write_last_scaling(void);
void write_layers(void);
void write_linformer(void);
void write_differential(void);
void write_selection(void);
void write_weights(void);
void write_int8_layers(void);
void write_embeddings(void);
void write_multi_head(void);
void write_models(void);
void write_streams(void);
void write_stack(void);
void write_performers(void);
void write_longformer(void);
void write_bigbird(void);
void write_reformers(void);
void write_latent(void);
void write_graphs(void);

#endif
