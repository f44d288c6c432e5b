#include "appending.h"

#include "contract_rotary.h"
#include "expect.h"
#include "support/execution.h"
#include "support/types.h"
#include "verdicts.h"

#include <math.h>

static int64_t first_of(const fovea_new_rows *rows, int64_t entry) {
  return rows->first_positions ? rows->first_positions[entry] : rows->first_position;
}

static int64_t count_of(const fovea_new_rows *rows, int64_t entry) {
  return rows->row_lens ? rows->row_lens[entry] : rows->rows;
}

static int has_sound_sizes(const fovea_new_rows *rows) {
  return rows->batch >= 1 && rows->kv_heads >= 1 && rows->rows >= 0 && rows->qk_dim >= 1 && rows->v_dim >= 1 &&
         is_type(rows->k_type) && is_type(rows->v_type) &&
         (!rows->first_positions || rows->first_position == 0); /* it would not be used */
}

static int is_element(const void *pointer, size_t size) {
  return pointer != NULL && (uintptr_t)pointer % size == 0;
}

/* What is set and would not be used is refused. */
static int has_one_source_of_angles(const fovea_rotary *rotary) {
  const int tables = rotary->cosines || rotary->sines;
  if (tables && rotary->frequencies) return 0;
  if ((tables || rotary->frequencies) && rotary->base != 10000.0) return 0;
  return tables || rotary->table_rows == 0;
}

/* Axes of 1 to 4 numbers; of one, no pair names it. */
static int has_axes(const fovea_rotary *rotary) {
  if (rotary->axes < 1 || rotary->axes > FOVEA_ROTARY_AXES) return 0;
  if (rotary->axes == 1) return rotary->pair_axes == NULL;
  for (int64_t i = 0; rotary->pair_axes && i < rotary->dims / 2; i++)
    if (rotary->pair_axes[i] >= rotary->axes) return 0;
  return rotary->pair_axes != NULL;
}

int is_sound_rotary(const fovea_rotary *rotary, int64_t dim) {
  const int64_t pairs = rotary->dims / 2;
  if ((int)rotary->layout < 0 || (int)rotary->layout > FOVEA_ROTARY_HALVES) return 0;
  if (rotary->dims < 0 || rotary->dims > dim || rotary->dims % 2 != 0) return 0;
  if (!has_one_source_of_angles(rotary) || !has_axes(rotary)) return 0;
  if (rotary->cosines || rotary->sines) {
    if (rotary->table_rows < 0 || rotary->table_stride < pairs) return 0;
    if (rotary->table_rows == 0 || pairs == 0) return rotary->cosines && rotary->sines;
    return is_element(rotary->cosines, sizeof(float)) && is_element(rotary->sines, sizeof(float));
  }
  for (int64_t i = 0; rotary->frequencies && i < pairs && i < DIM_LIMIT / 2; i++)
    if (!(fabs(rotary->frequencies[i]) <= 4294967296.0)) return 0;
  return rotary->frequencies || (rotary->base >= 1.0 && rotary->base <= 0x1.fffffffffffffp1023);
}

static int is_rotated_at(const fovea_rotary *rotary, int64_t last) {
  return last <= INT64_C(1) << 40 && (!rotary->cosines || last < rotary->table_rows);
}

/* The number that a row rotates by on one axis. */
static int64_t number_on(const fovea_new_rows *rows, int64_t axis, int64_t entry, int64_t row) {
  if (!rows->rotary_positions) return first_of(rows, entry) + row;
  return rows->rotary_positions[(axis * rows->batch + entry) * rows->rows + row];
}

static int are_rotated(const struct new_rows *call, int64_t entry, int64_t count) {
  const fovea_new_rows *rows = &call->rows;
  if (!rows->rotary_positions) return is_rotated_at(&call->rotary, first_of(rows, entry) + count - 1);
  for (int64_t row = 0; row < count; row++)
    for (int64_t axis = 0; axis < call->rotary.axes; axis++) {
      const int64_t number = number_on(rows, axis, entry, row);
      if (number < (call->rotary.cosines ? 0 : -(INT64_C(1) << 40)) || !is_rotated_at(&call->rotary, number))
        return 0;
    }
  return 1;
}

static int entry_is_sound(const struct new_rows *call, int64_t entry) {
  const int64_t first = first_of(&call->rows, entry), count = count_of(&call->rows, entry);
  if (count < 0 || count > call->rows.rows) return 0;
  if (count == 0) return 1;
  if (first < 0 || first > INT64_MAX - count || (call->rotated && !are_rotated(call, entry, count))) return 0;
  const struct row_shape shape = {call->rows.kv_heads, call->rows.qk_dim, call->rows.v_dim};
  return sequence_holds(&call->rows.sequences[entry], first, first + count) &&
         sequence_fits(&call->rows.sequences[entry], &shape, first, first + count);
}

/* Strides that say "contiguous", as they are meant. */
static fovea_strides strides_of(const fovea_new_rows *rows, int values) {
  const uint64_t row = (uint64_t)(values ? rows->v_dim : rows->qk_dim), head = (uint64_t)rows->rows * row;
  fovea_strides strides = values ? rows->v_strides : rows->k_strides;
  if (strides.batch == FOVEA_CONTIGUOUS) strides.batch = (int64_t)((uint64_t)rows->kv_heads * head);
  if (strides.head == FOVEA_CONTIGUOUS) strides.head = (int64_t)head;
  if (strides.row == FOVEA_CONTIGUOUS) strides.row = (int64_t)row;
  return strides;
}

static void mark_tensor(struct arena *arena, const fovea_new_rows *rows, int64_t entry) {
  for (int64_t head = 0; head < rows->kv_heads; head++)
    for (int64_t row = 0; row < count_of(rows, entry) && !arena->outside; row++) {
      const struct row key = tensor_row_at(rows->k, rows->k_type, strides_of(rows, 0), entry, head, row);
      const struct row value = tensor_row_at(rows->v, rows->v_type, strides_of(rows, 1), entry, head, row);
      mark_row(arena, &key, rows->qk_dim, ARENA_READ);
      mark_row(arena, &value, rows->v_dim, ARENA_READ);
    }
}

/* Tables reach from their first to their last element. */
static void mark_tables(struct arena *arena, const fovea_rotary *rotary) {
  if (!rotary->cosines || rotary->table_rows == 0) return;
  if (rotary->table_rows > ARENA_BYTES || rotary->table_stride > ARENA_BYTES) {
    arena->outside = 1;
    return;
  }
  const int64_t elements = (rotary->table_rows - 1) * rotary->table_stride + rotary->dims / 2;
  arena_mark(arena, (uintptr_t)rotary->cosines, elements * (int64_t)sizeof(float), ARENA_READ);
  arena_mark(arena, (uintptr_t)rotary->sines, elements * (int64_t)sizeof(float), ARENA_READ);
}

static int is_worth_the_time(const struct new_rows *call) {
  const fovea_new_rows *rows = &call->rows;
  if (rows->batch > call->batch || rows->kv_heads > HEADS_JUDGED) return 0;
  if (rows->qk_dim > DIM_LIMIT || rows->v_dim > DIM_LIMIT) return 0;
  return rows->row_lens || rows->rows <= ROWS_JUDGED;
}

static enum verdict judge(struct scene *scene, const struct new_rows *call) {
  const fovea_new_rows *rows = &call->rows;
  const struct row_shape shape = {rows->kv_heads, rows->qk_dim, rows->v_dim};
  arena_forget(&scene->arena);
  if (!has_sound_sizes(rows)) return VERDICT_REFUSED;
  if (call->rotated && !is_sound_rotary(&call->rotary, rows->qk_dim)) return VERDICT_REFUSED;
  if (!call->rotated && rows->rotary_positions) return VERDICT_REFUSED;
  if (!is_worth_the_time(call)) return VERDICT_ELSEWHERE;
  if (rows->rows == 0) return VERDICT_RIGHT;
  if (!is_element(rows->k, type_size(rows->k_type)) || !is_element(rows->v, type_size(rows->v_type)))
    return VERDICT_REFUSED;
  if (!rows->sequences) return VERDICT_REFUSED;
  for (int64_t b = 0; b < rows->batch; b++)
    if (!entry_is_sound(call, b)) return VERDICT_REFUSED;
  for (int64_t b = 0; b < rows->batch; b++) {
    const int64_t first = first_of(rows, b);
    if (count_of(rows, b) > ROWS_JUDGED) return VERDICT_ELSEWHERE;
    mark_tensor(&scene->arena, rows, b);
    mark_sequence(&scene->arena, &rows->sequences[b], &shape, first, first + count_of(rows, b), ARENA_WRITTEN);
  }
  if (call->rotated) mark_tables(&scene->arena, &call->rotary);
  return judge_marks(&scene->arena);
}

/* Rotates one row of keys as contract_rotary.c does. */
static void rotate(const struct scene *scene, const struct new_rows *call, const struct fraction *turns,
                   int64_t entry, int64_t row, float *numbers) {
  const fovea_rotary *rotary = &call->rotary;
  const int64_t pairs = rotary->dims / 2;
  for (int64_t i = 0; i < pairs; i++) {
    const int interleaved = rotary->layout == FOVEA_ROTARY_INTERLEAVED;
    float *x = numbers + (interleaved ? 2 * i : i), *y = interleaved ? x + 1 : x + pairs, cosine, sine;
    const int64_t position = number_on(&call->rows, rotary->pair_axes ? rotary->pair_axes[i] : 0, entry, row);
    if (rotary->cosines) {
      const int64_t place = position * rotary->table_stride + i;
      const struct row cosines = {(uintptr_t)(rotary->cosines + place), FOVEA_F32, 0};
      const struct row sines = {(uintptr_t)(rotary->sines + place), FOVEA_F32, 0};
      load_row(&scene->arena, &cosines, 1, &cosine);
      load_row(&scene->arena, &sines, 1, &sine);
    } else {
      contract_angle(turns[i], position, &cosine, &sine);
    }
    contract_rotate_pair(x, y, cosine, sine);
  }
}

static void write_to_model(const struct scene *scene, const struct new_rows *call) {
  const fovea_new_rows *rows = &call->rows;
  const fovea_rotary *rotary = call->rotated ? &call->rotary : NULL;
  struct fraction turns[DIM_LIMIT / 2];
  if (rotary && !rotary->cosines) contract_turns(rotary->base, rotary->frequencies, rotary->dims / 2, turns);
  for (int64_t b = 0; b < rows->batch && rows->rows > 0; b++)
    for (int64_t i = 0; i < count_of(rows, b); i++)
      for (int64_t head = 0; head < rows->kv_heads; head++) {
        const int64_t position = first_of(rows, b) + i;
        const fovea_segment *segment = segment_of(&rows->sequences[b], position);
        const struct row key = tensor_row_at(rows->k, rows->k_type, strides_of(rows, 0), b, head, i);
        const struct row value = tensor_row_at(rows->v, rows->v_type, strides_of(rows, 1), b, head, i);
        const struct row new_key = segment_row(segment, 0, head, position);
        const struct row new_value = segment_row(segment, 1, head, position);
        float numbers[DIM_LIMIT];
        load_row(&scene->arena, &key, rows->qk_dim, numbers);
        if (rotary) rotate(scene, call, turns, b, i, numbers);
        move_row(&scene->arena, &key, &new_key, rows->qk_dim, numbers, rotary ? rotary->dims : 0);
        move_row(&scene->arena, &value, &new_value, rows->v_dim, NULL, 0);
      }
}

void append(struct scene *scene) {
  struct new_rows call;
  fovea_error error;
  new_rows_create(&call, scene);
  const enum verdict verdict = judge(scene, &call);
  if (verdict != VERDICT_ELSEWHERE) {
    if (verdict == VERDICT_RIGHT) arena_close(&scene->arena);
    const fovea_status status =
        fovea_append(&call.rows, call.rotated ? &call.rotary : NULL, on_isa(call.isa), &error);
    arena_open(&scene->arena);
    if (verdict == VERDICT_RIGHT && status == FOVEA_OK) write_to_model(scene, &call);
    expect_verdict(scene, verdict, status, &error);
  }
  new_rows_destroy(&call);
}
