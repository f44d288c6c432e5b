#include "coded_rows.h"

#include "../base/error.h"

#include <string.h>

void fovea_open_side(const fovea_segment *segment, int values, int64_t dim, fovea_coded_side *side) {
  side->segment = segment;
  side->format = fovea_segment_format(segment, values);
  side->dim = dim;
  side->values = values;
  if (!FOVEA_BUILDS_FORMATS || !side->format) return;
  side->layout = fovea_lay_out_codes(side->format, dim, !values && segment->k_layout == FOVEA_KEYS_IN_PANELS);
  if (side->layout.apart) side->layout.codes.scale_group = (values ? segment->v_scales : segment->k_scales).group;
  side->rule = fovea_make_rule(side->format);
}

#if FOVEA_BUILDS_FORMATS
/* Where the row of a position lies. */
static fovea_coded_rows find_row(const fovea_coded_side *side, int64_t layer, int64_t head, int64_t position) {
  const fovea_code_place place = fovea_place_codes(side->segment, side->values, layer, head);
  fovea_coded_rows rows;
  fovea_find_codes(&side->layout, &place, position - side->segment->first, &rows);
  return rows;
}

/* ---- Rows whose bytes lie apart ------------------------------------------------------------------------------ */

/* Room for the codes of a row: at most two bytes a dim. */
typedef struct row_bytes {
  char bytes[2 * FOVEA_QUANTISED_DIMS];
} row_bytes;

/* Items of a row: words of a panel, or pairs. */
static int64_t row_items(const fovea_codes *codes) {
  return (codes->row_bytes + codes->item - 1) / codes->item;
}

static int64_t item_at(const fovea_codes *codes, int64_t i) {
  return i / 16 * codes->chunk_step + i % 16 * codes->item_step;
}

static void gather_row(const fovea_codes *codes, const char *from, row_bytes *row) {
  for (int64_t i = 0; i < row_items(codes); i++)
    memcpy(row->bytes + i * codes->item, from + item_at(codes, i), (size_t)codes->item);
}

/* Bytes of the last item after the codes are 0. */
static void scatter_row(const fovea_codes *codes, row_bytes *row, char *to) {
  for (int64_t i = codes->row_bytes; i < row_items(codes) * codes->item; i++) row->bytes[i] = 0;
  for (int64_t i = 0; i < row_items(codes); i++)
    memcpy(to + item_at(codes, i), row->bytes + i * codes->item, (size_t)codes->item);
}

/* ---- Writing ------------------------------------------------------------------------------------------------- */

/* Does some steps for rows, all groups of dims of a piece. */
static void narrow_rows(const fovea_kernels *kernels, const fovea_coded_side *side, const fovea_coded_rows *rows,
                        fovea_narrow_groups *groups, int64_t first, int steps, int64_t count, const float *from,
                        int64_t stride) {
  const int64_t left = side->dim / side->layout.codes.group - first;
  const fovea_narrow_args args = {
      .codes = &side->layout.codes,
      .rule = &side->rule,
      .groups = groups,
      .steps = steps,
      .row_count = count,
      .from = from,
      .from_stride = stride,
      .dim = side->dim,
      .first_group = first,
      .group_count = left < FOVEA_NARROW_GROUPS ? left : FOVEA_NARROW_GROUPS,
      .to = (char *)rows->codes,
      .scales = (char *)rows->scales,
      .zeros = (char *)rows->zeros,
      .to_step = rows->code_step,
      .scale_step = rows->scale_step,
      .shift = rows->shift,
      .shift_step = rows->shift_step,
  };
  kernels->narrow_codes(&args);
}

/* The same for rows whose bytes lie apart: in other memory, one by one. */
static void narrow_apart(const fovea_kernels *kernels, const fovea_coded_side *side, const fovea_coded_rows *rows,
                         fovea_narrow_groups *groups, int64_t first, int steps, int64_t count, const float *from,
                         int64_t stride) {
  const fovea_codes *codes = &side->layout.codes;
  row_bytes row;
  for (int64_t i = 0; i < count; i++) {
    char *apart = (char *)rows->codes + i * rows->code_step;
    fovea_coded_rows some = *rows;
    some.codes = row.bytes;
    some.scales = rows->scales + i * rows->scale_step;
    some.zeros = rows->zeros ? rows->zeros + i * rows->scale_step : NULL;
    gather_row(codes, apart, &row);
    narrow_rows(kernels, side, &some, groups, first, steps, 1, from + i * stride, stride);
    if (steps & FOVEA_NARROW_CODE) scatter_row(codes, &row, apart);
  }
}

/* Takes the centre off rows. */
static const float *move_rows(const fovea_coded_rows *rows, int64_t dim, int64_t count, const float *from,
                              int64_t *stride, float *room) {
  if (!rows->centre) return from;
  const int64_t step = (dim + 15) / 16 * 16;
  for (int64_t row = 0; row < count; row++) {
    for (int64_t d = 0; d < dim; d++) room[row * step + d] = from[row * *stride + d] - rows->centre[d];
  }
  *stride = step;
  return room;
}

void fovea_write_coded(const fovea_kernels *kernels, const fovea_coded_side *side, int64_t layer, int64_t head,
                       int64_t begin, int64_t end, fovea_make_rows *make, void *maker) {
  const int64_t all = side->dim / side->layout.codes.group, most = fovea_rows_of_room(side->dim);
  const int shared = side->layout.key_group > 1 && side->rule.scale != FOVEA_SCALE_FIXED;
  const fovea_code_place place = fovea_place_codes(side->segment, side->values, layer, head);
  float room[FOVEA_QUANTISED_ROOM];
  fovea_narrow_groups groups;
  for (int64_t first = 0; first < all; first += FOVEA_NARROW_GROUPS) {
    for (int pass = shared ? 0 : 1; pass < 2; pass++) {
      for (int64_t at = begin, count; at < end; at += count) {
        fovea_coded_rows rows;
        int64_t stride;
        count = fovea_find_codes(&side->layout, &place, at - side->segment->first, &rows);
        if (count > most) count = most;
        if (count > end - at) count = end - at;
        const float *from = make(maker, at, count, room, &stride);
        from = move_rows(&rows, side->dim, count, from, &stride, room);
        int steps = FOVEA_NARROW_ROW;
        if (shared && pass == 0) steps = FOVEA_NARROW_MEASURE;
        if (shared && pass == 1) steps = FOVEA_NARROW_CODE;
        if (shared && at == begin) { /* what is done once */
          const int once = pass == 0 ? FOVEA_NARROW_BEGIN : FOVEA_NARROW_SETTLE;
          narrow_rows(kernels, side, &rows, &groups, first, once, 1, from, stride);
        }
        /* Codes along keys are words of their own, wherever they lie. */
        const int apart = side->layout.codes.item && !side->layout.key_bits;
        (apart ? narrow_apart : narrow_rows)(kernels, side, &rows, &groups, first, steps, count, from, stride);
      }
    }
  }
}

void fovea_read_coded(const fovea_kernels *kernels, const fovea_coded_side *side, int64_t layer, int64_t head,
                      int64_t position, float *room) {
  const fovea_widen_codes_args args = {
      &side->layout.codes, find_row(side, layer, head, position), 1, side->dim, room, FOVEA_QUANTISED_ROOM};
  kernels->widen_codes(&args);
}

/* ---- Moving -------------------------------------------------------------------------------------------------- */

static int same_format(const fovea_coded_side *a, const fovea_coded_side *b) {
  const fovea_format *f = a->format, *g = b->format;
  const int same_table = f->table == g->table || (f->table && g->table && memcmp(f->table, g->table, 16) == 0);
  return f->code == g->code && f->formula == g->formula && f->scale_type == g->scale_type && f->bias == g->bias &&
         f->sums == g->sums && f->key_group == g->key_group && a->layout.codes.group == b->layout.codes.group &&
         same_table;
}

/* Moves scales, and zeros and sums if there are any; or only compares them. */
static int handle_scales(const fovea_coded_side *side, const fovea_coded_rows *from, int64_t from_step,
                         const fovea_coded_rows *to, int64_t to_step, int only_compare) {
  const size_t size = (size_t)fovea_scale_bytes(side->format), with_sum = side->format->sums ? size + 4 : size;
  for (int64_t g = 0; g < side->dim / side->layout.codes.group; g++) {
    if (only_compare) {
      if (memcmp(to->scales + g * to_step, from->scales + g * from_step, size) != 0) return 0;
      if (from->zeros && memcmp(to->zeros + g * to_step, from->zeros + g * from_step, size) != 0) return 0;
      continue;
    }
    memcpy((char *)to->scales + g * to_step, from->scales + g * from_step, with_sum);
    if (from->zeros) memcpy((char *)to->zeros + g * to_step, from->zeros + g * from_step, size);
  }
  return 1;
}

static int same_numbers(const fovea_coded_side *from, const fovea_coded_side *to, const fovea_coded_rows *a,
                        const fovea_coded_rows *b) {
  if (!a->centre != !b->centre) return 0;
  if (a->centre && memcmp(a->centre, b->centre, (size_t)from->dim * sizeof(float)) != 0) return 0;
  if (from->format->key_group != 0) return 1;
  return handle_scales(from, a, from->layout.codes.scale_group, b, to->layout.codes.scale_group, 1);
}

/* Codes of a key among the codes of other keys. */
static int64_t word_at(const fovea_codes *codes, int64_t d) {
  return codes->item ? item_at(codes, d) : 4 * d;
}

static void move_along(const fovea_coded_side *side, const fovea_coded_side *to_side, const fovea_coded_rows *from,
                       const fovea_coded_rows *to) {
  const int mask = (1 << side->layout.key_bits) - 1;
  for (int64_t d = 0; d < side->dim; d++) {
    const unsigned char *source =
        (const unsigned char *)from->codes + word_at(&side->layout.codes, d) + from->shift / 8;
    unsigned char *byte = (unsigned char *)(char *)to->codes + word_at(&to_side->layout.codes, d) + to->shift / 8;
    const int code = *source >> from->shift % 8 & mask;
    *byte = (unsigned char)((*byte & ~(mask << to->shift % 8)) | code << to->shift % 8);
  }
}

static void move_codes(const fovea_coded_side *side, const fovea_coded_side *to_side, const fovea_coded_rows *from,
                       const fovea_coded_rows *to) {
  const fovea_codes *codes = &side->layout.codes, *to_codes = &to_side->layout.codes;
  if (side->layout.key_bits) {
    move_along(side, to_side, from, to);
    return;
  }
  row_bytes from_row, to_row;
  const char *source = from->codes;
  char *target = (char *)to->codes;
  if (codes->item) gather_row(codes, from->codes, &from_row), source = from_row.bytes;
  if (to_codes->item) target = to_row.bytes;
  /* Groups that are not mixed fill whole bytes; places may differ, so that one side is mixed and the other is
   * not. */
  const int whole = codes->mixed && to_codes->mixed;
  const int64_t dims = whole ? side->dim : codes->group;
  const int64_t bytes = fovea_code_bytes(side->format, dims);
  for (int64_t g = 0; g < side->dim / dims; g++) {
    const int64_t from_at = codes->mixed ? g * bytes : g * codes->group_step;
    const int64_t to_at = to_codes->mixed ? g * bytes : g * to_codes->group_step;
    memcpy(target + to_at, source + from_at, (size_t)bytes);
  }
  if (to_codes->item) scatter_row(to_codes, &to_row, (char *)to->codes);
}

int fovea_move_coded(const fovea_coded_side *from, const fovea_coded_side *to, int64_t layer, int64_t head,
                     int64_t begin, int64_t end, int64_t shift) {
  const int64_t first = begin - shift - from->segment->first;
  if (!from->format || !to->format || !same_format(from, to)) return 0;
  const int shared = from->layout.key_group > 1 && from->format->key_group != 0;
  if (first < 0 || first + (end - begin) > from->segment->rows) return 0;
  if (shared && first % from->layout.key_group != 0) return 0;
  fovea_coded_rows a = find_row(from, layer, head, begin - shift), b = find_row(to, layer, head, begin);
  if (!same_numbers(from, to, &a, &b)) return 0;
  for (int64_t at = begin; at < end; at++) {
    a = find_row(from, layer, head, at - shift);
    b = find_row(to, layer, head, at);
    move_codes(from, to, &a, &b);
    if (from->format->key_group != 0 && (!shared || at == begin))
      handle_scales(from, &a, from->layout.codes.scale_group, &b, to->layout.codes.scale_group, 0);
  }
  return 1;
}

/* ---- Checks -------------------------------------------------------------------------------------------------- */

static fovea_status check_group(const fovea_segment *segment, int64_t keys, int values, int64_t entry,
                                int64_t number, int64_t begin, int64_t end, fovea_error *error) {
  const int64_t last = segment->first + segment->rows;
  const int64_t from = begin > segment->first ? begin : segment->first, to = end < last ? end : last;
  if ((from - segment->first) % keys == 0 && ((to - segment->first) % keys == 0 || to == last)) return FOVEA_OK;
  return fovea_fail(
      error, FOVEA_ERROR_ARGUMENT,
      "sequences[%jd].segments[%jd].%s is written in groups of %jd keys from position %jd on; positions "
      "%jd to %jd do not fill them: keep the newest rows in a segment of another format",
      entry, number, values ? "v" : "k", keys, segment->first, from, to - 1);
}

static fovea_status check_side(const fovea_sequence *sequence, const fovea_segment *segment,
                               const fovea_segment_shape *shape, int values, int written, int64_t entry,
                               int64_t begin, int64_t end, fovea_error *error) {
  const fovea_format *format = fovea_segment_format(segment, values);
  const int64_t dim = values ? shape->v_dim : shape->qk_dim, number = fovea_segment_number(sequence, segment);
  if (!format) return FOVEA_OK;
  if (dim > FOVEA_QUANTISED_DIMS)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "sequences[%jd].segments[%jd].%s has a format; %s_dim is %jd, and must be at most %jd to be "
                      "written or copied",
                      entry, number, values ? "v" : "k", values ? "v" : "qk", dim, (int64_t)FOVEA_QUANTISED_DIMS);
  if (!written) return FOVEA_OK;
  if (!fovea_table_ascends(format))
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "sequences[%jd].segments[%jd].%s_format.table does not ascend; such a format is only read",
                      entry, number, values ? "v" : "k");
  const fovea_code_layout layout = fovea_lay_out_codes(format, dim, 0); /* the same keys as in panels */
  return check_group(segment, fovea_keys_at_once(&layout), values, entry, number, begin, end, error);
}

fovea_status fovea_check_coded_rows(const fovea_sequence *sequence, const fovea_segment_shape *shape, int written,
                                    int64_t entry, int64_t begin, int64_t end, fovea_error *error) {
  if (begin >= end) return FOVEA_OK;
  const fovea_segment *segment = fovea_find_segment(sequence, begin);
  for (;; segment = fovea_segment_after(sequence, segment)) {
    for (int values = 0; values < 2; values++) {
      fovea_status status = check_side(sequence, segment, shape, values, written, entry, begin, end, error);
      if (status) return status;
    }
    if (segment->first + segment->rows >= end) return FOVEA_OK;
  }
}
#endif
