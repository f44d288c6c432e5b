/* A task of many rows. For each piece of the dims it packs its rows; each group of outputs, one panel of
 * weights or two, stays in the first-level cache while all row tiles pass. The sums of all tiles lie in the
 * second-level cache, in the order in which they are computed, and each tile prefetches the next tile's. After the
 * last piece a tile's sums become results at once. The design, and the measurements that it follows, are BLIS's
 * (Van Zee and van de Geijn, 2015) with sums that leave their registers every FOVEA_DOT_PIECE dims, since the chain
 * of a piece begins at zero. */
#include "linear_many.h"

#include "../arch/float_state.h"
#include "../src/base/types.h"
#include "linear_finish.h"
#include "quantised.h"

enum { LINE = 64, FEW_TILES = 2 }; /* bytes of a cache line; tiles that have more to fetch than one stream */

static size_t padded_floats(int64_t count) {
  return ((size_t)count * sizeof(float) + FOVEA_SCRATCH_ALIGNMENT - 1) / FOVEA_SCRATCH_ALIGNMENT *
         FOVEA_SCRATCH_ALIGNMENT;
}

static int64_t floats_of_x(const fovea_nn_kernels *kernels) {
  return (int64_t)kernels->tile_stride * FOVEA_DOT_PIECE;
}

static int weights_are_copied(const fovea_nn_linear *linear) {
  return linear->layout != FOVEA_NN_WEIGHTS_IN_PANELS || linear->weight_type != FOVEA_F32;
}

/* For the largest task, so that fewer rows, or more workers, never need more for each. */
static void lay_out(fovea_nn_many *many) {
  const fovea_nn_kernels *k = many->kernels;
  const int64_t most_groups = k->task_outs / k->tile_outs;
  const int64_t tiles = many->tiles < k->task_tiles ? many->tiles : k->task_tiles;
  const int64_t groups = many->groups < most_groups ? many->groups : most_groups;
  const int64_t sums = many->linear->in > FOVEA_DOT_PIECE ? tiles * groups : 1;
  many->sums = 0;
  many->x = padded_floats(sums * k->tile_rows * k->tile_outs);
  many->wide = many->x + padded_floats(tiles * floats_of_x(k));
  many->weights = many->wide + padded_floats((int64_t)k->tile_rows * FOVEA_DOT_PIECE);
  many->task_bytes = many->weights;
  if (weights_are_copied(many->linear)) many->task_bytes += padded_floats((int64_t)k->tile_outs * FOVEA_DOT_PIECE);
}

/* The most tasks of each worker unless they are too large, after how many rounds the last matters little, and the least
 * work that is worth a task. */
enum { WORKER_TASKS = 4, ENOUGH_ROUNDS = 32 };
#define LEAST_WORK INT64_C(1000000)

/* What else a task costs, where one tile of one group costs 1: it packs each tile, and fetches the weights of each group
 * or, if they are not panels of f32, copies them. A worker waits some part of a task for the last one. */
#define TILE_COST  0.4
#define GROUP_COST 0.5
#define COPY_COST  1.0
#define WAIT       0.02

/* A product that saturates: sizes of which only scratch is asked for may be any. */
static int64_t product(int64_t a, int64_t b) {
  int64_t all;
  return __builtin_mul_overflow(a, b, &all) ? INT64_MAX : all;
}

int64_t fovea_nn_many_tasks(const fovea_nn_many *many) {
  return product(many->row_blocks, many->columns);
}

/* How much more than their share of pairs of rows, or of groups, some worker has: they are whole. */
static double unevenness(double count, double blocks, double rounds) {
  const double share = count / blocks * rounds;
  const double whole = (double)(int64_t)share;
  return (whole < share ? whole + 1 : whole) / share;
}

/* How long so many workers take: in each round, each computes a task. */
static double time_of(const fovea_nn_many *many, int64_t row_blocks, int64_t columns, int workers) {
  const double tiles = (double)many->tiles, groups = (double)many->groups, tasks = (double)(row_blocks * columns);
  const double group_cost = weights_are_copied(many->linear) ? COPY_COST : GROUP_COST;
  const double all =
      tiles * groups + TILE_COST * tiles * (double)columns + group_cost * groups * (double)row_blocks;
  const double rounds = (double)fovea_nn_parts_of(row_blocks * columns, workers);
  return (rounds + WAIT) * all / tasks * unevenness((double)many->pairs, (double)row_blocks, rounds) *
         unevenness(groups, (double)columns, rounds);
}

/* Cuts tasks of at most the rows and outputs of now as is fastest. Not inlined: nothing moves out of the contract's
 * floating-point state. */
__attribute__((noinline)) static void share_out(fovea_nn_many *many, int workers) {
  const fovea_nn_kernels *k = many->kernels;
  const int64_t tile = (int64_t)k->tile_rows * k->tile_outs * many->linear->in;
  const int64_t worth = product(many->tiles, many->groups) / fovea_nn_parts_of(LEAST_WORK, tile);
  const int64_t least_blocks = many->row_blocks, least_columns = many->columns;
  const int64_t some = (int64_t)WORKER_TASKS * workers, least = fovea_nn_many_tasks(many);
  if (least / ENOUGH_ROUNDS >= workers) return;
  const int64_t more = least + INT64_C(2) * workers; /* or few tasks may be left for the last round */
  const int64_t most = more > some ? more : some;
  const int64_t limit = worth < most ? worth : most;
  double best = time_of(many, least_blocks, least_columns, workers);
  for (int64_t columns = least_columns; columns <= many->groups && columns * least_blocks <= limit; columns *= 2) {
    for (int64_t blocks = least_blocks; blocks <= many->tiles && columns * blocks <= limit; blocks++) {
      const double time = time_of(many, blocks, columns, workers);
      if (time >= best) continue;
      best = time;
      many->row_blocks = blocks;
      many->columns = columns;
    }
  }
}

int fovea_nn_cut_many(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                      const fovea_nn_kernels *kernels, int workers, fovea_nn_many *many) {
  if (!kernels->tile || rows->rows < FOVEA_NN_MANY_LEAST_ROWS || rows->rows < kernels->tile_least) return 0;
  if (linear->in < fovea_nn_parts_of(kernels->many_weights, linear->out)) return 0;
  *many = (fovea_nn_many){.linear = linear, .rows = rows, .kernels = kernels};
  many->pairs = fovea_nn_parts_of(rows->rows, 2);
  many->tiles = fovea_nn_parts_of(rows->rows, kernels->tile_rows);
  many->groups = fovea_nn_parts_of(linear->out, kernels->tile_outs);
  many->row_blocks = fovea_nn_parts_of(many->tiles, kernels->task_tiles);
  many->columns = fovea_nn_parts_of(many->groups, kernels->task_outs / kernels->tile_outs);
  lay_out(many);
  if (workers > 1) {
    const fovea_float_state caller = fovea_float_begin(); /* whose state may trap what is inexact */
    share_out(many, workers);
    fovea_float_end(caller);
  }
  return 1;
}

/* A task: its tiles, groups and memory. */
typedef struct many_task {
  const fovea_nn_many *many;
  int64_t group; /* the first */
  int tiles, groups;
  int64_t rows[FOVEA_NN_TASK_TILES_LIMIT + 1]; /* the first of each tile, and the end */
  float *sums, *x, *wide, *weights;
} many_task;

/* A piece of the dims. */
typedef struct many_piece {
  int64_t dim;
  int dims, last;
} many_piece;

/* Cuts the rows of a block into tiles. */
static void cut_rows(many_task *task, int64_t block) {
  const fovea_nn_many *many = task->many;
  const int64_t first = fovea_nn_part_begin(many->pairs, many->row_blocks, block);
  const int64_t pairs = fovea_nn_part_begin(many->pairs, many->row_blocks, block + 1) - first;
  task->tiles = (int)fovea_nn_parts_of(pairs, many->kernels->tile_rows / 2);
  for (int t = 0; t <= task->tiles; t++) task->rows[t] = 2 * (first + fovea_nn_part_begin(pairs, task->tiles, t));
}

/* Rows of a tile that exist: the last one may be half of a pair. */
static int rows_of(const many_task *task, int tile) {
  const int64_t end = task->rows[tile + 1], all = task->many->rows->rows;
  return (int)((end < all ? end : all) - task->rows[tile]);
}

/* Finds a piece of a tile's rows as f32, or copies it. */
static void place_rows(const many_task *task, const many_piece *piece, int tile, fovea_nn_pack_args *args) {
  const fovea_nn_linear_rows *r = task->many->rows;
  const void *x = fovea_element(r->x, r->x_type, task->rows[tile] * r->x_stride + piece->dim);
  args->x = x;
  args->x_stride = r->x_stride;
  if (r->x_type == FOVEA_F32) return;
  const fovea_widen_args widen = {x, r->x_type, r->x_stride, args->rows, piece->dims, task->wide, FOVEA_DOT_PIECE};
  task->many->kernels->widen(&widen);
  args->x = task->wide;
  args->x_stride = FOVEA_DOT_PIECE;
}

static void pack_rows(const many_task *task, const many_piece *piece, int tile, float *to) {
  fovea_nn_pack_args args = {.rows = rows_of(task, tile),
                             .tile_rows = (int)(task->rows[tile + 1] - task->rows[tile]),
                             .dims = piece->dims,
                             .to = to};
  place_rows(task, piece, tile, &args);
  task->many->kernels->pack(&args);
}

/* Quantised weights of a group: copied as f32. */
static void place_codes(const many_task *task, const many_piece *piece, int group, fovea_nn_tile_args *args) {
  const fovea_nn_linear *l = task->many->linear;
  const int tile_outs = task->many->kernels->tile_outs;
  const int64_t out = (task->group + group) * tile_outs;
  const int panels = l->out - out <= FOVEA_NN_PANEL ? 1 : tile_outs / FOVEA_NN_PANEL;
  const fovea_nn_coded_panels coded = fovea_nn_coded_panels_of(l, piece->dim, out, panels);
  task->many->kernels->widen_codes(&coded, task->weights);
  args->weights = task->weights;
  args->panel_stride = panels == 1 ? 0 : FOVEA_DOT_PIECE * FOVEA_NN_PANEL;
}

/* Sets where the weights of a group lie: in panels of f32, or in a copy. A group may have fewer panels than a tile:
 * then the tile multiplies its last panel again, and nothing reads these sums. */
static void place_weights(const many_task *task, const many_piece *piece, int group, fovea_nn_tile_args *args) {
  const fovea_nn_linear *l = task->many->linear;
  if (l->layout == FOVEA_NN_WEIGHTS_QUANTISED) {
    place_codes(task, piece, group, args);
    return;
  }
  const int tile_outs = task->many->kernels->tile_outs;
  const int64_t out = (task->group + group) * tile_outs, rest = l->out - out;
  const int in_panels = l->layout == FOVEA_NN_WEIGHTS_IN_PANELS;
  const int64_t stride = in_panels ? fovea_nn_panel_stride(l->in, l->weight_type, piece->dim) : l->weight_stride;
  const int64_t place =
      in_panels ? fovea_nn_panel_place(l->in, l->out, l->weight_type, piece->dim, out) : out * stride + piece->dim;
  const void *weights = fovea_element(l->weights, l->weight_type, place);
  args->weights = weights;
  args->panel_stride = stride;
  if (weights_are_copied(l)) {
    const fovea_nn_widen_args widen = {.weights = weights,
                                       .type = l->weight_type,
                                       .in_panels = in_panels,
                                       .stride = stride,
                                       .dims = piece->dims,
                                       .outs = (int)(rest < tile_outs ? rest : tile_outs),
                                       .to = task->weights};
    task->many->kernels->widen_weights(&widen);
    args->weights = task->weights;
    args->panel_stride = FOVEA_DOT_PIECE * FOVEA_NN_PANEL;
  }
  if (rest <= FOVEA_NN_PANEL) args->panel_stride = 0;
}

static fovea_nn_finish_args finish_of(const many_task *task, int tile, int group, const float *sums) {
  const fovea_nn_many *many = task->many;
  const int tile_outs = many->kernels->tile_outs;
  const fovea_nn_done done = {sums,
                              tile_outs,
                              .row = task->rows[tile],
                              .out = (task->group + group) * tile_outs,
                              .rows = rows_of(task, tile),
                              .outs = tile_outs};
  return fovea_nn_finish_of(many->linear, many->rows, &done);
}

/* Whether a tile makes its results itself: then the CPU begins the next tile while the last sums are stored, where
 * reading them again would wait for them. */
static int tile_ends(const fovea_nn_finish_args *finish, int rows, int tile_outs) {
  return finish->activation == FOVEA_NN_ACTIVATION_NONE && !finish->gate.data && finish->y.type == FOVEA_F32 &&
         (!finish->residual.data || finish->residual.type == FOVEA_F32) && finish->rows == rows &&
         finish->outs == tile_outs;
}

/* The last piece of a tile. */
static void end_tile(const many_task *task, int tile, int group, fovea_nn_tile_args *args) {
  const fovea_nn_kernels *k = task->many->kernels;
  const fovea_nn_finish_args finish = finish_of(task, tile, group, args->sums);
  args->end = tile_ends(&finish, args->rows, k->tile_outs) ? &finish : NULL;
  k->tile(args);
  if (!args->end) k->finish(&finish);
}

/* Lines of the next weights, of which each tile fetches its share. */
static fovea_nn_ahead far_ahead(const char *begin, int64_t share) {
  const int64_t fetched = FOVEA_DOT_PIECE / 2 * LINE;
  return (fovea_nn_ahead){begin, share <= fetched / 2 ? LINE / 2 : LINE};
}

/* What a tile uses when it is done: the next tile's sums, or the rows of y that its own sums become, of which the
 * second step leads to the next row. A tile has more steps than rows: the rest fetches rows of the next tile. */
static void place_near(const many_task *task, const many_piece *piece, int tile, int group,
                       fovea_nn_tile_args *args) {
  const fovea_nn_linear_rows *r = task->many->rows;
  const int tile_outs = task->many->kernels->tile_outs;
  const int64_t size = fovea_type_bits(r->y_type) / 8, row = size * r->y_stride;
  if (task->tiles <= FEW_TILES) {
    args->near = (fovea_nn_ahead){args->far.begin + FOVEA_DOT_PIECE / 2 * LINE, LINE};
    args->near_turn = LINE;
  } else if (!piece->last) {
    args->near =
        (fovea_nn_ahead){(const char *)(args->sums + task->many->kernels->tile_rows * tile_outs), LINE / 2};
    args->near_turn = LINE / 2;
  } else {
    const int64_t y = task->rows[tile] * r->y_stride + (task->group + group) * tile_outs;
    args->near = (fovea_nn_ahead){fovea_element(r->y, r->y_type, y), size * tile_outs > LINE ? LINE : row};
    args->near_turn = size * tile_outs > LINE ? row - LINE : 0;
  }
}

/* All tiles of one group of outputs. The first group packs the rows of each tile just before it multiplies them: packed
 * rows go to the second-level cache meanwhile. */
static void compute_group(const many_task *task, const many_piece *piece, int group, const char *next_weights) {
  const fovea_nn_kernels *k = task->many->kernels;
  const int64_t x_floats = floats_of_x(k), sum_floats = (int64_t)k->tile_rows * k->tile_outs;
  const int64_t weight_bytes = (int64_t)k->tile_outs * FOVEA_DOT_PIECE * (int64_t)sizeof(float);
  const int64_t share = fovea_nn_parts_of(weight_bytes / LINE, task->tiles) * LINE;
  const int one_piece = piece->last && piece->dim == 0;
  fovea_nn_tile_args args = {.dims = piece->dims, .begun = piece->dim > 0};
  place_weights(task, piece, group, &args);
  for (int t = 0; t < task->tiles; t++) {
    float *x = task->x + t * x_floats;
    if (group == 0) pack_rows(task, piece, t, x);
    args.x = x;
    args.rows = (int)(task->rows[t + 1] - task->rows[t]);
    args.sums = task->sums + (one_piece ? 0 : ((int64_t)group * task->tiles + t) * sum_floats);
    args.far = far_ahead(next_weights + t * share, share);
    place_near(task, piece, t, group, &args);
    if (piece->last)
      end_tile(task, t, group, &args);
    else
      k->tile(&args);
  }
}

/* Where the next group's weights lie, or the next piece's. */
static const char *weights_after(const many_task *task, const many_piece *piece, int group) {
  const fovea_nn_linear *l = task->many->linear;
  const int tile_outs = task->many->kernels->tile_outs;
  int64_t dim = piece->dim, out = (task->group + group + 1) * tile_outs;
  if (group + 1 == task->groups) {
    out = task->group * tile_outs;
    if (!piece->last) dim += piece->dims;
  }
  if (l->layout == FOVEA_NN_WEIGHTS_QUANTISED) return fovea_nn_coded_panels_of(l, dim, out, 1).first;
  const int in_panels = l->layout == FOVEA_NN_WEIGHTS_IN_PANELS;
  const int64_t place =
      in_panels ? fovea_nn_panel_place(l->in, l->out, l->weight_type, dim, out) : out * l->weight_stride + dim;
  return fovea_element(l->weights, l->weight_type, place);
}

/* All outputs of some rows before the next rows: then rows and results are in a cache, and on few pages. */
void fovea_nn_many_task(const void *data, int64_t index, int worker) {
  const fovea_nn_many *many = data;
  char *memory = many->memory + (size_t)worker * many->task_bytes;
  const int64_t column = index % many->columns, block = index / many->columns, in = many->linear->in;
  many_task task = {.many = many,
                    .group = fovea_nn_part_begin(many->groups, many->columns, column),
                    .sums = (float *)(void *)(memory + many->sums),
                    .x = (float *)(void *)(memory + many->x),
                    .wide = (float *)(void *)(memory + many->wide),
                    .weights = (float *)(void *)(memory + many->weights)};
  cut_rows(&task, block);
  task.groups = (int)(fovea_nn_part_begin(many->groups, many->columns, column + 1) - task.group);
  fovea_float_state caller = fovea_float_begin();
  for (many_piece piece = {.dim = 0}; piece.dim < in; piece.dim += FOVEA_DOT_PIECE) {
    piece.dims = in - piece.dim < FOVEA_DOT_PIECE ? (int)(in - piece.dim) : FOVEA_DOT_PIECE;
    piece.last = piece.dim + piece.dims == in;
    for (int group = 0; group < task.groups; group++) {
      compute_group(&task, &piece, group, weights_after(&task, &piece, group));
    }
  }
  fovea_float_end(caller);
}
