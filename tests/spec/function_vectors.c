/* Vectors of the functions: each at numbers where it is likely to be wrong, and at random ones. */
#include "contract.h"
#include "modes/contract_modes.h"
#include "nn/contract_functions.h"
#include "nn/contract_recurrent.h"
#include "support/generator.h"
#include "vectors.h"

#include <math.h>

enum { RANDOM = 240 };

/* Random numbers of the range, with magnitudes of all sizes, and numbers beside these. */
static void write_function(const char *name, const char *clause, float (*function)(float), float low, float high,
                           const float *edges, int count) {
  float x[512], y[512];
  int numbers = 0;
  struct generator generator = {(uint64_t)bits_of(low) << 32 | bits_of(high)};
  for (int i = 0; i < count; i++) {
    x[numbers++] = edges[i];
    if (isfinite(edges[i]) && nextafterf(edges[i], low) >= low) x[numbers++] = nextafterf(edges[i], low);
    if (isfinite(edges[i]) && nextafterf(edges[i], high) <= high) x[numbers++] = nextafterf(edges[i], high);
  }
  for (int i = 0; i < RANDOM; i++) {
    const float far = low + (high - low) * (generator_uniform(&generator) + 1) / 2;
    x[numbers++] = i % 2 ? far : ldexpf(far, -(int)generator_below(&generator, 30));
    if (x[numbers - 1] < low) x[numbers - 1] = far;
  }
  for (int i = 0; i < numbers; i++) y[i] = function(x[i]);
  vector_begin(name, "function", clause);
  vector_numbers(INPUT, "x", FOVEA_F32, x, numbers, 0);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, numbers, 0);
  vector_end();
}

static float elu(float x) {
  return contract_nn_activation(x, FOVEA_NN_ACTIVATION_ELU);
}

#define EDGES(...) (const float[]){__VA_ARGS__}, (int)(sizeof(const float[]){__VA_ARGS__} / sizeof(float))

/* Sums that two roundings get wrong, first to double and then to f32: a product of (1 + 2^-23) (1 - 2^-23), which is
 * nearly half a unit of c's last place. And special ones, and random ones. */
static void fill_fma(float *a, float *b, float *c, int count) {
  static const float special[][3] = {{INFINITY, 0, 1},
                                     {INFINITY, 1, -INFINITY},
                                     {0x1p127f, 4, -INFINITY},
                                     {0x1p127f, 4, -0x1p127f},
                                     {-1, 0, 0},
                                     {0x1p-100f, 0x1p-100f, 0},
                                     {0x1p-75f, 0x1p-75f, 1},
                                     {0x1p-75f, 0x1p-74f, 0},
                                     {-0x1p-75f, 0x1p-75f, 0},
                                     {0x1.8p-75f, 0x1p-75f, 0},
                                     {1, 1, -1},
                                     {NAN, 1, 1},
                                     {0x1p-126f, 0x1.8p-1f, 0},
                                     {0x1p-149f, 0.5f, 0x1p-149f},
                                     {0x1p64f, 0x1p64f, -0x1p127f}};
  enum { SPECIAL = sizeof special / sizeof *special };
  struct generator generator = {1};
  for (int i = 0; i < count; i++) {
    const int exponent = (int)generator_below(&generator, 200) - 120;
    const float sign = generator_below(&generator, 2) ? 1 : -1;
    a[i] = i < SPECIAL ? special[i][0] : 2 * generator_uniform(&generator);
    b[i] = i < SPECIAL ? special[i][1] : 2 * generator_uniform(&generator);
    c[i] = i < SPECIAL ? special[i][2] : 2 * generator_uniform(&generator);
    if (i < SPECIAL || i % 3 == 0) continue;
    a[i] = ldexpf(1 + 0x1p-23f, -12);
    b[i] = ldexpf(sign * (1 - 0x1p-23f), exponent - 12);
    c[i] = ldexpf(1 + 0x1p-23f * (float)generator_below(&generator, 1 << 20), exponent);
    if (i % 3 == 1) b[i] = ldexpf(b[i], -(int)generator_below(&generator, 30));
  }
}

static void write_fma(void) {
  enum { COUNT = 300 };
  float a[COUNT], b[COUNT], c[COUNT], y[COUNT];
  fill_fma(a, b, c, COUNT);
  for (int i = 0; i < COUNT; i++) y[i] = fmaf(a[i], b[i], c[i]);
  vector_begin("fma", "fused", "1");
  vector_numbers(INPUT, "a", FOVEA_F32, a, COUNT, 0);
  vector_numbers(INPUT, "b", FOVEA_F32, b, COUNT, 0);
  vector_numbers(INPUT, "c", FOVEA_F32, c, COUNT, 0);
  vector_numbers(EXPECTED, "y", FOVEA_F32, y, COUNT, 0);
  vector_end();
}

void write_functions(void) {
  write_fma();
  write_function("exp2", "4", contract_exp2, -127, 0,
                 EDGES(0, -0.5f, -1, -1.5f, -2.5f, -126, -125.5f, -0x1p-25f, -0x1p-140f, -1000, -INFINITY, NAN));
  write_function("log2", "5", contract_log2, 1, 0x1p26f,
                 EDGES(1, 2, 3, 0x1.6a09e6p+0f, 0x1.6a09e6p+1f, 128, 2048, 0x1p26f));
  write_function("tanh", "6", contract_tanh, -11, 11,
                 EDGES(0, -0.0f, 0x1p-140f, 0x1p-13f, 0.17f, 0.52f, 1, 0x1.16be72p+3f, 10, 10.5f, -3, INFINITY,
                       -INFINITY, NAN, 1e30f));
  write_function("normaliser_sigmoid", "13", contract_weight_sigmoid, -112, 112,
                 EDGES(0, -0.0f, 1, -1, 44.36f, -44.36f, -64, -87.3f, -100, -103.9f, -104, 110, INFINITY, -INFINITY,
                       NAN, -0x1p-20f));
  write_function("mode_exp2", "16", contract_mode_exp2, -126, 8,
                 EDGES(0, -0.5f, 0.5f, -1, -1.5f, 8, -126, -125.5f, -56, -0x1p-25f));
  write_function("mode_bf16", "16", contract_mode_bf16, -0x1p-50f, 0x1p-50f,
                 EDGES(0, 1, 0x1.01p0f, 0x1.03p0f, 0x1.010002p0f, 0x1p-56f, 0x1.fefffep-57f, 0x1.ffp-57f,
                       0x1.fffffep127f, -0x1p-57f, INFINITY, NAN));
  write_function("exp", "L2", contract_exp, -87, 90,
                 EDGES(0, -0.0f, 1, -1, 89, 88.7f, -86.5f, 0.35f, 100, -1000, INFINITY, -INFINITY, NAN, 0x1p-140f));
  write_function("gelu", "L2", contract_gelu, -15, 7,
                 EDGES(0, -0.0f, 1, 3, 6, -14.5f, -13, -3, -0.25f, 0x1p-140f, INFINITY, -1000, NAN));
  write_function("gelu_tanh", "L2", contract_gelu_tanh, -12, 7,
                 EDGES(0, -0.0f, 1, 6, -10.8f, -10, -0.25f, 0x1p-140f, INFINITY, -1000, NAN));
  write_function("silu", "L2", contract_silu, -112, 33,
                 EDGES(0, -0.0f, 1, 32, -110, -104, -87.3f, -64, 0x1p-140f, INFINITY, -1000, NAN));
  write_function("elu", "L2", elu, -21, 3,
                 EDGES(0, -0.0f, 1, -20, -17, -0.35f, -0x1p-140f, INFINITY, -INFINITY, NAN));
  write_function("sigmoid", "L11", contract_sigmoid, -112, 34,
                 EDGES(0, -0.0f, 1, -1, 32, -110, -104, -87.3f, INFINITY, -INFINITY, NAN));
}
