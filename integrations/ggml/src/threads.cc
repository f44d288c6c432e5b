/* The second way: attention within the threads and the scratch of ggml's CPU backend. The backend asks the traits of its
 * extra buffer types before its own code, and exports the list of these types. So no graph is split, and llama.cpp sees
 * no other device. All of this is internal to ggml. */
#include "attention.h"

#include <vector>

namespace {

/* ggml::cpu::tensor_traits and ggml::cpu::extra_buffer_type: virtual functions in this order. */
class Traits {
public:
  virtual ~Traits() = default;
  virtual bool work_size(int threads, const abi::Tensor *node, size_t &size);
  virtual bool compute_forward(abi::Thread *thread, abi::Tensor *node);
};

class ExtraType {
public:
  virtual ~ExtraType() = default;
  virtual bool supports_op(abi::Device *, const abi::Tensor *) {
    return false;
  } /* no tensor lies in such a buffer */
  virtual Traits *get_tensor_traits(const abi::Tensor *node);
};

bool Traits::work_size(int threads, const abi::Tensor *node, size_t &size) {
  const size_t needed = Attention::size(node, threads);
  if (needed > 0) size = needed;
  return needed > 0;
}

/* All of ggml's threads come here with the same node. False: ggml's own code computes it, whose scratch ggml reserved if
 * work_size() returned false. */
bool Traits::compute_forward(abi::Thread *thread, abi::Tensor *node) {
  Attention *attention = Attention::in(thread->scratch, thread->scratch_size);
  if (!attention) return false;
  void *end = static_cast<char *>(thread->scratch) + thread->scratch_size;
  if (thread->number == 0) attention->begin(node, thread->count, end);
  for (;;) {
    fovea_ggml.barrier(thread->pool);
    if (attention->failed()) return false;
    attention->run_tasks(thread->number);
    if (attention->is_last()) return true;
    fovea_ggml.barrier(thread->pool);
    if (thread->number == 0) attention->next();
  }
}

Traits traits;

Traits *ExtraType::get_tensor_traits(const abi::Tensor *node) {
  return node->op == fovea_ggml.flash_attention && Attention::takes(node) ? &traits : nullptr;
}

ExtraType extra;
abi::BufferType type;

} // namespace

bool fovea_ggml_hook_threads() {
  /* The CPU backend may be in a library of its own, of any name. */
  abi::Device *cpu = fovea_ggml.dev_by_type(abi::DEVICE_CPU);
  void *library = fovea_ggml_library(reinterpret_cast<void *>(cpu->get_name));
  void *barrier = fovea_ggml_find(library, "ggml_barrier");
  void *list = fovea_ggml_find(library, "_Z39ggml_backend_cpu_get_extra_buffer_typesv");
  if (!barrier || !list) return false;
  fovea_ggml.barrier = reinterpret_cast<void (*)(void *)>(barrier);
  type.get_name = [](abi::BufferType *) { return "FOVEA"; };
  type.alloc_buffer = [](abi::BufferType *, size_t) -> void * { return nullptr; };
  type.get_alignment = [](abi::BufferType *) { return size_t{64}; };
  type.device = cpu;
  type.context = &extra;
  auto &types = reinterpret_cast<std::vector<abi::BufferType *> &(*)()>(list)();
  types.insert(types.begin(), &type);
  return true;
}
