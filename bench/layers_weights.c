#include "layers_weights.h"

#include "layers.h"
#include "workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PANELS(name_, type_)                                                                                       \
  { .name = name_, .kept = LAYER_PANELS, .type = type_ }
#define CODES(name_, format_)                                                                                      \
  { .name = name_, .kept = LAYER_CODES, .format = FOVEA_NN_FORMAT_##format_ }
#define INT8(name_, format_, on_amx_)                                                                              \
  {                                                                                                                \
    .name = name_ "_int8_mode", .kept = LAYER_CODES, .format = FOVEA_NN_FORMAT_##format_, .mode = FOVEA_MODE_INT8, \
    .on_amx = on_amx_                                                                                              \
  }

const layer_weights layer_weights_all[] = {
    PANELS("f32", FOVEA_F32),
    PANELS("f16", FOVEA_F16),
    PANELS("bf16", FOVEA_BF16),
    CODES("q8_0", Q8_0),
    CODES("q4_0", Q4_0),
    CODES("q4_1", Q4_1),
    CODES("q5_0", Q5_0),
    CODES("q5_1", Q5_1),
    CODES("q4_K", Q4_K),
    CODES("q5_K", Q5_K),
    CODES("q6_K", Q6_K),
    CODES("iq4_nl", IQ4_NL),
    CODES("mxfp4", MXFP4),
    CODES("gptq", GPTQ),
    CODES("awq", AWQ),
    CODES("e4m3", E4M3),
    {.name = "bf16_mode", .kept = LAYER_PANELS, .type = FOVEA_BF16, .mode = FOVEA_MODE_BF16, .on_amx = 1},
    {.name = "int8_mode", .kept = LAYER_QUANTISED, .mode = FOVEA_MODE_INT8, .on_amx = 1},
    INT8("q8_0", Q8_0, 0),
    INT8("q4_0", Q4_0, 0),
    INT8("gptq", GPTQ, 1),
};
const int layer_weights_count = (int)(sizeof layer_weights_all / sizeof layer_weights_all[0]);

const layer_weights *layer_weights_named(const char *name) {
  int i = 0;
  while (strcmp(layer_weights_all[i].name, name) != 0) i++;
  return &layer_weights_all[i];
}

/* ---- What engines publish ------------------------------------------------------------------------------------- */

/* Where the numbers of f16 are in blocks; the other bytes are codes, and may have any value but of E4M3. GPTQ, AWQ and
 * E4M3 have no blocks; their scales lie apart. */
static const struct {
  int dims, bytes, first, halves;
} blocks[] = {
    [FOVEA_NN_FORMAT_Q8_0] = {32, 34, 0, 1},   [FOVEA_NN_FORMAT_Q4_0] = {32, 18, 0, 1},
    [FOVEA_NN_FORMAT_Q4_1] = {32, 20, 0, 2},   [FOVEA_NN_FORMAT_Q5_0] = {32, 22, 0, 1},
    [FOVEA_NN_FORMAT_Q5_1] = {32, 24, 0, 2},   [FOVEA_NN_FORMAT_Q4_K] = {256, 144, 0, 2},
    [FOVEA_NN_FORMAT_Q5_K] = {256, 176, 0, 2}, [FOVEA_NN_FORMAT_Q6_K] = {256, 210, 208, 1},
    [FOVEA_NN_FORMAT_IQ4_NL] = {32, 18, 0, 1}, [FOVEA_NN_FORMAT_MXFP4] = {32, 17, 0, 0},
    [FOVEA_NN_FORMAT_GPTQ] = {8, 4, 0, 0},     [FOVEA_NN_FORMAT_AWQ] = {8, 4, 0, 0},
    [FOVEA_NN_FORMAT_E4M3] = {1, 1, 0, 0},
};
enum { GROUP = 128 }; /* of GPTQ and AWQ */

static int has_words(fovea_nn_format format) {
  return format == FOVEA_NN_FORMAT_GPTQ || format == FOVEA_NN_FORMAT_AWQ;
}

static unsigned next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 16;
}

static void fill_bytes(unsigned char *bytes, size_t count, uint32_t *state) {
  for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)next_random(state);
}

/* An f16 from 2^-9 to 2^-8, so that weights of all formats are ordinary numbers. */
static void fill_half(unsigned char *to, uint32_t *state) {
  const unsigned half = 6u << 10 | (next_random(state) & 0x3ffu);
  to[0] = (unsigned char)half;
  to[1] = (unsigned char)(half >> 8);
}

static void fill_blocks(unsigned char *data, size_t size, fovea_nn_format format, uint32_t *state) {
  fill_bytes(data, size, state);
  for (size_t i = 0; i < size; i += (size_t)blocks[format].bytes) {
    for (int j = 0; j < blocks[format].halves; j++) fill_half(data + i + blocks[format].first + 2 * j, state);
    if (format == FOVEA_NN_FORMAT_MXFP4) data[i] = 120;
    if (format == FOVEA_NN_FORMAT_E4M3) data[i] &= 0xbf; /* below 2, and no NaN */
  }
}

/* Of scales that lie apart: what shares one. */
static void set_groups(fovea_nn_codes *codes) {
  if (has_words(codes->format)) codes->group = GROUP;
  if (codes->format == FOVEA_NN_FORMAT_E4M3) {
    codes->group = codes->in;
    codes->group_outs = 1;
    codes->scale_type = FOVEA_F16;
  }
}

/* Memory of all that `codes` points to, with random bytes. */
static unsigned char *make_codes(fovea_nn_codes *codes, fovea_nn_format format, int64_t in, int64_t out) {
  const size_t data = (size_t)(in / blocks[format].dims * blocks[format].bytes * out);
  fovea_nn_codes_init(codes, format, in, out, NULL);
  set_groups(codes);
  const size_t scales = codes->group ? (size_t)(in / codes->group * out) * 2 : 0;
  const size_t zeros = has_words(format) ? scales / 4 : 0;
  unsigned char *memory = bench_allocate(data + scales + zeros);
  uint32_t state = 3;
  if (!memory) return NULL;
  fill_blocks(memory, data, format, &state);
  for (size_t i = 0; i < scales; i += 2) fill_half(memory + data + i, &state);
  fill_bytes(memory + data + scales, zeros, &state);
  codes->data = memory;
  codes->scales = scales ? memory + data : NULL;
  codes->zeros = zeros ? memory + data + scales : NULL;
  return memory;
}

static int pack_codes(const layer_weights *of, int64_t in, int64_t out, void *to) {
  fovea_nn_codes codes;
  unsigned char *published = make_codes(&codes, of->format, in, out);
  const int packed = published && fovea_nn_pack_codes(&codes, to, NULL, NULL) == FOVEA_OK;
  free(published);
  return packed;
}

/* ---- What Fovea makes of numbers ------------------------------------------------------------------------------ */

/* Weights in rows, of the type that is packed. */
static int make_rows(fovea_nn_linear *rows, void *converted, fovea_type type, const float *numbers) {
  fovea_nn_map map;
  rows->weight_type = type;
  rows->weights = type == FOVEA_F32 ? (const void *)numbers : converted;
  fovea_nn_map_init(&map, rows->out, rows->in, numbers, converted);
  map.y_type = type;
  return type == FOVEA_F32 || fovea_nn_activate(&map, FOVEA_NN_ACTIVATION_NONE, NULL, NULL) == FOVEA_OK;
}

static int pack_numbers(const layer_weights *of, int64_t in, int64_t out, void *to) {
  const size_t count = (size_t)(in * out);
  float *numbers = layer_numbers(count, 2, 1.0f / sqrtf((float)in));
  void *converted = bench_allocate(count * sizeof(uint16_t));
  fovea_nn_linear rows;
  int packed = numbers && converted;
  fovea_nn_linear_init(&rows, in, out, numbers);
  if (packed && of->kept == LAYER_QUANTISED)
    packed = fovea_nn_quantise(&rows, to, NULL, NULL) == FOVEA_OK;
  else if (packed)
    packed = make_rows(&rows, converted, of->type, numbers) && fovea_nn_pack(&rows, to, NULL, NULL) == FOVEA_OK;
  free(numbers);
  free(converted);
  return packed;
}

/* ---- Copies --------------------------------------------------------------------------------------------------- */

size_t layer_weights_bytes(const layer_weights *of, int64_t in, int64_t out) {
  size_t size = 0;
  fovea_nn_codes codes;
  if (of->kept == LAYER_PANELS)
    return (size_t)fovea_nn_panel_elements(in, out, of->type) * (of->type == FOVEA_F32 ? 4 : 2);
  if (of->kept == LAYER_QUANTISED) return fovea_nn_quantised_size(in, out);
  fovea_nn_codes_init(&codes, of->format, in, out, NULL);
  set_groups(&codes);
  return fovea_nn_codes_size(&codes, &size, NULL) == FOVEA_OK ? size : 0;
}

static int make(layer_copies *copies) {
  const layer_weights *of = copies->of;
  copies->bytes = layer_weights_bytes(of, copies->in, copies->out);
  copies->stride = (copies->bytes + 63) / 64 * 64;
  copies->memory = copies->bytes ? bench_allocate(copies->stride * (size_t)copies->count) : NULL;
  if (!copies->memory) return 0;
  const int made = of->kept == LAYER_CODES ? pack_codes(of, copies->in, copies->out, copies->memory)
                                           : pack_numbers(of, copies->in, copies->out, copies->memory);
  for (int i = 1; made && i < copies->count; i++)
    memcpy(copies->memory + (size_t)i * copies->stride, copies->memory, copies->bytes);
  return made;
}

int layer_copies_take(layer_copies *copies, const layer_weights *of, int64_t in, int64_t out, int count) {
  if (copies->of == of && copies->in == in && copies->out == out && copies->count == count) return 1;
  free(copies->memory);
  *copies = (layer_copies){.of = of, .in = in, .out = out, .count = count};
  if (make(copies)) return 1;
  free(copies->memory);
  *copies = (layer_copies){0};
  return 0;
}

fovea_nn_linear layer_of_copy(const layer_copies *copies, int index) {
  fovea_nn_linear linear;
  fovea_nn_linear_init(&linear, copies->in, copies->out, copies->memory + (size_t)index * copies->stride);
  linear.mode = copies->of->mode;
  linear.layout = copies->of->kept == LAYER_PANELS ? FOVEA_NN_WEIGHTS_IN_PANELS : FOVEA_NN_WEIGHTS_QUANTISED;
  linear.weight_type = copies->of->kept == LAYER_PANELS ? copies->of->type : FOVEA_F32;
  linear.weight_stride = 0;
  return linear;
}
