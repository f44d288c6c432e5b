#include "features.h"

#include "support/modes.h"
#include "support/rules.h"
#include "wild.h"

#include <fovea/terms.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(kind, type, name)                                                                                    \
  { FIELD_##kind, offsetof(type, name) }

static const struct field problem_fields[] = {
    FIELD(LONG, fovea_problem, terms.count),
    FIELD(LONG, fovea_problem, terms.size),
    FIELD(INTEGER, fovea_problem, scales),
    FIELD(INTEGER, fovea_problem, normaliser.kind),
    FIELD(INTEGER, fovea_problem, normaliser.divisor),
    FIELD(REAL, fovea_problem, normaliser.divisor_value),
    FIELD(REAL, fovea_problem, normaliser.sigmoid_bias),
    FIELD(INTEGER, fovea_problem, scores.kind),
    FIELD(LONG, fovea_problem, scores.strides.batch),
    FIELD(LONG, fovea_problem, scores.strides.head),
    FIELD(LONG, fovea_problem, scores.strides.row),
    FIELD(LONG, fovea_problem, scores.heads.begin),
    FIELD(LONG, fovea_problem, scores.heads.end),
    FIELD(LONG, fovea_problem, scores.rows.begin),
    FIELD(LONG, fovea_problem, scores.rows.end),
    FIELD(LONG, fovea_problem, scores.keys.begin),
    FIELD(LONG, fovea_problem, scores.keys.end),
    FIELD(INTEGER, fovea_problem, max_logits),
    FIELD(LONG, fovea_problem, top.k),
    FIELD(LONG, fovea_problem, top.strides.batch),
    FIELD(LONG, fovea_problem, top.strides.head),
    FIELD(LONG, fovea_problem, top.strides.row),
    FIELD(INTEGER, fovea_problem, entropy),
    FIELD(INTEGER, fovea_problem, column_sums.wanted),
    FIELD(LONG, fovea_problem, column_sums.rows.begin),
    FIELD(LONG, fovea_problem, column_sums.rows.end),
};

static const struct field term_fields[] = {
    FIELD(INTEGER, fovea_position_term, kind),
    FIELD(LONG, fovea_position_term, batch),
    FIELD(LONG, fovea_position_term, head),
    FIELD(LONG, fovea_position_term, place),
    FIELD(LONG, fovea_position_term, before),
    FIELD(LONG, fovea_position_term, after),
    FIELD(LONG, fovea_position_term, buckets),
    FIELD(LONG, fovea_position_term, max_distance),
    FIELD(INTEGER, fovea_position_term, bidirectional),
    FIELD(LONG, fovea_position_term, depth),
    FIELD(LONG, fovea_position_term, height),
    FIELD(LONG, fovea_position_term, width),
};

static fovea_position_term any_term(const fovea_problem *problem, struct bytes *bytes) {
  const int64_t heads = problem->heads > 0 && problem->heads < 1000 ? problem->heads : 1;
  fovea_position_term term;
  switch (bytes_below(bytes, 6)) {
  case 0:
    return fovea_term_alibi((int)bytes_below(bytes, 2));
  case 1: /* for each batch element and head, backwards */
    term = fovea_term_alibi((int)bytes_below(bytes, 2));
    term.batch = -heads;
    return term;
  case 2:
    term = fovea_term_relative(bytes_below(bytes, 300), bytes_below(bytes, 100));
    term.head = term.before + 1 + term.after;
    if (bytes_one_in(bytes, 2)) term.head = 0;
    return term;
  case 3:
    return fovea_term_t5(heads, 4 + bytes_below(bytes, 60), 2 + bytes_below(bytes, 300),
                         (int)bytes_below(bytes, 2));
  case 4:
    return fovea_term_grid(heads, 1 + bytes_below(bytes, 3), 1 + bytes_below(bytes, 30),
                           1 + bytes_below(bytes, 30));
  default:
    term = fovea_term_grid(heads, 1, 70, 70); /* all positions of most problems */
    if (bytes_one_in(bytes, 2)) term.head = term.place = 1;
    return term;
  }
}

static void take_terms(struct description *description, struct bytes *bytes, enum description_kind kind) {
  fovea_problem *problem = &description->problem;
  const int64_t count = bytes_below(bytes, 6);
  if (count == 0 || count > FOVEA_POSITION_TERMS_LIMIT) return;
  fovea_position_term *terms = description->lists[DESCRIPTION_LISTS - 1] = malloc((size_t)count * sizeof *terms);
  if (terms == NULL) abort();
  for (int64_t i = 0; i < count; i++) {
    terms[i] = any_term(problem, bytes);
    if (kind == DESCRIBE_WILD && bytes_one_in(bytes, 4))
      wild_edit(&terms[i], term_fields, sizeof term_fields / sizeof term_fields[0], bytes);
  }
  fovea_problem_set_terms(problem, terms, count);
}

static fovea_range any_range(struct bytes *bytes, int64_t length) {
  if (length < 0 || length > INT16_MAX || bytes_one_in(bytes, 2)) return (fovea_range){0, FOVEA_UNLIMITED};
  const int64_t begin = bytes_below(bytes, length + 1);
  return (fovea_range){begin, begin + bytes_below(bytes, length - begin + 1)};
}

/* The strides of a part are contiguous; the strides of all scores are the layout's, or their default. */
static void take_score_part(fovea_problem *problem, struct bytes *bytes) {
  if (bytes_one_in(bytes, 2) || problem->batch < 1 || problem->batch > 64) return;
  problem->scores.heads = any_range(bytes, problem->heads);
  problem->scores.rows = any_range(bytes, problem->q_len);
  problem->scores.keys = any_range(bytes, problem_score_keys(problem));
  const struct score_part part = problem_score_part(problem);
  const int64_t sizes[] = {part.heads, part.rows, part.keys};
  for (int i = 0; i < 3; i++)
    if (sizes[i] < 0 || sizes[i] > INT16_MAX) return;
  problem->scores.strides = (fovea_strides){part.heads * part.rows * part.keys, part.rows * part.keys, part.keys};
}

static void take_outputs(fovea_problem *problem, struct bytes *bytes) {
  const int64_t wanted = bytes_below(bytes, 32);
  problem->max_logits = (int)(wanted & 1);
  problem->entropy = (int)(wanted >> 1 & 1);
  problem->column_sums.wanted = (int)(wanted >> 2 & 1);
  if (problem->column_sums.wanted) problem->column_sums.rows = any_range(bytes, problem->q_len);
  if (wanted & 8) problem->top.k = 1 + bytes_below(bytes, bytes_one_in(bytes, 4) ? 600 : 20);
  problem->scores.kind = (fovea_score_output)(wanted & 16 ? bytes_below(bytes, 5) : 0);
  if (problem->scores.kind) take_score_part(problem, bytes);
}

/* With what others exclude, so that most sound problems have a plan. */
static void take_normaliser(fovea_problem *problem, struct bytes *bytes) {
  static const double divisors[] = {37.5, 1.0, 0x1p-126, 0x1p+127, 1e-30},
                      biases[] = {0.0, -4.5, 90.0, 1e38, -1e-30};
  const int64_t choice = bytes_below(bytes, 24);
  if (choice > 11) return;
  problem->normaliser.kind = (fovea_normaliser)(1 + choice % 3);
  problem->normaliser.divisor = (fovea_divisor)(choice / 3);
  if (problem->normaliser.divisor == FOVEA_DIVISOR_CONSTANT)
    problem->normaliser.divisor_value = divisors[bytes_below(bytes, 5)];
  if (problem->normaliser.kind == FOVEA_NORMALISER_SIGMOID)
    problem->normaliser.sigmoid_bias = biases[bytes_below(bytes, 5)];
  if (bytes_one_in(bytes, 8)) return;
  problem->sink = FOVEA_SINK_NONE;
  problem->max_logits = problem->entropy = problem->column_sums.wanted = 0;
  problem->column_sums.rows = (fovea_range){0, FOVEA_UNLIMITED};
  problem->top.k = 0;
  if (problem->normaliser.divisor == FOVEA_DIVISOR_KEYS && problem->terms.count > 0)
    problem->normaliser.divisor = FOVEA_DIVISOR_NONE;
}

/* Sound problems with a mode lose what modes do not know. */
static void take_scales_or_modes(fovea_problem *problem, struct bytes *bytes, enum description_kind kind) {
  const int64_t choice = bytes_below(bytes, 8);
  if (choice < 4) {
    problem->scales = (fovea_scales)choice;
  } else if (choice == 4 && kind == DESCRIBE_WILD) {
    problem->modes.score = (fovea_mode)wild_number(bytes);
    problem->modes.value = (fovea_mode)bytes_below(bytes, 4);
  } else if (choice > 4) {
    problem_set_modes(problem, 1 + (int)bytes_below(bytes, MODE_PAIRS - 1));
    if (kind == DESCRIBE_SOUND) problem_suit_modes(problem);
  }
}

/* Sound problems have only channel numbers that their modes know. */
static void take_vectors(fovea_problem *problem, struct bytes *bytes, enum description_kind kind) {
  if (problem->modes.score != FOVEA_MODE_INT8 && problem->modes.value != FOVEA_MODE_INT8) return;
  const int64_t choice = bytes_below(bytes, 64);
  const int wild = kind == DESCRIBE_WILD;
  if (wild || problem->modes.value == FOVEA_MODE_INT8)
    problem->channels.value_scale = (fovea_channels)(choice / 16 % (3 + wild));
  if (!wild && problem->modes.score != FOVEA_MODE_INT8) return;
  problem->channels.key_scale = (fovea_channels)(choice / 4 % 4 % (3 + wild));
  if (wild || problem->softcap == 0) problem->channels.key_centre = (fovea_channels)(choice % 4 % (3 + wild));
}

void description_add_features(struct description *description, struct bytes *bytes, enum description_kind kind) {
  fovea_problem *problem = &description->problem;
  take_terms(description, bytes, kind);
  take_outputs(problem, bytes);
  take_normaliser(problem, bytes);
  take_scales_or_modes(problem, bytes, kind);
  take_vectors(problem, bytes, kind);
  if (kind == DESCRIBE_WILD)
    wild_edit(problem, problem_fields, sizeof problem_fields / sizeof problem_fields[0], bytes);
}
