#include "reference.h"

#include "check.h"
#include "positions.h"

#include <math.h>
#include <stdlib.h>

static const double unit = 0x1p-24;

/* The result of one row, and the measures of its error. */
struct reference {
  double lse;
  double amplitude;     /* largest sum of |scale * q_d * k_d| and |mask| of a visible key, and at least |sink| */
  double *o, *absolute; /* sums of weight * v and of weight * |v| */
  double scores;        /* int8: how much a score may change by codes of q and k */
  double values;        /* int8: how much O may change by codes of v and of weights */
};

struct row_inputs {
  const struct trial *trial;
  struct entry entry;
  int64_t batch, head, row;
};

static const float *input_row(const struct row_inputs *inputs, const struct tensor *tensor, int64_t key) {
  const fovea_problem *problem = &inputs->trial->problem;
  const int64_t kv_head = inputs->head / (problem->heads / problem->kv_heads);
  return tensor_row(tensor, inputs->entry.kv_batch, kv_head, inputs->entry.kv_first + key);
}

/* The vector of Shaw's for a key; NULL: there is no table. */
static const float *shaw_vector(const struct row_inputs *inputs, const struct tensor *table, int64_t key) {
  const fovea_problem *problem = &inputs->trial->problem;
  const int64_t k = problem->shaw.distance, d = key - inputs->row - inputs->entry.offset;
  if (table->batch == 0) return NULL;
  return tensor_row(table, 0, problem->shaw.heads == 1 ? 0 : inputs->head, (d < -k ? -k : d > k ? k : d) + k);
}

static double reference_score(const struct row_inputs *inputs, int64_t key, double *amplitude) {
  const fovea_problem *problem = &inputs->trial->problem;
  const float *q =
      tensor_row(&inputs->trial->q, inputs->entry.q_batch, inputs->head, inputs->entry.q_first + inputs->row);
  const float *k = input_row(inputs, &inputs->trial->k, key);
  const float *shaw = shaw_vector(inputs, &inputs->trial->shaw_keys, key);
  double sum = 0.0, absolute = 0.0;
  for (int64_t d = 0; d < problem->qk_dim; d++) {
    const double products[] = {(double)q[d] * (double)k[d], shaw != NULL ? (double)q[d] * (double)shaw[d] : 0.0};
    sum += products[0] + products[1];
    absolute += fabs(products[0]) + fabs(products[1]);
  }
  if (problem->activation.kind != FOVEA_SCORE_ACTIVATION_NONE && sum < 0.0) sum *= problem->activation.leaky_slope;
  const double scale = scale_of_row(inputs->trial, inputs->batch, inputs->head, inputs->row);
  sum *= scale;
  absolute *= fabs(scale);
  if (problem->softcap > 0.0) sum = problem->softcap * tanh(sum / problem->softcap);
  for (int64_t i = 0; i < problem->terms.count; i++) {
    const double number = (double)term_number(inputs->trial, (int)i, inputs->batch, inputs->head, inputs->row, key);
    sum += number;
    absolute += fabs(number);
  }
  const int64_t element = key - problem_mask_begin(problem, inputs->batch);
  if (mask_is_additive(problem->mask.type) && element >= 0) {
    const double bias = (double)mask_get(&inputs->trial->mask, inputs->batch, inputs->head, inputs->row, element);
    sum += bias;
    absolute += fabs(bias);
  }
  *amplitude = fmax(*amplitude, absolute);
  return sum;
}

static double largest(const float *x, int64_t count) {
  float most = 0.0f;
  for (int64_t d = 0; d < count; d++) most = fmaxf(most, fabsf(x[d]));
  return (double)most;
}

/* What codes may change in a score: each number by half a step of its row. The steps are a bit larger, for the
 * roundings of 127 / largest and of its products. */
static double code_error_of_score(const struct row_inputs *inputs, int64_t key) {
  const fovea_problem *problem = &inputs->trial->problem;
  const float *q =
      tensor_row(&inputs->trial->q, inputs->entry.q_batch, inputs->head, inputs->entry.q_first + inputs->row);
  const float *k = input_row(inputs, &inputs->trial->k, key);
  const double q_half = largest(q, problem->qk_dim) / 254.0 * 1.0001,
               k_half = largest(k, problem->qk_dim) / 254.0 * 1.0001;
  double q_sum = 0.0, k_sum = 0.0;
  for (int64_t d = 0; d < problem->qk_dim; d++) {
    q_sum += fabs((double)q[d]);
    k_sum += fabs((double)k[d]);
  }
  return (q_sum * k_half + k_sum * q_half + (double)problem->qk_dim * q_half * k_half) *
         fabs(scale_of_row(inputs->trial, inputs->batch, inputs->head, inputs->row));
}

/* What codes may change in O, with the weights of one row: each value by half a step of its row, and each weight by
 * half of 1/255 of its block's largest weight * value. */
static double code_error_of_values(const struct row_inputs *inputs, const double *weights) {
  enum { BLOCK = 128 };
  const int64_t keys = inputs->entry.kv_len;
  double error = 0.0;
  for (int64_t first = 0; first < keys; first += BLOCK) {
    double most = 0.0, sum = 0.0;
    int64_t seen = 0;
    for (int64_t j = first; j < first + BLOCK && j < keys; j++) {
      const double weighted =
          weights[j] * largest(input_row(inputs, &inputs->trial->v, j), inputs->trial->problem.v_dim);
      seen += trial_sees(inputs->trial, inputs->batch, inputs->head, inputs->row, j);
      most = fmax(most, weighted);
      sum += weighted;
    }
    error += sum / 254.0 * 1.0001 + (double)seen / 510.0 * most;
  }
  return error;
}

/* -Inf if there is no sink. */
static double reference_sink(const struct row_inputs *inputs) {
  const struct trial *trial = inputs->trial;
  if (trial->problem.sink == FOVEA_SINK_NONE) return -INFINITY;
  return trial->problem.sink == FOVEA_SINK_ZERO ? 0.0 : (double)trial->sinks.data[inputs->head];
}

/* What modes add to the errors: of O relative to the sum of weight * |v|; of O for numbers that modes make 0; of
 * the LSE. An input of f32 or f16 is rounded to bf16, and so are weights; int8 has codes. The function of weights
 * has an error in them and in their sum. An error x in scores changes each weight, and the sum, by e^x at most. */
struct mode_errors {
  double relative, absolute, lse;
};

static struct mode_errors mode_errors(const fovea_problem *p, const struct reference *reference) {
  const double once = 1.0 + 0x1p-8, function = 1.014e-4, smallest = 0x1p-56;
  struct mode_errors errors = {0.0, 0.0, 0.0};
  if (p->modes.score == FOVEA_MODE_BF16) {
    const int inputs = (p->q_type != FOVEA_BF16) + (p->k_type != FOVEA_BF16);
    errors.lse = (pow(once, inputs) - 1.0) * reference->amplitude;
  }
  if (p->modes.score == FOVEA_MODE_INT8) errors.lse = reference->scores;
  double factor = exp(2.0 * errors.lse);
  if (p->modes.value == FOVEA_MODE_BF16) {
    factor *= once * (1.0 + function) / (1.0 - function) * (p->v_type != FOVEA_BF16 ? once : 1.0);
    errors.lse += function / (1.0 - function);
    errors.absolute = 2.0 * smallest * (double)p->kv_len; /* of weights, and of values, beside numbers up to 1 */
  }
  if (p->modes.value == FOVEA_MODE_INT8) {
    factor *= (1.0 + function) / (1.0 - function);
    errors.lse += function / (1.0 - function);
    errors.absolute = factor * reference->values;
  }
  errors.relative = factor - 1.0;
  return errors;
}

/* Two passes: the scores and their maximum, then the weights, in place of the scores. Returns how many keys the row
 * sees. */
static int64_t reference_row(const struct row_inputs *inputs, double *scores, struct reference *reference) {
  const fovea_problem *problem = &inputs->trial->problem;
  const double sink = reference_sink(inputs);
  double maximum = sink, weights = 0.0;
  int64_t seen = 0;
  reference->amplitude = sink > -INFINITY ? fabs(sink) : 0.0;
  reference->scores = reference->values = 0.0;
  for (int64_t j = 0; j < inputs->entry.kv_len; j++) {
    const int sees = trial_sees(inputs->trial, inputs->batch, inputs->head, inputs->row, j);
    seen += sees;
    scores[j] = sees ? reference_score(inputs, j, &reference->amplitude) : -INFINITY;
    maximum = fmax(maximum, scores[j]);
    if (sees && problem->modes.score == FOVEA_MODE_INT8)
      reference->scores = fmax(reference->scores, code_error_of_score(inputs, j));
  }
  for (int64_t d = 0; d < problem->v_dim; d++) reference->o[d] = reference->absolute[d] = 0.0;
  for (int64_t j = 0; j < inputs->entry.kv_len && seen > 0; j++) {
    const double weight = scores[j] = exp(scores[j] - maximum);
    if (weight == 0.0) continue;
    weights += weight;
    const float *v = input_row(inputs, &inputs->trial->v, j);
    const float *shaw = shaw_vector(inputs, &inputs->trial->shaw_values, j);
    for (int64_t d = 0; d < problem->v_dim; d++) {
      const double more = shaw != NULL ? (double)shaw[d] : 0.0;
      reference->o[d] += weight * ((double)v[d] + more);
      reference->absolute[d] += weight * (fabs((double)v[d]) + fabs(more));
    }
  }
  weights += exp(sink - maximum);
  for (int64_t d = 0; d < problem->v_dim && seen > 0; d++) {
    reference->o[d] /= weights;
    reference->absolute[d] /= weights;
  }
  if (seen > 0 && problem->modes.value == FOVEA_MODE_INT8)
    reference->values = code_error_of_values(inputs, scores) / weights;
  reference->lse = maximum + log(weights);
  return seen;
}

/* At most half a unit in the last place of O's type, for normal and for subnormal numbers. */
static double rounding(fovea_type type, double x) {
  return type == FOVEA_F16    ? fmax(fabs(x) * 0x1p-11, 0x1p-25)
         : type == FOVEA_BF16 ? fmax(fabs(x) * 0x1p-8, 0x1p-134)
                              : 0.0;
}

static double assert_accurate_row(const struct row_inputs *inputs, const struct reference *reference,
                                  double bound) {
  const struct trial *trial = inputs->trial;
  const int64_t row = inputs->entry.q_first + inputs->row;
  const float *o = tensor_row(&trial->o, inputs->entry.q_batch, inputs->head, row);
  const double lse = (double)*tensor_row(&trial->lse, inputs->entry.q_batch, inputs->head, row);
  const double measure = unit * (2.0 + reference->amplitude);
  char problem[DESCRIPTION_SIZE];
  problem_describe(&trial->problem, problem, sizeof problem);
  const struct mode_errors mode = mode_errors(&trial->problem, reference);
  double worst = 0.0;
  for (int64_t d = 0; d < trial->problem.v_dim; d++) {
    const double more = mode.relative * reference->absolute[d] + mode.absolute;
    const double error =
        fabs((double)o[d] - reference->o[d]) - rounding(trial->problem.o_type, (double)o[d]) - more;
    /* The last term is the spacing of subnormal results. */
    if (!(error <= bound * measure * reference->absolute[d] + 0x1p-149))
      fail_msg("head %lld row %lld dim %lld is %.9g, not %.9g: off by %.1f u (2 + A), bound %.1f; %s",
               (long long)inputs->head, (long long)row, (long long)d, (double)o[d], reference->o[d],
               error / (measure * reference->absolute[d]), bound, problem);
    if (error > 0x1p-149) worst = fmax(worst, error / (measure * reference->absolute[d]));
  }
  if (!(fabs(lse - reference->lse) <= bound * measure + 2.0 * unit * fabs(reference->lse) + mode.lse))
    fail_msg("LSE of head %lld row %lld is %.9g, not %.9g; %s", (long long)inputs->head, (long long)row, lse,
             reference->lse, problem);
  return worst;
}

double assert_accuracy(const struct trial *trial, double bound, int64_t budget) {
  const fovea_problem *problem = &trial->problem;
  double *scores = malloc((size_t)(problem->kv_len + 2 * problem->v_dim + 1) * sizeof(double));
  assert_non_null(scores);
  struct reference reference = {.o = scores + problem->kv_len};
  reference.absolute = reference.o + problem->v_dim;
  double worst = 0.0;
  for (int64_t b = 0; b < problem->batch; b++) {
    const struct entry entry = problem_entry(problem, b);
    const int64_t rows = problem->heads * entry.q_len;
    const int64_t cost = entry.kv_len * (problem->qk_dim + problem->v_dim) * problem->batch + 1;
    const int64_t step = 1 + rows * cost / budget;
    for (int64_t r = 0; r < rows; r += step) {
      const struct row_inputs inputs = {trial, entry, b, r / entry.q_len, r % entry.q_len};
      if (reference_row(&inputs, scores, &reference) == 0) continue;
      worst = fmax(worst, assert_accurate_row(&inputs, &reference, bound));
    }
  }
  free(scores);
  return worst;
}
