// A C++ program outside this project: a plan in a smart pointer, an allocator that counts, a lambda as
// parallel-for. All keys have the same score and the same value, so the output is this value.
#include <fovea/fovea.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

struct destroy_plan {
  void operator()(fovea_plan *plan) const { fovea_plan_destroy(plan); }
};

std::size_t held = 0;

void *allocate(void *, std::size_t size, std::size_t alignment) {
  void *memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory) held++;
  return memory;
}

void release(void *, void *memory) {
  held--;
  std::free(memory);
}

bool good(fovea_status status, const fovea_error &error) {
  if (status != FOVEA_OK) std::fprintf(stderr, "%s\n", error.text);
  return status == FOVEA_OK;
}

bool run() {
  const std::int64_t heads = 16, rows = 64, keys = 128, dim = 64;
  const std::vector<float> q(heads * rows * dim, 2.0f), k(heads * keys * dim, 1.0f), v(heads * keys * dim, 3.0f);
  std::vector<float> o(heads * rows * dim);
  fovea_error error;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, heads, heads, rows, keys, dim, dim);
  std::int64_t done = 0;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.allocator = fovea_allocator{nullptr, allocate, release};
  fovea_plan *made = nullptr;
  if (!good(fovea_plan_create(&problem, &execution, &made, &error), error)) return false;
  const std::unique_ptr<fovea_plan, destroy_plan> plan(made);

  execution.threads = 2;
  execution.parallel_context = &done;
  execution.parallel_for = [](void *context, std::int64_t tasks, int, fovea_task_function task, void *job) {
    for (std::int64_t i = 0; i < tasks; i++, ++*static_cast<std::int64_t *>(context)) task(job, i, 0);
  };
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, q.data(), k.data(), v.data(), o.data(), nullptr);
  if (!good(fovea_plan_run(plan.get(), &tensors, &execution, &error), error)) return false;
  std::int64_t tasks = 0;
  for (int phase = 0; phase < fovea_plan_phases(plan.get()); phase++) tasks += fovea_plan_tasks(plan.get(), phase);
  return done == tasks && held == 1 && o == std::vector<float>(o.size(), 3.0f);
}

} // namespace

int main() {
  const bool right = run() && held == 0;
  std::printf("fovea %s: %s\n", fovea_version(), right ? "ok" : "wrong");
  return right ? 0 : 1;
}
