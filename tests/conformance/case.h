/* One case of the conformance data: a folder with a case.txt and the arrays that it names. */
#ifndef FOVEA_TESTS_CONFORMANCE_CASE_H
#define FOVEA_TESTS_CONFORMANCE_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum element { ELEMENT_F32, ELEMENT_F16, ELEMENT_BF16, ELEMENT_F64, ELEMENT_BOOL, ELEMENT_I8, ELEMENT_I64 };

size_t element_size(enum element element);
const char *element_name(enum element element);

struct array {
  char name[64]; /* the operator's name for it */
  enum element element;
  int rank;
  int64_t shape[4];
  int64_t count;
  void *data; /* in C order */
};

/* A string has no number; a graph's number is the number of its nodes. */
struct attribute {
  char name[64];
  double number;
};

struct test_case {
  char name[128], op[64];
  struct attribute attributes[16];
  struct array inputs[40], outputs[8];
  int attribute_count, input_count, output_count;
};

/* Reads the folder `name` in a directory. On failure writes a line to `error` and leaves nothing to free. */
bool case_read(struct test_case *test, const char *directory, const char *name, char *error, size_t error_size);
void case_free(struct test_case *test);

/* NULL if the case has none of that name. */
const struct array *case_input(const struct test_case *test, const char *name);
const struct array *case_output(const struct test_case *test, const char *name);

bool case_has_attribute(const struct test_case *test, const char *name);
double case_number(const struct test_case *test, const char *name, double otherwise);

#endif
