/* Segments whose sides both have formats, and new rows of any numbers for them, as the tests of appending make them.
 * Calls fail the running cmocka test if they cannot do what they say. */
#ifndef FOVEA_TESTS_STORES_H
#define FOVEA_TESTS_STORES_H

#include "narrow.h"

#include <fovea/cache.h>

enum { HEADS = 2 };

/* A segment, both of whose sides have formats. It must not be copied: the segment points into its sides. */
struct store {
  fovea_segment segment;
  struct narrow sides[2];
};

/* Random codes and scales. `centred`: with centres, if the formats may have them. */
void store_make(struct store *store, const fovea_format *k, const fovea_format *v, int64_t qk_dim, int64_t v_dim,
                int64_t rows, int centred, struct generator *generator);
void store_destroy(struct store *store);

/* What the memory of a side was. */
struct side_bytes {
  unsigned char *codes, *scales, *zeros;
};

struct side_bytes side_save(const struct narrow *n);
void side_forget(struct side_bytes *bytes);
/* Every byte that may be written becomes `byte`; scales that are the caller's stay. */
void side_fill(struct narrow *n, int byte);
/* Whether the memory of the side is as it was. */
int side_is(const struct narrow *n, const struct side_bytes *bytes);

/* New rows of both sides, of any type, and what they are as f32 when they become codes. */
struct new_rows {
  fovea_new_rows rows;
  fovea_rotary rotary;
  int rotated;
  float *numbers[2], *made[2];
  uint16_t *halves[2];
};

/* Rows of HEADS heads at `count` positions from `first` on, of any types. `rotate`: perhaps with a rotary embedding and
 * Hadamard rotations. */
void rows_make(struct new_rows *n, int64_t qk_dim, int64_t v_dim, int64_t first, int64_t count, int rotate,
               struct generator *generator);
void rows_destroy(struct new_rows *n);

/* Appends the rows on that instruction set (NULL: the best). `execution`: how, or NULL. */
void store_append(struct store *store, struct new_rows *n, const char *isa, const fovea_execution *execution);

/* Equal, or both NaN. */
int same_number(float a, float b);

#endif
