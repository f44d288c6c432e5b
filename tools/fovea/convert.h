/* Converts numbers from one type of storage to another. Widening is exact. Narrowing rounds once, to nearest even:
 * subnormals are kept, numbers that are too large become infinite, NaN stays NaN. */
#ifndef FOVEA_TOOLS_CONVERT_H
#define FOVEA_TOOLS_CONVERT_H

#include <fovea/fovea.h>
#include <stddef.h>
#include <stdint.h>

size_t type_size(fovea_type type);

float f32_from_f16(uint16_t number);
float f32_from_bf16(uint16_t number);
uint16_t f16_from_f32(float number);
uint16_t bf16_from_f32(float number);

/* The two may not overlap. */
void convert_numbers(void *to, fovea_type to_type, const void *from, fovea_type from_type, int64_t count);

#endif
