/* Makes patterns and destroys them. */
#include "check.h"
#include "compile.h"
#include "copy_nodes.h"

#include "../base/error.h"
#include "../base/groups.h"
#include "../base/memory.h"

#include <stddef.h>
#include <string.h>

void fovea_pattern_options_init_sized(fovea_pattern_options *options, size_t struct_size, size_t rule_size,
                                      const fovea_rule *rule, int64_t rows, int64_t keys) {
  const fovea_pattern_options all = {
      .struct_size = struct_size, .rule_size = rule_size, .rule = rule, .rows = rows, .keys = keys};
  memcpy(options, &all, struct_size < sizeof all ? struct_size : sizeof all);
}

#if FOVEA_BUILDS_LISTS
/* Copies the caller's options. */
static fovea_status read_options(const fovea_pattern_options *given, fovea_pattern_options *options,
                                 fovea_error *error) {
  *options = (fovea_pattern_options){0};
  if (!given) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "options is NULL");
  if (given->struct_size != sizeof *options) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "options.struct_size is %ju, and this library's is %ju: the program was compiled for another "
                      "version, or the struct was not initialised: call fovea_pattern_options_init()",
                      (uint64_t)given->struct_size, (uint64_t)sizeof *options);
  }
  memcpy(options, given, given->struct_size);
  if (options->rule_size == sizeof(fovea_rule)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "options.rule_size is %ju, and this library's is %ju; call fovea_pattern_options_init()",
                    (uint64_t)options->rule_size, (uint64_t)sizeof(fovea_rule));
}

/* Takes a pattern's memory from the arena: the struct, the rules of its heads, and where its bands begin. */
static fovea_pattern *take_pattern(fovea_arena *arena, const fovea_pattern_options *options) {
  const int64_t heads = options->rules ? options->heads : 1;
  const int64_t bands = (options->rows + FOVEA_BAND_ROWS - 1) / FOVEA_BAND_ROWS;
  fovea_pattern *pattern = fovea_arena_take(arena, 1, sizeof *pattern);
  const fovea_node **roots = fovea_arena_take(arena, heads, sizeof *roots);
  int64_t *starts = fovea_arena_take(arena, heads * bands + 1, sizeof *starts);
  for (int64_t head = 0; head < heads; head++) {
    const fovea_rule *rule = options->rules ? options->rules[head] : options->rule;
    const fovea_node *root = fovea_copy_rule(arena, rule, options->first_row + options->rows);
    if (roots) roots[head] = root;
  }
  if (!pattern) return NULL;
  *pattern = (fovea_pattern){.allocator = options->allocator,
                             .heads = heads,
                             .first_row = options->first_row,
                             .rows = options->rows,
                             .keys = options->keys,
                             .by_row = options->by_row,
                             .bytes = (size_t)arena->used,
                             .bands = bands,
                             .roots = roots,
                             .band_starts = starts};
  return pattern;
}

fovea_status fovea_pattern_create(const fovea_pattern_options *given, fovea_pattern **pattern, fovea_error *error) {
  if (!pattern) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "pattern is NULL");
  *pattern = NULL;
  fovea_pattern_options options;
  fovea_status status = read_options(given, &options, error);
  if (!status) status = fovea_check_pattern_options(&options, error);
  if (status) return status;
  fovea_arena arena = {NULL, 0};
  take_pattern(&arena, &options);
  if (arena.used <= PTRDIFF_MAX) arena.memory = fovea_allocate(&options.allocator, (size_t)arena.used);
  if (!arena.memory) {
    return fovea_fail(error, FOVEA_ERROR_MEMORY, "No memory for a pattern of %ju bytes", arena.used);
  }
  arena.used = 0;
  fovea_pattern *made = take_pattern(&arena, &options);
  if (!fovea_compile_pattern(made)) {
    fovea_pattern_destroy(made);
    return fovea_fail(error, FOVEA_ERROR_MEMORY, "No memory for the keys that %jd rows see", options.rows);
  }
  *pattern = made;
  return FOVEA_OK;
}

void fovea_pattern_destroy(fovea_pattern *pattern) {
  if (!pattern) return;
  const fovea_allocator allocator = pattern->allocator; /* a copy that outlives the pattern */
  fovea_release(&allocator, pattern->band_keys);
  fovea_release(&allocator, pattern);
}
#else
fovea_status fovea_pattern_create(const fovea_pattern_options *options, fovea_pattern **pattern,
                                  fovea_error *error) {
  (void)options;
  if (pattern) *pattern = NULL;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_LISTS, error);
}

void fovea_pattern_destroy(fovea_pattern *pattern) {
  (void)pattern;
}

int fovea_pattern_sees(const fovea_pattern *pattern, int64_t head, int64_t row, int64_t key) {
  (void)pattern, (void)head, (void)row, (void)key;
  return 0;
}

size_t fovea_pattern_bytes(const fovea_pattern *pattern) {
  (void)pattern;
  return 0;
}
#endif
