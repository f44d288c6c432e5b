/* Compares new rows of caches with a plain model, byte by byte: what is written, and that nothing else is. */
#include "contract_rotary.h"
#include "support/caches.h"
#include "support/check.h"
#include "support/execution.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 3, SEGMENTS = 12, PIECES = 2 * ENTRIES * SEGMENTS, DIM_LIMIT = 300 };

/* The memory of one segment's keys or values, with the bytes that it should hold before and after. */
struct piece {
  struct guarded memory;
  unsigned char *before, *after;
};

struct store {
  fovea_segment segments[ENTRIES][SEGMENTS];
  fovea_sequence sequences[ENTRIES];
  struct piece pieces[PIECES];
  int count;
};

static void *add_piece(struct store *store, int64_t elements, fovea_type type, struct generator *generator) {
  struct piece *piece = &store->pieces[store->count++];
  const size_t size = (size_t)elements * type_size(type);
  piece->memory = guarded_create(size, generator_below(generator, 2) ? GUARD_AT_END : GUARD_AT_START);
  piece->before = malloc(size);
  piece->after = malloc(size);
  if (piece->before == NULL || piece->after == NULL) abort();
  for (size_t i = 0; i < size; i++) piece->before[i] = (unsigned char)generator_bits(generator);
  memcpy(piece->after, piece->before, size);
  return piece->memory.data;
}

static void destroy_store(struct store *store) {
  for (int i = 0; i < store->count; i++) {
    guarded_destroy(&store->pieces[i].memory);
    free(store->pieces[i].before);
    free(store->pieces[i].after);
  }
}

static void restore(const struct store *store) {
  for (int i = 0; i < store->count; i++)
    memcpy(store->pieces[i].memory.data, store->pieces[i].before, store->pieces[i].memory.size);
}

static void assert_as_expected(const struct store *store, const char *isa) {
  for (int i = 0; i < store->count; i++) {
    const struct piece *piece = &store->pieces[i];
    if (memcmp(piece->memory.data, piece->after, piece->memory.size) != 0)
      fail_msg("%s: piece %d is not as expected", isa, i);
    assert_true(guarded_slack_intact(&piece->memory));
  }
}

/* The model's bytes for this address. */
static unsigned char *model_of(const struct store *store, const void *pointer) {
  for (int i = 0; i < store->count; i++) {
    const struct guarded *memory = &store->pieces[i].memory;
    const unsigned char *byte = pointer;
    if (byte >= memory->data && byte < memory->data + memory->size)
      return store->pieces[i].after + (byte - memory->data);
  }
  fail_msg("no piece has %p", pointer);
  return NULL;
}

static fovea_segment random_segment(struct store *store, int64_t first, int64_t kv_heads, int64_t qk_dim,
                                    int64_t v_dim, struct generator *generator) {
  fovea_segment segment = {.first = first,
                           .rows = 1 + generator_below(generator, 40),
                           .k_type = (fovea_type)generator_below(generator, 3),
                           .v_type = (fovea_type)generator_below(generator, 3)};
  if (first % 16 == 0 && generator_below(generator, 3)) segment.k_layout = FOVEA_KEYS_IN_PANELS;
  if (generator_below(generator, 3)) segment.rows = (segment.rows + 15) / 16 * 16;
  const int rows_first = (int)generator_below(generator, 2);
  const int64_t k_count = segment_lay_out(&segment, 0, kv_heads, qk_dim, rows_first);
  const int64_t v_count = segment_lay_out(&segment, 1, kv_heads, v_dim, rows_first);
  segment.k = add_piece(store, k_count, segment.k_type, generator);
  segment.v = add_piece(store, v_count, segment.v_type, generator);
  return segment;
}

static void random_store(struct store *store, const fovea_new_rows *rows, struct generator *generator) {
  store->count = 0;
  for (int64_t entry = 0; entry < rows->batch; entry++) {
    int64_t first = 16 * generator_below(generator, 5);
    for (int i = 0; i < SEGMENTS; i++) {
      fovea_segment *segment = &store->segments[entry][i];
      *segment = random_segment(store, first, rows->kv_heads, rows->qk_dim, rows->v_dim, generator);
      first += segment->rows;
    }
    store->sequences[entry] = fovea_sequence_of(store->segments[entry], SEGMENTS);
  }
}

static int64_t stored_position(const struct store *store, int64_t entry, int last) {
  const fovea_segment *segment = &store->segments[entry][last ? SEGMENTS - 1 : 0];
  return segment->first + (last ? segment->rows : 0);
}

/* The numbers of one source row, and the bits in which they are stored. */
static const unsigned char *source_row(const fovea_new_rows *rows, int values, int64_t entry, int64_t head,
                                       int64_t row) {
  const fovea_strides strides = values ? rows->v_strides : rows->k_strides;
  const int64_t offset = entry * strides.batch + head * strides.head + row * strides.row;
  return (const unsigned char *)(values ? rows->v : rows->k) +
         offset * (int64_t)type_size(values ? rows->v_type : rows->k_type);
}

/* The number that a pair of a row rotates by: the list's for its axis, or the row's position in the cache. */
static int64_t rotated_by(const fovea_new_rows *rows, const fovea_rotary *rotary, int64_t pair, int64_t entry,
                          int64_t row, int64_t position) {
  if (rows->rotary_positions == NULL) return position;
  const int64_t axis = rotary->pair_axes ? rotary->pair_axes[pair] : 0;
  return rows->rotary_positions[(axis * rows->batch + entry) * rows->rows + row];
}

/* Rotates the pairs of a row of numbers as contract_rotary.c does. */
static void rotate(const fovea_new_rows *rows, const fovea_rotary *rotary, int64_t entry, int64_t row,
                   int64_t place, float *numbers) {
  static struct fraction turns[DIM_LIMIT];
  const int64_t pairs = rotary->dims / 2;
  if (!rotary->cosines) contract_turns(rotary->base, rotary->frequencies, pairs, turns);
  for (int64_t i = 0; i < pairs; i++) {
    const int interleaved = rotary->layout == FOVEA_ROTARY_INTERLEAVED;
    float *x = numbers + (interleaved ? 2 * i : i), *y = interleaved ? x + 1 : x + pairs, cosine, sine;
    const int64_t position = rotated_by(rows, rotary, i, entry, row, place);
    if (rotary->cosines) {
      cosine = rotary->cosines[position * rotary->table_stride + i];
      sine = rotary->sines[position * rotary->table_stride + i];
    } else {
      contract_angle(turns[i], position, &cosine, &sine);
    }
    contract_rotate_pair(x, y, cosine, sine);
  }
}

/* The expected row in the cache. Elements that keep their type and are not rotated keep their bits. */
static void expect_row(const struct store *store, const fovea_new_rows *rows, const fovea_rotary *rotary,
                       int values, int64_t entry, int64_t head, int64_t row, int64_t position) {
  const fovea_segment *segment = store->segments[entry];
  while (position >= segment->first + segment->rows) segment++;
  const fovea_type from = values ? rows->v_type : rows->k_type, to = values ? segment->v_type : segment->k_type;
  const int64_t dim = values ? rows->v_dim : rows->qk_dim, rotated = values || !rotary ? 0 : rotary->dims;
  const unsigned char *source = source_row(rows, values, entry, head, row);
  unsigned char *to_memory = values ? segment->v : segment->k;
  float numbers[DIM_LIMIT];
  if (from == FOVEA_F32)
    memcpy(numbers, source, (size_t)dim * sizeof(float));
  else
    numbers_load(from, (const uint16_t *)(const void *)source, numbers, dim);
  if (rotated > 0) rotate(rows, rotary, entry, row, position, numbers);
  for (int64_t d = 0; d < dim; d++) {
    unsigned char *place =
        model_of(store, to_memory + segment_place(segment, values, head, position, d) * (int64_t)type_size(to));
    const float number = rounded_number(FOVEA_F32, numbers[d]);
    const uint16_t half = to == FOVEA_F32 ? 0 : rounded(to, numbers[d]);
    if (from == to && d >= rotated)
      memcpy(place, source + d * (int64_t)type_size(from), type_size(to));
    else
      memcpy(place, to == FOVEA_F32 ? (const void *)&number : &half, type_size(to));
  }
  if (!values && segment->k_layout == FOVEA_KEYS_IN_PANELS && to == FOVEA_BF16 && dim % 2 == 1)
    memset(model_of(store, to_memory + segment_place(segment, 0, head, position, dim) * 2), 0, 2);
}

static void expect(const struct store *store, const fovea_new_rows *rows, const fovea_rotary *rotary) {
  for (int64_t entry = 0; entry < rows->batch; entry++) {
    const int64_t count = rows->row_lens ? rows->row_lens[entry] : rows->rows;
    const int64_t first = rows->first_positions ? rows->first_positions[entry] : rows->first_position;
    for (int64_t row = 0; row < count; row++)
      for (int64_t head = 0; head < rows->kv_heads; head++) {
        expect_row(store, rows, rotary, 0, entry, head, row, first + row);
        expect_row(store, rows, rotary, 1, entry, head, row, first + row);
      }
  }
}

/* Any layout, and all kinds of numbers. */
static void create_source(struct tensor *tensor, fovea_type type, int64_t batch, int64_t heads, int64_t rows,
                          int64_t dim, struct generator *generator) {
  fovea_strides strides = {heads * rows * dim, rows * dim, dim};
  if (generator_below(generator, 2)) strides = fovea_strides_rows_before_heads(rows, heads, dim + 3);
  if (generator_below(generator, 3) == 0) strides.row = -strides.row;
  tensor_create_of(type, tensor, batch, heads, rows, dim, strides, GUARD_AT_END);
  tensor_fill_random(tensor, generator_bits(generator), 2.0f);
  tensor_store(tensor);
  if (rows == 0) return;
  static const uint32_t specials[] = {0x80000000, 0x7f800000, 0xff800000, 0x7fc00123,
                                      0x00000003, 0x477ff000, 0x33000001};
  for (int i = 0; i < 7; i++) {
    const int64_t row = generator_below(generator, rows), d = generator_below(generator, dim);
    unsigned char *element =
        (unsigned char *)tensor_pointer(tensor) + (row * strides.row + d) * (int64_t)type_size(type);
    const uint16_t half = type == FOVEA_F32 ? 0 : (uint16_t)(specials[i] >> 16);
    memcpy(element, type == FOVEA_F32 ? (const void *)&specials[i] : &half, type_size(type));
  }
}

static void check_append(const struct store *store, fovea_new_rows *rows, const fovea_rotary *rotary) {
  expect(store, rows, rotary);
  for (const char *const *isa = usable_isas_for(NULL); *isa != NULL; isa++) {
    fovea_error error;
    restore(store);
    if (fovea_append(rows, rotary, on_isa(*isa), &error) != FOVEA_OK) fail_msg("%s: %s", *isa, error.text);
    assert_as_expected(store, *isa);
  }
}

static void random_rotary(fovea_rotary *rotary, int64_t qk_dim, struct generator *generator) {
  static double frequencies[DIM_LIMIT];
  static float tables[2][600 * 3];
  fovea_rotary_init(rotary, generator_below(generator, 2) ? FOVEA_ROTARY_HALVES : FOVEA_ROTARY_INTERLEAVED,
                    generator_below(generator, 2) ? qk_dim / 2 * 2
                                                  : 2 * generator_below(generator, qk_dim / 2 + 1));
  rotary->table_stride = rotary->dims / 2;
  switch (generator_below(generator, 4)) {
  case 0:
    rotary->base = 500000.0;
    break;
  case 1:
    for (int64_t i = 0; i < DIM_LIMIT; i++) frequencies[i] = (double)generator_uniform(generator);
    rotary->frequencies = frequencies;
    break;
  case 2:
    if (rotary->dims > 6) break;
    for (int i = 0; i < 2 * 600 * 3; i++) tables[i / 1800][i % 1800] = generator_uniform(generator);
    rotary->cosines = tables[0];
    rotary->sines = tables[1];
    rotary->table_rows = 600;
    break;
  }
}

/* Positions other than the cache's, for each axis: everywhere, or near, or in another order. */
static void random_positions(fovea_new_rows *rows, fovea_rotary *rotary, struct generator *generator) {
  static int64_t positions[FOVEA_ROTARY_AXES * ENTRIES * 60];
  static unsigned char axes[DIM_LIMIT / 2];
  rotary->axes = 1 + generator_below(generator, FOVEA_ROTARY_AXES);
  for (int i = 0; i < DIM_LIMIT / 2; i++) axes[i] = (unsigned char)generator_below(generator, rotary->axes);
  rotary->pair_axes = rotary->axes > 1 ? axes : NULL;
  if (generator_below(generator, 4) == 0) return; /* every axis has the position in the cache */
  const int64_t range = generator_below(generator, 2) ? INT64_C(1) << 40 : 50;
  for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++) {
    positions[i] = generator_below(generator, rotary->cosines ? rotary->table_rows : 2 * range + 1);
    if (!rotary->cosines) positions[i] -= range;
  }
  rows->rotary_positions = positions;
}

static void test_random_rows(void **state) {
  (void)state;
  static const int64_t dims[] = {1, 2, 3, 6, 16, 17, 63, 64, 127, 128, 129, 200, 259};
  static struct store store;
  struct generator generator = {11};
  for (int i = 0; i < USUAL_OR_LONG(40, 400); i++) {
    struct tensor k, v;
    fovea_new_rows rows;
    fovea_rotary rotary;
    int64_t firsts[ENTRIES], counts[ENTRIES];
    const int64_t count = generator_below(&generator, 60);
    fovea_new_rows_init(&rows, 1 + generator_below(&generator, ENTRIES), 1 + generator_below(&generator, 3), count,
                        dims[generator_below(&generator, 13)], dims[generator_below(&generator, 13)], NULL, NULL,
                        store.sequences);
    rows.k_type = (fovea_type)generator_below(&generator, 3);
    rows.v_type = (fovea_type)generator_below(&generator, 3);
    create_source(&k, rows.k_type, rows.batch, rows.kv_heads, count, rows.qk_dim, &generator);
    create_source(&v, rows.v_type, rows.batch, rows.kv_heads, count, rows.v_dim, &generator);
    rows.k = tensor_pointer(&k);
    rows.v = tensor_pointer(&v);
    rows.k_strides = k.strides;
    rows.v_strides = v.strides;
    random_store(&store, &rows, &generator);
    for (int64_t entry = 0; entry < rows.batch; entry++) {
      const int64_t first = stored_position(&store, entry, 0), end = stored_position(&store, entry, 1);
      counts[entry] = generator_below(&generator, count + 1);
      if (counts[entry] > end - first) counts[entry] = end - first;
      firsts[entry] = first + generator_below(&generator, end - first - counts[entry] + 1);
    }
    rows.first_positions = firsts;
    rows.row_lens = counts;
    random_rotary(&rotary, rows.qk_dim, &generator);
    const int rotated = generator_below(&generator, 3) > 0;
    if (rotated && generator_below(&generator, 2)) random_positions(&rows, &rotary, &generator);
    check_append(&store, &rows, rotated ? &rotary : NULL);
    destroy_store(&store);
    tensor_destroy(&k);
    tensor_destroy(&v);
  }
}

/* The same position for all batch elements, all rows, and no lists. */
static void test_without_lists(void **state) {
  (void)state;
  static struct store store;
  struct generator generator = {12};
  struct tensor k, v;
  fovea_new_rows rows;
  fovea_new_rows_init(&rows, 2, 2, 9, 20, 12, NULL, NULL, store.sequences);
  create_source(&k, FOVEA_F32, 2, 2, 9, 20, &generator);
  create_source(&v, FOVEA_F32, 2, 2, 9, 12, &generator);
  rows.k = k.data;
  rows.v = v.data;
  rows.k_strides = k.strides;
  rows.v_strides = v.strides;
  random_store(&store, &rows, &generator);
  rows.first_position = 64; /* no batch element begins later */
  fovea_rotary rotary;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, 20);
  check_append(&store, &rows, &rotary);
  destroy_store(&store);
  tensor_destroy(&k);
  tensor_destroy(&v);
}

/* A copy between sequences gives what appending the same rows gives. */
static void test_copies(void **state) {
  (void)state;
  static const int64_t dims[] = {1, 3, 16, 33, 128, 129, 200, 259};
  static struct store store;
  struct generator generator = {13};
  for (int i = 0; i < USUAL_OR_LONG(40, 300); i++) {
    fovea_new_rows shape = {.batch = 2,
                            .kv_heads = 1 + generator_below(&generator, 3),
                            .qk_dim = dims[generator_below(&generator, 8)],
                            .v_dim = dims[generator_below(&generator, 8)]};
    random_store(&store, &shape, &generator);
    const int64_t first = 64, end = generator_below(&generator, 2) ? first + generator_below(&generator, 20) : 76;
    for (int s = 0; s < 2 * SEGMENTS; s++) { /* only numbers: a NaN would become quiet */
      const fovea_segment *segment = &store.segments[0][s / 2];
      struct piece *piece = &store.pieces[s];
      const fovea_type type = s % 2 ? segment->v_type : segment->k_type;
      for (size_t at = 0; at < piece->memory.size; at += type_size(type)) {
        const float number = 2.0f * generator_uniform(&generator);
        const uint16_t half = rounded(type == FOVEA_F32 ? FOVEA_F16 : type, number);
        memcpy(piece->before + at, type == FOVEA_F32 ? (const void *)&number : &half, type_size(type));
      }
      memcpy(piece->after, piece->before, piece->memory.size);
    }
    restore(&store);
    for (int64_t position = first; position < end; position++)
      for (int64_t head = 0; head < shape.kv_heads; head++)
        for (int values = 0; values < 2; values++) {
          const int64_t dim = values ? shape.v_dim : shape.qk_dim;
          const fovea_segment *from = store.segments[0], *to = store.segments[1];
          while (position >= from->first + from->rows) from++;
          while (position >= to->first + to->rows) to++;
          const fovea_type type = values ? from->v_type : from->k_type;
          const unsigned char *data = values ? from->v : from->k;
          float numbers[DIM_LIMIT];
          for (int64_t d = 0; d < dim; d++) {
            const unsigned char *element =
                data + segment_place(from, values, head, position, d) * (int64_t)type_size(type);
            if (type == FOVEA_F32)
              memcpy(&numbers[d], element, sizeof(float));
            else
              numbers_load(type, (const uint16_t *)(const void *)element, &numbers[d], 1);
          }
          fovea_segment model = *to; /* the same segment in the model's memory */
          model.k = model_of(&store, to->k);
          model.v = model_of(&store, to->v);
          segment_write(&model, values, head, position, numbers, dim);
        }
    fovea_error error;
    if (fovea_sequence_copy(&store.sequences[0], &store.sequences[1], 1, shape.kv_heads, shape.qk_dim, shape.v_dim,
                            first, end, NULL, &error) != FOVEA_OK)
      fail_msg("%s", error.text);
    assert_as_expected(&store, "copy");
    destroy_store(&store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_rows),
      cmocka_unit_test(test_without_lists),
      cmocka_unit_test(test_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
