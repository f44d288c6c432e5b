/* Shapes in ggml's order, the innermost axis first:
 *   q, f32     (dims, rows, heads, batch)
 *   k, v       (dims, keys, kv heads, batch), as they lie in the cache
 *   mask, f16  (keys, rows, heads, batch), the last two repeated
 *   sinks, f32 (heads)
 *   node, f32  (dims, heads, rows, batch)
 * ALiBi multiplies the mask by a slope for each head. Such a mask is written out in f32, for some rows of a batch element
 * at a time: a pass. Other nodes are one pass. */
#include "attention.h"

#include <cmath>
#include <cstring>

namespace {

/* ---- Types of tensors ---- */

struct Storage {
  int number, name;   /* of ggml_type; of fovea_type, or of fovea_format_name if a block has several elements */
  int64_t block;      /* elements of a block */
  int64_t block_size; /* its bytes */

  bool is_coded() const { return block > 1; }
  int64_t unit() const { return is_coded() ? 1 : block_size; } /* of strides: Fovea counts bytes of codes */
};

constexpr Storage STORAGES[] = {
    {abi::F32, FOVEA_F32, 1, 4},
    {abi::F16, FOVEA_F16, 1, 2},
    {abi::BF16, FOVEA_BF16, 1, 2},
    {abi::Q8_0, FOVEA_FORMAT_Q8_0, 32, 34},
    {abi::Q4_0, FOVEA_FORMAT_Q4_0, 32, 18},
    {abi::Q4_1, FOVEA_FORMAT_Q4_1, 32, 20},
    {abi::Q5_0, FOVEA_FORMAT_Q5_0, 32, 22},
    {abi::Q5_1, FOVEA_FORMAT_Q5_1, 32, 24},
    {abi::IQ4_NL, FOVEA_FORMAT_IQ4_NL, 32, 18},
};

/* NULL if Fovea has no such type, or rows are not contiguous. */
const Storage *storage_of(const abi::Tensor *tensor) {
  for (const Storage &storage : STORAGES) {
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

char *at(const abi::Tensor *tensor, int64_t i1, int64_t i2, int64_t i3) {
  return static_cast<char *>(tensor->data) + i1 * tensor->nb[1] + i2 * tensor->nb[2] + i3 * tensor->nb[3];
}

/* ---- The problem of a pass ---- */

enum { SCALE, MAX_BIAS, SOFTCAP }; /* parameters of a node */

/* Whether the mask is multiplied by slopes, or repeated in a way that strides do not say. */
bool has_bias(const abi::Tensor *node) {
  const abi::Tensor *q = node->src[0], *mask = node->src[3];
  auto is_in_groups = [&](int axis) { return mask->ne[axis] != 1 && mask->ne[axis] != q->ne[axis]; };
  return mask && (node->op_params[MAX_BIAS] > 0 || is_in_groups(2) || is_in_groups(3));
}

int64_t rows_of_pass(const abi::Tensor *node) {
  const int64_t all = node->src[0]->ne[1], numbers = int64_t{1} << 22;
  const int64_t rows = has_bias(node) ? numbers / (node->src[0]->ne[2] * node->src[1]->ne[1]) : all;
  return rows < 1 ? 1 : rows < all ? rows : all;
}

/* In elements; an axis with one index is repeated. */
int64_t stride(const abi::Tensor *tensor, int axis, int64_t size) {
  return tensor->ne[axis] == 1 ? 0 : tensor->nb[axis] / size;
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
  problem->scale = node->op_params[SCALE];
  problem->softcap = node->op_params[SOFTCAP];
  problem->sink = node->src[4] ? FOVEA_SINK_PER_HEAD : FOVEA_SINK_NONE;
  problem->modes.score = problem->modes.value = fovea_ggml.mode;
  if (!mask) return;
  problem->mask.type = bias ? FOVEA_MASK_F32 : FOVEA_MASK_F16;
  if (bias) problem->mask.strides = {0, rows * k->ne[1], k->ne[1], 1};
  if (!bias) problem->mask.strides = {stride(mask, 3, 2), stride(mask, 2, 2), stride(mask, 1, 2), 1};
}

/* ---- Memory ---- */

size_t aligned(size_t size) {
  return (size + FOVEA_SCRATCH_ALIGNMENT - 1) & ~size_t{FOVEA_SCRATCH_ALIGNMENT - 1};
}

/* Where parts of a pass's memory begin. It holds the object, its caches, a mask that is written out, plan, run, scratch. */
struct Parts {
  size_t bias, plan, run;

  explicit Parts(const fovea_problem &problem) {
    const auto batch = static_cast<size_t>(problem.batch),
               scores = static_cast<size_t>(problem.heads * problem.q_len * problem.kv_len);
    bias = aligned(sizeof(Attention)) + aligned(batch * (sizeof(fovea_sequence) + sizeof(fovea_segment)));
    plan = bias + (problem.mask.type == FOVEA_MASK_F32 ? aligned(scores * sizeof(float)) : 0);
    run = plan + aligned(fovea_plan_size(problem.batch));
  }
};

/* ggml's slopes: powers of one number for as many heads as the largest power of 2, then those halfway between. */
float slope(const abi::Tensor *node, int64_t head) {
  const float max_bias = node->op_params[MAX_BIAS];
  if (max_bias <= 0) return 1;
  int64_t power = 1;
  while (2 * power <= node->src[0]->ne[2]) power *= 2;
  const bool between = head >= power;
  const float base = powf(2, -(between ? max_bias / 2 : max_bias) / static_cast<float>(power));
  return powf(base, static_cast<float>(between ? 2 * (head - power) + 1 : head + 1));
}

/* ---- Nodes ---- */

bool fits(const abi::Tensor *node) {
  const abi::Tensor *q = node->src[0], *k = node->src[1], *v = node->src[2], *mask = node->src[3],
                    *sinks = node->src[4];
  if (!is_of(node, abi::F32) || !is_of(q, abi::F32) || !storage_of(k) || !storage_of(v) || node->src[5])
    return false;
  if (mask && (!is_of(mask, abi::F16) || mask->ne[0] < k->ne[1] || mask->ne[1] < q->ne[1])) return false;
  if (sinks && (!is_of(sinks, abi::F32) || sinks->ne[0] != q->ne[2])) return false;
  return k->ne[1] == v->ne[1] && k->ne[2] == v->ne[2] && q->ne[2] % k->ne[2] == 0 && k->ne[3] == q->ne[3] &&
         v->ne[3] == q->ne[3];
}

/* Says once what is left to ggml. */
bool leave(const abi::Tensor *node) {
  const char *k = fovea_ggml.type_name(node->src[1]->type), *v = fovea_ggml.type_name(node->src[2]->type);
  const char *line = "fovea: attention over K in %s and V in %s, of these shapes, is left to ggml\n";
  [[maybe_unused]] static const int told = (fovea_ggml.log(abi::LOG_INFO, line, k, v), 0);
  return false;
}

} // namespace

double Attention::work(const abi::Tensor *node) {
  const abi::Tensor *q = node->src[0], *k = node->src[1];
  return static_cast<double>(q->ne[1] * q->ne[2] * q->ne[3] * k->ne[1] * (q->ne[0] + node->ne[0]));
}

Attention::Place Attention::place(const abi::Tensor *node) {
  /* This takes some milliseconds, and a split of the graph some hundredths of one. */
  constexpr double WORTH_A_SPLIT = 2e8;
  if (node->op != fovea_ggml.flash_attention || !(fits(node) || leave(node))) return BY_GGML;
  if (fovea_ggml.way == Ggml::DEVICE && work(node) < WORTH_A_SPLIT) return IN_THREADS;
  return fovea_ggml.way == Ggml::THREADS ? IN_THREADS : BY_DEVICE;
}

size_t Attention::size(const abi::Tensor *node, int workers) {
  constexpr int KEPT = 4; /* models have layers of two kinds or three */
  static thread_local fovea_problem problems[KEPT];
  static thread_local size_t sizes[KEPT];
  static thread_local int counts[KEPT], next;
  fovea_problem problem;
  describe(node, rows_of_pass(node), &problem);
  for (int i = 0; i < KEPT; i++)
    if (counts[i] == workers && memcmp(&problems[i], &problem, sizeof problem) == 0) return sizes[i];
  next = (next + 1) % KEPT;
  memcpy(&problems[next], &problem, sizeof problem);
  counts[next] = workers, sizes[next] = 0;
  fovea_plan *plan;
  if (fovea_plan_create(&problem, nullptr, &plan, nullptr)) return leave(node), 0;
  sizes[next] = FOVEA_SCRATCH_ALIGNMENT + Parts(problem).run + aligned(fovea_run_size(plan)) +
                fovea_plan_scratch_size(plan, workers);
  fovea_plan_destroy(plan);
  return sizes[next];
}

Attention *Attention::in(void *memory, size_t size) {
  const size_t skipped = (0 - reinterpret_cast<uintptr_t>(memory)) % FOVEA_SCRATCH_ALIGNMENT;
  if (size < skipped + sizeof(Attention)) return nullptr;
  return reinterpret_cast<Attention *>(static_cast<char *>(memory) + skipped);
}

/* ---- Steps ---- */

const fovea_sequence *Attention::fill_sequences(char *memory) {
  auto *segments = reinterpret_cast<fovea_segment *>(memory);
  auto *sequences = reinterpret_cast<fovea_sequence *>(segments + problem_.batch);
  for (int64_t i = 0; i < problem_.batch; i++) {
    auto fill = [&](const abi::Tensor *tensor, fovea_format *own, void *&data, int64_t &head, int64_t &row,
                    fovea_type &type, const fovea_format *&format) {
      const Storage *storage = storage_of(tensor);
      data = at(tensor, 0, 0, element_ + i);
      head = tensor->nb[2] / storage->unit();
      row = tensor->nb[1] / storage->unit();
      if (!storage->is_coded()) return void(type = static_cast<fovea_type>(storage->name));
      fovea_format_init(own, static_cast<fovea_format_name>(storage->name), nullptr);
      format = own;
    };
    fovea_segment one = {};
    one.rows = problem_.kv_len;
    fill(node_->src[1], &k_format_, one.k, one.k_head, one.k_row, one.k_type, one.k_format);
    fill(node_->src[2], &v_format_, one.v, one.v_head, one.v_row, one.v_type, one.v_format);
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
  const Parts parts(problem_);
  char *memory = reinterpret_cast<char *>(this), *plan = memory + parts.plan, *run = memory + parts.run;
  if (run > end_ || fovea_plan_create_in(&problem_, nullptr, plan, parts.run - parts.plan, &plan_, nullptr))
    return false;
  const size_t run_size = fovea_run_size(plan_);
  char *scratch = run + aligned(run_size);
  if (scratch > end_) return false;
  bias_ = parts.bias == parts.plan ? nullptr : reinterpret_cast<float *>(memory + parts.bias);
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, at(q, row_, 0, element_), nullptr, nullptr, at(node_, 0, row_, element_), nullptr);
  tensors.cache.sequences = fill_sequences(memory + aligned(sizeof *this));
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
  if (failed_) return;
  [[maybe_unused]] static const int told = (fovea_ggml.log(abi::LOG_INFO, "fovea: computes attention\n"), 0);
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
  for (int64_t head = 0; head < problem_.heads; head++) {
    const char *from = at(mask, row_ + row, head % mask->ne[2], element_ % mask->ne[3]);
    float *to = bias_ + (head * rows_ + row) * problem_.kv_len, factor = slope(node_, head);
    fovea_ggml.f16_to_f32(reinterpret_cast<const uint16_t *>(from), to, problem_.kv_len);
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
