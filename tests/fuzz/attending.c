#include "attending.h"

#include "expect.h"
#include "support/execution.h"
#include "support/problems.h"
#include "support/types.h"
#include "verdicts.h"

enum { KEYS = 1024, POSITIONS = 400 };

/* One problem over the scene's sequences. Its lists and tensors are allocations of exactly their size. */
struct attention {
  fovea_problem problem; /* of both calls */
  int holes;             /* of the call over segments */
  int64_t *begins, *ends;
  fovea_sequence *sequences;
  unsigned char *q, *o, *expected;
  float *lse, *expected_lse;
  size_t o_size, lse_size;
};

static void *allocate(size_t size) {
  void *memory = malloc(size > 0 ? size : 1);
  if (memory == NULL) abort();
  memset(memory, 0xff, size);
  return memory;
}

static void take_rules(fovea_problem *problem, struct bytes *bytes) {
  problem_apply(problem, &rule_list[bytes_below(bytes, rule_count)]);
  problem->q_type = (fovea_type)bytes_below(bytes, 3);
  problem->o_type = (fovea_type)bytes_below(bytes, 3);
  if (bytes_one_in(bytes, 4)) problem->offset = bytes_below(bytes, 600) - 300;
  if (bytes_one_in(bytes, 4)) problem->softcap = 1.0 + (double)bytes_below(bytes, 40);
  if (bytes_one_in(bytes, 4)) problem->sink = FOVEA_SINK_ZERO;
  if (!bytes_one_in(bytes, 4) || problem->kv_len < 0 || problem->kv_len > KEYS) return;
  problem->keys.begin = bytes_below(bytes, problem->kv_len + 1);
  if (bytes_below(bytes, 2))
    problem->keys.end = problem->keys.begin + bytes_below(bytes, problem->kv_len - problem->keys.begin + 1);
}

/* Queries are bytes of the arena as it was filled, in any type. */
static void create(struct attention *attention, struct scene *scene) {
  struct bytes *bytes = scene->bytes;
  fovea_problem *problem = &attention->problem;
  const int64_t batch = 1 + bytes_below(bytes, SCENE_ENTRIES), group = 1 + bytes_below(bytes, 3);
  const int64_t heads = scene->shape.kv_heads * group,
                rows = 1 + bytes_below(bytes, bytes_one_in(bytes, 4) ? 20 : 4);
  int64_t longest = 0;
  attention->begins = allocate((size_t)batch * sizeof(int64_t));
  attention->ends = allocate((size_t)batch * sizeof(int64_t));
  attention->sequences = allocate((size_t)batch * sizeof(fovea_sequence));
  for (int64_t b = 0; b < batch; b++) {
    attention->sequences[b] = scene->sequences[bytes_one_in(bytes, 4) ? bytes_below(bytes, SCENE_ENTRIES) : b];
    scene_positions(scene, &attention->sequences[b], POSITIONS, &attention->begins[b], &attention->ends[b]);
    if (attention->ends[b] > longest) longest = attention->ends[b];
  }
  const int64_t beyond = bytes_one_in(bytes, 8) ? bytes_below(bytes, 20) : 0;
  if (longest <= INT64_MAX - beyond) longest += beyond;
  fovea_problem_init(problem, batch, heads, scene->shape.kv_heads, rows, longest, scene->shape.qk_dim,
                     scene->shape.v_dim);
  fovea_problem_resolve(problem, NULL);
  problem->kv_lens = attention->ends;
  take_rules(problem, bytes);
  const size_t q_size = (size_t)(batch * heads * rows * problem->qk_dim) * type_size(problem->q_type);
  attention->o_size = (size_t)(batch * heads * rows * problem->v_dim) * type_size(problem->o_type);
  attention->lse_size = (size_t)(batch * heads * rows) * sizeof(float);
  attention->q = allocate(q_size);
  attention->o = allocate(attention->o_size);
  attention->expected = allocate(attention->o_size);
  attention->lse = allocate(attention->lse_size);
  attention->expected_lse = allocate(attention->lse_size);
  for (size_t i = 0; i < q_size; i++) attention->q[i] = scene->arena.memory[i * 7 / 2 * 2 % ARENA_BYTES + i % 2];
}

static void destroy(struct attention *attention) {
  free(attention->begins);
  free(attention->ends);
  free(attention->sequences);
  free(attention->q);
  free(attention->o);
  free(attention->expected);
  free(attention->lse);
  free(attention->expected_lse);
}

/* The first wanted key of a batch element; then after its last. */
static int64_t first_key(const struct attention *attention, int64_t entry) {
  const int64_t begin = attention->begins[entry], first = attention->problem.keys.begin;
  return begin > first ? begin : first;
}

static int64_t end_key(const struct attention *attention, int64_t entry) {
  const int64_t end = attention->ends[entry], wanted = attention->problem.keys.end;
  return wanted != FOVEA_UNLIMITED && wanted < end ? wanted : end;
}

/* Whether rows would lie before all keys of a batch element by an offset that nobody set, and that matters. */
static int has_lost_rows(const fovea_problem *problem, int64_t keys) {
  const int window = problem->window_left != FOVEA_UNLIMITED || problem->window_right != FOVEA_UNLIMITED;
  if (problem->offset != FOVEA_OFFSET_BOTTOM_RIGHT || (!problem->causal && !window && problem->chunks.size == 0))
    return 0;
  return keys > 0 && keys < problem->q_len;
}

static enum verdict judge(struct scene *scene, const struct attention *attention) {
  arena_forget(&scene->arena);
  const fovea_problem *problem = &attention->problem;
  if (problem->kv_len < 0) return VERDICT_REFUSED;
  for (int64_t b = 0; b < problem->batch; b++) {
    const int64_t begin = attention->begins[b], end = attention->ends[b];
    if (begin < 0 || begin > end || end > problem->kv_len) return VERDICT_REFUSED;
    if (has_lost_rows(problem, end)) return VERDICT_REFUSED;
    if (!(attention->holes ? sequence_reaches : sequence_holds)(&attention->sequences[b], first_key(attention, b),
                                                                end_key(attention, b)))
      return VERDICT_REFUSED;
    if (!sequence_fits(&attention->sequences[b], &scene->shape, first_key(attention, b), end_key(attention, b)))
      return VERDICT_REFUSED;
  }
  if (problem->kv_len > KEYS) return VERDICT_ELSEWHERE;
  for (int64_t b = 0; b < problem->batch; b++)
    for (int64_t p = first_key(attention, b); p < end_key(attention, b); p++)
      if (holds_position(&attention->sequences[b], p))
        mark_sequence(&scene->arena, &attention->sequences[b], &scene->shape, p, p + 1, ARENA_READ);
  return judge_marks(&scene->arena);
}

/* Keys or values as a contiguous f32 tensor. It holds NaN at keys that no row sees. */
static float *gathered(const struct scene *scene, const struct attention *attention, int values) {
  const fovea_problem *problem = &attention->problem;
  const int64_t dim = values ? problem->v_dim : problem->qk_dim, heads = problem->kv_heads, keys = problem->kv_len;
  float *tensor = allocate((size_t)(problem->batch * heads * keys * dim) * sizeof(float));
  for (int64_t b = 0; b < problem->batch; b++)
    for (int64_t p = first_key(attention, b); p < end_key(attention, b); p++)
      for (int64_t head = 0; head < heads && holds_position(&attention->sequences[b], p); head++) {
        const fovea_segment *segment = segment_of(&attention->sequences[b], p);
        const struct row row = segment_row(segment, values, head, p);
        load_row(&scene->arena, &row, dim, tensor + ((b * heads + head) * keys + p) * dim);
      }
  return tensor;
}

/* A mask that hides the positions that are not held. */
static unsigned char *mask_of(const struct attention *attention) {
  const int64_t keys = attention->problem.kv_len;
  unsigned char *mask = allocate((size_t)(attention->problem.batch * keys));
  for (int64_t b = 0; b < attention->problem.batch; b++)
    for (int64_t p = 0; p < keys; p++)
      mask[b * keys + p] =
          p >= first_key(attention, b) && p < end_key(attention, b) && holds_position(&attention->sequences[b], p);
  return mask;
}

static void attend_contiguously(const struct scene *scene, const struct attention *attention) {
  fovea_problem problem = attention->problem;
  float *k = gathered(scene, attention, 0), *v = gathered(scene, attention, 1);
  unsigned char *mask = mask_of(attention);
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, attention->q, k, v, attention->expected, attention->expected_lse);
  tensors.mask = mask;
  problem.mask.type = FOVEA_MASK_BOOL;
  problem.mask.strides = fovea_mask_layout(FOVEA_MASK_BOOL, problem.batch, 1, 1, problem.kv_len);
  problem.mask.strides.batch = problem.kv_len;
  EXPECT(fovea_attend(&problem, &tensors, NULL, NULL) == FOVEA_OK);
  free(k);
  free(v);
  free(mask);
}

static int is_untouched(const void *memory, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (((const unsigned char *)memory)[i] != 0xff) return 0;
  return 1;
}

void attend(struct scene *scene, int holes) {
  struct attention attention = {.holes = holes};
  create(&attention, scene);
  const enum verdict verdict = judge(scene, &attention);
  fovea_problem problem = attention.problem;
  problem.cache.segmented = 1;
  problem.cache.holes = holes;
  problem.kv_begins = attention.begins;
  const char *const isa = scene_isa(scene);
  fovea_tensors tensors;
  fovea_error error;
  fovea_tensors_init(&tensors, attention.q, NULL, NULL, attention.o, attention.lse);
  tensors.cache.sequences = scene->wild && bytes_one_in(scene->bytes, 32) ? NULL : attention.sequences;
  if (verdict != VERDICT_ELSEWHERE) {
    if (verdict == VERDICT_RIGHT) arena_close(&scene->arena);
    const fovea_status status = fovea_attend(&problem, &tensors, on_isa(isa), &error);
    arena_open(&scene->arena);
    EXPECT(arena_is_as_modelled(&scene->arena));
    EXPECT(status == FOVEA_OK || scene->wild || verdict == VERDICT_REFUSED);
    if (status == FOVEA_OK) {
      EXPECT(verdict == VERDICT_RIGHT && tensors.cache.sequences != NULL);
      attend_contiguously(scene, &attention);
      EXPECT(memcmp(attention.o, attention.expected, attention.o_size) == 0);
      EXPECT(memcmp(attention.lse, attention.expected_lse, attention.lse_size) == 0);
    } else {
      expect_failure(status, &error);
      EXPECT(is_untouched(attention.o, attention.o_size) && is_untouched(attention.lse, attention.lse_size));
    }
  }
  destroy(&attention);
}
