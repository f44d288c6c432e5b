#include "refusals.h"

#include "error_says.h"

#include <string.h>

struct trial trial;

struct call good_call(void) {
  struct call call = {.problem = trial.problem, .tensors = trial_tensors(&trial)};
  fovea_execution_init(&call.execution);
  return call;
}

void assert_says(const fovea_error *error, fovea_status status, const char *const *words) {
  assert_int_equal(error->status, status);
  assert_error_says(error, *words);
  for (words++; *words != NULL; words++)
    if (strstr(error->text, *words) == NULL) fail_msg("\"%s\" does not say \"%s\"", error->text, *words);
}

void assert_refused(const struct call *call, fovea_status expected, const char *const *words) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  const fovea_status status = fovea_attend(&call->problem, &call->tensors, &call->execution, &error);
  if (status != expected) fail_msg("status %d, not %d: %.250s", (int)status, (int)expected, error.text);
  assert_says(&error, expected, words);
  assert_int_equal(fovea_attend(&call->problem, &call->tensors, &call->execution, NULL), expected);

  /* A plan gives the same refusal, at the latest when it runs. */
  fovea_plan *plan = (fovea_plan *)(void *)&trial;
  if (fovea_plan_create(&call->problem, &call->execution, &plan, &error) == FOVEA_OK) {
    memset(&error, 'x', sizeof error);
    assert_int_equal(fovea_plan_run(plan, &call->tensors, &call->execution, &error), expected);
    fovea_plan_destroy(plan);
  } else {
    assert_null(plan);
  }
  assert_says(&error, expected, words);
  assert_true(tensor_is_untouched(&trial.o));
  assert_true(tensor_is_untouched(&trial.lse));
}

void assert_accepted(const struct call *call) {
  fovea_error error;
  memset(&error, 'x', sizeof error);
  const fovea_status status = fovea_attend(&call->problem, &call->tensors, &call->execution, &error);
  if (status != FOVEA_OK) fail_msg("status %d: %.250s", (int)status, error.text);
  for (size_t i = 0; i < sizeof error.text; i++) assert_int_equal(error.text[i], 'x'); /* not written */
  tensor_fill_untouched(&trial.o);
  tensor_fill_untouched(&trial.lse);
}
