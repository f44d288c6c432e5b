/* Attention over segments whose keys and values have formats, of any descriptors, with codes and scales anywhere in
 * one memory. A descriptor without meaning is refused; else no byte is read that the header does not name, and
 * attention has the bits of attention over f32 tensors that hold the numbers. Pages with formats make such
 * segments. */
#include "arch/codes.h"
#include "arena.h"
#include "expect.h"
#include "formats/narrow.h"
#include "support/execution.h"
#include "support/problems.h"
#include "support/trial.h"
#include "wild.h"

enum { SEGMENTS = 4, ROWS_LIMIT = 40, SIDES = 2 * SEGMENTS, PAGES = 3 };

#define FIELD(kind, type, name)                                                                                    \
  { FIELD_##kind, offsetof(type, name) }
static const struct field format_fields[] = {
    FIELD(INTEGER, fovea_format, code),  FIELD(INTEGER, fovea_format, formula),
    FIELD(INTEGER, fovea_format, place), FIELD(INTEGER, fovea_format, scale_type),
    FIELD(LONG, fovea_format, group),    FIELD(LONG, fovea_format, key_group),
    FIELD(INTEGER, fovea_format, bias),  FIELD(INTEGER, fovea_format, sums),
    FIELD(INTEGER, fovea_format, order), FIELD(LONG, fovea_format, order_keys),
};
static const struct field page_fields[] = {
    FIELD(LONG, fovea_pages, count),         FIELD(LONG, fovea_pages, page_rows),
    FIELD(LONG, fovea_pages, kv_heads),      FIELD(LONG, fovea_pages, qk_dim),
    FIELD(LONG, fovea_pages, v_dim),         FIELD(INTEGER, fovea_pages, k_type),
    FIELD(INTEGER, fovea_pages, k_layout),   FIELD(LONG, fovea_pages, k_strides.batch),
    FIELD(LONG, fovea_pages, v_strides.row), FIELD(LONG, fovea_pages, k_layer),
    FIELD(LONG, fovea_pages, layers),        FIELD(LONG, fovea_pages, k_scale_page),
    FIELD(LONG, fovea_pages, v_scale_page),  FIELD(LONG, fovea_pages, k_scales.row),
    FIELD(LONG, fovea_pages, v_scales.head), FIELD(LONG, fovea_pages, v_scales.group),
};
enum {
  FORMAT_FIELDS = sizeof format_fields / sizeof format_fields[0],
  PAGE_FIELDS = sizeof page_fields / sizeof page_fields[0]
};

struct scene {
  struct arena arena;
  struct bytes *bytes;
  int64_t kv_heads, dim[2];
  struct narrow sides[SIDES]; /* keys and values of each segment */
  fovea_segment segments[SEGMENTS];
  int64_t count;
  int refused; /* something has no meaning */
};

static const int8_t table[16] = {-128, -90, -60, -40, -20, -9, -3, 0, 1, 5, 13, 30, 50, 70, 101, 127};

static void take_format(struct scene *scene, fovea_format *format, int64_t dim) {
  static const int64_t key_groups[] = {1, 1, 1, 0, 2, 3, 8, 16};
  struct bytes *bytes = scene->bytes;
  const int64_t choice = bytes_below(bytes, 2 * NARROW_FORMATS);
  EXPECT(fovea_format_init(format, (fovea_format_name)(choice % NARROW_FORMATS), NULL) == FOVEA_OK);
  if (choice >= NARROW_FORMATS) {
    format->code = (fovea_code)bytes_below(bytes, FOVEA_CODE_COUNT);
    format->formula = (fovea_formula)bytes_below(bytes, 3);
    format->place = (fovea_scale_place)bytes_below(bytes, 3);
    format->scale_type = (fovea_type)bytes_below(bytes, 3);
    format->group = bytes_below(bytes, dim + 1);
    format->key_group = key_groups[bytes_below(bytes, 8)];
    format->bias = bytes_one_in(bytes, 3) ? (int)bytes_below(bytes, 140) : 0;
    format->table = bytes_one_in(bytes, 4) ? table : NULL;
    format->sums = bytes_one_in(bytes, 8);
    if (bytes_one_in(bytes, 4)) {
      format->order = (fovea_code_order)bytes_below(bytes, 4);
      format->order_keys = bytes_below(bytes, 40);
    }
  }
  if (bytes_one_in(bytes, 8)) wild_edit(format, format_fields, FORMAT_FIELDS, bytes);
}

/* Gives axes strides in any order and direction, with gaps, or none, and finds memory for the bytes. */
static unsigned char *lay_out(struct scene *scene, int axes, const int64_t *extent, int64_t bytes,
                              int64_t *stride) {
  const int64_t choice = bytes_below(scene->bytes, 64);
  int64_t size = bytes, lowest = 0;
  for (int i = 0; i < axes; i++) {
    const int axis = choice & 1 ? i : axes - 1 - i;
    int64_t step = size + (choice & 2 ? choice % 5 : 0);
    if (choice > 60) step = bytes_below(scene->bytes, bytes + 2); /* elements share memory: they are only read */
    const int64_t reach = step * (extent[axis] - 1);
    stride[axis] = choice & 4 ? -step : step;
    if (stride[axis] < 0) lowest += reach;
    size += reach;
    if (size > ARENA_BYTES) return NULL;
  }
  const int64_t place = arena_place(&scene->arena, size, scene->bytes);
  return place < 0 ? NULL : scene->arena.memory + place + lowest;
}

/* Memory for zeros with the strides of scales; the memory of the scales if there is no other. */
static void *lay_out_again(struct scene *scene, const int64_t extent[3], const int64_t stride[3], void *scales) {
  int64_t lowest = 0, size = 4;
  for (int axis = 0; axis < 3; axis++) {
    const int64_t reach = (extent[axis] - 1) * stride[axis];
    if (reach < 0) lowest -= reach;
    size += reach < 0 ? -reach : reach;
  }
  const int64_t place = size > ARENA_BYTES ? -1 : arena_place(&scene->arena, size, scene->bytes);
  return place < 0 ? scales : scene->arena.memory + place + lowest;
}

static void take_scales(struct scene *scene, const struct narrow *side, int64_t rows, fovea_code_scales *scales) {
  const fovea_format *f = &side->format;
  const int64_t keys = f->key_group == 0 ? 1 : (rows - 1) / f->key_group + 1;
  const int64_t extent[3] = {scene->kv_heads, keys, f->group == 0 ? 1 : side->dim / f->group};
  int64_t stride[3];
  scales->scales = lay_out(scene, 3, extent, f->scale_type == FOVEA_F32 ? 4 : 2, stride);
  if (scales->scales == NULL) return;
  scales->head = stride[0];
  scales->row = stride[1];
  scales->group = stride[2];
  /* Zeros have the same strides: often they lie beside the scales, else anywhere. */
  if (f->formula != FOVEA_FORMULA_SCALE) scales->zeros = lay_out_again(scene, extent, stride, scales->scales);
}

static void take_centre(struct scene *scene, const struct narrow *side, fovea_code_scales *scales) {
  if (side->format.formula != FOVEA_FORMULA_SCALE || side->format.table || !bytes_one_in(scene->bytes, 4)) return;
  const int64_t place = arena_place(&scene->arena, scene->kv_heads * side->dim * 4, scene->bytes);
  if (place < 0) return;
  scales->centre = (const float *)(const void *)(scene->arena.memory + place / 4 * 4);
  scales->centre_head = side->dim * 4;
}

/* Something that is missing, or set and not used, or too far away. */
static void spoil(struct scene *scene, fovea_segment *segment, int values) {
  static const int64_t far[] = {INT64_MIN, INT64_MAX, (INT64_C(1) << 57) + 1, -(INT64_C(1) << 58)};
  fovea_code_scales *scales = values ? &segment->v_scales : &segment->k_scales;
  const int64_t distance = far[bytes_below(scene->bytes, 4)];
  scene->refused = 1;
  switch (bytes_below(scene->bytes, 6)) {
  case 0:
    *(values ? &segment->v : &segment->k) = NULL;
    return;
  case 1:
    *(values ? &segment->v_type : &segment->k_type) = FOVEA_BF16;
    return;
  case 2: /* needed with scales apart, else not used */
    scales->scales = scales->scales == NULL ? scene->arena.memory : NULL;
    return;
  case 3:
    scales->centre = (const float *)(const void *)(scene->arena.memory + 1);
    return;
  case 4:
    segment->layers = 2;
    *(values ? &segment->v_layer : &segment->k_layer) = distance;
    return;
  default:
    segment->k_layout = (fovea_key_layout)2;
  }
}

static void take_side(struct scene *scene, int64_t number, int values) {
  fovea_segment *segment = &scene->segments[number];
  struct narrow *side = &scene->sides[2 * number + values];
  fovea_error error;
  take_format(scene, &side->format, scene->dim[values]);
  side->dim = scene->dim[values];
  side->kv_heads = scene->kv_heads;
  *(values ? &segment->v_format : &segment->k_format) = &side->format;
  const int64_t bytes = fovea_format_bytes(&side->format, side->dim, &error);
  if (bytes == 0) {
    expect_failure(error.status, &error);
    scene->refused = 1;
    *(values ? &segment->v : &segment->k) = scene->arena.memory;
    return;
  }
  EXPECT(bytes == narrow_row_bytes(side, 0));
  const int64_t panel = fovea_format_panel_bytes(&side->format, side->dim, NULL);
  const int panels = !values && panel > 0 && segment->first % 16 == 0 && bytes_one_in(scene->bytes, 2);
  EXPECT(panel == 0 || panel == narrow_row_bytes(side, 1));
  if (panels) segment->k_layout = FOVEA_KEYS_IN_PANELS;
  const int64_t extent[2] = {scene->kv_heads, (segment->rows - 1) / narrow_row_keys(side, panels) + 1};
  int64_t stride[2];
  unsigned char *codes = lay_out(scene, 2, extent, panels ? panel : bytes, stride);
  fovea_code_scales *scales = values ? &segment->v_scales : &segment->k_scales;
  *(values ? &segment->v : &segment->k) = codes;
  *(values ? &segment->v_head : &segment->k_head) = stride[0];
  *(values ? &segment->v_row : &segment->k_row) = stride[1];
  if (side->format.place == FOVEA_SCALES_APART) take_scales(scene, side, segment->rows, scales);
  take_centre(scene, side, scales);
  scene->refused |= codes == NULL || (side->format.place == FOVEA_SCALES_APART && scales->scales == NULL);
  if (bytes_one_in(scene->bytes, 32)) spoil(scene, segment, values);
}

/* Marks what the header names: whole rows, words or groups of keys, and the scales of each. */
static void mark_side(struct scene *scene, int64_t number, int values) {
  const fovea_segment *segment = &scene->segments[number];
  const struct narrow *side = &scene->sides[2 * number + values];
  const fovea_code_scales *scales = values ? &segment->v_scales : &segment->k_scales;
  const int64_t head_step = values ? segment->v_head : segment->k_head;
  const int64_t row_step = values ? segment->v_row : segment->k_row;
  const int64_t size = side->format.scale_type == FOVEA_F32 ? 4 : 2;
  const int panels = !values && segment->k_layout == FOVEA_KEYS_IN_PANELS;
  for (int64_t head = 0; head < scene->kv_heads; head++)
    for (int64_t row = 0; row < segment->rows; row++) {
      const unsigned char *first = (const unsigned char *)(values ? segment->v : segment->k);
      arena_mark(&scene->arena,
                 (uintptr_t)(first + head * head_step + row / narrow_row_keys(side, panels) * row_step),
                 narrow_row_bytes(side, panels), ARENA_READ);
      for (int64_t d = 0; d < side->dim && scales->scales; d++)
        for (int which = 0; which < (scales->zeros ? 2 : 1); which++)
          arena_mark(&scene->arena, (uintptr_t)narrow_number(side, segment, values, head, row, d, which), size,
                     ARENA_READ);
    }
  if (scales->centre != NULL)
    arena_mark(&scene->arena, (uintptr_t)scales->centre, scene->kv_heads * side->dim * 4, ARENA_READ);
  EXPECT(!scene->arena.outside);
}

static void *allocate(int64_t count, size_t size) {
  void *memory = malloc((size_t)count * size);
  if (memory == NULL) abort();
  memset(memory, 0xff, (size_t)count * size);
  return memory;
}

static float *gathered(const struct scene *scene, int values, int64_t keys) {
  const int64_t dim = scene->dim[values];
  float *tensor = allocate(scene->kv_heads * keys * dim, sizeof *tensor);
  for (int64_t i = 0; i < scene->count; i++)
    for (int64_t head = 0; head < scene->kv_heads; head++)
      for (int64_t row = 0; row < scene->segments[i].rows; row++)
        for (int64_t d = 0; d < dim; d++)
          tensor[(head * keys + scene->segments[i].first + row) * dim + d] =
              narrow_element(&scene->sides[2 * i + values], &scene->segments[i], values, head, row, d);
  return tensor;
}

static const char *any_isa(struct bytes *bytes) {
  const char *const *names = usable_isas();
  int64_t count = 0;
  while (names[count] != NULL) count++;
  return count > 0 ? names[bytes_below(bytes, count)] : NULL;
}

static int untouched(const float *numbers, int64_t count) {
  for (int64_t i = 0; i < count * 4; i++)
    if (((const unsigned char *)numbers)[i] != 0xff) return 0;
  return 1;
}

/* Without one of the segments, but the last: the bits of a mask that hides its keys. The tensors are `numbers` and
 * `rows` numbers of O and LSE. */
static void attend_without_one(struct scene *scene, fovea_problem problem, const char *isa, const float *q,
                               const float *k, const float *v, int64_t numbers, int64_t rows) {
  const int64_t gone = bytes_below(scene->bytes, scene->count - 1);
  const fovea_segment *hole = &scene->segments[gone];
  fovea_segment left[SEGMENTS];
  fovea_tensors tensors;
  fovea_error error;
  int64_t count = 0;
  float *o = allocate(2 * numbers, sizeof *o), *lse = allocate(2 * rows, sizeof *lse);
  unsigned char *mask = allocate(problem.kv_len, 1);
  for (int64_t i = 0; i < scene->count; i++)
    if (i != gone) left[count++] = scene->segments[i];
  for (int64_t p = 0; p < problem.kv_len; p++) mask[p] = p < hole->first || p >= hole->first + hole->rows;
  const fovea_sequence sequence = fovea_sequence_of(left, count);
  problem.cache.segmented = problem.cache.holes = 1;
  fovea_tensors_init(&tensors, q, NULL, NULL, o, lse);
  tensors.cache.sequences = &sequence;
  const fovea_status status = fovea_attend(&problem, &tensors, on_isa(isa), &error);
  if (status != FOVEA_OK) fprintf(stderr, "%s\n", error.text);
  EXPECT(status == FOVEA_OK);
  problem.cache.segmented = problem.cache.holes = 0;
  problem.mask.type = FOVEA_MASK_BOOL;
  problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, 1, 1, 1, problem.kv_len);
  fovea_tensors_init(&tensors, q, k, v, o + numbers, lse + rows);
  tensors.mask = mask;
  EXPECT(fovea_attend(&problem, &tensors, NULL, NULL) == FOVEA_OK);
  EXPECT(memcmp(o, o + numbers, (size_t)numbers * sizeof *o) == 0);
  EXPECT(memcmp(lse, lse + rows, (size_t)rows * sizeof *lse) == 0);
  free(o);
  free(lse);
  free(mask);
}

static void attend(struct scene *scene) {
  struct bytes *bytes = scene->bytes;
  const fovea_segment *last = &scene->segments[scene->count - 1];
  const int64_t keys = last->first + last->rows, heads = scene->kv_heads * (1 + bytes_below(bytes, 3));
  const int64_t rows = 1 + bytes_below(bytes, bytes_one_in(bytes, 4) ? 24 : 3);
  const int64_t numbers = heads * rows * scene->dim[1];
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, 1, heads, scene->kv_heads, rows, keys, scene->dim[0], scene->dim[1]);
  fovea_problem_resolve(&problem, NULL);
  problem_apply(&problem, &rule_list[bytes_below(bytes, rule_count)]);
  if (bytes_one_in(bytes, 4)) problem.softcap = 1.0 + (double)bytes_below(bytes, 40);
  float *q = allocate(heads * rows * scene->dim[0], sizeof *q), *o = allocate(numbers, sizeof *o);
  float *expected = allocate(numbers, sizeof *expected), *lse = allocate(heads * rows, sizeof *lse);
  float *expected_lse = allocate(heads * rows, sizeof *lse);
  for (int64_t i = 0; i < heads * rows * scene->dim[0]; i++) q[i] = (float)(i % 17 - 8) / 8;
  const fovea_sequence sequence = fovea_sequence_of(scene->segments, scene->count);
  const char *const isa = any_isa(bytes);
  problem.cache.segmented = 1;
  fovea_tensors_init(&tensors, q, NULL, NULL, o, lse);
  tensors.cache.sequences = &sequence;
  if (scene->refused) {
    /* Refused, unless no row sees a key. */
    const fovea_status status = fovea_attend(&problem, &tensors, on_isa(isa), &error);
    if (status != FOVEA_OK) {
      expect_failure(status, &error);
      EXPECT(untouched(o, numbers) && untouched(lse, heads * rows));
    }
  } else {
    arena_forget(&scene->arena);
    for (int64_t i = 0; i < 2 * scene->count; i++) mark_side(scene, i / 2, (int)(i % 2));
    arena_close(&scene->arena);
    const fovea_status status = fovea_attend(&problem, &tensors, on_isa(isa), &error);
    arena_open(&scene->arena);
    if (status != FOVEA_OK) fprintf(stderr, "%s\n", error.text);
    EXPECT(status == FOVEA_OK);
    float *k = gathered(scene, 0, keys), *v = gathered(scene, 1, keys);
    problem.cache.segmented = 0;
    fovea_tensors_init(&tensors, q, k, v, expected, expected_lse);
    EXPECT(fovea_attend(&problem, &tensors, NULL, NULL) == FOVEA_OK);
    EXPECT(memcmp(o, expected, (size_t)numbers * sizeof *o) == 0);
    EXPECT(memcmp(lse, expected_lse, (size_t)(heads * rows) * sizeof *lse) == 0);
    if (scene->count > 1 && bytes_one_in(bytes, 2))
      attend_without_one(scene, problem, isa, q, k, v, numbers, heads * rows);
    free(k);
    free(v);
  }
  EXPECT(arena_is_as_modelled(&scene->arena));
  free(q);
  free(o);
  free(expected);
  free(lse);
  free(expected_lse);
}

static void cut(struct scene *scene) {
  int64_t first = 0;
  scene->count = 1 + bytes_below(scene->bytes, SEGMENTS);
  for (int64_t i = 0; i < scene->count; i++) {
    scene->segments[i] = (fovea_segment){.first = first, .rows = 1 + bytes_below(scene->bytes, ROWS_LIMIT)};
    first += scene->segments[i].rows;
    take_side(scene, i, 0);
    take_side(scene, i, 1);
  }
}

/* Segments of pages with formats: of the table, or of a ring. */
static void make_of_pages(struct scene *scene) {
  struct bytes *bytes = scene->bytes;
  struct narrow *sides = scene->sides;
  fovea_sequence sequence;
  fovea_pages pages;
  fovea_error error;
  fovea_pages_init(&pages, PAGES, 1 + bytes_below(bytes, ROWS_LIMIT), scene->kv_heads, scene->dim[0], scene->dim[1],
                   FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  for (int values = 0; values < 2; values++) {
    take_format(scene, &sides[values].format, scene->dim[values]);
    sides[values].dim = scene->dim[values];
    sides[values].kv_heads = scene->kv_heads;
  }
  fovea_status status = fovea_pages_set_formats(&pages, &sides[0].format, &sides[1].format, &error);
  if (status != FOVEA_OK) {
    expect_failure(status, &error);
    EXPECT(pages.k_format == NULL && pages.v_format == NULL);
    return;
  }
  const int wild = bytes_one_in(bytes, 3);
  for (int values = 0; values < 2; values++) {
    const fovea_strides *strides = values ? &pages.v_strides : &pages.k_strides;
    fovea_code_scales *scales = values ? &pages.v_scales : &pages.k_scales;
    const int64_t page = values ? pages.v_scale_page : pages.k_scale_page;
    const int64_t codes = arena_place(&scene->arena, PAGES * strides->batch, bytes);
    const int64_t apart = arena_place(&scene->arena, page > 0 ? PAGES * page : scales->layer, bytes);
    if (codes < 0 || apart < 0) return;
    *(values ? &pages.v : &pages.k) = scene->arena.memory + codes;
    if (sides[values].format.place != FOVEA_SCALES_APART) continue;
    scales->scales = scene->arena.memory + apart;
    if (sides[values].format.formula != FOVEA_FORMULA_SCALE) scales->zeros = scales->scales;
  }
  if (wild) wild_edit(&pages, page_fields, PAGE_FIELDS, bytes);
  const int64_t page_rows = pages.page_rows > 0 && pages.page_rows <= ROWS_LIMIT ? pages.page_rows : 1;
  int32_t table_of_pages[PAGES];
  for (int i = 0; i < PAGES; i++) table_of_pages[i] = (int32_t)bytes_below(bytes, PAGES);
  const int64_t end = 1 + bytes_below(bytes, PAGES * page_rows);
  if (bytes_one_in(bytes, 2))
    status = fovea_cache_paged(&pages, table_of_pages, PAGES, 0, end, scene->segments, SEGMENTS, &sequence, &error);
  else
    status = fovea_cache_ring(&pages, table_of_pages[0], 0, end < page_rows ? end : page_rows, scene->segments,
                              &sequence, &error);
  if (status != FOVEA_OK) expect_failure(status, &error);
  EXPECT(wild || status == FOVEA_OK);
  if (wild || status != FOVEA_OK) return;
  scene->count = sequence.count;
  for (int64_t i = 2; i < 2 * sequence.count; i++) sides[i] = sides[i % 2];
  attend(scene);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes bytes = {data, size};
  struct scene scene;
  memset(&scene, 0, sizeof scene);
  scene.bytes = &bytes;
  const int64_t kind = bytes_below(&bytes, 4);
  arena_create(&scene.arena, &bytes);
  scene.kv_heads = 1 + bytes_below(&bytes, 2);
  for (int values = 0; values < 2; values++)
    scene.dim[values] = bytes_one_in(&bytes, 2) ? 1 + bytes_below(&bytes, 80) : 32 * (1 + bytes_below(&bytes, 4));
  if (kind == 0) {
    make_of_pages(&scene);
  } else {
    cut(&scene);
    attend(&scene);
  }
  arena_destroy(&scene.arena);
  return 0;
}
