/* Packing of quantised weights, and a layer with what was packed. */
#include "nn_scene.h"

#include <fovea/weights.h>

#include <stddef.h>
#include <string.h>

static fovea_nn_codes codes;
static void *weights;
static float *x, *y;
static int is_scattered, has_faulty_group;
enum { ROWS = 2, FORMATS = FOVEA_NN_FORMAT_E4M3 + 1 };

static int has_words(void) {
  return codes.format == FOVEA_NN_FORMAT_GPTQ || codes.format == FOVEA_NN_FORMAT_AWQ;
}

static int is_fp8(void) {
  return codes.format == FOVEA_NN_FORMAT_E4M3;
}

/* Dims of a block, and its bytes. */
static const struct {
  int dims, bytes;
} blocks[FORMATS] = {{32, 34},   {32, 18}, {32, 20}, {32, 22}, {32, 24}, {256, 144}, {256, 176},
                     {256, 210}, {32, 18}, {32, 17}, {8, 4},   {8, 4},   {1, 1}};

static void *bytes_of(struct nn_scene *s, int64_t count) {
  const int64_t extent[] = {1, 1, 1};
  return nn_tensor_of(s, extent, (fovea_strides){0, 0, count}, count, 8);
}

/* A group for each dim; now and then one that is not there. */
static void *groups_of_dims(struct nn_scene *s, int64_t groups) {
  char *list = bytes_of(s, codes.in * 4);
  const int64_t step = nn_below(s, 100), faulty = s->wild && nn_below(s, 8) == 0 ? nn_below(s, codes.in) : -1;
  for (int64_t d = 0; list && d < codes.in; d++) {
    const int32_t group = (int32_t)(d == faulty ? groups : (d * step + step) % groups);
    memcpy(list + 4 * d, &group, sizeof group);
  }
  has_faulty_group = list && faulty >= 0;
  return list;
}

static void make_memory(struct nn_scene *s) {
  size_t size = 0;
  const int64_t in = codes.in, out = codes.out;
  const int can_be = in > 0 && out > 0 && in < 1 << 16 && out < 1 << 16 && (unsigned)codes.format < FORMATS;
  codes.g_idx = NULL;
  has_faulty_group = 0;
  codes.data = bytes_of(s, can_be ? in / blocks[codes.format].dims * blocks[codes.format].bytes * out : -1);
  if (can_be && has_words()) {
    const int64_t groups = codes.group > 0 ? (in + codes.group - 1) / codes.group : 1;
    codes.scales = bytes_of(s, groups * out * 2);
    codes.zeros = bytes_of(s, groups * (out / 8) * 4);
    if (codes.format == FOVEA_NN_FORMAT_GPTQ && is_scattered) codes.g_idx = groups_of_dims(s, groups);
  }
  if (can_be && is_fp8()) {
    const int64_t groups = codes.group > 0 ? (in + codes.group - 1) / codes.group : 1;
    const int64_t rows = codes.group_outs > 0 ? (out - 1) / codes.group_outs + 1 : 1;
    codes.scales = bytes_of(s, groups * rows * (codes.scale_type == FOVEA_F32 ? 4 : 2));
  }
  (void)fovea_nn_codes_size(&codes, &size, NULL);
  weights = bytes_of(s, size > 0 ? (int64_t)size + 64 : -1);
  if (weights) weights = (char *)weights + (64 - (uintptr_t)weights % 64) % 64;
  x = nn_tensor(s, ROWS, in, in, FOVEA_F32);
  y = nn_tensor(s, ROWS, out, out, FOVEA_F32);
}

#define C_FIELD(name, kind) NN_FIELD(fovea_nn_codes, name, kind)

static void make(struct nn_scene *s) {
  static const struct field fields[] = {
      C_FIELD(format, INTEGER),
      C_FIELD(in, LONG),
      C_FIELD(out, LONG),
      C_FIELD(group, LONG),
      C_FIELD(zeros_less_one, INTEGER),
      C_FIELD(struct_size, SIZE),
      C_FIELD(group_outs, LONG),
      C_FIELD(scale_type, INTEGER),
  };
  const int format = (int)nn_below(s, FORMATS);
  fovea_nn_codes_init(&codes, (fovea_nn_format)format, 0, nn_size(s, 80), NULL);
  codes.in = blocks[format].dims * nn_size(s, format < FOVEA_NN_FORMAT_GPTQ ? 3 : 40);
  if (has_words()) {
    const int64_t kind = nn_below(s, 5);
    codes.out = codes.out * 8 % 160 + 8;
    codes.group = kind == 4 ? codes.in : INT64_C(16) << kind;
    codes.zeros_less_one = format == FOVEA_NN_FORMAT_GPTQ && nn_below(s, 2);
    is_scattered = format == FOVEA_NN_FORMAT_GPTQ && nn_below(s, 2);
  }
  if (is_fp8()) {
    const int64_t kind = nn_below(s, 5);
    codes.group = kind == 4 ? codes.in : INT64_C(16) << kind;
    codes.group_outs = nn_below(s, 2) ? 128 : 1 + nn_below(s, codes.out > 0 ? codes.out : 1);
    codes.scale_type = (fovea_type)nn_below(s, 3);
  }
  NN_EDIT(s, &codes, fields);
  make_memory(s);
  if (!s->cannot_be) s->work = (double)codes.in * (double)codes.out * 4;
}

static fovea_status run(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  const fovea_status status = fovea_nn_pack_codes(&codes, weights, e, error);
  (void)s;
  if (status != FOVEA_OK || !x || !y || ((uintptr_t)x | (uintptr_t)y) % sizeof *x != 0) return status;
  fovea_nn_linear_init(&linear, codes.in, codes.out, weights);
  linear.layout = FOVEA_NN_WEIGHTS_QUANTISED;
  fovea_nn_linear_rows_init(&rows, &linear, ROWS, x, y);
  const fovea_status exact = fovea_nn_linear_run(&linear, &rows, e, error);
  if (is_fp8() || codes.g_idx) return exact;
  linear.mode = FOVEA_MODE_INT8;
  return exact ? exact : fovea_nn_linear_run(&linear, &rows, e, error);
}

static int has_meaning(const struct nn_scene *s) {
  (void)s;
  if (codes.struct_size != sizeof codes || (unsigned)codes.format >= FORMATS || codes.in < 1 || codes.out < 1)
    return 0;
  if (codes.in % blocks[codes.format].dims != 0 || !codes.data || !weights) return 0;
  const int64_t g = codes.group;
  if (has_faulty_group) return 0;
  const int has_type = is_fp8() ? (unsigned)codes.scale_type <= FOVEA_BF16 : codes.scale_type == FOVEA_F32;
  if (!has_type || (is_fp8() ? codes.group_outs < 1 : codes.group_outs != 0)) return 0;
  if (is_fp8()) return (g == 16 || g == 32 || g == 64 || g == 128 || g == codes.in) && codes.zeros_less_one == 0;
  if (!has_words()) return g == 0 && codes.zeros_less_one == 0;
  return (g == 16 || g == 32 || g == 64 || g == 128 || g == codes.in) && codes.out % 8 == 0 &&
         (unsigned)codes.zeros_less_one <= (codes.format == FOVEA_NN_FORMAT_GPTQ);
}

const struct nn_kind nn_kind_codes = {make, run, has_meaning, 0, NULL, 0};
