#include "call.h"
#include "support/execution.h"

#include "tools/fovea/convert.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool library_type(enum element element, fovea_type *type) {
  *type = element == ELEMENT_F16 ? FOVEA_F16 : element == ELEMENT_BF16 ? FOVEA_BF16 : FOVEA_F32;
  return element == ELEMENT_F32 || element == ELEMENT_F16 || element == ELEMENT_BF16;
}

void call_note(struct call *call, const char *format, ...) {
  const size_t used = strlen(call->note);
  const int joined = snprintf(call->note + used, sizeof call->note - used, "%s", used > 0 ? "; " : "");
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(call->note + used + joined, sizeof call->note - used - (size_t)joined, format, arguments);
  va_end(arguments);
}

bool call_knows_attributes(struct call *call, const struct test_case *test, const char *const *known,
                           size_t count) {
  for (int i = 0; i < test->attribute_count; i++) {
    size_t j = 0;
    while (j < count && strcmp(known[j], test->attributes[i].name) != 0) j++;
    if (j == count) return CALL_REFUSED(call, "the attribute %s is not known", test->attributes[i].name);
  }
  return true;
}

void *call_memory(struct call *call, int64_t count, size_t size) {
  const int limit = (int)(sizeof call->memory / sizeof call->memory[0]);
  void *memory = call->memory_count < limit ? calloc((size_t)count + 1, size) : NULL;
  if (!memory) {
    fputs("out of memory\n", stderr);
    exit(EXIT_FAILURE);
  }
  return call->memory[call->memory_count++] = memory;
}

void call_free(struct call *call) {
  while (call->memory_count > 0) free(call->memory[--call->memory_count]);
  while (call->pattern_count > 0) fovea_pattern_destroy(call->patterns[--call->pattern_count]);
}

static double number_at(const struct array *array, int64_t i) {
  switch (array->element) {
  case ELEMENT_F16:
    return (double)f32_from_f16(((const uint16_t *)array->data)[i]);
  case ELEMENT_BF16:
    return (double)f32_from_bf16(((const uint16_t *)array->data)[i]);
  case ELEMENT_F32:
    return (double)((const float *)array->data)[i];
  default:
    return ((const double *)array->data)[i];
  }
}

static double tolerance_of(fovea_type type) {
  return type == FOVEA_F32 ? 2e-6 : type == FOVEA_F16 ? 1e-3 : 1e-2;
}

/* Element i of O, or of O's projection, in which all heads of a row of Q make one row. */
static double result_at(const struct call *call, const float *o, int64_t i) {
  if (!call->out_weight) return (double)o[i];
  const int64_t width = call->out_weight->shape[0], inner = call->out_weight->shape[1];
  const float *row = o + i / width * inner;
  double sum = call->out_bias ? number_at(call->out_bias, i % width) : 0.0;
  for (int64_t j = 0; j < inner; j++) sum += (double)row[j] * number_at(call->out_weight, i % width * inner + j);
  return sum;
}

/* An infinity or a NaN must be the same. */
static double error_of(double actual, double expected, double tolerance) {
  if (!(fabs(actual) < INFINITY && fabs(expected) < INFINITY))
    return actual == expected || (actual != actual && expected != expected) ? 0.0 : INFINITY;
  return fabs(actual - expected) / (tolerance + tolerance * fabs(expected));
}

static bool is_rotary(const struct call *call) {
  return call->rotary.struct_size > 0;
}

static bool is_scatter(const struct call *call) {
  return call->new_rows.struct_size > 0;
}

static fovea_type result_type(const struct call *call) {
  if (is_scatter(call)) return call->pages.k_type;
  return is_rotary(call) ? call->rotation.to_type : call->problem.o_type;
}

static int64_t result_count(const struct call *call) {
  const fovea_problem *problem = &call->problem;
  const fovea_rotation *rotation = &call->rotation;
  if (is_scatter(call)) return call->pages.count * call->pages.k_strides.batch;
  return is_rotary(call) ? rotation->batch * rotation->heads * rotation->rows * rotation->dim
                         : problem->batch * problem->heads * problem->q_len * problem->v_dim;
}

/* Runs both calls, and adds the second O, which is f32, to the first. */
static fovea_status attend(struct call *call, const char *isa, float *o, fovea_error *error) {
  fovea_status status = fovea_attend(&call->problem, &call->tensors, on_isa(isa), error);
  if (status != FOVEA_OK || call->second.struct_size == 0) return status;
  const int64_t count = result_count(call);
  float *other = calloc((size_t)count + 1, sizeof *other);
  if (!other) return FOVEA_ERROR_MEMORY;
  call->second_tensors.o = other;
  status = fovea_attend(&call->second, &call->second_tensors, on_isa(isa), error);
  for (int64_t i = 0; i < count; i++) o[i] += other[i];
  free(other);
  return status;
}

static fovea_status run_on(struct call *call, const char *isa, void *o, fovea_error *error) {
  if (is_scatter(call)) return run_scatter(call, o, error);
  call->rotation.to = call->tensors.o = o;
  return is_rotary(call) ? fovea_rotary_apply(&call->rotary, &call->rotation, on_isa(isa), error)
                         : attend(call, isa, o, error);
}

static void compare_number(const char *isa, const char *what, int64_t i, double actual, double expected,
                           double tolerance, struct comparison *comparison) {
  const double error = error_of(actual, expected, tolerance);
  if (error > comparison->worst) comparison->worst = error;
  if (error <= 1.0 || !comparison->agrees) return;
  comparison->agrees = false;
  snprintf(comparison->text, sizeof comparison->text, "%s: %s %lld is %.9g, not %.9g: %.3g times the tolerance",
           isa, what, (long long)i, actual, expected, error);
}

static void compare(const struct call *call, const char *isa, const float *o, struct comparison *comparison) {
  const double tolerance = tolerance_of(result_type(call));
  for (int64_t i = 0; i < call->expected->count; i++)
    compare_number(isa, "element", i, result_at(call, o, i), number_at(call->expected, i), tolerance, comparison);
}

static void compare_scores(const struct call *call, const char *isa, const float *scores,
                           struct comparison *comparison) {
  const struct array *expected = call->expected_scores;
  for (int64_t i = 0; expected && i < expected->count; i++) {
    const double tolerance = expected->element == ELEMENT_F16 ? 1e-3 : 2e-6;
    compare_number(isa, "score", i, (double)scores[i], number_at(expected, i), tolerance, comparison);
  }
}

static void disagree(struct comparison *comparison, const char *isa, const char *text) {
  if (!comparison->agrees) return;
  comparison->agrees = false;
  snprintf(comparison->text, sizeof comparison->text, "%s: %s", isa, text);
}

struct comparison call_run(struct call *call) {
  struct comparison comparison = {.agrees = true};
  fovea_isa_report report;
  fovea_isa_report_init(&report);
  const int64_t count = result_count(call);
  const size_t size = (size_t)count * type_size(result_type(call));
  void *first = call_memory(call, count, sizeof(float)), *o = call_memory(call, count, sizeof(float));
  float *widened = call_memory(call, count, sizeof(float));
  const int64_t score_count = call->expected_scores ? call->expected_scores->count : 0;
  float *first_scores = call_memory(call, score_count, sizeof(float));
  float *scores = call_memory(call, score_count, sizeof(float));
  if (!call->out_weight && count != call->expected->count) disagree(&comparison, "the case", "another size of Y");

  int run = 0;
  for (int i = 0; comparison.agrees && fovea_isa_at(i, &report) == FOVEA_OK; i++) {
    const char *isa = report.name;
    fovea_error error;
    if (!report.usable) continue;
    if (call->expected_scores) call->tensors.scores = run == 0 ? first_scores : scores;
    if (run_on(call, isa, run == 0 ? first : o, &error) != FOVEA_OK) {
      disagree(&comparison, isa, error.text);
    } else if (run++ == 0) {
      convert_numbers(widened, FOVEA_F32, first, result_type(call), count);
      compare(call, isa, widened, &comparison);
      compare_scores(call, isa, first_scores, &comparison);
    } else if (memcmp(o, first, size) != 0 ||
               memcmp(scores, first_scores, (size_t)score_count * sizeof(float)) != 0) {
      disagree(&comparison, isa, "other bits than the best instruction set");
    }
  }
  if (run == 0) disagree(&comparison, "the library", "no instruction set is usable");
  return comparison;
}
