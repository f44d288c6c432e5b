/* Calls that map rows to rows. */
#include "nn_scene.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

enum { MOST_ROWS = 9, MOST_DIM = 70 };

static double product(int64_t a, int64_t b, int64_t c) {
  return fabs((double)a * (double)b * (double)c);
}

/* An output; in sound scenes and most wild ones apart from all inputs. */
static void *output_or(struct nn_scene *scene, void *input, int64_t rows, int64_t dim, int64_t stride,
                       fovea_type type) {
  if (scene->wild && input && bytes_one_in(scene->bytes, 8)) return input;
  return nn_tensor(scene, rows, dim, stride, type);
}

static void make_linear(struct nn_scene *s) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_linear_rows, rows, LONG),
      NN_FIELD(fovea_nn_linear_rows, x_type, INTEGER),
      NN_FIELD(fovea_nn_linear_rows, y_type, INTEGER),
      NN_FIELD(fovea_nn_linear_rows, x_stride, LONG),
      NN_FIELD(fovea_nn_linear_rows, y_stride, LONG),
      NN_FIELD(fovea_nn_linear_rows, gate_type, INTEGER),
      NN_FIELD(fovea_nn_linear_rows, gate_stride, LONG),
      NN_FIELD(fovea_nn_linear_rows, residual_type, INTEGER),
      NN_FIELD(fovea_nn_linear_rows, residual_stride, LONG),
      NN_FIELD(fovea_nn_linear_rows, struct_size, SIZE),
  };
  fovea_nn_linear_rows *r = &s->linear_rows;
  const int64_t in = nn_size(s, 300), out = nn_size(s, MOST_DIM);
  const fovea_nn_linear *layer = nn_layer(s, in, out);
  fovea_nn_linear_rows_init(r, layer, nn_below(s, MOST_ROWS), NULL, NULL);
  const int with_gate = bytes_one_in(s->bytes, 3), with_residual = bytes_one_in(s->bytes, 3);
  r->x_type = nn_type(s);
  r->y_type = nn_type(s);
  r->x_stride = layer->in + nn_below(s, 3);
  r->y_stride = layer->out + nn_below(s, 3);
  if (with_gate) r->gate_type = nn_type(s);
  if (with_residual) r->residual_type = nn_type(s);
  NN_EDIT(s, r, fields);
  void *x = nn_tensor(s, r->rows, layer->in, r->x_stride, r->x_type);
  r->x = x;
  if (with_gate) r->gate = nn_tensor(s, r->rows, layer->out, r->gate_stride, r->gate_type);
  if (with_residual) r->residual = nn_tensor(s, r->rows, layer->out, r->residual_stride, r->residual_type);
  r->y = output_or(s, (void *)(uintptr_t)(with_gate ? r->gate : r->residual), r->rows, layer->out, r->y_stride,
                   r->y_type);
  s->work = product(r->rows, layer->in, layer->out);
}

static fovea_status run_linear(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  return fovea_nn_linear_run(&s->layers[0], &s->linear_rows, e, error);
}

static int linear_has_meaning(const struct nn_scene *s) {
  const fovea_nn_linear_rows *r = &s->linear_rows;
  const fovea_nn_linear *l = &s->layers[0];
  if (!nn_layer_has_meaning(l) || r->struct_size != sizeof *r || r->rows < 0) return 0;
  if (!r->gate && (r->gate_type != FOVEA_F32 || nn_stride(r->gate_stride, l->out) != l->out)) return 0;
  if (!r->residual && (r->residual_type != FOVEA_F32 || nn_stride(r->residual_stride, l->out) != l->out)) return 0;
  if (r->rows > 1 && llabs(nn_stride(r->y_stride, l->out)) < l->out) return 0;
  return nn_is_type(r->x_type) && nn_is_type(r->y_type) && nn_is_type(r->gate_type) && nn_is_type(r->residual_type);
}

static void make_pack(struct nn_scene *s) {
  const int64_t in = nn_size(s, 300), out = nn_size(s, MOST_DIM);
  const fovea_nn_linear *layer = nn_layer(s, in, out);
  const int64_t elements = fovea_nn_panel_elements(layer->in, layer->out, layer->weight_type);
  if (layer->layout != FOVEA_NN_WEIGHTS_IN_ROWS) s->cannot_be = 1; /* they are packed already */
  s->panels = nn_tensor(s, elements > 0, elements, 0, layer->weight_type);
  s->work = product(layer->in, layer->out, 1);
}

static fovea_status run_pack(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  return fovea_nn_pack(&s->layers[0], s->panels, e, error);
}

static int pack_has_meaning(const struct nn_scene *s) {
  return nn_layer_has_meaning(&s->layers[0]) && s->layers[0].layout == FOVEA_NN_WEIGHTS_IN_ROWS;
}

static void make_map(struct nn_scene *s) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_map, rows, LONG),        NN_FIELD(fovea_nn_map, dim, LONG),
      NN_FIELD(fovea_nn_map, x_type, INTEGER),   NN_FIELD(fovea_nn_map, y_type, INTEGER),
      NN_FIELD(fovea_nn_map, x_stride, LONG),    NN_FIELD(fovea_nn_map, y_stride, LONG),
      NN_FIELD(fovea_nn_map, struct_size, SIZE),
  };
  fovea_nn_map *map = &s->map;
  const int64_t rows = nn_below(s, MOST_ROWS), dim = nn_size(s, MOST_DIM);
  fovea_nn_map_init(map, rows, dim, NULL, NULL);
  s->activation = (fovea_nn_activation)(nn_below(s, 6) - (s->wild && bytes_one_in(s->bytes, 8) ? 2 : 0));
  map->x_type = nn_type(s);
  map->y_type = nn_type(s);
  map->x_stride = dim + nn_below(s, 3);
  map->y_stride = dim + nn_below(s, 3);
  NN_EDIT(s, map, fields);
  void *x = nn_tensor(s, map->rows, map->dim, map->x_stride, map->x_type);
  map->x = x;
  map->y = output_or(s, x, map->rows, map->dim, map->y_stride, map->y_type);
  s->work = product(map->rows, map->dim, 20);
}

/* What is after the last activation is softmax. */
static fovea_status run_map(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  return (int)s->activation == FOVEA_NN_ACTIVATION_ELU + 1 ? fovea_nn_softmax(&s->map, e, error)
                                                           : fovea_nn_activate(&s->map, s->activation, e, error);
}

static int map_has_meaning(const struct nn_scene *s) {
  const fovea_nn_map *m = &s->map;
  return m->struct_size == sizeof *m && m->rows >= 0 && m->dim >= 1 && nn_is_type(m->x_type) &&
         nn_is_type(m->y_type) && (int)s->activation >= 0 &&
         (m->rows < 2 || llabs(nn_stride(m->y_stride, m->dim)) >= m->dim);
}

static void make_norm(struct nn_scene *s) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_norm_rows, rows, LONG),
      NN_FIELD(fovea_nn_norm_rows, x_type, INTEGER),
      NN_FIELD(fovea_nn_norm_rows, y_type, INTEGER),
      NN_FIELD(fovea_nn_norm_rows, x_stride, LONG),
      NN_FIELD(fovea_nn_norm_rows, y_stride, LONG),
      NN_FIELD(fovea_nn_norm_rows, residual_type, INTEGER),
      NN_FIELD(fovea_nn_norm_rows, residual_stride, LONG),
      NN_FIELD(fovea_nn_norm_rows, sum_type, INTEGER),
      NN_FIELD(fovea_nn_norm_rows, sum_stride, LONG),
      NN_FIELD(fovea_nn_norm_rows, struct_size, SIZE),
  };
  fovea_nn_norm_rows *r = &s->norm_rows;
  const int64_t size = nn_size(s, MOST_DIM);
  const fovea_nn_norm *norm = nn_norm(s, 0, size);
  fovea_nn_norm_rows_init(r, norm, nn_below(s, MOST_ROWS), NULL, NULL);
  const int with_residual = bytes_one_in(s->bytes, 2);
  const int with_sum = bytes_one_in(s->bytes, 2) && (with_residual || s->wild);
  r->x_type = nn_type(s);
  r->y_type = nn_type(s);
  r->x_stride = norm->dim + nn_below(s, 3);
  r->y_stride = norm->dim + nn_below(s, 3);
  if (with_residual) r->residual_type = nn_type(s);
  if (with_sum) r->sum_type = nn_type(s);
  NN_EDIT(s, r, fields);
  void *x = nn_tensor(s, r->rows, norm->dim, r->x_stride, r->x_type), *residual = NULL;
  r->x = x;
  if (with_residual)
    r->residual = residual = nn_tensor(s, r->rows, norm->dim, r->residual_stride, r->residual_type);
  r->y = output_or(s, x, r->rows, norm->dim, r->y_stride, r->y_type);
  if (with_sum) r->sum = output_or(s, residual, r->rows, norm->dim, r->sum_stride, r->sum_type);
  s->work = product(r->rows, norm->dim, 10);
}

static fovea_status run_norm(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  return fovea_nn_norm_run(&s->norms[0], &s->norm_rows, e, error);
}

static int norm_has_meaning(const struct nn_scene *s) {
  const fovea_nn_norm_rows *r = &s->norm_rows;
  const fovea_nn_norm *n = &s->norms[0];
  if (!nn_norm_has_meaning(n) || r->struct_size != sizeof *r || r->rows < 0) return 0;
  if (r->sum && !r->residual) return 0;
  if (!r->residual && (r->residual_type != FOVEA_F32 || nn_stride(r->residual_stride, n->dim) != n->dim)) return 0;
  if (!r->sum && (r->sum_type != FOVEA_F32 || nn_stride(r->sum_stride, n->dim) != n->dim)) return 0;
  if (r->rows > 1 && (llabs(nn_stride(r->y_stride, n->dim)) < n->dim ||
                      (r->sum && llabs(nn_stride(r->sum_stride, n->dim)) < n->dim)))
    return 0;
  return nn_is_type(r->x_type) && nn_is_type(r->y_type) && nn_is_type(r->residual_type) && nn_is_type(r->sum_type);
}

static void make_sinusoids(struct nn_scene *s) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_sinusoid_rows, rows, LONG),        NN_FIELD(fovea_nn_sinusoid_rows, dim, LONG),
      NN_FIELD(fovea_nn_sinusoid_rows, y_type, INTEGER),   NN_FIELD(fovea_nn_sinusoid_rows, y_stride, LONG),
      NN_FIELD(fovea_nn_sinusoid_rows, base, REAL),        NN_FIELD(fovea_nn_sinusoid_rows, layout, INTEGER),
      NN_FIELD(fovea_nn_sinusoid_rows, exponent, INTEGER), NN_FIELD(fovea_nn_sinusoid_rows, first_position, LONG),
      NN_FIELD(fovea_nn_sinusoid_rows, x_type, INTEGER),   NN_FIELD(fovea_nn_sinusoid_rows, x_stride, LONG),
      NN_FIELD(fovea_nn_sinusoid_rows, struct_size, SIZE),
  };
  fovea_nn_sinusoid_rows *r = &s->sinusoids;
  const int64_t rows = nn_below(s, MOST_ROWS), dim = nn_size(s, MOST_DIM);
  fovea_nn_sinusoid_rows_init(r, rows, dim, NULL);
  const int listed = bytes_one_in(s->bytes, 2), with_x = bytes_one_in(s->bytes, 2);
  r->y_type = nn_type(s);
  r->y_stride = dim + nn_below(s, 3);
  r->layout = (fovea_nn_wave_layout)nn_below(s, 2);
  r->exponent = (fovea_nn_wave_exponent)nn_below(s, 2);
  if (!listed) r->first_position = (nn_below(s, 256) - 128) * INT64_C(0x100000000);
  if (with_x) r->x_type = nn_type(s);
  NN_EDIT(s, r, fields);
  if (listed) r->positions = nn_list(s, r->rows, 60000);
  void *x = with_x ? nn_tensor(s, r->rows, r->dim, r->x_stride, r->x_type) : NULL;
  r->x = x;
  r->y = output_or(s, x, r->rows, r->dim, r->y_stride, r->y_type);
  s->work = product(r->rows, r->dim, 50) + product(r->dim, 50, 1);
}

static fovea_status run_sinusoids(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  return fovea_nn_sinusoids(&s->sinusoids, e, error);
}

static int sinusoids_have_meaning(const struct nn_scene *s) {
  const fovea_nn_sinusoid_rows *r = &s->sinusoids;
  if (r->struct_size != sizeof *r || r->rows < 0 || r->dim < 1 || !(r->base >= 1 && r->base <= DBL_MAX)) return 0;
  if ((unsigned)r->layout > 1 || (unsigned)r->exponent > 1 || (r->positions && r->first_position != 0)) return 0;
  if (!r->x && (r->x_type != FOVEA_F32 || nn_stride(r->x_stride, r->dim) != r->dim)) return 0;
  return nn_is_type(r->y_type) && nn_is_type(r->x_type) &&
         (r->rows < 2 || llabs(nn_stride(r->y_stride, r->dim)) >= r->dim);
}

/* A table, with a count that may be nonsense. */
static void make_table(struct nn_scene *s, fovea_nn_table *table, int64_t count, int64_t dim) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_table, count, LONG),
      NN_FIELD(fovea_nn_table, type, INTEGER),
      NN_FIELD(fovea_nn_table, stride, LONG),
  };
  *table = (fovea_nn_table){NULL, count, nn_type(s), dim + nn_below(s, 3)};
  if (bytes_one_in(s->bytes, 4)) NN_EDIT(s, table, fields);
  table->data = nn_tensor(s, table->count, dim, table->stride, table->type);
}

/* Ids of both types below `limit`. */
static void *make_ids(struct nn_scene *s, const fovea_nn_embedding_rows *r, int64_t limit) {
  int64_t *list = nn_list(s, r->rows, limit);
  if (r->id_type != FOVEA_NN_INT32 || !list || (uintptr_t)list % sizeof *list != 0) return list;
  int32_t *ids = nn_tensor(s, 1, r->rows, 0, FOVEA_F32);
  for (int64_t i = 0; i < r->rows && ids && (uintptr_t)ids % sizeof *ids == 0; i++) ids[i] = (int32_t)list[i];
  return ids;
}

static void make_embedding(struct nn_scene *s) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_embedding_rows, rows, LONG),           NN_FIELD(fovea_nn_embedding_rows, y_type, INTEGER),
      NN_FIELD(fovea_nn_embedding_rows, y_stride, LONG),       NN_FIELD(fovea_nn_embedding_rows, id_type, INTEGER),
      NN_FIELD(fovea_nn_embedding_rows, first_position, LONG), NN_FIELD(fovea_nn_embedding_rows, struct_size, SIZE),
  };
  fovea_nn_embedding *e = &s->embedding;
  fovea_nn_embedding_rows *r = &s->embedding_rows;
  const int64_t dim = nn_size(s, MOST_DIM);
  fovea_nn_embedding_init(e, dim, 0, NULL);
  make_table(s, &e->tokens, 20, dim);
  if (bytes_one_in(s->bytes, 2)) make_table(s, &e->token_types, 2, dim);
  if (bytes_one_in(s->bytes, 2)) make_table(s, &e->positions, 40, dim);
  fovea_nn_embedding_rows_init(r, e, nn_below(s, MOST_ROWS), NULL, NULL);
  r->y_type = nn_type(s);
  r->id_type = (fovea_nn_id_type)nn_below(s, 2);
  if (e->positions.data && bytes_one_in(s->bytes, 2)) r->first_position = nn_below(s, 30);
  NN_EDIT(s, r, fields);
  r->ids = make_ids(s, r, 20);
  if (e->token_types.data) r->token_type_ids = make_ids(s, r, 2);
  if (e->positions.data && r->first_position == 0 && bytes_one_in(s->bytes, 2))
    r->position_ids = make_ids(s, r, 40);
  r->y = nn_tensor(s, r->rows, dim, r->y_stride, r->y_type);
  s->work = product(r->rows, dim, 1);
}

static fovea_status run_embedding(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  return fovea_nn_embed(&s->embedding, &s->embedding_rows, e, error);
}

static int embedding_has_meaning(const struct nn_scene *s) {
  const fovea_nn_embedding *e = &s->embedding;
  const fovea_nn_embedding_rows *r = &s->embedding_rows;
  if (r->struct_size != sizeof *r || r->rows < 0 || (unsigned)r->id_type > 1 || !nn_is_type(r->y_type)) return 0;
  const fovea_nn_table *tables[] = {&e->tokens, &e->token_types, &e->positions};
  for (int i = 0; i < 3; i++)
    if (tables[i]->data && (tables[i]->count < 0 || !nn_is_type(tables[i]->type))) return 0;
  if (r->first_position != 0 && (!e->positions.data || r->position_ids)) return 0;
  return r->rows < 2 || llabs(nn_stride(r->y_stride, e->dim)) >= e->dim;
}

static void make_dropout(struct nn_scene *s) {
  static const struct field fields[] = {
      NN_FIELD(fovea_nn_dropout_rows, rows, LONG),      NN_FIELD(fovea_nn_dropout_rows, dim, LONG),
      NN_FIELD(fovea_nn_dropout_rows, x_type, INTEGER), NN_FIELD(fovea_nn_dropout_rows, y_type, INTEGER),
      NN_FIELD(fovea_nn_dropout_rows, x_stride, LONG),  NN_FIELD(fovea_nn_dropout_rows, y_stride, LONG),
      NN_FIELD(fovea_nn_dropout_rows, p, INTEGER),      NN_FIELD(fovea_nn_dropout_rows, seed, LONG),
      NN_FIELD(fovea_nn_dropout_rows, first_row, LONG), NN_FIELD(fovea_nn_dropout_rows, struct_size, SIZE),
  };
  fovea_nn_dropout_rows *r = &s->dropout;
  const int64_t rows = nn_below(s, MOST_ROWS), dim = nn_size(s, MOST_DIM);
  fovea_nn_dropout_rows_init(r, rows, dim, NULL, NULL);
  r->x_type = nn_type(s);
  r->y_type = nn_type(s);
  r->p = (float)nn_below(s, 9) / 8;
  r->first_row = nn_below(s, 256) << nn_below(s, 40);
  NN_EDIT(s, r, fields);
  void *x = nn_tensor(s, r->rows, r->dim, r->x_stride, r->x_type);
  r->x = x;
  r->y = output_or(s, x, r->rows, r->dim, r->y_stride, r->y_type);
  s->work = product(r->rows, r->dim, 20);
}

static fovea_status run_dropout(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  return fovea_nn_dropout(&s->dropout, e, error);
}

static int dropout_has_meaning(const struct nn_scene *s) {
  const fovea_nn_dropout_rows *r = &s->dropout;
  return r->struct_size == sizeof *r && r->rows >= 0 && r->dim >= 1 && r->p >= 0 && r->p <= 1 &&
         r->first_row >= 0 && nn_is_type(r->x_type) && nn_is_type(r->y_type) &&
         (r->rows < 2 || llabs(nn_stride(r->y_stride, r->dim)) >= r->dim);
}

static void make_buckets(struct nn_scene *s) {
  const int64_t sound[5] = {nn_below(s, 256) - 128, nn_below(s, 200), nn_below(s, 2), 4 + nn_below(s, 60),
                            100 + nn_below(s, 1000)};
  for (int i = 0; i < 5; i++) {
    s->bucket_numbers[i] = sound[i];
    if (s->wild && bytes_one_in(s->bytes, 4)) s->bucket_numbers[i] = wild_number(s->bytes);
  }
  s->buckets = nn_longs(s, s->bucket_numbers[1]);
  s->work = product(s->bucket_numbers[1], s->bucket_numbers[3], 10);
}

static fovea_status run_buckets(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  const int64_t *n = s->bucket_numbers;
  (void)e;
  return fovea_nn_t5_buckets(n[0], n[1], (int)n[2], n[3], n[4], s->buckets, error);
}

static int buckets_have_meaning(const struct nn_scene *s) {
  const int64_t *n = s->bucket_numbers, most = (int)n[2] ? n[3] / 2 : n[3];
  return n[1] >= 0 && most >= 2 && n[3] <= 1024 && n[4] > most / 2 && n[4] <= INT32_MAX;
}

const struct nn_kind nn_kinds[] = {
    {make_linear, run_linear, linear_has_meaning, 1, NULL, 0},
    {make_pack, run_pack, pack_has_meaning, 0, NULL, 0},
    {make_map, run_map, map_has_meaning, 1, NULL, 0},
    {make_norm, run_norm, norm_has_meaning, 1, NULL, 0},
    {make_sinusoids, run_sinusoids, sinusoids_have_meaning, 1, NULL, 0},
    {make_embedding, run_embedding, embedding_has_meaning, 1, NULL, 0},
    {make_dropout, run_dropout, dropout_has_meaning, 1, NULL, 0},
    {make_buckets, run_buckets, buckets_have_meaning, 0, NULL, 0},
};
const int nn_kind_count = sizeof nn_kinds / sizeof *nn_kinds;
