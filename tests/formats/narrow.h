/* Quantised caches for tests: sides of segments with random codes and scales in memory of exactly their size, and each
 * element by the words of fovea/format.h, one at a time. Shares no code with the library. */
#ifndef FOVEA_TESTS_NARROW_H
#define FOVEA_TESTS_NARROW_H

#include "support/generator.h"
#include "support/guarded.h"

#include <fovea/format.h>

/* The memory of one side of a segment. It must not be copied: the segment points to the format. */
struct narrow {
  fovea_format format;
  int64_t dim, kv_heads;
  struct guarded codes, scales, zeros, centre;
};

/* Sets the fields of a side of a segment, whose `rows` and `k_layout` are set, and fills its memory. Strides have
 * any order of heads and rows, and gaps. `centred`: with a centre, if the format may have one. */
void narrow_make(struct narrow *narrow, const fovea_format *format, int64_t kv_heads, int64_t dim, int centred,
                 fovea_segment *segment, int values, struct generator *generator);
void narrow_destroy(struct narrow *narrow);

/* Fills the codes and scales of a side of a segment whose pointers, strides and rows are set: random codes without
 * NaN and infinities, small scales. Of `narrow`, only format, dim and kv_heads are used, and so in these functions:
 */
void narrow_fill(struct narrow *narrow, const fovea_segment *segment, int values, struct generator *generator);
/* The keys and the bytes of what a side's row stride leads from one to the next of, a row or a panel, and the keys
 * that share scales or words (1: none do). */
int64_t narrow_row_keys(const struct narrow *narrow, int panels);
int64_t narrow_row_bytes(const struct narrow *narrow, int panels);
int64_t narrow_keys_together(const struct narrow *narrow);

/* Element `d` of row `row` of a segment, counted from its first. */
float narrow_element(const struct narrow *narrow, const fovea_segment *segment, int values, int64_t head,
                     int64_t row, int64_t d);

/* Its code, as it is stored; its scale (which: 0), or its zero or minimum (1). */
int narrow_code(const struct narrow *narrow, const fovea_segment *segment, int values, int64_t head, int64_t row,
                int64_t d);
float narrow_scale(const struct narrow *narrow, const fovea_segment *segment, int values, int64_t head, int64_t row,
                   int64_t d, int which);
/* The bytes of the scale (0) or the zero (1) of an element. */
unsigned char *narrow_number(const struct narrow *narrow, const fovea_segment *segment, int values, int64_t head,
                             int64_t row, int64_t d, int which);
/* Sets all bytes of a row that no other row shares. Rows of groups of keys stay as they are. */
void narrow_spoil_row(const struct narrow *narrow, const fovea_segment *segment, int values, int64_t row, int byte);

/* Sets an order that a format with scales apart may have, or none. */
void narrow_any_order(fovea_format *format, struct generator *generator);

/* The format, as the library's presets give it. */
fovea_format narrow_format(fovea_format_name name);
enum { NARROW_FORMATS = FOVEA_FORMAT_VLLM_BF16_VALUES + 1 };

#endif
