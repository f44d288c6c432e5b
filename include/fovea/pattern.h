/* Patterns: which keys a row may see, as rules joined by and, or, not.
 *
 *   fovea_rule window = fovea_rule_window(511, 0), global = fovea_rule_global(positions, 4);
 *   fovea_rule either = fovea_rule_or(&window, &global), causal = fovea_rule_causal();
 *   fovea_rule all = fovea_rule_and(&causal, &either);
 *   fovea_pattern_options_init(&options, &all, rows, keys);
 *   fovea_pattern_create(&options, &pattern, &error);
 *   problem.pattern = pattern;
 *
 * A pattern is compiled once, for a range of rows and keys, and never changes: layers, heads, threads, chunks of a
 * prompt and steps of decoding share it. Its memory grows with the rows and with the lists that it is given, never
 * with rows * keys. It takes keys away before any score is used, so a mask tensor of the same meaning gives the
 * same bits. "or" and "not" act inside a pattern. The pattern as a whole is one rule beside the rules of
 * fovea_problem: a row sees a key if the pattern, the problem's rules and the mask allow it.
 *
 * A pattern is written over positions: a key's position, and for row i the position of its own key, i + offset.
 * With `by_row` a pattern counts rows from the sequence's first row instead, as a CSR matrix of a graph does. */
#ifndef FOVEA_PATTERN_H
#define FOVEA_PATTERN_H

#include <fovea/fovea.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a rule is: CAUSAL, WINDOW, CHUNKS, KEYS, ROWS, EVERY, DOCUMENTS, GLOBAL, BLOCKS, EDGES, TREE, NEIGHBOURHOOD,
 * or others joined by AND, OR, NOT. fovea_rule_<name>() makes one. */
typedef enum fovea_rule_kind {
  FOVEA_RULE_CAUSAL = 1,
  FOVEA_RULE_WINDOW = 2,
  FOVEA_RULE_CHUNKS = 3,
  FOVEA_RULE_KEYS = 4,
  FOVEA_RULE_ROWS = 5,
  FOVEA_RULE_EVERY = 6,
  FOVEA_RULE_DOCUMENTS = 7,
  FOVEA_RULE_GLOBAL = 8,
  FOVEA_RULE_BLOCKS = 9,
  FOVEA_RULE_EDGES = 10,
  FOVEA_RULE_TREE = 11,
  FOVEA_RULE_NEIGHBOURHOOD = 12,
  FOVEA_RULE_AND = 13,
  FOVEA_RULE_OR = 14,
  FOVEA_RULE_NOT = 15
} fovea_rule_kind;

/* The most axes of a neighbourhood. */
#define FOVEA_RULE_AXES 3

/* One axis of a neighbourhood: its length; the window, which is how many cells a row sees along it, every
 * dilation-th; and whether it is causal: no visible cell comes after the row's own. */
typedef struct fovea_rule_axis {
  int64_t length, window, dilation;
  int causal;
} fovea_rule_axis;

/* A rule, made by the functions below. The fields that its kind does not name are 0. Rules and arrays that it
 * points to are only read, and only until the pattern is made. */
typedef struct fovea_rule {
  fovea_rule_kind kind;
  const struct fovea_rule *left, *right; /* AND, OR; NOT: left */
  int64_t before, after;                 /* WINDOW, CHUNKS */
  int64_t step;                          /* WINDOW: the dilation; EVERY: the period; CHUNKS: the size */
  int64_t begin, end;                    /* KEYS, ROWS, EVERY; TREE, EDGES: begin is the first node or row */
  int64_t count;                         /* elements of `numbers`, or rows of a list of lists */
  const int64_t *numbers;                /* DOCUMENTS: of keys; GLOBAL: positions; TREE: parents; BLOCKS, EDGES */
  const int64_t *row_numbers;            /* DOCUMENTS: of rows */
  const int64_t *starts;                 /* BLOCKS, EDGES: where each list begins in `numbers`; `count` + 1 */
  int64_t block_rows, block_keys;        /* BLOCKS */
  int64_t axes;                          /* NEIGHBOURHOOD */
  fovea_rule_axis axis[FOVEA_RULE_AXES]; /* NEIGHBOURHOOD */
} fovea_rule;

/* Returns a rule of that kind with all fields 0. */
static inline fovea_rule fovea_rule_of(fovea_rule_kind kind) {
#ifdef __cplusplus
  fovea_rule rule = {}; /* a 0 or NULL for a pointer is a warning there, -Wzero-as-null-pointer-constant */
#else
  fovea_rule rule = {0};
#endif
  rule.kind = kind;
  return rule;
}

/* No key after the row's own. */
static inline fovea_rule fovea_rule_causal(void) {
  return fovea_rule_of(FOVEA_RULE_CAUSAL);
}

/* Keys at distances from -before to after of the row's own, every step-th of them: those whose distance is a
 * multiple of step. before and after are 0 or more, or FOVEA_UNLIMITED; step is 1 or more. */
static inline fovea_rule fovea_rule_dilated(int64_t before, int64_t after, int64_t step) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_WINDOW);
  rule.before = before;
  rule.after = after;
  rule.step = step;
  return rule;
}

/* Keys at most `before` before the row's own, and at most `after` after it, or FOVEA_UNLIMITED. */
static inline fovea_rule fovea_rule_window(int64_t before, int64_t after) {
  return fovea_rule_dilated(before, after, 1);
}

/* The chunk of `size` positions that holds the row's own key, `before` keys before it, and `after` keys after it:
 * the chunk rule of fovea_problem. */
static inline fovea_rule fovea_rule_chunks(int64_t size, int64_t before, int64_t after) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_CHUNKS);
  rule.step = size;
  rule.before = before;
  rule.after = after;
  return rule;
}

/* Every row sees the keys from begin to end - 1. A prefix-LM is causal or keys(0, prefix). */
static inline fovea_rule fovea_rule_keys(int64_t begin, int64_t end) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_KEYS);
  rule.begin = begin;
  rule.end = end;
  return rule;
}

/* The rows from begin to end - 1 see every key, others none. */
static inline fovea_rule fovea_rule_rows(int64_t begin, int64_t end) {
  fovea_rule rule = fovea_rule_keys(begin, end);
  rule.kind = FOVEA_RULE_ROWS;
  return rule;
}

/* Every row sees the keys whose position modulo `period` is from begin to end - 1; 0 <= begin <= end <= period. */
static inline fovea_rule fovea_rule_every(int64_t period, int64_t begin, int64_t end) {
  fovea_rule rule = fovea_rule_keys(begin, end);
  rule.kind = FOVEA_RULE_EVERY;
  rule.step = period;
  return rule;
}

/* A row sees the keys of its own document. Position p belongs to document keys[p] as a key, and to document rows[p]
 * as a row; rows may be NULL if the two are the same. Both have `count` numbers, from position 0 on. Positions with
 * a negative number, and those from `count` on, belong to no document. */
static inline fovea_rule fovea_rule_documents(const int64_t *keys, const int64_t *rows, int64_t count) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_DOCUMENTS);
  rule.numbers = keys;
  rule.row_numbers = rows;
  rule.count = count;
  return rule;
}

/* Global tokens (Beltagy et al., Longformer, 2020): the row sees every key if its position is in the list, and
 * every row sees the keys in the list. The list may have any order and repeat itself. */
static inline fovea_rule fovea_rule_global(const int64_t *positions, int64_t count) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_GLOBAL);
  rule.numbers = positions;
  rule.count = count;
  return rule;
}

/* Blocks of block_rows rows and block_keys keys (Zaheer et al., BigBird, 2020): the rows of block i, which are
 * rows i * block_rows to (i + 1) * block_rows - 1, see the blocks of keys columns[starts[i]] to columns[starts[i +
 * 1] - 1]. `starts` has `blocks` + 1 numbers. Rows of later blocks see nothing. A list may have any order and
 * repeat itself. */
static inline fovea_rule fovea_rule_blocks(int64_t block_rows, int64_t block_keys, int64_t blocks,
                                           const int64_t *starts, const int64_t *columns) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_BLOCKS);
  rule.block_rows = block_rows;
  rule.block_keys = block_keys;
  rule.count = blocks;
  rule.starts = starts;
  rule.numbers = columns;
  return rule;
}

/* Chooses blocks at random for fovea_rule_blocks(): for each of `blocks` blocks of rows, `chosen` different ones
 * of key_blocks blocks of keys, in ascending order. blocks and key_blocks are from 0 to 2^31, chosen from 0 to
 * key_blocks. Writes `blocks` + 1 numbers to starts, and blocks * chosen to columns, which may be NULL if these
 * are none. A list depends on seed, key_blocks, chosen and its block of rows, so that more rows change none.
 * Random numbers come from Philox4x32-10 (Salmon et al., 2011), the choice is Floyd's (Bentley and Floyd, 1987).
 * `error` may be NULL. Error: FOVEA_ERROR_ARGUMENT. */
FOVEA_API fovea_status fovea_random_blocks(uint64_t seed, int64_t blocks, int64_t key_blocks, int64_t chosen,
                                           int64_t *starts, int64_t *columns, fovea_error *error);

/* The edges of a graph, or lists of keys that something has chosen, as a CSR matrix: row first + i sees the keys
 * keys[starts[i]] to keys[starts[i + 1] - 1], for i from 0 to rows - 1; other rows see nothing. `starts` has `rows`
 * + 1 numbers. A list may have any order, and a key that it names twice counts once; -1 names no key. */
static inline fovea_rule fovea_rule_edges(int64_t first, int64_t rows, const int64_t *starts, const int64_t *keys) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_EDGES);
  rule.begin = first;
  rule.count = rows;
  rule.starts = starts;
  rule.numbers = keys;
  return rule;
}

/* The same with lists of one length: row first + i sees keys[i * length] to keys[i * length + length - 1]. */
static inline fovea_rule fovea_rule_lists(int64_t first, int64_t rows, int64_t length, const int64_t *keys) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_EDGES);
  rule.begin = first;
  rule.count = rows;
  rule.numbers = keys;
  rule.step = length;
  return rule;
}

/* A tree of drafts (speculative decoding): node i is the row and the key at position first + i, and its parent is
 * node parents[i], or -1 for a root. Every row sees the keys before `first`. The row of a node also sees its own
 * key and the keys of the node's ancestors. Parents may come after their children; a cycle is refused. */
static inline fovea_rule fovea_rule_tree(int64_t first, int64_t nodes, const int64_t *parents) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_TREE);
  rule.begin = first;
  rule.count = nodes;
  rule.numbers = parents;
  return rule;
}

/* Neighbourhoods on a grid of 1 to 3 axes (Hassani et al., NATTEN, 2023). Position p is the cell (.., y, x) of the
 * grid, the last axis innermost; position 0 is cell 0. Along an axis a row sees `window` cells that have the same
 * remainder modulo `dilation` as its own: itself, window / 2 before it and (window - 1) / 2 after it, moved inwards
 * at the borders, so that every row sees `window` cells. If the axis is causal, it sees the last `window` cells up
 * to its own, fewer at the border. window * dilation is at most the axis's length. Positions after the grid see
 * nothing. */
static inline fovea_rule fovea_rule_neighbourhood(int64_t axes, const fovea_rule_axis *axis) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_NEIGHBOURHOOD);
  int64_t i;
  rule.axes = axes;
  for (i = 0; i < axes && i < FOVEA_RULE_AXES; i++) rule.axis[i] = axis[i];
  return rule;
}

/* A row sees a key if both rules allow it; if one of them does; if the rule does not. */
static inline fovea_rule fovea_rule_and(const fovea_rule *left, const fovea_rule *right) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_AND);
  rule.left = left;
  rule.right = right;
  return rule;
}
static inline fovea_rule fovea_rule_or(const fovea_rule *left, const fovea_rule *right) {
  fovea_rule rule = fovea_rule_and(left, right);
  rule.kind = FOVEA_RULE_OR;
  return rule;
}
static inline fovea_rule fovea_rule_not(const fovea_rule *of) {
  fovea_rule rule = fovea_rule_of(FOVEA_RULE_NOT);
  rule.left = of;
  return rule;
}

/* What a pattern is made of. Prepare it with fovea_pattern_options_init(), then change what differs. */
typedef struct fovea_pattern_options {
  size_t struct_size;     /* set by fovea_pattern_options_init() */
  size_t rule_size;       /* bytes of a rule, and of each that it joins; set by fovea_pattern_options_init() */
  const fovea_rule *rule; /* of all heads */
  /* In place of `rule`: one for each query head, or one for each kv head, of the problems that will use the
   * pattern. `heads` pointers; default NULL and 0. */
  const fovea_rule *const *rules;
  int64_t heads;
  /* The rows that problems may have, positions first_row to first_row + rows - 1, and their keys, positions 0 to
   * keys - 1. Rows and keys are less than 2^31. */
  int64_t first_row, rows, keys;
  int by_row; /* 1: rows are counted from the sequence's first, whatever the offset; first_row is 0. Default 0 */
  fovea_allocator allocator; /* for the pattern, which keeps it; default: malloc(), free() */
} fovea_pattern_options;

/* Sets these fields, and the others to 0 and NULL. Callers in C use fovea_pattern_options_init(). */
FOVEA_API void fovea_pattern_options_init_sized(fovea_pattern_options *options, size_t struct_size,
                                                size_t rule_size, const fovea_rule *rule, int64_t rows,
                                                int64_t keys);

/* Passes the sizes of the struct and of rules that this program was compiled with. */
static inline void fovea_pattern_options_init(fovea_pattern_options *options, const fovea_rule *rule, int64_t rows,
                                              int64_t keys) {
  fovea_pattern_options_init_sized(options, sizeof *options, sizeof *rule, rule, rows, keys);
}

/* Checks the rules, copies them with their lists, and compiles them. On failure *pattern is NULL. An error of a rule
 * names the way to it, and the argument of the function that makes such a rule: "rule.left.period is 0; ...", or
 * rules[2] in place of rule. `error` may be NULL. Errors: FOVEA_ERROR_ARGUMENT, FOVEA_ERROR_UNUSED, FOVEA_ERROR_MEMORY. */
FOVEA_API fovea_status fovea_pattern_create(const fovea_pattern_options *options, fovea_pattern **pattern,
                                            fovea_error *error);
FOVEA_API void fovea_pattern_destroy(fovea_pattern *pattern); /* NULL is allowed. No plan may still use it */

/* Whether a row sees a key by the pattern: rows and keys as the pattern counts them, `head` from 0 to heads - 1, or
 * 0 if there is one rule. Outside the pattern's rows and keys the answer is 0. For drawing, tests and loops of
 * one's own; it goes through the rules. */
FOVEA_API int fovea_pattern_sees(const fovea_pattern *pattern, int64_t head, int64_t row, int64_t key);

/* The bytes that a pattern takes; 0 for NULL. */
FOVEA_API size_t fovea_pattern_bytes(const fovea_pattern *pattern);

#ifdef __cplusplus
}
#endif

#endif
