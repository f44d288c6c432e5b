/* From the rows of a text to its vector, as sentence-transformers does: their mean, made 1 long. In f32, each step
 * rounded once:
 *
 *   mean[d] = fl(S / n)         S sums row i into sum[i mod 16], i ascending from +0; then sum[j] = fl(sum[j] +
 *                               sum[j + 8]) for j < 8, then with 4, 2 and 1, as in docs/numerics.md, section 3
 *   r = fl(sqrt(Q))             Q sums in the same way over d: sum[d mod 16] = fma(mean[d], mean[d], sum[d mod 16])
 *   vector[d] = fl(mean[d] / max(r, 1e-12))
 */
#ifndef MINILM_POOL_H
#define MINILM_POOL_H

#include <stdint.h>

/* `rows` is at least 1. The vector is apart from the hidden rows. */
void pool(const float *hidden, int64_t rows, int64_t dim, float *vector);

#endif
