#include "make.h"
#include "../base/nodes.h"
#include "check_problem.h"
#include "choose_engines.h"
#include "entries.h"
#include "gathering.h"
#include "lay_out.h"
#include "tiles.h"

#include "../../arch/float_state.h"
#include "../base/caller.h"
#include "../base/error.h"
#include "../base/memory.h"
#include "../base/validate.h"
#include "../feature/all_features.h"
#include "../feature/normaliser.h"
#include "../feature/position_terms.h"
#include "../feature/score_terms.h"
#include "../system/arithmetic.h"
#include "../system/dispatch.h"
#include "../system/platform.h"
#include "../system/process.h"
#include "../visible/visible_rules.h"
#include "parts.h"
#include "regions.h"
#include "row_numbers.h"

#include <string.h>

/* The tiles of a task share each block of keys while it is in the cache. So tasks are large, unless a CPU would get
 * fewer than this many: enough to even out the time that tasks take. In a mode a task of few tiles spends much of
 * its time on operands: three tiles by AVX2 that share them are 1.2 to 1.3 times as fast (measured, Zen 4). So
 * there fewer tasks are enough. */
enum { TASKS_PER_CPU = 8, FEW_TILES = 4, TASKS_OF_FEW_TILES = 4 };

/* An upper bound on the keys of the longest entry. Only kv_begins lets kv_lens lower it: scratch for a problem's
 * kv_len must be enough for any kv_lens. */
static int64_t most_keys(const fovea_problem *p) {
  int64_t most = 0, end = fovea_keys_end(p);
  if (!p->kv_begins) return end - p->keys.begin;
  for (int64_t b = 0; b < p->batch; b++) {
    fovea_entry entry;
    fovea_entry_lengths(p, b, &entry);
    int64_t begin = entry.kv_begin > p->keys.begin ? entry.kv_begin : p->keys.begin;
    int64_t keys = fovea_least(entry.kv_len, end) - begin;
    if (keys > most) most = keys;
  }
  return most;
}

/* Row tiles that share one pass over the keys. In a mode they also share what it costs to make operands of the
 * keys: twice as many tiles are 2 to 5 % faster (measured, Zen 4). */
static int shared_tiles(const fovea_kernels *kernels, const fovea_problem *p) {
  const int tiles = kernels->block_tiles;
  const int64_t most = fovea_least(2 * tiles, FOVEA_TASK_TILES_LIMIT);
  const int64_t needed = fovea_divide_up(p->q_len * (p->heads / p->kv_heads), kernels->row_tile);
  if (!p->modes.score && !p->modes.value) return tiles;
  const int64_t shared = p->cu_seqlens_q ? most : fovea_least(most, needed);
  return shared > tiles ? (int)shared : tiles;
}

/* The most tiles of a task. What features keep of a tile may be large, as lists of keys with a large top_k: it is
 * to take no more than some MB. */
static int most_tiles(const fovea_plan *plan) {
  enum { MOST_BYTES = 1 << 22 };
  const int tiles = shared_tiles(plan->kernels, &plan->problem);
  const uint64_t bytes = plan->own_scratch.tile * sizeof(float);
  if (bytes * (uint64_t)tiles <= MOST_BYTES) return tiles;
  return bytes > MOST_BYTES ? 1 : (int)(MOST_BYTES / bytes);
}

/* Of the scores' arithmetic for queries and keys, of the values' for values. */
static fovea_operand_sizes operand_sizes(const fovea_plan *plan, const fovea_problem *p) {
  fovea_operand_sizes sizes = {0, 0, 0, 0}, of_values = sizes;
  if (plan->scores) sizes = plan->scores->sizes(p->qk_dim, p->v_dim);
  if (plan->values) of_values = plan->values->sizes(p->qk_dim, p->v_dim);
  sizes.values = of_values.values;
  if (of_values.codes > sizes.codes) sizes.codes = of_values.codes;
  return sizes;
}

/* The tasks of the first phase. */
static int64_t count_tasks(const fovea_plan *plan) {
  int64_t tasks = 0;
  for (int64_t b = 0; b < plan->problem.batch; b++) {
    const fovea_entry *entry = &plan->entries[b];
    tasks += fovea_divide_up(fovea_plan_tiles(plan, entry), plan->block_tiles) * entry->parts;
  }
  return tasks * plan->problem.kv_heads;
}

static int tasks_per_cpu(const fovea_plan *plan) {
  const int in_mode = plan->problem.modes.score || plan->problem.modes.value;
  return in_mode && plan->block_tiles <= FEW_TILES ? TASKS_OF_FEW_TILES : TASKS_PER_CPU;
}

static void make_tasks(fovea_plan *plan) {
  const fovea_problem *p = &plan->problem;
  int64_t tiles = 0;
  for (int64_t b = 0; b < p->batch; b++) tiles += fovea_plan_tiles(plan, &plan->entries[b]);
  fovea_plan_parts(plan, tiles);
  plan->block_tiles = plan->part_keys > 0 ? 1 : most_tiles(plan);
  if (tiles * p->kv_heads <= 1) plan->block_tiles = 1;
  const int cpus = plan->block_tiles > 1 ? fovea_platform_cpus() : 0;
  while (plan->block_tiles > 1 && count_tasks(plan) < (int64_t)cpus * tasks_per_cpu(plan)) plan->block_tiles /= 2;
  plan->tasks = plan->merges = 0;
  for (int64_t b = 0; b < p->batch; b++) {
    fovea_entry *entry = &plan->entries[b];
    entry->first_task = plan->tasks;
    entry->first_merge = plan->merges;
    int64_t tasks = fovea_divide_up(fovea_plan_tiles(plan, entry), plan->block_tiles) * p->kv_heads;
    plan->tasks += tasks * entry->parts;
    if (plan->part_keys > 0) plan->merges += tasks;
  }
}

static void add_phase(fovea_plan *plan, int wanted, fovea_phase_kind kind, int64_t tasks) {
  if (wanted) plan->phases[plan->phase_count++] = (fovea_planned_phase){kind, tasks};
}

static void make_phases(fovea_plan *plan) {
  const fovea_problem *p = &plan->problem;
  plan->phase_count = 0;
  add_phase(plan, 1, FOVEA_PHASE_ATTEND, plan->tasks);
  add_phase(plan, plan->part_keys > 0, FOVEA_PHASE_MERGE, plan->merges);
  const int64_t ranges = fovea_divide_up(plan->column_keys, plan->column_blocks * FOVEA_BLOCK_KEYS);
  add_phase(plan, p->column_sums.wanted, FOVEA_PHASE_COLUMN_SUMS, p->batch * p->kv_heads * ranges);
  add_phase(plan, p->max_logits, FOVEA_PHASE_MAX_LOGITS, p->batch * p->heads);
}

/* Both halves are in int8, or few rows are as many. */
static const fovea_decoding *decoding_of(const fovea_problem *problem, const fovea_kernels *kernels) {
  const int int8 = problem->modes.score == FOVEA_MODE_INT8 && problem->modes.value == FOVEA_MODE_INT8;
  return FOVEA_BUILDS_INT8 && FOVEA_BUILDS_DECODE && int8 ? kernels->int8->decoding : NULL;
}

void fovea_plan_fill(fovea_plan *plan, fovea_entry *entries, const fovea_problem *problem,
                     const fovea_checked *checked) {
  const fovea_kernels *kernels = checked->kernels;
  int64_t tile_rows = fovea_least(problem->q_len, kernels->row_tile), longest = most_keys(problem);
  const int patterned = problem->pattern || problem->patterns;
  fovea_float_state caller = fovea_float_begin();
  double pairs = fovea_resolve_entries(problem, entries);
  *plan = (fovea_plan){
      .kernels = kernels,
      .isa_named = checked->isa_named,
      .scores = fovea_arithmetic_of(problem->modes.score, kernels, checked->isa_named),
      .values = fovea_arithmetic_of(problem->modes.value, kernels, checked->isa_named),
      .decoding = decoding_of(problem, kernels),
      .follows_rows = (fovea_process_record()->features & FOVEA_CPU_FOLLOWS_ROWS) != 0,
      .features = checked->features,
      .inputs = fovea_features_with_inputs(checked->features),
      .terms = fovea_make_terms(problem, checked->features),
      .weighting = fovea_make_weighting(problem),
      .output_terms = FOVEA_BUILDS_OUTPUTS ? fovea_make_output_terms(problem, checked->features)
                                           : (fovea_score_terms){.adjusted = 0},
      .mask_copied = patterned || problem->cache.holes ||
                     (problem->mask.type != FOVEA_MASK_NONE && (problem->mask.begin > 0 || problem->mask.begins)),
      .paired = !problem->modes.score && !problem->cache.segmented && kernels->pair_type != FOVEA_F32 &&
                problem->q_type == kernels->pair_type && problem->k_type == kernels->pair_type,
      .group = problem->heads / problem->kv_heads,
      .score_part = fovea_score_part_of(problem),
      .column_keys = problem->column_sums.wanted ? fovea_score_keys(problem) : 0,
      .column_blocks = fovea_column_blocks(problem),
      .row_keys = fovea_least(longest, fovea_keys_of_rows(problem, 1)),
      .states = fovea_span_states(fovea_least(longest, fovea_keys_of_rows(problem, tile_rows))),
      .work = pairs * (double)problem->heads * (double)(problem->qk_dim + problem->v_dim),
      .entries = entries,
  };
  if (problem->terms.count > 0) fovea_make_positions(problem, &plan->positions);
  plan->problem = *problem; /* within the braces gcc copies it twice */
  memcpy(plan->reaches, checked->reaches, sizeof plan->reaches);
  fovea_narrow_reaches(plan);
  fovea_place_scratch(plan, &plan->own_scratch);
  fovea_choose_engines(plan);
  if (FOVEA_BUILDS_LISTS) fovea_plan_gathering(plan);
  make_tasks(plan);
  make_phases(plan);
  fovea_plan_row_numbers(plan);
  const uint64_t tiles = (uint64_t)most_tiles(plan);
  plan->layout = fovea_lay_out_scratch(plan, operand_sizes(plan, problem), tiles);
  plan->worker_scratch = fovea_bytes_of(plan->layout.block + tiles * plan->layout.tile);
  /* The caller may free these after planning; the entries have their values. */
  plan->problem.offsets = plan->problem.q_lens = plan->problem.kv_lens = plan->problem.kv_begins = NULL;
  plan->problem.mask.begins = NULL;
  plan->problem.patterns = NULL;
  plan->problem.terms.list = NULL;
  /* The stride of a single key may be any number. */
  if (problem->kv_len <= 1) plan->problem.k_strides.row = plan->problem.v_strides.row = 0;
  fovea_float_end(caller);
}

fovea_status fovea_plan_build(const fovea_problem *problem, const fovea_checked *checked,
                              const fovea_allocator *allocator, fovea_plan **plan, fovea_error *error) {
  fovea_plan *made = fovea_allocate(allocator, fovea_plan_size(problem->batch));
  if (!made) {
    return fovea_fail(error, FOVEA_ERROR_MEMORY, "No memory for a plan of %jd batch elements", problem->batch);
  }
  fovea_plan_fill(made, (fovea_entry *)(made + 1), problem, checked);
  made->allocated = 1;
  made->allocator = *allocator;
  *plan = made;
  return FOVEA_OK;
}

fovea_status fovea_plan_check(const fovea_problem *problem, const fovea_execution *execution,
                              fovea_checked *checked, fovea_error *error) {
  fovea_float_state caller = fovea_float_begin();
  fovea_status status = fovea_validate_problem(problem, checked->reaches, &checked->features, error);
  fovea_float_end(caller);
  if (status) return status;
  const int alike = problem->q_type == problem->k_type && !problem->cache.segmented && !problem->modes.score;
  const int bf16 = problem->modes.score == FOVEA_MODE_BF16 || problem->modes.value == FOVEA_MODE_BF16;
  const fovea_type pair_type = bf16 ? FOVEA_BF16 : alike ? problem->q_type : FOVEA_F32;
  checked->isa_named = execution->isa != NULL;
  return fovea_dispatch_wanted(execution->isa, pair_type, &checked->kernels, error);
}

size_t fovea_plan_size(int64_t batch) {
  size_t entries, size;
  if (batch < 1) return 0;
  if (__builtin_mul_overflow((uint64_t)batch, sizeof(fovea_entry), &entries)) return SIZE_MAX;
  return __builtin_add_overflow(sizeof(fovea_plan), entries, &size) ? SIZE_MAX : size;
}
