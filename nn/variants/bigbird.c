/* BigBird's lists of blocks (Zaheer et al., 2020), and patterns of them. */
#include <fovea/sparse_attention.h>

#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/memory.h"
#include "../../src/base/validate.h"
#include "../defaults.h"

/* Blocks, and random blocks of a block of rows. */
#define BLOCK_LIMIT (INT64_C(1) << 31)
/* Lists of heads become a rule each. */
#define HEAD_LIMIT 4096

/* How many blocks a block may draw from: all but itself and both neighbours, the first and the last. */
static int64_t free_blocks(int64_t blocks) {
  return blocks > 5 ? blocks - 5 : 0;
}

static int64_t drawn_blocks(int64_t blocks, int64_t chosen) {
  return chosen < free_blocks(blocks) ? chosen : free_blocks(blocks);
}

/* The blocks that block `row` sees in any case, ascending, and the blocks that it may not draw. */
typedef struct fixed_blocks {
  int64_t seen[5], excluded[5];
  int seen_count, excluded_count;
} fixed_blocks;

static void add(int64_t *list, int *count, int64_t block) {
  if (*count == 0 || block > list[*count - 1]) list[(*count)++] = block;
}

static fixed_blocks fixed_of(int64_t row, int64_t blocks) {
  fixed_blocks fixed = {.seen_count = 0, .excluded_count = 0};
  const int64_t all[] = {0, row - 1, row, row + 1, blocks - 1};
  for (int i = 0; i < 5; i++) {
    add(fixed.seen, &fixed.seen_count, all[i]);
    if (i == 1 && row == blocks - 2) add(fixed.excluded, &fixed.excluded_count, 1);
    if (i == 4 && row == 1) add(fixed.excluded, &fixed.excluded_count, blocks - 2);
    add(fixed.excluded, &fixed.excluded_count, all[i]);
  }
  return fixed;
}

/* The block that is number `number` among the blocks that are not excluded. */
static int64_t free_block(const fixed_blocks *fixed, int64_t number) {
  for (int i = 0; i < fixed->excluded_count && fixed->excluded[i] <= number; i++) number++;
  return number;
}

/* Writes the list of a block that is neither the first nor the last; the numbers that it drew lie after. */
static int64_t write_list(int64_t row, int64_t blocks, const int64_t *drawn, int64_t drawn_count, int64_t *list) {
  const fixed_blocks fixed = fixed_of(row, blocks);
  int64_t count = 0, taken = 0;
  for (int i = 0; i < fixed.seen_count; i++) {
    for (; taken < drawn_count && free_block(&fixed, drawn[taken]) < fixed.seen[i]; taken++) {
      list[count++] = free_block(&fixed, drawn[taken]);
    }
    list[count++] = fixed.seen[i];
  }
  return count; /* the last block is visible, so that no drawn block is left */
}

static int are_in_range(int64_t blocks, int64_t chosen) {
  return blocks >= 1 && blocks <= BLOCK_LIMIT && chosen >= 0 && chosen <= BLOCK_LIMIT;
}

int64_t fovea_nn_bigbird_columns(int64_t blocks, int64_t chosen) {
  if (!are_in_range(blocks, chosen)) return 0;
  if (blocks <= 3) return blocks * blocks;
  const int64_t drawn = drawn_blocks(blocks, chosen); /* below 2^31: products are below 2^63 */
  return 2 * blocks + 2 * (4 + drawn) + (blocks - 4) * (5 + drawn);
}

/* The numbers that all rows draw are written to the end of the columns first: lists that are written from the
 * beginning on do not reach them before they are read. */
static fovea_status fill_lists(uint64_t seed, int64_t blocks, int64_t chosen, int64_t *starts, int64_t *columns,
                               fovea_error *error) {
  const int64_t drawn = drawn_blocks(blocks, chosen), inner = blocks > 2 ? blocks - 2 : 0;
  int64_t *numbers = columns + fovea_nn_bigbird_columns(blocks, chosen) - inner * drawn, count = 0;
  if (drawn > 0) {
    const fovea_status status =
        fovea_random_blocks(seed, inner, free_blocks(blocks), drawn, starts, numbers, error);
    if (status) return status;
  }
  for (int64_t row = 0; row < blocks; row++) {
    starts[row] = count;
    if (row > 0 && row < blocks - 1) {
      count += write_list(row, blocks, numbers + (row - 1) * drawn, drawn, columns + count);
    } else {
      for (int64_t block = 0; block < blocks; block++) columns[count++] = block;
    }
  }
  starts[blocks] = count;
  return FOVEA_OK;
}

fovea_status fovea_nn_bigbird_blocks(uint64_t seed, int64_t blocks, int64_t chosen, int64_t *starts,
                                     int64_t *columns, fovea_error *error) {
  const fovea_bounded sizes[] = {{"blocks", blocks, 1, BLOCK_LIMIT}, {"chosen", chosen, 0, BLOCK_LIMIT}};
  const fovea_status status = fovea_validate_bounds(NULL, sizes, 2, error);
  if (status) return status;
  if (!starts || !columns)
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", starts ? "columns" : "starts");
  return fill_lists(seed, blocks, chosen, starts, columns, error);
}

void fovea_nn_bigbird_init_sized(fovea_nn_bigbird *bigbird, size_t struct_size, int64_t length) {
  const fovea_nn_bigbird defaults = {
      .struct_size = struct_size, .length = length, .block_size = 64, .chosen = 3, .heads = 1};
  fovea_nn_write_defaults(bigbird, struct_size, &defaults, sizeof defaults);
}

static fovea_status check(const fovea_nn_bigbird *given, fovea_nn_bigbird *bigbird, fovea_error *error) {
  fovea_status status = fovea_nn_read_struct("bigbird", given, bigbird, sizeof *bigbird, error);
  if (!status) status = fovea_check_allocator(&given->allocator, error);
  if (status) return status;
  const fovea_bounded sizes[] = {{"length", bigbird->length, 0, BLOCK_LIMIT - 1},
                                 {"block_size", bigbird->block_size, 1, BLOCK_LIMIT - 1},
                                 {"chosen", bigbird->chosen, 0, BLOCK_LIMIT},
                                 {"heads", bigbird->heads, 1, HEAD_LIMIT}};
  return fovea_validate_bounds("bigbird", sizes, 4, error);
}

/* Lists of all heads, and their rules: rules, pointers to them, starts, columns. */
static fovea_status make_pattern(const fovea_nn_bigbird *b, int64_t blocks, char *memory, int64_t columns,
                                 fovea_pattern **pattern, fovea_error *error) {
  fovea_rule *rules = (fovea_rule *)(void *)memory;
  const fovea_rule **pointers = (const fovea_rule **)(void *)(rules + b->heads);
  int64_t *numbers = (int64_t *)(void *)(pointers + b->heads);
  fovea_pattern_options options;
  for (int64_t h = 0; h < b->heads; h++, numbers += blocks + 1 + columns) {
    const fovea_status status =
        fill_lists(b->seed + (uint64_t)h, blocks, b->chosen, numbers, numbers + blocks + 1, error);
    if (status) return status;
    rules[h] = fovea_rule_blocks(b->block_size, b->block_size, blocks, numbers, numbers + blocks + 1);
    pointers[h] = &rules[h];
  }
  fovea_pattern_options_init(&options, b->heads == 1 ? rules : NULL, b->length, b->length);
  if (b->heads > 1) {
    options.rules = pointers;
    options.heads = b->heads;
  }
  options.allocator = b->allocator;
  return fovea_pattern_create(&options, pattern, error);
}

fovea_status fovea_nn_bigbird_pattern(const fovea_nn_bigbird *given, fovea_pattern **pattern, fovea_error *error) {
  fovea_nn_bigbird b;
  size_t size;
  if (!pattern) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "pattern is NULL");
  *pattern = NULL;
  if (!given) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "bigbird is NULL");
  fovea_status status = check(given, &b, error);
  if (status) return status;
  const int64_t blocks = b.length > 0 ? (b.length - 1) / b.block_size + 1 : 0;
  const int64_t columns = fovea_nn_bigbird_columns(blocks, b.chosen);
  const size_t others = sizeof(fovea_rule) + sizeof(fovea_rule *) + (size_t)(blocks + 1) * sizeof(int64_t);
  const int overflows = columns > (int64_t)(SIZE_MAX / 16) ||
                        __builtin_mul_overflow((size_t)columns * sizeof(int64_t) + others, (size_t)b.heads, &size);
  char *memory = overflows ? NULL : fovea_allocate(&b.allocator, size);
  if (!memory) {
    return fovea_fail(error, FOVEA_ERROR_MEMORY, "No memory for lists of %jd blocks for %jd heads", blocks,
                      b.heads);
  }
  status = make_pattern(&b, blocks, memory, columns, pattern, error);
  fovea_release(&b.allocator, memory);
  return status;
}
