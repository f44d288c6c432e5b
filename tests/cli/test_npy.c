/* The reader and writer of .npy files: arrays come back as they were written, and no file does harm. */
#define _XOPEN_SOURCE    700 /* mkdtemp */
#define _DARWIN_C_SOURCE     /* the same on macOS */

#include "support/check.h"
#include "tools/fovea/npy.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _WIN32
#include <direct.h>
#include <io.h>

static char *mkdtemp(char *template) {
  return _mktemp(template) && _mkdir(template) == 0 ? template : NULL;
}
#endif

static char directory[] = "test_npy_XXXXXX"; /* in the working directory */
static char path[64];

static int make_directory(void **state) {
  (void)state;
  if (!mkdtemp(directory)) return -1;
  snprintf(path, sizeof path, "%s/case.npy", directory);
  return 0;
}

static int remove_directory(void **state) {
  (void)state;
  remove(path);
  return rmdir(directory);
}

/* ---- Files --------------------------------------------------------------------------------------------------- */

struct bytes {
  char data[1024];
  size_t size;
};

static void append(struct bytes *bytes, const void *data, size_t size) {
  assert_true(bytes->size + size <= sizeof bytes->data);
  memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
}

/* A file of the given version, with that header and data_size bytes of data. */
static struct bytes make_file(int version, const char *header, size_t data_size) {
  struct bytes bytes = {.size = 0};
  const size_t length = strlen(header);
  const unsigned char start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
  const unsigned char length_bytes[] = {(unsigned char)(length & 0xff), (unsigned char)(length >> 8), 0, 0};
  append(&bytes, start, sizeof start);
  append(&bytes, length_bytes, version == 1 ? 2 : 4);
  append(&bytes, header, length);
  for (size_t i = 0; i < data_size; i++) append(&bytes, "x", 1);
  return bytes;
}

static void write_file(const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_true(fwrite(data, 1, size, file) == size);
  assert_int_equal(fclose(file), 0);
}

/* Loads the file and frees the array. */
static int loads(char *error, size_t error_size) {
  npy_array array;
  const bool loaded = npy_load(path, &array, error, error_size);
  if (loaded) {
    assert_non_null(array.data);
    npy_free(&array);
  }
  assert_null(array.data);
  return loaded;
}

static void assert_refused(const char *what, const char *reason) {
  char error[256] = "";
  if (loads(error, sizeof error)) fail_msg("loaded, in spite of %s", what);
  if (strncmp(error, path, strlen(path)) != 0)
    fail_msg("%s: the text '%s' does not begin with the path", what, error);
  if (!strstr(error, reason)) fail_msg("%s: the text '%s' does not say '%s'", what, error, reason);
  assert_null(strchr(error, '\n'));
}

/* ---- What comes back ----------------------------------------------------------------------------------------- */

static void assert_round_trip(int rank, const int64_t *shape) {
  int64_t count = 1;
  for (int axis = 0; axis < rank; axis++) count *= shape[axis];
  uint32_t *bits = malloc((size_t)count * sizeof *bits + 1);
  assert_non_null(bits);
  for (int64_t i = 0; i < count; i++) bits[i] = (uint32_t)i * 2654435761u; /* some are NaNs and subnormals */

  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_true(npy_write(file, NPY_F32, rank, shape, bits));
  assert_int_equal((ftell(file) - (long)count * 4) % 64, 0);
  assert_int_equal(fclose(file), 0);

  npy_array array;
  char error[256];
  if (!npy_load(path, &array, error, sizeof error)) fail_msg("%s", error);
  assert_int_equal(array.type, NPY_F32);
  assert_int_equal(array.rank, rank);
  assert_true(array.count == count);
  for (int axis = 0; axis < rank; axis++) assert_true(array.shape[axis] == shape[axis]);
  assert_memory_equal(array.data, bits, (size_t)count * sizeof *bits + (count == 0));
  npy_free(&array);
  free(bits);
}

static void test_round_trip(void **state) {
  (void)state;
  assert_round_trip(0, (int64_t[]){1});
  assert_round_trip(1, (int64_t[]){7});
  assert_round_trip(2, (int64_t[]){3, 5});
  assert_round_trip(4, (int64_t[]){2, 3, 4, 5});
  assert_round_trip(8, (int64_t[]){1, 2, 1, 2, 1, 2, 1, 3});
}

static void test_every_type(void **state) {
  (void)state;
  static const char *const names[] = {
      [NPY_F32] = "float32 ('<f4')", [NPY_F16] = "float16 ('<f2')", [NPY_BOOL] = "bool ('|b1')",
      [NPY_U16] = "uint16 ('<u2')",  [NPY_I32] = "int32 ('<i4')",   [NPY_I64] = "int64 ('<i8')"};
  const unsigned char bytes[3 * 8] = {0, 1, 1, 0, 1, 0x3c, 0xff, 0x7f, 1, 0, 0, 0x80};
  for (int i = NPY_F32; i <= NPY_I64; i++) {
    const npy_type type = (npy_type)i;
    npy_array array;
    char error[256];
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(npy_write(file, type, 1, (int64_t[]){3}, bytes));
    assert_int_equal(fclose(file), 0);

    assert_true(npy_load_any(path, NPY_SET(type), &array, error, sizeof error));
    assert_int_equal(array.type, type);
    assert_true(array.count == 3);
    assert_memory_equal(array.data, bytes, 3 * npy_type_size(type));
    npy_free(&array);

    const unsigned others = 63u & ~NPY_SET(type);
    assert_false(npy_load_any(path, others, &array, error, sizeof error));
    assert_null(array.data);
    for (int other = NPY_F32; other <= NPY_I64; other++)
      assert_true((strstr(error, names[other]) != NULL) == (other != i));
    assert_non_null(strstr(error, " or "));
  }
}

/* The advice keeps the meaning of the numbers. */
static void test_advice(void **state) {
  (void)state;
  enum {
    MASK = NPY_SET(NPY_BOOL) | NPY_SET(NPY_F32) | NPY_SET(NPY_F16),
    LIST = NPY_SET(NPY_I32) | NPY_SET(NPY_I64)
  };
  static const struct {
    const char *descr;
    unsigned types;
    const char *advice; /* NULL: none */
  } cases[] = {
      {"<i8", MASK, "a.astype(bool), if 0 stands for keys that are not visible"},
      {"<i4", MASK, "a.astype(bool), if 0 stands for keys that are not visible"},
      {"|u1", MASK, "a.astype(bool), if 0 stands for keys that are not visible"},
      {"<u2", MASK, "a.astype(bool), if 0 stands for keys that are not visible"},
      {"<f8", MASK, "a.astype('<f4')"},
      {"<i8", NPY_SET(NPY_F32) | NPY_SET(NPY_F16), "a.astype('<f4')"},
      {"|b1", NPY_SET(NPY_F32), "a.astype('<f4')"},
      {"<f8", NPY_SET(NPY_F16), "a.astype('<f2')"},
      {">u2", NPY_SET(NPY_F32), "(a.astype('<u4') << 16).view('<f4') for the bits of bfloat16"},
      {"<f8", NPY_SET(NPY_U16), "(a.astype('<f4').view('<u4') >> 16).astype('<u2') for the bits of bfloat16"},
      {"<i4", NPY_SET(NPY_U16), NULL},
      {"<u4", LIST, "a.astype('<i8')"},
      {"<f4", LIST, "a.astype('<i8')"},
      {"|b1", LIST, "numpy.flatnonzero(a), if it marks the numbers of a list"},
      {"<c8", MASK, NULL},
      {"|O", MASK, NULL},
      {"<M8[s]", LIST, NULL},
      {"", LIST, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char header[128], error[256];
    npy_array array;
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (0,), }", cases[i].descr);
    const struct bytes file = make_file(1, header, 0);
    write_file(file.data, file.size);
    assert_false(npy_load_any(path, cases[i].types, &array, error, sizeof error));
    const char *advice = strstr(error, "in NumPy: ");
    if (cases[i].advice)
      assert_string_equal(advice ? advice + strlen("in NumPy: ") : error, cases[i].advice);
    else
      assert_null(advice);
  }
}

static void test_round_trip_in_pieces(void **state) {
  (void)state;
  assert_round_trip(2, (int64_t[]){5, 1000003}); /* 20 MB, more than is allocated at once */
}

static void test_headers_that_numpy_may_write(void **state) {
  (void)state;
  const char *const headers[] = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }            \n",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
      "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
      "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (2, 3)}",
      "{'descr':'<f4','fortran_order':False,'shape':(2,3,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
      " {\n'descr' : '<f4' ,\t'fortran_order' : False , 'shape' : ( 2 , 3 ) , } ",
  };
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
    for (int version = 1; version <= 3; version++) {
      const struct bytes file = make_file(version, headers[i], 24);
      char error[256];
      write_file(file.data, file.size);
      npy_array array;
      if (!npy_load(path, &array, error, sizeof error)) fail_msg("%s: %s", headers[i], error);
      assert_int_equal(array.rank, 2);
      assert_true(array.shape[0] == 2 && array.shape[1] == 3 && array.count == 6);
      npy_free(&array);
    }
}

static void test_empty_axes(void **state) {
  (void)state;
  const struct bytes file = make_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 0, 3), }", 0);
  write_file(file.data, file.size);
  npy_array array;
  char error[256];
  assert_true(npy_load(path, &array, error, sizeof error));
  assert_int_equal(array.rank, 3);
  assert_true(array.count == 0 && array.shape[0] == 4 && array.shape[1] == 0 && array.shape[2] == 3);
  assert_non_null(array.data);
  npy_free(&array);
  npy_free(&array); /* all zero bytes */
}

/* ---- What is refused ----------------------------------------------------------------------------------------- */

static void test_refused_headers(void **state) {
  (void)state;
  static const struct {
    const char *header, *reason;
  } cases[] = {
      /* Arrays of another kind than is needed. */
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", "'<f8'; float32 ('<f4') is needed"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", "astype"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (3, 2), }", "'>f4'"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (3, 2), }",
       "float32 ('<f4') is needed, in NumPy: (a.astype('<u4') << 16).view('<f4') for the bits of bfloat16"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (3, 2), }", "'<c8'; float32 ('<f4') is needed"},
      {"{'descr': '<f2', 'fortran_order': False, 'shape': (3, 2), }", "'<f2'"},
      {"{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2), }", "'<i4'"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (3, 2), }", "'|O'"},
      {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3, 2), }", "structured"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }", "Fortran order"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 3, 2), }", "more than 8 axes"},
      /* Shapes that no file can hold. */
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,), }", "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0), }", "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }", "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 100), }",
       PTRDIFF_MAX > INT32_MAX ? "ends after 24 of the" : "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", "goes on after the 20 bytes"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", "ends after 24 of the 28 bytes"},
      /* Texts that are no header. */
      {"", "is not a dictionary"},
      {"{", "is not a dictionary"},
      {"{}", "is not a dictionary"},
      {"garbage", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, }", "is not a dictionary"},
      {"{'descr': '<f4', 'shape': (3, 2), }", "is not a dictionary"},
      {"{'fortran_order': False, 'shape': (3, 2), }", "is not a dictionary"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), 'more': 1, }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), } x", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), ", "is not a dictionary"},
      {"{'descr': '<f4' 'fortran_order': False, 'shape': (3, 2), }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3, 2), }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 2), }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (,), }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (6), }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': 6, }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3, -2), }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3.0, 2), }", "is not a dictionary"},
      {"{'descr': '<f\n4', 'fortran_order': False, 'shape': (3, 2), }", "is not a dictionary"},
      {"{'descr': '<f4, 'fortran_order': False, 'shape': (3, 2), }", "is not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), 'a key that is longer than any': 1, }",
       "is not a dictionary"},
      {"{'descr': '<f4444444444444444444444444444444444444444', 'fortran_order': False, 'shape': (3, 2), }",
       "is not a dictionary"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct bytes file = make_file(1, cases[i].header, 24);
    write_file(file.data, file.size);
    assert_refused(cases[i].header, cases[i].reason);
  }
}

static void test_refused_starts(void **state) {
  (void)state;
  struct bytes file = make_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", 24);
  file.data[0] = 'x';
  write_file(file.data, file.size);
  assert_refused("a wrong magic", "is not a .npy file");

  file = make_file(4, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", 24);
  write_file(file.data, file.size);
  assert_refused("version 4.0", "version 4.0");

  file = make_file(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", 24);
  file.data[11] = '\x7f'; /* the header's length becomes 2 GB */
  write_file(file.data, file.size);
  assert_refused("a huge header", "claims a header");

  write_file("", 0);
  assert_refused("no bytes", "is not a .npy file");
}

static void test_every_truncation(void **state) {
  (void)state;
  for (int version = 1; version <= 3; version++) {
    const struct bytes file = make_file(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", 16);
    for (size_t size = 0; size < file.size; size++) {
      write_file(file.data, size);
      assert_refused("truncation", size < 8 ? "is not a .npy file" : "ends after");
    }
  }
}

/* Changes each byte of the header to each value. The file must be loaded, or refused in one line. Sanitizers watch
 * for anything else. */
static void test_every_changed_byte(void **state) {
  (void)state;
  const struct bytes file = make_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n", 24);
  static const char changes[] = {0, '0', '9', '\'', '(', ')', ',', '\\', '{', '}', 'L', ' ', '\n', 127, '\377'};
  for (size_t place = 0; place < file.size - 24; place++)
    for (size_t change = 0; change < sizeof changes; change++) {
      struct bytes changed = file;
      char error[256] = "";
      changed.data[place] = changes[change];
      write_file(changed.data, changed.size);
      if (!loads(error, sizeof error)) assert_true(error[0] != '\0' && !strchr(error, '\n'));
    }
}

static void test_files_that_cannot_be_read(void **state) {
  (void)state;
  npy_array array;
  char error[256];
  assert_false(npy_load("/nonexistent/q.npy", &array, error, sizeof error));
  assert_non_null(strstr(error, "/nonexistent/q.npy: cannot open: "));
  assert_false(npy_load(directory, &array, error, sizeof error));
  assert_non_null(strstr(error, ": cannot ")); /* "read", or, if a directory cannot be opened, "open" */
}

/* The text is cut to fit any buffer. */
static void test_short_error_buffers(void **state) {
  (void)state;
  write_file("", 0);
  for (size_t size = 1; size < 80; size++) {
    char error[96];
    memset(error, 'x', sizeof error);
    assert_false(loads(error, size));
    assert_true(strlen(error) < size);
    assert_int_equal(error[size], 'x');
  }
}

static void test_full_device(void **state) {
  (void)state;
  FILE *file = fopen("/dev/full", "wb");
  if (!file) skip();
  setvbuf(file, NULL, _IONBF, 0);
  assert_false(npy_write(file, NPY_F32, 1, (int64_t[]){1}, &(float){1.0f}));
  fclose(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_every_type),
      cmocka_unit_test(test_advice),
      cmocka_unit_test(test_round_trip_in_pieces),
      cmocka_unit_test(test_headers_that_numpy_may_write),
      cmocka_unit_test(test_empty_axes),
      cmocka_unit_test(test_refused_headers),
      cmocka_unit_test(test_refused_starts),
      cmocka_unit_test(test_every_truncation),
      cmocka_unit_test(test_every_changed_byte),
      cmocka_unit_test(test_files_that_cannot_be_read),
      cmocka_unit_test(test_short_error_buffers),
      cmocka_unit_test(test_full_device),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
