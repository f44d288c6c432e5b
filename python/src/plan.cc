#include "attention.h"
#include "call.h"
#include "compute.h"

#include <fovea/explain.h>
#include <memory>
#include <mutex>

namespace fovea_python {

namespace {

struct free_memory {
  void operator()(void *memory) const { ::operator delete (memory, std::align_val_t{FOVEA_SCRATCH_ALIGNMENT}); }
};

/* Scratch of one run. */
struct scratch {
  std::unique_ptr<void, free_memory> memory;
  size_t size = 0;
  void reserve(size_t bytes) {
    if (bytes <= size) return;
    memory.reset(::operator new (bytes, std::align_val_t{FOVEA_SCRATCH_ALIGNMENT}));
    size = bytes;
  }
};

/* A plan keeps its rules, and the scratch of as many runs as there were at the same time. */
class plan {
public:
  plan(nb::handle q, nb::handle k, nb::handle v, nb::kwargs keywords) {
    call_.read(q, k, v, keywords, in_plan);
    call_.make_outputs(q, false);
    fovea_error error;
    check(fovea_problem_resolve(&call_.problem, &error), error);
    fovea_plan *made;
    check(fovea_plan_create(&call_.problem, &call_.execution, &made, &error), error);
    plan_.reset(made);
  }

  nb::object run(nb::handle q, nb::handle k, nb::handle v, nb::kwargs keywords) {
    attention_call call;
    call.follow(call_);
    call.read(q, k, v, keywords, in_run);
    call.make_outputs(q);
    call.require_layout(call_);
    scratch scratch = take_scratch();
    compute([&](fovea_error *error) {
      int workers = call.execution.threads ? call.execution.threads : fovea_default_threads();
      scratch.reserve(fovea_plan_scratch_size(plan_.get(), workers));
      call.execution.scratch = scratch.memory.get();
      call.execution.scratch_size = scratch.size;
      return fovea_plan_run(plan_.get(), &call.tensors, &call.execution, error);
    });
    give_scratch(std::move(scratch));
    return call.result();
  }

  fovea_explanation explain(int threads, double flops_per_second, double bytes_per_second) const {
    fovea_explanation explanation;
    fovea_error error;
    fovea_explanation_init(&explanation);
    explanation.threads = threads;
    explanation.flops_per_second = flops_per_second;
    explanation.bytes_per_second = bytes_per_second;
    check(fovea_plan_explain(plan_.get(), &explanation, &error), error);
    return explanation;
  }

  const char *isa() const { return fovea_plan_isa(plan_.get()); }

private:
  struct destroy {
    void operator()(fovea_plan *plan) const { fovea_plan_destroy(plan); }
  };

  scratch take_scratch() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (unused_.empty()) return {};
    scratch taken = std::move(unused_.back());
    unused_.pop_back();
    return taken;
  }

  void give_scratch(scratch scratch) {
    std::lock_guard<std::mutex> lock(mutex_);
    unused_.push_back(std::move(scratch));
  }

  attention_call call_;
  std::unique_ptr<fovea_plan, destroy> plan_;
  std::mutex mutex_;
  std::vector<scratch> unused_;
};

fovea_explanation explain(nb::handle q, nb::handle k, nb::handle v, nb::kwargs keywords) {
  return plan(q, k, v, keywords).explain(0, 0, 0);
}

} // namespace

void bind_plan(nb::module_ &module) {
  const char what[] =
      "A problem whose kernels, tiles and tasks are chosen once, for all layers of a step. It keeps the\n"
      "rules, and of tensors their shapes, types and strides, so Q, K and V may be Layouts. Threads may\n"
      "run it at the same time.\n\n";
  std::string signature =
      signature_of("__init__(self, q: Tensor, k: Tensor | None = None, v: Tensor | None = None", "None", in_plan);
  std::string text = what + text_of_options(in_plan);
  std::string run_signature =
      signature_of("run(self, q: Tensor, k: Tensor | None = None, v: Tensor | None = None", "Outputs", in_run);
  std::string run_text =
      "Computes attention with other tensors of the same shapes, types and strides. It keeps its\n"
      "scratch for the next run. Returns and raises what attention() does.\n\n" +
      text_of_options(in_run);
  std::string explain_signature =
      signature_of("explain(q: Tensor, k: Tensor | None = None, v: Tensor | None = None", "Explanation", in_plan);
  nb::class_<plan>(module, "Plan", text.c_str())
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::kwargs>(), nb::arg("q"), nb::arg("k") = nb::none(),
           nb::arg("v") = nb::none(), nb::arg("keywords"), nb::sig(signature.c_str()))
      .def("run", &plan::run, nb::arg("q"), nb::arg("k") = nb::none(), nb::arg("v") = nb::none(),
           nb::arg("keywords"), nb::sig(run_signature.c_str()), run_text.c_str())
      .def("explain", &plan::explain, nb::kw_only(), nb::arg("threads") = 0, nb::arg("flops_per_second") = 0.0,
           nb::arg("bytes_per_second") = 0.0,
           "Says what the plan does and why. With the rates of the machine (f32 operations, bytes read) also the "
           "least\n"
           "time that it takes.")
      .def_prop_ro("isa", &plan::isa, "the instruction set that it runs on");
  module.def(
      "explain", explain, nb::arg("q"), nb::arg("k") = nb::none(), nb::arg("v") = nb::none(), nb::arg("keywords"),
      nb::sig(explain_signature.c_str()),
      "Says what attention() does with these arguments, and why, before anything is computed: which kernels, how\n"
      "many blocks of the score matrix are empty, the work, the bytes. Q, K and V may be Layouts.");
}

} // namespace fovea_python
