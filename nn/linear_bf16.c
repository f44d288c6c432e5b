#include "linear_bf16.h"

#include "../arch/float_state.h"
#include "../src/base/types.h"
#include "linear_finish.h"

enum {
  LINE = 64,
  ROW_STEP = FOVEA_NN_BF16_ROWS,
  STACK_ROWS = ROW_STEP, /* of a task without memory */
  MOST_ROWS = 512,       /* of a task with memory, */
  NEAR_BYTES = 1 << 20,  /* and bytes of its packed rows: they stay in the second-level cache, */
  BLOCK_BYTES = 4 << 20, /* or some dims of them */
  FAR_WEIGHTS = 8 << 20, /* bytes of weights: reading more once only is worth more than rows that are near */
  CHUNK_BYTES = 1 << 19, /* of sums that stay near while parts of the dims pass */
  WORKER_TASKS = 2,      /* each packs its rows */
  LEAST_SHARE = 1 << 10, /* bytes that a tile fetches */
  WIDE_ROWS = 8          /* rows that are copied as f32 at a time */
};

static size_t aligned(int64_t bytes) {
  return (size_t)fovea_nn_padded(bytes, FOVEA_SCRATCH_ALIGNMENT);
}

/* An odd number of lines: rows of a power of two would share few sets of a cache. */
static int64_t packed_stride(int64_t in, int x_bytes) {
  const int64_t bytes = fovea_nn_padded(in, FOVEA_NN_BF16_GROUP) * x_bytes;
  return (fovea_nn_padded(bytes, LINE) / LINE | 1) * LINE;
}

/* Large weights are read once for as many rows as there is room for. */
static int64_t most_rows(const fovea_nn_bf16_job *job, int has_memory) {
  const fovea_nn_linear *l = job->linear;
  const int64_t weights = l->in * l->out * (int64_t)sizeof(uint16_t);
  const int64_t bytes = weights > FAR_WEIGHTS ? BLOCK_BYTES : NEAR_BYTES;
  const int64_t fitting = bytes / job->x_stride / ROW_STEP * ROW_STEP;
  if (!has_memory) return STACK_ROWS;
  return fitting < ROW_STEP ? ROW_STEP : fitting > MOST_ROWS ? MOST_ROWS : fitting;
}

void fovea_nn_cut_bf16(const fovea_nn_linear *linear, const fovea_nn_linear_rows *rows,
                       const fovea_nn_kernels *kernels, const fovea_nn_bf16_kernels *bf16, int workers,
                       int has_memory, fovea_nn_bf16_job *job) {
  *job = (fovea_nn_bf16_job){.linear = linear, .rows = rows, .kernels = kernels, .bf16 = bf16};
  job->x_stride = packed_stride(has_memory ? linear->in : FOVEA_DOT_PIECE, bf16->x_bytes);
  const int64_t most = most_rows(job, has_memory), wanted = (int64_t)WORKER_TASKS * workers;
  job->row_blocks = fovea_nn_parts_of(rows->rows, most);
  job->block_rows =
      fovea_nn_padded(fovea_nn_parts_of(rows->rows, job->row_blocks > 0 ? job->row_blocks : 1), ROW_STEP);
  job->groups = fovea_nn_parts_of(linear->out, FOVEA_NN_OUTS);
  job->columns = workers <= 1 ? 1 : fovea_nn_parts_of(wanted, job->row_blocks > 0 ? job->row_blocks : 1);
  if (job->columns > job->groups) job->columns = job->groups;
  job->chunk = 1;
  if (!has_memory) return;
  const int64_t most_block = rows->rows < most ? fovea_nn_padded(rows->rows, ROW_STEP) : most;
  job->weights = aligned(most_block * job->x_stride);
  const int64_t dims = linear->in < bf16->dims ? fovea_nn_padded(linear->in, 2) : bf16->dims;
  const int64_t sums = most_block * FOVEA_NN_OUTS * (int64_t)sizeof(float);
  if (most_block * job->x_stride > NEAR_BYTES) job->chunk = sums < CHUNK_BYTES ? CHUNK_BYTES / sums : 1;
  if (job->chunk > job->groups) job->chunk = job->groups;
  job->sums = job->weights + aligned(dims * FOVEA_NN_OUTS * (int64_t)sizeof(uint16_t));
  job->task_bytes = job->sums + aligned(sums * job->chunk);
}

int64_t fovea_nn_bf16_tasks(const fovea_nn_bf16_job *job) {
  return job->row_blocks * job->columns;
}

/* A task's rows and memory. */
typedef struct bf16_task {
  const fovea_nn_bf16_job *job;
  int64_t row;
  int rows;
  int is_far;         /* results are */
  int64_t begin, end; /* groups */
  char *x;
  uint16_t *weights; /* room for cleared ones */
  float *sums;       /* rows of FOVEA_NN_OUTS of each group of a chunk */
} bf16_task;

/* Packs rows of another type than f32, some at a time. */
static void pack_widened(const fovea_nn_bf16_job *job, const fovea_nn_bf16_pack_args *given) {
  const fovea_type type = job->rows->x_type;
  float wide[WIDE_ROWS * FOVEA_DOT_PIECE];
  fovea_nn_bf16_pack_args args = *given;
  for (int row = 0; row < given->rows; row += args.rows) {
    const void *x = fovea_element(given->x, type, row * given->x_stride);
    args.rows = given->rows - row < WIDE_ROWS ? given->rows - row : WIDE_ROWS;
    const fovea_widen_args widen = {x, type, given->x_stride, args.rows, given->dims, wide, FOVEA_DOT_PIECE};
    job->kernels->widen(&widen);
    args.x = wide;
    args.x_stride = FOVEA_DOT_PIECE;
    args.to = given->to + row * given->to_stride;
    job->bf16->pack(&args);
  }
}

/* Packs dims of the task's rows. */
static void pack_rows(const bf16_task *task, int64_t dim, int dims, char *to) {
  const fovea_nn_bf16_job *job = task->job;
  const fovea_nn_linear_rows *r = job->rows;
  const void *x = fovea_element(r->x, r->x_type, task->row * r->x_stride + dim);
  fovea_nn_bf16_pack_args args = {x, r->x_stride, task->rows, dims, to, job->x_stride};
  if (r->x_type == FOVEA_F32)
    job->bf16->pack(&args);
  else if (r->x_type == FOVEA_BF16 && job->bf16->pack_bf16)
    job->bf16->pack_bf16(&args);
  else
    pack_widened(job, &args);
}

static int64_t dims_from(int64_t in, int64_t dim, int64_t part) {
  return in - dim < part ? in - dim : part;
}

/* The panels of a group from `dim` on, where they lie or, if the kernels need one, in a copy. */
static fovea_nn_bf16_panels find_panels(const bf16_task *task, int64_t group, int64_t dim, int64_t dims) {
  const fovea_nn_linear *l = task->job->linear;
  const int64_t outs = fovea_nn_padded(l->out, FOVEA_NN_PANEL), first = group * FOVEA_NN_PANELS;
  const int64_t rest = outs / FOVEA_NN_PANEL - first;
  fovea_nn_bf16_panels panels = {.weights = fovea_element(l->weights, FOVEA_BF16, dim * outs),
                                 .dims = dims,
                                 .piece_stride = FOVEA_DOT_PIECE * outs,
                                 .first = first,
                                 .panels = (int)(rest < FOVEA_NN_PANELS ? rest : FOVEA_NN_PANELS)};
  if (task->job->bf16->safe && task->job->bf16->safe(&panels)) return panels;
  task->job->bf16->clear(&panels, task->weights);
  panels.weights = task->weights;
  panels.piece_stride = (int64_t)FOVEA_DOT_PIECE * panels.panels * FOVEA_NN_PANEL;
  panels.first = 0;
  return panels;
}

/* Rows and panels of the task, and their sums. */
static fovea_nn_done results_of(const bf16_task *task, int64_t panel, int row,
                                const fovea_nn_bf16_tile_args *args) {
  return (fovea_nn_done){args->sums,
                         FOVEA_NN_OUTS,
                         .row = task->row + row,
                         .out = panel * FOVEA_NN_PANEL,
                         .rows = args->rows,
                         .outs = args->panels.panels * FOVEA_NN_PANEL};
}

/* A part of the dims for a group. */
typedef struct bf16_part {
  int64_t group, dim, dims;
  float *sums;                  /* of the task's rows */
  int is_last;                  /* then the sums are done */
  int64_t next_group, next_dim; /* of the part that comes next */
} bf16_part;

/* What the tiles of a part fetch: the weights of the part that comes next, of a whole piece after the other, in as many
 * shares as there are tiles. */
typedef struct bf16_ahead {
  const char *weights; /* NULL: nothing comes next */
  int64_t piece_stride, piece_bytes, share, bytes;
} bf16_ahead;

static bf16_ahead look_ahead(const bf16_task *task, const bf16_part *part) {
  const fovea_nn_linear *l = task->job->linear;
  const int64_t outs = fovea_nn_padded(l->out, FOVEA_NN_PANEL), size = (int64_t)sizeof(uint16_t);
  const int64_t dims = dims_from(l->in, part->next_dim, part->dims) / FOVEA_DOT_PIECE * FOVEA_DOT_PIECE;
  const int64_t tiles = fovea_nn_parts_of(task->rows, ROW_STEP) * FOVEA_NN_PANELS / task->job->bf16->panels;
  bf16_ahead ahead = {.piece_stride = FOVEA_DOT_PIECE * outs * size,
                      .piece_bytes = (int64_t)FOVEA_DOT_PIECE * FOVEA_NN_OUTS * size};
  if (part->next_group == task->end || (part->next_group + 1) * FOVEA_NN_OUTS > outs) return ahead;
  ahead.weights = fovea_element(l->weights, FOVEA_BF16,
                                part->next_dim * outs + part->next_group * FOVEA_NN_OUTS * FOVEA_DOT_PIECE);
  ahead.bytes = dims / FOVEA_DOT_PIECE * ahead.piece_bytes;
  for (ahead.share = LEAST_SHARE; ahead.share < ahead.piece_bytes && ahead.share * tiles < ahead.bytes;)
    ahead.share *= 2;
  return ahead;
}

/* The share of tile `index`. */
static void set_ahead(const bf16_ahead *ahead, const bf16_part *part, int64_t index,
                      fovea_nn_bf16_tile_args *args) {
  const int64_t place = index * ahead->share, steps = fovea_nn_parts_of(part->dims, FOVEA_NN_BF16_GROUP);
  args->lines = 0;
  if (!ahead->weights || place >= ahead->bytes) return;
  args->ahead = ahead->weights + place / ahead->piece_bytes * ahead->piece_stride + place % ahead->piece_bytes;
  args->lines = (int)fovea_nn_parts_of(ahead->share, LINE * steps);
}

/* Some panels at a time for all rows, so that they stay in the first-level cache. */
static void multiply(const bf16_task *task, const bf16_part *part, const fovea_nn_bf16_panels *panels,
                     const char *x) {
  const fovea_nn_bf16_kernels *k = task->job->bf16;
  const bf16_ahead ahead = look_ahead(task, part);
  const int is_whole = part->dim == 0 && part->is_last; /* then tiles write sums to one place, which stays near */
  const int64_t first = part->group * FOVEA_NN_PANELS;
  fovea_nn_fetched y;
  int64_t tile = 0;
  for (int panel = 0; panel < panels->panels; panel += k->panels) {
    fovea_nn_bf16_tile_args args = {.panels = *panels, .x_stride = task->job->x_stride, .begun = part->dim > 0};
    args.panels.first += panel;
    args.panels.panels = panels->panels - panel < k->panels ? panels->panels - panel : k->panels;
    for (int row = 0; row < task->rows; row += ROW_STEP, tile++) {
      args.x = x + row * args.x_stride;
      args.rows = task->rows - row < ROW_STEP ? task->rows - row : ROW_STEP;
      args.sums = part->sums + (is_whole ? 0 : row * FOVEA_NN_OUTS) + panel * FOVEA_NN_PANEL;
      set_ahead(&ahead, part, tile, &args);
      const fovea_nn_done done = results_of(task, first + panel, row, &args);
      if (part->is_last && task->is_far) {
        y = fovea_nn_far_results(task->job->linear, task->job->rows, &done);
        args.y = &y;
      }
      k->tile(&args);
      if (part->is_last) fovea_nn_finish(task->job->linear, task->job->rows, task->job->kernels, &done);
    }
  }
}

/* Without memory, rows are packed for each part. */
static void compute_part(const bf16_task *task, const bf16_part *part) {
  const fovea_nn_bf16_job *job = task->job;
  const fovea_nn_bf16_panels panels = find_panels(task, part->group, part->dim, part->dims);
  if (!job->memory) pack_rows(task, part->dim, (int)part->dims, task->x);
  multiply(task, part, &panels, task->x + (job->memory ? part->dim * job->bf16->x_bytes : 0));
}

/* Each part of the dims for all groups of a chunk, from `begin` up to `end`, so that a part of the packed rows stays in the cache. */
static void compute_chunk(const bf16_task *task, int64_t begin, int64_t end) {
  const fovea_nn_bf16_job *job = task->job;
  const int64_t in = job->linear->in, most = job->memory ? job->bf16->dims : FOVEA_DOT_PIECE;
  const int64_t sums = fovea_nn_padded(task->rows, ROW_STEP) * FOVEA_NN_OUTS; /* tiles write whole steps */
  for (int64_t dim = 0; dim < in; dim += most) {
    bf16_part part = {.dim = dim, .dims = dims_from(in, dim, most), .sums = task->sums};
    part.is_last = dim + part.dims == in;
    for (part.group = begin; part.group < end; part.group++, part.sums += sums) {
      part.next_group = part.group + 1 < end ? part.group + 1 : part.is_last ? end : begin;
      part.next_dim = part.group + 1 < end ? dim : part.is_last ? 0 : dim + part.dims;
      compute_part(task, &part);
    }
  }
}

/* With memory, rows are packed once. */
static void compute(const bf16_task *task) {
  const fovea_nn_bf16_job *job = task->job;
  const int64_t in = job->linear->in;
  for (int64_t dim = 0; job->memory && dim < in; dim += FOVEA_DOT_PIECE)
    pack_rows(task, dim, (int)dims_from(in, dim, FOVEA_DOT_PIECE), task->x + dim * job->bf16->x_bytes);
  for (int64_t begin = task->begin; begin < task->end; begin += job->chunk)
    compute_chunk(task, begin, begin + job->chunk < task->end ? begin + job->chunk : task->end);
}

/* What a task without memory has: packed rows, cleared weights of a piece, and sums. */
typedef struct stack_memory {
  _Alignas(LINE) char x[STACK_ROWS * (FOVEA_DOT_PIECE * sizeof(float) + LINE)];
  uint16_t weights[FOVEA_NN_OUTS * FOVEA_DOT_PIECE];
  float sums[STACK_ROWS * FOVEA_NN_OUTS];
} stack_memory;

static void run_on_stack(const bf16_task *given) {
  stack_memory memory;
  bf16_task task = *given;
  task.x = memory.x;
  task.weights = memory.weights;
  task.sums = memory.sums;
  compute(&task);
}

void fovea_nn_bf16_task(const void *data, int64_t index, int worker) {
  const fovea_nn_bf16_job *job = data;
  const int64_t column = index % job->columns, row = index / job->columns * job->block_rows;
  const int64_t rest = job->rows->rows - row;
  bf16_task task = {.job = job,
                    .row = row,
                    .rows = (int)(rest < job->block_rows ? rest : job->block_rows),
                    .is_far = fovea_nn_are_far(job->rows),
                    .begin = fovea_nn_part_begin(job->groups, job->columns, column),
                    .end = fovea_nn_part_begin(job->groups, job->columns, column + 1)};
  if (task.rows <= 0) return; /* blocks are whole steps, so the last may be empty */
  fovea_float_state caller = fovea_float_begin();
  if (job->bf16->begin) job->bf16->begin();
  if (job->memory) {
    task.x = job->memory + (size_t)worker * job->task_bytes;
    task.weights = (uint16_t *)(void *)(task.x + job->weights);
    task.sums = (float *)(void *)(task.x + job->sums);
    compute(&task);
  } else {
    run_on_stack(&task);
  }
  if (job->bf16->end) job->bf16->end();
  fovea_float_end(caller);
}
