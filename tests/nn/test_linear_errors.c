/* What linear layers and their packing refuse: the field, its limit, and nothing is written. */
#include "support/check.h"
#include "support/error_says.h"

#include <fovea/nn.h>

#include <string.h>

/* Modes that no weights, or that these weights do not have. */
static void test_modes(void **state) {
  (void)state;
  static const char bf16_layout[] =
      "linear.mode is FOVEA_MODE_BF16, which takes weights of layout FOVEA_NN_WEIGHTS_IN_PANELS";
  static const char bf16_type[] = "linear.mode is FOVEA_MODE_BF16, which takes weights of weight_type FOVEA_BF16";
  static const char int8_layout[] =
      "linear.mode is FOVEA_MODE_INT8, which takes weights of layout FOVEA_NN_WEIGHTS_QUANTISED";
  static const struct {
    fovea_mode mode;
    fovea_nn_layout layout;
    fovea_type weight_type;
    const char *text;
  } cases[] = {
      {FOVEA_MODE_BF16, FOVEA_NN_WEIGHTS_IN_ROWS, FOVEA_F32, bf16_layout},
      {FOVEA_MODE_BF16, FOVEA_NN_WEIGHTS_IN_ROWS, FOVEA_BF16, bf16_layout},
      {FOVEA_MODE_BF16, FOVEA_NN_WEIGHTS_QUANTISED, FOVEA_F32, bf16_layout},
      {FOVEA_MODE_BF16, FOVEA_NN_WEIGHTS_IN_PANELS, FOVEA_F32, bf16_type},
      {FOVEA_MODE_BF16, FOVEA_NN_WEIGHTS_IN_PANELS, FOVEA_F16, bf16_type},
      {FOVEA_MODE_INT8, FOVEA_NN_WEIGHTS_IN_ROWS, FOVEA_F32, int8_layout},
      {FOVEA_MODE_INT8, FOVEA_NN_WEIGHTS_IN_PANELS, FOVEA_BF16, int8_layout},
      {(fovea_mode)3, FOVEA_NN_WEIGHTS_IN_ROWS, FOVEA_F32, "linear.mode is 3; it must be from 0 to 2"},
  };
  static const float weights[4 * 16];
  const float x[3] = {0};
  float y[2] = {7, 7};
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_error error;
  fovea_nn_linear_init(&linear, 3, 2, weights);
  assert_int_equal(linear.mode, FOVEA_MODE_EXACT);
  fovea_nn_linear_rows_init(&rows, &linear, 1, x, y);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    linear.mode = cases[i].mode;
    linear.layout = cases[i].layout;
    linear.weight_type = cases[i].weight_type;
    assert_int_equal(fovea_nn_linear_run(&linear, &rows, NULL, &error), FOVEA_ERROR_ARGUMENT);
    assert_error_says(&error, cases[i].text);
    assert_true(y[0] == 7 && y[1] == 7);
  }
}

/* ---- Memory that is shared -------------------------------------------------------------------------------------- */

/* A layer of 3 inputs and 4 outputs, and 2 rows: where its tensors lie among so many numbers. */
enum { IN = 3, OUT = 4, ROWS = 2, NUMBERS = 256 };
enum { WEIGHTS = 64, BIAS = 128, X = 144, GATE = 160, RESIDUAL = 176, Y = 192, PANEL_NUMBERS = IN * 16 };

static void number_all(float *numbers) {
  for (int i = 0; i < NUMBERS; i++) numbers[i] = (float)i;
}

/* The call was refused for this, and has written nothing; NULL: it was not refused. */
static void assert_outcome(size_t i, fovea_status status, const fovea_error *error, const char *text,
                           const float *numbers) {
  float before[NUMBERS];
  if (status != (text ? FOVEA_ERROR_ARGUMENT : FOVEA_OK)) fail_msg("case %d: status %d", (int)i, (int)status);
  if (!text) return;
  assert_error_says(error, text);
  number_all(before);
  assert_memory_equal(numbers, before, sizeof before);
}

/* y may begin or end next to what the call reads. A gate or a residual may be y itself. */
static void test_y(void **state) {
  (void)state;
  static const struct {
    int y;
    const char *over; /* what is refused; NULL: nothing */
    int packed;
    int padding;     /* between rows of gate and residual */
    fovea_type type; /* of gate and residual */
  } cases[] = {
      {.y = Y},
      {.y = X - 8},
      {.y = X - 7, .over = "y shares memory with x"},
      {.y = X, .over = "y shares memory with x"},
      {.y = X + 5, .over = "y shares memory with x"},
      {.y = X + 6},
      {.y = BIAS - 8},
      {.y = BIAS - 7, .over = "y shares memory with bias"},
      {.y = BIAS + 3, .over = "y shares memory with bias"},
      {.y = BIAS + 4},
      {.y = GATE - 7, .over = "y shares memory with gate"},
      {.y = GATE},
      {.y = GATE, .over = "y shares memory with gate", .padding = 1},
      {.y = GATE, .over = "y shares memory with gate", .type = FOVEA_BF16},
      {.y = GATE + 1, .over = "y shares memory with gate"},
      {.y = GATE + 8},
      {.y = RESIDUAL - 7, .over = "y shares memory with residual"},
      {.y = RESIDUAL},
      {.y = RESIDUAL, .over = "y shares memory with residual", .padding = 1},
      {.y = RESIDUAL, .over = "y shares memory with residual", .type = FOVEA_BF16},
      {.y = RESIDUAL + 1, .over = "y shares memory with residual"},
      {.y = RESIDUAL + 8},
      {.y = WEIGHTS - 8},
      {.y = WEIGHTS - 7, .over = "y shares memory with weights"},
      {.y = WEIGHTS + IN * OUT - 1, .over = "y shares memory with weights"},
      {.y = WEIGHTS + IN * OUT},
      {.y = WEIGHTS - 8, .packed = 1},
      {.y = WEIGHTS - 7, .over = "y shares memory with weights", .packed = 1},
      {.y = WEIGHTS + PANEL_NUMBERS - 1, .over = "y shares memory with weights", .packed = 1},
      {.y = WEIGHTS + PANEL_NUMBERS, .packed = 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    float numbers[NUMBERS];
    fovea_nn_linear linear;
    fovea_nn_linear_rows rows;
    fovea_error error;
    number_all(numbers);
    fovea_nn_linear_init(&linear, IN, OUT, numbers + WEIGHTS);
    linear.layout = cases[i].packed ? FOVEA_NN_WEIGHTS_IN_PANELS : FOVEA_NN_WEIGHTS_IN_ROWS;
    linear.bias = numbers + BIAS;
    fovea_nn_linear_rows_init(&rows, &linear, ROWS, numbers + X, numbers + cases[i].y);
    rows.gate = numbers + GATE;
    rows.residual = numbers + RESIDUAL;
    rows.gate_stride = rows.residual_stride = OUT + cases[i].padding;
    rows.gate_type = rows.residual_type = cases[i].type;
    const fovea_status status = fovea_nn_linear_run(&linear, &rows, NULL, &error);
    assert_outcome(i, status, &error, cases[i].over, numbers);
  }
}

static void test_panels(void **state) {
  (void)state;
  enum { NOWHERE = -1 };
  static const struct {
    int panels;
    fovea_nn_layout layout;
    const char *text; /* NULL: not refused */
  } cases[] = {
      {NOWHERE, FOVEA_NN_WEIGHTS_IN_ROWS, "panels is NULL"},
      {WEIGHTS - PANEL_NUMBERS, FOVEA_NN_WEIGHTS_IN_ROWS, NULL},
      {WEIGHTS - PANEL_NUMBERS + 1, FOVEA_NN_WEIGHTS_IN_ROWS, "panels shares memory with weights"},
      {WEIGHTS, FOVEA_NN_WEIGHTS_IN_ROWS, "panels shares memory with weights"},
      {WEIGHTS + IN * OUT - 1, FOVEA_NN_WEIGHTS_IN_ROWS, "panels shares memory with weights"},
      {WEIGHTS + IN * OUT, FOVEA_NN_WEIGHTS_IN_ROWS, NULL},
      {Y, FOVEA_NN_WEIGHTS_IN_PANELS,
       "linear.layout is FOVEA_NN_WEIGHTS_IN_PANELS; weights to be packed lie in rows"},
  };
  assert_int_equal(fovea_nn_panel_elements(IN, OUT, FOVEA_F32), PANEL_NUMBERS);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    float numbers[NUMBERS];
    fovea_nn_linear linear;
    fovea_error error;
    number_all(numbers);
    fovea_nn_linear_init(&linear, IN, OUT, numbers + WEIGHTS);
    linear.layout = cases[i].layout;
    float *panels = cases[i].panels == NOWHERE ? NULL : numbers + cases[i].panels;
    const fovea_status status = fovea_nn_pack(&linear, panels, NULL, &error);
    assert_outcome(i, status, &error, cases[i].text, numbers);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_modes),
      cmocka_unit_test(test_y),
      cmocka_unit_test(test_panels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
