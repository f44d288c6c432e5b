/* Longformer, compiled for a batch: patterns of local rows and plans. */
#include "longformer.h"

#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/memory.h"
#include "../layer_scratch.h"

#include <string.h>

/* Lists of tokens for rules, until the patterns are made. */
typedef struct token_lists {
  int64_t *keys, *rows; /* of each token: 0 if rows see it, else -1; 0 if it sees keys, else -1 */
} token_lists;

static const int8_t *states_of(const fovea_nn_longformer_options *o, int64_t entry) {
  return o->states ? o->states + entry * o->length : NULL;
}

/* The rule that tokens see the keys whose state is `least` or more. Padding after the last token counts as tokens:
 * lengths hide it, and a longer batch element may share the pattern. */
static fovea_rule rule_of_keys(const fovea_nn_longformer *l, const int8_t *states, int64_t entry, int8_t least,
                               const token_lists *lists) {
  for (int64_t j = 0; j < l->options.length; j++) {
    const int8_t state = j < l->lengths[entry] ? states[j] : FOVEA_NN_TOKEN_LOCAL;
    lists->keys[j] = state < least ? -1 : 0;
    lists->rows[j] = state < FOVEA_NN_TOKEN_LOCAL ? -1 : 0;
  }
  return fovea_rule_documents(lists->keys, lists->rows, l->options.length);
}

static int has_state(const fovea_nn_longformer *l, const int8_t *states, int64_t entry, int8_t state) {
  for (int64_t j = 0; states && j < l->lengths[entry]; j++) {
    if (states[j] == state) return 1;
  }
  return 0;
}

static fovea_status make_pattern(const fovea_nn_longformer *l, const fovea_rule *rule, int64_t rows, int by_row,
                                 fovea_pattern **pattern, fovea_error *error) {
  fovea_pattern_options options;
  fovea_pattern_options_init(&options, rule, rows, l->options.length);
  options.by_row = by_row;
  options.allocator = l->allocator;
  return fovea_pattern_create(&options, pattern, error);
}

/* Rows see the window and the global keys; no row sees padding, and padding sees nothing. */
static fovea_status make_local_pattern(fovea_nn_longformer *l, const int8_t *states, int64_t entry,
                                       const token_lists *lists, const token_lists *more, fovea_error *error) {
  const fovea_rule window = fovea_rule_window(l->options.window, l->options.window);
  fovea_rule near = window, rule = window, tokens, keys;
  if (has_state(l, states, entry, FOVEA_NN_TOKEN_PADDING)) {
    tokens = rule_of_keys(l, states, entry, FOVEA_NN_TOKEN_LOCAL, more);
    rule = near = fovea_rule_and(&window, &tokens);
  }
  if (has_state(l, states, entry, FOVEA_NN_TOKEN_GLOBAL)) {
    keys = rule_of_keys(l, states, entry, FOVEA_NN_TOKEN_GLOBAL, lists);
    rule = fovea_rule_or(&near, &keys);
  }
  return make_pattern(l, &rule, l->options.length, 0, &l->local_patterns[entry], error);
}

/* Global rows see all tokens: a pattern is needed only if padding is between them. */
static fovea_status make_global_pattern(fovea_nn_longformer *l, const int8_t *states, int64_t entry,
                                        const token_lists *lists, fovea_error *error) {
  const int64_t rows = l->starts[entry + 1] - l->starts[entry];
  if (rows == 0 || !has_state(l, states, entry, FOVEA_NN_TOKEN_PADDING)) return FOVEA_OK;
  fovea_rule rule = rule_of_keys(l, states, entry, FOVEA_NN_TOKEN_LOCAL, lists);
  memset(lists->rows, 0, (size_t)l->options.length * sizeof *lists->rows); /* rows are counted from 0 */
  return make_pattern(l, &rule, rows, 1, &l->global_patterns[entry], error);
}

/* Whether two batch elements have the same global tokens, and the same padding between tokens. */
static int are_same(const int8_t *a, int64_t a_length, const int8_t *b, int64_t b_length) {
  const int64_t shorter = a_length < b_length ? a_length : b_length;
  const int8_t *rest = a_length < b_length ? b : a;
  const int64_t longer = a_length < b_length ? b_length : a_length;
  if (a == b) return 1;
  if (memcmp(a, b, (size_t)shorter) != 0) return 0;
  for (int64_t j = shorter; j < longer; j++) {
    if (rest[j] != FOVEA_NN_TOKEN_LOCAL) return 0;
  }
  return 1;
}

static int64_t first_with_same_tokens(const fovea_nn_longformer *l, const fovea_nn_longformer_options *o,
                                      int64_t entry) {
  for (int64_t b = 0; b < entry; b++) {
    if (l->firsts[b] == b && are_same(states_of(o, b), l->lengths[b], states_of(o, entry), l->lengths[entry]))
      return b;
  }
  return entry;
}

static fovea_status make_patterns(fovea_nn_longformer *l, const fovea_nn_longformer_options *o,
                                  const token_lists *lists, fovea_error *error) {
  const token_lists more = {lists->keys + 2 * o->length, lists->keys + 3 * o->length};
  fovea_status status = FOVEA_OK;
  for (int64_t b = 0; b < o->batch && !status; b++) {
    const int64_t first = l->firsts[b] = first_with_same_tokens(l, o, b);
    if (first < b) {
      l->local_patterns[b] = l->local_patterns[first];
    } else {
      status = make_local_pattern(l, states_of(o, b), b, lists, &more, error);
    }
    if (!status) status = make_global_pattern(l, states_of(o, b), b, lists, error);
  }
  return status;
}

/* Global tokens and lengths of all batch elements. Returns whether a pattern is needed at all. */
static int read_states(fovea_nn_longformer *l, const fovea_nn_longformer_options *o) {
  int64_t count = 0;
  int special = 0;
  for (int64_t b = 0; b < o->batch; b++) {
    const int8_t *states = states_of(o, b);
    l->lengths[b] = o->length;
    l->starts[b] = (int32_t)count;
    while (l->lengths[b] > 0 && !fovea_nn_longformer_is_token(states, l->lengths[b] - 1)) l->lengths[b]--;
    for (int64_t j = 0; states && j < l->lengths[b]; j++) {
      if (states[j] != FOVEA_NN_TOKEN_LOCAL) special = 1;
      if (states[j] == FOVEA_NN_TOKEN_GLOBAL) l->rows[count++] = b * o->length + j;
    }
  }
  l->starts[o->batch] = (int32_t)count;
  l->global_count = count;
  return special;
}

/* The scale is the caller's; all else of the problem was checked. */
static fovea_status make_plan(const fovea_problem *problem, const fovea_execution *execution, fovea_plan **plan,
                              fovea_error *error) {
  const fovea_status status = fovea_plan_create(problem, execution, plan, error);
  return status && error && strcmp(error->field, "scale") == 0 ? fovea_fail_within("options", status, error)
                                                               : status;
}

/* Heads lie side by side in rows, as projections write them. */
static fovea_status make_plans(fovea_nn_longformer *l, int special, const fovea_execution *execution,
                               fovea_error *error) {
  const fovea_nn_longformer_options *o = &l->options;
  fovea_problem p;
  fovea_problem_init(&p, o->batch, o->heads, o->heads, o->length, o->length, o->qk_dim, o->v_dim);
  p.q_strides = p.k_strides = fovea_strides_rows_before_heads(o->length, o->heads, o->qk_dim);
  p.v_strides = p.o_strides = fovea_strides_rows_before_heads(o->length, o->heads, o->v_dim);
  p.scale = o->scale;
  p.q_lens = p.kv_lens = l->lengths;
  fovea_problem local = p;
  local.window_left = local.window_right = special ? FOVEA_UNLIMITED : o->window;
  if (special) local.patterns = (const fovea_pattern *const *)l->local_patterns;
  fovea_status status = make_plan(&local, execution, &l->local, error);
  if (status || l->global_count == 0) return status;
  p.q_len = l->global_count;
  p.q_lens = NULL;
  p.cu_seqlens_q = l->starts;
  p.q_strides = fovea_strides_rows_before_heads(p.q_len, o->heads, o->qk_dim);
  p.o_strides = fovea_strides_rows_before_heads(p.q_len, o->heads, o->v_dim);
  p.lse_strides = (fovea_strides){0, p.q_len, 1};
  p.patterns = (const fovea_pattern *const *)l->global_patterns;
  return make_plan(&p, execution, &l->global, error);
}

static int64_t count_globals(const fovea_nn_longformer_options *o) {
  int64_t count = 0;
  for (int64_t i = 0; o->states && i < o->batch * o->length; i++) count += o->states[i] == FOVEA_NN_TOKEN_GLOBAL;
  return count;
}

/* The object with its lists, in one piece of memory. */
static fovea_nn_longformer *allocate(const fovea_nn_longformer_options *o, const fovea_allocator *allocator,
                                     int64_t globals) {
  fovea_nn_scratch all = {0};
  const uint64_t batch = (uint64_t)o->batch;
  fovea_nn_reserve(&all, sizeof(fovea_nn_longformer));
  const size_t lengths = fovea_nn_reserve(&all, batch * sizeof(int64_t));
  const size_t starts = fovea_nn_reserve(&all, (batch + 1) * sizeof(int32_t));
  const size_t rows = fovea_nn_reserve(&all, (uint64_t)globals * sizeof(int64_t));
  const size_t local = fovea_nn_reserve(&all, batch * sizeof(fovea_pattern *));
  const size_t global = fovea_nn_reserve(&all, batch * sizeof(fovea_pattern *));
  const size_t firsts = fovea_nn_reserve(&all, batch * sizeof(int64_t));
  char *memory = all.saturated ? NULL : fovea_allocate(allocator, all.size);
  if (!memory) return NULL;
  memset(memory, 0, all.size);
  fovea_nn_longformer *l = (fovea_nn_longformer *)(void *)memory;
  l->options = *o;
  l->allocator = *allocator;
  l->options.states = NULL;
  l->lengths = (int64_t *)(void *)(memory + lengths);
  l->starts = (int32_t *)(void *)(memory + starts);
  l->rows = (int64_t *)(void *)(memory + rows);
  l->local_patterns = (fovea_pattern **)(void *)(memory + local);
  l->global_patterns = (fovea_pattern **)(void *)(memory + global);
  l->firsts = (int64_t *)(void *)(memory + firsts);
  return l;
}

static fovea_status make(fovea_nn_longformer *l, const fovea_nn_longformer_options *o,
                         const fovea_execution *execution, fovea_error *error) {
  const int special = read_states(l, o);
  fovea_status status = FOVEA_OK;
  if (special) {
    const size_t size = 4 * (size_t)o->length * sizeof(int64_t);
    int64_t *numbers = fovea_allocate(&l->allocator, size);
    if (!numbers) return fovea_fail(error, FOVEA_ERROR_MEMORY, "No memory for %ju bytes of lists", (uint64_t)size);
    const token_lists lists = {numbers, numbers + o->length};
    status = make_patterns(l, o, &lists, error);
    fovea_release(&l->allocator, numbers);
  }
  return status ? status : make_plans(l, special, execution, error);
}

fovea_status fovea_nn_longformer_create(const fovea_nn_longformer_options *given,
                                        const fovea_execution *given_execution, fovea_nn_longformer **longformer,
                                        fovea_error *error) {
  fovea_nn_longformer_options options;
  fovea_execution execution;
  if (!longformer) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "longformer is NULL");
  *longformer = NULL;
  fovea_status status = fovea_nn_check_longformer_options(given, &options, error);
  if (!status) status = fovea_read_execution(given_execution, &execution, error);
  if (status) return status;
  fovea_nn_longformer *l = allocate(&options, &execution.allocator, count_globals(&options));
  if (!l) return fovea_fail(error, FOVEA_ERROR_MEMORY, "No memory for a batch of %jd sequences", options.batch);
  status = make(l, &options, &execution, error);
  if (status) {
    fovea_nn_longformer_destroy(l);
    return status;
  }
  *longformer = l;
  return FOVEA_OK;
}

void fovea_nn_longformer_destroy(fovea_nn_longformer *l) {
  if (!l) return;
  const fovea_allocator allocator = l->allocator; /* a copy that outlives the object */
  fovea_plan_destroy(l->local);
  fovea_plan_destroy(l->global);
  for (int64_t b = 0; b < l->options.batch; b++) {
    if (l->firsts[b] == b) fovea_pattern_destroy(l->local_patterns[b]);
    fovea_pattern_destroy(l->global_patterns[b]);
  }
  fovea_release(&allocator, l);
}
