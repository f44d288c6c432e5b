#include "caller.h"

#include "../../arch/float_state.h"
#include "../../arch/groups.h"
#include "error.h"
#include "resolve.h"
#include "unused.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Writes as many bytes of the defaults as the caller's struct has. */
static void write_defaults(void *to, size_t struct_size, const void *defaults, size_t size) {
  memcpy(to, defaults, struct_size < size ? struct_size : size);
}

/* Volatile, so that the compiler cannot compute it elsewhere or in advance. */
double fovea_default_scale(int64_t qk_dim) {
  volatile int64_t dim = qk_dim;
  volatile double scale;
  if (qk_dim < 1) return 1;
  fovea_float_state caller = fovea_float_begin();
  scale = 1.0 / sqrt((double)dim);
  fovea_float_end(caller);
  return scale;
}

/* What an initialiser sets of each kind of field, src/feature/list.inc. */
#define DEFAULT_NUMBER(field, unset)         .field = unset,
#define DEFAULT_REAL(field, unset)           .field = unset,
#define DEFAULT_POINTER(field, unset)        .field = unset,
#define DEFAULT_FLAG(field, unset)           .field = 0,
#define DEFAULT_ENUM(field, unset)           .field = 0,
#define DEFAULT_RANGE(field, unset)          .field = {0, FOVEA_UNLIMITED},
#define DEFAULT_STRIDES(field, unset)        .field = FOVEA_UNSET_STRIDES,
#define DEFAULT_WANTED_STRIDES(field, unset) .field = FOVEA_UNSET_STRIDES,
#define DEFAULT_MASK_STRIDES(field, unset)                                                                         \
  .field = {FOVEA_CONTIGUOUS, FOVEA_CONTIGUOUS, FOVEA_CONTIGUOUS, FOVEA_CONTIGUOUS},
#define DEFAULT_SCALE(field, unset) .field = unset,
#define DEFAULT_OTHER(field, unset)

void fovea_problem_init_sized(fovea_problem *problem, size_t struct_size, int64_t batch, int64_t heads,
                              int64_t kv_heads, int64_t q_len, int64_t kv_len, int64_t qk_dim, int64_t v_dim) {
  const fovea_problem defaults = {
#define FIELD(NAME, field, kind, unset) DEFAULT_##kind(field, unset)
#include "../feature/list.inc"
      .struct_size = struct_size,
      .batch = batch,
      .heads = heads,
      .kv_heads = kv_heads,
      .q_len = q_len,
      .kv_len = kv_len,
      .qk_dim = qk_dim,
      .v_dim = v_dim,
  };
  write_defaults(problem, struct_size, &defaults, sizeof defaults);
}

/* Takes numbers, not strides: where this is not inlined, gcc stores strides one by one and loads them at once, and the
 * CPU waits for that. */
static void resolve_contiguous(fovea_strides *strides, int64_t heads, int64_t rows, int64_t dim) {
  fovea_resolve_strides(strides, fovea_contiguous_strides(heads, rows, dim));
}

/* What stands for a default that follows from sizes. */
#define OF_SIZES(heads, rows, dim)           heads, rows, dim
#define RESOLVE_STRIDES(strides, contiguous) resolve_contiguous(&(strides), OF_SIZES contiguous);
#define LAST_OF(heads, rows, dim)            (dim)
#define RESOLVE_WANTED_STRIDES(strides, contiguous)                                                                \
  if (LAST_OF contiguous != 0) RESOLVE_STRIDES(strides, contiguous)
#define RESOLVE_MASK_STRIDES(strides, unset) resolve_mask_strides(p, &(strides));
#define RESOLVE_SCALE(scale, unset)
#define RESOLVE_NUMBER(number, unset)
#define RESOLVE_REAL(number, unset)
#define RESOLVE_POINTER(pointer, unset)
#define RESOLVE_FLAG(flag, unset)
#define RESOLVE_ENUM(number, unset)
#define RESOLVE_RANGE(range, unset)
#define RESOLVE_OTHER(other, unset)

static void resolve_mask_strides(const fovea_problem *p, fovea_mask_strides *strides) {
  const fovea_strides pairs = fovea_contiguous_strides(p->heads, p->q_len, p->kv_len);
  fovea_resolve_stride(&strides->batch, pairs.batch);
  fovea_resolve_stride(&strides->head, pairs.head);
  fovea_resolve_stride(&strides->row, pairs.row);
  fovea_resolve_stride(&strides->key, 1);
}

void fovea_resolve_problem(fovea_problem *p) {
  fovea_resolve_scale(&p->scale, p->qk_dim);
#define FIELD(NAME, field, kind, unset) RESOLVE_##kind(p->field, unset)
#include "../feature/list.inc"
}

fovea_strides fovea_strides_rows_before_heads(int64_t rows, int64_t heads, int64_t dim) {
  uint64_t row = (uint64_t)heads * (uint64_t)dim;
  return (fovea_strides){(int64_t)((uint64_t)rows * row), dim, (int64_t)row};
}

fovea_mask_strides fovea_mask_layout(fovea_mask_type type, int64_t batch, int64_t heads, int64_t rows,
                                     int64_t keys) {
  int64_t row = type == FOVEA_MASK_BITS && keys < INT64_MAX - 7 ? (keys + 7) / 8 * 8 : keys;
  fovea_strides strides = fovea_contiguous_strides(heads, rows, row);
  return (fovea_mask_strides){batch == 1 ? 0 : strides.batch, heads == 1 ? 0 : strides.head,
                              rows == 1 ? 0 : strides.row, keys != 1};
}

void fovea_tensors_init_sized(fovea_tensors *tensors, size_t struct_size, const void *q, const void *k,
                              const void *v, void *o, float *lse) {
  const fovea_tensors defaults = {.struct_size = struct_size, .q = q, .k = k, .v = v, .o = o, .lse = lse};
  write_defaults(tensors, struct_size, &defaults, sizeof defaults);
}

void fovea_execution_init_sized(fovea_execution *execution, size_t struct_size) {
  const fovea_execution defaults = {.struct_size = struct_size};
  write_defaults(execution, struct_size, &defaults, sizeof defaults);
}

void fovea_isa_report_init_sized(fovea_isa_report *report, size_t struct_size) {
  const fovea_isa_report defaults = {.struct_size = struct_size};
  write_defaults(report, struct_size, &defaults, sizeof defaults);
}

void fovea_library_info_init_sized(fovea_library_info *info, size_t struct_size) {
  const fovea_library_info defaults = {.struct_size = struct_size};
  write_defaults(info, struct_size, &defaults, sizeof defaults);
}

void fovea_rotary_init_sized(fovea_rotary *rotary, size_t struct_size, fovea_rotary_layout layout, int64_t dims) {
  const fovea_rotary defaults = {.struct_size = struct_size,
                                 .layout = layout,
                                 .dims = dims,
                                 .base = 10000.0,
                                 .table_stride = FOVEA_CONTIGUOUS,
                                 .axes = 1};
  write_defaults(rotary, struct_size, &defaults, sizeof defaults);
}

void fovea_rotation_init_sized(fovea_rotation *rotation, size_t struct_size, int64_t batch, int64_t heads,
                               int64_t rows, int64_t dim, const void *from, void *to) {
  const fovea_rotation defaults = {
      .struct_size = struct_size,
      .batch = batch,
      .heads = heads,
      .rows = rows,
      .dim = dim,
      .from = from,
      .to = to,
      .from_strides = FOVEA_UNSET_STRIDES,
      .to_strides = FOVEA_UNSET_STRIDES,
  };
  write_defaults(rotation, struct_size, &defaults, sizeof defaults);
}

void fovea_hadamard_init_sized(fovea_hadamard *hadamard, size_t struct_size, int64_t batch, int64_t heads,
                               int64_t rows, int64_t dim, int64_t block, const void *from, void *to) {
  const fovea_hadamard defaults = {
      .struct_size = struct_size,
      .batch = batch,
      .heads = heads,
      .rows = rows,
      .dim = dim,
      .block = block,
      .from = from,
      .to = to,
      .from_strides = FOVEA_UNSET_STRIDES,
      .to_strides = FOVEA_UNSET_STRIDES,
  };
  write_defaults(hadamard, struct_size, &defaults, sizeof defaults);
}

void fovea_new_rows_init_sized(fovea_new_rows *rows, size_t struct_size, int64_t batch, int64_t kv_heads,
                               int64_t row_count, int64_t qk_dim, int64_t v_dim, const void *k, const void *v,
                               const fovea_sequence *sequences) {
  const fovea_new_rows defaults = {
      .struct_size = struct_size,
      .batch = batch,
      .kv_heads = kv_heads,
      .rows = row_count,
      .qk_dim = qk_dim,
      .v_dim = v_dim,
      .k = k,
      .v = v,
      .k_strides = FOVEA_UNSET_STRIDES,
      .v_strides = FOVEA_UNSET_STRIDES,
      .sequences = sequences,
  };
  write_defaults(rows, struct_size, &defaults, sizeof defaults);
}

void fovea_move_init_sized(fovea_move *move, size_t struct_size, const fovea_sequence *sequence, int64_t kv_heads,
                           int64_t qk_dim, int64_t v_dim, int64_t begin, int64_t end, int64_t to) {
  const fovea_move defaults = {
      .struct_size = struct_size,
      .sequence = sequence,
      .layers = 1,
      .kv_heads = kv_heads,
      .qk_dim = qk_dim,
      .v_dim = v_dim,
      .begin = begin,
      .end = end,
      .to = to,
      .rotate_by = FOVEA_ROTATE_AS_MOVED,
  };
  write_defaults(move, struct_size, &defaults, sizeof defaults);
}

void fovea_pages_init_sized(fovea_pages *pages, size_t struct_size, size_t segment_size, int64_t count,
                            int64_t page_rows, int64_t kv_heads, int64_t qk_dim, int64_t v_dim, fovea_type type,
                            fovea_key_layout k_layout) {
  fovea_pages defaults = {
      .struct_size = struct_size,
      .count = count,
      .page_rows = page_rows,
      .kv_heads = kv_heads,
      .qk_dim = qk_dim,
      .v_dim = v_dim,
      .k_type = type,
      .v_type = type,
      .k_layout = k_layout,
      .k_strides = fovea_contiguous_strides(kv_heads, page_rows, qk_dim),
      .v_strides = fovea_contiguous_strides(kv_heads, page_rows, v_dim),
      .layers = 1,
      .segment_size = segment_size,
  };
  if (k_layout == FOVEA_KEYS_IN_PANELS) {
    defaults.k_strides =
        fovea_contiguous_strides(kv_heads, page_rows / FOVEA_PANEL_ROWS, fovea_panel_elements(qk_dim, type));
  }
  defaults.k_layer = (int64_t)((uint64_t)count * (uint64_t)defaults.k_strides.batch);
  defaults.v_layer = (int64_t)((uint64_t)count * (uint64_t)defaults.v_strides.batch);
  write_defaults(pages, struct_size, &defaults, sizeof defaults);
}

void fovea_state_init_sized(fovea_state *state, size_t struct_size, int64_t batch, int64_t heads, int64_t rows,
                            int64_t dim, int64_t keys_begin, int64_t keys_end, float *numbers) {
  const fovea_state defaults = {
      .struct_size = struct_size,
      .batch = batch,
      .heads = heads,
      .rows = rows,
      .dim = dim,
      .keys.begin = keys_begin,
      .keys.end = keys_end,
      .numbers = numbers,
      .strides = FOVEA_UNSET_STRIDES,
  };
  write_defaults(state, struct_size, &defaults, sizeof defaults);
}

/* A struct has had one size so far. A later version that has more fields at the end takes this size, too, and uses
 * the defaults for fields that the caller's struct does not have. */
static fovea_status check_size(const char *name, const char *type, size_t size, size_t now, fovea_error *error) {
  if (size == now) return FOVEA_OK;
  return fovea_fail(
      error, FOVEA_ERROR_ARGUMENT,
      "%s.struct_size is %ju, and this library's is %ju: the program was compiled for another version, "
      "or the struct was not initialised: call fovea_%s_init()",
      name, (uint64_t)size, (uint64_t)now, type);
}

/* Copies a struct. `name` is the caller's name of it, `type` is in the name of its initialiser. */
static fovea_status read_struct(const char *name, const char *type, const void *given, void *copy, size_t size,
                                fovea_error *error) {
  size_t struct_size;
  if (!given) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", name);
  memcpy(&struct_size, given, sizeof struct_size);
  const fovea_status status = check_size(name, type, struct_size, size, error);
  if (!status) memcpy(copy, given, size);
  return status;
}

fovea_status fovea_copy_problem(const fovea_problem *given, fovea_problem *problem, fovea_error *error) {
  return read_struct("problem", "problem", given, problem, sizeof *problem, error);
}

fovea_status fovea_read_problem(const fovea_problem *given, fovea_problem *problem, fovea_error *error) {
  const fovea_status status = fovea_copy_problem(given, problem, error);
  if (!status) fovea_resolve_problem(problem);
  return status;
}

fovea_status fovea_problem_resolve(fovea_problem *problem, fovea_error *error) {
  fovea_problem resolved;
  const fovea_status status = fovea_read_problem(problem, &resolved, error);
  if (!status) *problem = resolved;
  return status;
}

fovea_status fovea_read_tensors(const fovea_tensors *given, fovea_tensors *tensors, fovea_error *error) {
  return read_struct("tensors", "tensors", given, tensors, sizeof *tensors, error);
}

fovea_status fovea_check_allocator(const fovea_allocator *allocator, fovea_error *error) {
  if (!allocator->allocate && allocator->context) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "allocator.context is not NULL and would not be used: allocator.allocate is NULL");
  }
  if (!allocator->allocate == !allocator->release) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "allocator.%s is NULL; set both functions or neither",
                    allocator->allocate ? "release" : "allocate");
}

fovea_status fovea_read_execution(const fovea_execution *given, fovea_execution *execution, fovea_error *error) {
  fovea_execution_init_sized(execution, sizeof *execution);
  if (!given) return FOVEA_OK;
  fovea_status status = read_struct("execution", "execution", given, execution, sizeof *execution, error);
  if (status) return status;
  if (given->threads < 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "threads is %jd; it must be 1 or more, or 0 for the default",
                      (int64_t)given->threads);
  }
  status = fovea_check_allocator(&execution->allocator, error);
  return status ? status : fovea_refuse_unused_execution(execution, error);
}

fovea_status fovea_read_row_execution(const fovea_execution *given, fovea_execution *execution,
                                      fovea_error *error) {
  fovea_status status = fovea_read_execution(given, execution, error);
  return status ? status : fovea_refuse_unused_scratch(execution, error);
}

fovea_status fovea_read_rotary(const fovea_rotary *given, fovea_rotary *rotary, fovea_error *error) {
  const fovea_status status = read_struct("rotary", "rotary", given, rotary, sizeof *rotary, error);
  if (status) return status;
  fovea_resolve_stride(&rotary->table_stride, rotary->dims / 2);
  return FOVEA_OK;
}

fovea_status fovea_read_rotation(const fovea_rotation *given, fovea_rotation *rotation, fovea_error *error) {
  const fovea_status status = read_struct("rotation", "rotation", given, rotation, sizeof *rotation, error);
  if (status) return status;
  resolve_contiguous(&rotation->from_strides, rotation->heads, rotation->rows, rotation->dim);
  resolve_contiguous(&rotation->to_strides, rotation->heads, rotation->rows, rotation->dim);
  return FOVEA_OK;
}

#if FOVEA_BUILDS_FORMATS
fovea_status fovea_read_hadamard(const fovea_hadamard *given, fovea_hadamard *hadamard, fovea_error *error) {
  const fovea_status status = read_struct("hadamard", "hadamard", given, hadamard, sizeof *hadamard, error);
  if (status) return status;
  resolve_contiguous(&hadamard->from_strides, hadamard->heads, hadamard->rows, hadamard->dim);
  resolve_contiguous(&hadamard->to_strides, hadamard->heads, hadamard->rows, hadamard->dim);
  return FOVEA_OK;
}
#endif

fovea_status fovea_read_new_rows(const fovea_new_rows *given, fovea_new_rows *rows, fovea_error *error) {
  const fovea_status status = read_struct("rows", "new_rows", given, rows, sizeof *rows, error);
  if (status) return status;
  resolve_contiguous(&rows->k_strides, rows->kv_heads, rows->rows, rows->qk_dim);
  resolve_contiguous(&rows->v_strides, rows->kv_heads, rows->rows, rows->v_dim);
  return FOVEA_OK;
}

fovea_status fovea_read_move(const fovea_move *given, fovea_move *move, fovea_error *error) {
  return read_struct("move", "move", given, move, sizeof *move, error);
}

fovea_status fovea_read_pages(const fovea_pages *given, fovea_pages *pages, fovea_error *error) {
  const fovea_status status = read_struct("pages", "pages", given, pages, sizeof *pages, error);
  if (status || pages->segment_size == sizeof(fovea_segment)) return status;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "pages.segment_size is %ju, and this library's is %ju; call fovea_pages_init()",
                    (uint64_t)pages->segment_size, (uint64_t)sizeof(fovea_segment));
}

fovea_status fovea_check_segment_size(const fovea_sequence *sequence, int64_t entry, fovea_error *error) {
  if (sequence->segment_size == sizeof(fovea_segment)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "sequences[%jd].segment_size is %ju, and this library's is %ju; call fovea_sequence_of()",
                    entry, (uint64_t)sequence->segment_size, (uint64_t)sizeof(fovea_segment));
}

#if FOVEA_BUILDS_STATES
fovea_status fovea_read_state(const char *name, const fovea_state *given, fovea_state *state, fovea_error *error) {
  const fovea_status status = read_struct(name, "state", given, state, sizeof *state, error);
  if (status) return status;
  const int64_t numbers = fovea_state_numbers(state->dim, state->keys.begin, state->keys.end);
  resolve_contiguous(&state->strides, state->heads, state->rows, numbers);
  return FOVEA_OK;
}
#endif
