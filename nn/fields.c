#include "fields.h"

#include "../src/base/caller.h"
#include "../src/base/error.h"

#include <stddef.h>
#include <string.h>

typedef struct field {
  const char *name;
  unsigned short offset, size;
  int kind;
} field;

static const field fields[] = {
#define FIELD(name, kind) {#name, offsetof(fovea_problem, name), sizeof((fovea_problem *)0)->name, FOVEA_NN_##kind},
#include "problem_fields.inc"
#undef FIELD
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

void fovea_nn_copy_fields(const fovea_problem *from, int kinds, fovea_problem *to) {
  /* Computes nothing: it does not compile without a warning if the list lacks a field. */
  (void)sizeof((fovea_problem){
#define FIELD(name, kind) from->name,
#include "problem_fields.inc"
#undef FIELD
  });
  for (int i = 0; i < FIELDS; i++) {
    const field *f = &fields[i];
    if (kinds & f->kind) memcpy((char *)to + f->offset, (const char *)from + f->offset, f->size);
  }
}

fovea_status fovea_nn_refuse_fields(const fovea_problem *p, int known, const char *why, fovea_error *error) {
  fovea_problem given = *p, expected;
  fovea_problem_init(&expected, p->batch, p->heads, p->kv_heads, p->q_len, p->kv_len, p->qk_dim, p->v_dim);
  if (p->keys_end == p->kv_len) expected.keys_end = p->kv_len; /* which is the default by another name */
  fovea_nn_copy_fields(p, known, &expected);
  fovea_resolve_problem(&given); /* what a default stands for may be set by its numbers, too */
  fovea_resolve_problem(&expected);
  for (int i = 0; i < FIELDS; i++) {
    const field *f = &fields[i];
    if (memcmp((const char *)&given + f->offset, (const char *)&expected + f->offset, f->size) == 0) continue;
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s of the problem is set and would not be used: %s", f->name,
                      why);
  }
  return FOVEA_OK;
}
