/* The vectors of int8 mode that a caller fixes beforehand (docs/numerics.md, section 16). Queries are multiplied,
 * and keys lose their centre, before they get codes; the state of a span gets what the centre takes from its
 * scores, and the scale of its values. All sets of instructions share this: it is done to rows of f32 and to
 * states. */
#ifndef FOVEA_SRC_RUN_VECTORS_H
#define FOVEA_SRC_RUN_VECTORS_H

#include "../feature/int8_vectors.h"
#include "rows.h"

/* The vector of the task's kv head. NULL: there is none. */
const float *fovea_key_centre(const fovea_task_context *context);

/* Multiplies the tile's loaded queries by key_scale, and sets what key_centre takes from its scores. Nothing, if
 * the problem has neither.
 */
void fovea_place_vectors(const fovea_task_context *context, fovea_tile *t);

/* The same for a tile that is decoded, whose queries lie row by row. */
void fovea_place_decoded_vectors(const fovea_task_context *context, fovea_tile *t);

/* Sets what key_centre takes from scores of a tile that sees keys and whose queries are not loaded. Uses their
 * place. */
void fovea_read_vectors(const fovea_task_context *context, fovea_tile *t);

/* As fovea_widen_block_rows(), of the current block, and less a centre; NULL: nothing is subtracted. */
void fovea_widen_centred_rows(const fovea_task_context *context, fovea_find_run *find, const float *centre,
                              int64_t dim, fovea_interval keys, float *to);

/* Whether parts of keys end within spans: then the state of a span is finished when all its parts have merged. */
static inline int fovea_has_part_spans(const fovea_plan *plan) {
  return plan->part_keys > 0 && plan->part_keys < FOVEA_SPAN_KEYS && fovea_has_vectors(&plan->problem);
}

/* What the vectors do to the state of a span. */
void fovea_finish_span(const fovea_task_context *context, const fovea_tile *t, const fovea_tile_state *state);

#endif
