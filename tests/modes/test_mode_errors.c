/* What modes do not know is refused: the argument, its status and its text. */
#ifdef __linux__
#define _GNU_SOURCE /* sigaltstack */
#include <signal.h>
#endif
#include "support/modes.h"
#include "support/refusals.h"

#include <stdio.h>
#include <string.h>

static int set_up(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 6, 3, 10, 20, 8, 16);
  problem.modes.score = problem.modes.value = FOVEA_MODE_BF16;
  trial = trial_create(&problem, 1);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  trial_destroy(&trial);
  return 0;
}

static void test_enumerators(void **state) {
  (void)state;
  ACCEPTED((void)0);
  ACCEPTED(call.problem.modes.score = FOVEA_MODE_EXACT);
  ACCEPTED(call.problem.modes.value = FOVEA_MODE_EXACT);
  ACCEPTED(call.problem.modes.score = FOVEA_MODE_INT8);
  ACCEPTED(call.problem.modes.value = FOVEA_MODE_INT8);
  REFUSED(call.problem.modes.score = (fovea_mode)3, FOVEA_ERROR_ARGUMENT, "modes.score", "3", "0", "2");
  REFUSED(call.problem.modes.score = (fovea_mode)-1, FOVEA_ERROR_ARGUMENT, "modes.score", "-1", "0");
  REFUSED(call.problem.modes.value = (fovea_mode)99, FOVEA_ERROR_ARGUMENT, "modes.value", "99", "2");
  REFUSED(call.problem.modes.value = (fovea_mode)INT32_MIN, FOVEA_ERROR_ARGUMENT, "modes.value", "-2147483648",
          "0");
  REFUSED(call.problem.modes.value = (fovea_mode)INT32_MAX, FOVEA_ERROR_ARGUMENT, "modes.value", "2147483647");
}

/* `change` is refused with every mode, whose argument the text names, and is not what is wrong without one. */
#define UNKNOWN_TO(mode, name, change, ...)                                                                        \
  do {                                                                                                             \
    REFUSED((call.problem.modes.score = call.problem.modes.value = mode, change), FOVEA_ERROR_UNUSED, __VA_ARGS__, \
            "modes.score", name);                                                                                  \
    REFUSED((call.problem.modes.score = mode, call.problem.modes.value = FOVEA_MODE_EXACT, change),                \
            FOVEA_ERROR_UNUSED, __VA_ARGS__, "modes.score", name);                                                 \
    REFUSED((call.problem.modes.score = FOVEA_MODE_EXACT, call.problem.modes.value = mode, change),                \
            FOVEA_ERROR_UNUSED, __VA_ARGS__, "modes.value", name);                                                 \
  } while (0)
#define UNKNOWN(change, ...)                                                                                       \
  do {                                                                                                             \
    UNKNOWN_TO(FOVEA_MODE_BF16, "FOVEA_MODE_BF16", change, __VA_ARGS__);                                           \
    UNKNOWN_TO(FOVEA_MODE_INT8, "FOVEA_MODE_INT8", change, __VA_ARGS__);                                           \
  } while (0)

static void test_unknown(void **state) {
  (void)state;
  static float numbers[4096];
  static int64_t keys[4096];
  UNKNOWN(
      (call.problem.shaw.kind = FOVEA_SHAW_KEYS, call.problem.shaw.distance = 4, call.tensors.shaw.keys = numbers),
      "shaw");
  UNKNOWN((call.problem.shaw.kind = FOVEA_SHAW_VALUES, call.problem.shaw.distance = 4,
           call.tensors.shaw.values = numbers),
          "shaw");
  UNKNOWN((call.problem.normaliser.kind = FOVEA_NORMALISER_RELU, call.tensors.lse = NULL), "normaliser");
  UNKNOWN((call.problem.normaliser.kind = FOVEA_NORMALISER_SIGMOID,
           call.problem.normaliser.divisor = FOVEA_DIVISOR_SUM, call.tensors.lse = NULL),
          "normaliser");
  UNKNOWN((call.problem.entropy = 1, call.tensors.entropy = numbers), "entropy");
  UNKNOWN((call.problem.top.k = 3, call.tensors.top.keys = keys, call.tensors.top.scores = numbers), "top.k");
  UNKNOWN((call.problem.max_logits = 1, call.tensors.max_logits = numbers), "max_logits");
  UNKNOWN((call.problem.column_sums.wanted = 1, call.tensors.column_sums = numbers), "column_sums");
  UNKNOWN((call.problem.scores.kind = FOVEA_SCORES_WEIGHTS, call.tensors.scores = numbers), "scores.kind");
  UNKNOWN((call.problem.scores.kind = FOVEA_SCORES_RAW, call.tensors.scores = numbers), "scores.kind");
  UNKNOWN(call.problem.activation.kind = FOVEA_SCORE_ACTIVATION_LEAKY_RELU, "activation.kind");
}

/* A call in int8 with all vectors. */
static struct call vector_call(const float *numbers) {
  struct call call = good_call();
  call.problem.modes.score = call.problem.modes.value = FOVEA_MODE_INT8;
  call.problem.channels.key_centre = call.problem.channels.value_scale = FOVEA_CHANNELS_PER_HEAD;
  call.problem.channels.key_scale = FOVEA_CHANNELS_SHARED;
  call.tensors.channels.key_centre = call.tensors.channels.key_scale = call.tensors.channels.value_scale = numbers;
  return call;
}

#define VECTORS_REFUSED(change, ...) REFUSED((call = vector_call(numbers), change), __VA_ARGS__)

static void test_vectors(void **state) {
  (void)state;
  static float numbers[64];
  ACCEPTED(call = vector_call(numbers));
  ACCEPTED(
      (call = vector_call(numbers), call.tensors.channels.key_centre = NULL, call.problem.channels.key_centre = 0));
  VECTORS_REFUSED(call.problem.channels.key_centre = (fovea_channels)3, FOVEA_ERROR_ARGUMENT, "key_centre", "3",
                  "0", "2");
  VECTORS_REFUSED(call.problem.channels.key_scale = (fovea_channels)-1, FOVEA_ERROR_ARGUMENT, "key_scale", "-1",
                  "2");
  VECTORS_REFUSED(call.problem.channels.value_scale = (fovea_channels)99, FOVEA_ERROR_ARGUMENT, "value_scale", "99",
                  "2");
  VECTORS_REFUSED(call.problem.softcap = 30, FOVEA_ERROR_UNUSED, "softcap is 30", "key_centre");
  ACCEPTED((call = vector_call(numbers), call.problem.softcap = 30, call.tensors.channels.key_centre = NULL,
            call.problem.channels.key_centre = FOVEA_CHANNELS_NONE));
  for (int mode = FOVEA_MODE_EXACT; mode <= FOVEA_MODE_BF16; mode++) {
    VECTORS_REFUSED(call.problem.modes.score = (fovea_mode)mode, FOVEA_ERROR_UNUSED, "channels.key_centre is 1",
                    "modes.score is not FOVEA_MODE_INT8");
    VECTORS_REFUSED((call.problem.modes.score = (fovea_mode)mode,
                     call.problem.channels.key_centre = FOVEA_CHANNELS_NONE,
                     call.tensors.channels.key_centre = NULL),
                    FOVEA_ERROR_UNUSED, "channels.key_scale is 2", "modes.score is not FOVEA_MODE_INT8");
    VECTORS_REFUSED(call.problem.modes.value = (fovea_mode)mode, FOVEA_ERROR_UNUSED, "channels.value_scale is 1",
                    "modes.value is not FOVEA_MODE_INT8");
  }
}

/* The pointers: missing, not wanted, misaligned, in memory that is written. */
static void test_numbers_of_vectors(void **state) {
  (void)state;
  static float numbers[64];
  const float *const odd = (const float *)(const void *)((const char *)numbers + 2);
  float *const written = trial.lse.data;
  VECTORS_REFUSED(call.tensors.channels.key_centre = NULL, FOVEA_ERROR_ARGUMENT, "key_centre is NULL");
  VECTORS_REFUSED(call.tensors.channels.key_scale = NULL, FOVEA_ERROR_ARGUMENT, "key_scale is NULL");
  VECTORS_REFUSED(call.tensors.channels.value_scale = NULL, FOVEA_ERROR_ARGUMENT, "value_scale is NULL");
  VECTORS_REFUSED(call.problem.channels.key_centre = FOVEA_CHANNELS_NONE, FOVEA_ERROR_UNUSED,
                  "key_centre is not NULL", "FOVEA_CHANNELS_NONE");
  VECTORS_REFUSED(call.problem.channels.key_scale = FOVEA_CHANNELS_NONE, FOVEA_ERROR_UNUSED,
                  "key_scale is not NULL");
  VECTORS_REFUSED(call.problem.channels.value_scale = FOVEA_CHANNELS_NONE, FOVEA_ERROR_UNUSED,
                  "value_scale is not NULL");
  VECTORS_REFUSED(call.tensors.channels.key_centre = odd, FOVEA_ERROR_ARGUMENT, "key_centre");
  VECTORS_REFUSED(call.tensors.channels.key_scale = odd, FOVEA_ERROR_ARGUMENT, "key_scale");
  VECTORS_REFUSED(call.tensors.channels.value_scale = odd, FOVEA_ERROR_ARGUMENT, "value_scale");
  VECTORS_REFUSED(call.tensors.channels.key_centre = written, FOVEA_ERROR_ARGUMENT,
                  "lse shares memory with key_centre");
  VECTORS_REFUSED(call.tensors.channels.key_scale = written, FOVEA_ERROR_ARGUMENT,
                  "lse shares memory with key_scale");
  VECTORS_REFUSED(call.tensors.channels.value_scale = written, FOVEA_ERROR_ARGUMENT,
                  "lse shares memory with value_scale");
}

/* Sums of codes are numbers of f32 up to 1,032 dims. Values have no such limit. */
static void test_dims(void **state) {
  (void)state;
  static const int64_t dims[] = {1032, 1033, 4096};
  for (int i = 0; i < 3; i++)
    for (int modes = 0; modes < MODE_PAIRS; modes++) {
      fovea_problem problem;
      fovea_plan *plan;
      fovea_error error;
      fovea_problem_init(&problem, 1, 1, 1, 1, 1, dims[i], 4096);
      problem_set_modes(&problem, modes);
      const fovea_status status = fovea_plan_create(&problem, NULL, &plan, &error);
      if (dims[i] == 1032 || problem.modes.score != FOVEA_MODE_INT8) {
        assert_int_equal(status, FOVEA_OK);
        fovea_plan_destroy(plan);
        continue;
      }
      char dim[32];
      snprintf(dim, sizeof dim, "%lld", (long long)dims[i]);
      const char *const words[] = {"qk_dim", dim, "INT8", "1032", NULL};
      assert_says(&error, FOVEA_ERROR_ARGUMENT, words);
      assert_int_equal(status, FOVEA_ERROR_ARGUMENT);
    }
}

/* A signal stack that has no room for tiles: AMX is refused while it is set. Before AMX is allowed. */
static void test_small_signal_stack(void **state) {
  (void)state;
#ifdef __linux__
  static char memory[4096];
  static const char *const words[] = {"AMX", NULL};
  const stack_t small = {.ss_sp = memory, .ss_size = sizeof memory}, none = {.ss_flags = SS_DISABLE};
  fovea_error error;
  if (sigaltstack(&small, NULL) != 0) skip(); /* too small already */
  const fovea_status status = fovea_allow_amx(&error);
  assert_int_equal(sigaltstack(&none, NULL), 0);
  assert_int_equal(status, FOVEA_ERROR_UNSUPPORTED);
  assert_says(&error, status, words);
#endif
}

/* Allowing AMX again is allowed; without it, the text says why. */
static void test_amx(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    fovea_error error;
    memset(&error, 'x', sizeof error);
    const fovea_status status = fovea_allow_amx(&error), again = fovea_allow_amx(NULL);
    assert_int_equal(again, status);
    if (status == FOVEA_OK) continue;
    static const char *const words[] = {"AMX", NULL};
    assert_int_equal(status, FOVEA_ERROR_UNSUPPORTED);
    assert_says(&error, status, words);
  }
  ACCEPTED((void)0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_enumerators), cmocka_unit_test(test_unknown),
      cmocka_unit_test(test_vectors),     cmocka_unit_test(test_numbers_of_vectors),
      cmocka_unit_test(test_dims),        cmocka_unit_test(test_small_signal_stack),
      cmocka_unit_test(test_amx),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
