#include "claims.h"

#include "../base/error.h"
#include "../base/types.h"

/* Claims on the stack. They are compared with each other and with all claims after them; then the next ones take
 * their place. */
enum { WINDOW = 96 };

typedef struct cursor {
  int64_t sequence, array;
  int values, part;
  const fovea_segment *segment; /* NULL: the part has not begun */
  int64_t segment_number;
  int64_t position;
} cursor;

/* Claims some keys of a panel, or all whole panels. */
static fovea_claim claim_panels(const fovea_segment *segment, const fovea_segment_shape *shape, int64_t layer,
                                int64_t *position, int64_t end) {
  int64_t row = *position - segment->first, key = row % FOVEA_PANEL_ROWS, count = end - *position;
  const int bits = fovea_type_bits(segment->k_type), together = fovea_dims_together(segment->k_type);
  const char *panel =
      fovea_element(segment->k, segment->k_type,
                    fovea_segment_head(segment, 0, layer, 0) + row / FOVEA_PANEL_ROWS * segment->k_row);
  int64_t elements = fovea_panel_elements(shape->qk_dim, segment->k_type);
  if (key == 0 && count >= FOVEA_PANEL_ROWS) {
    int64_t panels = count / FOVEA_PANEL_ROWS;
    *position += panels * FOVEA_PANEL_ROWS;
    return fovea_claim_rows(panel, bits, shape->kv_heads, segment->k_head, panels, segment->k_row, elements);
  }
  if (count > FOVEA_PANEL_ROWS - key) count = FOVEA_PANEL_ROWS - key;
  *position += count;
  int64_t step = (int64_t)FOVEA_PANEL_ROWS * together;
  return fovea_claim_rows(panel + key * fovea_panel_step(segment->k_type), bits, shape->kv_heads, segment->k_head,
                          elements / step, step, count * together);
}

/* Whether a part of a side has memory of its own. */
static int has_part(const fovea_segment *segment, const fovea_segment_shape *shape, int values, int part) {
  const fovea_format *format = fovea_segment_format(segment, values);
  if (part == FOVEA_PART_CODES) return 1;
  return FOVEA_BUILDS_FORMATS && format &&
         fovea_find_part(segment, format, values ? shape->v_dim : shape->qk_dim, values, part).first;
}

fovea_claim fovea_claim_segment(const fovea_segment *segment, const fovea_segment_shape *shape, int values,
                                int part, int64_t layer, int64_t *position, int64_t end) {
  const fovea_format *format = fovea_segment_format(segment, values);
  if (!has_part(segment, shape, values, part)) {
    *position = end;
    return (fovea_claim){.segment = -1};
  }
  if (FOVEA_BUILDS_FORMATS && format)
    return fovea_claim_part(segment, format, shape, values, part, layer, position, end);
  if (!values && segment->k_layout == FOVEA_KEYS_IN_PANELS)
    return claim_panels(segment, shape, layer, position, end);
  int64_t row = *position - segment->first, rows = end - *position;
  const fovea_type type = values ? segment->v_type : segment->k_type;
  int64_t head_step = values ? segment->v_head : segment->k_head,
          row_step = values ? segment->v_row : segment->k_row;
  const void *first = fovea_element(values ? segment->v : segment->k, type,
                                    fovea_segment_head(segment, values, layer, 0) + row * row_step);
  *position = end;
  return fovea_claim_rows(first, fovea_type_bits(type), shape->kv_heads, head_step, rows, row_step,
                          values ? shape->v_dim : shape->qk_dim);
}

/* A centre is read only, and so are scales that all keys share: they are the caller's. */
static int is_written(const fovea_segment *segment, int values, int part) {
  const fovea_format *format = fovea_segment_format(segment, values);
  return part == FOVEA_PART_CODES || (part != FOVEA_PART_CENTRE && format && format->key_group != 0);
}

/* Goes on to the next part of the side, or to the next side. */
static void next_part(cursor *at) {
  if (++at->part == FOVEA_PARTS) {
    at->part = 0;
    at->values++;
  }
  at->segment = NULL;
}

/* Returns 0 if there are no more claims. */
static int next_claim(const fovea_claims *claims, cursor *at, fovea_claim *claim) {
  while (at->sequence < claims->sequence_count) {
    fovea_claimed_rows rows = claims->sequence(claims->call, at->sequence);
    if (rows.begin >= rows.end || at->values > 1) {
      *at = (cursor){.sequence = at->sequence + 1};
      continue;
    }
    if (!at->segment) {
      at->segment = fovea_find_segment(rows.sequence, rows.begin);
      at->segment_number = fovea_segment_number(rows.sequence, at->segment);
      at->position = rows.begin;
    }
    int64_t end =
        at->segment->first + at->segment->rows < rows.end ? at->segment->first + at->segment->rows : rows.end;
    *claim = fovea_claim_segment(at->segment, &claims->shape, at->values, at->part, rows.layer, &at->position, end);
    claim->written = rows.written && is_written(at->segment, at->values, at->part);
    claim->name = at->values ? "v" : "k";
    claim->entry = rows.entry;
    claim->segment = at->segment_number;
    const int empty = claim->run == 0;
    if (at->position == rows.end) {
      next_part(at);
    } else if (at->position == end) {
      at->segment = fovea_segment_after(rows.sequence, at->segment);
      at->segment_number++;
    }
    if (empty) continue;
    return 1;
  }
  while (at->array < claims->array_count) {
    *claim = claims->array(claims->call, at->array++);
    if (claim->run != 0) return 1;
  }
  return 0;
}

typedef struct window {
  fovea_claim claims[WINDOW];
  int count, order[WINDOW];   /* sorted by begin */
  uintptr_t furthest[WINDOW]; /* the largest end of the claims up to this one in the order */
} window;

static void sort_window(window *w) {
  for (int i = 0; i < w->count; i++) w->order[i] = i;
  for (int gap = w->count / 2; gap > 0; gap /= 2) {
    for (int i = gap; i < w->count; i++) {
      int moved = w->order[i], j = i;
      for (; j >= gap && w->claims[w->order[j - gap]].begin > w->claims[moved].begin; j -= gap)
        w->order[j] = w->order[j - gap];
      w->order[j] = moved;
    }
  }
  uintptr_t furthest = 0;
  for (int i = 0; i < w->count; i++) {
    if (w->claims[w->order[i]].end > furthest) furthest = w->claims[w->order[i]].end;
    w->furthest[i] = furthest;
  }
}

static fovea_status refuse(const fovea_claim *a, const fovea_claim *b, fovea_error *error) {
  const fovea_claim *first = a->written ? a : b, *other = a->written ? b : a;
  if (other->segment >= 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "sequences[%jd].segments[%jd].%s has rows to be written that share memory with rows of "
                      "sequences[%jd].segments[%jd].%s",
                      first->entry, first->segment, first->name, other->entry, other->segment, other->name);
  }
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "sequences[%jd].segments[%jd].%s has rows to be written that share memory with %s",
                    first->entry, first->segment, first->name, other->name);
}

/* Compares a claim with the window's first `count` claims. */
static fovea_status compare(const window *w, int count, const fovea_claim *claim, fovea_error *error) {
  int low = 0, high = w->count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (w->claims[w->order[middle]].begin < claim->end) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (int i = low - 1; i >= 0 && w->furthest[i] > claim->begin; i--) {
    const fovea_claim *other = &w->claims[w->order[i]];
    if (w->order[i] >= count || (!claim->written && !other->written)) continue;
    if (fovea_claims_overlap(other, claim)) return refuse(other, claim, error);
  }
  return FOVEA_OK;
}

static fovea_status check_inside(const fovea_claim *claim, fovea_error *error) {
  if (!claim->written || fovea_claim_is_apart(claim)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "sequences[%jd].segments[%jd].%s has strides that let heads or rows share memory", claim->entry,
                    claim->segment, claim->name);
}

fovea_status fovea_check_claims(const fovea_claims *claims, fovea_error *error) {
  window w;
  fovea_claim claim;
  cursor begin = {0};
  fovea_status status = FOVEA_OK;
  do {
    cursor at = begin;
    for (w.count = 0; w.count < WINDOW && next_claim(claims, &at, &w.claims[w.count]); w.count++) {
      status = check_inside(&w.claims[w.count], error);
      if (status) return status;
    }
    sort_window(&w);
    for (int i = 0; i < w.count && !status; i++) status = compare(&w, i, &w.claims[i], error);
    begin = at;
    while (!status && next_claim(claims, &at, &claim)) status = compare(&w, w.count, &claim, error);
  } while (!status && w.count == WINDOW);
  return status;
}
