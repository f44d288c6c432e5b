/* The rotary embeddings of `fovea selftest`: their descriptions, their tensors, and the digest of an answer. */
#ifndef FOVEA_TOOLS_SELFTEST_ROTARY_H
#define FOVEA_TOOLS_SELFTEST_ROTARY_H

#include <fovea/fovea.h>
#include <fovea/rotary.h>
#include <stdbool.h>
#include <stdint.h>

/* Positions count from `first`; with a step, row i of batch element b is at first + (b * rows + i) * step. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of the list */
typedef struct selftest_rotary {
  const char *name;
  fovea_rotary_layout layout;
  int64_t batch, heads, rows, dims, dim;
  int64_t first, step;
  double base; /* 0 stands for the default */
  const double *frequencies;
  bool tables; /* of numbers that are no cosines */
  fovea_type from, to;
} selftest_rotary;

extern const selftest_rotary selftest_rotaries[];
extern const int selftest_rotary_count;

/* Final, like the digests of selftest_problems.h. */
extern const uint64_t selftest_rotary_digests[];

/* An embedding with its tensors, all contiguous. */
typedef struct selftest_rotary_run {
  fovea_rotary rotary;
  fovea_rotation rotation;
  void *memory;
} selftest_rotary_run;

/* Returns false if memory runs out. */
bool selftest_prepare_rotary(const selftest_rotary *description, selftest_rotary_run *run);
void selftest_release_rotary(selftest_rotary_run *run);

/* The digest of the elements in the order of the indices, like selftest_digest(). */
uint64_t selftest_rotary_digest(const selftest_rotary_run *run);

#endif
