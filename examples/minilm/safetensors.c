#include "safetensors.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, WORD_SIZE = 32 };

/* The reference refuses larger headers, too. */
static const uint64_t header_limit = 100000000;

/* The types of the format that have whole bytes. */
static const struct type {
  const char *name;
  int64_t size;
} types[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
             {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
             {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};

/* Where reading is. */
struct header {
  struct json json;
  struct safetensors *tensors;
  char *names_end;
  size_t names_left, room;
};

static const struct type *type_of(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (strcmp(types[i].name, name) == 0) return &types[i];
  return NULL;
}

static bool malformed(const struct header *header, const char *what, struct failure *failure) {
  return refuse(failure, "%s: byte %zu of the header: %s", header->tensors->path, json_place(&header->json), what);
}

/* __metadata__: strings by names, which nothing here needs. */
static bool read_metadata(struct header *header, struct failure *failure) {
  struct json *json = &header->json;
  char *spare = header->names_end; /* long enough for any string of the header */
  if (!json_take(json, '{')) return malformed(header, "__metadata__ must be an object", failure);
  if (json_take(json, '}')) return true;
  do {
    if (!json_string(json, spare, header->names_left) || !json_take(json, ':') ||
        !json_string(json, spare, header->names_left))
      return malformed(header, "__metadata__ must hold strings", failure);
  } while (json_take(json, ','));
  return json_take(json, '}') || malformed(header, "__metadata__ does not end", failure);
}

static bool read_shape(struct header *header, struct stored_tensor *tensor, struct failure *failure) {
  struct json *json = &header->json;
  if (!json_take(json, '[')) return malformed(header, "shape must be a list", failure);
  if (json_take(json, ']')) return true;
  do {
    if (tensor->rank == TENSOR_RANK_LIMIT) return malformed(header, "shape has more than 8 numbers", failure);
    if (!json_whole(json, &tensor->shape[tensor->rank++]))
      return malformed(header, "shape must hold whole numbers", failure);
  } while (json_take(json, ','));
  return json_take(json, ']') || malformed(header, "shape does not end", failure);
}

static bool read_offsets(struct header *header, struct stored_tensor *tensor, struct failure *failure) {
  struct json *json = &header->json;
  const bool read = json_take(json, '[') && json_whole(json, &tensor->begin) && json_take(json, ',') &&
                    json_whole(json, &tensor->end) && json_take(json, ']');
  return read || malformed(header, "data_offsets must be two whole numbers", failure);
}

static bool read_type(struct header *header, struct stored_tensor *tensor, struct failure *failure) {
  char word[WORD_SIZE];
  if (!json_string(&header->json, word, sizeof word)) return malformed(header, "dtype must be a word", failure);
  const struct type *type = type_of(word);
  if (!type) return malformed(header, "there is no such dtype", failure);
  tensor->type = type->name;
  return true;
}

/* The size that type and shape give must be the size of the data. */
static bool check_tensor(const struct header *header, const struct stored_tensor *tensor, struct failure *failure) {
  const char *path = header->tensors->path;
  int64_t size = type_of(tensor->type)->size;
  if (tensor->begin > tensor->end || tensor->end > header->tensors->data_size)
    return refuse(failure, "%s: %s: data_offsets are %lld and %lld; the file has %lld bytes of data", path,
                  tensor->name, (long long)tensor->begin, (long long)tensor->end,
                  (long long)header->tensors->data_size);
  bool fits = true;
  for (int i = 0; i < tensor->rank; i++)
    if (tensor->shape[i] == 0) size = 0;
  for (int i = 0; i < tensor->rank && size > 0 && fits; i++) {
    fits = tensor->shape[i] <= INT64_MAX / size;
    if (fits) size *= tensor->shape[i];
  }
  if (fits && size == tensor->end - tensor->begin) return true;
  return refuse(failure, "%s: %s: its type and shape do not give the %lld bytes of its data_offsets", path,
                tensor->name, (long long)(tensor->end - tensor->begin));
}

static bool read_tensor(struct header *header, struct stored_tensor *tensor, struct failure *failure) {
  struct json *json = &header->json;
  bool has_type = false, has_shape = false, has_offsets = false;
  if (!json_take(json, '{')) return malformed(header, "a tensor must be an object", failure);
  do {
    char word[WORD_SIZE];
    bool *has = NULL, read = false;
    if (!json_string(json, word, sizeof word) || !json_take(json, ':'))
      return malformed(header, "a tensor has dtype, shape and data_offsets", failure);
    if (strcmp(word, "dtype") == 0)
      has = &has_type, read = !has_type && read_type(header, tensor, failure);
    else if (strcmp(word, "shape") == 0)
      has = &has_shape, read = !has_shape && read_shape(header, tensor, failure);
    else if (strcmp(word, "data_offsets") == 0)
      has = &has_offsets, read = !has_offsets && read_offsets(header, tensor, failure);
    if (!has || *has) return malformed(header, "a tensor has dtype, shape and data_offsets, once each", failure);
    if (!read) return false;
    *has = true;
  } while (json_take(json, ','));
  if (!json_take(json, '}') || !has_type || !has_shape || !has_offsets)
    return malformed(header, "a tensor has dtype, shape and data_offsets, and no more", failure);
  return check_tensor(header, tensor, failure);
}

static struct stored_tensor *add_tensor(struct header *header) {
  struct safetensors *tensors = header->tensors;
  if (tensors->count == header->room) {
    header->room = header->room ? 2 * header->room : 64;
    struct stored_tensor *larger = realloc(tensors->tensors, header->room * sizeof *larger);
    if (!larger) return NULL;
    tensors->tensors = larger;
  }
  struct stored_tensor *added = &tensors->tensors[tensors->count++];
  *added = (struct stored_tensor){.name = header->names_end};
  return added;
}

static bool read_entry(struct header *header, struct failure *failure) {
  char *name = header->names_end;
  if (!json_string(&header->json, name, header->names_left) || !json_take(&header->json, ':'))
    return malformed(header, "the name of a tensor should be here", failure);
  const size_t used = strlen(name) + 1;
  if (strcmp(name, "__metadata__") == 0) return read_metadata(header, failure);
  struct stored_tensor *tensor = add_tensor(header);
  if (!tensor) return refuse(failure, "no memory for the names of tensors");
  header->names_end += used;
  header->names_left -= used;
  return read_tensor(header, tensor, failure);
}

static int compare_places(const void *a, const void *b) {
  const struct stored_tensor *left = a, *right = b;
  if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
  return left->end < right->end ? -1 : left->end > right->end;
}

static int compare_names(const void *a, const void *b) {
  const struct stored_tensor *left = a, *right = b;
  return strcmp(left->name, right->name);
}

/* Every byte of the data belongs to one tensor, and every name is there once. */
static bool check_all(struct safetensors *tensors, struct failure *failure) {
  int64_t end = 0;
  if (tensors->count > 0) qsort(tensors->tensors, tensors->count, sizeof *tensors->tensors, compare_places);
  for (size_t i = 0; i < tensors->count; end = tensors->tensors[i++].end)
    if (tensors->tensors[i].begin != end)
      return refuse(failure, "%s: %s begins at byte %lld of the data; the tensor before it ends at %lld",
                    tensors->path, tensors->tensors[i].name, (long long)tensors->tensors[i].begin, (long long)end);
  if (end != tensors->data_size)
    return refuse(failure, "%s: the tensors end at byte %lld of the data, the file at %lld", tensors->path,
                  (long long)end, (long long)tensors->data_size);
  if (tensors->count > 0) qsort(tensors->tensors, tensors->count, sizeof *tensors->tensors, compare_names);
  for (size_t i = 1; i < tensors->count; i++)
    if (compare_names(&tensors->tensors[i - 1], &tensors->tensors[i]) == 0)
      return refuse(failure, "%s: it has %s twice", tensors->path, tensors->tensors[i].name);
  return true;
}

static bool read_header(struct safetensors *tensors, uint64_t length, struct failure *failure) {
  const char *begin = tensors->file.bytes + LENGTH_BYTES;
  struct header header = {.json = {begin, begin, begin + length}, .tensors = tensors};
  header.names_left = (size_t)length + 1; /* a decoded string is shorter than the same with its quotes */
  header.names_end = tensors->names = malloc(header.names_left);
  if (!tensors->names) return refuse(failure, "no memory for a header of %zu bytes", (size_t)length);
  if (length == 0 || *begin != '{') return malformed(&header, "it must begin with {", failure);
  json_take(&header.json, '{');
  if (!json_take(&header.json, '}')) {
    do {
      if (!read_entry(&header, failure)) return false;
    } while (json_take(&header.json, ','));
    if (!json_take(&header.json, '}')) return malformed(&header, "a comma or } should be here", failure);
  }
  if (!json_ends(&header.json)) return malformed(&header, "something stands after the last }", failure);
  return check_all(tensors, failure);
}

static bool read_tensors(struct safetensors *tensors, struct failure *failure) {
  struct file *file = &tensors->file;
  uint64_t length = 0;
  if (file->size < LENGTH_BYTES)
    return refuse(failure, "%s: %zu bytes are too few for tensors", tensors->path, file->size);
  for (int i = LENGTH_BYTES - 1; i >= 0; i--) length = length << 8 | (unsigned char)file->bytes[i];
  if (length > header_limit || length > file->size - LENGTH_BYTES)
    return refuse(failure, "%s: a header of %llu bytes; the file has %zu, and headers end at %llu", tensors->path,
                  (unsigned long long)length, file->size - LENGTH_BYTES, (unsigned long long)header_limit);
  const size_t begin = LENGTH_BYTES + (size_t)length;
  tensors->data_size = (int64_t)(file->size - begin);
  if (!read_header(tensors, length, failure)) return false;
  /* Numbers must be aligned: writers pad headers to 8 bytes, but need not. Nobody needs the header any more. */
  if (begin % LENGTH_BYTES != 0) memmove(file->bytes, file->bytes + begin, (size_t)tensors->data_size);
  tensors->data = begin % LENGTH_BYTES != 0 ? file->bytes : file->bytes + begin;
  return true;
}

bool safetensors_read(struct safetensors *tensors, const char *path, struct failure *failure) {
  *tensors = (struct safetensors){.path = path};
  if (!file_read(&tensors->file, path, failure)) return false;
  if (read_tensors(tensors, failure)) return true;
  safetensors_free(tensors);
  return false;
}

void safetensors_free(struct safetensors *tensors) {
  free(tensors->tensors);
  free(tensors->names);
  file_free(&tensors->file);
  *tensors = (struct safetensors){.path = NULL};
}

const struct stored_tensor *safetensors_find(const struct safetensors *tensors, const char *name) {
  const struct stored_tensor wanted = {.name = name};
  if (tensors->count == 0) return NULL;
  return bsearch(&wanted, tensors->tensors, tensors->count, sizeof wanted, compare_names);
}

bool safetensors_take(const struct safetensors *tensors, const char *name, int64_t rows, int64_t columns,
                      struct numbers *numbers, struct failure *failure) {
  const struct stored_tensor *tensor = safetensors_find(tensors, name);
  if (!tensor) return refuse(failure, "%s: there is no tensor %s", tensors->path, name);
  const int rank = columns > 0 ? 2 : 1;
  if (tensor->rank != rank || tensor->shape[0] != rows || (rank == 2 && tensor->shape[1] != columns))
    return refuse(failure, "%s: %s has another shape than (%lld, %lld)", tensors->path, name, (long long)rows,
                  (long long)columns);
  static const struct {
    const char *name;
    fovea_type type;
  } read[] = {{"F32", FOVEA_F32}, {"F16", FOVEA_F16}, {"BF16", FOVEA_BF16}};
  for (size_t i = 0; i < sizeof read / sizeof read[0]; i++)
    if (strcmp(read[i].name, tensor->type) == 0) {
      *numbers = (struct numbers){tensors->data + tensor->begin, read[i].type};
      if (tensor->begin % type_of(tensor->type)->size == 0) return true;
      return refuse(failure, "%s: %s begins at byte %lld of the data, which is not aligned", tensors->path, name,
                    (long long)tensor->begin);
    }
  return refuse(failure, "%s: %s has the type %s; it must be F32, F16 or BF16", tensors->path, name, tensor->type);
}
