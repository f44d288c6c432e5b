/* Patterns of any rules, sound or with nonsense in their numbers, whose arrays are allocations of exactly their
 * size. No call may crash or read outside. A pattern that is refused leaves nothing after; another sees what the
 * words of its header say, and has the bits of a mask. */
#define _XOPEN_SOURCE 700 /* putenv */
#include "bytes.h"
#include "expect.h"
#include "support/executors.h"
#include "support/patterns.h"
#include "wild.h"

#include <stddef.h>
#include <string.h>

enum { RULES = 24, ARRAYS = 3 * RULES, LONGEST = 300, WIDEST = 2000 };

/* Rules with their arrays. */
struct scene {
  fovea_rule rules[RULES];
  int64_t *arrays[ARRAYS];
  int count, array_count;
  int64_t rows_end, keys; /* of the pattern */
  int wild;               /* 1: numbers may be nonsense */
};

static int64_t *array_of(struct scene *scene, int64_t count) {
  EXPECT(scene->array_count < ARRAYS);
  int64_t *array = malloc((size_t)count * sizeof *array);
  EXPECT(array != NULL || count == 0);
  scene->arrays[scene->array_count++] = array;
  return array;
}

static int64_t number(struct scene *scene, struct bytes *bytes, int64_t limit) {
  if (scene->wild && bytes_one_in(bytes, 24)) return wild_number(bytes);
  return bytes_below(bytes, limit);
}

static int64_t *list(struct scene *scene, struct bytes *bytes, int64_t count, int64_t least, int64_t end) {
  int64_t *array = array_of(scene, count);
  for (int64_t i = 0; i < count; i++) array[i] = least + number(scene, bytes, end - least);
  return array;
}

static fovea_rule distances(struct scene *scene, struct bytes *bytes) {
  const int64_t before = bytes_one_in(bytes, 4) ? FOVEA_UNLIMITED : number(scene, bytes, LONGEST);
  const int64_t after = bytes_one_in(bytes, 4) ? FOVEA_UNLIMITED : number(scene, bytes, 100);
  if (bytes_one_in(bytes, 3)) return fovea_rule_chunks(1 + number(scene, bytes, 200), before, after);
  return fovea_rule_dilated(before, after, bytes_one_in(bytes, 2) ? 1 : 1 + number(scene, bytes, 70));
}

static fovea_rule range(struct scene *scene, struct bytes *bytes) {
  const int64_t begin = number(scene, bytes, LONGEST), end = begin + bytes_below(bytes, 200);
  if (bytes_one_in(bytes, 3)) return fovea_rule_every(end - begin + 1 + number(scene, bytes, 300), 0, end - begin);
  return bytes_one_in(bytes, 2) ? fovea_rule_rows(begin, end) : fovea_rule_keys(begin, end);
}

/* Lists never name an element after their array: only the caller knows how long that is. */
static fovea_rule lists(struct scene *scene, struct bytes *bytes) {
  const int blocks = bytes_one_in(bytes, 2);
  const int64_t block_rows = 1 + number(scene, bytes, 130), block_keys = 1 + number(scene, bytes, 200);
  const int64_t first = blocks ? 0 : number(scene, bytes, scene->rows_end + 1), count = bytes_below(bytes, 40);
  if (!blocks && bytes_one_in(bytes, 2)) {
    const int64_t length = bytes_below(bytes, 5);
    return fovea_rule_lists(first, count, length, list(scene, bytes, count * length, -1, scene->keys));
  }
  int64_t *starts = array_of(scene, count + 1), used = bytes_below(bytes, 3);
  for (int64_t i = 0; i <= count; i++) {
    starts[i] = used;
    used += bytes_below(bytes, 4);
  }
  const int64_t length = starts[count];
  if (scene->wild && bytes_one_in(bytes, 8)) starts[bytes_below(bytes, count)] = bytes_below(bytes, length + 1);
  if (!blocks) return fovea_rule_edges(first, count, starts, list(scene, bytes, length, -1, scene->keys));
  const int64_t columns = block_keys > 0 && block_keys <= scene->keys ? scene->keys / block_keys : 1;
  return fovea_rule_blocks(block_rows, block_keys, count, starts, list(scene, bytes, length, -1, columns));
}

static fovea_rule tree(struct scene *scene, struct bytes *bytes) {
  const int64_t nodes = bytes_below(bytes, 30), first = number(scene, bytes, scene->keys);
  int64_t *parents = array_of(scene, nodes);
  for (int64_t i = 0; i < nodes; i++)
    parents[i] = bytes_one_in(bytes, 8) ? number(scene, bytes, nodes) : bytes_below(bytes, i + 1) - 1;
  return fovea_rule_tree(first, nodes, parents);
}

static fovea_rule grid(struct scene *scene, struct bytes *bytes) {
  fovea_rule_axis axis[FOVEA_RULE_AXES];
  const int64_t axes = 1 + bytes_below(bytes, FOVEA_RULE_AXES);
  for (int64_t i = 0; i < axes; i++) {
    axis[i].length = 1 + number(scene, bytes, axes == 1 ? LONGEST : 24);
    axis[i].dilation = bytes_one_in(bytes, 3) ? 1 + number(scene, bytes, 4) : 1;
    axis[i].window = 1 + number(scene, bytes, axis[i].dilation > 0 ? axis[i].length / axis[i].dilation : 1);
    axis[i].causal = (int)bytes_below(bytes, 2);
  }
  fovea_rule rule = fovea_rule_neighbourhood(axes, axis);
  if (scene->wild && bytes_one_in(bytes, 16)) rule.axes = wild_number(bytes);
  return rule;
}

static fovea_rule documents(struct scene *scene, struct bytes *bytes) {
  const int64_t count = bytes_below(bytes, 60);
  const int64_t *keys = list(scene, bytes, count, -1, 4);
  return fovea_rule_documents(keys, bytes_one_in(bytes, 2) ? list(scene, bytes, count, -1, 4) : NULL, count);
}

static fovea_rule part(struct scene *scene, struct bytes *bytes) {
  switch (bytes_below(bytes, 9)) {
  case 0:
    return fovea_rule_causal();
  case 1:
    return distances(scene, bytes);
  case 2:
    return range(scene, bytes);
  case 3:
    return lists(scene, bytes);
  case 4:
    return tree(scene, bytes);
  case 5:
    return grid(scene, bytes);
  case 6:
    return documents(scene, bytes);
  case 7: {
    const int64_t count = bytes_below(bytes, 9);
    return fovea_rule_global(list(scene, bytes, count, 0, scene->keys), count);
  }
  default:
    return scene->wild ? fovea_rule_of((fovea_rule_kind)bytes_below(bytes, 20)) : fovea_rule_causal();
  }
}

static const fovea_rule *any_rule(struct scene *scene, struct bytes *bytes, int depth) {
  fovea_rule rule;
  const int64_t choice = depth == 0 ? 3 : bytes_below(bytes, 6);
  if (scene->count + 4 >= RULES) return scene->count > 0 ? &scene->rules[0] : NULL; /* shared, or none */
  if (choice < 3) {
    const fovea_rule *left = any_rule(scene, bytes, depth - 1);
    const fovea_rule *right = choice < 2 ? any_rule(scene, bytes, depth - 1) : NULL;
    rule = choice == 0   ? fovea_rule_and(left, right)
           : choice == 1 ? fovea_rule_or(left, right)
                         : fovea_rule_not(left);
  } else {
    rule = part(scene, bytes);
  }
  EXPECT(scene->count < RULES);
  scene->rules[scene->count] = rule;
  return &scene->rules[scene->count++];
}

/* Whether asking the rule by its words takes long: it counts cells of a grid. */
static int is_wide(const struct scene *scene) {
  for (int i = 0; i < scene->count; i++)
    for (int axis = 0; axis < FOVEA_RULE_AXES; axis++)
      if (scene->rules[i].axis[axis].length > WIDEST) return 1;
  return 0;
}

static void expect_sight(const fovea_pattern *pattern, const fovea_pattern_options *options) {
  for (int64_t row = options->first_row; row < options->first_row + options->rows; row++)
    for (int64_t key = 0; key < options->keys; key++)
      EXPECT(fovea_pattern_sees(pattern, 0, row, key) == rule_sees(options->rule, row, key));
  EXPECT(!fovea_pattern_sees(pattern, 0, options->first_row + options->rows, 0));
  EXPECT(!fovea_pattern_sees(pattern, 0, options->first_row, options->keys));
}

static const char *any_isa(struct bytes *bytes) {
  const char *const *names = usable_isas();
  int64_t count = 0;
  while (names[count] != NULL) count++;
  const int64_t choice = bytes_below(bytes, 2 * count);
  return choice < count ? names[choice] : NULL;
}

static void expect_bits_of_mask(const fovea_pattern *pattern, const fovea_pattern_options *options,
                                struct bytes *bytes) {
  fovea_problem problem;
  const int64_t kv_heads = 1 + bytes_below(bytes, 2), later = bytes_below(bytes, options->rows);
  fovea_problem_init(&problem, 1, kv_heads * (1 + bytes_below(bytes, 4)), kv_heads, options->rows - later,
                     options->keys, 1 + bytes_below(bytes, 20), 1 + bytes_below(bytes, 20));
  fovea_problem_resolve(&problem, NULL);
  problem.offset = options->first_row + later;
  problem.causal = bytes_one_in(bytes, 3);
  problem.mask.type = (fovea_mask_type)(bytes_one_in(bytes, 3) ? bytes_below(bytes, 6) : 0);
  problem.mask.strides = fovea_mask_layout(problem.mask.type, 1, problem.heads, problem.q_len, problem.kv_len);
  problem.pattern = pattern;
  const uint64_t seed = (uint64_t)bytes_below(bytes, 256);
  const struct rule_table rules = same_rules(options->rule, options->by_row);
  struct trial patterned = trial_create(&problem, seed), masked = masked_trial(&patterned, seed, &rules);
  struct executor executor = {(enum task_order)bytes_below(bytes, TASK_ORDERS), 0};
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.threads = 1 + (int)bytes_below(bytes, 4);
  execution.parallel_for = serial_for;
  execution.parallel_context = &executor;
  trial_run(&patterned, any_isa(bytes), &execution);
  trial_run(&masked, any_isa(bytes), &execution);
  assert_same_outputs(&patterned, &masked);
  trial_destroy(&masked);
  trial_destroy(&patterned);
}

/* Of sound numbers only a rule may be refused: it is missing, its rows, nodes, blocks or what they name lie beyond the
 * pattern, its parents go in a circle, or an axis is shorter than its dilation. */
static int may_be_refused(const char *field) {
  static const char *const names[] = {"rule", "left",   "right",   "first",     "rows",    "nodes",
                                      "axis", "blocks", "parents", "positions", "columns", "keys["};
  static const char *const ways[] = {"rule.", "left.", "right."};
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) /* to the rule */
    if (strncmp(field, ways[i], strlen(ways[i])) == 0) return may_be_refused(field + strlen(ways[i]));
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strncmp(field, names[i], strlen(names[i])) == 0) return 1;
  return 0;
}

static void try_pattern(struct scene *scene, const fovea_pattern_options *options, struct bytes *bytes) {
  fovea_error error;
  fovea_pattern *pattern = (fovea_pattern *)(void *)&error;
  const fovea_status status = fovea_pattern_create(options, &pattern, &error);
  if (status != FOVEA_OK) {
    expect_failure(status, &error);
    EXPECT(pattern == NULL);
    EXPECT(scene->wild || (status == FOVEA_ERROR_ARGUMENT && may_be_refused(error.field)));
    return;
  }
  EXPECT(fovea_pattern_bytes(pattern) > 0);
  if (options->rows <= LONGEST && options->keys <= 2 * LONGEST && !is_wide(scene)) {
    expect_sight(pattern, options);
    if (options->rows > 0 && options->keys > 0 && !options->by_row) expect_bits_of_mask(pattern, options, bytes);
  }
  fovea_pattern_destroy(pattern);
}

/* Numbers that are too large to be compared stay small enough to be compiled at once. */
static int64_t size_of(struct scene *scene, struct bytes *bytes, int64_t size) {
  if (!scene->wild || !bytes_one_in(bytes, 16)) return size;
  const int64_t any = wild_number(bytes);
  return any > 20000 && any <= INT32_MAX ? any % 20000 : any;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct bytes bytes = {data, size};
  static struct scene scene;
  static char abort_setting[] = "CMOCKA_TEST_ABORT=1";
  putenv(abort_setting); /* a failure must end the program, since no cmocka test is running */
  scene = (struct scene){.wild = bytes_one_in(&bytes, 3)};
  const int64_t first = bytes_one_in(&bytes, 2) ? bytes_below(&bytes, 100) : 0, rows = bytes_below(&bytes, 140);
  scene.keys = bytes_below(&bytes, 2 * LONGEST);
  scene.rows_end = first + rows;
  const fovea_rule *rule = any_rule(&scene, &bytes, (int)bytes_below(&bytes, 4));
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, rule, size_of(&scene, &bytes, rows), size_of(&scene, &bytes, scene.keys));
  options.first_row = size_of(&scene, &bytes, first);
  options.by_row = options.first_row == 0 && bytes_one_in(&bytes, 4);
  if (scene.wild && bytes_one_in(&bytes, 16)) options.struct_size = (size_t)wild_number(&bytes);
  if (scene.wild && bytes_one_in(&bytes, 16)) options.rule_size = (size_t)wild_number(&bytes);
  try_pattern(&scene, &options, &bytes);
  for (int i = 0; i < scene.array_count; i++) free(scene.arrays[i]);
  return 0;
}
