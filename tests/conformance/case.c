#include "case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  size_t size;
} elements[] = {[ELEMENT_F32] = {"float32", 4}, [ELEMENT_F16] = {"float16", 2}, [ELEMENT_BF16] = {"bfloat16", 2},
                [ELEMENT_F64] = {"float64", 8}, [ELEMENT_BOOL] = {"bool", 1},   [ELEMENT_I8] = {"int8", 1},
                [ELEMENT_I64] = {"int64", 8}};

#define ELEMENT_COUNT (int)(sizeof elements / sizeof elements[0])

size_t element_size(enum element element) {
  return elements[element].size;
}

const char *element_name(enum element element) {
  return elements[element].name;
}

/* Reads a whole file, which must have `size` bytes. */
static void *read_data(const char *directory, const char *name, const char *file_name, size_t size) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s/%s", directory, name, file_name);
  FILE *file = fopen(path, "rb");
  void *data = malloc(size > 0 ? size : 1);
  bool whole = file && data && fread(data, 1, size, file) == size && fgetc(file) == EOF;
  if (file) fclose(file);
  if (whole) return data;
  free(data);
  return NULL;
}

/* SLOT FORMAL DTYPE RANK D.. FILE, after the word `in` or `out`. */
static bool read_array(struct array *array, FILE *file, const char *directory, const char *name) {
  char element[16], file_name[128];
  *array = (struct array){.count = 1};
  if (fscanf(file, "%*d %63s %15s %d", array->name, element, &array->rank) != 3) return false;
  if (array->rank < 0 || array->rank > 4) return false;
  for (int axis = 0; axis < array->rank; axis++) {
    if (fscanf(file, "%" SCNd64, &array->shape[axis]) != 1 || array->shape[axis] < 0) return false;
    array->count *= array->shape[axis];
  }
  int i = 0;
  while (i < ELEMENT_COUNT && strcmp(elements[i].name, element) != 0) i++;
  if (i == ELEMENT_COUNT || fscanf(file, "%127s", file_name) != 1) return false;
  array->element = (enum element)i;
  array->data = read_data(directory, name, file_name, (size_t)array->count * element_size(array->element));
  return array->data != NULL;
}

/* NAME int|float VALUE, NAME string VALUE, or, of a graph, NAME NODES. */
static bool read_attribute(struct attribute *attribute, FILE *file, bool graph) {
  char kind[16] = "graph";
  *attribute = (struct attribute){.number = 0};
  if (fscanf(file, "%63s", attribute->name) != 1) return false;
  if (!graph && fscanf(file, "%15s", kind) != 1) return false;
  if (strcmp(kind, "string") == 0) return fscanf(file, "%*s") != EOF;
  return fscanf(file, "%lf", &attribute->number) == 1;
}

#define FULL(list, count) ((count) == (int)(sizeof(list) / sizeof(list)[0]))

static bool read_line(struct test_case *test, const char *word, FILE *file, const char *directory,
                      const char *name) {
  if (strcmp(word, "case") == 0) return fscanf(file, "%127s", test->name) == 1;
  if (strcmp(word, "op") == 0) return fscanf(file, "%63s %*s %*s", test->op) == 1;
  if (strcmp(word, "tol") == 0) return fscanf(file, "%*s %*s") != EOF; /* our tolerances are stricter */
  if (strcmp(word, "attr") == 0 || strcmp(word, "graph") == 0)
    return !FULL(test->attributes, test->attribute_count) &&
           read_attribute(&test->attributes[test->attribute_count++], file, *word == 'g');
  if (strcmp(word, "in") == 0)
    return !FULL(test->inputs, test->input_count) &&
           read_array(&test->inputs[test->input_count++], file, directory, name);
  if (strcmp(word, "out") == 0)
    return !FULL(test->outputs, test->output_count) &&
           read_array(&test->outputs[test->output_count++], file, directory, name);
  return false;
}

bool case_read(struct test_case *test, const char *directory, const char *name, char *error, size_t error_size) {
  char path[1024], word[16] = "";
  *test = (struct test_case){.attribute_count = 0};
  snprintf(path, sizeof path, "%s/%s/case.txt", directory, name);
  FILE *file = fopen(path, "r");
  bool understood = file != NULL;
  while (understood && fscanf(file, "%15s", word) == 1) understood = read_line(test, word, file, directory, name);
  understood = understood && strcmp(test->name, name) == 0 && *test->op;
  if (file) fclose(file);
  if (understood) return true;
  snprintf(error, error_size, "%s is not understood, at the word '%s'", path, word);
  case_free(test);
  return false;
}

void case_free(struct test_case *test) {
  for (int i = 0; i < test->input_count; i++) free(test->inputs[i].data);
  for (int i = 0; i < test->output_count; i++) free(test->outputs[i].data);
  *test = (struct test_case){.attribute_count = 0};
}

static const struct array *find(const struct array *arrays, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(arrays[i].name, name) == 0) return &arrays[i];
  return NULL;
}

const struct array *case_input(const struct test_case *test, const char *name) {
  return find(test->inputs, test->input_count, name);
}

const struct array *case_output(const struct test_case *test, const char *name) {
  return find(test->outputs, test->output_count, name);
}

static const struct attribute *find_attribute(const struct test_case *test, const char *name) {
  for (int i = 0; i < test->attribute_count; i++)
    if (strcmp(test->attributes[i].name, name) == 0) return &test->attributes[i];
  return NULL;
}

bool case_has_attribute(const struct test_case *test, const char *name) {
  return find_attribute(test, name) != NULL;
}

double case_number(const struct test_case *test, const char *name, double otherwise) {
  const struct attribute *attribute = find_attribute(test, name);
  return attribute ? attribute->number : otherwise;
}
