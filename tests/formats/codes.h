/* The codes by the words of fovea/format.h, for the plain models of these tests. Shares nothing with the library's
 * list (arch/codes.h), which they are to check. */
#ifndef FOVEA_TESTS_CODES_H
#define FOVEA_TESTS_CODES_H

#include <fovea/format.h>

struct code {
  int bits;  /* of a code */
  int upper; /* of them in front of the codes of a group of 32 */
  int along; /* codes lie along keys */
  int fp8;
};

static inline struct code code_of(const fovea_format *format) {
  switch (format->code) {
  case FOVEA_CODE_S8:
  case FOVEA_CODE_U8:
    return (struct code){.bits = 8};
  case FOVEA_CODE_E4M3:
  case FOVEA_CODE_E5M2:
    return (struct code){.bits = 8, .fp8 = 1};
  case FOVEA_CODE_U4:
  case FOVEA_CODE_U4_SWAPPED:
  case FOVEA_CODE_U4_HALVES:
    return (struct code){.bits = 4};
  case FOVEA_CODE_U5_HALVES:
    return (struct code){.bits = 5, .upper = 1};
  case FOVEA_CODE_U2:
    return (struct code){.bits = 2};
  case FOVEA_CODE_U8_KEYS:
    return (struct code){.bits = 8, .along = 1};
  case FOVEA_CODE_U4_KEYS:
    return (struct code){.bits = 4, .along = 1};
  case FOVEA_CODE_U2_KEYS:
    return (struct code){.bits = 2, .along = 1};
  case FOVEA_CODE_BF16:
    return (struct code){.bits = 16};
  }
  return (struct code){0};
}

#endif
