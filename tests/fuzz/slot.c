#include "slot.h"

#include "expect.h"
#include "wild.h"

#include <stddef.h>

#define FIELD(kind, type, name)                                                                                    \
  { FIELD_##kind, offsetof(type, name) }
static const struct field state_fields[] = {
    FIELD(LONG, fovea_state, batch),         FIELD(LONG, fovea_state, heads),
    FIELD(LONG, fovea_state, rows),          FIELD(LONG, fovea_state, dim),
    FIELD(LONG, fovea_state, keys.begin),    FIELD(LONG, fovea_state, keys.end),
    FIELD(LONG, fovea_state, strides.batch), FIELD(LONG, fovea_state, strides.head),
    FIELD(LONG, fovea_state, strides.row),
};

int64_t state_numbers(const fovea_state *state) {
  const int64_t limit = INT64_C(1) << 48;
  if (state->keys.begin < 0 || state->keys.begin >= state->keys.end || state->keys.end > limit) return 0;
  int64_t first = state->keys.begin / FOVEA_SPAN_KEYS, nodes = 0;
  const int64_t end = (state->keys.end - 1) / FOVEA_SPAN_KEYS + 1;
  for (; first < end; nodes++) {
    int64_t size = 1;
    while (first % (2 * size) == 0 && first + 2 * size <= end) size *= 2;
    first += size;
  }
  return state->dim > 0 && state->dim <= 1 << 24 ? nodes * (state->dim + 2) : 0;
}

fovea_strides any_strides(struct bytes *bytes, int64_t batch, int64_t heads, int64_t rows, int64_t dim) {
  static const int orders[6][3] = {{2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {0, 1, 2}};
  const int64_t extent[3] = {batch, heads, rows}, choice = bytes_below(bytes, 128);
  int64_t stride[3], step = dim;
  for (int i = 0; i < 3; i++) {
    const int axis = orders[choice % 6][i];
    if (choice > 60) step += choice % 7;
    stride[axis] = choice % 5 == 0 ? -step : step;
    step *= extent[axis] > 0 ? extent[axis] : 1;
  }
  if (choice == 127) stride[bytes_below(bytes, 3)] = bytes_below(bytes, 8);
  return (fovea_strides){stride[0], stride[1], stride[2]};
}

void slot_edit(struct slot *slot, struct bytes *bytes) {
  wild_edit(&slot->state, state_fields, sizeof state_fields / sizeof state_fields[0], bytes);
}

void slot_lay_out(struct slot *slot) {
  const fovea_state *s = &slot->state;
  const int64_t numbers = state_numbers(s), extent[3] = {s->batch, s->heads, s->rows};
  const int64_t axes[3] = {s->strides.batch, s->strides.head, s->strides.row};
  int64_t stride[3];
  for (int axis = 0; axis < 3; axis++) stride[axis] = extent[axis] > 1 ? axes[axis] : 0;
  slot->there = 1;
  if (numbers == 0 || s->batch < 1 || s->heads < 1 || s->rows < 1 ||
      !region_create(&slot->memory, extent, stride, numbers, 32))
    memset(&slot->memory, 0, sizeof slot->memory);
  slot->state.numbers = slot->memory.data;
  region_fill_untouched(&slot->memory);
}

void slot_destroy(struct slot *slot) {
  if (slot->there) region_destroy(&slot->memory);
  memset(slot, 0, sizeof *slot);
}

void expect_region_written(const struct region *region) {
  size_t written = 0;
  for (int64_t b = 0; b < region->extent[0] && region->size > 0; b++)
    for (int64_t h = 0; h < region->extent[1]; h++)
      for (int64_t i = 0; i < region->extent[2]; i++) {
        unsigned char *row = region_row(region, b, h, i);
        const size_t element = (size_t)region->bits / 8;
        for (int64_t d = 0; d < region->dim; d++) {
          static const unsigned char untouched[4] = {UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED};
          EXPECT(memcmp(row + (size_t)d * element, untouched, element) != 0);
        }
        written += region_row_size(region);
      }
  size_t touched = 0;
  for (size_t i = 0; i < region->size; i++) touched += region->block[i] != UNTOUCHED;
  EXPECT(touched <= written);
}

void expect_same_rows(const struct region *actual, const struct region *expected) {
  for (int64_t b = 0; b < expected->extent[0] && expected->size > 0; b++)
    for (int64_t h = 0; h < expected->extent[1]; h++)
      for (int64_t i = 0; i < expected->extent[2]; i++)
        EXPECT(memcmp(region_row(actual, b, h, i), region_row(expected, b, h, i), region_row_size(expected)) == 0);
}

void slot_expect(const struct slot *slot, fovea_status status, const fovea_error *error) {
  if (status == FOVEA_OK) {
    expect_region_written(&slot->memory);
    return;
  }
  expect_failure(status, error);
  EXPECT(region_is_untouched(&slot->memory));
}
