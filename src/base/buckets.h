/* T5's buckets of relative positions (Raffel et al., 2020), to the last integer. */
#ifndef FOVEA_SRC_BASE_BUCKETS_H
#define FOVEA_SRC_BASE_BUCKETS_H

#include <fovea/fovea.h>

#define FOVEA_BUCKETS_LIMIT 1024

typedef struct fovea_bucket_rule {
  int bidirectional;
  int64_t direction; /* buckets of a direction */
  int64_t exact;     /* distances with a bucket of their own */
  int64_t wide;      /* buckets of the others */
  int64_t max;
} fovea_bucket_rule;

fovea_bucket_rule fovea_make_bucket_rule(int bidirectional, int64_t buckets, int64_t max_distance);

/* Checks the number of buckets and max_distance. `of` is the caller's name of the struct that has them, or NULL. */
fovea_status fovea_check_bucket_rule(const char *of, int bidirectional, int64_t buckets, int64_t max_distance,
                                     fovea_error *error);

/* The bucket of a relative position, key less query. */
int64_t fovea_bucket_of(const fovea_bucket_rule *rule, int64_t relative);

/* The first distance of the k-th wide bucket, k from 0 to wide - 1. */
int64_t fovea_bucket_begin(const fovea_bucket_rule *rule, int64_t k);

#endif
