#include "scratch.h"

void fovea_scratch_block(const fovea_plan *plan, void *worker_scratch, fovea_block_memory *memory) {
  const fovea_scratch_layout *layout = &plan->layout;
  memory->scores = (float *)worker_scratch + layout->decode;
  memory->partial = memory->scores + layout->scores;
  memory->panel = memory->partial + layout->output;
  memory->keys = memory->panel + layout->panel;
  memory->values = memory->keys + layout->keys;
  memory->key_operands = memory->values + layout->values;
  memory->value_operands = memory->key_operands + layout->key_operands;
  memory->codes = (int8_t *)(memory->value_operands + layout->value_operands);
  memory->value_codes = (int8_t *)(memory->value_operands + layout->value_operands + layout->codes);
  memory->maxima = memory->value_operands + layout->value_operands + 2 * layout->codes;
  memory->unused = memory->maxima + layout->row;
  memory->block_sum = memory->unused + layout->row;
  memory->old_part = memory->block_sum + layout->row;
  memory->new_part = memory->old_part + layout->row;
  memory->spread = memory->new_part + layout->row;
  memory->mask = (char *)(memory->spread + layout->row);
  memory->row_scores = memory->spread + layout->row + layout->mask;
  memory->gather = memory->row_scores + layout->row_scores;
  memory->own = memory->gather + layout->gather;
  memory->tiles = (struct fovea_tile *)(void *)(memory->own + plan->own_scratch.block);
}

float *fovea_scratch_decode_scores(const fovea_plan *plan, void *worker_scratch) {
  const uint64_t queries = plan->layout.decode_rows * (uint64_t)fovea_decode_stride(plan->problem.qk_dim);
  return (float *)worker_scratch + queries;
}

fovea_decode_memory fovea_scratch_decode(const fovea_plan *plan, void *worker_scratch) {
  uint64_t rows = plan->layout.decode_rows;
  fovea_decode_memory memory = {.queries = worker_scratch};
  memory.scores = fovea_scratch_decode_scores(plan, worker_scratch);
  memory.output = memory.scores + rows * FOVEA_BLOCK_KEYS;
  memory.partial = memory.output + rows * (uint64_t)fovea_decode_stride(plan->problem.v_dim);
  if (plan->decoding) {
    float *lists = memory.partial + rows * (uint64_t)fovea_decode_stride(plan->problem.v_dim);
    memory.key_codes = (fovea_code_list *)(void *)lists;
    memory.value_codes = (fovea_code_list *)(void *)(lists + fovea_code_list_floats());
  }
  return memory;
}

void fovea_scratch_tile(const fovea_plan *plan, void *worker_scratch, int tile, fovea_tile_memory *memory) {
  const fovea_scratch_layout *layout = &plan->layout;
  float *next = (float *)worker_scratch + layout->block + (uint64_t)tile * layout->tile;
  memory->queries = next;
  memory->query_operands = next + layout->queries;
  memory->pairs = memory->query_operands + layout->query_operands;
  memory->own = memory->pairs + layout->pairs;
  next = memory->own + plan->own_scratch.tile;
  for (int i = 0; i < plan->states; i++, next += layout->state) {
    fovea_tile_state *state = &memory->tree.states[i];
    state->row_max = next;
    state->row_sum = next + layout->row;
    state->output = next + 2 * layout->row;
    state->row_spread = plan->problem.entropy ? state->output + layout->output : NULL;
  }
  fovea_span_tree_reset(&memory->tree);
}
