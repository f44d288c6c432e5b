#include "engines.h"

#include "block.h"
#include "decode.h"
#include "gather.h"

/* Plans choose only engines that this build has. */
/* clang-format off */
static const fovea_engine *const engines[FOVEA_ENGINES] = {
    [FOVEA_ENGINE_TILED] = &fovea_tiled_engine,
    FOVEA_WITH(MODES, [FOVEA_ENGINE_TILED_MODE] = &fovea_mode_engine, )
    FOVEA_WITH(DECODE, [FOVEA_ENGINE_DECODED] = &fovea_decoded_engine, )
    FOVEA_WITH(DECODED_CODES, [FOVEA_ENGINE_DECODED_CODES] = &fovea_code_engine, )
    FOVEA_WITH(LISTS, [FOVEA_ENGINE_GATHERED] = &fovea_gathered_engine, )
};
/* clang-format on */

/* How the keys of the task's entry lie. Of segments that are not alike, reads the first only: whatever is said
 * here, the bits are the same. If no key is wanted, segments have not been checked and may be missing. */
static fovea_key_places find_places(const fovea_task_context *context) {
  const fovea_entry *entry = context->task->entry;
  if (!context->plan->problem.cache.segmented || entry->q_seen == 0 || entry->kv_begin >= entry->kv_len)
    return FOVEA_KEYS_LIE_IN_ROWS;
  const fovea_sequence *sequence = &context->tensors->cache.sequences[entry->batch];
  const fovea_segment *first = sequence->segments, *last = fovea_segment_at(sequence, sequence->count - 1);
  if (first->k_layout == FOVEA_KEYS_IN_PANELS) return FOVEA_KEYS_LIE_IN_PANELS;
  const int64_t rows = last->first + last->rows - first->first;
  return context->keys.alike && rows / FOVEA_BLOCK_KEYS < sequence->count - 1 ? FOVEA_KEYS_LIE_IN_PAGES
                                                                              : FOVEA_KEYS_LIE_IN_ROWS;
}

const fovea_engine *fovea_find_engine(const fovea_task_context *context) {
  return engines[fovea_engine_of(context->plan, context->task->entry, find_places(context))];
}
