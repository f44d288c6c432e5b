/* Calls of Longformer: an object of token states, and a layer that runs with it. */
#include "nn_scene.h"
#include "support/execution.h"

#include "expect.h"
#include "wild.h"

#include <fovea/sparse_attention.h>

#include <math.h>
#include <stddef.h>

extern const struct nn_kind nn_kind_longformer;

static fovea_nn_longformer_options options;
static fovea_nn_longformer_layer layer;
static fovea_nn_longformer_rows rows;
static int x_is_y, with_global;

#define O_FIELD(name, kind) NN_FIELD(fovea_nn_longformer_options, name, kind)
#define R_FIELD(name, kind) NN_FIELD(fovea_nn_longformer_rows, name, kind)

/* States are bytes from the input; nonsense among them, if the scene is wild. */
static int8_t *make_states(struct nn_scene *s) {
  const int64_t extent[3] = {1, 1, options.batch};
  int8_t *states = nn_tensor_of(s, extent, (fovea_strides){0, 0, options.length}, options.length, 8);
  for (int64_t i = 0; states && i < options.batch * options.length; i++) {
    const unsigned byte = bytes_one(s->bytes);
    states[i] = byte % 4 == 3   ? FOVEA_NN_TOKEN_GLOBAL
                : byte % 4 == 2 ? FOVEA_NN_TOKEN_PADDING
                                : FOVEA_NN_TOKEN_LOCAL;
    if (s->wild && byte >= 250) states[i] = (int8_t)byte;
  }
  return states;
}

static void describe(struct nn_scene *s) {
  static const struct field fields[] = {
      O_FIELD(batch, LONG), O_FIELD(heads, LONG),  O_FIELD(length, LONG), O_FIELD(qk_dim, LONG),
      O_FIELD(v_dim, LONG), O_FIELD(window, LONG), O_FIELD(scale, REAL),  O_FIELD(struct_size, SIZE),
  };
  fovea_nn_longformer_options_init(&options, nn_size(s, 3), nn_size(s, 3), nn_below(s, 20), nn_size(s, 12),
                                   nn_below(s, 6));
  options.v_dim = nn_size(s, 12);
  if (bytes_one_in(s->bytes, 3)) NN_EDIT(s, &options, fields);
  if (bytes_one_in(s->bytes, 2)) options.states = make_states(s);
}

/* The product of sizes that nobody has checked. */
static int64_t times(int64_t a, int64_t b) {
  return fabs((double)a * (double)b) < 1e9 ? a * b : INT64_C(1) << 40;
}

static void make_layer(struct nn_scene *s) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_longformer_layer, struct_size, SIZE),
  };
  const int64_t in = nn_size(s, 20), keys = times(options.heads, options.qk_dim),
                values = times(options.heads, options.v_dim);
  const fovea_nn_linear *query = nn_layer(s, in, keys), *key = nn_layer(s, in, keys),
                        *value = nn_layer(s, in, values);
  fovea_nn_longformer_layer_init(&layer, query, key, value);
  with_global = bytes_one_in(s->bytes, 2);
  if (with_global) {
    layer.global_query = nn_layer(s, in, keys);
    layer.global_key = nn_layer(s, in, keys);
    layer.global_value = nn_layer(s, in, values);
    if (s->wild && bytes_one_in(s->bytes, 8)) layer.global_key = NULL;
  }
  if (bytes_one_in(s->bytes, 2))
    layer.output = nn_layer(s, values, bytes_one_in(s->bytes, 2) ? in : nn_size(s, 20));
  if (bytes_one_in(s->bytes, 8)) NN_EDIT(s, &layer, fields);
}

static void make(struct nn_scene *s) {
  static const struct field fields[] = {
      R_FIELD(x_type, INTEGER), R_FIELD(y_type, INTEGER),   R_FIELD(x_stride, LONG),
      R_FIELD(y_stride, LONG),  R_FIELD(struct_size, SIZE),
  };
  describe(s);
  make_layer(s);
  const int64_t in = layer.query->in, width = times(options.heads, options.v_dim);
  const int64_t out = layer.output ? layer.output->out : width, count = times(options.batch, options.length);
  fovea_nn_longformer_rows_init(&rows, NULL, NULL);
  rows.x_type = nn_type(s);
  rows.y_type = nn_type(s);
  if (bytes_one_in(s->bytes, 3)) rows.x_stride = in + nn_below(s, 3);
  if (bytes_one_in(s->bytes, 3)) rows.y_stride = out + nn_below(s, 3);
  if (bytes_one_in(s->bytes, 3)) NN_EDIT(s, &rows, fields);
  rows.x = nn_tensor(s, count, in, rows.x_stride, rows.x_type);
  x_is_y = in == out && rows.x_stride == rows.y_stride && rows.x_type == rows.y_type && bytes_one_in(s->bytes, 2);
  if (x_is_y) {
    rows.y = (void *)(uintptr_t)rows.x;
  } else {
    rows.y = nn_tensor(s, count, out, rows.y_stride, rows.y_type);
  }
  if (s->wild && bytes_one_in(s->bytes, 16)) rows.y = (void *)(uintptr_t)layer.key->weights;
  const double n = fabs((double)options.batch) * (fabs((double)options.length) + 1);
  const double dims = fabs((double)options.heads) * (fabs((double)options.qk_dim) + fabs((double)options.v_dim));
  s->work = s->cannot_be ? n : n * dims * (3.0 * (double)in + 2.0 * (double)out + (double)options.length * 3);
  if (options.batch < 1 || options.length < 0) s->work = 0; /* refused */
}

static fovea_status run(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  fovea_nn_longformer *longformer = (fovea_nn_longformer *)s;
  fovea_status status = fovea_nn_longformer_create(&options, e, &longformer, error);
  EXPECT(!longformer == (status != FOVEA_OK));
  if (!status) status = fovea_nn_longformer_run(longformer, &layer, &rows, e, error);
  fovea_nn_longformer_destroy(longformer);
  return status;
}

static size_t scratch_size(struct nn_scene *s, int workers) {
  fovea_nn_longformer *longformer;
  (void)s;
  if (fovea_nn_longformer_create(&options, NULL, &longformer, NULL)) return 0;
  const size_t size = measured(
      fovea_nn_longformer_scratch_size(longformer, &layer, &rows, with_threads(workers), measured_size(), NULL));
  fovea_nn_longformer_destroy(longformer);
  return size;
}

static int has_meaning(const struct nn_scene *s) {
  const fovea_nn_longformer_options *o = &options;
  const fovea_nn_longformer_layer *l = &layer;
  (void)s;
  if (o->struct_size != sizeof *o || l->struct_size != sizeof *l || rows.struct_size != sizeof rows) return 0;
  if (o->batch < 1 || o->heads < 1 || o->length < 0 || o->qk_dim < 1 || o->v_dim < 1 || o->window < 0) return 0;
  if (!wild_is_finite(o->scale) || !nn_is_type(rows.x_type) || !nn_is_type(rows.y_type)) return 0;
  for (int64_t i = 0; o->states && i < o->batch * o->length; i++)
    if (o->states[i] < -1 || o->states[i] > 1) return 0;
  const fovea_nn_linear *all[] = {l->query, l->key, l->value, l->global_query, l->global_key, l->global_value};
  for (int i = 0; i < (with_global ? 6 : 3); i++) {
    if (!all[i] || !nn_layer_has_meaning(all[i]) || all[i]->in != l->query->in) return 0;
    if (all[i]->out != o->heads * (i % 3 == 2 ? o->v_dim : o->qk_dim)) return 0;
  }
  if (l->output && (!nn_layer_has_meaning(l->output) || l->output->in != o->heads * o->v_dim)) return 0;
  return rows.y != l->key->weights || o->length == 0;
}

const struct nn_kind nn_kind_longformer = {make, run, has_meaning, 1, scratch_size, 0};
