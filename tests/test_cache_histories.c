/* Random histories of sequences that grow, are attended to, forget, fork and end, in pages of one pool or in rings.
 * They are compared with contract.c, over a plain model that keeps every row of every sequence as numbers. */
#include "contract.h"
#include "contract_rotary.h"
#include "support/caches.h"
#include "support/check.h"
#include "support/execution.h"
#include "support/modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  SEQUENCES = 4,
  LENGTH = 160,
  PAGES = 64,
  TABLE = LENGTH,
  HEADS = 4,
  KV_HEADS = 2,
  DIM_LIMIT = 40,
  ROWS = 24
};

/* The model of one sequence: [head][position][dim] numbers, rounded to the cache's type. */
struct model {
  int used;
  int64_t begin, length;
  float k[KV_HEADS][LENGTH][DIM_LIMIT], v[KV_HEADS][LENGTH][DIM_LIMIT];
};

struct world {
  struct generator generator;
  int64_t dim;
  int rings;    /* a ring for each sequence, or one pool of pages for all */
  int64_t keep; /* positions that a ring holds */
  fovea_rotary rotary;
  struct fraction turns[DIM_LIMIT / 2];
  fovea_pages pages;
  struct guarded k_memory, v_memory;
  fovea_page_pool pool;
  int32_t references[PAGES], tables[SEQUENCES][TABLE];
  struct model models[SEQUENCES];
  fovea_segment segments[SEQUENCES][TABLE];
  fovea_sequence sequences[SEQUENCES];
  const char *isa;
};

static void assert_ok(fovea_status status, const fovea_error *error) {
  if (status != FOVEA_OK) fail_msg("%.250s", error->text);
}

static void create_world(struct world *world, uint64_t seed) {
  static const int64_t page_sizes[] = {1, 3, 16, 20, 32};
  memset(world, 0, sizeof *world);
  world->generator = (struct generator){seed};
  struct generator *generator = &world->generator;
  world->dim = 1 + generator_below(generator, DIM_LIMIT);
  world->rings = generator_below(generator, 3) == 0;
  world->keep = 40 + generator_below(generator, 20);
  const int64_t page_rows = world->rings ? (world->keep + 15) / 16 * 16 : page_sizes[generator_below(generator, 5)];
  const fovea_type type = (fovea_type)generator_below(generator, 3);
  const int panels = page_rows % 16 == 0 && generator_below(generator, 2);
  fovea_pages_init(&world->pages, PAGES, page_rows, KV_HEADS, world->dim, world->dim, type,
                   panels ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS);
  const size_t size = type_size(type);
  world->k_memory = guarded_create((size_t)(PAGES * world->pages.k_strides.batch) * size, GUARD_AT_END);
  world->v_memory = guarded_create((size_t)(PAGES * world->pages.v_strides.batch) * size, GUARD_AT_START);
  memset(world->k_memory.data, 0xff, world->k_memory.size);
  memset(world->v_memory.data, 0xff, world->v_memory.size);
  world->pages.k = world->k_memory.data;
  world->pages.v = world->v_memory.data;
  fovea_rotary_init(&world->rotary, generator_below(generator, 2) ? FOVEA_ROTARY_HALVES : FOVEA_ROTARY_INTERLEAVED,
                    world->dim / 2 * 2);
  contract_turns(world->rotary.base, NULL, world->dim / 2, world->turns);
  assert_int_equal(fovea_page_pool_init(&world->pool, world->references, PAGES, NULL), FOVEA_OK);
  const char *const *isas = usable_isas();
  int count = 0;
  while (isas[count] != NULL) count++;
  world->isa = count > 0 ? isas[seed % (uint64_t)count] : NULL;
}

/* Makes the segments of one sequence, for positions up to `end`. */
static void make_segments(struct world *world, int s, int64_t end) {
  struct model *model = &world->models[s];
  fovea_error error;
  if (world->rings) {
    if (model->begin < end - world->pages.page_rows) model->begin = end - world->pages.page_rows;
    assert_ok(
        fovea_cache_ring(&world->pages, s, model->begin, end, world->segments[s], &world->sequences[s], &error),
        &error);
    return;
  }
  assert_ok(fovea_cache_paged(&world->pages, world->tables[s], TABLE, model->begin, end, world->segments[s], TABLE,
                              &world->sequences[s], &error),
            &error);
}

/* Takes pages for `count` more rows, and makes the last page the sequence's own. Returns for how many rows there is
 * room. */
static int64_t make_room(struct world *world, int s, int64_t count) {
  const struct model *model = &world->models[s];
  const int64_t page_rows = world->pages.page_rows;
  int64_t pages = (model->length + page_rows - 1) / page_rows;
  fovea_error error;
  if (world->rings) return count;
  if (model->length % page_rows > 0) {
    int32_t *last = &world->tables[s][pages - 1];
    if (fovea_page_is_shared(&world->pool, *last) && world->pool.free_count == 0) return 0;
    assert_ok(fovea_page_own(&world->pages, 1, &world->pool, last, model->length % page_rows, &error), &error);
    assert_false(fovea_page_is_shared(&world->pool, *last));
  }
  for (; pages * page_rows < model->length + count && world->pool.free_count > 0; pages++)
    assert_ok(fovea_page_take(&world->pool, &world->tables[s][pages], &error), &error);
  return pages * page_rows - model->length < count ? pages * page_rows - model->length : count;
}

/* Keeps a row in the model as it should come out of the cache. */
static void keep_row(struct world *world, int s, int64_t head, int64_t position, const float *k, const float *v) {
  const fovea_type type = world->pages.k_type;
  const int64_t dim = world->dim, pairs = dim / 2;
  float *kept_k = world->models[s].k[head][position], *kept_v = world->models[s].v[head][position];
  memcpy(kept_k, k, (size_t)dim * sizeof *k);
  for (int64_t i = 0; i < pairs; i++) {
    const int interleaved = world->rotary.layout == FOVEA_ROTARY_INTERLEAVED;
    float cosine, sine, *x = kept_k + (interleaved ? 2 * i : i), *y = interleaved ? x + 1 : x + pairs;
    contract_angle(world->turns[i], position, &cosine, &sine);
    contract_rotate_pair(x, y, cosine, sine);
  }
  for (int64_t d = 0; d < dim; d++) {
    kept_k[d] = rounded_number(type, kept_k[d]);
    kept_v[d] = rounded_number(type, v[d]);
  }
}

/* Appends to several sequences in one call, a different number of rows to each. */
static void append(struct world *world) {
  static float k[SEQUENCES][KV_HEADS][ROWS][DIM_LIMIT], v[SEQUENCES][KV_HEADS][ROWS][DIM_LIMIT];
  int64_t firsts[SEQUENCES] = {0}, counts[SEQUENCES] = {0};
  struct generator *generator = &world->generator;
  for (int s = 0; s < SEQUENCES; s++) {
    struct model *model = &world->models[s];
    if (!model->used || generator_below(generator, 4) == 0) continue;
    int64_t count =
        generator_below(generator, 4) ? 1 + generator_below(generator, 3) : generator_below(generator, ROWS);
    if (count > LENGTH - model->length) count = LENGTH - model->length;
    counts[s] = make_room(world, s, count);
    firsts[s] = model->length;
    for (int64_t head = 0; head < KV_HEADS; head++)
      for (int64_t row = 0; row < counts[s]; row++) {
        for (int64_t d = 0; d < world->dim; d++) {
          k[s][head][row][d] = generator_uniform(generator);
          v[s][head][row][d] = generator_uniform(generator);
        }
        keep_row(world, s, head, firsts[s] + row, k[s][head][row], v[s][head][row]);
      }
    model->length += counts[s];
    make_segments(world, s, model->length);
  }
  fovea_new_rows rows;
  fovea_error error;
  fovea_new_rows_init(&rows, SEQUENCES, KV_HEADS, ROWS, world->dim, world->dim, k, v, world->sequences);
  rows.k_strides = rows.v_strides = (fovea_strides){KV_HEADS * ROWS * DIM_LIMIT, ROWS * DIM_LIMIT, DIM_LIMIT};
  rows.first_positions = firsts;
  rows.row_lens = counts;
  assert_ok(fovea_append(&rows, &world->rotary, on_isa(world->isa), &error), &error);
}

struct seen {
  int64_t begin, end;
};

static int sees(const void *rules, int64_t position) {
  const struct seen *seen = rules;
  return position >= seen->begin && position < seen->end;
}

static void assert_row(const struct world *world, const fovea_problem *problem, int s, const float *q, int64_t head,
                       struct seen seen, const float *o, float lse) {
  const struct model *model = &world->models[s];
  float expected[DIM_LIMIT], expected_lse;
  const struct contract_row row = {.q = q,
                                   .k = model->k[head / (HEADS / KV_HEADS)][0],
                                   .v = model->v[head / (HEADS / KV_HEADS)][0],
                                   .k_stride = DIM_LIMIT,
                                   .v_stride = DIM_LIMIT,
                                   .qk_dim = world->dim,
                                   .v_dim = world->dim,
                                   .positions = model->length,
                                   .scale = 1.0 / sqrt((double)world->dim),
                                   .sees = sees,
                                   .rules = &seen};
  mode_contract_row(problem, &row, &(struct mode_vectors){NULL, NULL, NULL}, expected, &expected_lse);
  assert_memory_equal(o, expected, (size_t)world->dim * sizeof *o);
  assert_memory_equal(&lse, &expected_lse, sizeof lse);
}

/* Attends from the last rows of every sequence, in one call. */
static void attend(struct world *world) {
  static float q[SEQUENCES][HEADS][3][DIM_LIMIT], o[SEQUENCES][HEADS][3][DIM_LIMIT], lse[SEQUENCES][HEADS][3];
  struct generator *generator = &world->generator;
  const int64_t rows = 1 + generator_below(generator, 3);
  int64_t lengths[SEQUENCES], begins[SEQUENCES], q_lens[SEQUENCES];
  for (int s = 0; s < SEQUENCES; s++) {
    struct model *model = &world->models[s];
    lengths[s] = model->used ? model->length : 0;
    begins[s] = model->used ? model->begin : 0;
    q_lens[s] = lengths[s] - begins[s] < rows ? lengths[s] - begins[s] : rows;
    if (model->used) make_segments(world, s, model->length);
    for (int64_t i = 0; i < HEADS * 3; i++)
      for (int64_t d = 0; d < DIM_LIMIT; d++) q[s][i / 3][i % 3][d] = 3.0f * generator_uniform(generator);
  }
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, SEQUENCES, HEADS, KV_HEADS, rows, LENGTH, world->dim, world->dim);
  problem.causal = 1;
  problem.q_strides = problem.o_strides = (fovea_strides){HEADS * 3 * DIM_LIMIT, 3 * DIM_LIMIT, DIM_LIMIT};
  problem.lse_strides = (fovea_strides){HEADS * 3, 3, 1};
  problem.cache.segmented = 1;
  problem.kv_lens = lengths;
  problem.kv_begins = begins;
  problem.q_lens = q_lens;
  problem_random_modes(&problem, generator, 4);
  problem_remove_vectors(&problem);
  fovea_tensors_init(&tensors, q, NULL, NULL, o, lse[0][0]);
  tensors.cache.sequences = world->sequences;
  assert_ok(fovea_attend(&problem, &tensors, on_isa(world->isa), &error), &error);
  for (int s = 0; s < SEQUENCES; s++)
    for (int64_t head = 0; head < HEADS; head++)
      for (int64_t row = 0; row < q_lens[s]; row++) {
        const struct seen seen = {begins[s], lengths[s] - q_lens[s] + row + 1};
        assert_row(world, &problem, s, q[s][head][row], head, seen, o[s][head][row], lse[s][head][row]);
      }
}

/* Forgets positions, and gives back pages that hold nothing else. */
static void evict(struct world *world, int s) {
  struct model *model = &world->models[s];
  const int64_t page_rows = world->pages.page_rows, first = model->begin / page_rows;
  model->begin += generator_below(&world->generator, model->length - model->begin + 1);
  const int64_t kept = model->begin / page_rows;
  for (int64_t i = first; i < kept && !world->rings; i++) {
    assert_int_equal(fovea_page_release(&world->pool, world->tables[s][i], NULL), FOVEA_OK);
    world->tables[s][i] = -1;
  }
}

static void end_sequence(struct world *world, int s) {
  struct model *model = &world->models[s];
  model->begin = model->length;
  for (int64_t i = 0; i < TABLE && !world->rings; i++) {
    if (world->tables[s][i] >= 0)
      assert_int_equal(fovea_page_release(&world->pool, world->tables[s][i], NULL), FOVEA_OK);
    world->tables[s][i] = -1;
  }
  model->used = 0;
}

static void begin_sequence(struct world *world, int s) {
  world->models[s] = (struct model){.used = 1};
  world->sequences[s] = fovea_sequence_of(NULL, 0);
  for (int64_t i = 0; i < TABLE; i++) world->tables[s][i] = -1;
}

static void fork_sequence(struct world *world, int s, int to) {
  if (world->rings) return; /* each ring has its own memory */
  begin_sequence(world, to);
  world->models[to] = world->models[s];
  memcpy(world->tables[to], world->tables[s], sizeof world->tables[s]);
  for (int64_t i = 0; i < TABLE; i++)
    if (world->tables[s][i] >= 0)
      assert_int_equal(fovea_page_share(&world->pool, world->tables[s][i], NULL), FOVEA_OK);
}

static void step(struct world *world) {
  struct generator *generator = &world->generator;
  const int s = (int)generator_below(generator, SEQUENCES), other = (int)generator_below(generator, SEQUENCES);
  const int64_t choice = generator_below(generator, 12);
  struct model *model = &world->models[s];
  if (choice < 6)
    append(world);
  else if (choice < 8)
    attend(world);
  else if (choice == 8 && model->used && model->length < LENGTH)
    evict(world, s);
  else if (choice == 9 && model->used && !world->models[other].used)
    fork_sequence(world, s, other);
  else if (choice == 10 && model->used && (model->length > LENGTH - 20 || generator_below(generator, 4) == 0))
    end_sequence(world, s);
  else if (choice == 11 && !model->used)
    begin_sequence(world, s);
}

static void test_histories(void **state) {
  (void)state;
  struct world *world = malloc(sizeof *world);
  assert_non_null(world);
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(12, 120); seed++) {
    create_world(world, seed);
    begin_sequence(world, 0);
    for (int s = 1; s < SEQUENCES; s++)
      for (int64_t i = 0; i < TABLE; i++) world->tables[s][i] = -1;
    for (int i = 0; i < 100; i++) step(world);
    attend(world);
    assert_true(guarded_slack_intact(&world->k_memory) && guarded_slack_intact(&world->v_memory));
    for (int s = 0; s < SEQUENCES; s++) end_sequence(world, s);
    assert_int_equal(world->pool.free_count, PAGES); /* no page is lost */
    guarded_destroy(&world->k_memory);
    guarded_destroy(&world->v_memory);
  }
  free(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_histories),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
