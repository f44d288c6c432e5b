#include "cache_list.h"

#include "cache_codes.h"

#include <stdio.h>

enum { ROW = 128 }; /* dims of the rows whose bytes are printed */

/* "f16 for 32 dims, before" */
static void describe_scales(const fovea_format *format, char *text, size_t size) {
  static const char *const types[] = {[FOVEA_F32] = "f32", [FOVEA_F16] = "f16", [FOVEA_BF16] = "bf16"};
  static const char *const places[] = {
      [FOVEA_SCALES_APART] = "apart", [FOVEA_SCALES_BEFORE] = "before", [FOVEA_SCALES_AFTER] = "after"};
  char shared[48], keys[32] = "";
  if (format->group == 0)
    snprintf(shared, sizeof shared, "%s", format->key_group == 0 ? "all" : "a row");
  else if (format->group == 1)
    snprintf(shared, sizeof shared, "each dim");
  else
    snprintf(shared, sizeof shared, "%d dims", (int)format->group);
  if (format->key_group > 1) snprintf(keys, sizeof keys, " of %d keys", (int)format->key_group);
  snprintf(text, size, "%s for %s%s, %s", types[format->scale_type], shared, keys, places[format->place]);
}

static void describe_number(const fovea_format *format, char *text, size_t size) {
  if (format->formula == FOVEA_FORMULA_ZERO)
    snprintf(text, size, "(code - zero) * scale");
  else if (format->formula == FOVEA_FORMULA_MINIMUM)
    snprintf(text, size, "code * scale + minimum");
  else if (format->table)
    snprintf(text, size, "table[code] * scale");
  else if (format->bias)
    snprintf(text, size, "(code - %d) * scale", format->bias);
  else
    snprintf(text, size, "code * scale");
}

void cache_list(void) {
  printf("%-17s %5s %9s  %-35s %s\n", "name", "bits", "row bytes", "scales", "x");
  for (int i = 0; fovea_format_text((fovea_format_name)i); i++) {
    fovea_format format;
    char scales[128], number[40];
    if (fovea_format_init(&format, (fovea_format_name)i, NULL) != FOVEA_OK) continue;
    const double bits = coded_bits(&format, ROW);
    describe_scales(&format, scales, sizeof scales);
    describe_number(&format, number, sizeof number);
    printf("%-17s %5.4g %9.4g  %-35s %s\n", fovea_format_text((fovea_format_name)i), bits, bits * ROW / 8, scales,
           number);
  }
}
