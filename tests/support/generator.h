/* A small deterministic random generator (splitmix64), the same on every machine. */
#ifndef FOVEA_TESTS_GENERATOR_H
#define FOVEA_TESTS_GENERATOR_H

#include <stddef.h>
#include <stdint.h>

struct generator {
  uint64_t state;
};

static inline uint64_t generator_bits(struct generator *generator) {
  uint64_t z = generator->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* A number from 0 to limit - 1. */
static inline int64_t generator_below(struct generator *generator, int64_t limit) {
  return (int64_t)(generator_bits(generator) % (uint64_t)limit);
}

/* Uniform in [-1, 1), with 24 random bits. */
static inline float generator_uniform(struct generator *generator) {
  return (float)((int64_t)(generator_bits(generator) >> 40) - (1 << 23)) * 0x1p-23f;
}

#endif
