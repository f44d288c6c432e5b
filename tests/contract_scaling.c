/* Each sum, product and quotient is one operation in double. Logarithms and powers come from the integers of
 * contract_rotary.c. Read it from the bottom. */
#include "contract_scaling.h"

#include "contract_rotary.h"

#include <math.h>

#define TWO_PI 0x1.921fb54442d18p+2
#define LN2    0x1.62e42fefa39efp-1

/* The 63 bits from the highest one on, rounded. */
static double number_of(struct fraction x) {
  uint64_t high = (uint64_t)x.digit[0] << 32 | x.digit[1], low = (uint64_t)x.digit[2] << 32 | x.digit[3];
  int zeros = 0;
  if ((high | low) == 0) return 0;
  for (; high >> 63 == 0; zeros++) {
    high = high << 1 | low >> 63;
    low = low << 1;
  }
  return ldexp((double)(high >> 1), -63 - zeros);
}

static double logarithm(double x) {
  struct fraction part;
  const int64_t whole = contract_log2_parts(x < 1 ? 1 / x : x, &part);
  const double log2 = (double)whole + number_of(part), ln = log2 * LN2;
  return x < 1 ? -ln : ln;
}

/* The base of NTK. */
static double longer_base(const fovea_rotary_scaling *s, double by) {
  if (by == 1) return s->base;
  const double power = by / number_of(contract_ratio(by, (uint64_t)(s->dims / 2 - 1)));
  return s->base * power;
}

static double base_of(const fovea_rotary_scaling *s) {
  if (s->rule == FOVEA_SCALING_NTK) return longer_base(s, s->factor);
  if (s->rule != FOVEA_SCALING_DYNAMIC_NTK || s->length <= s->trained_length) return s->base;
  const double times = (double)s->length / (double)s->trained_length, scaled = s->factor * times;
  const double less = s->factor + -1;
  return longer_base(s, scaled + -less);
}

/* (1 - t) a + t b */
static double between(double t, double a, double b) {
  const double rest = 1 + -t, first = rest * a, second = t * b;
  return first + second;
}

static double llama3(const fovea_rotary_scaling *s, double plain) {
  const double whole = plain * (double)s->trained_length, turns = whole / TWO_PI;
  if (turns < s->slow_turns) return plain / s->factor;
  if (turns > s->fast_turns) return plain;
  const double above = turns + -s->slow_turns, width = s->fast_turns + -s->slow_turns;
  return between(above / width, plain / s->factor, plain);
}

/* The pair that turns so often in the trained length, which is no integer. */
static double pair_of(const fovea_rotary_scaling *s, double turns) {
  const double circle = TWO_PI * turns,
               logs = (double)(s->dims / 2) * logarithm((double)s->trained_length / circle);
  return logs / logarithm(s->base);
}

static double yarn(const fovea_rotary_scaling *s, double pair, double plain) {
  double low = pair_of(s, s->fast_turns), high = pair_of(s, s->slow_turns);
  if (!s->exact_pairs) low = floor(low), high = ceil(high);
  if (low < 0) low = 0;
  if (high > (double)(s->dims - 1)) high = (double)(s->dims - 1);
  if (low == high) high = high + 0.001;
  const double above = pair + -low, width = high + -low, t = above / width;
  return between(t < 0 ? 0 : t > 1 ? 1 : t, plain, plain / s->factor);
}

static double yarn_factor(double scale, double multiple) {
  const double tenth = 0.1 * multiple, product = tenth * logarithm(scale);
  return scale <= 1 ? 1 : product + 1;
}

static double factor_of(const fovea_rotary_scaling *s) {
  if (s->attention_factor > 0) return s->attention_factor;
  if (s->rule == FOVEA_SCALING_YARN && s->mscale != 0 && s->mscale_all_dim != 0)
    return yarn_factor(s->factor, s->mscale) / yarn_factor(s->factor, s->mscale_all_dim);
  if (s->rule == FOVEA_SCALING_YARN) return yarn_factor(s->factor, 1);
  if (s->rule != FOVEA_SCALING_LONGROPE || s->factor <= 1) return 1;
  const double ratio = logarithm(s->factor) / logarithm((double)s->trained_length);
  return sqrt(1 + ratio);
}

static double scaled(const fovea_rotary_scaling *s, int64_t pair, double plain) {
  switch (s->rule) {
  case FOVEA_SCALING_LINEAR:
    return plain / s->factor;
  case FOVEA_SCALING_LLAMA3:
    return llama3(s, plain);
  case FOVEA_SCALING_YARN:
    return yarn(s, (double)pair, plain);
  case FOVEA_SCALING_LONGROPE:
    return plain / (s->length > s->trained_length ? s->long_factors : s->short_factors)[pair];
  case FOVEA_SCALING_PROPORTIONAL:
    return 2 * pair < s->rotated_dims ? plain / s->factor : 0;
  default:
    return plain;
  }
}

void contract_scaling(const fovea_rotary_scaling *s, double *frequencies, double *factor) {
  const int64_t pairs = s->dims / 2;
  const struct fraction ratio = contract_ratio(base_of(s), (uint64_t)pairs);
  struct fraction power = ratio;
  frequencies[0] = scaled(s, 0, 1);
  for (int64_t i = 1; i < pairs; i++, power = contract_product(power, ratio))
    frequencies[i] = scaled(s, i, number_of(power));
  *factor = factor_of(s);
}
