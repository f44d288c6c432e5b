#include "row_maker.h"

#include "../base/types.h"

#include <string.h>

void fovea_begin_rows(fovea_row_maker *maker, const fovea_rotary_piece *piece, fovea_type type, int64_t dim,
                      int64_t hadamard) {
  maker->kernels = piece->kernels;
  maker->piece = piece;
  maker->type = type;
  maker->dim = dim;
  maker->hadamard = hadamard;
  maker->list = NULL;
  maker->list_count = maker->list_first = 0;
  for (int i = 0; i < FOVEA_KEPT_ANGLES; i++) maker->known[i] = 0;
}

fovea_rotary_position fovea_rotated_position(const fovea_row_maker *maker, int64_t position) {
  if (!maker->list) return fovea_plain_position(position);
  return fovea_listed_position(maker->piece->rotary, maker->list, maker->list_count, position - maker->list_first);
}

/* Whether the angles of a row are kept at a place; if not, sets *rotated to its position. From now on they are kept.
 * Without a list the row's number is enough to know it by. */
static int keep(fovea_row_maker *maker, int64_t place, int64_t position, fovea_rotary_position *rotated) {
  enum { PLAIN = 1, LISTED = 2 };
  fovea_rotary_position *kept = &maker->kept[place];
  const int kind = maker->list ? LISTED : PLAIN;
  int known = maker->known[place] == kind;
  if (known && kind == PLAIN && kept->on[0] == position) return 1;
  *rotated = fovea_rotated_position(maker, position);
  known = known && memcmp(kept, rotated, sizeof *kept) == 0;
  maker->known[place] = kind;
  *kept = *rotated;
  return known;
}

static void rotate_piece(const fovea_row_maker *maker, const fovea_rotary_piece *piece,
                         const fovea_rotary_angles *angles, const void *from, float *to) {
  const int interleaved = piece->rotary->layout == FOVEA_ROTARY_INTERLEAVED;
  const int64_t first = interleaved ? 2 * piece->first : piece->first;
  const fovea_rotate_args args = {
      .from = fovea_element(from, maker->type, first),
      .to = to + first,
      .from_type = maker->type,
      .partner = interleaved ? 1 : piece->rotary->dims / 2,
      .pair_count = piece->count,
      .cosines = angles->cosines,
      .sines = angles->sines,
  };
  piece->kernels->rotate(&args);
}

/* The angles of one piece are kept for several positions, or the angles of several pieces for one, if there is
 * room. */
static void rotate(fovea_row_maker *maker, int64_t position, const void *from, float *to) {
  const fovea_rotary_piece *piece = maker->piece;
  fovea_rotary_position rotated;
  if (piece->rotary->dims / 2 <= FOVEA_ROTATE_PAIRS) {
    const int64_t place = position % FOVEA_KEPT_ANGLES;
    if (!keep(maker, place, position, &rotated)) fovea_rotary_at(piece, &rotated, &maker->angles[place]);
    rotate_piece(maker, piece, &maker->angles[place], from, to);
    return;
  }
  fovea_rotary_piece at = *piece;
  const int all = piece->rotary->dims / 2 <= FOVEA_KEPT_ANGLES * FOVEA_ROTATE_PAIRS;
  const int known = all && keep(maker, 0, position, &rotated);
  if (!all) rotated = fovea_rotated_position(maker, position);
  int place = 0;
  do {
    if (!known) fovea_rotary_at(&at, &rotated, &maker->angles[place]);
    rotate_piece(maker, &at, &maker->angles[place], from, to);
    if (all) place++;
  } while (fovea_rotary_next(&at));
}

int64_t fovea_kept_positions(const fovea_row_maker *maker) {
  if (maker->piece->count == 0) return INT64_MAX;
  return maker->piece->rotary->dims / 2 > FOVEA_ROTATE_PAIRS ? 1 : FOVEA_KEPT_ANGLES;
}

const float *fovea_make_new_rows(fovea_row_maker *maker, const void *from, int64_t from_stride, int64_t position,
                                 int64_t count, float *room, int64_t *stride) {
  const int64_t rotated = maker->piece->count > 0 ? maker->piece->rotary->dims : 0;
  *stride = from_stride;
  if (rotated == 0 && maker->hadamard == 0 && maker->type == FOVEA_F32) return from;
  *stride = (maker->dim + 15) / 16 * 16;
  const fovea_widen_args args = {.rows = fovea_element(from, maker->type, rotated),
                                 .type = maker->type,
                                 .row_stride = from_stride,
                                 .row_count = count,
                                 .dim = maker->dim - rotated,
                                 .to = room + rotated,
                                 .to_stride = *stride};
  if (rotated < maker->dim) maker->kernels->widen(&args);
  for (int64_t row = 0; row < count; row++) {
    float *to = room + row * *stride;
    if (rotated > 0) rotate(maker, position + row, fovea_element(from, maker->type, row * from_stride), to);
    const fovea_hadamard_args hadamard = {to, maker->dim, maker->hadamard};
    if (maker->hadamard > 0) maker->kernels->hadamard(&hadamard);
  }
  return room;
}
