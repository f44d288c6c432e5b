/* Parts of models beside linear layers, for `fovea selftest`: their descriptions, their calls, and the digest of an
 * answer. */
#ifndef FOVEA_TOOLS_SELFTEST_PARTS_H
#define FOVEA_TOOLS_SELFTEST_PARTS_H

#include "selftest_problems.h"

#include <fovea/embedding.h>
#include <fovea/nn.h>
#include <fovea/recurrent.h>

typedef enum selftest_part_kind {
  SELFTEST_ACTIVATION,
  SELFTEST_SOFTMAX,
  SELFTEST_NORM,
  SELFTEST_SINUSOIDS,
  SELFTEST_BUCKETS,
  SELFTEST_EMBEDDING,
  SELFTEST_DROPOUT,
  SELFTEST_MULTI_HEAD,
  SELFTEST_BLOCK,
  SELFTEST_ADDITIVE,
  SELFTEST_GRU,
  SELFTEST_LSTM
} selftest_part_kind;

/* Fields that a kind does not name are for the others. */
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of the list */
typedef struct selftest_part {
  const char *name;
  selftest_part_kind kind;
  int64_t rows, dim;
  fovea_type x, y, other; /* other: residuals, memories, weights, tables, states */
  float gain;             /* the factor of x, a power of two; 0 stands for 1 */
  int strange;            /* one of so many numbers of x is NaN, infinite, zero, tiny or huge; 0: none */

  fovea_nn_activation activation; /* also of a block's network */
  fovea_nn_norm_kind norm;
  bool gamma, beta, residual; /* norms; residual: also sums, multi-head attention, x of sinusoids */

  fovea_nn_wave_layout layout; /* sinusoids */
  fovea_nn_wave_exponent exponent;
  double base;
  int64_t first; /* position, distance or row */

  bool bidirectional; /* buckets */
  int64_t buckets, max_distance;

  float p; /* dropout */

  /* Attention and blocks: heads of a memory or, if kv_len is q_len, of x itself. */
  selftest_shape shape;
  bool causal, rotary, bias_kv, cross, gate, norm_first;

  int64_t in; /* inputs of the layers of additive attention and of cells; 0: there is none */
} selftest_part;

extern const selftest_part selftest_parts[];
extern const int selftest_part_count;

/* Not final yet, as the digests of layers. */
extern const uint64_t selftest_part_digests[];

typedef struct selftest_layer_of_attention {
  fovea_nn_attention attention;
  fovea_nn_linear query, key, value, output;
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
} selftest_layer_of_attention;

/* A call with its tensors, all contiguous. Only the structs of its kind are set. */
typedef struct selftest_part_run {
  const selftest_part *part;
  union {
    fovea_nn_map map;
    struct {
      fovea_nn_norm norm;
      fovea_nn_norm_rows rows;
    } norm;
    fovea_nn_sinusoid_rows sinusoids;
    struct {
      int64_t *numbers; /* as the library writes them */
      int32_t *words;   /* as the digest has them */
    } buckets;
    struct {
      fovea_nn_embedding embedding;
      fovea_nn_embedding_rows rows;
    } embedding;
    fovea_nn_dropout_rows dropout;
    struct {
      selftest_layer_of_attention self, cross;
      fovea_rotary rotary;
      fovea_nn_linear up, down, gate;
      fovea_nn_norm norms[3];
      fovea_nn_block block;
      const float *x;
      float *y;
    } model;
    struct {
      fovea_nn_additive additive;
      fovea_nn_linear query, key;
      fovea_nn_additive_tensors tensors;
    } additive;
    struct {
      fovea_nn_cell cell;
      fovea_nn_linear input, hidden;
      fovea_nn_cell_rows rows;
    } cell;
  } of;

  struct {
    void *data; /* NULL: there is none */
    fovea_type type;
    int64_t count;
  } outputs[2];

  float *memory, *next;
  int tensors; /* how many have been filled */
} selftest_part_run;

/* Returns false if memory runs out. The run must stay where it is. */
bool selftest_prepare_part(const selftest_part *part, selftest_part_run *run);
void selftest_release_part(selftest_part_run *run);

fovea_status selftest_run_part(selftest_part_run *run, const char *isa, fovea_error *error);

/* The digests of both outputs, each as selftest_digest_of() has it. */
uint64_t selftest_part_digest(const selftest_part_run *run);

#endif
