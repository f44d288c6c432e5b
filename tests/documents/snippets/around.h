/* What the programs around the snippets of a page share: memory that ends at a page which cannot be touched, so
 * that also a library without sanitizers is caught beyond the end of what a snippet gives it, and tensors with
 * numbers. */
#ifndef FOVEA_TESTS_DOCUMENTS_AROUND_H
#define FOVEA_TESTS_DOCUMENTS_AROUND_H

#include <fovea/cache.h>
#include <fovea/embedding.h>
#include <fovea/encoder.h>
#include <fovea/explain.h>
#include <fovea/format.h>
#include <fovea/fovea.h>
#include <fovea/graph_attention.h>
#include <fovea/latent_attention.h>
#include <fovea/linear_attention.h>
#include <fovea/nn.h>
#include <fovea/pattern.h>
#include <fovea/performer.h>
#include <fovea/recurrent.h>
#include <fovea/rotary.h>
#include <fovea/rotary_scaling.h>
#include <fovea/sparse_attention.h>
#include <fovea/state.h>
#include <fovea/stream.h>
#include <fovea/terms.h>
#include <fovea/weights.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static inline void need(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

/* Zeros. The last byte is the last before the guard, but for what `alignment` leaves. */
static inline void *guarded(size_t alignment, size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + alignment + page - 1) / page * page;
  char *memory =
      mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  need(memory != MAP_FAILED && mprotect(memory + whole, page, PROT_NONE) == 0, "no memory");
  return memory + (whole - size) / alignment * alignment;
}

static inline void *guarded_in_steps(size_t alignment, size_t size) {
  need(size % alignment == 0, "the size for aligned_alloc() is no multiple of the alignment");
  return guarded(alignment, size);
}

/* Floats, from -1 to 1, the same in every run; rows of 16 sums of them are not all alike. */
static inline float *numbers_of(int64_t count) {
  float *numbers = guarded(sizeof(float), (size_t)count * sizeof(float));
  for (int64_t i = 0; i < count; i++) numbers[i] = (float)((i * 37 + i / 101 * 13) % 65 - 32) / 32;
  return numbers;
}

/* Small ones, for weights: outputs stay in range. */
static inline float *weights_of(int64_t count) {
  float *numbers = numbers_of(count);
  for (int64_t i = 0; i < count; i++) numbers[i] /= 16;
  return numbers;
}

/* No number is NaN or infinite, and some are not 0. */
static inline void computed(const float *numbers, int64_t count) {
  int64_t finite = 0, zeros = 0;
  for (int64_t i = 0; i < count; i++) finite += isfinite(numbers[i]) != 0, zeros += numbers[i] == 0;
  need(finite == count && zeros < count, "an output was not computed");
}

static inline void same_bits(const void *a, const void *b, size_t size, const char *what) {
  need(memcmp(a, b, size) == 0, what);
}

/* After each call of a snippet that returns a status. */
static inline void worked(fovea_status status, const char *text, int line) {
  if (status == FOVEA_OK) return;
  fprintf(stderr, "line %d: %s: %s\n", line, fovea_status_text(status), text);
  exit(1);
}

static inline void linear_layer(fovea_nn_linear *linear, int64_t in, int64_t out) {
  fovea_nn_linear_init(linear, in, out, weights_of(in * out));
}

#define malloc(size)                   guarded(sizeof(float), size)
#define aligned_alloc(alignment, size) guarded_in_steps(alignment, size)

#endif
