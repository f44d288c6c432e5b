/* Plain models of quantised caches: what number a stored element is, and which bytes a row becomes. They share no code
 * with the library. Each format is as in the project in its name; docs/formats-sources.md says where it is
 * defined. */
#ifndef FOVEA_TESTS_CONTRACT_FORMATS_H
#define FOVEA_TESTS_CONTRACT_FORMATS_H

#include "support/types.h"

#include <stdbool.h>

enum contract_preset {
  CONTRACT_I8_ROWS, /* the library's own: s8, a scale a row apart */
  CONTRACT_Q8_KV,
  CONTRACT_Q8_0,
  CONTRACT_Q8_0_CPU, /* the same format, quantised as ggml's code for x86 does where it writes caches */
  CONTRACT_Q4_0,
  CONTRACT_Q4_1,
  CONTRACT_Q5_0,
  CONTRACT_Q5_1,
  CONTRACT_IQ4_NL,
  CONTRACT_OPENVINO_U8,
  CONTRACT_OPENVINO_U4,
  CONTRACT_OPENVINO_I8,
  CONTRACT_OPENVINO_U8_CHANNEL,
  CONTRACT_OPENVINO_U4_CHANNEL,
  CONTRACT_ORT_S8,
  CONTRACT_ORT_S8_CHANNEL,
  CONTRACT_ORT_U4,
  CONTRACT_ORT_U4_CHANNEL,
  CONTRACT_E4M3, /* rows of codes with one scale apart; without scales: 1 */
  CONTRACT_E5M2,
  CONTRACT_VLLM_E4M3_KEYS, /* pages for AMX, with one scale apart */
  CONTRACT_VLLM_E4M3_VALUES,
  CONTRACT_VLLM_E5M2_KEYS,
  CONTRACT_VLLM_E5M2_VALUES,
  CONTRACT_KIVI_K4,
  CONTRACT_KIVI_K2,
  CONTRACT_KIVI_V4,
  CONTRACT_KIVI_V2,
};

struct contract_format {
  enum contract_preset preset;
  int64_t dim;           /* numbers of a key */
  int64_t keys;          /* of a page or tensor; formats by row have their rows one after another */
  int64_t group;         /* OpenVINO by token: numbers that share a scale. 0: all of a row */
  fovea_type scale_type; /* I8_ROWS: f32 or f16 */
};

/* Bytes of one head's cache. Scales and zeros (or minima) are NULL unless the format keeps them apart: one f32 or
 * f16 a row, one f32 a tensor, one f32 a dim; KIVI: f16 [keys / 32][dim] for keys, [keys][dim / 32] for values. */
struct contract_cache {
  uint8_t *codes, *scales, *zeros;
};

/* Bytes of the codes with what lies among them. */
int64_t contract_codes_size(const struct contract_format *format);

/* The number that is stored for dim d of a key, one rounding a step. NaN as the one quiet NaN; -0 stays. */
float contract_element(const struct contract_format *format, const struct contract_cache *cache, int64_t key,
                       int64_t d);

/* Writes the cache of [keys][dim] numbers as the format's own project does (I8_ROWS: as the library does). Scales
 * of ORT, E4M3, E5M2 and VLLM are given by the caller. */
void contract_quantise(const struct contract_format *format, const float *numbers, struct contract_cache *cache);

/* The code nearest to x, ties to even. Beyond the largest number: that one if `saturate`; otherwise, of e5m2,
 * infinity, and of e4m3, which has none, NaN. */
uint8_t contract_e4m3_code(float x, bool saturate);
uint8_t contract_e5m2_code(float x, bool saturate);

/* What these files share. */
float contract_load_f32(const uint8_t *bytes);
float contract_load_f16(const uint8_t *bytes);
void contract_store_f32(uint8_t *bytes, float x);
void contract_store_f16(uint8_t *bytes, float x); /* rounded, with its sign */
extern const int8_t contract_iq4_nl_values[16];
int64_t contract_row_size(const struct contract_format *format);
int64_t contract_kivi_bits(const struct contract_format *format);
void contract_q8_kv_row(const float *x, int64_t dim, uint8_t *row);
void contract_ggml_group(enum contract_preset preset, const float *x, uint8_t *group); /* of 32 numbers */
/* Of a page for AMX: the byte of a key's dim d. */
int64_t contract_vllm_place(const struct contract_format *format, int64_t key, int64_t d);

#endif
