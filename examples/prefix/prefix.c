/* A model of two layers answers one prompt twice: both answers share the prompt's pages until they write to them.
 * Each step extends the tables, makes one list of segments for all layers and one plan in the same memory; each
 * layer appends and attends. Results have the bits of contiguous tensors. */
#include <fovea/cache.h>
#include <fovea/fovea.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  LAYERS = 2,
  HEADS = 4,
  KV_HEADS = 2,
  DIM = 32,
  PROMPT = 41,
  LENGTH = 90,
  PAGE_ROWS = 16,
  PAGES = 16,
  ANSWERS = 2
};

/* Numbers in place of the model's projections, for every layer, answer and position. */
static float q[LAYERS][ANSWERS][HEADS][DIM];
static float k[LAYERS][ANSWERS][KV_HEADS][LENGTH][DIM], v[LAYERS][ANSWERS][KV_HEADS][LENGTH][DIM];

static fovea_pages pages;
static fovea_page_pool pool;
static int32_t users[PAGES], tables[ANSWERS][PAGES];
static int64_t page_counts[ANSWERS];
_Alignas(FOVEA_SCRATCH_ALIGNMENT) static unsigned char plan_memory[4096];

static void check(fovea_status status, const fovea_error *error) {
  if (status == FOVEA_OK) return;
  fprintf(stderr, "%s\n", error->text);
  exit(EXIT_FAILURE);
}

/* Takes rows first to end - 1 of the first `answers` answers through all layers. Writes O of the last row of
 * each. */
static void step(int64_t answers, int64_t first, int64_t end, float o[LAYERS][ANSWERS][HEADS][DIM]) {
  fovea_error error;
  fovea_segment segments[ANSWERS * PAGES];
  fovea_sequence sequences[ANSWERS];
  fovea_problem problem;
  fovea_plan *plan;
  const int64_t lengths[ANSWERS] = {first, first}, ends[ANSWERS] = {end, end};
  check(fovea_page_extend(&pages, 1, &pool, answers, tables[0], PAGES, page_counts, lengths, ends, &error), &error);
  check(fovea_cache_paged_batch(&pages, answers, tables[0], PAGES, NULL, ends, segments, ANSWERS * PAGES, sequences,
                                &error),
        &error);
  fovea_problem_init(&problem, answers, HEADS, KV_HEADS, 1, end, DIM, DIM);
  problem.cache.segmented = 1;
  check(fovea_plan_create_in(&problem, NULL, plan_memory, sizeof plan_memory, &plan, &error), &error);

  for (int layer = 0; layer < LAYERS; layer++) {
    fovea_new_rows rows;
    fovea_tensors tensors;
    fovea_new_rows_init(&rows, answers, KV_HEADS, end - first, DIM, DIM, k[layer][0][0][first],
                        v[layer][0][0][first], sequences);
    rows.k_strides = rows.v_strides = (fovea_strides){KV_HEADS * LENGTH * DIM, LENGTH * DIM, DIM};
    rows.first_position = first;
    rows.layer = layer;
    check(fovea_append(&rows, NULL, NULL, &error), &error);
    fovea_tensors_init(&tensors, q[layer], NULL, NULL, o[layer], NULL);
    tensors.cache.sequences = sequences;
    tensors.cache.layer = layer;
    check(fovea_plan_run(plan, &tensors, NULL, &error), &error);
  }
}

/* A fork is a copy of the table, and one more user for each page. */
static void fork_prompt(void) {
  fovea_error error;
  memcpy(tables[1], tables[0], sizeof tables[1]);
  page_counts[1] = page_counts[0];
  for (int64_t page = 0; page < page_counts[1]; page++)
    check(fovea_page_share(&pool, tables[1][page], &error), &error);
}

int main(void) {
  static float o[LAYERS][ANSWERS][HEADS][DIM], expected[LAYERS][ANSWERS][HEADS][DIM];
  fovea_error error;
  for (size_t i = 0; i < sizeof q / sizeof(float); i++) ((float *)q)[i] = (float)(i * 37 % 101) / 32 - 2;
  for (size_t i = 0; i < sizeof k / sizeof(float); i++) {
    ((float *)k)[i] = (float)(i * 53 % 89) / 32 - 2;
    ((float *)v)[i] = (float)(i * 29 % 97) / 32 - 2;
  }
  for (int layer = 0; layer < LAYERS; layer++) /* both begin with the same prompt */
    for (int head = 0; head < KV_HEADS; head++) {
      memcpy(k[layer][1][head], k[layer][0][head], sizeof(float) * PROMPT * DIM);
      memcpy(v[layer][1][head], v[layer][0][head], sizeof(float) * PROMPT * DIM);
    }

  fovea_pages_init(&pages, PAGES, PAGE_ROWS, KV_HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_PANELS);
  pages.layers = LAYERS;
  pages.k = malloc(sizeof(float) * (size_t)(LAYERS * pages.k_layer));
  pages.v = malloc(sizeof(float) * (size_t)(LAYERS * pages.v_layer));
  if (!pages.k || !pages.v) return EXIT_FAILURE;
  check(fovea_page_pool_init(&pool, users, PAGES, &error), &error);

  step(1, 0, PROMPT, o);
  fork_prompt();
  for (int64_t length = PROMPT; length < LENGTH; length++) step(ANSWERS, length, length + 1, o);

  for (int layer = 0; layer < LAYERS; layer++) {
    fovea_problem problem;
    fovea_tensors tensors;
    fovea_problem_init(&problem, ANSWERS, HEADS, KV_HEADS, 1, LENGTH, DIM, DIM);
    fovea_tensors_init(&tensors, q[layer], k[layer], v[layer], expected[layer], NULL);
    check(fovea_attend(&problem, &tensors, NULL, &error), &error);
  }
  int same = memcmp(o, expected, sizeof o) == 0;
  printf("%d answers of %d positions, a prompt of %d shared: %d of %d pages, %s\n", ANSWERS, LENGTH, PROMPT,
         (int)(pool.count - pool.free_count), (int)pool.count,
         same ? "the bits of contiguous tensors" : "OTHER BITS");
  free(pages.k);
  free(pages.v);
  return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
