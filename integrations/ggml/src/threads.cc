/* Attention within the threads and the scratch of ggml's CPU backend. The backend asks the traits of its extra buffer
 * types before its own code, and exports the list of these types. So no graph is split, and llama.cpp sees no other
 * device. All of this is internal to ggml. */
#include "attention.h"

#include <vector>

namespace {

/* ggml::cpu::tensor_traits and ggml::cpu::extra_buffer_type: virtual functions in this order. */
struct Traits {
  virtual ~Traits() = default;

  virtual bool work_size(int threads, const abi::Tensor *node, size_t &size) {
    if (const size_t needed = Attention::size(node, threads)) return size = needed, true;
    return false;
  }

  /* All of ggml's threads come here with the same node. False: ggml's own code computes it, whose scratch ggml reserved
   * if work_size() returned false. */
  virtual bool compute_forward(abi::Thread *thread, abi::Tensor *node) {
    Attention *attention = Attention::in(thread->scratch, thread->scratch_size);
    if (!attention) return false;
    void *end = static_cast<char *>(thread->scratch) + thread->scratch_size;
    if (thread->number == 0) attention->begin(node, thread->count, end);
    for (;;) {
      fovea_ggml.barrier(thread->pool);
      /* ggml's own code writes over the object, so all threads read it before one returns. */
      if (attention->failed()) return fovea_ggml.barrier(thread->pool), false;
      attention->run_tasks(thread->number);
      if (attention->is_last()) return true;
      fovea_ggml.barrier(thread->pool);
      if (thread->number == 0) attention->next();
    }
  }
} traits;

struct ExtraType {
  virtual ~ExtraType() = default;
  virtual bool supports_op(abi::Device *, const abi::Tensor *) { return false; } /* there are no such buffers */
  virtual Traits *get_tensor_traits(const abi::Tensor *node) {
    return Attention::place(node) == Attention::IN_THREADS ? &traits : nullptr;
  }
} extra;

/* ggml_backend_buffer_type: name, alloc_buffer, alignment, three optional functions, device, context. */
struct BufferType {
  void *words[8];
} type = {{reinterpret_cast<void *>(+[](void *) { return "FOVEA"; }),
           reinterpret_cast<void *>(+[](void *, size_t) -> void * { return nullptr; }),
           reinterpret_cast<void *>(+[](void *) { return size_t{64}; })}};

} // namespace

bool fovea_ggml_hook_threads() {
  if (type.words[6]) return true; /* the plugin was loaded before */
  /* The CPU backend may be in a library of its own, of any name. */
  abi::Device *cpu = fovea_ggml.dev_by_type(abi::DEVICE_CPU);
  void *place = reinterpret_cast<void *>(cpu->get_name), *barrier = fovea_ggml_find(place, "ggml_barrier");
  void *list = fovea_ggml_find(place, "_Z39ggml_backend_cpu_get_extra_buffer_typesv");
  if (!barrier || !list) return false;
  fovea_ggml.barrier = reinterpret_cast<void (*)(void *)>(barrier);
  type.words[6] = cpu, type.words[7] = &extra;
  /* Programs that ask for the types get a copy, which the first call makes: theirs are buffers for weights. */
  void *copy = cpu->registry->get_proc_address(cpu->registry, "ggml_backend_dev_get_extra_bufts");
  if (copy) reinterpret_cast<void *(*)(abi::Device *)>(copy)(cpu);
  reinterpret_cast<std::vector<BufferType *> &(*)()>(list)().push_back(&type);
  return true;
}
