#include "attention_problem.h"

#include "support/generator.h"
#include "support/rules.h"

#include <math.h>
#include <stdlib.h>

/* Sizes of position terms. The tables hold random numbers. */
enum { BEFORE = 6, AFTER = 3, BUCKETS = 12, MAX_DISTANCE = 40, DEPTH = 2, HEIGHT = 3, WIDTH = 4 };
enum { TERMS = 4, GRID_PLACES = (2 * DEPTH - 1) * (2 * HEIGHT - 1) * (2 * WIDTH - 1) };
#define ALIBI_SLOPE 0x1.99999ap-4f

struct tables {
  float relative[BEFORE + 1 + AFTER], t5[BUCKETS], grid[GRID_PLACES];
  float *shaw_keys, *shaw_values;
  double *row_scales;
};

/* All that a row of the vector needs. */
struct row {
  const struct attention *problem;
  const struct numbers *numbers;
  struct contract_row contract;
  fovea_problem rules;
  struct entry entry;
  int64_t index;
  float *terms[TERMS];
};

static void *room(int64_t count, size_t size) {
  void *memory = calloc((size_t)count + 1, size);
  if (memory == NULL) abort();
  return memory;
}

static float *random_numbers(struct generator *generator, fovea_type type, int64_t count, float gain) {
  float *numbers = room(count, sizeof *numbers);
  for (int64_t i = 0; i < count; i++) numbers[i] = rounded_number(type, gain * generator_uniform(generator));
  return numbers;
}

static float *make_mask(struct generator *generator, const struct attention *p) {
  const int64_t keys = p->keys - p->mask_begin;
  float *mask = room(p->rows * keys, sizeof *mask);
  for (int64_t i = 0; i < p->rows; i++)
    for (int64_t j = 0; j < keys; j++) {
      const int64_t key = j + p->mask_begin;
      const int hidden = p->mask == MASK_BLOCKS
                             ? i == p->rows - 1 || (key >= 128 && key < 256) || (key >= 2048 && key < 4096)
                             : generator_below(generator, 4) == 0;
      const float number = rounded_number(p->type, 3 * generator_uniform(generator));
      mask[i * keys + j] = p->mask != MASK_ADDITIVE ? !hidden : hidden ? -INFINITY : number;
    }
  return mask;
}

static int sees(const void *context, int64_t j) {
  const struct row *row = context;
  const struct attention *p = row->problem;
  if (!row_sees(&row->rules, &row->entry, row->index, j)) return 0;
  if (p->mask == MASK_NONE || j < p->mask_begin) return 1;
  const float number = row->numbers->mask[row->index * (p->keys - p->mask_begin) + j - p->mask_begin];
  return p->mask == MASK_ADDITIVE ? number != -INFINITY : number != 0;
}

static fovea_problem rules_of(const struct attention *p) {
  const fovea_range all = {0, FOVEA_UNLIMITED}, some = {p->keys_begin, p->keys_end};
  return (fovea_problem){.q_len = p->rows,
                         .kv_len = p->keys,
                         .causal = p->causal,
                         .window_left = p->window ? p->window_left : FOVEA_UNLIMITED,
                         .window_right = p->window ? p->window_right : FOVEA_UNLIMITED,
                         .offset = p->offset,
                         .keys = p->keys_end ? some : all,
                         .chunks = {p->chunk_size, p->chunk_left, p->chunk_right}};
}

/* What the terms add to the scores of a row, in the order of the manifest. */
static int fill_terms(struct row *row, const struct tables *tables) {
  const struct attention *p = row->problem;
  const int64_t extent[3] = {DEPTH, HEIGHT, WIDTH}, own = row->index + p->offset;
  int count = 0;
  if (p->alibi) {
    for (int64_t j = 0; j < p->keys; j++)
      row->terms[count][j] = contract_alibi(ALIBI_SLOPE, j - own, p->alibi == 2);
    count++;
  }
  if (p->relative) {
    for (int64_t j = 0; j < p->keys; j++)
      row->terms[count][j] = tables->relative[contract_relative_place(j - own, BEFORE, AFTER)];
    count++;
  }
  if (p->t5) {
    for (int64_t j = 0; j < p->keys; j++)
      row->terms[count][j] = tables->t5[contract_bucket(j - own, BUCKETS, MAX_DISTANCE, p->t5 == 2)];
    count++;
  }
  if (p->grid) {
    for (int64_t j = 0; j < p->keys; j++) row->terms[count][j] = tables->grid[contract_grid_place(extent, own, j)];
    count++;
  }
  return count;
}

static void open_row(struct row *row, const struct attention *p, const struct numbers *numbers,
                     const struct tables *tables, int64_t i) {
  row->problem = p;
  row->numbers = numbers;
  row->index = i;
  row->rules = rules_of(p);
  row->entry = (struct entry){.rows = p->rows, .q_len = p->rows, .kv_len = p->keys, .offset = p->offset};
  const int added = p->mask == MASK_ADDITIVE;
  double scale = p->head_scale != 0 ? p->head_scale : p->scale != 0 ? p->scale : 1 / sqrt((double)p->qk_dim);
  if (p->row_scales) scale = scale * tables->row_scales[i];
  row->contract = (struct contract_row){
      .q = numbers->q + i * p->qk_dim,
      .k = numbers->k,
      .v = numbers->v,
      .k_stride = p->qk_dim,
      .v_stride = p->v_dim,
      .qk_dim = p->qk_dim,
      .v_dim = p->v_dim,
      .positions = p->keys,
      .scale = scale,
      .leaky = p->leaky,
      .slope = p->slope,
      .softcap = p->softcap,
      .terms = (const float *const *)row->terms,
      .term_count = fill_terms(row, tables),
      .bias = added ? numbers->mask + i * (p->keys - p->mask_begin) : NULL,
      .bias_begin = p->mask_begin,
      .sink = p->sink,
      .sees = sees,
      .rules = row,
      .normaliser = p->normaliser,
      .shaw_keys = p->shaw_keys ? tables->shaw_keys : NULL,
      .shaw_values = p->shaw_values ? tables->shaw_values : NULL,
      .shaw_distance = p->shaw_distance,
      .own = i + p->offset,
      .divisor = p->divisor,
      .divisor_value = p->divisor_value,
      .sigmoid_bias = p->sigmoid_bias,
  };
}

/* ---- The manifest --------------------------------------------------------------------------------------------- */

static void write_rules(const struct attention *p) {
  vector_integer("offset", p->offset);
  if (p->causal) vector_integer("causal", 1);
  if (p->window && p->window_left != FOVEA_UNLIMITED) vector_integer("window_left", p->window_left);
  if (p->window && p->window_right != FOVEA_UNLIMITED) vector_integer("window_right", p->window_right);
  if (p->chunk_size) {
    vector_integer("chunk_size", p->chunk_size);
    if (p->chunk_left != FOVEA_UNLIMITED) vector_integer("chunk_left", p->chunk_left);
    if (p->chunk_right != FOVEA_UNLIMITED) vector_integer("chunk_right", p->chunk_right);
  }
  if (p->keys_end) {
    vector_integer("keys_begin", p->keys_begin);
    vector_integer("keys_end", p->keys_end);
  }
  if (p->mask_begin) vector_integer("mask_begin", p->mask_begin);
}

static void write_terms(const struct attention *p, const struct tables *tables) {
  if (p->alibi) {
    const float slope = ALIBI_SLOPE;
    vector_numbers(INPUT, "alibi", FOVEA_F32, &slope, 1, 0);
    vector_integer("alibi_symmetric", p->alibi == 2);
  }
  if (p->relative) {
    vector_integer("relative_before", BEFORE);
    vector_integer("relative_after", AFTER);
    vector_numbers(INPUT, "relative", FOVEA_F32, tables->relative, BEFORE + 1 + AFTER, 0);
  }
  if (p->t5) {
    vector_integer("t5_max_distance", MAX_DISTANCE);
    vector_integer("t5_bidirectional", p->t5 == 2);
    vector_numbers(INPUT, "t5", FOVEA_F32, tables->t5, BUCKETS, 0);
  }
  if (p->grid) {
    vector_integer("grid_depth", DEPTH);
    vector_integer("grid_height", HEIGHT);
    vector_integer("grid_width", WIDTH);
    vector_numbers(INPUT, "grid", FOVEA_F32, tables->grid, GRID_PLACES, 0);
  }
  const int64_t vectors = 2 * p->shaw_distance + 1;
  if (p->shaw_keys) vector_numbers(INPUT, "shaw_keys", FOVEA_F32, tables->shaw_keys, vectors, p->qk_dim);
  if (p->shaw_values) vector_numbers(INPUT, "shaw_values", FOVEA_F32, tables->shaw_values, vectors, p->v_dim);
}

static void write_scores(const struct attention *p, const struct tables *tables) {
  static const char *const normalisers[] = {"softmax", "relu", "relu_squared", "sigmoid"};
  static const char *const divisors[] = {"none", "constant", "keys", "sum"};
  if (p->scale != 0) vector_double("scale", p->scale);
  if (p->head_scale != 0) vector_double("scale", p->head_scale);
  if (p->row_scales) vector_array(INPUT, "row_scales", ARRAY_F64, tables->row_scales, p->rows, 0);
  if (p->softcap != 0) vector_double("softcap", p->softcap);
  if (p->leaky) vector_double("leaky_slope", p->slope);
  if (p->sink != NULL) vector_numbers(INPUT, "sink", FOVEA_F32, p->sink, 1, 0);
  if (p->normaliser == CONTRACT_SOFTMAX) return;
  vector_word("normaliser", normalisers[p->normaliser]);
  vector_word("divisor", divisors[p->divisor]);
  if (p->divisor == CONTRACT_VALUE) vector_double("divisor_value", p->divisor_value);
  if (p->normaliser == CONTRACT_SIGMOID) vector_double("sigmoid_bias", p->sigmoid_bias);
}

static void write_mask(const struct attention *p, const float *numbers) {
  const int64_t keys = p->keys - p->mask_begin;
  if (p->mask == MASK_ADDITIVE) vector_numbers(INPUT, "mask", p->type, numbers, p->rows, keys);
  if (p->mask == MASK_NONE || p->mask == MASK_ADDITIVE) return;
  uint8_t *allowed = room(p->rows * keys, 1);
  for (int64_t i = 0; i < p->rows * keys; i++) allowed[i] = numbers[i] != 0;
  vector_array(INPUT, "mask", ARRAY_U8, allowed, p->rows, keys);
  free(allowed);
}

/* ---- Expected bits ---------------------------------------------------------------------------------------------- */

/* Of all rows, in one array each. */
struct answers {
  float *out, *lse, *weights, *scores[3], *entropy, *max, *top_scores, *columns, *sixteen;
  int64_t *top_keys;
};

static void answer_row(const struct row *row, struct answers *to) {
  const struct attention *p = row->problem;
  const int64_t i = row->index;
  contract_row(&row->contract, to->out + i * p->v_dim, to->lse + i);
  contract_row_weights(&row->contract, to->weights + i * p->keys);
  for (int kind = 0; kind < 3; kind++)
    contract_row_scores(&row->contract, (enum contract_scores)kind, to->scores[kind] + i * p->keys);
  contract_row_top(&row->contract, TOP, to->top_keys + i * TOP, to->top_scores + i * TOP);
  if (p->outputs & OUTPUT_ENTROPY) to->entropy[i] = contract_row_entropy(&row->contract);
  to->max[i] = contract_row_max(&row->contract);
  contract_add_columns(to->weights + i * p->keys, p->keys, i, i == p->rows - 1, to->sixteen, to->columns);
}

/* Of a head: NaN if a row's is. */
static float largest(const float *max, int64_t rows) {
  float m = -INFINITY;
  for (int64_t i = 0; i < rows; i++)
    if (max[i] > m || isnan(max[i])) m = max[i];
  return m;
}

static void write_answers(const struct attention *p, const struct answers *a) {
  static const char *const scores[] = {"raw", "capped", "biased"};
  vector_numbers(EXPECTED, "out", p->o_type, a->out, p->rows, p->v_dim);
  if (p->normaliser == CONTRACT_SOFTMAX) vector_numbers(EXPECTED, "lse", FOVEA_F32, a->lse, p->rows, 0);
  if (p->outputs & OUTPUT_WEIGHTS) vector_numbers(EXPECTED, "weights", FOVEA_F32, a->weights, p->rows, p->keys);
  for (int kind = 0; kind < 3; kind++)
    if (p->outputs & OUTPUT_SCORES)
      vector_numbers(EXPECTED, scores[kind], FOVEA_F32, a->scores[kind], p->rows, p->keys);
  if (p->outputs & OUTPUT_MAX) {
    const float max = largest(a->max, p->rows);
    vector_numbers(EXPECTED, "max_logit", FOVEA_F32, &max, 1, 0);
  }
  if (p->outputs & OUTPUT_TOP) {
    vector_array(EXPECTED, "top_keys", ARRAY_I64, a->top_keys, p->rows, TOP);
    vector_numbers(EXPECTED, "top_scores", FOVEA_F32, a->top_scores, p->rows, TOP);
  }
  if (p->outputs & OUTPUT_ENTROPY) vector_numbers(EXPECTED, "entropy", FOVEA_F32, a->entropy, p->rows, 0);
  if (p->outputs & OUTPUT_COLUMNS) vector_numbers(EXPECTED, "column_sums", FOVEA_F32, a->columns, p->keys, 0);
}

/* The fewest nodes that make up spans, as first key and keys; returns how many. */
static int nodes_of(int64_t first, int64_t end, int64_t nodes[][2]) {
  int count = 0;
  while (first < end) {
    int64_t size = 1;
    while (first % (2 * size) == 0 && first + 2 * size <= end) size *= 2;
    nodes[count][0] = 2048 * first;
    nodes[count++][1] = 2048 * size;
    first += size;
  }
  return count;
}

static void write_state(const struct attention *p, struct row *rows) {
  int64_t nodes[32][2];
  const int count = nodes_of(p->first_span, p->end_span, nodes);
  float *m = room(p->rows * count, 4), *l = room(p->rows * count, 4), *o = room(p->rows * count * p->v_dim, 4);
  for (int64_t i = 0; i < p->rows; i++)
    for (int n = 0; n < count; n++) {
      const int64_t at = i * count + n;
      contract_node(&rows[i].contract, nodes[n][0], nodes[n][1], o + at * p->v_dim, m + at, l + at);
    }
  vector_array(EXPECTED, "nodes", ARRAY_I64, nodes, count, 2);
  vector_numbers(EXPECTED, "m", FOVEA_F32, m, p->rows, count);
  vector_numbers(EXPECTED, "l", FOVEA_F32, l, p->rows, count);
  vector_numbers(EXPECTED, "o", FOVEA_F32, o, p->rows, count * p->v_dim);
  free(m);
  free(l);
  free(o);
}

static void write_rows(const struct attention *p, struct row *rows) {
  struct answers a = {.out = room(p->rows * p->v_dim, 4),
                      .lse = room(p->rows, 4),
                      .weights = room(p->rows * p->keys, 4),
                      .entropy = room(p->rows, 4),
                      .max = room(p->rows, 4),
                      .top_scores = room(p->rows * TOP, 4),
                      .columns = room(p->keys, 4),
                      .sixteen = room(16 * p->keys, 4),
                      .top_keys = room(p->rows * TOP, 8)};
  for (int kind = 0; kind < 3; kind++) a.scores[kind] = room(p->rows * p->keys, 4);
  for (int64_t i = 0; i < p->rows; i++) answer_row(&rows[i], &a);
  write_answers(p, &a);
  void *const all[] = {a.out,     a.lse,     a.weights,  a.entropy,   a.max,       a.top_scores,
                       a.columns, a.sixteen, a.top_keys, a.scores[0], a.scores[1], a.scores[2]};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

void write_attention_problem(const struct attention *p) {
  struct generator generator = {0};
  for (const char *letter = p->name; *letter; letter++) generator.state = generator.state * 31 + (uint64_t)*letter;
  struct numbers numbers = {
      .q = random_numbers(&generator, p->type, p->rows * p->qk_dim, p->gain != 0 ? p->gain : 2),
      .k = random_numbers(&generator, p->type, p->keys * p->qk_dim, 2),
      .v = random_numbers(&generator, p->type, p->keys * p->v_dim, 2),
      .mask = make_mask(&generator, p)};
  struct tables tables = {.row_scales = room(p->rows, sizeof(double))};
  for (int64_t i = 0; i < p->rows; i++) tables.row_scales[i] = 1 + 0.5 * (double)generator_uniform(&generator);
  for (int i = 0; i < BEFORE + 1 + AFTER; i++) tables.relative[i] = 3 * generator_uniform(&generator);
  for (int i = 0; i < BUCKETS; i++) tables.t5[i] = 3 * generator_uniform(&generator);
  for (int i = 0; i < GRID_PLACES; i++) tables.grid[i] = 3 * generator_uniform(&generator);
  const int64_t vectors = 2 * p->shaw_distance + 1;
  tables.shaw_keys = random_numbers(&generator, FOVEA_F32, vectors * p->qk_dim, 1);
  tables.shaw_values = random_numbers(&generator, FOVEA_F32, vectors * p->v_dim, 1);
  if (p->plant != NULL) p->plant(&numbers, p);

  struct row *rows = room(p->rows, sizeof *rows);
  for (int64_t i = 0; i < p->rows; i++) {
    for (int t = 0; t < TERMS; t++) rows[i].terms[t] = room(p->keys, 4);
    open_row(&rows[i], p, &numbers, &tables, i);
  }
  vector_begin(p->name, "attention", p->clauses);
  vector_numbers(INPUT, "q", p->type, numbers.q, p->rows, p->qk_dim);
  vector_numbers(INPUT, "k", p->type, numbers.k, p->keys, p->qk_dim);
  vector_numbers(INPUT, "v", p->type, numbers.v, p->keys, p->v_dim);
  write_rules(p);
  write_mask(p, numbers.mask);
  write_scores(p, &tables);
  write_terms(p, &tables);
  if (p->end_span > 0) {
    vector_integer("first_span", p->first_span);
    vector_integer("end_span", p->end_span);
    write_state(p, rows);
  } else {
    if (p->outputs & OUTPUT_TOP) vector_integer("top_k", TOP);
    write_rows(p, rows);
  }
  vector_end();

  for (int64_t i = 0; i < p->rows; i++)
    for (int t = 0; t < TERMS; t++) free(rows[i].terms[t]);
  void *const all[] = {numbers.q,         numbers.k,        numbers.v,          numbers.mask,
                       tables.row_scales, tables.shaw_keys, tables.shaw_values, rows};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}
