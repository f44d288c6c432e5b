/* T5's buckets of relative positions. The reference takes logarithms; here whole numbers are compared, so no
 * rounding can move a border. */
#include "../src/base/error.h"
#include "../src/base/validate.h"

#include <fovea/nn.h>

#define BUCKETS_LIMIT  1024
#define DISTANCE_LIMIT INT32_MAX

/* Words of 32 bits for a product of up to BUCKETS_LIMIT / 2 factors below 2^31. */
enum { WORDS = BUCKETS_LIMIT / 2 };

typedef struct whole_number {
  int count; /* words that are used; the highest is not 0 */
  uint32_t words[WORDS];
} whole_number;

typedef struct bucket_rule {
  int bidirectional;
  int64_t direction; /* buckets of a direction */
  int64_t exact;     /* distances with a bucket of their own */
  int64_t wide;      /* buckets of the others */
  int64_t max;
} bucket_rule;

static bucket_rule make_rule(int bidirectional, int64_t buckets, int64_t max_distance) {
  const int64_t direction = bidirectional ? buckets / 2 : buckets, exact = direction / 2;
  return (bucket_rule){bidirectional, direction, exact, direction - exact, max_distance};
}

static fovea_status check_rule(int bidirectional, int64_t buckets, int64_t max_distance, fovea_error *error) {
  const fovea_bounded count = {"buckets", buckets, bidirectional ? 4 : 2, BUCKETS_LIMIT};
  const fovea_status status = fovea_validate_bounds(NULL, &count, 1, FOVEA_ERROR_SIZE, error);
  if (status) return status;
  const int64_t exact = make_rule(bidirectional, buckets, max_distance).exact;
  const fovea_bounded distance = {"max_distance", max_distance, exact + 1, DISTANCE_LIMIT};
  return fovea_validate_bounds(NULL, &distance, 1, FOVEA_ERROR_SIZE, error);
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

/* Whether the distance belongs to the k-th wide bucket or to a later one: (r / exact)^wide >= (max / exact)^k. */
static int reaches(const bucket_rule *rule, int64_t distance, int64_t k) {
  whole_number left = {1, {1}}, right = {1, {1}};
  multiply(&left, distance, rule->wide);
  multiply(&right, rule->max, k);
  multiply(&right, rule->exact, rule->wide - k);
  return !is_less(&left, &right);
}

/* The bucket among those of a direction. */
static int64_t bucket_of_distance(const bucket_rule *rule, uint64_t distance) {
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

static int64_t bucket_of(const bucket_rule *rule, int64_t relative) {
  const uint64_t distance = relative < 0 ? 0 - (uint64_t)relative : (uint64_t)relative;
  if (relative > 0) return rule->bidirectional ? rule->direction + bucket_of_distance(rule, distance) : 0;
  return bucket_of_distance(rule, distance);
}

int64_t fovea_nn_t5_bucket(int64_t relative, int bidirectional, int64_t buckets, int64_t max_distance) {
  if (check_rule(bidirectional, buckets, max_distance, NULL)) return -1;
  const bucket_rule rule = make_rule(bidirectional, buckets, max_distance);
  return bucket_of(&rule, relative);
}

fovea_status fovea_nn_t5_buckets(int64_t first, int64_t count, int bidirectional, int64_t buckets,
                                 int64_t max_distance, int32_t *to, fovea_error *error) {
  const fovea_bounded bounds[] = {{"count", count, 0, FOVEA_LENGTH_LIMIT},
                                  {"first", first, -FOVEA_LENGTH_LIMIT, FOVEA_LENGTH_LIMIT}};
  fovea_status status = check_rule(bidirectional, buckets, max_distance, error);
  if (!status) status = fovea_validate_bounds(NULL, bounds, 2, FOVEA_ERROR_SIZE, error);
  if (status) return status;
  const fovea_reach reach = {"to", 0, count * (int64_t)sizeof *to, _Alignof(int32_t)};
  status = fovea_validate_pointer(&reach, to, error);
  if (status) return status;
  const bucket_rule rule = make_rule(bidirectional, buckets, max_distance);
  for (int64_t i = 0; i < count; i++) to[i] = (int32_t)bucket_of(&rule, first + i);
  return FOVEA_OK;
}
