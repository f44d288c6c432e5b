/* What the files of the plugin share. */
#ifndef FOVEA_GGML_DOOR_H
#define FOVEA_GGML_DOOR_H

#include "abi.h"

#include <fovea/fovea.h>

/* The ggml that loaded the plugin: its functions, and what depends on its version. */
struct Ggml {
  const char *(*version)();
  const char *(*op_name)(int op);
  const char *(*type_name)(int type);
  int (*graph_n_nodes)(void *graph);
  abi::Tensor *(*graph_node)(void *graph, int index);
  void *(*cpu_buffer_type)();
  bool (*buft_is_host)(void *buffer_type);
  abi::Device *(*dev_by_type)(int type);
  void **(*dev_init)(abi::Device *device, const char *parameters);
  void (*backend_free)(void **backend);
  void (*f16_to_f32)(const uint16_t *from, float *to, int64_t count);
  void (*log)(int level, const char *format, ...);
  void (*barrier)(void *pool);             /* only of nodes in ggml's threads */
  int flash_attention, backend_functions;  /* the number of FLASH_ATTN_EXT; of a backend */
  uint64_t views;                          /* bits of operations that compute nothing */
  fovea_mode mode;                         /* of scores and values */
  enum Way { DEVICE, THREADS, ALONE } way; /* large nodes by the device, all in ggml's threads, all by the device */
};

extern Ggml fovea_ggml;

/* door.cc: the function of that name in the library that holds some place, or in what this library is linked to; NULL:
 * there is none. */
void *fovea_ggml_find(void *place, const char *name);

/* Writes one line to ggml's log, and returns NULL. */
abi::Registry *fovea_ggml_refuse(const char *format, ...);

/* device.cc: a registry with a device of type ACCEL, or with none if all nodes are computed in ggml's threads.
 * threads.cc: adds attention to the CPU backend; false: that has no place for it. */
abi::Registry *fovea_ggml_registry();
bool fovea_ggml_hook_threads();

#endif
