#include "narrow.h"

#include "codes.h"

#include "support/check.h"
#include "support/types.h"

#include <math.h>
#include <string.h>

fovea_format narrow_format(fovea_format_name name) {
  fovea_format format;
  fovea_error error;
  if (fovea_format_init(&format, name, &error) != FOVEA_OK) fail_msg("%s", error.text);
  return format;
}

void narrow_any_order(fovea_format *format, struct generator *generator) {
  format->order = (fovea_code_order)generator_below(generator, 4);
  if (format->order != FOVEA_ORDER_ROWS) format->order_keys = INT64_C(2) << generator_below(generator, 6);
}

/* ---- What lies where, by the header -------------------------------------------------------------------------- */

static int64_t number_bytes(const fovea_format *f) {
  return f->scale_type == FOVEA_F32 ? 4 : 2;
}

static int64_t group_of(const struct narrow *n) {
  return n->format.group ? n->format.group : n->dim;
}

/* Bytes of the codes of `dims` dims. */
static int64_t code_bytes(const fovea_format *f, int64_t dims) {
  const struct code code = code_of(f);
  if (code.along) return 4 * dims;
  return dims / 32 * 4 * code.upper + (dims * (code.bits - code.upper) + 7) / 8;
}

/* Bytes of what lies beside the codes that share one scale. */
static int64_t beside(const fovea_format *f) {
  return number_bytes(f) * (f->formula == FOVEA_FORMULA_SCALE ? 1 : 2) + (f->sums ? 4 : 0);
}

static int keys_share(const fovea_format *f) {
  return f->place != FOVEA_SCALES_APART && f->key_group > 1;
}

/* Keys whose codes share words. */
static int64_t word_keys(const fovea_format *f) {
  return code_of(f).along ? 32 / code_of(f).bits : 1;
}

/* Bytes of what the row stride leads from one to the next of, and the keys of it. */
static int64_t unit_bytes(const struct narrow *n) {
  const fovea_format *f = &n->format;
  const int64_t groups = n->dim / group_of(n);
  if (f->order != FOVEA_ORDER_ROWS) return f->order_keys / word_keys(f) * code_bytes(f, n->dim);
  if (f->place == FOVEA_SCALES_APART) return code_bytes(f, n->dim);
  if (keys_share(f)) return groups * beside(f) + f->key_group * code_bytes(f, n->dim);
  return groups * (beside(f) + code_bytes(f, group_of(n)));
}

static int64_t unit_keys(const struct narrow *n) {
  if (n->format.order != FOVEA_ORDER_ROWS) return n->format.order_keys;
  if (code_of(&n->format).along) return word_keys(&n->format);
  return keys_share(&n->format) ? n->format.key_group : 1;
}

static float number_at(const unsigned char *p, fovea_type type) {
  uint32_t bits;
  uint16_t half;
  if (type == FOVEA_F32) {
    memcpy(&bits, p, 4);
    return from_bits(bits);
  }
  memcpy(&half, p, 2);
  return from_bits(widened(type, half));
}

static int64_t apart_at(const struct narrow *n, const fovea_code_scales *s, int64_t head, int64_t row, int64_t d) {
  const int64_t keys = n->format.key_group == 0 ? 0 : row / n->format.key_group * s->row;
  return head * s->head + keys + d / group_of(n) * s->group;
}

unsigned char *narrow_number(const struct narrow *n, const fovea_segment *segment, int values, int64_t head,
                             int64_t row, int64_t d, int which) {
  const fovea_format *f = &n->format;
  const fovea_code_scales *s = values ? &segment->v_scales : &segment->k_scales;
  const int64_t groups = n->dim / group_of(n), group = d / group_of(n), size = number_bytes(f);
  unsigned char *unit = (unsigned char *)(values ? segment->v : segment->k) +
                        head * (values ? segment->v_head : segment->k_head) +
                        row / unit_keys(n) * (values ? segment->v_row : segment->k_row);
  if (f->place == FOVEA_SCALES_APART) {
    unsigned char *first = which ? s->zeros : s->scales;
    return first + apart_at(n, s, head, row, d);
  }
  if (keys_share(f)) {
    if (f->place == FOVEA_SCALES_AFTER) unit += f->key_group * code_bytes(f, n->dim);
    return unit + (which * groups + group) * size;
  }
  unit += group * (beside(f) + code_bytes(f, group_of(n)));
  if (f->place == FOVEA_SCALES_AFTER) unit += code_bytes(f, group_of(n));
  return unit + which * size;
}

/* The scale (0) or the zero (1) of an element. */
static float number_of(const struct narrow *n, const fovea_segment *segment, int values, int64_t head, int64_t row,
                       int64_t d, int which) {
  return number_at(narrow_number(n, segment, values, head, row, d, which), n->format.scale_type);
}

/* Whether the side lies in panels. */
static int in_panels(const fovea_segment *segment, int values) {
  return !values && segment->k_layout == FOVEA_KEYS_IN_PANELS;
}

/* Bytes of a row. */
struct bytes {
  int64_t first, end;
};

/* Those that the code of a dim lies in. Halves of a code lie apart: any of the row. */
static struct bytes bytes_of(const struct narrow *n, int64_t d, int halves) {
  const struct code code = code_of(&n->format);
  if (halves) return (struct bytes){0, code_bytes(&n->format, n->dim)};
  if (code.along) return (struct bytes){4 * d, 4 * d + 4};
  return (struct bytes){d * code.bits / 8, d * code.bits / 8 + (code.bits + 7) / 8};
}

/* Bytes of a row of a panel, one by one. */
static void row_of_panel(const fovea_segment *segment, int64_t head, int64_t row, struct bytes wanted,
                         unsigned char *bytes) {
  const unsigned char *panel =
      (const unsigned char *)segment->k + head * segment->k_head + row / 16 * segment->k_row;
  for (int64_t i = wanted.first; i < wanted.end; i++) bytes[i] = panel[i / 4 * 64 + row % 16 * 4 + i % 4];
}

/* Where byte i of a row lies in a unit whose order is another. */
static int64_t byte_at(const struct narrow *n, int64_t row, int64_t i) {
  const fovea_format *f = &n->format;
  const int64_t keys = f->order_keys, key = row % keys, size = code_of(f).bits / 8;
  if (f->order == FOVEA_ORDER_DIMS) return (i / 4 * (keys / word_keys(f)) + key / word_keys(f)) * 4 + i % 4;
  const int64_t d = i / size;
  const int64_t code = f->order == FOVEA_ORDER_DIM_PAIRS
                           ? (d / 2 * keys + key) * 2 + d % 2
                           : ((d / 16 * (keys / 2) + key / 2) * 16 + d % 16) * 2 + key % 2;
  return code * size + i % size;
}

/* The codes that the dim's code is among, and the dim's number there. */
static const unsigned char *codes_of(const struct narrow *n, const fovea_segment *segment, int values, int64_t head,
                                     int64_t row, int64_t *d) {
  static unsigned char bytes[1 << 15];
  const fovea_format *f = &n->format;
  const unsigned char *unit = (const unsigned char *)(values ? segment->v : segment->k) +
                              head * (values ? segment->v_head : segment->k_head) +
                              row / unit_keys(n) * (values ? segment->v_row : segment->k_row);
  const int64_t group = group_of(n);
  const int halves = f->code == FOVEA_CODE_U4_HALVES || f->code == FOVEA_CODE_U5_HALVES;
  const struct bytes wanted = bytes_of(n, *d, halves);
  if (in_panels(segment, values)) {
    assert_true(code_bytes(f, n->dim) <= (int64_t)sizeof bytes);
    row_of_panel(segment, head, row, wanted, bytes);
    unit = bytes;
  }
  if (f->order != FOVEA_ORDER_ROWS) {
    assert_true(code_bytes(f, n->dim) <= (int64_t)sizeof bytes);
    for (int64_t i = wanted.first; i < wanted.end; i++) bytes[i] = unit[byte_at(n, row, i)];
    unit = bytes;
  }
  if (keys_share(f)) {
    if (f->place == FOVEA_SCALES_BEFORE) unit += n->dim / group * beside(f);
    unit += row % f->key_group * code_bytes(f, n->dim);
    if (halves) unit += *d / group * code_bytes(f, group), *d %= group;
    return unit;
  }
  if (f->place == FOVEA_SCALES_APART && !halves) return unit;
  unit += *d / group * ((f->place == FOVEA_SCALES_APART ? 0 : beside(f)) + code_bytes(f, group));
  *d %= group;
  return unit + (f->place == FOVEA_SCALES_BEFORE ? beside(f) : 0);
}

static int raw_code(const struct narrow *n, const unsigned char *p, int64_t d, int64_t row) {
  const int64_t half = group_of(n) / 2;
  const int along = (int)(row % word_keys(&n->format)) * code_of(&n->format).bits;
  uint32_t word = 0;
  switch (n->format.code) {
  case FOVEA_CODE_U4:
    return d % 2 ? p[d / 2] >> 4 : p[d / 2] & 15;
  case FOVEA_CODE_U4_SWAPPED:
    return d % 2 ? p[d / 2] & 15 : p[d / 2] >> 4;
  case FOVEA_CODE_U4_HALVES:
    return d < half ? p[d] & 15 : p[d - half] >> 4;
  case FOVEA_CODE_U5_HALVES:
    for (int i = 0; i < 4; i++) word |= (uint32_t)p[i] << 8 * i;
    return (int)(word >> d & 1) << 4 | (d < 16 ? p[4 + d] & 15 : p[4 + d - 16] >> 4);
  case FOVEA_CODE_U2:
    return p[d / 4] >> d % 4 * 2 & 3;
  case FOVEA_CODE_U8_KEYS:
  case FOVEA_CODE_U4_KEYS:
  case FOVEA_CODE_U2_KEYS:
    for (int i = 0; i < 4; i++) word |= (uint32_t)p[4 * d + i] << 8 * i;
    return (int)(word >> along & ((1u << code_of(&n->format).bits) - 1));
  case FOVEA_CODE_BF16:
    return p[2 * d] | p[2 * d + 1] << 8;
  default:
    return p[d];
  }
}

/* fp8 by its definition: sign, exponent, mantissa. */
static float fp8(int code, int exponent_bits, int bias) {
  const int mantissa_bits = 7 - exponent_bits, exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1);
  const int mantissa = code & ((1 << mantissa_bits) - 1), last = (1 << exponent_bits) - 1;
  const float sign = code & 0x80 ? -1.0f : 1.0f;
  if (exponent_bits == 5 && exponent == last) return mantissa ? NAN : sign * INFINITY;
  if (exponent_bits == 4 && (code & 0x7f) == 0x7f) return NAN;
  if (exponent == 0) return sign * ldexpf((float)mantissa, 1 - bias - mantissa_bits);
  return sign * ldexpf((float)(mantissa | 1 << mantissa_bits), exponent - bias - mantissa_bits);
}

int narrow_code(const struct narrow *n, const fovea_segment *segment, int values, int64_t head, int64_t row,
                int64_t d) {
  int64_t at = d;
  const unsigned char *codes = codes_of(n, segment, values, head, row, &at);
  return raw_code(n, codes, at, row);
}

float narrow_scale(const struct narrow *n, const fovea_segment *segment, int values, int64_t head, int64_t row,
                   int64_t d, int which) {
  return number_of(n, segment, values, head, row, d, which);
}

float narrow_element(const struct narrow *n, const fovea_segment *segment, int values, int64_t head, int64_t row,
                     int64_t d) {
  const fovea_format *f = &n->format;
  const fovea_code_scales *s = values ? &segment->v_scales : &segment->k_scales;
  int64_t at = d;
  const unsigned char *codes = codes_of(n, segment, values, head, row, &at);
  const int raw = raw_code(n, codes, at, row);
  const float scale = number_of(n, segment, values, head, row, d, 0);
  float code = (float)(f->code == FOVEA_CODE_S8 ? (int8_t)raw : raw - f->bias);
  if (f->code == FOVEA_CODE_E4M3) code = fp8(raw, 4, 7);
  if (f->code == FOVEA_CODE_E5M2) code = fp8(raw, 5, 15);
  if (f->code == FOVEA_CODE_BF16) code = from_bits((uint32_t)raw << 16);
  if (f->table) code = f->table[raw];
  if (f->formula == FOVEA_FORMULA_SCALE && s->centre) {
    const float *centre = (const float *)(const void *)((const char *)s->centre + head * s->centre_head);
    return fmaf(code, scale, centre[d]);
  }
  if (f->formula == FOVEA_FORMULA_SCALE) return code * scale;
  const float zero = number_of(n, segment, values, head, row, d, 1);
  if (f->formula == FOVEA_FORMULA_MINIMUM) return fmaf(code, scale, zero);
  const float moved = code - zero;
  return moved * scale;
}

/* ---- Memory -------------------------------------------------------------------------------------------------- */

/* Strides of `count` things of `bytes` for each of `heads`, in either order and with gaps. Returns the bytes of
 * all.
 */
static int64_t lay_out(int64_t bytes, int64_t heads, int64_t count, int64_t unit, int64_t *head, int64_t *step,
                       struct generator *generator) {
  const int64_t gap = generator_below(generator, 3) * unit;
  if (generator_below(generator, 2)) {
    *step = bytes + gap;
    *head = count * *step;
  } else {
    *head = bytes + gap;
    *step = heads * *head;
  }
  return (heads - 1) * *head + (count - 1) * *step + bytes;
}

/* Any small scale, positive or negative, that f16 can hold; sometimes 0. */
static void put_number(const fovea_format *f, unsigned char *to, float number) {
  const uint32_t bits = bits_of(rounded_number(f->scale_type, number));
  const uint16_t half = f->scale_type == FOVEA_F32 ? 0 : narrowed(f->scale_type, bits);
  memcpy(to, f->scale_type == FOVEA_F32 ? (const void *)&bits : (const void *)&half, (size_t)number_bytes(f));
}

static float any_scale(struct generator *generator) {
  if (generator_below(generator, 40) == 0) return 0;
  return ldexpf(generator_uniform(generator), -(int)generator_below(generator, 6) - 3);
}

static struct guarded any_bytes(int64_t size, struct generator *generator) {
  struct guarded memory =
      guarded_create((size_t)size, generator_below(generator, 2) ? GUARD_AT_END : GUARD_AT_START);
  for (int64_t i = 0; i < size; i++) memory.data[i] = (unsigned char)generator_bits(generator);
  return memory;
}

/* Writes scales and zeros into units of codes. */
static void fill_beside(struct narrow *n, unsigned char *unit, struct generator *generator) {
  const fovea_format *f = &n->format;
  const int64_t groups = n->dim / group_of(n), size = number_bytes(f),
                step = beside(f) + code_bytes(f, group_of(n));
  const int zeros = f->formula != FOVEA_FORMULA_SCALE, after = f->place == FOVEA_SCALES_AFTER;
  for (int64_t g = 0; g < groups; g++)
    for (int which = 0; which <= zeros; which++) {
      unsigned char *to =
          keys_share(f) ? unit + (after ? f->key_group * code_bytes(f, n->dim) : 0) + (which * groups + g) * size
                        : unit + g * step + (after ? code_bytes(f, group_of(n)) : 0) + which * size;
      put_number(f, to, which ? 4 * generator_uniform(generator) : any_scale(generator));
    }
}

/* fp8 and bf16 without NaN, infinities and numbers so large that sums of theirs are infinite. */
static void fill_codes(const struct narrow *n, unsigned char *codes, int64_t size, struct generator *generator) {
  for (int64_t i = 0; i < size; i++) {
    codes[i] = (unsigned char)generator_bits(generator);
    if (n->format.code == FOVEA_CODE_E4M3 && (codes[i] & 0x7f) == 0x7f) codes[i] &= 0x80;
    if (n->format.code == FOVEA_CODE_E5M2 && (codes[i] & 0x7c) == 0x7c) codes[i] &= 0x83;
    if (n->format.code == FOVEA_CODE_BF16 && (codes[i] & 0x60) != 0x20) codes[i] &= 0xbf;
  }
}

static int64_t key_count(const fovea_format *f, int64_t rows) {
  return f->key_group == 0 ? 1 : (rows - 1) / f->key_group + 1;
}

static void fill_apart(struct narrow *n, int64_t rows, const fovea_code_scales *s, struct generator *generator) {
  const fovea_format *f = &n->format;
  const int64_t groups = n->dim / group_of(n);
  for (int64_t head = 0; head < n->kv_heads; head++)
    for (int64_t key = 0; key < key_count(f, rows); key++)
      for (int64_t g = 0; g < groups; g++) {
        const int64_t at = head * s->head + key * s->row + g * s->group;
        put_number(f, (unsigned char *)s->scales + at, any_scale(generator));
        if (s->zeros) put_number(f, (unsigned char *)s->zeros + at, 4 * generator_uniform(generator));
      }
}

int64_t narrow_row_bytes(const struct narrow *n, int panels) {
  return panels ? (unit_bytes(n) + 3) / 4 * 4 * 16 : unit_bytes(n);
}

int64_t narrow_row_keys(const struct narrow *n, int panels) {
  return panels ? 16 : unit_keys(n);
}

void narrow_fill(struct narrow *n, const fovea_segment *segment, int values, struct generator *generator) {
  const int64_t head = values ? segment->v_head : segment->k_head, row = values ? segment->v_row : segment->k_row;
  unsigned char *first = values ? segment->v : segment->k;
  const int panels = in_panels(segment, values);
  for (int64_t h = 0; h < n->kv_heads; h++)
    for (int64_t unit = 0; unit <= (segment->rows - 1) / narrow_row_keys(n, panels); unit++) {
      fill_codes(n, first + h * head + unit * row, narrow_row_bytes(n, panels), generator);
      if (n->format.place != FOVEA_SCALES_APART) fill_beside(n, first + h * head + unit * row, generator);
    }
  if (n->format.place == FOVEA_SCALES_APART)
    fill_apart(n, segment->rows, values ? &segment->v_scales : &segment->k_scales, generator);
}

/* Memory for scales and zeros apart. */
static void make_apart(struct narrow *n, int64_t rows, fovea_code_scales *s, struct generator *generator) {
  const fovea_format *f = &n->format;
  const int64_t groups = n->dim / group_of(n), size = number_bytes(f), keys = key_count(f, rows);
  s->group = size * (1 + generator_below(generator, 2));
  const int64_t total =
      lay_out((groups - 1) * s->group + size, n->kv_heads, keys, size, &s->head, &s->row, generator);
  n->scales = any_bytes(total, generator);
  s->scales = n->scales.data;
  if (f->formula != FOVEA_FORMULA_SCALE) {
    n->zeros = any_bytes(total, generator);
    s->zeros = n->zeros.data;
  }
}

void narrow_make(struct narrow *n, const fovea_format *format, int64_t kv_heads, int64_t dim, int centred,
                 fovea_segment *segment, int values, struct generator *generator) {
  *n = (struct narrow){.format = *format, .dim = dim, .kv_heads = kv_heads};
  fovea_code_scales *s = values ? &segment->v_scales : &segment->k_scales;
  int64_t *head = values ? &segment->v_head : &segment->k_head, *row = values ? &segment->v_row : &segment->k_row;
  const int panels = in_panels(segment, values);
  const int64_t units = (segment->rows - 1) / narrow_row_keys(n, panels) + 1;
  const int64_t bytes = narrow_row_bytes(n, panels);
  n->codes = any_bytes(lay_out(bytes, kv_heads, units, 1, head, row, generator), generator);
  *(values ? &segment->v : &segment->k) = n->codes.data;
  *(values ? &segment->v_format : &segment->k_format) = &n->format;
  if (format->place == FOVEA_SCALES_APART) make_apart(n, segment->rows, s, generator);
  narrow_fill(n, segment, values, generator);
  if (!centred || format->formula != FOVEA_FORMULA_SCALE || format->table) return;
  s->centre_head = dim * 4;
  n->centre = guarded_create((size_t)(kv_heads * dim * 4), GUARD_AT_END);
  s->centre = (const float *)(const void *)n->centre.data;
  for (int64_t i = 0; i < kv_heads * dim; i++) ((float *)(void *)n->centre.data)[i] = generator_uniform(generator);
}

void narrow_spoil_row(const struct narrow *n, const fovea_segment *segment, int values, int64_t row, int byte) {
  const int64_t head_step = values ? segment->v_head : segment->k_head,
                row_step = values ? segment->v_row : segment->k_row;
  const int apart = n->format.order != FOVEA_ORDER_ROWS && !code_of(&n->format).along;
  if (unit_keys(n) > 1 && !apart) return;
  for (int64_t head = 0; head < n->kv_heads; head++) {
    unsigned char *unit = (unsigned char *)(values ? segment->v : segment->k) + head * head_step;
    if (apart) {
      unit += row / unit_keys(n) * row_step;
      for (int64_t i = 0; i < code_bytes(&n->format, n->dim); i++) unit[byte_at(n, row, i)] = (unsigned char)byte;
      continue;
    }
    memset(unit + row * row_step, byte, (size_t)unit_bytes(n));
    for (int64_t d = 0; d < n->dim && n->format.key_group == 1; d++)
      for (int which = 0; which < (n->format.formula != FOVEA_FORMULA_SCALE ? 2 : 1); which++)
        memset(narrow_number(n, segment, values, head, row, d, which), byte, (size_t)number_bytes(&n->format));
  }
}

int64_t narrow_keys_together(const struct narrow *n) {
  const int64_t unit = unit_keys(n);
  return n->format.key_group > unit ? n->format.key_group : unit;
}

void narrow_destroy(struct narrow *n) {
  guarded_destroy(&n->codes);
  if (n->scales.mapping) guarded_destroy(&n->scales);
  if (n->zeros.mapping) guarded_destroy(&n->zeros);
  if (n->centre.mapping) guarded_destroy(&n->centre);
}
