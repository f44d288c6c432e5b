/* Formats of quantised caches: checked, and resolved to the one form that kernels know (arch/codes.h). */
#ifndef FOVEA_SRC_CACHE_FORMATS_H
#define FOVEA_SRC_CACHE_FORMATS_H

#include "../../arch/codes.h"
#include "../../arch/groups.h"

#include <stddef.h>

/* Where the parts of a side with a format lie. All is in bytes. */
typedef struct fovea_code_layout {
  fovea_codes codes;
  int64_t key_group;  /* keys that share scales; INT64_MAX: all */
  int64_t unit_keys;  /* keys of a unit: what the side's row stride leads from one to the next of. 1: a row */
  int64_t unit_bytes; /* of a unit, with the scales in it */
  int64_t codes_at;   /* from the unit to its first code */
  int64_t scales_at;  /* from the unit to its first scale; scales apart: 0 */
  int64_t zeros_at;   /* from the first scale to the first zero */
  int64_t word_keys;  /* keys of a unit whose codes lie at equal distances: all, pairs, or the keys of a word */
  int64_t word_bytes; /* from these to the next such keys */
  int64_t key_bytes;  /* from a key's codes to the next key's among them; 0: codes along keys */
  int key_bits;       /* bits of a code along keys; else 0 */
  int has_zeros, apart;
} fovea_code_layout;

/* In place of a batch element's number: a format that stands by itself; a format of pages, which have no
 * segment. */
enum { FOVEA_NO_ENTRY = -1, FOVEA_ENTRY_OF_PAGES = -2 };

/* Checks a format for rows of `dim` elements. `entry`, `number` and `values` (0: keys) name it in error texts: by the
 * batch element, its segment, and the side. */
fovea_status fovea_check_format(const fovea_format *format, int64_t dim, int64_t entry, int64_t number, int values,
                                fovea_error *error);

/* Refuses a format whose rows cannot lie side by side in panels. */
fovea_status fovea_check_code_panels(const fovea_format *format, int64_t dim, int64_t entry, int64_t number,
                                     fovea_error *error);

/* Resolves a format that has been checked, for rows or for panels. */
fovea_code_layout fovea_lay_out_codes(const fovea_format *format, int64_t dim, int panels);

/* Keys that are written at once: 1, or the keys that share scales or words. */
static inline int64_t fovea_keys_at_once(const fovea_code_layout *layout) {
  const int64_t group = layout->key_group == INT64_MAX ? 1 : layout->key_group;
  return group > layout->word_keys || !layout->key_bits ? group : layout->word_keys;
}

/* Bytes of the codes of `dims` dims of a row: of a group, or of the whole row if groups are mixed. */
int64_t fovea_code_bytes(const fovea_format *format, int64_t dims);

int64_t fovea_scale_bytes(const fovea_format *format);

/* Rows of a side from its row number `row` on, as far as they lie at equal distances. */
typedef struct fovea_code_place {
  const char *units;          /* the first unit of the layer and kv head */
  int64_t unit_step;          /* between units */
  const char *scales, *zeros; /* of the same, if they lie apart */
  int64_t scale_step;         /* between keys or groups of keys */
  const float *centre;
} fovea_code_place;

/* Sets *rows, and returns how many rows follow `row` at equal distances, itself included. */
int64_t fovea_find_codes(const fovea_code_layout *layout, const fovea_code_place *place, int64_t row,
                         fovea_coded_rows *rows);

#endif
