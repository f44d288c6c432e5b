#include "around.h"

enum { batch = 3, heads = 16, kv_heads = 8, dim = 128 };
enum { BATCH = 2, TABLE = 4 };

static fovea_error error = {.text = ""};
static fovea_status status;

static void segment_of_ones_own(void) {
  float *k = numbers_of(kv_heads * 512 * dim), *v = numbers_of(kv_heads * 512 * dim);
  /* snippet 1 */
  need(sequence.count == 1 && segment.rows == 512, "the segment is not there");
}

static void tables_of_pages(void) {
  fovea_pages pages;
  int32_t tables[BATCH * TABLE], users[8];
  int64_t lens[BATCH] = {0, 5}, ends[BATCH];
  const int64_t new_rows[BATCH] = {20, 3};
  fovea_pages_init(&pages, 8, 16, kv_heads, dim, dim, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  pages.k = numbers_of(pages.count * pages.k_strides.batch);
  pages.v = numbers_of(pages.count * pages.v_strides.batch);
  fovea_page_pool pool;
  worked(fovea_page_pool_init(&pool, users, 8, &error), error.text, __LINE__);
  lens[1] = 0;
  /* snippet 5 */
  need(page_counts[0] == 0 && page_counts[1] == 0, "rows were taken back");
}

static void drafts_and_moves(const fovea_rotary *given, fovea_sequence *sequences, int64_t layers) {
  const fovea_rotary rotary = *given;
  enum { drafts = 3, prefix = 3 };
  const int64_t depths[batch * drafts] = {3, 4, 4, 3, 4, 4, 3, 4, 4};
  float *q = numbers_of(batch * heads * drafts * dim);
  fovea_new_rows rows;
  fovea_new_rows_init(&rows, batch, kv_heads, drafts, dim, dim, numbers_of(batch * kv_heads * drafts * dim),
                      numbers_of(batch * kv_heads * drafts * dim), sequences);
  /* snippet 7 */
  computed(q, batch * heads * drafts * dim);
  (void)layers;
}

static void context_shift(const fovea_rotary *given) {
  const fovea_rotary rotary = *given;
  enum { layers = 1 };
  int64_t length = 2000;
  fovea_segment segment;
  fovea_segment_init(&segment, 0, 2048, dim, dim, FOVEA_F32, numbers_of(kv_heads * 2048 * dim),
                     numbers_of(kv_heads * 2048 * dim));
  const fovea_sequence sequences[1] = {fovea_sequence_of(&segment, 1)};
  /* snippet 10 */
  need(length == 976, "rows were not forgotten");
}

static void attend_with_holes(fovea_problem *problem, const fovea_sequence *sequence) {
  fovea_tensors tensors;
  float *o = numbers_of(problem->heads * dim);
  fovea_tensors_init(&tensors, numbers_of(problem->heads * dim), NULL, NULL, o, NULL);
  tensors.cache.sequences = sequence;
  worked(fovea_attend(problem, &tensors, NULL, &error), error.text, __LINE__);
  computed(o, problem->heads * dim);
}

static void holes(void) {
  const int64_t begin = 96, length = 128;
  fovea_problem problem;
  {
    float *k = numbers_of(length * dim), *v = numbers_of(length * dim);
    fovea_problem_init(&problem, 1, heads, 1, 1, length, dim, dim);
    /* snippet 8 */
    attend_with_holes(&problem, &sequence);
  }
  const int32_t table[TABLE] = {3, -1, -1, 0}; /* of pages of 32 positions */
  fovea_segment segments[TABLE];
  fovea_pages pages;
  fovea_pages_init(&pages, 4, 32, kv_heads, dim, dim, FOVEA_F32, FOVEA_KEYS_IN_PANELS);
  pages.k = numbers_of(pages.count * pages.k_strides.batch);
  pages.v = numbers_of(pages.count * pages.v_strides.batch);
  /* snippet 9 */
  need(sinks.count == 1 && sequence.count == 2, "the stretches are not there");
  fovea_problem_init(&problem, 1, heads, kv_heads, 1, length, dim, dim);
  problem.cache.segmented = problem.cache.holes = 1;
  attend_with_holes(&problem, &sequence);
}

int main(void) {
  fovea_rotary rotary;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, dim);
  segment_of_ones_own();
  {
    fovea_pages pages;
    fovea_pages_init(&pages, 4, 1, kv_heads, dim, dim, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
    const int64_t before = pages.k_strides.batch;
    /* snippet 3 */
    need(pages.k_strides.batch == before + 16, "pages lie as before");
  }
  /* snippet 2 */
  { /* the last position of the last page */
    const int64_t page = pages.count - 1;
    const fovea_sequence *sequences;
    fovea_segment segment;
    fovea_sequence sequence;
    const int32_t table[1] = {(int32_t)page};
    status = fovea_cache_paged(&pages, table, 1, 0, 16, &segment, 1, &sequence, &error);
    worked(status, error.text, __LINE__);
    sequences = &sequence;
    fovea_new_rows rows;
    fovea_new_rows_init(&rows, 1, kv_heads, 1, dim, dim, numbers_of(kv_heads * dim), numbers_of(kv_heads * dim),
                        sequences);
    rows.first_position = 15;
    worked(fovea_append(&rows, &rotary, NULL, &error), error.text, __LINE__);
  }
  /* snippet 4 */
  const int64_t lens[batch] = {3, 0, 12};
  const float *k = numbers_of(batch * kv_heads * dim), *v = numbers_of(batch * kv_heads * dim);
  fovea_segment segments[batch];
  fovea_sequence sequences[batch];
  for (int b = 0; b < batch; b++) {
    const int32_t table[1] = {61 + b};
    status = fovea_cache_paged(&pages, table, 1, 0, 16, &segments[b], 1, &sequences[b], &error);
    worked(status, error.text, __LINE__);
  }
  /* snippet 6 */
  rows.layer = pages.layers - 1;
  worked(fovea_append(&rows, &rotary, NULL, &error), error.text, __LINE__);
  drafts_and_moves(&rotary, sequences, pages.layers);
  context_shift(&rotary);
  holes();
  tables_of_pages();
  return 0;
}
