/* The part of ggml's binary interface that the plugin uses, of ggml 0.9.4 to 0.25: one plugin serves all of these
 * versions, and is built without ggml's headers. tests/layouts.cc compares these structs with ggml's headers. Objects
 * that the plugin does not look into are void pointers. */
#ifndef FOVEA_GGML_ABI_H
#define FOVEA_GGML_ABI_H

#include <cstddef>
#include <cstdint>

namespace abi {

enum { API_VERSION = 2, DEVICE_CPU = 0, DEVICE_ACCEL = 3, STATUS_FAILED = -1, STATUS_SUCCESS = 0 };
enum { LOG_INFO = 2, LOG_ERROR = 4 };

/* ggml_type: numbers that model files hold, so they never change. */
enum { F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q5_0 = 6, Q5_1 = 7, Q8_0 = 8, IQ4_NL = 20, BF16 = 30 };

/* ggml_tensor, up to the last field that is used. */
struct Tensor {
  int type;
  void *buffer;
  int64_t ne[4], nb[4]; /* numbers of elements, the innermost axis first; strides in bytes */
  int op;
  float op_params[16]; /* of attention: scale, max_bias, softcap */
  int32_t flags;
  Tensor *src[10];
  void *view[2]; /* the tensor that this one is a part of, and where it begins */
  void *data;
};

/* ggml_backend is a list of words, since the number of its functions depends on the version: guid, functions, device,
 * context. graph_compute is the fourth function from the end. */
enum { BACKEND_NAME = 1, BACKEND_FREE = 2, BACKEND_COMPUTE_FROM_END = 4 };
enum { BACKEND_FUNCTIONS = 16, OLD_FUNCTIONS = 14 };

struct DeviceProperties {
  const char *name, *description;
  size_t memory_free, memory_total;
  int type;
  const char *device_id;
  bool async, host_buffer, buffer_from_host_ptr, events;
};

struct Device { /* ggml_backend_device */
  const char *(*get_name)(Device *device);
  const char *(*get_description)(Device *device);
  void (*get_memory)(Device *device, size_t *free, size_t *total);
  int (*get_type)(Device *device);
  void (*get_props)(Device *device, DeviceProperties *properties);
  void *(*init_backend)(Device *device, const char *parameters);
  void *(*get_buffer_type)(Device *device);
  void *host_buffers[2]; /* optional functions */
  bool (*supports_op)(Device *device, const Tensor *node);
  bool (*supports_buft)(Device *device, void *buffer_type);
  void *offload_and_events[4]; /* optional functions */
  struct Registry *registry;
  void *context;
};

struct Registry { /* ggml_backend_reg */
  int api_version;
  const char *(*get_name)(Registry *registry);
  size_t (*get_device_count)(Registry *registry);
  Device *(*get_device)(Registry *registry, size_t index);
  void *(*get_proc_address)(Registry *registry, const char *name);
  void *context;
};

struct Thread { /* ggml_compute_params, what each of ggml's threads gets, up to the last field that is used */
  int number, count;
  size_t scratch_size;
  void *scratch, *pool;
};

} // namespace abi

#endif
