/* A task of a linear layer in int8 mode. Its rows become codes once; then each tile of outputs, one panel of weights or
 * two, is prepared once and stays in a cache while all row tiles pass. Sums are finished tile by tile. Without scratch
 * a task has one tile of rows, and makes the codes of some pieces of the dims again for each tile of outputs. */
#include "linear_int8.h"

#include "../arch/float_state.h"
#include "../src/base/types.h"
#include "layer_scratch.h"
#include "linear_finish.h"

#include <string.h>

/* Bytes of codes that share the second-level cache with weights; dims of a task on the stack; and its memory. */
enum { CODES_BYTES = 512 << 10, STACK_DIMS = 4 * FOVEA_DOT_PIECE, STACK_BYTES = 44 << 10 };
_Static_assert(STACK_BYTES >= FOVEA_NN_INT8_ROWS * (STACK_DIMS / FOVEA_NN_WORD_CODES * FOVEA_NN_INT8_WORD_BYTES) +
                                  STACK_DIMS * FOVEA_NN_INT8_OUTS +
                                  (STACK_DIMS / 16 + 1) * (FOVEA_NN_INT8_OUTS + FOVEA_NN_INT8_ROWS) * 4 +
                                  FOVEA_NN_INT8_ROWS * (FOVEA_NN_INT8_OUTS + 2) * 4 + 8 * 64,
               "a task of one tile of rows");
/* Tasks of each worker, so that none waits long for the last; the fewest tiles and outputs of a smaller task. */
enum { WORKER_TASKS = 2, LEAST_TILES = 2, LEAST_OUTS = 128 };

/* Words of four codes of so many dims, in whole steps. */
static int64_t words_of(const fovea_nn_int8 *int8, int64_t dims) {
  const int64_t step = int8->codes->word_step;
  return fovea_nn_parts_of(fovea_nn_parts_of(dims, FOVEA_NN_WORD_CODES), step) * step;
}

/* Groups of dims from the beginning of a piece on. */
static int64_t groups_of(const fovea_nn_quantised_header *header, int64_t dims) {
  return header->group == 0 ? 1 : fovea_nn_parts_of(dims, header->group);
}

/* Tiles of rows of a task: their codes stay in the second-level cache. */
static int64_t most_tiles(const fovea_nn_int8 *int8) {
  const fovea_nn_int8_kernels *k = int8->codes;
  const uint64_t tile = (uint64_t)(k->tile_rows * k->word_bytes) * (uint64_t)words_of(int8, int8->dims);
  const int64_t most = (int64_t)(CODES_BYTES / tile);
  return most < 1 ? 1 : most < int8->tiles ? most : int8->tiles;
}

/* Whether prepare() copies weights: to more bits, or to whole steps of words. */
static int has_copies(const fovea_nn_int8 *int8) {
  return int8->header.bits == 4 || int8->codes->word_step > 1;
}

/* For the largest task, so that fewer rows, or more workers, never need more for each. */
static void lay_out(fovea_nn_int8 *int8, int64_t tiles) {
  const fovea_nn_int8_kernels *k = int8->codes;
  const int64_t rows = tiles * k->tile_rows, groups = groups_of(&int8->header, int8->dims);
  const uint64_t word = (uint64_t)words_of(int8, int8->dims);
  fovea_nn_scratch all = {0};
  fovea_nn_int8_memory *parts = &int8->parts;
  parts->x = fovea_nn_reserve(&all, fovea_nn_product((uint64_t)rows * (uint64_t)k->word_bytes, word));
  parts->scales = fovea_nn_reserve(&all, fovea_nn_bytes(rows, 1, 1));
  parts->factors = fovea_nn_reserve(&all, fovea_nn_bytes(rows, 1, 1));
  parts->x_sums = fovea_nn_reserve(&all, fovea_nn_bytes(rows, groups, 1));
  /* of 4 bits a piece has whole words of eight codes */
  parts->words = fovea_nn_reserve(&all, has_copies(int8) ? fovea_nn_bytes((int64_t)word + 1, k->tile_outs, 1) : 0);
  parts->starts = fovea_nn_reserve(&all, fovea_nn_bytes(groups + 1, k->tile_outs, 1));
  parts->sums = fovea_nn_reserve(&all, fovea_nn_bytes(k->tile_rows, k->tile_outs, 1));
  parts->size = fovea_nn_size_of(&all);
}

int64_t fovea_nn_int8_tasks(const fovea_nn_int8 *int8) {
  return int8->row_blocks * int8->columns;
}

/* Blocks of half the size, if there are enough in one. */
static int halve(int64_t count, int64_t least, int64_t *blocks) {
  const int64_t block = fovea_nn_parts_of(count, *blocks);
  if (block < 2 * least) return 0;
  *blocks = fovea_nn_parts_of(count, block / 2);
  return 1;
}

void fovea_nn_cut_int8(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                       const fovea_nn_kernels *kernels, const fovea_nn_int8_kernels *codes, int workers,
                       int has_scratch, fovea_nn_int8 *int8) {
  *int8 = (fovea_nn_int8){.linear = linear, .rows = rows, .kernels = kernels, .codes = codes, .columns = 1};
  int8->header = fovea_nn_quantised_header_of(linear->weights);
  int8->dims = has_scratch || linear->in < STACK_DIMS ? linear->in : STACK_DIMS;
  const int64_t steps = fovea_nn_parts_of(rows->rows, codes->row_step),
                outs = fovea_nn_parts_of(LEAST_OUTS, codes->tile_outs);
  int8->tiles = rows->rows > 0 ? fovea_nn_parts_of(rows->rows, codes->tile_rows) : 1;
  int8->tile_steps = steps / int8->tiles;
  int8->taller = steps % int8->tiles;
  int8->groups = fovea_nn_parts_of(linear->out, codes->tile_outs);
  const int64_t tiles = has_scratch ? most_tiles(int8) : 1;
  lay_out(int8, tiles);
  int8->row_blocks = fovea_nn_parts_of(int8->tiles, tiles);
  const int64_t each = rows->rows == 1 ? 1 : WORKER_TASKS; /* one row reads weights as streams */
  const int64_t wanted = workers > 1 ? each * workers : 1;
  const int64_t even = fovea_nn_parts_of(int8->row_blocks, workers) * workers; /* as many for each worker */
  if (even > workers && even <= int8->tiles) int8->row_blocks = even;
  while (int8->row_blocks < wanted && int8->row_blocks * int8->columns < wanted) {
    if (halve(int8->tiles, LEAST_TILES, &int8->row_blocks)) continue;
    if (!halve(int8->groups, outs, &int8->columns)) break;
  }
}

/* A task: its tiles, tiles of outputs and memory. */
typedef struct int8_task {
  const fovea_nn_int8 *int8;
  int64_t tile, tiles, group, groups; /* the first of each */
  char *memory;
  void (*products)(const fovea_nn_products_args *args);
  int is_far; /* results are */
} int8_task;

/* Dims that are multiplied at a time, from `dim` to `end`, in one run of whole pieces and one of the last piece. */
typedef struct int8_range {
  int64_t dim, end;
} int8_range;

/* Some pieces of as many dims each. `done`: dims of the range before it. */
typedef struct int8_run {
  int64_t dim, done;
  int pieces, dims;
} int8_run;

/* The next run of a range. Returns 0 if there is none. */
static int next_run(const int8_range *range, int8_run *run) {
  const int64_t dim = run->pieces == 0 ? range->dim : run->dim + (int64_t)run->pieces * run->dims;
  const int64_t rest = range->end - dim;
  if (rest <= 0) return 0;
  run->dim = dim;
  run->done = dim - range->dim;
  run->pieces = rest < FOVEA_DOT_PIECE ? 1 : (int)(rest / FOVEA_DOT_PIECE);
  run->dims = rest < FOVEA_DOT_PIECE ? (int)rest : FOVEA_DOT_PIECE;
  return 1;
}

static int64_t tile_begin(const fovea_nn_int8 *int8, int64_t t) {
  return int8->codes->row_step * (int8->tile_steps * t + (t < int8->taller ? t : int8->taller));
}

/* Rows of a tile that exist, and rows that are multiplied: the last ones may be a part of a step. */
static int rows_of(const fovea_nn_int8 *int8, int64_t t) {
  const int64_t end = tile_begin(int8, t + 1), all = int8->rows->rows;
  return (int)((end < all ? end : all) - tile_begin(int8, t));
}
static int tile_rows(const fovea_nn_int8 *int8, int64_t t) {
  return (int)(tile_begin(int8, t + 1) - tile_begin(int8, t));
}

/* What a task keeps of tile `t`, the task's. */
static char *x_of(const int8_task *task, int64_t t) {
  const fovea_nn_int8 *int8 = task->int8;
  return task->memory + int8->parts.x +
         t * int8->codes->tile_rows * int8->codes->word_bytes * words_of(int8, int8->dims);
}
static float *floats_of(const int8_task *task, size_t part, int64_t t, int64_t numbers) {
  return (float *)(void *)(task->memory + part) + t * task->int8->codes->tile_rows * numbers;
}
static float *x_sums_of(const int8_task *task, int64_t t) {
  const fovea_nn_int8 *int8 = task->int8;
  return floats_of(task, int8->parts.x_sums, t, groups_of(&int8->header, int8->dims));
}

/* Whether the task has one row, for the kernel of one row. It needs the codes of all dims. */
static int is_row(const int8_task *task) {
  const fovea_nn_int8 *int8 = task->int8;
  return int8->rows->rows == 1 && int8->codes->row && int8->dims == int8->linear->in;
}

/* The codes of a range of all tiles. */
static void make_codes(const int8_task *task, const int8_range *range) {
  const fovea_nn_int8 *int8 = task->int8;
  const fovea_nn_linear_rows *r = int8->rows;
  for (int64_t t = 0; t < task->tiles; t++) {
    const int64_t row = tile_begin(int8, task->tile + t);
    const int rows = rows_of(int8, task->tile + t);
    float *scales = floats_of(task, int8->parts.scales, t, 1),
          *factors = floats_of(task, int8->parts.factors, t, 1);
    fovea_nn_codes_args args = {.x = {.type = r->x_type, .stride = r->x_stride},
                                .rows = rows,
                                .tile_rows = is_row(task) ? 1 : tile_rows(int8, task->tile + t),
                                .dims = range->end - range->dim,
                                .scales = scales,
                                .factors = factors,
                                .plain = is_row(task),
                                .to = x_of(task, t),
                                .group = (int)int8->header.group,
                                .sums = is_row(task) || int8->header.has_offsets ? x_sums_of(task, t) : NULL,
                                .begun = int8->header.group == 0 && range->dim > 0};
    if (range->dim == 0) {
      const fovea_nn_measure_args measure = {
          {fovea_output_element((void *)(uintptr_t)r->x, r->x_type, row * r->x_stride), r->x_type, r->x_stride},
          rows,
          int8->linear->in,
          scales,
          factors};
      int8->codes->measure(&measure);
      for (int i = rows; i < args.tile_rows; i++) scales[i] = 0.0f;
    }
    args.x.data = fovea_output_element((void *)(uintptr_t)r->x, r->x_type, row * r->x_stride + range->dim);
    int8->codes->codes(&args);
  }
}

/* The weights of a run, for tile `group` of outputs. A tile may have more panels than there are: then it multiplies the
 * last panel again, and nothing reads these sums. */
static fovea_nn_quantised_args weights_of(const fovea_nn_int8 *int8, int64_t group, const int8_run *run) {
  const fovea_nn_quantised_header *h = &int8->header;
  const char *weights = int8->linear->weights;
  const int64_t out = group * int8->codes->tile_outs, place = fovea_nn_quantised_place(h, run->dim, out);
  const int64_t panel = fovea_nn_quantised_panel_bytes(h, run->dims);
  return (fovea_nn_quantised_args){
      .bits = (int)h->bits,
      .group = (int)h->group,
      .has_offsets = (int)h->has_offsets,
      .values = h->values,
      .weights = weights + place,
      .panel_stride = h->out - out > FOVEA_NN_PANEL ? panel : 0,
      .piece_stride = fovea_nn_parts_of(h->out, FOVEA_NN_PANEL) * panel,
      .pieces = run->pieces,
      .dims = run->dims,
  };
}

static void *words_at(const int8_task *task, const int8_run *run) {
  const fovea_nn_int8 *int8 = task->int8;
  return task->memory + int8->parts.words +
         words_of(int8, run->done) * int8->codes->tile_outs * FOVEA_NN_WORD_CODES;
}

/* Groups of the range before a run. If all dims are one group, each of two runs has starts of its own. */
static int64_t groups_before(const int8_task *task, const int8_run *run) {
  return task->int8->header.group == 0 ? 0 : groups_of(&task->int8->header, run->done);
}
static int32_t *starts_at(const int8_task *task, const int8_run *run) {
  const fovea_nn_int8 *int8 = task->int8;
  const int64_t group = int8->header.group == 0 ? run->done > 0 : groups_before(task, run);
  return (int32_t *)(void *)(task->memory + int8->parts.starts) + group * int8->codes->tile_outs;
}

static fovea_nn_done results_of(const int8_task *task, int64_t t, int64_t group) {
  const fovea_nn_int8 *int8 = task->int8;
  const int tile_outs = int8->codes->tile_outs;
  return (fovea_nn_done){floats_of(task, int8->parts.sums, 0, 0), tile_outs,
                         .row = tile_begin(int8, task->tile + t), .out = group * tile_outs,
                         .rows = rows_of(int8, task->tile + t),   .outs = tile_outs};
}

static void prepare(const int8_task *task, int64_t group, const int8_range *range) {
  for (int8_run run = {0}; next_run(range, &run);) {
    const fovea_nn_prepare_args args = {weights_of(task->int8, group, &run), words_at(task, &run),
                                        starts_at(task, &run)};
    task->int8->codes->prepare(&args);
  }
}

/* One tile of rows by a tile of outputs, to its results if the range is the last. */
static void multiply(const int8_task *task, int64_t t, int64_t group, const int8_range *range) {
  const fovea_nn_int8 *int8 = task->int8;
  const fovea_nn_done done = results_of(task, t, group);
  fovea_nn_fetched y;
  if (task->is_far) y = fovea_nn_far_results(int8->linear, int8->rows, &done);
  const int rows = tile_rows(int8, task->tile + t);
  for (int8_run run = {0}; next_run(range, &run);) {
    const fovea_nn_products_args args = {
        .of = weights_of(int8, group, &run),
        .words = words_at(task, &run),
        .starts = starts_at(task, &run),
        .rows = rows,
        .x = x_of(task, t) + words_of(int8, run.done) * rows * int8->codes->word_bytes,
        .x_sums = x_sums_of(task, t) + groups_before(task, &run) * rows,
        .x_scales = floats_of(task, int8->parts.scales, t, 1),
        .begun = run.dim > 0,
        .ends = run.dim + (int64_t)run.pieces * run.dims == int8->linear->in,
        .sums = floats_of(task, int8->parts.sums, 0, 0),
        .y = &y,
    };
    task->products(&args);
  }
  if (range->end == int8->linear->in) fovea_nn_finish(int8->linear, int8->rows, int8->kernels, &done);
}

static void compute_tiles(const int8_task *task) {
  const int64_t in = task->int8->linear->in, dims = task->int8->dims;
  for (int64_t group = task->group; group < task->group + task->groups; group++) {
    for (int8_range range = {0}; range.dim < in; range.dim += dims) {
      range.end = in - range.dim < dims ? in : range.dim + dims;
      if (group == task->group || dims < in) make_codes(task, &range);
      prepare(task, group, &range);
      for (int64_t t = 0; t < task->tiles; t++) multiply(task, t, group, &range);
    }
  }
}

/* One row: its codes, and a word of zeros, which takes the place of another row. */
static void compute_row(const int8_task *task) {
  const fovea_nn_int8 *int8 = task->int8;
  const int64_t in = int8->linear->in, outs = int8->codes->tile_outs;
  const int8_range all = {0, in};
  char *codes = x_of(task, 0);
  make_codes(task, &all);
  memset(codes + words_of(int8, in) * FOVEA_NN_WORD_CODES, 0, FOVEA_NN_WORD_CODES);
  const fovea_nn_int8_row row = {int8,
                                 codes,
                                 x_sums_of(task, 0),
                                 *floats_of(task, int8->parts.scales, 0, 1),
                                 task->group * outs,
                                 (task->group + task->groups) * outs};
  fovea_nn_run_int8_row(&row);
}

static void compute(const int8_task *task) {
  const fovea_nn_int8_kernels *k = task->int8->codes;
  if (k->begin) k->begin();
  if (is_row(task))
    compute_row(task);
  else
    compute_tiles(task);
  if (k->end) k->end();
}

/* A function of its own, so that only calls without scratch have its memory on the stack. */
__attribute__((noinline)) static void compute_on_stack(int8_task *task) {
  _Alignas(FOVEA_SCRATCH_ALIGNMENT) char memory[STACK_BYTES];
  task->memory = memory;
  compute(task);
}

void fovea_nn_int8_task(const void *data, int64_t index, int worker) {
  const fovea_nn_int8 *int8 = data;
  const int64_t column = index % int8->columns, block = index / int8->columns;
  int8_task task = {.int8 = int8,
                    .tile = fovea_nn_part_begin(int8->tiles, int8->row_blocks, block),
                    .group = fovea_nn_part_begin(int8->groups, int8->columns, column)};
  task.is_far = int8->codes->products_far && fovea_nn_are_far(int8->rows);
  task.products = task.is_far ? int8->codes->products_far : int8->codes->products;
  task.tiles = fovea_nn_part_begin(int8->tiles, int8->row_blocks, block + 1) - task.tile;
  task.groups = fovea_nn_part_begin(int8->groups, int8->columns, column + 1) - task.group;
  fovea_float_state caller = fovea_float_begin();
  if (int8->memory) {
    task.memory = int8->memory + (size_t)worker * int8->parts.size;
    compute(&task);
  } else {
    compute_on_stack(&task);
  }
  fovea_float_end(caller);
}
