#include "rotary.h"

#include "validate_rotary.h"

#include "../../arch/float_state.h"
#include "../base/caller.h"
#include "../base/row_tasks.h"
#include "../base/types.h"
#include "../system/dispatch.h"
#include "../system/schedule.h"
#include "angle.h"

#include <string.h>

/* Sets the turns of the piece's pairs. `turn` is the turn of the pair before the piece. */
static void find_turns(fovea_rotary_piece *piece, fovea_fraction turn) {
  const fovea_rotary *rotary = piece->rotary;
  int64_t left = rotary->dims / 2 - piece->first;
  fovea_float_state caller = fovea_float_begin();
  piece->count = left < FOVEA_ROTATE_PAIRS ? (int)left : FOVEA_ROTATE_PAIRS;
  for (int i = 0; i < piece->count && !rotary->cosines; i++) {
    if (rotary->frequencies) {
      turn = fovea_angle_turn(rotary->frequencies[piece->first + i]);
    } else {
      turn = piece->first + i == 0 ? fovea_angle_turn(1.0) : fovea_fraction_multiply(turn, piece->ratio);
    }
    piece->turns[i] = turn;
  }
  fovea_float_end(caller);
}

void fovea_rotary_begin(fovea_rotary_piece *piece, const fovea_rotary *rotary, const fovea_kernels *kernels) {
  piece->rotary = rotary;
  piece->kernels = kernels;
  piece->first = 0;
  piece->ratio = (fovea_fraction){0, 0};
  if (rotary->dims > 2 && !rotary->frequencies && !rotary->cosines) {
    fovea_float_state caller = fovea_float_begin();
    piece->ratio = fovea_angle_ratio(rotary->base, rotary->dims / 2);
    fovea_float_end(caller);
  }
  find_turns(piece, piece->ratio);
}

int fovea_rotary_next(fovea_rotary_piece *piece) {
  if (piece->rotary->dims / 2 - piece->first <= FOVEA_ROTATE_PAIRS) return 0;
  piece->first += FOVEA_ROTATE_PAIRS;
  find_turns(piece, piece->turns[FOVEA_ROTATE_PAIRS - 1]);
  return 1;
}

fovea_rotary_position fovea_plain_position(int64_t position) {
  return (fovea_rotary_position){{position, position, position, position}};
}

fovea_rotary_position fovea_listed_position(const fovea_rotary *rotary, const int64_t *list, int64_t count,
                                            int64_t index) {
  fovea_rotary_position position = {{0}};
  for (int64_t axis = 0; axis < rotary->axes; axis++) position.on[axis] = list[axis * count + index];
  return position;
}

/* Sets the angles of some pairs, which rotate by the same number of a position. */
static void find_angles(const fovea_rotary_piece *piece, int begin, int end, int64_t number,
                        fovea_rotary_angles *angles) {
  const fovea_rotary *rotary = piece->rotary;
  if (rotary->cosines) {
    const int64_t first = number * rotary->table_stride + piece->first + begin;
    const size_t bytes = (size_t)(end - begin) * sizeof(float);
    memcpy(angles->cosines + begin, rotary->cosines + first, bytes);
    memcpy(angles->sines + begin, rotary->sines + first, bytes);
    return;
  }
  for (int i = begin; i < end; i++) {
    fovea_angle_at(piece->turns[i], number, &angles->cosines[i], &angles->sines[i]);
  }
}

void fovea_rotary_at(const fovea_rotary_piece *piece, const fovea_rotary_position *position,
                     fovea_rotary_angles *angles) {
  const unsigned char *axes = piece->rotary->pair_axes;
  memset(angles, 0, sizeof *angles);
  if (!axes) {
    find_angles(piece, 0, piece->count, position->on[0], angles);
    return;
  }
  for (int i = 0; i < piece->count; i++) {
    find_angles(piece, i, i + 1, position->on[axes[piece->first + i]], angles);
  }
}

void fovea_pass_on(const fovea_kernels *kernels, const void *from, fovea_type from_type, void *to,
                   fovea_type to_type, int64_t count) {
  if (count == 0 || from == to) return;
  if (from_type == to_type) {
    memcpy(to, from, (size_t)fovea_bytes(from_type, count));
    return;
  }
  const fovea_convert_args args = {from, to, from_type, to_type, count};
  kernels->convert(&args);
}

void fovea_rotary_row(const fovea_rotary_piece *piece, const fovea_rotary_angles *angles, const void *from,
                      fovea_type from_type, void *to, fovea_type to_type, int64_t dim) {
  const fovea_rotary *rotary = piece->rotary;
  const int interleaved = rotary->layout == FOVEA_ROTARY_INTERLEAVED;
  const int64_t first = interleaved ? 2 * piece->first : piece->first;
  const fovea_rotate_args args = {
      .from = fovea_element(from, from_type, first),
      .to = fovea_output_element(to, to_type, first),
      .from_type = from_type,
      .to_type = to_type,
      .partner = interleaved ? 1 : rotary->dims / 2,
      .pair_count = piece->count,
      .cosines = angles->cosines,
      .sines = angles->sines,
  };
  if (piece->count > 0) piece->kernels->rotate(&args);
  if (piece->first == 0) {
    fovea_pass_on(piece->kernels, fovea_element(from, from_type, rotary->dims), from_type,
                  fovea_output_element(to, to_type, rotary->dims), to_type, dim - rotary->dims);
  }
}

/* The position of row `row` of the batch element, whose first row is row `first` of a packed tensor. */
static fovea_rotary_position position_of(const fovea_rotary *rotary, const fovea_rotation *rotation, int64_t batch,
                                         int64_t first, int64_t row) {
  if (!rotation->positions) {
    const int64_t from = rotation->first_positions ? rotation->first_positions[batch] : rotation->first_position;
    return fovea_plain_position(from + row);
  }
  const int64_t count = rotation->cu_seqlens ? rotation->rows : rotation->batch * rotation->rows;
  const int64_t index = rotation->cu_seqlens ? first + row : batch * rotation->rows + row;
  return fovea_listed_position(rotary, rotation->positions, count, index);
}

/* Rotates the rows of all heads at one position. */
static void rotate_rows(const fovea_rotary_piece *piece, const fovea_rotation *rotation, int64_t batch,
                        int64_t first, int64_t row) {
  const fovea_strides *from = &rotation->from_strides, *to = &rotation->to_strides;
  int64_t entry = rotation->cu_seqlens ? 0 : batch; /* packed tensors have no batch axis */
  int64_t from_first = entry * from->batch + (first + row) * from->row;
  int64_t to_first = entry * to->batch + (first + row) * to->row;
  fovea_rotary_angles angles;
  const fovea_rotary_position position = position_of(piece->rotary, rotation, batch, first, row);
  fovea_rotary_at(piece, &position, &angles);
  for (int64_t head = 0; head < rotation->heads; head++) {
    fovea_rotary_row(
        piece, &angles, fovea_element(rotation->from, rotation->from_type, from_first + head * from->head),
        rotation->from_type, fovea_output_element(rotation->to, rotation->to_type, to_first + head * to->head),
        rotation->to_type, rotation->dim);
  }
}

typedef struct rotate_job {
  const fovea_rotation *rotation;
  fovea_row_batch batch;
  fovea_rotary_piece piece;
} rotate_job;

static void rotate_task(const void *data, int64_t task, int worker) {
  const rotate_job *job = data;
  const fovea_rotation *rotation = job->rotation;
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  for (fovea_row_part part = {.entry = -1}; fovea_next_part(&job->batch, task, &part);) {
    const int64_t first = rotation->cu_seqlens ? rotation->cu_seqlens[part.entry] : 0;
    for (int64_t row = part.begin; row < part.end; row++) {
      rotate_rows(&job->piece, rotation, part.entry, first, row);
    }
  }
  fovea_float_end(caller);
}

static void rotate_all(const fovea_rotary *rotary, const fovea_rotation *rotation, const fovea_kernels *kernels,
                       const fovea_execution *execution) {
  rotate_job job = {.rotation = rotation,
                    .batch = fovea_make_row_batch(rotation->batch, rotation->rows, rotation->cu_seqlens)};
  const double row_elements = (double)rotation->heads * (double)rotation->dim;
  if (rotation->rows == 0) return;
  fovea_rotary_begin(&job.piece, rotary, kernels);
  do {
    fovea_schedule_rows(rotate_task, &job, fovea_batch_tasks(&job.batch),
                        (double)fovea_batch_row_count(&job.batch) * row_elements, execution);
  } while (fovea_rotary_next(&job.piece));
}

fovea_status fovea_rotary_apply(const fovea_rotary *given, const fovea_rotation *given_rotation,
                                const fovea_execution *given_execution, fovea_error *error) {
  fovea_rotary rotary;
  fovea_rotation rotation;
  fovea_execution execution;
  const fovea_kernels *kernels;
  fovea_status status = fovea_read_rotary(given, &rotary, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (!status) status = fovea_read_rotation(given_rotation, &rotation, error);
  if (status) return status;
  fovea_float_state caller = fovea_float_begin();
  status = fovea_validate_rotation(&rotary, &rotation, error);
  if (!status) status = fovea_dispatch_wanted(execution.isa, FOVEA_F32, &kernels, error);
  fovea_float_end(caller);
  if (!status) rotate_all(&rotary, &rotation, kernels, &execution);
  return status;
}
