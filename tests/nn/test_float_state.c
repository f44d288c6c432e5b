/* Callers and threads in other floating-point environments than the contract's get the same bits from every call of
 * fovea_nn, and keep their environment. This is about single layers, and functions of rows. */
#include "nn/surroundings.h"
#include "support/execution.h"

#include <fovea/embedding.h>
#include <fovea/recurrent.h>
#include <fovea/weights.h>
#include <string.h>

static void multiply(fovea_nn_linear linear, const void *from, fovea_type x_type, fovea_type y_type) {
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, &linear, rows_now(), from, room_for_rows());
  execution.isa = everywhere_isa;
  rows.x_type = x_type;
  rows.y_type = y_type;
  rows.residual = plain;
  everywhere_keep(fovea_nn_linear_run(&linear, &rows, &execution, NULL));
}

static void act_linear(void) {
  fovea_nn_linear linear = layers[0];
  for (int i = 0; i < variants(FOVEA_NN_ACTIVATION_ELU + 1); i++) {
    linear.activation = (fovea_nn_activation)i;
    multiply(linear, x, FOVEA_F32, FOVEA_F16);
  }
  if (variants(2) == 1) return;
  linear.weights = tiny;
  multiply(linear, x, FOVEA_F32, FOVEA_F32);
  multiply(linear, halves, FOVEA_F16, FOVEA_F32);
  fovea_nn_linear_init(&linear, WIDTH, WIDTH, halves);
  linear.weight_type = FOVEA_F16;
  multiply(linear, halves, FOVEA_BF16, FOVEA_BF16);
}

static void test_linear(void **state) {
  (void)state;
  assert_everywhere(act_linear);
}

static void act_pack(void) {
  const size_t size = (size_t)fovea_nn_panel_elements(WIDTH, WIDTH, FOVEA_F32) * sizeof(float);
  fovea_nn_linear linear = layers[0];
  execution.isa = everywhere_isa;
  linear.weights = x; /* subnormals are copied */
  linear.in = 10;
  linear.weight_stride = 10;
  everywhere_keep(fovea_nn_pack(&linear, everywhere_room(size), &execution, NULL));
  for (int64_t in = 1; in < 40; in++) {
    const int64_t elements = fovea_nn_panel_elements(in, 3, FOVEA_BF16);
    memcpy(everywhere_room(sizeof elements), &elements, sizeof elements);
  }
}

static void test_pack(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_pack);
}

/* Blocks whose scales and minima are subnormal f16 numbers, too; scales of MXFP4 are subnormal f32 numbers. */
static void act_codes(void) {
  static const fovea_nn_format formats[] = {FOVEA_NN_FORMAT_Q8_0, FOVEA_NN_FORMAT_Q4_1,  FOVEA_NN_FORMAT_Q4_K,
                                            FOVEA_NN_FORMAT_Q6_K, FOVEA_NN_FORMAT_MXFP4, FOVEA_NN_FORMAT_E4M3};
  enum { IN = 256, OUT = 20, ROWS = 11 };
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    size_t size = 0;
    fovea_nn_codes codes;
    fovea_nn_linear linear;
    fovea_nn_linear_rows rows;
    fovea_nn_codes_init(&codes, formats[i], IN, OUT, halves);
    if (formats[i] == FOVEA_NN_FORMAT_E4M3) { /* of bf16 the same bytes are subnormal, too */
      codes.group = 16, codes.group_outs = 1;
      codes.scale_type = FOVEA_BF16;
      codes.scales = halves;
    }
    everywhere_keep(fovea_nn_codes_size(&codes, &size, NULL));
    void *packed = everywhere_room(size);
    execution.isa = everywhere_isa;
    everywhere_keep(fovea_nn_pack_codes(&codes, packed, &execution, NULL));
    fovea_nn_linear_init(&linear, IN, OUT, packed);
    linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
    for (int64_t count = 1; count <= ROWS; count += 5) {
      fovea_nn_linear_rows_init(&rows, &linear, count, x, everywhere_room(ROWS * OUT * sizeof *x));
      everywhere_keep(fovea_nn_linear_run(&linear, &rows, &execution, NULL));
    }
  }
}

static void test_codes(void **state) {
  (void)state;
  assert_same_everywhere_on_isas(act_codes);
}

static void act_maps(void) {
  fovea_nn_map map;
  for (int i = 0; i < variants(FOVEA_NN_ACTIVATION_ELU + 1); i++) {
    fovea_nn_map_init(&map, rows_now(), WIDTH, x, room_for_rows());
    execution.isa = everywhere_isa;
    map.y_type = i % 2 ? FOVEA_BF16 : output_type;
    everywhere_keep(fovea_nn_activate(&map, (fovea_nn_activation)i, &execution, NULL));
  }
}

static void act_softmax(void) {
  fovea_nn_map map;
  fovea_nn_map_init(&map, rows_now(), WIDTH, x, room_for_rows());
  execution.isa = everywhere_isa;
  map.y_type = output_type;
  everywhere_keep(fovea_nn_softmax(&map, &execution, NULL));
}

static void act_dropout(void) {
  fovea_nn_dropout_rows rows;
  fovea_nn_dropout_rows_init(&rows, rows_now(), WIDTH, x, room_for_rows());
  memcpy(&rows.p, (const float[]){0.3f}, sizeof rows.p);
  rows.y_type = output_type;
  execution.isa = everywhere_isa;
  everywhere_keep(fovea_nn_dropout(&rows, &execution, NULL));
}

static void test_maps(void **state) {
  (void)state;
  assert_everywhere(act_maps);
  assert_everywhere(act_softmax);
  assert_everywhere(act_dropout);
}

static void act_norms(void) {
  static const double eps[] = {1e-5, 0.1, 1e-40};
  for (int i = 0; i < variants(6); i++) {
    fovea_nn_norm norm;
    fovea_nn_norm_rows rows;
    fovea_nn_norm_init(&norm, i < 3 ? FOVEA_NN_LAYER_NORM : FOVEA_NN_RMS_NORM, WIDTH);
    memcpy(&norm.eps, &eps[i % 3], sizeof norm.eps);
    execution.isa = everywhere_isa;
    fovea_nn_norm_rows_init(&rows, &norm, rows_now(), x, room_for_rows());
    rows.y_type = output_type;
    rows.residual = i % 2 ? x : plain;
    if (output_type == FOVEA_F32) rows.sum = room_for_rows();
    everywhere_keep(fovea_nn_norm_run(&norm, &rows, &execution, NULL));
  }
}

static void test_norms(void **state) {
  (void)state;
  assert_everywhere(act_norms);
}

static void act_sinusoids(void) {
  static const int64_t firsts[] = {0, -1000003, INT64_C(1099511620000)};
  for (int i = 0; i < variants(6); i++) {
    fovea_nn_sinusoid_rows rows;
    fovea_nn_sinusoid_rows_init(&rows, rows_now(), WIDTH, room_for_rows());
    execution.isa = everywhere_isa;
    rows.y_type = output_type;
    rows.first_position = firsts[i % 3];
    rows.exponent = i < 3 ? FOVEA_NN_WAVES_BY_DIM : FOVEA_NN_WAVES_TO_BASE;
    if (i % 2) rows.x = x;
    everywhere_keep(fovea_nn_sinusoids(&rows, &execution, NULL));
  }
}

static void act_embedding(void) {
  fovea_nn_embedding embedding;
  fovea_nn_embedding_rows rows;
  fovea_nn_embedding_init(&embedding, WIDTH, 4, x);
  memcpy(&embedding.scale, (const float[]){0.7f}, sizeof embedding.scale);
  execution.isa = everywhere_isa;
  embedding.positions = (fovea_nn_table){plain, rows_now(), FOVEA_F32, WIDTH};
  fovea_nn_embedding_rows_init(&rows, &embedding, rows_now(), ids, room_for_rows());
  rows.y_type = output_type;
  everywhere_keep(fovea_nn_embed(&embedding, &rows, &execution, NULL));
}

static void act_buckets(void) {
  everywhere_keep(fovea_nn_t5_buckets(-400, 801, 1, 32, 128, everywhere_room(801 * sizeof(int64_t)), NULL));
  const int64_t bucket = fovea_nn_t5_bucket(-90, 0, 33, 1000);
  memcpy(everywhere_room(sizeof bucket), &bucket, sizeof bucket);
}

static void test_positions(void **state) {
  (void)state;
  assert_everywhere(act_sinusoids);
  assert_everywhere(act_embedding);
  assert_same_everywhere(act_buckets);
}

static void act_additive(void) {
  fovea_nn_additive additive;
  fovea_nn_additive_tensors tensors;
  fovea_nn_additive_init(&additive, WIDTH, weights);
  execution.isa = everywhere_isa;
  for (int i = variants(2) - 1; i >= 0; i--) {
    additive.query = additive.key = i == 0 ? &layers[0] : NULL;
    fovea_nn_additive_tensors_init(&tensors, &additive, batch, LENGTH, LENGTH, WIDTH, x, plain, x, room_for_rows());
    tensors.o_type = output_type;
    tensors.weights = everywhere_room((size_t)(rows_now() * LENGTH) * sizeof(float));
    everywhere_keep(fovea_nn_additive_run(&additive, &tensors, &execution, NULL));
    const size_t size =
        measured(fovea_nn_additive_scratch_size(&additive, &tensors, with_threads(2), measured_size(), NULL));
    memcpy(everywhere_room(sizeof size), &size, sizeof size);
  }
}

/* H is 5 in a GRU and 4 in an LSTM. */
static void act_cell(int64_t gates, fovea_status (*run)(const fovea_nn_cell *, const fovea_nn_cell_rows *,
                                                        const fovea_execution *, fovea_error *)) {
  const int64_t dim = gates == 4 ? 4 : 5;
  fovea_nn_linear input, hidden;
  fovea_nn_cell cell;
  fovea_nn_cell_rows rows;
  fovea_nn_linear_init(&input, WIDTH, gates * dim, weights);
  fovea_nn_linear_init(&hidden, dim, gates * dim, weights + 1000);
  fovea_nn_cell_init(&cell, &input, &hidden);
  execution.isa = everywhere_isa;
  fovea_nn_cell_rows_init(&rows, &cell, rows_now(), x, plain, room_for_rows());
  if (gates == 4) {
    rows.c = x;
    rows.new_c = everywhere_room((size_t)(rows_now() * dim) * sizeof(float));
  }
  everywhere_keep(run(&cell, &rows, &execution, NULL));
}

static void act_gru(void) {
  act_cell(3, fovea_nn_gru);
}

static void act_lstm(void) {
  act_cell(4, fovea_nn_lstm);
}

static void test_recurrent(void **state) {
  (void)state;
  many = 300; /* additive attention has several tasks with fewer rows, too */
  assert_everywhere(act_additive);
  many = MANY;
  assert_everywhere(act_gru);
  assert_everywhere(act_lstm);
}

/* Refused numbers, and the texts that name them. */
static void act_refused(void) {
  static const double wrong[] = {-1e-5, 1e40, -0x1p-1074};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    fovea_nn_norm norm = norms[0];
    fovea_nn_norm_rows rows;
    fovea_nn_sinusoid_rows waves;
    memcpy(&norm.eps, &wrong[i], sizeof norm.eps);
    fovea_nn_norm_rows_init(&rows, &norm, rows_now(), x, room_for_rows());
    everywhere_keep(fovea_nn_norm_run(&norm, &rows, NULL, everywhere_room(sizeof(fovea_error))));
    fovea_nn_sinusoid_rows_init(&waves, 1, WIDTH, room_for_rows());
    memcpy(&waves.base, &wrong[i], sizeof waves.base);
    everywhere_keep(fovea_nn_sinusoids(&waves, NULL, everywhere_room(sizeof(fovea_error))));
  }
}

static void test_refused(void **state) {
  (void)state;
  assert_same_everywhere(act_refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linear),  cmocka_unit_test(test_pack),      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_norms),   cmocka_unit_test(test_positions), cmocka_unit_test(test_recurrent),
      cmocka_unit_test(test_refused), cmocka_unit_test(test_codes),
  };
  return cmocka_run_group_tests(tests, surroundings_set_up, NULL);
}
