/* Callers and threads in other floating-point environments than the contract's get the same bits from attention,
 * and keep their environment. */
#include "arch/kernels.h"
#include "arch/targets.h"
#include "support/check.h"
#include "support/everywhere.h"
#include "support/execution.h"
#include "support/single_task.h"

#include <fovea/state.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { HEADS = 4, KV_HEADS = 2, ROWS = 64, KEYS = 128, DIM = 32, FEW_ROWS = 3, LONG_KEYS = 49152 };
enum { THREADS = EVERYWHERE_THREADS };

static float q[HEADS * ROWS * DIM], k[KV_HEADS * KEYS * DIM], v[KV_HEADS * KEYS * DIM];
static float large_q[FEW_ROWS * DIM], large_k[KEYS * DIM];
static float long_k[LONG_KEYS * DIM], long_v[LONG_KEYS * DIM];
static uint16_t halves[KV_HEADS * KEYS * DIM];
static float mask[ROWS * KEYS];
enum { O_BYTES = sizeof q, LSE_BYTES = HEADS * ROWS * sizeof(float) };

static int set_up(void **state) {
  (void)state;
  struct generator generator = {77};
  fill_numbers(q, HEADS * ROWS * DIM, 1, &generator);
  fill_numbers(k, KV_HEADS * KEYS * DIM, 1, &generator);
  fill_values(v, KV_HEADS * KEYS * DIM, &generator);
  fill_numbers(large_q, FEW_ROWS * DIM, 0x1p60f, &generator);
  fill_numbers(large_k, KEYS * DIM, 0x1p60f, &generator);
  fill_numbers(long_k, LONG_KEYS * DIM, 1, &generator);
  fill_values(long_v, LONG_KEYS * DIM, &generator);
  for (int i = 0; i < KV_HEADS * KEYS * DIM; i++) halves[i] = (uint16_t)(generator_bits(&generator) & 0xbbff);
  for (int i = 0; i < ROWS * KEYS; i++) {
    static const uint32_t numbers[] = {0, 0x7f800001, 0x00000003, 0xff800000, 0x3f800000, 0x80000000};
    memcpy(&mask[i], &numbers[generator_below(&generator, 6)], sizeof mask[i]);
  }
  return 0;
}

static fovea_problem full_problem(void) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, ROWS, KEYS, DIM, DIM);
  return problem;
}

static void act_init(void) {
  for (int64_t dim = 1; dim <= 64; dim++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 1, 1, 1, 1, 1, dim, 1);
    memcpy(everywhere_room(sizeof problem.scale), &problem.scale, sizeof problem.scale);
  }
}

static void test_init(void **state) {
  (void)state;
  assert_same_everywhere(act_init);
}

static void act_attention(void) {
  everywhere_keep(fovea_attention(q, k, v, everywhere_room(O_BYTES), 1, HEADS, KV_HEADS, ROWS, KEYS, DIM, 0));
}

static void test_attention(void **state) {
  (void)state;
  assert_same_everywhere(act_attention);
}

/* One head, decoded. */
static void attend(double scale, double softcap, const float *queries, const float *keys) {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_problem_init(&problem, 1, 1, 1, FEW_ROWS, KEYS, DIM, DIM);
  problem.scale = scale;
  problem.softcap = softcap;
  if (softcap > 0) problem.o_type = FOVEA_F16;
  fovea_tensors_init(&tensors, queries, keys, v, everywhere_room(FEW_ROWS * DIM * sizeof(float)),
                     everywhere_room(FEW_ROWS * sizeof(float)));
  everywhere_keep(fovea_attend(&problem, &tensors, on_isa(everywhere_isa), NULL));
}

/* Enough rows for products of pairs. */
static void attend_halves(fovea_type type) {
  fovea_problem problem = full_problem();
  fovea_tensors tensors;
  problem.q_type = problem.k_type = type;
  fovea_tensors_init(&tensors, halves, halves, v, everywhere_room(O_BYTES), NULL);
  everywhere_keep(fovea_attend(&problem, &tensors, on_isa(everywhere_isa), NULL));
}

/* Scales and softcaps whose constants round up and down, and one whose constant is subnormal. */
static void act_attend(void) {
  static const double scales[] = {0.125, 0.3, -0.7, 1.1, 0.01, 0x1p-60};
  static const double softcaps[] = {0, 30, 0.9};
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    for (size_t j = 0; j < sizeof softcaps / sizeof *softcaps; j++) attend(scales[i], softcaps[j], q, k);
  }
  attend(1e-40, 0, large_q, large_k);
}

static void act_halves(void) {
  attend_halves(FOVEA_F16);
  attend_halves(FOVEA_BF16);
}

static void test_attend(void **state) {
  (void)state;
  assert_exact_everywhere_on_isas(act_attend);
  assert_same_everywhere_on_isas(act_halves);
}

/* On AMX, if it can be allowed: that compares products first. */
static void act_modes(void) {
  everywhere_keep(fovea_allow_amx(NULL));
  for (int mode = FOVEA_MODE_BF16; mode <= FOVEA_MODE_INT8; mode++) {
    fovea_problem problem = full_problem();
    fovea_tensors tensors;
    problem.modes.score = problem.modes.value = (fovea_mode)mode;
    fovea_tensors_init(&tensors, q, k, v, everywhere_room(O_BYTES), NULL);
    everywhere_keep(fovea_attend(&problem, &tensors, NULL, NULL));
  }
}

/* On every set by name. */
static void act_int8(void) {
  fovea_problem problem = full_problem();
  fovea_tensors tensors;
  problem.modes.score = problem.modes.value = FOVEA_MODE_INT8;
  fovea_tensors_init(&tensors, q, k, v, everywhere_room(O_BYTES), NULL);
  everywhere_keep(fovea_attend(&problem, &tensors, on_isa(everywhere_isa), NULL));
}

static void test_modes(void **state) {
  (void)state;
  assert_same_everywhere(act_modes);
  assert_same_everywhere_on_isas(act_int8);
}

/* Weights and sums that are subnormal, and constants that round up and down; decoded rows and tiles. Each normaliser
 * meets each scale, and so does its sum. */
static void act_normalisers(void) {
  static const double scales[] = {0.3, 0x1p-70, 1e-40}, biases[] = {0.1, -97.3, -0.7};
  for (int normaliser = FOVEA_NORMALISER_RELU; normaliser <= FOVEA_NORMALISER_SIGMOID; normaliser++)
    for (int divisor = FOVEA_DIVISOR_NONE; divisor <= FOVEA_DIVISOR_SUM; divisor++)
      for (int i = 0; i < (divisor == FOVEA_DIVISOR_SUM ? 6 : 2); i++) {
        const int64_t rows = i % 2 > 0 ? FEW_ROWS : ROWS;
        const int number = divisor == FOVEA_DIVISOR_SUM ? i / 2 : divisor;
        fovea_problem problem;
        fovea_tensors tensors;
        fovea_problem_init(&problem, 1, 1, 1, rows, KEYS, DIM, DIM);
        problem.scale = scales[number];
        problem.normaliser.kind = (fovea_normaliser)normaliser;
        problem.normaliser.divisor = (fovea_divisor)divisor;
        if (divisor == FOVEA_DIVISOR_CONSTANT) problem.normaliser.divisor_value = biases[0];
        if (normaliser == FOVEA_NORMALISER_SIGMOID) problem.normaliser.sigmoid_bias = biases[number];
        fovea_tensors_init(&tensors, q, k, v, everywhere_room((size_t)rows * DIM * sizeof(float)), NULL);
        if (rows == FEW_ROWS) {
          problem.scores.kind = FOVEA_SCORES_WEIGHTS;
          tensors.scores = everywhere_room(FEW_ROWS * KEYS * sizeof(float));
        }
        everywhere_keep(fovea_attend(&problem, &tensors, on_isa(everywhere_isa), NULL));
      }
}

static void test_normalisers(void **state) {
  (void)state;
  assert_exact_everywhere_on_isas(act_normalisers);
}

/* The counts of a run read its mask: of numbers with signalling NaNs and subnormals. */
static void act_counts(void) {
  _Alignas(FOVEA_SCRATCH_ALIGNMENT) unsigned char memory[RUN_ROOM];
  fovea_problem problem = full_problem();
  fovea_tensors tensors;
  fovea_plan *plan;
  fovea_run *run;
  problem.mask.type = FOVEA_MASK_F32;
  problem.mask.strides = (fovea_mask_strides){0, 0, KEYS, 1};
  fovea_tensors_init(&tensors, q, k, v, everywhere_room(O_BYTES), NULL);
  tensors.mask = mask;
  everywhere_keep(fovea_plan_create(&problem, NULL, &plan, NULL));
  const size_t size = fovea_plan_scratch_size(plan, 1);
  unsigned char *block = malloc(size + FOVEA_SCRATCH_ALIGNMENT);
  if (block == NULL) abort();
  unsigned char *scratch = block + -(uintptr_t)block % FOVEA_SCRATCH_ALIGNMENT;
  everywhere_keep(fovea_run_bind(plan, &tensors, 1, scratch, size, memory, sizeof memory, &run, NULL));
  everywhere_keep(fovea_run_counts(run, everywhere_room(sizeof(fovea_counts))));
  free(block);
  fovea_plan_destroy(plan);
}

static void test_counts(void **state) {
  (void)state;
  assert_same_everywhere(act_counts);
}

/* Refused arguments, and the numbers in the texts. */
static void act_refused(void) {
  static const double wrong[][2] = {{1e40, 0},      {-1.7e39, 0}, {HUGE_VAL, 0},
                                    {1, 0x1p-1074}, {1, -0.3},    {1e30, 1e-9}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    fovea_problem problem = full_problem();
    fovea_plan *plan;
    problem.scale = wrong[i][0];
    problem.softcap = wrong[i][1];
    everywhere_keep(fovea_plan_create(&problem, NULL, &plan, everywhere_room(sizeof(fovea_error))));
  }
}

static void test_refused(void **state) {
  (void)state;
  assert_same_everywhere(act_refused);
}

/* An allocator that checks the environment in which it is called. */
static void *look_and_allocate(void *context, size_t size, size_t alignment) {
  (void)context;
  everywhere_look();
  /* cppcheck-suppress pointerSize */
  char *memory = malloc(size + alignment + sizeof(char *));
  if (memory == NULL) return NULL;
  char *aligned = memory + sizeof(char *);
  aligned += -(uintptr_t)aligned % alignment;
  memcpy(aligned - sizeof memory, &memory, sizeof memory);
  return aligned;
}

static void look_and_release(void *context, void *pointer) {
  (void)context;
  everywhere_look();
  void *memory;
  memcpy(&memory, (char *)pointer - sizeof memory, sizeof memory);
  free(memory);
}

static void act_parallel_for(void) {
  fovea_problem problem = full_problem();
  fovea_tensors tensors;
  fovea_execution execution;
  fovea_plan *plan;
  fovea_tensors_init(&tensors, q, k, v, everywhere_room(O_BYTES), everywhere_room(LSE_BYTES));
  fovea_execution_init(&execution);
  execution.threads = THREADS;
  execution.parallel_for = everywhere_loop;
  execution.allocator = (fovea_allocator){NULL, look_and_allocate, look_and_release};
  everywhere_keep(fovea_plan_create(&problem, &execution, &plan, NULL));
  everywhere_keep(fovea_plan_run(plan, &tensors, &execution, NULL));
  fovea_plan_destroy(plan);
}

/* Row-wise calls with enough rows for more than one thread. */
static void act_rows(void) {
  enum { MANY = 2048 };
  fovea_rotary rotary;
  fovea_rotation rotation;
  fovea_segment segment;
  fovea_execution execution;
  const fovea_sequence sequence = fovea_sequence_of(&segment, 1);
  fovea_new_rows rows;
  fovea_pages pages;
  fovea_execution_init(&execution);
  execution.threads = THREADS;
  execution.parallel_for = everywhere_loop;
  fovea_rotary_init(&rotary, FOVEA_ROTARY_HALVES, DIM);
  fovea_rotation_init(&rotation, 1, 1, MANY, DIM, long_v, everywhere_room(MANY * DIM * sizeof(float)));
  everywhere_keep(fovea_rotary_apply(&rotary, &rotation, &execution, NULL));
  fovea_pages_init(&pages, 1, MANY, 1, DIM, DIM, FOVEA_F16, FOVEA_KEYS_IN_ROWS);
  pages.k = everywhere_room(MANY * DIM * sizeof(uint16_t));
  pages.v = everywhere_room(MANY * DIM * sizeof(uint16_t));
  everywhere_keep(fovea_cache_contiguous(&pages, 0, &segment, NULL));
  fovea_new_rows_init(&rows, 1, 1, MANY, DIM, DIM, long_v, long_v, &sequence);
  everywhere_keep(fovea_append(&rows, &rotary, &execution, NULL));
}

static void act_state_rows(void) {
  enum { MANY = 1024 };
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;
  fovea_state made, merged;
  fovea_execution_init(&execution);
  execution.threads = THREADS;
  execution.parallel_for = everywhere_loop;
  fovea_problem_init(&problem, 1, 1, 1, MANY, KEYS, DIM, DIM);
  fovea_tensors_init(&tensors, NULL, NULL, NULL, long_v, long_k);
  tensors.state = &made;
  fovea_state_init(&made, 1, 1, MANY, DIM, 0, KEYS, everywhere_room(MANY * (DIM + 2) * sizeof(float)));
  everywhere_keep(fovea_state_from_output(&problem, &tensors, &execution, NULL));
  merged = made;
  merged.numbers = everywhere_room(MANY * (DIM + 2) * sizeof(float));
  everywhere_keep(fovea_state_merge(&made, &made, &merged, &execution, NULL));
  fovea_tensors_init(&tensors, NULL, NULL, NULL, everywhere_room(MANY * DIM * sizeof(float)), NULL);
  tensors.state = &made;
  everywhere_keep(fovea_state_finish(&problem, &tensors, &execution, NULL));
}

static void test_rows(void **state) {
  (void)state;
  assert_same_everywhere(act_rows);
  assert_same_everywhere(act_state_rows);
}

static void test_parallel_for(void **state) {
  (void)state;
  assert_same_everywhere(act_parallel_for);
}

/* A plan that was made elsewhere. Threads in the environment run it task by task, in both phases. */
static fovea_plan *long_plan;
static unsigned char *long_scratch;
struct long_job {
  fovea_tensors tensors;
  int phase;
};

static void run_task(void *context, int64_t task, int worker) {
  const struct long_job *job = context;
  if (single_task(long_plan, &job->tensors, job->phase, task, worker, THREADS, long_scratch,
                  fovea_plan_scratch_size(long_plan, THREADS), NULL) != FOVEA_OK)
    abort();
}

static void act_tasks(void) {
  struct long_job job;
  fovea_tensors_init(&job.tensors, q, long_k, long_v, everywhere_room(DIM * sizeof(float)), NULL);
  for (job.phase = 0; job.phase < fovea_plan_phases(long_plan); job.phase++)
    everywhere_loop(NULL, fovea_plan_tasks(long_plan, job.phase), THREADS, run_task, &job);
}

static void test_tasks(void **state) {
  (void)state;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 1, 1, 1, LONG_KEYS, DIM, DIM);
  assert_int_equal(fovea_plan_create(&problem, NULL, &long_plan, NULL), FOVEA_OK);
  assert_int_equal(fovea_plan_phases(long_plan), 2);
  unsigned char *memory = malloc(fovea_plan_scratch_size(long_plan, THREADS) + FOVEA_SCRATCH_ALIGNMENT);
  assert_non_null(memory);
  long_scratch = memory + -(uintptr_t)memory % FOVEA_SCRATCH_ALIGNMENT;
  assert_same_everywhere(act_tasks);
  free(memory);
  fovea_plan_destroy(long_plan);
}

#ifdef _OPENMP
static void act_openmp(void) {
  const fovea_problem problem = full_problem();
  fovea_tensors tensors;
  fovea_execution execution;
  fovea_tensors_init(&tensors, q, k, v, everywhere_room(O_BYTES), everywhere_room(LSE_BYTES));
  fovea_execution_init(&execution);
  execution.threads = THREADS;
#pragma omp parallel num_threads(THREADS)
  everywhere_enter();
  everywhere_keep(fovea_attend(&problem, &tensors, &execution, NULL));
#pragma omp parallel num_threads(THREADS)
  {
    everywhere_look();
    everywhere_look_at_flags();
    if (omp_get_thread_num() > 0) environment_leave();
  }
}

/* The caller and the runtime's threads are in the environment. */
static void test_openmp(void **state) {
  (void)state;
  assert_same_everywhere(act_openmp);
}

static int workers_in(uint64_t control) {
  int count = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : count)
  count += omp_get_thread_num() > 0 && environment_control() == control;
  return count;
}

/* Only the runtime's threads are in the environment, and they stay there. */
static void test_openmp_workers(void **state) {
  (void)state;
  static float usual[HEADS * ROWS * DIM], other[HEADS * ROWS * DIM];
  fovea_problem problem = full_problem();
  fovea_tensors tensors;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = THREADS;
  fovea_tensors_init(&tensors, q, k, v, usual, NULL);
  assert_int_equal(fovea_attend(&problem, &tensors, &execution, NULL), FOVEA_OK);
  for (const struct environment *next = environment_list; next->name != NULL; next++) {
    const uint64_t control = environment_enter(next);
    environment_leave();
#pragma omp parallel num_threads(THREADS)
    if (omp_get_thread_num() > 0) environment_enter(next);
    const int before = workers_in(control); /* none if a team inherits from its master, as with LLVM */
    tensors.o = other;
    memset(other, 0, sizeof other);
    const fovea_status status = fovea_attend(&problem, &tensors, &execution, NULL);
    const int after = workers_in(control);
#pragma omp parallel num_threads(THREADS)
    environment_leave();
    assert_int_equal(status, FOVEA_OK);
    if (memcmp(usual, other, sizeof usual) != 0) fail_msg("%s: other results", next->name);
    if (before != after) fail_msg("%s: in %d threads before, in %d after", next->name, before, after);
  }
}
#endif

/* What the process found out first, while this thread was rounding up: main() called fovea_info(). */
static fovea_library_info first_info;

static void assert_pairs(const char *name, const fovea_kernels *kernels) {
  if (kernels->pair_type == FOVEA_F32) return;
  fovea_isa_report isa;
  fovea_isa_report_init(&isa);
  for (int i = 0; fovea_isa_at(i, &isa) == FOVEA_OK; i++) {
    if (strcmp(isa.name, name) != 0) continue;
    if (strstr(isa.reason, "lacks") == NULL) assert_int_equal(isa.usable, kernels->pairs_hold());
  }
}

static void test_first_question(void **state) {
  (void)state;
  assert_non_null(first_info.isa);
#define ASSERT_PAIRS(name, architecture, needs, prefers, type, lacks)                                              \
  FOVEA_FOR_##architecture(assert_pairs(#name, &fovea_kernels_##name);)
  FOVEA_INSTRUCTION_SETS(ASSERT_PAIRS)
#undef ASSERT_PAIRS
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_first_question), cmocka_unit_test(test_init),
      cmocka_unit_test(test_attention),      cmocka_unit_test(test_attend),
      cmocka_unit_test(test_counts),         cmocka_unit_test(test_refused),
      cmocka_unit_test(test_rows),           cmocka_unit_test(test_parallel_for),
      cmocka_unit_test(test_tasks),          cmocka_unit_test(test_normalisers),
      cmocka_unit_test(test_modes),
#ifdef _OPENMP
      cmocka_unit_test(test_openmp),         cmocka_unit_test(test_openmp_workers),
#endif
  };
  fovea_library_info_init(&first_info);
  environment_enter(&environment_list[0]);
  const fovea_status status = fovea_info(&first_info);
  environment_leave();
  return status != FOVEA_OK ? 1 : cmocka_run_group_tests(tests, set_up, NULL);
}
