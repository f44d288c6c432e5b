/* Numbers and digests of the self test. All is integer arithmetic or exact in f32, so that every machine makes the
 * same numbers. */
#ifndef FOVEA_TOOLS_SELFTEST_NUMBERS_H
#define FOVEA_TOOLS_SELFTEST_NUMBERS_H

#include <fovea/fovea.h>
#include <stdint.h>

float selftest_float_of_bits(uint32_t bits);
/* Stores element `index` of a tensor, truncated to the type. */
void selftest_store(void *tensor, fovea_type type, int64_t index, float number);
/* Any element of a sequence of random bits; and a uniform number in [-2, 2) of them. */
uint64_t selftest_random_bits(uint64_t index);
float selftest_uniform(uint64_t bits);

/* Uniform numbers in [-2, 2), truncated to the type. Each value of `which` gives other numbers. */
void selftest_fill_uniform(void *tensor, fovea_type type, int which, int64_t count);
/* The same times `gain`, a power of two; one of `strange` numbers is NaN, infinite, zero, tiny or huge (0: none).
 */
void selftest_fill_mixed(void *tensor, fovea_type type, int which, int64_t count, float gain, int strange);

/* A digest takes in 32-bit words (16-bit numbers fill the lower half): digest = (digest ^ word) 0x9e3779b97f4a7c15,
 * then digest ^= digest >> 32. Each step is a bijection, so a single changed word always changes the digest. */
#define SELFTEST_FIRST_DIGEST UINT64_C(0xcbf29ce484222325)
/* Takes in `count` neighbouring elements from `first` on; or words. */
uint64_t selftest_absorb_row(uint64_t digest, const void *tensor, fovea_type type, int64_t first, int64_t count);
uint64_t selftest_absorb(uint64_t digest, const void *words, int64_t count);
/* A number of a list as digests have it: an int32, which it was when the digests were made. A number that an int32
 * cannot hold, which is wrong, becomes one that no list has. */
int32_t selftest_word_of(int64_t number);
/* The digest of `count` elements alone. */
uint64_t selftest_digest_of(const void *tensor, fovea_type type, int64_t count);

#endif
