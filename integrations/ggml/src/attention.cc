/* Shapes in ggml's order, the innermost axis first:
 *   q, f32     (dims, rows, heads, batch)
 *   k, v       (dims, keys, kv heads, batch), as they lie in the cache
 *   mask, f16  (keys, rows, heads, batch), the last two repeated
 *   sinks, f32 (heads)
 *   node, f32  (dims, heads, rows, batch)
 * ALiBi multiplies the mask by a slope for each head. Such a mask is written out in f32, for some rows of a batch element
 * at a time: a pass. Other nodes are one pass. */
#include "attention.h"

#include <fovea/format.h>

#include <cmath>
#include <cstring>

namespace {

/* ---- Types of tensors ---- */

struct Storage {
  int number;        /* of ggml_type */
  int name;          /* of fovea_type, or of fovea_format_name if a block has several elements */
  int64_t block;     /* elements of a block */
  size_t block_size; /* its bytes */
  fovea_format format;

  bool is_coded() const { return block > 1; }
  size_t unit() const { return is_coded() ? 1 : block_size; } /* of strides: Fovea counts bytes of codes */
};

struct Storages {
  Storage all[9] = {{abi::F32, FOVEA_F32, 1, 4, {}},
                    {abi::F16, FOVEA_F16, 1, 2, {}},
                    {abi::BF16, FOVEA_BF16, 1, 2, {}},
                    {abi::Q8_0, FOVEA_FORMAT_Q8_0, 32, 0, {}},
                    {abi::Q4_0, FOVEA_FORMAT_Q4_0, 32, 0, {}},
                    {abi::Q4_1, FOVEA_FORMAT_Q4_1, 32, 0, {}},
                    {abi::Q5_0, FOVEA_FORMAT_Q5_0, 32, 0, {}},
                    {abi::Q5_1, FOVEA_FORMAT_Q5_1, 32, 0, {}},
                    {abi::IQ4_NL, FOVEA_FORMAT_IQ4_NL, 32, 0, {}}};
  Storages() {
    for (Storage &storage : all) {
      if (!storage.is_coded()) continue;
      fovea_format_init(&storage.format, static_cast<fovea_format_name>(storage.name), nullptr);
      storage.block_size = static_cast<size_t>(fovea_format_bytes(&storage.format, storage.block, nullptr));
    }
  }
};

/* NULL if Fovea has no such type, or rows are not contiguous. */
const Storage *storage_of(const abi::Tensor *tensor) {
  static const Storages storages;
  for (const Storage &storage : storages.all) {
    if (storage.number != tensor->type) continue;
    bool fits = tensor->nb[0] == storage.block_size && tensor->ne[0] % storage.block == 0;
    for (int axis = 1; axis < 4; axis++) fits = fits && tensor->nb[axis] % storage.unit() == 0;
    return fits ? &storage : nullptr;
  }
  return nullptr;
}

bool is_of(const abi::Tensor *tensor, int number) {
  return tensor->type == number && storage_of(tensor);
}

/* ---- The problem of a pass ---- */

float parameter(const abi::Tensor *node, int index) {
  float number;
  memcpy(&number, &node->op_params[index], sizeof number);
  return number;
}

/* Whether the mask is multiplied by slopes, or repeated in a way that strides do not say. */
bool has_bias(const abi::Tensor *node) {
  const abi::Tensor *q = node->src[0], *mask = node->src[3];
  if (!mask) return false;
  return parameter(node, 1) > 0 || (mask->ne[2] != 1 && mask->ne[2] != q->ne[2]) ||
         (mask->ne[3] != 1 && mask->ne[3] != q->ne[3]);
}

int64_t rows_of_pass(const abi::Tensor *node) {
  const int64_t all = node->src[0]->ne[1], numbers = int64_t{1} << 22;
  const int64_t rows = has_bias(node) ? numbers / (node->src[0]->ne[2] * node->src[1]->ne[1]) : all;
  return rows < 1 ? 1 : rows < all ? rows : all;
}

/* In elements; an axis with one index is repeated. */
int64_t stride(const abi::Tensor *tensor, int axis, int64_t size) {
  return tensor->ne[axis] == 1 ? 0 : static_cast<int64_t>(tensor->nb[axis]) / size;
}

/* All bytes of equal problems are equal. */
void describe(const abi::Tensor *node, int64_t rows, fovea_problem *problem) {
  const abi::Tensor *q = node->src[0], *k = node->src[1], *mask = node->src[3];
  const bool bias = has_bias(node);
  memset(problem, 0, sizeof *problem);
  fovea_problem_init(problem, bias ? 1 : q->ne[3], q->ne[2], k->ne[2], rows, k->ne[1], q->ne[0], node->ne[0]);
  problem->cache.segmented = 1;
  problem->q_strides = {stride(q, 3, 4), stride(q, 2, 4), stride(q, 1, 4)};
  problem->o_strides = {stride(node, 3, 4), stride(node, 1, 4), stride(node, 2, 4)};
  problem->scale = parameter(node, 0);
  problem->softcap = parameter(node, 2);
  problem->sink = node->src[4] ? FOVEA_SINK_PER_HEAD : FOVEA_SINK_NONE;
  problem->modes.score = problem->modes.value = fovea_ggml_mode;
  if (!mask) return;
  problem->mask.type = bias ? FOVEA_MASK_F32 : FOVEA_MASK_F16;
  if (bias) problem->mask.strides = {0, rows * k->ne[1], k->ne[1], 1};
  if (!bias) problem->mask.strides = {stride(mask, 3, 2), stride(mask, 2, 2), stride(mask, 1, 2), 1};
}

/* ---- Memory ---- */

size_t aligned(size_t size) {
  return (size + FOVEA_SCRATCH_ALIGNMENT - 1) & ~size_t{FOVEA_SCRATCH_ALIGNMENT - 1};
}

size_t bias_size(const fovea_problem &problem) {
  if (problem.mask.type != FOVEA_MASK_F32) return 0;
  return static_cast<size_t>(problem.heads * problem.q_len * problem.kv_len) * sizeof(float);
}

size_t caches_size(const fovea_problem &problem) {
  return static_cast<size_t>(problem.batch) * (sizeof(fovea_sequence) + sizeof(fovea_segment));
}

size_t measure(const fovea_problem &problem, int workers) {
  fovea_plan *plan;
  if (fovea_plan_create(&problem, nullptr, &plan, nullptr) != FOVEA_OK) return 0;
  const size_t size = FOVEA_SCRATCH_ALIGNMENT + aligned(sizeof(Attention)) + aligned(caches_size(problem)) +
                      aligned(bias_size(problem)) + aligned(fovea_plan_size(problem.batch)) +
                      aligned(fovea_run_size(plan)) + fovea_plan_scratch_size(plan, workers);
  fovea_plan_destroy(plan);
  return size;
}

/* ggml's slopes: powers of one number for as many heads as the largest power of 2, then those halfway between. */
float slope(const abi::Tensor *node, int64_t head) {
  const float max_bias = parameter(node, 1);
  if (max_bias <= 0) return 1;
  int64_t power = 1;
  while (2 * power <= node->src[0]->ne[2]) power *= 2;
  if (head < power) return powf(powf(2, -max_bias / static_cast<float>(power)), static_cast<float>(head + 1));
  return powf(powf(2, -max_bias / 2 / static_cast<float>(power)), static_cast<float>(2 * (head - power) + 1));
}

} // namespace

/* ---- Nodes ---- */

bool Attention::takes(const abi::Tensor *node) {
  const abi::Tensor *q = node->src[0], *k = node->src[1], *v = node->src[2], *mask = node->src[3],
                    *sinks = node->src[4];
  if (!is_of(node, abi::F32) || !is_of(q, abi::F32) || !storage_of(k) || !storage_of(v) || node->src[5])
    return false;
  if (mask && (!is_of(mask, abi::F16) || mask->ne[0] < k->ne[1] || mask->ne[1] < q->ne[1])) return false;
  if (sinks && (!is_of(sinks, abi::F32) || sinks->ne[0] != q->ne[2])) return false;
  return k->ne[1] == v->ne[1] && k->ne[2] == v->ne[2] && q->ne[2] % k->ne[2] == 0 && k->ne[3] == q->ne[3] &&
         v->ne[3] == q->ne[3];
}

size_t Attention::size(const abi::Tensor *node, int workers) {
  constexpr int KEPT = 4; /* models have layers of two kinds or three */
  static thread_local struct {
    fovea_problem problem;
    int workers;
    size_t size;
  } kept[KEPT];
  static thread_local int newest;
  fovea_problem problem;
  describe(node, rows_of_pass(node), &problem);
  for (auto &one : kept)
    if (one.workers == workers && memcmp(&one.problem, &problem, sizeof problem) == 0) return one.size;
  newest = (newest + 1) % KEPT;
  memcpy(&kept[newest].problem, &problem, sizeof problem);
  kept[newest].workers = workers;
  return kept[newest].size = measure(problem, workers);
}

Attention *Attention::in(void *memory, size_t size) {
  const size_t skipped = (0 - reinterpret_cast<uintptr_t>(memory)) % FOVEA_SCRATCH_ALIGNMENT;
  if (size < skipped + sizeof(Attention)) return nullptr;
  return reinterpret_cast<Attention *>(static_cast<char *>(memory) + skipped);
}

/* ---- Steps ---- */

const fovea_sequence *Attention::fill_sequences(char *memory) const {
  auto *segments = reinterpret_cast<fovea_segment *>(memory);
  auto *sequences = reinterpret_cast<fovea_sequence *>(segments + problem_.batch);
  for (int64_t i = 0; i < problem_.batch; i++) {
    auto fill = [&](const abi::Tensor *tensor, void *&data, int64_t &head, int64_t &row, fovea_type &type,
                    const fovea_format *&format) {
      const Storage *storage = storage_of(tensor);
      data = static_cast<char *>(tensor->data) + static_cast<size_t>(element_ + i) * tensor->nb[3];
      head = static_cast<int64_t>(tensor->nb[2] / storage->unit());
      row = static_cast<int64_t>(tensor->nb[1] / storage->unit());
      if (storage->is_coded()) format = &storage->format;
      if (!storage->is_coded()) type = static_cast<fovea_type>(storage->name);
    };
    fovea_segment one = {};
    one.rows = problem_.kv_len;
    fill(node_->src[1], one.k, one.k_head, one.k_row, one.k_type, one.k_format);
    fill(node_->src[2], one.v, one.v_head, one.v_row, one.v_type, one.v_format);
    segments[i] = one;
    sequences[i] = fovea_sequence_of(&segments[i], 1);
  }
  return sequences;
}

void Attention::begin_phase(int phase) {
  phase_ = phase;
  tasks_ = phase < 0 ? rows_ : fovea_plan_tasks(plan_, phase);
  next_task_.store(0, std::memory_order_relaxed);
}

/* Plans and binds a pass. Returns whether that succeeded. What a pass needs follows the object in memory. */
bool Attention::begin_pass() {
  const abi::Tensor *q = node_->src[0], *mask = node_->src[3], *sinks = node_->src[4];
  const int64_t rows = rows_of_pass(node_), left = q->ne[1] - row_;
  rows_ = left < rows ? left : rows;
  describe(node_, rows_, &problem_);
  const size_t plan_size = fovea_plan_size(problem_.batch), element = static_cast<size_t>(element_);
  char *caches = reinterpret_cast<char *>(this) + aligned(sizeof *this),
       *bias = caches + aligned(caches_size(problem_));
  char *plan = bias + aligned(bias_size(problem_)), *run = plan + aligned(plan_size);
  if (run > end_ || fovea_plan_create_in(&problem_, nullptr, plan, plan_size, &plan_, nullptr)) return false;
  const size_t run_size = fovea_run_size(plan_), row = static_cast<size_t>(row_);
  char *scratch = run + aligned(run_size);
  if (scratch > end_) return false;
  bias_ = bias == plan ? nullptr : reinterpret_cast<float *>(bias);
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, static_cast<char *>(q->data) + element * q->nb[3] + row * q->nb[1], nullptr, nullptr,
                     static_cast<char *>(node_->data) + element * node_->nb[3] + row * node_->nb[2], nullptr);
  tensors.cache.sequences = fill_sequences(caches);
  tensors.mask = bias_ ? bias_ : mask ? mask->data : nullptr;
  tensors.sink = sinks ? static_cast<float *>(sinks->data) : nullptr;
  if (fovea_run_bind(plan_, &tensors, workers_, scratch, static_cast<size_t>(end_ - scratch), run, run_size, &run_,
                     nullptr))
    return false;
  begin_phase(bias_ ? -1 : 0);
  return true;
}

void Attention::begin(const abi::Tensor *node, int workers, void *end) {
  node_ = node;
  workers_ = workers;
  end_ = static_cast<char *>(end);
  element_ = row_ = 0;
  failed_ = !begin_pass();
}

bool Attention::is_last() const {
  return phase_ + 1 == fovea_plan_phases(plan_) && row_ + rows_ == node_->src[0]->ne[1] &&
         element_ + problem_.batch == node_->src[0]->ne[3];
}

void Attention::next() {
  if (phase_ + 1 < fovea_plan_phases(plan_)) return begin_phase(phase_ + 1);
  row_ += rows_;
  if (row_ == node_->src[0]->ne[1]) element_++, row_ = 0;
  failed_ = !begin_pass();
}

/* Writes a row of the mask for all heads. */
void Attention::write_bias(int64_t row) const {
  const abi::Tensor *mask = node_->src[3];
  const auto *from = static_cast<const char *>(mask->data) +
                     static_cast<size_t>(element_ % mask->ne[3]) * mask->nb[3] +
                     static_cast<size_t>(row_ + row) * mask->nb[1];
  for (int64_t head = 0; head < problem_.heads; head++) {
    const auto *head_from = from + static_cast<size_t>(head % mask->ne[2]) * mask->nb[2];
    float *to = bias_ + (head * rows_ + row) * problem_.kv_len, factor = slope(node_, head);
    fovea_ggml.f16_to_f32(reinterpret_cast<const uint16_t *>(head_from), to, problem_.kv_len);
    for (int64_t key = 0; key < problem_.kv_len; key++) to[key] *= factor;
  }
}

void Attention::run_task(const void *attention, int64_t task, int worker) {
  const auto *self = static_cast<const Attention *>(attention);
  if (self->phase_ < 0) return self->write_bias(task);
  fovea_run_task(self->run_, self->phase_, task, worker, nullptr); /* fails only for numbers that do not exist */
}

void Attention::run_tasks(int worker) {
  for (int64_t task; (task = next_task_.fetch_add(1, std::memory_order_relaxed)) < tasks_;)
    run_task(this, task, worker);
}
