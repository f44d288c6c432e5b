/* Caches and attention over them as functions of numbers and pointers, for cache_fovea.py and mode_fovea.py: Python
 * needs no copies of the structs. */
#include <fovea/explain.h>
#include <fovea/format.h>
#include <fovea/fovea.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLED __attribute__((visibility("default")))

enum { memory_alignment = 2 << 20 }; /* huge pages, if the system has them */

typedef struct cache_store {
  int64_t batch, kv_heads, keys, dim;
  void *memory;
  fovea_segment *segments;
  fovea_sequence *sequences;
  fovea_format format; /* of codes */
  float scale;         /* of all elements, if the format has it apart: 1 */
} cache_store;

typedef struct cache_call {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;
  fovea_plan *plan;
} cache_call;

CALLED int cache_has_panels(const char *name, int64_t dim);
CALLED void cache_store_end(cache_store *store);
CALLED cache_store *cache_store_begin(const char *format, int64_t batch, int64_t kv_heads, int64_t keys,
                                      int64_t dim, int64_t page_rows, const int32_t *table, int in_panels,
                                      const void *k, const void *v, fovea_error *error);
CALLED void cache_call_end(cache_call *call);
CALLED cache_call *cache_call_begin(const cache_store *store, int64_t heads, int64_t rows, int causal,
                                    const char *queries, int mode, int on_amx, int threads, const void *q, void *o,
                                    fovea_error *error);
CALLED int cache_call_run(const cache_call *call, fovea_error *error);
CALLED const char *cache_products(int mode, int on_amx, fovea_error *error);

/* ---- Formats ------------------------------------------------------------------------------------------------- */

/* The formats of cache_problems.FORMATS and mode_fovea.py: a type, or the preset of that name. */
static const struct {
  const char *name;
  fovea_type type;
  int has_preset;
} formats[] = {
    {"f32", FOVEA_F32, 0},  {"f16", FOVEA_F16, 0},  {"bf16", FOVEA_BF16, 0}, {"q8_0", FOVEA_F32, 1},
    {"q4_0", FOVEA_F32, 1}, {"e4m3", FOVEA_F32, 1}, {"e5m2", FOVEA_F32, 1},  {"i8_rows", FOVEA_F32, 1},
};

/* The index of a format, or -1. */
static int format_of(const char *name) {
  for (int i = 0; i < (int)(sizeof formats / sizeof *formats); i++) {
    if (strcmp(formats[i].name, name) == 0) return i;
  }
  return -1;
}

int cache_has_panels(const char *name, int64_t dim) {
  const int found = format_of(name);
  fovea_format format;
  if (found < 0 || !formats[found].has_preset) return found >= 0;
  return fovea_format_init(&format, (fovea_format_name)fovea_format_named(name), NULL) == FOVEA_OK &&
         fovea_format_panel_bytes(&format, dim, NULL) != 0;
}

static fovea_pages describe(const cache_store *store, int format, int64_t page_rows, int in_panels) {
  fovea_pages pages;
  fovea_pages_init(&pages, store->batch * store->keys / page_rows, page_rows, store->kv_heads, store->dim,
                   store->dim, formats[format].type, in_panels ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS);
  return pages;
}

static fovea_status fill(const cache_store *store, int format, const void *k, const void *v, fovea_error *error) {
  fovea_new_rows rows;
  fovea_new_rows_init(&rows, store->batch, store->kv_heads, store->keys, store->dim, store->dim, k, v,
                      store->sequences);
  rows.k_type = rows.v_type = formats[format].type;
  return fovea_append(&rows, NULL, NULL, error);
}

/* ---- Caches -------------------------------------------------------------------------------------------------- */

static void *refuse(fovea_error *error, const char *text) {
  snprintf(error->text, sizeof error->text, "%s", text);
  return NULL;
}

static size_t bytes_of(int64_t elements, fovea_type type) {
  return (size_t)elements * (type == FOVEA_F32 ? 4 : 2);
}

static int allocate(cache_store *store, size_t bytes, int64_t segments) {
  store->memory = aligned_alloc(memory_alignment, (bytes / memory_alignment + 1) * memory_alignment);
  store->segments = calloc((size_t)segments, sizeof *store->segments);
  store->sequences = calloc((size_t)store->batch, sizeof *store->sequences);
  return store->memory && store->segments && store->sequences;
}

static fovea_status make_segments(cache_store *store, const fovea_pages *pages, const int32_t *table,
                                  fovea_error *error) {
  int64_t *ends = calloc((size_t)store->batch, sizeof *ends);
  if (!ends) return FOVEA_ERROR_MEMORY;
  for (int64_t entry = 0; entry < store->batch; entry++) ends[entry] = store->keys;
  const fovea_status status =
      fovea_cache_paged_batch(pages, store->batch, table, store->keys / pages->page_rows, NULL, ends,
                              store->segments, pages->count, store->sequences, error);
  free(ends);
  return status;
}

static int keep_elements(cache_store *store, int format, int64_t page_rows, const int32_t *table, int in_panels,
                         const void *k, const void *v, fovea_error *error) {
  fovea_pages pages = describe(store, format, page_rows, in_panels);
  const size_t k_bytes = bytes_of(pages.count * pages.k_strides.batch, pages.k_type);
  const size_t v_bytes = bytes_of(pages.count * pages.v_strides.batch, pages.v_type);
  if (!allocate(store, k_bytes + v_bytes, pages.count)) return 0;
  pages.k = store->memory;
  pages.v = (char *)store->memory + k_bytes;
  return make_segments(store, &pages, table, error) == FOVEA_OK && fill(store, format, k, v, error) == FOVEA_OK;
}

/* ---- Caches of codes: pages (page, kv head, row of bytes) ---------------------------------------------------- */

/* With a scale for each row, which lies apart, Fovea makes the codes from f32; else they are given. */
static int makes_codes(const cache_store *store) {
  return store->format.place == FOVEA_SCALES_APART && store->format.key_group == 1;
}

/* Scales of rows lie after all codes: scales of keys, then scales of values. */
static fovea_code_scales scales_of(cache_store *store, int64_t page, int64_t page_rows, int64_t row_bytes,
                                   int values) {
  if (store->format.place != FOVEA_SCALES_APART) return (fovea_code_scales){0};
  if (!makes_codes(store)) return (fovea_code_scales){.scales = &store->scale};
  const int64_t rows = store->batch * store->kv_heads * store->keys, size = (int64_t)sizeof(float);
  char *scales = (char *)store->memory + 2 * rows * row_bytes;
  return (fovea_code_scales){.scales = scales + (values * rows + page * store->kv_heads * page_rows) * size,
                             .head = page_rows * size,
                             .row = size};
}

static void copy_codes(char *to, const char *from, int64_t rows, int64_t row_bytes, int in_panels) {
  enum { word = 4 };
  if (!in_panels) {
    memcpy(to, from, (size_t)(rows * row_bytes));
    return;
  }
  for (int64_t row = 0; row < rows; row++) {
    char *panel = to + row / FOVEA_PANEL_ROWS * FOVEA_PANEL_ROWS * row_bytes + row % FOVEA_PANEL_ROWS * word;
    for (int64_t at = 0; at < row_bytes; at += word)
      memcpy(panel + at * FOVEA_PANEL_ROWS, from + row * row_bytes + at, word);
  }
}

/* Positions `first` and on of a batch element, in page `page`. */
static fovea_segment keep_page(cache_store *store, int64_t entry, int64_t first, int64_t page, int64_t page_rows,
                               int64_t row_bytes, int in_panels, const char *k, const char *v) {
  const int64_t side = store->batch * store->kv_heads * store->keys * row_bytes, head_bytes = page_rows * row_bytes;
  char *keys = (char *)store->memory + page * store->kv_heads * head_bytes, *values = keys + side;
  for (int64_t head = 0; head < store->kv_heads && !makes_codes(store); head++) {
    const int64_t from = ((entry * store->kv_heads + head) * store->keys + first) * row_bytes;
    copy_codes(keys + head * head_bytes, k + from, page_rows, row_bytes, in_panels);
    copy_codes(values + head * head_bytes, v + from, page_rows, row_bytes, 0);
  }
  return (fovea_segment){.first = first,
                         .rows = page_rows,
                         .k = keys,
                         .v = values,
                         .k_head = head_bytes,
                         .v_head = head_bytes,
                         .k_row = in_panels ? FOVEA_PANEL_ROWS * row_bytes : row_bytes,
                         .v_row = row_bytes,
                         .k_layout = in_panels ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS,
                         .k_format = &store->format,
                         .v_format = &store->format,
                         .k_scales = scales_of(store, page, page_rows, row_bytes, 0),
                         .v_scales = scales_of(store, page, page_rows, row_bytes, 1)};
}

static int keep_codes(cache_store *store, const char *name, int64_t page_rows, const int32_t *table, int in_panels,
                      const void *k, const void *v, fovea_error *error) {
  if (fovea_format_init(&store->format, (fovea_format_name)fovea_format_named(name), error) != FOVEA_OK) return 0;
  const int64_t row_bytes = fovea_format_bytes(&store->format, store->dim, error);
  const int64_t pages = store->keys / page_rows, rows = store->batch * store->kv_heads * store->keys;
  const size_t scales = makes_codes(store) ? 2 * (size_t)rows * sizeof(float) : 0;
  if (!row_bytes || !allocate(store, (size_t)(2 * rows * row_bytes) + scales, store->batch * pages)) return 0;
  store->scale = 1.0f;
  for (int64_t entry = 0; entry < store->batch; entry++) {
    fovea_segment *segments = store->segments + entry * pages;
    for (int64_t i = 0; i < pages; i++)
      segments[i] =
          keep_page(store, entry, i * page_rows, table[entry * pages + i], page_rows, row_bytes, in_panels, k, v);
    store->sequences[entry] = fovea_sequence_of(segments, pages);
  }
  return !makes_codes(store) || fill(store, format_of(name), k, v, error) == FOVEA_OK;
}

/* `table` has batch * keys / page_rows numbers. K and V are contiguous (batch, kv_heads, keys, dim) tensors of the
 * format, in f32 for i8_rows, or (batch, kv_heads, keys, bytes of a row) of its codes, and are copied. Returns NULL
 * with a text in *error. */
cache_store *cache_store_begin(const char *format, int64_t batch, int64_t kv_heads, int64_t keys, int64_t dim,
                               int64_t page_rows, const int32_t *table, int in_panels, const void *k, const void *v,
                               fovea_error *error) {
  const int found = format_of(format);
  if (found < 0) return refuse(error, "Fovea has no such format");
  cache_store *store = calloc(1, sizeof *store);
  if (!store) return refuse(error, "not enough memory");
  store->batch = batch;
  store->kv_heads = kv_heads;
  store->keys = keys;
  store->dim = dim;
  snprintf(error->text, sizeof error->text, "not enough memory");
  if (formats[found].has_preset ? keep_codes(store, format, page_rows, table, in_panels, k, v, error)
                                : keep_elements(store, found, page_rows, table, in_panels, k, v, error))
    return store;
  cache_store_end(store);
  return NULL;
}

void cache_store_end(cache_store *store) {
  free(store->memory);
  free(store->segments);
  free(store->sequences);
  free(store);
}

/* ---- Attention ----------------------------------------------------------------------------------------------- */

/* Both halves in `mode`. Once AMX is allowed, only a plan that names its instruction set runs without it. */
static int choose(fovea_problem *problem, fovea_execution *execution, int mode, int on_amx, fovea_error *error) {
  fovea_library_info info;
  fovea_library_info_init(&info);
  problem->modes.score = problem->modes.value = (fovea_mode)mode;
  if (on_amx) return fovea_allow_amx(error) == FOVEA_OK;
  if (mode != FOVEA_MODE_EXACT && fovea_info(&info) == FOVEA_OK) execution->isa = info.isa;
  return 1;
}

/* The instructions that multiply in a mode: "" in exact mode. Returns NULL with a text in *error. */
const char *cache_products(int mode, int on_amx, fovea_error *error) {
  enum { size = 64 };
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, size, size, size, size);
  fovea_plan *plan = NULL;
  fovea_explanation explanation;
  fovea_execution execution;
  fovea_explanation_init(&explanation);
  fovea_execution_init(&execution);
  const int known = choose(&problem, &execution, mode, on_amx, error) &&
                    fovea_plan_create(&problem, &execution, &plan, error) == FOVEA_OK &&
                    fovea_plan_explain(plan, &explanation, error) == FOVEA_OK;
  fovea_plan_destroy(plan);
  return known ? explanation.products : NULL;
}

/* Q and O are contiguous (batch, heads, rows, dim) tensors of type `queries`. They and the store outlive the call.
 * Returns NULL with a text in *error. */
cache_call *cache_call_begin(const cache_store *store, int64_t heads, int64_t rows, int causal, const char *queries,
                             int mode, int on_amx, int threads, const void *q, void *o, fovea_error *error) {
  cache_call *call = calloc(1, sizeof *call);
  if (!call) return refuse(error, "not enough memory");
  fovea_problem_init(&call->problem, store->batch, heads, store->kv_heads, rows, store->keys, store->dim,
                     store->dim);
  call->problem.q_type = call->problem.o_type = formats[format_of(queries)].type;
  call->problem.causal = causal;
  call->problem.cache.segmented = 1;
  fovea_tensors_init(&call->tensors, q, NULL, NULL, o, NULL);
  call->tensors.cache.sequences = store->sequences;
  fovea_execution_init(&call->execution);
  call->execution.threads = threads;
  if (choose(&call->problem, &call->execution, mode, on_amx, error) &&
      fovea_plan_create(&call->problem, &call->execution, &call->plan, error) == FOVEA_OK) {
    const size_t size = fovea_plan_scratch_size(call->plan, threads);
    call->execution.scratch_size = size;
    call->execution.scratch =
        aligned_alloc(FOVEA_SCRATCH_ALIGNMENT, (size / FOVEA_SCRATCH_ALIGNMENT + 1) * FOVEA_SCRATCH_ALIGNMENT);
    if (call->execution.scratch) return call;
    refuse(error, "not enough memory");
  }
  cache_call_end(call);
  return NULL;
}

int cache_call_run(const cache_call *call, fovea_error *error) {
  return (int)fovea_plan_run(call->plan, &call->tensors, &call->execution, error);
}

void cache_call_end(cache_call *call) {
  fovea_plan_destroy(call->plan);
  free(call->execution.scratch);
  free(call);
}
