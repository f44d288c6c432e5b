/* Kinds of structs, for test_struct_sizes.c: how each is set, and a call with it. */
#ifndef FOVEA_TESTS_NN_STRUCT_KINDS_H
#define FOVEA_TESTS_NN_STRUCT_KINDS_H

#include <fovea/fovea.h>

struct struct_kind {
  const char *name; /* in texts */
  size_t size;
  void (*set)(void *s, size_t size);
  fovea_status (*use)(const void *s, fovea_error *error);
};

/* What calls read, and what they write. */
enum { KIND_NUMBERS = 256 };
extern float kind_x[KIND_NUMBERS], kind_weights[KIND_NUMBERS], kind_y[KIND_NUMBERS];

/* Kinds of variants of attention. */
extern const struct struct_kind variant_kinds[];
extern const int variant_kind_count;
void variant_kinds_set_up(void);

#endif
