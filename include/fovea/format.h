/* Formats of quantised caches: keys and values in 8 bits or less, as engines keep them, read where they lie.
 *
 *   fovea_format_init(&format, FOVEA_FORMAT_Q8_0, &error);
 *   segment.k = blocks, segment.k_row = fovea_format_bytes(&format, qk_dim, 0), segment.k_format = &format;
 *
 * A stored element is a code, which stands for a number: by itself, or with a scale that it shares with others.
 * The number is f32, and made with one rounding a step (fovea_formula). That is the whole rule: attention over a
 * quantised cache has the bits of attention over f32 tensors that hold these numbers, for every mask, pattern,
 * term and type of the queries, on every CPU. */
#ifndef FOVEA_FORMAT_H
#define FOVEA_FORMAT_H

#include <fovea/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the codes of a group of dims lie. Codes below 8 bits share bytes. Bit 0 is a byte's lowest. */
typedef enum fovea_code {
  FOVEA_CODE_S8 = 0,         /* int8 */
  FOVEA_CODE_U8 = 1,         /* uint8 */
  FOVEA_CODE_E4M3 = 2,       /* OCP's fp8 E4M3: no infinities, S.1111.111 is NaN; PyTorch's float8_e4m3fn */
  FOVEA_CODE_E5M2 = 3,       /* OCP's fp8 E5M2: the upper byte of an f16 */
  FOVEA_CODE_U4 = 4,         /* two a byte: dim 2i in bits 0 to 3 of byte i, dim 2i + 1 in bits 4 to 7 */
  FOVEA_CODE_U4_SWAPPED = 5, /* two a byte: dim 2i in bits 4 to 7 of byte i, dim 2i + 1 in bits 0 to 3 */
  FOVEA_CODE_U4_HALVES = 6,  /* dim i of a group in bits 0 to 3 of byte i, dim i + group / 2 in bits 4 to 7 */
  FOVEA_CODE_U5_HALVES = 7,  /* group 32: a little-endian uint32 whose bit i is bit 4 of dim i, then U4_HALVES */
  FOVEA_CODE_U2 = 8,         /* four a byte: dim 4i + j in bits 2j and 2j + 1 of byte i */
  /* Codes of neighbouring keys in little-endian words of 32 bits, a row of `dim` words for 4, 8 or 16 keys: key j
   * of a word in bits j * bits to (j + 1) * bits - 1. Keys are counted from the segment's first. */
  FOVEA_CODE_U8_KEYS = 9,
  FOVEA_CODE_U4_KEYS = 10,
  FOVEA_CODE_U2_KEYS = 11,
  FOVEA_CODE_BF16 = 12 /* bf16, with one scale (key_group 0): for orders that elements of segments do not have */
} fovea_code;

/* Where the codes of a row lie. Orders other than ROWS have units of order_keys keys: a segment's row stride leads
 * from a unit to the next, and its first key begins a unit. All bytes of a segment's last unit may be read, and
 * scales lie apart.
 *   ROWS        one after the other
 *   DIM_PAIRS   codes of 8 bits and bf16: [dim / 2][order_keys][2 dims]; even dims
 *   KEY_PAIRS   the same codes: [dim / 16][order_keys / 2][16 dims][2 keys]; dims in sixteens
 *   DIMS        codes along keys: [dim][order_keys / keys of a word], words of a dim side by side */
typedef enum fovea_code_order {
  FOVEA_ORDER_ROWS = 0,
  FOVEA_ORDER_DIM_PAIRS = 1,
  FOVEA_ORDER_KEY_PAIRS = 2,
  FOVEA_ORDER_DIMS = 3
} fovea_code_order;

/* The number x of a code. Every fl is one rounding to f32, ties to even; a scale in f16 or bf16 is converted
 * exactly.
 *   SCALE     x = fl((code - bias) * scale)
 *             with a table: fl(table[code] * scale)
 *             with a centre (fovea_code_scales): fma(code - bias, scale, centre[dim])
 *   ZERO      x = fl(fl(code - zero) * scale)
 *   MINIMUM   x = fma(code, scale, minimum)
 * Zeros and minima lie as scales do. */
typedef enum fovea_formula {
  FOVEA_FORMULA_SCALE = 0,
  FOVEA_FORMULA_ZERO = 1,
  FOVEA_FORMULA_MINIMUM = 2
} fovea_formula;

/* Where scales lie, and zeros or minima, if the formula has them.
 *   APART    in memory of their own, fovea_code_scales
 *   BEFORE   in front of the codes that share them: scale, zero, codes
 *   AFTER    after the codes: codes, scale, zero
 * In front of or after the codes of each group of dims. If keys share scales, too: in front of or after the codes
 * of the group of keys, first all scales, group of dims by group of dims, then all zeros. */
typedef enum fovea_scale_place {
  FOVEA_SCALES_APART = 0,
  FOVEA_SCALES_BEFORE = 1,
  FOVEA_SCALES_AFTER = 2
} fovea_scale_place;

/* How fovea_append() and fovea_sequence_copy() quantise numbers to codes and scales. docs/numerics.md, section 14,
 * says it step by step. If keys share scales (key_group above 1), whole groups of keys are written at once. Scales
 * that all keys share (key_group 0) are the caller's: they are read, never written. In a group that has a NaN or
 * an infinity, scale and zero or minimum become NaN.
 *   NEAREST   with SCALE: a = max |x|, t = fl(top / a), code = nearest even of fl(x * t), scale = fl(a / top); top
 *             is 127 of s8, 7 of u4 with bias 8, 448 and 57344 of fp8. a below 2^-100: codes of 0, scale 0
 *             with ZERO and MINIMUM: the scale is the width of the range over the number of steps
 *             Scales in f16 or bf16 are rounded after the codes are made.
 *             Scales that all keys share: code = nearest even of fl(x / scale), fl(fl(x / scale) + zero) or
 *             fl(fl(x - minimum) / scale), saturating, bf16 as it rounds; NaN becomes 0, of fp8 and bf16 NaN
 *   GGML      the bytes of quantize_row_*_ref(); of code and formula of q8_0, q4_0, q4_1, q5_0, q5_1 or iq4_nl
 *   IK        the bytes of ik_llama.cpp's q8_KV; s8
 *   OPENVINO  the bytes of its PagedAttention; s8 with SCALE, unsigned codes with ZERO
 *   KIVI      as quant/new_pack.py, in f16; unsigned codes with MINIMUM
 *   ORT       as ONNX Runtime: code = nearest even of fl(x * fl(1 / scale)), saturating; key_group 0, integers with
 *             SCALE. A scale of 0 counts as 1, and NaN takes the largest code */
typedef enum fovea_quantiser {
  FOVEA_QUANTISE_NEAREST = 0,
  FOVEA_QUANTISE_GGML = 1,
  FOVEA_QUANTISE_IK = 2,
  FOVEA_QUANTISE_OPENVINO = 3,
  FOVEA_QUANTISE_KIVI = 4,
  FOVEA_QUANTISE_ORT = 5
} fovea_quantiser;

/* Prepare it with fovea_format_init() by the name of a preset; every field may then be changed. It must live as
 * long as the segments that point to it. (Segments name it as fovea_format, declared in fovea/cache.h.) */
struct fovea_format {
  size_t struct_size;      /* set by fovea_format_init() */
  fovea_code code;         /* how codes lie */
  fovea_formula formula;   /* which number a code stands for */
  fovea_scale_place place; /* where scales, zeros and minima lie */
  fovea_type scale_type;   /* their type */
  int64_t group;     /* dims that share a scale, a divisor of dim; 0: all dims of a row. 1: a scale for each dim */
  int64_t key_group; /* keys that share scales, counted from the segment's first; 0: all, with APART only */
  int bias;          /* subtracted from unsigned codes, 0 to 128; with SCALE and no table, else 0 */
  int sums;          /* 1: an int32 lies after each scale and is not read: the sum of codes in ik's q8_KV */
  const int8_t *table; /* 16 numbers in place of codes of 4 bits; with SCALE; NULL: none. To write: ascending */
  fovea_quantiser quantiser; /* how numbers become codes; not used if the format is only read */
  fovea_code_order order;    /* where the codes of a row lie */
  int64_t order_keys; /* keys of a unit; ROWS: 0. DIM_PAIRS: at least 1; KEY_PAIRS: even; DIMS: whole words */
};

/* Formats of engines, each checked against its source: docs/formats-sources.md names file, commit and lines.
 *
 *   name              engine        code       scales                      x
 *   I8_ROWS           several       s8         f32 a row, apart            code * scale
 *   Q8_KV             ik_llama.cpp  s8         f32 a row and a sum, before code * scale
 *   Q8_0              ggml          s8         f16 for 32 dims, before     code * scale
 *   Q4_0, Q5_0        ggml          u4, u5     f16 for 32 dims, before     (code - 8 or 16) * scale
 *   Q4_1, Q5_1        ggml          u4, u5     f16 and minimum, before     code * scale + minimum
 *   IQ4_NL            ggml          u4         f16 for 32 dims, before     table[code] * scale
 *   OPENVINO_U8, _U4  OpenVINO      u8, u4     f32 and zero a row, before  (code - zero) * scale
 *   OPENVINO_I8       OpenVINO      s8         f32 a row, before           code * scale
 *   OPENVINO_U8_KEYS  OpenVINO      u8         for 32 keys f32 and zero a dim, before; (code - zero) * scale
 *   ORT_S8, ORT_U4    ONNX Runtime  s8, u4     one f32, apart              code * scale, (code - 8) * scale
 *   ORT_S8_DIMS, ORT_U4_DIMS        the same with an f32 a dim, apart
 *   E4M3, E5M2        vLLM, others  fp8        one f32, apart              code * scale
 *   VLLM_E4M3_KEYS, VLLM_E5M2_KEYS  the same for AMX: pairs of dims of 16 keys
 *   VLLM_E4M3_VALUES, VLLM_E5M2_VALUES, VLLM_BF16_VALUES  for AMX: pairs of keys, pages of 128: set order_keys
 *   KIVI_K4, KIVI_K2  KIVI          along keys for 32 keys f16 and minimum a dim, apart; code * scale + minimum
 *   KIVI_V4, KIVI_V2  KIVI          u4, u2     f16 and minimum for 32 dims, apart; code * scale + minimum
 *
 * vLLM's bf16 keys for AMX are elements, FOVEA_KEYS_IN_PANELS. Keys that KIVI's models keep have FOVEA_ORDER_DIMS:
 * order_keys is the length of their last axis in keys. */
typedef enum fovea_format_name {
  FOVEA_FORMAT_I8_ROWS = 0,
  FOVEA_FORMAT_Q8_KV = 1,
  FOVEA_FORMAT_Q8_0 = 2,
  FOVEA_FORMAT_Q4_0 = 3,
  FOVEA_FORMAT_Q4_1 = 4,
  FOVEA_FORMAT_Q5_0 = 5,
  FOVEA_FORMAT_Q5_1 = 6,
  FOVEA_FORMAT_IQ4_NL = 7,
  FOVEA_FORMAT_OPENVINO_U8 = 8,
  FOVEA_FORMAT_OPENVINO_U4 = 9,
  FOVEA_FORMAT_OPENVINO_I8 = 10,
  FOVEA_FORMAT_OPENVINO_U8_KEYS = 11,
  FOVEA_FORMAT_ORT_S8 = 12,
  FOVEA_FORMAT_ORT_U4 = 13,
  FOVEA_FORMAT_ORT_S8_DIMS = 14,
  FOVEA_FORMAT_ORT_U4_DIMS = 15,
  FOVEA_FORMAT_E4M3 = 16,
  FOVEA_FORMAT_E5M2 = 17,
  FOVEA_FORMAT_KIVI_K4 = 18,
  FOVEA_FORMAT_KIVI_K2 = 19,
  FOVEA_FORMAT_KIVI_V4 = 20,
  FOVEA_FORMAT_KIVI_V2 = 21,
  FOVEA_FORMAT_VLLM_E4M3_KEYS = 22,
  FOVEA_FORMAT_VLLM_E5M2_KEYS = 23,
  FOVEA_FORMAT_VLLM_E4M3_VALUES = 24,
  FOVEA_FORMAT_VLLM_E5M2_VALUES = 25,
  FOVEA_FORMAT_VLLM_BF16_VALUES = 26
} fovea_format_name;

/* Makes the format of that name. FOVEA_ERROR_ARGUMENT if there is no such format. Callers in C use
 * fovea_format_init(). */
FOVEA_API fovea_status fovea_format_init_sized(fovea_format *format, size_t struct_size, fovea_format_name name,
                                               fovea_error *error);

/* Passes the size of the struct that this program was compiled with. */
static inline fovea_status fovea_format_init(fovea_format *format, fovea_format_name name, fovea_error *error) {
  return fovea_format_init_sized(format, sizeof *format, name, error);
}

/* Returns the preset's name, "q8_0"; NULL if there is none. fovea_format_named() finds a preset by it, and returns
 * -1 if there is none. */
FOVEA_API const char *fovea_format_text(fovea_format_name name);
FOVEA_API int fovea_format_named(const char *text);

/* Returns the bytes of a row of `dim` elements with all that lies in front of its codes or after them: the least
 * distance of rows. If keys share scales that do not lie apart: the bytes of a group of keys. Of codes along keys:
 * the bytes of a row of words. Of other orders than rows: the bytes of a unit. 0 if `dim` or the format is refused;
 * `error` (may be NULL) then says why. */
FOVEA_API int64_t fovea_format_bytes(const fovea_format *format, int64_t dim, fovea_error *error);

/* Returns the bytes of a panel of FOVEA_PANEL_ROWS keys with such a format, which must have its scales apart. Rows
 * of codes, filled up to words of four bytes, lie side by side: panel[byte / 4][key][byte % 4]. 0 as above. */
FOVEA_API int64_t fovea_format_panel_bytes(const fovea_format *format, int64_t dim, fovea_error *error);

#ifdef __cplusplus
}
#endif

#endif
