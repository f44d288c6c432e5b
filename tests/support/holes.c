#include "holes.h"

#include "rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set(unsigned char *held, int64_t begin, int64_t end, int value) {
  for (int64_t key = begin; key < end; key++) held[key] = (unsigned char)value;
}

/* Stretches of `unit` keys times up to `most`, in turn. */
static void draw_stretches(unsigned char *held, int64_t length, int64_t unit, int64_t most,
                           struct generator *generator) {
  int value = (int)generator_below(generator, 2);
  for (int64_t at = 0, end; at < length; at = end, value = !value) {
    end = at + unit * (1 + generator_below(generator, most));
    if (end > length) end = length;
    set(held, at, end, value);
  }
}

static void draw(unsigned char *held, int64_t length, enum hole_kind kind, struct generator *generator) {
  const int64_t one = generator_below(generator, length), other = one + generator_below(generator, length - one);
  set(held, 0, length, kind != HOLES_BUT_ONE);
  switch (kind) {
  case HOLES_ANYWHERE:
    for (int64_t key = 0; key < length; key++) held[key] = generator_below(generator, 2) == 0;
    break;
  case HOLES_FEW_KEYS:
    for (int64_t key = 0; key < length; key++) held[key] = generator_below(generator, 40) == 0;
    break;
  case HOLES_STRETCHES:
    draw_stretches(held, length, 1, 40, generator);
    break;
  case HOLES_BLOCKS:
    draw_stretches(held, length, 128, length > 4096 ? 40 : 2, generator);
    break;
  case HOLES_WINDOW:
    set(held, one, other, 0);
    break;
  case HOLES_AT_START:
    set(held, 0, one, 0);
    break;
  default:
    break;
  }
  held[length - 1] = 1;
}

/* Panels begin at multiples of 16, and the last one holds the last key. */
static void suit_panels(unsigned char *held, int64_t length) {
  set(held, (length - 1) / 16 * 16, length, 1);
  for (int64_t key = 1; key < length; key++)
    if (key % 16 != 0 && !held[key - 1]) held[key] = 0;
}

void holes_draw(struct holes *holes, const fovea_problem *problem, enum hole_kind kind, int panels,
                struct generator *generator) {
  for (int64_t b = 0; b < problem->batch; b++) {
    const int64_t length = problem_entry(problem, b).kv_len;
    holes->held[b] = malloc((size_t)length + 1);
    holes->lengths[b] = length;
    if (holes->held[b] == NULL) abort();
    if (length == 0) continue;
    draw(holes->held[b], length, kind, generator);
    if (panels) suit_panels(holes->held[b], length);
  }
}

void holes_free(struct holes *holes) {
  for (int b = 0; b < LISTED_ENTRIES; b++) free(holes->held[b]);
  memset(holes, 0, sizeof *holes);
}

void holes_spoil(const struct holes *holes, struct trial *trial) {
  const fovea_problem *problem = &trial->problem;
  for (int64_t b = 0; b < problem->batch; b++)
    for (int64_t head = 0; head < problem->kv_heads; head++)
      for (int64_t key = 0; key < holes->lengths[b]; key++) {
        if (holes->held[b][key]) continue;
        float *k = tensor_row(&trial->k, b, head, key), *v = tensor_row(&trial->v, b, head, key);
        for (int64_t d = 0; d < problem->qk_dim; d++) k[d] = NAN;
        for (int64_t d = 0; d < problem->v_dim; d++) v[d] = NAN;
      }
}

/* What the trial's mask adds to a score; 0 if it says nothing. */
static float added(const struct trial *trial, int64_t b, int64_t h, int64_t i, int64_t key) {
  const fovea_problem *problem = &trial->problem;
  const int64_t begin = problem_mask_begin(problem, b);
  if (problem->mask.type == FOVEA_MASK_NONE || key < begin) return 0.0f;
  return key - begin >= problem_mask_keys(problem) ? -INFINITY : mask_get(&trial->mask, b, h, i, key - begin);
}

struct trial trial_with_mask_of(const struct trial *trial, uint64_t seed, const struct holes *holes) {
  fovea_problem whole = trial->problem;
  whole.mask.begin = 0;
  whole.mask.begins = NULL;
  whole.mask.keys = FOVEA_UNLIMITED;
  if (whole.mask.type == FOVEA_MASK_NONE) whole.mask.type = FOVEA_MASK_BOOL;
  whole.mask.strides = fovea_mask_layout(whole.mask.type, whole.batch, whole.heads, problem_mask_rows(&whole),
                                         problem_mask_keys(&whole));
  struct trial masked = trial_create(&whole, seed);
  masked.rules = trial->rules;
  for (int64_t b = 0; b < whole.batch; b++)
    for (int64_t h = 0; h < whole.heads; h++)
      for (int64_t i = 0; i < masked.mask.rows; i++)
        for (int64_t key = 0; key < masked.mask.keys; key++) {
          const int hidden = key < holes->lengths[b] && !holes->held[b][key];
          mask_set(&masked.mask, b, h, i, key, hidden ? -INFINITY : added(trial, b, h, i, key));
        }
  return masked;
}

static fovea_segment piece_of(const fovea_segment *segment, int64_t begin, int64_t end) {
  fovea_segment piece = *segment;
  piece.first = begin;
  piece.rows = end - begin;
  piece.k = (char *)piece.k + segment_place(segment, 0, 0, begin, 0) * (int64_t)type_size(segment->k_type);
  piece.v = (char *)piece.v + segment_place(segment, 1, 0, begin, 0) * (int64_t)type_size(segment->v_type);
  return piece;
}

static void punch(struct cache *cache, int64_t entry, const unsigned char *held, int64_t length) {
  const fovea_sequence *sequence = &cache->sequences[entry];
  fovea_segment *pieces = malloc((size_t)(length + sequence->count + 1) * sizeof *pieces);
  int64_t count = 0;
  if (pieces == NULL) abort();
  for (int64_t i = 0; i < sequence->count; i++) {
    const fovea_segment *segment = &cache->segments[entry][i];
    const int64_t end = segment->first + segment->rows;
    for (int64_t begin = segment->first, at; begin < end; begin = at) {
      const int holds = begin >= length || held[begin];
      for (at = begin; at < end && (at >= length || held[at]) == holds; at++) continue;
      if (holds) pieces[count++] = piece_of(segment, begin, at);
    }
  }
  free(cache->segments[entry]);
  cache->segments[entry] = pieces;
  cache->sequences[entry] = fovea_sequence_of(pieces, count);
}

void cache_punch(struct cache *cache, const struct trial *trial, const struct holes *holes) {
  for (int64_t b = 0; b < trial->problem.batch; b++) punch(cache, b, holes->held[b], holes->lengths[b]);
}
