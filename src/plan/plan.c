#include "plan.h"

#include "../../arch/float_state.h"
#include "../base/caller.h"
#include "../system/dispatch.h"
#include "../base/error.h"
#include "../base/memory.h"
#include "parts.h"
#include "../system/platform.h"
#include "regions.h"
#include "../run/scratch.h"
#include "segments.h"
#include "../run/spans.h"
#include "../base/validate.h"
#include "visibility.h"

#include <string.h>

/* The tiles of a task share each block of keys while it is in the cache, so tasks are large as long as every CPU
 * gets this many of them, enough to even out what they take. */
enum { TASKS_PER_CPU = 8 };

static int64_t divide_up(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}

static fovea_entry resolve_entry(const fovea_problem *p, int64_t b) {
  fovea_entry entry = {.batch = b, .q_len = p->q_len, .kv_len = p->kv_len};
  if (p->cu_seqlens_q) {
    entry.q_first = p->cu_seqlens_q[b];
    entry.q_len = p->cu_seqlens_q[b + 1] - entry.q_first;
  }
  if (p->cu_seqlens_kv) {
    entry.kv_first = p->cu_seqlens_kv[b];
    entry.kv_len = p->cu_seqlens_kv[b + 1] - entry.kv_first;
  }
  if (p->kv_lens) entry.kv_len = p->kv_lens[b];
  if (p->segmented && p->kv_begins) entry.kv_begin = p->kv_begins[b];
  entry.q_seen = p->q_lens ? p->q_lens[b] : entry.q_len;
  entry.offset = p->offsets                               ? p->offsets[b]
                 : p->offset != FOVEA_OFFSET_BOTTOM_RIGHT ? p->offset
                                                          : entry.kv_len - entry.q_seen;
  if (p->mask_type != FOVEA_MASK_NONE) {
    entry.mask_begin = p->mask_begins ? p->mask_begins[b] : p->mask_begin;
    int limited = p->mask_keys != FOVEA_UNLIMITED && p->mask_keys < entry.kv_len - entry.mask_begin;
    if (limited) entry.kv_len = entry.mask_begin + p->mask_keys;
  }
  int64_t end = fovea_keys_end(p);
  if (entry.kv_len > end) entry.kv_len = end;
  if (entry.kv_begin < p->keys_begin) entry.kv_begin = p->keys_begin;
  if (entry.kv_begin > entry.kv_len) entry.kv_begin = entry.kv_len;
  fovea_interval seen = fovea_entry_keys(p, &entry);
  entry.seen_begin = seen.begin;
  entry.seen_end = seen.end;
  return entry;
}

/* Keys that rows of the entry see, from three of its rows: an estimate for scheduling. */
static double estimate_pairs(const fovea_problem *p, const fovea_entry *entry) {
  if (entry->q_seen == 0) return 0;
  double keys = 0;
  for (int third = 0; third <= 2; third++) {
    fovea_interval seen = fovea_visible_keys(p, entry, (entry->q_seen - 1) / 2 * third);
    keys += (double)(seen.end - seen.begin);
  }
  return keys / 3 * (double)entry->q_seen;
}

/* Longest entries first, so that the last tasks are short ones. Heap sort: no memory, no bad cases. */
static void sift_down(fovea_entry *entries, int64_t root, int64_t count) {
  for (;;) {
    int64_t child = 2 * root + 1;
    if (child >= count) return;
    if (child + 1 < count && entries[child + 1].kv_len < entries[child].kv_len) child++;
    if (entries[root].kv_len <= entries[child].kv_len) return;
    fovea_entry swap = entries[root];
    entries[root] = entries[child];
    entries[child] = swap;
    root = child;
  }
}

static void sort_longest_first(fovea_entry *entries, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    if (entries[i].kv_len != entries[0].kv_len) break;
    if (i == count - 1) return; /* all alike */
  }
  for (int64_t root = count / 2; root-- > 0;) sift_down(entries, root, count);
  for (int64_t last = count - 1; last > 0; last--) {
    fovea_entry swap = entries[0];
    entries[0] = entries[last];
    entries[last] = swap;
    sift_down(entries, 0, last);
  }
}

static int64_t least_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Keys of the longest entry. Lengths of entries count with kv_begins only: scratch for a problem's kv_len has to do
 * for any kv_lens. */
static int64_t most_keys(const fovea_problem *p) {
  int64_t most = 0, end = fovea_keys_end(p);
  if (!p->segmented || !p->kv_begins) return end - p->keys_begin;
  for (int64_t b = 0; b < p->batch; b++) {
    int64_t begin = p->kv_begins[b] > p->keys_begin ? p->kv_begins[b] : p->keys_begin;
    int64_t keys = least_of(p->kv_lens ? p->kv_lens[b] : p->kv_len, end) - begin;
    if (keys > most) most = keys;
  }
  return most;
}

static void make_tasks(fovea_plan *plan) {
  const fovea_problem *p = &plan->problem;
  int64_t tiles = 0;
  for (int64_t b = 0; b < p->batch; b++) tiles += fovea_plan_tiles(plan, &plan->entries[b]);
  fovea_plan_parts(plan, tiles);
  plan->block_tiles = plan->part_keys > 0 ? 1 : plan->kernels->block_tiles;
  if (tiles * p->kv_heads <= 1) plan->block_tiles = 1;
  int64_t wanted = plan->block_tiles > 1 ? (int64_t)TASKS_PER_CPU * fovea_platform_cpus() : 0;
  while (plan->block_tiles > 1 && tiles * p->kv_heads / plan->block_tiles < wanted) plan->block_tiles /= 2;
  plan->tasks = plan->merges = 0;
  for (int64_t b = 0; b < p->batch; b++) {
    fovea_entry *entry = &plan->entries[b];
    entry->first_task = plan->tasks;
    entry->first_merge = plan->merges;
    int64_t tasks = divide_up(fovea_plan_tiles(plan, entry), plan->block_tiles) * p->kv_heads;
    plan->tasks += tasks * entry->parts;
    if (plan->part_keys > 0) plan->merges += tasks;
  }
}

void fovea_plan_fill(fovea_plan *plan, fovea_entry *entries, const fovea_problem *problem,
                     const fovea_checked *checked) {
  const fovea_kernels *kernels = checked->kernels;
  double pairs = 0;
  int64_t tile_rows = least_of(problem->q_len, kernels->row_tile), longest = most_keys(problem);
  fovea_float_state caller = fovea_float_begin();
  for (int64_t b = 0; b < problem->batch; b++) {
    entries[b] = resolve_entry(problem, b);
    pairs += estimate_pairs(problem, &entries[b]);
  }
  sort_longest_first(entries, problem->batch);
  *plan = (fovea_plan){
      .kernels = kernels,
      .problem = *problem,
      .c =
          (float)(problem->softcap > 0 ? problem->scale / problem->softcap : problem->scale * 0x1.71547652b82fep+0),
      .cap = (float)(problem->softcap * 0x1.71547652b82fep+0),
      .mask_copied = problem->mask_type != FOVEA_MASK_NONE && (problem->mask_begin > 0 || problem->mask_begins),
      .paired = !problem->segmented && kernels->pair_type != FOVEA_F32 && problem->q_type == kernels->pair_type &&
                problem->k_type == kernels->pair_type,
      .group = problem->heads / problem->kv_heads,
      .row_keys = least_of(longest, fovea_keys_of_rows(problem, 1)),
      .states = fovea_span_states(least_of(longest, fovea_keys_of_rows(problem, tile_rows))),
      .work = pairs * (double)problem->heads * (double)(problem->qk_dim + problem->v_dim),
      .entries = entries,
  };
  memcpy(plan->reaches, checked->reaches, sizeof plan->reaches);
  fovea_narrow_reaches(plan);
  make_tasks(plan);
  plan->worker_scratch = fovea_scratch_size(plan);
  /* What the caller may free after planning is resolved into the entries. */
  plan->problem.offsets = plan->problem.q_lens = plan->problem.kv_lens = plan->problem.kv_begins = NULL;
  plan->problem.mask_begins = NULL;
  plan->problem.isa = NULL;
  /* Where there is one key, its stride may be any number. */
  if (problem->kv_len <= 1) plan->problem.k_strides.row = plan->problem.v_strides.row = 0;
  fovea_float_end(caller);
}

fovea_status fovea_plan_build(const fovea_problem *problem, const fovea_checked *checked, fovea_plan **plan,
                              fovea_error *error) {
  fovea_plan *made = fovea_allocate(&problem->allocator, fovea_plan_size(problem->batch));
  if (!made) {
    return fovea_fail(error, FOVEA_ERROR_MEMORY, "no memory for a plan of %d batch entries", problem->batch);
  }
  fovea_plan_fill(made, (fovea_entry *)(made + 1), problem, checked);
  made->allocated = 1;
  *plan = made;
  return FOVEA_OK;
}

fovea_status fovea_plan_check(const fovea_problem *problem, fovea_checked *checked, fovea_error *error) {
  fovea_float_state caller = fovea_float_begin();
  fovea_status status = fovea_validate_problem(problem, checked->reaches, error);
  fovea_float_end(caller);
  if (status) return status;
  int alike = problem->q_type == problem->k_type && !problem->segmented;
  fovea_type pair_type = alike ? problem->q_type : FOVEA_F32;
  return fovea_dispatch_wanted(problem->isa, pair_type, &checked->kernels, error);
}

int64_t fovea_plan_tiles(const fovea_plan *plan, const fovea_entry *entry) {
  int64_t vectors = divide_up(entry->q_len * plan->group, plan->kernels->lanes);
  return divide_up(vectors, plan->kernels->row_tile / plan->kernels->lanes);
}

/* The vector that tile `tile` of `tiles` starts with. */
static int64_t first_vector(int64_t vectors, int64_t tiles, int64_t tile) {
  int64_t each = vectors / tiles, more = vectors % tiles;
  return tile * each + (tile < more ? tile : more);
}

fovea_tile_rows fovea_plan_tile_rows(const fovea_plan *plan, const fovea_entry *entry, int64_t tile) {
  int64_t rows = entry->q_len * plan->group, lanes = plan->kernels->lanes;
  int64_t vectors = divide_up(rows, lanes), tiles = fovea_plan_tiles(plan, entry);
  int64_t first = first_vector(vectors, tiles, tile) * lanes;
  int64_t end = first_vector(vectors, tiles, tile + 1) * lanes;
  return (fovea_tile_rows){first, (int)((end < rows ? end : rows) - first)};
}

/* The entry that a task of the first phase belongs to, or of the second. */
static const fovea_entry *find_entry(const fovea_plan *plan, int64_t number, int merging) {
  int64_t low = 0, high = plan->problem.batch; /* the entry is in low .. high - 1 */
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    const fovea_entry *entry = &plan->entries[middle];
    *((merging ? entry->first_merge : entry->first_task) <= number ? &low : &high) = middle;
  }
  /* Entries without rows have no tasks: the last entry that starts at or before the number is the one. */
  return &plan->entries[low];
}

fovea_task fovea_plan_merge(const fovea_plan *plan, int64_t number) {
  const fovea_entry *entry = find_entry(plan, number, 1);
  return fovea_plan_task(plan, entry->first_task + (number - entry->first_merge) * entry->parts);
}

fovea_task fovea_plan_task(const fovea_plan *plan, int64_t number) {
  fovea_task task = {.entry = find_entry(plan, number, 0), .number = number};
  int64_t tiles = fovea_plan_tiles(plan, task.entry);
  int64_t blocks = divide_up(tiles, plan->block_tiles);
  int64_t rest = number - task.entry->first_task;
  task.part = rest % task.entry->parts;
  rest /= task.entry->parts;
  task.kv_head = rest / blocks;
  /* The last rows first: under a causal rule they see the most keys. */
  int64_t block = blocks - 1 - rest % blocks;
  task.first_tile = block * tiles / blocks;
  task.tiles = (block + 1) * tiles / blocks - task.first_tile;
  return task;
}

fovea_status fovea_plan_create(const fovea_problem *given, fovea_plan **plan, fovea_error *error) {
  if (!plan) return fovea_fail(error, FOVEA_ERROR_NULL, "plan is NULL");
  *plan = NULL;
  fovea_checked checked;
  fovea_problem problem;
  fovea_status status = fovea_read_problem(given, &problem, error);
  if (!status) status = fovea_plan_check(&problem, &checked, error);
  return status ? status : fovea_plan_build(&problem, &checked, plan, error);
}

size_t fovea_plan_size(int64_t batch) {
  size_t entries, size;
  if (batch < 1) return 0;
  if (__builtin_mul_overflow((uint64_t)batch, sizeof(fovea_entry), &entries)) return SIZE_MAX;
  return __builtin_add_overflow(sizeof(fovea_plan), entries, &size) ? SIZE_MAX : size;
}

/* Memory that a plan is to lie in. */
static fovea_status check_memory(const void *memory, size_t size, int64_t batch, fovea_error *error) {
  if (!memory) return fovea_fail(error, FOVEA_ERROR_NULL, "memory is NULL");
  if ((uintptr_t)memory % FOVEA_SCRATCH_ALIGNMENT != 0) {
    return fovea_fail(error, FOVEA_ERROR_ALIGNMENT, "memory is %d bytes off an address that is a multiple of %d",
                      (int64_t)((uintptr_t)memory % FOVEA_SCRATCH_ALIGNMENT), (int64_t)FOVEA_SCRATCH_ALIGNMENT);
  }
  if (size < fovea_plan_size(batch)) {
    return fovea_fail(error, FOVEA_ERROR_SIZE, "size is %u bytes; a plan of %d batch entries needs %u",
                      (uint64_t)size, batch, (uint64_t)fovea_plan_size(batch));
  }
  return FOVEA_OK;
}

fovea_status fovea_plan_create_in(const fovea_problem *given, void *memory, size_t size, fovea_plan **plan,
                                  fovea_error *error) {
  if (!plan) return fovea_fail(error, FOVEA_ERROR_NULL, "plan is NULL");
  *plan = NULL;
  fovea_checked checked;
  fovea_problem problem;
  fovea_status status = fovea_read_problem(given, &problem, error);
  if (!status) status = fovea_plan_check(&problem, &checked, error);
  if (!status) status = check_memory(memory, size, problem.batch, error);
  if (status) return status;
  fovea_plan *made = memory;
  fovea_plan_fill(made, (fovea_entry *)(made + 1), &problem, &checked);
  *plan = made;
  return FOVEA_OK;
}

void fovea_plan_destroy(fovea_plan *plan) {
  if (!plan || !plan->allocated) return;
  const fovea_allocator allocator = plan->problem.allocator; /* which outlives the plan that it takes back */
  fovea_release(&allocator, plan);
}

size_t fovea_plan_scratch_size(const fovea_plan *plan, int workers) {
  size_t size;
  if (!plan || workers < 1) return 0;
  if (__builtin_mul_overflow(plan->worker_scratch, (size_t)workers, &size)) return SIZE_MAX;
  return __builtin_add_overflow(size, plan->parts_scratch, &size) ? SIZE_MAX : size;
}

int fovea_plan_phases(const fovea_plan *plan) {
  return !plan ? 0 : plan->part_keys > 0 ? 2 : 1;
}

int64_t fovea_plan_tasks(const fovea_plan *plan, int phase) {
  if (!plan || phase < 0 || phase >= fovea_plan_phases(plan)) return 0;
  return phase == 0 ? plan->tasks : plan->merges;
}

const char *fovea_plan_isa(const fovea_plan *plan) {
  return plan ? plan->kernels->name : "";
}

/* A sum of pairs, or the largest number where it is beyond that. */
static int64_t more_pairs(int64_t pairs, int64_t more, int64_t times) {
  int64_t sum;
  if (__builtin_mul_overflow(more, times, &more) || __builtin_add_overflow(pairs, more, &sum)) return INT64_MAX;
  return sum;
}

fovea_status fovea_plan_counts(const fovea_plan *plan, fovea_counts *counts) {
  if (!plan || !counts) return FOVEA_ERROR_NULL;
  counts->pairs_seen = counts->pairs_computed = 0;
  for (int64_t b = 0; b < plan->problem.batch; b++) {
    const fovea_entry *entry = &plan->entries[b];
    for (int64_t row = 0; row < entry->q_seen; row++) {
      fovea_interval keys = fovea_visible_keys(&plan->problem, entry, row);
      counts->pairs_seen = more_pairs(counts->pairs_seen, keys.end - keys.begin, plan->problem.heads);
    }
    for (int64_t tile = 0, tiles = fovea_plan_tiles(plan, entry); tile < tiles; tile++) {
      int64_t pairs = fovea_tile_pairs(plan, entry, fovea_plan_tile_rows(plan, entry, tile));
      counts->pairs_computed = more_pairs(counts->pairs_computed, pairs, plan->problem.kv_heads);
    }
  }
  return FOVEA_OK;
}
