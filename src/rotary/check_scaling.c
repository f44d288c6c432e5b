/* Checks of a scaled rotary embedding. */
#include "check_scaling.h"
#include "../base/error.h"
#include "../base/validate.h"

#if FOVEA_BUILDS_SCALING

#define DIMS_LIMIT   (INT64_C(1) << 20)
#define LENGTH_LIMIT (INT64_C(1) << 40)

/* Sets of rules. */
#define RULE(name) (1u << FOVEA_SCALING_##name)
#define ALL        0xffu

static int is_finite(double x) {
  return x - x == 0;
}

/* Numbers that only some rules use. */
static fovea_status refuse_unused(const fovea_rotary_scaling *s, fovea_error *error) {
  const unsigned turning = RULE(LLAMA3) | RULE(YARN);
  const struct {
    const char *name;
    unsigned rules;
    int set;
  } fields[] = {
      {"factor", ALL & ~RULE(NONE), s->factor != 1},
      {"trained_length", turning | RULE(DYNAMIC_NTK) | RULE(LONGROPE), s->trained_length != 0},
      {"length", RULE(DYNAMIC_NTK) | RULE(LONGROPE), s->length != 0},
      {"slow_turns", turning, s->slow_turns != 0},
      {"fast_turns", turning, s->fast_turns != 0},
      {"exact_pairs", RULE(YARN), s->exact_pairs != 0},
      {"mscale", RULE(YARN), s->mscale != 0},
      {"mscale_all_dim", RULE(YARN), s->mscale_all_dim != 0},
      {"attention_factor", RULE(YARN) | RULE(LONGROPE), s->attention_factor != 0},
      {"short_factors", RULE(LONGROPE), s->short_factors != NULL},
      {"long_factors", RULE(LONGROPE), s->long_factors != NULL},
      {"rotated_dims", RULE(PROPORTIONAL), s->rotated_dims != 0},
  };
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (!fields[i].set || fields[i].rules >> s->rule & 1) continue;
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used by this rule, %jd",
                      fields[i].name, (int64_t)s->rule);
  }
  const int both = s->mscale != 0 && s->mscale_all_dim != 0;
  if (!both && (s->mscale != 0 || s->mscale_all_dim != 0))
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: the other number of mscale is 0",
                      s->mscale != 0 ? "mscale" : "mscale_all_dim");
  if (both && s->attention_factor != 0)
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "mscale is set and would not be used: attention_factor is %g",
                      s->attention_factor);
  return FOVEA_OK;
}

static fovea_status check_numbers(const fovea_rotary_scaling *s, fovea_error *error) {
  const int yarn = s->rule == FOVEA_SCALING_YARN;
  if (!(s->base >= 1) || !is_finite(s->base) || (yarn && s->base == 1))
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "base is %g; it must be finite and %s 1", s->base,
                      yarn ? "more than" : "at least");
  if (!(s->factor >= 1) || !is_finite(s->factor))
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "factor is %g; it must be finite and at least 1", s->factor);
  if (!is_finite(s->mscale) || !is_finite(s->mscale_all_dim))
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %g; it must be finite",
                      is_finite(s->mscale) ? "mscale_all_dim" : "mscale",
                      is_finite(s->mscale) ? s->mscale_all_dim : s->mscale);
  if (!(s->attention_factor >= 0) || !is_finite(s->attention_factor))
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "attention_factor is %g; it must be finite and more than 0, or 0", s->attention_factor);
  return FOVEA_OK;
}

/* What a rule needs, beside base and factor. */
static fovea_status check_turns(const fovea_rotary_scaling *s, fovea_error *error) {
  if (!(s->slow_turns > 0) || !is_finite(s->slow_turns))
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "slow_turns is %g; it must be finite and more than 0",
                      s->slow_turns);
  if (s->fast_turns > s->slow_turns && is_finite(s->fast_turns)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "fast_turns is %g; it must be finite and more than slow_turns, which is %g", s->fast_turns,
                    s->slow_turns);
}

static fovea_status check_factors(const fovea_rotary_scaling *s, fovea_error *error) {
  const double *lists[] = {s->short_factors, s->long_factors};
  static const char names[][16] = {"short_factors", "long_factors"};
  for (int list = 0; list < 2; list++) {
    if (!lists[list]) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", names[list]);
    if ((uintptr_t)lists[list] % _Alignof(double) != 0)
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is not at a multiple of %jd bytes", names[list],
                        (int64_t) _Alignof(double));
    for (int64_t i = 0; i < s->dims / 2; i++) {
      /* 2^-32 keeps the frequency within what an embedding takes */
      if (lists[list][i] >= 0x1p-32 && is_finite(lists[list][i])) continue;
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s[%jd] is %g; it must be finite and at least 2^-32",
                        names[list], i, lists[list][i]);
    }
  }
  return FOVEA_OK;
}

static fovea_status check_rule(const fovea_rotary_scaling *s, fovea_error *error) {
  const unsigned rule = 1u << s->rule;
  if (rule & (RULE(DYNAMIC_NTK) | RULE(LLAMA3) | RULE(YARN) | RULE(LONGROPE))) {
    const fovea_bounded lengths[] = {{"trained_length", s->trained_length, 2, LENGTH_LIMIT},
                                     {"length", s->length, 0, LENGTH_LIMIT}};
    const fovea_status status = fovea_validate_bounds(NULL, lengths, 2, error);
    if (status) return status;
  }
  if (rule & (RULE(NTK) | RULE(DYNAMIC_NTK)) && s->dims < 4)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "dims is %jd; this rule needs at least 4", s->dims);
  if (rule & (RULE(LLAMA3) | RULE(YARN))) return check_turns(s, error);
  if (rule & RULE(LONGROPE)) return check_factors(s, error);
  if (rule & RULE(PROPORTIONAL) && (s->rotated_dims < 0 || s->rotated_dims > s->dims || s->rotated_dims % 2 != 0))
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "rotated_dims is %jd; it must be even and from 0 to dims, which is %jd", s->rotated_dims,
                      s->dims);
  return FOVEA_OK;
}

fovea_status fovea_validate_scaling(const fovea_rotary_scaling *s, fovea_error *error) {
  const fovea_bounded rule = {"rule", (int)s->rule, 0, FOVEA_SCALING_PROPORTIONAL};
  const fovea_bounded flag = {"exact_pairs", s->exact_pairs, 0, 1};
  fovea_status status = fovea_validate_bounds("scaling", &rule, 1, error);
  if (status) return status;
  if (s->dims < 2 || s->dims > DIMS_LIMIT || s->dims % 2 != 0)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "dims is %jd; it must be even and from 2 to %jd", s->dims,
                      DIMS_LIMIT);
  status = fovea_validate_bounds("scaling", &flag, 1, error);
  if (!status) status = check_numbers(s, error);
  if (!status) status = refuse_unused(s, error);
  return status ? status : check_rule(s, error);
}
#endif
