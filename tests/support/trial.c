#include "trial.h"

#include "check.h"
#include "patterns.h"
#include "positions.h"

#include <string.h>

static void create_outputs(struct trial *trial, enum guarded_edge edge) {
  const fovea_problem *problem = &trial->problem;
  const int64_t batches = problem_q_batches(problem);
  tensor_create_of(problem->o_type, &trial->o, batches, problem->heads, problem->q_len, problem->v_dim,
                   problem->o_strides, edge);
  tensor_create(&trial->lse, batches, problem->heads, problem->q_len, 1, problem->lse_strides, edge);
  const struct score_part part = problem_score_part(problem);
  const int wanted = problem->scores.kind != FOVEA_SCORES_NONE && part.keys > 0;
  tensor_create(&trial->scores, wanted ? part.batches : 0, part.heads, part.rows, part.keys,
                problem->scores.strides, edge);
  const fovea_strides top = problem->top.strides;
  tensor_create(&trial->entropy, problem->entropy ? batches : 0, problem->heads, problem->q_len, 1,
                problem->lse_strides, edge);
  const int64_t columns = problem_score_keys(problem);
  tensor_create(&trial->column_sums, problem->column_sums.wanted && columns > 0 ? problem->batch : 0,
                problem->heads, 1, columns, (fovea_strides){problem->heads * columns, columns, 0}, edge);
  const int64_t top_batches = problem->top.k > 0 ? batches : 0;
  const fovea_strides pairs =
      top_batches > 0 ? (fovea_strides){2 * top.batch, 2 * top.head, 2 * top.row} : (fovea_strides){0, 0, 0};
  tensor_create(&trial->top_keys, top_batches, problem->heads, problem->q_len, 2 * problem->top.k, pairs, edge);
  tensor_create(&trial->top_scores, top_batches, problem->heads, problem->q_len, problem->top.k, top, edge);
  const fovea_strides by_entry = {problem->heads, 0, 0};
  tensor_create(&trial->max_logits, problem->max_logits ? problem->batch : 0, 1, 1, problem->heads, by_entry, edge);
  trial_clear(trial);
}

struct trial trial_create_at(const fovea_problem *given, uint64_t seed, enum guarded_edge edge) {
  struct trial trial = {.problem = *given};
  const fovea_problem *problem = &trial.problem;
  fovea_problem_resolve(&trial.problem, NULL);
  const int64_t q_batches = problem_q_batches(problem), kv_batches = problem_kv_batches(problem);
  const fovea_strides no_strides = {0, 0, 0};
  tensor_create_of(problem->q_type, &trial.q, q_batches, problem->heads, problem->q_len, problem->qk_dim,
                   problem->q_strides, edge);
  tensor_create_of(problem->k_type, &trial.k, kv_batches, problem->kv_heads, problem->kv_len, problem->qk_dim,
                   problem->k_strides, edge);
  tensor_create_of(problem->v_type, &trial.v, kv_batches, problem->kv_heads, problem->kv_len, problem->v_dim,
                   problem->v_strides, edge);
  trial.mask = mask_create(problem, edge);
  tensor_create(&trial.sinks, 1, 1, 1, problem->heads, no_strides, edge);
  tensor_fill_random(&trial.q, seed * 3 + 1, 2.0f);
  tensor_fill_random(&trial.k, seed * 3 + 2, 2.0f);
  tensor_fill_random(&trial.v, seed * 3 + 3, 1.0f);
  mask_fill_random(&trial.mask, seed, (enum mask_pattern)(seed % MASK_PATTERNS));
  tensor_fill_random(&trial.sinks, seed + 5, 4.0f);
  positions_create(&trial, seed, edge);
  create_outputs(&trial, edge);
  return trial;
}

struct trial trial_create(const fovea_problem *problem, uint64_t seed) {
  return trial_create_at(problem, seed, GUARD_AT_END);
}

struct trial trial_of_part(const fovea_problem *problem, const struct trial *whole, struct part q, struct part kv) {
  struct trial trial = trial_create(problem, 0);
  tensor_copy_part(&trial.q, &whole->q, q.batch, q.head, q.row);
  tensor_copy_part(&trial.k, &whole->k, kv.batch, kv.head, kv.row);
  tensor_copy_part(&trial.v, &whole->v, kv.batch, kv.head, kv.row);
  mask_copy_part(&trial.mask, &whole->mask, q.batch, q.head, q.row);
  memcpy(trial.sinks.data, whole->sinks.data + q.head, (size_t)problem->heads * sizeof(float));
  vectors_copy_part(&trial, whole, kv.head);
  return trial;
}

struct trial trial_sharing_inputs(const struct trial *other) {
  struct trial trial = *other;
  struct guarded *const others[] = {&trial.q.memory,    &trial.q.storage, &trial.k.memory,    &trial.k.storage,
                                    &trial.v.memory,    &trial.v.storage, &trial.mask.memory, &trial.sinks.memory,
                                    &trial.head_scales, &trial.row_scales};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) others[i]->mapping = NULL;
  for (int i = 0; i < FOVEA_POSITION_TERMS_LIMIT; i++) trial.terms[i].memory.mapping = NULL;
  trial.shaw_keys.memory.mapping = trial.shaw_values.memory.mapping = NULL;
  trial.key_centre.memory.mapping = trial.key_scale.memory.mapping = trial.value_scale.memory.mapping = NULL;
  create_outputs(&trial, GUARD_AT_END);
  return trial;
}

void trial_destroy(struct trial *trial) {
  tensor_destroy(&trial->q);
  tensor_destroy(&trial->k);
  tensor_destroy(&trial->v);
  tensor_destroy(&trial->o);
  tensor_destroy(&trial->lse);
  tensor_destroy(&trial->scores);
  tensor_destroy(&trial->max_logits);
  tensor_destroy(&trial->entropy);
  tensor_destroy(&trial->column_sums);
  tensor_destroy(&trial->top_keys);
  tensor_destroy(&trial->top_scores);
  mask_destroy(&trial->mask);
  tensor_destroy(&trial->sinks);
  positions_destroy(trial);
}

fovea_tensors trial_tensors(const struct trial *trial) {
  fovea_tensors tensors;
  tensor_store(&trial->q);
  tensor_store(&trial->k);
  tensor_store(&trial->v);
  fovea_tensors_init(&tensors, tensor_pointer(&trial->q), tensor_pointer(&trial->k), tensor_pointer(&trial->v),
                     tensor_pointer(&trial->o), trial->lse.data);
  tensors.mask = trial->mask.data;
  /* The library refuses tensors that the problem does not use. */
  if (trial->problem.sink == FOVEA_SINK_PER_HEAD && !trial->problem.state) tensors.sink = trial->sinks.data;
  positions_set(trial, &tensors);
  if (trial->problem.cache.segmented) tensors.k = tensors.v = NULL;
  if (trial->problem.state) tensors.o = tensors.lse = NULL;
  if (trial->problem.normaliser.kind != FOVEA_NORMALISER_SOFTMAX) tensors.lse = NULL;
  if (trial->problem.scores.kind != FOVEA_SCORES_NONE) tensors.scores = trial->scores.data;
  if (trial->problem.top.k > 0) {
    tensors.top.keys = (int64_t *)(void *)trial->top_keys.data;
    tensors.top.scores = trial->top_scores.data;
  }
  if (trial->problem.column_sums.wanted) tensors.column_sums = trial->column_sums.data;
  if (trial->problem.entropy) tensors.entropy = trial->entropy.data;
  if (trial->problem.max_logits) tensors.max_logits = trial->max_logits.data;
  return tensors;
}

void trial_clear(struct trial *trial) {
  tensor_fill_untouched(&trial->o);
  tensor_fill_untouched(&trial->lse);
  tensor_fill_untouched(&trial->scores);
  tensor_fill_untouched(&trial->max_logits);
  tensor_fill_untouched(&trial->entropy);
  tensor_fill_untouched(&trial->column_sums);
  tensor_fill_untouched(&trial->top_keys);
  tensor_fill_untouched(&trial->top_scores);
}

void trial_load(const struct trial *trial) {
  tensor_load(&trial->o);
}

int trial_gaps_untouched(const struct trial *trial) {
  return tensor_gaps_untouched(&trial->o) && tensor_gaps_untouched(&trial->lse) &&
         tensor_gaps_untouched(&trial->scores) && tensor_gaps_untouched(&trial->max_logits) &&
         tensor_gaps_untouched(&trial->entropy) && tensor_gaps_untouched(&trial->column_sums) &&
         tensor_gaps_untouched(&trial->top_keys) && tensor_gaps_untouched(&trial->top_scores);
}

void trial_run(struct trial *trial, const char *isa, const fovea_execution *execution) {
  fovea_execution on_set;
  fovea_execution_init(&on_set);
  if (execution != NULL) on_set = *execution;
  on_set.isa = trial->isa = isa;
  trial_clear(trial);
  const fovea_tensors tensors = trial_tensors(trial);
  fovea_error error;
  const fovea_status status = fovea_attend(&trial->problem, &tensors, &on_set, &error);
  trial_load(trial);
  if (status == FOVEA_OK) return;
  char problem[DESCRIPTION_SIZE];
  problem_describe(&trial->problem, problem, sizeof problem);
  fail_msg("status %d (%s) for %s, isa %s", (int)status, error.text, problem, isa != NULL ? isa : "best");
}
