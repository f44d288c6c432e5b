/* Layers of fovea_nn beside what bounds them: OpenBLAS, the rate of memory, a copy, the FMA peak. All run on the
 * instruction set that Fovea chooses. */
#ifndef FOVEA_BENCH_LAYERS_H
#define FOVEA_BENCH_LAYERS_H

#include "harness.h"
#include "layers_weights.h"

#include <fovea/nn.h>
#include <stddef.h>

typedef struct layer_shape {
  const char *name;
  int64_t rows, in, out; /* norms and functions: `in` dims; an encoder layer: `in` dims, `out` of the network */
  int64_t batch;         /* an encoder layer, of `rows` rows for each batch element */
  const layer_weights *weights; /* of one row, and of layers in modes and over codes */
  fovea_nn_activation activation;
  fovea_nn_norm_kind norm;
} layer_shape;

typedef struct layer_case {
  const layer_shape *shape;
  const char *isa;
  int threads;
} layer_case;

/* Argument of all: a layer_case.
 *
 * A linear layer whose weights are packed:
 *   gflops, peak_gflops, peak_fraction
 *   tile_fraction      of what the register tile reaches, on as many threads, if all its operands lie in L1
 *   tile_gflops        that rate
 *   vs_openblas        how many times as long OpenBLAS takes for the same rows and weights
 *   openblas_way       of bench_openblas_ways() the one that is the fastest for the shape */
void bench_linear(bench_round *round, const void *argument);

/* One row through layer after layer, up to 256 MB of weights in all:
 *   gigabytes_per_second, read_gigabytes_per_second, bandwidth_fraction    as in decoding
 *   speed_over_f16     of quantised weights in exact mode: the time over f16 over the time
 *   speed_over_exact   of int8 mode: the same for exact mode over the same weights */
void bench_one_row(bench_round *round, const void *argument);

/* A linear layer in a mode or over quantised weights; `isa` may be BENCH_AMX (modes.h):
 *   gflops
 *   speed_over_f32     the time of exact mode over f32, over the time
 *   speed_over_exact   of a mode: the same for exact mode over the same weights
 *   speed_over_f16     of exact mode: the same for f16 */
void bench_linear_mode(bench_round *round, const void *argument);

/* Rows that lie in L2, as do the results:
 *   gigabytes_per_second        read and written
 *   copy_gigabytes_per_second   by memcpy() or by a loop of vectors, whichever is faster
 *   copy_fraction               the first over the second */
void bench_norm(bench_round *round, const void *argument);

/* Numbers that lie in L2:
 *   elements_per_second
 *   cycles_per_vector    by the FMA peak, if that is two FMAs a cycle */
void bench_activate(bench_round *round, const void *argument);

/* Additive attention of `rows` rows and as many keys, `in` dims, `in` values, without layers; the counters are as
 * of bench_activate(), an element being a tanh. */
void bench_additive(bench_round *round, const void *argument);

/* An encoder layer of 12 heads, and the same step by step:
 *   linear_share, attention_share   of the layer's time, by the steps; biases, GELU and residuals are linear
 *   outside_share                   the rest, of which the norms are norms_share
 *   gelu_share                      of GELU, by the time of the linear layer with it and without */
void bench_encoder(bench_round *round, const void *argument);

/* Registers all of them for this instruction set. */
void bench_register_layers(const char *isa);

/* ---- What they share ----------------------------------------------------------------------------------------- */

/* Numbers from -scale to scale, other ones for each seed, in new memory; NULL without memory. */
float *layer_numbers(size_t count, uint32_t seed, float scale);

/* Seconds of one call: the mean over a slice of time, at least one call. */
double layer_time(void (*call)(void *context), void *context);

/* Packs weights (in rows, f32) into new memory, which `linear` then has; 0 without memory. */
int layer_pack(fovea_nn_linear *linear, int64_t in, int64_t out, const float *weights);

#endif
