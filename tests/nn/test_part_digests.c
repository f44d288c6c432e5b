/* The stored digests of the parts of models of `fovea selftest`, computed from the contract; and every instruction
 * set that this CPU has. */
#include "contract.h"
#include "nn/contract_functions.h"
#include "nn/contract_nn.h"
#include "nn/contract_norm.h"
#include "nn/contract_recurrent.h"
#include "nn/contract_rows.h"
#include "nn/expected_model.h"
#include "support/check.h"
#include "support/trial.h"
#include "support/types.h"
#include "tools/fovea/selftest_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float *numbers_create(int64_t count) {
  float *numbers = calloc((size_t)count, sizeof *numbers);
  assert_non_null(numbers);
  return numbers;
}

/* Stores an output's numbers, and frees them. */
static void keep(selftest_part_run *run, int which, float *numbers) {
  const fovea_type type = run->outputs[which].type;
  for (int64_t i = 0; i < run->outputs[which].count; i++) {
    if (type == FOVEA_F32)
      ((float *)run->outputs[which].data)[i] = contract_nn_result(numbers[i]);
    else
      ((uint16_t *)run->outputs[which].data)[i] = rounded(type, numbers[i]);
  }
  free(numbers);
}

static void expect_map(selftest_part_run *run) {
  const fovea_nn_map *map = &run->of.map;
  float *x = expected_numbers(map->x, map->x_type, map->rows * map->dim), *y = numbers_create(map->rows * map->dim);
  for (int64_t i = 0; i < map->rows * map->dim; i++) y[i] = contract_nn_activation(x[i], run->part->activation);
  for (int64_t i = 0; i < map->rows && run->part->kind == SELFTEST_SOFTMAX; i++)
    contract_softmax(x + i * map->dim, map->dim, y + i * map->dim);
  keep(run, 0, y);
  free(x);
}

static void expect_norm(selftest_part_run *run) {
  const fovea_nn_norm *norm = &run->of.norm.norm;
  const fovea_nn_norm_rows *rows = &run->of.norm.rows;
  const int64_t dim = norm->dim, count = rows->rows * dim;
  float *x = expected_numbers(rows->x, rows->x_type, count), *y = numbers_create(count);
  if (rows->residual) {
    float *residual = expected_numbers(rows->residual, rows->residual_type, count);
    for (int64_t i = 0; i < count; i++) x[i] = x[i] + residual[i];
    free(residual);
  }
  for (int64_t i = 0; i < rows->rows; i++)
    contract_norm(norm->kind, x + i * dim, dim, (float)norm->eps, norm->gamma, norm->beta, y + i * dim);
  keep(run, 0, y);
  if (rows->residual)
    keep(run, 1, x);
  else
    free(x);
}

static void expect_sinusoids(selftest_part_run *run) {
  const fovea_nn_sinusoid_rows *rows = &run->of.sinusoids;
  const int64_t count = rows->rows * rows->dim;
  struct fraction *turns = malloc((size_t)(rows->dim + 1) * sizeof *turns);
  float *x = rows->x ? expected_numbers(rows->x, rows->x_type, count) : NULL, *y = numbers_create(count);
  assert_non_null(turns);
  contract_waves(rows->dim, rows->base, rows->exponent, turns);
  for (int64_t i = 0; i < rows->rows; i++)
    contract_sinusoids(rows->dim, rows->layout, rows->exponent, turns, rows->first_position + i, y + i * rows->dim);
  for (int64_t i = 0; i < count && x; i++) {
    const float scaled = x[i] * rows->scale;
    y[i] = scaled + y[i];
  }
  keep(run, 0, y);
  free(x);
  free(turns);
}

static void expect_buckets(selftest_part_run *run) {
  const selftest_part *p = run->part;
  for (int64_t i = 0; i < p->rows; i++)
    run->of.buckets.words[i] =
        (int32_t)contract_t5_bucket(p->first + i, p->bidirectional, p->buckets, p->max_distance);
}

/* A number of a table, or of the row that comes in its place. */
static float looked_up(const fovea_nn_table *table, int64_t row, int64_t d, int64_t dim) {
  const int64_t stride = table->stride == FOVEA_CONTIGUOUS ? dim : table->stride;
  float *numbers = expected_numbers(table->data, table->type, (row + 1) * stride);
  const float number = numbers[row * stride + d];
  free(numbers);
  return number;
}

static void expect_embedding(selftest_part_run *run) {
  const fovea_nn_embedding *e = &run->of.embedding.embedding;
  const fovea_nn_embedding_rows *rows = &run->of.embedding.rows;
  const int32_t *ids = rows->ids, *types = rows->token_type_ids;
  float *y = numbers_create(rows->rows * e->dim);
  for (int64_t i = 0; i < rows->rows * e->dim; i++) {
    const int64_t row = i / e->dim, d = i % e->dim;
    y[i] = looked_up(&e->tokens, ids[row], d, e->dim) * e->scale;
    if (types) y[i] = y[i] + looked_up(&e->token_types, types[row], d, e->dim);
    if (e->positions.data) y[i] = y[i] + looked_up(&e->positions, rows->first_position + row, d, e->dim);
  }
  keep(run, 0, y);
}

static void expect_dropout(selftest_part_run *run) {
  const fovea_nn_dropout_rows *rows = &run->of.dropout;
  float *y = expected_numbers(rows->x, rows->x_type, rows->rows * rows->dim);
  for (int64_t i = 0; i < rows->rows * rows->dim; i++) {
    const uint64_t index = (uint64_t)(rows->first_row * rows->dim + i);
    y[i] = contract_dropout(y[i], rows->p, contract_random(rows->seed, rows->stream, index));
  }
  keep(run, 0, y);
}

static void expect_multi_head(selftest_part_run *run) {
  const selftest_layer_of_attention *a = &run->of.model.self;
  const fovea_nn_attention_tensors *t = &a->tensors;
  const int64_t rows = a->problem.batch * a->problem.q_len, keys = a->problem.batch * a->problem.kv_len;
  float *x = expected_numbers(t->x, t->x_type, rows * a->query.in);
  float *memory = t->memory ? expected_numbers(t->memory, t->memory_type, keys * a->key.in) : NULL;
  float *residual = t->residual ? expected_numbers(t->residual, t->residual_type, rows * a->output.out) : NULL;
  keep(run, 0, expected_attention(&a->attention, &a->problem, t, x, memory, residual));
  free(x);
  free(memory);
  free(residual);
}

static void expect_block(selftest_part_run *run) {
  const selftest_layer_of_attention *self = &run->of.model.self, *cross = &run->of.model.cross;
  const fovea_nn_attending over_x = {&self->problem, &self->tensors},
                           over_memory = {&cross->problem, &cross->tensors};
  keep(run, 0, expected_block(&run->of.model.block, &over_x, &over_memory, run->of.model.x));
}

/* Rows through a layer; without it, as they are. */
static float *projected(const fovea_nn_linear *layer, const void *x, fovea_type type, int64_t rows, int64_t dim) {
  float *numbers = expected_numbers(x, type, rows * (layer ? layer->in : dim));
  if (!layer) return numbers;
  float *y = expected_linear(layer, numbers, rows, NULL, NULL);
  free(numbers);
  return y;
}

static int sees_all(const void *rules, int64_t position) {
  (void)rules;
  return position >= 0;
}

/* One row: `r` has its scores. */
static void attend_by_scores(const fovea_nn_additive_tensors *t, const float *r, const float *values, float *o,
                             float *weights) {
  unsigned char seen[512];
  const float one = 1;
  float lse;
  const struct contract_row row = {.q = &one,
                                   .k = r,
                                   .v = values,
                                   .k_stride = 1,
                                   .v_stride = t->v_dim,
                                   .qk_dim = 1,
                                   .v_dim = t->v_dim,
                                   .positions = t->kv_len,
                                   .scale = 1,
                                   .sees = sees_all};
  assert_true(t->kv_len <= (int64_t)sizeof seen);
  memset(seen, 1, sizeof seen);
  contract_row(&row, o, &lse);
  contract_weights(r, seen, t->kv_len, weights);
}

static void expect_additive(selftest_part_run *run) {
  const fovea_nn_additive *a = &run->of.additive.additive;
  const fovea_nn_additive_tensors *t = &run->of.additive.tensors;
  const int64_t rows = t->batch * t->q_len, keys = t->batch * t->kv_len;
  float *q = projected(a->query, t->q, t->q_type, rows, a->dim), *r = numbers_create(t->kv_len);
  float *k = projected(a->key, t->k, t->k_type, keys, a->dim);
  float *values = expected_numbers(t->v, t->v_type, keys * t->v_dim);
  float *o = numbers_create(rows * t->v_dim), *weights = numbers_create(rows * t->kv_len);
  for (int64_t i = 0; i < rows; i++) {
    const int64_t first = i / t->q_len * t->kv_len;
    for (int64_t j = 0; j < t->kv_len; j++)
      r[j] = contract_additive(q + i * a->dim, k + (first + j) * a->dim, a->w, a->dim, -1);
    attend_by_scores(t, r, values + first * t->v_dim, o + i * t->v_dim, weights + i * t->kv_len);
  }
  keep(run, 0, o);
  keep(run, 1, weights);
  free(q);
  free(k);
  free(r);
  free(values);
}

static void expect_cell(selftest_part_run *run) {
  const fovea_nn_cell *cell = &run->of.cell.cell;
  const fovea_nn_cell_rows *rows = &run->of.cell.rows;
  const int64_t dim = cell->hidden->in, gates = cell->hidden->out, count = rows->rows * dim;
  float *x = projected(cell->input, rows->x, rows->x_type, rows->rows, gates);
  float *h = expected_numbers(rows->h, rows->h_type, count);
  float *products = expected_linear(cell->hidden, h, rows->rows, NULL, NULL), *y = numbers_create(count);
  float *c = rows->c ? expected_numbers(rows->c, rows->c_type, count) : NULL;
  for (int64_t i = 0; i < rows->rows; i++) {
    const float *from = x + i * gates, *other = products + i * gates;
    if (c)
      contract_lstm(from, other, c + i * dim, dim, y + i * dim, c + i * dim);
    else
      contract_gru(from, other, h + i * dim, dim, y + i * dim);
  }
  keep(run, 0, y);
  if (c) keep(run, 1, c);
  free(x);
  free(h);
  free(products);
}

static uint64_t contract_digest(const selftest_part *part) {
  static void (*const expect[])(selftest_part_run *) = {
      [SELFTEST_ACTIVATION] = expect_map,  [SELFTEST_SOFTMAX] = expect_map,
      [SELFTEST_NORM] = expect_norm,       [SELFTEST_SINUSOIDS] = expect_sinusoids,
      [SELFTEST_BUCKETS] = expect_buckets, [SELFTEST_EMBEDDING] = expect_embedding,
      [SELFTEST_DROPOUT] = expect_dropout, [SELFTEST_MULTI_HEAD] = expect_multi_head,
      [SELFTEST_BLOCK] = expect_block,     [SELFTEST_ADDITIVE] = expect_additive,
      [SELFTEST_GRU] = expect_cell,        [SELFTEST_LSTM] = expect_cell,
  };
  selftest_part_run run;
  assert_true(selftest_prepare_part(part, &run));
  expect[part->kind](&run);
  const uint64_t digest = selftest_part_digest(&run);
  selftest_release_part(&run);
  return digest;
}

static void test_digests(void **state) {
  (void)state;
  int wrong = 0;
  for (int i = 0; i < selftest_part_count; i++) {
    const uint64_t digest = contract_digest(&selftest_parts[i]);
    if (digest == selftest_part_digests[i]) continue;
    wrong++;
    print_error("%s: the contract gives %016" PRIx64 ", stored is %016" PRIx64 "\n", selftest_parts[i].name, digest,
                selftest_part_digests[i]);
  }
  assert_int_equal(wrong, 0);
}

static void test_every_isa(void **state) {
  (void)state;
  for (const char *const *isa = usable_isas(); *isa; isa++)
    for (int i = 0; i < selftest_part_count; i++) {
      selftest_part_run run;
      fovea_error error;
      assert_true(selftest_prepare_part(&selftest_parts[i], &run));
      if (selftest_run_part(&run, *isa, &error) != FOVEA_OK) fail_msg("%s: %s", selftest_parts[i].name, error.text);
      if (selftest_part_digest(&run) != selftest_part_digests[i]) fail_msg("%s: %s", *isa, selftest_parts[i].name);
      selftest_release_part(&run);
    }
}

/* Strange numbers must leave most results finite and not all alike, or a digest says little. */
static void test_answers_differ(void **state) {
  (void)state;
  for (int i = 0; i < selftest_part_count; i++) {
    selftest_part_run run;
    int64_t finite = 0;
    if (selftest_parts[i].kind == SELFTEST_BUCKETS) continue;
    assert_true(selftest_prepare_part(&selftest_parts[i], &run));
    assert_int_equal(selftest_run_part(&run, NULL, NULL), FOVEA_OK);
    float *y = expected_numbers(run.outputs[0].data, run.outputs[0].type, run.outputs[0].count);
    for (int64_t j = 0; j < run.outputs[0].count; j++) finite += isfinite(y[j]) && y[j] != 0;
    if (finite * 3 < run.outputs[0].count) fail_msg("%s: %d numbers", selftest_parts[i].name, (int)finite);
    free(y);
    selftest_release_part(&run);
    for (int j = 0; j < i; j++) assert_true(selftest_part_digests[i] != selftest_part_digests[j]);
  }
}

/* As tests/cli/test_digests.c has it. Not final, but no change of it may go unseen. */
static void test_digest_sees_both_outputs(void **state) {
  (void)state;
  const selftest_part part = {"both", SELFTEST_LSTM, 2, 3, .in = 2};
  selftest_part_run run;
  assert_true(selftest_prepare_part(&part, &run));
  const uint64_t untouched = selftest_part_digest(&run);
  for (int which = 0; which < 2; which++)
    for (int64_t i = 0; i < run.outputs[which].count; i++) {
      float *number = (float *)run.outputs[which].data + i;
      *number = 0x1p-149f;
      assert_true(selftest_part_digest(&run) != untouched);
      *number = 0;
    }
  selftest_release_part(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_digests),
      cmocka_unit_test(test_every_isa),
      cmocka_unit_test(test_answers_differ),
      cmocka_unit_test(test_digest_sees_both_outputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
