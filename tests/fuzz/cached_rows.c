#include "cached_rows.h"

#include "support/types.h"

#include <string.h>

int is_type(fovea_type type) {
  return (int)type >= FOVEA_F32 && (int)type <= FOVEA_BF16;
}

static uint64_t product(int64_t a, int64_t b) {
  return (uint64_t)a * (uint64_t)b;
}

/* The address of an element, counted from the first of the row. */
static uint64_t element(const struct row *row, int64_t d) {
  int64_t place = d;
  if (row->panels && row->type == FOVEA_BF16) place = d / 2 * 2 * FOVEA_PANEL_ROWS + d % 2;
  if (row->panels && row->type != FOVEA_BF16) place = d * FOVEA_PANEL_ROWS;
  return row->first + (uint64_t)place * type_size(row->type);
}

struct row segment_row(const fovea_segment *segment, int values, int64_t head, int64_t position) {
  const int64_t index = position - segment->first;
  struct row row = {.type = values ? segment->v_type : segment->k_type};
  row.panels = !values && segment->k_layout == FOVEA_KEYS_IN_PANELS;
  uint64_t place = product(head, values ? segment->v_head : segment->k_head);
  place += product(row.panels ? index / FOVEA_PANEL_ROWS : index, values ? segment->v_row : segment->k_row);
  if (row.panels) place += (uint64_t)(index % FOVEA_PANEL_ROWS * (row.type == FOVEA_BF16 ? 2 : 1));
  row.first = (uintptr_t)(values ? segment->v : segment->k) + place * type_size(row.type);
  return row;
}

struct row tensor_row_at(const void *data, fovea_type type, fovea_strides strides, int64_t batch, int64_t head,
                         int64_t row) {
  const uint64_t place = product(batch, strides.batch) + product(head, strides.head) + product(row, strides.row);
  return (struct row){.first = (uintptr_t)data + place * type_size(type), .type = type};
}

struct row page_row(const fovea_pages *pages, int values, int64_t page, int64_t head, int64_t row) {
  const fovea_strides strides = values ? pages->v_strides : pages->k_strides;
  const fovea_type type = values ? pages->v_type : pages->k_type;
  const void *data = values ? pages->v : pages->k;
  if (values || pages->k_layout == FOVEA_KEYS_IN_ROWS) return tensor_row_at(data, type, strides, page, head, row);
  struct row key = tensor_row_at(data, type, strides, page, head, row / FOVEA_PANEL_ROWS);
  key.first += (uint64_t)(row % FOVEA_PANEL_ROWS) * (type == FOVEA_BF16 ? 2 : 1) * type_size(type);
  key.panels = 1;
  return key;
}

static int is_side(const void *pointer, fovea_type type) {
  return is_type(type) && pointer != NULL && (uintptr_t)pointer % type_size(type) == 0;
}

int are_pages(const fovea_pages *pages) {
  return pages->segment_size == sizeof(fovea_segment) && pages->count >= 1 && pages->page_rows >= 1 &&
         pages->kv_heads >= 1 && pages->qk_dim >= 1 && pages->v_dim >= 1 && is_type(pages->k_type) &&
         is_type(pages->v_type) && pages->k != NULL && pages->v != NULL &&
         (pages->k_layout == FOVEA_KEYS_IN_ROWS ||
          (pages->k_layout == FOVEA_KEYS_IN_PANELS && pages->page_rows % FOVEA_PANEL_ROWS == 0));
}

int sequence_ascends(const fovea_sequence *sequence) {
  const int64_t limit = INT64_C(1) << 48;
  int64_t next = 0;
  if (sequence->segment_size != sizeof(fovea_segment)) return 0;
  if (sequence->segments == NULL || sequence->count < 1) return 0;
  for (int64_t i = 0; i < sequence->count; i++) {
    const fovea_segment *segment = &sequence->segments[i];
    const int layout = (int)segment->k_layout;
    if (segment->first < 0 || segment->first > limit || segment->rows < 1 || segment->rows > limit) return 0;
    if (i > 0 && segment->first < next) return 0;
    if (layout != FOVEA_KEYS_IN_ROWS && layout != FOVEA_KEYS_IN_PANELS) return 0;
    if (layout == FOVEA_KEYS_IN_PANELS && segment->first % FOVEA_PANEL_ROWS != 0) return 0;
    if (!is_side(segment->k, segment->k_type) || !is_side(segment->v, segment->v_type)) return 0;
    next = segment->first + segment->rows;
  }
  return 1;
}

int sequence_reaches(const fovea_sequence *sequence, int64_t begin, int64_t end) {
  if (begin >= end) return 1;
  if (!sequence_ascends(sequence)) return 0;
  const fovea_segment *last = &sequence->segments[sequence->count - 1];
  return end <= last->first + last->rows;
}

int sequence_holds(const fovea_sequence *sequence, int64_t begin, int64_t end) {
  if (begin >= end) return 1;
  if (!sequence_reaches(sequence, begin, end) || sequence->segments[0].first > begin) return 0;
  for (int64_t i = 1; i < sequence->count; i++) {
    const fovea_segment *before = &sequence->segments[i - 1], *segment = &sequence->segments[i];
    const int64_t hole = before->first + before->rows;
    if (hole < segment->first && hole < end && segment->first > begin) return 0;
  }
  return 1;
}

int holds_position(const fovea_sequence *sequence, int64_t position) {
  for (int64_t i = 0; i < sequence->count; i++) {
    const fovea_segment *segment = &sequence->segments[i];
    if (position >= segment->first && position < segment->first + segment->rows) return 1;
  }
  return 0;
}

int sequence_fits(const fovea_sequence *sequence, const struct row_shape *shape, int64_t begin, int64_t end) {
  if (begin >= end) return 1;
  for (int64_t i = 0; i < sequence->count; i++) {
    const fovea_segment *segment = &sequence->segments[i];
    if (segment->kv_heads != 0 && segment->kv_heads != shape->kv_heads) return 0;
    if (segment->qk_dim != 0 && segment->qk_dim != shape->qk_dim) return 0;
    if (segment->v_dim != 0 && segment->v_dim != shape->v_dim) return 0;
  }
  return 1;
}

const fovea_segment *segment_of(const fovea_sequence *sequence, int64_t position) {
  int64_t i = 0;
  while (position >= sequence->segments[i].first + sequence->segments[i].rows) i++;
  return &sequence->segments[i];
}

/* In a panel of bf16 an odd last dim lies beside a zero, which is written with it. */
static int64_t written_dims(const struct row *row, int64_t dim) {
  return row->panels && row->type == FOVEA_BF16 ? (dim + 1) / 2 * 2 : dim;
}

void mark_row(struct arena *arena, const struct row *row, int64_t dim, enum arena_use use) {
  const int64_t size = (int64_t)type_size(row->type);
  if (dim > DIM_LIMIT) {
    arena->outside = 1;
    return;
  }
  if (!row->panels) {
    arena_mark(arena, row->first, dim * size, use);
    return;
  }
  for (int64_t d = 0; d < written_dims(row, dim); d++) arena_mark(arena, element(row, d), size, use);
}

/* Marks the rest of the panels in which these positions lie. */
static void mark_panels(struct arena *arena, const fovea_segment *segment, const struct row_shape *shape,
                        int64_t head, int64_t position) {
  const struct row row = segment_row(segment, 0, head, position / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS);
  const int64_t elements = FOVEA_PANEL_ROWS * written_dims(&row, shape->qk_dim);
  if (shape->qk_dim <= DIM_LIMIT) arena_mark(arena, row.first, elements * (int64_t)type_size(row.type), ARENA_READ);
}

void mark_rows(struct arena *arena, const fovea_sequence *sequence, const struct row_shape *shape, int64_t position,
               enum arena_use use) {
  const fovea_segment *segment = segment_of(sequence, position);
  for (int64_t head = 0; head < shape->kv_heads && !arena->outside; head++) {
    const struct row key = segment_row(segment, 0, head, position);
    const struct row value = segment_row(segment, 1, head, position);
    mark_row(arena, &key, shape->qk_dim, use);
    mark_row(arena, &value, shape->v_dim, use);
  }
}

void mark_sequence(struct arena *arena, const fovea_sequence *sequence, const struct row_shape *shape,
                   int64_t begin, int64_t end, enum arena_use use) {
  for (int64_t position = begin; position < end && !arena->outside; position++) {
    const fovea_segment *segment = segment_of(sequence, position);
    mark_rows(arena, sequence, shape, position, use);
    if (use != ARENA_READ || segment->k_layout != FOVEA_KEYS_IN_PANELS) continue;
    for (int64_t head = 0; head < shape->kv_heads && !arena->outside; head++)
      mark_panels(arena, segment, shape, head, position);
  }
}

void load_row(const struct arena *arena, const struct row *row, int64_t dim, float *numbers) {
  for (int64_t d = 0; d < dim; d++) {
    const unsigned char *place = arena_model(arena, element(row, d));
    uint16_t half;
    memcpy(&half, place, sizeof half);
    const uint32_t wide = row->type == FOVEA_F32 ? 0 : widened(row->type, half);
    memcpy(&numbers[d], row->type == FOVEA_F32 ? (const void *)place : &wide, sizeof numbers[d]);
  }
}

static void store(unsigned char *place, fovea_type type, float number) {
  const float whole = rounded_number(FOVEA_F32, number);
  const uint16_t half = type == FOVEA_F32 ? 0 : rounded(type, number);
  memcpy(place, type == FOVEA_F32 ? (const void *)&whole : &half, type_size(type));
}

/* Elements that keep their type and are not rotated keep their bits. */
void move_row(const struct arena *arena, const struct row *from, const struct row *to, int64_t dim,
              const float *numbers, int64_t rotated) {
  float loaded[DIM_LIMIT];
  load_row(arena, from, dim, loaded);
  for (int64_t d = 0; d < written_dims(to, dim); d++) {
    unsigned char *place = arena_model(arena, element(to, d));
    if (d >= dim)
      memset(place, 0, type_size(to->type));
    else if (d < rotated)
      store(place, to->type, numbers[d]);
    else if (from->type == to->type)
      memcpy(place, arena_model(arena, element(from, d)), type_size(to->type));
    else
      store(place, to->type, loaded[d]);
  }
}
