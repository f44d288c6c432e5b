#include "vectors.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT = 4096, PATH = 1024, NAME = 128 };

static const struct {
  const char *descr;
  size_t size;
} types[] = {[ARRAY_F32] = {"<f4", 4}, [ARRAY_F16] = {"<f2", 2}, [ARRAY_BF16] = {"<u2", 2}, [ARRAY_U8] = {"|u1", 1},
             [ARRAY_I8] = {"|i1", 1},  [ARRAY_I64] = {"<i8", 8}, [ARRAY_F64] = {"<f8", 8}};

static struct {
  const char *directory;
  FILE *manifest;
  int vectors;
  char name[NAME]; /* of the vector that is open */
  char parameters[TEXT], inputs[TEXT], expected[TEXT];
} out;

static FILE *create(const char *path) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  return file;
}

static void finish(FILE *file) {
  if (ferror(file) || fclose(file) != 0) {
    perror("make_vectors");
    exit(1);
  }
}

/* Adds to a list of the manifest. */
static void append(char *list, const char *format, ...) {
  const size_t used = strlen(list);
  va_list arguments;
  va_start(arguments, format);
  const int added = vsnprintf(list + used, TEXT - used, format, arguments);
  va_end(arguments);
  if (added < 0 || used + (size_t)added >= TEXT) {
    fprintf(stderr, "make_vectors: the vector %s has too many parameters or arrays\n", out.name);
    exit(1);
  }
}

static const char *comma(const char *list) {
  return list[0] == '\0' ? "" : ", ";
}

void vectors_open(const char *directory) {
  char path[PATH];
  out.directory = directory;
  snprintf(path, sizeof path, "%s/manifest.json", directory);
  out.manifest = create(path);
  fprintf(
      out.manifest,
      "{\n \"specification\": \"docs/numerics.md\",\n \"version\": \"1.1\",\n \"never_changes\": \"name, clauses, "
      "parameters, inputs and expected bits of each vector whose first clause is a section from 1 to 16\",\n "
      "\"vectors\": [");
}

void vectors_close(void) {
  fprintf(out.manifest, "\n ]\n}\n");
  finish(out.manifest);
}

void vector_begin(const char *name, const char *computes, const char *clauses) {
  char path[PATH];
  snprintf(out.name, sizeof out.name, "%s", name);
  out.inputs[0] = out.expected[0] = out.parameters[0] = '\0';
  snprintf(path, sizeof path, "%s/%s", out.directory, name);
  if (mkdir(path, 0777) != 0) { /* a second vector of this name, too */
    perror(path);
    exit(1);
  }
  fprintf(out.manifest, "%s\n  {\"name\": \"%s\", \"computes\": \"%s\", \"clauses\": \"%s\",",
          out.vectors++ == 0 ? "" : ",", name, computes, clauses);
}

void vector_end(void) {
  fprintf(out.manifest, "\n   \"parameters\": {%s},\n   \"inputs\": [%s], \"expected\": [%s]}", out.parameters,
          out.inputs, out.expected);
}

void vector_integer(const char *name, int64_t value) {
  append(out.parameters, "%s\"%s\": %" PRId64, comma(out.parameters), name, value);
}

void vector_double(const char *name, double value) {
  append(out.parameters, "%s\"%s\": \"%a\"", comma(out.parameters), name, value);
}

void vector_word(const char *name, const char *value) {
  append(out.parameters, "%s\"%s\": \"%s\"", comma(out.parameters), name, value);
}

void vector_array(enum array_role role, const char *name, enum array_type type, const void *data, int64_t rows,
                  int64_t columns) {
  char path[PATH], header[128] = {0}, shape[64];
  char *list = role == INPUT ? out.inputs : out.expected;
  append(list, "%s\"%s\"", comma(list), name);
  snprintf(path, sizeof path, "%s/%s/%s.npy", out.directory, out.name, name);
  FILE *file = create(path);
  if (columns == 0)
    snprintf(shape, sizeof shape, "(%" PRId64 ",)", rows);
  else
    snprintf(shape, sizeof shape, "(%" PRId64 ", %" PRId64 ")", rows, columns);
  /* Version 1.0 of the format: a header of 128 bytes in all, which ends with a new line. */
  memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
  const int used = snprintf(header + 10, sizeof header - 10,
                            "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", types[type].descr, shape);
  memset(header + 10 + used, ' ', sizeof header - 11 - (size_t)used);
  header[127] = '\n';
  fwrite(header, 1, sizeof header, file);
  fwrite(data, types[type].size, (size_t)(rows * (columns == 0 ? 1 : columns)), file);
  finish(file);
}

void vector_numbers(enum array_role role, const char *name, fovea_type type, const float *numbers, int64_t rows,
                    int64_t columns) {
  const int64_t count = rows * (columns == 0 ? 1 : columns);
  if (role == INPUT && type == FOVEA_F32) {
    vector_array(role, name, ARRAY_F32, numbers, rows, columns);
    return;
  }
  float *results = malloc((size_t)count * sizeof *results + 1);
  uint16_t *stored = malloc((size_t)count * sizeof *stored + 1);
  if (results == NULL || stored == NULL) abort();
  for (int64_t i = 0; i < count; i++) results[i] = rounded_number(FOVEA_F32, numbers[i]);
  for (int64_t i = 0; i < count && type != FOVEA_F32; i++)
    stored[i] = role == INPUT ? narrowed(type, bits_of(numbers[i])) : rounded(type, numbers[i]);
  if (type == FOVEA_F32)
    vector_array(role, name, ARRAY_F32, results, rows, columns);
  else
    vector_array(role, name, type == FOVEA_F16 ? ARRAY_F16 : ARRAY_BF16, stored, rows, columns);
  free(results);
  free(stored);
}
