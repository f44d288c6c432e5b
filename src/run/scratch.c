#include "scratch.h"

#include "../base/types.h"

/* Floats of an array; each starts at a multiple of 64 bytes. Counts have 64 bits: those of the largest dims are
 * beyond a size_t of 32. */
static uint64_t aligned(uint64_t floats) {
  return (floats + 15) / 16 * 16;
}

static uint64_t row_array(const fovea_plan *plan) {
  return aligned((uint64_t)plan->kernels->row_tile);
}

static uint64_t dim_array(const fovea_plan *plan, int64_t items) {
  return aligned((uint64_t)plan->kernels->row_tile * (uint64_t)items);
}

static uint64_t state_floats(const fovea_plan *plan) {
  return 2 * row_array(plan) + dim_array(plan, plan->problem.v_dim);
}

static uint64_t panel_floats(const fovea_plan *plan) {
  uint64_t width = (uint64_t)plan->kernels->panel_dims;
  return aligned(((uint64_t)plan->problem.v_dim + width - 1) / width * width * FOVEA_BLOCK_KEYS);
}

int64_t fovea_copied_stride(int64_t dim) {
  return ((dim + 15) / 16 | 1) * 16;
}

static uint64_t copied_floats(int64_t dim) {
  return (uint64_t)fovea_copied_stride(dim) * FOVEA_BLOCK_KEYS;
}

static uint64_t value_floats(const fovea_plan *plan) {
  int copied = plan->problem.v_type != FOVEA_F32 || plan->problem.segmented;
  return copied ? copied_floats(plan->problem.v_dim) : 0;
}

int64_t fovea_decode_stride(int64_t dim) {
  return (dim + 15) / 16 * 16;
}

static uint64_t decode_rows(const fovea_plan *plan) {
  const fovea_kernels *kernels = plan->kernels;
  int in_panels = plan->problem.segmented ? kernels->decode_panel_rows : 0;
  return (uint64_t)(in_panels > kernels->decode_rows ? in_panels : kernels->decode_rows);
}

static uint64_t decode_floats(const fovea_plan *plan) {
  uint64_t row = (uint64_t)fovea_decode_stride(plan->problem.qk_dim) + FOVEA_BLOCK_KEYS +
                 2 * (uint64_t)fovea_decode_stride(plan->problem.v_dim);
  return decode_rows(plan) * row;
}

/* Of a whole tile and a whole block. */
static uint64_t mask_floats(const fovea_plan *plan) {
  uint64_t bits = (uint64_t)fovea_mask_type_bits(plan->problem.mask_type);
  return plan->mask_copied ? aligned((uint64_t)plan->kernels->row_tile * FOVEA_BLOCK_KEYS * bits / 32) : 0;
}

static uint64_t block_floats(const fovea_plan *plan) {
  return decode_floats(plan) + panel_floats(plan) + copied_floats(plan->problem.qk_dim) + value_floats(plan) +
         dim_array(plan, FOVEA_BLOCK_KEYS) + dim_array(plan, plan->problem.v_dim) + 5 * row_array(plan) +
         mask_floats(plan);
}

static uint64_t pair_floats(const fovea_plan *plan) {
  return plan->paired ? dim_array(plan, (plan->problem.qk_dim + 1) / 2) : 0;
}

static uint64_t tile_floats(const fovea_plan *plan) {
  return dim_array(plan, plan->problem.qk_dim) + pair_floats(plan) + (uint64_t)plan->states * state_floats(plan);
}

size_t fovea_scratch_size(const fovea_plan *plan) {
  return fovea_bytes_of(block_floats(plan) + (uint64_t)plan->kernels->block_tiles * tile_floats(plan));
}

size_t fovea_bytes_of(uint64_t floats) {
  uint64_t bytes = floats * sizeof(float);
  return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

fovea_block_memory fovea_scratch_block(const fovea_plan *plan, void *worker_scratch) {
  fovea_block_memory memory;
  memory.scores = (float *)worker_scratch + decode_floats(plan);
  memory.partial = memory.scores + dim_array(plan, FOVEA_BLOCK_KEYS);
  memory.panel = memory.partial + dim_array(plan, plan->problem.v_dim);
  memory.keys = memory.panel + panel_floats(plan);
  memory.values = memory.keys + copied_floats(plan->problem.qk_dim);
  memory.maxima = memory.values + value_floats(plan);
  memory.unused = memory.maxima + row_array(plan);
  memory.block_sum = memory.unused + row_array(plan);
  memory.old_part = memory.block_sum + row_array(plan);
  memory.new_part = memory.old_part + row_array(plan);
  memory.mask = (char *)(memory.new_part + row_array(plan));
  return memory;
}

fovea_decode_memory fovea_scratch_decode(const fovea_plan *plan, void *worker_scratch) {
  uint64_t rows = decode_rows(plan);
  fovea_decode_memory memory = {.queries = worker_scratch};
  memory.scores = memory.queries + rows * (uint64_t)fovea_decode_stride(plan->problem.qk_dim);
  memory.output = memory.scores + rows * FOVEA_BLOCK_KEYS;
  memory.partial = memory.output + rows * (uint64_t)fovea_decode_stride(plan->problem.v_dim);
  return memory;
}

fovea_tile_memory fovea_scratch_tile(const fovea_plan *plan, void *worker_scratch, int tile) {
  fovea_tile_memory memory;
  float *next = (float *)worker_scratch + block_floats(plan) + (uint64_t)tile * tile_floats(plan);
  memory.queries = next;
  memory.pairs = next + dim_array(plan, plan->problem.qk_dim);
  next = memory.pairs + pair_floats(plan);
  for (int i = 0; i < plan->states; i++, next += state_floats(plan)) {
    fovea_tile_state *state = &memory.tree.states[i];
    state->row_max = next;
    state->row_sum = next + row_array(plan);
    state->output = next + 2 * row_array(plan);
  }
  fovea_span_tree_reset(&memory.tree);
  return memory;
}
