/* ggml's way for backends from outside: a device of type ACCEL, as BLAS is one. ggml's scheduler gives it the nodes that
 * it supports. It computes by Fovea's threads, as many as ggml's CPU backend has. */
#include "attention.h"

#include <cstdlib>
#include <cstring>

namespace {

struct Backend {
  void *words[1 + abi::BACKEND_FUNCTIONS + 2]; /* what ggml sees */
  int threads;
  void *memory; /* of the largest node so far */
  size_t size;
};

bool compute_node(Backend *self, const abi::Tensor *node) {
  const size_t size = Attention::size(node, self->threads);
  if (size > self->size) {
    free(self->memory);
    self->memory = malloc(size);
    self->size = self->memory ? size : 0;
  }
  if (!size || !self->memory) return false;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = self->threads;
  Attention *attention = Attention::in(self->memory, self->size);
  attention->begin(node, self->threads, static_cast<char *>(self->memory) + self->size);
  while (!attention->failed()) {
    const int workers = fovea_tasks_workers(attention->tasks(), Attention::work(node), &execution);
    if (fovea_tasks_run(Attention::run_task, attention, attention->tasks(), workers, &execution, nullptr))
      return false;
    if (attention->is_last()) return true;
    attention->next();
  }
  return false;
}

/* Nodes of the graph that are not attention are views, which need no work. */
int compute_graph(Backend *self, void *graph) {
  for (int i = 0; i < fovea_ggml.graph_n_nodes(graph); i++) {
    const abi::Tensor *node = fovea_ggml.graph_node(graph, i);
    if (node->op == fovea_ggml.flash_attention && !compute_node(self, node)) return abi::STATUS_FAILED;
  }
  return abi::STATUS_SUCCESS;
}

const char *const NAME = "FOVEA", *const DESCRIPTION = "attention by Fovea";

void *init_backend(abi::Device *device, const char *) {
  static char guid[] = "fovea, attention"; /* 16 bytes that no other backend has */
  auto *made = static_cast<Backend *>(calloc(1, sizeof(Backend)));
  if (!made) return nullptr;
  const int functions = fovea_ggml.backend_functions;
  made->words[0] = guid;
  made->words[abi::BACKEND_NAME] = reinterpret_cast<void *>(+[](Backend *) { return NAME; });
  made->words[abi::BACKEND_FREE] = reinterpret_cast<void *>(+[](Backend *self) { free(self->memory), free(self); });
  made->words[1 + functions - abi::BACKEND_COMPUTE_FROM_END] = reinterpret_cast<void *>(compute_graph);
  made->words[1 + functions] = device;
  made->threads = fovea_default_threads();
  return made;
}

/* Views belong to any device, as ggml's tests expect. */
bool supports_node(abi::Device *, const abi::Tensor *node) {
  if (node->op < 64 && fovea_ggml.views >> node->op & 1) return true;
  return Attention::place(node) == Attention::BY_DEVICE && Attention::size(node, 1) > 0;
}

abi::Device device;
abi::Registry registry;

} // namespace

abi::Registry *fovea_ggml_registry() {
  device.get_name = [](abi::Device *) { return NAME; };
  device.get_description = [](abi::Device *) { return DESCRIPTION; };
  device.get_memory = [](abi::Device *, size_t *free, size_t *total) { *free = *total = 0; };
  device.get_type = [](abi::Device *) { return int{abi::DEVICE_ACCEL}; };
  device.get_props = [](abi::Device *, abi::DeviceProperties *properties) {
    *properties = {NAME, DESCRIPTION, 0, 0, abi::DEVICE_ACCEL, nullptr, false, false, false, false};
  };
  device.init_backend = init_backend;
  device.get_buffer_type = [](abi::Device *) { return fovea_ggml.cpu_buffer_type(); };
  device.supports_op = supports_node;
  device.supports_buft = [](abi::Device *, void *type) { return fovea_ggml.buft_is_host(type); };
  device.registry = &registry;
  registry.api_version = abi::API_VERSION;
  registry.get_name = [](abi::Registry *) { return NAME; };
  registry.get_device_count = [](abi::Registry *) { return size_t{fovea_ggml.way != Ggml::THREADS}; };
  registry.get_device = [](abi::Registry *, size_t) { return &device; };
  registry.get_proc_address = [](abi::Registry *, const char *name) {
    const auto set = +[](Backend *self, int threads) { self->threads = threads > 0 ? threads : 1; };
    return strcmp(name, "ggml_backend_set_n_threads") == 0 ? reinterpret_cast<void *>(set) : nullptr;
  };
  return &registry;
}
