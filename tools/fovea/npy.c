/* The .npy format, as numpy.lib.format documents it: 6 bytes of magic, 2 of version, the header's length, the
 * header (a Python dictionary of descr, fortran_order and shape, padded with spaces), then the elements. */
#include "npy.h"

#include "printf_like.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "npy.c copies the elements of little-endian files as they are"
#endif

#define MAGIC_SIZE    6
#define HEADER_LIMIT  (1 << 20)          /* real headers have about 118 bytes; a larger one is garbage */
#define FIRST_READ    ((size_t)16 << 20) /* most bytes allocated before they are read */
#define DATA_ALIGN    64                 /* NumPy starts the elements at a multiple of this */
#define DESCR_LIMIT   32
#define HEADER_BUFFER 512

static const char magic[MAGIC_SIZE] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

static const struct type_entry {
  const char *descr, *name;
  size_t size;
} known_types[] = {[NPY_F32] = {"<f4", "float32 ('<f4')", 4}, [NPY_F16] = {"<f2", "float16 ('<f2')", 2},
                   [NPY_BOOL] = {"|b1", "bool ('|b1')", 1},   [NPY_U16] = {"<u2", "uint16 ('<u2')", 2},
                   [NPY_I32] = {"<i4", "int32 ('<i4')", 4},   [NPY_I64] = {"<i8", "int64 ('<i8')", 8}};

#define TYPE_COUNT (int)(sizeof known_types / sizeof known_types[0])

size_t npy_type_size(npy_type type) {
  return known_types[type].size;
}

/* One file being read. */
struct source {
  const char *path;
  FILE *stream;
  unsigned types; /* that the caller accepts */
  char *error;
  size_t error_size;
};

PRINTF_LIKE(2, 3) static bool refuse(const struct source *source, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int used = snprintf(source->error, source->error_size, "%s: ", source->path);
  if (used >= 0 && (size_t)used < source->error_size)
    vsnprintf(source->error + used, source->error_size - (size_t)used, format, arguments);
  va_end(arguments);
  return false;
}

/* Reads exactly `size` bytes. The text of a failure calls them `part`. */
static bool read_bytes(const struct source *source, void *bytes, size_t size, const char *part) {
  errno = 0;
  size_t got = fread(bytes, 1, size, source->stream);
  if (got == size) return true;
  if (ferror(source->stream)) return refuse(source, "cannot read: %s", strerror(errno));
  return refuse(source, "ends after %zu of %zu bytes of its %s", got, size, part);
}

/* How NumPy makes an array of a type of the set from one of type `descr` without another meaning; NULL: not at all.
 * The numbers of a type such as '<i8' are not always what is meant by them. */
static const char *conversion(unsigned types, const char *descr) {
  const char kind = *descr ? descr[1] : '\0';
  const bool is_integer = kind == 'i' || kind == 'u', is_float = kind == 'f', is_bool = kind == 'b';
  const bool takes_floats = types & (NPY_SET(NPY_F32) | NPY_SET(NPY_F16));
  if (!is_integer && !is_float && !is_bool) return NULL;
  /* A mask of 0 and 1 says which keys are visible. As floats, 0 and 1 would be added to scores. */
  if (types & NPY_SET(NPY_BOOL) && is_integer) return "a.astype(bool), if 0 stands for keys that are not visible";
  if (types & NPY_SET(NPY_BOOL) && !takes_floats) return "a.astype(bool)";
  if (takes_floats && !(types & NPY_SET(NPY_U16)) && strcmp(descr + 1, "u2") == 0)
    return "(a.astype('<u4') << 16).view('<f4') for the bits of bfloat16";
  if (types & NPY_SET(NPY_F32)) return "a.astype('<f4')";
  if (types & NPY_SET(NPY_F16)) return "a.astype('<f2')";
  if (types & NPY_SET(NPY_U16))
    return is_float ? "(a.astype('<f4').view('<u4') >> 16).astype('<u2') for the bits of bfloat16" : NULL;
  /* Lists of integers. Marks are no numbers, and '<i4' would not hold all of '<u4'. */
  if (is_bool) return "numpy.flatnonzero(a), if it marks the numbers of a list";
  return types & NPY_SET(NPY_I64) ? "a.astype('<i8')" : "a.astype('<i4')";
}

/* Refuses an element type: "float32 ('<f4') or float16 ('<f2') is needed". */
static bool refuse_type(const struct source *source, const char *what, const char *descr) {
  char needed[128] = "";
  const char *convert = conversion(source->types, descr);
  for (int i = 0; i < TYPE_COUNT; i++) {
    if (!(source->types & NPY_SET(i))) continue;
    const bool last = source->types < 2 * NPY_SET(i);
    const char *join = *needed == '\0' ? "" : last ? " or " : ", ";
    size_t used = strlen(needed);
    snprintf(needed + used, sizeof needed - used, "%s%s", join, known_types[i].name);
  }
  return refuse(source, "%s; %s is needed%s%s", what, needed, convert ? ", in NumPy: " : "",
                convert ? convert : "");
}

/* ---- The header ---------------------------------------------------------------------------------------------- */

/* The rest of the header's text. */
struct cursor {
  const char *at, *end;
};

static void skip_space(struct cursor *cursor) {
  while (cursor->at < cursor->end && (*cursor->at == ' ' || (*cursor->at >= '\t' && *cursor->at <= '\r')))
    cursor->at++;
}

/* Takes one character of punctuation, with the space before it. */
static bool take(struct cursor *cursor, char wanted) {
  skip_space(cursor);
  if (cursor->at == cursor->end || *cursor->at != wanted) return false;
  cursor->at++;
  return true;
}

static bool take_word(struct cursor *cursor, const char *word) {
  skip_space(cursor);
  size_t length = strlen(word);
  if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0) return false;
  cursor->at += length;
  return true;
}

/* A string of printable ASCII in either quote. No string of a valid header needs an escape. */
static bool take_string(struct cursor *cursor, char *string, size_t size) {
  if (!take(cursor, '\'') && !take(cursor, '"')) return false;
  char quote = cursor->at[-1];
  size_t length = 0;
  for (; cursor->at < cursor->end && *cursor->at != quote; cursor->at++) {
    char c = *cursor->at;
    if (c < ' ' || c > '~' || c == '\\' || length + 1 == size) return false;
    string[length++] = c;
  }
  string[length] = '\0';
  return take(cursor, quote);
}

static bool take_length(struct cursor *cursor, int64_t *length) {
  skip_space(cursor);
  const char *start = cursor->at;
  *length = 0;
  for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
    int digit = *cursor->at - '0';
    if (*length > (INT64_MAX - digit) / 10) return false;
    *length = *length * 10 + digit;
  }
  if (cursor->at == start) return false;
  take(cursor, 'L'); /* Python 2 wrote 3L */
  return true;
}

struct header {
  char descr[DESCR_LIMIT];
  bool fortran_order;
  int rank;
  int64_t shape[NPY_MAX_RANK];
};

static bool garbled(const struct source *source) {
  return refuse(source, "its header is not a dictionary of descr, fortran_order and shape");
}

static bool take_shape(const struct source *source, struct cursor *cursor, struct header *header) {
  if (!take(cursor, '(')) return garbled(source);
  header->rank = 0;
  bool comma = true;
  while (!take(cursor, ')')) {
    int64_t length;
    if (!comma || !take_length(cursor, &length)) return garbled(source);
    if (header->rank == NPY_MAX_RANK) return refuse(source, "has more than %d axes", NPY_MAX_RANK);
    header->shape[header->rank++] = length;
    comma = take(cursor, ',');
  }
  /* (3) is a number in Python, (3,) a tuple. */
  return header->rank == 1 && !comma ? garbled(source) : true;
}

static bool take_entry(const struct source *source, struct cursor *cursor, struct header *header, unsigned *seen) {
  char key[16];
  if (!take_string(cursor, key, sizeof key) || !take(cursor, ':')) return garbled(source);
  unsigned entry;
  if (strcmp(key, "descr") == 0) {
    entry = 1;
    if (take(cursor, '[')) return refuse_type(source, "has a structured element type", "|V");
    if (!take_string(cursor, header->descr, sizeof header->descr)) return garbled(source);
  } else if (strcmp(key, "fortran_order") == 0) {
    entry = 2;
    header->fortran_order = take_word(cursor, "True");
    if (!header->fortran_order && !take_word(cursor, "False")) return garbled(source);
  } else if (strcmp(key, "shape") == 0) {
    entry = 4;
    if (!take_shape(source, cursor, header)) return false;
  } else {
    return garbled(source);
  }
  if (*seen & entry) return garbled(source);
  *seen |= entry;
  return true;
}

static bool parse_header(const struct source *source, const char *text, size_t size, struct header *header) {
  struct cursor cursor = {text, text + size};
  unsigned seen = 0;
  bool comma = true;
  if (!take(&cursor, '{')) return garbled(source);
  while (!take(&cursor, '}')) {
    if (!comma) return garbled(source);
    if (!take_entry(source, &cursor, header, &seen)) return false;
    comma = take(&cursor, ',');
  }
  skip_space(&cursor);
  return seen == 7 && cursor.at == cursor.end ? true : garbled(source);
}

/* Reads magic, version and header; leaves the stream at the first element. */
static bool read_header(const struct source *source, struct header *header) {
  unsigned char start[MAGIC_SIZE + 2], length_bytes[4] = {0};
  size_t got = fread(start, 1, sizeof start, source->stream);
  if (ferror(source->stream)) return refuse(source, "cannot read: %s", strerror(errno));
  if (got < sizeof start || memcmp(start, magic, MAGIC_SIZE) != 0) return refuse(source, "is not a .npy file");
  int major = start[MAGIC_SIZE], minor = start[MAGIC_SIZE + 1];
  if (major < 1 || major > 3 || minor != 0)
    return refuse(source, "is .npy version %d.%d; 1.0, 2.0 and 3.0 are understood", major, minor);
  if (!read_bytes(source, length_bytes, major == 1 ? 2 : 4, "header length")) return false;
  size_t length = (size_t)length_bytes[0] | (size_t)length_bytes[1] << 8 | (size_t)length_bytes[2] << 16 |
                  (size_t)length_bytes[3] << 24;
  if (length > HEADER_LIMIT) return refuse(source, "claims a header of %zu bytes", length);

  char *text = malloc(length + 1);
  if (!text) return refuse(source, "out of memory");
  bool parsed = read_bytes(source, text, length, "header") && parse_header(source, text, length, header);
  free(text);
  return parsed;
}

/* ---- The elements -------------------------------------------------------------------------------------------- */

/* Counts the elements. Checks the product of all lengths but zeros, so that a later product of some of them cannot
 * overflow. */
static bool count_elements(const struct source *source, const struct header *header, npy_array *array) {
  int64_t limit = PTRDIFF_MAX / 16, product = 1;
  bool empty = false;
  for (int axis = 0; axis < header->rank; axis++) {
    int64_t length = header->shape[axis];
    array->shape[axis] = length;
    if (length == 0) {
      empty = true;
    } else {
      if (product > limit / length) return refuse(source, "its shape is too large");
      product *= length;
    }
  }
  array->rank = header->rank;
  array->count = empty ? 0 : product;
  return true;
}

static bool find_type(const struct source *source, const char *descr, npy_type *type) {
  for (int i = 0; i < TYPE_COUNT; i++) {
    if (!(source->types & NPY_SET(i)) || strcmp(descr, known_types[i].descr) != 0) continue;
    *type = (npy_type)i;
    return true;
  }
  char what[DESCR_LIMIT + 32];
  snprintf(what, sizeof what, "holds elements of type '%s'", descr);
  return refuse_type(source, what, descr);
}

/* Reads in growing pieces, since the file may be a pipe of unknown length and the header may be wrong. */
static bool read_elements(const struct source *source, npy_array *array) {
  size_t total = (size_t)array->count * npy_type_size(array->type), capacity = 0, have = 0;
  char *data = NULL;
  do {
    capacity = capacity == 0 ? FIRST_READ : capacity * 2;
    if (capacity > total) capacity = total;
    char *larger = realloc(data, capacity > 0 ? capacity : 1);
    if (!larger) {
      free(data);
      return refuse(source, "out of memory for its %zu bytes", total);
    }
    data = larger;
    have += fread(data + have, 1, capacity - have, source->stream);
  } while (have == capacity && have < total);
  array->data = data;

  if (ferror(source->stream)) return refuse(source, "cannot read: %s", strerror(errno));
  if (have < total) return refuse(source, "ends after %zu of the %zu bytes that its shape needs", have, total);
  if (fgetc(source->stream) != EOF)
    return refuse(source, "goes on after the %zu bytes that its shape needs", total);
  return true;
}

bool npy_load(const char *path, npy_array *array, char *error, size_t error_size) {
  return npy_load_any(path, NPY_SET(NPY_F32), array, error, error_size);
}

bool npy_load_any(const char *path, unsigned types, npy_array *array, char *error, size_t error_size) {
  struct source source = {path, fopen(path, "rb"), types, error, error_size};
  *array = (npy_array){.rank = 0};
  if (!source.stream) return refuse(&source, "cannot open: %s", strerror(errno));

  struct header header = {.rank = 0};
  bool loaded = read_header(&source, &header) && find_type(&source, header.descr, &array->type);
  if (loaded && header.fortran_order)
    loaded = refuse(&source, "is in Fortran order; C order is needed, in NumPy: numpy.ascontiguousarray(a)");
  loaded = loaded && count_elements(&source, &header, array) && read_elements(&source, array);
  fclose(source.stream);
  if (!loaded) npy_free(array);
  return loaded;
}

void npy_free(npy_array *array) {
  free(array->data);
  *array = (npy_array){.rank = 0};
}

/* ---- Writing ------------------------------------------------------------------------------------------------- */

bool npy_write(FILE *stream, npy_type type, int rank, const int64_t *shape, const void *data) {
  char header[HEADER_BUFFER];
  size_t prefix = MAGIC_SIZE + 4, count = 1;
  int used = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                      known_types[type].descr);
  for (int axis = 0; axis < rank; axis++) {
    /* NumPy's own form: (), (3,), (3, 4). */
    const char *comma = axis + 1 < rank ? ", " : rank == 1 ? "," : "";
    used += snprintf(header + used, sizeof header - (size_t)used, "%" PRId64 "%s", shape[axis], comma);
    count *= (size_t)shape[axis];
  }
  used += snprintf(header + used, sizeof header - (size_t)used, "), }");
  size_t length = (size_t)used;
  while ((prefix + length + 1) % DATA_ALIGN != 0) header[length++] = ' ';
  header[length++] = '\n';

  unsigned char start[MAGIC_SIZE + 4] = {[MAGIC_SIZE] = 1};
  memcpy(start, magic, MAGIC_SIZE);
  start[MAGIC_SIZE + 2] = (unsigned char)(length & 0xff);
  start[MAGIC_SIZE + 3] = (unsigned char)(length >> 8);
  return fwrite(start, 1, prefix, stream) == prefix && fwrite(header, 1, length, stream) == length &&
         fwrite(data, npy_type_size(type), count, stream) == count;
}
