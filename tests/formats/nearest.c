#include "nearest.h"

#include "codes.h"
#include "contract_formats.h"
#include "contract_rounding.h"

#include <math.h>

#define NOTHING 0x1p-100f

static float first_of(const fovea_format *f) {
  return code_of(f).fp8 ? 0 : f->code == FOVEA_CODE_S8 ? -128 : (float)-f->bias;
}

static float last_of(const fovea_format *f) {
  if (code_of(f).fp8) return f->code == FOVEA_CODE_E4M3 ? 448 : 57344;
  return f->code == FOVEA_CODE_S8 ? 127 : (float)((1 << code_of(f).bits) - 1 - f->bias);
}

static float top_of(const fovea_format *f) {
  const float low = f->table ? f->table[0] : first_of(f), high = f->table ? f->table[15] : last_of(f);
  if (low < 0 && high > 0) return -low < high ? -low : high;
  return high > 0 ? high : -low;
}

/* A scale may keep the sign of a zero, which rounded_number() does not. */
static float stored(const fovea_format *f, float x) {
  return f->scale_type == FOVEA_F32 || x == 0 ? x : rounded_number(f->scale_type, x);
}

struct nearest_group nearest_measure(const fovea_format *f, const float *x, int64_t count) {
  struct nearest_group g = {0};
  float low = x[0], high = x[0], a = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(x[i])) return (struct nearest_group){NAN, NAN, NAN, NAN, 0};
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
    if (fabsf(x[i]) > a) a = fabsf(x[i]);
  }
  const float width = high - low, first = first_of(f);
  if (f->formula == FOVEA_FORMULA_SCALE) {
    if (a < NOTHING) return g;
    g.factor = top_of(f) / a;
    g.scale = a / top_of(f);
  } else if (f->formula == FOVEA_FORMULA_ZERO) {
    g.scale = width / (last_of(f) - first);
    if (g.scale < NOTHING) g.scale = a;
    if (g.scale < NOTHING) {
      g.scale = 0;
      g.zero = g.moved = first;
    } else {
      const float steps = low / g.scale;
      g.zero = g.moved = first - steps;
      g.factor = 1.0f / g.scale;
    }
  } else {
    g.scale = width < NOTHING ? 0 : width / (last_of(f) - first);
    g.factor = g.scale == 0 ? 0 : 1.0f / g.scale;
    const float below = first * g.scale;
    g.zero = g.moved = first == 0 ? low : low - below;
  }
  g.scale = stored(f, g.scale);
  g.zero = stored(f, g.zero);
  return g;
}

struct nearest_group nearest_fixed(float scale, float zero) {
  return (struct nearest_group){scale, zero, scale == 0 ? NAN : scale, zero, 1};
}

static float moved(const fovea_format *f, const struct nearest_group *g, float x) {
  const float difference = x - g->moved;
  if (g->fixed) {
    const float quotient = x / g->factor;
    if (f->formula == FOVEA_FORMULA_ZERO) return quotient + g->moved;
    return f->formula == FOVEA_FORMULA_MINIMUM ? difference / g->factor : quotient;
  }
  if (f->formula == FOVEA_FORMULA_ZERO) return fmaf(x, g->factor, g->moved);
  return f->formula == FOVEA_FORMULA_MINIMUM ? difference * g->factor : x * g->factor;
}

/* The code of a table's number that is nearest to y; of two, the upper one. */
static int table_code(const int8_t *table, float y) {
  int code = 0;
  while (code < 15 && y + y >= (float)(table[code] + table[code + 1])) code++;
  return code;
}

/* The code of a group without a scale: 0, or the first. */
static int blank_code(const fovea_format *f) {
  int code = 0;
  if (f->table) {
    for (int i = 1; i < 16; i++)
      if (f->table[i] * f->table[i] < f->table[code] * f->table[code]) code = i;
    return code;
  }
  const int most = (1 << code_of(f).bits) - 1;
  if (f->formula == FOVEA_FORMULA_SCALE) return f->bias < most ? f->bias : most; /* the nearest to 0 */
  return f->code == FOVEA_CODE_S8 ? 0x80 : 0;
}

/* The upper half of an f32, ties to even. */
static int bf16_code(float y) {
  const uint32_t bits = bits_of(y);
  return isnan(y) ? 0x7fc0 : (int)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

int nearest_code(const fovea_format *f, const struct nearest_group *g, float x) {
  if (isnan(g->factor)) return f->code == FOVEA_CODE_BF16 ? 0 : blank_code(f);
  float y = moved(f, g, x);
  if (f->code == FOVEA_CODE_BF16) return bf16_code(y);
  if (code_of(f).fp8) {
    if (isnan(y)) return 0x7f;
    return f->code == FOVEA_CODE_E4M3 ? contract_e4m3_code(y, true) : contract_e5m2_code(y, true);
  }
  if (f->table) return table_code(f->table, y);
  const float first = first_of(f), last = last_of(f);
  if (isnan(y)) y = g->fixed ? 0 : first;
  y = y > last ? last : y < first ? first : y;
  const int code = (int)nearest(y, true) + (f->code == FOVEA_CODE_S8 ? 0 : f->bias);
  return code & 0xff;
}
