#include "formats.h"

#include "../base/error.h"
#include "../base/validate.h"
#include "quantisers.h"

#include <stdint.h>

#if FOVEA_BUILDS_FORMATS

/* How the codes of a format lie. */
static int lies_along(const fovea_format *format) {
  return fovea_code_of(format->code).lies == FOVEA_CODES_ALONG_KEYS;
}

static int lies_in_halves(const fovea_format *format) {
  return fovea_code_of(format->code).lies == FOVEA_CODES_IN_HALVES;
}

/* Keys of a word, if codes lie along keys. */
static int keys_of_word(const fovea_format *format) {
  return 32 / fovea_code_of(format->code).bits;
}

/* Bits of a group's codes. They fill whole bytes, or the bytes of a row are counted together. */
static int64_t code_bits(const fovea_format *format, int64_t group) {
  return group * fovea_code_of(format->code).row_bits;
}

static int64_t group_of(const fovea_format *format, int64_t dim) {
  return format->group == 0 ? dim : format->group;
}

/* Whether the codes of all groups of dims follow each other, in groups so small that several are read at once. */
static int codes_are_mixed(const fovea_format *format, int64_t dim) {
  enum { SMALL = 16 };
  const int together = format->place == FOVEA_SCALES_APART || format->key_group != 1;
  return together && !lies_in_halves(format) && group_of(format, dim) < SMALL;
}

int64_t fovea_code_bytes(const fovea_format *format, int64_t group) {
  return fovea_code_of(format->code).front + (code_bits(format, group) + 7) / 8;
}

int64_t fovea_scale_bytes(const fovea_format *format) {
  return fovea_bytes(format->scale_type, 1);
}

/* ---- Checks -------------------------------------------------------------------------------------------------- */

/* A format by its place in error texts. */
typedef struct subject {
  const fovea_format *format;
  int64_t dim, entry, number;
  int values;
  fovea_error *error;
} subject;

/* `must` is a format of fovea_fail(). */
FOVEA_PRINTF(5, 6)
static fovea_status refuse(const subject *s, fovea_status status, const char *field, int64_t value,
                           const char *must, ...) {
  char text[sizeof(fovea_error)];
  va_list arguments;
  va_start(arguments, must);
  fovea_write_text(text, sizeof text, must, &arguments);
  va_end(arguments);
  if (s->entry < 0) {
    const char *of = s->entry == FOVEA_NO_ENTRY ? "format" : s->values ? "pages.v_format" : "pages.k_format";
    return fovea_fail(s->error, status, "%s.%s is %jd; it must %s", of, field, value, text);
  }
  return fovea_fail(s->error, status, "sequences[%jd].segments[%jd].%s_format.%s is %jd; it must %s", s->entry,
                    s->number, s->values ? "v" : "k", field, value, text);
}

/* Fields that name one of several things by a number. */
static fovea_status check_kinds(const subject *s) {
  const fovea_format *f = s->format;
  const struct {
    const char *field;
    int value, count;
  } kinds[] = {
      {"code", (int)f->code, FOVEA_CODE_COUNT},
      {"formula", (int)f->formula, FOVEA_FORMULA_MINIMUM + 1},
      {"place", (int)f->place, FOVEA_SCALES_AFTER + 1},
      {"scale_type", (int)f->scale_type, FOVEA_TYPES},
      {"quantiser", (int)f->quantiser, FOVEA_QUANTISE_ORT + 1},
      {"order", (int)f->order, FOVEA_ORDER_DIMS + 1},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (kinds[i].value < 0 || kinds[i].value >= kinds[i].count)
      return refuse(s, FOVEA_ERROR_ARGUMENT, kinds[i].field, kinds[i].value, "be from 0 to %jd",
                    (int64_t)kinds[i].count - 1);
  }
  if (f->sums != 0 && f->sums != 1) return refuse(s, FOVEA_ERROR_ARGUMENT, "sums", f->sums, "be 0 or 1");
  return FOVEA_OK;
}

/* Biases, tables and sums that would not be used. */
static fovea_status check_unused(const subject *s) {
  const fovea_format *f = s->format;
  const fovea_code_facts code = fovea_code_of(f->code);
  if (f->bias < 0 || f->bias > 128) return refuse(s, FOVEA_ERROR_ARGUMENT, "bias", f->bias, "be from 0 to 128");
  if (f->bias != 0 && (f->formula != FOVEA_FORMULA_SCALE || f->table || code.numbers != FOVEA_CODES_UNSIGNED))
    return refuse(s, FOVEA_ERROR_UNUSED, "bias", f->bias,
                  "be 0: only unsigned codes without a table have one, with FOVEA_FORMULA_SCALE");
  if (f->table && (code.bits != 4 || lies_along(f) || f->formula != FOVEA_FORMULA_SCALE))
    return refuse(s, FOVEA_ERROR_UNUSED, "table", 1,
                  "be NULL: only codes of 4 bits of one key have one, with FOVEA_FORMULA_SCALE");
  if (f->sums && (f->place == FOVEA_SCALES_APART || f->key_group != 1 || f->formula != FOVEA_FORMULA_SCALE ||
                  f->scale_type != FOVEA_F32))
    return refuse(s, FOVEA_ERROR_UNUSED, "sums", f->sums,
                  "be 0: sums lie after f32 scales of single keys, with FOVEA_FORMULA_SCALE");
  return FOVEA_OK;
}

static fovea_status check_groups(const subject *s) {
  const fovea_format *f = s->format;
  const int64_t group = group_of(f, s->dim);
  if (f->group < 0 || (f->group > 0 && s->dim % f->group != 0))
    return refuse(s, FOVEA_ERROR_ARGUMENT, "group", f->group, "be 0 or divide the dim");
  if (f->key_group < 0 || f->key_group > FOVEA_LENGTH_LIMIT)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "key_group", f->key_group, "be from 0 to 2^48");
  if (fovea_code_of(f->code).front && group != 32)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "group", f->group, "be 32 with codes of 5 bits");
  if (lies_in_halves(f) && group % 2 != 0)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "group", f->group, "be even with codes in halves of a group");
  if (!codes_are_mixed(f, s->dim) && group != s->dim && code_bits(f, group) % 8 != 0)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "group", f->group, "have codes that fill whole bytes");
  if (f->key_group == 0 && f->place != FOVEA_SCALES_APART)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "key_group", 0, "be 1 or more with scales beside their codes");
  if (f->key_group > 1 && f->place != FOVEA_SCALES_APART && (f->key_group > 4096 || lies_along(f)))
    return refuse(s, FOVEA_ERROR_ARGUMENT, "key_group", f->key_group,
                  "be at most 4096 with scales beside their codes, and 1 with codes along keys");
  if (lies_along(f) && f->place != FOVEA_SCALES_APART)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "place", (int)f->place, "be FOVEA_SCALES_APART with codes along keys");
  if (f->code == FOVEA_CODE_BF16 && f->formula != FOVEA_FORMULA_SCALE)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "formula", (int)f->formula, "be FOVEA_FORMULA_SCALE with bf16 codes");
  if (f->code == FOVEA_CODE_BF16 && f->key_group != 0)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "key_group", f->key_group,
                  "be 0 with bf16 codes: all keys share a scale");
  if (lies_along(f) && f->key_group != 0 && f->key_group % keys_of_word(f) != 0)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "key_group", f->key_group, "be a multiple of the keys of a word");
  return FOVEA_OK;
}

/* Orders and the codes that they know. */
static fovea_status check_order(const subject *s) {
  const fovea_format *f = s->format;
  const int dims = f->order == FOVEA_ORDER_DIMS, pairs = f->order == FOVEA_ORDER_KEY_PAIRS;
  const int64_t keys = dims ? keys_of_word(f) : pairs ? 2 : 1;
  int64_t bytes;
  if (f->order == FOVEA_ORDER_ROWS) {
    return f->order_keys == 0
               ? FOVEA_OK
               : refuse(s, FOVEA_ERROR_UNUSED, "order_keys", f->order_keys, "be 0 with FOVEA_ORDER_ROWS");
  }
  if (dims != lies_along(f) || (!dims && fovea_code_of(f->code).bits < 8))
    return refuse(s, FOVEA_ERROR_ARGUMENT, "order", (int)f->order,
                  dims ? "be another: FOVEA_ORDER_DIMS is for codes along keys"
                       : "be another: pairs are for codes of 8 or 16 bits that do not lie along keys");
  if (f->place != FOVEA_SCALES_APART)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "place", (int)f->place, "be FOVEA_SCALES_APART with such an order");
  if (!dims && s->dim % (pairs ? 16 : 2) != 0)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "order", (int)f->order,
                  pairs ? "be another: pairs of keys need a multiple of 16 dims"
                        : "be another: pairs of dims need an even number of dims");
  if (f->order == FOVEA_ORDER_DIM_PAIRS && f->group > 1 && f->group % 2 != 0)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "group", f->group, "be even, 0 or 1 with pairs of dims");
  if (f->order_keys < 1 || f->order_keys % keys != 0)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "order_keys", f->order_keys,
                  "be the keys of a unit: of pairs of keys even, of words along keys whole words");
  if (__builtin_mul_overflow(s->dim * 4, f->order_keys, &bytes) || bytes > INT64_C(1) << 57)
    return refuse(s, FOVEA_ERROR_ARGUMENT, "order_keys", f->order_keys, "make units of at most 2^57 bytes");
  return FOVEA_OK;
}

/* The last check: a format that is wrong in another field has the wrong quantiser, too. */
static fovea_status check_quantiser(const subject *s) {
  if (!fovea_quantiser_knows(s->format))
    return refuse(s, FOVEA_ERROR_UNUSED, "quantiser", (int)s->format->quantiser,
                  "know the code, the formula and the key_group; FOVEA_QUANTISE_NEAREST knows all");
  return FOVEA_OK;
}

__attribute__((cold)) fovea_status fovea_check_format(const fovea_format *format, int64_t dim, int64_t entry,
                                                      int64_t number, int values, fovea_error *error) {
  const subject s = {format, dim, entry, number, values, error};
  if (format->struct_size != sizeof *format)
    return refuse(&s, FOVEA_ERROR_ARGUMENT, "struct_size", (int64_t)format->struct_size,
                  "be the size in this library; call fovea_format_init()");
  fovea_status status = check_kinds(&s);
  if (!status) status = check_unused(&s);
  if (!status) status = check_groups(&s);
  if (!status) status = check_order(&s);
  return status ? status : check_quantiser(&s);
}

__attribute__((cold)) fovea_status fovea_check_code_panels(const fovea_format *format, int64_t dim, int64_t entry,
                                                           int64_t number, fovea_error *error) {
  const subject s = {format, dim, entry, number, 0, error};
  const int64_t group = group_of(format, dim);
  if (format->place != FOVEA_SCALES_APART || lies_along(format))
    return refuse(&s, FOVEA_ERROR_ARGUMENT, "place", (int)format->place,
                  "be FOVEA_SCALES_APART, and codes of single keys, with keys in panels");
  if (format->order != FOVEA_ORDER_ROWS)
    return refuse(&s, FOVEA_ERROR_ARGUMENT, "order", (int)format->order, "be FOVEA_ORDER_ROWS with keys in panels");
  if (lies_in_halves(format) && (group > 256 || fovea_code_bytes(format, group) % 4 != 0))
    return refuse(&s, FOVEA_ERROR_ARGUMENT, "group", format->group,
                  "have at most 256 dims whose codes fill words of 4 bytes");
  if (!codes_are_mixed(format, dim) && group != dim && code_bits(format, group) % 32 != 0)
    return refuse(&s, FOVEA_ERROR_ARGUMENT, "group", format->group,
                  "have codes that fill words of 4 bytes in panels");
  return FOVEA_OK;
}

/* ---- The form that kernels know ------------------------------------------------------------------------------ */

/* Scales and zeros in front of or after the codes of each group of dims. */
static void lay_out_groups(const fovea_format *format, int64_t dim, fovea_code_layout *layout) {
  const int64_t group = group_of(format, dim), codes = fovea_code_bytes(format, group);
  const int64_t scale = fovea_scale_bytes(format);
  const int64_t beside = scale * (layout->has_zeros ? 2 : 1) + (format->sums ? 4 : 0);
  const int before = format->place == FOVEA_SCALES_BEFORE;
  layout->codes.group_step = layout->codes.scale_group = codes + beside;
  layout->codes_at = before ? beside : 0;
  layout->scales_at = before ? 0 : codes;
  layout->zeros_at = scale;
  layout->unit_bytes = dim / group * (codes + beside);
}

/* The same in front of or after the codes of a group of keys. */
static void lay_out_key_groups(const fovea_format *format, int64_t dim, fovea_code_layout *layout) {
  const int64_t groups = dim / group_of(format, dim), scales = groups * fovea_scale_bytes(format);
  const int64_t beside = scales * (layout->has_zeros ? 2 : 1);
  const int before = format->place == FOVEA_SCALES_BEFORE;
  const int64_t codes = layout->key_bytes * format->key_group;
  layout->unit_keys = layout->word_keys = format->key_group;
  layout->codes_at = before ? beside : 0;
  layout->scales_at = before ? 0 : codes;
  layout->zeros_at = scales;
  layout->unit_bytes = codes + beside;
}

/* Rows side by side, in words of four bytes. */
static void lay_out_panels(fovea_code_layout *layout) {
  layout->codes.panels = 1;
  layout->codes.item = 4;
  layout->codes.item_step = 4 * FOVEA_PANEL_ROWS;
  layout->unit_keys = layout->word_keys = FOVEA_PANEL_ROWS;
  layout->unit_bytes = (layout->unit_bytes + 3) / 4 * 4 * FOVEA_PANEL_ROWS;
  layout->key_bytes = 4;
}

/* Units of keys in another order. */
static void lay_out_order(const fovea_format *format, fovea_code_layout *layout) {
  const int bytes = fovea_code_of(format->code).bits / 8;
  const int64_t keys = format->order_keys;
  layout->unit_keys = keys;
  layout->unit_bytes *= keys;
  switch (format->order) {
  case FOVEA_ORDER_DIM_PAIRS:
    layout->codes.item = 2 * bytes;
    layout->codes.item_step = layout->codes.item * keys;
    layout->word_keys = keys;
    layout->key_bytes = 2 * bytes;
    break;
  case FOVEA_ORDER_KEY_PAIRS:
    layout->codes.item = bytes;
    layout->codes.item_step = INT64_C(2) * bytes;
    layout->codes.chunk_step = 16 * bytes * keys;
    layout->word_keys = 2;
    layout->word_bytes = INT64_C(32) * bytes;
    layout->key_bytes = bytes;
    break;
  default:
    layout->unit_bytes /= layout->word_keys;
    layout->codes.item = 4;
    layout->word_bytes = 4;
    layout->codes.item_step = 4 * (keys / layout->word_keys);
  }
}

/* Whether rows are what int8 mode multiplies: int8_rows of fovea_codes. */
static int has_int8_rows(const fovea_format *format, int64_t dim) {
  if (format->code != FOVEA_CODE_S8 || format->formula != FOVEA_FORMULA_SCALE || group_of(format, dim) != dim)
    return 0;
  return format->key_group == 1 ? 2 : 1;
}

fovea_code_layout fovea_lay_out_codes(const fovea_format *format, int64_t dim, int panels) {
  const fovea_code_facts code = fovea_code_of(format->code);
  const int along = lies_along(format), word_keys = along ? keys_of_word(format) : 1;
  const int64_t group = group_of(format, dim), mixed = codes_are_mixed(format, dim);
  const int64_t row = mixed ? fovea_code_bytes(format, dim) : dim / group * fovea_code_bytes(format, group);
  fovea_code_layout layout = {
      .codes = {.code = format->code,
                .formula = format->formula,
                .scale_type = format->scale_type,
                .bias = (float)format->bias,
                .row_bytes = row,
                .table = format->table,
                .group = group,
                .mixed = (int)mixed,
                .group_step = mixed ? 0 : fovea_code_bytes(format, group),
                .scale_group = fovea_scale_bytes(format),
                .int8_rows = has_int8_rows(format, dim)},
      .key_group = format->key_group == 0 ? INT64_MAX : format->key_group,
      .unit_keys = word_keys,
      .word_keys = word_keys,
      .unit_bytes = row,
      .key_bytes = along ? 0 : row,
      .key_bits = along ? code.bits : 0,
      .has_zeros = format->formula != FOVEA_FORMULA_SCALE,
      .apart = format->place == FOVEA_SCALES_APART,
  };
  for (int i = 0; code.bits == 4 && i < 16; i++)
    layout.codes.numbers[i] = (float)(format->table ? format->table[i] : i - format->bias);
  if (panels) lay_out_panels(&layout);
  if (format->order != FOVEA_ORDER_ROWS) lay_out_order(format, &layout);
  if (format->order != FOVEA_ORDER_KEY_PAIRS) layout.codes.chunk_step = 16 * layout.codes.item_step;
  if (layout.apart) return layout;
  (format->key_group > 1 ? lay_out_key_groups : lay_out_groups)(format, dim, &layout);
  return layout;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Of rows that are units: divisions take longer than all else here. */
static int64_t find_row(const fovea_code_layout *layout, const fovea_code_place *place, int64_t row,
                        fovea_coded_rows *rows) {
  const char *first = place->units + row * place->unit_step;
  const char *scales = layout->apart ? place->scales : first + layout->scales_at;
  const char *zeros = layout->apart ? place->zeros : scales + layout->zeros_at;
  const int64_t own = layout->apart && layout->key_group == 1 ? row * place->scale_step : 0;
  *rows = (fovea_coded_rows){.codes = first + layout->codes_at,
                             .scales = scales + own,
                             .zeros = layout->has_zeros ? zeros + own : NULL,
                             .code_step = place->unit_step,
                             .scale_step = !layout->apart           ? place->unit_step
                                           : layout->key_group == 1 ? place->scale_step
                                                                    : 0,
                             .centre = place->centre};
  return INT64_MAX;
}

int64_t fovea_find_codes(const fovea_code_layout *layout, const fovea_code_place *place, int64_t row,
                         fovea_coded_rows *rows) {
  if (layout->unit_keys == 1 && (!layout->apart || layout->key_group == 1 || layout->key_group == INT64_MAX))
    return find_row(layout, place, row, rows);
  const int64_t unit = row / layout->unit_keys, in_unit = row % layout->unit_keys;
  const int64_t word = layout->word_keys == layout->unit_keys ? 0 : in_unit / layout->word_keys;
  const int64_t key = in_unit - word * layout->word_keys;
  const char *first = place->units + unit * place->unit_step;
  int64_t follow = layout->unit_keys > 1 ? layout->word_keys - key : INT64_MAX;
  *rows =
      (fovea_coded_rows){.codes = first + layout->codes_at + word * layout->word_bytes + key * layout->key_bytes,
                         .code_step = layout->unit_keys > 1 ? layout->key_bytes : place->unit_step,
                         .shift = (int)key * layout->key_bits,
                         .shift_step = layout->key_bits,
                         .centre = place->centre};
  if (!layout->apart) {
    rows->scales = first + layout->scales_at;
    rows->zeros = layout->has_zeros ? rows->scales + layout->zeros_at : NULL;
    rows->scale_step = layout->unit_keys > 1 ? 0 : place->unit_step;
    return follow;
  }
  const int64_t group = layout->key_group == 1 ? row : row / layout->key_group;
  rows->scales = place->scales + group * place->scale_step;
  rows->zeros = layout->has_zeros ? place->zeros + group * place->scale_step : NULL;
  rows->scale_step = layout->key_group == 1 ? place->scale_step : 0;
  if (layout->key_group > 1) follow = least(follow, (group + 1) * layout->key_group - row);
  return follow;
}
#endif
