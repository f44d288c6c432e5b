#include "gguf.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_VERSION = 2, MOST_VERSION = 3, MOST_DIMS = 4, DEFAULT_ALIGNMENT = 32, LEAST_ALIGNMENT = 8 };

/* Larger than any size of a tensor; bytes of two do not overflow. */
static const uint64_t size_limit = UINT64_C(1) << 30;

/* The bytes of a file that are left. */
struct reader {
  const char *next;
  size_t left;
};

static bool skip(struct reader *reader, size_t size) {
  if (reader->left < size) return false;
  reader->next += size;
  reader->left -= size;
  return true;
}

static bool read_bytes(struct reader *reader, void *to, size_t size) {
  const char *from = reader->next;
  if (!skip(reader, size)) return false;
  memcpy(to, from, size);
  return true;
}

static bool read_text(struct reader *reader, struct gguf_text *text) {
  uint64_t length;
  if (!read_bytes(reader, &length, sizeof length) || length > reader->left) return false;
  *text = (struct gguf_text){reader->next, (size_t)length};
  return skip(reader, text->length);
}

/* Bytes of an item, by the numbers of types from 0 on; 0: a string or an array, which say how long they are. */
static const unsigned char item_sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

static bool skip_items(struct reader *reader, uint32_t type, uint64_t count) {
  struct gguf_text text;
  const size_t size = item_sizes[type];
  if (size > 0) return count <= reader->left / size && skip(reader, (size_t)count * size);
  for (uint64_t i = 0; i < count; i++)
    if (!read_text(reader, &text)) return false;
  return true;
}

/* Refuses with the name of what ends too early or is wrong. */
static bool refuse_item(const struct gguf *gguf, const char *kind, uint64_t index, const struct gguf_text *name,
                        const char *what, struct failure *failure) {
  const int length = name->length < 80 ? (int)name->length : 80;
  return refuse(failure, "%s: %s %llu of its head, '%.*s', %s", gguf->path, kind, (unsigned long long)index, length,
                name->bytes, what);
}

static bool read_value(const struct gguf *gguf, struct reader *reader, uint64_t index, struct failure *failure) {
  struct gguf_value *value = &gguf->values[index];
  *value = (struct gguf_value){.name = {"", 0}, .count = 1};
  bool whole = read_text(reader, &value->name) && read_bytes(reader, &value->type, sizeof value->type);
  value->is_array = whole && value->type == GGUF_ARRAY;
  if (value->is_array)
    whole = read_bytes(reader, &value->type, sizeof value->type) &&
            read_bytes(reader, &value->count, sizeof value->count);
  if (whole && (value->type >= sizeof item_sizes || value->type == GGUF_ARRAY))
    return refuse_item(gguf, "value", index, &value->name, "has a type that GGUF does not have", failure);
  value->data = reader->next;
  return (whole && skip_items(reader, value->type, value->count)) ||
         refuse_item(gguf, "value", index, &value->name, "ends after the file", failure);
}

/* Types of tensors that are read. Rows are blocks of so many numbers and bytes. */
static const struct kind {
  uint32_t type; /* by the numbers of the format */
  const char *name;
  uint64_t numbers, bytes;
  fovea_type element;     /* of blocks of one number */
  fovea_nn_format format; /* of other blocks */
} kinds[] = {{0, "F32", 1, 4, FOVEA_F32, 0},
             {1, "F16", 1, 2, FOVEA_F16, 0},
             {30, "BF16", 1, 2, FOVEA_BF16, 0},
             {2, "Q4_0", 32, 18, 0, FOVEA_NN_FORMAT_Q4_0},
             {3, "Q4_1", 32, 20, 0, FOVEA_NN_FORMAT_Q4_1},
             {6, "Q5_0", 32, 22, 0, FOVEA_NN_FORMAT_Q5_0},
             {7, "Q5_1", 32, 24, 0, FOVEA_NN_FORMAT_Q5_1},
             {8, "Q8_0", 32, 34, 0, FOVEA_NN_FORMAT_Q8_0},
             {12, "Q4_K", 256, 144, 0, FOVEA_NN_FORMAT_Q4_K},
             {13, "Q5_K", 256, 176, 0, FOVEA_NN_FORMAT_Q5_K},
             {14, "Q6_K", 256, 210, 0, FOVEA_NN_FORMAT_Q6_K},
             {20, "IQ4_NL", 32, 18, 0, FOVEA_NN_FORMAT_IQ4_NL},
             {39, "MXFP4", 32, 17, 0, FOVEA_NN_FORMAT_MXFP4}};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* NULL: the type is not read. */
static const struct kind *kind_of(const struct gguf_tensor *tensor) {
  for (int i = 0; i < KINDS; i++)
    if (kinds[i].type == tensor->type) return &kinds[i];
  return NULL;
}

/* Describes the matrix of a tensor, but for its data. False, and why, if it cannot be read. */
static bool describe(const struct gguf *gguf, uint64_t index, struct failure *failure) {
  struct gguf_tensor *tensor = &gguf->tensors[index];
  struct matrix *matrix = &tensor->matrix;
  const struct kind *kind = kind_of(tensor);
  char what[160] = "has another type than";
  for (int i = 0; i < KINDS && !kind; i++) {
    const size_t length = strlen(what);
    snprintf(what + length, sizeof what - length, "%s %s", i > 0 ? "," : "", kinds[i].name);
  }
  if (!kind) return refuse_item(gguf, "tensor", index, &tensor->name, what, failure);
  if ((uint64_t)matrix->columns % kind->numbers != 0)
    return refuse_item(gguf, "tensor", index, &tensor->name, "has rows of no whole blocks", failure);
  matrix->row_bytes = (size_t)((uint64_t)matrix->columns / kind->numbers * kind->bytes);
  matrix->has_codes = kind->numbers > 1;
  matrix->type = kind->element;
  fovea_nn_codes_init(&matrix->codes, kind->format, matrix->columns, matrix->rows, NULL);
  return true;
}

/* Reads what the head says of a tensor. *place: bytes from the begin of the data. */
static bool read_tensor(const struct gguf *gguf, struct reader *reader, uint64_t index, uint64_t *place,
                        struct failure *failure) {
  struct gguf_tensor *tensor = &gguf->tensors[index];
  uint32_t dims = 0, type = 0;
  uint64_t shape[MOST_DIMS] = {1, 1, 1, 1};
  *tensor = (struct gguf_tensor){.name = {"", 0}};
  bool whole = read_text(reader, &tensor->name) && read_bytes(reader, &dims, sizeof dims);
  if (whole && (dims < 1 || dims > MOST_DIMS))
    return refuse_item(gguf, "tensor", index, &tensor->name, "has not 1 to 4 dims", failure);
  whole = whole && read_bytes(reader, shape, dims * sizeof *shape) && read_bytes(reader, &type, sizeof type) &&
          read_bytes(reader, place, sizeof *place);
  if (!whole) return refuse_item(gguf, "tensor", index, &tensor->name, "ends after the file", failure);
  for (int i = 0; i < MOST_DIMS; i++)
    if (shape[i] < 1 || shape[i] > (i < 2 ? size_limit : 1))
      return refuse_item(gguf, "tensor", index, &tensor->name, "is no matrix and no vector", failure);
  tensor->matrix.columns = (int64_t)shape[0];
  tensor->matrix.rows = (int64_t)shape[1];
  tensor->type = type;
  return true;
}

/* Points a tensor to its data. */
static bool place_tensor(const struct gguf *gguf, uint64_t index, uint64_t place, uint64_t alignment,
                         const struct reader *data, struct failure *failure) {
  struct gguf_tensor *tensor = &gguf->tensors[index];
  if (!describe(gguf, index, failure)) return false;
  const uint64_t bytes = (uint64_t)tensor->matrix.rows * tensor->matrix.row_bytes;
  if (place % alignment != 0) return refuse_item(gguf, "tensor", index, &tensor->name, "is not aligned", failure);
  if (place > data->left || bytes > data->left - place)
    return refuse(failure, "%s: tensor %llu of its head, '%.*s', ends at byte %llu of the data; the file has %zu",
                  gguf->path, (unsigned long long)index, (int)(tensor->name.length < 80 ? tensor->name.length : 80),
                  tensor->name.bytes, (unsigned long long)(place + bytes), data->left);
  tensor->matrix.data = tensor->matrix.codes.data = data->next + place;
  return true;
}

static bool read_tensors(const struct gguf *gguf, struct reader *reader, uint64_t *places,
                         struct failure *failure) {
  int64_t alignment;
  for (uint64_t i = 0; i < gguf->tensor_count; i++)
    if (!read_tensor(gguf, reader, i, &places[i], failure)) return false;
  if (!gguf_whole(gguf, "general.alignment", LEAST_ALIGNMENT, 1 << 20, DEFAULT_ALIGNMENT, &alignment, failure))
    return false;
  if (alignment % LEAST_ALIGNMENT != 0)
    return refuse(failure, "%s: general.alignment is %lld; it must be a multiple of %d", gguf->path,
                  (long long)alignment, LEAST_ALIGNMENT);
  const size_t head = gguf->file.size - reader->left, over = head % (size_t)alignment;
  if (over != 0 && !skip(reader, (size_t)alignment - over)) skip(reader, reader->left);
  for (uint64_t i = 0; i < gguf->tensor_count; i++)
    if (!place_tensor(gguf, i, places[i], (uint64_t)alignment, reader, failure)) return false;
  return true;
}

static bool read_head(struct gguf *gguf, struct failure *failure) {
  struct reader reader = {gguf->file.bytes, gguf->file.size};
  char magic[4];
  uint32_t version;
  if (!read_bytes(&reader, magic, sizeof magic) || memcmp(magic, "GGUF", sizeof magic) != 0)
    return refuse(failure, "%s: it does not begin with GGUF", gguf->path);
  if (!read_bytes(&reader, &version, sizeof version) || !read_bytes(&reader, &gguf->tensor_count, 8) ||
      !read_bytes(&reader, &gguf->value_count, 8))
    return refuse(failure, "%s: %zu bytes are too few for a head", gguf->path, gguf->file.size);
  if (version < LEAST_VERSION || version > MOST_VERSION)
    return refuse(failure, "%s: version %u of GGUF; it must be %d or %d", gguf->path, (unsigned)version,
                  LEAST_VERSION, MOST_VERSION);
  if (gguf->tensor_count > reader.left || gguf->value_count > reader.left) /* each has more than a byte */
    return refuse(failure, "%s: %llu tensors and %llu values do not fit into its %zu bytes", gguf->path,
                  (unsigned long long)gguf->tensor_count, (unsigned long long)gguf->value_count, gguf->file.size);
  gguf->values = calloc((size_t)gguf->value_count + 1, sizeof *gguf->values);
  gguf->tensors = calloc((size_t)gguf->tensor_count + 1, sizeof *gguf->tensors);
  uint64_t *places = calloc((size_t)gguf->tensor_count + 1, sizeof *places);
  if (!gguf->values || !gguf->tensors || !places) {
    free(places);
    return refuse(failure, "no memory for the head");
  }
  bool done = true;
  for (uint64_t i = 0; i < gguf->value_count && done; i++) done = read_value(gguf, &reader, i, failure);
  done = done && read_tensors(gguf, &reader, places, failure);
  free(places);
  return done;
}

bool gguf_read(struct gguf *gguf, const char *path, struct failure *failure) {
  *gguf = (struct gguf){.path = path};
  if (!file_read(&gguf->file, path, failure)) return false;
  if (read_head(gguf, failure)) return true;
  gguf_free(gguf);
  return false;
}

void gguf_free(struct gguf *gguf) {
  free(gguf->values);
  free(gguf->tensors);
  file_free(&gguf->file);
  *gguf = (struct gguf){.path = NULL};
}

static bool same_text(const struct gguf_text *text, const char *name) {
  return text->length == strlen(name) && memcmp(text->bytes, name, text->length) == 0;
}

const struct gguf_value *gguf_find(const struct gguf *gguf, const char *name) {
  for (uint64_t i = 0; i < gguf->value_count; i++)
    if (same_text(&gguf->values[i].name, name)) return &gguf->values[i];
  return NULL;
}

/* A whole number of any type; false if the value is none. */
static bool read_whole(const struct gguf_value *value, int64_t *number) {
  static const bool is_signed[] = {0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0};
  const uint32_t type = value->type;
  const size_t size = item_sizes[type];
  uint64_t bits = 0;
  if (value->is_array || size == 0 || type == GGUF_FLOAT32 || type == 12) return false; /* 12: of 64 bits */
  memcpy(&bits, value->data, size);
  if (is_signed[type] && size < 8 && bits >> (8 * size - 1)) bits |= UINT64_MAX << (8 * size);
  *number = (int64_t)bits;
  return is_signed[type] || *number >= 0;
}

bool gguf_whole(const struct gguf *gguf, const char *name, int64_t least, int64_t most, int64_t missing,
                int64_t *value, struct failure *failure) {
  const struct gguf_value *found = gguf_find(gguf, name);
  *value = missing;
  if (!found) return missing >= least || refuse(failure, "%s: it has no value %s", gguf->path, name);
  if (!read_whole(found, value)) return refuse(failure, "%s: %s is no whole number", gguf->path, name);
  return (*value >= least && *value <= most) ||
         refuse(failure, "%s: %s is %lld; it must be from %lld to %lld", gguf->path, name, (long long)*value,
                (long long)least, (long long)most);
}

bool gguf_number(const struct gguf *gguf, const char *name, double least, double missing, double *value,
                 struct failure *failure) {
  const struct gguf_value *found = gguf_find(gguf, name);
  float number;
  *value = missing;
  if (!found) return missing >= least || refuse(failure, "%s: it has no value %s", gguf->path, name);
  if (found->is_array || found->type != GGUF_FLOAT32)
    return refuse(failure, "%s: %s is no number of 32 bits", gguf->path, name);
  memcpy(&number, found->data, sizeof number);
  *value = (double)number;
  return (*value >= least && *value <= (double)FLT_MAX) ||
         refuse(failure, "%s: %s is %g; it must be a number from %g on", gguf->path, name, *value, least);
}

bool gguf_array(const struct gguf *gguf, const char *name, enum gguf_value_type type,
                const struct gguf_value **value, struct failure *failure) {
  *value = gguf_find(gguf, name);
  if (!*value) return refuse(failure, "%s: it has no value %s", gguf->path, name);
  return ((*value)->is_array && (*value)->type == (uint32_t)type) ||
         refuse(failure, "%s: %s has another type than an array of type %d", gguf->path, name, (int)type);
}

struct gguf_text gguf_next_text(const char **at) {
  uint64_t length;
  memcpy(&length, *at, sizeof length);
  const struct gguf_text text = {*at + sizeof length, (size_t)length};
  *at = text.bytes + text.length;
  return text;
}

bool gguf_is(const struct gguf_value *value, const char *text) {
  if (!value || value->is_array || value->type != GGUF_STRING) return false;
  const char *at = value->data;
  const struct gguf_text found = gguf_next_text(&at);
  return same_text(&found, text);
}

static struct gguf_tensor *find_tensor(const struct gguf *gguf, const char *name) {
  for (uint64_t i = 0; i < gguf->tensor_count; i++)
    if (same_text(&gguf->tensors[i].name, name)) return &gguf->tensors[i];
  return NULL;
}

bool gguf_has_tensor(const struct gguf *gguf, const char *name) {
  return find_tensor(gguf, name) != NULL;
}

bool gguf_take(struct gguf *gguf, const char *name, int64_t rows, int64_t columns, struct matrix *matrix,
               struct failure *failure) {
  struct gguf_tensor *found = find_tensor(gguf, name);
  if (!found) return refuse(failure, "%s: it has no tensor %s", gguf->path, name);
  *matrix = found->matrix;
  if (found->matrix.rows != rows || found->matrix.columns != columns)
    return refuse(failure, "%s: %s is (%lld, %lld); it must be (%lld, %lld)", gguf->path, name,
                  (long long)found->matrix.rows, (long long)found->matrix.columns, (long long)rows,
                  (long long)columns);
  found->taken = true;
  return true;
}
