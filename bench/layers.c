/* Which benchmarks of layers there are, and what they share. */
#include "layers.h"

#include "machine.h"
#include "modes.h"
#include "runner.h"

#include <stdio.h>
#include <string.h>

#define LINEAR(rows_, in_, out_)                                                                                   \
  { .name = "linear/r" #rows_ "_i" #in_ "_o" #out_ "/f32", .rows = rows_, .in = in_, .out = out_ }
#define LINEARS(in_, out_)                                                                                         \
  LINEAR(16, in_, out_), LINEAR(128, in_, out_), LINEAR(512, in_, out_), LINEAR(4096, in_, out_)

static const layer_shape linears[] = {LINEARS(384, 384), LINEARS(384, 1536), LINEARS(1536, 384), LINEARS(768, 3072),
                                      LINEARS(4096, 4096)};

/* Sizes of layers in modes; of layers over codes, in exact mode and in a mode; and of one row. */
static const layer_shape mode_sizes[] = {
    {.rows = 16, .in = 384, .out = 1536},   {.rows = 128, .in = 384, .out = 1536},
    {.rows = 512, .in = 384, .out = 1536},  {.rows = 16, .in = 768, .out = 3072},
    {.rows = 128, .in = 768, .out = 3072},  {.rows = 512, .in = 768, .out = 3072},
    {.rows = 16, .in = 4096, .out = 4096},  {.rows = 128, .in = 4096, .out = 4096},
    {.rows = 512, .in = 4096, .out = 4096},
};
static const layer_shape code_sizes[] = {{.rows = 16, .in = 4096, .out = 4096},
                                         {.rows = 128, .in = 4096, .out = 4096}};
static const layer_shape row_sizes[] = {{.rows = 1, .in = 4096, .out = 4096}};

/* 256 KB of numbers each, so that both tensors lie in L2. */
static const layer_shape norms[] = {
    {.name = "norm/d384/layer", .rows = 170, .in = 384, .norm = FOVEA_NN_LAYER_NORM},
    {.name = "norm/d768/layer", .rows = 85, .in = 768, .norm = FOVEA_NN_LAYER_NORM},
    {.name = "norm/d4096/layer", .rows = 16, .in = 4096, .norm = FOVEA_NN_LAYER_NORM},
    {.name = "norm/d384/rms", .rows = 170, .in = 384, .norm = FOVEA_NN_RMS_NORM},
    {.name = "norm/d768/rms", .rows = 85, .in = 768, .norm = FOVEA_NN_RMS_NORM},
    {.name = "norm/d4096/rms", .rows = 16, .in = 4096, .norm = FOVEA_NN_RMS_NORM},
};

static const layer_shape activations[] = {
    {.name = "activate/d1536/gelu", .rows = 32, .in = 1536, .activation = FOVEA_NN_ACTIVATION_GELU},
    {.name = "activate/d1536/gelu_tanh", .rows = 32, .in = 1536, .activation = FOVEA_NN_ACTIVATION_GELU_TANH},
    {.name = "activate/d1536/silu", .rows = 32, .in = 1536, .activation = FOVEA_NN_ACTIVATION_SILU},
};

static const layer_shape additives[] = {{.name = "additive/q512_s512_d128/full", .rows = 512, .in = 128}};

static const layer_shape encoders[] = {
    {.name = "encoder/b1_r128_d384/full", .rows = 128, .in = 384, .out = 1536, .batch = 1},
    {.name = "encoder/b8_r128_d384/full", .rows = 128, .in = 384, .out = 1536, .batch = 8},
};

#define COUNT(list) (int)(sizeof(list) / sizeof(list)[0])
enum { most_threads = 2, cases_limit = 512 };

static void register_shape(const layer_shape *shape, const char *name, const char *isa, int threads,
                           bench_function function) {
  static layer_case cases[cases_limit];
  static int used;
  char whole[160];
  if (used == cases_limit) return;
  cases[used] = (layer_case){shape, isa, threads};
  snprintf(whole, sizeof whole, "%s/%s/t%d", name, isa, threads);
  bench_register(whole, function, &cases[used++], BENCH_MILLISECONDS);
}

/* On one thread, and on more if `threads` is more. */
static void register_shapes(const layer_shape *shapes, int count, const char *isa, int threads,
                            bench_function function) {
  for (int n = 1; n <= threads; n++)
    for (int i = 0; i < count; i++) register_shape(&shapes[i], shapes[i].name, isa, n, function);
}

/* These sizes over such weights, whose name is the third part of the benchmark's. */
static void register_weights(const layer_weights *weights, const layer_shape *sizes, int count, const char *isa,
                             bench_function function) {
  static layer_shape shapes[cases_limit];
  static int used;
  char kind[32] = "row/", name[96];
  for (int i = 0; i < count && used < cases_limit; i++) {
    layer_shape *shape = &shapes[used++];
    *shape = sizes[i];
    shape->weights = weights;
    if (shape->rows > 1) snprintf(kind, sizeof kind, "linear/r%d_", (int)shape->rows);
    snprintf(name, sizeof name, "%si%d_o%d/%s", kind, (int)shape->in, (int)shape->out, weights->name);
    for (int n = 1; n <= most_threads; n++) register_shape(shape, name, isa, n, function);
  }
}

/* Many rows over panels in exact mode are in `linears`. */
static void register_kinds(const char *isa) {
  for (int i = 0; i < layer_weights_count; i++) {
    const layer_weights *w = &layer_weights_all[i];
    const int has_mode = w->mode != FOVEA_MODE_EXACT, of_codes = w->kept == LAYER_CODES;
    const layer_shape *sizes = of_codes ? code_sizes : mode_sizes;
    const int count = of_codes ? COUNT(code_sizes) : COUNT(mode_sizes);
    if (w->mode != FOVEA_MODE_BF16) register_weights(w, row_sizes, COUNT(row_sizes), isa, bench_one_row);
    if (has_mode || of_codes) register_weights(w, sizes, count, isa, bench_linear_mode);
    if (w->on_amx && strcmp(isa, BENCH_AMX_SHARE) == 0)
      register_weights(w, sizes, count, BENCH_AMX, bench_linear_mode);
  }
}

void bench_register_layers(const char *isa) {
  register_shapes(linears, COUNT(linears), isa, most_threads, bench_linear);
  register_kinds(isa);
  register_shapes(norms, COUNT(norms), isa, 1, bench_norm);
  register_shapes(activations, COUNT(activations), isa, 1, bench_activate);
  register_shapes(additives, COUNT(additives), isa, most_threads, bench_additive);
  register_shapes(encoders, COUNT(encoders), isa, most_threads, bench_encoder);
}

float *layer_numbers(size_t count, uint32_t seed, float scale) {
  float *numbers = bench_allocate(count * sizeof *numbers);
  uint32_t state = seed;
  for (size_t i = 0; numbers && i < count; i++) {
    state = state * 1664525u + 1013904223u;
    numbers[i] = ((float)(state >> 8) * 0x1p-23f - 1.0f) * scale;
  }
  return numbers;
}

double layer_time(void (*call)(void *context), void *context) {
  int calls = 0;
  const double start = machine_now();
  double seconds = 0.0;
  while (seconds < BENCH_SLICE) {
    call(context);
    calls++;
    seconds = machine_now() - start;
  }
  return seconds / calls;
}

int layer_pack(fovea_nn_linear *linear, int64_t in, int64_t out, const float *weights) {
  fovea_nn_linear rows;
  float *panels = bench_allocate((size_t)fovea_nn_panel_elements(in, out, FOVEA_F32) * sizeof *panels);
  fovea_nn_linear_init(&rows, in, out, weights);
  *linear = rows;
  linear->weights = panels;
  linear->layout = FOVEA_NN_WEIGHTS_IN_PANELS;
  linear->weight_stride = 0;
  return panels && fovea_nn_pack(&rows, panels, NULL, NULL) == FOVEA_OK;
}
