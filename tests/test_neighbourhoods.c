/* Neighbourhoods on grids against neighbourhood attention as its authors compute it (Hassani et al., NATTEN): the
 * first cell of each window by their two formulas, and attention over the cells of the windows in double precision.
 */
#include "support/check.h"
#include "support/patterns.h"
#include "support/trial.h"

#include <math.h>
#include <string.h>

/* NATTEN 0.14's get_window_start() for odd windows, of which `half` cells lie on each side. */
static int64_t first_of_odd_window(int64_t index, int64_t length, int64_t window, int64_t dilation) {
  const int64_t half = window / 2, first = index - half * dilation;
  if (first < 0) return index % dilation;
  if (index + half * dilation < length) return first;
  const int64_t remainder = index % dilation, whole = length / dilation * dilation, rest = length - whole;
  if (remainder < rest) return length - rest + remainder - 2 * half * dilation;
  return whole + remainder - window * dilation;
}

/* NATTEN 0.20's, which knows even windows: cells of one remainder are an axis of their own. */
static int64_t first_of_window(int64_t index, int64_t length, int64_t window, int64_t dilation) {
  const int64_t remainder = index % dilation, own = index / dilation;
  const int64_t cells = length / dilation + (remainder < length % dilation);
  const int64_t left = window / 2, right = window / 2 + (window % 2 - 1);
  const int64_t first = own > left ? own - left : 0;
  const int64_t moved = own + right >= cells ? cells - own - right - 1 : 0; /* 0 or less */
  return (first + moved) * dilation + remainder;
}

/* The cells of a window along one axis, at most `window`. */
static int64_t cells_along(const fovea_rule_axis *axis, int64_t index, int64_t *cells) {
  int64_t first = first_of_window(index, axis->length, axis->window, axis->dilation), count = 0;
  if (axis->window % 2 == 1 && !axis->causal)
    assert_int_equal(first, first_of_odd_window(index, axis->length, axis->window, axis->dilation));
  if (axis->causal) {
    const int64_t most = index / axis->dilation + 1;
    first = index - ((most < axis->window ? most : axis->window) - 1) * axis->dilation;
  }
  for (int64_t cell = first; count < axis->window && (!axis->causal || cell <= index); cell += axis->dilation)
    cells[count++] = cell;
  return count;
}

enum { CELLS = 1000 };

/* The positions of all keys of a row. */
static int64_t keys_of(const fovea_rule *rule, int64_t row, int64_t *keys) {
  int64_t count = 1, step = 1, along[CELLS], before[CELLS];
  keys[0] = 0;
  for (int64_t i = rule->axes; i-- > 0;) {
    const fovea_rule_axis *axis = &rule->axis[i];
    const int64_t cells = cells_along(axis, row % axis->length, along), others = count;
    memcpy(before, keys, (size_t)count * sizeof *keys);
    count = 0;
    for (int64_t c = 0; c < cells; c++)
      for (int64_t o = 0; o < others; o++) keys[count++] = before[o] + along[c] * step;
    row /= axis->length;
    step *= axis->length;
  }
  return count;
}

/* Attention of one row over these keys. */
static void naive_row(const struct trial *trial, int64_t head, int64_t row, const int64_t *keys, int64_t count,
                      double *out) {
  const fovea_problem *problem = &trial->problem;
  const int64_t kv_head = head / (problem->heads / problem->kv_heads);
  double scores[CELLS], most = -1e300, sum = 0.0;
  for (int64_t i = 0; i < count; i++) {
    const float *q = tensor_row(&trial->q, 0, head, row), *k = tensor_row(&trial->k, 0, kv_head, keys[i]);
    scores[i] = 0.0;
    for (int64_t d = 0; d < problem->qk_dim; d++) scores[i] += problem->scale * (double)q[d] * (double)k[d];
    most = fmax(most, scores[i]);
  }
  for (int64_t d = 0; d < problem->v_dim; d++) out[d] = 0.0;
  for (int64_t i = 0; i < count; i++) {
    const double weight = exp(scores[i] - most);
    const float *v = tensor_row(&trial->v, 0, kv_head, keys[i]);
    sum += weight;
    for (int64_t d = 0; d < problem->v_dim; d++) out[d] += weight * (double)v[d];
  }
  for (int64_t d = 0; d < problem->v_dim; d++) out[d] /= sum;
}

static void check_row(const struct trial *trial, const fovea_rule *rule, const fovea_pattern *pattern,
                      int64_t row) {
  int64_t keys[CELLS];
  double out[64];
  const fovea_problem *problem = &trial->problem;
  const int64_t count = keys_of(rule, row, keys);
  int64_t seen = 0;
  for (int64_t key = 0; key < problem->kv_len; key++) seen += fovea_pattern_sees(pattern, 0, row, key);
  assert_int_equal(seen, count);
  for (int64_t i = 0; i < count; i++) assert_true(fovea_pattern_sees(pattern, 0, row, keys[i]));
  for (int64_t head = 0; head < problem->heads; head++) {
    naive_row(trial, head, row, keys, count, out);
    for (int64_t d = 0; d < problem->v_dim; d++)
      assert_true(fabs(out[d] - (double)tensor_row(&trial->o, 0, head, row)[d]) < 2e-6);
  }
}

static void check(const fovea_rule *rule) {
  int64_t positions = 1;
  for (int64_t i = 0; i < rule->axes; i++) positions *= rule->axis[i].length;
  fovea_pattern *pattern = pattern_of(rule, 0, positions, positions, 0);
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 1, positions, positions, 16, 12);
  fovea_problem_resolve(&problem, NULL);
  problem.pattern = pattern;
  struct trial trial = trial_create(&problem, (uint64_t)positions);
  const char *const *isas = usable_isas_for(&problem);
  for (int isa = 0; isas[isa] != NULL; isa++) {
    trial_run(&trial, isas[isa], NULL);
    for (int64_t row = 0; row < positions; row++) check_row(&trial, rule, pattern, row);
  }
  trial_destroy(&trial);
  fovea_pattern_destroy(pattern);
}

/* Every window, dilation and length of a line that is possible. */
static void test_lines(void **state) {
  (void)state;
  for (int64_t length = 1; length <= USUAL_OR_LONG(9, 23); length++)
    for (int64_t window = 1; window <= length; window++)
      for (int64_t dilation = 1; window * dilation <= length; dilation++)
        for (int causal = 0; causal < 2; causal++) {
          const fovea_rule_axis axis = {length, window, dilation, causal};
          const fovea_rule rule = fovea_rule_neighbourhood(1, &axis);
          check(&rule);
        }
}

static fovea_rule random_grid(struct generator *generator, int64_t axes, int64_t most) {
  fovea_rule_axis axis[FOVEA_RULE_AXES];
  for (int64_t i = 0; i < axes; i++) {
    axis[i].length = 1 + generator_below(generator, most);
    axis[i].window = 1 + generator_below(generator, axis[i].length < 8 ? axis[i].length : 8);
    axis[i].dilation = 1 + generator_below(generator, axis[i].length / axis[i].window);
    axis[i].causal = generator_below(generator, 3) == 0;
  }
  return fovea_rule_neighbourhood(axes, axis);
}

static void test_grids(void **state) {
  (void)state;
  struct generator generator = {3};
  for (int i = 0; i < USUAL_OR_LONG(6, 60); i++) {
    const fovea_rule image = random_grid(&generator, 2, USUAL_OR_LONG(9, 20)),
                     volume = random_grid(&generator, 3, USUAL_OR_LONG(5, 8));
    check(&image);
    check(&volume);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines), cmocka_unit_test(test_grids)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
