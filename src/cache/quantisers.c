#include "quantisers.h"

#if FOVEA_BUILDS_FORMATS

/* What the codes of a format are. */
static int is_fp8(const fovea_format *f) {
  const fovea_code_facts code = fovea_code_of(f->code);
  return code.numbers == FOVEA_CODES_E4M3 || code.numbers == FOVEA_CODES_E5M2;
}

static int is_unsigned(const fovea_format *f) {
  return fovea_code_of(f->code).numbers == FOVEA_CODES_UNSIGNED;
}

static int is_signed(const fovea_format *f) {
  return fovea_code_of(f->code).numbers == FOVEA_CODES_SIGNED;
}

/* The largest bits of a code. */
static int most_of(const fovea_format *f) {
  return (1 << fovea_code_of(f->code).bits) - 1;
}

int fovea_quantiser_knows(const fovea_format *f) {
  const int with_scale = f->formula == FOVEA_FORMULA_SCALE;
  switch (f->quantiser) {
  case FOVEA_QUANTISE_NEAREST:
    return 1;
  case FOVEA_QUANTISE_GGML:
    if (f->key_group != 1 || is_fp8(f) || f->formula == FOVEA_FORMULA_ZERO) return 0;
    return with_scale ? is_signed(f) || f->table || 2 * f->bias == most_of(f) + 1 : is_unsigned(f);
  case FOVEA_QUANTISE_IK:
    return is_signed(f) && with_scale && f->key_group == 1;
  case FOVEA_QUANTISE_OPENVINO:
    if (f->formula == FOVEA_FORMULA_ZERO) return is_unsigned(f) && f->key_group != 0;
    return is_signed(f) && with_scale && f->key_group == 1;
  case FOVEA_QUANTISE_KIVI:
    return f->formula == FOVEA_FORMULA_MINIMUM && is_unsigned(f) && f->key_group != 0;
  case FOVEA_QUANTISE_ORT:
    break;
  }
  return with_scale && (is_signed(f) || is_unsigned(f)) && !f->table && f->key_group == 0;
}

int fovea_table_ascends(const fovea_format *format) {
  for (int i = 0; format->table && i < 15; i++) {
    if (format->table[i] >= format->table[i + 1]) return 0;
  }
  return 1;
}

/* The largest magnitude that the codes have on both sides of 0 or, if they have only one, on that. */
static float top_of(float first, float last) {
  if (first < 0 && last > 0) return -first < last ? -first : last;
  return last > 0 ? last : -first;
}

/* The codes, their rounding, and what stands for 0. */
static void set_codes(const fovea_format *f, fovea_quantise_rule *rule) {
  const int most = most_of(f);
  rule->first = is_signed(f) ? -128.0f : (float)-f->bias;
  rule->last = is_signed(f) ? 127.0f : (float)(most - f->bias);
  rule->top = f->formula == FOVEA_FORMULA_SCALE ? top_of(rule->first, rule->last) : rule->last - rule->first;
  rule->bias = (unsigned char)f->bias;
  rule->blank = (unsigned char)(f->bias < most ? f->bias : most);
  if (is_fp8(f)) {
    const int e4m3 = fovea_code_of(f->code).numbers == FOVEA_CODES_E4M3;
    rule->round = e4m3 ? FOVEA_ROUND_E4M3 : FOVEA_ROUND_E5M2;
    rule->first = 0;
    rule->last = rule->top = e4m3 ? 448.0f : 57344.0f;
  }
  if (fovea_code_of(f->code).numbers == FOVEA_CODES_BF16) rule->round = FOVEA_ROUND_BF16;
  if (f->table) {
    rule->round = FOVEA_ROUND_TABLE;
    rule->top = top_of(f->table[0], f->table[15]);
    rule->blank = 0;
    for (int i = 1; i < 16; i++) {
      if (f->table[i] * f->table[i] < f->table[rule->blank] * f->table[rule->blank]) rule->blank = (unsigned char)i;
    }
  }
  if (f->formula != FOVEA_FORMULA_SCALE) rule->unfit = rule->first;
  if (f->formula != FOVEA_FORMULA_SCALE && is_signed(f)) rule->blank = 0x80;
}

static void set_scale(const fovea_format *f, fovea_quantise_rule *rule) {
  if (f->key_group == 0) {
    static const fovea_code_rule codes[] = {FOVEA_CODE_QUOTIENT, FOVEA_CODE_MOVED, FOVEA_CODE_FROM_FIXED};
    rule->scale = FOVEA_SCALE_FIXED;
    rule->code = codes[f->formula];
    rule->unfit = 0;
    return;
  }
  static const fovea_scale_rule scales[] = {FOVEA_SCALE_LARGEST, FOVEA_SCALE_ZERO, FOVEA_SCALE_MINIMUM};
  static const fovea_code_rule codes[] = {FOVEA_CODE_PRODUCT, FOVEA_CODE_FUSED, FOVEA_CODE_FROM_MINIMUM};
  rule->scale = scales[f->formula];
  rule->code = codes[f->formula];
}

/* ggml's own: symmetric codes from the number of largest magnitude, whose code is the first. */
static void set_ggml(const fovea_format *f, fovea_quantise_rule *rule) {
  rule->inverse = 1;
  rule->least = 0;
  if (f->formula == FOVEA_FORMULA_MINIMUM) {
    rule->round = FOVEA_ROUND_DOWN;
    rule->offset = 0.5f;
    rule->unfit = -0.5f;
  } else if (f->table) {
    rule->scale = FOVEA_SCALE_FIT;
    rule->top = 127.0f;
    rule->least = 1e-15f;
    rule->blank = 0;
  } else if (is_signed(f)) {
    rule->round = FOVEA_ROUND_AWAY;
  } else { /* the bits of codes are rounded */
    rule->scale = FOVEA_SCALE_SIGNED;
    rule->round = FOVEA_ROUND_DOWN;
    rule->top = (float)f->bias;
    rule->offset = (float)f->bias + 0.5f;
    rule->unfit = -rule->offset;
    rule->first = 0;
    rule->last += (float)f->bias;
    rule->bias = 0;
  }
}

fovea_quantise_rule fovea_make_rule(const fovea_format *f) {
  fovea_quantise_rule rule = {.least = 0x1p-100f, .sums = f->sums};
  set_codes(f, &rule);
  set_scale(f, &rule);
  switch (f->quantiser) {
  case FOVEA_QUANTISE_GGML:
    set_ggml(f, &rule);
    break;
  case FOVEA_QUANTISE_IK:
    rule.inverse = 1;
    rule.unfit = -128.0f;
    break;
  case FOVEA_QUANTISE_OPENVINO:
    rule.inverse = 1;
    rule.least = 0;
    rule.of_nothing = 0.0001f;
    rule.reciprocal = f->key_group > 1;
    if (f->formula == FOVEA_FORMULA_SCALE) rule.unfit = -128.0f;
    break;
  case FOVEA_QUANTISE_KIVI:
    rule.scale = FOVEA_SCALE_OF_HALVES;
    rule.code = FOVEA_CODE_OF_HALVES;
    break;
  case FOVEA_QUANTISE_ORT:
    rule.inverse = 1;
    rule.code = FOVEA_CODE_PRODUCT;
    rule.unfit = rule.last;
    break;
  default:
    break;
  }
  return rule;
}
#endif
