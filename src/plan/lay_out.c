#include "lay_out.h"

#include "../base/types.h"
#include "plan.h"

static uint64_t copied_block(int64_t dim) {
  return (uint64_t)fovea_copied_stride(dim) * FOVEA_BLOCK_KEYS;
}

static uint64_t packed_values(const fovea_kernels *kernels, int64_t dim) {
  uint64_t width = (uint64_t)kernels->panel_dims;
  return fovea_whole_lines(((uint64_t)dim + width - 1) / width * width * FOVEA_BLOCK_KEYS);
}

static void lay_out_decoding(fovea_scratch_layout *layout, const fovea_plan *plan) {
  const fovea_kernels *kernels = plan->kernels;
  const fovea_problem *problem = &plan->problem;
  int rows = kernels->decode_rows;
  if (problem->cache.segmented && kernels->decode_panel_rows > rows) rows = kernels->decode_panel_rows;
  if (plan->decoding && plan->decoding->rows > rows) rows = plan->decoding->rows;
  layout->decode_rows = (uint64_t)rows;
  layout->decode = layout->decode_rows * ((uint64_t)fovea_decode_stride(problem->qk_dim) + FOVEA_BLOCK_KEYS +
                                          2 * (uint64_t)fovea_decode_stride(problem->v_dim));
  if (plan->decoding) layout->decode += 2 * fovea_code_list_floats();
}

fovea_scratch_layout fovea_lay_out_scratch(const fovea_plan *plan, fovea_operand_sizes operands, uint64_t tiles) {
  const fovea_kernels *kernels = plan->kernels;
  const fovea_problem *problem = &plan->problem;
  const int codes = plan->decoding || problem->cache.segmented;
  const uint64_t rows = (uint64_t)kernels->row_tile, qk_dim = (uint64_t)problem->qk_dim,
                 mask_bits =
                     problem->mask.type == FOVEA_MASK_NONE ? 1 : (uint64_t)fovea_mask_type_bits(problem->mask.type);
  const int values_copied = problem->v_type != FOVEA_F32 || codes;
  fovea_scratch_layout layout = {
      .row = fovea_whole_lines(rows),
      .queries = fovea_whole_lines(rows * qk_dim),
      .pairs = plan->paired ? fovea_whole_lines(rows * ((qk_dim + 1) / 2)) : 0,
      .scores = fovea_whole_lines(rows * FOVEA_BLOCK_KEYS),
      .output = fovea_whole_lines(rows * (uint64_t)problem->v_dim),
      .panel = packed_values(kernels, problem->v_dim),
      .keys = copied_block(problem->qk_dim),
      .values = values_copied ? copied_block(problem->v_dim) : 0,
      .query_operands = fovea_whole_lines((uint64_t)operands.queries),
      .key_operands = fovea_whole_lines((uint64_t)operands.keys),
      .value_operands = fovea_whole_lines((uint64_t)operands.values),
      .codes = codes ? fovea_whole_lines((uint64_t)operands.codes) : 0,
      .tiles = tiles * FOVEA_TILE_FLOATS,
      .mask = plan->mask_copied ? fovea_whole_lines(rows * FOVEA_BLOCK_KEYS * mask_bits / 32) : 0,
  };
  if (plan->gathered)
    layout.gather = (uint64_t)FOVEA_GATHER_ROWS * (uint64_t)fovea_gather_stride(plan->states, problem->v_dim);
  lay_out_decoding(&layout, plan);
  if (problem->column_sums.wanted || problem->top.k > 0) layout.row_scores = rows * FOVEA_BLOCK_KEYS;
  layout.state = (problem->entropy ? 3 : 2) * layout.row + layout.output;
  layout.block = layout.decode + layout.panel + layout.keys + layout.values + layout.key_operands +
                 layout.value_operands + 2 * layout.codes + layout.scores + layout.output + 6 * layout.row +
                 layout.mask + layout.row_scores + layout.gather + plan->own_scratch.block + layout.tiles;
  layout.tile = layout.queries + layout.query_operands + layout.pairs + plan->own_scratch.tile +
                (uint64_t)plan->states * layout.state;
  return layout;
}
