/* Rotary position embedding: angles against exact ones, and rows of every kind against contract_rotary.c, bit for
 * bit, on every instruction set. */
#include "contract_rotary.h"
#include "src/rotary/angle.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/trial.h"

#include <fovea/rotary.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct fraction turns[1 << 10];

/* The exact angles were computed in another way, with 600 bits. */
static void test_exact_angles(void **state) {
  (void)state;
  static const struct {
    double base;
    int64_t pairs, pair, position;
    float cosine, sine;
  } angles[] = {
#include "angles.inc"
  };
  for (size_t i = 0; i < sizeof angles / sizeof angles[0]; i++) {
    float row[2] = {1.0f, 0.0f}, cosine, sine;
    contract_turns(angles[i].base, NULL, angles[i].pairs, turns);
    contract_angle(turns[angles[i].pair], angles[i].position, &cosine, &sine);
    assert_int_equal(bits_of(cosine), bits_of(angles[i].cosine));
    assert_int_equal(bits_of(sine), bits_of(angles[i].sine));

    /* The library makes (cosine, sine) of the pair (1, 0). */
    float *whole = calloc((size_t)angles[i].pairs, 2 * sizeof *whole);
    fovea_rotary rotary;
    fovea_rotation rotation;
    assert_non_null(whole);
    memcpy(whole + 2 * angles[i].pair, row, sizeof row);
    fovea_rotary_init(&rotary, FOVEA_ROTARY_INTERLEAVED, 2 * angles[i].pairs);
    rotary.base = angles[i].base;
    fovea_rotation_init(&rotation, 1, 1, 1, 2 * angles[i].pairs, whole, whole);
    rotation.first_position = angles[i].position;
    assert_int_equal(fovea_rotary_apply(&rotary, &rotation, NULL, NULL), FOVEA_OK);
    assert_memory_equal(whole + 2 * angles[i].pair, &angles[i].cosine, sizeof(float));
    assert_memory_equal(whole + 2 * angles[i].pair + 1, &angles[i].sine, sizeof(float));
    free(whole);
  }
}

static void assert_same_turn(fovea_fraction actual, struct fraction expected) {
  const uint32_t words[] = {(uint32_t)(actual.high >> 32), (uint32_t)actual.high, (uint32_t)(actual.low >> 32),
                            (uint32_t)actual.low};
  assert_memory_equal(words, expected.digit, sizeof words);
}

static void check_angle(fovea_fraction turn, int64_t position) {
  const struct fraction expected = {
      {(uint32_t)(turn.high >> 32), (uint32_t)turn.high, (uint32_t)(turn.low >> 32), (uint32_t)turn.low}};
  float cosine, sine, expected_cosine, expected_sine;
  fovea_angle_at(turn, position, &cosine, &sine);
  contract_angle(expected, position, &expected_cosine, &expected_sine);
  if (bits_of(cosine) != bits_of(expected_cosine) || bits_of(sine) != bits_of(expected_sine))
    fail_msg("turn %016llx %016llx, position %lld: %a %a, not %a %a", (unsigned long long)turn.high,
             (unsigned long long)turn.low, (long long)position, (double)cosine, (double)sine,
             (double)expected_cosine, (double)expected_sine);
  const double length = (double)cosine * (double)cosine + (double)sine * (double)sine;
  assert_true(fabs(length - 1.0) < 0x1p-23);
}

/* Turns of every size, every eighth, and turns at every distance from an eighth. */
static void test_angles(void **state) {
  (void)state;
  struct generator generator = {1};
  for (int i = 0; i < USUAL_OR_LONG(2000, 100000); i++) {
    const fovea_fraction any = {generator_bits(&generator), generator_bits(&generator)};
    const fovea_fraction small = fovea_fraction_shift_right(any, (int)generator_below(&generator, 128));
    const fovea_fraction eighth = {(uint64_t)generator_below(&generator, 8) << 61, 0};
    const int64_t position = generator_below(&generator, INT64_C(1) << 41) - (INT64_C(1) << 40);
    check_angle(any, position);
    check_angle(small, 1);
    check_angle(fovea_fraction_add(eighth, small), 1);
    check_angle(fovea_fraction_subtract(eighth, small), -1);
    check_angle(eighth, i % 16);
  }
}

static void test_turns(void **state) {
  (void)state;
  static const double bases[] = {1.0,
                                 0x1.0000000000001p+0,
                                 1.25,
                                 0x1.6a09e667f3bccp+0,
                                 0x1.6a09e667f3bcdp+0,
                                 1.75,
                                 2.0,
                                 3.0,
                                 10000.0,
                                 500000.0,
                                 1e6,
                                 1e30,
                                 0x1.fffffffffffffp+1023};
  static const int64_t pairs[] = {2, 3, 5, 32, 48, 64, 127, 1000};
  struct generator generator = {2};
  for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++)
    for (size_t j = 0; j < sizeof pairs / sizeof pairs[0]; j++) {
      contract_turns(bases[i], NULL, pairs[j], turns);
      const fovea_fraction ratio = fovea_angle_ratio(bases[i], pairs[j]);
      fovea_fraction turn = fovea_angle_turn(1.0);
      for (int64_t k = 0; k < pairs[j]; k++, turn = fovea_fraction_multiply(turn, ratio))
        assert_same_turn(turn, turns[k]);
    }
  for (int i = 0; i < USUAL_OR_LONG(1000, 20000); i++) {
    const double sign = generator_below(&generator, 2) ? 1.0 : -1.0, size = 1.0 + (double)(i + 1) / 20001;
    const double frequency = sign * ldexp(size, (int)generator_below(&generator, 330) - 298);
    contract_turns(0.0, &frequency, 1, turns);
    assert_same_turn(fovea_angle_turn(frequency), turns[0]);
  }
  static const double special[] = {0.0, -0.0, 0x1p-1074, 0x1p-1022, -0x1p-260, 0x1p+32, -0x1p+32};
  for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
    contract_turns(0.0, &special[i], 1, turns);
    assert_same_turn(fovea_angle_turn(special[i]), turns[0]);
  }
}

/* For compilers without integers of 128 bits. */
static void test_products_of_halves(void **state) {
  (void)state;
  struct generator generator = {3};
  for (int i = 0; i < 10000; i++) {
    const uint64_t a = generator_bits(&generator) | (i % 3 ? 0 : UINT64_MAX << i % 64);
    const uint64_t b = generator_bits(&generator) | (i % 5 ? 0 : UINT64_MAX >> i % 64);
    const fovea_fraction one = fovea_product(a, b), other = fovea_product_of_halves(a, b);
    assert_true(one.high == other.high && one.low == other.low);
  }
}

/* One call with its tensors. */
struct rotary_run {
  const char *isa; /* that it runs on */
  fovea_rotary rotary;
  fovea_rotation rotation;
  struct tensor from, to;
};

static int64_t position_at(const fovea_rotation *rotation, int64_t axis, int64_t batch, int64_t row) {
  if (rotation->positions != NULL)
    return rotation->positions[(axis * rotation->batch + batch) * rotation->rows + row];
  return rotation->first_positions != NULL ? rotation->first_positions[batch] + row
                                           : rotation->first_position + row;
}

/* Rotates a row in place as the contract does, and rounds it to the type. */
static void contract_rotate_row(const struct rotary_run *run, int64_t batch, int64_t index, float *row) {
  const fovea_rotary *rotary = &run->rotary;
  const fovea_rotation *rotation = &run->rotation;
  const int64_t pairs = rotary->dims / 2;
  for (int64_t i = 0; i < pairs; i++) {
    float cosine, sine, *x = row + i, *y = row + pairs + i;
    if (rotary->layout == FOVEA_ROTARY_INTERLEAVED) x = row + 2 * i, y = x + 1;
    const int64_t axis = rotary->pair_axes ? rotary->pair_axes[i] : 0;
    contract_angle(turns[i], position_at(rotation, axis, batch, index), &cosine, &sine);
    contract_rotate_pair(x, y, cosine, sine);
    *x = rounded_number(rotation->to_type, *x);
    *y = rounded_number(rotation->to_type, *y);
  }
  for (int64_t d = rotary->dims; d < rotation->dim && rotation->from_type != rotation->to_type; d++)
    row[d] = rounded_number(rotation->to_type, row[d]);
}

/* Compares `to` with the numbers of `from`, rotated by the contract. */
static void assert_rotated(const struct rotary_run *run, const struct tensor *from, const char *isa) {
  const fovea_rotation *rotation = &run->rotation;
  float *row = malloc((size_t)rotation->dim * sizeof *row);
  assert_non_null(row);
  tensor_load(&run->to);
  for (int64_t b = 0; b < rotation->batch; b++)
    for (int64_t h = 0; h < rotation->heads; h++)
      for (int64_t i = 0; i < rotation->rows; i++) {
        const float *actual = tensor_row(&run->to, b, h, i);
        memcpy(row, tensor_row(from, b, h, i), (size_t)rotation->dim * sizeof *row);
        contract_rotate_row(run, b, i, row);
        for (int64_t d = 0; d < rotation->dim; d++)
          if (bits_of(actual[d]) != bits_of(row[d]))
            fail_msg("%s: layout %d, dims %lld of %lld, %s to %s, position %lld, element %lld: %a, not %a", isa,
                     (int)run->rotary.layout, (long long)run->rotary.dims, (long long)rotation->dim,
                     type_name(rotation->from_type), type_name(rotation->to_type),
                     (long long)position_at(rotation, 0, b, i), (long long)d, (double)actual[d], (double)row[d]);
      }
  free(row);
}

static void apply(const struct rotary_run *run) {
  fovea_error error;
  if (fovea_rotary_apply(&run->rotary, &run->rotation, on_isa(run->isa), &error) != FOVEA_OK)
    fail_msg("%s", error.text);
}

/* On every instruction set, into another tensor and, if the types are the same, in place. */
static void check_run(struct rotary_run *run, uint64_t seed) {
  fovea_rotation *rotation = &run->rotation;
  const fovea_rotation *r = rotation;
  tensor_create_of(r->from_type, &run->from, r->batch, r->heads, r->rows, r->dim, r->from_strides, GUARD_AT_END);
  tensor_create_of(r->to_type, &run->to, r->batch, r->heads, r->rows, r->dim, r->to_strides, GUARD_AT_START);
  tensor_fill_random(&run->from, seed, 3.0f);
  tensor_store(&run->from);
  contract_turns(run->rotary.base, run->rotary.frequencies, run->rotary.dims / 2, turns);
  const char *const *isas = whole_isas_for(NULL);
  for (int i = 0; isas[i] != NULL; i++) {
    run->isa = isas[i];
    rotation->from = tensor_pointer(&run->from);
    rotation->to = tensor_pointer(&run->to);
    tensor_fill_untouched(&run->to);
    apply(run);
    assert_true(tensor_gaps_untouched(&run->to));
    assert_rotated(run, &run->from, isas[i]);
    if (r->from_type != r->to_type) continue;

    const fovea_strides from_strides = r->from_strides;
    rotation->from_strides = r->to_strides;
    rotation->from = r->to;
    tensor_fill_untouched(&run->to);
    tensor_copy_part(&run->to, &run->from, 0, 0, 0);
    tensor_store(&run->to);
    apply(run);
    assert_true(tensor_gaps_untouched(&run->to));
    assert_rotated(run, &run->from, isas[i]);
    rotation->from_strides = from_strides;
  }
  tensor_destroy(&run->from);
  tensor_destroy(&run->to);
}

static struct rotary_run run_of(fovea_rotary_layout layout, int64_t dims, int64_t rows, int64_t dim) {
  struct rotary_run run;
  fovea_rotary_init(&run.rotary, layout, dims);
  fovea_rotation_init(&run.rotation, 2, 3, rows, dim, NULL, NULL);
  run.rotation.from_strides = run.rotation.to_strides = (fovea_strides){3 * rows * dim, rows * dim, dim};
  return run;
}

static void test_dims(void **state) {
  (void)state;
  static const int64_t sizes[][2] = {{0, 1},     {0, 40},    {2, 2},     {2, 3},     {6, 6},
                                     {8, 8},     {10, 17},   {30, 33},   {32, 64},   {62, 62},
                                     {64, 64},   {80, 80},   {96, 128},  {126, 127}, {128, 128},
                                     {130, 130}, {256, 256}, {258, 300}, {516, 516}};
  for (fovea_rotary_layout layout = FOVEA_ROTARY_INTERLEAVED; layout <= FOVEA_ROTARY_HALVES; layout++)
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      struct rotary_run run = run_of(layout, sizes[i][0], 3, sizes[i][1]);
      run.rotation.first_position = 1000000 - (int64_t)i;
      check_run(&run, i);
    }
}

static void test_types(void **state) {
  (void)state;
  for (fovea_rotary_layout layout = FOVEA_ROTARY_INTERLEAVED; layout <= FOVEA_ROTARY_HALVES; layout++)
    for (fovea_type from = FOVEA_F32; from <= FOVEA_BF16; from++)
      for (fovea_type to = FOVEA_F32; to <= FOVEA_BF16; to++) {
        struct rotary_run run = run_of(layout, 42, 2, 75);
        run.rotation.from_type = from;
        run.rotation.to_type = to;
        check_run(&run, 7);
      }
}

static void test_strides(void **state) {
  (void)state;
  for (fovea_rotary_layout layout = FOVEA_ROTARY_INTERLEAVED; layout <= FOVEA_ROTARY_HALVES; layout++) {
    struct rotary_run run = run_of(layout, 16, 5, 20);
    run.rotation.from_strides = fovea_strides_rows_before_heads(5, 3, 20);
    run.rotation.to_strides = (fovea_strides){23, 46 * 5, -46};
    check_run(&run, 1);
    run.rotation.from_strides = (fovea_strides){0, 20, 0}; /* all positions read one row */
    run.rotation.to_strides = (fovea_strides){-600, 21, 77};
    check_run(&run, 2);
  }
}

static void test_positions(void **state) {
  (void)state;
  static const int64_t positions[] = {
      0,    -1,  1000000, INT64_C(1) << 31, -(INT64_C(1) << 31), 12345678901, INT64_C(1) << 40, -(INT64_C(1) << 40),
      4095, 4095};
  static const int64_t first_positions[] = {-7, INT64_C(1) << 33};
  for (fovea_rotary_layout layout = FOVEA_ROTARY_INTERLEAVED; layout <= FOVEA_ROTARY_HALVES; layout++) {
    struct rotary_run run = run_of(layout, 64, 5, 64);
    check_run(&run, 1);
    run.rotation.first_positions = first_positions;
    check_run(&run, 2);
    run.rotation.first_positions = NULL;
    run.rotation.positions = positions;
    check_run(&run, 3);
  }
}

static void test_bases_and_frequencies(void **state) {
  (void)state;
  static const double bases[] = {1.0, 1.5, 500000.0, 1e6, 1e300};
  static const double frequencies[] = {1.0, -1.0, 0.0, 0x1p-40, 4294967296.0, 0x1.921fb54442d18p+0, 3.7, 1e-300};
  for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
    struct rotary_run run = run_of(FOVEA_ROTARY_HALVES, 48, 3, 48);
    run.rotary.base = bases[i];
    run.rotation.first_position = 30000;
    check_run(&run, i);
  }
  struct rotary_run run = run_of(FOVEA_ROTARY_INTERLEAVED, 16, 4, 17);
  run.rotary.frequencies = frequencies;
  run.rotation.first_position = 999999;
  check_run(&run, 9);
}

/* Tables of the same angles, with other numbers between the rows. */
static void test_tables(void **state) {
  (void)state;
  enum { PAIRS = 70, ROWS = 11, STRIDE = 73 };
  static float cosines[ROWS * STRIDE], sines[ROWS * STRIDE];
  contract_turns(10000.0, NULL, PAIRS, turns);
  for (int p = 0; p < ROWS; p++)
    for (int i = 0; i < STRIDE; i++) {
      cosines[p * STRIDE + i] = sines[p * STRIDE + i] = NAN;
      if (i < PAIRS) contract_angle(turns[i], p, &cosines[p * STRIDE + i], &sines[p * STRIDE + i]);
    }
  static const int64_t positions[] = {10, 0, 3, 4, 5, 10, 1, 1};
  for (fovea_rotary_layout layout = FOVEA_ROTARY_INTERLEAVED; layout <= FOVEA_ROTARY_HALVES; layout++) {
    struct rotary_run run = run_of(layout, 2 * PAIRS, 4, 150);
    run.rotary.cosines = cosines;
    run.rotary.sines = sines;
    run.rotary.table_rows = ROWS;
    run.rotary.table_stride = STRIDE;
    check_run(&run, 1);
    run.rotation.first_position = ROWS - 4;
    check_run(&run, 2);
    run.rotation.first_position = 0;
    run.rotation.positions = positions;
    check_run(&run, 3);
  }
}

/* Positions of several numbers; without a list, every axis has the same. Pieces of pairs, and tables, have axes,
 * too. */
static void test_axes(void **state) {
  (void)state;
  enum { PAIRS = 90, ROWS = 5, TABLE = 40 };
  static unsigned char axes[PAIRS];
  static int64_t positions[FOVEA_ROTARY_AXES * 2 * ROWS];
  static float cosines[TABLE * PAIRS], sines[TABLE * PAIRS];
  struct generator generator = {6};
  contract_turns(10000.0, NULL, PAIRS, turns);
  for (int p = 0; p < TABLE; p++)
    for (int i = 0; i < PAIRS; i++) contract_angle(turns[i], p, &cosines[p * PAIRS + i], &sines[p * PAIRS + i]);
  for (int i = 0; i < 40; i++) {
    struct rotary_run run = run_of(i % 2 ? FOVEA_ROTARY_HALVES : FOVEA_ROTARY_INTERLEAVED, 2 * PAIRS, ROWS, 200);
    const int tables = i % 3 == 0;
    const int64_t range = tables ? TABLE : INT64_C(1) << 40;
    run.rotary.axes = 2 + i % (FOVEA_ROTARY_AXES - 1);
    run.rotary.pair_axes = axes;
    for (int j = 0; j < PAIRS; j++) axes[j] = (unsigned char)generator_below(&generator, run.rotary.axes);
    for (int j = 0; j < FOVEA_ROTARY_AXES * 2 * ROWS; j++)
      positions[j] = tables ? generator_below(&generator, range) : generator_below(&generator, 2 * range) - range;
    if (tables) {
      run.rotary.cosines = cosines;
      run.rotary.sines = sines;
      run.rotary.table_rows = TABLE;
    }
    if (i % 5) run.rotation.positions = positions;
    check_run(&run, (uint64_t)i);
  }
}

/* Every bit pattern of 16 bits, and special numbers of f32, next to each other and beyond the pairs. */
static void test_special_values(void **state) {
  (void)state;
  static const uint32_t special[] = {0x7fc00000, 0xffc00000, 0x7fa12345, 0x7f800000, 0xff800000, 0x7f7fffff,
                                     0xff7fffff, 0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff,
                                     0x33000000, 0xb3000000, 0x3f800000, 0x477ff000};
  enum { KINDS = sizeof special / sizeof special[0], DIM = 2 * KINDS };
  for (fovea_rotary_layout layout = FOVEA_ROTARY_INTERLEAVED; layout <= FOVEA_ROTARY_HALVES; layout++)
    for (fovea_type type = FOVEA_F32; type <= FOVEA_BF16; type++)
      for (int64_t dims = 0; dims <= DIM; dims += DIM / 2) {
        struct rotary_run run = run_of(layout, dims, KINDS, DIM);
        fovea_rotation *rotation = &run.rotation;
        struct tensor *from = &run.from, *to = &run.to;
        rotation->to_type = type;
        tensor_create(from, 2, 3, KINDS, DIM, rotation->from_strides, GUARD_AT_END);
        tensor_create_of(type, to, 2, 3, KINDS, DIM, rotation->to_strides, GUARD_AT_END);
        for (int64_t i = 0; i < 6 * KINDS * DIM; i++)
          memcpy(from->data + i, &special[(i + i / DIM * (i % 2)) % KINDS], sizeof(float));
        rotation->from = tensor_pointer(from);
        rotation->to = tensor_pointer(to);
        contract_turns(run.rotary.base, NULL, dims / 2, turns);
        const char *const *isas = whole_isas_for(NULL);
        for (int i = 0; isas[i] != NULL; i++) {
          run.isa = isas[i];
          apply(&run);
          assert_rotated(&run, from, isas[i]);
        }
        tensor_destroy(from);
        tensor_destroy(to);
      }
}

/* The formula of the header, computed with libm. */
static void test_formula(void **state) {
  (void)state;
  enum { DIM = 96, PAIRS = DIM / 2 };
  static const int64_t positions[] = {0, 1, 63, 4096, 131071, 1000000, -1000000};
  struct generator generator = {5};
  for (int i = 0; i < USUAL_OR_LONG(70, 700); i++) {
    const int64_t position = positions[i % 7];
    const double base = i % 2 ? 10000.0 : 500000.0;
    float row[DIM], rotated[DIM];
    fovea_rotary rotary;
    fovea_rotation rotation;
    for (int d = 0; d < DIM; d++) row[d] = generator_uniform(&generator);
    fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, DIM);
    rotary.base = base;
    fovea_rotation_init(&rotation, 1, 1, 1, DIM, row, rotated);
    rotation.first_position = position;
    assert_int_equal(fovea_rotary_apply(&rotary, &rotation, NULL, NULL), FOVEA_OK);
    for (int k = 0; k < PAIRS; k++) {
      const double angle = (double)position * pow(base, -(double)k / PAIRS), c = cos(angle), s = sin(angle);
      const double x = (double)row[k], y = (double)row[PAIRS + k];
      const double x_bound = 3.01 * 0x1p-24 * (fabs(x * c) + fabs(y * s)) + 0x1p-149;
      const double y_bound = 3.01 * 0x1p-24 * (fabs(y * c) + fabs(x * s)) + 0x1p-149;
      assert_true(fabs((double)rotated[k] - (x * c - y * s)) <= x_bound + 0x1p-32);
      assert_true(fabs((double)rotated[PAIRS + k] - (y * c + x * s)) <= y_bound + 0x1p-32);
    }
  }
}

/* Position 0 rotates nothing, and each position is undone by its negative, within f32's rounding. */
static void test_rotating_back(void **state) {
  (void)state;
  static const int64_t positions[] = {0, 1, 1000000, INT64_C(1) << 31, INT64_C(1) << 40};
  float row[128], rotated[128];
  struct generator generator = {4};
  for (int d = 0; d < 128; d++) row[d] = generator_uniform(&generator);
  for (int i = 0; i < 5; i++) {
    fovea_rotary rotary;
    fovea_rotation rotation;
    memcpy(rotated, row, sizeof row);
    fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, 128);
    fovea_rotation_init(&rotation, 1, 1, 1, 128, rotated, rotated);
    rotation.first_position = positions[i];
    assert_int_equal(fovea_rotary_apply(&rotary, &rotation, NULL, NULL), FOVEA_OK);
    if (i == 0) assert_memory_equal(rotated, row, sizeof row);
    if (i > 0) assert_memory_not_equal(rotated, row, sizeof row);
    rotation.first_position = -positions[i];
    assert_int_equal(fovea_rotary_apply(&rotary, &rotation, NULL, NULL), FOVEA_OK);
    for (int d = 0; d < 128; d++) assert_true(fabsf(rotated[d] - row[d]) <= 0x1p-22f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact_angles),
      cmocka_unit_test(test_angles),
      cmocka_unit_test(test_turns),
      cmocka_unit_test(test_products_of_halves),
      cmocka_unit_test(test_dims),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_strides),
      cmocka_unit_test(test_positions),
      cmocka_unit_test(test_bases_and_frequencies),
      cmocka_unit_test(test_tables),
      cmocka_unit_test(test_axes),
      cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_formula),
      cmocka_unit_test(test_rotating_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
