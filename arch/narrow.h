/* The border between src/ and the instruction sets for quantising: how numbers become codes and scales.
 * docs/numerics.md, section 14, defines every step; src/cache/quantisers.c makes rules of formats. */
#ifndef FOVEA_ARCH_NARROW_H
#define FOVEA_ARCH_NARROW_H

#include "codes.h"
#include "strict_math.h"

/* How a group of numbers gets its scale, and its zero or minimum. */
typedef enum fovea_scale_rule {
  FOVEA_SCALE_FIXED,     /* read: it is the caller's */
  FOVEA_SCALE_LARGEST,   /* from the largest magnitude */
  FOVEA_SCALE_SIGNED,    /* from the first number of largest magnitude, with its sign */
  FOVEA_SCALE_FIT,       /* as SIGNED for the codes of a table; then the scale of the least weighted error */
  FOVEA_SCALE_ZERO,      /* from the range, with a zero */
  FOVEA_SCALE_MINIMUM,   /* from the range, with a minimum */
  FOVEA_SCALE_OF_HALVES, /* the same with each step in f16 */
} fovea_scale_rule;

/* What is rounded. Each operation is one rounding. */
typedef enum fovea_code_rule {
  FOVEA_CODE_PRODUCT,      /* x * factor */
  FOVEA_CODE_FUSED,        /* x * factor + zero */
  FOVEA_CODE_FROM_MINIMUM, /* (x - zero) * factor */
  FOVEA_CODE_OF_HALVES,    /* f16(f16(x - zero) / factor) */
  FOVEA_CODE_QUOTIENT,     /* x / factor */
  FOVEA_CODE_MOVED,        /* x / factor + zero */
  FOVEA_CODE_FROM_FIXED,   /* (x - zero) / factor */
} fovea_code_rule;

/* How it is rounded. */
typedef enum fovea_round_rule {
  FOVEA_ROUND_EVEN,  /* nearest integer, halves to even */
  FOVEA_ROUND_AWAY,  /* nearest integer, halves away from 0 */
  FOVEA_ROUND_DOWN,  /* the integer at most y + offset, which is not negative */
  FOVEA_ROUND_TABLE, /* nearest number of the table, halves up */
  FOVEA_ROUND_E4M3,  /* nearest number, halves to even */
  FOVEA_ROUND_E5M2,
  FOVEA_ROUND_BF16,
} fovea_round_rule;

typedef struct fovea_quantise_rule {
  fovea_scale_rule scale;
  fovea_code_rule code;
  fovea_round_rule round;
  float first, last;   /* the least and the largest code: y is kept between them */
  float top;           /* the scale is the largest magnitude, or the width of the range, divided by it */
  int reciprocal;      /* 1: multiplied by its reciprocal instead */
  int inverse;         /* 1: the factor is 1 / scale; 0: top / largest */
  float least;         /* below it a magnitude or a width, with ZERO a scale, counts as 0 */
  float of_nothing;    /* the scale if it would be 0 */
  float offset;        /* of ROUND_DOWN */
  float unfit;         /* in place of y that is NaN or, unless scales are fixed, 2^31 and more */
  unsigned char blank; /* the code of numbers whose group has no scale: its bits */
  unsigned char bias;  /* of bits over codes */
  int sums;            /* 1: an int32 after the scale, the sum of the codes */
} fovea_quantise_rule;

/* Groups of dims at a time. */
enum { FOVEA_NARROW_GROUPS = 256 };

/* What is known of them. A factor that is NaN: their codes are blank. */
typedef struct fovea_narrow_groups {
  float low[FOVEA_NARROW_GROUPS],
      high[FOVEA_NARROW_GROUPS]; /* LARGEST: only high, the magnitude. NaN: not finite */
  float scale[FOVEA_NARROW_GROUPS], factor[FOVEA_NARROW_GROUPS], zero[FOVEA_NARROW_GROUPS];
} fovea_narrow_groups;

/* What to do, in this order. Keys that share scales are measured row by row, settled once, and coded row by row. */
enum { FOVEA_NARROW_BEGIN = 1, FOVEA_NARROW_MEASURE = 2, FOVEA_NARROW_SETTLE = 4, FOVEA_NARROW_CODE = 8 };
enum { FOVEA_NARROW_ROW = 15 };

/* Rows of numbers, of which `group_count` groups from `first_group` on are written. Distances are in bytes but for
 * `from`. */
typedef struct fovea_narrow_args {
  const fovea_codes *codes;
  const fovea_quantise_rule *rule;
  fovea_narrow_groups *groups;
  int steps;
  int64_t row_count;
  const float *from; /* the first row's first dim */
  int64_t from_stride;
  int64_t dim;
  int64_t first_group, group_count;
  char *to;             /* the first row's codes; the first group of dims */
  char *scales, *zeros; /* of the same group */
  int64_t to_step, scale_step;
  int shift, shift_step; /* of codes along keys */
} fovea_narrow_args;

/* Rotates blocks of a row of `dim` numbers by the normalised Walsh-Hadamard matrix, in place. */
typedef struct fovea_hadamard_args {
  float *row;
  int64_t dim, block; /* block: a power of 2 that divides dim */
} fovea_hadamard_args;

#endif
