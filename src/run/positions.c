#include "positions.h"

#include "../feature/score_terms.h"
#include "../feature/shaw.h"
#include "position_numbers.h"
#include "row_scales.h"
#include "shaw_keys.h"

/* The last row that sees keys: later ones and lanes of padding have its terms. */
static int64_t row_of(const fovea_row_terms *terms, int64_t row) {
  return fovea_least(row, terms->by->entry->q_seen - 1);
}

/* The numbers of a term for a query head of the task's entry. */
static const float *numbers_of(const fovea_row_terms *terms, int term, int64_t head) {
  const fovea_position_term *of = &terms->plan->positions.rules[term].term;
  return terms->numbers[term] + terms->by->entry->batch * of->batch + head * of->head;
}

/* Places of lanes. Lanes of padding follow the last row. */
static fovea_row_place place_of(const fovea_row_terms *terms, const fovea_tile *t, int lane) {
  if (lane < t->rows.count) return t->places[lane];
  const int64_t number = t->rows.first + lane, group = terms->by->group;
  return (fovea_row_place){terms->by->kv_head * group + number % group, number / group};
}

static int has_slopes(const fovea_position_term *term) {
  return term->kind <= FOVEA_POSITION_ALIBI_SYMMETRIC;
}

/* Whether all heads have the same numbers; slopes are no numbers here. */
static int heads_are_alike(const fovea_position_term *term) {
  return has_slopes(term) || term->head == 0;
}

/* Scratch for the numbers of a term; after the terms', for what is hidden. */
static float *floats_of(const fovea_row_terms *terms, int term) {
  return terms->room + (uint64_t)term * fovea_term_floats(terms->plan->kernels);
}

/* Each of the functions below places a term's numbers, and returns 1 if one of them may be -Inf. */

/* Row by row, laid out like scores. */
static int place_rows(const fovea_row_terms *terms, const fovea_tile *t, int term, int64_t base,
                      fovea_interval keys, fovea_position_tile *tile) {
  const fovea_positions *positions = &terms->plan->positions;
  const fovea_score_layout *layout = &t->layout;
  float *to = floats_of(terms, term);
  int hides = 0;
  for (int lane = 0; lane < layout->rows; lane++) {
    const fovea_row_place place = place_of(terms, t, lane);
    const fovea_key_range range = {row_of(terms, place.row) + terms->by->entry->offset, base + keys.begin,
                                   keys.end - keys.begin};
    hides |= fovea_position_numbers(positions, &positions->rules[term], numbers_of(terms, term, place.head), range,
                                    to + lane * layout->row_step + keys.begin * layout->key_step, layout->key_step);
  }
  tile->numbers = to;
  tile->step = fovea_rows_lie_in_lanes(layout) ? layout->key_step : layout->row_step;
  return hides;
}

/* Terms of key - own alone: neighbouring rows have the same numbers, a key apart. So there is a strip
 * [distance][head], distances descending, in which the numbers of a key for all rows begin `group` floats before
 * the numbers of the key before. */
static int place_strip(const fovea_row_terms *terms, const fovea_tile *t, int term, int64_t base,
                       fovea_interval keys, fovea_position_tile *tile) {
  const fovea_positions *positions = &terms->plan->positions;
  const int64_t group = terms->by->group, first_head = t->rows.first % group;
  const int64_t own = t->rows.first / group + terms->by->entry->offset;
  const int lanes = t->visible.vectors * terms->plan->kernels->lanes;
  /* At index x of the strip is the distance of key 127 - x from the first row. */
  const int64_t low = FOVEA_BLOCK_KEYS - keys.end;
  const int64_t high = FOVEA_BLOCK_KEYS - 1 - keys.begin + (first_head + lanes - 1) / group;
  const fovea_key_range range = {own, base + FOVEA_BLOCK_KEYS - 1 - high, high - low + 1};
  float *strip = floats_of(terms, term);
  const int64_t heads = heads_are_alike(&positions->rules[term].term) ? 1 : group;
  int hides = 0;
  for (int64_t head = 0; head < heads; head++) {
    hides |= fovea_position_numbers(positions, &positions->rules[term],
                                    numbers_of(terms, term, terms->by->kv_head * group + head), range,
                                    strip + high * group + head, -group);
  }
  for (int64_t x = low; heads < group && x <= high; x++) {
    for (int64_t head = 1; head < group; head++) strip[x * group + head] = strip[x * group];
  }
  tile->numbers = strip + (FOVEA_BLOCK_KEYS - 1) * group + first_head;
  tile->step = -group;
  return hides;
}

/* Rows of one head that are neighbours in a grid. Returns 0 if they are too far apart. */
static int place_grid(const fovea_row_terms *terms, const fovea_tile *t, int term, int64_t base,
                      fovea_interval keys, fovea_position_tile *tile, int *hides) {
  const fovea_entry *entry = terms->by->entry;
  const int64_t step = terms->plan->kernels->row_tile;
  const int64_t rows = row_of(terms, t->rows.first + t->rows.count - 1) - t->rows.first + 1;
  float *to = floats_of(terms, term);
  const fovea_grid_tile grid = {.own = t->rows.first + entry->offset,
                                .rows = (int)rows,
                                .key = base + keys.begin,
                                .keys = (int)(keys.end - keys.begin),
                                .to = to + keys.begin * step,
                                .step = step,
                                .window = floats_of(terms, terms->plan->positions.count + 1)};
  tile->numbers = to;
  tile->step = step;
  return rows > 0 && fovea_grid_numbers(&terms->plan->positions.rules[term],
                                        numbers_of(terms, term, terms->by->kv_head), &grid, hides);
}

static int place_term(const fovea_row_terms *terms, const fovea_tile *t, int term, int64_t base,
                      fovea_interval keys, fovea_position_tile *tile) {
  const fovea_position_term *of = &terms->plan->positions.rules[term].term;
  const uint64_t group = (uint64_t)terms->by->group, row_tile = (uint64_t)terms->plan->kernels->row_tile;
  const int fits =
      group < row_tile && (FOVEA_BLOCK_KEYS + 1) * group + row_tile <= fovea_term_floats(terms->plan->kernels);
  int hides = 0;
  if (!fovea_rows_lie_in_lanes(&t->layout)) return place_rows(terms, t, term, base, keys, tile);
  if (of->kind != FOVEA_POSITION_GRID && fits) return place_strip(terms, t, term, base, keys, tile);
  if (of->kind == FOVEA_POSITION_GRID && group == 1 && place_grid(terms, t, term, base, keys, tile, &hides))
    return hides;
  return place_rows(terms, t, term, base, keys, tile);
}

/* A slope of less than this never overflows: no distance is beyond 2^50. */
static const float small_slope = 0x1p+77f;

/* Returns 1 if a slope may make -Inf. */
static int read_slopes(const fovea_row_terms *terms, const fovea_tile *t, int term, float *slopes) {
  int hides = 0;
  for (int lane = 0; lane < t->visible.vectors * terms->plan->kernels->lanes; lane++) {
    slopes[lane] = *numbers_of(terms, term, place_of(terms, t, lane).head);
    hides |= !(slopes[lane] < small_slope && slopes[lane] > -small_slope);
  }
  return hides;
}

void fovea_read_positions(const fovea_row_terms *terms, const fovea_tile *t, int64_t base, fovea_interval keys,
                          fovea_position_block *block) {
  const fovea_positions *positions = &terms->plan->positions;
  block->present = fovea_rows_have_terms(&terms->plan->problem, terms->plan->features);
  block->hides = 0;
  if (!block->present) return;
  block->keys = keys;
  const int shaw = fovea_has_shaw_keys(&terms->plan->problem);
  block->terms.scales = terms->plan->problem.scales || shaw ? block->scales : NULL;
  block->terms.shaw.numbers = NULL;
  if (FOVEA_BUILDS_TERMS && shaw) fovea_place_shaw_keys(terms, t, base, keys, &block->terms.shaw);
  block->terms.count = positions->count;
  for (int i = 0; i < positions->count; i++) {
    fovea_position_tile *tile = &block->terms.positions[i];
    block->hides |= place_term(terms, t, i, base, keys, tile);
    tile->slopes = has_slopes(&positions->rules[i].term) ? block->slopes[i] : NULL;
    if (tile->slopes) block->hides |= read_slopes(terms, t, i, block->slopes[i]);
  }
}

void fovea_read_scales(const fovea_row_terms *tables, const fovea_tile *t, const fovea_score_terms *terms,
                       fovea_position_block *block) {
  const fovea_plan *plan = tables->plan;
  const fovea_problem *problem = &plan->problem;
  const int natural = (FOVEA_BUILDS_OUTPUTS && terms == &plan->output_terms) || problem->normaliser.kind;
  const int lanes = t->visible.vectors * plan->kernels->lanes;
  if (!block->terms.scales) return;
  if (!problem->scales) { /* Shaw's keys are added before the problem's scale */
    const float c = fovea_scale_constant(problem, terms->capped, natural, problem->scale);
    for (int lane = 0; lane < lanes; lane++) block->scales[lane] = c;
    return;
  }
  for (int lane = 0; lane < lanes; lane++) {
    const fovea_row_place place = t->places[lane < t->rows.count ? lane : t->rows.count - 1];
    block->scales[lane] = fovea_scale_of_row(&tables->scales, place, terms->capped, natural);
  }
}

int fovea_positions_hide(const fovea_score_layout *layout, const fovea_position_block *block, int row, int key) {
  for (int i = 0; i < block->terms.count; i++) {
    const fovea_position_tile *tile = &block->terms.positions[i];
    float b = tile->numbers[fovea_rows_lie_in_lanes(layout) ? key * tile->step + row : row * tile->step + key];
    if (tile->slopes) b *= tile->slopes[row];
    if (b == -__builtin_inff()) return 1;
  }
  return 0;
}

int fovea_row_sees_with(const fovea_tile *t, const fovea_visible_block *visible, const fovea_position_block *block,
                        int row, int key) {
  if (!fovea_row_sees(visible, row, key)) return 0;
  return !block->hides || !fovea_positions_hide(&t->layout, block, row, key);
}

/* Hides again, from rows first to end - 1, what a term hides of some keys. */
static void hide_scores(const fovea_score_layout *layout, const fovea_position_block *block, fovea_interval keys,
                        int first, int end) {
  for (int64_t key = keys.begin; key < keys.end; key++) {
    for (int row = first; row < end; row++) {
      float *score = &layout->scores[row * layout->row_step + key * layout->key_step];
      if (*score != *score && fovea_positions_hide(layout, block, row, (int)key)) *score = -__builtin_inff();
    }
  }
}

void fovea_hide_again(const fovea_tile *t, const fovea_visible_block *visible, const fovea_position_block *block) {
  if (!block->hides || (block->terms.count == 1 && !visible->mask.present)) return;
  if (!fovea_rows_lie_in_lanes(&t->layout)) {
    hide_scores(&t->layout, block, block->keys, 0, t->rows.count);
    return;
  }
  const int lanes = t->layout.rows / t->visible.vectors;
  for (int i = 0; i < visible->sliced.count; i++) { /* only slices have scores */
    const fovea_block_slice *slice = &visible->sliced.slices[i];
    const int end = (slice->vectors.first + slice->vectors.count) * lanes;
    hide_scores(&t->layout, block, (fovea_interval){slice->begin, slice->end}, slice->vectors.first * lanes,
                end < t->rows.count ? end : t->rows.count);
  }
}

void fovea_hide_by_positions(const fovea_row_terms *terms, const fovea_tile *t, const fovea_visible_block *visible,
                             fovea_position_block *block) {
  const fovea_interval keys = block->keys;
  float *hidden = floats_of(terms, terms->plan->positions.count);
  for (int lane = 0; lane < t->layout.rows; lane++, hidden += FOVEA_BLOCK_KEYS) {
    for (int key = 0; key < (int)keys.end; key++) {
      const int hides =
          key >= keys.begin && ((visible->mask.present && fovea_mask_hides(&visible->mask.tile, lane, key)) ||
                                fovea_positions_hide(&t->layout, block, lane, key));
      hidden[key] = hides ? -__builtin_inff() : 0;
    }
    block->hidden_rows[lane] = hidden;
  }
  block->hidden = (fovea_mask_tile){block->hidden_rows, FOVEA_MASK_F32, 0, (int)keys.end};
}
