/* Which memory a run may share: nothing that it writes may share a byte with anything that it uses, and nothing
 * else is refused. */
#include "support/check.h"
#include "support/problems.h"
#include "support/refusals.h"
#include "support/single_task.h"
#include "support/trial.h"

#include <fovea/cache.h>
#include <fovea/state.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) unsigned char arena[1 << 18];

static fovea_status attend(const fovea_problem *problem, const fovea_tensors *tensors, fovea_error *error) {
  *error = (fovea_error){FOVEA_OK, "", ""};
  return fovea_attend(problem, tensors, NULL, error);
}

/* ---- To the byte --------------------------------------------------------------------------------------------- */

enum { Q, K, V, MASK, O, LSE, TENSORS };

/* One tensor in the arena, and marks of the bytes that are used. */
struct laid {
  fovea_strides strides;
  int64_t heads, size; /* bytes of an element */
  int64_t place;       /* of the element with all indices 0, in the arena */
};

static void mark(unsigned char *marks, const struct laid *laid, int64_t batch, int64_t row, int64_t begin,
                 int64_t end) {
  for (int64_t h = 0; h < laid->heads; h++) {
    const int64_t first = batch * laid->strides.batch + h * laid->strides.head + row * laid->strides.row;
    for (int64_t byte = (first + begin) * laid->size; byte < (first + end) * laid->size; byte++)
      marks[laid->place + byte] = 1;
  }
}

/* The keys from the first that some row of the batch element sees to the last. */
static void find_seen(const fovea_problem *problem, const struct entry *entry, int64_t *begin, int64_t *end) {
  *begin = *end = 0;
  for (int64_t j = 0; j < entry->kv_len; j++)
    for (int64_t i = 0; i < entry->q_len; i++) {
      if (!row_sees(problem, entry, i, j)) continue;
      if (*end == 0) *begin = j;
      *end = j + 1;
    }
}

static void mark_all(const fovea_problem *problem, const struct laid *laid, int tensor, unsigned char *marks) {
  memset(marks, 0, sizeof arena);
  for (int64_t b = 0; b < problem->batch; b++) {
    const struct entry entry = problem_entry(problem, b);
    int64_t begin, end;
    find_seen(problem, &entry, &begin, &end);
    if (end == 0 && tensor < O) continue;
    const int64_t first = begin / 128 * 128 > problem->mask.begin ? begin / 128 * 128 - problem->mask.begin : 0;
    for (int64_t i = 0; i < entry.rows; i++) {
      if (tensor == MASK && i < entry.q_len && end > problem->mask.begin)
        mark(marks, laid, b, i, first, end - problem->mask.begin);
      if (tensor == Q || tensor == O || tensor == LSE)
        mark(marks, laid, entry.q_batch, entry.q_first + i, 0,
             tensor == Q   ? problem->qk_dim
             : tensor == O ? problem->v_dim
                           : 1);
    }
    for (int64_t j = begin; j < end && (tensor == K || tensor == V); j++)
      mark(marks, laid, entry.kv_batch, entry.kv_first + j, 0, tensor == K ? problem->qk_dim : problem->v_dim);
  }
}

/* Places the tensors: what is written near to what is read, rather than anywhere. */
static void lay_out(const fovea_problem *p, struct generator *generator, struct laid laid[TENSORS]) {
  const struct laid all[TENSORS] = {
      [Q] = {p->q_strides, p->heads, 4, 0},
      [K] = {p->k_strides, p->kv_heads, 4, 0},
      [V] = {p->v_strides, p->kv_heads, 4, 0},
      [O] = {p->o_strides, p->heads, 4, 0},
      [LSE] = {p->lse_strides, p->heads, 4, 0},
      [MASK] = {{p->mask.strides.batch, p->mask.strides.head, p->mask.strides.row}, p->heads, 1, 0},
  };
  for (int i = 0; i < TENSORS; i++) {
    laid[i] = all[i];
    laid[i].place = (int64_t)sizeof arena / 2 + 4 * (generator_below(generator, 600) - 300);
  }
}

static int shares(unsigned char marks[TENSORS][sizeof arena], int a, int b) {
  for (size_t i = 0; i < sizeof arena; i++)
    if (marks[a][i] && marks[b][i]) return 1;
  return 0;
}

/* Whether all strides stay within the arena. */
static int fits(const fovea_problem *p, const struct laid *laid) {
  int64_t reach = 4096;
  const int64_t rows = p->q_len > p->kv_len ? p->q_len : p->kv_len;
  reach += llabs(laid->strides.batch) * p->batch + llabs(laid->strides.head) * laid->heads +
           llabs(laid->strides.row) * rows;
  return reach * laid->size < (int64_t)sizeof arena / 2;
}

static void random_problem(struct listed_problem *listed, struct generator *generator) {
  fovea_problem *p = &listed->problem;
  do problem_random(listed, generator, 20000);
  while (p->q_len > 40 || p->kv_len > 200 || p->qk_dim > 20 || p->v_dim > 20 || p->batch * p->heads > 12);
  p->mask.type = FOVEA_MASK_BOOL;
  p->mask.begin = generator_below(generator, p->kv_len + 1);
  p->mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, p->batch, p->heads, p->q_len, p->kv_len - p->mask.begin);
  problem_random_layout(p, generator);
  /* Twice as far apart as necessary, so that another tensor fits between. */
  if (generator_below(generator, 2) == 0) {
    fovea_strides *const strides[] = {&p->q_strides, &p->o_strides};
    for (int i = 0; i < 2; i++) *strides[i] = (fovea_strides){p->heads * p->q_len * 48, p->q_len * 48, 48};
  }
}

static void test_to_the_byte(void **state) {
  (void)state;
  static unsigned char marks[TENSORS][sizeof arena];
  struct generator generator = {2024};
  int accepted = 0, refused = 0;
  for (int i = 0; i < USUAL_OR_LONG(300, 3000); i++) {
    struct listed_problem listed;
    struct laid laid[TENSORS];
    fovea_tensors tensors;
    fovea_error error;
    random_problem(&listed, &generator);
    lay_out(&listed.problem, &generator, laid);
    int inside = 1;
    for (int t = 0; t < TENSORS; t++) inside &= fits(&listed.problem, &laid[t]);
    if (!inside) continue;
    for (int t = 0; t < TENSORS; t++) mark_all(&listed.problem, &laid[t], t, marks[t]);
    int wrong = shares(marks, O, LSE);
    for (int t = 0; t < O; t++) wrong |= shares(marks, t, O) || shares(marks, t, LSE);
    memset(arena, 0, sizeof arena);
    fovea_tensors_init(&tensors, arena + laid[Q].place, arena + laid[K].place, arena + laid[V].place,
                       arena + laid[O].place, (float *)(void *)(arena + laid[LSE].place));
    tensors.mask = arena + laid[MASK].place;
    const fovea_status status = attend(&listed.problem, &tensors, &error);
    if (strstr(error.text, "elements share memory")) continue; /* an output that overlaps itself, or may do so */
    if (status != (wrong ? FOVEA_ERROR_ARGUMENT : FOVEA_OK)) fail_msg("problem %d: %s", i, error.text);
    wrong ? refused++ : accepted++;
  }
  assert_true(accepted > 20 && refused > 20);
}

/* ---- Rows between rows --------------------------------------------------------------------------------------- */

/* Q and O in one buffer, row beside row, give the results of separate buffers. Moved by one element, they are
 * refused. */
static void test_interleaved(void **state) {
  (void)state;
  enum { BATCH = 3, HEADS = 2, ROWS = 20, KEYS = 30, DIM = 8 };
  fovea_problem problem;
  fovea_error error;
  fovea_problem_init(&problem, BATCH, HEADS, HEADS, ROWS, KEYS, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  struct trial expected = trial_create(&problem, 3);
  trial_run(&expected, NULL, NULL);
  float *both = (void *)arena;
  const fovea_strides strides = {HEADS * ROWS * 2 * DIM, ROWS * 2 * DIM, 2 * DIM};
  problem.q_strides = problem.o_strides = strides;
  fovea_tensors tensors = trial_tensors(&expected);
  for (int64_t row = 0; row < BATCH * HEADS * ROWS; row++)
    memcpy(both + row * 2 * DIM, expected.q.data + row * DIM, DIM * sizeof(float));
  tensors.q = both;
  tensors.o = both + DIM;
  if (attend(&problem, &tensors, &error) != FOVEA_OK) fail_msg("%s", error.text);
  for (int64_t row = 0; row < BATCH * HEADS * ROWS; row++)
    assert_memory_equal(both + row * 2 * DIM + DIM, expected.o.data + row * DIM, DIM * sizeof(float));
  static const char *const words[] = {"o shares memory with q", NULL};
  for (int off = -1; off <= 1; off += 2) {
    tensors.o = both + DIM + off;
    assert_int_equal(attend(&problem, &tensors, &error), FOVEA_ERROR_ARGUMENT);
    assert_says(&error, FOVEA_ERROR_ARGUMENT, words);
  }
  trial_destroy(&expected);
}

/* The same with the rows of a segment. */
static void test_interleaved_segment(void **state) {
  (void)state;
  enum { ROWS = 20, DIM = 8 };
  static float q[ROWS * DIM], v[ROWS * DIM];
  float *both = (void *)arena;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, 1, 1, 1, ROWS, ROWS, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  problem.cache.segmented = 1;
  problem.o_strides.row = 2 * DIM;
  const fovea_segment segment = {.rows = ROWS, .k = both, .v = v, .k_row = 2 * DIM, .v_row = DIM};
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  for (int off = -1; off <= 1; off++) {
    fovea_tensors_init(&tensors, q, NULL, NULL, both + DIM + off, NULL);
    tensors.cache.sequences = &sequence;
    assert_int_equal(attend(&problem, &tensors, &error), off == 0 ? FOVEA_OK : FOVEA_ERROR_ARGUMENT);
  }
}

/* Of a mask a run uses the rows that see keys, from the block of the first visible key on. */
static void test_used_of_a_mask(void **state) {
  (void)state;
  enum { ROWS = 6, SEEN = 4, KEYS = 300, DIM = 8 };
  static float q[ROWS * DIM], k[KEYS * DIM], v[KEYS * DIM];
  static const int64_t q_lens[] = {SEEN};
  float *mask = (void *)arena;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, 1, 1, 1, ROWS, KEYS, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  problem.q_lens = q_lens;
  problem.window_left = 50; /* keys from 246 on are visible; their block begins at 128 */
  problem.mask.type = FOVEA_MASK_F32;
  for (int64_t begin = 0; begin <= 200; begin += 40) {
    problem.mask.begin = begin;
    const int64_t used = begin < 128 ? 128 - begin : 0, o_size = ROWS * DIM, after = SEEN * (KEYS - begin);
    problem.mask.strides = fovea_mask_layout(FOVEA_MASK_F32, 1, 1, ROWS, KEYS - begin);
    mask = (float *)(void *)arena + 1000;
    for (int off = 0; off <= 1; off++) {
      fovea_tensors_init(&tensors, q, k, v, mask + used - o_size + off, NULL);
      tensors.mask = mask;
      assert_int_equal(attend(&problem, &tensors, &error), off ? FOVEA_ERROR_ARGUMENT : FOVEA_OK);
      tensors.o = mask + after - off;
      assert_int_equal(attend(&problem, &tensors, &error), off ? FOVEA_ERROR_ARGUMENT : FOVEA_OK);
    }
  }
}

/* O whose later batch elements lie before the first in memory. */
static void test_negative_batch_stride(void **state) {
  (void)state;
  enum { BATCH = 5, ROWS = 3, DIM = 8, ENTRY = ROWS * DIM };
  static float q[BATCH * ENTRY], k[BATCH * ENTRY];
  float *o = (float *)(void *)arena + 1000;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, BATCH, 1, 1, ROWS, ROWS, DIM, DIM);
  fovea_problem_resolve(&problem, NULL);
  problem.o_strides.batch = -2 * ENTRY;
  problem.v_strides.batch = 0;
  for (int64_t place = -10 * ENTRY; place <= 3 * ENTRY; place++) {
    int shared = 0;
    for (int64_t b = 0; b < BATCH; b++) shared |= place < -2 * b * ENTRY + ENTRY && -2 * b * ENTRY < place + ENTRY;
    fovea_tensors_init(&tensors, q, k, o + place, o, NULL);
    assert_int_equal(attend(&problem, &tensors, &error), shared ? FOVEA_ERROR_ARGUMENT : FOVEA_OK);
  }
}

/* Tensors that are not used may be missing. */
static void test_not_used(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, 1, 1, 1, 4, 300, 8, 8);
  fovea_problem_resolve(&problem, NULL);
  float *o = (void *)arena;
  problem.causal = 1;
  problem.offset = -4; /* no row sees a key */
  fovea_tensors_init(&tensors, NULL, NULL, NULL, o, NULL);
  if (attend(&problem, &tensors, &error) != FOVEA_OK) fail_msg("%s", error.text);
  problem.offset = -3; /* the last row sees one key */
  assert_int_equal(attend(&problem, &tensors, &error), FOVEA_ERROR_ARGUMENT);
  /* A mask that begins after all visible keys. */
  fovea_tensors_init(&tensors, o + 100, o + 200, o + 300, o, NULL);
  problem.mask.type = FOVEA_MASK_F32;
  problem.mask.begin = 1;
  if (attend(&problem, &tensors, &error) != FOVEA_OK) fail_msg("%s", error.text);
  problem.mask.begin = 0;
  assert_int_equal(attend(&problem, &tensors, &error), FOVEA_ERROR_ARGUMENT);
}

/* ---- Scratch ------------------------------------------------------------------------------------------------- */

struct run {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_plan *plan;
  size_t needed;
};

static void plan_run(struct run *run, fovea_problem *problem) {
  run->problem = *problem;
  assert_int_equal(fovea_plan_create(problem, NULL, &run->plan, NULL), FOVEA_OK);
  run->needed = fovea_plan_scratch_size(run->plan, 1);
  assert_true(run->needed % 64 == 0 && run->needed + 65536 < sizeof arena);
}

/* By one call, by a plan, and by one task. Scratch beyond the needed size is not used. */
static void check_scratch(const struct run *run, void *scratch, const char *name) {
  fovea_execution execution;
  fovea_error error;
  fovea_execution_init(&execution);
  execution.threads = 1;
  execution.scratch = scratch;
  execution.scratch_size = run->needed + 1024;
  const char *const words[] = {"scratch shares memory with ", name, NULL};
  const fovea_status wanted = name ? FOVEA_ERROR_ARGUMENT : FOVEA_OK;
  for (int way = 0; way < 3; way++) {
    error = (fovea_error){FOVEA_OK, "", ""};
    const fovea_status status =
        way == 0   ? fovea_attend(&run->problem, &run->tensors, &execution, &error)
        : way == 1 ? fovea_plan_run(run->plan, &run->tensors, &execution, &error)
                   : single_task(run->plan, &run->tensors, 0, 0, 0, 1, scratch, execution.scratch_size, &error);
    if (status != wanted) fail_msg("way %d, %s: %s", way, name ? name : "apart", error.text);
    if (name) assert_says(&error, wanted, words);
  }
}

/* Places the memory of `pointer` right after the needed scratch, and then one element within it. */
#define CHECK_SCRATCH(pointer, name, size)                                                                         \
  do {                                                                                                             \
    const struct run kept = run;                                                                                   \
    (pointer) = (void *)(arena + run.needed);                                                                      \
    check_scratch(&run, arena, NULL);                                                                              \
    (pointer) = (void *)(arena + run.needed - (size));                                                             \
    check_scratch(&run, arena, name);                                                                              \
    run = kept;                                                                                                    \
  } while (0)

static void test_scratch_over_tensors(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 2, 2, 1, 5, 40, 8, 8);
  fovea_problem_resolve(&problem, NULL);
  problem.mask.type = FOVEA_MASK_F32;
  problem.sink = FOVEA_SINK_PER_HEAD;
  struct trial trial_here = trial_create(&problem, 0);
  struct run run = {.tensors = trial_tensors(&trial_here)};
  plan_run(&run, &problem);
  memset(arena, 0, sizeof arena);
  CHECK_SCRATCH(run.tensors.q, "q", 4);
  CHECK_SCRATCH(run.tensors.k, "k", 4);
  CHECK_SCRATCH(run.tensors.v, "v", 4);
  CHECK_SCRATCH(run.tensors.mask, "mask", 4);
  CHECK_SCRATCH(run.tensors.sink, "sink", 4);
  CHECK_SCRATCH(run.tensors.o, "o", 4);
  CHECK_SCRATCH(run.tensors.lse, "lse", 4);
  check_scratch(&run, arena, NULL);
  fovea_plan_destroy(run.plan);
  trial_destroy(&trial_here);
}

static void test_scratch_over_segments(void **state) {
  (void)state;
  static float q[80], o[80], k[640], v[640];
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 2, 5, 40, 8, 8);
  fovea_problem_resolve(&problem, NULL);
  problem.cache.segmented = 1;
  struct run run;
  fovea_segment segment = {.rows = 40, .k = k, .v = v, .k_head = 320, .k_row = 8, .v_head = 320, .v_row = 8};
  fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  fovea_tensors_init(&run.tensors, q, NULL, NULL, o, NULL);
  run.tensors.cache.sequences = &sequence;
  plan_run(&run, &problem);
  memset(arena, 0, sizeof arena);
  CHECK_SCRATCH(segment.k, "k", 4);
  segment.k = k;
  CHECK_SCRATCH(segment.v, "v", 4);
  segment.v = v;
  fovea_segment *const array = (void *)(arena + run.needed - sizeof segment);
  *array = segment;
  sequence.segments = array;
  check_scratch(&run, arena, "the array of segments");
  sequence.segments = &segment;
  fovea_sequence *const sequences = (void *)(arena + run.needed - sizeof sequence);
  *sequences = sequence;
  run.tensors.cache.sequences = sequences;
  check_scratch(&run, arena, "sequences");
  fovea_plan_destroy(run.plan);
}

static void test_scratch_over_state(void **state) {
  (void)state;
  static float q[80], k[640], v[640], numbers[100];
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 2, 2, 5, 40, 8, 8);
  fovea_problem_resolve(&problem, NULL);
  problem.state = 1;
  struct run run;
  fovea_state of_run;
  fovea_state_init(&of_run, 1, 2, 5, 8, 0, 40, numbers);
  fovea_tensors_init(&run.tensors, q, k, v, NULL, NULL);
  run.tensors.state = &of_run;
  plan_run(&run, &problem);
  problem.keys.end = run.problem.keys.end;
  memset(arena, 0, sizeof arena);
  CHECK_SCRATCH(of_run.numbers, "state", 4);
  of_run.numbers = numbers;
  fovea_state *const moved = (void *)(arena + run.needed - sizeof of_run / 8 * 8);
  *moved = of_run;
  run.tensors.state = moved;
  check_scratch(&run, arena, "state");
  fovea_plan_destroy(run.plan);
}

static void *allocate_in_arena(void *context, size_t size, size_t alignment) {
  (void)alignment;
  return size <= *(size_t *)context ? arena : NULL;
}

static void release_nothing(void *context, void *pointer) {
  (void)context, (void)pointer;
}

/* A plan in the arena, and scratch over its end. */
static void test_scratch_over_plan(void **state) {
  (void)state;
  static float q[80], o[80], k[640], v[640];
  size_t room = sizeof arena;
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_error error;
  fovea_plan *plan;
  fovea_problem_init(&problem, 1, 2, 2, 5, 40, 8, 8);
  fovea_problem_resolve(&problem, NULL);
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.allocator = (fovea_allocator){&room, allocate_in_arena, release_nothing};
  fovea_tensors_init(&tensors, q, k, v, o, NULL);
  assert_int_equal(fovea_plan_create(&problem, &execution, &plan, NULL), FOVEA_OK);
  assert_ptr_equal(plan, arena);
  const size_t needed = fovea_plan_scratch_size(plan, 1);
  static const char *const words[] = {"scratch shares memory with the plan", NULL};
  assert_int_equal(single_task(plan, &tensors, 0, 0, 0, 1, arena + 64, needed, &error), FOVEA_ERROR_ARGUMENT);
  assert_says(&error, FOVEA_ERROR_ARGUMENT, words);
  assert_int_equal(single_task(plan, &tensors, 0, 0, 0, 1, arena + 16384, needed, &error), FOVEA_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_interleaved_segment),   cmocka_unit_test(test_used_of_a_mask),
      cmocka_unit_test(test_negative_batch_stride), cmocka_unit_test(test_to_the_byte),
      cmocka_unit_test(test_interleaved),           cmocka_unit_test(test_not_used),
      cmocka_unit_test(test_scratch_over_tensors),  cmocka_unit_test(test_scratch_over_segments),
      cmocka_unit_test(test_scratch_over_state),    cmocka_unit_test(test_scratch_over_plan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
