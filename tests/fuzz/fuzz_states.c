/* States of any sizes, strides and ranges of keys, nonsense in any field, made by runs, of outputs and by merging,
 * and finished, in any order. Never a crash, never a byte read or written outside; a call that fails leaves its
 * outputs as they were; what is merged at ends of spans has the bits of one run, and so has what that finishes as.
 */
#include "expect.h"
#include "slot.h"
#include "support/execution.h"
#include "support/generator.h"
#include "wild.h"

#include <stddef.h>

enum { SLOTS = 5, OPERATIONS = 14, SPANS = 8, DIMS = 14, NAMES = 3 };

#define FIELD(kind, type, name)                                                                                    \
  { FIELD_##kind, offsetof(type, name) }
static const struct field problem_fields[] = {
    FIELD(LONG, fovea_problem, batch),         FIELD(LONG, fovea_problem, heads),
    FIELD(LONG, fovea_problem, q_len),         FIELD(LONG, fovea_problem, v_dim),
    FIELD(LONG, fovea_problem, o_strides.row), FIELD(LONG, fovea_problem, lse_strides.row),
    FIELD(INTEGER, fovea_problem, o_type),     FIELD(INTEGER, fovea_problem, sink),
    FIELD(REAL, fovea_problem, scale),         FIELD(LONG, fovea_problem, o_strides.batch),
};
enum { PROBLEM_FIELDS = sizeof problem_fields / sizeof problem_fields[0] };

struct scene {
  struct bytes *bytes;
  fovea_problem problem; /* sound */
  float *q, *k, *v, *sinks;
  struct slot slots[SLOTS];
};

/* A place in the keys; mostly where a span ends. */
static int64_t any_cut(const struct scene *scene) {
  const int64_t choice = bytes_below(scene->bytes, 16), keys = scene->problem.kv_len;
  if (choice == 15) return bytes_below(scene->bytes, keys + 1);
  if (choice >= 12) return keys;
  return choice * FOVEA_SPAN_KEYS < keys ? choice * FOVEA_SPAN_KEYS : choice % 2 * keys;
}

static const char *any_isa(struct bytes *bytes) {
  static const char *const names[NAMES] = {NULL, "scalar", "nonsense"};
  const int64_t choice = bytes_below(bytes, 32);
  return choice == 31 ? names[2] : names[choice % 2];
}

/* A state of the problem's sizes over a range of keys, before anything is in it. */
static struct slot new_slot(const struct scene *scene, int64_t begin, int64_t end, int wild) {
  const fovea_problem *p = &scene->problem;
  struct slot slot;
  memset(&slot, 0, sizeof slot);
  fovea_state_init(&slot.state, p->batch, p->heads, p->q_len, p->v_dim, begin, end, NULL);
  slot.state.strides = any_strides(scene->bytes, p->batch, p->heads, p->q_len, state_numbers(&slot.state));
  if (wild && bytes_one_in(scene->bytes, 3)) slot_edit(&slot, scene->bytes);
  slot_lay_out(&slot);
  return slot;
}

/* Memory for one a head; none where that cannot be. */
static float *any_sinks(int64_t heads) {
  if (heads < 1 || heads > REGION_ROWS) return NULL;
  float *sinks = malloc((size_t)heads * sizeof *sinks);
  if (sinks == NULL) abort();
  for (int64_t i = 0; i < heads; i++) sinks[i] = (float)i - 1.5f;
  return sinks;
}

static fovea_tensors inputs_of(const struct scene *scene) {
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, scene->q, scene->k, scene->v, NULL, NULL);
  if (scene->problem.sink == FOVEA_SINK_PER_HEAD) tensors.sink = scene->sinks;
  return tensors;
}

static fovea_status run_into(const struct scene *scene, struct slot *slot, int64_t begin, int64_t end,
                             fovea_error *error) {
  fovea_problem problem = scene->problem;
  fovea_tensors tensors = inputs_of(scene);
  problem.keys.begin = begin;
  problem.keys.end = end;
  problem.state = 1;
  tensors.sink = NULL;
  tensors.state = &slot->state;
  region_close(&slot->memory);
  const fovea_status status = fovea_attend(&problem, &tensors, NULL, error);
  region_open(&slot->memory);
  return status;
}

/* What one run over all its keys leaves. */
static void expect_exact(const struct scene *scene, const struct slot *slot) {
  struct slot run;
  memset(&run, 0, sizeof run);
  run.state = slot->state;
  const fovea_problem *p = &scene->problem;
  fovea_state_init(&run.state, p->batch, p->heads, p->q_len, p->v_dim, slot->state.keys.begin, slot->state.keys.end,
                   NULL);
  const int64_t numbers = state_numbers(&run.state);
  run.state.strides = (fovea_strides){p->heads * p->q_len * numbers, p->q_len * numbers, numbers};
  slot_lay_out(&run);
  EXPECT(run_into(scene, &run, slot->state.keys.begin, slot->state.keys.end, NULL) == FOVEA_OK);
  expect_same_rows(&slot->memory, &run.memory);
  slot_destroy(&run);
}

static void keep(struct scene *scene, struct slot *made) {
  struct slot *slot = &scene->slots[bytes_below(scene->bytes, SLOTS)];
  slot_destroy(slot);
  *slot = *made;
}

static struct slot run_range(const struct scene *scene, int64_t begin, int64_t end, int wild) {
  fovea_error error;
  struct slot made = new_slot(scene, begin, end, wild);
  const fovea_status status = run_into(scene, &made, begin, end, &error);
  slot_expect(&made, status, &error);
  made.exact = status == FOVEA_OK;
  return made;
}

static void make_by_run(struct scene *scene) {
  int64_t begin = any_cut(scene), end = any_cut(scene);
  if (begin > end && !bytes_one_in(scene->bytes, 16)) {
    const int64_t swap = begin;
    begin = end;
    end = swap;
  }
  struct slot made = run_range(scene, begin, end, 1);
  keep(scene, &made);
}

/* Mostly of two that go on from each other, as far as there are such. */
static struct slot *choose(struct scene *scene, const struct slot *left) {
  const int64_t first = bytes_below(scene->bytes, SLOTS);
  for (int64_t i = 0; i < SLOTS && left != NULL && !bytes_one_in(scene->bytes, 32); i++) {
    struct slot *slot = &scene->slots[(first + i) % SLOTS];
    if (slot->there && slot->state.keys.begin == left->state.keys.end) return slot;
  }
  return &scene->slots[first];
}

static struct slot merge_slots(const struct scene *scene, const struct slot *left, const struct slot *right,
                               int wild) {
  fovea_error error;
  struct slot made = new_slot(scene, left->state.keys.begin, right->state.keys.end, wild);
  const int64_t shared = wild ? bytes_below(scene->bytes, 16) : 0; /* memory of an input */
  float *own = made.state.numbers;
  if (shared > 13) made.state.numbers = shared == 14 ? left->state.numbers : right->state.numbers;
  region_close(&left->memory);
  region_close(&right->memory);
  region_close(&made.memory);
  const fovea_status status =
      fovea_state_merge(&left->state, &right->state, &made.state, on_isa(any_isa(scene->bytes)), &error);
  region_open(&left->memory);
  region_open(&right->memory);
  region_open(&made.memory);
  if (shared > 13) {
    EXPECT(status != FOVEA_OK || made.memory.size == 0);
    made.state.numbers = own;
  }
  slot_expect(&made, status, &error);
  const int cut_well = left->state.keys.end % FOVEA_SPAN_KEYS == 0 ||
                       left->state.keys.begin == left->state.keys.end ||
                       right->state.keys.begin == right->state.keys.end;
  made.exact = status == FOVEA_OK && left->exact && right->exact && cut_well;
  if (made.exact) expect_exact(scene, &made);
  return made;
}

static void merge(struct scene *scene) {
  const struct slot *left = choose(scene, NULL), *right = choose(scene, left);
  if (!left->there || !right->there) return;
  struct slot made = merge_slots(scene, left, right, 1);
  keep(scene, &made);
}

/* O and LSE of a problem that may be nonsense; without memory where that cannot be. */
static void create_outputs(const fovea_problem *p, struct region outputs[2]) {
  static const int bits[] = {32, 16, 16};
  const int type = (int)p->o_type;
  for (int i = 0; i < 2; i++) {
    const fovea_strides *s = i == 0 ? &p->o_strides : &p->lse_strides;
    const int64_t extent[3] = {p->batch, p->heads, p->q_len}, axes[3] = {s->batch, s->head, s->row};
    int64_t stride[3];
    for (int axis = 0; axis < 3; axis++) stride[axis] = extent[axis] > 1 ? axes[axis] : 0;
    const int sound = p->batch > 0 && p->heads > 0 && p->q_len > 0 && p->v_dim > 0 && type >= 0 && type <= 2;
    if (!sound || !region_create(&outputs[i], extent, stride, i == 0 ? p->v_dim : 1, i == 0 ? bits[type] : 32))
      memset(&outputs[i], 0, sizeof outputs[i]);
    region_fill_untouched(&outputs[i]);
  }
}

/* The problem of a call about outputs. */
static fovea_problem any_outputs(struct scene *scene) {
  fovea_problem problem = scene->problem;
  struct bytes *bytes = scene->bytes;
  problem.o_strides = any_strides(bytes, problem.batch, problem.heads, problem.q_len, problem.v_dim);
  problem.lse_strides = any_strides(bytes, problem.batch, problem.heads, problem.q_len, 1);
  problem.o_type = (fovea_type)bytes_below(bytes, 3);
  if (bytes_one_in(bytes, 4)) wild_edit(&problem, problem_fields, PROBLEM_FIELDS, bytes);
  return problem;
}

/* The bits of a run over the keys of the state. */
static void expect_finished(const struct scene *scene, const fovea_problem *given, const struct slot *slot,
                            const struct region outputs[2]) {
  fovea_problem problem = *given;
  fovea_tensors tensors = inputs_of(scene);
  struct region expected[2];
  problem.keys.begin = slot->state.keys.begin;
  problem.keys.end = slot->state.keys.end;
  create_outputs(&problem, expected);
  tensors.o = expected[0].data;
  tensors.lse = expected[1].data;
  tensors.sink = problem.sink == FOVEA_SINK_PER_HEAD ? scene->sinks : NULL;
  EXPECT(fovea_attend(&problem, &tensors, NULL, NULL) == FOVEA_OK);
  for (int i = 0; i < 2; i++) {
    if (outputs[i].size > 0) expect_same_rows(&outputs[i], &expected[i]);
    region_destroy(&expected[i]);
  }
}

static void finish_slot(struct scene *scene, const struct slot *slot) {
  fovea_error error;
  struct region outputs[2];
  const fovea_problem problem = any_outputs(scene);
  create_outputs(&problem, outputs);
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, NULL, NULL, NULL, outputs[0].data, outputs[1].data);
  if (bytes_one_in(scene->bytes, 4)) tensors.lse = NULL;
  float *sinks = any_sinks(problem.heads);
  if (problem.sink == FOVEA_SINK_PER_HEAD) tensors.sink = sinks;
  tensors.state = &slot->state;
  for (int i = 0; i < 2; i++) region_close(&outputs[i]);
  region_close(&slot->memory);
  const fovea_status status = fovea_state_finish(&problem, &tensors, on_isa(any_isa(scene->bytes)), &error);
  region_open(&slot->memory);
  for (int i = 0; i < 2; i++) region_open(&outputs[i]);
  if (status != FOVEA_OK) {
    expect_failure(status, &error);
    for (int i = 0; i < 2; i++) EXPECT(region_is_untouched(&outputs[i]));
  } else {
    expect_region_written(&outputs[0]);
    if (tensors.lse != NULL) expect_region_written(&outputs[1]);
    if (tensors.lse == NULL) region_destroy(&outputs[1]);
    if (slot->exact && problem.scale == scene->problem.scale) expect_finished(scene, &problem, slot, outputs);
  }
  for (int i = 0; i < 2; i++) region_destroy(&outputs[i]);
  free(sinks);
}

/* All keys from some span on, in parts that merge in any order, and finished. */
static void share_out(struct scene *scene) {
  enum { PARTS = 4 };
  struct slot parts[PARTS];
  const int64_t keys = scene->problem.kv_len;
  int64_t begin = bytes_below(scene->bytes, SPANS) * FOVEA_SPAN_KEYS, count = 0;
  while (begin < keys && count < PARTS) {
    const int64_t step = (1 + bytes_below(scene->bytes, 4)) * FOVEA_SPAN_KEYS;
    const int64_t end = begin + step < keys && count + 1 < PARTS ? begin + step : keys;
    parts[count++] = run_range(scene, begin, end, 0);
    begin = end;
  }
  for (; count > 1; count--) {
    const int64_t at = bytes_below(scene->bytes, count - 1);
    const struct slot merged = merge_slots(scene, &parts[at], &parts[at + 1], 0);
    slot_destroy(&parts[at]);
    slot_destroy(&parts[at + 1]);
    memmove(&parts[at], &parts[at + 1], (size_t)(count - at - 1) * sizeof parts[0]);
    parts[at] = merged;
  }
  if (count == 0) return;
  finish_slot(scene, &parts[0]);
  keep(scene, &parts[0]);
}

static void finish(struct scene *scene) {
  const struct slot *slot = choose(scene, NULL);
  if (slot->there) finish_slot(scene, slot);
}

/* Of numbers that any library may give. */
static void make_of_outputs(struct scene *scene) {
  static const uint32_t patterns[] = {0xff800000, 0x7f800000, 0x7fc00001, 0x3f803f80, 0x80000000, 0xc2c80000};
  fovea_error error;
  struct region outputs[2];
  const fovea_problem problem = any_outputs(scene);
  create_outputs(&problem, outputs);
  const size_t first = bytes_one(scene->bytes);
  for (int i = 0; i < 2; i++)
    for (size_t at = 0; at + sizeof(uint32_t) <= outputs[i].size; at += sizeof(uint32_t))
      memcpy(outputs[i].block + at, &patterns[(at / 4 * (first % 5 + 1) + first) % 6], sizeof(uint32_t));
  const int64_t begin = any_cut(scene), end = any_cut(scene);
  struct slot made = new_slot(scene, begin < end ? begin : end, begin < end ? end : begin, 1);
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, NULL, NULL, NULL, outputs[0].data, outputs[1].data);
  tensors.state = &made.state;
  for (int i = 0; i < 2; i++) region_close(&outputs[i]);
  region_close(&made.memory);
  const fovea_status status = fovea_state_from_output(&problem, &tensors, NULL, &error);
  region_open(&made.memory);
  for (int i = 0; i < 2; i++) region_open(&outputs[i]);
  slot_expect(&made, status, &error);
  for (int i = 0; i < 2; i++) region_destroy(&outputs[i]);
  keep(scene, &made);
}

/* Numbers that no run leaves, as a state from elsewhere may have. */
static void spoil(struct scene *scene) {
  struct slot *slot = choose(scene, NULL);
  if (slot->memory.size < sizeof(uint32_t)) return;
  const uint32_t bits = (uint32_t)bytes_number(scene->bytes);
  const size_t place = (size_t)bytes_below(scene->bytes, 65536) % (slot->memory.size / 4) * 4;
  memcpy(slot->memory.block + place, &bits, sizeof bits);
  slot->exact = 0;
}

static float *numbers(struct generator *generator, int64_t count, struct bytes *bytes) {
  static const uint32_t patterns[] = {0x7fc00000, 0x7f800000, 0xff800000, 0x7f7fffff, 0x00000003, 0x42c80000};
  float *made = malloc((size_t)(count > 0 ? count : 1) * sizeof *made);
  if (made == NULL) abort();
  for (int64_t i = 0; i < count; i++) made[i] = (float)(int)(generator_bits(generator) % 2001) / 500.0f - 2.0f;
  for (int64_t pokes = bytes_one_in(bytes, 8) ? 2 : 0; pokes > 0 && count > 0; pokes--)
    memcpy(&made[bytes_below(bytes, 65536) % count], &patterns[bytes_below(bytes, 6)], sizeof *made);
  return made;
}

static void create_scene(struct scene *scene, struct bytes *bytes) {
  memset(scene, 0, sizeof *scene);
  scene->bytes = bytes;
  struct generator generator = {bytes_one(bytes)};
  const int64_t batch = 1 + bytes_below(bytes, 2), heads = 1 + bytes_below(bytes, 2), rows = bytes_below(bytes, 5);
  const int64_t keys = bytes_below(bytes, SPANS) * FOVEA_SPAN_KEYS + bytes_below(bytes, FOVEA_SPAN_KEYS + 1);
  const int64_t qk_dim = 1 + bytes_below(bytes, 4);
  const int64_t v_dim = 1 + (bytes_one_in(bytes, 16) ? 256 : 0) + bytes_below(bytes, DIMS);
  fovea_problem *p = &scene->problem;
  fovea_problem_init(p, batch, heads, 1, rows, keys, qk_dim, v_dim);
  fovea_problem_resolve(p, NULL);
  p->k_strides.batch = p->v_strides.batch = 0;
  p->causal = (int)bytes_below(bytes, 2);
  if (bytes_one_in(bytes, 4)) p->window_left = bytes_below(bytes, 2 * FOVEA_SPAN_KEYS);
  p->sink = (fovea_sink)bytes_below(bytes, 3);
  if (bytes_one_in(bytes, 8)) p->softcap = 3;
  scene->sinks = any_sinks(heads);
  scene->q = numbers(&generator, batch * heads * rows * qk_dim, bytes);
  scene->k = numbers(&generator, keys * qk_dim, bytes);
  scene->v = numbers(&generator, keys * v_dim, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes bytes = {data, size};
  struct scene scene;
  create_scene(&scene, &bytes);
  for (int i = 0; i < OPERATIONS && bytes.left > 0; i++) {
    static void (*const operations[])(struct scene *) = {make_by_run,     make_by_run, make_by_run, merge,
                                                         merge,           merge,       finish,      finish,
                                                         make_of_outputs, spoil,       share_out,   share_out};
    operations[bytes_below(&bytes, (int64_t)(sizeof operations / sizeof operations[0]))](&scene);
  }
  for (int i = 0; i < SLOTS; i++) slot_destroy(&scene.slots[i]);
  free(scene.q);
  free(scene.k);
  free(scene.v);
  free(scene.sinks);
  return 0;
}
