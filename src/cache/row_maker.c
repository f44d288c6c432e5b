#include "row_maker.h"

#include "../base/types.h"

void fovea_begin_rows(fovea_row_maker *maker, const fovea_rotary_piece *piece, fovea_type type, int64_t dim,
                      int64_t hadamard) {
  maker->kernels = piece->kernels;
  maker->piece = piece;
  maker->type = type;
  maker->dim = dim;
  maker->hadamard = hadamard;
  for (int i = 0; i < FOVEA_KEPT_ANGLES; i++) maker->kept[i] = -1;
}

static void rotate_piece(const fovea_rotary_piece *piece, const fovea_rotary_angles *angles, float *row) {
  const int interleaved = piece->rotary->layout == FOVEA_ROTARY_INTERLEAVED;
  float *first = row + (interleaved ? 2 * piece->first : piece->first);
  const fovea_rotate_args args = {
      .from = first,
      .to = first,
      .partner = interleaved ? 1 : piece->rotary->dims / 2,
      .pair_count = piece->count,
      .cosines = angles->cosines,
      .sines = angles->sines,
  };
  piece->kernels->rotate(&args);
}

/* The angles of one piece are kept for several positions, those of several pieces for one. */
static void rotate(fovea_row_maker *maker, int64_t position, float *row) {
  const fovea_rotary_piece *piece = maker->piece;
  if (piece->rotary->dims / 2 <= FOVEA_ROTATE_PAIRS) {
    const int64_t place = position % FOVEA_KEPT_ANGLES;
    if (maker->kept[place] != position) fovea_rotary_at(piece, position, &maker->angles[place]);
    maker->kept[place] = position;
    rotate_piece(piece, &maker->angles[place], row);
    return;
  }
  fovea_rotary_piece at = *piece;
  const int known = maker->kept[0] == position;
  int place = 0;
  do {
    if (!known) fovea_rotary_at(&at, position, &maker->angles[place]);
    rotate_piece(&at, &maker->angles[place++], row);
  } while (fovea_rotary_next(&at));
  maker->kept[0] = position;
}

const float *fovea_make_new_row(fovea_row_maker *maker, const void *row, int64_t position, float *room) {
  const int rotated = maker->piece->count > 0;
  if (!rotated && maker->hadamard == 0 && maker->type == FOVEA_F32) return row;
  const fovea_widen_args args = {
      .rows = row, .type = maker->type, .row_count = 1, .dim = maker->dim, .to = room, .to_stride = maker->dim};
  maker->kernels->widen(&args);
  if (rotated) rotate(maker, position, room);
  if (maker->hadamard > 0) {
    const fovea_hadamard_args hadamard = {room, maker->dim, maker->hadamard};
    maker->kernels->hadamard(&hadamard);
  }
  return room;
}
