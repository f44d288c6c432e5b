#include "check_scaling.h"

#include "../../arch/float_state.h"
#include "../base/error.h"
#include "../base/groups.h"
#include "../base/validate.h"
#include "angle.h"
#include "reals.h"
#include "rotary.h"
#include "validate_rotary.h"

#include <math.h>
#include <string.h>

void fovea_rotary_scaling_init_sized(fovea_rotary_scaling *scaling, size_t struct_size, fovea_scaling_rule rule,
                                     int64_t dims) {
  fovea_rotary_scaling defaults = {
      .struct_size = struct_size, .rule = rule, .dims = dims, .base = 10000, .factor = 1};
  if (rule == FOVEA_SCALING_LLAMA3) defaults.slow_turns = 1, defaults.fast_turns = 4;
  if (rule == FOVEA_SCALING_YARN) defaults.slow_turns = 1, defaults.fast_turns = 32;
  memcpy(scaling, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

#if FOVEA_BUILDS_SCALING
static const double two_pi = 0x1.921fb54442d18p+2;

/* The base of NTK for a scale of at least 1. */
static double scaled_base(const fovea_rotary_scaling *s, double by) {
  return by > 1 ? fovea_real_times(s->base, fovea_real_power(by, s->dims / 2 - 1)) : s->base;
}

static double base_of(const fovea_rotary_scaling *s) {
  if (s->rule == FOVEA_SCALING_NTK) return scaled_base(s, s->factor);
  if (s->rule != FOVEA_SCALING_DYNAMIC_NTK || s->length <= s->trained_length) return s->base;
  const double longer = fovea_real_over((double)s->length, (double)s->trained_length);
  return scaled_base(s, fovea_real_plus(fovea_real_times(s->factor, longer), -fovea_real_plus(s->factor, -1)));
}

/* The pair that turns so often in the trained length. */
static double pair_of(const fovea_rotary_scaling *s, double turns) {
  const double length = fovea_real_over((double)s->trained_length, fovea_real_times(two_pi, turns));
  return fovea_real_over(fovea_real_times((double)(s->dims / 2), fovea_real_log(length)), fovea_real_log(s->base));
}

/* The integer at or below a number of up to 2^40. */
static double floor_of(double x) {
  const double whole = (double)(int64_t)x;
  return whole > x ? whole - 1 : whole;
}

/* Between which pairs YaRN goes from plain to divided frequencies. */
static void find_ramp(const fovea_rotary_scaling *s, double ramp[2]) {
  ramp[0] = pair_of(s, s->fast_turns);
  ramp[1] = pair_of(s, s->slow_turns);
  for (int i = 0; i < 2; i++) ramp[i] = ramp[i] < -0x1p40 ? -0x1p40 : ramp[i] > 0x1p40 ? 0x1p40 : ramp[i];
  if (!s->exact_pairs) ramp[0] = floor_of(ramp[0]), ramp[1] = -floor_of(-ramp[1]);
  if (ramp[0] < 0) ramp[0] = 0;
  if (ramp[1] > (double)(s->dims - 1)) ramp[1] = (double)(s->dims - 1);
  if (ramp[0] == ramp[1]) ramp[1] = fovea_real_plus(ramp[1], 0.001);
}

/* (1 - t) a + t b */
static double between(double t, double a, double b) {
  return fovea_real_plus(fovea_real_times(fovea_real_plus(1, -t), a), fovea_real_times(t, b));
}

static double scale_llama3(const fovea_rotary_scaling *s, double plain) {
  const double divided = fovea_real_over(plain, s->factor);
  const double turns = fovea_real_over(fovea_real_times(plain, (double)s->trained_length), two_pi);
  if (turns < s->slow_turns) return divided;
  if (turns > s->fast_turns) return plain;
  const double t =
      fovea_real_over(fovea_real_plus(turns, -s->slow_turns), fovea_real_plus(s->fast_turns, -s->slow_turns));
  return between(t, divided, plain);
}

static double scale_yarn(const fovea_rotary_scaling *s, const double ramp[2], int64_t pair, double plain) {
  double t = fovea_real_over(fovea_real_plus((double)pair, -ramp[0]), fovea_real_plus(ramp[1], -ramp[0]));
  t = t < 0 ? 0 : t > 1 ? 1 : t;
  return between(t, plain, fovea_real_over(plain, s->factor));
}

static double scale(const fovea_rotary_scaling *s, const double ramp[2], int64_t pair, double plain) {
  switch (s->rule) {
  case FOVEA_SCALING_LINEAR:
    return fovea_real_over(plain, s->factor);
  case FOVEA_SCALING_LLAMA3:
    return scale_llama3(s, plain);
  case FOVEA_SCALING_YARN:
    return scale_yarn(s, ramp, pair, plain);
  case FOVEA_SCALING_LONGROPE:
    return fovea_real_over(plain, (s->length > s->trained_length ? s->long_factors : s->short_factors)[pair]);
  case FOVEA_SCALING_PROPORTIONAL:
    return pair < s->rotated_dims / 2 ? fovea_real_over(plain, s->factor) : 0;
  default:
    return plain;
  }
}

static double yarn_factor(double scale, double multiple) {
  return scale <= 1 ? 1
                    : fovea_real_plus(fovea_real_times(fovea_real_times(0.1, multiple), fovea_real_log(scale)), 1);
}

static double factor_of(const fovea_rotary_scaling *s) {
  if (s->attention_factor > 0) return s->attention_factor;
  if (s->rule == FOVEA_SCALING_YARN && s->mscale != 0 && s->mscale_all_dim != 0)
    return fovea_real_over(yarn_factor(s->factor, s->mscale), yarn_factor(s->factor, s->mscale_all_dim));
  if (s->rule == FOVEA_SCALING_YARN) return yarn_factor(s->factor, 1);
  if (s->rule != FOVEA_SCALING_LONGROPE || s->factor <= 1) return 1;
  const double ratio = fovea_real_over(fovea_real_log(s->factor), fovea_real_log((double)s->trained_length));
  return sqrt(fovea_real_plus(1, ratio));
}

/* base^(-i / n) of each pair, and what the rule makes of it. */
static void write_frequencies(const fovea_rotary_scaling *s, double *frequencies) {
  const int64_t pairs = s->dims / 2;
  const fovea_fraction ratio = fovea_angle_ratio(base_of(s), pairs);
  fovea_fraction power = ratio;
  double ramp[2] = {0, 1};
  if (s->rule == FOVEA_SCALING_YARN) find_ramp(s, ramp);
  frequencies[0] = scale(s, ramp, 0, 1);
  for (int64_t i = 1; i < pairs; i++) {
    frequencies[i] = scale(s, ramp, i, fovea_real_of(power));
    power = fovea_fraction_multiply(power, ratio);
  }
}

static fovea_reach reach_of(const char *name, const void *data, int64_t count, int size) {
  return (fovea_reach){name, 0, data ? count * size : 0, size};
}

/* Nothing that is written may share a byte with anything else of the call. */
static fovea_status check_memory(const fovea_rotary_scaling *s, const double *frequencies, const double *factor,
                                 fovea_error *error) {
  const fovea_reach to = reach_of("frequencies", frequencies, s->dims / 2, (int)sizeof(double));
  const fovea_reach one = reach_of("attention_factor", factor, 1, (int)sizeof(double));
  const struct {
    const char *name;
    const double *data;
  } lists[] = {{"short_factors", s->short_factors}, {"long_factors", s->long_factors}};
  fovea_status status = fovea_validate_pointer(&to, frequencies, error);
  if (!status) status = fovea_validate_apart(&to, frequencies, &one, factor, error);
  for (int i = 0; i < 2 && !status; i++) {
    const fovea_reach list = reach_of(lists[i].name, lists[i].data, s->dims / 2, (int)sizeof(double));
    status = fovea_validate_apart(&to, frequencies, &list, lists[i].data, error);
    if (!status) status = fovea_validate_apart(&one, factor, &list, lists[i].data, error);
  }
  return status;
}

fovea_status fovea_rotary_frequencies(const fovea_rotary_scaling *given, double *frequencies,
                                      double *attention_factor, fovea_error *error) {
  if (!given) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "scaling is NULL");
  if (given->struct_size != sizeof *given)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "scaling.struct_size is %ju; this library's is %ju; call fovea_rotary_scaling_init()",
                      (uint64_t)given->struct_size, (uint64_t)sizeof *given);
  if (!frequencies || !attention_factor)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", frequencies ? "attention_factor" : "frequencies");
  fovea_rotary_scaling scaling = *given;
  fovea_float_state caller = fovea_float_begin();
  fovea_status status = fovea_validate_scaling(&scaling, error);
  if (!status) status = check_memory(&scaling, frequencies, attention_factor, error);
  if (!status) {
    const double base = base_of(&scaling);
    if (!(base - base == 0))
      status = fovea_fail(error, FOVEA_ERROR_ARGUMENT, "base is %g, and scaled by factor %g it is infinite",
                          scaling.base, scaling.factor);
  }
  if (!status) {
    write_frequencies(&scaling, frequencies);
    *attention_factor = factor_of(&scaling);
  }
  fovea_float_end(caller);
  return status;
}
#else
fovea_status fovea_rotary_frequencies(const fovea_rotary_scaling *scaling, double *frequencies,
                                      double *attention_factor, fovea_error *error) {
  (void)scaling, (void)frequencies, (void)attention_factor;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_SCALING, error);
}
#endif
