/* Vectors of Performer: projections, features, sums over keys. */
#include "inputs.h"
#include "variants/contract_performer.h"
#include "vectors.h"

#include <math.h>

enum { MOST = 64 };

struct performer_case {
  const char *name;
  uint64_t seed;
  int is_relu, is_stabilised, is_causal, is_orthogonal, has_constant_norms;
  int64_t dim, features, rows, keys, v_dim;
  double scale, eps;
};

static void write_parameters(const struct performer_case *c, const fovea_nn_random_features *random) {
  vector_begin(c->name, "performer", "L15 L8 L1 3 12");
  vector_integer("dim", c->dim);
  vector_integer("features", c->features);
  vector_integer("seed", (int64_t)random->seed);
  vector_integer("stream", (int64_t)random->stream);
  vector_integer("orthogonal", c->is_orthogonal);
  vector_integer("constant_norms", c->has_constant_norms);
  vector_word("kernel", c->is_relu ? "relu" : "softmax");
  vector_integer("stabiliser", c->is_stabilised);
  vector_double("scale", c->scale);
  vector_double("eps", c->eps);
  if (c->is_causal) vector_integer("causal", 1);
}

/* S and z, where they are wanted. */
static void write_state(const struct performer_case *c, enum array_role role, const char *S, const char *z,
                        const float *state) {
  if (!c->is_causal) return;
  vector_numbers(role, S, FOVEA_F32, state, c->features, c->v_dim);
  vector_numbers(role, z, FOVEA_F32, state + c->features * c->v_dim, c->features, 0);
}

static void write_case(const struct performer_case *c) {
  const int64_t count = c->features * (c->v_dim + 1);
  float projection[MOST], o[MOST];
  fovea_nn_random_features random = {.dim = c->dim,
                                     .features = c->features,
                                     .seed = 0x123456789abcdef0,
                                     .stream = 0xfedcba900 + c->seed,
                                     .orthogonal = c->is_orthogonal};
  if (c->has_constant_norms) random.norms = FOVEA_NN_NORMS_CONSTANT;
  fovea_nn_performer p = {.dim = c->dim,
                          .features = c->features,
                          .projection = projection,
                          .projection_stride = c->dim,
                          .scale = c->scale,
                          .eps = c->eps,
                          .causal = c->is_causal};
  if (c->is_relu) p.kernel = FOVEA_NN_PERFORMER_RELU;
  p.stabiliser = c->is_stabilised ? FOVEA_NN_STABILISER_MAX : FOVEA_NN_STABILISER_NONE;
  contract_random_features(&random, projection);
  inputs_begin(c->seed);
  float *q = drawn(c->rows * c->dim), *state = drawn(count);
  const float *k = drawn_f16(c->keys * c->dim), *v = drawn_f16(c->keys * c->v_dim);
  if (c->eps == 0) q[0] = 1000; /* all features of the row are 0 */
  for (int64_t i = 0; i < count; i++) state[i] = fabsf(state[i]);
  write_parameters(c, &random);
  vector_numbers(INPUT, "q", FOVEA_F32, q, c->rows, c->dim);
  vector_numbers(INPUT, "k", FOVEA_F16, k, c->keys, c->dim);
  vector_numbers(INPUT, "v", FOVEA_F16, v, c->keys, c->v_dim);
  write_state(c, INPUT, "S", "z", state);
  contract_performer(&p, q, c->rows, k, v, c->keys, c->v_dim, c->is_causal ? state : NULL, o);
  vector_numbers(EXPECTED, "projection", FOVEA_F32, projection, c->features, c->dim);
  vector_numbers(EXPECTED, "o", FOVEA_F32, o, c->rows, c->v_dim);
  write_state(c, EXPECTED, "new_S", "new_z", state);
  vector_end();
}

/* Each kind of projection. Seeds were chosen so that mistakes show: sums over keys in another order, and, with causal
 * rows, directions so close to each other that the second pass changes a number. The last case has two spans, of which
 * the second has two blocks. */
void write_performers(void) {
  static const struct performer_case cases[] = {
      {"performer", 2, 0, 1, 0, 1, 0, 3, 5, 3, 18, 2, 0.45, 1e-4},
      {"performer_relu", 3, 1, 0, 0, 0, 1, 3, 2, 2, 5, 2, 0.45, 1e-3},
      {"performer_causal", 51707821, 0, 0, 1, 1, 1, 2, 2, 3, 3, 2, 0.45, 1e-4},
      {"performer_spans", 21, 0, 0, 0, 0, 0, 1, 2, 2, 2180, 1, 0.45, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) write_case(&cases[i]);
}
