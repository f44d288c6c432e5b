#include "cache_codes.h"

#include "../../arch/codes.h"
#include "convert.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM_LIMIT = 4096 }; /* of fovea_sequence_copy(), for codes */

bool coded_format(fovea_format *format, const char *option, const char *name, failure *why) {
  const int found = fovea_format_named(name);
  fovea_error error;
  if (found >= 0)
    return fovea_format_init(format, (fovea_format_name)found, &error) == FOVEA_OK || fail(why, "%s", error.text);
  char names[768] = "";
  for (int i = 0; fovea_format_text((fovea_format_name)i); i++) {
    const size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", fovea_format_text((fovea_format_name)i));
  }
  return fail(why, "%s: no format is called '%s'; there are %s", option, name, names);
}

bool coded_with_fixed_scales(const fovea_format *format) {
  return format->key_group == 0;
}

/* How many keys share the bytes that fovea_format_bytes() counts. */
static int64_t keys_of_unit(const fovea_format *format) {
  if (format->order != FOVEA_ORDER_ROWS) return format->order_keys;
  const fovea_code_facts code = fovea_code_of(format->code);
  if (code.lies == FOVEA_CODES_ALONG_KEYS) return 32 / code.bits;
  return format->place != FOVEA_SCALES_APART && format->key_group > 1 ? format->key_group : 1;
}

double coded_bits(const fovea_format *format, int64_t dim) {
  double bits = 8.0 * (double)fovea_format_bytes(format, dim, NULL) / (double)(keys_of_unit(format) * dim);
  if (format->place == FOVEA_SCALES_APART && !coded_with_fixed_scales(format)) {
    const double sharing = (double)((format->group ? format->group : dim) * format->key_group);
    bits +=
        8.0 * (double)type_size(format->scale_type) * (format->formula == FOVEA_FORMULA_SCALE ? 1 : 2) / sharing;
  }
  return bits;
}

static bool multiply(int64_t *product, int64_t factor) {
  if (*product != 0 && factor > PTRDIFF_MAX / 16 / *product) return false;
  *product *= factor;
  return true;
}

bool coded_measure(coded_tensor *tensor, const char *path, failure *why) {
  const tensor_shape *shape = &tensor->shape;
  const fovea_format *format = &tensor->format;
  fovea_error error;
  if (shape->dim > DIM_LIMIT)
    return fail(why, "%s: its last axis is %lld; at most %d numbers of a row become codes", path,
                (long long)shape->dim, DIM_LIMIT);
  tensor->unit_bytes = fovea_format_bytes(format, shape->dim, &error);
  if (tensor->unit_bytes == 0)
    return fail(why, "%s: its last axis is %lld: %s", path, (long long)shape->dim, error.text);
  tensor->unit_keys = keys_of_unit(format);
  const int64_t units = shape->rows / tensor->unit_keys + (shape->rows % tensor->unit_keys != 0);
  tensor->head_bytes = units;
  tensor->size = shape->batch;
  int64_t numbers = shape->batch;
  bool fits = multiply(&tensor->head_bytes, tensor->unit_bytes) && multiply(&tensor->size, shape->kv_heads) &&
              multiply(&tensor->size, tensor->head_bytes) && multiply(&numbers, shape->kv_heads) &&
              multiply(&numbers, shape->rows) && multiply(&numbers, shape->dim);
  if (format->place == FOVEA_SCALES_APART) {
    tensor->groups = format->group ? shape->dim / format->group : 1;
    if (coded_with_fixed_scales(format)) {
      tensor->key_groups = 1;
      tensor->scale_count = tensor->groups == 1 ? 1 : shape->kv_heads * tensor->groups;
    } else {
      tensor->key_groups = (shape->rows + format->key_group - 1) / format->key_group;
      tensor->scale_count = shape->batch * shape->kv_heads;
      fits = fits && multiply(&tensor->scale_count, tensor->key_groups) &&
             multiply(&tensor->scale_count, tensor->groups);
    }
  }
  return fits || fail(why, "%s: its shape is too large", path);
}

bool coded_allocate(coded_tensor *tensor, failure *why) {
  const size_t scales = (size_t)tensor->scale_count * type_size(tensor->format.scale_type);
  const bool apart = tensor->groups > 0, zeros = apart && tensor->format.formula != FOVEA_FORMULA_SCALE;
  tensor->codes = calloc((size_t)tensor->size + 1, 1);
  if (apart) tensor->scales = calloc(scales + 1, 1);
  if (zeros) tensor->zeros = calloc(scales + 1, 1);
  return (tensor->codes && (tensor->scales || !apart) && (tensor->zeros || !zeros)) ||
         fail(why, "out of memory for a cache of %lld bytes", (long long)tensor->size);
}

void coded_free(coded_tensor *tensor) {
  free(tensor->codes);
  free(tensor->scales);
  free(tensor->zeros);
  tensor->codes = tensor->scales = tensor->zeros = NULL;
}

static float largest_code(const fovea_format *format) {
  const fovea_code_facts code = fovea_code_of(format->code);
  switch (code.numbers) {
  case FOVEA_CODES_E4M3:
    return 448;
  case FOVEA_CODES_E5M2:
    return 57344;
  case FOVEA_CODES_SIGNED:
    return 127;
  default:
    return (float)((1 << code.bits) - 1 - format->bias);
  }
}

void coded_fix_scales(coded_tensor *tensor, const float *numbers, float scale) {
  const tensor_shape *shape = &tensor->shape;
  float *scales = (float *)(void *)tensor->scales;
  if (tensor->format.code == FOVEA_CODE_BF16 && scale == 0) scale = 1; /* it has the range of the numbers */
  for (int64_t i = 0; i < tensor->scale_count; i++) scales[i] = scale;
  if (scale != 0) return;
  const int64_t heads = shape->batch * shape->kv_heads;
  for (int64_t row = 0; row < heads * shape->rows; row++)
    for (int64_t d = 0; d < shape->dim; d++) {
      const int64_t head = row / shape->rows % shape->kv_heads;
      float *largest = &scales[tensor->groups == 1 ? 0 : head * shape->dim + d];
      const float size = fabsf(numbers[row * shape->dim + d]);
      if (size > *largest && size <= 3.40282347e38f) *largest = size;
    }
  for (int64_t i = 0; i < tensor->scale_count; i++)
    scales[i] = scales[i] > 0 ? scales[i] / largest_code(&tensor->format) : 1;
}

/* One batch element's codes. A segment has keys and values: the values are one number a key, which is not used. */
static fovea_segment codes_of(const coded_tensor *tensor, int64_t entry, char *values) {
  const tensor_shape *shape = &tensor->shape;
  const int64_t size = (int64_t)type_size(tensor->format.scale_type);
  fovea_segment segment = {.rows = shape->rows,
                           .k = tensor->codes + entry * shape->kv_heads * tensor->head_bytes,
                           .k_head = tensor->head_bytes,
                           .k_row = tensor->unit_bytes,
                           .k_format = &tensor->format,
                           .v = values,
                           .v_head = shape->rows,
                           .v_row = 1};
  if (!tensor->scales) return segment;
  const bool fixed = coded_with_fixed_scales(&tensor->format);
  const int64_t row = tensor->groups * size, head = row * tensor->key_groups;
  const int64_t at = fixed ? 0 : entry * shape->kv_heads * head;
  segment.k_scales = (fovea_code_scales){.scales = tensor->scales + at,
                                         .zeros = tensor->zeros ? tensor->zeros + at : NULL,
                                         .head = fixed && tensor->groups == 1 ? 0 : head,
                                         .row = fixed ? 0 : row,
                                         .group = size};
  return segment;
}

static fovea_segment numbers_of(const coded_tensor *tensor, int64_t entry, char *numbers, fovea_type type,
                                char *values) {
  const tensor_shape *shape = &tensor->shape;
  const int64_t head = shape->rows * shape->dim;
  return (fovea_segment){.rows = shape->rows,
                         .k = numbers + entry * shape->kv_heads * head * (int64_t)type_size(type),
                         .k_head = head,
                         .k_row = shape->dim,
                         .k_type = type,
                         .v = values,
                         .v_head = shape->rows,
                         .v_row = 1};
}

static bool copy(const coded_tensor *tensor, char *numbers, fovea_type type, bool narrow, failure *why) {
  const tensor_shape *shape = &tensor->shape;
  const size_t values = (size_t)(shape->kv_heads * shape->rows) * sizeof(float);
  char *unused = calloc(2, values + 1);
  fovea_status status = FOVEA_OK;
  fovea_error error;
  if (!unused) return fail(why, "out of memory");
  for (int64_t entry = 0; entry < shape->batch && shape->rows > 0 && !status; entry++) {
    const fovea_segment codes = codes_of(tensor, entry, unused);
    const fovea_segment wide = numbers_of(tensor, entry, numbers, type, unused + values);
    const fovea_sequence coded = fovea_sequence_of(&codes, 1), plain = fovea_sequence_of(&wide, 1);
    status = fovea_sequence_copy(narrow ? &plain : &coded, narrow ? &coded : &plain, 1, shape->kv_heads, shape->dim,
                                 1, 0, shape->rows, NULL, &error);
  }
  free(unused);
  return status == FOVEA_OK || fail(why, "%s", error.text);
}

bool coded_write(coded_tensor *tensor, const void *numbers, fovea_type type, failure *why) {
  return copy(tensor, (char *)numbers, type, true, why); /* which is only read */
}

bool coded_read(const coded_tensor *tensor, void *numbers, fovea_type type, failure *why) {
  return copy(tensor, numbers, type, false, why);
}

coding_error coded_compare(const coded_tensor *tensor, const float *numbers, const float *read) {
  const int64_t dim = tensor->shape.dim, rows = tensor->shape.batch * tensor->shape.kv_heads * tensor->shape.rows;
  coding_error found = {.rms = 0};
  for (int64_t row = 0; row < rows; row++) {
    double squares = 0, errors = 0, largest = 0;
    for (int64_t i = row * dim; i < (row + 1) * dim; i++) {
      const double x = (double)numbers[i], error = fabs(x - (double)read[i]);
      squares += x * x;
      errors += error * error;
      if (!(error <= largest)) largest = error;
    }
    if (!(squares > 0 && squares <= DBL_MAX)) {
      found.left_out++;
      continue;
    }
    const double size = sqrt(squares / (double)dim);
    found.rows++;
    found.rms += errors / squares;
    if (!(largest / size <= found.largest)) found.largest = largest / size;
  }
  found.rms = found.rows > 0 ? sqrt(found.rms / (double)found.rows) : 0;
  return found;
}
