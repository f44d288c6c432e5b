#include "refuse.h"

#include "../base/error.h"

#include <stddef.h>
#include <string.h>

/* The kinds of fields that a refusal may name. */
typedef enum field_kind { NUMBER, REAL, POINTER, FLAG, ENUM, RANGE } field_kind;

#define LISTED_NUMBER(...)  __VA_ARGS__
#define LISTED_REAL(...)    __VA_ARGS__
#define LISTED_POINTER(...) __VA_ARGS__
#define LISTED_FLAG(...)    __VA_ARGS__
#define LISTED_ENUM(...)    __VA_ARGS__
#define LISTED_RANGE(...)   __VA_ARGS__
#define LISTED_STRIDES(...)
#define LISTED_WANTED_STRIDES(...)
#define LISTED_MASK_STRIDES(...)
#define LISTED_SCALE(...)
#define LISTED_OTHER(...)

/* Their names, one after the other: pointers to them would be relocated in every process. */
static const char names[] =
#define FIELD(NAME, field, kind, unset) LISTED_##kind(#field "\0")
#include "list.inc"
    ;

typedef struct field {
  unsigned short offset;
  unsigned char size, kind, feature, is_switch;
  int64_t number; /* NUMBER: where nobody sets it; FLAG, ENUM: the largest */
} field;

#define NUMBER_OF_NUMBER(unset)  (unset)
#define NUMBER_OF_FLAG(unset)    1
#define NUMBER_OF_ENUM(unset)    (unset)
#define NUMBER_OF_REAL(unset)    0
#define NUMBER_OF_POINTER(unset) 0
#define NUMBER_OF_RANGE(unset)   0

#define ENTRY(NAME, field, kind, unset, is_switch)                                                                 \
  {offsetof(fovea_problem, field), sizeof((fovea_problem *)0)->field, kind, FOVEA_FEATURE_##NAME, is_switch,       \
   NUMBER_OF_##kind(unset)},

static const field fields[] = {
#define FIELD(NAME, field, kind, unset)  LISTED_##kind(ENTRY(NAME, field, kind, unset, 0))
#define SWITCH(NAME, field, kind, unset) LISTED_##kind(ENTRY(NAME, field, kind, unset, 1))
#include "list.inc"
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

static const char *name_of(const field *f) {
  const char *name = names;
  for (const field *before = fields; before < f; before++) {
    while (*name) name++;
    name++;
  }
  return name;
}

static int64_t number_of(const fovea_problem *p, const field *f) {
  int64_t number = 0;
  int small;
  memcpy(&number, (const char *)p + f->offset, sizeof number <= f->size ? sizeof number : 0);
  memcpy(&small, (const char *)p + f->offset, sizeof small);
  return f->size < sizeof number ? small : number;
}

static double real_of(const fovea_problem *p, const field *f) {
  double real;
  memcpy(&real, (const char *)p + f->offset, sizeof real);
  return real;
}

static fovea_range range_of(const fovea_problem *p, const field *f) {
  fovea_range range;
  memcpy(&range, (const char *)p + f->offset, sizeof range);
  return range;
}

static int is_null(const fovea_problem *p, const field *f) {
  const void *pointer;
  memcpy(&pointer, (const char *)p + f->offset, sizeof pointer);
  return pointer == NULL;
}

static int is_set(const fovea_problem *p, const field *f) {
  switch ((field_kind)f->kind) {
  case NUMBER:
    return number_of(p, f) != f->number;
  case FLAG:
  case ENUM:
    return number_of(p, f) != 0;
  case REAL:
    return real_of(p, f) != 0;
  case POINTER:
    return !is_null(p, f);
  default:
    return range_of(p, f).begin != 0 || range_of(p, f).end != FOVEA_UNLIMITED;
  }
}

static const field *find_set(const fovea_problem *p, int feature, int switches) {
  for (int i = 0; i < FIELDS; i++) {
    if (fields[i].feature == feature && fields[i].is_switch == switches && is_set(p, &fields[i])) return &fields[i];
  }
  return NULL;
}

fovea_status fovea_refuse_field(const fovea_problem *p, int feature, int is_switch, const char *why,
                                fovea_error *error) {
  const field *f = find_set(p, feature, is_switch);
  if (!f) return FOVEA_OK;
  if (f->kind == POINTER)
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is not NULL and would not be used: %s", name_of(f), why);
  if (f->kind == REAL)
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is %g and would not be used: %s", name_of(f), real_of(p, f),
                      why);
  if (f->kind == RANGE)
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is %jd to %jd and would not be used: %s", name_of(f),
                      range_of(p, f).begin, range_of(p, f).end, why);
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is %jd and would not be used: %s", name_of(f), number_of(p, f),
                    why);
}

fovea_status fovea_refuse_stray(const fovea_problem *p, uint64_t features, fovea_error *error) {
  const int feature = __builtin_ctzll(features);
#define FEATURE(NAME, has, absent, ways, layers, traits, group)                                                    \
  if (feature == FOVEA_FEATURE_##NAME && absent[0]) return fovea_refuse_field(p, feature, 0, absent, error);
#include "list.inc"
  return FOVEA_OK;
}

const char *fovea_set_switch(const fovea_problem *p, int feature) {
  const field *f = find_set(p, feature, 1);
  return f ? name_of(f) : "";
}

fovea_status fovea_refuse_value(const fovea_problem *p, fovea_error *error) {
  for (int i = 0; i < FIELDS; i++) {
    const field *f = &fields[i];
    if (f->kind != FLAG && f->kind != ENUM) continue;
    const int64_t value = number_of(p, f);
    if (value >= 0 && value <= f->number) continue;
    if (f->kind == FLAG)
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd; it must be 0 or 1", name_of(f), value);
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd; it must be from 0 to %jd", name_of(f), value,
                      f->number);
  }
  return FOVEA_OK;
}

static fovea_status refuse_pointer(const char *name, const void *pointer, const char *why, fovea_error *error) {
  (void)pointer;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is not NULL and would not be used: %s", name, why);
}

static fovea_status refuse_number(const char *name, int64_t value, const char *why, fovea_error *error) {
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is %jd and would not be used: %s", name, value, why);
}

#define REFUSE_POINTER refuse_pointer
#define REFUSE_NUMBER  refuse_number

fovea_status fovea_refuse_tensors(const fovea_problem *p, const fovea_tensors *t, uint64_t features,
                                  fovea_error *error) {
#define TENSOR(NAME, field, kind, used, unused, from)                                                              \
  if ((features & FOVEA_HAS(NAME)) && t->field && !(used)) return REFUSE_##kind(#field, t->field, unused, error);
#include "list.inc"
  return FOVEA_OK;
}
