/* What the DLPack standard (1.3) says of memory: tensors of other libraries, without their Python objects. */
#ifndef FOVEA_PYTHON_DLPACK_H
#define FOVEA_PYTHON_DLPACK_H

#include <cstdint>

namespace fovea_python::dlpack {

enum device_kind : int32_t { cpu = 1 };
enum code : uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  floating = 2,
  bfloat = 4,
  boolean = 6,
  float8_e4m3fn = 10,
  float8_e5m2 = 12
};

struct version {
  uint32_t major, minor;
};
struct device {
  int32_t kind, id;
};
struct element_type {
  uint8_t code, bits;
  uint16_t lanes;
};
struct tensor {
  void *data;
  dlpack::device device;
  int32_t axes;
  element_type type;
  int64_t *shape, *strides; /* in elements; no strides: contiguous */
  uint64_t byte_offset;
};

struct managed_tensor { /* capsule "dltensor" */
  dlpack::tensor tensor;
  void *context;
  void (*release)(managed_tensor *);
};

constexpr uint64_t flag_read_only = 1, flag_copied = 2;
struct versioned_tensor { /* capsule "dltensor_versioned" */
  dlpack::version version;
  void *context;
  void (*release)(versioned_tensor *);
  uint64_t flags;
  dlpack::tensor tensor;
};

/* A type's functions for other libraries, its attribute __dlpack_c_exchange_api__, capsule "dlpack_exchange_api". 0 is
 * success; on failure a Python exception is set. */
struct exchange {
  dlpack::version version;
  exchange *older;
  int (*allocate)(tensor *prototype, versioned_tensor **made, void *context,
                  void (*set_error)(void *context, const char *kind, const char *message));
  int (*export_managed)(void *object, versioned_tensor **tensor);
  int (*import_managed)(versioned_tensor *tensor, void **object);
  int (*view)(void *object, tensor *view); /* may be NULL; the object keeps the memory */
  int (*work_stream)(int32_t kind, int32_t id, void **stream);
};

} // namespace fovea_python::dlpack

#endif
