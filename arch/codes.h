/* The border between src/ and the instruction sets for quantised formats (fovea/format.h): where the codes of keys
 * or values lie, where their scales, and how they become numbers. One form for all formats: strides in bytes. */
#ifndef FOVEA_ARCH_CODES_H
#define FOVEA_ARCH_CODES_H

#include "../include/fovea/format.h"

#include <stdint.h>

/* ---- What a code is ------------------------------------------------------------------------------------------- */

/* The codes, one row each, in the order of their numbers. The library takes all that it knows of a code from here;
 * only loops that pack, unpack and convert codes name them.
 *
 *   CODE(with, code, name, bits, row_bits, front, lies, numbers, decoded)
 *
 *   with      the argument of FOVEA_CODES(), passed on
 *   code      the code's number, fovea_code
 *   name      the suffix of functions for this code
 *   bits      bits of a code
 *   row_bits  bits that a dim takes in a row of codes, without the bits in front
 *   front     bytes in front of the codes of each group, which hold the codes' upper bits; the group is 32
 *   lies      IN_TURN: codes of a row follow each other. IN_HALVES: dim i of a group shares a byte with dim
 *             i + group / 2. ALONG_KEYS: with the codes of other keys in words of 32 bits
 *   numbers   which numbers codes are: SIGNED, UNSIGNED, E4M3, E5M2 or BF16
 *   decoded   whether decoding knows the code: by its OWN functions, by another code's (AS_E4M3), or NOT */
/* clang-format off */
#define FOVEA_CODES(CODE, with)                                                                                    \
  CODE(with, FOVEA_CODE_S8,         s8,          8,  8, 0, IN_TURN,    SIGNED,   OWN)                              \
  CODE(with, FOVEA_CODE_U8,         u8,          8,  8, 0, IN_TURN,    UNSIGNED, OWN)                              \
  CODE(with, FOVEA_CODE_E4M3,       e4m3,        8,  8, 0, IN_TURN,    E4M3,     OWN)                              \
  CODE(with, FOVEA_CODE_E5M2,       e5m2,        8,  8, 0, IN_TURN,    E5M2,     AS_E4M3)                          \
  CODE(with, FOVEA_CODE_U4,         u4,          4,  4, 0, IN_TURN,    UNSIGNED, OWN)                              \
  CODE(with, FOVEA_CODE_U4_SWAPPED, u4_swapped,  4,  4, 0, IN_TURN,    UNSIGNED, NOT)                              \
  CODE(with, FOVEA_CODE_U4_HALVES,  u4_halves,   4,  4, 0, IN_HALVES,  UNSIGNED, OWN)                              \
  CODE(with, FOVEA_CODE_U5_HALVES,  u5_halves,   5,  4, 4, IN_HALVES,  UNSIGNED, NOT)                              \
  CODE(with, FOVEA_CODE_U2,         u2,          2,  2, 0, IN_TURN,    UNSIGNED, NOT)                              \
  CODE(with, FOVEA_CODE_U8_KEYS,    u8_keys,     8, 32, 0, ALONG_KEYS, UNSIGNED, NOT)                              \
  CODE(with, FOVEA_CODE_U4_KEYS,    u4_keys,     4, 32, 0, ALONG_KEYS, UNSIGNED, NOT)                              \
  CODE(with, FOVEA_CODE_U2_KEYS,    u2_keys,     2, 32, 0, ALONG_KEYS, UNSIGNED, NOT)                              \
  CODE(with, FOVEA_CODE_BF16,       bf16,       16, 16, 0, IN_TURN,    BF16,     NOT)
/* clang-format on */

typedef enum fovea_code_lies { FOVEA_CODES_IN_TURN, FOVEA_CODES_IN_HALVES, FOVEA_CODES_ALONG_KEYS } fovea_code_lies;

typedef enum fovea_code_numbers {
  FOVEA_CODES_SIGNED,
  FOVEA_CODES_UNSIGNED,
  FOVEA_CODES_E4M3,
  FOVEA_CODES_E5M2,
  FOVEA_CODES_BF16
} fovea_code_numbers;

/* FOVEA_IF_DECODED_<decoded>(text) is the text if decoding knows the code, else nothing. */
#define FOVEA_IF_DECODED_OWN(...)     __VA_ARGS__
#define FOVEA_IF_DECODED_AS_E4M3(...) __VA_ARGS__
#define FOVEA_IF_DECODED_NOT(...)

/* Counts the codes, and checks that they stand in the order of their numbers. */
#define FOVEA_CODE_PLACE(with, code, name, ...) FOVEA_CODE_PLACE_##name,
enum { FOVEA_CODES(FOVEA_CODE_PLACE, ) FOVEA_CODE_COUNT };
#define FOVEA_CODE_ORDER(with, code, name, ...)                                                                    \
  _Static_assert((int)FOVEA_CODE_PLACE_##name == (int)(code), "codes stand in the order of their numbers");
FOVEA_CODES(FOVEA_CODE_ORDER, )

typedef struct fovea_code_facts {
  unsigned char bits, row_bits, front, lies, numbers, decoded;
} fovea_code_facts;

/* The row of a code. If the code is a constant, so is what is read from it. */
#define FOVEA_CODE_FACTS(with, code, name, bits, row_bits, front, lies, numbers, decoded)                          \
  {bits, row_bits, front, FOVEA_CODES_##lies, FOVEA_CODES_##numbers, FOVEA_IF_DECODED_##decoded(1) + 0},
static inline __attribute__((always_inline, const)) fovea_code_facts fovea_code_of(fovea_code code) {
  static const fovea_code_facts facts[] = {FOVEA_CODES(FOVEA_CODE_FACTS, )};
  return facts[code];
}

/* ---- Rows of codes -------------------------------------------------------------------------------------------- */

/* What all rows of a side have in common. */
typedef struct fovea_codes {
  fovea_code code;
  fovea_formula formula;
  fovea_type scale_type;
  float bias;
  const int8_t *table; /* NULL: none */
  float numbers[16];   /* of codes of 4 bits: the table's, or the codes less the bias */
  int64_t row_bytes;   /* of a row, for prefetches */
  int64_t group;       /* dims that share a scale; at least 1 */
  int panels;          /* 1: rows of codes lie side by side in words, panel[word][key] */
  int item;            /* bytes of a row that are neighbours; 0: all of them */
  int64_t item_step;   /* between items, and from sixteen of them to the next sixteen */
  int64_t chunk_step;
  int mixed;           /* 1: groups are small, and their codes follow each other without a gap */
  int64_t group_step;  /* bytes from the codes of a group of dims to the codes of the next group */
  int64_t scale_group; /* bytes from the scale of a group of dims to the scale of the next group */
  int int8_rows; /* 1: rows are int8 with one scale, which several rows may share; 2: each has its own; else 0 */
} fovea_codes;

/* Whether decoding knows a format: its codes become numbers in registers, sixteen bytes at a time, whose dims have
 * one scale. Rows of other formats are dequantised first. */
static inline int fovea_decodes_codes(const fovea_codes *codes, int64_t dim) {
  const fovea_code_facts code = fovea_code_of(codes->code);
  const int chunk = 16 * 8 / code.row_bits;
  if (!code.decoded || (codes->item && !codes->panels)) return 0;
  if (codes->table || codes->mixed || dim % chunk != 0 || codes->group % chunk != 0) return 0;
  if (code.lies == FOVEA_CODES_IN_HALVES && codes->group != 32) return 0;
  return code.numbers == FOVEA_CODES_UNSIGNED || codes->formula == FOVEA_FORMULA_SCALE;
}

/* Whether two sides become numbers in the same way. */
static inline int fovea_same_codes(const fovea_codes *a, const fovea_codes *b) {
  return a->code == b->code && a->formula == b->formula && a->scale_type == b->scale_type && a->table == b->table &&
         a->bias >= b->bias && a->bias <= b->bias && a->item == b->item && a->group == b->group &&
         a->group_step == b->group_step && a->scale_group == b->scale_group;
}

/* Rows of such a format in decoding: one pointer a key. */
typedef struct fovea_coded_keys {
  const fovea_codes *codes;  /* NULL: the rows have no format */
  const void *const *scales; /* of each key's first group of dims */
  int has_zeros;
  int64_t zeros_at; /* bytes from a scale to its zero */
  int64_t
      scale_step; /* bytes from key to key, but that pointers after the last key repeat its own; -1: they differ */
} fovea_coded_keys;

/* Rows at equal distances. */
typedef struct fovea_coded_rows {
  const char *codes;          /* of the first group of dims; in panels, the first word */
  const char *scales, *zeros; /* of the same group; zeros: NULL if the formula has none */
  int64_t code_step;          /* bytes from a row's codes to the codes of the next row */
  int64_t scale_step;         /* bytes from a row's scales, and zeros, to the scales of the next row */
  int shift, shift_step;      /* of codes along keys: the first row's bits in a word, and bits from row to row */
  const float *centre;        /* a number for each dim; NULL: none */
} fovea_coded_rows;

/* Writes rows as f32: to[row * to_stride + d]. Whole vectors are written, as fovea_widen_args says. */
typedef struct fovea_widen_codes_args {
  const fovea_codes *codes;
  fovea_coded_rows rows;
  int64_t row_count;
  int64_t dim;
  float *to;
  int64_t to_stride;
} fovea_widen_codes_args;

#endif
