#include "scratch_layout.h"
#include "../../arch/args/outputs.h"

uint64_t fovea_whole_lines(uint64_t floats) {
  return (floats + 15) / 16 * 16;
}

int64_t fovea_copied_stride(int64_t dim) {
  return ((dim + 15) / 16 | 1) * 16;
}

int64_t fovea_gather_stride(int states, int64_t v_dim) {
  return (states + 1) * fovea_decode_stride(v_dim); /* a block's own state comes above the states of the tree */
}

size_t fovea_bytes_of(uint64_t floats) {
  uint64_t bytes = floats * sizeof(float);
  return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

uint64_t fovea_code_list_floats(void) {
  return fovea_whole_lines(sizeof(fovea_code_list) / sizeof(float) + 1);
}

uint64_t fovea_term_floats(const fovea_kernels *kernels) {
  return fovea_whole_lines((uint64_t)kernels->row_tile * (FOVEA_BLOCK_KEYS + 2) + 2 * FOVEA_BLOCK_KEYS);
}

int64_t fovea_column_blocks(const fovea_problem *problem) {
  enum { CELLS = 8 };
  const int64_t group = problem->heads / problem->kv_heads;
  return group < CELLS ? CELLS / group : 1;
}

uint64_t fovea_top_rows_floats(const fovea_kernels *kernels) {
  return fovea_whole_lines((uint64_t)kernels->row_tile * sizeof(fovea_top_list) / sizeof(float));
}

uint64_t fovea_top_list_floats(int64_t k) {
  return 2 * (uint64_t)FOVEA_TOP_ROOM(k);
}
