/* Embeddings: checked, and cut into tasks of rows. */
#include "../arch/float_state.h"
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/resolve.h"
#include "../src/base/row_tasks.h"
#include "../src/base/types.h"
#include "../src/base/validate.h"
#include "choose_table.h"
#include "defaults.h"
#include "ids.h"
#include "tasks.h"

typedef struct embed_job {
  const fovea_nn_embedding *embedding;
  const fovea_nn_embedding_rows *rows;
  const fovea_nn_kernels *kernels;
} embed_job;

void fovea_nn_embedding_init_sized(fovea_nn_embedding *embedding, size_t struct_size, int64_t dim, int64_t count,
                                   const void *tokens) {
  const fovea_nn_embedding defaults = {.struct_size = struct_size,
                                       .dim = dim,
                                       .tokens = {.data = tokens, .count = count, .stride = FOVEA_CONTIGUOUS},
                                       .token_types = {.stride = FOVEA_CONTIGUOUS},
                                       .positions = {.stride = FOVEA_CONTIGUOUS},
                                       .scale = 1.0f};
  fovea_nn_write_defaults(embedding, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_embedding_rows_init_sized(fovea_nn_embedding_rows *rows, size_t struct_size,
                                        const fovea_nn_embedding *embedding, int64_t row_count, const void *ids,
                                        void *y) {
  (void)embedding; /* strides are those of the embedding that runs */
  const fovea_nn_embedding_rows defaults = {
      .struct_size = struct_size, .rows = row_count, .y = y, .y_stride = FOVEA_CONTIGUOUS, .ids = ids};
  fovea_nn_write_defaults(rows, struct_size, &defaults, sizeof defaults);
}

fovea_status fovea_nn_read_embedding(const fovea_nn_embedding *given, fovea_nn_embedding *embedding,
                                     fovea_error *error) {
  const fovea_status status = fovea_nn_read_struct("embedding", given, embedding, sizeof *embedding, error);
  if (status) return status;
  fovea_resolve_stride(&embedding->tokens.stride, embedding->dim);
  fovea_resolve_stride(&embedding->token_types.stride, embedding->dim);
  fovea_resolve_stride(&embedding->positions.stride, embedding->dim);
  return FOVEA_OK;
}

static fovea_status read_rows(const fovea_nn_embedding_rows *given, int64_t dim, fovea_nn_embedding_rows *rows,
                              fovea_error *error) {
  const fovea_status status = fovea_nn_read_struct("rows", given, rows, sizeof *rows, error);
  if (status) return status;
  fovea_resolve_stride(&rows->y_stride, dim);
  return FOVEA_OK;
}

/* Checks a table that may be absent, and that y is apart from it. */
static fovea_status check_table(const char *name, const fovea_nn_table *table, int64_t dim,
                                const fovea_nn_matrix *y, fovea_error *error) {
  if (!table->data && (table->count != 0 || table->type != FOVEA_F32 || table->stride != dim)) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s.%s is set and would not be used: %s.data is NULL", name,
                      table->count != 0          ? "count"
                      : table->type != FOVEA_F32 ? "type"
                                                 : "stride",
                      name);
  }
  const fovea_bounded sizes[] = {{"count", table->count, 0, FOVEA_LENGTH_LIMIT},
                                 fovea_bounded_type("type", table->type)};
  const fovea_nn_matrix matrix = {name, table->data, table->type, table->count, dim, table->stride};
  fovea_status status = fovea_validate_bounds(name, sizes, 2, error);
  if (!status) status = fovea_nn_check_table(&matrix, error);
  return status ? status : fovea_nn_check_apart(y, &matrix, error);
}

static fovea_status check_tables(const fovea_nn_embedding *e, const fovea_nn_embedding_rows *r,
                                 fovea_error *error) {
  const fovea_bounded dim = {"dim", e->dim, 1, FOVEA_DIM_LIMIT}, rows = {"rows", r->rows, 0, FOVEA_LENGTH_LIMIT};
  const fovea_bounded id_type = {"id_type", (int)r->id_type, 0, FOVEA_NN_INT64};
  const fovea_nn_matrix y = {"y", r->y, r->y_type, r->rows, e->dim, r->y_stride};
  fovea_status status = fovea_validate_bounds("embedding", &dim, 1, error);
  if (!status) status = fovea_validate_bounds(NULL, &rows, 1, error);
  if (!status) status = fovea_validate_bounds(NULL, &id_type, 1, error);
  if (!status && e->scale - e->scale != 0) {
    status = fovea_fail(error, FOVEA_ERROR_ARGUMENT, "scale is %g; it must be finite", (double)e->scale);
  }
  if (!status && !e->tokens.data) status = fovea_fail(error, FOVEA_ERROR_ARGUMENT, "tokens.data is NULL");
  if (!status) status = fovea_nn_check_matrix(&y, 1, error);
  if (!status) status = check_table("tokens", &e->tokens, e->dim, &y, error);
  if (!status) status = check_table("token_types", &e->token_types, e->dim, &y, error);
  return status ? status : check_table("positions", &e->positions, e->dim, &y, error);
}

static fovea_status refuse_unused(const fovea_nn_embedding *e, const fovea_nn_embedding_rows *r,
                                  fovea_error *error) {
  if (!e->token_types.data && r->token_type_ids) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "token_type_ids is set and would not be used: embedding.token_types is not set");
  }
  if (!e->positions.data && (r->position_ids || r->first_position != 0)) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: embedding.positions is not set",
                      r->position_ids ? "position_ids" : "first_position");
  }
  if (r->position_ids && r->first_position != 0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "first_position is %jd and would not be used: position_ids is not NULL", r->first_position);
  }
  return FOVEA_OK;
}

static fovea_status check_list(const char *name, const void *list, const fovea_nn_embedding_rows *r,
                               const fovea_nn_matrix *y, const fovea_nn_table *table, const char *of,
                               fovea_error *error) {
  const fovea_nn_ids ids = {name, list, r->id_type, r->rows};
  const fovea_status status = fovea_nn_check_ids(&ids, y, error);
  return status ? status : fovea_nn_check_id_range(&ids, 0, table->count - 1, of, error);
}

static fovea_status check_ids(const fovea_nn_embedding *e, const fovea_nn_embedding_rows *r, fovea_error *error) {
  const fovea_nn_matrix y = {"y", r->y, r->y_type, r->rows, e->dim, r->y_stride};
  fovea_status status = check_list("ids", r->ids, r, &y, &e->tokens, ", the rows of tokens", error);
  if (!status && e->token_types.data) {
    status =
        check_list("token_type_ids", r->token_type_ids, r, &y, &e->token_types, ", the rows of token_types", error);
  }
  if (status || !e->positions.data || r->rows == 0) return status;
  if (r->position_ids) {
    return check_list("position_ids", r->position_ids, r, &y, &e->positions, ", the rows of positions", error);
  }
  if (r->first_position >= 0 && r->first_position <= e->positions.count - r->rows) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "first_position is %jd for %jd rows; positions must be from 0 to %jd, the rows of positions",
                    r->first_position, r->rows, e->positions.count - 1);
}

static const void *row_of(const fovea_nn_table *table, int64_t id) {
  return fovea_element(table->data, table->type, id * table->stride);
}

static void embed_row(const embed_job *job, int64_t row) {
  const fovea_nn_embedding *e = job->embedding;
  const fovea_nn_embedding_rows *r = job->rows;
  const fovea_nn_ids ids = {NULL, r->ids, r->id_type, r->rows},
                     types = {NULL, r->token_type_ids, r->id_type, r->rows},
                     positions = {NULL, r->position_ids, r->id_type, r->rows};
  fovea_nn_embed_args args = {.count = e->dim,
                              .x = row_of(&e->tokens, fovea_nn_id_at(&ids, row)),
                              .x_type = e->tokens.type,
                              .scale = e->scale,
                              .addend_types = {e->token_types.type, e->positions.type},
                              .y = fovea_output_element(r->y, r->y_type, row * r->y_stride),
                              .y_type = r->y_type};
  if (e->token_types.data) args.addends[0] = row_of(&e->token_types, fovea_nn_id_at(&types, row));
  if (e->positions.data) {
    const int64_t position = r->position_ids ? fovea_nn_id_at(&positions, row) : r->first_position + row;
    args.addends[1] = row_of(&e->positions, position);
  }
  job->kernels->embed(&args);
}

static void embed_task(const void *data, int64_t task, int worker) {
  const embed_job *job = data;
  const int64_t rest = job->rows->rows - task * FOVEA_TASK_ROWS;
  const int64_t end = task * FOVEA_TASK_ROWS + (rest < FOVEA_TASK_ROWS ? rest : FOVEA_TASK_ROWS);
  fovea_float_state caller = fovea_float_begin();
  (void)worker;
  for (int64_t row = task * FOVEA_TASK_ROWS; row < end; row++) embed_row(job, row);
  fovea_float_end(caller);
}

fovea_status fovea_nn_embed(const fovea_nn_embedding *given, const fovea_nn_embedding_rows *given_rows,
                            const fovea_execution *given_execution, fovea_error *error) {
  fovea_nn_embedding embedding;
  fovea_nn_embedding_rows rows;
  fovea_execution execution;
  const fovea_nn_kernels *kernels;
  fovea_status status = fovea_nn_read_embedding(given, &embedding, error);
  if (!status) status = read_rows(given_rows, embedding.dim, &rows, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (status) return status;
  fovea_float_state caller = fovea_float_begin();
  status = check_tables(&embedding, &rows, error);
  fovea_float_end(caller);
  if (!status) status = refuse_unused(&embedding, &rows, error);
  if (!status) status = check_ids(&embedding, &rows, error);
  if (!status) status = fovea_nn_dispatch(execution.isa, &kernels, error);
  if (status || rows.rows == 0) return status;
  const embed_job job = {&embedding, &rows, kernels};
  const double elements = (double)rows.rows * (double)embedding.dim;
  fovea_nn_run_tasks(embed_task, &job, fovea_row_tasks(rows.rows), elements * FOVEA_NN_WORK_TO_MOVE, INT_MAX,
                     &execution);
  return FOVEA_OK;
}
