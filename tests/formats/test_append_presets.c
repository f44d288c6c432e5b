/* Rows that fovea_append() writes by a preset have the bytes of the plain models of contract_formats.h, which are
 * held to golden files of the presets' own projects. */
#include "contract_formats.h"
#include "narrow.h"

#include "support/check.h"
#include "support/execution.h"
#include "support/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 64, DIM = 128, HEADS = 2, MOST = KEYS * DIM * 8 };

static const struct preset {
  fovea_format_name name;
  enum contract_preset model;
  int fixed;      /* scales are given: 1 one, 2 one a dim */
  float of_scale; /* about 1 / 127 or 1 / 7 */
} presets[] = {
    {FOVEA_FORMAT_I8_ROWS, CONTRACT_I8_ROWS, 0, 0},
    {FOVEA_FORMAT_Q8_KV, CONTRACT_Q8_KV, 0, 0},
    {FOVEA_FORMAT_Q8_0, CONTRACT_Q8_0, 0, 0},
    {FOVEA_FORMAT_Q4_0, CONTRACT_Q4_0, 0, 0},
    {FOVEA_FORMAT_Q4_1, CONTRACT_Q4_1, 0, 0},
    {FOVEA_FORMAT_Q5_0, CONTRACT_Q5_0, 0, 0},
    {FOVEA_FORMAT_Q5_1, CONTRACT_Q5_1, 0, 0},
    {FOVEA_FORMAT_IQ4_NL, CONTRACT_IQ4_NL, 0, 0},
    {FOVEA_FORMAT_OPENVINO_U8, CONTRACT_OPENVINO_U8, 0, 0},
    {FOVEA_FORMAT_OPENVINO_U4, CONTRACT_OPENVINO_U4, 0, 0},
    {FOVEA_FORMAT_OPENVINO_I8, CONTRACT_OPENVINO_I8, 0, 0},
    {FOVEA_FORMAT_OPENVINO_U8_KEYS, CONTRACT_OPENVINO_U8_CHANNEL, 0, 0},
    {FOVEA_FORMAT_ORT_S8, CONTRACT_ORT_S8, 1, 0.01f},
    {FOVEA_FORMAT_ORT_U4, CONTRACT_ORT_U4, 1, 0.2f},
    {FOVEA_FORMAT_ORT_S8_DIMS, CONTRACT_ORT_S8_CHANNEL, 2, 0.01f},
    {FOVEA_FORMAT_ORT_U4_DIMS, CONTRACT_ORT_U4_CHANNEL, 2, 0.2f},
    {FOVEA_FORMAT_E4M3, CONTRACT_E4M3, 1, 1},
    {FOVEA_FORMAT_E5M2, CONTRACT_E5M2, 1, 1},
    {FOVEA_FORMAT_KIVI_K4, CONTRACT_KIVI_K4, 0, 0},
    {FOVEA_FORMAT_KIVI_K2, CONTRACT_KIVI_K2, 0, 0},
    {FOVEA_FORMAT_KIVI_V4, CONTRACT_KIVI_V4, 0, 0},
    {FOVEA_FORMAT_KIVI_V2, CONTRACT_KIVI_V2, 0, 0},
    {FOVEA_FORMAT_VLLM_E4M3_KEYS, CONTRACT_VLLM_E4M3_KEYS, 1, 1},
    {FOVEA_FORMAT_VLLM_E5M2_KEYS, CONTRACT_VLLM_E5M2_KEYS, 1, 1},
    {FOVEA_FORMAT_VLLM_E4M3_VALUES, CONTRACT_VLLM_E4M3_VALUES, 1, 1},
    {FOVEA_FORMAT_VLLM_E5M2_VALUES, CONTRACT_VLLM_E5M2_VALUES, 1, 1},
    {FOVEA_FORMAT_VLLM_BF16_VALUES, CONTRACT_VLLM_E4M3_VALUES, 1, 1}, /* in the places of its fp8 values */
};
enum { PRESETS = sizeof presets / sizeof presets[0] };
_Static_assert(PRESETS == FOVEA_FORMAT_VLLM_BF16_VALUES + 1, "every preset is here");

static int of_kivi(const struct preset *p) {
  return p->name >= FOVEA_FORMAT_KIVI_K4 && p->name <= FOVEA_FORMAT_KIVI_V2;
}

static int of_vllm(const struct preset *p) {
  return p->name >= FOVEA_FORMAT_VLLM_E4M3_KEYS;
}

/* Numbers of any kind that a group may have: usual ones, outliers, zeros of both signs, constants, ties, tiny and
 * subnormal and huge numbers. KIVI and e5m2 know none that f16 does not. */
static float any_number(int kind, const struct preset *p, struct generator *generator) {
  const float x = generator_uniform(generator);
  const int halves = of_kivi(p) || of_vllm(p) || p->name == FOVEA_FORMAT_E5M2;
  switch (kind) {
  case 1:
    return generator_below(generator, 30) ? x : 40 * x;
  case 2:
    return generator_below(generator, 2) ? 0.0f : -0.0f;
  case 3:
    return 1.5f;
  case 4:
    return (float)generator_below(generator, 255) * 0.5f - 63.5f;
  case 5:
    return ldexpf(x, halves ? -10 : -101);
  case 6:
    return halves ? x : ldexpf(x, -120 - (int)generator_below(generator, 29));
  case 7:
    return ldexpf(x, halves ? 14 : 127);
  case 8:
    return generator_below(generator, 2) ? 3.25f : -3.25f;
  case 9:
    return x > 0 ? x : 0.0f;
  case 11: /* constants so large that their quotient by OpenVINO's least scale has errors beyond any code */
    return halves ? 1.5f : -6e12f;
  default:
    return x;
  }
}

/* One head's cache, as both write it. */
struct written {
  uint8_t codes[MOST], scales[MOST], zeros[MOST];
};

static void give_scales(const struct preset *p, struct written *w, struct generator *generator) {
  for (int d = 0; d < (p->fixed == 2 ? DIM : p->fixed); d++) {
    const float scale = p->of_scale * (p->fixed == 2 ? 0.5f + fabsf(generator_uniform(generator)) : 1.0f);
    contract_store_f32(w->scales + 4 * d, generator_below(generator, 50) || p->of_scale == 1 ? scale : 0.0f);
  }
}

static fovea_segment segment_of(const struct preset *p, const fovea_format *format, struct written *w) {
  const int dims = p->fixed == 2 || format->group == 1, apart = format->place == FOVEA_SCALES_APART;
  const int64_t size = format->scale_type == FOVEA_F32 ? 4 : 2;
  fovea_segment segment = {
      .rows = KEYS, .k = w[0].codes, .v = w[HEADS].codes, .k_format = format, .v_format = format};
  segment.k_head = segment.v_head = sizeof *w;
  segment.k_row = segment.v_row = fovea_format_bytes(format, DIM, NULL);
  if (!apart) return segment;
  segment.k_scales = (fovea_code_scales){.scales = w[0].scales, .head = sizeof *w, .group = size};
  segment.k_scales.row = size * (dims ? DIM : format->group ? DIM / format->group : 1);
  if (format->formula != FOVEA_FORMULA_SCALE) segment.k_scales.zeros = w[0].zeros;
  segment.v_scales = segment.k_scales;
  segment.v_scales.scales = w[HEADS].scales;
  if (segment.k_scales.zeros) segment.v_scales.zeros = w[HEADS].zeros;
  return segment;
}

/* The sign of a zero's f16 minimum depends, in the model, on numbers that are 0 only in f16. */
static void settle(const struct preset *p, struct written *w) {
  for (int i = 1; of_kivi(p) && i < MOST; i += 2) {
    if ((w->zeros[i] & 0x7f) == 0 && w->zeros[i - 1] == 0) w->zeros[i] = 0;
  }
}

static void assert_same(const struct preset *p, int kind, struct written *got, struct written *expected) {
  settle(p, got);
  settle(p, expected);
  for (int i = 0; i < MOST; i++) {
    if (got->codes[i] != expected->codes[i] || got->scales[i] != expected->scales[i] ||
        got->zeros[i] != expected->zeros[i])
      fail_msg("%s, numbers of kind %d: byte %d is %02x, %02x, %02x; should be %02x, %02x, %02x",
               fovea_format_text(p->name), kind, i, got->codes[i], got->scales[i], got->zeros[i],
               expected->codes[i], expected->scales[i], expected->zeros[i]);
  }
}

/* A page of vLLM's, which cuts codes off; Fovea rounds them to nearest even. */
static void expect_tiles(const struct preset *p, const float *x, const struct contract_format *page,
                         uint8_t *codes) {
  for (int64_t n = 0; n < KEYS * DIM; n++) {
    const int64_t at = contract_vllm_place(page, n / DIM, n % DIM);
    const uint32_t bits = bits_of(x[n]), bf16 = bits + 0x7fff + (bits >> 16 & 1);
    if (p->name == FOVEA_FORMAT_VLLM_BF16_VALUES) {
      codes[2 * at] = (uint8_t)(bf16 >> 16);
      codes[2 * at + 1] = (uint8_t)(bf16 >> 24);
    } else {
      const int e4m3 = p->model == CONTRACT_VLLM_E4M3_KEYS || p->model == CONTRACT_VLLM_E4M3_VALUES;
      codes[at] = e4m3 ? contract_e4m3_code(x[n], true) : contract_e5m2_code(x[n], true);
    }
  }
}

static void check_preset(const struct preset *p, int kind, const char *isa, struct generator *generator) {
  static float numbers[2][HEADS][KEYS][DIM];
  static struct written got[2 * HEADS], expected[2 * HEADS], once[2 * HEADS];
  const fovea_format format = narrow_format(p->name);
  const struct contract_format model = {p->model, DIM, KEYS, 0, FOVEA_F32};
  memset(expected, 0, sizeof expected);
  for (int i = 0; i < 2 * HEADS; i++) {
    float *x = &numbers[i / HEADS][i % HEADS][0][0];
    for (int n = 0; n < KEYS * DIM; n++) x[n] = any_number(kind == 10 ? n / 32 % 10 : kind, p, generator);
    give_scales(p, &expected[i], generator);
  }
  memcpy(got, expected, sizeof got);
  for (int i = 0; i < 2 * HEADS; i++) {
    float *x = &numbers[i / HEADS][i % HEADS][0][0];
    const int keys = p->model == CONTRACT_OPENVINO_U8_CHANNEL ? 32 : KEYS; /* of a page */
    struct contract_format page = model;
    page.keys = keys;
    for (int first = 0; first < KEYS; first += keys) {
      struct contract_cache cache = {expected[i].codes + first / keys * contract_codes_size(&page),
                                     expected[i].scales, expected[i].zeros};
      if (of_vllm(p)) {
        page.keys = format.order_keys;
        expect_tiles(p, x, &page, cache.codes);
        continue;
      }
      contract_quantise(&page, x + first * DIM, &cache);
      if (p->name != FOVEA_FORMAT_E5M2) continue;
      for (int n = 0; n < KEYS * DIM; n++) cache.codes[n] = contract_e5m2_code(x[n], true);
    }
  }
  memcpy(once, got, sizeof once);
  const fovea_segment segment = segment_of(p, &format, got), alone = segment_of(p, &format, once);
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1), lone = fovea_sequence_of(&alone, 1);
  fovea_new_rows rows;
  fovea_error error;
  fovea_new_rows_init(&rows, 1, HEADS, KEYS, DIM, DIM, numbers[0], numbers[1], &sequence);
  rows.k_strides = rows.v_strides = (fovea_strides){HEADS * KEYS * DIM, KEYS * DIM, DIM};
  if (fovea_append(&rows, NULL, on_isa(isa), &error)) fail_msg("%s", error.text);
  for (int i = 0; i < 2 * HEADS; i++) assert_same(p, kind, &got[i], &expected[i]);
  /* Decoding writes what prefill does. */
  const int step = format.key_group > 1 ? 32 : 1;
  for (int first = 0; first < KEYS; first += step) {
    rows.k = numbers[0][0][first], rows.v = numbers[1][0][first];
    rows.rows = step, rows.first_position = first, rows.sequences = &lone;
    if (fovea_append(&rows, NULL, on_isa(isa), &error)) fail_msg("%s", error.text);
  }
  for (int i = 0; i < 2 * HEADS; i++) assert_same(p, kind, &once[i], &expected[i]);
}

static void test_presets(void **state) {
  (void)state;
  struct generator generator = {1};
  for (const char *const *isa = usable_isas_for(NULL); *isa != NULL; isa++)
    for (int i = 0; i < PRESETS; i++)
      for (int kind = 0; kind <= 11; kind++) check_preset(&presets[i], kind, *isa, &generator);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_presets)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
