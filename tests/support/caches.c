#include "caches.h"
#include "execution.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

int64_t segment_place(const fovea_segment *segment, int values, int64_t head, int64_t position, int64_t dim) {
  const int64_t row = position - segment->first, key = row % 16;
  if (values) return head * segment->v_head + row * segment->v_row + dim;
  if (segment->k_layout == FOVEA_KEYS_IN_ROWS) return head * segment->k_head + row * segment->k_row + dim;
  const int64_t panel = head * segment->k_head + row / 16 * segment->k_row;
  return panel + (segment->k_type == FOVEA_BF16 ? dim / 2 * 32 + key * 2 + dim % 2 : dim * 16 + key);
}

static void write_number(const fovea_segment *segment, int values, int64_t place, float number) {
  const fovea_type type = values ? segment->v_type : segment->k_type;
  void *data = values ? segment->v : segment->k;
  if (type == FOVEA_F32)
    ((float *)data)[place] = number;
  else
    ((uint16_t *)data)[place] = rounded(type, number);
}

void segment_write(const fovea_segment *segment, int values, int64_t head, int64_t position, const float *numbers,
                   int64_t dim) {
  for (int64_t d = 0; d < dim; d++)
    write_number(segment, values, segment_place(segment, values, head, position, d), numbers[d]);
  if (!values && segment->k_layout == FOVEA_KEYS_IN_PANELS && segment->k_type == FOVEA_BF16 && dim % 2 == 1)
    write_number(segment, values, segment_place(segment, values, head, position, dim), 0.0f);
}

int64_t segment_lay_out(fovea_segment *segment, int values, int64_t kv_heads, int64_t dim, int rows_first) {
  const int panels = !values && segment->k_layout == FOVEA_KEYS_IN_PANELS;
  const int64_t rows = panels ? (segment->rows + 15) / 16 : segment->rows;
  const int64_t width = !panels ? dim : segment->k_type == FOVEA_BF16 ? (dim + 1) / 2 * 32 : dim * 16;
  *(values ? &segment->v_head : &segment->k_head) = rows_first ? width : rows * width;
  *(values ? &segment->v_row : &segment->k_row) = rows_first ? kv_heads * width : width;
  return kv_heads * rows * width;
}

static void *add_memory(struct cache *cache, int64_t count, fovea_type type, struct generator *generator) {
  cache->memory = realloc(cache->memory, (size_t)(cache->memory_count + 1) * sizeof *cache->memory);
  if (cache->memory == NULL) abort();
  struct guarded *memory = &cache->memory[cache->memory_count++];
  *memory = guarded_create((size_t)count * type_size(type),
                           generator_below(generator, 2) ? GUARD_AT_END : GUARD_AT_START);
  memset(memory->data, 0xff, memory->size);
  return memory->data;
}

static fovea_segment cut_segment(struct cache *cache, const struct trial *trial, enum cache_kind kind, int mixed,
                                 int64_t first, int64_t end, struct generator *generator) {
  const fovea_problem *problem = &trial->problem;
  fovea_segment segment = {.first = first, .rows = 1, .k_type = problem->k_type, .v_type = problem->v_type};
  if (mixed) {
    segment.k_type = (fovea_type)generator_below(generator, 3);
    segment.v_type = (fovea_type)generator_below(generator, 3);
  }
  if (first % 16 == 0 && kind != CACHE_CUT && (kind == CACHE_PANELS || generator_below(generator, 2)))
    segment.k_layout = FOVEA_KEYS_IN_PANELS;
  segment.rows += generator_below(generator, generator_below(generator, 3) ? 40 : 400);
  if (kind == CACHE_PANELS) segment.rows = (segment.rows + 15) / 16 * 16;
  if (first + segment.rows > end && generator_below(generator, 2)) segment.rows = end - first;
  const int rows_first = (int)generator_below(generator, 2);
  const int64_t k_count = segment_lay_out(&segment, 0, problem->kv_heads, problem->qk_dim, rows_first);
  const int64_t v_count = segment_lay_out(&segment, 1, problem->kv_heads, problem->v_dim, rows_first);
  segment.k = add_memory(cache, k_count, segment.k_type, generator);
  segment.v = add_memory(cache, v_count, segment.v_type, generator);
  return segment;
}

static void cut(struct cache *cache, const struct trial *trial, enum cache_kind kind, int mixed, int64_t entry,
                int64_t begin, int64_t end, struct generator *generator) {
  fovea_segment *segments = malloc((size_t)(end - begin + 17) * sizeof *segments);
  int64_t count = 0, first = begin / 16 * 16;
  if (segments == NULL) abort();
  while (first < end) {
    segments[count] = cut_segment(cache, trial, kind, mixed, first, end, generator);
    first += segments[count++].rows;
  }
  cache->segments[entry] = segments;
  cache->sequences[entry] = fovea_sequence_of(segments, count);
}

static fovea_pages create_pages(struct cache *cache, const fovea_problem *problem, enum cache_kind kind,
                                int64_t count, int64_t page_rows, struct generator *generator) {
  fovea_pages pages;
  const int panels = kind == CACHE_PAGED_PANELS || kind == CACHE_RING_PANELS;
  if (panels) page_rows = (page_rows + 15) / 16 * 16;
  fovea_pages_init(&pages, count, page_rows, problem->kv_heads, problem->qk_dim, problem->v_dim, problem->k_type,
                   panels ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS);
  pages.v_type = problem->v_type;
  if (kind == CACHE_PAGED_ROWS) {
    pages.k_strides = fovea_strides_rows_before_heads(page_rows, problem->kv_heads, problem->qk_dim);
    pages.v_strides = fovea_strides_rows_before_heads(page_rows, problem->kv_heads, problem->v_dim);
  }
  pages.k = add_memory(cache, count * pages.k_strides.batch, pages.k_type, generator);
  pages.v = add_memory(cache, count * pages.v_strides.batch, pages.v_type, generator);
  return pages;
}

/* Uses pages in any order; often some follow each other. */
static void page(struct cache *cache, const struct trial *trial, enum cache_kind kind, int64_t entry, int64_t begin,
                 int64_t end, struct generator *generator) {
  static const int64_t sizes[] = {1, 3, 16, 17, 32, 128, 200};
  const int64_t wanted = sizes[generator_below(generator, 7)];
  const int64_t count = (end + wanted - 1) / wanted + 1;
  const fovea_pages pages = create_pages(cache, &trial->problem, kind, count, wanted, generator);
  const int64_t length = (end + pages.page_rows - 1) / pages.page_rows;
  int32_t *table = malloc((size_t)(length + 1) * sizeof *table);
  cache->segments[entry] = malloc((size_t)(length + 1) * sizeof *cache->segments[entry]);
  if (table == NULL || cache->segments[entry] == NULL) abort();
  for (int64_t i = 0; i < length; i++) table[i] = (int32_t)i + (count > length);
  for (int64_t i = generator_below(generator, length + 1); i > 0; i--) {
    const int64_t a = generator_below(generator, length), b = generator_below(generator, length);
    const int32_t swapped = table[a];
    table[a] = table[b];
    table[b] = swapped;
  }
  for (int64_t i = 0; i < begin / pages.page_rows; i++) table[i] = -7; /* not held any more */
  fovea_error error;
  if (fovea_cache_paged(&pages, table, length, begin, end, cache->segments[entry], length, &cache->sequences[entry],
                        &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  free(table);
}

static void ring(struct cache *cache, const struct trial *trial, enum cache_kind kind, int64_t entry, int64_t begin,
                 int64_t end, struct generator *generator) {
  const int64_t capacity = end - begin + (generator_below(generator, 2) ? generator_below(generator, 20) : 0);
  const fovea_pages pages = create_pages(cache, &trial->problem, kind, 1, capacity > 0 ? capacity : 1, generator);
  cache->segments[entry] = malloc(FOVEA_RING_SEGMENTS * sizeof *cache->segments[entry]);
  if (cache->segments[entry] == NULL) abort();
  fovea_error error;
  if (fovea_cache_ring(&pages, 0, begin, end, cache->segments[entry], &cache->sequences[entry], &error) != FOVEA_OK)
    fail_msg("%s", error.text);
}

static void contiguous(struct cache *cache, const struct trial *trial, int64_t entry, int64_t end,
                       struct generator *generator) {
  const fovea_pages pages = create_pages(cache, &trial->problem, CACHE_CONTIGUOUS, 2,
                                         end + 1 + generator_below(generator, 40), generator);
  cache->segments[entry] = malloc(sizeof *cache->segments[entry]);
  if (cache->segments[entry] == NULL) abort();
  fovea_error error;
  if (fovea_cache_contiguous(&pages, generator_below(generator, 2), cache->segments[entry], &error) != FOVEA_OK)
    fail_msg("%s", error.text);
  cache->sequences[entry] = fovea_sequence_of(cache->segments[entry], 1);
}

static void fill(const struct cache *cache, const struct trial *trial, int64_t entry, int64_t begin, int64_t end) {
  const fovea_problem *problem = &trial->problem;
  const fovea_segment *segment = cache->segments[entry];
  for (int64_t position = begin; position < end; position++) {
    while (position >= segment->first + segment->rows) segment++;
    for (int64_t head = 0; head < problem->kv_heads; head++) {
      segment_write(segment, 0, head, position, tensor_row(&trial->k, entry, head, position), problem->qk_dim);
      segment_write(segment, 1, head, position, tensor_row(&trial->v, entry, head, position), problem->v_dim);
    }
  }
}

struct cache cache_create(const struct trial *trial, enum cache_kind kind, int mixed, const int64_t *begins,
                          struct generator *generator) {
  struct cache cache = {.memory_count = 0};
  for (int64_t entry = 0; entry < trial->problem.batch; entry++) {
    const int64_t begin = begins ? begins[entry] : 0, end = problem_entry(&trial->problem, entry).kv_len;
    if (kind <= CACHE_CUT_LAYOUTS && kind != CACHE_CONTIGUOUS)
      cut(&cache, trial, kind, mixed, entry, begin, end, generator);
    else if (kind == CACHE_CONTIGUOUS)
      contiguous(&cache, trial, entry, end, generator);
    else if (kind >= CACHE_RING)
      ring(&cache, trial, kind, entry, begin, end, generator);
    else
      page(&cache, trial, kind, entry, begin, end, generator);
    fill(&cache, trial, entry, begin, end);
  }
  for (int i = 0; i < cache.memory_count; i++) guarded_make_read_only(&cache.memory[i]);
  return cache;
}

void cache_destroy(struct cache *cache) {
  for (int i = 0; i < cache->memory_count; i++) guarded_destroy(&cache->memory[i]);
  for (int i = 0; i < LISTED_ENTRIES; i++) free(cache->segments[i]);
  free(cache->memory);
}

void trial_run_cached(struct trial *trial, const char *isa, const fovea_sequence *sequences,
                      const int64_t *begins) {
  fovea_problem problem = trial->problem;
  fovea_tensors tensors = trial_tensors(trial);
  problem.cache.segmented = 1;
  int64_t both[LISTED_ENTRIES];
  for (int64_t b = 0; begins != NULL && problem.kv_begins != NULL && b < problem.batch; b++)
    both[b] = begins[b] > problem.kv_begins[b] ? begins[b] : problem.kv_begins[b];
  if (begins != NULL) problem.kv_begins = problem.kv_begins != NULL ? both : begins;
  tensors.k = tensors.v = NULL;
  tensors.cache.sequences = sequences;
  trial_clear(trial);
  fovea_error error;
  const fovea_status status = fovea_attend(&problem, &tensors, on_isa(isa), &error);
  trial_load(trial);
  if (status == FOVEA_OK) return;
  char text[DESCRIPTION_SIZE];
  problem_describe(&trial->problem, text, sizeof text);
  fail_msg("status %d (%s) for %s", (int)status, error.text, text);
}
