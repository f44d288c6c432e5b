#include "coded.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Sizes --------------------------------------------------------------------------------------------------- */

static int refuse(fovea_error *error, const char *text) {
  snprintf(error->text, sizeof error->text, "%s", text);
  return 0;
}

/* What element() and fill_scale() know. */
static int is_known(const fovea_format *format) {
  const int known_code = format->code == FOVEA_CODE_S8 || format->code == FOVEA_CODE_E4M3 ||
                         format->code == FOVEA_CODE_U4 || format->code == FOVEA_CODE_U4_HALVES;
  const int row_scales = format->place == FOVEA_SCALES_APART && format->group == 0 && format->key_group < 2 &&
                         format->scale_type == FOVEA_F32;
  const int group_scales = format->place == FOVEA_SCALES_BEFORE && format->group > 0 && format->key_group == 1 &&
                           format->scale_type == FOVEA_F16;
  return known_code && (row_scales || group_scales) && format->formula == FOVEA_FORMULA_SCALE && !format->table;
}

/* Scales of keys, or of values, that lie apart. */
static int64_t scales_apart(const bench_workload *workload) {
  const fovea_format *format = &workload->format;
  if (format->place != FOVEA_SCALES_APART) return 0;
  return format->key_group ? workload->problem.kv_heads * workload->problem.kv_len : 1;
}

static int64_t code_bytes(const bench_workload *workload) {
  return workload->problem.kv_heads * workload->problem.kv_len * workload->code_row_bytes;
}

size_t bench_coded_bytes(bench_workload *workload, const bench_coded_pages *pages, fovea_error *error) {
  const bench_shape *shape = workload->shape;
  fovea_format *format = &workload->format;
  if (fovea_format_init(format, (fovea_format_name)fovea_format_named(shape->format), error) != FOVEA_OK) return 0;
  workload->code_row_bytes = fovea_format_bytes(format, shape->dim, error);
  if (!workload->code_row_bytes) return 0;
  if (!is_known(format)) return (size_t)refuse(error, "the benchmark makes no codes of this format");
  if (shape->cache == BENCH_PANELS &&
      fovea_format_panel_bytes(format, shape->dim, error) != FOVEA_PANEL_ROWS * workload->code_row_bytes)
    return 0;
  if (pages->count * pages->rows != shape->kv_len) return (size_t)refuse(error, "the keys do not fill pages");
  return 2 * (size_t)code_bytes(workload) + 2 * (size_t)scales_apart(workload) * sizeof(float);
}

/* ---- Places -------------------------------------------------------------------------------------------------- */

static fovea_code_scales place_scales(const bench_workload *workload, float *scales, int64_t first) {
  if (!scales_apart(workload)) return (fovea_code_scales){0};
  if (workload->format.key_group == 0) return (fovea_code_scales){.scales = scales};
  return (fovea_code_scales){.scales = scales + first, .row = (int64_t)sizeof *scales};
}

static void make_segments(bench_workload *workload, const bench_coded_pages *pages, char *memory) {
  const int64_t rows = pages->rows, heads = workload->problem.kv_heads, row = workload->code_row_bytes;
  const int in_panels = workload->shape->cache == BENCH_PANELS;
  char *values = memory + code_bytes(workload);
  float *scales = (float *)(void *)(values + code_bytes(workload));
  for (int64_t i = 0; i < pages->count; i++) {
    const int64_t first = workload->page_table[i] * heads * rows;
    fovea_segment *segment = &workload->segments[i];
    *segment = (fovea_segment){.first = i * rows,
                               .rows = rows,
                               .k = memory + first * row,
                               .v = values + first * row,
                               .k_head = rows * row,
                               .v_head = rows * row,
                               .k_row = in_panels ? FOVEA_PANEL_ROWS * row : row,
                               .v_row = row,
                               .k_layout = in_panels ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS,
                               .k_format = &workload->format,
                               .v_format = &workload->format,
                               .k_scales = place_scales(workload, scales, first),
                               .v_scales = place_scales(workload, scales + scales_apart(workload), first)};
    segment->k_scales.head = segment->v_scales.head = segment->k_scales.row * rows;
  }
  workload->sequence = fovea_sequence_of(workload->segments, pages->count);
}

size_t bench_coded_pieces(const bench_workload *workload, const fovea_segment *segment, int64_t head,
                          machine_piece *pieces) {
  size_t count = 0;
  for (int values = 0; values < 2; values++) {
    const fovea_code_scales *scales = values ? &segment->v_scales : &segment->k_scales;
    const char *codes = values ? (const char *)segment->v + head * segment->v_head
                               : (const char *)segment->k + head * segment->k_head;
    pieces[count++] = (machine_piece){codes, (size_t)(segment->rows * workload->code_row_bytes)};
    if (scales->row)
      pieces[count++] = (machine_piece){(const char *)scales->scales + head * scales->head,
                                        (size_t)(segment->rows * scales->row)};
  }
  return count;
}

/* ---- Numbers ------------------------------------------------------------------------------------------------- */

static unsigned next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 24;
}

/* One side of one kv head of a segment. */
typedef struct coded_head {
  const fovea_format *format;
  char *codes, *scales; /* scales: apart, else NULL */
  int64_t row, scale_row;
  int in_panels;
  float numbers[256]; /* of a code, without its scale */
} coded_head;

static float number_of(const fovea_format *format, int code) {
  if (format->code == FOVEA_CODE_S8) return (float)(code < 128 ? code : code - 256);
  if (format->code != FOVEA_CODE_E4M3) return (float)(code - format->bias);
  const int exponent = code >> 3 & 15, fraction = code & 7;
  const double size = ldexp(fraction + (exponent ? 8 : 0), (exponent ? exponent : 1) - 10);
  return (float)(code & 128 ? -size : size);
}

/* From 1 to 1.25 / 128 of 8 bits, / 8 of 4 bits, so that numbers are from about -1 to 1. fp8 has 1. */
static float fill_scale(const coded_head *head, char *place, uint32_t *state) {
  const int is_byte = head->format->code == FOVEA_CODE_S8, is_float = head->format->code == FOVEA_CODE_E4M3;
  const int exponent = is_byte ? -7 : is_float ? 0 : -3;
  const unsigned fraction = next_random(state);
  const float scale = ldexpf(1.0f + (float)fraction / 1024.0f, exponent);
  if (head->scales) {
    memcpy(place, &scale, sizeof scale);
  } else {
    const uint16_t half = (uint16_t)((unsigned)(exponent + 15) << 10 | fraction);
    memcpy(place, &half, sizeof half);
  }
  return scale;
}

static char *byte_of(const coded_head *head, int64_t row, int64_t byte) {
  if (!head->in_panels) return head->codes + row * head->row + byte;
  return head->codes + row / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS * head->row + byte / 4 * 4 * FOVEA_PANEL_ROWS +
         row % FOVEA_PANEL_ROWS * 4 + byte % 4;
}

/* Fills dim d of a group whose first byte of codes is `first`, and returns its code. */
static unsigned fill_code(const coded_head *head, int64_t row, int64_t first, int64_t d, int64_t group,
                          uint32_t *state) {
  const fovea_code code = head->format->code;
  unsigned made = next_random(state);
  if (code == FOVEA_CODE_E4M3) made &= 0xbf; /* below 2, and no NaN */
  if (code == FOVEA_CODE_S8 || code == FOVEA_CODE_E4M3) {
    *byte_of(head, row, first + d) = (char)made;
    return made;
  }
  const int in_halves = code == FOVEA_CODE_U4_HALVES;
  char *byte = byte_of(head, row, first + (in_halves ? d % (group / 2) : d / 2));
  const int is_high = in_halves ? d >= group / 2 : d % 2 == 1;
  made &= 15;
  *byte = (char)((unsigned char)*byte | made << (is_high ? 4 : 0)); /* memory was 0 */
  return made;
}

static void fill_row(const coded_head *head, int64_t row, float *numbers, int64_t dim, uint32_t *state) {
  const int64_t group = head->format->group ? head->format->group : dim;
  const int64_t group_bytes = head->row / (dim / group);
  for (int64_t at = 0; at < dim; at += group) {
    int64_t first = at / group * group_bytes;
    float scale;
    if (!head->scales) {
      scale = fill_scale(head, byte_of(head, row, first), state);
      first += (int64_t)sizeof(uint16_t);
    } else if (head->scale_row) {
      scale = fill_scale(head, head->scales + row * head->scale_row, state);
    } else {
      memcpy(&scale, head->scales, sizeof scale);
    }
    for (int64_t d = 0; d < group; d++)
      numbers[at + d] = head->numbers[fill_code(head, row, first, d, group, state)] * scale;
  }
}

static coded_head open_head(const bench_workload *workload, const fovea_segment *segment, int values,
                            int64_t kv_head) {
  const fovea_code_scales *scales = values ? &segment->v_scales : &segment->k_scales;
  coded_head head = {.format = &workload->format,
                     .codes = values ? (char *)segment->v + kv_head * segment->v_head
                                     : (char *)segment->k + kv_head * segment->k_head,
                     .scales = scales->scales ? (char *)scales->scales + kv_head * scales->head : NULL,
                     .row = workload->code_row_bytes,
                     .scale_row = scales->row,
                     .in_panels = !values && segment->k_layout == FOVEA_KEYS_IN_PANELS};
  for (int code = 0; code < 256; code++) head.numbers[code] = number_of(head.format, code);
  return head;
}

void bench_coded_fill(bench_workload *workload, const bench_coded_pages *pages, char *memory) {
  const int64_t dim = workload->shape->dim, keys = workload->problem.kv_len;
  uint32_t state = 6;
  make_segments(workload, pages, memory);
  for (int values = 0; values < 2; values++)
    for (int64_t i = 0; i < pages->count; i++)
      for (int64_t kv_head = 0; kv_head < workload->problem.kv_heads; kv_head++) {
        const fovea_segment *segment = &workload->segments[i];
        const coded_head head = open_head(workload, segment, values, kv_head);
        const int is_first = i == 0 && kv_head == 0;
        if (head.scales && !head.scale_row && is_first) fill_scale(&head, head.scales, &state);
        float *numbers = (values ? workload->v : workload->k) + (kv_head * keys + segment->first) * dim;
        for (int64_t row = 0; row < segment->rows; row++) fill_row(&head, row, numbers + row * dim, dim, &state);
      }
}
