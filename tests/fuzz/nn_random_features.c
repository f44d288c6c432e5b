/* Calls that draw projections of random features. */
#include "nn_scene.h"
#include "support/execution.h"

#include <fovea/performer.h>

#include <math.h>
#include <stddef.h>

extern const struct nn_kind nn_kind_random_features;

static fovea_nn_random_features random_features;
static float *projection;

#define R_FIELD(name, kind) NN_FIELD(fovea_nn_random_features, name, kind)

static void make(struct nn_scene *s) {
  static const struct field fields[] = {
      R_FIELD(features, LONG),      R_FIELD(dim, LONG),      R_FIELD(seed, LONG),        R_FIELD(stream, LONG),
      R_FIELD(orthogonal, INTEGER), R_FIELD(norms, INTEGER), R_FIELD(struct_size, SIZE),
  };
  fovea_nn_random_features *r = &random_features;
  fovea_nn_random_features_init(r, nn_size(s, 60), nn_size(s, 24));
  r->seed = (uint64_t)nn_below(s, 256);
  r->orthogonal = (int)nn_below(s, 2);
  r->norms = (fovea_nn_feature_norms)nn_below(s, 2);
  NN_EDIT(s, r, fields);
  projection = nn_rows_of(s, 1, 1, r->features, r->dim, (fovea_strides){0, 0, r->dim}, FOVEA_F32);
  if (!s->cannot_be) s->work = fabs((double)r->features * (double)r->dim * (double)r->dim) * 3;
}

static fovea_status run(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s;
  return fovea_nn_random_features_draw(&random_features, projection, e, error);
}

static size_t scratch_size(struct nn_scene *s, int workers) {
  (void)s;
  return measured(
      fovea_nn_random_features_scratch_size(&random_features, with_threads(workers), measured_size(), NULL));
}

static int has_meaning(const struct nn_scene *s) {
  const fovea_nn_random_features *r = &random_features;
  (void)s;
  return r->struct_size == sizeof *r && r->features >= 1 && r->dim >= 1 && (unsigned)r->orthogonal <= 1 &&
         (unsigned)r->norms <= 1 && projection;
}

/* scratch_size() does not see the projection. */
const struct nn_kind nn_kind_random_features = {make, run, has_meaning, 0, scratch_size, 1};
