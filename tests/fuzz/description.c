#include "description.h"

#include "arch/registry.h"
#include "src/base/validate.h"
#include "support/problems.h"
#include "wild.h"

#include <fovea/state.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most batch elements with lists. More would only measure memory. */
enum { ENTRIES = 64 };

/* Wraps around on overflow. */
static int64_t sum(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t size_between(struct bytes *bytes, int64_t least, int64_t most, enum description_kind kind) {
  if (kind == DESCRIBE_WILD && bytes_one_in(bytes, 24)) return wild_number(bytes);
  return least + bytes_below(bytes, most - least + 1);
}

/* Short lengths, some of several blocks, and a few that reach into another span. */
static int64_t key_length(struct bytes *bytes, enum description_kind kind) {
  const int64_t limits[] = {12, 40, 150, 300, 600, 4400};
  return size_between(bytes, 0, limits[bytes_below(bytes, 6)], kind);
}

static void take_sizes(fovea_problem *problem, struct bytes *bytes, enum description_kind kind, int64_t budget) {
  const int64_t batch = size_between(bytes, 1, 3, kind), kv_heads = size_between(bytes, 1, 3, kind);
  int64_t heads = size_between(bytes, 1, 4, kind);
  if (heads < FOVEA_LENGTH_LIMIT && heads > 0 && kv_heads < 8 && kv_heads > 0) heads *= kv_heads;
  int64_t q_len = size_between(bytes, 0, bytes_one_in(bytes, 4) ? 300 : 20, kind);
  int64_t kv_len = key_length(bytes, kind);
  const int64_t qk_dim = size_between(bytes, 1, bytes_one_in(bytes, 4) ? 300 : 40, kind);
  const int64_t v_dim = size_between(bytes, 1, bytes_one_in(bytes, 4) ? 300 : 40, kind);
  while (kind == DESCRIBE_SOUND && batch * heads * q_len * kv_len * (qk_dim + v_dim) > budget) {
    if (kv_len > 8 * q_len || q_len == 1)
      kv_len /= 2;
    else
      q_len /= 2;
  }
  fovea_problem_init(problem, batch, heads, kv_heads, q_len, kv_len, qk_dim, v_dim);
  fovea_problem_resolve(problem, NULL);
}

static void take_rules(fovea_problem *problem, struct bytes *bytes) {
  static const double scales[] = {1.0, 0.0, -0.5, 3.0, 1e-30, 1e30};
  static const double softcaps[] = {30.0, 1.0, 0.01, 1e4, 1e30};
  problem_apply(problem, &rule_list[bytes_below(bytes, rule_count)]);
  if (bytes_one_in(bytes, 4)) problem->offset = bytes_below(bytes, 600) - 300;
  if (bytes_one_in(bytes, 4)) problem->scale = scales[bytes_below(bytes, 6)];
  if (bytes_one_in(bytes, 3)) problem->softcap = softcaps[bytes_below(bytes, 5)];
  problem->sink = (fovea_sink)bytes_below(bytes, 3);
}

static void take_types(fovea_problem *problem, struct bytes *bytes) {
  problem->q_type = (fovea_type)bytes_below(bytes, 3);
  problem->k_type = (fovea_type)bytes_below(bytes, 3);
  problem->v_type = (fovea_type)bytes_below(bytes, 3);
  problem->o_type = (fovea_type)bytes_below(bytes, 3);
}

/* A mask that repeats along any axes, may have fewer keys than the problem, and has gaps between its rows. */
static void take_mask(fovea_problem *problem, struct bytes *bytes) {
  problem->mask.type = (fovea_mask_type)bytes_below(bytes, 6);
  if (problem->mask.type == FOVEA_MASK_NONE) return;
  const int64_t broadcast = bytes_below(bytes, 16);
  if (bytes_one_in(bytes, 4) && problem->kv_len >= 0 && problem->kv_len < INT16_MAX)
    problem->mask.keys = bytes_below(bytes, problem->kv_len + 1);
  const int64_t has = problem->mask.keys == FOVEA_UNLIMITED ? problem->kv_len : problem->mask.keys;
  const int64_t columns = broadcast & 1 ? 1 : has, rows = broadcast & 2 ? 1 : problem->q_len;
  problem->mask.strides = fovea_mask_layout(problem->mask.type, broadcast & 4 ? 1 : problem->batch,
                                            broadcast & 8 ? 1 : problem->heads, rows, columns);
  if (columns == 1 && has != 1) problem->mask.strides.key = 0;
  if (bytes_one_in(bytes, 4) && rows == 1) problem->mask.strides.row = -8 * bytes_below(bytes, 16);
}

static void take_layout(fovea_problem *problem, struct bytes *bytes) {
  const int64_t kind = bytes_below(bytes, 4);
  const fovea_problem *p = problem;
  if (kind == 1) {
    problem->q_strides = fovea_strides_rows_before_heads(p->q_len, p->heads, p->qk_dim);
    problem->k_strides = fovea_strides_rows_before_heads(p->kv_len, p->kv_heads, p->qk_dim);
    problem->v_strides = fovea_strides_rows_before_heads(p->kv_len, p->kv_heads, p->v_dim);
    problem->o_strides = fovea_strides_rows_before_heads(p->q_len, p->heads, p->v_dim);
  }
  if (kind == 2) {
    struct generator generator = {bytes_one(bytes)};
    const int64_t sizes[] = {p->batch, p->heads, p->kv_heads, p->q_len, p->kv_len, p->qk_dim, p->v_dim};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
      if (sizes[i] < 0 || sizes[i] > 5000) return;
    problem_random_layout(problem, &generator);
  }
  if (kind == 3) {
    problem->k_strides.head = 0;
    problem->v_strides.batch = 0;
    problem->q_strides.row = bytes_below(bytes, 3);
  }
}

#define FIELD(kind, name)                                                                                          \
  { FIELD_##kind, offsetof(fovea_problem, name) }

static const struct field fields[] = {
    FIELD(LONG, batch),
    FIELD(LONG, heads),
    FIELD(LONG, kv_heads),
    FIELD(LONG, q_len),
    FIELD(LONG, kv_len),
    FIELD(LONG, qk_dim),
    FIELD(LONG, v_dim),
    FIELD(LONG, q_strides.batch),
    FIELD(LONG, q_strides.head),
    FIELD(LONG, q_strides.row),
    FIELD(LONG, k_strides.batch),
    FIELD(LONG, k_strides.head),
    FIELD(LONG, k_strides.row),
    FIELD(LONG, v_strides.batch),
    FIELD(LONG, v_strides.head),
    FIELD(LONG, v_strides.row),
    FIELD(LONG, o_strides.batch),
    FIELD(LONG, o_strides.head),
    FIELD(LONG, o_strides.row),
    FIELD(LONG, lse_strides.batch),
    FIELD(LONG, lse_strides.head),
    FIELD(LONG, lse_strides.row),
    FIELD(REAL, scale),
    FIELD(INTEGER, causal),
    FIELD(LONG, window_left),
    FIELD(LONG, window_right),
    FIELD(LONG, chunks.size),
    FIELD(LONG, chunks.left),
    FIELD(LONG, chunks.right),
    FIELD(LONG, offset),
    FIELD(INTEGER, q_type),
    FIELD(INTEGER, k_type),
    FIELD(INTEGER, v_type),
    FIELD(INTEGER, o_type),
    FIELD(INTEGER, mask.type),
    FIELD(LONG, mask.strides.batch),
    FIELD(LONG, mask.strides.head),
    FIELD(LONG, mask.strides.row),
    FIELD(LONG, mask.strides.key),
    FIELD(LONG, mask.keys),
    FIELD(LONG, mask.begin),
    FIELD(REAL, softcap),
    FIELD(INTEGER, sink),
    FIELD(LONG, keys.begin),
    FIELD(LONG, keys.end),
    FIELD(INTEGER, state),
};

static void *allocate(size_t size) {
  void *memory = malloc(size > 0 ? size : 1);
  if (memory == NULL) abort();
  return memory;
}

static int64_t length_up_to(struct bytes *bytes, int64_t limit, enum description_kind kind) {
  if (kind == DESCRIBE_WILD && bytes_one_in(bytes, 32)) return wild_number(bytes);
  return limit > 0 && limit < UINT16_MAX ? bytes_below(bytes, limit + 1) : 0;
}

static const int64_t *take_lengths(void **list, struct bytes *bytes, int64_t entries, int64_t limit, int64_t least,
                                   enum description_kind kind) {
  int64_t *lengths = *list = allocate((size_t)entries * sizeof *lengths);
  for (int64_t b = 0; b < entries; b++) lengths[b] = sum(least, length_up_to(bytes, limit, kind));
  return lengths;
}

static const int32_t *take_cumulative(void **list, struct bytes *bytes, int64_t entries, int64_t limit,
                                      enum description_kind kind) {
  const int64_t count = entries > 0 ? entries + 1 : 0;
  int32_t *cumulative = *list = allocate((size_t)count * sizeof *cumulative);
  int64_t at = 0;
  for (int64_t b = 0; b < count; b++) {
    const int64_t left = at >= 0 && at < limit ? limit - at : 0;
    if (b > 0 || bytes_one_in(bytes, 3)) at = sum(at, length_up_to(bytes, left, kind));
    cumulative[b] = (int32_t)at;
  }
  return cumulative;
}

static void take_entries(struct description *description, struct bytes *bytes, enum description_kind kind) {
  fovea_problem *problem = &description->problem;
  void **lists = description->lists;
  const int64_t wanted = bytes_below(bytes, 128);
  /* A batch out of range is refused before any list is read. */
  const int64_t entries = problem->batch > 0 && problem->batch <= ENTRIES ? problem->batch : 0;
  const int both = kind == DESCRIBE_WILD;
  if ((wanted & 24) == 24) {
    problem->offsets = take_lengths(&lists[0], bytes, entries, 600, -300, kind);
    if (!both || !(wanted & 64)) problem->offset = FOVEA_OFFSET_BOTTOM_RIGHT; /* both together are refused */
  }
  if (wanted & 1) problem->cu_seqlens_q = take_cumulative(&lists[1], bytes, entries, problem->q_len, kind);
  if ((wanted & 2) && (both || !(wanted & 1)))
    problem->q_lens = take_lengths(&lists[2], bytes, entries, problem->q_len, 0, kind);
  if (wanted & 4) problem->cu_seqlens_kv = take_cumulative(&lists[3], bytes, entries, problem->kv_len, kind);
  if ((wanted & 32) && (both || !(wanted & 4)))
    problem->kv_lens = take_lengths(&lists[4], bytes, entries, problem->kv_len, 0, kind);
}

/* The name of a set or a table, of this build or of others; none; or any bytes. */
static void take_isa(struct description *description, struct bytes *bytes, enum description_kind kind) {
#define SET(name, architecture, needs, prefers, type, lacks)    #name,
#define TABLE(set, architecture, tiles, symbol, needs, prefers) #set "/" #tiles,
  static const char *const names[] = {FOVEA_INSTRUCTION_SETS(SET) FOVEA_TILE_TABLES(TABLE) ""};
#undef SET
#undef TABLE
  enum { NAMES = sizeof names / sizeof names[0] };
  const int64_t choice = bytes_below(bytes, 2 * NAMES);
  if (kind == DESCRIBE_SOUND || choice > NAMES + 1) return;
  description->isa = allocate(DESCRIPTION_NAME);
  memset(description->isa, 0, DESCRIPTION_NAME);
  if (choice < NAMES)
    snprintf(description->isa, DESCRIPTION_NAME, "%s", names[choice]);
  else
    for (int i = 0; i < 11; i++) description->isa[i] = (char)bytes_one(bytes);
}

/* keys.begin and keys.end. */
static void take_keys(fovea_problem *problem, struct bytes *bytes) {
  const int64_t choice = bytes_below(bytes, 8);
  if (choice == 0 || problem->kv_len < 0 || problem->kv_len > INT16_MAX) return;
  if (choice == 1 || choice == 2) problem->keys.begin = bytes_below(bytes, problem->kv_len + 1);
  if (choice == 3) problem->keys.begin = problem->kv_len / FOVEA_SPAN_KEYS * FOVEA_SPAN_KEYS;
  if (choice == 2 || choice == 4)
    problem->keys.end = problem->keys.begin + bytes_below(bytes, problem->kv_len - problem->keys.begin + 1);
}

static int64_t entry_keys(const fovea_problem *problem, int64_t b) {
  if (problem->cu_seqlens_kv != NULL) return (int64_t)problem->cu_seqlens_kv[b + 1] - problem->cu_seqlens_kv[b];
  return problem->kv_lens != NULL ? problem->kv_lens[b] : problem->kv_len;
}

/* A mask that begins at a later key than the first, the same for all batch elements or not. */
static void take_mask_begin(struct description *description, struct bytes *bytes, enum description_kind kind) {
  fovea_problem *problem = &description->problem;
  if (problem->mask.type == FOVEA_MASK_NONE) return;
  const int64_t choice = bytes_below(bytes, 8), keys = problem->kv_len;
  if (choice < 2 && keys > 0 && keys < INT16_MAX) {
    problem->mask.begin = bytes_below(bytes, keys + 1);
    if (problem->mask.keys > keys - problem->mask.begin) problem->mask.keys = keys - problem->mask.begin;
  }
  if (choice < 1 || choice > 2 || problem->batch < 1 || problem->batch > ENTRIES) return;
  int64_t *begins = description->lists[5] = allocate((size_t)problem->batch * sizeof *begins);
  for (int64_t b = 0; b < problem->batch; b++) begins[b] = length_up_to(bytes, entry_keys(problem, b), kind);
  if (kind == DESCRIBE_SOUND) problem->mask.begin = 0;
  problem->mask.begins = begins;
}

/* Keys before which others are padding. */
static void take_begins(struct description *description, struct bytes *bytes, enum description_kind kind) {
  fovea_problem *problem = &description->problem;
  if (bytes_below(bytes, 8) != 1 || problem->batch < 1 || problem->batch > ENTRIES) return;
  int64_t *begins = description->lists[6] = allocate((size_t)problem->batch * sizeof *begins);
  for (int64_t b = 0; b < problem->batch; b++) begins[b] = length_up_to(bytes, entry_keys(problem, b), kind);
  problem->kv_begins = begins;
}

/* Offsets that would be negative are said: they would be refused. */
static void say_offsets(struct description *description) {
  fovea_problem *problem = &description->problem;
  description->lists[7] = allocate((size_t)problem->batch * sizeof(int64_t));
  problem_say_offsets(problem, description->lists[7]);
}

void description_create(struct description *description, struct bytes *bytes, enum description_kind kind,
                        int64_t budget) {
  *description = (struct description){.isa = NULL};
  fovea_problem *problem = &description->problem;
  take_sizes(problem, bytes, kind, budget);
  take_rules(problem, bytes);
  take_types(problem, bytes);
  take_mask(problem, bytes);
  take_layout(problem, bytes);
  if (kind == DESCRIBE_WILD) wild_edit(problem, fields, sizeof fields / sizeof fields[0], bytes);
  if (problem->batch > ENTRIES && problem->batch <= FOVEA_LENGTH_LIMIT)
    problem->batch = problem->batch % ENTRIES + 1;
  take_entries(description, bytes, kind);
  take_isa(description, bytes, kind);
  take_keys(problem, bytes);
  take_mask_begin(description, bytes, kind);
  take_begins(description, bytes, kind);
  if (kind == DESCRIBE_SOUND) say_offsets(description);
}

void description_destroy(struct description *description) {
  for (int i = 0; i < DESCRIPTION_LISTS; i++) free(description->lists[i]);
  free(description->isa);
}
