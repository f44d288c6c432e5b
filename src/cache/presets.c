/* Formats by the names that engines have for them. */
#include "../base/error.h"
#include "../base/groups.h"
#include "../base/validate.h"
#include "formats.h"

#include <string.h>

#if FOVEA_BUILDS_FORMATS
/* ggml's kvalues_iq4nl, ggml/src/ggml-common.h. */
static const int8_t iq4_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* The name lies in the entry: a pointer would cost the loader a relocation, which is as long as the name. */
typedef struct preset {
  char text[24];
  fovea_format format;
} preset;

#define PRESET(name, ...)                                                                                          \
  {                                                                                                                \
    name, {                                                                                                        \
      .struct_size = sizeof(fovea_format), __VA_ARGS__                                                             \
    }                                                                                                              \
  }

static const preset presets[] = {
    [FOVEA_FORMAT_I8_ROWS] = PRESET("i8_rows", .code = FOVEA_CODE_S8, .key_group = 1),
    [FOVEA_FORMAT_Q8_KV] = PRESET("q8_kv", .quantiser = FOVEA_QUANTISE_IK, .code = FOVEA_CODE_S8,
                                  .place = FOVEA_SCALES_BEFORE, .key_group = 1, .sums = 1),
    [FOVEA_FORMAT_Q8_0] =
        PRESET("q8_0", .quantiser = FOVEA_QUANTISE_GGML, .code = FOVEA_CODE_S8, .place = FOVEA_SCALES_BEFORE,
               .scale_type = FOVEA_F16, .group = 32, .key_group = 1),
    [FOVEA_FORMAT_Q4_0] =
        PRESET("q4_0", .quantiser = FOVEA_QUANTISE_GGML, .code = FOVEA_CODE_U4_HALVES, .place = FOVEA_SCALES_BEFORE,
               .scale_type = FOVEA_F16, .group = 32, .key_group = 1, .bias = 8),
    [FOVEA_FORMAT_Q4_1] = PRESET("q4_1", .quantiser = FOVEA_QUANTISE_GGML, .code = FOVEA_CODE_U4_HALVES,
                                 .formula = FOVEA_FORMULA_MINIMUM, .place = FOVEA_SCALES_BEFORE,
                                 .scale_type = FOVEA_F16, .group = 32, .key_group = 1),
    [FOVEA_FORMAT_Q5_0] =
        PRESET("q5_0", .quantiser = FOVEA_QUANTISE_GGML, .code = FOVEA_CODE_U5_HALVES, .place = FOVEA_SCALES_BEFORE,
               .scale_type = FOVEA_F16, .group = 32, .key_group = 1, .bias = 16),
    [FOVEA_FORMAT_Q5_1] = PRESET("q5_1", .quantiser = FOVEA_QUANTISE_GGML, .code = FOVEA_CODE_U5_HALVES,
                                 .formula = FOVEA_FORMULA_MINIMUM, .place = FOVEA_SCALES_BEFORE,
                                 .scale_type = FOVEA_F16, .group = 32, .key_group = 1),
    [FOVEA_FORMAT_IQ4_NL] =
        PRESET("iq4_nl", .quantiser = FOVEA_QUANTISE_GGML, .code = FOVEA_CODE_U4_HALVES,
               .place = FOVEA_SCALES_BEFORE, .scale_type = FOVEA_F16, .group = 32, .key_group = 1, .table = iq4_nl),
    [FOVEA_FORMAT_OPENVINO_U8] =
        PRESET("openvino_u8", .quantiser = FOVEA_QUANTISE_OPENVINO, .code = FOVEA_CODE_U8,
               .formula = FOVEA_FORMULA_ZERO, .place = FOVEA_SCALES_BEFORE, .key_group = 1),
    [FOVEA_FORMAT_OPENVINO_U4] =
        PRESET("openvino_u4", .quantiser = FOVEA_QUANTISE_OPENVINO, .code = FOVEA_CODE_U4_SWAPPED,
               .formula = FOVEA_FORMULA_ZERO, .place = FOVEA_SCALES_BEFORE, .key_group = 1),
    [FOVEA_FORMAT_OPENVINO_I8] = PRESET("openvino_i8", .quantiser = FOVEA_QUANTISE_OPENVINO, .code = FOVEA_CODE_S8,
                                        .place = FOVEA_SCALES_BEFORE, .key_group = 1),
    [FOVEA_FORMAT_OPENVINO_U8_KEYS] =
        PRESET("openvino_u8_keys", .quantiser = FOVEA_QUANTISE_OPENVINO, .code = FOVEA_CODE_U8,
               .formula = FOVEA_FORMULA_ZERO, .place = FOVEA_SCALES_BEFORE, .group = 1, .key_group = 32),
    [FOVEA_FORMAT_ORT_S8] = PRESET("ort_s8", .quantiser = FOVEA_QUANTISE_ORT, .code = FOVEA_CODE_S8),
    [FOVEA_FORMAT_ORT_U4] = PRESET("ort_u4", .quantiser = FOVEA_QUANTISE_ORT, .code = FOVEA_CODE_U4, .bias = 8),
    [FOVEA_FORMAT_ORT_S8_DIMS] =
        PRESET("ort_s8_dims", .quantiser = FOVEA_QUANTISE_ORT, .code = FOVEA_CODE_S8, .group = 1),
    [FOVEA_FORMAT_ORT_U4_DIMS] =
        PRESET("ort_u4_dims", .quantiser = FOVEA_QUANTISE_ORT, .code = FOVEA_CODE_U4, .group = 1, .bias = 8),
    [FOVEA_FORMAT_E4M3] = PRESET("e4m3", .code = FOVEA_CODE_E4M3),
    [FOVEA_FORMAT_E5M2] = PRESET("e5m2", .code = FOVEA_CODE_E5M2),
    [FOVEA_FORMAT_KIVI_K4] =
        PRESET("kivi_k4", .quantiser = FOVEA_QUANTISE_KIVI, .code = FOVEA_CODE_U4_KEYS,
               .formula = FOVEA_FORMULA_MINIMUM, .scale_type = FOVEA_F16, .group = 1, .key_group = 32),
    [FOVEA_FORMAT_KIVI_K2] =
        PRESET("kivi_k2", .quantiser = FOVEA_QUANTISE_KIVI, .code = FOVEA_CODE_U2_KEYS,
               .formula = FOVEA_FORMULA_MINIMUM, .scale_type = FOVEA_F16, .group = 1, .key_group = 32),
    [FOVEA_FORMAT_KIVI_V4] =
        PRESET("kivi_v4", .quantiser = FOVEA_QUANTISE_KIVI, .code = FOVEA_CODE_U4, .formula = FOVEA_FORMULA_MINIMUM,
               .scale_type = FOVEA_F16, .group = 32, .key_group = 1),
    [FOVEA_FORMAT_KIVI_V2] =
        PRESET("kivi_v2", .quantiser = FOVEA_QUANTISE_KIVI, .code = FOVEA_CODE_U2, .formula = FOVEA_FORMULA_MINIMUM,
               .scale_type = FOVEA_F16, .group = 32, .key_group = 1),
    [FOVEA_FORMAT_VLLM_E4M3_KEYS] =
        PRESET("vllm_e4m3_keys", .code = FOVEA_CODE_E4M3, .order = FOVEA_ORDER_DIM_PAIRS, .order_keys = 16),
    [FOVEA_FORMAT_VLLM_E5M2_KEYS] =
        PRESET("vllm_e5m2_keys", .code = FOVEA_CODE_E5M2, .order = FOVEA_ORDER_DIM_PAIRS, .order_keys = 16),
    [FOVEA_FORMAT_VLLM_E4M3_VALUES] =
        PRESET("vllm_e4m3_values", .code = FOVEA_CODE_E4M3, .order = FOVEA_ORDER_KEY_PAIRS, .order_keys = 128),
    [FOVEA_FORMAT_VLLM_E5M2_VALUES] =
        PRESET("vllm_e5m2_values", .code = FOVEA_CODE_E5M2, .order = FOVEA_ORDER_KEY_PAIRS, .order_keys = 128),
    [FOVEA_FORMAT_VLLM_BF16_VALUES] =
        PRESET("vllm_bf16_values", .code = FOVEA_CODE_BF16, .order = FOVEA_ORDER_KEY_PAIRS, .order_keys = 128),
};
enum { PRESETS = sizeof presets / sizeof presets[0] };

fovea_status fovea_format_init_sized(fovea_format *format, size_t struct_size, fovea_format_name name,
                                     fovea_error *error) {
  if (!format) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "format is NULL");
  if (struct_size != sizeof *format)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "format.struct_size is %ju; this library knows %ju",
                      (uint64_t)struct_size, (uint64_t)sizeof *format);
  if ((int)name < 0 || (int)name >= PRESETS)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "name is %jd; it must be from 0 to %jd", (int64_t)(int)name,
                      (int64_t)PRESETS - 1);
  *format = presets[name].format;
  return FOVEA_OK;
}

const char *fovea_format_text(fovea_format_name name) {
  return (int)name < 0 || (int)name >= PRESETS ? NULL : presets[name].text;
}

int fovea_format_named(const char *text) {
  for (int i = 0; text && i < PRESETS; i++) {
    if (strcmp(presets[i].text, text) == 0) return i;
  }
  return -1;
}

int64_t fovea_format_bytes(const fovea_format *format, int64_t dim, fovea_error *error) {
  const fovea_bounded size = {"dim", dim, 1, FOVEA_DIM_LIMIT};
  if (!format) {
    fovea_fail(error, FOVEA_ERROR_ARGUMENT, "format is NULL");
    return 0;
  }
  if (fovea_validate_bounds(NULL, &size, 1, error)) return 0;
  return fovea_check_format(format, dim, FOVEA_NO_ENTRY, 0, 0, error)
             ? 0
             : fovea_lay_out_codes(format, dim, 0).unit_bytes;
}

int64_t fovea_format_panel_bytes(const fovea_format *format, int64_t dim, fovea_error *error) {
  if (fovea_format_bytes(format, dim, error) == 0 || fovea_check_code_panels(format, dim, FOVEA_NO_ENTRY, 0, error))
    return 0;
  return fovea_lay_out_codes(format, dim, 1).unit_bytes;
}
#else
fovea_status fovea_format_init_sized(fovea_format *format, size_t struct_size, fovea_format_name name,
                                     fovea_error *error) {
  (void)format, (void)struct_size, (void)name;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_FORMATS, error);
}

const char *fovea_format_text(fovea_format_name name) {
  (void)name;
  return NULL;
}

int fovea_format_named(const char *text) {
  (void)text;
  return -1;
}

int64_t fovea_format_bytes(const fovea_format *format, int64_t dim, fovea_error *error) {
  (void)format, (void)dim;
  fovea_fail_left_out(FOVEA_GROUP_PLACE_FORMATS, error);
  return 0;
}

int64_t fovea_format_panel_bytes(const fovea_format *format, int64_t dim, fovea_error *error) {
  return fovea_format_bytes(format, dim, error);
}
#endif
