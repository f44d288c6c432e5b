#include "parts.h"

#include "../base/nodes.h"
#include "../feature/normaliser.h"
#include "../system/platform.h"

#include <string.h>

enum {
  /* Keys are split if there are fewer tiles than this for each CPU, ... */
  TILES_PER_CPU = 2,
  /* ... into about this many parts for each CPU. */
  PARTS_PER_CPU = 4,
  /* If there are too few spans, parts are single blocks: at most this many for each CPU. */
  BLOCKS_PER_CPU = 32,
};

/* With fewer multiply-adds a second phase costs more than it saves. */
static const double work_worth_parts = 3e6;

static const int64_t span_keys = FOVEA_SPAN_KEYS;
_Static_assert(FOVEA_SPAN_KEYS == FOVEA_BLOCK_KEYS * FOVEA_SPAN_BLOCKS, "a span is whole blocks");

int64_t fovea_part_rows(const fovea_plan *plan) {
  int64_t rows = plan->problem.q_len * plan->group, lanes = plan->kernels->lanes;
  if (rows > plan->kernels->row_tile) rows = plan->kernels->row_tile;
  return (rows + lanes - 1) / lanes * lanes;
}

uint64_t fovea_part_state_floats(const fovea_plan *plan, int64_t rows) {
  const uint64_t counts = fovea_counts_keys(&plan->problem) ? sizeof(int64_t) / sizeof(float) : 0;
  return (uint64_t)rows * (2 + (uint64_t)plan->problem.v_dim + (plan->problem.entropy != 0) + counts) + 1;
}

uint64_t fovea_part_top_floats(const fovea_plan *plan) {
  return plan->problem.top.k > 0 ? 1 + 2 * (uint64_t)plan->problem.top.k : 0;
}

uint64_t fovea_part_floats(const fovea_plan *plan, int64_t rows) {
  return (fovea_part_state_floats(plan, rows) + (uint64_t)rows * fovea_part_top_floats(plan) + 15) / 16 * 16;
}

/* Splits keys into parts of part_keys; 0: one part each. Returns the number of parts of all tiles. */
static int64_t split_keys(fovea_plan *plan, int64_t part_keys) {
  int64_t parts = 0;
  plan->part_keys = part_keys;
  for (int64_t b = 0; b < plan->problem.batch; b++) {
    fovea_entry *entry = &plan->entries[b];
    entry->first_part = 0;
    entry->parts = 1;
    if (part_keys > 0 && entry->seen_end > entry->seen_begin) {
      entry->first_part = entry->seen_begin / part_keys;
      entry->parts = (entry->seen_end - 1) / part_keys + 1 - entry->first_part;
    }
    parts += fovea_plan_tiles(plan, entry) * plan->problem.kv_heads * entry->parts;
  }
  return parts;
}

/* The parts of a state are its nodes. Nothing is merged. */
static void split_at_nodes(fovea_plan *plan) {
  fovea_spans spans = fovea_spans_of(plan->problem.keys.begin, fovea_keys_end(&plan->problem));
  for (int64_t b = 0; b < plan->problem.batch; b++) plan->entries[b].parts = fovea_node_count(spans);
}

fovea_interval fovea_part_keys(const fovea_plan *plan, const fovea_task *task) {
  if (plan->problem.state) {
    fovea_spans spans = fovea_spans_of(plan->problem.keys.begin, fovea_keys_end(&plan->problem));
    fovea_spans node = fovea_node_at(spans, task->part);
    return (fovea_interval){node.first * FOVEA_SPAN_KEYS, node.end * FOVEA_SPAN_KEYS};
  }
  int64_t begin = (task->entry->first_part + task->part) * plan->part_keys;
  return (fovea_interval){begin, begin + plan->part_keys};
}

void fovea_plan_parts(fovea_plan *plan, int64_t tiles) {
  const fovea_problem *p = &plan->problem;
  int64_t tasks = tiles * p->kv_heads, lanes = plan->kernels->lanes;
  double most_work = (double)p->batch * (double)p->heads * (double)p->q_len * (double)plan->row_keys *
                     ((double)p->qk_dim + (double)p->v_dim);
  split_keys(plan, 0);
  plan->parts_scratch = 0;
  plan->parts_reason = "there is too little work to share";
  if (p->state) {
    split_at_nodes(plan);
    plan->parts_reason = "the parts of a state are its nodes";
    return;
  }
  if (plan->gathered) {
    plan->parts_reason = "rows one by one are tasks enough";
    return;
  }
  /* Decides by lengths only. Smaller lengths never need more, so scratch for the largest lengths is enough for all.
   * The number of CPUs costs a system call, which takes as long as everything else for a small problem. */
  if (most_work < work_worth_parts || p->q_len == 0) return;
  int64_t cpus = fovea_platform_cpus();
  plan->parts_reason = "there are tiles enough for all CPUs";
  if (p->batch > TILES_PER_CPU * cpus || p->batch * p->kv_heads >= TILES_PER_CPU * cpus) return;
  int64_t most_parts = (PARTS_PER_CPU + TILES_PER_CPU) * cpus, most_blocks = BLOCKS_PER_CPU * cpus;
  uint64_t for_parts = (uint64_t)most_parts * fovea_part_floats(plan, fovea_part_rows(plan));
  uint64_t for_blocks = (uint64_t)most_blocks * fovea_part_floats(plan, lanes);
  plan->parts_scratch = fovea_bytes_of(for_parts > for_blocks ? for_parts : for_blocks);
  if (tasks == 0 || tasks >= TILES_PER_CPU * cpus) return;
  plan->parts_reason = "there is too little work to share";
  if (plan->work < work_worth_parts) return;
  plan->parts_reason = "there are fewer tiles than CPUs can use";
  int64_t keys = span_keys, parts = split_keys(plan, keys);
  while (parts > PARTS_PER_CPU * cpus + tasks) parts = split_keys(plan, keys *= 2);
  if (parts >= TILES_PER_CPU * cpus && parts > tasks) return;
  if (fovea_part_rows(plan) == lanes) {
    parts = split_keys(plan, FOVEA_BLOCK_KEYS);
    if (parts > tasks && parts <= most_blocks) return;
    parts = split_keys(plan, keys);
  }
  if (parts > tasks) return;
  split_keys(plan, 0);
  plan->parts_reason = "the keys are too few to split";
}
