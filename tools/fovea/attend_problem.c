#include "attend_problem.h"

#include "attend_mask.h"
#include "attend_modes.h"
#include "attend_normaliser.h"
#include "attend_pattern.h"

/* Puts a list with one number for each batch element into the problem. */
static bool set_list(const int64_t **field, const number_list *list, const char *name, int64_t batch,
                     failure *why) {
  if (list->count == 0) return true;
  if (list->count != batch)
    return fail(why, "%s has %lld numbers, but there are %lld batch elements", name, (long long)list->count,
                (long long)batch);
  *field = list->numbers;
  return true;
}

static bool set_offset(fovea_problem *problem, const number_list *offset, failure *why) {
  for (int64_t i = 0; i < offset->count; i++)
    if (offset->numbers[i] == FOVEA_OFFSET_BOTTOM_RIGHT) return fail(why, "--offset is out of range");
  if (offset->count == 1) {
    problem->offset = offset->numbers[0];
    return true;
  }
  return set_list(&problem->offsets, offset, "--offset", problem->batch, why);
}

static bool set_rules(fovea_problem *problem, const attend_options *options, failure *why) {
  problem->causal = options->causal;
  if (options->window.count > 0) {
    problem->window_left = options->window.numbers[0];
    problem->window_right = options->window.numbers[1];
  }
  if (options->chunk.count > 0) {
    problem->chunks.size = options->chunk.numbers[0];
    problem->chunks.left = options->chunk.numbers[1];
    problem->chunks.right = options->chunk.numbers[2];
    /* To the library 0 means no chunks. With --chunk that is a mistake. */
    if (problem->chunks.size < 1)
      return fail(why, "--chunk: a chunk of %lld keys; at least 1 is needed", (long long)problem->chunks.size);
  }
  return true;
}

bool problem_set(fovea_problem *problem, const attend_options *options, problem_inputs *inputs, failure *why) {
  if (options->scale.given) problem->scale = options->scale.value;
  problem->softcap = options->softcap.value; /* 0 if none is given */
  if (options->leaky_relu.given) problem->activation.kind = FOVEA_SCORE_ACTIVATION_LEAKY_RELU;
  problem->activation.leaky_slope = options->leaky_relu.value;
  if (options->mask_begin.count > 0) problem->mask.begin = options->mask_begin.numbers[0];
  return set_rules(problem, options, why) && set_normaliser(problem, options, why) &&
         set_modes(problem, options, why) && set_offset(problem, &options->offset, why) &&
         set_list(&problem->q_lens, &options->q_lens, "--q-lens", problem->batch, why) &&
         set_list(&problem->kv_lens, &options->kv_lens, "--kv-lens", problem->batch, why) &&
         set_list(&problem->kv_begins, &options->kv_begins, "--kv-begins", problem->batch, why) &&
         (!options->mask || load_mask(options->mask, &inputs->mask, problem, why)) &&
         (!options->alibi || load_alibi(options->alibi, &inputs->terms, problem, why)) &&
         (!options->relative || load_relative(options->relative, &inputs->terms, problem, why)) &&
         load_pattern(options, &inputs->pattern, problem, why) &&
         (!options->sinks || load_sinks(options->sinks, &inputs->sinks, problem, why));
}

void problem_inputs_free(problem_inputs *inputs) {
  fovea_pattern_destroy(inputs->pattern);
  npy_free(&inputs->sinks);
  attend_terms_free(&inputs->terms);
  npy_free(&inputs->mask);
}
