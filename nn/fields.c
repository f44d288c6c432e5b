#include "fields.h"

#include "../src/base/caller.h"
#include "../src/base/error.h"

#include <stddef.h>
#include <string.h>

typedef struct field {
  const char *name;
  unsigned short offset, size;
} field;

static const field fields[] = {
#define FIELD(NAME, field, kind, unset) {#field, offsetof(fovea_problem, field), sizeof((fovea_problem *)0)->field},
#include "../src/feature/list.inc"
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

void fovea_nn_copy_fields(const fovea_problem *from, uint64_t features, fovea_problem *to) {
#define FIELD(NAME, field, kind, unset)                                                                            \
  if (features >> FOVEA_FEATURE_##NAME & 1) memcpy(&to->field, &from->field, sizeof to->field);
#include "../src/feature/list.inc"
}

const char *fovea_nn_other_field(const fovea_problem *p, uint64_t known) {
  fovea_problem given = *p, expected;
  fovea_problem_init(&expected, p->batch, p->heads, p->kv_heads, p->q_len, p->kv_len, p->qk_dim, p->v_dim);
  if (p->keys.end == p->kv_len) expected.keys.end = p->kv_len; /* which is the default by another name */
  fovea_nn_copy_fields(p, known, &expected);
  if (memcmp(&given, &expected, sizeof given) == 0) return NULL; /* as usual; else padding may differ */
  fovea_resolve_problem(&given); /* what a default stands for may be set by its numbers, too */
  fovea_resolve_problem(&expected);
  for (int i = 0; i < FIELDS; i++) {
    const field *f = &fields[i];
    if (memcmp((const char *)&given + f->offset, (const char *)&expected + f->offset, f->size) != 0) return f->name;
  }
  return NULL;
}

fovea_status fovea_nn_refuse_fields(const fovea_problem *p, uint64_t known, const char *why, fovea_error *error) {
  const char *name = fovea_nn_other_field(p, known);
  if (!name) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "problem.%s is set and would not be used: %s", name, why);
}
