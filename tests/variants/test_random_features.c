/* Random projections and feature maps. Projections against contract_performer.c, bit for bit, and by what they are
 * for: orthogonal blocks, norms, moments. Features against the contract, and kernels by their means over many
 * draws: no test asks one draw to be close. Seeds are fixed, so every interval below holds always or never. */
#include "contract_performer.h"
#include "nn/contract_rows.h"
#include "nn/layer.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/executors.h"
#include "support/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static fovea_nn_random_features random_of(int64_t features, int64_t dim, uint64_t seed) {
  fovea_nn_random_features random;
  fovea_nn_random_features_init(&random, features, dim);
  random.seed = seed;
  return random;
}

static float *numbers_of(int64_t count) {
  float *numbers = malloc((size_t)count * sizeof *numbers + 1);
  assert_non_null(numbers);
  return numbers;
}

static float *draw(const fovea_nn_random_features *random) {
  float *projection = numbers_of(random->features * random->dim);
  assert_int_equal(fovea_nn_random_features_draw(random, projection, NULL, NULL), FOVEA_OK);
  return projection;
}

/* ---- Projections ------------------------------------------------------------------------------------------- */

static void test_bits(void **state) {
  static const int64_t dims[] = {1, 2, 3, 5, 16, 33, 64};
  (void)state;
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
    for (int kind = 0; kind < 4; kind++)
      for (int64_t features = 1; features <= 100; features += 33) {
        fovea_nn_random_features r = random_of(features, dims[i], UINT64_C(0x123456789abcdef0) + i);
        const int64_t count = features * dims[i];
        float *expected = numbers_of(count);
        r.stream = UINT64_C(0xfedcba9876543210);
        r.orthogonal = kind % 2;
        r.norms = (fovea_nn_feature_norms)(kind / 2);
        contract_random_features(&r, expected);
        float *projection = draw(&r);
        assert_memory_equal(projection, expected, (size_t)count * 4);
        free(expected);
        free(projection);
      }
}

/* The logarithm, sine and cosine are as in the C library, but for their rounding. */
static void test_gaussian_numbers(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 20000; i++) {
    double pair[2];
    uint64_t words[4];
    for (uint64_t w = 0; w < 4; w++) words[w] = contract_random(3, 4, 4 * i + w);
    contract_gaussian_pair(3, 4, i, pair);
    const double u = (double)(words[0] << 32 | words[1]) * 0x1p-64,
                 angle = (double)(words[2] << 32 | words[3]) * 0x1p-64;
    const double radius = sqrt(-2 * log(u)), turn = 6.283185307179586 * angle;
    assert_true(fabs(pair[0] - radius * cos(turn)) < 1e-6);
    assert_true(fabs(pair[1] - radius * sin(turn)) < 1e-6);
  }
}

/* More features do not change the first ones, and threads change nothing. */
static void test_prefixes(void **state) {
  enum { DIM = 12, MOST = 100 };
  fovea_nn_random_features r = random_of(MOST, DIM, 5);
  (void)state;
  for (r.orthogonal = 0; r.orthogonal < 2; r.orthogonal++) {
    r.features = MOST;
    float *whole = draw(&r), *again = numbers_of(MOST * DIM);
    for (r.features = 1; r.features < MOST; r.features += 7) {
      float *part = draw(&r);
      assert_memory_equal(part, whole, (size_t)(r.features * DIM) * 4);
      free(part);
    }
    r.features = MOST;
    for (int order = 0; order < TASK_ORDERS; order++) {
      struct executor executor = {(enum task_order)order, 0};
      fovea_execution execution;
      fovea_execution_init(&execution);
      execution.threads = 3;
      execution.parallel_for = threads_for;
      execution.parallel_context = &executor;
      execution.scratch_size =
          measured(fovea_nn_random_features_scratch_size(&r, with_threads(3), measured_size(), NULL));
      struct guarded memory = guarded_create(execution.scratch_size, GUARD_AT_END);
      if (execution.scratch_size > 0) execution.scratch = memory.data;
      memset(again, 0, MOST * DIM * 4);
      assert_int_equal(fovea_nn_random_features_draw(&r, again, &execution, NULL), FOVEA_OK);
      assert_memory_equal(again, whole, MOST * DIM * 4);
      guarded_destroy(&memory);
    }
    free(whole);
    free(again);
  }
}

static double dot(const float *a, const float *b, int64_t dim) {
  double sum = 0;
  for (int64_t d = 0; d < dim; d++) sum += (double)a[d] * (double)b[d];
  return sum;
}

static void test_orthogonality(void **state) {
  static const int64_t dims[] = {2, 7, 64, 128};
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    const int64_t dim = dims[i];
    fovea_nn_random_features r = random_of(2 * dim + 1, dim, 6);
    for (int norms = 0; norms < 2; norms++) {
      r.norms = (fovea_nn_feature_norms)norms;
      float *w = draw(&r);
      for (int64_t a = 0; a < r.features; a++) {
        const double squares = dot(w + a * dim, w + a * dim, dim);
        if (norms == 1) assert_true(fabs(squares - (double)dim) < 4e-7 * (double)dim);
        for (int64_t b = a / dim * dim; b < a; b++) {
          const double sizes = sqrt(squares * dot(w + b * dim, w + b * dim, dim));
          assert_true(fabs(dot(w + a * dim, w + b * dim, dim)) < 2e-7 * sizes);
        }
      }
      free(w);
    }
  }
}

/* Numbers of many draws: mean, variance and fourth moment are as of Gaussian numbers, and squared norms have the
 * mean and the variance of chi-squared. Each interval is 5 standard errors. */
static void test_moments(void **state) {
  enum { DIM = 8, FEATURES = 4000, COUNT = DIM * FEATURES };
  fovea_nn_random_features r = random_of(FEATURES, DIM, 7);
  (void)state;
  for (r.orthogonal = 0; r.orthogonal < 2; r.orthogonal++) {
    float *w = draw(&r);
    double moments[5] = {0}, norms[3] = {0};
    for (int i = 0; i < COUNT; i++)
      for (int power = 1; power <= 4; power++) moments[power] += pow((double)w[i], power) / COUNT;
    for (int i = 0; i < FEATURES; i++) {
      const double squares = dot(w + i * DIM, w + i * DIM, DIM);
      norms[1] += squares / FEATURES;
      norms[2] += (squares - DIM) * (squares - DIM) / FEATURES;
    }
    assert_true(fabs(moments[1]) < 5 / sqrt(COUNT));
    assert_true(fabs(moments[2] - 1) < 5 * sqrt(2.0 / COUNT));
    assert_true(fabs(moments[3]) < 5 * sqrt(15.0 / COUNT));
    assert_true(fabs(moments[4] - 3) < 5 * sqrt(96.0 / COUNT));
    assert_true(fabs(norms[1] - DIM) < 5 * sqrt(2.0 * DIM / FEATURES));
    assert_true(fabs(norms[2] - 2 * DIM) < 5 * sqrt((48.0 * DIM + 8.0 * DIM * DIM) / FEATURES));
    free(w);
  }
}

/* ---- Features ---------------------------------------------------------------------------------------------- */

static void check_features(struct generator *generator, int number) {
  const int64_t dim = 1 + generator_below(generator, number % 4 ? 40 : 140), rows = generator_below(generator, 300);
  const int64_t features = 1 + generator_below(generator, number % 3 ? 40 : 150);
  const fovea_type from = (fovea_type)generator_below(generator, 3), to = (fovea_type)generator_below(generator, 3);
  const int64_t seen = generator_below(generator, 2) ? rows : generator_below(generator, rows + 1);
  const fovea_nn_random_features random = random_of(features, dim, 8);
  struct matrix x = matrix_create(rows, dim, dim + 2, from, number % 5 ? 0 : 60, generator);
  struct matrix y = matrix_create(rows, features, features + 1, to, 0, generator);
  float *w = draw(&random), *expected = numbers_of(rows * features);
  fovea_nn_performer p;
  fovea_nn_performer_rows r;
  fovea_nn_performer_init(&p, (fovea_nn_performer_kernel)generator_below(generator, 2), dim, features, w);
  if (p.kernel == FOVEA_NN_PERFORMER_SOFTMAX)
    p.stabiliser = (fovea_nn_performer_stabiliser)generator_below(generator, 2);
  if (generator_below(generator, 3) == 0) p.eps = 0;
  if (generator_below(generator, 3) == 0) p.scale = 0.7;
  fovea_nn_performer_rows_init(&r, &p, 1, 1, rows, x.memory.data, y.memory.data);
  r.x_type = from, r.y_type = to;
  r.x_strides.row = x.stride, r.y_strides.row = y.stride;
  r.keys = p.stabiliser && generator_below(generator, 2);
  if (seen < rows) r.lens = &seen;
  memset(expected, 0, (size_t)(rows * features) * 4);
  contract_performer_features(&p, x.numbers, seen, r.keys, expected);
  for (const char *const *isa = whole_isas_for(NULL); *isa; isa++) {
    fovea_error error;
    matrix_spoil(&y);
    if (fovea_nn_performer_features(&p, &r, on_isa(*isa), &error)) fail_msg("%s", error.text);
    assert_matrix(&y, expected);
  }
  matrix_destroy(&x);
  matrix_destroy(&y);
  free(w);
  free(expected);
}

static void test_features(void **state) {
  struct generator generator = {81};
  (void)state;
  for (int i = 0; i < USUAL_OR_LONG(15, 80); i++) check_features(&generator, i);
}

/* Two rows, and how the kernel of their features compares with e^(q.k / sqrt(dim)) over draws. */
enum { PAIR_DIM = 8 };
static const float rows_of_pair[2][PAIR_DIM] = {{0.45f, -0.5f, 0.2f, 0.4f, -0.1f, 0.6f, -0.3f, 0.2f},
                                                {0.3f, -0.4f, -0.4f, 0.5f, 0.1f, 0.2f, -0.6f, -0.1f}};

static double kernel_of(int64_t features, uint64_t seed, int orthogonal) {
  fovea_nn_random_features random = random_of(features, PAIR_DIM, seed);
  float phi[2][512];
  fovea_nn_performer p;
  fovea_nn_performer_rows r;
  assert_true(features <= 512);
  random.orthogonal = orthogonal;
  float *w = draw(&random);
  fovea_nn_performer_init(&p, FOVEA_NN_PERFORMER_SOFTMAX, PAIR_DIM, features, w);
  p.eps = 0;
  fovea_nn_performer_rows_init(&r, &p, 1, 1, 2, rows_of_pair, phi);
  r.y_strides.row = 512;
  assert_int_equal(fovea_nn_performer_features(&p, &r, NULL, NULL), FOVEA_OK);
  free(w);
  return dot(phi[0], phi[1], features);
}

static double exact_kernel(void) {
  return exp(dot(rows_of_pair[0], rows_of_pair[1], PAIR_DIM) / sqrt(PAIR_DIM));
}

/* Mean and standard error of the kernel over draws. */
static void measure(int64_t features, int draws, int orthogonal, double *mean, double *deviation) {
  double sum = 0, squares = 0;
  for (int i = 0; i < draws; i++) {
    const double kernel = kernel_of(features, 1000 + (uint64_t)i, orthogonal);
    sum += kernel;
    squares += kernel * kernel;
  }
  *mean = sum / draws;
  *deviation = sqrt(squares / draws - *mean * *mean);
}

/* The mean over draws is the kernel, within 4 standard errors, which are a small part of it. Orthogonal rows vary
 * less (theorem 2 of the paper), by a few percent here, which takes more draws to see. */
static void test_unbiased(void **state) {
  enum { FEATURES = 16 };
  const int draws = USUAL_OR_LONG(2000, 20000);
  double mean[2], deviation[2];
  (void)state;
  for (int orthogonal = 0; orthogonal < 2; orthogonal++) {
    measure(FEATURES, draws, orthogonal, &mean[orthogonal], &deviation[orthogonal]);
    const double error = deviation[orthogonal] / sqrt(draws);
    assert_true(error < 0.02 * exact_kernel());
    assert_true(fabs(mean[orthogonal] - exact_kernel()) < 4 * error);
  }
  if (draws > 2000) assert_true(deviation[1] < deviation[0]);
}

/* The error falls as m^(-1/2): this is the slope of its logarithm over the logarithm of m. With 200 draws of each
 * of 4 sizes the slope has a standard error of 0.025 if deviations have a standard error of 1 / sqrt(400); the
 * interval is 4 standard errors. */
static void test_convergence(void **state) {
  enum { DRAWS = 200, SIZES = 4 };
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  (void)state;
  for (int i = 0; i < SIZES; i++) {
    const int64_t features = 8 << 2 * i;
    double squares = 0;
    for (int draw_number = 0; draw_number < DRAWS; draw_number++) {
      const double error = kernel_of(features, 50000 + (uint64_t)(DRAWS * i + draw_number), 1) - exact_kernel();
      squares += error * error / DRAWS;
    }
    const double x = log((double)features), y = log(sqrt(squares));
    sum_x += x, sum_y += y, sum_xx += x * x, sum_xy += x * y;
  }
  const double slope = (SIZES * sum_xy - sum_x * sum_y) / (SIZES * sum_xx - sum_x * sum_x);
  assert_true(fabs(slope + 0.5) < 0.1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bits),     cmocka_unit_test(test_gaussian_numbers),
      cmocka_unit_test(test_prefixes), cmocka_unit_test(test_orthogonality),
      cmocka_unit_test(test_moments),  cmocka_unit_test(test_features),
      cmocka_unit_test(test_unbiased), cmocka_unit_test(test_convergence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
