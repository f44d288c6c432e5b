/* The reference takes logarithms; here whole numbers are compared, so no rounding can move a border. */
#include "buckets.h"

#include "validate.h"

#define DISTANCE_LIMIT INT32_MAX

/* Words of 32 bits for a product of up to FOVEA_BUCKETS_LIMIT / 2 factors below 2^31. */
enum { WORDS = FOVEA_BUCKETS_LIMIT / 2 };

typedef struct whole_number {
  int count; /* words that are used; the highest is not 0 */
  uint32_t words[WORDS];
} whole_number;

fovea_bucket_rule fovea_make_bucket_rule(int bidirectional, int64_t buckets, int64_t max_distance) {
  const int64_t direction = bidirectional ? buckets / 2 : buckets, exact = direction / 2;
  return (fovea_bucket_rule){bidirectional, direction, exact, direction - exact, max_distance};
}

fovea_status fovea_check_bucket_rule(const char *of, int bidirectional, int64_t buckets, int64_t max_distance,
                                     fovea_error *error) {
  const fovea_bounded count = {"buckets", buckets, bidirectional ? 4 : 2, FOVEA_BUCKETS_LIMIT};
  const fovea_status status = fovea_validate_bounds(of, &count, 1, error);
  if (status) return status;
  const int64_t exact = fovea_make_bucket_rule(bidirectional, buckets, max_distance).exact;
  const fovea_bounded distance = {"max_distance", max_distance, exact + 1, DISTANCE_LIMIT};
  return fovea_validate_bounds(of, &distance, 1, error);
}

/* number *= factor^power */
static void multiply(whole_number *number, int64_t factor, int64_t power) {
  for (; power > 0; power--) {
    uint64_t carry = 0;
    for (int i = 0; i < number->count; i++) {
      carry += (uint64_t)number->words[i] * (uint64_t)factor;
      number->words[i] = (uint32_t)carry;
      carry >>= 32;
    }
    if (carry) number->words[number->count++] = (uint32_t)carry;
  }
}

static int is_less(const whole_number *a, const whole_number *b) {
  if (a->count != b->count) return a->count < b->count;
  for (int i = a->count - 1; i >= 0; i--) {
    if (a->words[i] != b->words[i]) return a->words[i] < b->words[i];
  }
  return 0;
}

/* base^power as x 2^(400 exponent), base from 1 to 2^31, x up to 2^400; above 1 if the exponent is not 0. */
static double power_of(double base, int64_t power, int64_t *exponent) {
  double x = 1;
  *exponent = 0;
  for (; power > 0; power--) {
    x *= base;
    if (x > 0x1p400) x *= 0x1p-400, ++*exponent;
  }
  return x;
}

/* Whether the distance belongs to the k-th wide bucket or to a later one: (r / exact)^wide >= (max / exact)^k.
 * Doubles know, unless both sides are nearly equal. */
static int reaches(const fovea_bucket_rule *rule, int64_t distance, int64_t k) {
  int64_t left_exponent, right_exponent;
  const double exact = (double)rule->exact;
  const double x = power_of((double)distance / exact, rule->wide, &left_exponent);
  const double y = power_of((double)rule->max / exact, k, &right_exponent);
  if (left_exponent == right_exponent && (x < y * (1 - 0x1p-30) || x > y * (1 + 0x1p-30))) return x > y;
  if (left_exponent > right_exponent && (x > 2 || y < 0x1p399)) return 1;
  if (left_exponent < right_exponent && (y > 2 || x < 0x1p399)) return 0;
  whole_number left = {1, {1}}, right = {1, {1}};
  multiply(&left, distance, rule->wide);
  multiply(&right, rule->max, k);
  multiply(&right, rule->exact, rule->wide - k);
  return !is_less(&left, &right);
}

/* The bucket among the buckets of a direction. */
static int64_t bucket_of_distance(const fovea_bucket_rule *rule, uint64_t distance) {
  if (distance < (uint64_t)rule->exact) return (int64_t)distance;
  if (distance >= (uint64_t)rule->max) return rule->direction - 1;
  int64_t low = 0, high = rule->wide; /* it reaches low, and not high */
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (reaches(rule, (int64_t)distance, middle)) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return rule->exact + low;
}

int64_t fovea_bucket_of(const fovea_bucket_rule *rule, int64_t relative) {
  const uint64_t distance = relative < 0 ? 0 - (uint64_t)relative : (uint64_t)relative;
  if (relative > 0) return rule->bidirectional ? rule->direction + bucket_of_distance(rule, distance) : 0;
  return bucket_of_distance(rule, distance);
}

/* Bisects from a distance that does not reach the bucket to one that does. */
int64_t fovea_bucket_begin(const fovea_bucket_rule *rule, int64_t k) {
  int64_t low = rule->exact, high = rule->max;
  if (k == 0) return rule->exact;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    *(reaches(rule, middle, k) ? &high : &low) = middle;
  }
  return high;
}
