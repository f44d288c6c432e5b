#include "scene.h"

#include "support/trial.h"
#include "support/types.h"
#include "wild.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define FIELD(kind, type, name)                                                                                    \
  { FIELD_##kind, offsetof(type, name) }
#define STRIDES(type, name) FIELD(LONG, type, name.batch), FIELD(LONG, type, name.head), FIELD(LONG, type, name.row)

static const struct field page_fields[] = {
    FIELD(LONG, fovea_pages, count),     FIELD(LONG, fovea_pages, page_rows),   FIELD(LONG, fovea_pages, kv_heads),
    FIELD(LONG, fovea_pages, qk_dim),    FIELD(LONG, fovea_pages, v_dim),       FIELD(INTEGER, fovea_pages, k_type),
    FIELD(INTEGER, fovea_pages, v_type), FIELD(INTEGER, fovea_pages, k_layout), STRIDES(fovea_pages, k_strides),
    STRIDES(fovea_pages, v_strides),
};

static const struct field segment_fields[] = {
    FIELD(LONG, fovea_segment, first),       FIELD(LONG, fovea_segment, rows),
    FIELD(LONG, fovea_segment, k_head),      FIELD(LONG, fovea_segment, k_row),
    FIELD(LONG, fovea_segment, v_head),      FIELD(LONG, fovea_segment, v_row),
    FIELD(INTEGER, fovea_segment, k_type),   FIELD(INTEGER, fovea_segment, v_type),
    FIELD(INTEGER, fovea_segment, k_layout), FIELD(LONG, fovea_segment, kv_heads),
    FIELD(LONG, fovea_segment, qk_dim),      FIELD(LONG, fovea_segment, v_dim),
};

static const struct field row_fields[] = {
    FIELD(LONG, fovea_new_rows, batch),     FIELD(LONG, fovea_new_rows, kv_heads),
    FIELD(LONG, fovea_new_rows, rows),      FIELD(LONG, fovea_new_rows, qk_dim),
    FIELD(LONG, fovea_new_rows, v_dim),     FIELD(INTEGER, fovea_new_rows, k_type),
    FIELD(INTEGER, fovea_new_rows, v_type), FIELD(LONG, fovea_new_rows, first_position),
    STRIDES(fovea_new_rows, k_strides),     STRIDES(fovea_new_rows, v_strides),
};

static const struct field rotary_fields[] = {
    FIELD(INTEGER, fovea_rotary, layout),  FIELD(LONG, fovea_rotary, dims),         FIELD(REAL, fovea_rotary, base),
    FIELD(LONG, fovea_rotary, table_rows), FIELD(LONG, fovea_rotary, table_stride),
};

static void *allocate(int64_t count, size_t size) {
  void *memory = malloc(count > 0 ? (size_t)count * size : 1);
  if (memory == NULL) abort();
  return memory;
}

/* Sets strides with axes in any order and direction and gaps between them, and finds memory; now and then elements
 * share memory. Returns NULL if there is no room. */
static void *lay_out(struct scene *scene, const int64_t extent[3], int64_t dim, fovea_type type,
                     int64_t stride[3]) {
  static const int orders[6][3] = {{2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {0, 1, 2}};
  const int64_t choice = bytes_below(scene->bytes, 128), size = (int64_t)type_size(type);
  int64_t elements = dim, lowest = 0;
  for (int i = 0; i < 3; i++) {
    const int axis = orders[choice % 6][i];
    int64_t step = elements;
    if (choice > 40) step += choice % 7 == 0 ? choice % 5 : 0;
    if (choice > 124) step = bytes_below(scene->bytes, dim + 1), scene->wild = 1; /* pages may be refused */
    const int64_t reach = step * (extent[axis] > 1 ? extent[axis] - 1 : 0);
    stride[axis] = choice > 64 && (choice >> i & 4) ? -step : step;
    if (stride[axis] < 0) lowest += reach;
    elements += reach;
    if (elements > ARENA_BYTES) return NULL;
  }
  const int64_t place = arena_place(&scene->arena, elements * size, scene->bytes);
  return place < 0 ? NULL : scene->arena.memory + place / size * size + lowest * size;
}

static int64_t panel_elements(int64_t dim, fovea_type type) {
  return FOVEA_PANEL_ROWS * (type == FOVEA_BF16 ? (dim + 1) / 2 * 2 : dim);
}

static void *spoiled(struct scene *scene, void *pointer) {
  if (!scene->wild || !bytes_one_in(scene->bytes, 16)) return pointer;
  if (bytes_one_in(scene->bytes, 2)) return NULL;
  return scene->arena.memory + bytes_below(scene->bytes, 65536) % ARENA_BYTES;
}

static void create_pages(struct scene *scene) {
  struct bytes *bytes = scene->bytes;
  fovea_pages *pages = &scene->pages;
  const fovea_key_layout layout = (fovea_key_layout)bytes_below(bytes, 2);
  const int64_t count = 1 + bytes_below(bytes, 6), rows = 1 + bytes_below(bytes, 20);
  fovea_pages_init(pages, count, layout == FOVEA_KEYS_IN_PANELS ? (rows + 15) / 16 * 16 : rows,
                   scene->shape.kv_heads, scene->shape.qk_dim, scene->shape.v_dim, FOVEA_F32, layout);
  pages->k_type = (fovea_type)bytes_below(bytes, 3);
  pages->v_type = (fovea_type)bytes_below(bytes, 3);
  const int panels = layout == FOVEA_KEYS_IN_PANELS;
  const int64_t k_extent[3] = {count, pages->kv_heads, panels ? pages->page_rows / 16 : rows};
  const int64_t v_extent[3] = {count, pages->kv_heads, pages->page_rows};
  int64_t k_stride[3], v_stride[3];
  pages->k = lay_out(scene, k_extent, panels ? panel_elements(pages->qk_dim, pages->k_type) : pages->qk_dim,
                     pages->k_type, k_stride);
  pages->v = lay_out(scene, v_extent, pages->v_dim, pages->v_type, v_stride);
  scene->wild |= pages->k == NULL || pages->v == NULL;
  if (pages->k == NULL || pages->v == NULL) return;
  pages->k_strides = (fovea_strides){k_stride[0], k_stride[1], k_stride[2]};
  pages->v_strides = (fovea_strides){v_stride[0], v_stride[1], v_stride[2]};
  pages->k = spoiled(scene, pages->k);
  pages->v = spoiled(scene, pages->v);
  if (scene->wild) wild_edit(pages, page_fields, COUNT(page_fields), bytes);
  if (scene->wild && bytes_one_in(bytes, 32)) pages->segment_size = (size_t)wild_number(bytes);
}

static int64_t any_dim(struct bytes *bytes) {
  return 1 + (bytes_one_in(bytes, 8) ? bytes_below(bytes, DIM_LIMIT) : bytes_below(bytes, 24));
}

void scene_create(struct scene *scene, struct bytes *bytes) {
  memset(scene, 0, sizeof *scene);
  scene->bytes = bytes;
  scene->wild = bytes_one_in(bytes, 2);
  arena_create(&scene->arena, bytes);
  scene->shape.kv_heads = 1 + bytes_below(bytes, 3);
  scene->shape.qk_dim = any_dim(bytes);
  scene->shape.v_dim = any_dim(bytes);
  create_pages(scene);
}

void scene_destroy(struct scene *scene) {
  for (int i = 0; i < SCENE_ENTRIES; i++) free(scene->segments[i]);
  arena_destroy(&scene->arena);
}

void scene_set(struct scene *scene, int64_t entry, const fovea_segment *segments, int64_t count) {
  fovea_segment *own = allocate(count, sizeof *own);
  for (int64_t i = 0; i < count; i++) own[i] = segments[i];
  free(scene->segments[entry]);
  scene->segments[entry] = own;
  scene->sequences[entry] = fovea_sequence_of(own, count);
}

static int cut_segment(struct scene *scene, fovea_segment *segment, int64_t first) {
  struct bytes *bytes = scene->bytes;
  *segment = (fovea_segment){.first = first, .rows = 1 + bytes_below(bytes, 24)};
  segment->k_type = (fovea_type)bytes_below(bytes, 3);
  segment->v_type = (fovea_type)bytes_below(bytes, 3);
  const int panels = first % FOVEA_PANEL_ROWS == 0 && bytes_below(bytes, 3) > 0;
  if (panels) segment->k_layout = FOVEA_KEYS_IN_PANELS;
  if (bytes_below(bytes, 2)) segment->rows = (segment->rows + 15) / 16 * 16;
  const int64_t k_extent[3] = {1, scene->shape.kv_heads, panels ? (segment->rows + 15) / 16 : segment->rows};
  const int64_t v_extent[3] = {1, scene->shape.kv_heads, segment->rows};
  const int64_t k_dim = panels ? panel_elements(scene->shape.qk_dim, segment->k_type) : scene->shape.qk_dim;
  int64_t k_stride[3], v_stride[3];
  segment->k = lay_out(scene, k_extent, k_dim, segment->k_type, k_stride);
  segment->v = lay_out(scene, v_extent, scene->shape.v_dim, segment->v_type, v_stride);
  if (segment->k == NULL || segment->v == NULL) return 0;
  segment->k_head = k_stride[1], segment->k_row = k_stride[2];
  segment->v_head = v_stride[1], segment->v_row = v_stride[2];
  segment->k = spoiled(scene, segment->k);
  segment->v = spoiled(scene, segment->v);
  if (segment->rows % 2 == 0) { /* it knows its sizes */
    segment->kv_heads = scene->shape.kv_heads;
    segment->qk_dim = scene->shape.qk_dim;
    segment->v_dim = scene->shape.v_dim;
  }
  return 1;
}

void scene_cut(struct scene *scene, int64_t entry) {
  struct bytes *bytes = scene->bytes;
  fovea_segment segments[SCENE_SEGMENTS];
  int64_t first = bytes_below(bytes, 5) * 16, count = 0;
  for (int64_t wanted = bytes_below(bytes, SCENE_SEGMENTS); count < wanted; count++) {
    if (!cut_segment(scene, &segments[count], first)) break;
    first += segments[count].rows;
    if (scene->wild && bytes_one_in(bytes, 6)) first += bytes_below(bytes, 5) - 2;
  }
  for (int64_t i = 0; i < count && scene->wild; i++)
    if (bytes_one_in(bytes, 8)) wild_edit(&segments[i], segment_fields, COUNT(segment_fields), bytes);
  scene_set(scene, entry, segments, count);
  if (!scene->wild || !bytes_one_in(bytes, 16)) return;
  switch (bytes_below(bytes, 3)) {
  case 1:
    scene->sequences[entry].segments = NULL;
    return;
  case 2:
    scene->sequences[entry].segment_size = (size_t)wild_number(bytes);
    return;
  default:
    scene->sequences[entry].count -= 1 + bytes_below(bytes, 10);
  }
}

/* Rows begin to end - 1 of a segment; of panels, `begin` is the first of a panel. */
static fovea_segment piece_of(const fovea_segment *segment, int64_t begin, int64_t end) {
  const struct row key = segment_row(segment, 0, 0, begin), value = segment_row(segment, 1, 0, begin);
  fovea_segment piece = *segment;
  piece.first = begin;
  piece.rows = end - begin;
  piece.k = (void *)(uintptr_t)key.first;
  piece.v = (void *)(uintptr_t)value.first;
  return piece;
}

void scene_punch(struct scene *scene, int64_t entry) {
  struct bytes *bytes = scene->bytes;
  const fovea_sequence *sequence = &scene->sequences[entry];
  fovea_segment pieces[4 * SCENE_SEGMENTS];
  int64_t count = 0, first, last;
  if (!sequence->segments || sequence->count < 1 || sequence->count > 2 * SCENE_SEGMENTS) return;
  first = sequence->segments[0].first;
  if (!sequence_ascends(sequence)) return;
  const fovea_segment *end = &sequence->segments[sequence->count - 1];
  last = end->first + end->rows;
  if (last - first < 3 || last - first > 1024) return;
  const int64_t begin = first + bytes_below(bytes, last - first - 1);
  const int64_t resumed = begin + 1 + bytes_below(bytes, last - begin - 1);
  for (int64_t i = 0; i < sequence->count; i++) {
    const fovea_segment segment = sequence->segments[i];
    const int64_t after = segment.first + segment.rows;
    int64_t again = resumed > segment.first ? resumed : segment.first; /* where rows are held again */
    if (segment.k_layout == FOVEA_KEYS_IN_PANELS) again = (again + 15) / 16 * 16;
    if (begin >= after || resumed <= segment.first) {
      pieces[count++] = segment;
      continue;
    }
    if (begin > segment.first) pieces[count++] = piece_of(&segment, segment.first, begin);
    if (again < after) pieces[count++] = piece_of(&segment, again, after);
  }
  scene_set(scene, entry, pieces, count);
}

void scene_positions(struct scene *scene, const fovea_sequence *sequence, int64_t most, int64_t *begin,
                     int64_t *end) {
  struct bytes *bytes = scene->bytes;
  *begin = *end = 0;
  if (sequence->segments == NULL || sequence->count < 1 || sequence->segment_size != sizeof(fovea_segment)) return;
  const fovea_segment *last = &sequence->segments[sequence->count - 1];
  const int64_t first = sequence->segments[0].first;
  int64_t held = (int64_t)((uint64_t)last->first + (uint64_t)last->rows - (uint64_t)first);
  if (held < 0 || held > 1024) held = scene->wild ? 1024 : 0;
  *begin = (int64_t)((uint64_t)first + (uint64_t)bytes_below(bytes, held + 1));
  held -= (int64_t)((uint64_t)*begin - (uint64_t)first);
  const int64_t rows = bytes_below(bytes, (held < most ? held : most) + 1);
  if (scene->wild && bytes_one_in(bytes, 16)) *begin = wild_number(bytes);
  *end = (int64_t)((uint64_t)*begin + (uint64_t)rows);
}

const char *scene_isa(struct scene *scene) {
  const char *const *names = usable_isas();
  int64_t count = 0;
  while (names[count] != NULL) count++;
  const int64_t choice = bytes_below(scene->bytes, 2 * count);
  return choice < count ? names[choice] : NULL;
}

/* One of the tensors, or NULL. */
static const void *create_tensor(struct scene *scene, const fovea_new_rows *rows, int64_t dim, fovea_type type,
                                 fovea_strides *strides) {
  const int64_t extent[3] = {rows->batch, rows->kv_heads, rows->rows};
  int64_t stride[3];
  void *data = lay_out(scene, extent, dim, type, stride);
  if (data != NULL) *strides = (fovea_strides){stride[0], stride[1], stride[2]};
  return spoiled(scene, data);
}

static const float *create_table(struct scene *scene, const fovea_rotary *rotary) {
  const int64_t size = rotary->table_rows * rotary->table_stride * (int64_t)sizeof(float);
  const int64_t place = arena_place(&scene->arena, size, scene->bytes);
  return place < 0 ? NULL : spoiled(scene, scene->arena.memory + place);
}

/* Angles from a base, from frequencies or from tables. */
void rotary_create(struct new_rows *call, struct scene *scene) {
  static const double bases[] = {10000.0, 1.0, 500000.5, 1e300};
  struct bytes *bytes = scene->bytes;
  fovea_rotary *rotary = &call->rotary;
  call->rotated = bytes_below(bytes, 3) > 0;
  fovea_rotary_init(rotary, (fovea_rotary_layout)bytes_below(bytes, 2),
                    2 * bytes_below(bytes, scene->shape.qk_dim / 2 + 1));
  const int64_t pairs = rotary->dims / 2, kind = bytes_below(bytes, 4);
  rotary->table_stride = pairs;
  const double base = bases[bytes_below(bytes, 4)];
  if (kind < 2) rotary->base = base;
  call->frequencies = allocate(DIM_LIMIT / 2, sizeof(double));
  for (int64_t i = 0; i < DIM_LIMIT / 2; i++) call->frequencies[i] = 0.37 * (double)(i - 3);
  if (kind == 2) {
    rotary->frequencies = call->frequencies;
    if (scene->wild && bytes_one_in(bytes, 4)) call->frequencies[0] = (double)wild_number(bytes);
  }
  if (kind == 3) {
    rotary->table_rows = 16 + bytes_below(bytes, 200);
    rotary->table_stride = pairs + bytes_below(bytes, 3);
    rotary->cosines = create_table(scene, rotary);
    rotary->sines = create_table(scene, rotary);
  }
  if (scene->wild && bytes_one_in(bytes, 4)) wild_edit(rotary, rotary_fields, COUNT(rotary_fields), bytes);
}

/* What keys are rotated to, if not to their places, on one axis or more. Lists of exactly their size. */
static void create_positions(struct new_rows *call, struct scene *scene) {
  struct bytes *bytes = scene->bytes;
  fovea_new_rows *rows = &call->rows;
  fovea_rotary *rotary = &call->rotary;
  if (!bytes_one_in(bytes, 3) || rotary->dims < 0 || rotary->dims > DIM_LIMIT) return;
  rotary->axes = 1 + bytes_below(bytes, FOVEA_ROTARY_AXES);
  if (scene->wild && bytes_one_in(bytes, 16)) rotary->axes = wild_number(bytes);
  call->pair_axes = allocate(DIM_LIMIT / 2, 1);
  for (int64_t i = 0; i < DIM_LIMIT / 2; i++)
    call->pair_axes[i] = (unsigned char)bytes_below(bytes, FOVEA_ROTARY_AXES);
  if (rotary->axes > 1 || (scene->wild && bytes_one_in(bytes, 16))) rotary->pair_axes = call->pair_axes;
  if (rows->batch != call->batch || rows->rows < 0 || rows->rows > 24 || !bytes_one_in(bytes, 2)) return;
  const int64_t count = rows->batch * rows->rows * FOVEA_ROTARY_AXES;
  call->positions = allocate(count, sizeof *call->positions);
  for (int64_t i = 0; i < count; i++) {
    call->positions[i] = bytes_below(bytes, 256) - (rotary->cosines ? 0 : 128);
    if (scene->wild && bytes_one_in(bytes, 64)) call->positions[i] = wild_number(bytes);
  }
  rows->rotary_positions = call->positions;
}

void new_rows_create(struct new_rows *call, struct scene *scene) {
  struct bytes *bytes = scene->bytes;
  const int64_t taken = scene->arena.taken;
  memset(call, 0, sizeof *call);
  fovea_new_rows *rows = &call->rows;
  const int64_t batch = call->batch = 1 + bytes_below(bytes, SCENE_ENTRIES), most = bytes_below(bytes, 24);
  call->sequences = allocate(batch, sizeof *call->sequences);
  call->firsts = allocate(batch, sizeof *call->firsts);
  call->counts = allocate(batch, sizeof *call->counts);
  fovea_new_rows_init(rows, batch, scene->shape.kv_heads, most, scene->shape.qk_dim, scene->shape.v_dim, NULL, NULL,
                      call->sequences);
  const int64_t kv_heads = scene->shape.kv_heads, qk_dim = scene->shape.qk_dim, v_dim = scene->shape.v_dim;
  rows->k_strides = (fovea_strides){kv_heads * most * qk_dim, most * qk_dim, qk_dim};
  rows->v_strides = (fovea_strides){kv_heads * most * v_dim, most * v_dim, v_dim};
  for (int64_t b = 0; b < batch; b++) {
    int64_t end;
    call->sequences[b] = scene->sequences[bytes_one_in(bytes, 4) ? bytes_below(bytes, SCENE_ENTRIES) : b];
    scene_positions(scene, &call->sequences[b], most, &call->firsts[b], &end);
    call->counts[b] = (int64_t)((uint64_t)end - (uint64_t)call->firsts[b]);
    if (scene->wild && bytes_one_in(bytes, 16)) call->counts[b] = wild_number(bytes);
  }
  rows->first_positions = call->firsts;
  rows->row_lens = call->counts;
  if (batch == 1 && bytes_one_in(bytes, 2)) {
    rows->first_positions = NULL;
    rows->first_position = call->firsts[0];
    if (call->counts[0] >= 0 && call->counts[0] <= most) rows->rows = call->counts[0], rows->row_lens = NULL;
  }
  rows->k_type = (fovea_type)bytes_below(bytes, 3);
  rows->v_type = (fovea_type)bytes_below(bytes, 3);
  rows->k = create_tensor(scene, rows, rows->qk_dim, rows->k_type, &rows->k_strides);
  rows->v = create_tensor(scene, rows, rows->v_dim, rows->v_type, &rows->v_strides);
  rotary_create(call, scene);
  call->isa = scene_isa(scene);
  if (scene->wild && bytes_one_in(bytes, 3)) wild_edit(rows, row_fields, COUNT(row_fields), bytes);
  if (scene->wild && bytes_one_in(bytes, 32)) rows->sequences = NULL;
  create_positions(call, scene);
  scene->arena.taken = taken; /* free for others after the call */
}

void new_rows_destroy(struct new_rows *call) {
  free(call->sequences);
  free(call->firsts);
  free(call->counts);
  free(call->frequencies);
  free(call->positions);
  free(call->pair_axes);
}
