/* The channel numbers of int8 mode, which a caller fixes beforehand (docs/numerics.md, section 16). Queries are
 * multiplied, and keys lose their centre, before they get codes; the state of a span gets what the centre takes
 * from its scores, and the scale of its values. All sets of instructions share this: it is done to rows of f32 and
 * to states. */
#ifndef FOVEA_SRC_RUN_VECTORS_H
#define FOVEA_SRC_RUN_VECTORS_H

#include "../feature/int8_vectors.h"
#include "task.h"

#include <fovea/state.h>

/* The channel numbers of a kv head. */
fovea_channel_scales fovea_find_channel_scales(const fovea_problem *problem, const fovea_tensors *tensors,
                                               int64_t kv_head);

/* Multiplies the tile's loaded queries by key_scale, and sets what key_centre takes from its scores. Nothing, if
 * the problem has neither.
 */
void fovea_place_vectors(const fovea_plan *plan, const fovea_channel_scales *channels,
                         const fovea_row_scales *scales, fovea_tile *t);

/* The same for a tile that is decoded, whose queries lie row by row, fovea_decode_stride() apart. */
void fovea_place_decoded_vectors(const fovea_plan *plan, const fovea_channel_scales *channels,
                                 const fovea_row_scales *scales, fovea_tile *t, float *queries);

/* Sets what key_centre takes from scores of a tile that sees keys and whose queries are not loaded. Uses their
 * place. */
void fovea_read_vectors(const fovea_plan *plan, const fovea_channel_scales *channels,
                        const fovea_row_scales *scales, fovea_tile *t);

/* As fovea_widen_rows(), and less the centre. */
void fovea_widen_centred_rows(const fovea_row_source *source, int64_t base, fovea_interval keys, float *to);

/* Whether parts of keys end within spans: then the state of a span is finished when all its parts have merged. */
static inline int fovea_has_part_spans(const fovea_plan *plan) {
  return plan->part_keys > 0 && plan->part_keys < FOVEA_SPAN_KEYS && fovea_has_vectors(&plan->problem);
}

/* What the vectors do to the state of a span. */
void fovea_finish_span(const fovea_plan *plan, const fovea_channel_scales *channels, const fovea_tile *t,
                       const fovea_tile_state *state);

#endif
