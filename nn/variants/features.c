/* Random features of rows. Products with the projection are the products of a linear layer: features lie in the
 * lanes for queries, so that rows of features come out, and keys lie in the lanes for sums over keys, so that
 * columns do. */
#include "performer.h"

#include "../../src/base/types.h"

#include <math.h>
#include <string.h>

enum { GROUP_NUMBERS = FOVEA_NN_PANELS * FOVEA_DOT_PIECE * FOVEA_NN_PANEL }; /* of a group's panels of a piece */

uint64_t fovea_nn_map_numbers(const fovea_nn_feature_map *map, int with_panels) {
  const int64_t key_groups = FOVEA_BLOCK_KEYS / FOVEA_NN_OUTS, groups = map->stabilised ? map->groups : 1;
  const uint64_t rows = (uint64_t)(map->row_stride + 2 + groups * FOVEA_NN_OUTS) * FOVEA_NN_MAP_ROWS;
  return rows + (with_panels ? (uint64_t)(key_groups * map->pieces) * GROUP_NUMBERS : 0);
}

fovea_nn_map_memory fovea_nn_map_memory_at(const fovea_nn_feature_map *map, float *memory) {
  fovea_nn_map_memory m = {.x = memory};
  m.halves = m.x + FOVEA_NN_MAP_ROWS * map->row_stride;
  m.maxima = m.halves + FOVEA_NN_MAP_ROWS;
  m.products = m.maxima + FOVEA_NN_MAP_ROWS;
  m.panels = m.products + (map->stabilised ? map->groups : 1) * FOVEA_NN_OUTS * FOVEA_NN_MAP_ROWS;
  return m;
}

uint64_t fovea_nn_map_panel_numbers(const fovea_nn_feature_map *map) {
  return fovea_nn_product(fovea_nn_product((uint64_t)map->groups, (uint64_t)map->pieces), GROUP_NUMBERS);
}

/* Rows of f32 into panels, piece by piece. */
static void make_panels(const fovea_nn_feature_map *map, const float *rows, int64_t stride, int count,
                        float *panels) {
  for (int64_t piece = 0; piece < map->pieces; piece++, panels += GROUP_NUMBERS) {
    const int64_t dim = piece * FOVEA_DOT_PIECE, rest = map->dim - dim;
    const fovea_nn_widen_args args = {.weights = rows + dim,
                                      .stride = stride,
                                      .dims = rest < FOVEA_DOT_PIECE ? (int)rest : FOVEA_DOT_PIECE,
                                      .outs = count,
                                      .to = panels};
    map->kernels->widen_weights(&args);
  }
}

static int in_group(int64_t all, int64_t group) {
  const int64_t rest = all - group * FOVEA_NN_OUTS;
  return rest < FOVEA_NN_OUTS ? (int)rest : FOVEA_NN_OUTS;
}

static int panels_of(int outs) {
  return (outs + FOVEA_NN_PANEL - 1) / FOVEA_NN_PANEL;
}

void fovea_nn_map_pack(const fovea_nn_feature_map *map, int64_t group, float *panels) {
  make_panels(map, map->projection + group * FOVEA_NN_OUTS * map->stride, map->stride,
              in_group(map->features, group), panels + group * map->pieces * GROUP_NUMBERS);
}

/* products = rows times panels. */
static void multiply(const fovea_nn_feature_map *map, const float *rows, int64_t stride, int count,
                     const float *panels, int outs, float *products) {
  fovea_nn_dot_args args = {.x_stride = stride,
                            .rows = count,
                            .panel_stride = FOVEA_DOT_PIECE * FOVEA_NN_PANEL,
                            .panels = panels_of(outs),
                            .sums = products};
  for (int64_t piece = 0; piece < map->pieces; piece++) {
    const int64_t dim = piece * FOVEA_DOT_PIECE, rest = map->dim - dim;
    args.x = rows + dim;
    args.weights = panels + piece * GROUP_NUMBERS;
    args.dims = rest < FOVEA_DOT_PIECE ? (int)rest : FOVEA_DOT_PIECE;
    args.begun = piece > 0;
    map->kernels->dot(&args);
  }
}

/* Reads rows, scales them, and takes half their squares. */
static void read_rows(const fovea_nn_feature_map *map, const fovea_nn_source *source, int rows,
                      const fovea_nn_map_memory *memory) {
  const fovea_widen_args widen = {source->rows, source->type, source->stride, rows,
                                  map->dim,     memory->x,    map->row_stride};
  const fovea_nn_halves_args halves = {memory->x, map->row_stride, rows, map->dim, map->scale, memory->halves};
  map->kernels->widen(&widen);
  map->kernels->halves(&halves);
}

static float *products_of(const fovea_nn_feature_map *map, int64_t group, const fovea_nn_map_memory *memory) {
  return memory->products + (map->stabilised ? group * FOVEA_NN_MAP_ROWS * FOVEA_NN_OUTS : 0);
}

static void multiply_group(const fovea_nn_feature_map *map, int64_t group, int rows,
                           const fovea_nn_map_memory *memory) {
  multiply(map, memory->x, map->row_stride, rows, map->panels + group * map->pieces * GROUP_NUMBERS,
           in_group(map->features, group), products_of(map, group, memory));
}

/* All products of rows, and each row's largest. */
static void find_maxima(const fovea_nn_feature_map *map, int rows, const fovea_nn_map_memory *memory) {
  for (int i = 0; i < rows; i++) memory->maxima[i] = -INFINITY;
  for (int64_t group = 0; group < map->groups; group++) {
    const fovea_nn_features_args args = {.products = products_of(map, group, memory),
                                         .rows = rows,
                                         .columns = in_group(map->features, group),
                                         .y = memory->maxima};
    multiply_group(map, group, rows, memory);
    map->kernels->maxima(&args);
  }
}

float fovea_nn_map_maximum(const fovea_nn_feature_map *map, const fovea_nn_source *source, int rows,
                           const fovea_nn_map_memory *memory) {
  float maximum = -INFINITY;
  read_rows(map, source, rows, memory);
  find_maxima(map, rows, memory);
  for (int i = 0; i < rows; i++) maximum = memory->maxima[i] > maximum ? memory->maxima[i] : maximum;
  return maximum;
}

/* If there is nothing above -Inf, 0 is subtracted. */
static float reference(float maximum) {
  return maximum == -INFINITY ? 0.0f : maximum;
}

static fovea_nn_features_args features_of(const fovea_nn_feature_map *map, const fovea_nn_map_memory *memory) {
  return (fovea_nn_features_args){
      .halves = memory->halves, .maxima = memory->maxima, .relu = map->relu, .eps = map->eps, .ratio = map->ratio};
}

void fovea_nn_map_rows(const fovea_nn_feature_map *map, const fovea_nn_source *source, int rows,
                       const float *key_maximum, const fovea_nn_map_memory *memory, float *y) {
  fovea_nn_features_args args = features_of(map, memory);
  read_rows(map, source, rows, memory);
  if (map->stabilised) find_maxima(map, rows, memory);
  for (int i = 0; i < rows; i++) {
    memory->maxima[i] = map->stabilised ? reference(key_maximum ? *key_maximum : memory->maxima[i]) : 0.0f;
  }
  args.rows = rows;
  args.stride = map->feature_stride;
  for (int64_t group = 0; group < map->groups; group++) {
    if (!map->stabilised) multiply_group(map, group, rows, memory);
    args.products = products_of(map, group, memory);
    args.columns = in_group(map->features, group);
    args.y = y + group * FOVEA_NN_OUTS;
    map->kernels->features(&args);
  }
}

void fovea_nn_map_keys(const fovea_nn_feature_map *map, const fovea_nn_source *source, int keys, float maximum,
                       const fovea_nn_map_memory *memory) {
  read_rows(map, source, keys, memory);
  for (int i = keys; i < FOVEA_NN_MAP_ROWS; i++) memory->halves[i] = 0; /* vectors are whole */
  memory->maxima[0] = map->stabilised ? reference(maximum) : 0.0f;
  for (int64_t first = 0; first < keys; first += FOVEA_NN_OUTS) {
    make_panels(map, memory->x + first * map->row_stride, map->row_stride, in_group(keys, first / FOVEA_NN_OUTS),
                memory->panels + first / FOVEA_NN_OUTS * map->pieces * GROUP_NUMBERS);
  }
}

void fovea_nn_map_columns(const fovea_nn_feature_map *map, int keys, int64_t first, int count,
                          const fovea_nn_map_memory *memory, float *y) {
  fovea_nn_features_args args = features_of(map, memory);
  args.products = memory->products;
  args.rows = count;
  args.by_column = 1;
  args.stride = FOVEA_BLOCK_KEYS;
  for (int64_t key = 0; key < keys; key += FOVEA_NN_OUTS) {
    const int outs = in_group(keys, key / FOVEA_NN_OUTS);
    multiply(map, map->projection + first * map->stride, map->stride, count,
             memory->panels + key / FOVEA_NN_OUTS * map->pieces * GROUP_NUMBERS, outs, memory->products);
    args.halves = memory->halves + key;
    args.columns = outs;
    args.y = y + key;
    map->kernels->features(&args);
  }
}

void fovea_nn_performer_values(const fovea_nn_kernels *kernels, const fovea_nn_source *source, int keys,
                               int64_t first_column, int64_t columns, float *panels) {
  for (int64_t d = 0; d < columns; d += FOVEA_NN_PANEL, panels += FOVEA_BLOCK_KEYS * FOVEA_NN_PANEL) {
    const int64_t rest = columns - d;
    const fovea_widen_args args = {fovea_element(source->rows, source->type, first_column + d),
                                   source->type,
                                   source->stride,
                                   keys,
                                   rest < FOVEA_NN_PANEL ? rest : FOVEA_NN_PANEL,
                                   panels,
                                   FOVEA_NN_PANEL};
    if (rest < FOVEA_NN_PANEL) memset(panels, 0, FOVEA_BLOCK_KEYS * FOVEA_NN_PANEL * sizeof(float));
    kernels->widen(&args);
  }
}
